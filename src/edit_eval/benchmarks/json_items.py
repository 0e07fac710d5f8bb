"""The items of a benchmark's JSON, one after the other: a file of half a gigabyte passes by in a few megabytes.

Four forms, told apart by what is in the file and not by its name: a list of items, an object of lists (category ->
items, and perhaps `version` and the like beside them), an object of objects (key -> item), and JSONL (one item after
the other, each on a line or not). Nothing is lost: of an object that has a key twice, both items come. `NaN`, which
pandas writes for what is not there, is nothing.
"""

from __future__ import annotations

import codecs
import io
import json
import re
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edit_eval.errors import ConfigurationError
from edit_eval.text import Text

KEY = "key"
"""Under which a row has the key that it stood under, or its number, from 0."""
PLACE = "place"
"""Under which a row has its place, from 1, in the list that stood under its key."""
PROBLEM = "(problem)"
"""Under which a row says why it is none."""

_CHUNK = 1 << 19  # bytes that are read at once, or more
_SPACE = re.compile(r"[ \t\r\n]*")
_WORDS = ("true", "false", "null", "NaN", "-Infinity")
_LONGEST_WORD = 16  # characters before the end of what was read in which an error may be a word that is cut in two
_MAX_DEPTH = 64
_MAX_NAMES = 200
_LOOKS_LIKE_AN_ITEM = 2
"""So many wanted fields has the first element of a list of items, where other things stand before the list."""


