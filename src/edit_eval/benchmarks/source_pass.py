"""One pass over a benchmark's files: decodes each source once and puts it into the cache of sources unchanged.

The findings are cached, too. Later starts use them as long as the files' paths, sizes and modification times (in
nanoseconds) are the same; a replacement with all three equal goes unnoticed. A cached source is trusted until its file
is touched; `verify` reads them all.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import PIL

from edit_eval.benchmarks.json_items import PROBLEM
from edit_eval.benchmarks.source_cache import FULL, CachedSource, SourceCache
from edit_eval.errors import ConfigurationError, Stopped
from edit_eval.json_values import JsonObject, Unchecked
from edit_eval.pictures import MAX_PIXELS
from edit_eval.text import Text, packed, unpacked

MAX_TEXT = 100_000
"""Texts with more characters are dropped from a row: they had another purpose."""
_INDEX_FORMAT = 7
_State = list[list[int]]


@dataclass(frozen=True)
class Origin:
    """The state of a file when it was read or looked for, so that later starts see whether it has changed."""

    path: str
    state: tuple[int, int] | None
    """Size in bytes and modification time in nanoseconds; None: there was no file."""

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Origin:
        """Returns a file's current state."""
        return cls(os.fspath(path), state_of(path))


LOOK_AGAIN = Origin("", (0, 0))
"""Matches no file, so the next start looks for the missing file again."""


@dataclass(frozen=True)
class CheckedRow:
    """What a pass found in one row: its texts as in the file, and the verdict on its pictures."""

    index: int
    """The row's position, from 0."""
    values: Unchecked
    """All fields but those that hold pictures."""
    too_long: tuple[str, ...] = ()
    """Names of texts of more than `MAX_TEXT` characters, which are not in `values`."""
    pictures: Mapping[str, CachedSource] = field(default_factory=dict)
    """By the sample's name for it: `source`, `reference`, ..."""
    fault: str = ""
    """Why a picture is missing."""
    note: str = ""
    """A remark that is not a fault."""
    origins: tuple[Origin, ...] = ()

    @classmethod
    def from_json(cls, entry: Unchecked) -> CheckedRow:
        """Inverts `to_json` and JSON. Raises `KeyError` or `TypeError` for anything else."""
        read = {
            "too_long": tuple(entry["too_long"]),
            "pictures": {name: CachedSource(**picture) for name, picture in entry["pictures"].items()},
            "origins": tuple(
                Origin(origin["path"], origin["state"] and tuple(origin["state"])) for origin in entry["origins"]
            ),
        }
        texts = {name: unpacked(entry[name]) for name in ("fault", "note")}
        values = {name: unpacked(value) if name == PROBLEM else value for name, value in entry["values"].items()}
        return cls(**(entry | read | texts | {"values": values}))

    def to_json(self) -> JsonObject:
        """Returns plain data for `from_json`: its sentences keep their templates."""
        entry = dataclasses.asdict(self)
        values = {name: packed(value) if name == PROBLEM else value for name, value in self.values.items()}
        return entry | {"fault": packed(self.fault), "note": packed(self.note), "values": values}


