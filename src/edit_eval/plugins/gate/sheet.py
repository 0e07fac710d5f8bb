"""The result of `edit-eval gate` as a sheet, on the terminal and as Markdown for a pull request, and as a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from edit_eval.plugins.gate.gating import Gated
from edit_eval.reporting.comparison import gate_lines, note_words
from edit_eval.reporting.comparison_tables import columns_table, failures_table, pairs_table
from edit_eval.reporting.table import Line, Table
from edit_eval.reporting.verdict import verdict_sheet
from edit_eval.statistics.comparison import ComparisonDocument
from edit_eval.text import Text


def gate_sheet(gated: Gated, *, full: bool = False) -> list[Line | Table[Any]]:
    """Returns the verdict (`full` with what it rests on), the reasons, and the numbers by each judge."""
    comparison = gated.comparison
    sheet: list[Line | Table[Any]] = [*verdict_sheet(gated.verdict, full=full)]
    sheet += [Line(line, "problem") for line in gated.faults]
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
    sheet += [Line(Text("{}: guidance {}", name, state), "quiet") for name, state in gated.guidance.items() if state]
    sheet += [Line(note_words(note), "quiet") for note in comparison.notes]
    return sheet


class OfConfigurations(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate itself says of two configurations."""

    passed: bool
    faults: list[str]
    """Why they are no gate, a line each."""
    guidance: Mapping[str, str]
    """By edit model, what became of its guidance; empty where it has none."""


class GatedDocument(ComparisonDocument, frozen=True, kw_only=True):
    """What `edit-eval gate --json` prints: the comparison's document, and the gate's own results."""

    gated: OfConfigurations


def gated_document(gated: Gated) -> GatedDocument:
    """Returns both as one document."""
    own = OfConfigurations(passed=gated.passed, faults=[*map(str, gated.faults)], guidance=gated.guidance)
    return GatedDocument(**msgspec.structs.asdict(gated.comparison.document()), gated=own)
