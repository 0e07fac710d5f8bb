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
    """A row for each edit model, as the first judge ranks them; of each judge rank, mean, interval and coverage."""
    edits = {one["edit_model"]: one for one in summary.get("edits") or ()}
    order = [column.name for column in found[0].columns] or list(edit_models)
    rows = [
        Standing(
            name,
            edit_models.index(name),
            {part.judge: part for one in found for part in one.parts if part.edit_model == name},
            {one.judge: column.rank for one in found for column in one.columns if column.name == name},
            edits.get(name, {}),
        )
        for name in (*order, *(name for name in edit_models if name not in order))
    ]
    several = len(found) > 1
    every: list[Column[Standing]] = [] if several else _of_judge(found[0], rows, over=False)
    name: Column[Standing] = Column(
        Text("Edit model"),
        lambda row: row.edit_model,
        "name",
        to=lambda row: link(model=row.edit_model),
        mark=lambda row: row.place,
    )
    edits_failed = _failed(Text("No edit"), lambda row: row.not_made, NO_EDIT)
    if several:
        every = [name, edits_failed, *(column for one in found for column in _of_judge(one, rows, over=True))]
    else:
        judge = found[0].judge
        judge_failed = _failed(Text("No score"), lambda row: row.not_scored(judge), JUDGE_FAILED)
        every = [every[0], name, *every[1:], edits_failed, judge_failed]
    return Table(every=every, rows=rows, label=Text("Rank"), style=f"standings{' of-judges' if several else ''}")


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
