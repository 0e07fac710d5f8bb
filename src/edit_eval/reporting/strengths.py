"""Which edit models are preferred, by people or by a judge that compares: tables and sentences for every display."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from edit_eval.reporting import formats
from edit_eval.reporting.formats import signed
from edit_eval.reporting.names import counted_status
from edit_eval.reporting.table import Column, Line, Sheet, Table
from edit_eval.reporting.verdict import listed_models
from edit_eval.statistics.battles import Fought
from edit_eval.text import Text

Row = Mapping[str, Any]

DOUBTS = {
    "no_votes": Text("No strengths: nobody has preferred one to another."),
    "not_connected": Text(
        "No strengths: some edit models were never compared, neither with each other nor by way of others."
    ),
    "unbounded": Text(
        "Some won, or lost, everything against the others: their strengths have no bound, and are "
        "those with one tie more between every two."
    ),
    "few_clusters": Text("No intervals: votes on fewer than three source images."),
}
_INFINITE = "∞"


def strengths_table(strengths: Sequence[Row], with_failures: Sequence[Row] | None = None) -> Table[Row]:
    """A row for each edit model, the strongest first; beside it the strength with failed edits counted as lost."""
    lost = {one["edit_model"]: one["strength"] for one in with_failures or ()}
    columns: list[Column[Row]] = [
        Column(Text("Edit model"), lambda one: one["edit_model"], kind="name"),
        Column(Text("Strength"), lambda one: signed(one["strength"]), look="strong"),
        Column(Text("95% interval"), lambda one: ends(one["ci95"])),
        Column(Text("With failures"), lambda one: signed(lost.get(one["edit_model"])), when=lambda one: bool(lost)),
        Column(Text("Share of votes"), lambda one: None if one["share"] is None else formats.share(one["share"], 1)),
        Column(Text("Elo"), lambda one: None if one["elo"] is None else f"{one['elo']:.0f}", roomy=True),
        Column(Text("Rank"), lambda one: None if one["rank"] is None else str(one["rank"])),
    ]
    rows = sorted(strengths, key=lambda one: (one["strength"] is None, -(one["strength"] or 0)))
    return Table(columns, rows, label=Text("Strengths"))


def ends(interval: Sequence[float | None] | None) -> str:
    """`[-0.05, +0.39]`, `[+0.39, ∞]`; a dash where there is none."""
    if interval is None:
        return formats.NOTHING
    low, high = interval
    return f"[{f'-{_INFINITE}' if low is None else signed(low)}, {_INFINITE if high is None else signed(high)}]"


def wins_table(pairs: Sequence[Row], order: Sequence[str]) -> Table[str]:
    """For each edit model a row: how many battles it won and lost against each other one."""
    won = {(one["a"], one["b"]): (one[Fought.FIRST], one[Fought.SECOND]) for one in pairs}
    won |= {(b, a): (lost, its) for (a, b), (its, lost) in won.items()}

    def against(other: str, model: str) -> str | None:
        return "{} : {}".format(*won[model, other]) if (model, other) in won else None

    columns: list[Column[str]] = [Column(Text("Won : lost"), lambda model: model, kind="name")]
    columns += [Column(other, partial(against, other)) for other in order]
    return Table(columns, order, label=Text("Won and lost"))


def battle_verdict(judge: str, found: Mapping[str, Any]) -> tuple[Text, Text]:
    """Whom a judge that compares prefers, and how often the first of them won; without full stops, the second perhaps
    empty."""
    known = [one for one in found["strengths"] if one["strength"] is not None]
    if len(known) < 2:
        return Text("{} ranks nobody", judge), Text("")
    best, *others = [one["edit_model"] for one in sorted(known, key=lambda one: -one["strength"])]
    beaten = [name for name in others if _is_ahead(best, name, found["differences"])]
    unsure = [name for name in others if name not in beaten]
    won = sum(one[Fought.FIRST if one["a"] == best else Fought.SECOND] for one in found["pairs"] if best in _of(one))
    lost = sum(one[Fought.SECOND if one["a"] == best else Fought.FIRST] for one in found["pairs"] if best in _of(one))
    rest = Text("{} won {} battles and lost {}", best, won, lost)
    if not unsure:
        return Text("{} wins: {} prefers it to {}", best, judge, listed_models(beaten)), rest
    if not beaten:
        return Text("No winner yet: {} leads, but cannot be told from {}", best, listed_models(unsure)), rest
    words = Text(
        "{} leads: it is better than {}, and cannot be told from {}", best, listed_models(beaten), listed_models(unsure)
    )
    return words, rest


def _of(pair: Row) -> tuple[str, str]:
    return pair["a"], pair["b"]


def _is_ahead(one: str, other: str, differences: Sequence[Row]) -> bool:
    """Whether the interval of their difference says so. An open end is None."""
    for found in differences:
        low, high = found["ci95"] or (None, None)
        if _of(found) == (one, other):
            return low is not None and low > 0
        if _of(found) == (other, one):
            return high is not None and high < 0
    return False


def battle_sheet(summary: Mapping[str, Any]) -> Sheet:
    """What judges that compare say: for each its strengths, who won against whom, and how far it can be trusted."""
    return [part for judge, of in (summary.get("battles") or {}).items() for part in _of_judge(judge, of)]


def _of_judge(judge: str, of: Mapping[str, Any]) -> Iterator[Line | Table[Any]]:
    several = len(of["scores"]) > 1
    for score, found in of["scores"].items():
        yield Line()
        title = Text("Two edits at a time, compared by {}: {}", judge, score)
        yield Line(title if several else Text("Two edits at a time, compared by {}", judge), "strong")
        yield Line(Text("{:. }.", [one for one in battle_verdict(judge, found) if one]))
        table = strengths_table(found["strengths"], found["with_failures"])
        yield table
        if doubt := found["strengths"][0]["no_ci95"]:
            yield Line(DOUBTS[doubt], "problem")
        yield Line()
        yield wins_table(found["pairs"], [row["edit_model"] for row in table.rows])
        yield Line()
        yield from map(Line, _lines(found))


def _lines(found: Mapping[str, Any]) -> Iterator[Text]:
    outcomes, contradictions = found["outcomes"], found["contradictions"]
    decided = found["battles"] - outcomes[Fought.MISSING]
    yield Text(
        "{} of {} battles are decided in both orders: {} ties, {} contradictions ({} of them).",
        decided,
        found["battles"],
        outcomes[Fought.TIE],
        contradictions["count"],
        formats.NOTHING if contradictions["share"] is None else formats.share(contradictions["share"], 1),
    )
    if found["missing"]:
        yield Text(
            "Without an outcome: {}.",
            [counted_status(count, status) for status, count in found["missing"].items()],
        )
    if (fit := found["davidson"]) is not None and fit["side_ci95"]:
        yield Text(
            "To be shown first is worth {} {} in logits; both orders are asked, so no edit model gains by it.",
            signed(fit["side"]),
            ends(fit["side_ci95"]),
        )
    yield Text(
        "Strengths: Bradley-Terry, in logits, mean 0; a tie counts half. 95% intervals clustered on source images. A "
        "failed edit is in no battle; with failures it has lost."
    )
