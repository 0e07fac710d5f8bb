"""Ranks with ties, for items that count with weights: a resampled set is one that counts some items twice."""

from __future__ import annotations

import numpy as np

from edit_eval.statistics.intervals import FloatArray, IntArray


def levels(values: FloatArray) -> IntArray:
    """For each value the place of its level among the distinct values, from 0."""
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.int64)


def midranks(of_levels: IntArray, weights: FloatArray) -> FloatArray:
    """For each value its rank among all, ties in the middle; `weights` says how often each counts."""
    counts = np.bincount(of_levels, weights=weights)
    return np.asarray((np.cumsum(counts) - counts / 2)[of_levels], dtype=np.float64)


def weighted_correlation(a: FloatArray, b: FloatArray, weights: FloatArray) -> float | None:
    """Pearson's correlation; None where one side does not vary."""
    total = weights.sum()
    if total <= 0:
        return None
    from_mean_a = a - (weights * a).sum() / total
    from_mean_b = b - (weights * b).sum() / total
    square_a = float((weights * from_mean_a**2).sum())
    square_b = float((weights * from_mean_b**2).sum())
    if square_a <= 0.0 or square_b <= 0.0:
        return None
    correlation = float((weights * from_mean_a * from_mean_b).sum()) / np.sqrt(square_a * square_b)
    return float(min(1.0, max(-1.0, correlation)))
