"""The items of a benchmark's JSON, one after the other: a file of half a gigabyte passes by in a few megabytes.

Three forms, told apart by what is in the file and not by its name: a list of items, an object of lists (category ->
items, and perhaps `version` and the like beside them), and JSONL (one item after the other, each on a line or not).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

from edit_eval.errors import ConfigurationError
from edit_eval.text import Text

_CHUNK = 1 << 20  # the parser looks at a string's beginning again with each chunk: large chunks make it linear
_STEPS = (1 << 14, 1 << 7, 1)  # how the place of an error is narrowed down: one pass of the file for each
_REFUSED = (ArithmeticError, ValueError, SystemError)  # what Python says of numbers that are none, beside the parser
_MAX_DEPTH = 64
_MAX_NAMES = 200
_LOOKS_LIKE_AN_ITEM = 2
"""So many wanted fields has the first element of a list of items, where other things stand before the list."""
_KINDS = {
    "string": Text("a string"),
    "number": Text("a number"),
    "boolean": Text("a boolean"),
    "null": "null",
    "start_array": Text("a list"),
}


@dataclass(frozen=True)
class BenchmarkItem:
    """One element of the benchmark: what was asked for of it, and the names of all that it has."""

    group: str
    """The name of the list that it is in, where the file is an object of lists."""
    names: tuple[str, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    problem: str = ""
    """Why this is no item at all."""


@dataclass
class _Members:
    """What was read of an object: the names of its members, the values of those that are wanted, what is wrong."""

    names: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    problem: str = ""


class ItemReader:
    """Reads the items of one file. `wanted` names the fields to keep."""

    def __init__(self, path: Path, wanted: frozenset[str]) -> None:
        self.path = path
        self.ignored: list[str] = []
        """What stands beside the lists of an object of lists, and was ignored."""
        self._wanted = wanted
        self._count = 0
        self._events: Iterator[tuple[str, Any]] = iter(())
        self._window: _Window | None = None
        self._begun = _Members()

    @property
    def position(self) -> int:
        """Bytes of the file that have been read."""
        return 0 if self._window is None else self._window.position

    def items(self) -> Iterator[BenchmarkItem]:
        """All items in the file's order. Raises `ConfigurationError` for a file that is not whole, valid JSON."""
        import ijson

        try:
            with open(self.path, "rb") as file:
                begin = _check_beginning(self.path, file)
                self._window = _Window(file, begin)
                self._events = iter(ijson.basic_parse(self._window, multiple_values=True, buf_size=_CHUNK))
                try:
                    yield from self._top_level()
                except (ijson.JSONError, *_REFUSED) as error:
                    raise self._broken(file, begin, error) from error
        except OSError as error:
            raise ConfigurationError(Text("benchmark.data_path: {}: {}", self.path, error.strerror or error)) from error

    def _top_level(self) -> Iterator[BenchmarkItem]:
        empty: list[BenchmarkItem] = []  # a whole file of `{}` has no samples; one among others is a bad one
        any_other = False
        for event, _ in self._events:
            if event == "start_array":
                yield from empty
                empty, any_other = [], True
                yield from self._list("")
            elif event == "start_map":
                group, item = self._object()
                if group is None and item is None:
                    empty.append(self._item(_Members()))
                    continue
                yield from empty
                empty, any_other = [], True
                if item is not None:
                    yield item
                elif group is not None:
                    yield from self._lists(group)
            else:
                raise ConfigurationError(
                    Text(
                        "benchmark.data_path: {} has {} at its top level: a list of items, an object "
                        "of lists, or JSONL is needed",
                        self.path,
                        _KINDS.get(event, event),
                    )
                )
        if any_other:
            yield from empty

    def _object(self) -> tuple[str | None, BenchmarkItem | None]:
        """Decides what an object of the top level is: an item (returned whole), or one of lists (the first's name).

        An object of lists begins with a list whose first element is an object; empty lists before it do not decide.
        What is said about the file (`version`, `metadata`) may stand before it, too: then that object must look like an
        item, for items may have lists of objects in fields that nobody asked for.
        """
        names: list[str] = []
        others: list[str] = []
        for event, name in self._events:
            if event == "end_map":
                return None, self._item(_Members(names)) if others else None
            event, value = next(self._events)
            if name in self._wanted:
                members = _Members([*names, name])
                self._keep(members, name, event, value)
                return None, self._item(self._members(members))
            names.append(name[:80])
            if event != "start_array":
                self._value(event, value, keep=False)
                others.append(name[:80])
                continue
            event, value = next(self._events)
            if event == "start_map":
                first = self._members()
                if not others or len(first.values) >= _LOOKS_LIKE_AN_ITEM:
                    self.ignored += others
                    self._begun = first
                    return name, None
                others.append(name[:80])
                event, value = next(self._events)
            while event != "end_array":
                others += [name[:80]] if name[:80] not in others else []
                self._value(event, value, keep=False)
                event, value = next(self._events)
        raise AssertionError("the parser ended inside an object")

    def _lists(self, group: str) -> Iterator[BenchmarkItem]:
        """An object of lists, whose first list's first element was read."""
        yield self._item(self._begun, group)
        yield from self._list(group)
        for event, name in self._events:
            if event == "end_map":
                return
            event, value = next(self._events)
            if event == "start_array":
                yield from self._list(name)
            else:
                self._value(event, value, keep=False)
                self.ignored.append(name[:80])

    def _list(self, group: str) -> Iterator[BenchmarkItem]:
        for event, value in self._events:
            if event == "end_array":
                return
            if event == "start_map":
                yield self._item(self._members(), group)
            else:
                self._value(event, value, keep=False)
                yield self._item(_Members(problem=Text("is {}, not an object", _KINDS.get(event, event))), group)

    def _members(self, members: _Members | None = None) -> _Members:
        """The members of an object; its beginning was read, perhaps with its first `members`."""
        members = members or _Members()
        for event, name in self._events:
            if event == "end_map":
                break
            if len(members.names) < _MAX_NAMES:
                members.names.append(name)
            event, value = next(self._events)
            self._keep(members, name, event, value)
        return members

    def _keep(self, members: _Members, name: str, event: str, value: Any) -> None:
        whole = self._value(event, value, keep=name in self._wanted)
        if name in self._wanted:
            if name in members.values:
                members.problem = members.problem or Text("has {!r} twice", name)
            members.values[name] = whole

    def _value(self, event: str, value: Any, *, keep: bool) -> Any:
        """One value of any kind. What is not kept is ignored without ever being in memory as a whole."""
        from ijson.common import ObjectBuilder

        if event not in ("start_map", "start_array"):
            return _plain(value) if keep else None
        builder = ObjectBuilder() if keep else None
        depth = 0
        while True:
            depth += event.startswith("start_")
            depth -= event.startswith("end_")
            if depth > _MAX_DEPTH:
                raise ConfigurationError(
                    Text(
                        "benchmark.data_path: {}: item {} is nested deeper than {} levels",
                        self.path,
                        self._count,
                        _MAX_DEPTH,
                    )
                )
            if builder is not None:
                builder.event(event, value)
            if depth == 0:
                return _plain(builder.value) if builder is not None else None
            event, value = next(self._events)

    def _item(self, members: _Members, group: str = "") -> BenchmarkItem:
        self._count += 1
        return BenchmarkItem(group, tuple(members.names), members.values, members.problem)

    def _broken(self, file: IO[bytes], begin: int, error: Exception) -> ConfigurationError:
        """Says where: the block in which the parser stopped is read again in ever smaller steps."""
        import ijson

        assert self._window is not None
        block = self._window
        if block.ended:
            return ConfigurationError(
                Text(
                    "benchmark.data_path: {} ends in the middle of its JSON after {} bytes and {} "
                    "whole items: it was cut off; copy it again",
                    self.path,
                    block.position,
                    self._count,
                )
            )
        for step in _STEPS:
            again = _Window(file, begin, fine_from=block.start, step=step)
            try:
                for _ in ijson.basic_parse(again, multiple_values=True, buf_size=_CHUNK):
                    pass
            except (ijson.JSONError, *_REFUSED):
                block = again
            else:
                break
        reason = str(error).strip("b'\"").split("\\n")[0].splitlines()[0][:100]
        # Python's own limit for whole numbers, met within the parser's C code.
        if isinstance(error, SystemError) or "integer string conversion" in reason:
            reason = Text("a whole number of more than {} digits", sys.get_int_max_str_digits())
        return ConfigurationError(
            Text(
                "benchmark.data_path: {} is not valid JSON at byte {} (line {}): {}",
                self.path,
                block.start,
                _line_of(file, block.start),
                reason,
            )
        )


