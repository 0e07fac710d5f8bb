from __future__ import annotations

import json
import random
import statistics
import time
from dataclasses import replace

import numpy as np
import pytest

from edit_eval.records import Judgement, Status
from edit_eval.statistics.intervals import estimate
from edit_eval.statistics.summary import summarise


@pytest.fixture
def run(make_sample, make_results):
    samples = [
        make_sample(0, category="physical", difficulty="hard", tags=("rain", "light"), source=0),
        make_sample(1, category="physical", difficulty="easy", tags=("rain",), source=0),
        make_sample(2, category="physical", difficulty="hard", source=2),
        make_sample(3, category="social", difficulty="hard", source=3),
        make_sample(4, category="social", source=4),
        make_sample(5, category="social", source=5),
    ]
    rows = [[8.0], [6.0], [Status.EDIT_FAILED], [3.0], [Status.UNPARSEABLE], [5.0]]
    return make_results(samples, {("qwen", "judge"): rows})


def test_scores_that_needed_a_second_asking_are_counted_apart(run):
    asked = [1, 2, 0, 3, 3, 1]  # the last of three askings of the fifth was no score either
    judgements = tuple(replace(one, answers=count) for one, count in zip(run.judgements, asked, strict=True))
    summary = summarise(replace(run, judgements=judgements))
    assert summary["coverage"]["asked_again"] == 2
    categories = summary["results"][0]["categories"]
    assert {name: block["coverage"]["asked_again"] for name, block in categories.items()} == {
        "physical": 1,
        "social": 1,
    }


def test_only_scores_are_numbers(run):
    summary = summarise(run)
    overall = summary["overall"]
    assert overall["n"] == 4
    assert overall["clusters"] == 3
    assert overall["mean"] == 5.5
    assert overall["std"] == pytest.approx(statistics.stdev([8, 6, 3, 5]))
    assert (overall["median"], overall["min"], overall["max"]) == (5.5, 3.0, 8.0)
    assert summary["coverage"] == {
        "scored": 4,
        "total": 6,
        "asked_again": 0,
        "by_status": {"ok": 4, "edit_failed": 1, "unparseable": 1},
        "required": 1.0,
        "reached": False,
    }


def test_the_bounds_take_every_missing_score_for_the_lowest_and_the_highest(run):
    overall = summarise(run)["overall"]
    assert overall["worst_case_mean"] == pytest.approx(22 / 6)
    assert overall["best_case_mean"] == pytest.approx((22 + 20) / 6)
    other_scale = summarise(run, lowest=1.0, highest=20.0)["overall"]
    assert other_scale["worst_case_mean"] == pytest.approx(24 / 6)
    assert other_scale["best_case_mean"] == pytest.approx(62 / 6)


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OK])
def test_no_status_but_ok_ever_reaches_a_mean(make_sample, make_results, status):
    samples = [make_sample(index) for index in range(3)]
    summary = summarise(make_results(samples, {("m", "j"): [[2.0], [4.0], [status]]}))
    assert summary["overall"]["mean"] == 3.0
    assert summary["overall"]["n"] == 2
    assert summary["coverage"]["by_status"] == {"ok": 2, status.value: 1}
    assert summary["overall"]["worst_case_mean"] == 2.0
    assert summary["status"] == ("incomplete" if status is Status.PENDING else "complete")


def test_categories_difficulties_tags_and_languages(run):
    (result,) = summarise(run)["results"]
    assert list(result["categories"]) == ["physical", "social"]
    assert result["categories"]["physical"]["mean"] == 7.0
    assert result["categories"]["physical"]["coverage"]["by_status"] == {"ok": 2, "edit_failed": 1}
    assert result["category_mean"] == 5.5
    assert result["difficulties"]["hard"]["mean"] == 5.5
    assert list(result["difficulties"]) == ["hard", "easy"]
    assert {tag: block["n"] for tag, block in result["tags"].items()} == {"rain": 2, "light": 1}
    assert result["languages"]["en"]["n"] == 4
    for kind in ("categories", "difficulties", "tags", "languages"):
        assert all(block["exploratory"] is True for block in result[kind].values())
    # The two scored physical samples are one source image: there is no interval.
    assert result["categories"]["physical"]["ci95"] is None
    assert result["categories"]["physical"]["no_ci95"] == "one_image"
    # And the four of all are of two, which is no interval to believe either.
    assert result["overall"]["no_ci95"] == "too_uneven"


