"""Pictures that a worker has opened, kept for further questions about them.

A protocol asks up to twenty questions about a pair, each of them as often as it is read, and to open and check one
picture of 512 x 512 takes 6 ms.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from edit_eval.errors import UnreadableError
from edit_eval.pictures import open_picture, pixel_digest

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_KEPT = 128 * 2**20
"""Bytes of pixels, as Pillow has them (four a pixel): 16 pairs of 1024 x 1024."""

SETTLED = 1.0
"""Seconds since a file's last change, before which it is opened each time: file systems' clocks tick in steps, and
another change in the same step could not be seen."""


class File(NamedTuple):
    """Where a picture is, and what says that it is the right one."""

    path: str
    digest: str
    """SHA-256 of its bytes; empty where nobody knows it."""
    pixels: str
    """`pixel_digest` of an edit as it was reported; else empty."""


def opened(file: File) -> Image:
    """Opens and checks the picture. Raises `PictureError`, and `UnreadableError` for one that is not as it was."""
    picture = open_picture(file.path, digest=file.digest)
    if file.pixels and pixel_digest(picture) != file.pixels:
        raise UnreadableError(f"{file.path}: the pixels differ from those reported")
    return picture


class _Kept(NamedTuple):
    identity: tuple[int, ...]
    picture: Image
    pixels: Any
    """What the picture held then: Pillow puts another in its place where somebody paints on it."""


class OpenedPictures:
    """The pictures that were opened last. For any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[File, _Kept] = OrderedDict()
        self._bytes = 0

    def known(self, file: File) -> Image | None:
        """The picture, where it was opened before, its file is the same since, and nobody has painted on it."""
        with self._lock:
            kept = self._kept.get(file)
            if kept is None:
                return None
            try:
                same = _identity(file.path) == kept.identity
            except OSError:
                same = False
            if not (same and kept.picture.readonly and kept.picture.im is kept.pixels):
                self._let_go(file)
                return None
            self._kept.move_to_end(file)
            return kept.picture

    def open(self, file: File) -> Image:
        """The picture, as `opened` does it, kept for the next time.

        It is read-only: what Pillow paints with changes a copy.
        """
        try:
            before = _identity(file.path)
        except OSError:
            before = ()  # `open_picture` says it better
        picture = opened(file)
        picture.readonly = 1
        if before and time.time() - max(before[-2:]) / 1e9 > SETTLED and _identity(file.path) == before:
            self._keep(file, _Kept(before, picture, picture.im))
        return picture

    def _keep(self, file: File, kept: _Kept) -> None:
        with self._lock:
            if file in self._kept:
                self._let_go(file)
            self._kept[file] = kept
            self._bytes += _size(kept)
            while self._bytes > MOST_KEPT:
                self._let_go(next(iter(self._kept)))

    def _let_go(self, file: File) -> None:
        self._bytes -= _size(self._kept.pop(file))


def _size(kept: _Kept) -> int:
    width, height = kept.pixels.size
    return int(width * height * 4)


def _identity(path: str) -> tuple[int, ...]:
    """What changes where a file is written to, or another one put in its place."""
    found = os.stat(path)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
