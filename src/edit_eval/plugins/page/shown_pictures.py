"""The pictures on the page: where each stands, and its thumbnail.

A gallery names a picture by its place in the page's list of thumbnails; the page writes the list itself, one picture at
a time. Of very many pictures it gives the address of the small copy that lies beside the page.
"""

from __future__ import annotations

import base64
import io
import math
import os
import re
import stat
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Protocol, TypedDict
from urllib.parse import quote

from PIL import Image

from edit_eval.errors import PictureError
from edit_eval.pictures import open_picture
from edit_eval.records import Edit, Sample
from edit_eval.small_copies import CopyLimits, keep, small_copy, small_copy_name

KEPT = "thumbnails"
"""The folder beside the page in which small copies are kept between drawings."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


class PicturePlace(TypedDict):
    """A picture within the page."""

    thumbnail: int
    """Its place in the page's list."""
    file: str
    """Link to the file itself; empty if it must not be linked."""


class PictureAddress(TypedDict):
    """A picture that a server gives."""

    thumbnail: str
    file: str


class NoPicture(TypedDict):
    """Why there is none."""

    missing: Literal["no_edit", "edit_gone", "source_missing", "other_missing"]


ShownPicture = PicturePlace | PictureAddress | NoPicture


class PictureAddresses(Protocol):
    """Gives each picture in a gallery the place or address of its thumbnail, and a link to its file."""

    def address_of_sample(self, sample: Sample, name: str = "source") -> PicturePlace | PictureAddress | None: ...
    def address_of_edit(self, edit: Edit) -> PicturePlace | PictureAddress | None: ...


@dataclass
class PageFiles:
    """The files shown on the page, each once (see `PictureAddresses`)."""

    folder: Path
    """The page's folder, absolute. Links into the run directory are relative to it: the two move together."""
    run_directory: Path
    """Absolute. Files elsewhere, such as sources in a cache, are linked by their full path."""
    paths: list[Path] = field(default_factory=list)
    kept: dict[Path, Path] = field(default_factory=dict)
    """For a picture with a known digest, the file that keeps its small copy between drawings."""
    _places: dict[Path, int] = field(default_factory=dict)

    def make_copies(self, size: CopyLimits) -> None:
        """Makes what lies beside the page."""

    def address_of_sample(self, sample: Sample, name: str = "source") -> PicturePlace | PictureAddress | None:
        """Returns the addresses of one of a sample's pictures, by its name in the records."""
        picture = sample.pictures.get(name)
        return self.add(Path(os.path.abspath(picture.path)), picture.digest) if picture and picture.path else None

    def address_of_edit(self, edit: Edit) -> PicturePlace | PictureAddress | None:
        """Returns the addresses of an edit, or None for a path outside the run directory: a record may say anything."""
        path = os.path.normpath(os.path.join(self._inside, edit.image))
        return self.add(Path(path), edit.pixels) if path.startswith(self._inside) else None

    def add(self, path: Path, digest: str = "") -> PicturePlace | PictureAddress | None:
        """Returns the place of the picture's thumbnail and a link to its file; None if the file does not exist."""
        if not path.is_file():
            return None
        if path not in self._places:
            self._places[path] = len(self.paths)
            self.paths.append(path)
            if _DIGEST.fullmatch(digest):  # a record may say anything
                self.kept[path] = self._copy_folder / small_copy_name(digest)
        return {"thumbnail": self._places[path], "file": self._link(path)}

    def _link(self, path: Path) -> str:
        """Returns the address of the file itself; empty if it must not be linked."""
        if not (name := str(path)).startswith(self._inside):
            return path.as_uri()
        # "./" keeps a name from being taken for a URL scheme.
        return "./" + quote(f"{self._way_back}{name[len(self._inside) :]}".replace(os.sep, "/"))

    @cached_property
    def _copy_folder(self) -> Path:
        return self.folder / KEPT

    @cached_property
    def _inside(self) -> str:
        """The beginning of the path of every file in the run directory."""
        return os.path.join(self.run_directory, "")

    @cached_property
    def _way_back(self) -> str:
        """The way from the page's folder to the run directory."""
        way = os.path.relpath(self.run_directory, self.folder)
        return "" if way == os.curdir else os.path.join(way, "")


