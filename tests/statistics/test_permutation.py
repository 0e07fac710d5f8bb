from __future__ import annotations

import numpy as np
import pytest

from edit_eval.statistics.permutation import sign_flip_p_value


def test_the_exact_test_is_that_of_scipy():
    stats = pytest.importorskip("scipy.stats")
    generator = np.random.default_rng(2)
    for groups in (2, 5, 10, 13):
        differences = np.round(generator.normal(0.4, 1, size=groups), 1)
        expected = stats.permutation_test(
            (differences,), lambda x, axis: x.mean(axis=axis), permutation_type="samples", vectorized=True
        )
        assert sign_flip_p_value(differences, np.arange(groups)) == pytest.approx(expected.pvalue)


def test_the_random_test_comes_close_to_that_of_scipy():
    stats = pytest.importorskip("scipy.stats")
    differences = np.random.default_rng(4).normal(0.25, 1, size=60)
    expected = stats.permutation_test(
        (differences,), lambda x, axis: x.mean(axis=axis), permutation_type="samples", vectorized=True, rng=1
    )
    assert sign_flip_p_value(differences, np.arange(60)) == pytest.approx(expected.pvalue, abs=0.01)


def test_clusters_are_flipped_as_a_whole():
    differences = np.array([1.0, 1.0, 1.0, 1.0, 2.0, 2.0])
    clusters = np.array([0, 0, 0, 0, 1, 1])
    assert sign_flip_p_value(differences, clusters) == 0.5  # 2 of the 4 patterns of two clusters
    assert sign_flip_p_value(differences, np.arange(6)) == 2 / 64


def test_no_difference_is_p_1():
    assert sign_flip_p_value(np.zeros(40), np.arange(40)) == 1.0
    assert sign_flip_p_value(np.array([1.0, -1.0]), np.array([0, 0])) == 1.0
    assert sign_flip_p_value(np.array([3.0]), np.array([0])) == 1.0
    with pytest.raises(ValueError, match="no differences"):
        sign_flip_p_value(np.array([]), np.array([], dtype=np.int64))


def test_the_same_data_give_the_same_p_in_any_order_and_direction():
    generator = np.random.default_rng(8)
    differences = np.round(generator.normal(0.2, 1, size=90), 3)
    clusters = np.repeat(np.arange(30), 3)
    order = generator.permutation(90)
    p = sign_flip_p_value(differences, clusters)
    assert sign_flip_p_value(differences[order], clusters[order]) == p
    assert sign_flip_p_value(-differences, clusters) == p


@pytest.mark.parametrize("sizes", [[3] * 30, [1, 2, 6] * 8, [4] * 10], ids=["even", "uneven", "exact"])
def test_p_values_are_uniform_when_there_is_no_difference(sizes):
    stats = pytest.importorskip("scipy.stats")
    generator = np.random.default_rng(21)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    found = []
    for _ in range(600):
        between = generator.normal(size=len(sizes))[clusters]
        differences = between + generator.normal(size=len(clusters))
        found.append(sign_flip_p_value(differences, clusters, resamples=999))
    assert stats.kstest(found, "uniform").pvalue > 0.01
    assert np.mean(np.array(found) <= 0.05) == pytest.approx(0.05, abs=0.025)


def test_the_same_simulation_finds_a_test_that_forgets_the_clusters():
    stats = pytest.importorskip("scipy.stats")
    generator = np.random.default_rng(21)
    clusters = np.repeat(np.arange(30), 3)
    found = []
    for _ in range(300):
        differences = generator.normal(size=30)[clusters] + generator.normal(size=90)
        found.append(sign_flip_p_value(differences, np.arange(90), resamples=999))
    assert stats.kstest(found, "uniform").pvalue < 1e-4
