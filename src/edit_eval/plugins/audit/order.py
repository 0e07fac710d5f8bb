"""Measures of a judge on single edits: whether it ranks them by their known worth, how small a flaw it notices, and
whether it looks at what it is asked and shown, and at nothing else."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import structs

from edit_eval.plugins.audit.measure import CHANCE, DOSE, Measure, Trial, average, compare_with_chance, share
from edit_eval.records import Status
from edit_eval.statistics.intervals import FloatArray, bootstrap_interval, cluster_codes, estimate
from edit_eval.text import Text

CONTROLS = ("copy", "shuffled", "blank")
FLAWED = ("extra", "no_consequence", "dose_75", "dose_50", "dose_25", "wrong_target", "other", *CONTROLS)
PAIRS = (
    # better, worse: beyond dispute
    *(("right", worse) for worse in FLAWED),
    *(("extra", worse) for worse in ("other", *CONTROLS)),  # what was asked for is done
    ("dose_75", "dose_25"),
    ("dose_75", "copy"),
    ("dose_50", "copy"),
    ("copy", "blank"),
)
SUBTLE = (("right", "dose_75"), ("copy", "blank"))
"""Pairs that a good judge may tie: it is only required not to prefer the worse edit."""
KINDS_OF_PAIRS = {f"{better}_over_{worse}": (better, worse) for better, worse in PAIRS if (better, worse) not in SUBTLE}
"""Kinds of pairs that must each be above chance."""
IN_PART = tuple(pair for pair in PAIRS if any("dose" in rung for rung in pair))
"""Pairs of more and less of the same change."""
ENOUGH = 20
"""Number of scenes of one kind of change from which the value itself must not be below chance: a judge that is right in
three of four hardly ever is, and one that likes the lesser part by a tenth of the range nearly always."""
DISPUTED = (
    # better in our view, worse, and why people may disagree
    ("wrong_target", "copy", Text("something was done, and to the wrong thing")),
    ("copy", "other", Text("nothing was done, or something that was not asked for")),
    ("copy", "shuffled", Text("the source itself, or another picture altogether")),
    ("dose_25", "copy", Text("so little is done that nothing may be better")),
)
SAME = 1e-9
"""Scores that differ by less are equal: the difference is rounding."""
NOTICED = 0.75
"""Share of comparisons that must come out right for a flaw to count as noticed: half-way between chance and always, as
in psychophysics with two alternatives."""


class OrderedPair(NamedTuple):
    """One pair of edits of a scene."""

    scene: str
    outcome: float
    """1: the better edit scores higher, 0.5: equal, 0: the worse one scores higher."""


def ahead(better: float, worse: float, noise: float = SAME) -> float:
    """Returns 1, 0.5 or 0; scores that differ by no more than the noise are a tie."""
    return 0.5 if abs(better - worse) <= noise else float(better > worse)


def comparisons(
    trial: Trial, pairs: Sequence[tuple[str, str]], scenes: Sequence[str] | None = None
) -> list[OrderedPair]:
    """Compares every pair that has both scores in these scenes (None: in any); edits disputed in a scene are left
    out."""
    rows = []
    for scene in trial.scenes() if scenes is None else scenes:
        for better, worse in pairs:
            high, low = trial.score(scene, better), trial.score(scene, worse)
            if high is None or low is None or {(scene, better), (scene, worse)} & trial.edits_in_dispute:
                continue
            rows.append(OrderedPair(scene, ahead(high, low)))
    return rows


def order(
    trial: Trial, floor: float | None, pairs: Sequence[tuple[str, str]] = PAIRS, scenes: Sequence[str] | None = None
) -> Measure:
    """Computes the share of pairs in the right order, ties counting half."""
    rows = comparisons(trial, pairs, scenes)
    return share([row.outcome for row in rows], [row.scene for row in rows], floor=floor)


def kinds(trial: Trial, error: float, leave_out: Container[str] = ()) -> dict[str, Measure]:
    """Tests every kind of pair over all categories: whether the better edit is shown to score higher more often than
    by chance. Holm's correction (Scandinavian Journal of Statistics 6, 1979) over the kinds, `error` in all and
    one-sided, so that none hides among the others. Nothing is required of a kind that no scene has."""
    measures: dict[str, Measure] = {}
    chances: dict[str, float] = {}
    for name, pair in KINDS_OF_PAIRS.items():
        if name in leave_out:
            continue
        if not _has(trial, pair):
            measures[name] = Measure(value=None, reason=Text("no scene has both"))
            continue
        rows = comparisons(trial, [pair])
        measures[name], chances[name] = compare_with_chance([row.outcome for row in rows], [row.scene for row in rows])
    holds = True
    for place, name in enumerate(sorted(chances, key=chances.__getitem__)):
        holds = holds and chances[name] <= error / (len(chances) - place)
        measures[name] = structs.replace(measures[name], floor=CHANCE, passed=holds)
    return measures


def subtle(trial: Trial, floor: float) -> dict[str, Measure]:
    """Tests the pairs that are hard to tell, over all categories: the value has to reach the floor. A hundred scenes
    or so are too few to show that a judge is above chance if it puts the better one first in six of ten."""
    measures = {}
    for pair in SUBTLE:
        name, measure = "_over_".join(pair), order(trial, None, [pair])
        if not _has(trial, pair):
            measures[name] = structs.replace(measure, reason="no scene has both")
        else:
            measures[name] = structs.replace(
                measure, floor=floor, passed=measure.value is not None and measure.value >= floor
            )
    return measures


def _has(trial: Trial, pair: tuple[str, str]) -> bool:
    """True if any scene has both edits, as they are and beyond dispute."""
    there = {(edit.scene, edit.rung) for edit in trial.shown if not edit.view and not edit.disputed}
    return any({(scene, rung) for rung in pair} <= there for scene in trial.scenes())


def find_reversed_pairs(
    trial: Trial, error: float, scenes: Sequence[str], pairs: Sequence[tuple[str, str]] = PAIRS
) -> dict[str, Measure]:
    """Returns the pairs whose worse edit is shown to be preferred in these scenes, each at the one-sided `error`. An
    honest judge has none, so no correction is needed."""
    measures = {}
    for pair in pairs:
        rows = comparisons(trial, [pair], scenes)
        measure, chance = compare_with_chance([1 - row.outcome for row in rows], [row.scene for row in rows])
        if chance <= error and measure.value is not None and measure.ci95 is not None:
            measures["_over_".join(pair)] = structs.replace(
                measure,
                value=1 - measure.value,
                ci95=(1 - measure.ci95[1], 1 - measure.ci95[0]),
                floor=CHANCE,
                passed=False,
            )
    return measures


def find_tied_flaws(trial: Trial, error: float, scenes: Sequence[str]) -> dict[str, Measure]:
    """Returns the flaws (not subtle ones) that cost nothing in most of these scenes: the right edit and the flawed one
    are shown, at the one-sided `error`, to have the same score in more than half. In the order of all pairs they hide,
    as a tie counts half."""
    measures = {}
    for worse in (worse for worse in FLAWED if ("right", worse) not in SUBTLE):
        rows = comparisons(trial, [("right", worse)], scenes)
        _, chance = compare_with_chance([float(row.outcome == CHANCE) for row in rows], [row.scene for row in rows])
        if chance <= error:
            measure = order(trial, None, [("right", worse)], scenes)
            measures[f"right_over_{worse}"] = structs.replace(measure, floor=NOTICED, passed=False)
    return measures


def less_over_more(trial: Trial, scenes: Sequence[str]) -> dict[str, Measure]:
    """Returns the pairs (not subtle ones) whose lesser part wins in more of these scenes than not, or that are never
    told apart in them; none with fewer scenes than `ENOUGH`."""
    measures = {}
    for pair in (pair for pair in IN_PART if pair not in SUBTLE):
        measure = order(trial, None, [pair], scenes)
        if (
            measure.value is not None
            and measure.scenes >= ENOUGH
            and (measure.value < CHANCE or measure.ci95 == (CHANCE, CHANCE))
        ):
            measures["_over_".join(pair)] = structs.replace(measure, floor=CHANCE, passed=False)
    return measures


def level(trial: Trial, control: str, ceiling: float | None) -> Measure:
    """Computes the mean score of a control, from 0 to 1; on an open scale nothing is required of it."""
    rows = [edit for edit in trial.shown if edit.rung == control and not edit.view and edit.score is not None]
    scores = [row.score for row in rows if row.score is not None]
    ceiling = ceiling if trial.closed else None
    return average(scores, [row.scene for row in rows], floor=ceiling, bound="at_most")


# -- doses --


def ladder_of(trial: Trial, scene: str) -> list[tuple[float, float]]:
    """Returns dose and score of each scored dose of a scene, including the source (0) and the right edit (1)."""
    ladder = ((dose, trial.score(scene, rung)) for rung, dose in DOSE.items())
    return [(dose, score) for dose, score in ladder if score is not None]


def parts_of(trial: Trial, scene: str) -> list[tuple[float, float]]:
    """Returns the same without the source: a judge that only sees that something changed scores all these alike."""
    return [(dose, score) for dose, score in ladder_of(trial, scene) if dose > 0]


def axes(trial: Trial) -> dict[str, list[str]]:
    """Returns the scenes of each kind of dose."""
    scenes_by_axis: dict[str, list[str]] = {}
    for scene in trial.scenes():
        if (axis := trial.axis(scene)) and len(parts_of(trial, scene)) >= 3:
            scenes_by_axis.setdefault(axis, []).append(scene)
    return dict(sorted(scenes_by_axis.items()))


FEWEST_SCENES = 8
"""With fewer scenes no judge passes at a kind of dose: a single odd scene would decide."""


def dose_response(trial: Trial, scenes: Sequence[str], floor: float) -> Measure:
    """Computes Spearman's rank correlation of dose and score within a scene, from the smallest dose to the right edit,
    on average; 0 if all scores are equal. Its value is held against the floor: with some twenty scenes of a kind of
    dose, one honest judge in three would not reach it with the bound of an interval."""
    measure = average([spearman(parts_of(trial, scene)) for scene in scenes], list(scenes), floor=None, lowest=-1.0)
    passed = len(scenes) >= FEWEST_SCENES and measure.value is not None and measure.value >= floor
    return structs.replace(measure, floor=floor, passed=passed)


def spearman(pairs: Sequence[tuple[float, float]]) -> float:
    """Computes it for (dose, score), ties with mean ranks; 0.0 if one of them does not vary."""
    first, second = (_ranks([round(pair[k], 9) for pair in pairs]) for k in (0, 1))
    first, second = first - first.mean(), second - second.mean()
    norm = float(np.sqrt((first**2).sum() * (second**2).sum()))
    return float((first * second).sum()) / norm if norm else 0.0


def _ranks(values: Sequence[float]) -> FloatArray:
    """Returns ranks from 1, ties with their mean rank; scipy.stats has this too, but takes a second to import."""
    _, of_value, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[of_value]


def noticeable(trial: Trial, scenes: Sequence[str], *, resamples: int = 300) -> Measure:
    """Computes the smallest missing share of a change for which `NOTICED` of right edits score higher, by straight
    lines between the doses; with bounds from resampled scenes. None if even the source (all missing) is not enough."""
    rows = [
        (1.0 - dose, ahead(right, score), scene)
        for scene in scenes
        if (right := trial.score(scene, "right")) is not None
        for dose, score in ladder_of(trial, scene)
        if dose < 1.0
    ]
    if not rows:
        return Measure(value=None, reason=Text("no scene has doses"))
    missing, won = (np.array([row[k] for row in rows], dtype=float) for k in (0, 1))
    clusters = cluster_codes([row[2] for row in rows])

    def find_threshold(weights: FloatArray) -> float | None:
        before = (0.0, 0.5)
        for step in sorted(set(missing.tolist())):
            here = (missing == step) * weights
            if not here.sum():
                continue
            now = (step, float((here * won).sum() / here.sum()))
            if now[1] >= NOTICED:
                slope = (NOTICED - before[1]) / (now[1] - before[1])
                return float(before[0] + slope * (now[0] - before[0]))
            before = now
        return None

    value = find_threshold(np.ones(len(rows)))
    bounds = bootstrap_interval(find_threshold, clusters, resamples=resamples)
    return Measure(
        value=value,
        ci95=None if bounds is None else (bounds[0], bounds[1]),
        n=len(rows),
        scenes=len(scenes),
        reason="" if value is not None else Text("not even the source itself is told from the right edit"),
    )


# -- attention: does it look at what it is asked and shown? --

Z = 1.959963984540054
"""The two-sided 5 % point of the standard normal distribution."""


def scatter(trial: Trial, view: str, ceiling: float | None) -> Measure:
    """Computes the standard deviation of an edit's score between the edit as it is and a view that should change
    nothing: the root of the mean of half the squared differences (Bland and Altman, BMJ 312, 1996), as a share of the
    range."""
    rows = list(trial.compare_view(view))
    ceiling = ceiling if trial.closed else None
    halves = [(other - plain) ** 2 / 2 for _, plain, other in rows]
    variance = average(halves, [edit.scene for edit, _, _ in rows], floor=None, lowest=0.0)
    if variance.value is None:
        return variance.with_floor(ceiling, "at_most")
    interval = variance.ci95 and (math.sqrt(max(0.0, variance.ci95[0])), math.sqrt(max(0.0, variance.ci95[1])))
    return structs.replace(variance, value=math.sqrt(variance.value), ci95=interval).with_floor(ceiling, "at_most")


def smallest_difference(retest: float) -> float:
    """Returns the smallest difference of two single scores that exceeds noise, from the retest standard deviation:
    1.96 sqrt(2) times that (the smallest detectable change)."""
    return Z * math.sqrt(2.0) * retest


def sees(trial: Trial, view: str, noise: float, floor: float | None) -> Measure:
    """Computes how often the same pixels score higher where they are right than in a view in which they are wrong, by
    more than the noise (smaller differences count half, so a judge that does not look comes to one half)."""
    rows = list(trial.compare_view(view))
    won = [ahead(plain, other, max(SAME, noise)) for _, plain, other in rows]
    return share(won, [edit.scene for edit, _, _ in rows], floor=floor)


def measure_gain(trial: Trial, view: str, ceiling: float | None) -> Measure:
    """Computes by how much a view raises the score, as a share of the range; negative if it lowers it."""
    rows = list(trial.compare_view(view))
    gains = [other - plain for _, plain, other in rows]
    ceiling = ceiling if trial.closed else None
    return average(gains, [edit.scene for edit, _, _ in rows], floor=ceiling, bound="at_most", lowest=-1.0)


# -- resolution --


def modal_share(trial: Trial, ceiling: float | None) -> Measure:
    """Computes the share of edits, right and wrong, that got the most frequent score."""
    rows = [(edit.scene, round(edit.score, 9)) for edit in trial.shown if edit.score is not None and not edit.view]
    if not rows:
        return Measure(value=None, reason=Text("nothing was scored")).with_floor(ceiling, "at_most")
    mode = Counter(score for _, score in rows).most_common(1)[0][0]
    same = [float(score == mode) for _, score in rows]
    return share(same, [scene for scene, _ in rows], floor=ceiling, bound="at_most")


def full_marks(trial: Trial, rungs: Sequence[str]) -> Measure:
    """Computes the share of these edits that got the best possible score."""
    rows = [edit for edit in trial.shown if edit.rung in rungs and not edit.view and edit.score is not None]
    best = [float((row.score or 0.0) >= 1.0 - SAME) for row in rows]
    return share(best, [row.scene for row in rows], floor=None)


def measure_unscored(trial: Trial, ceiling: float | None) -> Measure:
    """Computes the share of shown edits that have no score."""
    lost = [float(edit.status is not Status.OK) for edit in trial.shown]
    return share(lost, [edit.scene for edit in trial.shown], floor=ceiling, bound="at_most")


def measure_unscored_gap(trial: Trial, error: float, ceiling: float) -> Measure:
    """Computes the unscored share of wrong edits less that of right ones, scene by scene: a judge that is silent about
    wrong edits spares them. Not passed if that is above the ceiling, and shown at the one-sided `error` to be no
    chance."""
    gaps, scenes = [], []
    for scene, some in trial.edits_by_scene.items():
        rows = [edit for edit in some if not edit.view]
        right = [row for row in rows if row.rung == "right"]
        wrong = [row for row in rows if row.rung != "right"]
        if right and wrong:
            lost = [sum(row.score is None for row in some) / len(some) for some in (wrong, right)]
            gaps.append(lost[0] - lost[1])
            scenes.append(scene)
    gap = average(gaps, scenes, floor=None, lowest=-1.0)
    if gap.value is None:
        return gap
    mean = estimate(np.array(gaps, dtype=np.float64), cluster_codes(scenes))
    p = mean.p_value()
    shown = mean.doubt == "no_spread" or (p is not None and p <= 2 * error)
    passed = not (gap.value > ceiling and shown)
    return structs.replace(gap, floor=ceiling, bound="at_most", passed=passed)
