"""A table is data until it is printed: rows as the records have them, and columns that say what they show of a row.

Reports and verbs make sheets, which are lines and tables one after the other; they are drawn here on a terminal and as
Markdown, which the card of a data set is too, and by `page/html.py` on the page and in a notebook. A column is added to
its list, and is in them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest
from typing import Any, Generic, Literal, TypeVar

from rich import box
from rich import table as rich_table
from rich.cells import cell_len
from rich.console import Console

from edit_eval.records import LANGUAGES
from edit_eval.reporting.formats import NOTHING
from edit_eval.reporting.language import said, spoken
from edit_eval.reporting.terminal_text import Name, Styled, one_line, print_beside, stdout_console

Row = TypeVar("Row")
Said = TypeVar("Said")
Words = str | Mapping[str, str]
"""A Text; data, which is any other `str`; or what has its own words in each language: `{"en": ..., "zh": ...}`."""
Look = Literal["", "strong", "quiet", "problem", "wrong", "right"]


@dataclass(frozen=True)
class Strip:
    """An interval to be looked at: shares of an axis, from 0 to 1."""

    low: float
    mean: float
    high: float
    place: int = 0
    """Which of the page's colours it has, from 0."""
    asked: float | None = None
    """What is asked for: a mark across it."""


@dataclass(frozen=True)
class Column(Generic[Row]):
    """What a table shows of each row."""

    title: Words
    shows: Callable[[Row], Words | None]
    """The words for a row; None, what is not known, becomes a dash."""
    kind: Literal["number", "name", "word"] = "number"
    """Numbers are on the right. A name may take several lines; the others are never broken."""
    look: Look | Callable[[Row], Look] = ""
    aside: Callable[[Row], Words] = lambda _: ""
    """More about it, in small letters or parentheses behind it; a terminal has no room for that."""
    to: Callable[[Row], str] = lambda _: ""
    """Where it leads on the page."""
    when: Callable[[Row], Any] = lambda _: True
    """The column is there if this holds for any row."""
    short: Words = ""
    """The title on a terminal."""
    brief: Callable[[Row], Words | None] | None = None
    """The words on a terminal."""
    roomy: bool = False
    """Whether a terminal has no room for it."""
    spare: bool = False
    """Whether a terminal has room for it only where no name is broken for its sake."""
    over: Words = ""
    """On the page: what is above its title, once for all neighbours that share it."""
    mark: Callable[[Row], int] | None = None
    """On the page: which colour and mark are before the words, from 0 (see `page.html.MARKS`)."""
    head_mark: int | None = None
    """On the page: which are there instead of the title."""
    strip: Callable[[Row], Strip | None] | None = None
    """On the page: what is drawn instead of the words, which those hear who cannot see it."""

    def cell(self, row: Row, *, brief: bool = False) -> Words:
        """The words for a row."""
        words = (self.brief or self.shows if brief else self.shows)(row)
        return NOTHING if words is None else words

    def of(self, find: Callable[[Any], Row | None], **changed: Any) -> Column[Any]:
        """The same column over other rows: `find` gives what it shows of each, None where there is no such thing."""

        def shows(row: Any) -> Words | None:
            return None if (found := find(row)) is None else self.shows(found)

        def to(row: Any) -> str:
            return "" if (found := find(row)) is None else self.to(found)

        def look(row: Any) -> Look:
            return "" if (found := find(row)) is None else self.look_of(found)

        return replace(self, **{"shows": shows, "to": to, "look": look, "aside": lambda _: "", **changed})

    def look_of(self, row: Row) -> Look:
        """How they look."""
        return self.look(row) if callable(self.look) else self.look


@dataclass(frozen=True)
class Table(Generic[Row]):
    """Rows, and what is shown of them."""

    every: Sequence[Column[Row]]
    """The columns, wanted or not."""
    rows: Sequence[Row]
    label: Words = ""
    """What it is, for those who cannot see it."""
    group: Column[Row] | None = None
    """Neighbours that are the same in this are together: a terminal heads them with it, a page spans them."""
    look: Callable[[Row], Look] = lambda _: ""
    """Of whole rows: `quiet` ones are set apart above the others, `strong` ones stand out."""
    style: str = ""
    """A class of the page's style sheet."""
    gap: int = 1
    """Columns of a terminal between two of these, beside one that is always there."""
    rule: bool = True
    """Whether a terminal has a line below the titles."""

    @property
    def columns(self) -> list[Column[Row]]:
        """Those that any row has."""
        return [column for column in self.every if any(map(column.when, self.rows))]

    @property
    def flat(self) -> list[Column[Row]]:
        """The same behind that of the groups, for who repeats its words in each row."""
        return [*([self.group] if self.group else []), *self.columns]

    def groups(self) -> list[list[Row]]:
        """The rows that are together."""
        group = self.group
        return [list(rows) for _, rows in groupby(self.rows, key=lambda row: group.cell(row) if group else "")]


