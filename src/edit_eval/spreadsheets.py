"""CSV for other programs: a text that a spreadsheet would run is disarmed when written, and itself again when read.

By what a text begins with: https://owasp.org/www-community/attacks/CSV_Injection

Standard library only.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

_FORMULA = tuple("=+-@\t\r\n＝＋－＠")
_NUMBER = re.compile(r"[-+](\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.I | re.A)


def write_rows(file: TextIO, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Writes names and rows. Lines end as RFC 4180 says, so that a lone line feed is part of its text."""
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([harmless(value) if isinstance(value, str) else value for value in row] for row in rows)


def harmless(text: str) -> str:
    """The text with an apostrophe before it where a spreadsheet would run it (`=cmd|...`), as it would no number.

    One with apostrophes before such a text gets another, so that `as_meant` gives back every text.
    """
    return f"'{text}" if text.lstrip("'").startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def as_meant(text: str) -> str:
    """What `harmless` was given."""
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(_FORMULA) else text
