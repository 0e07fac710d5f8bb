"""The results of an audit: numbers about a judge, their uncertainty and requirements, and edits to judge again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import structs

from edit_eval.benchmarks.contract import AUDIT
from edit_eval.records import LARGEST, NO_EDIT, Results, Scale, Status
from edit_eval.statistics.intervals import (
    Estimate,
    cluster_codes,
    estimate,
    normal_quantile,
    student_quantile,
    wilson_interval,
)
from edit_eval.text import Text

Bound = Literal["at_least", "at_most"]
CHANCE = 0.5
"""Rate at which the better of two edits scores higher for a judge that does not look, ties counting half."""
NEARLY = 0.45
"""Requirement for pairs that a good judge may tie: far from the one third of a judge that gives the worse edit a tenth
of the range more, and far enough from chance that a few ties falling the wrong way accuse no judge."""


Finite = Annotated[float, msgspec.Meta(ge=-LARGEST, le=LARGEST)]


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """One number about a judge."""

    value: Finite | None
    """None if it could not be computed; `reason` says why."""
    ci95: tuple[Finite, Finite] | None = None
    """Its 95 % interval, clustered on the scene; None if there is none."""
    floor: Finite | None = None
    """Limit for the bound of the interval, as `bound` says; None for a number that is only shown."""
    bound: Bound = "at_least"
    """`at_least`: the lower bound must reach the floor. `at_most`: the upper one must not exceed it."""
    passed: bool | None = None
    """None if nothing is required of it."""
    n: int = 0
    """Number of comparisons, or edits, behind it."""
    scenes: int = 0
    """Number of scenes behind it."""
    reason: str = ""
    """Why there is no number."""

    @property
    def is_missed(self) -> bool:
        """True if it was not passed with the value itself on the wrong side; if not, more scenes may show it."""
        if self.passed is not False or self.floor is None:
            return False
        if self.value is None:
            return True
        return self.value < self.floor if self.bound == "at_least" else self.value > self.floor

    @property
    def is_reversed(self) -> bool:
        """True if the worse of two edits is shown to be preferred."""
        held = self.passed is False and self.bound == "at_least" and (self.floor or 0.0) >= NEARLY
        return held and self.ci95 is not None and self.ci95[1] < CHANCE

    def is_greater_than(self, value: float) -> bool:
        """True if the whole interval lies above the value."""
        return self.ci95 is not None and self.ci95[0] > value

    def is_less_than(self, value: float) -> bool:
        """True if the whole interval lies below the value."""
        return self.ci95 is not None and self.ci95[1] < value

    def with_floor(self, floor: float | None, bound: Bound = "at_least") -> Measure:
        """Returns a copy that passes if its interval is on the right side of the floor; without an interval it does
        not."""
        if floor is None:
            return structs.replace(self, floor=None, bound=bound, passed=None)
        passed = False
        if self.ci95 is not None:
            passed = self.ci95[0] >= floor if bound == "at_least" else self.ci95[1] <= floor
        return structs.replace(self, floor=floor, bound=bound, passed=passed)


class Anchor(msgspec.Struct, frozen=True):
    """One edit of the audit, to be judged again when checking whether the judge is still the same."""

    sample: str
    """Id of its sample in the audit's benchmark, which the passport's `benchmark` draws again."""
    scene: str
    """The scene that it edits."""
    rung: str
    """What kind of edit it is."""
    category: str
    """Category of its sample."""
    pixels: str
    """Digest of the edit's pixels (`pictures.pixel_digest`): another one is another edit. Empty until looked up."""
    score: float
    """The headline, in points."""


