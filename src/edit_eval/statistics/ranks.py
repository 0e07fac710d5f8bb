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
