"""Every edit model in one list, by rank, with what each judge says of it side by side; and who is ahead of whom."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from edit_eval.records import JUDGE_FAILED, NO_EDIT, Scale, Status
from edit_eval.reporting import formats
from edit_eval.reporting.comparison_tables import digits_of
from edit_eval.reporting.entries import Entry
from edit_eval.reporting.formats import signed
from edit_eval.reporting.links import edit_side, link
from edit_eval.reporting.result_tables import INTERVAL, MEAN, SCORED, Figures
from edit_eval.reporting.strengths import by_strength
from edit_eval.reporting.strengths import ends as bounds
from edit_eval.reporting.table import Column, Strip, Table
from edit_eval.reporting.verdict import Verdict
from edit_eval.statistics.comparison import Pair
from edit_eval.text import Text


@dataclass(frozen=True)
class Standing:
    """One edit model."""

    edit_model: str
    place: int
    """Among the run's edit models: its colour and mark."""
    parts: Mapping[str, Entry]
    """By judge."""
    strengths: Mapping[str, Mapping[str, Any]]
    """By judge that compares, see `statistics.preferences`."""
    ranks: Mapping[str, int]
    edits: Mapping[str, Any]
    """What the summary's `edits` has of it."""

    @property
    def not_made(self) -> int:
        """Edits that were not made."""
        return sum(self.edits[status.value]["count"] for status in NO_EDIT) if self.edits else 0

    def not_scored(self, judge: str) -> int:
        """Edits that the judge gave no score."""
        found = self.parts[judge].coverage["by_status"] if judge in self.parts else {}
        return sum(found.get(status.value, 0) for status in JUDGE_FAILED)


def standings_table(
    found: Sequence[Verdict], summary: Mapping[str, Any], edit_models: Sequence[str]
) -> Table[Standing]:
    """A row for each edit model, as the first judge ranks them; of each judge rank, mean, interval and coverage, of one
    that compares rank, strength and interval."""
    edits = {one["edit_model"]: one for one in summary.get("edits") or ()}
    battles = {judge: _by_model(of) for judge, of in (summary.get("battles") or {}).items()}
    ranked = [[column.name for column in one.columns] for one in found[:1]] + [list(of) for of in battles.values()]
    order = next(iter(ranked), [])
    rows = [
        Standing(
            name,
            edit_models.index(name),
            {part.judge: part for one in found for part in one.parts if part.edit_model == name},
            {judge: of[name] for judge, of in battles.items() if name in of},
            {one.judge: column.rank for one in found for column in one.columns if column.name == name},
            edits.get(name, {}),
        )
        for name in (*order, *(name for name in edit_models if name not in order))
    ]
    several = len(found) + len(battles) > 1
    shown = [_of_judge(one, rows, over=several) for one in found]
    shown += [_of_battles(judge, rows, over=several) for judge in battles]
    name: Column[Standing] = Column(
        Text("Edit model"),
        lambda row: row.edit_model,
        "name",
        to=lambda row: link(model=row.edit_model),
        mark=lambda row: row.place,
    )
    edits_failed = _failed(Text("No edit"), lambda row: row.not_made, NO_EDIT)
    if several:
        every = [name, edits_failed, *(column for some in shown for column in some)]
    else:
        [[rank, *rest]] = shown
        judges = [one.judge for one in found]
        judge_failed = _failed(Text("No score"), lambda row: sum(map(row.not_scored, judges)), JUDGE_FAILED)
        every = [rank, name, *rest, edits_failed, judge_failed]
    return Table(every=every, rows=rows, label=Text("Rank"), style=f"standings{' of-judges' if several else ''}")


