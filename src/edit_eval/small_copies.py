"""Small JPEG copies of pictures, at the size in which a run's page shows them.

Workers make them as edits are written, and the page uses them or makes what is missing. A page has a budget of bytes
for pictures, so their size follows from their number, which is known before the first edit.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from edit_eval.pictures import as_rgb

if TYPE_CHECKING:
    from edit_eval.records import Edit, Sample

PAGE_BUDGET = 56_000_000
"""Bytes of base64 for all pictures of a page together: a page of 60 MB still opens at once."""

COPY_SUFFIX = ".jpg"
_LONGEST_SIDE, _SHORTEST_SIDE = 512, 160
_QUALITIES = (75, 60, 45)


@dataclass(frozen=True)
class CopyLimits:
    """Limits of one copy: its longest side in pixels, and its file in bytes."""

    side: int
    file_bytes: int


LARGEST = CopyLimits(side=_LONGEST_SIDE, file_bytes=64_000)


def size_for(count: int, budget: int = PAGE_BUDGET) -> CopyLimits:
    """Returns the size at which `count` pictures stay within `budget` bytes of base64."""
    each = budget * 3 // 4 // max(1, count)
    # About 0.13 bytes a pixel for a photo at the middle quality. A picture that takes more is compressed harder.
    side = math.isqrt(round(each / 0.13 * 4 / 3))
    return CopyLimits(max(_SHORTEST_SIDE, min(LARGEST.side, side)), min(each, LARGEST.file_bytes))


def size_of_run(samples: Sequence[Sample], edits: Sequence[Edit]) -> CopyLimits:
    """Returns the size for a run's page with all its edits, made or not, so it does not change while they are made."""
    return size_for(sum(len(sample.pictures) for sample in samples) + len(edits))


def small_copy(picture: Image.Image, size: CopyLimits = LARGEST) -> bytes:
    """Returns the picture as a JPEG within `size`: never enlarged; first the quality is lowered, then the size.

    At 512 x 512 it takes 0.7 ms, where a WebP takes 6 to 10; at the size of a page's thumbnails it is no larger.
    """
    small = as_rgb(picture).copy()
    small.thumbnail((size.side, size.side), Image.Resampling.LANCZOS, reducing_gap=2.0)
    small.info = {}
    while True:
        for quality in _QUALITIES:
            file = io.BytesIO()
            small.save(file, "JPEG", quality=quality)
            if file.tell() <= size.file_bytes:
                return file.getvalue()
        smaller = 0.9 * math.sqrt(size.file_bytes / file.tell())
        if max(small.size) * smaller < 16:
            return file.getvalue()
        width, height = (max(1, round(side * smaller)) for side in small.size)
        small = small.resize((width, height), Image.Resampling.LANCZOS)


def keep_small_copy(picture: Image.Image, folder: str, digest: str, size: CopyLimits) -> None:
    """Keeps a copy of the picture with this digest, or none if that fails."""
    path = Path(folder, small_copy_name(digest))
    with contextlib.suppress(OSError, ValueError, MemoryError):
        if not path.exists():
            keep(small_copy(picture, size), path)


def keep(data: bytes, path: Path) -> None:
    """Writes a copy to its place, whole or not at all. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_bytes(data)
    temporary.replace(path)


def small_copy_name(digest: str) -> str:
    """Returns the file name of a copy."""
    return f"{digest[:32]}{COPY_SUFFIX}"
