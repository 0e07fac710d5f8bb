"""Judges beside people: what VIEScore published, and drawn scores."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from agreements import people_agreement
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.agreement import people
from edit_eval.plugins.agreement.rank_agreement import Samples
from edit_eval.plugins.agreement.two_raters import find_separated_pairs
from edit_eval.plugins.audit.trial import measure_people_agreement
from edit_eval.records import Scale, Scoring, Status
from edit_eval.statistics.people import read_people, read_people_scores
from edit_eval.statistics.raters import Item
from edit_eval.statistics.votes import Rating


def people_measures(run, ratings, *, judge=None, score=None, resamples=1_000):
    """What an audit makes of it."""
    judges = people.people_agreement(run, ratings, score=score, resamples=resamples).judges
    return measure_people_agreement(run, judges[judge or next(iter(judges))])


KNOWN = {
    # within models: with the mean of people, with one person; one person with another, with the mean of the others;
    # between models
    "SC": (0.454, 0.371, 0.512, 0.542, 0.905),
    "PQ": (0.544, 0.460, 0.570, 0.638, 0.048),
    "O": (0.419, 0.332, 0.506, 0.545, 0.929),
}
SCALES = {name: Scale(lowest=0, highest=10) for name in KNOWN}
LOSS = {name: Scale(lowest=0, higher_is_better=False) for name in KNOWN}


def scores(said):
    semantics, quality = (float(min(said[name]["score"])) for name in ("SC", "PQ"))
    return {"SC": semantics, "PQ": quality, "O": math.sqrt(semantics * quality)}


@pytest.fixture
def run(judge_agreement_data, make_sample, make_results):
    """The eight editors judged by GPT-4o, and by LPIPS as if it were any of the three scores."""
    said = json.loads((judge_agreement_data / "gpt4o_0shot.json").read_text())
    lpips = json.loads((judge_agreement_data / "lpips.json").read_text())
    items = list(next(iter(said.values())))
    samples = [
        replace(make_sample(n), id=item.removesuffix(".jpg"), cluster=item.split("_")[1])
        for n, item in enumerate(items)
    ]
    rows = {(editor, "gpt4o"): [[scores(of[item])] for item in items] for editor, of in said.items()}
    rows |= {
        (editor, "lpips"): [[dict.fromkeys(KNOWN, of[item]["LPIPS"])] for item in items] for editor, of in lpips.items()
    }
    scoring = {
        "gpt4o": Scoring(protocol="viescore", headline="O", scales=SCALES),
        "lpips": Scoring(protocol="numbers", headline="O", scales=LOSS),
    }
    return make_results(samples, rows, scoring=scoring)


@pytest.fixture
def raters(judge_agreement_data):
    return read_people(judge_agreement_data)


@pytest.mark.parametrize("name", KNOWN)
def test_like_is_held_against_like(name, run, raters):
    agreement = people_agreement(run, raters, score=name, resamples=0)
    judge, crowd = agreement["judges"]["gpt4o"], agreement["raters"]
    with_mean, with_one, one_with_one, one_with_others, between = KNOWN[name]
    assert judge["spearman"] == pytest.approx(with_mean, abs=0.005)
    assert judge["one_person"]["spearman"] == pytest.approx(with_one, abs=0.005)
    assert crowd["spearman"] == pytest.approx(one_with_one, abs=0.005)
    assert crowd["others"]["spearman"] == pytest.approx(one_with_others, abs=0.005)
    assert judge["one_person"]["spearman"] < judge["others"]["spearman"] < judge["spearman"]
    assert judge["as_one_person"]["value"] == pytest.approx(with_one / one_with_one, abs=0.01)
    assert judge["between_models"]["spearman"] == pytest.approx(between, abs=0.001)
    assert judge["between_models"]["models"] == 8
    assert (judge["n"], judge["total"], judge["score"]) == (1432, 1432, name)
    assert judge["worst_case"] == pytest.approx(judge["spearman"]) == judge["best_case"]
    assert crowd["raters"] == agreement["people"] == 3
    assert agreement["scores"] == 3 * 1432


def test_lpips_against_people(run, raters):
    judge = people_agreement(run, raters, resamples=0)["judges"]["lpips"]
    assert judge["spearman"] == pytest.approx(0.116, abs=0.005)


@pytest.mark.check
def test_a_score_that_ranks_edits_and_not_models_is_told_from_one_that_does_both(run, raters):
    """PQ agrees best with people within a model, and orders hardly more than half of the models' pairs."""
    overall, quality = (people_measures(run, raters, score=name, resamples=300) for name in ("O", "PQ"))
    assert quality["as_one_person"].value > overall["as_one_person"].value
    assert quality["as_one_person"].passed
    assert overall["pairs_ordered"].value == 1.0
    assert overall["pairs_ordered"].passed
    assert quality["pairs_ordered"].value == pytest.approx(0.571, abs=0.005)
    assert quality["pairs_ordered"].passed is False
    assert quality["pairs_ordered"].ci95[0] < quality["pairs_ordered"].floor == 0.8
    lpips = people_measures(run, raters, judge="lpips", resamples=300)
    assert not lpips["as_one_person"].passed