def test_weighted_by_samples_and_by_category(make_sample, make_results):
    samples = [make_sample(index, category="a" if index < 3 else "b") for index in range(4)]
    summary = summarise(make_results(samples, {("m", "j"): [[1.0], [1.0], [1.0], [9.0]]}))
    assert summary["overall"]["mean"] == 3.0
    assert summary["category_mean"] == 5.0


def test_a_category_without_any_score_leaves_no_category_mean(make_sample, make_results):
    samples = [make_sample(0, category="a"), make_sample(1, category="b")]
    summary = summarise(make_results(samples, {("m", "j"): [[7.0], [Status.REFUSED]]}))
    assert summary["category_mean"] is None
    assert summary["categories"]["b"]["mean"] is None
    assert summary["categories"]["b"]["worst_case_mean"] == 0.0
    assert summary["categories"]["b"]["best_case_mean"] == 10.0
    assert summary["overall"]["mean"] == 7.0


def test_one_model_and_one_judge_stand_at_the_top(run):
    summary = summarise(run)
    (result,) = summary["results"]
    for key in ("overall", "category_mean", "categories"):
        assert summary[key] == result[key]


def test_several_models_and_judges_have_no_common_mean(make_sample, make_results):
    samples = [make_sample(0), make_sample(1)]
    scores = {
        (edit_model, judge): [[1.0], [Status.PENDING if (edit_model, judge) == ("b", "y") else 2.0]]
        for edit_model in ("b", "a")
        for judge in ("y", "x")
    }
    summary = summarise(make_results(samples, scores))
    assert [(r["edit_model"], r["judge"]) for r in summary["results"]] == [
        ("b", "y"),
        ("b", "x"),
        ("a", "y"),
        ("a", "x"),
    ]
    assert summary["overall"] is summary["category_mean"] is summary["categories"] is None
    assert summary["status"] == "incomplete"
    assert summary["coverage"]["scored"] == 7
    assert [r["coverage"]["reached"] for r in summary["results"]] == [False, True, True, True]
    assert summary["coverage"]["reached"] is False


@pytest.mark.parametrize(("min_coverage", "reached"), [(1.0, False), (0.67, False), (0.66, True), (0.0, True)])
def test_coverage_is_held_against_what_was_asked_for(run, min_coverage, reached):
    coverage = summarise(run, min_coverage=min_coverage)["coverage"]
    assert coverage["reached"] is reached
    assert coverage["required"] == min_coverage


def test_rounding_does_not_miss_a_coverage_that_is_just_reached(make_sample, make_results):
    samples = [make_sample(index) for index in range(100)]
    rows = [[5.0] if index < 7 else [Status.REFUSED] for index in range(100)]
    assert summarise(make_results(samples, {("m", "j"): rows}), min_coverage=0.07)["coverage"]["reached"]


def test_nothing_scored_is_no_number_at_all(make_sample, make_results):
    overall = summarise(make_results([make_sample(0)], {("m", "j"): [[Status.JUDGE_ERROR]]}))["overall"]
    assert overall == {
        "n": 0,
        "clusters": None,
        "mean": None,
        "std": None,
        "median": None,
        "min": None,
        "max": None,
        "worst_case_mean": 0.0,
        "best_case_mean": 10.0,
        "ci95": None,
        "no_ci95": "no_scores",
    }


def test_an_empty_run_can_be_summarised(make_results):
    summary = summarise(make_results([], {("m", "j"): []}))
    assert summary["coverage"]["total"] == 0
    assert summary["overall"]["worst_case_mean"] is None
    assert summary["results"][0]["categories"] == {}