def average(
    values: Sequence[float],
    scenes: Sequence[str],
    *,
    floor: float | None,
    bound: Bound = "at_least",
    lowest: float = 0.0,
    highest: float = 1.0,
) -> Measure:
    """Computes the mean with an interval clustered on the scenes (`intervals.estimate`), held against a floor.

    If all values are equal there is no spread to estimate: the interval is that value.
    """
    if not values:
        return Measure(value=None, reason=Text("nothing was scored")).with_floor(floor, bound)
    mean = _estimate(values, scenes)
    interval = mean.interval(lowest=lowest, highest=highest)
    if mean.doubt == "no_spread":
        interval = [mean.value, mean.value]
    return _make_measure(mean, interval, len(values)).with_floor(floor, bound)


def share(values: Sequence[float], scenes: Sequence[str], *, floor: float | None, bound: Bound = "at_least") -> Measure:
    """Computes the same for values from 0 to 1 that say whether something is so, ties one half.

    A share near 1 is skewed: with a few wrong scenes of 200, no t interval of the mean holds. So it is Wilson's
    with the effective number of trials (Korn and Graubard, Survey Methodology 24, 1998): as many independent ones as
    would have the clustered standard error, p (1 - p) / SE^2 (z / t)^2, and no more than there are. If it is so
    always, or never, that is the number of scenes: 200 scenes without a fault do not prove that there is none.
    """
    if not values:
        return Measure(value=None, reason=Text("nothing was scored")).with_floor(floor, bound)
    mean = _estimate(values, scenes)
    rate = min(1.0, max(0.0, mean.value))
    trials = _trials(mean, rate, len(values))
    interval = None if trials is None else wilson_interval(rate * trials, trials)
    if mean.doubt == "no_spread" and 0 < round(rate, 12) < 1:
        interval = [rate, rate]
    return _make_measure(mean, interval, len(values)).with_floor(floor, bound)


def _trials(mean: Estimate, rate: float, n: int) -> float | None:
    """Returns the number of independent trials that would give the same uncertainty; None if unknown."""
    if mean.doubt == "no_spread":
        return float(mean.clusters)
    if mean.doubt:
        return None
    reach = normal_quantile(0.975) / student_quantile(0.975, mean.freedom)
    return min(float(n), rate * (1 - rate) / mean.standard_error**2 * reach**2)


def compare_with_chance(outcomes: Sequence[float], scenes: Sequence[str]) -> tuple[Measure, float]:
    """Computes the share of outcomes (1, 0.5, 0), and the one-sided p that it is more than one half: the score test
    that Wilson's interval inverts, with the effective number of trials. p is 1.0 if it cannot be computed."""
    measure = share(outcomes, scenes, floor=None)
    if measure.value is None:
        return measure, 1.0
    mean = _estimate(outcomes, scenes)
    trials = _trials(mean, measure.value, len(outcomes))
    if trials is None:
        return measure, 1.0
    return measure, 0.5 * math.erfc((measure.value - CHANCE) / CHANCE * math.sqrt(trials / 2))


def _estimate(values: Sequence[float], scenes: Sequence[str]) -> Estimate:
    return estimate(np.array(values, dtype=np.float64), cluster_codes(list(scenes)))


def _make_measure(mean: Estimate, interval: Sequence[float] | None, n: int) -> Measure:
    return Measure(
        value=mean.value,
        ci95=None if interval is None else (interval[0], interval[1]),
        n=n,
        scenes=mean.clusters,
        reason="" if interval is not None else Text("of too few scenes for an interval"),
    )


# -- a judge's score of each edit of the ladder: the table behind all measures of an audit --

DOSE = {"copy": 0.0, "dose_25": 0.25, "dose_50": 0.5, "dose_75": 0.75, "right": 1.0}
"""Share of the change that is done, by rung."""