def test_two_judges_are_compared_on_the_same_draws(run, raters):
    agreement = people_agreement(run, raters, resamples=300)
    (pair,) = agreement["pairs"]
    within = pair["within_models"]
    assert (pair["a"], pair["b"], pair["n"]) == ("gpt4o", "lpips", 1432)
    assert within["difference"] == pytest.approx(0.419 - 0.116, abs=0.01)
    assert within["ci95"][0] > 0.2
    widths = [end[1] - end[0] for end in (agreement["judges"][name]["ci95"] for name in ("gpt4o", "lpips"))]
    assert within["ci95"][1] - within["ci95"][0] < math.hypot(*widths) * 1.1


def test_a_calibrated_score_foretells_people_on_images_that_it_never_saw(run, raters):
    calibration = people_agreement(run, raters, score="SC", resamples=50)["judges"]["gpt4o"]["calibration"]
    values = [knot["value"] for knot in calibration["map"]]
    assert [knot["score"] for knot in calibration["map"]] == list(range(11))
    assert values == sorted(values)
    assert calibration["explained"] == pytest.approx(0.488, abs=0.01)
    assert all(knot["ci95"][0] <= knot["value"] <= knot["ci95"][1] for knot in calibration["map"][:10])


def test_what_a_judge_left_unscored_is_counted_and_bounded(run, raters):
    """A judge that says nothing of what people find bad: the bounds hold the truth, and the file says what was left."""
    crowd = {}
    for rating in raters:
        if rating.score_name == "O":
            crowd.setdefault((rating.edit_model, rating.sample_id), []).append(rating.score)
    judgements = tuple(
        replace(judgement, scores={}, status=Status.UNPARSEABLE)
        if judgement.judge == "gpt4o" and place % 4 == 0 and sum(crowd[judgement.edit_model, judgement.sample_id]) > 0
        else judgement
        for place, judgement in enumerate(run.judgements)
    )
    judge = people_agreement(replace(run, judgements=judgements), raters, resamples=100)["judges"]["gpt4o"]
    assert judge["n"] + judge["unscored"]["n"] == judge["total"] == 1432
    assert 50 < judge["unscored"]["n"] < 300
    assert judge["worst_case"] < 0.419 < judge["best_case"]
    assert judge["unscored"]["difference"] == pytest.approx(
        judge["unscored"]["people_mean"] - judge["unscored"]["people_mean_scored"]
    )
    assert judge["unscored"]["ci95"][0] > 0


# -- drawn scores --


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
    agreement = people_agreement(run, read_people_scores(lines), resamples=100)
    judge = agreement["judges"]["j"]
    assert judge["edit_models"]["m"]["n"] == 39
    assert 0.6 < judge["ci95"][0] < judge["spearman"] < judge["ci95"][1] < 1.0
    assert agreement["raters"]["raters"] == 2
    assert agreement["raters"]["spearman"] < judge["spearman"]  # one person is noisier than the mean of two
    assert agreement["unmatched"] == 2
    assert agreement["unknown"] == ["s9999", "unknown"]
    assert json.loads(json.dumps(agreement, allow_nan=False)) == agreement


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
    agreement = people_agreement(run, people, resamples=0)
    assert agreement["raters"] is None
    assert agreement["judges"]["j"]["edit_models"]["m"]["spearman"] == pytest.approx(1.0)


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
        agreement = people_agreement(run, people, score=score, resamples=0)
        assert agreement["judges"]["j"]["spearman"] == pytest.approx(1 - 1 / 12)  # perfect, as Fisher's z takes it
        assert (agreement["scores"], agreement["unmatched"]) == (of_people, 12)
    unnamed = [replace(rating, score_name="") for rating in people if rating.score_name == "O"]
    agreement = people_agreement(run, unnamed, score="loss", resamples=0)
    assert abs(agreement["judges"]["j"]["spearman"]) < 0.5, "one without a name is held against whatever is looked at"
    assert agreement["unmatched"] == 0


def test_scores_of_people_about_another_score_are_refused(make_sample, make_results):
    run, people = named(make_sample, make_results)
    only = [rating for rating in people if rating.score_name == "O"]
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
    pairs = find_separated_pairs(people, Samples([people]), level)
    assert pairs == [("a", "b"), ("a", "c"), ("a", "d"), ("b", "d"), ("c", "d")]
    two_images = Samples([people], {f"s{n}": f"image {n % 2}" for n in range(40)})
    assert find_separated_pairs(people, two_images, level) == []


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
    agreement = people_agreement(both, [rating for rating in people if rating.score_name == "O"], resamples=20)
    assert agreement["judges"]["j"]["n"] == 12
    other = agreement["judges"]["k"]
    assert (other["n"], other["total"], other["spearman"], other["calibration"]) == (0, 0, None, None)
    assert other["between_models"]["pairs_ordered"] == {"value": None, "ci95": None}
    assert agreement["pairs"] == []
    assert json.loads(json.dumps(agreement, allow_nan=False)) == agreement


def test_a_loss_is_calibrated_on_its_own_scale(make_sample, make_results):
    run, people = named(make_sample, make_results)
    knots = people_agreement(run, people, score="loss", resamples=20)["judges"]["j"]["calibration"]["map"]
    assert sorted(knot["score"] for knot in knots) == list(range(12))
    assert [knot["score"] for knot in knots] == sorted(knot["score"] for knot in knots)
    assert knots[0]["value"] > knots[-1]["value"], "less is better"
