"""What a judge that is shown two edits at once makes of pairs of known worth, and all measures of it.

The better edit of a pair is the first one of its battle. Measures have the names of those of single edits where they
say the same: the share of pairs in their order, ties and contradictions counting half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from edit_eval.benchmarks.contract import AUDIT
from edit_eval.records import NO_EDIT, Results, Scale, Status
from edit_eval.statistics.audit.measure import CHANCE, NEARLY, Measure, above_chance, average, share
from edit_eval.statistics.battles import BACKWARD, FORWARD, Fought, fought, shares
from edit_eval.text import Text

CONTRADICTIONS = 0.25
"""The share of battles with a plain winner in which it may contradict itself: half of what chance
makes."""
SAME_OUTCOME = 0.75
"""How often it has to say the same again: half-way between chance and always."""
WORDS_GAIN = 0.1
"""By how much words in the picture of the worse edit may raise its share."""
RIGHT = "right"


@dataclass(frozen=True)
class ShownPair:
    """Two edits, as they were shown, and what the judge made of them."""

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
    came: Fought
    """`first`: the better one is preferred."""
    share: float | None
    """What the better one gets, over both orders; None where an order has no answer."""
    first: float | None
    """What the one that was shown first gets, over both orders."""
    tie: float
    """How much of the answers is a tie."""


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
    def of(cls, results: Results, judge: str) -> PairTrial:
        """What one of the judges of an audit's run said; what was not asked because it is not drawn is left out."""
        facts = {sample.id: sample.facts[AUDIT] for sample in results.samples if AUDIT in sample.facts}
        score = results.scoring[judge].headline
        found = []
        for one in results.battles:
            if one.judge != judge or one.repeat or one.sample_id not in facts:
                continue
            if one.status in (*NO_EDIT, Status.PENDING):
                continue
            fact, given = facts[one.sample_id], shares(one, score)
            got = None if given is None else [given[order][0] for order in (FORWARD, BACKWARD)]
            found.append(
                ShownPair(
                    sample=one.sample_id,
                    category=one.category,
                    better=fact["rung"],
                    worse=fact["other"],
                    status=one.status,
                    came=fought(one, score),
                    share=None if got is None else sum(got) / 2,
                    first=None if got is None else (got[0] + 1 - got[1]) / 2,
                    tie=0.0 if given is None else sum(tie for _, tie in given.values()) / 2,
                    **{key: fact[key] for key in ("scene", "view", "axis", "disputed")},
                )
            )
        return cls(judge, results.scoring[judge].scale, tuple(found))

    def scenes(self, category: str = "") -> list[str]:
        """In their order."""
        return list(dict.fromkeys(one.scene for one in self.shown if category in ("", one.category)))

    def categories(self) -> list[str]:
        """In their order."""
        return list(dict.fromkeys(one.category for one in self.shown))

    @property
    def plain(self) -> list[ShownPair]:
        """Those with a better edit beyond dispute, as they are, that were answered."""
        return [
            one
            for one in self.shown
            if not one.view and not one.disputed and one.better != one.worse and one.share is not None
        ]

    def in_view(self, view: str) -> list[tuple[ShownPair, ShownPair]]:
        """What was answered both in that view and as it is, the plain one first."""
        plain = {(one.scene, one.better, one.worse): one for one in self.plain}
        pairs = ((plain.get((one.scene, one.better, one.worse)), one) for one in self.shown if one.view == view)
        return [(as_it_is, one) for as_it_is, one in pairs if as_it_is is not None and one.share is not None]


def in_order(pairs: Sequence[ShownPair], floor: float | None) -> Measure:
    """The share that the better one gets."""
    return share([one.share or 0.0 for one in pairs], [one.scene for one in pairs], floor=floor)


def measures_of(
    trial: PairTrial, *, order: float, right_first: float, looks: float, unscored: float, error: float
) -> dict[str, Measure]:
    """All measures of a judge that compares, held against these floors; `error` is that of the kinds of pairs."""
    plain, scenes = trial.plain, [one.scene for one in trial.plain]
    gains = {
        one: [(after.scene, (before.share or 0.0) - (after.share or 0.0)) for before, after in trial.in_view(one)]
        for one in ("words_en", "words_zh")
    }
    told = [one for one in trial.shown if one.view == "instruction" and one.share is not None]
    return {
        "order": in_order(plain, order),
        "right_over_copy": in_order(_kind(plain, RIGHT, "copy"), right_first),
        "right_over_other": in_order(_kind(plain, RIGHT, "other"), right_first),
        **_kinds(trial, error),
        "instruction": share([1 - (one.share or 0.0) for one in told], [one.scene for one in told], floor=looks),
        "contradictions": share(
            [float(one.came is Fought.CONTRADICTION) for one in plain], scenes, floor=CONTRADICTIONS, bound="at_most"
        ),
        "same_again": _same(trial, "again"),
        "same_in_language": _same(trial, "language"),
        **{
            one: average(
                [gain for _, gain in some],
                [scene for scene, _ in some],
                floor=WORDS_GAIN,
                bound="at_most",
                lowest=-1.0,
            )
            for one, some in gains.items()
        },
        "unscored": share(
            [float(one.came is Fought.MISSING) for one in trial.shown],
            [one.scene for one in trial.shown],
            floor=unscored,
            bound="at_most",
        ),
        # From here on nothing is asked of them.
        "called_equal": _called_equal(trial),
        "first_shown": share([one.first or 0.0 for one in plain], scenes, floor=None),
        "right_first": in_order([one for one in plain if one.better == RIGHT], None),
    }


def _kind(pairs: Sequence[ShownPair], better: str, worse: str) -> list[ShownPair]:
    return [one for one in pairs if (one.better, one.worse) == (better, worse)]


def _kinds(trial: PairTrial, error: float) -> dict[str, Measure]:
    """Every other kind of pair by itself: whether the better edit is shown to be preferred more often than by chance,
    by Holm's correction (see `order.kinds`); of three quarters of a change only that it is not preferred to all of it.
    """
    found: dict[str, Measure] = {}
    chances: dict[str, float] = {}
    for better, worse in dict.fromkeys((one.better, one.worse) for one in trial.plain):
        name, some = f"{better}_over_{worse}", _kind(trial.plain, better, worse)
        if name in ("right_over_copy", "right_over_other"):
            continue
        if worse == "dose_75":
            one = in_order(some, None)
            found[name] = replace(one, floor=NEARLY, passed=one.value is not None and one.value >= NEARLY)
            continue
        outcomes = [one.share or 0.0 for one in some]
        found[name], chances[name] = above_chance(outcomes, [one.scene for one in some])
    holds = True
    for place, name in enumerate(sorted(chances, key=chances.__getitem__)):
        holds = holds and chances[name] <= error / (len(chances) - place)
        found[name] = replace(found[name], floor=CHANCE, passed=holds)
    return found


def _same(trial: PairTrial, view: str) -> Measure:
    """How often what came of a battle is the same in a view that should change nothing."""
    rows = trial.in_view(view)
    same = [float(before.came is after.came) for before, after in rows]
    return share(same, [after.scene for _, after in rows], floor=SAME_OUTCOME)


def _called_equal(trial: PairTrial) -> Measure:
    """How often one edit, shown twice, is called equal. Who does not is as likely to contradict himself as to prefer
    either, which raises no strength: nothing is asked of it."""
    rows = [one for one in trial.shown if one.better == one.worse and one.share is not None]
    if not any(one.tie for one in trial.shown):
        return Measure(value=None, reason=Text("it never says that two edits are equal"))
    return share([one.tie for one in rows], [one.scene for one in rows], floor=None)
