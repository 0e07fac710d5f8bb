"""Tables that people bring as text: CSV and its kin, from whatever program wrote them."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from edit_eval.errors import ConfigurationError
from edit_eval.files.new import as_meant
from edit_eval.text import Text

DELIMITERS = ",;\t|"
MISSING = frozenset(("nan", "NaN", "None", "NULL", "null", "<NA>", "NaT", "#N/A"))
"""What pandas and spreadsheets write for a value that is missing."""
_SEPARATOR = re.compile(r"sep=(.)\s*")
_QUOTED = re.compile(r'"[^"]*"')


class BadCsv(ValueError):
    """A table that is no CSV, and in which line."""


def csv_rows(lines: Iterable[str], longest: int = 1 << 30) -> Iterator[tuple[int, list[str]]]:
    """Yields each row's cells with the number of its first line; blank lines in front of the first row are left out.

    The first row says which delimiter it is, or a line `sep=;` before it, as Excel writes. `lines` keep their ends.
    Raises `BadCsv`.
    """
    csv.field_size_limit(longest)
    lines, before, delimiter, first = iter(lines), 0, "", ""
    for line in lines:
        first = line.removeprefix("\ufeff")
        said = _SEPARATOR.fullmatch(first)
        if not said and first.strip():
            break
        delimiter, before, first = said[1] if said else delimiter, before + 1, ""
    delimiter = delimiter or max(DELIMITERS, key=_QUOTED.sub("", first).count)
    rows, place = csv.reader(chain([first] if first else [], lines), delimiter=delimiter, strict=True), 1
    try:
        for row in rows:
            yield before + place, row
            place = rows.line_num + 1
    except csv.Error as error:
        raise BadCsv(Text("line {}: {}", before + max(place, rows.line_num), error)) from error


def read_named_rows(
    lines: Iterable[str], where: str, needed: Collection[str], known: Collection[str] = (), kept: Collection[str] = ()
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yields each row's cells by the names of their columns, with the number of its first line.

    Columns that are `needed` or `known` are found whatever their capitals, blanks and hyphens. Cells are without blanks
    around them, but for those in columns that are `kept` as they are, and as they were before a spreadsheet had them
    disarmed. Rows without any text are left out. Raises `ConfigurationError` if a needed column is missing, and for
    what is no CSV.
    """
    try:
        rows = csv_rows(lines)
        _, first = next(rows, (0, []))
        plain = {_plain(name): name for name in (*known, *needed)}
        header = [
            name.strip() if name.strip() in plain.values() else plain.get(_plain(name), name.strip()) for name in first
        ]
        if missing := [name for name in needed if name not in header]:
            raise ConfigurationError(
                Text("{}: the first line does not name the column {!r}; it names {}", where, missing[0], header[:12])
            )
        if twice := next((name for name in header if name and header.count(name) > 1), ""):
            raise ConfigurationError(Text("{}: the first line names the column {!r} twice", where, twice))
        for line, row in rows:
            if any(row[len(header) :]):
                raise ConfigurationError(
                    Text(
                        "{}, line {}: the row has {} cells for {} columns: put quotes around text with commas",
                        where,
                        line,
                        len(row),
                        len(header),
                    )
                )
            if any(cell.strip() for cell in row):
                cells = zip(header, row, strict=False)
                said = {name: cell if name in kept else as_meant(cell.strip()) for name, cell in cells}
                yield line, dict.fromkeys(needed, "") | said
    except BadCsv as error:
        raise ConfigurationError(Text("{}: is not a CSV file ({})", where, error)) from error


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "_", name.strip().casefold())
