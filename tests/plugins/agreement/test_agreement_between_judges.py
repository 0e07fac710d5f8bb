from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from agreements import judge_agreement, judges_document, two_judges
from documents import plain
from edit_eval.plugins.agreement.judges import compare_by_model
from edit_eval.records import Scale, Scoring, Status
from edit_eval.reporting.analyses import summary_of
from edit_eval.statistics.ordinal import OrdinalRatings
from edit_eval.statistics.raters import judges_of
from late_imports import Late


def ordinal_alpha(ratings, weights=None):
    return OrdinalRatings(ratings).alpha(np.ones(len(ratings)) if weights is None else weights)


def test_shares_of_answers_without_a_score_and_of_the_ends(make_sample, make_results):
    samples = [make_sample(index) for index in range(8)]
    rows = [
        [10.0],
        [10.0],
        [0.0],
        [5.0],
        [Status.UNPARSEABLE],
        [Status.REFUSED],
        [Status.EDIT_FAILED],
        [Status.PENDING],
    ]
    card = judge_agreement(make_results(samples, {("m", "j"): rows}))["judges"]["j"]
    assert card["asked"] == 6  # neither the failed edit nor the pending one was asked about
    assert (card["by_status"]["unparseable"]["count"], card["by_status"]["unparseable"]["total"]) == (1, 6)
    assert card["by_status"]["refused"]["rate"] == pytest.approx(1 / 6)
    assert card["by_status"]["out_of_range"]["rate"] == 0.0
    assert card["unscored"]["count"] == sum(share["count"] for share in card["by_status"].values())
    assert card["unscored"]["total"] == 6
    assert card["ceiling"]["rate"] == 0.5
    assert card["floor"]["count"] == 1
    assert 0.0 < card["ceiling"]["ci95"][0] < 0.5 < card["ceiling"]["ci95"][1] < 1.0
    assert card["retest"] is None


def test_answers_that_hang_together_are_not_so_many(make_sample, make_results):
    """Eight answers about each picture, all alike: as much is known as of one each."""
    samples = [make_sample(index, source=index) for index in range(30)]
    rows = [[10.0 if index % 3 == 0 else 5.0] * 8 for index in range(30)]
    many, one = (
        judge_agreement(make_results(samples, {("m", "j"): [row[:each] for row in rows]}))["judges"]["j"]["ceiling"]
        for each in (8, 1)
    )
    assert many["rate"] == one["rate"]
    assert many["ci95"] == pytest.approx(one["ci95"], abs=0.03)


def test_retest_is_within_one_edit_of_one_model(make_sample, make_results):
    samples = [make_sample(0), make_sample(1)]
    scores = {("a", "j"): [[5.0, 5.0], [7.0, 7.0]], ("b", "j"): [[1.0, 1.0], [2.0, Status.REFUSED]]}
    card = judge_agreement(make_results(samples, scores))["judges"]["j"]
    assert plain(card["retest"]) == {"edits": 3, "answers": 6, "sd": 0.0, "icc": 1.0, "identical": 1.0}


