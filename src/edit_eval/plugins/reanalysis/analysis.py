"""`edit-eval reanalyse`: an analysis of result files that others have written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from edit_eval.plugins.reanalysis.files import DoubtfulRows, Reanalysed, reanalyse
from edit_eval.reporting import formats
from edit_eval.reporting.analyses import Analysis, Sources
from edit_eval.reporting.results_sheet import published_lines
from edit_eval.reporting.table import Column, Line, Sheet, Table
from edit_eval.statistics.summary import ScoreNumbers
from edit_eval.text import Text

# -- what others' result files come to, for every display --

_STANDS_OUT = 3
"""Least number of doubtful rows for a category to be named."""


def reanalysis_sheet(documents: Sequence[Reanalysed]) -> Sheet:
    """Returns for each document of `reanalyse` its tables, with a row for each edit model, and its notes."""
    return [part for document in documents for part in _list_parts(document)]


def _list_parts(document: Reanalysed) -> Iterator[Line | Table[_Row]]:
    yield Line(Text("{} ({})", document.form, document.language), "strong")
    rows = [_row(document, zeros) for zeros in document.zeros]
    yield Table(_columns(), rows)
    for note in document.notes:
        yield Line(Text("note: {}", note), "problem")
    for zeros in document.zeros:
        yield from map(Line, _doubts(zeros))
    yield Line(
        Text(
            "Counted: the mean of what the file has. Kept: without rows that are no score, or may be none; "
            "worst and best: if these were at either end of the scale."
        ),
        "quiet",
    )
    yield from map(Line, published_lines(document))
    yield Line()


class _Row(NamedTuple):
    """An edit model."""

    zeros: DoubtfulRows
    theirs: float | None
    counted: ScoreNumbers
    kept: ScoreNumbers


def _row(document: Reanalysed, zeros: DoubtfulRows) -> _Row:
    counted, kept = (result for result in document.results if result.edit_model == zeros.edit_model)
    return _Row(zeros, next(iter(counted.published.values())).value, counted.headline_numbers, kept.headline_numbers)


def _columns() -> list[Column[_Row]]:
    def bounds(row: _Row) -> str:
        return formats.span([row.kept.worst_case_mean, row.kept.best_case_mean])

    return [
        Column(Text("Edit model"), lambda row: row.zeros.edit_model, kind="name"),
        Column(Text("Rows"), lambda row: str(row.zeros.rows)),
        Column(Text("In doubt"), lambda row: str(row.zeros.doubtful)),
        Column(Text("Theirs"), lambda row: formats.format_published(row.theirs)),
        Column(Text("Counted"), lambda row: formats.score(row.counted.mean)),
        Column(Text("95% interval"), lambda row: formats.span(row.counted.ci95), roomy=True),
        Column(Text("Kept"), lambda row: formats.score(row.kept.mean), look="strong"),
        Column(Text("95% interval"), lambda row: formats.span(row.kept.ci95)),
        Column(Text("Worst–best"), bounds),
    ]


def _doubts(zeros: DoubtfulRows) -> Iterator[Text]:
    """Yields why rows are in doubt, and which categories have most of them."""
    if not zeros.doubtful:
        return
    yield Text("{}: {} of {} rows are in doubt ({:; }).", zeros.edit_model, zeros.doubtful, zeros.rows, zeros.reasons)
    shares = sorted(zeros.categories.items(), key=lambda item: -item[1].doubtful / item[1].rows)
    twice = 2 * zeros.doubtful / zeros.rows
    often = [(name, of) for name, of in shares if of.doubtful >= max(_STANDS_OUT, twice * of.rows)]
    for name, of in often[:_STANDS_OUT]:
        yield Text("{}: {} of the {} rows of {} are.", zeros.edit_model, of.doubtful, of.rows, name)


class Reanalysis(Analysis[list[Reanalysed]]):
    """Recompute others' results, leaving out what is not a score.

    It prints their number as they compute it, and the number without what is not a score, with bounds.
    """

    @dataclass(frozen=True)
    class Parameters:
        """What is not beside the results."""

        rows: Path | None = None
        """ImgEdit's basic_edit.json, if it is not beside its results."""

    about: ClassVar = {"group": "To compare"}
    title: ClassVar[Text] = Text("Result files of others")
    document: ClassVar = list[Reanalysed]
    sources: ClassVar = Sources(
        "PATH...", "Result files or folders of benchmarks' own scripts, of lmms-eval or evalscope.", several=True
    )

    def open_source(self, source: Any, parameters: Parameters) -> Path:
        """Returns it as a path; `compute` reads it."""
        return Path(source)

    def compute(self, records: Sequence[Path], parameters: Parameters) -> list[Reanalysed]:
        """Returns a document for each format and language."""
        return reanalyse(records, parameters.rows)

    def sheet(self, document: list[Reanalysed]) -> Sheet:
        """Returns a table for each, with a row for each edit model, and its notes."""
        return reanalysis_sheet(document)
