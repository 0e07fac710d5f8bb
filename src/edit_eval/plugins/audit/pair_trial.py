"""Measures of a judge that is shown two edits at once, on pairs of known worth.

The better edit of a pair is the first one of its battle. Measures have the same names as those of single edits if they
mean the same: the share of pairs in their order, ties and contradictions counting half.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import structs

from edit_eval.benchmarks.contract import AUDIT
from edit_eval.plugins.audit.measure import CHANCE, NEARLY, Measure, average, compare_with_chance, share
from edit_eval.records import NO_EDIT, Results, Scale, Status
from edit_eval.statistics.battles import BattleOutcome, battle_outcome
from edit_eval.statistics.votes import BACKWARD, FORWARD, shares
from edit_eval.text import Text

CONTRADICTIONS = 0.25
"""Share of battles with a clear winner in which it may contradict itself: half of that by chance."""
SAME_OUTCOME = 0.75
"""How often it has to answer the same again: half-way between chance and always."""
WORDS_GAIN = 0.1
"""By how much words in the picture of the worse edit may raise its share."""
RIGHT = "right"


@dataclass(frozen=True)
class ShownPair:
    """Two edits, as they were shown, and the judge's answer."""

    sample: str
    scene: str
    category: str
    better: str
    worse: str
    """The rungs of the two."""
    view: str
    """Empty for the two as they are."""
    axis: str
    disputed: bool
    status: Status
    came: BattleOutcome
    """`first`: the better one is preferred."""
    share: float | None
    """Share of the better one, over both orders; None if an order has no answer."""
    first: float | None
    """Share of the one shown first, over both orders."""
    tie: float
    """Share of the answers that is a tie."""


@dataclass(frozen=True)
class PairTrial:
    """All pairs that one judge was shown."""

    judge: str
    scale: Scale
    shown: tuple[ShownPair, ...]
    worst: float = 0.0
    best: float = 1.0
    span: float = 1.0

    @classmethod
    def from_results(cls, results: Results, judge: str) -> PairTrial:
        """Collects the answers by one judge of an audit's run; pairs that were not drawn are left out."""
        facts = {sample.id: sample.facts[AUDIT] for sample in results.samples if AUDIT in sample.facts}
        score = results.scoring[judge].headline
        shown = []
        for battle in results.battles:
            if battle.judge != judge or battle.repeat or battle.sample_id not in facts:
                continue
            if battle.status in (*NO_EDIT, Status.PENDING):
                continue
            fact, given = facts[battle.sample_id], shares(battle, score)
            got = None if given is None else [given[order][0] for order in (FORWARD, BACKWARD)]
            shown.append(
                ShownPair(
                    sample=battle.sample_id,
                    category=battle.category,
                    better=fact["rung"],
                    worse=fact["other"],
                    status=battle.status,
                    came=battle_outcome(battle, score),
                    share=None if got is None else math.fsum(got) / 2,
                    first=None if got is None else (got[0] + 1 - got[1]) / 2,
                    tie=0.0 if given is None else math.fsum(tie for _, tie in given.values()) / 2,
                    **{key: fact[key] for key in ("scene", "view", "axis", "disputed")},
                )
            )
        return cls(judge, results.scoring[judge].scale, tuple(shown))

    def scenes(self, category: str = "") -> list[str]:
        """Returns the scenes in their order."""
        return list(dict.fromkeys(pair.scene for pair in self.shown if category in ("", pair.category)))

    def categories(self) -> list[str]:
        """Returns the categories in their order."""
        return list(dict.fromkeys(pair.category for pair in self.shown))

    @property
    def plain(self) -> list[ShownPair]:
        """Answered pairs with a better edit beyond dispute, shown as they are."""
        return [
            pair
            for pair in self.shown
            if not pair.view and not pair.disputed and pair.better != pair.worse and pair.share is not None
        ]

    def compare_view(self, view: str) -> list[tuple[ShownPair, ShownPair]]:
        """Returns pairs answered both in that view and as they are, the plain one first."""
        plain = {(pair.scene, pair.better, pair.worse): pair for pair in self.plain}
        pairs = ((plain.get((pair.scene, pair.better, pair.worse)), pair) for pair in self.shown if pair.view == view)
        return [(as_it_is, pair) for as_it_is, pair in pairs if as_it_is is not None and pair.share is not None]


