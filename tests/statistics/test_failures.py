from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from documents import plain
from edit_eval.records import Edit, Status
from edit_eval.statistics.columns import columns_of
from edit_eval.statistics.comparison import compare
from edit_eval.statistics.failure_rates import count_failed_edits, edits_by_model, exchange_p_value, failure_interval
from edit_eval.statistics.intervals import holm
from late_imports import Late
from small_columns import IDENTITY, column, drawn, failing

stats = Late("scipy.stats")


def by_trying_all(sums):
    totals = [abs(sum(signs)) for signs in itertools.product(*[(-difference, difference) for difference in sums])]
    return sum(total >= abs(sum(sums)) for total in totals) / len(totals)


@pytest.mark.parametrize("sums", [(1,), (2, -1), (3, 3, 3, -1, 1, 1), (1,) * 6, (4, -4), (5, 1, 1, 1, 1, -2, 3)])
def test_the_test_is_the_share_of_all_swaps(sums):
    differences = np.concatenate([np.full(abs(difference), np.sign(difference)) for difference in (*sums, 0)])
    clusters = np.concatenate([np.full(abs(difference), place) for place, difference in enumerate(sums)])
    assert exchange_p_value(differences, clusters) == pytest.approx(by_trying_all(sums), abs=1e-15)


@pytest.mark.parametrize(("more", "fewer"), [(0, 0), (5, 0), (6, 0), (23, 0), (9, 3), (400, 300)])
def test_with_one_edit_an_image_it_is_the_exact_test_of_mcnemar(more, fewer):
    differences = np.r_[np.ones(more), -np.ones(fewer), np.zeros(20)].astype(int)
    p = exchange_p_value(differences, np.arange(len(differences)))
    assert p == pytest.approx(stats.binomtest(more, more + fewer).pvalue if more else 1.0, rel=1e-9)


def test_the_test_holds_its_level_for_few_and_rare_failures_and_finds_what_is_there():
    """Failures of an image go together (an intraclass correlation of .5), images have 1 to 9 edits."""
    generator = np.random.default_rng(5)
    clusters = np.repeat(np.arange(30), np.resize([1, 3, 9], 30))
    shares = {}
    for rates in ((0.02, 0.02), (0.1, 0.1), (0.4, 0.4), (0.05, 0.4)):
        rejected = 0
        for _ in range(400):
            of_images = [generator.beta(rate, 1 - rate, size=30)[clusters] for rate in rates]
            a, b = (generator.random(len(clusters)) < of for of in of_images)
            rejected += exchange_p_value(a.astype(int) - b.astype(int), clusters) <= 0.05
        shares[rates] = rejected / 400
    assert max(shares[0.02, 0.02], shares[0.1, 0.1], shares[0.4, 0.4]) <= 0.075  # 2.3 standard errors above .05
    assert shares[0.05, 0.4] > 0.9


def test_the_interval_of_single_edits_is_the_exact_binomial_one():
    for failures in (0, 1, 23, 60):
        failed = np.r_[np.ones(failures), np.zeros(60 - failures)]
        low, high = failure_interval(failed, np.arange(60))
        assert low == pytest.approx(stats.beta.ppf(0.025, failures, 61 - failures) if failures else 0.0)
        assert high == pytest.approx(stats.beta.ppf(0.975, failures + 1, 60 - failures) if failures < 60 else 1.0)


def test_edits_that_fail_together_are_fewer():
    images = np.repeat(np.arange(20), 3)
    apart, together = np.tile([1.0, 0.0, 0.0], 20), np.repeat(np.arange(20) < 7, 3).astype(float)
    wide, narrow = failure_interval(together, images), failure_interval(apart, images)
    assert wide[1] - wide[0] > 1.5 * (narrow[1] - narrow[0])
    none = failure_interval(np.zeros(60), images)
    assert none[1] == pytest.approx(failure_interval(np.zeros(20), np.arange(20))[1], rel=0.1)
    assert failure_interval(np.array([1.0, 0.0]), np.array([0, 0])) is None


@pytest.mark.parametrize("sizes", [[9] * 30, [27] * 6 + [3] * 24, [135] + [4] * 29])
def test_intervals_hold_the_rate_in_95_of_100_whatever_the_sizes(sizes):
    generator = np.random.default_rng(4)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    for rate, icc in ((0.1, 0.3), (0.3, 0.6)):
        share = (1 - icc) / icc
        held = 0
        for _ in range(300):
            of_images = generator.beta(rate * share, (1 - rate) * share, size=len(sizes))
            failed = (generator.random(len(clusters)) < of_images[clusters]).astype(float)
            low, high = failure_interval(failed, clusters)
            held += low <= rate <= high
        assert held / 300 >= 0.92


# -- of columns --


def test_a_failed_edit_is_the_models_and_an_unread_answer_the_judges(make_sample, make_results):
    samples = [make_sample(0), make_sample(1, source=0), make_sample(2), make_sample(3), make_sample(4)]
    rows = [[4.0], [Status.EDIT_FAILED], [Status.UNPARSEABLE], [Status.SKIPPED], [Status.PENDING]]
    run = make_results(samples, {("m", "j"): rows})
    (only,) = columns_of(run, {"j": IDENTITY})
    assert only.failed == {"s0000": {0: False}, "s0001": {0: True}, "s0002": {0: False}}
    failures = count_failed_edits(only)
    assert (failures.count, failures.total) == (1, 3)
    assert failures.ci95[0] < 1 / 3 < failures.ci95[1]


