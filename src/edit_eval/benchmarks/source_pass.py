"""One pass over a benchmark's files: decodes each source once and puts it into the cache of sources unchanged.

The findings are cached, too. Later starts use them as long as the files are the same by their SHA-256. A large file is
only read again for that if its size is the same and any of its times or its number on the disk is not: these differ on
shared disks and in containers without a change, but no program can change a file and leave them all. A cached source is
trusted until its file is touched; `verify` reads them all.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import PIL

from edit_eval.benchmarks.json_items import PROBLEM
from edit_eval.benchmarks.source_cache import FULL, CachedSource, SourceCache, file_digest
from edit_eval.errors import ConfigurationError, Stopped
from edit_eval.json_values import Json, JsonObject, Unchecked
from edit_eval.pictures import MAX_PIXELS
from edit_eval.text import Text, text_from_json, text_to_json

MAX_TEXT = 100_000
"""Texts with more characters are dropped from a row: they had another purpose."""
_INDEX_FORMAT = 8
# Pillow's version, because another one may decode what this one cannot.
_INDEX_HEAD: list[Json] = [_INDEX_FORMAT, MAX_PIXELS, MAX_TEXT, PIL.__version__]
_SMALL = 16 << 20
"""Bytes of a benchmark's file up to which it is read at each start: some tens of milliseconds."""


@dataclass(frozen=True)
class Origin:
    """The state of a file when it was read or looked for, so that later starts see whether it has changed."""

    path: str
    state: tuple[int, ...] | None
    """As `state_of` has it; None: there was no file."""
    digest: str = ""
    """SHA-256 of its bytes; empty if it was not read."""

    @classmethod
    def from_path(cls, path: str | os.PathLike[str]) -> Origin:
        """Returns a file's current state."""
        return cls(os.fspath(path), state_of(path))

    def read(self, data: bytes) -> Origin:
        """Returns the same with what was read of it since."""
        return dataclasses.replace(self, digest=hashlib.sha256(data).hexdigest())

    def now(self, *, read: bool = False) -> Origin | None:
        """The file as it is now if its bytes are the same, else None. With `read` it is read, even if untouched."""
        state = state_of(self.path)
        if state is None or self.state is None or state[0] != self.state[0]:
            return self if state == self.state else None
        if state == self.state and not read:
            return self
        with contextlib.suppress(OSError):
            if self.digest and file_digest(self.path) == self.digest:
                return dataclasses.replace(self, state=state)
        return None


