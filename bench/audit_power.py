"""Statistical power of an audit: of each measure at 40 scenes per category, and of all floors together.

    python bench/audit_power.py [--audits 100] [--json]

Judges are simulated from the worth of each rung, an error per edit (the same each time the judge is asked, and partly
shared by all edits of a scene), and noise per reply. No scene is drawn, and no model is loaded.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from edit_eval.benchmarks.contract import CATEGORIES
from edit_eval.plugins.audit.findings import DECISIVE, ORDER, ORDER_IN_CATEGORY, RIGHT_FIRST, Findings, findings_of
from edit_eval.plugins.audit.measure import ShownEdit, Trial, share
from edit_eval.plugins.audit.order import PAIRS, ahead
from edit_eval.plugins.scenes.in_worker.ladder import BRIEF, BRIEFLY, EXAMINED, VIEWS
from edit_eval.records import Scale, Status

WORTH = {
    "right": 1.0, "dose_75": 0.86, "extra": 0.80, "dose_50": 0.66, "no_consequence": 0.6, "dose_25": 0.42,
    "wrong_target": 0.30, "other": 0.14, "copy": 0.14, "shuffled": 0.05, "blank": 0.03,
}  # fmt: skip
"""Scores of a judge that sees everything, from 0 to 1."""
LOW, ABOVE = {rung: 0.6 * worth for rung, worth in WORTH.items()}, 0.65
"""Scores of a judge that leaves room above the right edit, and the score it gives there."""
OF_40 = 40
DOSED = {
    "physical": {"count": 5, "place": 5, "size": 7, "hue": 5},
    "environmental": {"light": 40},
    "social": {"count": 4, "hue": 4},
    "causal": {"light": 8},
    "referential": {"hue": 12, "place": 7, "count": 7, "size": 6, "light": 2},
}
"""Scenes, of 40 per category, with a change that can be done in part, by its kind. These figures and the next are those
of the drawn ladder; `test_the_simulated_ladder_has_as_many_scenes_of_each_rung_as_the_drawn_one` checks them."""
NO_CONSEQUENCE = {"physical": 31, "environmental": 26, "social": 16, "causal": 28, "referential": 25}
WRONG_TARGET = {"physical": 7, "social": 18, "causal": 4, "referential": 31}
"""Scenes, of 40 per category, with these rungs, disputed ones left out."""


def rungs_of(category: str, number: int) -> tuple[list[str], str]:
    """Returns the rungs of a scene, and the kind of change done in part, if any."""
    dosed = [kind for kind, count in DOSED[category].items() for _ in range(count)]
    axis = dosed[number * len(dosed) // OF_40 % len(dosed)] if _has(number, len(dosed)) else ""
    there = {
        **dict.fromkeys(("dose_25", "dose_50"), bool(axis)),
        "dose_75": bool(axis) and (category, axis) != ("social", "count"),  # three people make only two steps
        "no_consequence": _has(number, NO_CONSEQUENCE[category]),
        "wrong_target": _has(number, WRONG_TARGET.get(category, 0)),
    }
    return [rung for rung in WORTH if there.get(rung, True)], axis


def brief_scenes(scenes: int) -> Iterator[tuple[str, str, list[str], str]]:
    """Yields the ladder's brief scenes: category, name, rungs and kind of change."""
    for number in range(scenes):
        if number % 8 < len(BRIEF):
            category, made = BRIEF[number % 8]
            wrong = "wrong_target" if category == "referential" else "other"
            there = [rung for rung in WORTH if rung == wrong or (rung in BRIEFLY and rung != "wrong_target")]
            yield category, f"{category}-brief-{number}", there, made.__name__.removesuffix("_of_one")


def _has(number: int, of_40: int) -> bool:
    """True if a scene is one of `of_40` in 40, spread evenly."""
    return (number + 1) * of_40 // OF_40 > number * of_40 // OF_40


