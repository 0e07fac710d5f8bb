"""95 % intervals clustered on source images, since scores of one image belong together.

Several instructions on one image, several edit seeds and several repeats of the judge are not independent
observations. An interval that takes them as such is too narrow: with ten instructions an image and an
intraclass correlation of .3 it holds the truth in 71 % of cases, not in 95 %. And images differ in how many scores
they have: if one has half of them, the usual sandwich with G - 1 degrees of freedom takes it for one of G equals
and holds the truth in 66 %. One estimator serves all: the mean of all scores, of the categories' means, of differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

CONFIDENCE = 0.95
FEWEST_CLUSTERS = 6
"""Least number for an interval: five, bounded and skewed, hold the truth in .55 to .91, by any rule."""
FEWEST_WORTH = 4.0
"""No interval if clusters are worth fewer equal ones than this, 1 / (sum of squared shares): two or three have nearly
all the weight, and their own spread cannot be seen."""
MOST_ASYMMETRY = 0.5
"""Limit of the asymmetry used in Hall's transformation; see `hull_p_value`."""
FEWEST_FREEDOM = 2.0
"""No interval with fewer degrees of freedom."""


def student_quantile(probability: float, degrees_of_freedom: float) -> float:
    """Returns the quantile of Student's t distribution."""
    from scipy.special import stdtrit  # lighter than scipy.stats, which takes a second to import

    return float(stdtrit(degrees_of_freedom, probability))


def normal_quantile(probability: float) -> float:
    """Returns the quantile of the standard normal distribution."""
    from scipy.special import ndtri

    return float(ndtri(probability))


def cluster_codes(labels: Sequence[Any]) -> IntArray:
    """Returns a number from 0 for each distinct label, in the sorted order of the labels; not to be written to."""
    return _number_labels(tuple(labels))


@lru_cache(maxsize=16)  # all pairs of a run's columns are over the same images
def _number_labels(labels: tuple[Any, ...]) -> IntArray:
    codes = {label: code for code, label in enumerate(sorted(set(labels)))}
    numbers = np.fromiter((codes[label] for label in labels), dtype=np.int64, count=len(labels))
    numbers.flags.writeable = False
    return numbers


def hull_interval(
    value: float, standard_error: float, freedom: float, asymmetry: float, *, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Returns `(low, high)`: the hull of Student's interval and Hall's, the values that `hull_p_value` does not reject.

    With q = t(1/2 + confidence/2; freedom) and a = `asymmetry`, cut at -1/2 and 1/2, the ends are the least and the
    greatest of

        value - q SE,  value + q SE,  value - h(q) SE,  value - h(-q) SE,  h(z) = 3/a (cbrt(1 + a (z - a/6)) - 1)

    where h is the inverse of Hall's transformation (see `hull_p_value`), and h(z) = z for a = 0.
    """
    reach = student_quantile(0.5 + confidence / 2, freedom)
    ends = [
        value - quantile * standard_error
        for z in (reach, -reach)
        for quantile in (z, invert_hall_transform(z, asymmetry))
    ]
    return min(ends), max(ends)


def hull_p_value(value: float, standard_error: float, freedom: float, asymmetry: float, *, at: float = 0.0) -> float:
    """Returns the two-sided p of "the true mean is `at`": the larger of Student's p and Hall's.

        t = (value - at) / SE,  p_t = 2 P(T > |t|),  p_Hall = 2 P(T > |t + a (t^2/3 + 1/6) + a^2 t^3/27|)

    T has Student's t distribution with `freedom` degrees of freedom, a is `asymmetry`: the skewness of the mean of
    images like those seen. It is cut at -1/2 and 1/2, since beyond, for a t of 2, Hall's cube turns over and requires
    less the more skewed the images are (with one in nine losing 8 points, and unequal images, it then calls a winner
    among equals in 12 of 100, not in 3).

    If a few images are far to one side, t is large just when none of these was drawn; Hall's transformation (JRSS B
    54, 1992) removes that. If differences are symmetric, and mostly ties, Hall's is the one that errs. The same data
    cannot tell which of the two is right without erring again (a switch by the skewness seen calls a winner among
    equals in 14 to 17 of 100), so both have to reject.
    """
    from scipy.special import stdtr

    t, a = (value - at) / standard_error, _cut(asymmetry)
    hall = t + a * (t * t / 3 + 1 / 6) + a * a * t**3 / 27
    return float(2 * stdtr(freedom, -min(abs(t), abs(hall))))


def invert_hall_transform(z: float, asymmetry: float) -> float:
    """Returns the t whose transformation by Hall is `z`: a cube root, the inverse of a cube (see `hull_interval`)."""
    a = _cut(asymmetry)
    if a == 0.0:
        return z
    grown = a * (z - a / 6)  # expm1 and log1p, since 1 + grown loses a small asymmetry to rounding
    return 3 / a * (math.expm1(math.log1p(grown) / 3) if grown > -0.5 else float(np.cbrt(1 + grown)) - 1)


def _cut(asymmetry: float) -> float:
    return max(-MOST_ASYMMETRY, min(MOST_ASYMMETRY, asymmetry))


def mean_asymmetry(values: FloatArray, shares: FloatArray) -> float:
    """Returns the skewness of the mean sum(shares * values) of independent values as skewed as these; 0.0 if all equal.

    With g1 = m3 / m2^(3/2) of the values' moments about their plain mean (divided by their number) and shares p that
    add up to 1: g1 sum(p^3) / (sum(p^2))^(3/2), which is g1 / sqrt(n) for equal shares.
    """
    deviations = values - values.mean()
    variance = float((deviations**2).mean())
    if variance <= 1e-24 * max(1.0, float((values**2).max())):
        return 0.0
    return float((deviations**3).mean() / variance**1.5) * _asymmetry_kept(shares)


def skewness_by_chance(count: int) -> float:
    """Returns the standard deviation of g1 for that many normal values."""
    return math.sqrt(6 * (count - 2) / ((count + 1) * (count + 3)))


def _asymmetry_kept(shares: FloatArray) -> float:
    """Returns how much of the values' skewness their mean keeps."""
    return float((shares**3).sum() / (shares**2).sum() ** 1.5)


