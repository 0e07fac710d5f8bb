"""All measures of one judge, their floors, and the verdict. docs/audit.md explains the choice of the floors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from edit_eval.plugins.audit import order
from edit_eval.plugins.audit.drift import JudgedTwice
from edit_eval.plugins.audit.measure import NEARLY, Anchor, Measure, Trial
from edit_eval.plugins.audit.order import CONTROLS, DISPUTED, FLAWED
from edit_eval.plugins.audit.pair_trial import PairTrial, measure_order, measures_of
from edit_eval.records import LANGUAGES, Results
from edit_eval.text import Text

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
