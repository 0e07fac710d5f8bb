"""How scores change from step to step: turns of a chain of edits, rounds of edits that are given a critique."""

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
    """Returns the result of `statistics.steps.turns` as a sheet with its title; empty without turns."""
    return [Line(), Line(Text("From turn to turn"), "strong"), *turns_body(every)] if every else []


def rounds_sheet(every: Sequence[Row]) -> Sheet:
    """Returns the result of `statistics.steps.rounds` as a sheet with its title; empty without rounds."""
    return [Line(), Line(Text("From round to round"), "strong"), *rounds_body(every)] if every else []


def turns_body(every: Sequence[Row]) -> Sheet:
    """Returns the same without its title."""
    if not every:
        return []
    places = {model: place for place, model in enumerate(dict.fromkeys(one["edit_model"] for one in every))}
    columns = (
        Column[Row](Text("Turn"), lambda row: Text("turn {}", row["turn"]), kind="name"),
        *_numbers("turns", Text("Against the first turn")),
        Column[Row](Text("Chains"), lambda row: str(row["chains"]) if row["turn"] > 1 else None),
    )
    explained = Text(
        "Against the first turn of the same chain of edits, where both are scored; above 0 is better. Later turns "
        "ask for other things, so a lower score is no decay by itself: hold edit models against each other at the "
        "same turn."
    )
    group = _whose(every, mark=lambda row: places[row["edit_model"]])
    rows = [{**one, **turn} for one in every for turn in one["turns"]]
    table = Table(columns, rows, label=Text("From turn to turn"), group=group, style="ranks")
    return _around(every, table, [Line(explained, "quiet")])


def rounds_body(every: Sequence[Row]) -> Sheet:
    """Returns the same without its title."""
    if not every:
        return []
    columns = (
        Column[Row](Text("Round"), lambda row: row["which"], kind="name"),
        Column[Row](Text("Edits", context="number"), lambda row: _count(row["edits"]), roomy=True),
        Column[Row](Text("Kept"), lambda row: _count(row["kept"]), when=lambda row: row["kept"]),
        *_numbers("rounds", Text("Against the first round")),
        Column[Row](
            Text("Change seen by the critic"),
            lambda row: signed(row["own_change"], 2),
            look="quiet",
            short=Text("Own change"),
            when=lambda row: row["own_change"] is not None,
        ),
    )
    first = every[0]
    explained = [
        Text(
            "What {} says of an edit, the next round is told; its own scores choose, and are in no other number. Every "
            "sample is in every round: one whose edit is kept counts with that edit. Changes are paired on samples "
            "and clustered on source images; above 0 is better.",
            first["critic"],
        )
    ]
    if any(one["best_of"] for one in every):
        explained.append(
            Text("A critique is worth something where its rounds beat the best of as many edits that are told nothing.")
        )
    else:
        explained.append(
            Text(
                "`evaluation: {{edit_seeds: {}}}` would show what the best of as many edits is worth that are told "
                "nothing: a gain of rounds may be that of trying often.",
                len(first["rounds"]),
            )
        )
    alike = {(one["critic"], one["judge"], one["family"]): None for one in every if one["family"]}
    warned = [
        Text("{} and {} are both {}: of what both like, {} sees more than there is.", critic, judge, family, judge)
        for critic, judge, family in alike
    ]
    rows = [{**one, **row, "edit_model": one["edit_model"]} for one in every for row in _rows(one)]
    table = Table(columns, rows, label=Text("From round to round"), group=_whose(every))
    return _around(
        every, table, [Line(line, "quiet") for line in explained], [Line(line, "problem") for line in warned]
    )


def _numbers(steps: str, against: Text) -> list[Column[Row]]:
    """Returns columns for the means of `steps`, and the change of each against the first."""

    def digits(row: Row) -> int:
        return formats.decimals(Scale(**row["scale"]), max(abs(step["mean"] or 0.0) for step in row[steps]))

    return [
        Column(Text("Scored"), lambda row: f"{row['scored']}/{row['total']}"),
        Column(Text("Mean"), lambda row: formats.score(row["mean"], digits(row))),
        Column(Text("95% interval"), lambda row: formats.span(row["ci95"], digits(row)), roomy=True),
        Column(against, lambda row: signed(row["change"], digits(row)), look="strong", short=Text("Change")),
        Column(Text("95% interval"), lambda row: signed_span(row["change_ci95"], digits(row))),
    ]


def _whose(every: Sequence[Row], **more: Any) -> Column[Row]:
    several = len({one["judge"] for one in every}) > 1

    def whose(row: Row) -> str:
        return Text("{}, judged by {}", row["edit_model"], row["judge"]) if several else str(row["edit_model"])

    return Column(Text("Edit model"), whose, "name", **more)


def _around(every: Sequence[Row], table: Table[Row], explained: Sheet, warned: Sheet = ()) -> Sheet:
    """Puts a table between the scales of its scores, above, and warnings and explanations, below."""
    doubts = {row[key] for row in table.rows for key in ("no_ci95", "no_change_ci95")}
    reasons = [words for doubt, words in NAMES["no_ci95"].items() if doubt in doubts]
    scored = {score_line(one["score"], Scale(**one["scale"])): None for one in every}
    none = [Line(Text("No interval: {}.", reasons), "quiet")] if reasons else []
    return [*(Line(line, "quiet") for line in scored), table, *warned, *none, *explained]


def _rows(one: Row) -> list[Row]:
    """Returns each round, the best of them, and the best of as many edits without a critique."""
    nothing = {"edits": None, "kept": None, "own_change": None}
    rows: list[Row] = [{**nothing, **row, "which": Text("round {}", row["round"])} for row in one["rounds"]]
    rows.append({**nothing, **one["best_by_critic"], "which": Text("the best by {}", one["critic"])})
    if best := one["best_of"]:
        rows.append({**nothing, **best, "which": Text("best of {}, told nothing", best["size"])})
    return rows


def _count(value: int | None) -> str | None:
    return None if value is None else str(value)
