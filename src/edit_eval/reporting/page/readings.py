"""What is said of each judge's readings: how far they lie apart, and how much of the probability is in form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from edit_eval.reporting import formats
from edit_eval.reporting.page.texts import text

Line = tuple[str, dict[str, object]]
"""A text's key, and its values."""


def readings(summary: Mapping[str, Any]) -> list[Line]:
    """What there is to say; nothing of a judge that was read once and wrote its answer."""
    return [line for judge, found in (summary.get("readings") or {}).items() for line in _lines(judge, found)]


def readings_lines(summary: Mapping[str, Any], language: str) -> list[str]:
    """The same in one language."""
    return [text(key, language, **values) for key, values in readings(summary)]


def _lines(judge: str, found: Mapping[str, Any]) -> Iterator[Line]:
    if found["readings"] > 1:
        spread = formats.score(found["spread"])
        yield "readings.several", {"judge": judge, "count": found["readings"], "spread": spread}
    if found["identical"]:
        yield "readings.identical", {"judge": judge, "count": found["readings"]}
    mass = found["mass"]
    if mass and mass["median"] is not None:
        known, floor = mass["readings"] - mass["unknown"], f"{mass['floor']:g}"
        median, below = f"{mass['median']:.3f}", mass["below"]
        yield "readings.mass", {"judge": judge, "median": median, "below": below, "count": known, "floor": floor}
    if mass and mass["unknown"]:
        yield "readings.mass.unknown", {"judge": judge, "unknown": mass["unknown"], "count": mass["readings"]}
