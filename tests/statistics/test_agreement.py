from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from edit_eval.errors import ConfigurationError
from edit_eval.records import Scale, Scoring, Status
from edit_eval.statistics.agreement import (
    agreement,
    bridge_document,
    judge_agreement,
    people_agreement,
    people_measures,
    samples_of,
    separated_pairs,
)
from edit_eval.statistics.instruments import Item, judges_of, retest
from edit_eval.statistics.people import Rating, read_people_scores
from edit_eval.statistics.rank_agreement import OrdinalRatings, Samples
from late_imports import Late


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
