"""Small WebP copies of pictures, at the size in which a run's page shows them.

Workers make them as edits are written and the page takes them as they are; whoever lacks one makes it. A page may hold
so many bytes of pictures, so their size follows from how many there are, which is known before the first edit.
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
"""Bytes of base64 that all pictures of a page may take together: a page of 60 MB still opens at once."""

_LONGEST_SIDE, _SHORTEST_SIDE = 512, 160
_QUALITIES = (78, 62, 48)


@dataclass(frozen=True)
class CopyLimits:
    """What one copy may be: its longest side in pixels, and its file in bytes."""

    side: int
    file_bytes: int


LARGEST = CopyLimits(side=_LONGEST_SIDE, file_bytes=64_000)


def size_for(count: int, budget: int = PAGE_BUDGET) -> CopyLimits:
    """The size at which `count` pictures stay within `budget` bytes of base64."""
    each = budget * 3 // 4 // max(1, count)
    # About 0.13 bytes a pixel: a photo at the middle quality. A picture that takes more is compressed harder.
    side = math.isqrt(round(each / 0.13 * 4 / 3))
    return CopyLimits(max(_SHORTEST_SIDE, min(LARGEST.side, side)), min(each, LARGEST.file_bytes))


def size_of_run(samples: Sequence[Sample], edits: Sequence[Edit]) -> CopyLimits:
    """The size in a run's page, with all edits that it is to have: it stays the same while they are made."""
    return size_for(sum(len(sample.pictures) for sample in samples) + len(edits))


def small_copy(picture: Image.Image, size: CopyLimits = LARGEST) -> bytes:
    """The picture as a WebP within `size`: never enlarged; first of a lower quality, then of fewer pixels."""
    small = as_rgb(picture).copy()
    small.thumbnail((size.side, size.side), Image.Resampling.LANCZOS, reducing_gap=2.0)
    small.info = {}
    while True:
        for quality in _QUALITIES:
            file = io.BytesIO()
            small.save(file, "WEBP", quality=quality, method=2)
            if file.tell() <= size.file_bytes:
                return file.getvalue()
        smaller = 0.9 * math.sqrt(size.file_bytes / file.tell())
        if max(small.size) * smaller < 16:
            return file.getvalue()
        width, height = (max(1, round(side * smaller)) for side in small.size)
        small = small.resize((width, height), Image.Resampling.LANCZOS)


def keep_small_copy(picture: Image.Image, folder: str, digest: str, size: CopyLimits) -> None:
    """Keeps a copy of the picture that `digest` stands for; where that cannot be done, there is none."""
    path = Path(folder, small_copy_name(digest))
    with contextlib.suppress(OSError, ValueError, KeyError, MemoryError):  # KeyError: a Pillow without WebP
        if not path.exists():
            keep(small_copy(picture, size), path)


def keep(data: bytes, path: Path) -> None:
    """Puts a copy where it is looked for, whole or not at all. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_bytes(data)
    temporary.replace(path)


def small_copy_name(digest: str) -> str:
    """The name of its file."""
    return f"{digest[:32]}.webp"
