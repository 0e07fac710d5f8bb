"""Which edit models are preferred, by people or by a judge that compares: tables and sentences for every display."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from edit_eval.reporting import formats
from edit_eval.reporting.formats import signed
from edit_eval.reporting.names import judgement_status
from edit_eval.reporting.table import Column, Line, Look, Sheet, Table
from edit_eval.statistics.battles import Fought
from edit_eval.text import Text, counted

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


def strengths_table(
    strengths: Sequence[Row],
    with_failures: Sequence[Row] | None = None,
    rated: Mapping[str, Mapping[str, float]] | None = None,
    places: Mapping[str, int] | None = None,
) -> Table[Row]:
    """A row for each edit model, the strongest first; beside it the strength with failed edits counted as lost.

    `rated`: the Elo points that other arenas would give, by arena and edit model. `places`: which colour and mark.
    """
    lost = {one["edit_model"]: one["strength"] for one in with_failures or ()}

    def points(arena: Mapping[str, float]) -> Any:
        return lambda one: None if (found := arena.get(one["edit_model"])) is None else f"{found:.0f}"

    columns: list[Column[Row]] = [
        Column(Text("Rank"), lambda one: None if one["rank"] is None else str(one["rank"]), kind="word", look="quiet"),
        Column(
            Text("Edit model"),
            lambda one: one["edit_model"],
            kind="name",
            mark=(lambda one: places[one["edit_model"]]) if places else None,
        ),
        Column(Text("Strength"), lambda one: signed(one["strength"]), look="strong"),
        Column(Text("95% interval"), lambda one: ends(one["ci95"])),
        Column(Text("With failures"), lambda one: signed(lost.get(one["edit_model"])), when=lambda one: bool(lost)),
        Column(Text("Share of votes"), lambda one: None if one["share"] is None else formats.share(one["share"], 1)),
        Column(Text("Elo"), lambda one: None if one["elo"] is None else f"{one['elo']:.0f}", roomy=True),
        *(
            Column(Text("Elo as in {}", OTHERS[name]), points(arena), look="quiet", roomy=True)
            for name, arena in (rated or {}).items()
            if name in OTHERS
        ),
    ]
    return Table(columns, by_strength(strengths), label=Text("Strengths"), style="ranks")


def by_strength(strengths: Sequence[Row]) -> list[Row]:
    """The strongest first, those that have none last."""
    return sorted(strengths, key=lambda one: (one["strength"] is None, -(one["strength"] or 0)))


def ends(interval: Sequence[float | None] | None) -> str:
    """`[-0.05, +0.39]`, `[+0.39, ∞]`; a dash where there is none."""
    if interval is None:
        return formats.NOTHING
    low, high = interval
    return f"[{f'-{_INFINITE}' if low is None else signed(low)}, {_INFINITE if high is None else signed(high)}]"


def wins_table(found: Row, order: Sequence[str], places: Mapping[str, int]) -> Table[str]:
    """For each edit model a row: how many battles it won and lost against each other one."""
    won = {(one["a"], one["b"]): (one[Fought.FIRST], one[Fought.SECOND]) for one in found["pairs"]}
    won |= {(b, a): (lost, its) for (a, b), (its, lost) in won.items()}
    surely = {(model, other) for model in order for other, low in ahead(found["differences"], model) if low and low > 0}

    def against(other: str, model: str) -> str | None:
        return "{} : {}".format(*won[model, other]) if (model, other) in won else None

    def look(other: str, model: str) -> Look:
        return "strong" if (model, other) in surely else "quiet"

    columns: list[Column[str]] = [
        Column(Text("Won : lost"), lambda model: model, kind="name", mark=lambda model: places[model])
    ]
    columns += [
        Column(other, partial(against, other), look=partial(look, other), head_mark=places[other]) for other in order
    ]
    return Table(columns, order, label=Text("Won and lost"), style="matrix-of-pairs")


OTHERS = {"geditbench_v2": "GEdit-Bench v2", "genarena": "GenArena"}


def ahead(differences: Sequence[Row], model: str) -> Iterator[tuple[str, float | None]]:
    """Each other edit model, and by how much the one is stronger at least; None where that is not known."""
    for one in differences:
        low, high = one["ci95"] or (None, None)
        if one["a"] == model:
            yield one["b"], low
        elif one["b"] == model:
            yield one["a"], None if high is None else -high


def battle_sheet(summary: Mapping[str, Any], *, titled: bool = False) -> Sheet:
    """What judges that compare say: for each its strengths, who won against whom, and how far it can be trusted.

    `titled`: it stands below a title that says that they are shown two edits.
    """

    def title_of(judge: str, score: str) -> Text:
        who = Text("{}: {}", judge, score) if score else judge
        return Text("Compared by {}", who) if titled else Text("Two edits at a time, compared by {}", who)

    places = {one["edit_model"]: place for place, one in enumerate(summary.get("edits") or ())}
    parts: list[Line | Table[Any]] = []
    for judge, of in (summary.get("battles") or {}).items():
        rated = of.get("as_others_rate")
        for score, found in of["scores"].items():
            title = title_of(judge, score if len(of["scores"]) > 1 else "")
            parts += [Line(), Line(title, "strong"), *_of_score(found, rated, places)]
            rated = None  # they have its headline's
        if joint := of.get("together"):
            parts += [Line(), Line(title_of(judge, Text("all questions together, each of the same weight")), "strong")]
            parts.append(strengths_table(joint["strengths"], places=places))
    return [*parts, Line(_ESTIMATOR, "quiet")] if parts else []


def _of_score(found: Row, rated: Any, places: Mapping[str, int]) -> Iterator[Line | Table[Any]]:
    table = strengths_table(found["strengths"], found["with_failures"], rated, places)
    yield table
    if doubt := found["strengths"][0]["no_ci95"]:
        yield Line(DOUBTS[doubt], "problem")
    yield Line()
    yield wins_table(found, [row["edit_model"] for row in table.rows], places)
    yield Line()
    yield from map(Line, _lines(found))


def _lines(found: Mapping[str, Any]) -> Iterator[Text]:
    outcomes, contradictions = found["outcomes"], found["contradictions"]
    decided = found["battles"] - outcomes[Fought.MISSING]
    yield Text(
        "{} of {} battles have an answer in both orders: {}, {} ({} of them).",
        decided,
        found["battles"],
        counted(outcomes[Fought.TIE], "tie"),
        counted(contradictions["count"], "contradiction"),
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
            [Text("{} × {}", count, judgement_status(status)) for status, count in found["missing"].items()],
        )
    if (fit := found["davidson"]) is not None and fit["side_ci95"]:
        yield Text(
            "To be shown first is worth {} {} in logits; both orders are asked, so no edit model gains by it.",
            signed(fit["side"]),
            ends(fit["side_ci95"]),
        )
