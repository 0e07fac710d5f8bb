"""Maps one rater's scores to another's: the best map that never falls, and its error on unseen data.

Isotonic regression (Barlow and Brunk, JASA 67, 1972), since scores of judges are ordinal: that a 9 is better than an 8
is known, but not that it is as much better as an 8 than a 7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edit_eval.plugins.agreement.document import Calibration, Knot
from edit_eval.statistics.intervals import FloatArray, IntArray, cluster_draws, percentiles

FOLDS = 10
FEWEST_MAPPED = 8
"""Source images below which nothing can be said about a map."""
_MOST_KNOTS = 21
"""Limit of knots of a map given with their intervals."""


@dataclass(frozen=True)
class Isotonic:
    """A map that never falls: linear between its knots, level beyond the first and the last."""

    at: FloatArray
    value: FloatArray

    def __call__(self, scores: FloatArray) -> FloatArray:
        return np.asarray(np.interp(scores, self.at, self.value), dtype=np.float64)


def isotonic(scores: FloatArray, targets: FloatArray, weights: FloatArray | None = None) -> Isotonic:
    """Fits the map with the least squared error. Raises `ValueError` if no score has any weight."""
    from scipy.optimize import isotonic_regression

    weights = np.ones(len(scores)) if weights is None else weights
    counts = weights > 0
    if not counts.any():
        raise ValueError("there is nothing to fit a map to")
    at, of_level = np.unique(scores[counts], return_inverse=True)
    mass = np.bincount(of_level, weights[counts])
    means = np.bincount(of_level, weights[counts] * targets[counts]) / mass
    return Isotonic(at, np.asarray(isotonic_regression(means, weights=mass).x, dtype=np.float64))


@dataclass(frozen=True)
class Pairs:
    """Scores of the same edits by two raters, with the source image and the edit model of each."""

    scores: FloatArray
    targets: FloatArray
    clusters: IntArray
    """Codes from 0."""
    edit_models: Sequence[str]

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def usable(self) -> bool:
        """True if there is enough for a map: eight source images, and a spread on both sides."""
        return (
            len(self) > 0
            and len(np.unique(self.clusters)) >= FEWEST_MAPPED
            and float(np.ptp(self.scores)) > 0
            and float(np.ptp(self.targets)) > 0
        )


def cross_fitted(pairs: Pairs) -> FloatArray:
    """Maps each score by a map fitted to the other source images, in ten parts (or one per image)."""
    groups = np.unique(pairs.clusters)
    order = np.random.default_rng(0).permutation(len(groups))
    fold_of = np.empty(len(groups), dtype=np.int64)
    fold_of[order] = np.arange(len(groups)) % min(FOLDS, len(groups))
    return predict_by_other_parts(pairs, fold_of[np.searchsorted(groups, pairs.clusters)])


def predict_by_other_parts(pairs: Pairs, parts: IntArray) -> FloatArray:
    """Maps each score by a map fitted to the other parts; NaN if there is one part only."""
    values = np.full(len(pairs), math.nan)
    for part in np.unique(parts):
        out = parts == part
        if not out.all():
            values[out] = isotonic(pairs.scores[~out], pairs.targets[~out])(pairs.scores[out])
    return values


def calibration(pairs: Pairs, *, resamples: int = 1_000) -> Calibration | None:
    """Returns the map, with its error.

    `rmse` and `explained` (the share of the targets' variance, which may be below 0) are cross-fitted: each edit is
    predicted by a map that has not seen its source image. `map` has each level of the scores, or 21 of them;
    its intervals resample source images. None if not `usable`.
    """
    if not pairs.usable:
        return None
    errors = cross_fitted(pairs) - pairs.targets
    squares = math.fsum((errors**2).tolist())
    return Calibration(
        n=len(pairs),
        clusters=len(np.unique(pairs.clusters)),
        folds=min(FOLDS, len(np.unique(pairs.clusters))),
        rmse=math.sqrt(squares / len(errors)),
        explained=1 - squares / math.fsum(((pairs.targets - pairs.targets.mean()) ** 2).tolist()),
        map=_knots(pairs, resamples),
    )


def _knots(pairs: Pairs, resamples: int) -> list[Knot]:
    _, images = np.unique(pairs.clusters, return_inverse=True)
    drawn = [isotonic(pairs.scores, pairs.targets, counts[images]) for counts in cluster_draws(images, resamples)]
    whole = isotonic(pairs.scores, pairs.targets)
    at = np.unique(pairs.scores)
    if len(at) > _MOST_KNOTS:
        at = np.unique(np.quantile(at, np.linspace(0, 1, _MOST_KNOTS)))
    values = np.array([fit(at) for fit in drawn]).reshape(-1, len(at))
    return [
        Knot(score=float(score), value=float(value), ci95=percentiles(values[:, place]))
        for place, (score, value) in enumerate(zip(at, whole(at), strict=True))
    ]