@dataclass(frozen=True)
class Simulated:
    """A simulated judge."""

    error: float
    """Standard deviation of its error on an edit, the same each time."""
    shared: float = 0.3
    """Share of that variance common to all edits of a scene."""
    noise: float = 0.02
    """Standard deviation between repeated replies."""
    worth: Mapping[str, float] = field(default_factory=lambda: WORTH)
    worth_in: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Different worths in scenes of a category, or of a kind of change done in part (`hue`)."""
    shifts: Mapping[str, float] = field(default_factory=dict)
    """Added by a view."""
    step: float = 0.05
    """Its scores are multiples of this."""
    flips: float = 0.0
    """Probability of each other edit to score above the right one, independently of the rest."""


def trial(judge: Simulated, seed: int, scenes: int = 40) -> Trial:
    """Simulates one audit."""
    chance = np.random.default_rng(seed)
    shown: list[ShownEdit] = []

    def add(category: str, scene: str, rung: str, view: str, axis: str, score: float) -> None:
        said = judge.step * round(float(np.clip(score, 0, 1)) / judge.step)
        shown.append(ShownEdit(f"{scene}.{rung}.{view}", scene, category, rung, view, axis, False, Status.OK, said))

    def climbed(category: str, scene: str, rungs: list[str], axis: str) -> tuple[dict[str, float], Mapping[str, float]]:
        """Returns the judge's perception of each rung, and their worths; adds the scene."""
        worth = {**judge.worth, **judge.worth_in.get(category, {}), **judge.worth_in.get(axis, {})}
        # The shared error applies only to the right edit: otherwise it would cancel within each pair.
        common = chance.normal() * judge.error * judge.shared**0.5
        own = {rung: chance.normal() * judge.error * (1 - judge.shared) ** 0.5 for rung in rungs}
        felt = {rung: worth[rung] + own[rung] + (common if rung == "right" else 0.0) for rung in rungs}
        if judge.flips:
            felt |= {rung: ABOVE for rung in rungs if rung != "right" and chance.random() < judge.flips}
        for rung in rungs:
            said = felt[rung] + chance.normal() * judge.noise
            add(category, scene, rung, "", axis if "dose" in rung else "", said)
        return felt, worth

    for category in CATEGORIES:
        for number in range(scenes):
            scene = f"{category}-{number}"
            felt, worth = climbed(category, scene, *rungs_of(category, number))
            if number % 8 in EXAMINED:
                for view in VIEWS:
                    for rung in view.rungs:
                        name = rung if rung in felt else "dose_50" if "dose_50" in felt else "extra"
                        base = {"instruction": worth["other"], "source": worth["other"]}.get(view.name)
                        score = felt[name] if base is None else base + chance.normal() * judge.error
                        score += judge.shifts.get(view.name, 0.0) + chance.normal() * judge.noise
                        add(category, scene, name, view.name, "", score)
    for brief in brief_scenes(scenes):
        climbed(*brief)
    return Trial("judge", Scale(lowest=0.0, highest=1.0), 0.0, 1.0, tuple(shown), True)


def true_order(judge: Simulated) -> float:
    """Returns its order accuracy over very many scenes."""
    accuracy = findings_of(trial(judge, seed=2**31, scenes=400)).measures["order"].value
    assert accuracy is not None
    return accuracy


def icc(simulation: Trial) -> float:
    """Returns the intraclass correlation of pairs' outcomes within a scene, by analysis of variance."""
    groups = []
    for scene in simulation.scenes():
        scores = [(simulation.score(scene, better), simulation.score(scene, worse)) for better, worse in PAIRS]
        groups.append([ahead(high, low) for high, low in scores if high is not None and low is not None])
    sizes = np.array([len(group) for group in groups], dtype=float)
    means = np.array([np.mean(group) for group in groups])
    grand = float(np.concatenate([np.array(group) for group in groups]).mean())
    between = float((sizes * (means - grand) ** 2).sum()) / (len(groups) - 1)
    within = sum(float(((np.array(g) - np.mean(g)) ** 2).sum()) for g in groups) / float(sizes.sum() - len(groups))
    usual = float((sizes.sum() - (sizes**2).sum() / sizes.sum()) / (len(groups) - 1))
    return (between - within) / (between + (usual - 1) * within)


def audits_of(judge: Simulated, audits: int, scenes: int = 40) -> list[Findings]:
    """Returns the findings of audits with seeds from 0 on."""
    return [findings_of(trial(judge, seed, scenes), bounds=False) for seed in range(audits)]


def power(judge: Simulated, audits: int, scenes: int = 40) -> dict[str, Any]:
    """Returns how often each measure, all floors of the order, and everything was passed."""
    made = audits_of(judge, audits, scenes)
    names = [name for name, measure in made[0].measures.items() if measure.passed is not None]

    def rate(passed: list[bool]) -> float:
        return round(sum(passed) / len(passed), 3)

    def in_order(findings: Findings) -> bool:
        categories = all(measures["order"].passed for measures in findings.categories.values())
        return bool(categories and all(findings.measures[name].passed for name in DECISIVE[:3]))

    return {
        "order": round(true_order(judge), 3),
        "icc": round(icc(trial(judge, 7, 400)), 2),
        "passed": {name: rate([bool(findings.measures[name].passed) for findings in made]) for name in names},
        "order in every category": rate(
            [all(measures["order"].passed for measures in findings.categories.values()) for findings in made]
        ),
        "all floors of the order": rate([in_order(findings) for findings in made]),
        "verdict": {
            verdict: rate([findings.verdict == verdict for findings in made])
            for verdict in ("passed", "limited", "failed")
        },
    }


