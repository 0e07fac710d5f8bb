"""A series: the values of one score by one judge, on the score's own scale.

Every statistic is over series. The direction of a score, the largest distance of two values, and the units of a mean
are read from the `Scale` here and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from edit_eval.errors import ConfigurationError
from edit_eval.records import Results, Scale
from edit_eval.statistics.intervals import Estimate, FloatArray, IntArray, cluster_codes, share_ruled_out
from edit_eval.text import Text


class Series(NamedTuple):
    """A judge's score and its scale."""

    score: str
    scale: Scale


def series_of(results: Results, score: str | None = None) -> dict[str, Series]:
    """Returns each judge's headline; or the `score` of that name, for the judges that give it.

    Raises `ConfigurationError` for a name that no judge knows.
    """
    scoring = [(judge, results.scoring[judge]) for judge in results.judges]
    series = {
        judge: Series(name, of.scales[name]) for judge, of in scoring if (name := score or of.headline) in of.scales
    }
    if score is not None and not series:
        known = ", ".join(dict.fromkeys(name for _, of in scoring for name in of.scales))
        raise ConfigurationError(Text("no judge of {} gives a score {!r}; there are: {}", results.name, score, known))
    return series


def ends(scale: Scale) -> tuple[float, float]:
    """Returns the worst and the best value; infinite if that end is open."""
    worst = -math.inf if scale.higher_is_better else math.inf
    return worst if scale.worst is None else scale.worst, -worst if scale.best is None else scale.best


def largest_difference(scale: Scale) -> float:
    """Returns the largest distance of two values; infinite if an end is open.

    Not the observed range: this bounds values that were *not* drawn, about which those that were say nothing.
    """
    return math.inf if scale.span is None else scale.span


def gain(scale: Scale) -> float:
    """Returns 1.0 if higher is better, else -1.0: the factor that makes a difference a gain."""
    return 1.0 if scale.higher_is_better else -1.0


def finite(value: float | None) -> float | None:
    """Returns the value; None for an infinite one, such as a bound at an open end."""
    return None if value is None or math.isinf(value) else value


class Sureness(NamedTuple):
    """Uncertainty of a mean: its interval, cut at the ends of the scale, or why there is none (`Estimate.doubt`)."""

    ci95: list[float] | None
    no_ci95: str | None
    ruled_out_share: float | None
    """A kind of image with a larger share of all would be among these in 95 of 100 evaluations; the interval does not
    cover rarer ones. None without interval."""


def sureness(estimate: Estimate, scale: Scale) -> Sureness:
    """Returns the uncertainty of a mean of scores on this scale."""
    low = -math.inf if scale.lowest is None else scale.lowest
    high = math.inf if scale.highest is None else scale.highest
    ends = estimate.interval(lowest=low, highest=high)
    return Sureness(ends, estimate.doubt, None if ends is None else share_ruled_out(estimate.worth))


def groups_of(scale: Scale, categories: Sequence[str]) -> IntArray | None:
    """Returns the code of each value's category if the mean is over categories; None if it is over samples."""
    return cluster_codes(categories) if scale.mean_over == "categories" else None


def mean(values: FloatArray, groups: IntArray | None = None) -> float | None:
    """Returns the mean of the values (NaN: missing); with `groups` the mean of the groups' means.

    None without any value, and if a group has none at all: one that failed altogether must not drop out silently.
    """
    if groups is not None:
        means = [mean(values[groups == group]) for group in np.unique(groups)]
        known = [each for each in means if each is not None]
        return math.fsum(known) / len(known) if known and len(known) == len(means) else None
    there = values[~np.isnan(values)]
    # math.fsum is exact, so the result is the same to the last bit for any order of the values.
    return math.fsum(there.tolist()) / len(there) if len(there) else None
