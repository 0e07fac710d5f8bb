"""Small WebP pictures for the page, made a few at a time, each within a share of the page's budget."""

from __future__ import annotations

import base64
import io
import math
import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from PIL import Image

from edit_eval.errors import PictureError
from edit_eval.pictures import open_picture, small_copy

PAGE_BUDGET = 56_000_000
"""Bytes of base64 that all thumbnails of a page may take together: a page of 60 MB still opens at once."""

NOTHING_KEPT: Mapping[Path, Path] = MappingProxyType({})

_LONGEST_SIDE, _SHORTEST_SIDE = 512, 160
_QUALITIES = (78, 62, 48)
_TOO_MUCH = (1.2, 1.8)
"""How many times too large a picture is at the best quality for that, and then for the next, to be tried."""
_THREADS = 8  # Pillow works outside of Python's lock; more would only hold more pictures in memory


@dataclass(frozen=True)
class Size:
    """What one thumbnail may be: its longest side in pixels, and its file in bytes."""

    side: int
    file_bytes: int


def size_for(count: int, budget: int = PAGE_BUDGET) -> Size:
    """The size at which `count` thumbnails stay within `budget` bytes of base64."""
    each = budget * 3 // 4 // max(1, count)
    # About 0.13 bytes a pixel: a photo at the middle quality. A picture that takes more is compressed harder.
    side = math.isqrt(round(each / 0.13 * 4 / 3))
    return Size(side=max(_SHORTEST_SIDE, min(_LONGEST_SIDE, side)), file_bytes=min(each, 64_000))


def thumbnail(path: Path, size: Size, kept: Path | None = None) -> bytes | None:
    """The picture at `path` as a small WebP; None if it is no picture that can be read.

    With `kept` it is made from the small copy that is there, if that is younger than the picture; else from the one
    that is made then and kept there. Both give the same bytes.
    """
    try:
        if kept is None:
            return _small(open_picture(path), size)
        data, picture = _kept(path, kept)
        if max(picture.size) <= size.side and len(data) <= size.file_bytes:
            return data
        # What it will take at the best quality; one that will not do is not tried.
        expected = len(data) * min(1.0, size.side / max(picture.size)) ** 2
        return _small(picture, size, _QUALITIES[sum(expected > factor * size.file_bytes for factor in _TOO_MUCH) :])
    except (PictureError, OSError, ValueError):  # one bad picture must not cost the report
        return None


def _kept(path: Path, kept: Path) -> tuple[bytes, Image.Image]:
    """A small copy of the picture at `path`, which is the same whoever made it: its file, and opened."""
    with suppress(OSError, ValueError):
        found = kept.lstat()
        if stat.S_ISREG(found.st_mode) and found.st_mtime >= path.stat().st_mtime:
            data = kept.read_bytes()
            return data, _opened(data)
    data = small_copy(open_picture(path))
    with suppress(OSError):  # a report can be made without
        kept.parent.mkdir(parents=True, exist_ok=True)
        temporary = kept.with_name(f".{kept.name}.{os.getpid()}.tmp")
        temporary.write_bytes(data)
        temporary.replace(kept)
    return data, _opened(data)


def _opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data), formats=["WEBP"]).convert("RGB")


def _small(picture: Image.Image, size: Size, qualities: Sequence[int] = _QUALITIES) -> bytes:
    picture.thumbnail((size.side, size.side), Image.Resampling.LANCZOS, reducing_gap=2.0)
    return _encode(picture, size.file_bytes, qualities)


def thumbnails(paths: Sequence[Path], size: Size, kept: Mapping[Path, Path] = NOTHING_KEPT) -> Iterator[str | None]:
    """Each picture's thumbnail as base64, in order; None for one that cannot be read. `kept`: see `thumbnail`.

    A few are made ahead at a time, so the memory in use does not grow with their number.
    """
    threads = min(_THREADS, os.cpu_count() or 1)
    with ThreadPoolExecutor(threads) as pool:
        for made in _ahead(pool, paths, size, kept, 2 * threads):
            yield None if made is None else base64.b64encode(made).decode("ascii")


def _ahead(
    pool: ThreadPoolExecutor, paths: Iterable[Path], size: Size, kept: Mapping[Path, Path], ahead: int
) -> Iterator[bytes | None]:
    under_way: deque[Future[bytes | None]] = deque()
    for path in paths:
        under_way.append(pool.submit(thumbnail, path, size, *([kept[path]] if path in kept else [])))
        if len(under_way) >= ahead:
            yield under_way.popleft().result()
    while under_way:
        yield under_way.popleft().result()


def _encode(picture: Image.Image, file_bytes: int, qualities: Sequence[int] = _QUALITIES) -> bytes:
    """WebP of at most `file_bytes`: first a lower quality, then fewer pixels."""
    while True:
        for quality in qualities:
            file = io.BytesIO()
            picture.save(file, "WEBP", quality=quality, method=2)
            if file.tell() <= file_bytes:
                return file.getvalue()
        smaller = 0.9 * math.sqrt(file_bytes / file.tell())
        if max(picture.size) * smaller < 16:
            return file.getvalue()
        picture = picture.resize(
            (max(1, round(picture.width * smaller)), max(1, round(picture.height * smaller))),
            Image.Resampling.LANCZOS,
        )
