"""Tests of groups that overlap, all at once: which differ from the rest by more than the largest would by chance.

Groups of samples (a category, dark pictures, instructions that count) share samples, so what differs in one differs in
others, and Holm's correction over hundreds of them would find little. The distribution of the *largest* statistic
needs no such bound: the values are dealt out to the samples again and again, which breaks every tie between values and
groups and none between the groups (Westfall and Young, Resampling-Based Multiple Testing, 1993). Samples of one source
image move together: an image's values go to an image with as many samples.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from edit_eval.statistics.families import Correction
from edit_eval.statistics.intervals import FEWEST_CLUSTERS, BoolArray, FloatArray, IntArray
from edit_eval.statistics.power import ALPHA

DRAWS = 1999
"""Times that the values are dealt out anew: an adjusted p of .05 is then known to within .01."""
_AT_ONCE = 250  # draws in memory together


@dataclass(frozen=True)
class GroupTest:
    """One group against the rest."""

    mean: float
    elsewhere: float
    """Mean of all samples outside."""
    difference: float
    standard_error: float
    ci95: list[float] | None
    """Of the difference; all of them hold together in 95 of 100 evaluations. None if nothing varies."""
    p_adjusted: float
    shown: bool
    """True if the difference is there beyond what the largest of all groups has by chance."""


@dataclass(frozen=True)
class OverlappingGroups:
    """Groups of the same samples, tested together."""

    tests: tuple[GroupTest, ...]
    correction: Correction


def large_enough(members: BoolArray, clusters: IntArray, least: int) -> BoolArray:
    """Returns for each group whether it can be tested: `least` samples and six source images, inside and outside.

    `members`: samples x groups. `clusters`: of each sample, its source image.
    """
    images = np.zeros((int(clusters.max(initial=-1)) + 1, members.shape[1]), dtype=bool)
    outside = images.copy()
    np.logical_or.at(images, clusters, members)
    np.logical_or.at(outside, clusters, ~members)
    inside = members.sum(0)
    enough: BoolArray = (inside >= least) & (len(members) - inside >= least)
    enough &= images.sum(0) >= FEWEST_CLUSTERS
    enough &= outside.sum(0) >= FEWEST_CLUSTERS
    return enough


def overlapping_groups(
    values: FloatArray, clusters: IntArray, members: BoolArray, *, draws: int = DRAWS, seed: int = 0
) -> OverlappingGroups:
    """Tests each group's mean against that of all other samples, corrected over all groups.

    `values`: one for each sample. `clusters`: of each sample, its source image, numbered from 0. `members`: samples x
    groups, each `large_enough`.

    With w = 1/n in the group and -1/m outside, the difference is sum(w d), and its variance, for values of variance
    s^2 of which those of one image are correlated by r, s^2 ((1 - r) sum(w^2) + r sum over images of (sum w)^2). s and
    r (one-way analysis of variance, not below 0) are the same however the values are dealt out. The adjusted p is the
    share of draws in which the largest |z| of all groups is at least this one's (the draw that was seen is one of
    them); the interval has the 95th percentile of those largest in place of Student's quantile, and the variance that
    is left beside the group's own difference.
    """
    count, groups = members.shape
    inside = members.sum(0).astype(np.float64)
    weights = np.where(members, 1 / np.maximum(inside, 1), -1 / np.maximum(count - inside, 1))
    correction = Correction(groups, method="largest")
    if not groups:
        return OverlappingGroups((), correction)
    centred = values - values.mean()
    variance = float((centred**2).sum()) / max(1, count - 1)
    means = (members * values[:, None]).sum(0) / inside
    elsewhere = (~members * values[:, None]).sum(0) / (count - inside)
    if variance <= 1e-24 * max(1.0, float((values**2).max(initial=0.0))):
        alike = (
            GroupTest(float(m), float(e), 0.0, 0.0, None, 1.0, False) for m, e in zip(means, elsewhere, strict=True)
        )
        return OverlappingGroups(tuple(alike), correction)
    correlation = _within_images(centred, clusters)
    of_image = np.zeros((int(clusters.max()) + 1, groups))
    np.add.at(of_image, clusters, weights)
    shape = (1 - correlation) * (weights**2).sum(0) + correlation * (of_image**2).sum(0)
    errors = np.sqrt(variance * shape)
    z = weights.T @ centred / errors
    largest = _largest(centred, clusters, weights / errors, draws, np.random.default_rng(seed))
    ranked = np.sort(np.append(largest, np.abs(z).max()))
    adjusted = (len(ranked) - np.searchsorted(ranked, np.abs(z) - 1e-9)) / len(ranked)
    # The least |z| whose adjusted p is at most ALPHA, so that an interval holds zero just when nothing is shown.
    critical = float(ranked[len(ranked) - math.floor(ALPHA * len(ranked))])
    tests = [
        _test(
            float(means[at]),
            float(elsewhere[at]),
            float(errors[at]),
            float(z[at]),
            float(adjusted[at]),
            critical,
            count,
        )
        for at in range(groups)
    ]
    return OverlappingGroups(tuple(tests), correction)


def _test(
    mean: float, elsewhere: float, error: float, z: float, adjusted: float, critical: float, count: int
) -> GroupTest:
    def left(statistic: float) -> float:
        """Returns the share of the variance that is left beside a group's own difference, from 0."""
        return math.sqrt(max(0.0, count - 1 - statistic**2) / max(1, count - 2))

    difference = mean - elsewhere
    # Student's t of a z: more for large ones, as the difference is no part of the variance any more.
    reach = critical / left(critical) * left(z) * error if left(critical) else math.inf
    shown = adjusted <= ALPHA
    ends = [difference - reach, difference + reach] if math.isfinite(reach) else None
    return GroupTest(mean, elsewhere, difference, error * left(z), ends, adjusted, shown)


