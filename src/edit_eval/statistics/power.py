"""What a comparison could have seen, and how many samples would show more."""

from __future__ import annotations

import math

from edit_eval.statistics.intervals import student_quantile

ALPHA = 0.05
POWER = 0.8


def fewest_clusters(alpha: float = ALPHA) -> int:
    """With fewer clusters no sign-flip test can reach `alpha`: its smallest p-value is 2 / 2^G."""
    return math.ceil(1 + math.log2(1 / alpha))


def detectable_difference(standard_error: float, clusters: int, *, alpha: float = ALPHA, power: float = POWER) -> float:
    """The true difference that a two-sided test at `alpha` would find with probability `power`.

    (t(1 - alpha / 2) + t(power)) * SE, Student's t with G - 1 degrees of freedom (Bloom, Evaluation Review
    19, 1995; for evaluations of models: Miller, arXiv 2411.00640). `standard_error` is that of the mean
    difference, clustered. Raises `ValueError` with fewer than two clusters.
    """
    if clusters < 2:
        raise ValueError(f"{clusters} clusters say nothing about what could be seen; at least 2 are needed")
    freedom = clusters - 1
    return (student_quantile(1 - alpha / 2, freedom) + student_quantile(power, freedom)) * standard_error


def clusters_needed(
    standard_error: float,
    clusters: int,
    difference: float,
    *,
    alpha: float = ALPHA,
    power: float = POWER,
) -> int:
    """How many clusters like those seen would show a true difference of `difference`.

    The smallest G' for which `detectable_difference` is at most `difference`, when the standard error shrinks
    with the square root of the number of clusters. Raises `ValueError` for a difference that is not above 0
    and for fewer than two clusters seen.
    """
    if not (difference > 0 and math.isfinite(difference)):
        raise ValueError(f"a difference to detect is a number above 0, not {difference}")
    if clusters < 2:
        raise ValueError(f"{clusters} clusters say nothing about how many are needed; at least 2 are needed")
    spread = standard_error * math.sqrt(clusters)

    def enough(groups: int) -> bool:
        return detectable_difference(spread / math.sqrt(groups), groups, alpha=alpha, power=power) <= difference

    low, high = fewest_clusters(alpha) - 1, fewest_clusters(alpha)
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