class SourcePass:
    """The findings of one pass over `files`, made now or by an earlier start.

    `name` covers whatever else determines the findings. `share` is the rough share of the files that is pictures, for
    the message about a full disk.
    """

    def __init__(self, files: Sequence[Path], cache: SourceCache, name: str, share: float = 1.0) -> None:
        self._files = files
        self._cache = cache
        self._name = "\n".join([*map(str, files), name])
        self._share = share
        self.said: list[str] = []
        """Remarks of `read` on the files, kept with the findings."""

    @property
    def bytes(self) -> int:
        """Total size of the files. Raises `ConfigurationError` if one is missing."""
        return sum(size for size, _ in self._state())

    def findings(self, read: Callable[[], Iterator[CheckedRow]]) -> Iterator[CheckedRow]:
        """Yields the findings of an earlier pass over the same files if its pictures still exist; else reads."""
        state = self._state()
        remembered = self._remembered(state)
        yield from self._read(state, read) if remembered is None else remembered

    def verify(self) -> str:
        """Re-reads every source in the cache and deletes those that do not match their record.

        The next pass extracts them from the benchmark's files again. Returns one line if there were any.
        """
        altered = sum(map(self._cache.drop_if_altered, _pictures(self._recorded(self._state()))))
        images = (
            Text("1 source image in the cache is")
            if altered == 1
            else Text("{} source images in the cache are", altered)
        )
        return Text("{} not what was recorded: read from the benchmark again", images) if altered else ""

    def _read(self, state: _State, read: Callable[[], Iterator[CheckedRow]]) -> Iterator[CheckedRow]:
        findings = []
        laid = 0
        try:
            self._cache.sweep()
            for finding in read():
                findings.append(finding)
                laid += sum(picture.bytes for picture in finding.pictures.values())
                yield finding
            now = self._state()
            if now != state:
                changed = next(file for file, was, new in zip(self._files, state, now, strict=True) if was != new)
                raise ConfigurationError(Text("benchmark.data_path: {} changed while it was being read", changed))
            self._write_index(state, findings)
        except OSError as error:
            if error.errno not in FULL:
                raise
            needed = max(1.0, (sum(size for size, _ in state) * self._share - laid) / 1e6)
            raise Stopped(
                Text(
                    "the disk is full: the source images need about {:.0f} MB more in {}; free them, "
                    "or set benchmark.cache_dir, and run again (what is there is kept)",
                    needed,
                    self._cache.folder,
                )
            ) from error

    def _remembered(self, state: _State) -> list[CheckedRow] | None:
        findings = self._recorded(state)
        if not all(state_of(origin.path) == origin.state for finding in findings for origin in finding.origins):
            return None
        held: dict[CachedSource, CachedSource] = {}
        for picture in _pictures(findings):
            now = self._cache.held(picture)
            if now is None:
                return None
            held[picture] = now
        if not findings:
            return None
        if all(picture is now for picture, now in held.items()):
            return findings
        findings = [
            dataclasses.replace(f, pictures={name: held[picture] for name, picture in f.pictures.items()})
            for f in findings
        ]
        with contextlib.suppress(OSError, ConfigurationError):  # only saves the next start some reading
            self._write_index(state, findings)
        return findings

    def _recorded(self, state: _State) -> list[CheckedRow]:
        """Returns the indexed findings for these files in this state; empty if there are none."""
        index = self._cache.read_index(self._name)
        if index is None or index.get("head") != self._index_head(state):
            return []
        try:
            self.said = unpacked(index["said"])
            return [CheckedRow.from_json(entry) for entry in index["findings"]]
        except (KeyError, TypeError):
            return []

    def _write_index(self, state: _State, findings: Iterable[CheckedRow]) -> None:
        entries = [finding.to_json() for finding in findings]
        said = packed(self.said)
        self._cache.write_index(self._name, {"head": self._index_head(state), "said": said, "findings": entries})

    def _index_head(self, state: _State) -> list[Any]:
        # Pillow's version, because another one may decode what this one cannot.
        return [_INDEX_FORMAT, state, MAX_PIXELS, MAX_TEXT, PIL.__version__]

    def _state(self) -> _State:
        states = []
        for file in self._files:
            state = state_of(file)
            if state is None:
                raise ConfigurationError(
                    Text(
                        "benchmark.data_path: {} {}",
                        file,
                        Text("is not a file") if file.exists() else Text("does not exist"),
                    )
                )
            states.append([*state])
        return states


def state_of(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """Returns size in bytes and modification time in nanoseconds of a regular file; None if there is none."""
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return None
    return (state.st_size, state.st_mtime_ns) if stat.S_ISREG(state.st_mode) else None


def unique_id(named: str, index: int, ids: dict[str, int]) -> str:
    """Returns `named`, with the index appended if the id is taken; adds it to `ids`, which maps ids to indices."""
    unique, number = named, index
    while unique in ids:
        unique, number = f"{named}#{number}", number + 1
    ids[unique] = index
    return unique


def _pictures(findings: Iterable[CheckedRow]) -> set[CachedSource]:
    return {picture for finding in findings for picture in finding.pictures.values()}