def measure_order(pairs: Sequence[ShownPair], floor: float | None) -> Measure:
    """Computes the better one's share."""
    return share([pair.share or 0.0 for pair in pairs], [pair.scene for pair in pairs], floor=floor)


def measures_of(
    trial: PairTrial, *, order: float, right_first: float, looks: float, unscored: float, error: float
) -> dict[str, Measure]:
    """Returns all measures of a judge of two edits, held against these floors; `error` is for the kinds of pairs."""
    plain, scenes = trial.plain, [pair.scene for pair in trial.plain]
    gains = {
        view: [
            (after.scene, (before.share or 0.0) - (after.share or 0.0)) for before, after in trial.compare_view(view)
        ]
        for view in ("words_en", "words_zh")
    }
    asked = [pair for pair in trial.shown if pair.view == "instruction" and pair.share is not None]
    return {
        "order": measure_order(plain, order),
        "right_over_copy": measure_order(_kind(plain, RIGHT, "copy"), right_first),
        "right_over_other": measure_order(_kind(plain, RIGHT, "other"), right_first),
        **_kinds(trial, error),
        "instruction": share([1 - (pair.share or 0.0) for pair in asked], [pair.scene for pair in asked], floor=looks),
        "contradictions": share(
            [float(pair.came is BattleOutcome.CONTRADICTION) for pair in plain],
            scenes,
            floor=CONTRADICTIONS,
            bound="at_most",
        ),
        "same_again": _same(trial, "again"),
        "same_in_language": _same(trial, "language"),
        **{
            view: average(
                [gain for _, gain in some], [scene for scene, _ in some], floor=WORDS_GAIN, bound="at_most", lowest=-1.0
            )
            for view, some in gains.items()
        },
        "unscored": share(
            [float(pair.came is BattleOutcome.MISSING) for pair in trial.shown],
            [pair.scene for pair in trial.shown],
            floor=unscored,
            bound="at_most",
        ),
        # Nothing is required of the following.
        "called_equal": _measure_ties(trial),
        "first_shown": share([pair.first or 0.0 for pair in plain], scenes, floor=None),
        "right_first": measure_order([pair for pair in plain if pair.better == RIGHT], None),
    }


def _kind(pairs: Sequence[ShownPair], better: str, worse: str) -> list[ShownPair]:
    return [pair for pair in pairs if (pair.better, pair.worse) == (better, worse)]


def _kinds(trial: PairTrial, error: float) -> dict[str, Measure]:
    """Tests every other kind of pair: whether the better edit is shown to be preferred more often than by chance, by
    Holm's correction (see `order.kinds`); three quarters of a change must only not be preferred to all of it."""
    measures: dict[str, Measure] = {}
    chances: dict[str, float] = {}
    for better, worse in dict.fromkeys((pair.better, pair.worse) for pair in trial.plain):
        name, some = f"{better}_over_{worse}", _kind(trial.plain, better, worse)
        if name in ("right_over_copy", "right_over_other"):
            continue
        if worse == "dose_75":
            measure = measure_order(some, None)
            measures[name] = structs.replace(
                measure, floor=NEARLY, passed=measure.value is not None and measure.value >= NEARLY
            )
            continue
        outcomes = [pair.share or 0.0 for pair in some]
        measures[name], chances[name] = compare_with_chance(outcomes, [pair.scene for pair in some])
    holds = True
    for place, name in enumerate(sorted(chances, key=chances.__getitem__)):
        holds = holds and chances[name] <= error / (len(chances) - place)
        measures[name] = structs.replace(measures[name], floor=CHANCE, passed=holds)
    return measures


def _same(trial: PairTrial, view: str) -> Measure:
    """Computes how often the outcome is the same in a view that should change nothing."""
    rows = trial.compare_view(view)
    same = [float(before.came is after.came) for before, after in rows]
    return share(same, [after.scene for _, after in rows], floor=SAME_OUTCOME)


def _measure_ties(trial: PairTrial) -> Measure:
    """Computes how often one edit, shown twice, is called equal. A judge that does not is as likely to contradict
    itself as to prefer either, which raises no strength: nothing is required of it."""
    rows = [pair for pair in trial.shown if pair.better == pair.worse and pair.share is not None]
    if not any(pair.tie for pair in trial.shown):
        return Measure(value=None, reason=Text("it never says that two edits are equal"))
    return share([row.tie for row in rows], [row.scene for row in rows], floor=None)
