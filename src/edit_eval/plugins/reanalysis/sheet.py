"""What others' result files come to, for every display."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from edit_eval.plugins.reanalysis.comparisons import ComparedFiles, DroppedLines, RatedQuestion, TheirPoints
from edit_eval.plugins.reanalysis.files import DoubtfulRows, Reanalysed
from edit_eval.reporting import formats
from edit_eval.reporting.names import NAMES
from edit_eval.reporting.results_sheet import published_lines
from edit_eval.reporting.strengths import DOUBTS, ends, ranks_lines, strengths_table
from edit_eval.reporting.table import Column, Line, Sheet, Table
from edit_eval.statistics.summary import ScoreNumbers
from edit_eval.text import Text

_STANDS_OUT = 3
"""Least number of doubtful rows for a category to be named."""


def reanalysis_sheet(documents: Sequence[Reanalysed | ComparedFiles]) -> Sheet:
    """Returns for each document of `reanalyse` its tables, with a row for each edit model, and its notes."""
    return [
        part
        for document in documents
        for part in (_of_comparisons(document) if isinstance(document, ComparedFiles) else _of_document(document))
    ]


def _of_document(document: Reanalysed) -> Iterator[Line | Table[_Row]]:
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
    return _Row(zeros, next(iter(counted.published.values())).value, counted.leading, kept.leading)


def _columns() -> list[Column[_Row]]:
    def bounds(row: _Row) -> str:
        return formats.span([row.kept.worst_case_mean, row.kept.best_case_mean])

    return [
        Column(Text("Edit model"), lambda row: row.zeros.edit_model, kind="name"),
        Column(Text("Rows"), lambda row: str(row.zeros.rows)),
        Column(Text("In doubt"), lambda row: str(row.zeros.doubtful)),
        Column(Text("Theirs"), lambda row: formats.published(row.theirs)),
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


# -- comparisons --


def _of_comparisons(document: ComparedFiles) -> Iterator[Line | Table[Any]]:
    yield Line(Text("{} ({})", document.form, document.of), "strong")
    yield Table(_their_columns(), sorted(document.theirs, key=lambda row: -(row.elo or 0)))
    if document.no_theirs:
        yield Line(Text("No points of theirs: {}.", document.no_theirs), "problem")
    for question, rating in document.scores.items():
        yield from _of_question(question, rating)
        side = rating.davidson
        if document.form == "geditbench_v2" and len(rating.strengths) > 2 and side and side.side_ci95:
            yield Line(
                Text(
                    "To be shown first is worth {} {} in logits; they ask in one order only, the one by name.",
                    formats.signed(side.side),
                    ends(side.side_ci95),
                )
            )
    if document.together:
        yield from _of_question(Text("all questions together, each of the same weight"), document.together)
    if document.dropped:
        yield Line()
        yield Table(_dropped_columns(), document.dropped)
    for note in document.notes:
        yield Line(Text("note: {}", note), "problem")
    yield Line(
        Text(
            "Theirs: Elo points by their formula, from all that counts there. Strengths: Bradley-Terry, in logits, "
            "mean 0; a tie counts half. 95% intervals clustered on source images."
        ),
        "quiet",
    )
    yield Line()


def _of_question(title: str, rating: RatedQuestion) -> Iterator[Line | Table[Any]]:
    yield Line()
    yield Line(Text("{}: {} votes on {} samples", title, rating.votes, rating.samples))
    yield strengths_table(rating.strengths)
    for doubt in dict.fromkeys(row.no_ci95 for row in rating.strengths if row.no_ci95):
        yield Line(DOUBTS[doubt] if doubt in DOUBTS else Text("No interval: {}.", NAMES["no_ci95"][doubt]), "problem")
    yield from ranks_lines(rating.family)


def _points(value: float | None) -> str | None:
    return None if value is None else f"{value:.0f}"


def _their_columns() -> list[Column[TheirPoints]]:
    def share(row: TheirPoints) -> str | None:
        return None if row.win_rate is None else formats.share(row.win_rate, 1)

    return [
        Column(Text("Edit model"), lambda row: row.edit_model, kind="name"),
        Column(Text("Theirs"), lambda row: _points(row.elo), look="strong"),
        Column(Text("Written there"), lambda row: _points(row.written)),
        Column(Text("Won"), lambda row: str(row.won)),
        Column(Text("Lost"), lambda row: str(row.lost)),
        Column(Text("Ties"), lambda row: str(row.ties)),
        Column(Text("Win rate"), share),
    ]


def _dropped_columns() -> list[Column[DroppedLines]]:
    return [
        Column(Text("Question"), lambda row: row.question, kind="name"),
        Column(Text("In no strength"), lambda row: str(row.count)),
        Column(Text("Why"), lambda row: row.reason, kind="word"),
        Column(Text("In their points"), lambda row: row.there, kind="word"),
    ]
