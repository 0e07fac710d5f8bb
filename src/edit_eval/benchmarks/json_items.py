"""Streams the items of a benchmark's JSON file: half a gigabyte is read with a few megabytes of memory.

Five forms are told apart by content, not by file name: a list of items, an object of lists (category -> items, perhaps
with `version` and the like beside them), an object of objects (key -> item), an object of columns (as pandas writes a
table), and JSONL (one item after the other, not necessarily on lines of their own). An object with a field of an item,
or with another value behind it, is an item, whatever lists it has and in whichever order. Nothing is lost: if an object
repeats a key, both items are yielded. `NaN`, which pandas writes for missing values, is read as None.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import re
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edit_eval.errors import ConfigurationError
from edit_eval.json_values import Unchecked
from edit_eval.text import Text

KEY = "key"
"""Key in a row for the key it had in the file, or its number, from 0."""
PLACE = "place"
"""Key in a row for its place, from 1, in the list under its key."""
LINE = "(line)"
"""Key in a row for the number of its first line in its file, from 1."""
PROBLEM = "(problem)"
"""Key in a row for why it is not a row."""

_CHUNK = 1 << 19  # least number of bytes read at once
_SPACE = re.compile(r"[ \t\r\n]*")
_WORDS = ("true", "false", "null", "NaN", "-Infinity")
_LONGEST_WORD = 16  # characters before the end of the buffer in which an error may be a word that is cut in two
_MAX_DEPTH = 64
_MAX_NAMES = 200
_LONGEST_ITEM = 64 << 20
"""Bytes: an object that is longer, and has no field of an item up to there, holds lists of items."""


@dataclass(frozen=True)
class BenchmarkItem:
    """One element of the benchmark: its wanted values, and the names of all its fields."""

    group: str = ""
    """Name of the list it is in, if the file is an object of lists."""
    place: int = 0
    """Its position in that list, from 1."""
    key: str = ""
    """Its key, if the file is an object of objects."""
    names: tuple[str, ...] = ()
    values: Unchecked = field(default_factory=dict)
    problem: str = ""
    """Why this is not an item."""


class _Members(list[tuple[str, Any]]):
    """An object as a list of members, so that repeated keys are kept."""


def _nothing(name: str) -> None:
    """Reads NaN and infinities, which are not JSON, as None."""


_DECODER = json.JSONDecoder(object_pairs_hook=_Members, parse_constant=_nothing)


class ItemReader:
    """Reads the items of the file at `path`, or of `data` if given.

    `wanted` names the fields to keep; None keeps all. `marks` tells by its name which field only an item has; by
    default each that is wanted. With None no field can tell that an object is an item, so objects are buffered to their
    end, and an object of lists may contain nothing else.
    """

    def __init__(
        self,
        path: Path,
        wanted: Collection[str] | None = None,
        data: bytes | None = None,
        marks: Callable[[str], bool] | None = None,
    ) -> None:
        self.path = path
        self.ignored: list[str] = []
        """Names of members beside the lists of an object of lists, which were ignored."""
        self.position = 0
        """Bytes of the file read so far."""
        self._wanted, self._data = wanted, data
        self._marks = marks or frozenset(wanted or ()).__contains__
        self._count = 0
        # The buffer, the position in it, the bytes and lines of the file before it, and whether the file has ended.
        self._text, self._place, self._bytes, self._lines, self._ended = "", 0, 0, 0, False

    def items(self) -> Iterator[BenchmarkItem]:
        """Yields all items in the file's order. Raises `ConfigurationError` if the file is not complete, valid JSON."""
        try:
            with open(self.path, "rb") if self._data is None else io.BytesIO(self._data) as file:
                self._file = file
                self._begin()
                others = self._find_others() if self._wanted is not None and self._ahead() == "{" else None
                self._begin()
                while begins := self._ahead():
                    if begins == "{":
                        yield from self._object() if others is None else self._lists(others)
                    elif begins == "[":
                        yield from self._list("")
                    else:
                        raise ConfigurationError(
                            Text(
                                "benchmark.data_path: {} has {} at its top level: a list of items, an object "
                                "of lists, or JSONL is needed",
                                self.path,
                                kind(self._value()),
                            )
                        )
        except OSError as error:
            raise ConfigurationError(Text("benchmark.data_path: {}: {}", self.path, error.strerror or error)) from error

    # -- what an item is

    def _list(self, group: str) -> Iterator[BenchmarkItem]:
        for place, value in enumerate(self._list_values(), 1):
            yield self._item(value, group, place)

    def _find_others(self) -> set[str] | None:
        """Returns which lists of the file's first object are not of items; None if the object is an item itself.

        Looks through all of it, and keeps nothing of it. Damage ends the look: whoever reads the items meets it again.
        """
        lists: dict[str, bool] = {}
        others = set[str]()
        with contextlib.suppress(ConfigurationError):
            self._take("{")
            for _ in self._elements("}"):
                name = self._name()
                if self._ahead() != "[":
                    if not isinstance(self._value(), _Members) and self._marks(name):
                        return None
                    continue
                filled = objects = marked = False
                for value in self._list_values():
                    filled = True
                    if isinstance(value, _Members):
                        objects, marked = True, marked or any(self._marks(key) for key, _ in value)
                    if self.position > _LONGEST_ITEM:
                        return others
                if objects:
                    lists[name] = lists.get(name, False) or marked
                elif filled and self._marks(name):
                    return None
                elif filled:
                    others.add(name)
            if self._ahead():
                return None
        return (
            others | {name for name, marked in lists.items() if any(lists.values()) and not marked} if lists else None
        )

    def _lists(self, others: Collection[str]) -> Iterator[BenchmarkItem]:
        self._take("{")
        for _ in self._elements("}"):
            name = self._name()
            if name not in others and self._ahead() == "[":
                yield from self._list(name)
            elif self._value() != []:
                self.ignored.append(name[:80])

    def _object(self) -> Iterator[BenchmarkItem]:
        """Reads a top-level object: an item, or, if it is alone, an object of objects, of columns or of lists."""
        self._take("{")
        first, members = not self._count, _Members()
        for _ in self._elements("}"):
            members.append((self._name(), self._value()))
        alone, values = first and not self._ahead(), [value for _, value in members]
        if alone and all(value == [] and not isinstance(value, _Members) for value in values):
            return
        if alone and all(isinstance(value, _Members) for value in values):
            columns = any(self._marks(name) for name, _ in members)
            for name, value in _transpose_columns(members) if columns else members:
                yield self._item(value, key=name)
        elif alone and self._wanted is None and all(type(value) is list for value in values):
            for name, value in members:
                yield from (self._item(element, name, place) for place, element in enumerate(value, 1))
        else:
            yield self._item(members)

    def _item(self, value: Any, group: str = "", place: int = 0, key: str = "") -> BenchmarkItem:
        self._count += 1
        if not isinstance(value, _Members):
            return BenchmarkItem(group, place, key, problem=Text("the item is {}, not an object", kind(value)))
        values: Unchecked = {}
        problem = ""
        for name, member in value:
            if self._wanted is None or name in self._wanted:
                problem = problem or (Text("the item has {!r} twice", name) if name in values else "")
                values[name] = self._plain(member)
        return BenchmarkItem(group, place, key, tuple(name for name, _ in value[:_MAX_NAMES]), values, problem)

    def _plain(self, value: Any, depth: int = 1) -> Any:
        if depth > _MAX_DEPTH:
            raise self._too_deep()
        if isinstance(value, _Members):
            return {name: self._plain(member, depth + 1) for name, member in value}
        return [self._plain(member, depth + 1) for member in value] if isinstance(value, list) else value

    # -- the text, chunk by chunk

    def _list_values(self) -> Iterator[Any]:
        self._take("[")
        for _ in self._elements("]"):
            yield self._value()

    def _elements(self, end: str) -> Iterator[None]:
        """Yields before each element of a sequence that ends with `end`, then consumes `end`."""
        if self._ahead() == end:
            self._take(end)
            return
        while True:
            yield
            if self._take(f",{end}") == end:
                return

    def _name(self) -> str:
        if self._ahead() != '"':
            self._take('"')
        name = self._value()
        self._take(":")
        return str(name)

    def _ahead(self) -> str:
        """Returns the next character that is not a space; empty at the end of the file."""
        while True:
            self._place = _SPACE.match(self._text, self._place).end()  # type: ignore[union-attr]
            if self._place < len(self._text) or self._ended:
                return self._text[self._place : self._place + 1]
            self._more()

    def _take(self, wanted: str) -> str:
        """Consumes and returns the next character, which must be one of `wanted`."""
        character = self._ahead()
        if not character or character not in wanted:
            raise self._broken(self._place, Text("there is no {: or }", [*wanted]))
        self._place += 1
        return character

    def _value(self) -> Any:
        self._ahead()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._place)
                if end < len(self._text) or self._ended:  # a number may continue
                    self._place = end
                    return value
            except json.JSONDecodeError as error:
                end = len(self._text)
                in_string = error.msg.startswith("Unterminated") or ("escape" in error.msg and error.pos > end - 6)
                place = end if in_string else error.pos
                if self._ended or place < end - _LONGEST_WORD:
                    raise self._broken(place, error.msg) from None  # its traceback would keep a large text alive
            except RecursionError:
                raise self._too_deep() from None
            except ValueError:  # Python's limit on the digits of an integer
                limit = Text("a whole number of more than {} digits", sys.get_int_max_str_digits())
                raise self._broken(self._place, limit) from None
            self._more()

    def _more(self) -> None:
        """Reads on by at least a quarter of the buffer, so that a long value is parsed only a few times."""
        data = self._file.read(max(_CHUNK, (len(self._text) - self._place) // 4))
        self._bytes, self._lines = self._offset_of(self._place)
        self._text, self._place = self._text[self._place :], 0
        self.position, self._ended = self.position + len(data), not data
        try:
            self._text += self._decode(data, not data)
        except UnicodeDecodeError as error:
            self._text += error.object[: error.start].decode()
            raise self._broken(len(self._text), Text("it is not UTF-8")) from None

    def _begin(self) -> None:
        """Goes to the start, behind a byte order mark. Rejects files that cannot be JSON before any parsing."""
        self._text, self._place, self._bytes, self._lines, self._ended = "", 0, 0, 0, False
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._file.seek(0)
        head = self._file.read(_CHUNK)
        self._bytes = self.position = len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0
        self._file.seek(self.position)
        first = head[self.position :].lstrip()[:16]
        if not first and len(head) < _CHUNK:
            raise ConfigurationError(Text("benchmark.data_path: {} is empty", self.path))
        if first and first[:1] not in (b"[", b"{"):
            raise ConfigurationError(
                Text(
                    "benchmark.data_path: {} is not JSON in UTF-8: it begins with {!r}, not with '[' or '{{'",
                    self.path,
                    first,
                )
            )

    def _too_deep(self) -> ConfigurationError:
        return ConfigurationError(
            Text("benchmark.data_path: {}: item {} is nested deeper than {} levels", self.path, self._count, _MAX_DEPTH)
        )

    def _broken(self, place: int, reason: str) -> ConfigurationError:
        """Returns the error at a place in the buffer: the file is cut off there, or the `reason`."""
        rest = self._text[place:].strip()
        if self._ended and (not rest or any(word.startswith(rest) for word in _WORDS)):
            return ConfigurationError(
                Text(
                    "benchmark.data_path: {} ends in the middle of its JSON after {} bytes and {} "
                    "whole items: it was cut off; copy it again",
                    self.path,
                    self.position,
                    self._count,
                )
            )
        at, lines = self._offset_of(place)
        return ConfigurationError(
            Text("benchmark.data_path: {} is not valid JSON at byte {} (line {}): {}", self.path, at, lines + 1, reason)
        )

    def _offset_of(self, place: int) -> tuple[int, int]:
        """Returns the bytes and lines of the file before a place in the buffer."""
        size = place if self._text.isascii() else len(self._text[:place].encode())
        return self._bytes + size, self._lines + self._text.count("\n", 0, place)


def _transpose_columns(columns: _Members) -> Iterator[tuple[str, _Members]]:
    """Yields each row of an object of columns, which are objects of values by row."""
    rows: dict[str, _Members] = {}
    for name, column in columns:
        for row, value in column:
            rows.setdefault(row, _Members()).append((name, value))
    yield from rows.items()


def kind(value: object) -> str:
    """Returns the type of a JSON value in words."""
    kinds = {
        str: Text("a string"),
        bool: Text("a boolean"),
        list: Text("a list"),
        dict: Text("an object"),
        type(None): "null",
    }
    return kinds.get(type(value), Text("a number"))
