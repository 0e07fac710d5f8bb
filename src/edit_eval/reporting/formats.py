"""How numbers are written for people. What is not known is a dash, never a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

NOTHING = "–"
_UNITS = {"en": ("h", "min", "s"), "zh": ("小时", "分", "秒")}


def score(value: float | None) -> str:
    """`6.43`; a dash where there is none."""
    return NOTHING if value is None else f"{value:.2f}"


def span(ends: Sequence[float | None] | None) -> str:
    """`6.21–6.65`; a dash where an end is not known."""
    if ends is None or any(end is None for end in ends):
        return NOTHING
    return "–".join(score(end) for end in ends)


def images(block: Mapping[str, Any]) -> str:
    """`90`: how many source images its scores are of."""
    return NOTHING if block.get("clusters") is None else str(block["clusters"])


def worst_to_best(block: Mapping[str, Any]) -> str:
    """`6.33–6.47`: what the mean would be if all that is unscored had got the lowest or the highest score."""
    return span([block.get("worst_case_mean"), block.get("best_case_mean")])


def coverage(block: Mapping[str, Any] | None) -> str:
    """`887/900`."""
    return f"{block['scored']}/{block['total']}" if block else NOTHING


def is_complete(block: Mapping[str, Any] | None) -> bool:
    """Whether everything in it has a score."""
    return block is not None and block["scored"] == block["total"]


def share(part: float, whole: float) -> str:
    """`93%`; never rounded up to all or down to nothing."""
    if whole <= 0:
        return NOTHING
    percent = 100 * part / whole
    if 0 < percent < 0.5:
        return "<1%"
    if 99.5 <= percent < 100:
        return ">99%"
    return f"{percent:.0f}%"


def rate(block: Mapping[str, Any]) -> str:
    """`12% (9–15%)`: a share with its 95% interval, of `{"count", "total", "ci95"}`."""
    if block["ci95"] is None:
        return NOTHING
    low, high = block["ci95"]
    return f"{share(block['count'], block['total'])} ({100 * low:.0f}–{100 * high:.0f}%)"


def signed_span(ends: Sequence[float] | None) -> str:
    """`[-0.06, 0.76]`: an interval whose ends may lie below 0."""
    return NOTHING if ends is None else f"[{', '.join(map(score, ends))}]"


def memory(count: int | None) -> str:
    """`60.2 GiB`, `214 MiB`; a dash where it is not known."""
    if count is None:
        return NOTHING
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"


def peak_memory(device: Mapping[str, Any]) -> str:
    """`61.2 / 80.0 GiB`, of a device's `peak` and `total`; without a total only the peak."""
    peak, total = memory(device["peak"]), memory(device["total"])
    if NOTHING in (peak, total):
        return peak
    return f"{peak.removesuffix(' GiB')} / {total}" if peak.endswith("GiB") else f"{peak} / {total}"


def duration(seconds: float | None, language: str = "en") -> str:
    """`0.8 s`, `42 s`, `3 min 20 s`, `5 h 04 min`; in Chinese `3 分 20 秒`."""
    if seconds is None:
        return NOTHING
    h, min_, s = _UNITS[language]
    if seconds < 9.95:
        return f"{seconds:.1f} {s}"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} {s}"
    if whole < 3600:
        return f"{whole // 60} {min_} {whole % 60:02d} {s}"
    minutes = round(seconds / 60)
    return f"{minutes // 60} {h} {minutes % 60:02d} {min_}"


def short_duration(seconds: float | None) -> str:
    """`42s`, `3m20s`, `5h04m`: where a table has no room."""
    return duration(seconds).replace("min", "m").replace(" ", "")
