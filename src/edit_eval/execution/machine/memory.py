"""Words for memory, and for a model that ran out of it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

GIB = 1 << 30


def gib(count: float) -> str:
    """Formats bytes: `57.9 GiB`; small numbers in MiB."""
    return f"{count / GIB:.1f} GiB" if count >= GIB // 10 else f"{max(1, round(count / (1 << 20)))} MiB"


def memory_figures(memory: Mapping[str, int], users: Sequence[str]) -> str:
    """Returns a worker's figures on its devices' memory when it ran out, and other users; empty if unknown."""
    figures: str = ""
    if peak := memory.get("device_peak"):
        of = f" of {gib(total)}" if (total := memory.get("device_total")) else ""
        figures = f"; at most {gib(peak)}{of} were reserved"
    return figures + (f"; also in use by {', '.join(users)}" if users else "")


def memory_advice(kind: str, error: str, memory: Mapping[str, int], *, loading: bool = False) -> str:
    """Returns the settings of an `edit` model or a `judge` that would help after this error, at work or `loading`."""
    smaller = "a smaller batch_size or max_pixels" if kind == "judge" else "a smaller canvas"
    smaller = "quantised weights (load)" if loading else smaller
    in_pieces = f"; {SEGMENTS} helps where free memory is in pieces" if _is_fragmented(error, memory) else ""
    return f"{smaller}, offload: model, or devices_per_replica: 2 needs less{in_pieces}"


SEGMENTS = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
NEARLY_FULL = 0.9
"""Share of a device's memory above which reserved memory is also taken to be short because of fragmentation."""
_AMOUNT = r"([\d.]+) (KiB|MiB|GiB) "
_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_WANTED = re.compile("Tried to allocate " + _AMOUNT.rstrip() + r"\b")
_UNUSED = re.compile(_AMOUNT + "is reserved by PyTorch but unallocated")


def _is_fragmented(error: str, memory: Mapping[str, int]) -> bool:
    """True if the allocator held enough unused memory that fragmentation may be to blame; torch says how much.

    If torch does not, true if the device was nearly full of reserved memory.
    """
    wanted, unused = (_bytes(pattern.search(error)) for pattern in (_WANTED, _UNUSED))
    if wanted is not None and unused is not None:
        return unused >= wanted / 2
    return memory.get("device_peak", 0) > NEARLY_FULL * memory.get("device_total", math.inf)


def _bytes(match: re.Match[str] | None) -> float | None:
    return None if match is None else float(match[1]) * _UNITS[match[2]]
