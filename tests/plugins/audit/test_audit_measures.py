"""The measures of an audit on tables made by hand, and how surely they find what is there."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from edit_eval.benchmarks.contract import AUDIT, CATEGORIES
from edit_eval.plugins.audit import order
from edit_eval.plugins.audit.findings import findings_of
from edit_eval.plugins.audit.measure import ShownEdit, Trial, average, share
from edit_eval.plugins.scenes.in_worker.ladder import Ladder
from edit_eval.records import Scale, Status

sys.path.insert(0, str(Path(__file__).parents[3] / "bench"))
import audit_power
from late_imports import Late

stats = Late("scipy.stats")

HALF = (
    # what prefers a part of the change, or does not mind it, everywhere or in some kinds
    "prefers half of it",
    "does not mind half of it",
    "prefers half of it, and errs by .32",
    "prefers half of it, in tenths",
    "prefers three quarters",
    "prefers a quarter",
    "prefers all parts",
    "prefers a quarter to three",
    "prefers nothing to half",
    "prefers half of a colour by .3",
    "prefers half of a light",
    "prefers half of any but a light",
    "prefers half of what moves, grows or is counted",
    "prefers half where one of several is meant",
)
OPERATING_CURVE = (
    # judge, audits, verdict, and between which shares of the audits come to it
    ("truly at .95", 100, "passed", 0.95, 1.0),
    ("truly at .90", 100, "passed", 0.95, 1.0),
    ("flips one pair in ten", 100, "passed", 0.95, 1.0),
    ("truly at .85", 40, "passed", 0.0, 0.05),
    ("prefers unasked changes by -0.1", 40, "passed", 0.95, 1.0),
    ("prefers unasked changes by 0.0", 100, "passed", 0.0, 0.05),
    ("prefers unasked changes by 0.1", 40, "failed", 1.0, 1.0),
    ("prefers the wrong target", 40, "passed", 0.0, 0.0),
    ("prefers half of it", 40, "failed", 0.85, 1.0),
    ("does not miss consequences", 100, "passed", 0.0, 0.05),
    *((judge, 40, "passed", 0.0, 1 / 40) for judge in HALF),
    # In one kind alone, of 21 to 23 scenes.
    *((f"prefers half of a {kind}", 40, "passed", 0.0, 0.15) for kind in ("place", "size", "count")),
)


def trial(rows: dict[tuple[str, str, str], float | None], axis: str = "", disputed: bool = False) -> Trial:
    """(scene, rung, view) -> score from 0 to 1."""
    shown = tuple(
        ShownEdit(
            f"{scene}.{rung}.{view}",
            scene,
            "causal",
            rung,
            view,
            axis if "dose" in rung else "",
            disputed and rung == "wrong_target",
            Status.OK if score is not None else Status.REFUSED,
            score,
        )
        for (scene, rung, view), score in rows.items()
    )
    return Trial("judge", Scale(lowest=0.0, highest=10.0), 0.0, 10.0, shown, True)


def test_ties_count_half_and_what_is_unscored_is_in_no_pair() -> None:
    made = trial({("a", "right", ""): 0.9, ("a", "copy", ""): 0.9, ("b", "right", ""): None, ("b", "copy", ""): 0.1})
    measure = order.order(made, 0.5, [("right", "copy")])
    assert (measure.value, measure.n, measure.scenes) == (0.5, 1, 1)
    assert measure.passed is False  # one scene shows nothing
    assert order.measure_unscored(made, 0.5).value == 0.25


def test_what_is_disputed_of_a_scene_is_in_no_pair() -> None:
    rows = {("a", "right", ""): 0.9, ("a", "wrong_target", ""): 0.1}
    pair = [("right", "wrong_target")]
    assert order.order(trial(rows), None, pair).n == 1
    assert order.order(trial(rows, disputed=True), None, pair).value is None


def test_a_value_on_the_right_side_that_is_not_sure_is_not_passed_and_not_missed() -> None:
    unsure = share([1.0] * 9 + [0.0], [str(n) for n in range(10)], floor=0.85)
    assert (unsure.value, unsure.passed, unsure.is_missed) == (0.9, False, False)
    wrong = share([1.0, 0.0] * 5, [str(n) for n in range(10)], floor=0.85)
    assert (wrong.passed, wrong.is_missed) == (False, True)
    below = average([0.1, 0.2, 0.3] * 2, list("abcdef"), floor=0.9, bound="at_most")
    assert (below.passed, below.is_missed) == (True, False)
    nothing = average([], [], floor=0.9)
    assert (nothing.value, nothing.passed, nothing.is_missed) == (None, False, True)


@pytest.mark.check
def test_a_share_holds_its_truth_also_near_one() -> None:
    """95 % intervals of 200 scenes with 8 comparisons each, with and without what scenes have in common."""
    chance = np.random.default_rng(3)
    labels = [str(scene) for scene in range(200) for _ in range(8)]
    for truth, correlation in ((0.9, 0.3), (0.9, 0.0), (0.985, 0.3)):
        covered = 0
        for _ in range(300):
            spread = (1 / correlation - 1) if correlation else 1e9
            own = chance.beta(truth * spread, (1 - truth) * spread, 200)
            won = (chance.random((200, 8)) < own[:, None]).astype(float).ravel().tolist()
            low, high = share(won, labels, floor=None).ci95 or (0.0, 0.0)
            covered += low <= truth <= high
        assert covered / 300 > 0.92, (truth, correlation)


def test_spearman_is_that_of_scipy_and_nothing_where_nothing_varies() -> None:
    pairs = [(0.25, 0.3), (0.5, 0.2), (0.75, 0.9), (1.0, 0.9)]
    assert order.spearman(pairs) == pytest.approx(stats.spearmanr([0.25, 0.5, 0.75, 1], [0.3, 0.2, 0.9, 0.9]).statistic)
    assert order.spearman([(0.25, 0.5), (1.0, 0.5)]) == 0.0


def test_the_smallest_flaw_that_is_noticed_lies_between_the_doses() -> None:
    """Half of right edits above three quarters (a tie each), all above half: 0.75 is half-way from 0.25 to 0.5."""
    rows: dict[tuple[str, str, str], float | None] = {}
    for scene in "abcdefghij":
        rows |= {(scene, "right", ""): 0.9, (scene, "dose_75", ""): 0.9, (scene, "dose_50", ""): 0.4}
        rows |= {(scene, "dose_25", ""): 0.3, (scene, "copy", ""): 0.1}
    made = trial(rows, axis="hue")
    assert order.noticeable(made, list(order.axes(made)["hue"])).value == pytest.approx(0.375)
    blind = trial(dict.fromkeys(rows, 0.5), axis="hue")
    assert order.noticeable(blind, list("abcdefghij")).value is None


def test_the_spread_is_that_of_two_askings() -> None:
    chance = np.random.default_rng(1)
    rows: dict[tuple[str, str, str], float | None] = {}
    for scene in range(4000):
        first, second = 0.5 + 0.03 * chance.standard_normal(2)
        rows |= {(str(scene), "right", ""): first, (str(scene), "right", "again"): second}
    measure = order.scatter(trial(rows), "again", 0.05)
    assert measure.value == pytest.approx(0.03, rel=0.05)
    assert measure.passed
    assert order.smallest_difference(0.03) == pytest.approx(1.96 * 2**0.5 * 0.03, rel=1e-3)


def test_of_few_scenes_the_spread_is_a_root_too() -> None:
    """Of too few for an interval, too: it is the judge's noise in points, and decides what is believed."""
    rows: dict[tuple[str, str, str], float | None] = {}
    for scene, second in (("a", 0.5), ("b", 0.6)):
        rows |= {(scene, "right", ""): 0.9, (scene, "right", "again"): second}
    measure = order.scatter(trial(rows), "again", 0.07)
    assert (measure.value, measure.ci95, measure.passed) == (pytest.approx(0.25), None, False)
    assert measure.is_missed


