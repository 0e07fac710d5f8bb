"""All measures of one judge, their floors, and the verdict. docs/audit.md explains the choice of the floors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from msgspec import structs

from edit_eval.benchmarks.contract import AUDIT
from edit_eval.plugins.audit import order
from edit_eval.plugins.audit.drift import JudgedTwice
from edit_eval.plugins.audit.measure import CHANCE, NEARLY, Anchor, Measure, Trial, average, compare_with_chance, share
from edit_eval.plugins.audit.order import CONTROLS, DISPUTED, FLAWED
from edit_eval.records import LANGUAGES, NO_EDIT, Results, Scale, Status
from edit_eval.statistics.battles import BattleOutcome, battle_outcome
from edit_eval.statistics.votes import BACKWARD, FORWARD, shares
from edit_eval.text import Text

# -- measures of a judge that is shown two edits at once, on pairs of known worth --
#
# The better edit of a pair is the first one of its battle. Measures have the same names as those of single edits if
# they mean the same: the share of pairs in their order, ties and contradictions counting half.

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


ORDER, ORDER_IN_CATEGORY, RIGHT_FIRST = 0.85, 0.70, 0.80
KINDS_ERROR, KINDS_ERROR_WITHIN = 0.025, 0.01
"""One-sided errors: for each kind of pair to be above chance over all scenes (corrected over the kinds), and for naming
one that is below it, or mostly tied, in a category, or among changes of one kind done in part."""
LOWEST_QUARTER = 0.25
LOOKS = 0.75
FOLLOWS_DOSES = 0.25
STEADY = 0.07
GAIN = 0.03
ONE_SCORE = 0.5
UNSCORED = 0.05
"""Floors, or ceilings where less is better; all are shares."""
UNSCORED_GAP = 0.02
"""Ceiling of the share of wrong edits left unscored less that of right ones, where it is shown not to be 0."""
AGAIN = "again"
VIEWS = {
    # measure, and the view behind it, which should change nothing
    "retest": AGAIN,
    "batch": "alone",
    "position": "exchanged",
    "language": "language",
    "jpeg": "jpeg",
    "grey_level": "level",
    "size": "size",
}
DECISIVE = ("order", "right_over_copy", "right_over_other", "instruction", "unscored")
"""A judge that fails one of these fails: its scores say nothing about edits. Failing another one limits them."""

AuditVerdict = Literal["passed", "limited", "failed"]


@dataclass(frozen=True)
class Findings:
    """Findings of an audit."""

    trial: Trial | PairTrial
    """Trial on single edits, or on two at a time."""
    measures: dict[str, Measure]
    categories: dict[str, dict[str, Measure]]
    """Measures of each category, and of each kind of change (`hue`, ...) in which a wrong edit is preferred."""

    @property
    def verdict(self) -> AuditVerdict:
        """`failed` if a decisive measure is on the wrong side of its floor, or a worse edit is shown to be preferred;
        `limited` if anything else was not passed, even for too few scenes."""
        held = [self.measures, *self.categories.values()]
        wrongly = any(measure.is_reversed for name, measure in self.measures.items() if "_over_" in name)
        if wrongly or any(self.measures[name].is_missed for name in DECISIVE):
            return "failed"
        return "limited" if any(measure.passed is False for some in held for measure in some.values()) else "passed"

    @property
    def retest_sd(self) -> float | None:
        """In points; None also for a judge of two edits."""
        value = self.measures["retest"].value if "retest" in self.measures else None
        return None if value is None else value * self.trial.span

    @property
    def smallest_difference(self) -> float | None:
        """In points."""
        return None if self.retest_sd is None else order.smallest_difference(self.retest_sd)

    def anchors(self, each: int = 5) -> list[Anchor]:
        """Picks `each` edits of each category, of scenes far apart: of the rungs that were asked about twice, in scenes
        in which they were not (unless all were), so that anchors and `repeated` edits are drawn alike."""
        if isinstance(self.trial, PairTrial):
            return []
        trial, anchors = self.trial, []
        twice = {edit.scene for edit, _, _ in trial.compare_view(AGAIN)}
        whole = [scene for scene in trial.scenes() if trial.score(scene, "extra") is not None]  # no brief ones
        for category in trial.categories():
            scenes = [scene for scene in whole if trial.edits_by_scene[scene][0].category == category]
            scenes = [scene for scene in scenes if scene not in twice] or scenes
            for place, rung in enumerate(("right", "middle", "copy", "middle", "right")[:each]):
                scene = scenes[place * len(scenes) // each] if scenes else ""
                half = "dose_50" if trial.score(scene, "dose_50") is not None else "extra"
                edit = trial.find_edit(scene, half if rung == "middle" else rung)
                if edit is not None and edit.score is not None:
                    anchors.append(Anchor(edit.sample, edit.scene, edit.rung, category, "", trial.points(edit.score)))
        return list(dict.fromkeys(anchors))

    def pair_repeats(self) -> list[JudgedTwice]:
        """Returns the edits that were asked about twice, with both scores in points."""
        if isinstance(self.trial, PairTrial):
            return []
        points = self.trial.points
        return [
            JudgedTwice(first.sample, edit.rung, points(plain), points(other))
            for edit, plain, other in self.trial.compare_view(AGAIN)
            if (first := self.trial.find_edit(edit.scene, edit.rung)) is not None
        ]


def findings(
    results: Results, judge: str, *, pictures: int = 2, people: Mapping[str, Measure] | None = None
) -> Findings:
    """Computes all measures of one judge of an audit's run. `pictures`: how many it is shown at once. `people`: its
    measures of agreement with people, if any (`people_agreement.py`), which count in the verdict like all others."""
    if judge in results.battle_judges:
        trial_findings = findings_of_two(PairTrial.from_results(results, judge))
    else:
        trial_findings = findings_of(Trial.from_results(results, judge), pictures=pictures)
    return replace(trial_findings, measures={**trial_findings.measures, **(people or {})})


def findings_of(trial: Trial, *, pictures: int = 2, bounds: bool = True) -> Findings:
    """Computes the same from what was shown. Without `bounds` nothing is resampled, which saves a second."""
    kinds = order.axes(trial)
    retest = order.scatter(trial, AGAIN, STEADY)
    noise = order.smallest_difference(retest.value or 0.0)
    measures = {
        "order": order.order(trial, ORDER),
        "right_over_copy": order.order(trial, RIGHT_FIRST, [("right", "copy")]),
        "right_over_other": order.order(trial, RIGHT_FIRST, [("right", "other")]),
        **order.kinds(trial, KINDS_ERROR, leave_out=("right_over_copy", "right_over_other")),
        **order.subtle(trial, NEARLY),
        **{f"{name}_level": order.level(trial, name, LOWEST_QUARTER) for name in CONTROLS},
        "instruction": order.sees(trial, "instruction", noise, LOOKS),
        "source": order.sees(trial, "source", noise, LOOKS),
        **{f"dose_{kind}": order.dose_response(trial, some, FOLLOWS_DOSES) for kind, some in kinds.items()},
        **{name: order.scatter(trial, view, STEADY) for name, view in VIEWS.items()},
        **{f"words_{language}": order.measure_gain(trial, f"words_{language}", GAIN) for language in LANGUAGES},
        "modal_share": order.modal_share(trial, ONE_SCORE),
        "unscored": order.measure_unscored(trial, UNSCORED),
        "unscored_gap": order.measure_unscored_gap(trial, KINDS_ERROR_WITHIN, UNSCORED_GAP),
        # Nothing is required of the following.
        "right_first": order.order(trial, None, [("right", worse) for worse in FLAWED]),
        "full_marks": order.full_marks(trial, FLAWED),
        **{
            f"noticeable_{kind}": order.noticeable(trial, scenes, resamples=300 * bounds)
            for kind, scenes in kinds.items()
        },
        **{f"{better}_over_{worse}": order.order(trial, None, [(better, worse)]) for better, worse, _ in DISPUTED},
    }
    if not any(edit.view == "alone" for edit in trial.shown):
        measures["batch"] = Measure(value=None, reason=Text("it is asked about one edit at a time"))
    if pictures < 2:
        measures["position"] = Measure(value=None, reason=Text("it is shown one picture only"))
    within = {category: trial.scenes(category) for category in trial.categories()}
    categories = {
        category: {
            "order": order.order(trial, ORDER_IN_CATEGORY, scenes=scenes),
            **order.find_tied_flaws(trial, KINDS_ERROR_WITHIN, scenes),
            **order.less_over_more(trial, scenes),
            **order.find_reversed_pairs(trial, KINDS_ERROR_WITHIN, scenes),
        }
        for category, scenes in within.items()
    }
    liked = {
        kind: {
            **order.less_over_more(trial, scenes),
            **order.find_reversed_pairs(trial, KINDS_ERROR_WITHIN, scenes, order.IN_PART),
        }
        for kind, scenes in kinds.items()
    }
    return Findings(trial, measures, {**categories, **{kind: some for kind, some in liked.items() if some}})


def findings_of_two(trial: PairTrial) -> Findings:
    """Computes the same for a judge that was shown two edits at a time."""
    measures = measures_of(
        trial, order=ORDER, right_first=RIGHT_FIRST, looks=LOOKS, unscored=UNSCORED, error=KINDS_ERROR
    )
    within = {category: [pair for pair in trial.plain if pair.category == category] for category in trial.categories()}
    categories = {category: {"order": measure_order(some, ORDER_IN_CATEGORY)} for category, some in within.items()}
    return Findings(trial, measures, categories)
