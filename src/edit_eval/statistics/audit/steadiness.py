"""Whether a judge looks at what it is asked and shown, and at nothing else."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from edit_eval.records import Status
from edit_eval.statistics.audit.measure import Measure, average, share
from edit_eval.statistics.audit.order import SAME, ahead
from edit_eval.statistics.audit.shown import Trial
from edit_eval.text import Text

Z = 1.959963984540054
"""The two-sided 5 % point of the standard normal distribution."""


def scatter(trial: Trial, view: str, ceiling: float | None) -> Measure:
    """The standard deviation of one edit's score between the edit as it is and in a view that should change nothing:
    the root of the mean of half the squared differences (Bland and Altman, BMJ 312, 1996), as a share of the range."""
    rows = list(trial.in_view(view))
    ceiling = ceiling if trial.closed else None
    halves = [(other - plain) ** 2 / 2 for _, plain, other in rows]
    found = average(halves, [one.scene for one, _, _ in rows], floor=None, lowest=0.0)
    if found.value is None:
        return found.held_against(ceiling, "at_most")
    interval = found.ci95 and (math.sqrt(max(0.0, found.ci95[0])), math.sqrt(max(0.0, found.ci95[1])))
    return replace(found, value=math.sqrt(found.value), ci95=interval).held_against(ceiling, "at_most")


def smallest_difference(retest: float) -> float:
    """The smallest difference of two single scores that is more than noise, of the retest standard deviation:
    1.96 sqrt(2) times that (the smallest detectable change)."""
    return Z * math.sqrt(2.0) * retest


def sees(trial: Trial, view: str, noise: float, floor: float | None) -> Measure:
    """How often the same pixels score higher where they are right than in a view in which they are wrong, by more than
    the noise (a difference within it counts half, so that whoever does not look comes to one half)."""
    rows = list(trial.in_view(view))
    won = [ahead(plain, other, max(SAME, noise)) for _, plain, other in rows]
    return share(won, [one.scene for one, _, _ in rows], floor=floor)


def raised(trial: Trial, view: str, ceiling: float | None) -> Measure:
    """By how much a view raises the score, as a share of the range; negative where it lowers it."""
    rows = list(trial.in_view(view))
    gains = [other - plain for _, plain, other in rows]
    ceiling = ceiling if trial.closed else None
    return average(gains, [one.scene for one, _, _ in rows], floor=ceiling, bound="at_most", lowest=-1.0)


# -- resolution --


def modal_share(trial: Trial, ceiling: float | None) -> Measure:
    """The share of edits, right and wrong, that got the one score that was given most often."""
    rows = [(one.scene, round(one.score, 9)) for one in trial.shown if one.score is not None and not one.view]
    if not rows:
        return Measure(value=None, reason=Text("nothing was scored")).held_against(ceiling, "at_most")
    mode = Counter(score for _, score in rows).most_common(1)[0][0]
    same = [float(score == mode) for _, score in rows]
    return share(same, [scene for scene, _ in rows], floor=ceiling, bound="at_most")


def full_marks(trial: Trial, rungs: Sequence[str]) -> Measure:
    """The share of these edits that got the best score there is."""
    rows = [one for one in trial.shown if one.rung in rungs and not one.view and one.score is not None]
    best = [float((one.score or 0.0) >= 1.0 - SAME) for one in rows]
    return share(best, [one.scene for one in rows], floor=None)


def unscored(trial: Trial, ceiling: float | None) -> Measure:
    """The share of all that was shown for which there is no score."""
    lost = [float(one.status is not Status.OK) for one in trial.shown]
    return share(lost, [one.scene for one in trial.shown], floor=ceiling, bound="at_most")


def unscored_gap(trial: Trial) -> Measure:
    """The unscored share of wrong edits less that of right ones, scene by scene: a judge that is silent about what is
    wrong spares it."""
    gaps, scenes = [], []
    for scene, some in trial.by_scene.items():
        rows = [one for one in some if not one.view]
        right = [one for one in rows if one.rung == "right"]
        wrong = [one for one in rows if one.rung != "right"]
        if right and wrong:
            lost = [sum(one.score is None for one in some) / len(some) for some in (wrong, right)]
            gaps.append(lost[0] - lost[1])
            scenes.append(scene)
    return average(gaps, scenes, floor=None, lowest=-1.0)
