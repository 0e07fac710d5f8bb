"""The result of `edit-eval gate` as a sheet, on the terminal and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from edit_eval.reporting.comparison import gate_lines, note_words
from edit_eval.reporting.comparison_tables import columns_table, failures_table, pairs_table
from edit_eval.reporting.table import Line, Table
from edit_eval.reporting.verdict import verdict_sheet
from edit_eval.statistics.comparison import Comparison
from edit_eval.text import Text


def gate_sheet(comparison: Comparison, wrong: Sequence[str] = (), *, full: bool = False) -> list[Line | Table[Any]]:
    """Returns the verdict (`full` with what it rests on), what else is `wrong`, the reasons, and the numbers by each
    judge."""
    sheet: list[Line | Table[Any]] = [*verdict_sheet(comparison.verdict, full=full)]
    sheet += [Line(line, "problem") for line in wrong]
    sheet += [Line(line) for line in gate_lines(comparison.gate)]
    names = {column.name: column.name for column in comparison.columns}
    for judge in comparison.judges:
        columns = [column for column in comparison.columns if column.judge == judge]
        pairs = [pair for pair in comparison.pairs if pair.judge == judge]
        sheet += [Line(), Line(Text("judged by {}", judge), "strong"), Line(), columns_table(columns, names)]
        sheet += [Line(), pairs_table(pairs, names)]
    if any(pair.failures.a or pair.failures.b for pair in comparison.pairs):
        sheet += [Line(), failures_table(comparison.pairs[:1], names)]
    return [*sheet, Line(), *(Line(note_words(note), "quiet") for note in comparison.notes)]