def joint_power(
    accuracy: float, correlation: float, audits: int, *, pairs: int = 8, scenes: int = 40, seed: int = 0
) -> dict[str, float]:
    """Returns how often a judge of a true order accuracy passes the floor of the order, and in all five categories.

    Scenes differ: the accuracy within a scene is drawn from a beta distribution, so that outcomes of one scene have the
    intraclass correlation `correlation`. Each scene has `pairs` pairs, the fewest in a scene of the ladder.
    """
    chance = np.random.default_rng(seed)
    overall, jointly = 0, 0
    names = [f"{category}-{number}" for category in CATEGORIES for number in range(scenes)]
    labels = [name for name in names for _ in range(pairs)]
    for _ in range(audits):
        if correlation:
            spread = 1 / correlation - 1
            own = chance.beta(accuracy * spread, (1 - accuracy) * spread, len(names))
        else:
            own = np.full(len(names), accuracy)
        won = (chance.random((len(names), pairs)) < own[:, None]).astype(float)
        whole = bool(share(won.ravel().tolist(), labels, floor=ORDER).passed)
        overall += whole
        within = (won[k * scenes : (k + 1) * scenes].ravel().tolist() for k in range(len(CATEGORIES)))
        jointly += whole and all(
            share(some, labels[k * scenes * pairs :][: scenes * pairs], floor=ORDER_IN_CATEGORY).passed
            for k, some in enumerate(within)
        )
    return {"order": overall / audits, "order, and in every category": jointly / audits}


def right_first(accuracy: float, audits: int, scenes: int = 200, seed: int = 0) -> float:
    """Returns how often a judge passes the floor of one pair per scene (right over copy, or another's edit)."""
    chance = np.random.default_rng(seed)
    names = [str(number) for number in range(scenes)]
    won = (chance.random((audits, scenes)) < accuracy).astype(float).tolist()
    return sum(bool(share(row, names, floor=RIGHT_FIRST).passed) for row in won) / audits


