"""Journals: JSON lines with checksums.

Each line is one JSON object whose last field `crc` is the CRC-32 of the line without it. Each writer only appends to
its own segment file: a full disk leaves a torn line in the *middle* of a file that is appended to later, and two
writers on a network file system tear each other's lines. Readers take the union of the segments in order; a line that
is torn, changed or not ours is counted and skipped, never fatal.
"""

from __future__ import annotations

import errno
import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from edit_eval.files.durable import sync_folder
from edit_eval.text import Text

Record = dict[str, Any]
T = TypeVar("T")

_MARK = b',"crc":"'
_TAIL = len(_MARK) + 8 + 2  # the mark, eight hexadecimal digits, `"}`
_ENDS = re.compile(rb',"crc":"[0-9a-f]{8}"\}')  # cannot match inside a text, whose quotes are escaped

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode  # `dumps` would make one for each line


def seal(record: Record) -> bytes:
    """Encodes a record as one line with its CRC."""
    body = _encode(record).encode("utf-8", "surrogatepass")
    return b'%s%s%08x"}\n' % (body[:-1], _MARK, zlib.crc32(body))


def unseal(line: bytes, kind: type[T]) -> T | None:
    """Decodes a line (without its newline); None if its CRC is wrong, or it is not a `kind`.

    `kind` is `dict`, or a class with fields of the same names as the line's.
    """
    body = line[:-_TAIL] + b"}"
    if line[-_TAIL:] != b'%s%08x"}' % (_MARK, zlib.crc32(body)):
        return None
    try:
        return cast(T, _decoders[kind](body))
    except (ValueError, RecursionError):
        return _lenient(body, kind)


class _Decoders(dict[object, Callable[[bytes], object]]):
    """Decoders by kind of line, created on first use."""

    def __missing__(self, kind: object) -> Callable[[bytes], object]:
        decode = self[kind] = msgspec.json.Decoder(kind).decode
        return decode


_decoders = _Decoders()


def _lenient(body: bytes, kind: type[T]) -> T | None:
    """Decodes what only Python's own reader accepts: unpaired surrogates, NaN and infinities."""
    try:
        return msgspec.convert(json.loads(body.decode("utf-8", "surrogatepass")), kind)
    except (ValueError, RecursionError):
        return None


class Segment:
    """A journal file written by this process alone. Created with the first line, so that no empty files are left."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._dirty = False
        self._torn = False

    def append(self, record: Record) -> None:
        """Writes one line; it survives the end of this process, and after `sync` a crash of the machine.

        Raises `OSError` (disk full); the next record then starts on a new line.
        """
        if self._descriptor is None:
            folder = self._path.parent
            folder.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
            self._descriptor = os.open(self._path, flags, 0o666)  # the umask applies, as for all other files
            for named_in in (folder, folder.parent):  # a synced line is still lost if the file's name is not synced
                sync_folder(named_in)
        line = seal(record)
        if self._torn:
            line = b"\n" + line
        self._dirty = self._torn = True
        while line:  # a disk that fills up accepts part of a line before it refuses the rest
            line = line[os.write(self._descriptor, line) :]
        self._torn = False

    def sync(self) -> None:
        """Syncs to disk. Raises `OSError`, also if the file has been moved or deleted."""
        if self._descriptor is not None and self._dirty:
            self._dirty = False  # before fsync: another thread may append meanwhile
            try:
                os.fsync(self._descriptor)
            except OSError:
                self._dirty = True
                raise
            try:
                there = os.path.samestat(os.stat(self._path), os.fstat(self._descriptor))
            except FileNotFoundError:
                there = False
            if not there:
                raise FileNotFoundError(errno.ENOENT, Text("its journals were moved or deleted"), str(self._path))

    def close(self) -> None:
        """Syncs and closes."""
        if self._descriptor is not None:
            try:
                self.sync()
            finally:
                os.close(self._descriptor)
                self._descriptor = None


@dataclass
class Damage:
    """Counts of skipped lines, by file."""

    lines: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Lines skipped in all files."""
        return sum(self.lines.values())

    @property
    def note(self) -> str:
        """One line for the user; empty if there is no damage."""
        if not self.total:
            return ""
        of_journals = Counter[str]()
        for path, count in self.lines.items():
            of_journals[Path(path).parent.name] += count
        where = ", ".join(f"{name} {of_journals[name]}" for name in sorted(of_journals))
        lines = (
            Text("1 damaged line in the journals was")
            if self.total == 1
            else Text("{} damaged lines in the journals were", self.total)
        )
        return Text("{} left out ({})", lines, where)