def _by_model(of: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """A judge's strengths by its headline, the strongest first."""
    return {one["edit_model"]: one for one in by_strength(next(iter(of["scores"].values()))["strengths"])}


def _failed(title: Text, count: Callable[[Standing], int], statuses: Sequence[Status]) -> Column[Standing]:
    """How many of each edit model ended so; it leads to them, where they differ to all that have no score."""

    def to(row: Standing) -> str:
        counts = [dict(part.coverage["by_status"]) for part in row.parts.values()]
        ended = {status.value for status in statuses for one in counts if one.get(status.value)}
        return link(model=row.edit_model, status=ended.pop() if len(ended) == 1 else "unscored") if count(row) else ""

    return Column(
        title,
        lambda row: str(count(row)),
        look=lambda row: "problem" if count(row) else "quiet",
        to=to,
        when=count,
    )


def _of_judge(one: Verdict, rows: Sequence[Standing], *, over: bool) -> list[Column[Standing]]:
    judge, head = one.judge, one.judge if over else ""
    blocks = [row.parts[judge].overall for row in rows if judge in row.parts]
    ends = [end for block in blocks for end in (*(block["ci95"] or ()), block["mean"]) if end is not None]
    low, high = _ends(ends, one.parts[0].scale)
    share = partial(_share, low, high)
    digits = one.parts[0].digits
    axis = Text("from {} to {}", formats.score(low, digits), formats.score(high, digits))

    def of(row: Standing) -> Figures | None:
        return Figures(row.parts[judge], row.parts[judge].overall) if judge in row.parts else None

    def strip(row: Standing) -> Strip | None:
        found = of(row)
        if found is None or not found.block["ci95"]:
            return None
        from_, to_ = map(share, found.block["ci95"])
        return Strip(from_, share(found.block["mean"]), to_, row.place)

    def incomplete(row: Standing) -> bool:
        return (found := of(row)) is not None and not found.complete

    rank: Column[Standing] = Column(Text("Rank"), lambda row: str(row.ranks.get(judge, "")), "word", look="quiet")
    return [
        replace(rank, when=lambda row: row.ranks, over=head),
        MEAN.of(of, over=head),
        INTERVAL.of(of, strip=strip, over=head, **{} if over else {"title": axis}),
        INTERVAL.of(of, look="quiet", when=lambda _: not over),
        SCORED.of(of, when=lambda row: not over or incomplete(row), over=head),
    ]


def _of_battles(judge: str, rows: Sequence[Standing], *, over: bool) -> list[Column[Standing]]:
    head = judge if over else ""
    known = [row.strengths[judge] for row in rows if judge in row.strengths]
    ends = [end for one in known for end in (*(one["ci95"] or ()), one["strength"]) if end is not None]
    low, high = _ends(ends, Scale())
    axis = Text("from {} to {}", signed(low), signed(high))

    def of(row: Standing) -> Mapping[str, Any] | None:
        return row.strengths.get(judge)

    def strip(row: Standing) -> Strip | None:
        one = of(row)
        if one is None or one["strength"] is None or not one["ci95"]:
            return None
        from_, to_ = (edge if end is None else end for end, edge in zip(one["ci95"], (low, high), strict=True))
        share = partial(_share, low, high)
        return Strip(share(from_), share(one["strength"]), share(to_), row.place)

    def rank(row: Standing) -> str:
        one = of(row)
        return "" if one is None or one["rank"] is None else str(one["rank"])

    def strength(row: Standing) -> str | None:
        return signed(one["strength"]) if (one := of(row)) else None

    def share(row: Standing) -> str | None:
        one = of(row)
        return None if one is None or one["share"] is None else formats.share(one["share"], 1)

    def interval(row: Standing) -> str:
        return bounds(one["ci95"]) if (one := of(row)) else ""

    between: Column[Standing] = Column(Text("95% interval"), interval, over=head)
    return [
        Column(Text("Rank"), rank, "word", look="quiet", over=head),
        Column(Text("Strength"), strength, look="strong", over=head),
        replace(between, strip=strip, title=between.title if over else axis),
        replace(between, look="quiet", when=lambda _: not over),
        Column(Text("Share of votes"), share, when=lambda _: not over),
    ]


def _ends(values: Sequence[float], scale: Scale) -> tuple[float, float]:
    """From where to where a strip goes: a little beyond its values, never beyond the scale."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    margin = (high - low) * 0.04 or 1.0
    lowest = -math.inf if scale.lowest is None else scale.lowest
    highest = math.inf if scale.highest is None else scale.highest
    return max(low - margin, lowest), min(high + margin, highest)


def _share(low: float, high: float, value: float) -> float:
    return (value - low) / (high - low)


def matrix_table(one: Verdict, places: Mapping[str, int], *, several: bool) -> Table[str]:
    """How far each edit model is ahead of each other by one judge: the row less the column."""
    by_names = {(pair.a, pair.b): pair for pair in one.pairs} | {(pair.b, pair.a): pair for pair in one.pairs}
    digits = digits_of(one.columns[0].scale, [column.mean for column in one.columns])
    names = [column.name for column in one.columns]

    def against(other: str) -> Column[str]:
        def pair(name: str) -> Pair | None:
            return by_names.get((name, other))

        def shows(name: str) -> str:
            found = pair(name)
            if found is None:
                return ""
            turned = found.difference if found.a == name or found.difference is None else -found.difference
            return signed(turned, digits)

        def to(name: str) -> str:
            sides = {side: edit_side(of, 0, several=several) for side, of in (("left", name), ("right", other))}
            found = pair(name)
            if found is None or not found.largest:
                return ""
            return link(judge=one.judge, sort="models", sample=found.largest[0].sample_id, **sides)

        def look(name: str) -> Any:
            found = pair(name)
            return "strong" if found and found.better else "quiet"

        return Column(other, shows, look=look, to=to, head_mark=places[other])

    head: Column[str] = Column(Text("Edit model"), lambda name: name, "name", mark=lambda name: places[name])
    return Table(
        every=[head, *map(against, names)],
        rows=names,
        label=Text("Differences by {}", one.judge),
        style="matrix-of-pairs",
    )
