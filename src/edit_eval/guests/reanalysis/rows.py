"""What a result file of others comes to: rows of an edit each; and the reading of such files."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from edit_eval.errors import ConfigurationError
from edit_eval.given_files import read_text
from edit_eval.records import Scale
from edit_eval.text import Text

NO_ROW = "the file has no row for it"
_MOST = 1 << 30  # bytes of a file


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
        found = json.loads(read_text(file, _MOST))
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(Text("{} is not valid JSON: {}", file, error)) from None
    if not isinstance(found, dict):
        raise ConfigurationError(Text("{} holds {}, not an object of rows", file, type(found).__name__))
    return found


def json_list(file: Path) -> list[dict[str, Any]]:
    try:
        found = json.loads(read_text(file, _MOST))
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(Text("{} is not valid JSON: {}", file, error)) from None
    if not isinstance(found, list) or not found or not all(isinstance(one, dict) for one in found):
        raise ConfigurationError(Text("{} holds no list of rows", file))
    return found


def json_lines(file: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(read_text(file, _MOST).splitlines(), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(Text("{}, line {}, is not valid JSON: {}", file, number, error)) from None
        if isinstance(found, dict):
            yield found


def csv_rows(file: Path) -> list[dict[str, str]]:
    try:
        return list(csv.DictReader(read_text(file, _MOST).splitlines()))
    except csv.Error as error:
        raise ConfigurationError(Text("{} is no CSV ({})", file, error)) from None
