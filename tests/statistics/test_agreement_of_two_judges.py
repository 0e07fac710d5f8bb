import json
from dataclasses import replace

import numpy as np
import pytest

from edit_eval.errors import ConfigurationError
from edit_eval.records import Scale, Scoring, Status
from edit_eval.statistics.agreement import agreement, bridge_document, judge_agreement, samples_of
from edit_eval.statistics.instruments import judges_of
from late_imports import Late

stats = Late("scipy.stats")

UP = Scoring(protocol="p", headline="score", scales={"score": Scale(lowest=0, highest=10)})
LOSS = Scoring(protocol="q", headline="loss", scales={"loss": Scale(lowest=0, higher_is_better=False)})


def two_judges(make_sample, make_results, *, samples=60, models=("a", "b", "c", "d"), missing=(), scoring=UP):
    """`new` is 1.5 above `old` and noisy; of models in `missing` the new one has scored nothing."""
    generator = np.random.default_rng(3)
    every = [make_sample(n) for n in range(samples)]
    rows = {}
    for place, model in enumerate(models):
        truth = generator.uniform(0, 7, samples) + 0.3 * place
        rows[model, "old"] = [[float(value)] for value in truth]
        seen = np.clip(truth + 1.5 + generator.normal(0, 0.5, samples), 0, 10)
        rows[model, "new"] = [[Status.PENDING if model in missing else float(value)] for value in seen]
    return make_results(every, rows, scoring=scoring)


def difference(run, **changed):
    """`old` less `new`; `changed` of `new`."""
    judges = judges_of(run)
    one, other = judges["old"], replace(judges["new"], **changed)
    return agreement(one, other, samples_of(run, [one])).difference()


def test_the_difference_is_that_of_a_paired_test(make_sample, make_results):
    run = two_judges(make_sample, make_results, models=("a",))
    found = difference(run)
    old, new = ([one.score for one in run.judgements if one.judge == judge] for judge in ("old", "new"))
    expected = stats.ttest_rel(old, new).confidence_interval()
    skew = stats.skew(np.array(old) - np.array(new)) / 60**0.5
    assert (found["n"], found["images"]) == (60, 60)
    assert found["difference"] == pytest.approx(np.mean(old) - np.mean(new))
    (low, high), reach = found["ci95"], (expected.high - expected.low) / 2
    assert min(low - expected.low, expected.high - high) < 1e-9, "one end is Student's"
    assert high - low == pytest.approx(2 * reach, rel=2 * abs(skew) * 2 + 1e-9), "the other Hall's"
    assert found["edit_models"]["a"]["difference"] == found["difference"]


def test_only_edits_that_both_have_scored_and_of_one_scale(make_sample, make_results):
    run = two_judges(make_sample, make_results, missing=("b", "d"))
    found = difference(run)
    assert found["n"] == 120
    assert list(found["edit_models"]) == ["a", "c"]
    assert found["difference"] == pytest.approx(-1.5, abs=0.15)
    few = two_judges(make_sample, make_results, samples=5)
    assert difference(few)["no_ci95"] == "few_images"
    unlike = difference(run, scale=Scale(lowest=1, highest=5))
    assert (unlike["difference"], unlike["no_ci95"], unlike["n"]) == (None, "unlike_scales", 120)
    assert unlike["mean_b"] is not None


def test_a_bridge_over_the_models_that_both_have_scored(make_sample, make_results):
    run = two_judges(make_sample, make_results, missing=("d",))
    found = bridge_document(run, "old", "new", resamples=200)
    assert (found["old"], found["new"]) == ({"judge": "old", "score": "score"}, {"judge": "new", "score": "score"})
    assert (found["n"], found["clusters"]) == (180, 60)
    gone = found["edit_models"]["d"]
    assert (gone["mean"], gone["scored"], gone["n"]) == (None, 0, 60)
    assert gone["ci95"][0] < gone["before"] + 1.5 < gone["ci95"][1]
    known = found["edit_models"]["a"]
    assert known["scored"] == 60
    assert known["bridged"] == pytest.approx(known["mean"], abs=0.2)
    assert found["between_models"]["models"] == 3
    assert found["between_models"]["spearman"] is None, "three models have no rank correlation"
    assert found["within_models"]["spearman"] > 0.9
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_bridge_from_a_loss_to_a_score_falls(make_sample, make_results):
    generator = np.random.default_rng(1)
    truth = generator.uniform(0, 10, 80)
    rows = {
        ("m", "old"): [[{"loss": float(10 - value)}] for value in truth],
        ("m", "new"): [[{"score": float(np.clip(value + generator.normal(0, 0.3), 0, 10))}] for value in truth],
    }
    run = make_results([make_sample(n) for n in range(80)], rows, scoring={"old": LOSS, "new": UP})
    found = bridge_document(run, "old", "new", resamples=50)
    scores = [knot["score"] for knot in found["map"]]
    values = [knot["value"] for knot in found["map"]]
    assert scores == sorted(scores)
    assert min(scores) >= 0
    assert values == sorted(values, reverse=True)
    row = found["edit_models"]["m"]
    assert row["before"] == pytest.approx(float(np.mean(10 - truth)))
    assert row["bridged"] == pytest.approx(row["mean"], abs=0.05)


def test_a_bridge_that_cannot_be_is_refused(make_sample, make_results):
    run = two_judges(make_sample, make_results)
    with pytest.raises(ConfigurationError, match="no judge 'gpt' here; there are: old, new"):
        bridge_document(run, "gpt", "new")
    with pytest.raises(ConfigurationError, match="name two judges"):
        bridge_document(run, "old", "old")
    few = two_judges(make_sample, make_results, samples=7)
    with pytest.raises(ConfigurationError, match="28 edits of 7 source images here; a bridge needs 8"):
        bridge_document(few, "old", "new")


def test_a_source_that_is_not_known_is_an_image_of_its_own(make_sample, make_results):
    """As in `compare`; not one image with all others that are not known."""
    generator = np.random.default_rng(7)
    truth = generator.uniform(0, 10, 30)
    rows = {
        ("m", judge): [
            [float(round(value + noise))] for value, noise in zip(truth, generator.normal(0, 1, 30), strict=True)
        ]
        for judge in ("old", "new")
    }
    known = make_results([make_sample(n) for n in range(30)], rows)
    unknown = make_results([make_sample(n, follows="before") for n in range(30)], rows)
    found, expected = (judge_agreement(run, resamples=50)["between_judges"]["pairs"][0] for run in (unknown, known))
    assert found == expected
    assert found["apart"]["images"] == 30