class PageFilesBeside(PageFiles):
    """The same, where thumbnails stay in the folder beside the page that keeps them.

    A picture without a known digest, for which none is kept, is one of the page's own list all the same.
    """

    def __init__(self, folder: Path, run_directory: Path) -> None:
        super().__init__(folder, run_directory)
        self._beside: dict[str, tuple[Path, float]] = {}
        """By the name of each copy its picture, and when that was last written."""

    def add(self, path: Path, digest: str = "") -> PicturePlace | PictureAddress | None:
        """Returns the address of the picture's thumbnail and a link to its file; None if the file does not exist."""
        if not _DIGEST.fullmatch(digest):
            return super().add(path, digest)
        try:
            found = os.stat(path)  # once: there may be a hundred thousand
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(found.st_mode):
            return None
        name = small_copy_name(digest)
        self._beside[name] = path, found.st_mtime
        return {"thumbnail": f"./{KEPT}/{name}", "file": self._link(path)}

    def make_copies(self, size: CopyLimits) -> None:
        """Makes those that are not there, or older than their pictures."""
        there: dict[str, float] = {}
        with suppress(OSError), os.scandir(self._copy_folder) as files:
            there = {
                file.name: file.stat(follow_symlinks=False).st_mtime
                for file in files
                if file.is_file(follow_symlinks=False)
            }
        lacking = {
            path: self._copy_folder / name
            for name, (path, written) in self._beside.items()
            if there.get(name, -math.inf) < written
        }
        with ThreadPoolExecutor(_THREADS) as pool:
            for _ in make_thumbnails(pool, lacking, size, lacking, 2 * _THREADS):
                pass


def address_of_picture(name: str) -> str:
    """Returns the name of a sample's picture in an address: `source:2` for `source_2`."""
    return name.replace("_", ":", 1) if name.startswith("source_") else name


# -- thumbnails --

NOTHING_KEPT: Mapping[Path, Path] = MappingProxyType({})

_THREADS = min(8, os.cpu_count() or 1)  # Pillow releases Python's lock; more would only hold more pictures in memory
_MUCH_SMALLER = 0.75
"""Share of the wanted side or bytes below which a kept copy was made for a page with more pictures."""


def thumbnail(path: Path, size: CopyLimits, kept: Path | None = None) -> bytes | None:
    """Returns the picture at `path` as a small JPEG; None if it cannot be read.

    With `kept`, a copy there that is newer than the picture and large enough is used, or scaled down; otherwise one is
    made and kept there.
    """
    try:
        if kept is None:
            return small_copy(open_picture(path), size)
        with suppress(OSError, ValueError):
            if (data := _reuse_copy(path, size, kept)) is not None:
                return data
        data = small_copy(open_picture(path), size)
        with suppress(OSError):  # the report does not need it
            keep(data, kept)
        return data
    except (PictureError, OSError, ValueError):  # one bad picture must not cost the report
        return None


def _reuse_copy(path: Path, size: CopyLimits, kept: Path) -> bytes | None:
    """Returns a thumbnail made from the copy at `kept`; None if no copy there will do."""
    file_status = kept.lstat()
    if not stat.S_ISREG(file_status.st_mode) or file_status.st_mtime < path.stat().st_mtime:
        return None
    data = kept.read_bytes()
    with Image.open(io.BytesIO(data), formats=["JPEG"]) as copy:  # reads no pixels
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
    """Yields each picture's thumbnail as base64, in order; None if it cannot be read. `kept`: see `thumbnail`.

    Only a few are made ahead, so memory use does not grow with their number.
    """
    with ThreadPoolExecutor(_THREADS) as pool:
        for made in make_thumbnails(pool, paths, size, kept, 2 * _THREADS):
            yield None if made is None else base64.b64encode(made).decode("ascii")


def make_thumbnails(
    pool: ThreadPoolExecutor, paths: Iterable[Path], size: CopyLimits, kept: Mapping[Path, Path], ahead: int
) -> Iterator[bytes | None]:
    """Yields each picture's `thumbnail` in order, made by the threads, at most so many `ahead`."""
    under_way: deque[Future[bytes | None]] = deque()
    for path in paths:
        under_way.append(pool.submit(thumbnail, path, size, *([kept[path]] if path in kept else [])))
        if len(under_way) >= ahead:
            yield under_way.popleft().result()
    while under_way:
        yield under_way.popleft().result()
