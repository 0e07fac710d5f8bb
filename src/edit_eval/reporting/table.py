"""Tables as data until they are printed: rows as in the records, and columns that say what to show of a row.

Reports and verbs make sheets, which are sequences of lines and tables. They are drawn here on a terminal and as
Markdown (also for the card of a data set), and by `page/html.py` on the page and in a notebook. A column added to its
list appears in all of them.
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

from edit_eval.reporting.formats import NOTHING
from edit_eval.reporting.language import current_language, translate
from edit_eval.reporting.languages import ENGLISH, SPOKEN
from edit_eval.reporting.terminal_text import Name, Styled, one_line, print_with_head, stdout_console

Row = TypeVar("Row")
Said = TypeVar("Said")
Words = str | Mapping[str, str]
"""A Text; data, which is any other `str`; or words in each language: `{"en": ..., "zh": ...}`."""
Look = Literal["", "strong", "quiet", "problem", "wrong", "right"]


@dataclass(frozen=True)
class Strip:
    """An interval drawn as a strip: shares of an axis, from 0 to 1."""

    low: float
    mean: float
    high: float
    place: int = 0
    """Index of its colour on the page, from 0."""
    asked: float | None = None
    """The required value, drawn as a mark across it."""


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column: what to show of each row, and how."""

    title: Words
    shows: Callable[[Row], Words | None]
    """Words for a row; None (unknown) becomes a dash."""
    kind: Literal["number", "name", "word"] = "number"
    """Numbers are aligned right. A name may take several lines; the others are never broken."""
    look: Look | Callable[[Row], Look] = ""
    aside: Callable[[Row], Words] = lambda _: ""
    """More about it, in small letters or parentheses after it; left out on a terminal."""
    to: Callable[[Row], str] = lambda _: ""
    """Its link on the page."""
    when: Callable[[Row], Any] = lambda _: True
    """The column is shown if this is true for any row."""
    short: Words = ""
    """Title on a terminal."""
    brief: Callable[[Row], Words | None] | None = None
    """Words on a terminal."""
    roomy: bool = False
    """True if a terminal has no room for it."""
    spare: bool = False
    """True if a terminal shows it only if no name must be broken for it."""
    over: Words = ""
    """On the page: heading above its title, shared by neighbours with the same one."""
    mark: Callable[[Row], int] | None = None
    """On the page: colour and mark before the words, from 0 (see `page.html.MARKS`)."""
    head_mark: int | None = None
    """On the page: colour and mark in place of the title."""
    strip: Callable[[Row], Strip | None] | None = None
    """On the page: drawing in place of the words, which screen readers still read."""

    def cell(self, row: Row, *, brief: bool = False) -> Words:
        """Returns the words for a row."""
        words = (self.brief or self.shows if brief else self.shows)(row)
        return NOTHING if words is None else words

    def map_rows(self, find: Callable[[Any], Row | None], **changed: Any) -> Column[Any]:
        """Returns the same column over other rows: `find` gives the row to show for each, None if there is none."""

        def shows(row: Any) -> Words | None:
            return None if (own_row := find(row)) is None else self.shows(own_row)

        def link_of(row: Any) -> str:
            return "" if (own_row := find(row)) is None else self.to(own_row)

        def look(row: Any) -> Look:
            return "" if (own_row := find(row)) is None else self.look_of(own_row)

        return replace(self, **{"shows": shows, "to": link_of, "look": look, "aside": lambda _: "", **changed})

    def look_of(self, row: Row) -> Look:
        """Returns the look of a row's words."""
        return self.look(row) if callable(self.look) else self.look


