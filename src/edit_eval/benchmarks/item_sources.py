"""The source image of an item: embedded as base64, or a file beside the benchmark; either way laid into the cache."""

from __future__ import annotations

import base64
import dataclasses
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edit_eval.benchmarks.item_fields import Fields, kind, shown
from edit_eval.benchmarks.json_items import BenchmarkItem
from edit_eval.benchmarks.plain_files import PlainFiles
from edit_eval.benchmarks.source_cache import CachedSource, SourceCache, kind_of
from edit_eval.errors import PictureError
from edit_eval.text import Text

_ALIASES = {"jpeg": "jpg", "jpe": "jpg", "tiff": "tif", "jpeg2000": "jp2", "x-ms-bmp": "bmp"}


@dataclass(frozen=True)
class Origin:
    """A file that was looked for or read, as it was then: later starts see whether it still is."""

    path: str
    state: tuple[int, int] | None
    """Size in bytes and time of change in nanoseconds; None: there was none."""


LOOK_AGAIN = Origin("", (0, 0))
"""No file is like that: the next start looks again whether what is missing has come."""


@dataclass(frozen=True)
class CheckedItem:
    """What a pass found of one item: its texts as they are in the file, and the verdict on its source."""

    item: BenchmarkItem
    """Without the embedded pictures."""
    pictures: Mapping[str, CachedSource] = field(default_factory=dict)
    """By the name that the sample has for it: `source`, `reference`, ..."""
    fault: str = ""
    """Why a picture is missing."""
    note: str = ""
    """What is worth saying and no fault."""
    origins: tuple[Origin, ...] = ()

    @property
    def source(self) -> CachedSource | None:
        """The (first) source."""
        return self.pictures.get("source")

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> CheckedItem:
        """The inverse of `dataclasses.asdict` and JSON. Raises `KeyError` or `TypeError` for anything else."""
        item = entry["item"]
        return cls(
            item=BenchmarkItem(**(item | {"names": tuple(item["names"]), "too_long": tuple(item["too_long"])})),
            pictures={name: CachedSource(**picture) for name, picture in entry["pictures"].items()},
            fault=entry["fault"],
            note=entry["note"],
            origins=tuple(Origin(each["path"], each["state"] and tuple(each["state"])) for each in entry["origins"]),
        )


class SourceFinder:
    """Finds the sources of the items of one benchmark, whose file lies in the folder of `files`."""

    def __init__(self, files: PlainFiles, fields: Fields, cache: SourceCache) -> None:
        self._files = files
        self._folder = str(files.folder)
        self._fields = fields
        self._cache = cache

    def find(self, item: BenchmarkItem) -> CheckedItem:
        """Decodes an item's source once and lays it into the cache; a bad one is a fault in what is returned.

        The embedded picture counts; only without one is the path looked at. Raises like `SourceCache.lay`, but no
        `PictureError`.
        """
        names = self._fields.names["source"]
        slim = dataclasses.replace(item, values={n: value for n, value in item.values.items() if n not in names})
        if item.problem:
            return CheckedItem(slim)
        for name in names:
            if item.values.get(name):
                return self._embedded(slim, name, item.values[name])
        return self._by_path(slim)

    def _embedded(self, item: BenchmarkItem, name: str, text: object) -> CheckedItem:
        if not isinstance(text, str):
            return CheckedItem(item, fault=self._fields.wrong("source", text, Text("a string of base64")))
        declared = ""
        if text.startswith("data:"):
            head, _, text = text.partition(",")
            declared = head.removeprefix("data:").partition(";")[0].partition("/")[2]
        try:
            data = base64.b64decode("".join(text.split()), validate=True)
        except ValueError as error:
            return CheckedItem(item, fault=Text("{} is not base64 ({})", name, str(error)[:80]))
        return self._laid(item, data, name, declared)

    def _by_path(self, item: BenchmarkItem) -> CheckedItem:
        origins: list[Origin] = []
        problems: list[str] = []
        for name in self._fields.names["source_path"]:
            value = item.values.get(name)
            if not value:
                continue
            if not isinstance(value, str):
                problems.append(Text("{} is {}, not a string", name, kind(value)))
                continue
            path = self._inside(value)
            if path is None:
                problems.append(
                    Text(
                        "{} {} points outside the benchmark's folder {}: copy the pictures into it",
                        name,
                        shown(value),
                        self._folder,
                    )
                )
                continue
            origins.append(Origin(path, state_of(path)))
            if os.path.lexists(path):
                return self._from_file(item, f"{name} {shown(value)}", path, tuple(origins))
            problems.append(Text("there is no file {} {}", name, shown(value)))
        # An item of the usual form has a path that never was a file's here: what it lacks is the embedded picture.
        fault = "; ".join([self._fields.missing(item, "source"), *problems])
        return CheckedItem(item, fault=fault, origins=tuple(origins))

    def _from_file(self, item: BenchmarkItem, what: str, path: str, origins: tuple[Origin, ...]) -> CheckedItem:
        try:
            data = self._files.read(path, what)
        except LookupError as error:
            return CheckedItem(item, fault=str(error.args[0]), origins=(LOOK_AGAIN,))
        return self._laid(item, data, what, Path(path).suffix[1:], origins)

    def _laid(
        self, item: BenchmarkItem, data: bytes, what: str, declared: str, origins: tuple[Origin, ...] = ()
    ) -> CheckedItem:
        """`declared`: the kind that the picture calls itself; where it is another, that is noted."""
        try:
            source = self._cache.lay(data, what)
        except PictureError as error:
            return CheckedItem(item, fault=str(error), origins=origins)
        return CheckedItem(item, {"source": source}, note="; ".join(remarks(what, declared, source)), origins=origins)

    def _inside(self, name: str) -> str | None:
        """The path of a source's file; None if it points outside the benchmark's folder.

        Of links see `PlainFiles`.
        """
        path = os.path.normpath(os.path.join(self._folder, name.replace("\\", "/")))
        inside = "\0" not in name and os.path.commonpath((self._folder, path)) == self._folder
        return path if inside else None


def remarks(what: str, declared: str, picture: CachedSource) -> list[str]:
    """What is odd about a picture and no fault: that it calls itself (`declared`) something else, an unusual form."""
    claimed = _ALIASES.get(declared.lower()) or kind_of(declared)
    wrong = claimed and claimed != picture.kind and claimed not in ("heic", "heif")
    called = (
        [Text("{} is declared as {} but is {}: used as such", what, shown(declared), picture.kind)] if wrong else []
    )
    return called + ([f"{what} {picture.oddity}"] if picture.oddity else [])


def state_of(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """Size in bytes and time of change in nanoseconds of a regular file; None where there is none."""
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return None
    return (state.st_size, state.st_mtime_ns) if stat.S_ISREG(state.st_mode) else None
