"""Whether a judge finds right edits more often when it is asked about one edit at a time, or about two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from edit_eval.plugins.audit.measure import Measure
from edit_eval.plugins.audit.order import SAME
from edit_eval.statistics.intervals import normal_quantile, wilson_interval
from edit_eval.statistics.levels import ALPHA


def better_of(two: Sequence[Measure], single: Sequence[Measure]) -> Literal["two", "single", "neither"] | None:
    """Returns which is better by these shares of the ways of asking about two edits and about one; None if one was not
    measured.

    One is better if some way of it is shown to be above every way of the other, each by Newcombe's interval of the
    difference of independent shares (Statistics in Medicine 17, 1998, 873), at .05 / as many ways as could be that one
    (Bonferroni; of being above *every* other one needs no correction).
    """
    if not all(any(measure.ci95 is not None for measure in some) for some in (two, single)):
        return None
    if any(all(_is_higher(more, less, 1 - ALPHA / len(two)) for less in single) for more in two):
        return "two"
    if any(all(_is_higher(more, less, 1 - ALPHA / len(single)) for less in two) for more in single):
        return "single"
    return "neither"


def _is_higher(more: Measure, less: Measure, confidence: float) -> bool:
    if more.value is None or less.value is None or more.ci95 is None or less.ci95 is None:
        return False
    low, high = (
        _convert_interval(more.value, more.ci95, confidence)[0],
        _convert_interval(less.value, less.ci95, confidence)[1],
    )
    return more.value - less.value > math.hypot(more.value - low, high - less.value)


def _convert_interval(rate: float, ci95: tuple[float, float], confidence: float) -> Sequence[float]:
    """Returns Wilson's interval of another confidence: |rate - end| = z sqrt(end (1 - end) / n) tells its n."""
    end = max(ci95, key=lambda bound: abs(rate - bound))
    if abs(rate - end) < SAME:
        return ci95
    total = normal_quantile(1 - ALPHA / 2) ** 2 * end * (1 - end) / (rate - end) ** 2
    return wilson_interval(rate * total, total, confidence) or ci95
