from __future__ import annotations

import math

import numpy as np
import pytest

from edit_eval.statistics.intervals import (
    bootstrap_interval,
    mean_interval,
    wilson_interval,
)


def clustered_data(generator, sizes, icc):
    """Scores with mean 0 and variance 1, of which the share `icc` lies between clusters."""
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    between = generator.normal(size=len(sizes))[clusters]
    return math.sqrt(icc) * between + math.sqrt(1 - icc) * generator.normal(size=len(clusters)), clusters


def test_with_one_score_a_cluster_it_is_the_textbook_interval():
    stats = pytest.importorskip("scipy.stats")
    values = [7.0, 3.5, 4.0, 9.0, 6.5]
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert mean_interval(values, list("abcde")) == pytest.approx([low, high])


@pytest.mark.parametrize(
    ("sizes", "icc"),
    [([3] * 90, 0.3), ([3] * 90, 0.6), ([10] * 27, 0.3), ([1, 2, 3, 4, 5] * 8, 0.3), ([1] * 12, 0.0)],
)
def test_it_holds_the_truth_in_95_of_100(sizes, icc):
    generator = np.random.default_rng(11)
    covered = 0
    for _ in range(1_500):
        low, high = mean_interval(*clustered_data(generator, sizes, icc))
        covered += low <= 0.0 <= high
    assert 0.93 <= covered / 1_500 <= 0.97


def test_the_same_simulation_finds_an_interval_that_forgets_the_clusters():
    generator = np.random.default_rng(11)
    covered = 0
    for _ in range(500):
        values, _ = clustered_data(generator, [10] * 27, 0.3)
        low, high = mean_interval(values, np.arange(len(values)))
        covered += low <= 0.0 <= high
    assert covered / 500 < 0.8


@pytest.mark.parametrize(
    ("values", "clusters"),
    [
        ([], []),
        ([5.0], ["a"]),
        ([5.0, 6.0], ["a", "a"]),
        ([10.0] * 30, [str(i) for i in range(30)]),
        ([5.0, 6.0, 7.0], ["a", "b", ""]),
        ([4.0, 6.0, 4.0, 6.0], ["a", "a", "b", "b"]),
    ],
    ids=["nothing", "one score", "one cluster", "no spread", "unknown source", "no spread between clusters"],
)
def test_where_the_data_do_not_say_there_is_no_interval(values, clusters):
    assert mean_interval(values, clusters) is None


def test_a_missing_cluster_is_an_error():
    with pytest.raises(ValueError, match="one cluster a value"):
        mean_interval([1.0, 2.0], ["a"])


def test_no_mean_lies_beyond_the_scale():
    low, high = mean_interval([9.0, 10.0, 10.0], list("abc"), lowest=0.0, highest=10.0)
    assert high == 10.0
    assert low < 9.0


@pytest.mark.parametrize(("successes", "total"), [(30, 30), (0, 30), (1, 7), (135, 270)])
def test_wilson_is_that_of_scipy(successes, total):
    stats = pytest.importorskip("scipy.stats")
    expected = stats.binomtest(successes, total).proportion_ci(method="wilson")
    assert wilson_interval(successes, total) == pytest.approx([expected.low, expected.high], abs=1e-12)


def test_wilson_refuses_impossible_counts():
    assert wilson_interval(0, 0) is None
    with pytest.raises(ValueError, match="3 successes of 2"):
        wilson_interval(3, 2)


def test_the_bootstrap_agrees_with_the_formula_for_a_mean():
    generator = np.random.default_rng(5)
    values, clusters = clustered_data(generator, [3] * 90, 0.4)
    found = bootstrap_interval(lambda weights: float((weights * values).sum() / weights.sum()), clusters)
    assert found == pytest.approx(mean_interval(values, clusters), abs=0.03)


def test_the_bootstrap_gives_no_interval_where_it_cannot():
    one_cluster = np.zeros(5, dtype=np.int64)
    assert bootstrap_interval(lambda weights: 1.0, one_cluster) is None
    five = np.arange(5)
    assert bootstrap_interval(lambda weights: 1.0, five) is None
    assert bootstrap_interval(lambda weights: None, five) is None