class _Window:
    """What the parser reads from: remembers which block it was handed last. From `fine_from` on, blocks of `step`."""

    def __init__(self, file: IO[bytes], begin: int, fine_from: int | None = None, step: int = _CHUNK) -> None:
        file.seek(begin)
        self._file = file
        self._fine_from = fine_from
        self._step = step
        self.start = begin
        self.position = begin
        self.ended = False

    def read(self, size: int) -> bytes:
        if size == 0:  # so the parser asks whether this is a file of bytes
            return b""
        if self._fine_from is not None:
            size = self._step if self.position >= self._fine_from else min(size, self._fine_from - self.position)
        data = self._file.read(size)
        self.start = self.position
        self.position += len(data)
        self.ended = not data
        return data


def _plain(value: Any) -> Any:
    """The parser's fractions as floats, so that a value can be kept as JSON."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [_plain(element) for element in value]
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items()}
    return value


def _check_beginning(path: Path, file: IO[bytes]) -> int:
    """Where the JSON begins. Raises `ConfigurationError` for what is none, before any of it is parsed."""
    begin = 0
    head = file.read(4096)
    if head.startswith(b"\xef\xbb\xbf"):  # a byte order mark, as some editors write it
        begin, head = 3, head[3:]
    while head and not head.strip():
        head = file.read(4096)
    first = head.lstrip()[:16]
    if not first:
        raise ConfigurationError(Text("benchmark.data_path: {} is empty", path))
    if first[:1] not in (b"[", b"{"):
        raise ConfigurationError(
            Text("benchmark.data_path: {} is not JSON in UTF-8: it begins with {!r}, not with '[' or '{{'", path, first)
        )
    return begin


def _line_of(file: IO[bytes], position: int) -> int:
    file.seek(0)
    lines = 1
    while position > 0:
        block = file.read(min(_CHUNK, position))
        if not block:
            break
        lines += block.count(b"\n")
        position -= len(block)
    return lines