def test_repeats_count_in_the_mean_and_share_a_cluster(make_sample, make_results):
    samples = [make_sample(index) for index in range(4)]
    once = summarise(make_results(samples, {("m", "j"): [[1.0], [4.0], [6.0], [8.0]]}))["overall"]
    thrice = summarise(make_results(samples, {("m", "j"): [[s] * 3 for s in (1.0, 4.0, 6.0, 8.0)]}))["overall"]
    assert thrice["n"] == 12
    assert thrice["clusters"] == 4
    assert thrice["mean"] == once["mean"]
    assert thrice["ci95"] == pytest.approx(once["ci95"])  # asking again makes no new samples


def test_a_score_without_a_known_source_has_no_interval(make_sample, make_results):
    samples = [make_sample(0), make_sample(1), replace(make_sample(2), source_digest="")]
    overall = summarise(make_results(samples, {("m", "j"): [[1.0], [5.0], [9.0]]}))["overall"]
    assert overall["mean"] == 5.0
    assert overall["ci95"] is None
    assert overall["clusters"] is None


def test_the_document_is_plain_json_and_the_same_in_any_order(make_sample, make_results):
    chance = random.Random(1)
    samples = [make_sample(index, category="abc"[index % 3], source=index // 4) for index in range(200)]
    rows = [[Status.REFUSED if chance.random() < 0.1 else round(chance.uniform(0, 10), 3)] for _ in range(200)]
    run = make_results(samples, {("m", "j"): rows})
    shuffled = list(run.judgements)
    chance.shuffle(shuffled)
    summary = summarise(run)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert json.dumps(summarise(replace(run, judgements=tuple(shuffled)))) == json.dumps(summary)


def test_a_hundred_thousand_judgements(make_sample, make_results):
    samples = tuple(
        make_sample(index, category="abcde"[index % 5], source=index // 3, tags=(f"t{index % 10}",))
        for index in range(50_000)
    )
    judgements = tuple(
        Judgement("", of.id, of.category, edit_model, "j", 0, 0, Status.OK, score=of.index % 11)
        for edit_model in ("a", "b")
        for of in samples
    )
    run = replace(make_results([], {("a", "j"): [], ("b", "j"): []}), samples=samples, judgements=judgements)
    begin = time.process_time()
    summary = summarise(run)
    assert time.process_time() - begin < 4.0  # about one second on a quiet machine
    assert summary["coverage"]["scored"] == 100_000


def test_the_mean_of_categories_has_the_interval_of_its_own_weights(make_sample, make_results):
    """Not that of the mean of all scores: the small category counts as much as the large one."""
    generator = np.random.default_rng(1)
    categories = ["physical"] * 40 + ["social"] * 10
    samples = [make_sample(n, category=name, source=n % 25) for n, name in enumerate(categories)]
    scores = np.append(generator.normal(6, 0.5, size=40), generator.normal(6, 1.5, size=10))
    (result,) = summarise(make_results(samples, {("m", "j"): [[score] for score in scores]}))["results"]
    groups = np.array([name == "social" for name in categories], dtype=np.int64)
    found = estimate(scores, np.arange(50) % 25, groups)
    assert result["category_mean"] == pytest.approx(found.value)
    assert result["category_mean_ci95"] == pytest.approx(found.interval())
    low, high = result["overall"]["ci95"]
    assert result["category_mean_ci95"][1] - result["category_mean_ci95"][0] > 1.2 * (high - low)
    assert result["no_category_mean_ci95"] is None


def test_why_the_mean_of_categories_has_no_interval(make_sample, make_results):
    names = ["physical"] * 4 + ["social"]
    samples = [make_sample(n, category=name) for n, name in enumerate(names)]
    one = summarise(make_results(samples, {("m", "j"): [[n] for n in (4, 5, 6, 7, 8)]}))
    assert (one["category_mean"], one["category_mean_ci95"]) == (6.75, None)
    assert one["results"][0]["no_category_mean_ci95"] == "one_image"
    none = summarise(make_results(samples, {("m", "j"): [[4], [5], [6], [7], [Status.REFUSED]]}))
    assert (none["category_mean"], none["category_mean_ci95"]) == (None, None)
    assert none["results"][0]["no_category_mean_ci95"] == "no_scores"
