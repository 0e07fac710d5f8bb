"""95 % intervals that know which scores belong together: those of one source image.

Several instructions on one image, several edit seeds and several repeats of the judge are no independent
observations. An interval that takes them for such is too narrow: with ten instructions an image and an
intraclass correlation of .3 it holds the truth in 71 % of cases, not in 95 %. And images differ in how many scores
they have: where one holds half of them, the usual sandwich with G - 1 degrees of freedom takes it for one of G equals
and holds the truth in 66 %. One estimator serves all: the mean of all scores, of the categories' means, of differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

CONFIDENCE = 0.95
FEWEST_FREEDOM = 2.0
"""With fewer degrees of freedom there is no interval: those of three equal clusters."""


def student_quantile(probability: float, degrees_of_freedom: float) -> float:
    """The value below which `probability` of Student's t distribution lies."""
    from scipy.special import stdtrit  # lighter than scipy.stats, which takes a second to import

    return float(stdtrit(degrees_of_freedom, probability))


def normal_quantile(probability: float) -> float:
    """The value below which `probability` of the standard normal distribution lies."""
    from scipy.special import ndtri

    return float(ndtri(probability))


def cluster_codes(labels: Sequence[Any]) -> IntArray:
    """A number from 0 for each distinct label, by the labels' own order and not by that of their coming."""
    codes = {label: code for code, label in enumerate(sorted(set(labels)))}
    return np.fromiter((codes[label] for label in labels), dtype=np.int64, count=len(labels))


@dataclass(frozen=True)
class Estimate:
    """A mean and how sure it is; see `estimate`."""

    value: float
    standard_error: float
    """0.0 where there is none."""
    freedom: float
    """Degrees of freedom of the standard error: clusters - 1 for equal clusters, fewer for unequal ones."""
    freedom_between: float
    """The same at worst: were all variance between clusters, and none within them."""
    clusters: int
    asymmetry: float
    """The skewness of the clusters' means / sqrt(clusters); 0.0 where it is too small to matter."""
    doubt: str | None
    """Why there is no interval: `one_image`, `too_uneven`, `no_spread`; None where there is one."""

    def interval(
        self, *, confidence: float = CONFIDENCE, lowest: float = -math.inf, highest: float = math.inf
    ) -> list[float] | None:
        """`[low, high]`, the values that `p_value` does not reject at 1 - `confidence`; cut at the scale's ends."""
        if self.doubt:
            return None
        reach = student_quantile(0.5 + confidence / 2, self.freedom)
        low = self.value - self._uncorrected(reach) * self.standard_error
        high = self.value - self._uncorrected(-reach) * self.standard_error
        return [max(lowest, low), min(highest, high)]

    def p_value(self, at: float = 0.0) -> float | None:
        """Two-sided, of "the true mean is `at`"; None where there is no interval.

        Student's t. Where a few clusters lie far to one side, t is wrong (it is large just when none of those few was
        drawn), and its skewness is removed first by the transformation of Hall (JRSS B 54, 1992):
        t + a (t^2 / 3 + 1 / 6) + a^2 t^3 / 27, a being `asymmetry`.
        """
        from scipy.special import stdtr

        if self.doubt:
            return None
        t, a = (self.value - at) / self.standard_error, self.asymmetry
        return float(2 * stdtr(self.freedom, -abs(t + a * (t * t / 3 + 1 / 6) + a * a * t**3 / 27)))

    def _uncorrected(self, corrected: float) -> float:
        """The t whose transformation is `corrected`: its inverse, in closed form since it is a cube."""
        a = self.asymmetry
        return float(3 / a * (np.cbrt(1 + a * (corrected - a / 6)) - 1)) if a else corrected