@dataclass(frozen=True)
class BenchmarkItem:
    """One element of the benchmark: what was asked for of it, and the names of all that it has."""

    group: str = ""
    """The name of the list that it is in, where the file is an object of lists."""
    place: int = 0
    """From 1, in the list of that name."""
    key: str = ""
    """Its own, where the file is an object of objects."""
    names: tuple[str, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    problem: str = ""
    """Why this is no item at all."""


class _Members(list[tuple[str, Any]]):
    """An object, with the members that it has twice."""


def _nothing(name: str) -> None:
    """What is no number of JSON."""


_DECODER = json.JSONDecoder(object_pairs_hook=_Members, parse_constant=_nothing)


class ItemReader:
    """Reads the items of one file, which is at `path`, or has this `data`.

    `wanted` names the fields to keep; None: all. Then no member of an object tells that it is an item, so that an
    object is kept until its end, and one of lists has nothing else in it.
    """

    def __init__(self, path: Path, wanted: Collection[str] | None = None, data: bytes | None = None) -> None:
        self.path = path
        self.ignored: list[str] = []
        """What stands beside the lists of an object of lists, and was ignored."""
        self.position = 0
        """Bytes of the file that have been read."""
        self._wanted, self._data = wanted, data
        self._count = 0
        # The part of the file that is looked at, and where in it; before it there were so many bytes and lines.
        self._text, self._place, self._bytes, self._lines, self._ended = "", 0, 0, 0, False

    def items(self) -> Iterator[BenchmarkItem]:
        """All items in the file's order. Raises `ConfigurationError` for a file that is not whole, valid JSON."""
        try:
            with open(self.path, "rb") if self._data is None else io.BytesIO(self._data) as file:
                self._file, self._decode = file, codecs.getincrementaldecoder("utf-8")().decode
                self._begin()
                while begins := self._ahead():
                    if begins == "{":
                        yield from self._object()
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
        self._take("[")
        for place, _ in enumerate(self._elements("]"), 1):
            yield self._item(self._value(), group, place)

    def _object(self) -> Iterator[BenchmarkItem]:
        """An object of the top level: an item, one of objects, or one of lists.

        An object of lists begins with a list whose first element is an object; empty lists before it do not decide.
        What is said about the file (`version`, `metadata`) may stand before it, too: then that object must look like an
        item, for items may have lists of objects in fields that nobody asked for.
        """
        self._take("{")
        first, members = not self._count, _Members()
        is_item, rest = self._wanted is None, self._elements("}")
        for _ in rest:
            name = self._name()
            is_item = is_item or name in (self._wanted or ())
            if is_item or self._ahead() != "[":
                members.append((name, self._value()))
                continue
            self._take("[")
            listed, elements = [], self._elements("]")
            for _ in elements:
                listed.append(self._value())
                if len(listed) == 1 and self._begins_lists(listed[0], members):
                    self.ignored += [one[:80] for one, value in members if value != []]
                    yield self._item(listed[0], name)
                    for _ in elements:
                        yield self._item(self._value(), name)
                    yield from self._other_lists(rest)
                    return
            members.append((name, listed))
        alone, values = first and not self._ahead(), [value for _, value in members]
        if alone and all(value == [] and not isinstance(value, _Members) for value in values):
            return
        if alone and all(isinstance(value, _Members) for value in values):
            for name, value in members:
                yield self._item(value, key=name)
        elif alone and self._wanted is None and all(type(value) is list for value in values):
            for name, value in members:
                yield from (self._item(one, name, place) for place, one in enumerate(value, 1))
        else:
            yield self._item(members)

    def _begins_lists(self, value: Any, before: _Members) -> bool:
        if not isinstance(value, _Members):
            return False
        known = {name for name, _ in value} & {*(self._wanted or ())}
        return all(value == [] for _, value in before) or len(known) >= _LOOKS_LIKE_AN_ITEM

    def _other_lists(self, members: Iterator[None]) -> Iterator[BenchmarkItem]:
        for _ in members:
            name = self._name()
            if self._ahead() == "[":
                yield from self._list(name)
            else:
                self._value()
                self.ignored.append(name[:80])

    def _item(self, value: Any, group: str = "", place: int = 0, key: str = "") -> BenchmarkItem:
        self._count += 1
        if not isinstance(value, _Members):
            return BenchmarkItem(group, place, key, problem=Text("the item is {}, not an object", kind(value)))
        values: dict[str, Any] = {}
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

    # -- the text, part after part

    def _elements(self, end: str) -> Iterator[None]:
        """Stops before each element of what ends with `end`, and takes that."""
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
        """The next character that is no space; empty at the end of the file."""
        while True:
            self._place = _SPACE.match(self._text, self._place).end()  # type: ignore[union-attr]
            if self._place < len(self._text) or self._ended:
                return self._text[self._place : self._place + 1]
            self._more()

    def _take(self, wanted: str) -> str:
        """That character, which must be one of these."""
        found = self._ahead()
        if not found or found not in wanted:
            raise self._broken(self._place, Text("there is no {: or }", [*wanted]))
        self._place += 1
        return found

    def _value(self) -> Any:
        """The value that comes next, whatever it is."""
        self._ahead()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._place)
                if end < len(self._text) or self._ended:  # a number may go on
                    self._place = end
                    return value
            except json.JSONDecodeError as error:
                end = len(self._text)
                in_string = error.msg.startswith("Unterminated") or ("escape" in error.msg and error.pos > end - 6)
                place = end if in_string else error.pos
                if self._ended or place < end - _LONGEST_WORD:
                    raise self._broken(place, error.msg) from None  # whose trace would keep a large text alive
            except RecursionError:
                raise self._too_deep() from None
            except ValueError:  # of Python's limit for whole numbers
                limit = Text("a whole number of more than {} digits", sys.get_int_max_str_digits())
                raise self._broken(self._place, limit) from None
            self._more()

    def _more(self) -> None:
        """Reads on: a quarter of what is looked at, or more, so that a long value is looked at a few times only."""
        data = self._file.read(max(_CHUNK, (len(self._text) - self._place) // 4))
        self._bytes, self._lines = self._at(self._place)
        self._text, self._place = self._text[self._place :], 0
        self.position, self._ended = self.position + len(data), not data
        try:
            self._text += self._decode(data, not data)
        except UnicodeDecodeError as error:
            self._text += error.object[: error.start].decode()
            raise self._broken(len(self._text), Text("it is not UTF-8")) from None

    def _begin(self) -> None:
        """Refuses what is no JSON before any of it is read as such; a byte order mark is passed over."""
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
        """What is wrong at a place of the text: that it ends there, or the `reason`."""
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
        at, lines = self._at(place)
        return ConfigurationError(
            Text("benchmark.data_path: {} is not valid JSON at byte {} (line {}): {}", self.path, at, lines + 1, reason)
        )

    def _at(self, place: int) -> tuple[int, int]:
        """The bytes and lines of the file before a place of the text."""
        size = place if self._text.isascii() else len(self._text[:place].encode())
        return self._bytes + size, self._lines + self._text.count("\n", 0, place)


def kind(value: object) -> str:
    """What a JSON value is, for people."""
    kinds = {
        str: Text("a string"),
        bool: Text("a boolean"),
        list: Text("a list"),
        dict: Text("an object"),
        type(None): "null",
    }
    return kinds.get(type(value), Text("a number"))