def test_agreement_between_judges(make_sample, make_results):
    generator = np.random.default_rng(4)
    truth = generator.integers(0, 9, size=80)
    samples = [make_sample(index, source=index // 2) for index in range(80)]
    scores = {
        ("m", "x"): [[float(t)] for t in truth],
        ("m", "y"): [[float(t), float(t + 1)] for t in truth],
        ("m", "z"): [[float(v)] for v in generator.integers(0, 9, size=80)],
    }
    scores[("m", "z")][0] = [Status.UNPARSEABLE]
    document = judge_agreement(make_results(samples, scores), resamples=200)
    between = document["between_judges"]
    assert between["judges"] == ["x", "y", "z"]
    by_pair = {(pair["a"], pair["b"]): pair for pair in between["pairs"]}
    assert by_pair[("x", "y")]["alpha"] > 0.9
    assert abs(by_pair[("x", "z")]["alpha"]) < 0.3
    assert by_pair[("x", "z")]["edits"] == 79
    for agreement in (between, *between["pairs"]):
        assert agreement["ci95"][0] < agreement["alpha"] < agreement["ci95"][1]
    ratings = np.array(
        [
            [x[0], sum(y) / 2, math.nan if z[0] is Status.UNPARSEABLE else z[0]]
            for x, y, z in zip(*scores.values(), strict=True)
        ]
    )
    assert between["alpha"] == pytest.approx(ordinal_alpha(ratings))
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_one_judge_has_nobody_to_agree_with(make_sample, make_results):
    document = judge_agreement(make_results([make_sample(0)], {("m", "j"): [[1.0]]}))
    assert document["between_judges"] is None


def test_judges_that_scored_nothing_in_common(make_sample, make_results):
    samples = [make_sample(0), make_sample(1)]
    scores = {("m", "x"): [[1.0], [Status.REFUSED]], ("m", "y"): [[Status.REFUSED], [2.0]]}
    between = judge_agreement(make_results(samples, scores))["between_judges"]
    assert (between["edits"], between["alpha"], between["ci95"], between["no_alpha"]) == (0, None, None, "no_scores")


def test_judges_on_unlike_scales_have_no_alpha(make_sample, make_results):
    scoring = {
        judge: Scoring(protocol="p", headline="score", scales={"score": Scale(lowest=0, highest=highest)})
        for judge, highest in (("x", 10), ("y", 10), ("z", 5))
    }
    samples = [make_sample(n) for n in range(6)]
    rows = {("m", judge): [[float(n % 5)] for n in range(6)] for judge in scoring}
    between = judge_agreement(make_results(samples, rows, scoring=scoring), resamples=20)["between_judges"]
    assert (between["edits"], between["alpha"], between["no_alpha"]) == (6, None, "unlike_scales")
    assert {(pair["a"], pair["b"]): pair["alpha"] for pair in between["pairs"]} == {
        ("x", "y"): 1.0,
        ("x", "z"): None,
        ("y", "z"): None,
    }


def test_a_card_is_about_the_score_that_is_asked_for(make_sample, make_results):
    scales = {"mse": Scale(lowest=0, highest=1, higher_is_better=False), "psnr": Scale(lowest=0)}
    scoring = Scoring(protocol="numbers", headline="mse", scales=scales)
    rows = [
        [{"mse": 0, "psnr": Status.UNDEFINED}],
        [{"mse": 0.01, "psnr": 20}],
        [{"mse": 1, "psnr": 0}],
        [{"mse": 0.5}],
    ]
    run = make_results([make_sample(n) for n in range(4)], {("m", "j"): rows}, scoring=scoring)
    card = judge_agreement(run)["judges"]["j"]
    assert (card["score"], card["asked"], card["ceiling"]["count"], card["floor"]["count"]) == ("mse", 4, 1, 1)
    card = judge_agreement(run, score="psnr")["judges"]["j"]
    assert (card["score"], card["asked"], card["unscored"]["count"], card["by_status"]["undefined"]["count"]) == (
        "psnr",
        3,
        1,
        1,
    )
    assert (card["ceiling"], card["floor"]["count"]) == (None, 1), "there is no highest PSNR"


stats = Late("scipy.stats")


def difference(run, **changed):
    """`old` less `new`; `changed` of `new`."""
    judges = judges_of(run)
    old, new = judges["old"], replace(judges["new"], **changed)
    return plain(compare_by_model(old, new, run))


def test_the_difference_is_that_of_a_paired_test(make_sample, make_results):
    run = two_judges(make_sample, make_results, models=("a",))
    apart = difference(run)
    old, new = (
        [judgement.score for judgement in run.judgements if judgement.judge == judge] for judge in ("old", "new")
    )
    expected = stats.ttest_rel(old, new).confidence_interval()
    skew = stats.skew(np.array(old) - np.array(new)) / 60**0.5
    assert (apart["n"], apart["images"]) == (60, 60)
    assert apart["difference"] == pytest.approx(np.mean(old) - np.mean(new))
    (low, high), reach = apart["ci95"], (expected.high - expected.low) / 2
    assert min(low - expected.low, expected.high - high) < 1e-9, "one end is Student's"
    assert high - low == pytest.approx(2 * reach, rel=2 * abs(skew) * 2 + 1e-9), "the other Hall's"
    assert apart["edit_models"]["a"]["difference"] == apart["difference"]


def test_only_edits_that_both_have_scored_and_of_one_scale(make_sample, make_results):
    run = two_judges(make_sample, make_results, missing=("b", "d"))
    apart = difference(run)
    assert apart["n"] == 120
    assert list(apart["edit_models"]) == ["a", "c"]
    assert apart["difference"] == pytest.approx(-1.5, abs=0.15)
    few = two_judges(make_sample, make_results, samples=5)
    assert difference(few)["no_ci95"] == "few_images"
    unlike = difference(run, scale=Scale(lowest=1, highest=5))
    assert (unlike["difference"], unlike["no_ci95"], unlike["n"]) == (None, "unlike_scales", 120)
    assert unlike["mean_b"] is not None


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
    pair, expected = (judge_agreement(run, resamples=50)["between_judges"]["pairs"][0] for run in (unknown, known))
    assert pair == expected
    assert pair["apart"]["images"] == 30


def test_one_judge_asked_once_agrees_with_nobody(make_sample, make_results):
    samples = [make_sample(index) for index in range(2)]
    run = make_results(samples, {("m", "a"): [[2.0], [5.0]]})
    assert "agreement" not in summary_of(run).analyses
    document = judges_document(run)
    assert document["between_judges"] is document["judges"]["a"]["retest"] is None
    repeated = make_results(samples, {("m", "a"): [[2.0, 2.5], [5.0, 5.0]]})
    [agreement] = plain(summary_of(repeated).analyses["agreement"])
    assert agreement["judges"]["a"]["retest"]["answers"] == 4
