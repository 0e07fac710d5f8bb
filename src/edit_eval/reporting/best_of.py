"""The gain from choosing the best of N edits, and its cost: a sheet for every display, and the table as a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edit_eval.records import Scale
from edit_eval.reporting import formats
from edit_eval.reporting.formats import signed, signed_span
from edit_eval.reporting.names import NAMES, score_line
from edit_eval.reporting.table import Column, Line, Sheet, Table, Words
from edit_eval.statistics.best_of import PEOPLE
from edit_eval.text import Text

Row = Mapping[str, Any]
_LEAST_SHOWN, _MUCH_BY_LOT = 0.005, 0.2
"""Shares of draws decided by ties above which there is a column, and a sentence."""


EXPLAINED = Text(
    "Each mean is over all subsets of N edits of a sample, ties broken by chance. Gain: by how much better than one "
    "edit, paired on samples, clustered on source images. Costs: of one sample."
)
"""Explanation of every such table."""


def best_of_sheet(every: Sequence[Row]) -> Sheet:
    """Returns a table for each document of `statistics.best_of.best_of`, and what is needed to read it."""
    parts = [
        part
        for one in every
        for part in (Line(), Line(Text("Best of N edits. {}", title_of(one)), "strong"), *best_of_body(one))
    ]
    return [*parts, Line(EXPLAINED, "quiet")] if parts else []


def best_of_body(document: Row) -> Sheet:
    """Returns the same for one document, without its title and `EXPLAINED`."""
    report = document["report"]
    scale = Scale(**report["scale"])
    score = [Line(score_line(report["score"], scale), "quiet")] if report["score"] else []
    table = best_of_table(document)
    warned = [Line(line, "problem") for line in _warnings(document)]
    return [*score, table, *warned, *(Line(line, "quiet") for line in _lines(document))]


def title_of(document: Row) -> Text:
    """Says which judge chooses and which one reports."""
    return Text("Chosen by {}, reported by {}", *(judge_and_score(document[who]) for who in ("select", "report")))


def judge_and_score(told: Row) -> Words:
    """Returns the name of an instrument of the document."""
    return Text("people") if told["name"] == PEOPLE else str(told["name"])


def best_of_table(document: Row) -> Table[Row]:
    """Returns a row for each edit model and N: the mean, the gain over one edit, the cost of choosing."""
    rows = [{**size, "edit_model": model["edit_model"]} for model in document["models"] for size in model["sizes"]]
    select = judge_and_score(document["select"])
    digits = _digits(document["report"], [row["mean"] for row in rows])
    own = _digits(document["select"], [row["own_mean"] for row in rows])

    def chance(key: str) -> Any:
        return lambda row: None if row[key] is None else formats.share(row[key], 1)

    columns: list[Column[Row]] = [
        Column(Text("Best of"), lambda row: _which(row["size"]), kind="name"),
        Column(Text("Samples"), lambda row: f"{row['samples']}/{row['of']}"),
        Column(Text("Mean"), lambda row: formats.score(row["mean"], digits)),
        Column(Text("95% interval"), lambda row: formats.span(row["ci95"], digits), roomy=True),
        Column(Text("Gain"), lambda row: signed(row["gain"], digits), look="strong"),
        Column(Text("95% interval"), lambda row: signed_span(row["gain_ci95"], digits)),
        Column(
            Text("Gain seen by {}", select),
            lambda row: signed(row["own_gain"], own),
            look="quiet",
            short=Text("Own gain"),
        ),
        Column(
            Text("Decided by lot"),
            chance("by_lot"),
            short=Text("By lot"),
            when=lambda row: (row["by_lot"] or 0) >= _LEAST_SHOWN,
        ),
        Column(Text("All fail"), chance("all_fail"), when=lambda row: row["all_fail"]),
        Column(Text("Edits", context="number"), lambda row: str(row["edits"]), roomy=True),
        Column(Text("Answers"), lambda row: f"{row['readings']:.3g}"),
        Column(
            Text("Time"),
            lambda row: formats.duration(row["seconds"]),
            brief=lambda row: formats.short_duration(row["seconds"]),
            when=lambda row: row["seconds"],
        ),
        Column(
            Text("Price"),
            lambda row: None if row["price"] is None else f"{row['price']:.4g}",
            when=lambda row: row["price"] is not None,
        ),
    ]
    places = {model["edit_model"]: place for place, model in enumerate(document["models"])}
    group: Column[Row] = Column(
        Text("Edit model"), lambda row: row["edit_model"], "name", mark=lambda row: places[row["edit_model"]]
    )
    return Table(columns, rows, label=title_of(document), group=group, style="ranks")


def _digits(of: Row, values: Sequence[float | None]) -> int:
    """Returns the digits after the point on an instrument's scale."""
    return formats.decimals(Scale(**of["scale"]), max((abs(value) for value in values if value is not None), default=0))


