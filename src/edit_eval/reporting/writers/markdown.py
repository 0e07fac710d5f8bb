"""Tables as Markdown: in the report, and on the card of a data set."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeVar

from edit_eval.reporting.table import Column, Line, Sheet, Table, in_language

Row = TypeVar("Row")
_SPECIAL = re.compile(r"([\\`*\[\]<>|#~$&!]|(?<!\w)_|_(?!\w))")  # an underscore within a word is only itself


def markdown_table(table: Table[Any], language: str) -> str:
    """The table, its last line without an end; every row says to which group it belongs."""
    columns = table.flat
    heads = [in_language(column.title, language) for column in columns]
    rules = ["---:" if column.kind == "number" else "---" for column in columns]
    rows = [[_cell(column, row, language) for column in columns] for row in table.rows]
    return "\n".join(map(_line, (heads, rules, *rows)))


def markdown_sheet(sheet: Sheet, language: str) -> str:
    """Sentences, each a paragraph, and tables."""
    drawn = (
        markdown_table(part, language) if isinstance(part, Table) else inline(in_language(part.words, language))
        for part in sheet
        if part != Line()
    )
    return "\n\n".join(drawn)


def card_table(table: Table[Any]) -> str:
    """The same on a card, which is English."""
    return markdown_table(table, "en")


def inline(words: object) -> str:
    """Text from the records on one line, as text: what Markdown or HTML would take for markup is escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(str(words).split()))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(column: Column[Row], row: Row, language: str) -> str:
    words, aside = (in_language(one, language) for one in (column.cell(row), column.aside(row)))
    words = words if column.kind == "number" else inline(words)
    between = "（{}）" if language == "zh" else " ({})"
    return words + between.format(inline(aside)) if aside else words
