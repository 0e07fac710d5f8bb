"""How scores change from turn to turn: a table for every display."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edit_eval.records import Scale
from edit_eval.reporting import formats
from edit_eval.reporting.formats import signed, signed_span
from edit_eval.reporting.names import NAMES, score_line
from edit_eval.reporting.table import Column, Line, Sheet, Table
from edit_eval.text import Text

Row = Mapping[str, Any]


def turns_sheet(every: Sequence[Row]) -> Sheet:
    """What `statistics.turns.turns` returned, with its title; nothing where nothing has turns."""
    return [Line(), Line(Text("From turn to turn"), "strong"), *turns_body(every)] if every else []


def turns_body(every: Sequence[Row]) -> Sheet:
    """The same without its title."""
    if not every:
        return []
    rows = [{**one, **turn} for one in every for turn in one["turns"]]
    judges = {one["judge"] for one in every}

    def whose(row: Row) -> str:
        return Text("{}, judged by {}", row["edit_model"], row["judge"]) if len(judges) > 1 else str(row["edit_model"])

    def digits(row: Row) -> int:
        return formats.decimals(Scale(**row["scale"]), max(abs(turn["mean"] or 0.0) for turn in row["turns"]))

    columns: list[Column[Row]] = [
        Column(Text("Turn"), lambda row: Text("turn {}", row["turn"]), kind="name"),
        Column(Text("Scored"), lambda row: f"{row['scored']}/{row['total']}"),
        Column(Text("Mean"), lambda row: formats.score(row["mean"], digits(row))),
        Column(Text("95% interval"), lambda row: formats.span(row["ci95"], digits(row)), roomy=True),
        Column(
            Text("Against the first turn"),
            lambda row: signed(row["change"], digits(row)),
            look="strong",
            short=Text("Change"),
        ),
        Column(Text("95% interval"), lambda row: signed_span(row["change_ci95"], digits(row))),
        Column(Text("Chains"), lambda row: str(row["chains"]) if row["turn"] > 1 else None),
    ]
    places = {model: place for place, model in enumerate(dict.fromkeys(one["edit_model"] for one in every))}
    group: Column[Row] = Column(Text("Edit model"), whose, "name", mark=lambda row: places[row["edit_model"]])
    doubts = {row[key] for row in rows for key in ("no_ci95", "no_change_ci95")}
    reasons = [words for doubt, words in NAMES["no_ci95"].items() if doubt in doubts]
    explained = Text(
        "Against the first turn of the same chain of edits, where both are scored; above 0 is better. Later turns "
        "ask for other things, so a lower score is no decay by itself: hold edit models against each other at the "
        "same turn."
    )
    scored = {score_line(one["score"], Scale(**one["scale"])): None for one in every}
    return [
        *(Line(line, "quiet") for line in scored),
        Table(columns, rows, label=Text("From turn to turn"), group=group, style="ranks"),
        *([Line(Text("No interval: {}.", reasons), "quiet")] if reasons else []),
        Line(explained, "quiet"),
    ]