class Signs(NamedTuple):
    """An exact test of signs; see `weigh_signs`."""

    wins: int
    losses: int
    p: float
    alone: bool
    """True if it decides whatever the interval says; else only where it can tell more."""


def weigh_signs(totals: FloatArray) -> Signs | None:
    """Tests that the mean is 0 by the signs of what each cluster adds to it; None where the interval tells as much.

    Two kinds of clusters are beyond any formula for the error, and an exact test is not. If all that are not 0 are of
    one size (a lead that is everywhere the same; a judge that says yes or no), a true mean of 0 makes either sign as
    likely as the other, so the signs decide alone: p = 2 P(X <= min(wins, losses)) of wins + losses tosses, which is
    the exact test of McNemar (Psychometrika 12, 1947). And if all have the same sign, p = 2^(1 - clusters) is what
    any symmetric distribution around 0 would give (Fisher, The Design of Experiments, 1935), however much one of them
    is unlike the others; an interval grows with that one, and would find less the larger the lead is.
    """
    sizes = np.abs(totals)
    largest = float(sizes.max(initial=0.0))
    there = sizes > 1e-9 * max(largest, 1e-300)
    if largest <= 1e-12 or not there.any():
        return None
    wins, losses = int((totals[there] > 0).sum()), int((totals[there] < 0).sum())
    alone = float(np.ptp(sizes[there])) <= 1e-9 * largest
    if alone or (there.all() and not (wins and losses)):
        return Signs(wins, losses, sign_test(wins, losses), alone)
    return None