def _which(size: int) -> Text:
    return Text("one edit") if size == 1 else Text("best of {}", size)


def _warnings(document: Row) -> Iterator[Text]:
    select, report = (judge_and_score(document[who]) for who in ("select", "report"))
    inflations = [model["inflation"] for model in document["models"] if model["inflation"] is not None]
    if family := document["family"]:
        most = Text(" (wholly alike: at least {:.2f} times too large)", max(inflations)) if inflations else ""
        yield Text(
            "{} and {} are both {}: where they err alike this gain is too large{}. A judge of another family, a "
            "measure or people would not share their errors.",
            select,
            report,
            family,
            most,
        )
    for model in document["models"]:
        if model["no_inflation"] == "noise_alone":
            yield Text(
                "{} tells edits of one sample by {} apart no better than it repeats itself: it chooses by noise.",
                select,
                model["edit_model"],
            )


def _lines(document: Row) -> Iterator[Text]:
    select, report = (judge_and_score(document[who]) for who in ("select", "report"))
    several = len(document["models"]) > 1
    for model in document["models"]:
        yield from _of_model(model, select, report, several)
    doubts = {
        size[key] for model in document["models"] for size in model["sizes"] for key in ("no_ci95", "no_gain_ci95")
    }
    if reasons := [words for doubt, words in NAMES["no_ci95"].items() if doubt in doubts]:
        yield Text("No interval: {}.", reasons)
    if not several and document["models"][0]["no_inflation"] == "no_repeats" and document["select"]["given"] == "asked":
        yield Text("`evaluation: {{repeats: 2}}` would show how much of the gain that {} sees is noise.", select)


def _of_model(model: Row, select: Words, report: Words, several: bool) -> Iterator[Text]:
    whose = Text("{}: ", model["edit_model"]) if several else ""
    if model["inflation"] is not None:
        yield Text(
            "By its repeats, {} would confirm at most {} of the gain that it sees{}, were it asked again about what it "
            "chose: the rest is noise.",
            select,
            formats.share(1 / model["inflation"], 1),
            Text(" with {}", model["edit_model"]) if several else "",
        )
    edits = model["edits"]
    lost = edits["failed"] + edits["refused"]
    if lost:
        yield Text(
            "{}{} of {} edits are missing and cannot be chosen; means are over samples with an edit to choose.",
            whose,
            lost,
            edits["tried"],
        )
    for key, name in (("unscored_by_selector", select), ("unscored_by_reporter", report)):
        if edits[key]:
            chosen = (
                Text("drawn, and never chosen") if key == "unscored_by_selector" else Text("chosen, and in no mean")
            )
            yield Text("{}{} edits have no score by {}: {}.", whose, edits[key], name, chosen)
    last = model["sizes"][-1]
    if (last["by_lot"] or 0) > _MUCH_BY_LOT:
        yield Text(
            "{}Ties decide {} of the choices among {}: several readings or probabilities tell more edits apart.",
            whose,
            formats.share(last["by_lot"], 1),
            last["size"],
        )


def best_of_csv(document: Row) -> str:
    """Returns the CSV: a line for each edit model and N, with all its numbers."""
    written = io.StringIO()
    flat = [
        {
            "select": document["select"]["name"],
            "report": document["report"]["name"],
            "score": document["report"]["score"],
            "edit_model": model["edit_model"],
            **{
                name: value
                for key, given in size.items()
                for name, value in (
                    ((f"{key}_low", (given or ["", ""])[0]), (f"{key}_high", (given or ["", ""])[1]))
                    if key in ("ci95", "gain_ci95")
                    else ((key, given),)
                )
            },
        }
        for model in document["models"]
        for size in model["sizes"]
    ]
    writer = csv.DictWriter(written, list(flat[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return written.getvalue()
