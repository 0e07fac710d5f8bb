"""Number formats for people. An unknown value is a dash, never a number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from edit_eval.records import Scale
from edit_eval.reporting.language import translate
from edit_eval.statistics.aggregates import Aggregate, Coverage
from edit_eval.statistics.levels import ALPHA
from edit_eval.text import Text

if TYPE_CHECKING:
    from edit_eval.statistics.timing import DeviceMemory

NOTHING = "–"


def decimals(scale: Scale, largest: float | None = None, intervals: Iterable[Sequence[float] | None] = ()) -> int:
    """Returns how many digits after the point tell scores apart: 2, or more if the whole scale is 2 wide or less, and
    enough for the ends of the narrowest of the `intervals`.

    A scale with an open end counts as wide as the `largest` absolute score.
    """
    width = abs(largest or 0.0) if scale.span is None else scale.span
    digits = 2 if width > 2 or width == 0 else 2 + math.ceil(math.log10(4 / width))
    narrowest = min((ends[1] - ends[0] for ends in intervals if ends and ends[1] > ends[0]), default=1.0)
    return min(6, max(digits, -math.floor(math.log10(narrowest))))


def score(value: float | None, digits: int = 2) -> str:
    """`6.43`; a dash for None. A value that rounds to zero has no sign."""
    if value is None:
        return NOTHING
    written = f"{value:.{digits}f}"
    return written if float(written) else written.lstrip("-")


def rank(value: int | None) -> str:
    """`2`; a dash for None: nothing is known of it."""
    return NOTHING if value is None else str(value)


def format_published(value: float | None) -> str:
    """A benchmark authors' number, on their own scale: `3.22`; four digits if small, as shares and distances are."""
    return score(value, 2 if value is None or abs(value) >= 1 else 4)


def span(ends: Sequence[float | None] | None, digits: int = 2) -> str:
    """`6.21–6.65`, or `[-0.06, 0.76]` if an end is below 0; a dash if an end is unknown."""
    known = [end for end in ends or () if end is not None]
    if len(known) < 2:
        return NOTHING
    return format_interval(known, digits) if min(known) < 0 else "–".join(score(end, digits) for end in known)


def format_interval(ends: Sequence[float] | None, digits: int = 2) -> str:
    """`[-0.06, 0.76]`: an interval whose ends may be below 0."""
    return NOTHING if ends is None else f"[{', '.join(score(end, digits) for end in ends)}]"


def file_size(count: int) -> str:
    """Formats a size in bytes: `3.4 KiB`; from 10 MiB on, as memory is shown."""
    if count >= 10 << 20:
        return memory(count)
    return f"{count / 2**20:.1f} MiB" if count >= 1 << 20 else f"{count / 2**10:.1f} KiB" if count else "0"


def flip_interval(ends: Sequence[float] | None, sign: float) -> list[float] | None:
    """The interval of a - b as that of b - a, if `sign` is -1."""
    return None if ends is None else sorted(sign * end for end in ends)


def format_signed(value: float | None, digits: int = 2) -> str:
    """`+0.22`, `-0.05`, `0.00`; a dash for None."""
    if value is None:
        return NOTHING
    written = f"{value:+.{digits}f}"
    return written if float(written) else written[1:]


def format_signed_span(ends: Sequence[float] | None, digits: int = 2) -> str:
    """`[-0.05, +0.39]`; a dash for None."""
    return NOTHING if ends is None else f"[{', '.join(format_signed(end, digits) for end in ends)}]"


def p_value(value: float | None) -> str:
    """`0.0123`; never rounded to zero, nor across the significance level."""
    if value is None:
        return NOTHING
    if value < 0.0001:
        return "<0.0001"
    written = f"{value:.4f}"
    return f"{value:.6f}" if (float(written) <= ALPHA) != (value <= ALPHA) else written


def images(count: int | None) -> str:
    """`90`: a number of source images."""
    return NOTHING if count is None else str(count)


def worst_to_best(block: Aggregate, scale: Scale, digits: int = 2) -> str:
    """`6.33–6.47`: the mean if everything unscored were at the worst or the best end of the scale; `7.20 … ∞`.

    The worst comes first, even if it is the higher number. A dash if both ends are open.
    """
    worst, best = block.worst_case_mean, block.best_case_mean
    if worst is not None and best is not None:
        return span([worst, best], digits)
    if worst is None and best is None:
        return NOTHING
    worst_end, best_end = ("-∞", "∞") if scale.higher_is_better else ("∞", "-∞")
    return f"{worst_end} … {score(best, digits)}" if worst is None else f"{score(worst, digits)} … {best_end}"


def coverage(of: Coverage) -> str:
    """`887/900`."""
    return f"{of.scored}/{of.total}"


def share(part: float, whole: float) -> str:
    """`93%`; never rounded up to 100% or down to 0%."""
    if whole <= 0:
        return NOTHING
    percent = 100 * part / whole
    if 0 < percent < 0.5:
        return "<1%"
    if 99.5 <= percent < 100:
        return ">99%"
    return f"{percent:.0f}%"


def rate(count: int, total: int, ci95: Sequence[float] | None) -> str:
    """`12% (9–15%)`: a share with its 95% interval."""
    if ci95 is None:
        return NOTHING
    low, high = ci95
    return f"{share(count, total)} ({100 * low:.0f}–{100 * high:.0f}%)"


def memory(count: int | None) -> str:
    """`60.2 GiB`, `214 MiB`; a dash if unknown."""
    if count is None:
        return NOTHING
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"


def peak_memory(device: DeviceMemory) -> str:
    """`61.2 / 80.0 GiB`, from a device's `peak` and `total`; without a total, only the peak."""
    peak, total = memory(device.peak), memory(device.total)
    if NOTHING in (peak, total):
        return peak
    return f"{peak.removesuffix(' GiB')} / {total}" if peak.endswith("GiB") else f"{peak} / {total}"


def duration(seconds: float | None, language: str = "") -> str:
    """`0.8 s`, `42 s`, `3 min 20 s`, `5 h 04 min`: a Text or, with a `language`, its words in it."""
    if seconds is None:
        return NOTHING
    return translate(_duration(seconds), language) if language else _duration(seconds)


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
    """`42s`, `3m20s`, `5h04m`: for tables with little room."""
    return duration(seconds, "en").replace("min", "m").replace(" ", "")