@dataclass(frozen=True)
class Table(Generic[Row]):
    """Rows and columns."""

    every: Sequence[Column[Row]]
    """All columns, shown or not."""
    rows: Sequence[Row]
    label: Words = ""
    """Label for screen readers."""
    group: Column[Row] | None = None
    """Groups neighbouring rows with the same words: as a heading on a terminal, as a spanning cell on a page."""
    look: Callable[[Row], Look] = lambda _: ""
    """Look of whole rows: `quiet` ones are set apart above the others, `strong` ones stand out."""
    style: str = ""
    """Class in the page's style sheet."""
    gap: int = 1
    """Terminal columns between two columns of the table, beyond the one that is always there."""
    rule: bool = True
    """True if a terminal has a line below the titles."""

    @property
    def columns(self) -> list[Column[Row]]:
        """The columns shown."""
        return [column for column in self.every if any(map(column.when, self.rows))]

    @property
    def flat(self) -> list[Column[Row]]:
        """The same after the groups' column, for formats that repeat its words in each row."""
        return [*([self.group] if self.group else []), *self.columns]

    def groups(self) -> list[list[Row]]:
        """Returns the rows by group."""
        group = self.group
        return [list(rows) for _, rows in groupby(self.rows, key=lambda row: group.cell(row) if group else "")]


@dataclass(frozen=True)
class Line:
    """A sentence of a sheet, with an optional head before it; without words, a gap."""

    words: Words = ""
    look: Look = ""
    head: Words = ""
    head_look: Look = ""


Sheet = Sequence[Line | Table[Any]]


def translate_words(words: Words, language: str = "") -> str:
    """Returns words in `language`, by default the spoken one; data stays as it is."""
    return (
        words[language or current_language()] if isinstance(words, Mapping) else str.__str__(translate(words, language))
    )


def map_languages(words_in: Callable[[str], Said]) -> dict[str, Said]:
    """Returns the result of `words_in` for each language."""
    return {language: words_in(language) for language in SPOKEN}


# -- tables as Markdown: in the report, and on the card of a data set --

_SPECIAL = re.compile(r"([\\`*\[\]<>|#~$&!]|(?<!\w)_|_(?!\w))")  # an underscore within a word is only itself


def markdown_table(table: Table[Any], language: str) -> str:
    """Returns the table without a final line end; every row names its group."""
    columns = table.flat
    heads = [translate_words(column.title, language) for column in columns]
    rules = ["---:" if column.kind == "number" else "---" for column in columns]
    rows = [[_markdown_cell(column, row, language) for column in columns] for row in table.rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rules, *rows))


def markdown_sheet(sheet: Sheet, language: str) -> str:
    """Returns a sheet's sentences, each a paragraph, and tables."""
    drawn = (
        markdown_table(part, language)
        if isinstance(part, Table)
        else inline(translate_words(part.head, language) + translate_words(part.words, language))
        for part in sheet
        if part != Line()
    )
    return "\n\n".join(drawn)


def card_table(table: Table[Any]) -> str:
    """Returns the same for a card, which is English."""
    return markdown_table(table, ENGLISH)