def test_who_does_not_look_sees_nothing() -> None:
    rows: dict[tuple[str, str, str], float | None] = {}
    for scene in range(50):
        rows |= {(str(scene), "right", ""): 0.8, (str(scene), "right", "instruction"): 0.8 - 0.02 * (scene % 2)}
    made = trial(rows)
    assert order.sees(made, "instruction", 0.05, 0.75).value == 0.5  # within the noise
    assert order.sees(made, "instruction", 0.0, 0.75).value == 0.75
    assert order.sees(made, "instruction", 0.05, 0.75).is_missed


@pytest.mark.check
def test_a_judge_truly_at_ninety_passes_and_one_at_the_floor_does_not() -> None:
    """At 200 scenes with eight pairs each; `bench/audit_power.py` prints all of it."""
    for correlation in (0.0, 0.1, 0.3):
        assert audit_power.joint_power(0.90, correlation, 250, seed=5)["order"] >= 0.9
        assert audit_power.joint_power(0.85, correlation, 100, seed=5)["order"] <= 0.1
    assert audit_power.right_first(0.90, 200) > 0.95
    assert audit_power.right_first(0.80, 200) < 0.1


@pytest.mark.parametrize(
    ("judge", "verdict", "named"),
    [
        ("truly at .90", "passed", ()),
        ("flips one pair in ten", "passed", ()),
        ("prefers unasked changes by 0.1", "failed", ("right_over_extra",)),
        ("prefers unasked changes by 0.0", "limited", ("right_over_extra",)),
        ("does not miss consequences", "limited", ("right_over_no_consequence",)),
        ("prefers half of it", "failed", ("right_over_dose_50",)),
        ("does not mind half of it", "limited", ("right_over_dose_50",)),
        ("prefers three quarters", "failed", ("right_over_dose_75",)),
    ],
)
def test_an_honest_judge_passes_and_who_prefers_what_is_wrong_does_not(
    judge: str, verdict: str, named: tuple[str, ...]
) -> None:
    """At the default size, simulated; `test_the_operating_curve` has the rates."""
    findings = findings_of(audit_power.trial(audit_power.JUDGES[judge], seed=5), bounds=False)
    assert findings.verdict == verdict
    assert tuple(name for name, measure in findings.measures.items() if measure.passed is False) == named