@dataclass(frozen=True)
class Line:
    """A sentence of a sheet, perhaps behind a word; without words a gap."""

    words: Words = ""
    look: Look = ""
    head: Words = ""
    head_look: Look = ""


Sheet = Sequence[Line | Table[Any]]


def in_language(words: Words, language: str = "") -> str:
    """Words in a language, or in the one that is spoken; data stays as it is."""
    return words[language or spoken()] if isinstance(words, Mapping) else str.__str__(said(words, language))


def both(words_in: Callable[[str], Said]) -> dict[str, Said]:
    """What is told in each language in its own way."""
    return {one: words_in(one) for one in LANGUAGES}


# -- tables as Markdown: in the report, and on the card of a data set --

_SPECIAL = re.compile(r"([\\`*\[\]<>|#~$&!]|(?<!\w)_|_(?!\w))")  # an underscore within a word is only itself


def markdown_table(table: Table[Any], language: str) -> str:
    """The table, its last line without an end; every row says to which group it belongs."""
    columns = table.flat
    heads = [in_language(column.title, language) for column in columns]
    rules = ["---:" if column.kind == "number" else "---" for column in columns]
    rows = [[_markdown_cell(column, row, language) for column in columns] for row in table.rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rules, *rows))


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


def _markdown_cell(column: Column[Row], row: Row, language: str) -> str:
    words, aside = (in_language(one, language) for one in (column.cell(row), column.aside(row)))
    words = words if column.kind == "number" else inline(words)
    between = "（{}）" if language == "zh" else " ({})"
    return words + between.format(inline(aside)) if aside else words


# -- sheets and tables on a terminal --

_STYLES: dict[Look, str] = {
    "": "",
    "strong": "bold",
    "quiet": "dim",
    "problem": "yellow",
    "wrong": "red",
    "right": "green",
}


def print_sheet(sheet: Iterable[Line | Table[Any]], console: Console | None = None, language: str = "") -> None:
    """Prints lines, wrapped to the console's width, and tables."""
    console = console or stdout_console()
    for part in sheet:
        if isinstance(part, Table):
            console.print(terminal_table(part, language, console.width))
        elif part == Line():
            console.print()
        else:
            head = Styled(in_language(part.head, language), style=_STYLES[part.head_look])
            print_beside(console, head, Styled(one_line(in_language(part.words, language)), style=_STYLES[part.look]))


def terminal_table(table: Table[Row], language: str = "", width: int = 80) -> rich_table.Table:
    """A table without a frame; groups have a row of their own above theirs."""
    groups, group = table.groups(), table.group
    columns = [column for column in table.columns if not column.roomy]
    if group and all(len(rows) == 1 for rows in groups):
        columns, group = [group, *columns], None
    columns = _fitting(columns, table, language, width - 2 * bool(group))
    heads = [replace(columns[0], title=group.title, short=""), *columns[1:]] if group else columns
    drawn = rich_table.Table(
        *(_terminal_head(column, language) for column in heads),
        box=box.SIMPLE_HEAD if table.rule else None,
        show_edge=False,
        pad_edge=False,
        padding=(0, table.gap, 0, 0),
        header_style="dim",
    )
    for rows in groups:
        if group:
            drawn.add_row(Name(in_language(group.cell(rows[0], brief=True), language), "bold"))
        for row, after in zip_longest(rows, rows[1:]):
            look = table.look(row)
            ends = look == "quiet" and (after is None or table.look(after) != "quiet")
            cells = [_terminal_cell(column, row, language) for column in columns]
            if group and isinstance(cells[0], Name):
                cells[0].indent = 2
            drawn.add_row(*cells, style=_STYLES[look], end_section=ends)
    return drawn


def _fitting(columns: list[Column[Row]], table: Table[Row], language: str, width: int) -> list[Column[Row]]:
    """Without those that can be spared, the last one first, until all is as wide as the terminal."""

    def cells(column: Column[Row]) -> int:
        words = (column.short or column.title, *(column.cell(row, brief=True) for row in table.rows))
        return max(cell_len(one_line(in_language(one, language))) for one in words) + table.gap + 1

    spare = [column for column in columns if column.spare]
    while spare and sum(map(cells, columns)) - table.gap - 1 > width:
        columns = [column for column in columns if column is not spare[-1]]
        spare.pop()
    return columns


def _terminal_head(column: Column[Any], language: str) -> rich_table.Column:
    right, name = column.kind == "number", column.kind == "name"
    title = in_language(column.short or column.title, language)
    return rich_table.Column(
        title, justify="right" if right else "left", no_wrap=not name, overflow="fold" if name else "ellipsis"
    )


def _terminal_cell(column: Column[Row], row: Row, language: str) -> Name | Styled:
    words, style = in_language(column.cell(row, brief=True), language), _STYLES[column.look_of(row)]
    return Name(words, style) if column.kind == "name" else Styled(one_line(words), style=style)