@dataclass(frozen=True)
class Estimate:
    """A mean and its uncertainty; see `estimate`."""

    value: float
    standard_error: float
    """0.0 if there is none."""
    freedom: float
    """Degrees of freedom of the standard error: clusters - 1 for equal clusters, fewer for unequal ones."""
    freedom_between: float
    """The same in the worst case, with all variance between clusters and none within them."""
    clusters: int
    worth: float
    """Number of equal clusters these are worth: 1 / (sum of their squared shares)."""
    asymmetry: float
    """Skewness of the mean, if clusters are skewed like those seen; see `mean_asymmetry`."""
    asymmetry_by_chance: float
    """Its standard deviation in normal data."""
    doubt: str | None
    """Why there is no interval: `one_image`, `few_images`, `too_uneven`, `no_spread`; None if there is one."""
    signs: Signs | None = None
    """The exact test of "the true mean is 0", where one can tell more than the interval (`weigh_signs`)."""

    @property
    def is_skewed(self) -> bool:
        """True if a few clusters are so far to one side that readers should know. No test and no interval uses this.

        t tolerates a skewness g of G clusters while G > 25 g^2 (Cochran, Sampling Techniques, 1977, section 2.15); with
        few clusters, skewness below twice that of normal data by chance is not believed.
        """
        return abs(self.asymmetry) > max(0.2, 2 * self.asymmetry_by_chance)

    def interval(
        self, *, confidence: float = CONFIDENCE, lowest: float = -math.inf, highest: float = math.inf
    ) -> list[float] | None:
        """Returns `[low, high]`, the values not rejected by `p_value` at 1 - `confidence`; cut at the scale's ends.

        None if `doubt` says why. It holds for clusters like those seen.
        """
        if self.doubt:
            return None
        low, high = hull_interval(self.value, self.standard_error, self.freedom, self.asymmetry, confidence=confidence)
        return [max(lowest, low), min(highest, high)]

    def p_value(self, at: float = 0.0) -> float | None:
        """Returns the two-sided p of "the true mean is `at`": `hull_p_value`, of 0 where
        `is_decided_by_signs` the exact one; None if there is neither.
        """
        if at == 0.0 and self.signs is not None and self.is_decided_by_signs:
            return self.signs.p
        return self._hull_p(at)

    @property
    def is_decided_by_signs(self) -> bool:
        """True if the exact test of signs decides whether the true mean is 0."""
        if self.signs is None:
            return False
        hull = self._hull_p(0.0)
        return self.signs.alone or hull is None or self.signs.p < hull

    def _hull_p(self, at: float) -> float | None:
        if self.doubt:
            return None
        return hull_p_value(self.value, self.standard_error, self.freedom, self.asymmetry, at=at)


def estimate(values: FloatArray, clusters: IntArray, groups: IntArray | None = None) -> Estimate:
    """Estimates the mean of `values`, or with `groups` the mean of the groups' means, each with the same weight.

    `clusters` are codes of what values share (the source image), `groups` codes of what they are averaged in (the
    category); a cluster may have values in several groups. The error is CR2, the degrees of freedom are those of Bell
    and McCaffrey (Survey Methodology 28, 2002) as given by Pustejovsky and Tipton for several coefficients (JBES 36,
    2018), under the working model of independent values. With m_gc of the n_c values of group c in cluster g, r_gc
    the sum of their deviations from the group's mean, k groups:

        b_gc = 1 / (k n_c sqrt(1 - m_gc / n_c)),  SE0^2 = sum_g (sum_c b_gc r_gc)^2
        freedom = trace(P)^2 / trace(P P),  P = diag(sum_c m_gc b_gc^2) - U U',  U_gc = m_gc b_gc / sqrt(n_c)

    SE0^2 is unbiased if values are independent; it is too small for unequal clusters whose values are alike. So
    SE^2 = L SE0^2, where L makes it unbiased if all values of a cluster are equal and clusters independent:

        p_g = sum_c m_gc / (k n_c),  M_gh = sum_c b_gc m_gc m_hc / n_c
        L = sum_g p_g^2 / (sum_g (s_g^2 - 2 s_g M_gg) + sum_gh M_gh^2),  s_g = sum_c b_gc m_gc,  and not below 1

    That `freedom` takes all groups as equally variable. If one is more so, and has two or three clusters, it is too
    large (such intervals hold the truth in .85 to .92). So with groups it is at most that of Welch and Satterthwaite
    (Satterthwaite, Biometrics Bulletin 2, 1946) for the variances seen, f_c being `freedom` of group c alone:

        (sum_c v_c)^2 / sum_c (v_c^2 / f_c),  v_c = sum_g (b_gc r_gc)^2

    Neither P nor M is formed: of a diagonal and k columns all traces are sums. With one value a cluster, and whenever
    clusters are equal, L is 1, SE is s / sqrt(G) of the clusters' means and `freedom` G - 1. `asymmetry` is
    `mean_asymmetry` of x_g = sum_c r_gc / (k n_c) / p_g with the shares p_g: without groups x_g is the cluster's mean.

    `signs` are of what each cluster adds to the mean, sum_c (sum of its values in c) / (k n_c); there are none with too
    few clusters for an interval, or too uneven ones.

    There is no interval, and `doubt` says why, with fewer than two clusters, also if all values of a group are of
    one (`one_image`); if values do not differ (`no_spread`); with fewer than `FEWEST_CLUSTERS` (`few_images`); and
    if a few clusters have so much weight that the others cannot show their error: with fewer than
    `FEWEST_FREEDOM` degrees of freedom by the first formula, or 1 / sum p_g^2 below `FEWEST_WORTH` (`too_uneven`).

    Raises `ValueError` without any value.
    """
    if len(values) == 0:
        raise ValueError("there is nothing to take a mean of")
    of = _lay_out(*(None if codes is None else codes.astype(np.int64).tobytes() for codes in (clusters, groups)))
    shape, sizes = of.counts.shape, of.sizes
    values = values[np.lexsort((values, of.places))]  # the same sums, to the last bit, for any order of the values
    means = np.bincount(of.groups, values) / sizes
    point_estimate = replace(of.estimate, value=float(means.mean()))
    if point_estimate.doubt == "one_image":
        return point_estimate
    sums = np.bincount(of.cells, values - means[of.groups], of.counts.size).reshape(shape)
    error = math.sqrt(math.fsum(((of.adjusted * sums).sum(axis=1) ** 2).tolist()))
    if not error > 1e-12 * max(1.0, float(np.abs(values).max())):
        point_estimate = replace(point_estimate, doubt="no_spread")
    else:
        point_estimate = replace(
            point_estimate,
            standard_error=error * of.inflation,
            freedom=min(of.estimate.freedom, _freedom_seen(of.counts, of.adjusted, sums, sizes)),
            asymmetry=mean_asymmetry((of.weights * sums).sum(axis=1) / of.shares, of.shares),
        )
    if of.estimate.doubt:
        return point_estimate
    totals = (np.bincount(of.cells, values, of.counts.size).reshape(shape) * of.weights).sum(axis=1)
    return replace(point_estimate, signs=weigh_signs(totals))


