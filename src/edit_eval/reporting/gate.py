"""What `edit-eval gate` found, as a sheet: on the terminal, and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edit_eval.reporting.comparison import comparison_document, gate_lines, note_words
from edit_eval.reporting.comparison_tables import columns_table, failures_table, pairs_table
from edit_eval.reporting.table import Line, Table
from edit_eval.statistics.comparison import Comparison
from edit_eval.text import Text


def gate_sheet(
    comparison: Comparison, passed: bool, guidance: Mapping[str, str], faults: Sequence[str]
) -> list[Line | Table[Any]]:
    """The answer, why, and the numbers by each judge."""
    margin = comparison.gate.margin or 0.0
    verdict = (
        Text("Passed: the candidate is shown to be less than {:g} points worse than the baseline.", margin)
        if passed
        else Text("Not passed: the candidate is not shown to be less than {:g} points worse than the baseline.", margin)
    )
    sheet: list[Line | Table[Any]] = [Line(verdict, "strong" if passed else "problem")]
    sheet += [Line(line, "problem") for line in faults]
    sheet += [Line(line) for line in gate_lines(comparison.gate)]
    names = {column.name: column.name for column in comparison.columns}
    for judge in comparison.judges:
        columns = [column for column in comparison.columns if column.judge == judge]
        pairs = [pair for pair in comparison.pairs if pair.judge == judge]
        sheet += [Line(), Line(Text("judged by {}", judge), "strong"), Line(), columns_table(columns, names)]
        sheet += [Line(), pairs_table(pairs, names)]
    if any(pair.failures.a or pair.failures.b for pair in comparison.pairs):
        sheet += [Line(), failures_table(comparison.pairs[:1], names)]
    sheet.append(Line())
    sheet += [Line(Text("{}: guidance {}", name, found), "quiet") for name, found in guidance.items() if found]
    sheet += [Line(note_words(note), "quiet") for note in comparison.notes]
    return sheet


def gated_document(
    comparison: Comparison, passed: bool, guidance: Mapping[str, str], faults: Sequence[str]
) -> dict[str, Any]:
    """The comparison's document with what is the gate's own, under `gated`."""
    own = {"passed": passed, "faults": [*map(str, faults)], "guidance": dict(guidance)}
    return {**comparison_document(comparison), "gated": own}
