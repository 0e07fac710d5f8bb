"""Files that others wrote: regular files only, of a bounded size, JSON of a bounded depth checked against a type.

A pipe would block its reader and a device never end; nested brackets would exhaust the stack of whatever handles them
next; and `NaN` or 1e999 would be a number in somebody's mean.
"""

from __future__ import annotations

import io
import math
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, TypeVar

from edit_eval.errors import ConfigurationError
from edit_eval.records import LARGEST
from edit_eval.text import Text

MOST_BYTES = 64 << 20
"""Most bytes of a file."""
DEEPEST = 64
"""Most brackets inside each other in a JSON file; ours have about ten."""
T = TypeVar("T")


class UnfitFile(ConfigurationError):
    """A file that cannot be read, or is not what it should be."""

    def __init__(self, path: Path | str, reason: object, *, missing: bool = False) -> None:
        super().__init__(Text("{}: {}", path, reason))
        self.reason = reason
        self.missing = missing
        """True if there is no such file."""


@contextmanager
def open_regular(path: Path) -> Iterator[io.BufferedReader]:
    """Opens a regular file for reading. Raises `UnfitFile` for any other, and `OSError`."""
    # Without O_NONBLOCK, opening a pipe would wait for somebody who writes.
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise UnfitFile(path, Text("not a file but a pipe, a device or the like"))
        yield file


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """Returns the content of a regular file. Raises `UnfitFile`."""
    try:
        with open_regular(path) as file:
            content = file.read(most + 1)
    except (OSError, ValueError) as error:  # a NUL in the name is a ValueError
        said = Text("cannot be read ({})", getattr(error, "strerror", "") or error)
        raise UnfitFile(path, said, missing=isinstance(error, FileNotFoundError)) from None
    if len(content) > most:
        raise UnfitFile(path, Text("larger than {:,} bytes, the most that such a file may have", most))
    return content


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Returns the text of a regular file in UTF-8, without its byte order mark. Raises `UnfitFile`."""
    try:
        return read_bytes(path, most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnfitFile(path, Text("not UTF-8 ({} at byte {}); save it in UTF-8", error.reason, error.start)) from None


def split_lines(text: str) -> list[str]:
    r"""Returns the lines of a text that others wrote, without their ends, which are `\n`, `\r\n` and `\r` alone.

    `str.splitlines` breaks at U+2028, at form feeds and at more, which stand within lines and within JSON's strings.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def open_text(path: Path, most: int = MOST_BYTES) -> TextIO:
    """Returns a regular file's text, its line ends kept, for readers of lines. Raises `UnfitFile`."""
    return io.StringIO(read_text(path, most), newline="")


def read_json(path: Path, shape: type[T], most: int = MOST_BYTES) -> T:
    """Returns the content of a JSON file as `shape`: a msgspec Struct, or what else msgspec converts to.

    All its numbers are finite. Raises `UnfitFile`, which says what is wrong and where.
    """
    return parse_json(read_bytes(path, most), shape, path)


_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d{1,3})?", re.I | re.A)


def number(written: str) -> float:
    """Returns the decimal number that is written in a table. Raises `ValueError`.

    Digits are ASCII. What Python takes besides is none: `1_0`, `nan`, the digits of other scripts.
    """
    value = float(written) if _NUMBER.fullmatch(written.strip()) else math.nan
    if not abs(value) <= LARGEST:
        raise ValueError(written)
    return value


def whole_number(written: str) -> int:
    """Returns the whole number that is written in a table, of at most 18 digits. Raises `ValueError`."""
    if not re.fullmatch(r"[-+]?\d{1,18}", written.strip(), re.A):
        raise ValueError(written)
    return int(written)


def parse_json(content: bytes, shape: type[T], path: Path | str) -> T:
    """Returns JSON as `shape`; `path` is named in errors. Raises `UnfitFile`."""
    import msgspec  # not beside a model, where this module may be imported

    content = content.removeprefix(b"\xef\xbb\xbf")
    if _depth(content) > DEEPEST:
        raise UnfitFile(path, Text("more than {} brackets inside each other", DEEPEST))
    try:
        return msgspec.json.decode(content, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:  # a ValidationError is a DecodeError
        raise UnfitFile(path, _describe_error(error)) from None


def _describe_error(error: Exception) -> Text:
    said, _, place = " ".join(str(error).split())[:300].partition(" - at `")
    if place:
        where = place.rstrip("`").removeprefix("$").removeprefix(".")
        return Text("{}, at `{}`", said, where) if where else Text("{}", said)
    return Text("{}", said) if type(error).__name__ == "ValidationError" else Text("not JSON ({})", said)


_STRING = re.compile(rb'"[^"]*(?:"|\Z)')
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def _depth(content: bytes) -> int:
    """Returns how many brackets are inside each other at most, without parsing."""
    if content.count(b"[") + content.count(b"{") <= DEEPEST:
        return 0
    without_escapes = content.replace(rb"\\", b"").replace(rb"\"", b"")
    deepest = depth = 0
    for bracket in _STRING.sub(b"", without_escapes).translate(None, _NO_BRACKETS):
        if bracket in b"[{":
            depth += 1
            if depth > deepest:
                deepest = depth
        else:
            depth -= 1
    return deepest