class _Layout(NamedTuple):
    """What `estimate` makes of clusters and groups alone: all pairs of a run's columns have the same.

    `estimate` has no values in it; its `doubt` is why there is no interval, whatever they are. `places` are the cells
    of the values, each a cluster and a group, `cells` the same in order, and `groups` the groups of these.
    """

    estimate: Estimate
    places: IntArray
    cells: IntArray
    groups: IntArray
    sizes: FloatArray
    counts: FloatArray
    weights: FloatArray
    shares: FloatArray
    adjusted: FloatArray
    inflation: float


@lru_cache(maxsize=16)
def _lay_out(clusters: bytes, groups: bytes | None) -> _Layout:
    _, of_cluster = np.unique(np.frombuffer(clusters, np.int64), return_inverse=True)
    of_group = np.zeros_like(of_cluster)
    if groups is not None:
        _, of_group = np.unique(np.frombuffer(groups, np.int64), return_inverse=True)
    shape = int(of_cluster.max()) + 1, int(of_group.max()) + 1
    places = of_cluster * shape[1] + of_group
    sizes = np.bincount(of_group).astype(np.float64)
    counts = np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
    weights = 1 / (shape[1] * sizes)  # of one value in the mean of the groups' means
    shares = (weights * counts).sum(axis=1)
    square = float((shares**2).sum())
    point_estimate = Estimate(0.0, 0.0, 0.0, 0.0, shape[0], 1 / square, 0.0, 0.0, "one_image")
    in_order = places, (cells := np.sort(places)), cells % shape[1], sizes, counts, weights, shares
    if (counts == sizes).any():
        return _Layout(point_estimate, *in_order, adjusted=counts, inflation=1.0)
    held = counts / sizes
    # CR2: residuals of a cluster are too small by the share that it holds of each group's mean.
    adjusted = weights / np.sqrt(1 - held)
    # Traces of P and P P, without forming P.
    own, shared = (counts * adjusted**2).sum(axis=1), counts * adjusted / np.sqrt(sizes)
    squares, products = (shared**2).sum(axis=1), shared.T @ shared
    trace = float((own - squares).sum())
    trace_of_square = float((own**2 - 2 * own * squares).sum() + (products**2).sum())
    freedom = trace**2 / trace_of_square
    # L: inflation of the error if all values of a cluster are equal.
    scaled = adjusted * counts
    whole = scaled.sum(axis=1)
    alike = float((whole**2 - 2 * whole * (scaled * held).sum(axis=1)).sum())
    alike += float(((scaled.T @ scaled) * (held.T @ held)).sum())
    known = replace(
        point_estimate,
        freedom=freedom,
        freedom_between=square**2 / float((shares**4).sum()) - 1,
        asymmetry_by_chance=skewness_by_chance(shape[0]) * _asymmetry_kept(shares),
        doubt=_doubt(True, shape[0], freedom, 1 / square),
    )
    return _Layout(known, *in_order, adjusted, math.sqrt(max(1.0, square / alike)))


