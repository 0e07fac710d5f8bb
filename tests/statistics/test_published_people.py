"""What is known of GPT-4o and three people on the same 1,432 edits (VIEScore, MIT)."""

import json
import math
from dataclasses import replace

import pytest

from edit_eval.records import Scale, Scoring, Status
from edit_eval.statistics.agreement import people_agreement, people_measures
from edit_eval.statistics.people import read_people

KNOWN = {
    # within models: with the mean of people, with one person; one person with another, with the mean of the others;
    # between models
    "SC": (0.454, 0.371, 0.512, 0.542, 0.905),
    "PQ": (0.544, 0.460, 0.570, 0.638, 0.048),
    "O": (0.419, 0.332, 0.506, 0.545, 0.929),
}
SCALES = {name: Scale(lowest=0, highest=10) for name in KNOWN}
LOSS = {name: Scale(lowest=0, higher_is_better=False) for name in KNOWN}


def scores(found):
    semantics, quality = (float(min(found[name]["score"])) for name in ("SC", "PQ"))
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
def people(judge_agreement_data):
    return read_people(judge_agreement_data)


@pytest.mark.parametrize("name", KNOWN)
def test_like_is_held_against_like(name, run, people):
    found = people_agreement(run, people, score=name, resamples=0)
    judge, raters = found["judges"]["gpt4o"], found["raters"]
    with_mean, with_one, one_with_one, one_with_others, between = KNOWN[name]
    assert judge["spearman"] == pytest.approx(with_mean, abs=0.005)
    assert judge["one_person"]["spearman"] == pytest.approx(with_one, abs=0.005)
    assert raters["spearman"] == pytest.approx(one_with_one, abs=0.005)
    assert raters["others"]["spearman"] == pytest.approx(one_with_others, abs=0.005)
    assert judge["one_person"]["spearman"] < judge["others"]["spearman"] < judge["spearman"]
    assert judge["as_one_person"]["value"] == pytest.approx(with_one / one_with_one, abs=0.01)
    assert judge["between_models"]["spearman"] == pytest.approx(between, abs=0.001)
    assert judge["between_models"]["models"] == 8
    assert (judge["n"], judge["total"], judge["score"]) == (1432, 1432, name)
    assert judge["worst_case"] == pytest.approx(judge["spearman"]) == judge["best_case"]
    assert raters["raters"] == found["people"] == 3
    assert found["scores"] == 3 * 1432


def test_lpips_against_people(run, people):
    found = people_agreement(run, people, resamples=0)["judges"]["lpips"]
    assert found["spearman"] == pytest.approx(0.116, abs=0.005)


def test_a_score_that_ranks_edits_and_not_models_is_told_from_one_that_does_both(run, people):
    """PQ agrees best with people within a model, and orders hardly more than half of the models' pairs."""
    overall, quality = (people_measures(run, people, score=name, resamples=300) for name in ("O", "PQ"))
    assert quality["as_one_person"].value > overall["as_one_person"].value
    assert quality["as_one_person"].passed
    assert overall["pairs_ordered"].value == 1.0
    assert overall["pairs_ordered"].passed
    assert quality["pairs_ordered"].value == pytest.approx(0.571, abs=0.005)
    assert quality["pairs_ordered"].passed is False
    assert quality["pairs_ordered"].ci95[0] < quality["pairs_ordered"].floor == 0.8
    lpips = people_measures(run, people, judge="lpips", resamples=300)
    assert not lpips["as_one_person"].passed


def test_two_judges_are_compared_on_the_same_draws(run, people):
    found = people_agreement(run, people, resamples=300)
    (pair,) = found["pairs"]
    within = pair["within_models"]
    assert (pair["a"], pair["b"], pair["n"]) == ("gpt4o", "lpips", 1432)
    assert within["difference"] == pytest.approx(0.419 - 0.116, abs=0.01)
    assert within["ci95"][0] > 0.2
    widths = [end[1] - end[0] for end in (found["judges"][name]["ci95"] for name in ("gpt4o", "lpips"))]
    assert within["ci95"][1] - within["ci95"][0] < math.hypot(*widths) * 1.1


def test_a_calibrated_score_foretells_people_on_images_that_it_never_saw(run, people):
    found = people_agreement(run, people, score="SC", resamples=50)["judges"]["gpt4o"]["calibration"]
    values = [knot["value"] for knot in found["map"]]
    assert [knot["score"] for knot in found["map"]] == list(range(11))
    assert values == sorted(values)
    assert found["explained"] == pytest.approx(0.488, abs=0.01)
    assert all(knot["ci95"][0] <= knot["value"] <= knot["ci95"][1] for knot in found["map"][:10])


def test_what_a_judge_left_unscored_is_counted_and_bounded(run, people):
    """A judge that says nothing of what people find bad: the bounds hold the truth, and the file says what was left."""
    crowd = {}
    for one in people:
        if one.score_name == "O":
            crowd.setdefault((one.edit_model, one.sample_id), []).append(one.score)
    judgements = tuple(
        replace(one, scores={}, status=Status.UNPARSEABLE)
        if one.judge == "gpt4o" and place % 4 == 0 and sum(crowd[one.edit_model, one.sample_id]) > 0
        else one
        for place, one in enumerate(run.judgements)
    )
    judge = people_agreement(replace(run, judgements=judgements), people, resamples=100)["judges"]["gpt4o"]
    assert judge["n"] + judge["unscored"]["n"] == judge["total"] == 1432
    assert 50 < judge["unscored"]["n"] < 300
    assert judge["worst_case"] < 0.419 < judge["best_case"]
    assert judge["unscored"]["difference"] == pytest.approx(
        judge["unscored"]["people_mean"] - judge["unscored"]["people_mean_scored"]
    )
    assert judge["unscored"]["ci95"][0] > 0