@pytest.mark.parametrize(
    ("judge", "where"),
    [("prefers half of a light", "light"), ("prefers half where one of several is meant", "referential")],
)
def test_half_of_one_kind_of_change_is_named_though_all_others_are_seen(judge: str, where: str) -> None:
    findings = findings_of(audit_power.trial(audit_power.JUDGES[judge], seed=4), bounds=False)
    assert findings.measures["right_over_dose_50"].passed
    assert findings.verdict == "limited"
    assert findings.categories[where]["right_over_dose_50"].passed is False


def test_ties_of_what_is_hard_to_tell_accuse_nobody() -> None:
    """A judge with full marks for three quarters, too, and nothing for a source and a grey picture."""
    worth = {**audit_power.WORTH, "dose_75": 1.0, "copy": 0.0, "blank": 0.0}
    tying = audit_power.Simulated(error=0.0, noise=0.0, worth=worth)
    findings = findings_of(audit_power.trial(tying, seed=1), bounds=False)
    assert [findings.measures[name].value for name in ("right_over_dose_75", "copy_over_blank")] == [0.5, 0.5]
    assert findings.verdict == "passed"


@pytest.mark.chaos
def test_the_simulated_ladder_has_as_many_scenes_of_each_rung_as_the_drawn_one(tmp_path: Path) -> None:
    drawn, simulated = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for sample in Ladder(Ladder.Parameters(size=128, seed=3, cache_dir=str(tmp_path))).samples():
        fact = sample.facts[AUDIT]
        if not fact["view"] and not fact["disputed"]:
            drawn[sample.category, fact["rung"] + fact["axis"]] += 1
    for category in CATEGORIES:
        for number in range(40):
            rungs, axis = audit_power.rungs_of(category, number)
            simulated.update((category, rung + axis * ("dose" in rung)) for rung in rungs)
    for category, _, rungs, axis in audit_power.brief_scenes(40):
        simulated.update((category, rung + axis * ("dose" in rung)) for rung in rungs)
    assert drawn.keys() == simulated.keys()
    assert all(abs(count - simulated[key]) <= 4 for key, count in drawn.items()), drawn - simulated


@pytest.mark.chaos
@pytest.mark.parametrize(("judge", "audits", "verdict", "least", "most"), OPERATING_CURVE)
def test_the_operating_curve(judge: str, audits: int, verdict: str, least: float, most: float) -> None:
    made = [findings.verdict for findings in audit_power.audits_of(audit_power.JUDGES[judge], audits)]
    assert least <= made.count(verdict) / audits <= most, Counter(made)


@pytest.mark.chaos
def test_the_power_of_all_floors() -> None:
    for correlation in (0.0, 0.1, 0.2, 0.3):
        power = audit_power.joint_power(0.90, correlation, 3000, pairs=10, seed=1)
        assert power["order"] >= 0.9
        assert power["order, and in every category"] >= 0.88
    swayed = audit_power.power(audit_power.JUDGES["gains .06 by words"], 50)
    assert swayed["passed"]["words_en"] <= 0.05