def linear_estimate(value: float, parts: FloatArray, shares: FloatArray) -> Estimate:
    """Estimates the uncertainty of any statistic that is nearly a sum over clusters, as `estimate` does of a mean.

    `parts` has for each cluster what it adds to the error: its sum of the influence function, all of them together 0.
    `shares` are the clusters' shares of the information about `value`. Of a mean of n values they are the sum of a
    cluster's deviations / n, and its share of the values: then error and degrees of freedom are those of `estimate`,
    with S_g / n = parts and a_g = shares. Clusters without information are left out.

    Its interval is Student's alone (`asymmetry` 0): this is for shares of votes, of which no image can lose more than
    all, and those of a model that wins often are as skewed as a coin that falls to one side, which is no reason for
    doubt: Hall's transformation would not tell 30 of 32 from a half.
    """
    counts = shares > 1e-12 * max(1e-300, float(shares.sum()))
    parts, shares = parts[counts], shares[counts] / shares[counts].sum()
    if not len(parts):
        return Estimate(value, 0.0, 0.0, 0.0, 0, 0.0, 0.0, 0.0, "no_spread")
    square = float((shares**2).sum())
    point_estimate = Estimate(value, 0.0, 0.0, 0.0, len(parts), 1 / square, 0.0, 0.0, "one_image")
    if (shares > 1 - 1e-9).any():
        return point_estimate
    error = math.sqrt(math.fsum((parts**2 / (1 - shares)).tolist()))
    own, squares = shares / (1 - shares), shares**2 / (1 - shares)
    trace_of_square = float((own**2 - 2 * own * squares).sum() + squares.sum() ** 2)
    freedom = float((own - squares).sum()) ** 2 / trace_of_square
    alike = float((squares - 2 * squares * shares).sum() + squares.sum() * square)
    spread = error > 1e-9 * max(1.0, abs(value))
    return replace(
        point_estimate,
        standard_error=error * math.sqrt(max(1.0, square / alike)) if spread else 0.0,
        freedom=freedom,
        freedom_between=square**2 / float((shares**4).sum()) - 1,
        doubt=_doubt(spread, len(parts), freedom, 1 / square),
    )


def _freedom_seen(counts: FloatArray, adjusted: FloatArray, sums: NDArray[Any], sizes: FloatArray) -> float:
    """Returns the degrees of freedom for the variances seen in the groups; see `estimate`."""
    own = counts * adjusted**2
    squares = own * counts / sizes
    traces = (own - squares).sum(axis=0)
    freedoms = traces**2 / ((own**2 - 2 * own * squares).sum(axis=0) + squares.sum(axis=0) ** 2)
    variances = ((adjusted * sums) ** 2).sum(axis=0)
    return float(variances.sum() ** 2 / (variances**2 / freedoms).sum())


def _doubt(spread: bool, clusters: int, freedom: float, worth: float) -> str | None:
    if not spread:
        return "no_spread"
    if clusters < FEWEST_CLUSTERS:
        return "few_images"
    return "too_uneven" if freedom < FEWEST_FREEDOM - 1e-9 or worth < FEWEST_WORTH - 1e-9 else None


def worth(sizes: FloatArray | IntArray) -> float:
    """Returns the number of equal clusters these are worth: 1 / (sum of their squared shares)."""
    shares = sizes / sizes.sum()
    return 1 / float((shares**2).sum())