GOOD, AT_90, AT_85 = 0.16, 0.32, 0.43
"""Errors at which a judge's true order accuracy is .95, .90 and .85."""
JUDGES = {
    "sees everything": Simulated(error=0.05),
    "truly at .95": Simulated(error=GOOD),
    "truly at .90": Simulated(error=AT_90),
    "truly at .85": Simulated(error=AT_85),
    "flips one pair in ten": Simulated(error=0.0, flips=0.1, worth=LOW),
    **{
        f"prefers unasked changes by {by}": Simulated(error=GOOD, worth={**WORTH, "right": 0.9, "extra": 0.9 + by})
        for by in (-0.1, -0.05, 0.0, 0.05, 0.1)
    },
    "does not miss consequences": Simulated(error=GOOD, worth={**WORTH, "no_consequence": 1.0}),
    **{
        f"does not miss consequences in {category} scenes": Simulated(
            error=GOOD, worth={**WORTH, "right": 1.2}, worth_in={category: {"no_consequence": 1.2}}
        )
        for category in NO_CONSEQUENCE
    },
    **{
        f"truly at {order}, in {grades} grades": Simulated(error=error, step=1 / (grades - 1))
        for order, error in ((".95", GOOD), (".90", AT_90))
        for grades in (11, 6, 5)
    },
    "prefers the wrong target": Simulated(error=GOOD, worth={**WORTH, "right": 0.9, "wrong_target": 1.0}),
    "prefers half of it": Simulated(error=GOOD, worth={**WORTH, "right": 0.9, "dose_50": 1.0}),
    # Added after the measures were fixed.
    "does not mind half of it": Simulated(error=GOOD, worth={**WORTH, "right": 0.9, "dose_50": 0.9}),
    "prefers half of it, and errs by .32": Simulated(error=AT_90, worth={**WORTH, "right": 0.9, "dose_50": 1.0}),
    "prefers half of it, in tenths": Simulated(error=GOOD, step=0.1, worth={**WORTH, "right": 0.9, "dose_50": 1.0}),
    "prefers three quarters": Simulated(error=GOOD, worth={**WORTH, "right": 0.9, "dose_75": 1.0}),
    "prefers a quarter": Simulated(error=GOOD, worth={**WORTH, "right": 0.9, "dose_25": 1.0}),
    "prefers all parts": Simulated(
        error=GOOD, worth={**WORTH, "right": 0.9, **dict.fromkeys(("dose_25", "dose_50", "dose_75"), 1.0)}
    ),
    "prefers a quarter to three": Simulated(error=GOOD, worth={**WORTH, "dose_75": 0.42, "dose_25": 0.52}),
    "prefers nothing to half": Simulated(error=GOOD, worth={**WORTH, "dose_50": 0.04}),
    "prefers half of a colour by .3": Simulated(error=GOOD, worth_in={"hue": {**LOW, "right": 0.7, "dose_50": 1.0}}),
    "prefers half of a light": Simulated(
        error=GOOD, worth={**WORTH, "right": 0.9}, worth_in={"light": {"dose_50": 1.0}}
    ),
    "prefers half of any but a light": Simulated(
        error=GOOD, worth={**WORTH, "right": 0.9, "dose_50": 1.0}, worth_in={"light": {"dose_50": 0.66}}
    ),
    "prefers half of what moves, grows or is counted": Simulated(
        error=GOOD,
        worth={**WORTH, "right": 0.9},
        worth_in={kind: {"dose_50": 1.0} for kind in ("place", "size", "count")},
    ),
    "prefers half where one of several is meant": Simulated(
        error=GOOD, worth={**WORTH, "right": 0.9}, worth_in={"referential": {"dose_50": 1.0}}
    ),
    **{
        f"prefers half of a {kind}": Simulated(
            error=GOOD, worth={**WORTH, "right": 0.9}, worth_in={kind: {"dose_50": 1.0}}
        )
        for kind in ("place", "size", "count")
    },
    "prefers what nothing follows from": Simulated(error=GOOD, worth={**WORTH, "right": 0.9, "no_consequence": 1.0}),
    "gains .02 by words": Simulated(error=GOOD, shifts={"words_en": 0.02, "words_zh": 0.02}),
    "gains .06 by words": Simulated(error=GOOD, shifts={"words_en": 0.06, "words_zh": 0.06}),
    "shifts by .05 where pictures are exchanged": Simulated(error=GOOD, shifts={"exchanged": 0.05}),
    "shifts by .15 where pictures are exchanged": Simulated(error=GOOD, shifts={"exchanged": 0.15}),
    "retest spread .05": Simulated(error=GOOD, noise=0.05),
    "retest spread .10": Simulated(error=GOOD, noise=0.10),
    "untouched source at .30": Simulated(error=GOOD, worth={**WORTH, "copy": 0.30}),
    "sees changes, not their dose": Simulated(
        error=0.02, worth={**WORTH, **dict.fromkeys(("dose_25", "dose_50", "dose_75"), 1.0)}
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--audits", type=int, default=100)
    parser.add_argument("--scenes", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    judges: dict[str, Any] = {name: power(judge, given.audits, given.scenes) for name, judge in JUDGES.items()}
    joint = {
        f"order accuracy {accuracy}, ICC {correlation}": joint_power(accuracy, correlation, 10 * given.audits)
        for accuracy in (0.85, 0.88, 0.9, 0.92)
        for correlation in (0.0, 0.1, 0.3)
    }
    first = {
        str(accuracy): right_first(accuracy, 10 * given.audits) for accuracy in (0.95, 0.97, 0.98, 0.985, 0.99, 0.995)
    }
    if given.json:
        print(json.dumps({"judges": judges, "joint": joint, "right_first": first}, indent=1))
        return
    for name, rates in judges.items():
        print(f"{name}: order {rates['order']}, ICC {rates['icc']}")
        print(f"  passed / limited / failed: {' / '.join(str(share) for share in rates['verdict'].values())}")
        print(f"  all floors of the order {rates['all floors of the order']}")
        print("  passed: " + ", ".join(f"{measure} {share}" for measure, share in rates["passed"].items()))
    for name, both in joint.items():
        print(f"{name}, 8 pairs a scene: " + ", ".join(f"{what} {rate:.3f}" for what, rate in both.items()))
    print("right over copy: " + ", ".join(f"truly {name}: {rate:.3f}" for name, rate in first.items()))


if __name__ == "__main__":
    main()
