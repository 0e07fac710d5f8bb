"""One number about a judge, how sure it is, and what is asked of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from edit_eval.statistics.intervals import cluster_codes, estimate, wilson_interval

Bound = Literal["at_least", "at_most"]


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One number about a judge."""

    value: float | None
    """None where there is none; `reason` says why."""
    ci95: tuple[float, float] | None = None
    """Its 95 % interval, clustered on the scene; None where there is none, too."""
    floor: float | None = None
    """What the bound of the interval is held against, as `bound` says; None for a number that is only shown."""
    bound: Bound = "at_least"
    """`at_least`: the lower bound must reach the floor. `at_most`: the upper one must not exceed it."""
    passed: bool | None = None
    """None where nothing is asked of it."""
    n: int = 0
    """How many comparisons, or edits, it is made of."""
    scenes: int = 0
    """Of how many scenes these are."""
    reason: str = ""
    """Why there is no number."""

    @property
    def missed(self) -> bool:
        """Whether it was not passed, and the value itself is on the wrong side; else more scenes may show it."""
        if self.passed is not False or self.floor is None:
            return False
        if self.value is None:
            return True
        return self.value < self.floor if self.bound == "at_least" else self.value > self.floor

    def held_against(self, floor: float | None, bound: Bound = "at_least") -> Measure:
        """The same, and whether its interval lies on the right side; what has no interval does not pass."""
        if floor is None:
            return replace(self, floor=None, bound=bound, passed=None)
        passed = False
        if self.ci95 is not None:
            passed = self.ci95[0] >= floor if bound == "at_least" else self.ci95[1] <= floor
        return replace(self, floor=floor, bound=bound, passed=passed)

    def as_plain(self) -> dict[str, Any]:
        """As in a passport's file."""
        return {
            "value": self.value,
            "ci95": None if self.ci95 is None else list(self.ci95),
            "floor": self.floor,
            "bound": self.bound,
            "passed": self.passed,
            "n": self.n,
            "scenes": self.scenes,
            "reason": self.reason,
        }

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> Measure:
        """What `as_plain` has written. Raises `KeyError`, `TypeError` or `ValueError` for anything else."""
        ci95, bound = plain["ci95"], plain["bound"]
        if bound not in ("at_least", "at_most"):
            raise ValueError(f"no bound: {bound!r}")
        return cls(
            value=_number(plain["value"]),
            ci95=None if ci95 is None else _interval(ci95),
            floor=_number(plain["floor"]),
            bound=bound,
            passed=None if plain["passed"] is None else bool(plain["passed"]),
            n=int(plain["n"]),
            scenes=int(plain["scenes"]),
            reason=str(plain["reason"]),
        )


def _number(plain: Any) -> float | None:
    return None if plain is None else float(plain)


def _interval(plain: Sequence[Any]) -> tuple[float, float]:
    low, high = plain
    return float(low), float(high)


def average(
    values: Sequence[float],
    scenes: Sequence[str],
    *,
    floor: float | None,
    bound: Bound = "at_least",
    lowest: float = 0.0,
    highest: float = 1.0,
) -> Measure:
    """The mean of the values, with an interval clustered on their scenes (`intervals.estimate`), held against a floor.

    Where all values are equal there is nothing to estimate a spread from: the interval is that value.
    """
    return _made(values, scenes, floor, bound, lowest, highest, share_of_scenes=False)


def share(values: Sequence[float], scenes: Sequence[str], *, floor: float | None, bound: Bound = "at_least") -> Measure:
    """The same of values from 0 to 1 that say whether something is so.

    Where it is so always, or never, the interval is Wilson's of as many trials as there are scenes: 200 scenes without
    a fault are no proof that there is none.
    """
    return _made(values, scenes, floor, bound, 0.0, 1.0, share_of_scenes=True)


def _made(
    values: Sequence[float],
    scenes: Sequence[str],
    floor: float | None,
    bound: Bound,
    lowest: float,
    highest: float,
    *,
    share_of_scenes: bool,
) -> Measure:
    if not values:
        return Measure(value=None, reason="nothing was scored").held_against(floor, bound)
    found = estimate(np.array(values, dtype=np.float64), cluster_codes(list(scenes)))
    interval, reason = found.interval(lowest=lowest, highest=highest), ""
    if found.doubt == "no_spread":
        extreme = share_of_scenes and (math.isclose(found.value, 0.0) or math.isclose(found.value, 1.0))
        bounds = wilson_interval(round(found.value) * found.clusters, found.clusters) if extreme else None
        interval = bounds or [found.value, found.value]
    elif interval is None:
        reason = "of too few scenes for an interval"
    return Measure(
        value=found.value,
        ci95=None if interval is None else (interval[0], interval[1]),
        n=len(values),
        scenes=found.clusters,
        reason=reason,
    ).held_against(floor, bound)
