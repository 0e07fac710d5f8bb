"""What others' result files come to, for every display."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edit_eval.reporting import formats
from edit_eval.reporting.names import NAMES
from edit_eval.reporting.results_sheet import published_lines
from edit_eval.reporting.strengths import DOUBTS, ends, ranks_lines, strengths_table
from edit_eval.reporting.table import Column, Line, Sheet, Table
from edit_eval.text import Text

Row = Mapping[str, Any]
_STANDS_OUT = 3
"""Least number of doubtful rows for a category to be named."""


def reanalysis_sheet(documents: Sequence[Row]) -> Sheet:
    """Returns for each document of `reanalyse` its tables, with a row for each edit model, and its notes."""
    return [
        part
        for document in documents
        for part in (_of_comparisons(document) if "comparisons" in document else _of_document(document))
    ]


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


# -- comparisons --


def _of_comparisons(document: Row) -> Iterator[Line | Table[Row]]:
    yield Line(Text("{} ({})", document["form"], document["of"]), "strong")
    yield Table(_their_columns(), sorted(document["theirs"], key=lambda row: -(row["elo"] or 0)))
    if document["no_theirs"]:
        yield Line(Text("No points of theirs: {}.", document["no_theirs"]), "problem")
    for question, found in document["scores"].items():
        yield from _of_question(question, found)
        side = found["davidson"]
        if document["form"] == "geditbench_v2" and len(found["strengths"]) > 2 and side and side["side_ci95"]:
            yield Line(
                Text(
                    "To be shown first is worth {} {} in logits; they ask in one order only, the one by name.",
                    formats.signed(side["side"]),
                    ends(side["side_ci95"]),
                )
            )
    if document["together"]:
        yield from _of_question(Text("all questions together, each of the same weight"), document["together"])
    if document["dropped"]:
        yield Line()
        yield Table(_dropped_columns(), document["dropped"])
    for note in document["notes"]:
        yield Line(Text("note: {}", note), "problem")
    yield Line(
        Text(
            "Theirs: Elo points by their formula, from all that counts there. Strengths: Bradley-Terry, in logits, "
            "mean 0; a tie counts half. 95% intervals clustered on source images."
        ),
        "quiet",
    )
    yield Line()


def _of_question(title: str, found: Row) -> Iterator[Line | Table[Row]]:
    yield Line()
    yield Line(Text("{}: {} votes on {} samples", title, found["votes"], found["samples"]))
    yield strengths_table(found["strengths"])
    for doubt in dict.fromkeys(row["no_ci95"] for row in found["strengths"] if row["no_ci95"]):
        yield Line(DOUBTS[doubt] if doubt in DOUBTS else Text("No interval: {}.", NAMES["no_ci95"][doubt]), "problem")
    yield from ranks_lines(found)


def _their_columns() -> list[Column[Row]]:
    def points(name: str) -> Any:
        return lambda row: None if row[name] is None else f"{row[name]:.0f}"

    def share(row: Row) -> str | None:
        return None if row["win_rate"] is None else formats.share(row["win_rate"], 1)

    return [
        Column(Text("Edit model"), lambda row: row["edit_model"], kind="name"),
        Column(Text("Theirs"), points("elo"), look="strong"),
        Column(Text("Written there"), points("written")),
        Column(Text("Won"), lambda row: str(row["won"])),
        Column(Text("Lost"), lambda row: str(row["lost"])),
        Column(Text("Ties"), lambda row: str(row["ties"])),
        Column(Text("Win rate"), share),
    ]


def _dropped_columns() -> list[Column[Row]]:
    return [
        Column(Text("Question"), lambda row: row["question"], kind="name"),
        Column(Text("In no strength"), lambda row: str(row["count"])),
        Column(Text("Why"), lambda row: row["reason"], kind="word"),
        Column(Text("In their points"), lambda row: row["there"], kind="word"),
    ]
