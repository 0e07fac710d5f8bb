"""The audit on trial: impostors fail by what is meant for them, who sees passes, a planted fault is named."""

from __future__ import annotations

import random

import pytest

from edit_eval.benchmarks.contract import AUDIT
from edit_eval.guests.audit.findings import Findings, findings_of
from edit_eval.guests.audit.measure import Trial
from edit_eval.records import Scale
from edit_eval.statistics.drift import JudgedTwice, drift
from guests.audit.judges_on_trial import DAMNED, IMPOSTORS, PLANTED, seeing, silent_about_flaws
from guests.audit.ladder_results import SCALE, Scores, Shown, ladder, results_of, times


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((2, 8), id="quick"),
        pytest.param((18, 1), id="whole", marks=pytest.mark.chaos),
    ],
)
def shown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Shown, ...]:
    """18 scenes a category: few, and enough for everything to be passed. Two that are shown eight times are enough
    to see that each judge is told from the others, and are drawn in a ninth of the time."""
    scenes, turns = request.param
    return times(ladder(tmp_path_factory.mktemp("ladder"), scenes=scenes, size=192), turns)


def audited(shown: tuple[Shown, ...], scores: Scores, scale: Scale = SCALE) -> Findings:
    """Without bounds that are only shown."""
    return findings_of(Trial.of(results_of(shown, scores, scale), "judge"), bounds=False)


def missed(found: Findings) -> set[str]:
    names = {name for name, one in found.measures.items() if one.passed is False}
    return names | {
        f"{name} ({category})"
        for category, measures in found.categories.items()
        for name, one in measures.items()
        if one.passed is False
    }


def test_a_judge_that_sees_passes(shown: tuple[Shown, ...]) -> None:
    found = audited(shown, seeing)
    assert missed(found) == set()
    assert found.verdict == "passed"


@pytest.mark.parametrize("name", IMPOSTORS)
def test_an_impostor_fails_by_what_is_meant_for_it(shown: tuple[Shown, ...], name: str) -> None:
    scores, meant = IMPOSTORS[name]
    found = audited(shown, scores)
    assert found.verdict == "failed"
    assert found.measures[meant].missed
    assert found.measures["order"].missed


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_named_and_no_other(shown: tuple[Shown, ...], name: str) -> None:
    scores, named = PLANTED[name]
    found = audited(shown, scores)
    assert missed(found) == named
    assert found.verdict == "limited"


@pytest.mark.parametrize("name", DAMNED)
def test_whoever_prefers_a_wrong_edit_is_not_passed_and_it_is_named(shown: tuple[Shown, ...], name: str) -> None:
    scores, verdict, named = DAMNED[name]
    found = audited(shown, scores)
    assert found.verdict == verdict
    assert named <= missed(found)


@pytest.mark.parametrize("seed", range(3))
def test_an_honest_judge_that_errs_prefers_nothing_wrongly(shown: tuple[Shown, ...], seed: int) -> None:
    def scores(one: Shown) -> float:
        return min(10.0, max(0.0, seeing(one) + random.Random(f"{seed} {one.sample.id}").gauss(0.0, 1.2)))

    found = audited(shown, scores)
    assert not [name for name, one in found.measures.items() if one.reversed]
    assert all(measures.keys() == {"order"} for measures in found.categories.values())


def test_what_is_not_said_is_no_number_and_is_counted(shown: tuple[Shown, ...]) -> None:
    found = audited(shown, silent_about_flaws)
    assert found.measures["unscored"].missed
    assert found.measures["unscored_gap"].value is not None
    assert found.measures["unscored_gap"].value > 0.1
    assert found.measures["unscored_gap"].missed
    assert found.measures["right_over_other"].value is None
    assert found.verdict == "failed"


@pytest.mark.parametrize(("of_wrong", "of_right", "passed"), [(0.06, 0.0, False), (0.03, 0.03, True)])
def test_silence_about_wrong_edits_alone_is_named(
    shown: tuple[Shown, ...], of_wrong: float, of_right: float, passed: bool
) -> None:
    """Six wrong edits in a hundred are few enough for all that is unscored; they are spared all the same."""

    def scores(one: Shown) -> float | None:
        share = of_right if one.sample.facts[AUDIT]["rung"] == "right" else of_wrong
        return None if random.Random(one.sample.id).random() < share else seeing(one)

    assert audited(shown, scores).measures["unscored_gap"].passed is passed


def test_a_scale_where_less_is_better_and_one_that_is_open(shown: tuple[Shown, ...]) -> None:
    def turned(one: Shown) -> float:
        score = seeing(one)
        return 10.0 - score

    down = audited(shown, turned, Scale(lowest=0.0, highest=10.0, higher_is_better=False))
    assert down.verdict == "passed"
    best = down.anchors()[0]
    assert (best.rung, best.score) == ("right", pytest.approx(0.0, abs=0.01))
    open_ended = audited(shown, seeing, Scale())
    assert open_ended.measures["order"].value == audited(shown, seeing).measures["order"].value
    assert {name for name, one in open_ended.measures.items() if one.floor is None} >= {
        "copy_level",
        "retest",
        "words_en",
    }
    assert audited(shown, lambda one: 10.0 - seeing(one), Scale()).verdict == "failed"


def test_anchors_are_twenty_five_of_all_categories_and_levels(shown: tuple[Shown, ...]) -> None:
    anchors = audited(shown, seeing).anchors()
    assert len(anchors) == 25
    assert len({one.category for one in anchors}) == 5
    assert {one.rung for one in anchors} == {"right", "extra", "dose_50", "copy"}
    assert len({one.sample for one in anchors}) == 25
    assert {one.sample for one in anchors} <= {one.sample.id for one in shown}


def test_anchors_and_repeated_edits_are_drawn_alike_and_are_not_the_same(shown: tuple[Shown, ...]) -> None:
    found = audited(shown, seeing)
    anchors, repeated = found.anchors(), found.repeated()
    assert {one.rung for one in anchors} == {one.rung for one in repeated}
    assert not {one.sample for one in anchors} & {one.sample for one in repeated}
    assert {one.sample for one in repeated} <= {one.sample.id for one in shown if not one.sample.facts[AUDIT]["view"]}
    assert all(one.before == pytest.approx(one.now) for one in repeated), "this judge repeats itself"
    assert max(one.before for one in repeated) > 9, "in points"


def test_drift_moves_the_anchors_and_nothing_else(shown: tuple[Shown, ...]) -> None:
    """A judge that is another one on the second day: each audit by itself passes, the anchors tell."""
    first = audited(shown, seeing)
    second = audited(shown, lambda one: max(0.0, seeing(one) - 0.5))
    assert (first.verdict, second.verdict) == ("passed", "passed")
    then, now = ([one.score for one in some.anchors()] for some in (first, second))
    assert max(abs(a - b) for a, b in zip(then, now, strict=True)) == pytest.approx(0.5)
    both = [
        JudgedTwice(one.sample, one.rung, one.score, is_now) for one, is_now in zip(first.anchors(), now, strict=True)
    ]
    assert drift(both, first.repeated()).drifted
    assert first.smallest_difference == pytest.approx(0.0, abs=1e-6)