def wilson_interval(successes: float, total: float, confidence: float = CONFIDENCE) -> list[float] | None:
    """Returns `[low, high]` of a rate, 0 to 1, by Wilson's score method (JASA 22, 1927); None for a total of 0.

    It never leaves 0 to 1, and 30 of 30 gives [.886, 1], not [1, 1]. It takes the trials as independent; if they are
    not, give their effective number, which need not be whole.
    Raises `ValueError` for impossible counts.
    """
    if not 0 <= successes <= total:
        raise ValueError(f"{successes} successes of {total} trials cannot be")
    if total == 0:
        return None
    z = normal_quantile(0.5 + confidence / 2)
    rate = successes / total
    centre = (rate + z * z / (2 * total)) / (1 + z * z / total)
    reach = z / (1 + z * z / total) * math.sqrt(rate * (1 - rate) / total + z * z / (4 * total**2))
    low = 0.0 if successes == 0 else max(0.0, centre - reach)
    high = 1.0 if successes == total else min(1.0, centre + reach)
    return [low, high]


def bootstrap_interval(
    statistic: Callable[[FloatArray], float | None], clusters: IntArray, *, resamples: int = 1_000
) -> list[float] | None:
    """Returns `[low, high]` of any statistic: percentiles over resampled clusters (Efron, Ann. Stat. 7, 1979).

    `statistic` takes a weight for each item, how often its cluster was drawn, and may return None if it is
    undefined. `clusters` are codes from 0. For statistics without a formula for their error; with fewer than about 20
    clusters it is somewhat too narrow. None with fewer than two clusters, if more than one draw in ten is
    undefined, and if all draws agree.
    """
    drawn = [nan_for_none(statistic(counts[clusters])) for counts in cluster_draws(clusters, resamples)]
    return percentiles(np.array(drawn, dtype=np.float64))


def cluster_draws(clusters: IntArray, resamples: int = 1_000, *, seed: int = 0) -> FloatArray:
    """Returns how often each cluster was drawn: one row per draw, one column per cluster; no row if fewer than two.

    Several statistics over the same draws give intervals of their differences and ratios, too.
    """
    groups = int(clusters.max()) + 1 if len(clusters) else 0
    if groups < 2 or resamples == 0:
        return np.zeros((0, groups))
    generator = np.random.default_rng(seed)
    drawn = [np.bincount(generator.integers(0, groups, size=groups), minlength=groups) for _ in range(resamples)]
    return np.array(drawn, dtype=np.float64)


def percentiles(drawn: FloatArray, *, confidence: float = CONFIDENCE) -> list[float] | None:
    """Returns `[low, high]` of drawn values; None if more than one in ten is undefined (NaN), or if all agree."""
    known = drawn[~np.isnan(drawn)]
    if not len(known) or len(known) < 0.9 * len(drawn) or known.min() == known.max():
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(known, [tail, 1 - tail]).tolist()
    return [low, high]


def nan_for_none(value: float | None) -> float:
    """Converts a value for arrays."""
    return math.nan if value is None else value


def none_for_nan(value: float) -> float | None:
    """Converts a value for documents."""
    return None if math.isnan(value) else float(value)


# p-values for several tests together. A test that could not be made is None and stays None.


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Returns adjusted p-values that bound the chance of *any* false finding, under any dependence.

    The i-th smallest of m becomes the largest of (m - j + 1) * p_j over j <= i, at most 1
    (Holm, Scandinavian Journal of Statistics 6, 1979).
    """
    return _adjust_p_values(p_values, lambda p, tests: np.maximum.accumulate(p * np.arange(tests, 0, -1)))


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Returns adjusted p-values that bound the expected *share* of false findings among all findings.

    The i-th smallest of m becomes the smallest of m / j * p_j over j >= i, at most 1
    (Benjamini and Hochberg, JRSS B 57, 1995). Holds for independent or positively dependent tests.
    """
    return _adjust_p_values(
        p_values, lambda p, tests: np.minimum.accumulate((p * tests / np.arange(1, tests + 1))[::-1])[::-1]
    )


def _adjust_p_values(
    p_values: Sequence[float | None], of_ordered: Callable[[FloatArray, int], FloatArray]
) -> list[float | None]:
    places = [place for place, p in enumerate(p_values) if p is not None]
    known = np.array([p for p in p_values if p is not None], dtype=np.float64)
    if np.isnan(known).any() or ((known < 0) | (known > 1)).any():
        raise ValueError(f"p-values lie between 0 and 1, not {list(p_values)}")
    order = np.argsort(known, kind="stable")
    adjusted: list[float | None] = [None] * len(p_values)
    for place, p in zip(order, of_ordered(known[order], len(known)).tolist(), strict=True):
        adjusted[places[place]] = min(1.0, p)
    return adjusted


