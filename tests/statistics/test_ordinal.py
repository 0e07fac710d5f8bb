from __future__ import annotations

import math

import numpy as np
import pytest

from edit_eval.statistics.ordinal import OrdinalRatings


def ordinal_alpha(ratings, weights=None):
    return OrdinalRatings(ratings).alpha(np.ones(len(ratings)) if weights is None else weights)


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
