"""The axis of a score: the whole scale; where an end is open, as far as there are scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from edit_eval.records import Scale

MOST_BINS = 20
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Axis:
    """A stretch of a scale, with `low` below `high`."""

    low: float
    high: float

    @property
    def domain(self) -> list[float]:
        return [self.low, self.high]

    @property
    def bin_width(self) -> float:
        """Of at most `MOST_BINS` steps: half a point from 0 to 10."""
        return step_over(self.high - self.low, MOST_BINS)

    @property
    def bins(self) -> int:
        return math.ceil((self.high - self.low) / self.bin_width - _ROUNDING)

    def bin_of(self, score: float) -> int:
        """In which step a score lies, from 0; the highest score lies in the last one."""
        return min(self.bins - 1, max(0, math.floor((score - self.low) / self.bin_width + _ROUNDING)))

    def marks(self, steps: int) -> list[float]:
        """Round numbers, at most `steps` steps apart."""
        step = step_over(self.high - self.low, steps)
        first, last = math.ceil(self.low / step - _ROUNDING), math.floor(self.high / step + _ROUNDING)
        return [round(number * step, 9) for number in range(first, last + 1)]

    def written(self, steps: int) -> str:
        """How a mark is written, as d3 says it: with as many digits as its step has."""
        digits = max(0, -math.floor(math.log10(step_over(self.high - self.low, steps)) + _ROUNDING))
        return f".{digits}f" if digits else "d"


def axis_of(scale: Scale, scores: Sequence[float]) -> Axis:
    """The axis for these scores of a scale."""
    if scale.lowest is not None and scale.highest is not None:
        return Axis(scale.lowest, scale.highest)
    ends = [end for end in (scale.lowest, scale.highest) if end is not None]
    low, high = min([*scores, *ends], default=0.0), max([*scores, *ends], default=1.0)
    step = step_over(high - low or abs(high) or 1.0, 10)
    if scale.lowest is None:
        low = round((math.ceil(low / step - _ROUNDING) - 1) * step, 9)
    if scale.highest is None:
        high = round((math.floor(high / step + _ROUNDING) + 1) * step, 9)
    return Axis(low, high)


def step_over(width: float, steps: int) -> float:
    """The smallest of 1, 2, 5, 10, ... (or .5, .2, .1, ...) that covers `width` in at most `steps` steps."""
    least = width / steps * (1 - _ROUNDING)
    power = math.floor(math.log10(least))
    return next(step for factor in (1, 2, 5, 10) if (step := round(factor * 10.0**power, 12 - power)) >= least)
