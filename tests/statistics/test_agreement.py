from __future__ import annotations

import json
import math

import numpy as np
import pytest

from edit_eval.records import Scale, Scoring, Status
from edit_eval.statistics.agreement import judge_agreement
from edit_eval.statistics.instruments import retest
from edit_eval.statistics.rank_agreement import OrdinalRatings


def ordinal_alpha(ratings, weights=None):
    return OrdinalRatings(ratings).alpha(np.ones(len(ratings)) if weights is None else weights)


def test_icc_of_shrout_and_fleiss():
    """The example of Shrout and Fleiss (1979), table 2: ICC(1,1) = .17."""
    ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    found = retest(ratings)
    assert found["icc"] == pytest.approx(0.166, abs=0.0005)
    assert found["sd"] ** 2 == pytest.approx(6.26, abs=0.005)  # their mean square within
    assert (found["edits"], found["answers"]) == (6, 24)


def test_retest_finds_the_noise_that_was_put_in():
    generator = np.random.default_rng(6)
    truth = generator.normal(5, 2, size=800)
    sizes = generator.integers(1, 5, size=800)
    repeats = [(t + generator.normal(0, 1, size=size)).tolist() for t, size in zip(truth, sizes, strict=True)]
    found = retest(repeats)
    assert found["sd"] == pytest.approx(1.0, abs=0.05)
    assert found["icc"] == pytest.approx(4 / 5, abs=0.03)
    assert found["edits"] == int((sizes >= 2).sum())


def test_retest_at_its_edges():
    assert retest([]) is None
    assert retest([[5.0], [6.0]]) is None
    assert retest([[5.0, 5.0]]) == {"edits": 1, "answers": 2, "sd": 0.0, "icc": None, "identical": 1.0}
    same_everywhere = retest([[5.0, 5.0], [5.0, 5.0]])
    assert same_everywhere["icc"] is None
    assert retest([[5.0, 5.0], [6.0, 6.0], [7.0, 7.5]])["identical"] == pytest.approx(2 / 3)
    assert retest([[5.0, 5.0], [6.0, 6.0]])["icc"] == 1.0


def ratings_with_holes(seed: int, judges: int, levels: int, holes: float) -> np.ndarray:
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, levels, size=(60, 1))
    ratings = np.clip(truth + generator.integers(-2, 3, size=(60, judges)), 0, levels).astype(float)
    ratings[generator.random(ratings.shape) < holes] = math.nan
    return ratings


@pytest.mark.parametrize(("judges", "levels", "holes"), [(2, 5, 0.0), (3, 10, 0.3), (4, 100, 0.6)])
def test_alpha_is_that_of_krippendorff(judges, levels, holes):
    krippendorff = pytest.importorskip("krippendorff")
    for seed in range(5):
        ratings = ratings_with_holes(seed, judges, levels, holes)
        expected = krippendorff.alpha(reliability_data=ratings.T, level_of_measurement="ordinal")
        assert ordinal_alpha(ratings) == pytest.approx(float(expected), abs=1e-12)


def test_a_weight_of_two_is_an_edit_that_is_there_twice():
    ratings = ratings_with_holes(3, 3, 10, 0.2)
    weights = np.random.default_rng(0).integers(0, 3, size=60).astype(float)
    repeated = np.repeat(ratings, weights.astype(int), axis=0)
    assert ordinal_alpha(ratings, weights) == pytest.approx(ordinal_alpha(repeated), abs=1e-12)


def test_alpha_at_its_edges():
    nan = math.nan
    assert ordinal_alpha(np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])) == 1.0
    assert ordinal_alpha(np.array([[5.0, 5.0], [5.0, 5.0]])) is None
    assert ordinal_alpha(np.array([[5.0, nan], [nan, 4.0]])) is None
    assert ordinal_alpha(np.empty((0, 2))) is None
    assert ordinal_alpha(np.array([[1.0, 2.0], [2.0, 1.0]])) < 0.0
    unrelated = np.random.default_rng(1).integers(0, 11, size=(4000, 2)).astype(float)
    assert ordinal_alpha(unrelated) == pytest.approx(0.0, abs=0.04)


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
    assert (card["unparseable"]["count"], card["unparseable"]["total"]) == (1, 6)
    assert card["refused"]["rate"] == pytest.approx(1 / 6)
    assert card["out_of_range"]["rate"] == 0.0
    assert card["unscored"]["count"] == sum(
        card[status]["count"]
        for status in ("unparseable", "refused", "out_of_range", "cut_off", "judge_error", "undefined")
    )
    assert card["unscored"]["total"] == 6
    assert card["ceiling"]["rate"] == 0.5
    assert card["floor"]["count"] == 1
    assert 0.0 < card["ceiling"]["ci95"][0] < 0.5 < card["ceiling"]["ci95"][1] < 1.0
    assert card["retest"] is None


def test_retest_is_within_one_edit_of_one_model(make_sample, make_results):
    samples = [make_sample(0), make_sample(1)]
    scores = {("a", "j"): [[5.0, 5.0], [7.0, 7.0]], ("b", "j"): [[1.0, 1.0], [2.0, Status.REFUSED]]}
    card = judge_agreement(make_results(samples, scores))["judges"]["j"]
    assert card["retest"] == {"edits": 3, "answers": 6, "sd": 0.0, "icc": 1.0, "identical": 1.0}


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
    for found in (between, *between["pairs"]):
        assert found["ci95"][0] < found["alpha"] < found["ci95"][1]
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


def test_the_interval_of_alpha_holds_it(make_sample, make_results):
    """Against the alpha of a very large draw from the same world, in about 95 of 100 small ones."""
    generator = np.random.default_rng(12)

    def draw(count):
        truth = generator.normal(size=(count, 1))
        return truth + 0.7 * generator.normal(size=(count, 2))

    truth = ordinal_alpha(draw(200_000))
    samples = [make_sample(index) for index in range(80)]
    covered = 0
    for _ in range(50):
        ratings = draw(80)
        scores = {("m", judge): [[value] for value in ratings[:, at]] for at, judge in enumerate("xy")}
        low, high = judge_agreement(make_results(samples, scores), resamples=150)["between_judges"]["ci95"]
        covered += low <= truth <= high
    assert covered >= 43


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
    assert (card["score"], card["asked"], card["unscored"]["count"], card["undefined"]["count"]) == ("psnr", 3, 1, 1)
    assert (card["ceiling"], card["floor"]["count"]) == (None, 1), "there is no highest PSNR"
