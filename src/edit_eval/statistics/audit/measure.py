"""One number about a judge, how sure it is, and what is asked of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One number about a judge."""

    value: float | None
    """None where there is none; `reason` says why."""
    ci95: tuple[float, float] | None = None
    """Its 95 % interval, clustered on the scene; None where there is none, too."""
    floor: float | None = None
    """What the bound of the interval is held against, as `bound` says; None for a number that is only shown."""
    bound: Literal["at_least", "at_most"] = "at_least"
    """`at_least`: the lower bound must reach the floor. `at_most`: the upper one must not exceed it."""
    passed: bool | None = None
    """None where nothing is asked of it."""
    n: int = 0
    """How many comparisons, or edits, it is made of."""
    scenes: int = 0
    """Of how many scenes these are."""
    reason: str = ""
    """Why there is no number."""

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