LOOK_AGAIN = Origin("", (0,))
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
                Origin(origin["path"], origin["state"] and tuple(origin["state"]), origin["digest"])
                for origin in entry["origins"]
            ),
        }
        texts = {name: text_from_json(entry[name]) for name in ("fault", "note")}
        values = {name: text_from_json(value) if name == PROBLEM else value for name, value in entry["values"].items()}
        return cls(**(entry | read | texts | {"values": values}))

    def to_json(self) -> JsonObject:
        """Returns plain data for `from_json`: its sentences keep their templates."""
        entry = dataclasses.asdict(self)
        values = {name: text_to_json(value) if name == PROBLEM else value for name, value in self.values.items()}
        return entry | {"fault": text_to_json(self.fault), "note": text_to_json(self.note), "values": values}


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
        return sum(state[0] for state in self._state())

    def findings(self, read: Callable[[], Iterator[CheckedRow]]) -> Iterator[CheckedRow]:
        """Yields the findings of an earlier pass over the same files if its pictures still exist; else reads."""
        remembered = self._reuse_findings()
        yield from self._read(self._state(), read) if remembered is None else remembered

    def verify(self) -> str:
        """Re-reads every source in the cache and deletes those that do not match their record.

        The next pass extracts them from the benchmark's files again. Returns one line if there were any.
        """
        altered = sum(map(self._cache.drop_if_altered, _pictures(self._read_index()[1])))
        images = (
            Text("1 source image in the cache is")
            if altered == 1
            else Text("{} source images in the cache are", altered)
        )
        return Text("{} not what was recorded: read from the benchmark again", images) if altered else ""

    def _read(self, state: list[tuple[int, ...]], read: Callable[[], Iterator[CheckedRow]]) -> Iterator[CheckedRow]:
        findings = []
        laid = 0
        try:
            self._cache.sweep()
            for finding in read():
                findings.append(finding)
                laid += sum(picture.bytes for picture in finding.pictures.values())
                yield finding
            files = [Origin(str(file), was, file_digest(file)) for file, was in zip(self._files, state, strict=True)]
            now = self._state()
            if now != state:
                changed = next(file for file, was, new in zip(self._files, state, now, strict=True) if was != new)
                raise ConfigurationError(Text("benchmark.data_path: {} changed while it was being read", changed))
            self._write_index(files, findings)
        except OSError as error:
            if error.errno not in FULL:
                raise
            needed = max(1.0, (sum(was[0] for was in state) * self._share - laid) / 1e6)
            raise Stopped(
                Text(
                    "the disk is full: the source images need about {:.0f} MB more in {}; free them, "
                    "or set benchmark.cache_dir, and run again (what is there is kept)",
                    needed,
                    self._cache.folder,
                )
            ) from error

    def _reuse_findings(self) -> list[CheckedRow] | None:
        files, findings = self._read_index()
        held: dict[CachedSource, CachedSource] = {}
        origins: dict[Origin, Origin] = {}
        for picture in _pictures(findings):
            if (still := self._cache.verify_source(picture)) is None:
                return None
            held[picture] = still
        for origin in {origin for finding in findings for origin in finding.origins}:
            if (unchanged := origin.now()) is None:
                return None
            origins[origin] = unchanged
        if not findings:
            return None
        touched = any(before is not now for before, now in (*held.items(), *origins.items()))
        if touched:
            findings = [
                dataclasses.replace(
                    finding,
                    pictures={name: held[picture] for name, picture in finding.pictures.items()},
                    origins=tuple(origins[origin] for origin in finding.origins),
                )
                for finding in findings
            ]
        if touched or [origin.state for origin in files] != self._state():
            with contextlib.suppress(OSError, ConfigurationError):  # only saves the next start some reading
                now = [dataclasses.replace(file, state=state) for file, state in zip(files, self._state(), strict=True)]
                self._write_index(now, findings)
        return findings

    def _read_index(self) -> tuple[list[Origin], list[CheckedRow]]:
        """Returns the files as they were indexed and what was found in them; nothing if they have changed."""
        states = self._state()
        index = self._cache.read_index(self._name)
        if index is None or index.get("head") != _INDEX_HEAD:
            return [], []
        try:
            files = [Origin(file["path"], tuple(file["state"]), file["digest"]) for file in index["files"]]
            if [file.path for file in files] != list(map(str, self._files)):
                return [], []
            for file, state in zip(files, states, strict=True):
                if file.now(read=state[0] <= _SMALL) is None:
                    return [], []
            self.said = text_from_json(index["said"])
            return files, [CheckedRow.from_json(entry) for entry in index["findings"]]
        except (KeyError, TypeError):
            return [], []

    def _write_index(self, files: Iterable[Origin], findings: Iterable[CheckedRow]) -> None:
        index: JsonObject = {
            "head": _INDEX_HEAD,
            "files": [dataclasses.asdict(file) for file in files],
            "said": text_to_json(self.said),
            "findings": [finding.to_json() for finding in findings],
        }
        self._cache.write_index(self._name, index)

    def _state(self) -> list[tuple[int, ...]]:
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
            states.append(state)
        return states


def state_of(path: str | os.PathLike[str]) -> tuple[int, ...] | None:
    """Returns what a regular file can be known by without reading it; None if there is none.

    Its size in bytes, its times of modification and of any change (nanoseconds), and its number on the disk.
    """
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return None
    there = state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino
    return there if stat.S_ISREG(state.st_mode) else None


def unique_id(named: str, index: int, ids: dict[str, int]) -> str:
    """Returns `named`, with the index appended if the id is taken; adds it to `ids`, which maps ids to indices."""
    unique, number = named, index
    while unique in ids:
        unique, number = f"{named}#{number}", number + 1
    ids[unique] = index
    return unique


def _pictures(findings: Iterable[CheckedRow]) -> set[CachedSource]:
    return {picture for finding in findings for picture in finding.pictures.values()}
