"""How scores change from step to step: turns of a chain of edits, rounds of edits that are given a critique."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from edit_eval.plugins.steps.changes import (
    BestRound,
    BestWithoutCritique,
    Measured,
    Round,
    RoundsOf,
    StepNumbers,
    TurnsOf,
)
from edit_eval.reporting import formats
from edit_eval.reporting.formats import format_signed, format_signed_span
from edit_eval.reporting.names import NAMES, score_line
from edit_eval.reporting.table import Column, Line, Sheet, Table
from edit_eval.text import Text

Shown = StepNumbers | BestWithoutCritique
"""The numbers of a row."""


class _Row(NamedTuple):
    """A row of the table: whose it is, what it is called, and its numbers."""

    of: TurnsOf | RoundsOf
    which: Text
    at: Shown


def turns_sheet(every: Sequence[TurnsOf]) -> Sheet:
    """Returns the table of turns."""
    places = {model: place for place, model in enumerate(dict.fromkeys(measured.edit_model for measured in every))}
    columns = (
        Column[_Row](Text("Turn"), lambda row: row.which, kind="name"),
        *_numbers(Text("Against the first turn")),
        Column[_Row](Text("Chains"), _chains),
    )
    explained = Text(
        "Against the first turn of the same chain of edits, where both are scored; above 0 is better. Later turns "
        "ask for other things, so a lower score is not by itself a decline: compare edit models at the same turn."
    )
    group = _whose(every, mark=lambda row: places[row.of.edit_model])
    rows = [_Row(measured, Text("turn {}", number), step) for measured in every for number, step in measured.steps]
    table = Table(columns, rows, label=Text("From turn to turn"), group=group, style="ranks")
    return _around(every, table, [Line(explained, "quiet")])


def _chains(row: _Row) -> str | None:
    """Returns how many chains a later turn is compared on."""
    return str(row.at.chains) if isinstance(row.at, StepNumbers) and row.at is not row.of.steps[0][1] else None


def rounds_sheet(every: Sequence[RoundsOf]) -> Sheet:
    """Returns the table of rounds."""
    columns = (
        Column[_Row](Text("Round"), lambda row: row.which, kind="name"),
        Column[_Row](Text("Edits", context="number"), lambda row: _count(_edits(row.at)), roomy=True),
        Column[_Row](Text("Kept"), lambda row: _count(_count_kept(row.at)), when=lambda row: _count_kept(row.at)),
        *_numbers(Text("Against the first round")),
        Column[_Row](
            Text("Change seen by the critic"),
            lambda row: format_signed(_own(row.at), 2),
            look="quiet",
            short=Text("Own change"),
            when=lambda row: _own(row.at) is not None,
        ),
    )
    first = every[0]
    explained = [
        Text(
            "What {} says of an edit, the next round is told; its own scores choose, and are in no other number. Every "
            "sample is in every round: one whose edit is kept counts with that edit. Changes are paired on samples "
            "and clustered on source images; above 0 is better.",
            first.critic,
        )
    ]
    if any(measured.best_of for measured in every):
        explained.append(
            Text("A critique is worth something where its rounds beat the best of as many edits that are told nothing.")
        )
    else:
        explained.append(
            Text(
                "`evaluation: {{edit_seeds: {}}}` would show what the best of as many edits is worth that are told "
                "nothing: a gain of rounds may be that of trying often.",
                len(first.rounds),
            )
        )
    alike = {(measured.critic, measured.judge, measured.family): None for measured in every if measured.family}
    warned = [
        Text("{} and {} are both {}: what both like, {} overrates.", critic, judge, family, judge)
        for critic, judge, family in alike
    ]
    table = Table(
        columns, [row for measured in every for row in _rows(measured)], Text("From round to round"), _whose(every)
    )
    return _around(
        every, table, [Line(line, "quiet") for line in explained], [Line(line, "problem") for line in warned]
    )


def _numbers(against: Text) -> list[Column[_Row]]:
    """Returns columns for the means, and the change of each against the first."""

    def digits(row: _Row) -> int:
        return digits_of(row.of)

    return [
        Column(Text("Scored"), lambda row: f"{row.at.scored}/{row.at.total}"),
        Column(Text("Mean"), lambda row: formats.score(row.at.mean, digits(row))),
        Column(Text("95% interval"), lambda row: formats.span(row.at.ci95, digits(row)), roomy=True),
        Column(against, lambda row: format_signed(row.at.change, digits(row)), look="strong", short=Text("Change")),
        Column(Text("95% interval"), lambda row: format_signed_span(row.at.change_ci95, digits(row))),
    ]


def digits_of(measured: TurnsOf | RoundsOf) -> int:
    """Returns the digits after the point on its scale."""
    return formats.decimals(measured.scale, max((abs(step.mean or 0.0) for _, step in measured.steps), default=0.0))


def _whose(every: Sequence[Measured], **more: Any) -> Column[_Row]:
    several = len({measured.judge for measured in every}) > 1

    def whose(row: _Row) -> str:
        return Text("{}, judged by {}", row.of.edit_model, row.of.judge) if several else row.of.edit_model

    return Column(Text("Edit model"), whose, "name", **more)


def _around(every: Sequence[Measured], table: Table[_Row], explained: Sheet, warned: Sheet = ()) -> Sheet:
    """Puts a table between the scales of its scores, above, and warnings and explanations, below."""
    doubts = {doubt for row in table.rows for doubt in (row.at.no_ci95, row.at.no_change_ci95)}
    reasons = [words for doubt, words in NAMES["no_ci95"].items() if doubt in doubts]
    scored = {score_line(measured.score, measured.scale): None for measured in every}
    none = [Line(Text("No interval: {}.", reasons), "quiet")] if reasons else []
    return [*(Line(line, "quiet") for line in scored), table, *warned, *none, *explained]


def _rows(measured: RoundsOf) -> Iterator[_Row]:
    """Yields each round, the best of them, and the best of as many edits without a critique."""
    yield from (_Row(measured, Text("round {}", number), step) for number, step in measured.steps)
    yield _Row(measured, Text("the best by {}", measured.critic), measured.best_by_critic)
    if measured.best_of:
        yield _Row(measured, Text("best of {}, told nothing", measured.best_of.size), measured.best_of)


def _edits(at: Shown) -> int | None:
    return at.edits if isinstance(at, Round | BestRound) else None


def _count_kept(at: Shown) -> int | None:
    return at.kept if isinstance(at, Round) else None


def _own(at: Shown) -> float | None:
    return at.own_change if isinstance(at, BestRound | BestWithoutCritique) else None


def _count(value: int | None) -> str | None:
    return None if value is None else str(value)
