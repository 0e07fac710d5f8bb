"""What a judge said of each edit of the ladder: the table that all measures of an audit are made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from edit_eval.benchmarks.contract import AUDIT
from edit_eval.records import NO_EDIT, Results, Scale, Status

DOSE = {"copy": 0.0, "dose_25": 0.25, "dose_50": 0.5, "dose_75": 0.75, "right": 1.0}
"""How much of the change is done, by rung."""


@dataclass(frozen=True)
class ShownEdit:
    """One edit, as it was shown, and what the judge made of it."""

    sample: str
    scene: str
    category: str
    rung: str
    view: str
    """Empty for the edit as it is."""
    axis: str
    disputed: bool
    status: Status
    score: float | None
    """The headline, from 0 (the scale's worst) to 1 (its best)."""


@dataclass(frozen=True)
class Trial:
    """All that one judge was shown."""

    judge: str
    scale: Scale
    worst: float
    """The headline that stands for 0."""
    best: float
    """The headline that stands for 1."""
    shown: tuple[ShownEdit, ...]
    closed: bool
    """Whether the scale has both ends. Where it has not, the worst and the best that the judge said stand for them, and
    no share of the range can be held against anything."""

    @classmethod
    def of(cls, results: Results, judge: str) -> Trial:
        """What one of the judges of an audit's run said; what was not judged because it is not drawn is left out."""
        facts = {sample.id: sample.facts[AUDIT] for sample in results.samples if AUDIT in sample.facts}
        rows = [one for one in results.judgements if one.judge == judge and one.sample_id in facts]
        rows = [one for one in rows if one.repeat == 0 and one.status not in (*NO_EDIT, Status.PENDING)]
        scale, headline = results.scoring[judge].scale, results.scoring[judge].headline
        said = [one.scores[headline] for one in rows if headline in one.scores]
        ends = (scale.worst, scale.best)
        closed = None not in ends
        if scale.worst is None or scale.best is None:
            low, high = (min(said), max(said)) if said else (0.0, 1.0)
            ends = (low, high) if scale.higher_is_better else (high, low)
        worst, best = float(ends[0] or 0.0), float(ends[1] or 0.0)
        span = (best - worst) or 1.0
        shown = tuple(
            ShownEdit(
                sample=one.sample_id,
                category=one.category,
                status=one.status,
                score=(one.scores[headline] - worst) / span if headline in one.scores else None,
                **{key: facts[one.sample_id][key] for key in ("scene", "rung", "view", "axis", "disputed")},
            )
            for one in rows
        )
        return cls(judge, scale, worst, best, shown, closed)

    @cached_property
    def _places(self) -> dict[tuple[str, str, str], ShownEdit]:
        return {(one.scene, one.rung, one.view): one for one in self.shown}

    @cached_property
    def disputed(self) -> frozenset[tuple[str, str]]:
        """Scene and rung of each edit about which people could differ."""
        return frozenset((one.scene, one.rung) for one in self.shown if one.disputed)

    @cached_property
    def by_scene(self) -> dict[str, list[ShownEdit]]:
        """In their order."""
        found: dict[str, list[ShownEdit]] = {}
        for one in self.shown:
            found.setdefault(one.scene, []).append(one)
        return found

    @cached_property
    def _axes(self) -> dict[str, str]:
        return {one.scene: one.axis for one in self.shown if one.axis}

    @property
    def span(self) -> float:
        """Points from end to end."""
        return abs(self.best - self.worst)

    def score(self, scene: str, rung: str, view: str = "") -> float | None:
        """From 0 to 1; None where it was not shown, or not scored."""
        found = self._places.get((scene, rung, view))
        return None if found is None else found.score

    def scenes(self, category: str = "") -> list[str]:
        """In their order."""
        return [scene for scene, some in self.by_scene.items() if category in ("", some[0].category)]

    def categories(self) -> list[str]:
        """In their order."""
        return list(dict.fromkeys(one.category for one in self.shown))

    def in_view(self, view: str) -> Iterator[tuple[ShownEdit, float, float]]:
        """What was scored both in that view and as it is, with both scores, the plain one first."""
        for one in self.shown:
            if one.view == view and one.score is not None:
                plain = self.score(one.scene, one.rung)
                if plain is not None:
                    yield one, plain, one.score

    def axis(self, scene: str) -> str:
        """What the doses of a scene change; empty where it has none."""
        return self._axes.get(scene, "")