def test_every_edit_seed_is_an_edit_of_its_own(make_sample, make_results):
    run = make_results([make_sample(0)], {("m", "j"): [[4.0]]})
    edit = run.edits[0]
    failed = {"seed": 1, "edit_seed": 1, "status": Status.EDIT_FAILED}
    more = Edit(key="", sample_id=edit.sample_id, edit_model="m", **failed)
    (only,) = columns_of(replace(run, edits=(edit, more)), {"j": IDENTITY})
    assert only.failed == {"s0000": {0: False, 1: True}}
    assert only.failure_shares["s0000"] == 0.5


def test_a_model_that_refuses_an_edit_has_not_made_it(make_sample, make_results):
    run = make_results([make_sample(0)], {("m", "j"): [[Status.REFUSED]]})
    refused = replace(run.edits[0], status=Status.REFUSED, image="")
    assert [columns_of(results, {"j": IDENTITY})[0].failed for results in (run, replace(run, edits=(refused,)))] == [
        {"s0000": {0: False}},  # the judge refused
        {"s0000": {0: True}},
    ]


def test_only_what_both_tried_is_held_against_each_other():
    a = failing(column("a", [5.0] * 10), [0, 1, 2])
    b = failing(column("b", [5.0] * 4), [3])
    (pair,) = compare([a, b]).pairs
    failures = pair.failures
    assert (failures.total, failures.clusters, failures.a, failures.b, failures.difference) == (4, 4, 3, 1, 0.5)
    assert failures.p == pytest.approx(stats.binomtest(3, 4).pvalue)
    assert failures.p_adjusted == failures.p


def test_without_edits_there_is_no_test():
    (pair,) = compare([column("a", drawn(2)), column("b", drawn(3))]).pairs
    assert (pair.failures.total, pair.failures.p, pair.fails_more) == (0, None, None)


# -- verdict and rank --


def judged(*columns):
    comparison = compare(columns)
    return comparison, comparison.pairs[0], [summary.rank for summary in comparison.columns]


def test_who_fails_more_and_does_not_score_higher_is_worse():
    _, pair, ranks = judged(failing(column("a", drawn(2)), []), failing(column("b", drawn(3)), range(20)))
    assert (pair.scores_better, pair.fails_more, pair.outcome.kind, pair.better) == (None, "b", "fails_more", "a")
    assert ranks == [1, 2]


def test_who_scores_higher_and_fails_more_is_neither_better_nor_worse():
    _, pair, ranks = judged(failing(column("a", drawn(2)), []), failing(column("b", drawn(3, 2.0)), range(20)))
    assert (pair.scores_better, pair.fails_more, pair.outcome.kind, pair.better) == ("b", "b", "trade", None)
    assert ranks == [1, 1]


def test_who_scores_lower_and_fails_more_is_worse_once():
    _, pair, ranks = judged(failing(column("a", drawn(2, 2.0)), []), failing(column("b", drawn(3)), range(20)))
    assert (pair.scores_better, pair.fails_more, pair.outcome.kind, pair.better) == ("a", "b", "better", "a")
    assert ranks == [1, 2]


def test_failures_are_a_family_of_their_own_and_one_test_whatever_the_judges():
    def columns(judge):
        return [
            failing(column("a", drawn(2, 0.4), judge=judge), [0]),
            failing(column("b", drawn(3), judge=judge), range(8)),
            failing(column("c", drawn(4), judge=judge), range(30, 38)),
        ]

    alone = compare(columns("x"))
    both = compare([*columns("x"), *columns("y")])
    assert [pair.failures for pair in both.pairs] == [pair.failures for pair in alone.pairs] * 2
    ab, ac, bc = (pair.failures for pair in alone.pairs)
    assert (ab.p, ac.p, bc.p) == pytest.approx([2 / 2**7, stats.binomtest(1, 9).pvalue, 1.0])
    assert (ab.p_adjusted, ac.p_adjusted, bc.p_adjusted) == pytest.approx([3 * ab.p, 2 * ac.p, 1.0])
    assert [pair.p_adjusted for pair in alone.pairs] == holm([pair.p for pair in alone.pairs]), "scores by themselves"


def test_refusals_are_counted_apart_from_failures_and_on_source_images(make_sample, make_results):
    samples = [make_sample(index, cluster=f"image {index // 2}") for index in range(8)]
    failed, refused, left = Status.EDIT_FAILED, Status.EDIT_REFUSED, Status.PENDING
    rows: dict[str, list[int | Status]] = {"a": [], "b": [5] * 8, "c": [left] * 8}
    rows["a"] = [5, 5, refused, refused, refused, failed, left, 5]
    run = make_results(samples, {(model, "j"): [[outcome] for outcome in row] for model, row in rows.items()})
    a, b, c = edits_by_model(run)
    assert (a.edit_model, a.total) == ("a", 7)
    assert (a.edit_failed.count, a.edit_refused.count) == (1, 3)
    assert a.edit_refused.rate == pytest.approx(3 / 7)
    images = np.array([0, 0, 1, 1, 2, 2, 3])
    assert a.edit_refused.ci95 == failure_interval(np.array([0, 0, 1, 1, 1, 0, 0.0]), images)
    interval = failure_interval(np.zeros(8), np.arange(8) // 2)
    assert plain(b.edit_refused) == {"count": 0, "total": 8, "rate": 0.0, "ci95": interval}
    assert plain(c.edit_refused) == {"count": 0, "total": 0, "rate": None, "ci95": None}
