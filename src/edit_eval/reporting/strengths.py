"""Which edit models are preferred, by people or by a judge that compares: tables and sentences for every display."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from edit_eval.reporting import formats
from edit_eval.reporting.formats import signed
from edit_eval.reporting.names import counted_status
from edit_eval.reporting.table import Column, Line, Sheet, Table
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
_ESTIMATOR = Text(
    "Strengths: Bradley-Terry, in logits, mean 0; a tie counts half. 95% intervals clustered on source images. A "
    "failed edit is in no battle; with failures it has lost."
)
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


OTHERS = {"geditbench_v2": "GEdit-Bench v2", "genarena": "GenArena"}


def others_table(rated: Mapping[str, Mapping[str, float]], strengths: Sequence[Row]) -> Table[Row]:
    """Elo points as other arenas define them, beside our own."""

    def points(name: str, one: Row) -> str | None:
        found = rated[name].get(one["edit_model"])
        return None if found is None else f"{found:.0f}"

    columns: list[Column[Row]] = [
        Column(Text("Elo as others define it"), lambda one: one["edit_model"], kind="name"),
        *(Column(title, partial(points, name)) for name, title in OTHERS.items() if name in rated),
    ]
    rows = sorted(strengths, key=lambda one: (one["strength"] is None, -(one["strength"] or 0)))
    return Table(columns, rows, label=Text("Elo as others define it"))


def preferred(summary: Mapping[str, Any]) -> dict[str, Text]:
    """Who is preferred by each judge that compares, by its headline; none of a judge without strengths."""
    found = {}
    for judge, of in (summary.get("battles") or {}).items():
        scored = next(iter(of["scores"].values()))
        if any(row["strength"] is None for row in scored["strengths"]):
            continue
        first = max(scored["strengths"], key=lambda row: row["strength"])["edit_model"]
        doubted = [other for other, ends in _against(scored["differences"], first) if not ends or (ends[0] or 0) <= 0]
        if doubted:
            found[judge] = Text("{} leads, and is not shown to be preferred to {: and }", first, doubted)
        else:
            found[judge] = Text("{} is preferred to every other", first)
    return found


def _against(differences: Sequence[Row], model: str) -> Iterator[tuple[str, list[float | None] | None]]:
    """Each other edit model, and the interval of how much stronger the one is."""
    for one in differences:
        ends = one["ci95"]
        if one["a"] == model:
            yield one["b"], ends
        elif one["b"] == model:
            yield one["a"], ends and [None if end is None else -end for end in reversed(ends)]


def battle_sheet(summary: Mapping[str, Any]) -> Sheet:
    """What judges that compare say: for each its strengths, who won against whom, and how far it can be trusted."""
    parts = [part for judge, of in (summary.get("battles") or {}).items() for part in _of_judge(judge, of)]
    return [*parts, Line(_ESTIMATOR, "quiet")] if parts else []


def _of_judge(judge: str, of: Mapping[str, Any]) -> Iterator[Line | Table[Any]]:
    several = len(of["scores"]) > 1
    for score, found in of["scores"].items():
        yield Line()
        title = Text("Two edits at a time, compared by {}: {}", judge, score)
        yield Line(title if several else Text("Two edits at a time, compared by {}", judge), "strong")
        table = strengths_table(found["strengths"], found["with_failures"])
        yield table
        if doubt := found["strengths"][0]["no_ci95"]:
            yield Line(DOUBTS[doubt], "problem")
        yield Line()
        yield wins_table(found["pairs"], [row["edit_model"] for row in table.rows])
        yield Line()
        yield from map(Line, _lines(found))
    if joint := of.get("together"):
        yield Line()
        yield Line(
            Text("Two edits at a time, compared by {}: all questions together, each of the same weight", judge),
            "strong",
        )
        yield strengths_table(joint["strengths"])
    if rated := of.get("as_others_rate"):
        yield Line()
        yield others_table(rated, next(iter(of["scores"].values()))["strengths"])


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
    if looks := found.get("looks"):
        yield Text(
            "{} of at most {} rounds are asked: after each the strengths are looked at, so every interval is at "
            "{:.2%}, and those of all looks together hold 95% (Bonferroni; Dunn, JASA 56, 1961).",
            looks["rounds"],
            looks["of"],
            looks["level"],
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
