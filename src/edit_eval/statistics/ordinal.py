"""Ordinal ratings: midranks with weights, since a resampled set counts some items twice, and Krippendorff's alpha."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from edit_eval.statistics.intervals import FloatArray, IntArray, bootstrap_interval, cluster_codes
from edit_eval.statistics.raters import Rater


def levels(values: FloatArray) -> IntArray:
    """Returns for each value the place of its level among the distinct values, from 0."""
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.int64)


def midranks(of_levels: IntArray, weights: FloatArray) -> FloatArray:
    """Returns for each value its rank among all, ties in the middle; `weights` says how often each counts."""
    counts = np.bincount(of_levels, weights=weights)
    return np.asarray((np.cumsum(counts) - counts / 2)[of_levels], dtype=np.float64)


class OrdinalRatings:
    """Ratings prepared for repeated weighting: sorting them is most of the work, and needed once.

    `ratings`: edits x judges, NaN if there is none. Edits with fewer than two ratings do not matter.
    """

    def __init__(self, ratings: FloatArray) -> None:
        given = ~np.isnan(ratings)
        given[given.sum(axis=1) < 2] = False
        self._edits = np.nonzero(given)[0]  # edit of each rating
        self._levels = levels(ratings[given])
        self._counts = given.sum(axis=1).astype(np.float64)

    def alpha(self, weights: FloatArray) -> float | None:
        """Computes Krippendorff's alpha, 1 for perfect agreement, 0 for chance; `weights`: how often each edit counts.

        alpha = 1 - D_o / D_e (Krippendorff, Content Analysis, 2004, chapter 11). The ordinal distance of two ratings is
        the number of ratings between them, halves of their own levels included: the difference of their midranks. None
        if there is nothing to agree about: no edit with two ratings, or all ratings equal.
        """
        of_ratings = weights[self._edits]
        total = float(of_ratings.sum())
        if total < 2:
            return None
        # Minus the mean rank, which keeps the sums of squares small, and so exact.
        ranks = midranks(self._levels, of_ratings) - total / 2
        sums = np.bincount(self._edits, ranks, len(weights))
        squares = np.bincount(self._edits, ranks**2, len(weights))
        within = (self._counts * squares - sums**2) / np.maximum(self._counts - 1, 1)
        observed = float((weights * within).sum()) / total
        expected = (float((weights * squares).sum()) - float((weights * sums).sum()) ** 2 / total) / (total - 1)
        return 1 - observed / expected if expected > 0 else None


class Alpha(msgspec.Struct, frozen=True, kw_only=True):
    """Krippendorff's alpha of two raters or more."""

    edits: int
    """That two or more have answered about."""
    alpha: float | None
    """1 for full agreement, 0 for that of chance; None with `no_alpha`."""
    ci95: list[float] | None
    """Over resampled source images."""
    no_alpha: str | None
    """Why there is none: `unlike_scales`, `no_scores`, `no_spread`."""


def alpha(raters: Sequence[Rater], image: Callable[[str], str], resamples: int) -> Alpha:
    """Computes Krippendorff's alpha of raters; `image` gives each sample's source image.

    It asks whether they give the same rating, not whether they rank alike, so ratings on `unlike_scales` have none.
    """
    count = Counter(item for rater in raters for item in rater.answers)
    shared = sorted(item for item, times in count.items() if times >= 2)
    if len({rater.scale for rater in raters}) > 1:
        return Alpha(edits=len(shared), alpha=None, ci95=None, no_alpha="unlike_scales")
    rows = [[rater.values.get(item, math.nan) for rater in raters] for item in shared]
    prepared = OrdinalRatings(np.array(rows, dtype=np.float64).reshape(len(shared), len(raters)))
    coefficient = prepared.alpha(np.ones(len(shared)))
    codes = cluster_codes([image(item.sample_id) for item in shared])
    return Alpha(
        edits=len(shared),
        alpha=coefficient,
        ci95=bootstrap_interval(prepared.alpha, codes, resamples=resamples),
        no_alpha=None if coefficient is not None else "no_spread" if shared else "no_scores",
    )