def estimate(values: FloatArray, clusters: IntArray, groups: IntArray | None = None) -> Estimate:
    """The mean of `values`, or with `groups` the mean of the groups' means, each with the same weight.

    `clusters` are codes of what values share (the source image), `groups` codes of what they are averaged in (the
    category); a cluster may have values in several groups. The error is CR2, the degrees of freedom are those of Bell
    and McCaffrey (Survey Methodology 28, 2002) as Pustejovsky and Tipton have them for several coefficients (JBES 36,
    2018), under the working model of independent values. With m_gc of the n_c values of group c in cluster g, r_gc
    the sum of their deviations from the group's mean, k groups:

        b_gc = 1 / (k n_c sqrt(1 - m_gc / n_c)),  SE^2 = sum_g (sum_c b_gc r_gc)^2
        freedom = trace(P)^2 / trace(P P),  P = diag(sum_c m_gc b_gc^2) - U U',  U_gc = m_gc b_gc / sqrt(n_c)

    P is never made: of a diagonal and k columns both traces are sums. With one value a cluster SE is s / sqrt(n) and
    `freedom` n - 1.

    Two things give no interval beside fewer than two clusters (`one_image`, also where all values of a group are of
    one) and equal values (`no_spread`): fewer than two degrees of freedom (`too_uneven`), where a few clusters hold so
    much that the others cannot say how far off they may be.

    Raises `ValueError` without any value.
    """
    if len(values) == 0:
        raise ValueError("there is nothing to take a mean of")
    _, of_cluster = np.unique(clusters, return_inverse=True)
    _, of_group = np.unique(np.zeros(len(values)) if groups is None else groups, return_inverse=True)
    shape = int(of_cluster.max()) + 1, int(of_group.max()) + 1
    cells = of_cluster * shape[1] + of_group
    order = np.lexsort((values, cells))  # the same sums, to the last bit, in whatever order the values come
    values, of_group, cells = values[order], of_group[order], cells[order]
    sizes = np.bincount(of_group).astype(np.float64)
    means = np.bincount(of_group, values) / sizes
    counts = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
    sums = np.bincount(cells, values - means[of_group], shape[0] * shape[1]).reshape(shape)
    weights = 1 / (shape[1] * sizes)
    found = Estimate(float(means.mean()), 0.0, 0.0, 0.0, shape[0], 0.0, "one_image")
    if (counts == sizes).any():
        return found
    adjusted = weights / np.sqrt(1 - counts / sizes)
    error = math.sqrt(math.fsum(((adjusted * sums).sum(axis=1) ** 2).tolist()))
    own, shared = (counts * adjusted**2).sum(axis=1), counts * adjusted / np.sqrt(sizes)
    squares, products = (shared**2).sum(axis=1), shared.T @ shared
    trace = float((own - squares).sum())
    trace_of_square = float((own**2 - 2 * own * squares).sum() + (products**2).sum())
    freedom = trace**2 / trace_of_square
    spread = error > 1e-12 * max(1.0, float(np.abs(values).max()))
    shares = (weights * counts).sum(axis=1)
    return replace(
        found,
        standard_error=error if spread else 0.0,
        freedom=freedom,
        freedom_between=float((shares**2).sum() ** 2 / (shares**4).sum()) - 1,
        asymmetry=_asymmetry((weights * sums).sum(axis=1) / shares) if spread else 0.0,
        doubt="no_spread" if not spread else "too_uneven" if freedom < FEWEST_FREEDOM - 1e-9 else None,
    )


def _asymmetry(means: FloatArray) -> float:
    """The skewness of the clusters' means / sqrt(their number G), where t cannot bear it; else 0.0.

    t bears a skewness g while G > 25 g^2 (Cochran, Sampling Techniques, 1977, section 2.15). Of few clusters no
    skewness is believed below twice its standard error in normal data, sqrt(6 (G - 2) / ((G + 1) (G + 3))).
    """
    groups = len(means)
    deviations = means - means.mean()
    variance = float((deviations**2).mean())
    if groups < 3 or variance == 0.0:
        return 0.0
    found = float((deviations**3).mean()) / variance**1.5 / math.sqrt(groups)
    chance = math.sqrt(6 * (groups - 2) / ((groups + 1) * (groups + 3)) / groups)
    return found if abs(found) > max(0.2, 2 * chance) else 0.0


def wilson_interval(successes: float, total: float, *, confidence: float = CONFIDENCE) -> list[float] | None:
    """`[low, high]` of a rate, 0 to 1, by Wilson's score method (JASA 22, 1927); None for a total of 0.

    It never leaves 0 to 1, and 30 of 30 gives [.886, 1], not [1, 1]. It takes the trials for independent; of others
    their effective number can be given, which need not be whole.
    Raises `ValueError` for counts that cannot be.
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
    statistic: Callable[[FloatArray], float | None],
    clusters: IntArray,
    *,
    resamples: int = 1_000,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> list[float] | None:
    """`[low, high]` of any statistic: percentiles over resampled clusters (Efron, Ann. Stat. 7, 1979).

    `statistic` takes a weight an item, how often its cluster was drawn, and may give None where it is
    undefined. `clusters` are codes from 0. For what has no formula for its error; with fewer than about 20
    clusters it is somewhat too narrow. None with fewer than two clusters, where more than one draw in ten is
    undefined, and where all draws agree.
    """
    drawn = [nan_for_none(statistic(counts[clusters])) for counts in cluster_draws(clusters, resamples, seed=seed)]
    return percentiles(np.array(drawn, dtype=np.float64), confidence=confidence)


def cluster_draws(clusters: IntArray, resamples: int = 1_000, *, seed: int = 0) -> FloatArray:
    """How often each cluster was drawn: a row a draw, a column a cluster; no row with fewer than two clusters.

    Several statistics over the same draws have intervals of their differences and ratios, too.
    """
    groups = int(clusters.max()) + 1 if len(clusters) else 0
    if groups < 2 or resamples == 0:
        return np.zeros((0, groups))
    generator = np.random.default_rng(seed)
    drawn = [np.bincount(generator.integers(0, groups, size=groups), minlength=groups) for _ in range(resamples)]
    return np.array(drawn, dtype=np.float64)


def percentiles(drawn: FloatArray, *, confidence: float = CONFIDENCE) -> list[float] | None:
    """`[low, high]` of drawn values; None where more than one in ten is undefined (NaN), and where all agree."""
    known = drawn[~np.isnan(drawn)]
    if not len(known) or len(known) < 0.9 * len(drawn) or known.min() == known.max():
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(known, [tail, 1 - tail]).tolist()
    return [low, high]


def nan_for_none(value: float | None) -> float:
    """As arrays have it."""
    return math.nan if value is None else value


def none_for_nan(value: float) -> float | None:
    """As documents have it."""
    return None if math.isnan(value) else float(value)
