"""How numbers are written for people. What is not known is a dash, never a number."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from edit_eval.records import Scale
from edit_eval.reporting.language import said
from edit_eval.statistics.power import ALPHA
from edit_eval.text import Text

NOTHING = "–"


def decimals(scale: Scale, largest: float | None = None) -> int:
    """Digits after the point that tell scores apart: 2, and more where the whole scale is 2 wide or less.

    A scale with an open end is as wide as the `largest` score, by its absolute value.
    """
    width = abs(largest or 0.0) if scale.span is None else scale.span
    return 2 if width > 2 or width == 0 else min(6, 2 + math.ceil(math.log10(4 / width)))


def score(value: float | None, digits: int = 2) -> str:
    """`6.43`; a dash where there is none. What rounds to nothing has no sign."""
    if value is None:
        return NOTHING
    written = f"{value:.{digits}f}"
    return written if float(written) else written.lstrip("-")


def published(value: float | None) -> str:
    """An authors' number, whose scale is theirs: `3.22`; four digits where it is small, as shares and distances are."""
    return score(value, 2 if value is None or abs(value) >= 1 else 4)


def span(ends: Sequence[float | None] | None, digits: int = 2) -> str:
    """`6.21–6.65`, `[-0.06, 0.76]` where an end lies below 0; a dash where an end is not known."""
    known = [end for end in ends or () if end is not None]
    if len(known) < 2:
        return NOTHING
    return bracketed(known, digits) if min(known) < 0 else "–".join(score(end, digits) for end in known)


def bracketed(ends: Sequence[float] | None, digits: int = 2) -> str:
    """`[-0.06, 0.76]`: an interval whose ends may lie below 0."""
    return NOTHING if ends is None else f"[{', '.join(score(end, digits) for end in ends)}]"


def signed(value: float | None, digits: int = 2) -> str:
    """`+0.22`, `-0.05`, `0.00`; a dash where there is none."""
    if value is None:
        return NOTHING
    written = f"{value:+.{digits}f}"
    return written if float(written) else written[1:]


def signed_span(ends: Sequence[float] | None, digits: int = 2) -> str:
    """`[-0.05, +0.39]`; a dash where there is none."""
    return NOTHING if ends is None else f"[{', '.join(signed(end, digits) for end in ends)}]"


def p_value(value: float | None) -> str:
    """`0.0123`; never rounded to nothing, nor across the level at which a difference is called one."""
    if value is None:
        return NOTHING
    if value < 0.0001:
        return "<0.0001"
    written = f"{value:.4f}"
    return f"{value:.6f}" if (float(written) <= ALPHA) != (value <= ALPHA) else written


def images(block: Mapping[str, Any]) -> str:
    """`90`: how many source images its scores are of."""
    return NOTHING if block.get("images") is None else str(block["images"])


def worst_to_best(block: Mapping[str, Any], scale: Scale, digits: int = 2) -> str:
    """`6.33–6.47`: the mean if all that is unscored were at the worst or the best end of the scale; `7.20 … ∞`.

    The worst comes first, also where it is the higher number. A dash where both ends are open.
    """
    worst, best = block.get("worst_case_mean"), block.get("best_case_mean")
    if worst is not None and best is not None:
        return span([worst, best], digits)
    if worst is None and best is None:
        return NOTHING
    worst_end, best_end = ("-∞", "∞") if scale.higher_is_better else ("∞", "-∞")
    return f"{worst_end} … {score(best, digits)}" if worst is None else f"{score(worst, digits)} … {best_end}"


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


def rate(block: Mapping[str, Any] | None) -> str:
    """`12% (9–15%)`: a share with its 95% interval, of `{"count", "total", "ci95"}`."""
    if block is None or block["ci95"] is None:
        return NOTHING
    low, high = block["ci95"]
    return f"{share(block['count'], block['total'])} ({100 * low:.0f}–{100 * high:.0f}%)"


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


def duration(seconds: float | None, language: str = "") -> str:
    """`0.8 s`, `42 s`, `3 min 20 s`, `5 h 04 min`: a Text, or in a `language` what it says there."""
    if seconds is None:
        return NOTHING
    return said(_duration(seconds), language) if language else _duration(seconds)


def _duration(seconds: float) -> Text:
    if seconds < 9.95:
        return Text("{:.1f} s", seconds)
    whole = round(seconds)
    if whole < 60:
        return Text("{} s", whole)
    if whole < 3600:
        return Text("{} min {:02d} s", whole // 60, whole % 60)
    minutes = round(seconds / 60)
    return Text("{} h {:02d} min", minutes // 60, minutes % 60)


def short_duration(seconds: float | None) -> str:
    """`42s`, `3m20s`, `5h04m`: where a table has no room."""
    return duration(seconds, "en").replace("min", "m").replace(" ", "")
