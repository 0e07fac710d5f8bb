"""Computes what a comparison could have detected, and how many samples would show more."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np

from edit_eval.statistics.intervals import (
    FEWEST_CLUSTERS,
    Estimate,
    FloatArray,
    invert_hall_transform,
    normal_quantile,
    skewness_by_chance,
    student_quantile,
)
from edit_eval.statistics.levels import ALPHA, POWER
from edit_eval.text import Text

FEWEST_FREEDOM_PLANNED = 4.0
"""With fewer degrees of freedom the standard error says too little about another run's."""
_QUANTILES = (np.arange(32) + 0.5) / 32


def detectable_difference(
    estimate: Estimate, span: float, *, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """Returns the true difference that a test at `alpha` of as many samples would find with probability `power`.

    d = c * SE, with c such that a second run, whose own error and skewness are as uncertain as those seen, has a
    `hull_p_value` of at most `alpha` with probability `power`. The usual (t(1 - alpha / 2) + t(power)) * SE (Bloom,
    Evaluation Review 19, 1995) takes the standard error as known: with 10 clusters it promises .80 and keeps .75.
    `span` is the largest possible difference, infinite on an open scale.

    None if the samples do not tell: no interval, a few large losses that decide (`is_skewed`), fewer than
    `FEWEST_FREEDOM_PLANNED` degrees of freedom, or no difference within the scale is large enough.
    """
    if not _says(estimate):
        return None
    difference = _multiple(estimate.freedom, estimate.freedom_between, estimate.asymmetry_by_chance, alpha, power)
    difference *= estimate.standard_error
    return difference if difference <= span else None


@lru_cache(maxsize=1024)  # many comparisons on the same images have the same one
def _multiple(freedom: float, freedom_between: float, asymmetry: float, alpha: float, power: float) -> float:
    """Returns the multiple of the standard error that is found with probability `power`."""
    power_of = _powers(freedom, freedom_between, asymmetry, alpha)
    low, high = 0.0, 1.0
    while power_of(high) < power:
        low, high = high, 2 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if power_of(middle) >= power else (middle, high)
    return high


def clusters_needed(
    estimate: Estimate, difference: float, span: float, *, alpha: float = ALPHA, power: float = POWER
) -> int | None:
    """Returns how many clusters like those seen would show a true difference of `difference`; None if unknown.

    The smallest number for which the difference is detectable (as by `detectable_difference`), with the standard error
    shrinking with its square root. Raises `ValueError` for a difference that is not above 0.
    """
    if not (difference > 0 and math.isfinite(difference)):
        raise ValueError(Text("a difference to detect is a number above 0, not {}", difference))
    if not _says(estimate) or difference > span:
        return None

    def find_power(clusters: int) -> float:
        share = clusters / estimate.clusters
        skewness = skewness_by_chance(clusters) / skewness_by_chance(estimate.clusters)
        freedom_between = (estimate.freedom_between + 1) * share - 1
        if freedom_between < 1:
            return 0.0
        asymmetry = estimate.asymmetry_by_chance * skewness / math.sqrt(share)
        powers = _powers(
            (estimate.freedom + 1) * share - 1, freedom_between, asymmetry, alpha, estimate.freedom_between
        )
        return powers(difference / estimate.standard_error * math.sqrt(share) * (1 + 1e-6))

    # Each look weighs 16,000 chances. The first is at what the usual formula says; by it every look says where the next
    # one is to be, one beside the last if that was nearly right. Where it is far off, the range is halved.
    each, wanted = difference / estimate.standard_error / math.sqrt(estimate.clusters), normal_quantile(power)
    low, high, looks = FEWEST_CLUSTERS - 1, math.inf, 0
    root = (normal_quantile(1 - alpha / 2) + wanted) / each
    while high - low > 1:
        guess = math.ceil(root**2) if looks < 6 else min(2 * low, (low + high) / 2)
        clusters = max(low + 1, int(min(guess, high - 1)))
        found = find_power(clusters)
        low, high, looks = (low, clusters, looks + 1) if found >= power else (clusters, high, looks + 1)
        root = max(0.0, math.sqrt(clusters) + (wanted - normal_quantile(min(max(found, 1e-9), 1 - 1e-9))) / each)
    return int(high)


def clusters_by_signs(
    wins: int, losses: int, clusters: int, *, alpha: float = ALPHA, power: float = POWER
) -> int | None:
    """Returns how many clusters would show, by the exact test of signs, that one wins as often as was seen.

    With w and l the shares of wins and losses, z of normal quantiles (Connor, Biometrics 43, 1987):

        n = (z(1 - alpha / 2) sqrt(w + l) + z(power) sqrt(w + l - (w - l)^2))^2 / (w - l)^2

    and at least so many that the least p of (w + l) n signs, 2^(1 - (w + l) n), is at most `alpha`. None if neither
    wins more often.
    """
    apart, differing = abs(wins - losses) / clusters, (wins + losses) / clusters
    if not apart:
        return None
    reach = normal_quantile(1 - alpha / 2) * math.sqrt(differing)
    reach += normal_quantile(power) * math.sqrt(max(0.0, differing - apart**2))
    return math.ceil(max((reach / apart) ** 2, (1 - math.log2(alpha)) / differing) - 1e-9)


def _says(estimate: Estimate) -> bool:
    return (
        estimate.doubt is None and not estimate.is_skewed and estimate.freedom_between >= FEWEST_FREEDOM_PLANNED - 1e-9
    )


def _powers(
    freedom: float, freedom_between: float, asymmetry: float, alpha: float, seen: float | None = None
) -> Callable[[float], float]:
    """Returns how often a difference of so many standard errors is found; `seen`: `freedom_between` of the run seen.

    The chance that Z + multiple * s > q * s', Z standard normal and s, s' the errors of two runs around their true
    value, sqrt(chi^2 / freedom): the mean over 32 quantiles of each. Their uncertainty depends on how much of the
    variance is between images, which is not known; so `freedom_between` is used. q is the t from which the hull
    rejects, the larger of Student's and Hall's (`skewed`) for the asymmetry of the second run by chance: 16
    quantiles of a normal one with `asymmetry` by chance, which in normal data depends on neither Z nor s'.
    """
    from scipy.special import ndtr

    student = student_quantile(1 - alpha / 2, freedom)
    rejects = [max(student, invert_hall_transform(student, quantile * asymmetry)) for quantile in _asymmetries()]
    own = _errors(freedom_between)
    known = (own if seen is None else _errors(seen))[:, None, None]
    bounds = own[:, None] * np.array(rejects)
    return lambda multiple: float(ndtr(multiple * known - bounds).mean())


@cache
def _asymmetries() -> list[float]:
    return [normal_quantile((place + 0.5) / 16) for place in range(16)]


@lru_cache(maxsize=1024)
def _errors(freedom: float) -> FloatArray:
    from scipy.special import chdtri

    return np.asarray(np.sqrt(chdtri(freedom, _QUANTILES) / freedom), dtype=np.float64)