def _within_images(centred: FloatArray, clusters: IntArray) -> float:
    """Returns the correlation of values of one image, from 0 to 1: ICC(1) of unequal groups (see `retest`)."""
    sizes = np.bincount(clusters).astype(np.float64)
    there = sizes > 0
    sums = np.bincount(clusters, weights=centred)
    images, count = int(there.sum()), len(centred)
    if images in (1, count):
        return 0.0
    between = float((sums[there] ** 2 / sizes[there]).sum())
    mean_between = between / (images - 1)
    mean_within = max(0.0, float((centred**2).sum()) - between) / (count - images)
    size = (count - float((sizes**2).sum()) / count) / (images - 1)
    whole = mean_between + (size - 1) * mean_within
    return min(1.0, max(0.0, (mean_between - mean_within) / whole)) if whole > 0 else 0.0


def _largest(
    centred: FloatArray, clusters: IntArray, weights: FloatArray, draws: int, random: np.random.Generator
) -> FloatArray:
    """Returns of each draw the largest |z| of all groups, by `weights` (samples x groups)."""
    images: dict[int, list[Any]] = defaultdict(list)
    order = np.argsort(clusters, kind="stable")
    for of_image in np.split(order, np.flatnonzero(np.diff(clusters[order])) + 1):
        images[len(of_image)].append(of_image)
    blocks = [np.array(of_size) for _, of_size in sorted(images.items())]
    largest = []
    for begin in range(0, draws, _AT_ONCE):
        several = min(_AT_ONCE, draws - begin)
        dealt = np.empty((several, len(centred)))
        for block in blocks:
            places = random.permuted(np.tile(np.arange(len(block)), (several, 1)), axis=1)
            drawn = centred[block][places]  # draws x images x samples: images among those of their size
            if block.shape[1] > 1:
                drawn = random.permuted(drawn, axis=2)  # and the samples within each
            dealt[:, block.ravel()] = drawn.reshape(several, -1)
        largest.append(np.abs(dealt @ weights).max(1))
    return np.concatenate(largest)
