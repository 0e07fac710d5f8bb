from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from edit_eval.errors import ConfigurationError
from edit_eval.records import Scale, Scoring, Status
from edit_eval.statistics.agreement import people_agreement, people_measures, separated_pairs
from edit_eval.statistics.instruments import Item
from edit_eval.statistics.people import Rating, read_people_scores
from edit_eval.statistics.rank_agreement import Samples


def test_a_run_against_a_file_of_people(make_sample, make_results):
    samples = [make_sample(index, source=index // 2) for index in range(40)]
    rows = [[float(index % 11)] for index in range(40)]
    rows[3] = [Status.UNPARSEABLE]
    run = make_results(samples, {("m", "j"): rows})
    generator = np.random.default_rng(2)
    lines = ["sample_id,edit_model,score,rater\n"]
    for rater in ("ann", "bob"):
        lines += [f"{of.id},m,{of.index % 11 + generator.integers(-3, 4)},{rater}\n" for of in samples]
    lines += ["s9999,m,3,ann\n", "s0001,unknown,3,ann\n"]
    found = people_agreement(run, read_people_scores(lines), resamples=100)
    judge = found["judges"]["j"]
    assert judge["edit_models"]["m"]["n"] == 39
    assert 0.6 < judge["ci95"][0] < judge["spearman"] < judge["ci95"][1] < 1.0
    assert found["raters"]["raters"] == 2
    assert found["raters"]["spearman"] < judge["spearman"]  # one person is noisier than the mean of two
    assert found["unmatched"] == 2
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_the_median_of_the_judges_is_held_against_people_too(make_sample, make_results):
    samples = [make_sample(index) for index in range(400)]
    truth = np.random.default_rng(8).uniform(0, 10, size=400)
    noise = np.random.default_rng(9).normal(0, 4, size=(3, 400))
    scores = {
        ("m", f"j{judge}"): [[float(t + n)] for t, n in zip(truth, noise[judge], strict=True)] for judge in range(3)
    }
    people = [Rating(of.id, "m", float(t)) for of, t in zip(samples, truth, strict=True)]
    found = people_agreement(make_results(samples, scores), people, resamples=0)
    assert found["median"]["spearman"] > max(judge["spearman"] for judge in found["judges"].values())


def test_scores_about_other_edits_are_refused_with_an_example(make_sample, make_results):
    run = make_results([make_sample(0)], {("m", "j"): [[5.0]]})
    with pytest.raises(ConfigurationError) as refused:
        people_agreement(run, [Rating("s0000", "M", 3.0), Rating("s0001", "m", 3.0)])
    assert str(refused.value) == (
        "none of the 2 scores by people is about an edit of this run; the first is about 's0000' by 'M' (edit "
        "seed 0), "
        "an edit of this run is 's0000' by 'm' (edit seed 0)"
    )
    with pytest.raises(ConfigurationError, match="there are no scores by people"):
        people_agreement(run, [])


def test_one_person_has_no_ceiling(make_sample, make_results):
    samples = [make_sample(index) for index in range(6)]
    run = make_results(samples, {("m", "j"): [[float(index)] for index in range(6)]})
    people = [Rating(of.id, "m", float(of.index)) for of in samples]
    found = people_agreement(run, people, resamples=0)
    assert found["raters"] is None
    assert found["judges"]["j"]["edit_models"]["m"]["spearman"] == pytest.approx(1.0)


def named(make_sample, make_results):
    """A judge of two scores, the second a loss; people's scores of each."""
    scales = {"O": Scale(lowest=0, highest=10), "loss": Scale(lowest=0, higher_is_better=False)}
    samples = [make_sample(n) for n in range(12)]
    rows = [[{"O": float(n), "loss": float(7 * n % 12)}] for n in range(12)]
    run = make_results(samples, {("m", "j"): rows}, scoring=Scoring(protocol="p", headline="O", scales=scales))
    lines = ["sample_id,edit_model,score,score_name\n"]
    lines += [f"{of.id},m,{of.index},O\n" for of in samples]
    lines += [f"{of.id},m,{-(7 * of.index % 12)},loss\n" for of in samples]
    return run, read_people_scores(lines)


def test_people_name_the_score_that_theirs_is_about(make_sample, make_results):
    run, people = named(make_sample, make_results)
    for score, of_people in ((None, 12), ("O", 12), ("loss", 12)):
        found = people_agreement(run, people, score=score, resamples=0)
        assert found["judges"]["j"]["spearman"] == pytest.approx(1 - 1 / 12)  # perfect, as Fisher's z takes it
        assert (found["scores"], found["unmatched"]) == (of_people, 12)
    unnamed = [replace(one, score_name="") for one in people if one.score_name == "O"]
    found = people_agreement(run, unnamed, score="loss", resamples=0)
    assert abs(found["judges"]["j"]["spearman"]) < 0.5, "one without a name is held against whatever is looked at"
    assert found["unmatched"] == 0


def test_scores_of_people_about_another_score_are_refused(make_sample, make_results):
    run, people = named(make_sample, make_results)
    only = [one for one in people if one.score_name == "O"]
    with pytest.raises(ConfigurationError, match="none of the 12 scores by people is about loss; they are about O"):
        people_agreement(run, only, score="loss")


def test_people_who_do_not_agree_are_no_yardstick(make_sample, make_results):
    generator = np.random.default_rng(0)
    samples = [make_sample(index) for index in range(40)]
    run = make_results(samples, {("m", "j"): [[float(generator.uniform(0, 10))] for _ in samples]})
    people = [Rating(of.id, "m", float(generator.uniform()), rater) for of in samples for rater in ("ann", "bo")]
    measure = people_measures(run, people, resamples=100)["as_one_person"]
    assert (measure.value, measure.ci95, measure.passed) == (None, None, None)
    assert measure.reason == "on these edits, agreement between two people is not shown"


def test_pairs_of_models_that_people_separate(make_sample):
    """Of four models two are alike to people, who need enough source images to tell any apart."""
    generator = np.random.default_rng(1)
    level = {"a": 0.0, "b": 1.0, "c": 1.0, "d": 3.0}
    people = {
        Item(model, f"s{n}", 0): of + float(generator.normal(0, 0.5)) for model, of in level.items() for n in range(40)
    }
    found = separated_pairs(people, Samples([people]), level)
    assert found == [("a", "b"), ("a", "c"), ("a", "d"), ("b", "d"), ("c", "d")]
    two_images = Samples([people], {f"s{n}": f"image {n % 2}" for n in range(40)})
    assert separated_pairs(people, two_images, level) == []


def test_a_judge_whose_score_nobody_has_looked_at_has_no_numbers(make_sample, make_results):
    """Two judges with headlines of their own; people speak of the first one's."""
    run, people = named(make_sample, make_results)
    scores = {"O": Scale(lowest=0, highest=10)}, {"other": Scale(lowest=0, highest=10)}
    both = make_results(
        run.samples,
        {("m", "j"): [[{"O": float(n)}] for n in range(12)], ("m", "k"): [[{"other": float(n)}] for n in range(12)]},
        scoring={
            judge: Scoring(protocol="p", headline=next(iter(of)), scales=of)
            for judge, of in zip("jk", scores, strict=True)
        },
    )
    found = people_agreement(both, [one for one in people if one.score_name == "O"], resamples=20)
    assert found["judges"]["j"]["n"] == 12
    other = found["judges"]["k"]
    assert (other["n"], other["total"], other["spearman"], other["calibration"]) == (0, 0, None, None)
    assert other["between_models"]["pairs_ordered"] == {"value": None, "ci95": None}
    assert found["pairs"] == []
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_loss_is_calibrated_on_its_own_scale(make_sample, make_results):
    run, people = named(make_sample, make_results)
    knots = people_agreement(run, people, score="loss", resamples=20)["judges"]["j"]["calibration"]["map"]
    assert sorted(knot["score"] for knot in knots) == list(range(12))
    assert [knot["score"] for knot in knots] == sorted(knot["score"] for knot in knots)
    assert knots[0]["value"] > knots[-1]["value"], "less is better"
