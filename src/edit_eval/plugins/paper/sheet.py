"""The verdict and the table on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from edit_eval.plugins.paper.columns import PaperColumn, columns_of
from edit_eval.plugins.paper.document import JudgeTable, Paper, PaperRow
from edit_eval.plugins.paper.words import DAGGER, caption, points_of
from edit_eval.reporting.table import Column, Line, Look, Sheet, Table
from edit_eval.reporting.verdict import verdict_sheet
from edit_eval.text import Text

_FILES = ("table.tex", "figure.pdf", "figure.svg", "results.txt", "methods.txt", "numbers.csv")


def paper_sheet(paper: Paper) -> Sheet:
    """Returns the verdict, a table for each judge, what its marks mean, and which files there would be."""
    lines: list[Line | Table[PaperRow]] = [*verdict_sheet(paper.verdict, drawn=False)]
    for table in paper.tables:
        lines += [Line(), *_table(table, paper)]
    lines += [Line(), *(Line(line, "quiet") for line in caption(paper))]
    lines += [Line(note, "problem", head=Text("note: ")) for note in paper.notes]
    return [*lines, Line(Text("`--to FOLDER` writes {:, }.", [*_FILES, "paper.tex"]), "quiet")]


def _table(table: JudgeTable, paper: Paper) -> Iterator[Line | Table[PaperRow]]:
    title = Text("{}, {}", table.judge, points_of(table))
    columns = [_column(column, table) for column in columns_of(paper.columns, paper.tables)]
    yield Line(title, "strong")
    yield Table(columns, table.rows, label=title)


def _column(column: PaperColumn, table: JudgeTable) -> Column[PaperRow]:
    def look(row: PaperRow) -> Look:
        return "strong" if column.marked and row.mark == "best" else ""

    def shows(row: PaperRow) -> str:
        return column.shows(table, row) + (DAGGER if column.marked and row.mark == "level" else "")

    return Column(column.title, shows, "name" if column.is_name else "number", look)