def segments(folder: Path) -> list[Path]:
    """Returns the segment files of a folder, oldest first."""
    return sorted(p for p in folder.glob("[0-9]*.jsonl") if p.stem.isdigit())


class Lines:
    """All good lines of a journal, oldest first; bad ones are counted while reading."""

    def __init__(self, folder: Path, damage: Damage) -> None:
        self._folder, self._damage = folder, damage

    def __iter__(self) -> Iterator[Record]:
        return self.decode_lines(dict)

    def decode_lines(self, kind: type[T]) -> Iterator[T]:
        """Yields each line as a `kind`, decoded to it directly."""
        for segment in self.read_segments(kind):
            yield from segment

    def read_segments(self, kind: type[T]) -> Iterator[Iterator[T]]:
        """Yields the lines of each segment: what one start has written."""
        for path in segments(self._folder):
            yield read_segment(path, self._damage, kind)

    def rewind(self) -> None:
        """Begins again from the first line."""


class Tail(Lines):
    """The lines of a journal that is still being written: each reading yields those added since the last.

    An unfinished line is left for the next reading. Segments are not read through links.
    """

    def __init__(self, folder: Path, damage: Damage) -> None:
        super().__init__(folder, damage)
        self._read: dict[Path, int] = {}

    @property
    def has_more(self) -> bool:
        """True if the size of a segment has changed since, even if it shrank."""
        return any(path.lstat().st_size != self._read.get(path, 0) for path in segments(self._folder))

    def read_segments(self, kind: type[T]) -> Iterator[Iterator[T]]:
        """Yields the new lines of each segment. Raises `OSError` for a segment that no longer exists."""
        for path in segments(self._folder):
            yield self._new_lines(path, kind)

    def rewind(self) -> None:
        self._read.clear()

    def _new_lines(self, path: Path, kind: type[T]) -> Iterator[T]:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            file.seek(self._read.setdefault(path, 0))
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._read[path] += len(line)
                if line := line.rstrip(b"\n"):
                    yield from _good(line, path, self._damage, kind)


def read(folder: Path, damage: Damage) -> Lines:
    """Returns the good lines of every segment in `folder`; reading them counts the bad ones in `damage`."""
    return Lines(folder, damage)


def read_segment(path: Path, damage: Damage, kind: type[T]) -> Iterator[T]:
    """Yields every good line of one segment as a `kind`, and counts the bad ones in `damage`."""
    damage.lines.pop(str(path), None)  # a segment read again is counted from zero
    with path.open("rb") as file:
        for line in file:
            if line := line.rstrip(b"\n"):
                yield from _good(line, path, damage, kind)


def _good(line: bytes, path: Path, damage: Damage, kind: type[T]) -> Iterator[T]:
    record = unseal(line, kind)
    if record is not None:
        yield record
        return
    damage.lines[str(path)] = damage.lines.get(str(path), 0) + 1
    yield from _find_whole_lines(line, kind)


def _find_whole_lines(line: bytes, kind: type[T]) -> Iterator[T]:
    """Yields good lines inside a bad one: a changed newline joins two lines that are both intact."""
    begin = 0
    for end in _ENDS.finditer(line):
        record = unseal(line[begin : end.end()], kind)
        if record is not None:
            yield record
            begin = end.end() + 1
