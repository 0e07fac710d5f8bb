"""What others' result files come to, for every display."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edit_eval.reporting import formats
from edit_eval.reporting.results_sheet import published_lines
from edit_eval.reporting.table import Column, Line, Sheet, Table
from edit_eval.text import Text

Row = Mapping[str, Any]
_STANDS_OUT = 3
"""Least number of doubtful rows for a category to be named."""


def reanalysis_sheet(documents: Sequence[Row]) -> Sheet:
    """Returns for each document of `reanalysis.reanalyse` a table with a row for each edit model, and its notes."""
    return [part for document in documents for part in _of_document(document)]


def _of_document(document: Row) -> Iterator[Line | Table[Row]]:
    yield Line(Text("{} ({})", document["form"], document["language"]), "strong")
    rows = [_row(document, zeros) for zeros in document["zeros"]]
    yield Table(_columns(), rows)
    for note in document["notes"]:
        yield Line(Text("note: {}", note), "problem")
    for zeros in document["zeros"]:
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


def _row(document: Row, zeros: Row) -> dict[str, Any]:
    counted, kept = (one for one in document["results"] if one["edit_model"] == zeros["edit_model"])
    blocks = [one["scores"][one["headline"]] for one in (counted, kept)]
    theirs = next(iter(counted["published"].values()))["value"]
    return {**zeros, "theirs": theirs, "counted_mean": blocks[0], "kept_mean": blocks[1]}


def _columns() -> list[Column[Row]]:
    def mean(name: str) -> Any:
        return lambda row: formats.score(row[name]["mean"])

    def interval(name: str) -> Any:
        return lambda row: formats.span(row[name]["ci95"])

    def bounds(row: Row) -> str:
        return formats.span([row["kept_mean"]["worst_case_mean"], row["kept_mean"]["best_case_mean"]])

    return [
        Column(Text("Edit model"), lambda row: row["edit_model"], kind="name"),
        Column(Text("Rows"), lambda row: str(row["rows"])),
        Column(Text("In doubt"), lambda row: str(row["doubtful"])),
        Column(Text("Theirs"), lambda row: formats.published(row["theirs"])),
        Column(Text("Counted"), mean("counted_mean")),
        Column(Text("95% interval"), interval("counted_mean"), roomy=True),
        Column(Text("Kept"), mean("kept_mean"), look="strong"),
        Column(Text("95% interval"), interval("kept_mean")),
        Column(Text("Worst–best"), bounds),
    ]


def _doubts(zeros: Row) -> Iterator[Text]:
    """Yields why rows are in doubt, and which categories have most of them."""
    if not zeros["doubtful"]:
        return
    yield Text("{}: {} of {} rows are in doubt ({:; }).", *(zeros[name] for name in _SAID))
    shares = sorted(zeros["categories"].items(), key=lambda one: -one[1]["doubtful"] / one[1]["rows"])
    twice = 2 * zeros["doubtful"] / zeros["rows"]
    often = [(name, of) for name, of in shares if of["doubtful"] >= max(_STANDS_OUT, twice * of["rows"])]
    for name, of in often[:_STANDS_OUT]:
        yield Text("{}: {} of the {} rows of {} are.", zeros["edit_model"], of["doubtful"], of["rows"], name)


_SAID = ("edit_model", "doubtful", "rows", "reasons")
