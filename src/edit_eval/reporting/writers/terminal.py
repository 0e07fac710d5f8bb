"""Sheets and tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import zip_longest
from typing import Any, TypeVar

from rich import box
from rich import table as rich_table
from rich.cells import cell_len
from rich.console import Console

from edit_eval.reporting.table import Column, Line, Look, Table, in_language
from edit_eval.reporting.terminal_text import Name, Styled, one_line, print_beside, stdout_console

Row = TypeVar("Row")
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
        *(_head(column, language) for column in heads),
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
            cells = [_cell(column, row, language) for column in columns]
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


def _head(column: Column[Any], language: str) -> rich_table.Column:
    right, name = column.kind == "number", column.kind == "name"
    title = in_language(column.short or column.title, language)
    return rich_table.Column(
        title, justify="right" if right else "left", no_wrap=not name, overflow="fold" if name else "ellipsis"
    )


def _cell(column: Column[Row], row: Row, language: str) -> Name | Styled:
    words, style = in_language(column.cell(row, brief=True), language), _STYLES[column.look_of(row)]
    return Name(words, style) if column.kind == "name" else Styled(one_line(words), style=style)
