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
from edit_eval.statistics.levels import ALPHA

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

    The statistic z is the difference of the two means over its standard error by the variances of either side, as of
    Welch, so that a group that is only more scattered than the rest is no finding: of values that are dealt out anew,
    studentised like that, the distribution is right for equal means, not for equal distributions alone (Chung and
    Romano, Annals of Statistics 41, 2013). With n samples of k images in the group, r_i the deviation of a value from
    the mean of its side, and m, l for the rest:

        SE^2 = sum over images (sqrt(k / (k - 1)) / n sum_inside r_i - sqrt(l / (l - 1)) / m sum_outside r_i)^2

    So that small groups, whose errors are known badly, do not make all of the largest, a z is counted as the normal one
    that is as rare: Phi^-1(T(|z|)), T being Student's distribution with min(k, l) - 1 degrees of freedom. The adjusted
    p is the share of draws in which the largest |z| of all groups is at least this one's (the draw that
    was seen is one of them); the interval has the 95th percentile of those largest in place of Student's quantile.
    """
    groups = members.shape[1]
    correction = Correction(groups, method="largest")
    if not groups:
        return OverlappingGroups((), correction)
    middle = values.mean()
    studentised = _Studentised(clusters, members)
    means = (members * values[:, None]).sum(0) / members.sum(0)
    elsewhere = (~members * values[:, None]).sum(0) / (~members).sum(0)
    if np.ptp(values) <= 1e-12 * max(1.0, float(np.abs(values).max(initial=0.0))):
        alike = (
            GroupTest(float(m), float(e), 0.0, 0.0, None, 1.0, False) for m, e in zip(means, elsewhere, strict=True)
        )
        return OverlappingGroups(tuple(alike), correction)
    differences, errors = (of[0] for of in studentised.compute_differences((values - middle)[None, :]))
    z = studentised.as_normal(differences / errors)
    largest = _largest(values - middle, clusters, studentised, draws, np.random.default_rng(seed))
    ranked = np.sort(np.append(largest, np.abs(z).max()))
    adjusted = (len(ranked) - np.searchsorted(ranked, np.abs(z) - 1e-9)) / len(ranked)
    # The least |z| whose adjusted p is at most ALPHA, so that an interval holds zero just when nothing is shown.
    critical = float(ranked[len(ranked) - math.floor(ALPHA * len(ranked))])
    reach = studentised.from_normal(critical)
    tests = [
        GroupTest(
            mean=float(means[at]),
            elsewhere=float(elsewhere[at]),
            difference=(difference := float(means[at] - elsewhere[at])),
            standard_error=(error := float(errors[at])),
            ci95=[difference - reach[at] * error, difference + reach[at] * error],
            p_adjusted=float(adjusted[at]),
            shown=bool(adjusted[at] <= ALPHA),
        )
        for at in range(groups)
    ]
    return OverlappingGroups(tuple(tests), correction)


class _Studentised:
    """The difference of each group from the rest, and its standard error, of many arrangements of the values."""

    def __init__(self, clusters: IntArray, members: BoolArray) -> None:
        sides = [members.astype(np.float64), (~members).astype(np.float64)]
        images = np.zeros((int(clusters.max()) + 1, members.shape[1]))
        counts = []
        self._means, self._weights = [], []  # of each side: what makes its mean, and its part of an image's residual
        for side, sign in zip(sides, (1.0, -1.0), strict=True):
            images[:] = 0
            np.add.at(images, clusters, side)
            count = (images > 0).sum(0)
            counts.append(count)
            self._means.append(side / side.sum(0))
            self._weights.append(sign * side / side.sum(0) * np.sqrt(count / np.maximum(1, count - 1)))
        self._freedom = np.maximum(1, np.minimum(*counts) - 1)
        order = np.argsort(clusters, kind="stable")
        of_images = np.split(order, np.flatnonzero(np.diff(clusters[order])) + 1)
        self._single = np.concatenate([of for of in of_images if len(of) == 1] or [np.zeros(0, dtype=np.int64)])
        self._several = [of for of in of_images if len(of) > 1]

    def as_normal(self, z: FloatArray) -> FloatArray:
        """Returns the sizes of normal values as rare as these of Student's; arrangements x groups, or groups."""
        from scipy.special import ndtri, stdtr

        return np.asarray(-ndtri(np.maximum(stdtr(self._freedom, -np.abs(z)), 1e-300)))

    def from_normal(self, size: float) -> list[float]:
        """Returns for each group the size of Student's as rare as a normal one of this size."""
        from scipy.special import ndtr, stdtrit

        return np.abs(stdtrit(self._freedom, ndtr(-size))).tolist()  # type: ignore[no-any-return]

    def compute_differences(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Returns differences and errors, arrangements x groups each; `values`: arrangements x samples."""
        means = [values @ of_side for of_side in self._means]
        squares = np.zeros_like(means[0])
        alone, its = self._single, values[:, self._single]
        for mean, weights in zip(means, self._weights, strict=True):
            square = weights[alone] ** 2  # of an image with one sample, which is on one side
            squares += (its**2) @ square - 2 * mean * (its @ square) + mean**2 * square.sum(0)
        for image in self._several:
            residual = sum(
                values[:, image] @ weights[image] - mean * weights[image].sum(0)
                for mean, weights in zip(means, self._weights, strict=True)
            )
            squares += residual**2
        return means[0] - means[1], np.sqrt(np.maximum(squares, 1e-24))


def _largest(
    centred: FloatArray, clusters: IntArray, studentised: _Studentised, draws: int, random: np.random.Generator
) -> FloatArray:
    """Returns of each draw the largest |z| of all groups."""
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
        differences, errors = studentised.compute_differences(dealt)
        largest.append(studentised.as_normal(differences / errors).max(1))
    return np.concatenate(largest)