@dataclass(frozen=True)
class ShownEdit:
    """One edit, as it was shown, and the judge's score."""

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
    """All edits that one judge was shown."""

    judge: str
    scale: Scale
    worst: float
    """Headline that maps to 0."""
    best: float
    """Headline that maps to 1."""
    shown: tuple[ShownEdit, ...]
    closed: bool
    """True if the scale has both ends. If not, the worst and the best score given stand in for them, and no share of
    the range can be held against a limit."""

    @classmethod
    def from_results(cls, results: Results, judge: str) -> Trial:
        """Collects the scores by one judge of an audit's run; edits that were not drawn are left out."""
        facts = {sample.id: sample.facts[AUDIT] for sample in results.samples if AUDIT in sample.facts}
        rows = [
            judgement for judgement in results.judgements if judgement.judge == judge and judgement.sample_id in facts
        ]
        rows = [row for row in rows if row.repeat == 0 and row.status not in (*NO_EDIT, Status.PENDING)]
        scale, headline = results.scoring[judge].scale, results.scoring[judge].headline
        said = [row.scores[headline] for row in rows if headline in row.scores]
        ends = (scale.worst, scale.best)
        closed = None not in ends
        if scale.worst is None or scale.best is None:
            low, high = (min(said), max(said)) if said else (0.0, 1.0)
            ends = (low, high) if scale.higher_is_better else (high, low)
        worst, best = float(ends[0] or 0.0), float(ends[1] or 0.0)
        span = (best - worst) or 1.0
        shown = tuple(
            ShownEdit(
                sample=row.sample_id,
                category=row.category,
                status=row.status,
                score=(row.scores[headline] - worst) / span if headline in row.scores else None,
                **{key: facts[row.sample_id][key] for key in ("scene", "rung", "view", "axis", "disputed")},
            )
            for row in rows
        )
        return cls(judge, scale, worst, best, shown, closed)

    @cached_property
    def _places(self) -> dict[tuple[str, str, str], ShownEdit]:
        return {(edit.scene, edit.rung, edit.view): edit for edit in self.shown}

    @cached_property
    def edits_in_dispute(self) -> frozenset[tuple[str, str]]:
        """Scene and rung of each edit that people could disagree about."""
        return frozenset((edit.scene, edit.rung) for edit in self.shown if edit.disputed)

    @cached_property
    def edits_by_scene(self) -> dict[str, list[ShownEdit]]:
        """Edits of each scene, in their order."""
        edits: dict[str, list[ShownEdit]] = {}
        for edit in self.shown:
            edits.setdefault(edit.scene, []).append(edit)
        return edits

    @cached_property
    def _axes(self) -> dict[str, str]:
        return {edit.scene: edit.axis for edit in self.shown if edit.axis}

    @property
    def span(self) -> float:
        """Points from end to end of the scale."""
        return abs(self.best - self.worst)

    def score(self, scene: str, rung: str, view: str = "") -> float | None:
        """Returns the score from 0 to 1; None if the edit was not shown, or not scored."""
        edit = self.find_edit(scene, rung, view)
        return None if edit is None else edit.score

    def find_edit(self, scene: str, rung: str, view: str = "") -> ShownEdit | None:
        """Returns the edit; None if it was not shown."""
        return self._places.get((scene, rung, view))

    def points(self, score: float) -> float:
        """Turns a score from 0 to 1 back into points."""
        return self.worst + score * (self.best - self.worst)

    def scenes(self, category: str = "") -> list[str]:
        """Returns the scenes in their order."""
        return [scene for scene, some in self.edits_by_scene.items() if category in ("", some[0].category)]

    def categories(self) -> list[str]:
        """Returns the categories in their order."""
        return list(dict.fromkeys(edit.category for edit in self.shown))

    def compare_view(self, view: str) -> Iterator[tuple[ShownEdit, float, float]]:
        """Yields edits scored both in that view and as they are, with both scores, the plain one first."""
        for edit in self.shown:
            if edit.view == view and edit.score is not None:
                plain = self.score(edit.scene, edit.rung)
                if plain is not None:
                    yield edit, plain, edit.score

    def axis(self, scene: str) -> str:
        """Returns what the doses of a scene change; empty if it has none."""
        return self._axes.get(scene, "")
