"""What a result file of others comes to: rows of an edit each; and the reading of such files."""

from __future__ import annotations

import json
import math
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from edit_eval.benchmarks.foreign_values import NoPlainValue, plain_value
from edit_eval.errors import ConfigurationError
from edit_eval.files.delimited import read_named_rows
from edit_eval.files.user_files import MOST_BYTES, open_text, read_text, split_lines
from edit_eval.json_values import Unchecked
from edit_eval.records import Scale
from edit_eval.text import Text

NO_ROW = "the file has no row for it"
MOST = 1 << 30
"""Most bytes of a file."""
MOST_MARKS = 2_000_000
"""Most marks in a part of a workbook: a cell has four."""
MOST_ROWS = 1_000_000


class FileRow(NamedTuple):
    """One edit of a result file."""

    sample: str
    category: str
    scores: Mapping[str, float]
    """Scores as the file counts them; empty if it has none."""
    doubt: str = ""
    """Why it is no score, or may be none."""
    image: str = ""
    """Source image shared with other rows; empty: its own."""


@dataclass
class Found:
    """The rows of one edit model in one format."""

    form: str
    edit_model: str
    language: str
    rows: list[FileRow]
    scales: Mapping[str, Scale]
    """The first is the headline."""
    counted: Mapping[str, Scale]
    """The same scales, wide enough for the numbers in the file."""
    theirs: Mapping[str, float | str]
    """Their averages, or why there are none; the headline's first."""
    notes: Sequence[str] = ()


def number_of(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def json_object(file: Path) -> Any:
    try:
        document = json.loads(read_text(file, MOST))
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(Text("{} is not valid JSON: {}", file, error)) from None
    if not isinstance(document, dict):
        raise ConfigurationError(Text("{} holds {}, not an object of rows", file, type(document).__name__))
    return document


def json_list(file: Path) -> list[Unchecked]:
    try:
        rows = json.loads(read_text(file, MOST))
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(Text("{} is not valid JSON: {}", file, error)) from None
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise ConfigurationError(Text("{} holds no list of rows", file))
    return rows


def json_lines(file: Path) -> Iterator[Unchecked]:
    for number, line in enumerate(split_lines(read_text(file, MOST)), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(Text("{}, line {}, is not valid JSON: {}", file, number, error)) from None
        if isinstance(value, dict):
            yield value


def csv_rows(file: Path) -> list[dict[str, str]]:
    return [row for _, row in read_named_rows(open_text(file, MOST), str(file), ())]


def begins_like(file: Path, pattern: bytes) -> bool:
    """True if a file begins like this regular expression, without reading the rest; False if it cannot be read."""
    try:
        with file.open("rb") as opened:
            return re.match(pattern, opened.read(4096).lstrip()) is not None
    except OSError:
        return False


_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def workbook_rows(file: Path) -> list[dict[str, str]]:
    """Returns the rows of the first sheet of an `.xlsx`, by the names in its first row; an empty cell is left out."""

    def part(name: str) -> ElementTree.Element:
        with held.open(name) as packed:  # whatever size it claims
            data = packed.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES or data.count(b"<") > MOST_MARKS or b"<!" in data:
            raise ValueError("more than results of edits take")
        return ElementTree.fromstring(data)

    def text(element: ElementTree.Element) -> str:
        return "".join(piece.text or "" for piece in element.iter(f"{_SHEET}t"))

    def value(cell: ElementTree.Element) -> str:
        number = cell.findtext(f"{_SHEET}v", "")
        if cell.get("t") == "inlineStr":
            return text(cell)
        return shared[int(number)] if cell.get("t") == "s" else number

    try:
        with zipfile.ZipFile(file) as held:
            strings = "xl/sharedStrings.xml"
            shared = (
                [text(string) for string in part(strings).iter(f"{_SHEET}si")] if strings in held.namelist() else []
            )
            table = [
                {str(cell.get("r")).rstrip("0123456789"): value(cell) for cell in row.iter(f"{_SHEET}c")}
                for row in part("xl/worksheets/sheet1.xml").iter(f"{_SHEET}row")
            ]
    except (zipfile.BadZipFile, ElementTree.ParseError, KeyError, ValueError, IndexError, OSError) as error:
        raise ConfigurationError(Text("{} is no workbook ({})", file, error)) from None
    names = table[0] if table else {}
    return [{names[place]: said for place, said in row.items() if place in names and said} for row in table[1:]]


def arrow_rows(file: Path, columns: str) -> list[Unchecked]:
    """Returns the rows of an Arrow file as the package datasets writes it: the columns with such names."""
    try:
        import pyarrow
    except ImportError:
        raise ConfigurationError(
            Text("{}: Arrow files need pyarrow; `pip install 'edit-eval[hub]'` brings it", file)
        ) from None
    try:
        with pyarrow.memory_map(str(file)) as mapped, pyarrow.ipc.open_stream(mapped) as stream:
            names = [name for name in stream.schema.names if re.fullmatch(columns, name)]
            table = stream.read_all().select(names)
            if table.num_rows > MOST_ROWS:  # as a file of no bytes may claim
                raise ValueError(f"{table.num_rows} rows")
            return [{name: plain_value(value) for name, value in row.items()} for row in table.to_pylist()]
    except (pyarrow.ArrowException, OSError, NoPlainValue, ValueError) as error:
        raise ConfigurationError(Text("{} is no Arrow file ({})", file, error)) from None