def inline(words: object) -> str:
    """Returns text from the records on one line, with Markdown and HTML markup escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(str(words).split()))


def _markdown_cell(column: Column[Row], row: Row, language: str) -> str:
    words, aside = (translate_words(text, language) for text in (column.cell(row), column.aside(row)))
    words = words if column.kind == "number" else inline(words)
    return words + SPOKEN[language or current_language()].brackets.format(inline(aside)) if aside else words


# -- sheets and tables on a terminal --

_WIDEST = 1000  # characters
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
            _print_table(terminal_table(part, language, console.width), console)
        elif part == Line():
            console.print()
        else:
            head = Styled(translate_words(part.head, language), style=_STYLES[part.head_look])
            print_with_head(
                console, head, Styled(one_line(translate_words(part.words, language)), style=_STYLES[part.look])
            )


ROWS = 10
"""Rows of an answer on a terminal, without the two that say where the page and all tables are."""


Part = tuple[int, Sequence[Line]]
"""Lines that belong together, behind how soon they are left out where there is no room for all: 0 never."""


def print_parts(parts: Iterable[Part], console: Console, language: str = "") -> int:
    """Prints what fits in `ROWS` rows, in its order, the lowest numbers first; returns how many lines do not."""
    groups, room = list(parts), ROWS
    taken: set[int] = set()
    for place in sorted(range(len(groups)), key=lambda place: groups[place][0]):
        number, lines = groups[place]
        with console.capture() as shown:
            print_sheet(lines, console, language)
        rows = sum(-(-max(1, cell_len(row)) // console.width) for row in shown.get().rstrip("\n").split("\n"))
        if number and rows > room:
            room = 0  # nothing of less weight takes its place
            continue
        taken.add(place)
        room -= rows
    print_sheet([line for place in sorted(taken) for line in groups[place][1]], console, language)
    return sum(len(lines) for place, (_, lines) in enumerate(groups) if place not in taken)


def _print_table(drawn: rich_table.Table, console: Console) -> None:
    """Prints a table; where even folded names leave no room for its numbers, wider than the console, and not cut."""
    needed = drawn.__rich_measure__(console, console.options.update(max_width=_WIDEST)).minimum
    wide = needed > console.width
    console.print(drawn, width=needed if wide else None, crop=not wide)


def terminal_table(table: Table[Row], language: str = "", width: int = 80) -> rich_table.Table:
    """Returns a table without a frame; each group has a heading row above its rows."""
    groups, group = table.groups(), table.group
    columns = [column for column in table.columns if not column.roomy]
    if group and all(len(rows) == 1 for rows in groups):
        columns, group = [group, *columns], None
    columns = _drop_spare_columns(columns, replace(table, group=group), language, width)
    least = {id(column): _cells(column, table, language) for column in columns if column.kind != "name"}
    heads = [replace(columns[0], title=group.title, short=""), *columns[1:]] if group else columns
    drawn = rich_table.Table(
        *(_terminal_head(head, language, least.get(id(column))) for head, column in zip(heads, columns, strict=True)),
        box=box.SIMPLE_HEAD if table.rule else None,
        show_edge=False,
        pad_edge=False,
        padding=(0, table.gap, 0, 0),
        header_style="dim",
    )
    for rows in groups:
        if group:
            drawn.add_row(Name(translate_words(group.cell(rows[0], brief=True), language), "bold"))
        for row, after in zip_longest(rows, rows[1:]):
            look = table.look(row)
            ends = look == "quiet" and (after is None or table.look(after) != "quiet")
            cells = [_terminal_cell(column, row, language) for column in columns]
            if group and isinstance(cells[0], Name):
                cells[0].indent = 2
            drawn.add_row(*cells, style=_STYLES[look], end_section=ends)
    return drawn


def _drop_spare_columns(columns: list[Column[Row]], table: Table[Row], language: str, width: int) -> list[Column[Row]]:
    """Drops columns that can be spared, the last one first, until the table fits the terminal."""

    heads = [table.group.cell(rows[0], brief=True) for rows in table.groups()] if table.group else []
    words = [word for head in heads for word in one_line(translate_words(head, language)).split()]
    longest = max(map(cell_len, words), default=0)

    def cells(column: Column[Row]) -> int:
        least = _cells(column, table, language)
        if table.group and column is columns[0]:  # indented below the groups' words
            least = max(least + 2, longest)
        return least + table.gap + 1

    spare = [column for column in columns if column.spare]
    while spare and sum(map(cells, columns)) - table.gap - 1 > width:
        columns = [column for column in columns if column is not spare[-1]]
        spare.pop()
    return columns


def _cells(column: Column[Row], table: Table[Row], language: str) -> int:
    """Returns the width of a column's widest cell or title."""
    words = (column.short or column.title, *(column.cell(row, brief=True) for row in table.rows))
    return max(cell_len(one_line(translate_words(word, language))) for word in words)


def _terminal_head(column: Column[Any], language: str, least: int | None) -> rich_table.Column:
    """Returns a column's head; with the `least` width that shows all of it, names make room and it is never cut."""
    right, name = column.kind == "number", column.kind == "name"
    title = translate_words(column.short or column.title, language)
    return rich_table.Column(
        title,
        justify="right" if right else "left",
        no_wrap=not name,
        overflow="fold" if name else "ellipsis",
        min_width=least,
    )


def _terminal_cell(column: Column[Row], row: Row, language: str) -> Name | Styled:
    words, style = translate_words(column.cell(row, brief=True), language), _STYLES[column.look_of(row)]
    return Name(words, style) if column.kind == "name" else Styled(one_line(words), style=style)
