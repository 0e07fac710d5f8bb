"""Small WebP pictures for the page, made a few at a time, or taken as they lie there."""

from __future__ import annotations

import base64
import io
import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from PIL import Image

from edit_eval.errors import PictureError
from edit_eval.pictures import open_picture
from edit_eval.small_copies import CopyLimits, keep, small_copy

NOTHING_KEPT: Mapping[Path, Path] = MappingProxyType({})

_THREADS = 8  # Pillow works outside of Python's lock; more would only hold more pictures in memory
_MUCH_SMALLER = 0.75
"""The share of the wanted side, or of its bytes, below which a copy was made for a page of more pictures."""


def thumbnail(path: Path, size: CopyLimits, kept: Path | None = None) -> bytes | None:
    """The picture at `path` as a small WebP; None if it is no picture that can be read.

    With `kept` the copy that is there is taken, or scaled down, if it is younger than the picture and large enough;
    else one is made and kept there.
    """
    try:
        if kept is None:
            return small_copy(open_picture(path), size)
        with suppress(OSError, ValueError):
            if (data := _taken(path, size, kept)) is not None:
                return data
        data = small_copy(open_picture(path), size)
        with suppress(OSError):  # a report can be made without
            keep(data, kept)
        return data
    except (PictureError, OSError, ValueError):  # one bad picture must not cost the report
        return None


def _taken(path: Path, size: CopyLimits, kept: Path) -> bytes | None:
    """What is made of the copy at `kept`; None where there is none that will do."""
    found = kept.lstat()
    if not stat.S_ISREG(found.st_mode) or found.st_mtime < path.stat().st_mtime:
        return None
    data = kept.read_bytes()
    with Image.open(io.BytesIO(data), formats=["WEBP"]) as copy:  # reads no pixels
        if max(copy.size) > size.side or len(data) > size.file_bytes:
            return small_copy(copy.convert("RGB"), size)
        if max(copy.size) < _MUCH_SMALLER * size.side and len(data) < _MUCH_SMALLER * size.file_bytes:
            with Image.open(path) as picture:
                if max(copy.size) < max(picture.size):
                    return None
    return data


def thumbnails(
    paths: Sequence[Path], size: CopyLimits, kept: Mapping[Path, Path] = NOTHING_KEPT
) -> Iterator[str | None]:
    """Each picture's thumbnail as base64, in order; None for one that cannot be read. `kept`: see `thumbnail`.

    A few are made ahead at a time, so the memory in use does not grow with their number.
    """
    threads = min(_THREADS, os.cpu_count() or 1)
    with ThreadPoolExecutor(threads) as pool:
        for made in _ahead(pool, paths, size, kept, 2 * threads):
            yield None if made is None else base64.b64encode(made).decode("ascii")


def _ahead(
    pool: ThreadPoolExecutor, paths: Iterable[Path], size: CopyLimits, kept: Mapping[Path, Path], ahead: int
) -> Iterator[bytes | None]:
    under_way: deque[Future[bytes | None]] = deque()
    for path in paths:
        under_way.append(pool.submit(thumbnail, path, size, *([kept[path]] if path in kept else [])))
        if len(under_way) >= ahead:
            yield under_way.popleft().result()
    while under_way:
        yield under_way.popleft().result()