# -- images unlike those seen --
#
# Which share of unseen images would undo a difference, and which share n images rule out.
#
# The interval and the test of a difference are those of its estimate, and hold for images like those seen. No formula
# can see a kind of image that was not drawn: of one that makes a share s of all, n images show none with
# probability (1 - s)^n, however bad it is, so no test does better (Bahadur and Savage, Annals of Mathematical
# Statistics 27, 1956). So these shares are shown beside means and differences and decide nothing. Only the gate's
# margin is strict: there something has to be proven to pass, while a stricter test would find less often that a
# candidate is *worse*.

TIE = 1e-9
"""A difference within this is rounding, and a tie."""


def tipping_share(difference: float, span: float) -> float | None:
    """Returns |d| / (R + |d|): the share s of images, each a total loss, that would undo the mean difference d.

    R is `span`, the largest difference on the scale: (1 - s) |d| - s R = 0. None on a scale with an open end, where the
    smallest share would do.
    """
    return None if math.isinf(span) else abs(difference) / (span + abs(difference))


def share_ruled_out(worth: float) -> float:
    """Returns 1 - (1 - CONFIDENCE)^(1/n): a kind of image with a larger share would be among n images, that surely.

    n is `worth`, the equal images that unequal ones are worth (`Estimate.worth`). 20 images rule out more than 14 %.
    """
    return -math.expm1(math.log(1 - CONFIDENCE) / worth)


FEW_IMAGES = 50
"""Fewer images than these rule out so little that readers should know."""
FEW_RULE_OUT = share_ruled_out(FEW_IMAGES)


def strict_lower(mean_difference: Estimate, span: float, *, alpha: float) -> float | None:
    """Returns the lower end of the one-sided interval at 1 - `alpha` that also allows for unseen images.

    The lower of two: the interval's own, and (R + d) alpha^(1/n) - R, n being the `worth`. The second is the m below
    which max(p, (1 - s)^n) is at most `alpha`, s the share of unseen total losses that brings d down to m: (1 - s) d -
    s R = m, so 1 - s = (R + m) / (R + d). With an open end of the scale there is no R, and it is the interval's own.
    Without spread the first is the value itself, if so many equal signs are rarer than `alpha`. None without an
    interval.
    """
    ends = mean_difference.interval(confidence=1 - 2 * alpha, lowest=-span, highest=span)
    if ends is None and mean_difference.doubt == "no_spread" and (signs := mean_difference.signs):
        ends = [mean_difference.value] * 2 if signs.p <= 2 * alpha else None
    if ends is None:
        return None
    return (
        ends[0]
        if math.isinf(span)
        else max(-span, min(ends[0], (span + mean_difference.value) * alpha ** (1 / mean_difference.worth) - span))
    )


@dataclass(frozen=True)
class ImageWins:
    """On how many source images a is better, equal, worse than b, and whether that is more than chance.

    A statement of its own, not about means: a model that is a little better on most images may lose much on a few.
    """

    wins: int = 0
    """Source images on which a is better."""
    ties: int = 0
    """On which both are the same."""
    losses: int = 0
    """On which a is worse."""
    p: float | None = None
    """The exact sign test: 2 P(X <= min(wins, losses)), at most 1, of X binomial with wins + losses trials and 1/2;
    ties are left out (Dixon and Mood, JASA 41, 1946). None if there are only ties, or below six images."""
    p_adjusted: float | None = None
    """By Holm over all pairs of all judges, a family of its own."""


def sign_test(wins: int, losses: int) -> float:
    """Returns the exact p of that many wins and losses, or more apart, if each is as likely."""
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(wins, losses), wins + losses, 0.5)))


def image_wins(gains: FloatArray, images: IntArray, *, fewest: int) -> ImageWins:
    """Counts images by the mean of their gains (a's advantage)."""
    means = np.bincount(images, gains) / np.bincount(images)
    wins, losses = int((means > TIE).sum()), int((means < -TIE).sum())
    p = None
    if wins + losses and len(means) >= fewest:
        p = sign_test(wins, losses)
    return ImageWins(wins, len(means) - wins - losses, losses, p)
