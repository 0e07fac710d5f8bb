"""The audit on trial: impostors fail by what is meant for them, who sees passes, a planted fault is named."""

from __future__ import annotations

import random

import pytest

from edit_eval.benchmarks.contract import AUDIT
from edit_eval.plugins.audit.drift import JudgedTwice, drift
from edit_eval.plugins.audit.findings import Findings, findings_of
from edit_eval.plugins.audit.measure import Trial
from edit_eval.records import Scale
from plugins.audit.judges_on_trial import DAMNED, IMPOSTORS, PLANTED, seeing, silent_about_flaws
from plugins.audit.ladder_results import SCALE, Scores, Shown, ladder, results_of, times


@pytest.fixture(
    scope="module",
    params=[pytest.param((2, 8), id="quick"), pytest.param((18, 1), id="whole", marks=pytest.mark.chaos)],
)
def shown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Shown, ...]:
    """18 scenes a category: few, and enough for everything to be passed. Two that are shown eight times are enough
    to see that each judge is told from the others, and are drawn in a ninth of the time."""
    scenes, turns = request.param
    return times(ladder(tmp_path_factory.mktemp("ladder"), scenes=scenes, size=192), turns)


def audited(shown: tuple[Shown, ...], scores: Scores, scale: Scale = SCALE) -> Findings:
    """Without bounds that are only shown."""
    return findings_of(Trial.from_results(results_of(shown, scores, scale), "judge"), bounds=False)


def missed(findings: Findings) -> set[str]:
    names = {name for name, measure in findings.measures.items() if measure.passed is False}
    return names | {
        f"{name} ({category})"
        for category, measures in findings.categories.items()
        for name, measure in measures.items()
        if measure.passed is False
    }


@pytest.mark.check
def test_a_judge_that_sees_passes(shown: tuple[Shown, ...]) -> None:
    findings = audited(shown, seeing)
    assert missed(findings) == set()
    assert findings.verdict == "passed"


@pytest.mark.check
@pytest.mark.parametrize("name", IMPOSTORS)
def test_an_impostor_fails_by_what_is_meant_for_it(shown: tuple[Shown, ...], name: str) -> None:
    scores, meant = IMPOSTORS[name]
    findings = audited(shown, scores)
    assert findings.verdict == "failed"
    assert findings.measures[meant].is_missed
    assert findings.measures["order"].is_missed


@pytest.mark.check
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_named_and_no_other(shown: tuple[Shown, ...], name: str) -> None:
    scores, named = PLANTED[name]
    findings = audited(shown, scores)
    assert missed(findings) == named
    assert findings.verdict == "limited"


@pytest.mark.check
@pytest.mark.parametrize("name", DAMNED)
def test_whoever_prefers_a_wrong_edit_is_not_passed_and_it_is_named(shown: tuple[Shown, ...], name: str) -> None:
    scores, verdict, named = DAMNED[name]
    findings = audited(shown, scores)
    assert findings.verdict == verdict
    assert named <= missed(findings)


@pytest.mark.check
@pytest.mark.parametrize("seed", range(3))
def test_an_honest_judge_that_errs_prefers_nothing_wrongly(shown: tuple[Shown, ...], seed: int) -> None:
    def scores(shown_edit: Shown) -> float:
        return min(10.0, max(0.0, seeing(shown_edit) + random.Random(f"{seed} {shown_edit.sample.id}").gauss(0.0, 1.2)))

    findings = audited(shown, scores)
    assert not [name for name, measure in findings.measures.items() if measure.is_reversed]
    assert all(measures.keys() == {"order"} for measures in findings.categories.values())


@pytest.mark.check
def test_what_is_not_said_is_no_number_and_is_counted(shown: tuple[Shown, ...]) -> None:
    findings = audited(shown, silent_about_flaws)
    assert findings.measures["unscored"].is_missed
    assert findings.measures["unscored_gap"].value is not None
    assert findings.measures["unscored_gap"].value > 0.1
    assert findings.measures["unscored_gap"].is_missed
    assert findings.measures["right_over_other"].value is None
    assert findings.verdict == "failed"


@pytest.mark.check
@pytest.mark.parametrize(("of_wrong", "of_right", "passed"), [(0.06, 0.0, False), (0.03, 0.03, True)])
def test_silence_about_wrong_edits_alone_is_named(
    shown: tuple[Shown, ...], of_wrong: float, of_right: float, passed: bool
) -> None:
    """Six wrong edits in a hundred are few enough for all that is unscored; they are spared all the same."""

    def scores(shown_edit: Shown) -> float | None:
        share = of_right if shown_edit.sample.facts[AUDIT]["rung"] == "right" else of_wrong
        return None if random.Random(shown_edit.sample.id).random() < share else seeing(shown_edit)

    assert audited(shown, scores).measures["unscored_gap"].passed is passed


@pytest.mark.check
def test_a_scale_where_less_is_better_and_one_that_is_open(shown: tuple[Shown, ...]) -> None:
    def turned(shown_edit: Shown) -> float:
        score = seeing(shown_edit)
        return 10.0 - score

    down = audited(shown, turned, Scale(lowest=0.0, highest=10.0, higher_is_better=False))
    assert down.verdict == "passed"
    best = down.anchors()[0]
    assert (best.rung, best.score) == ("right", pytest.approx(0.0, abs=0.01))
    open_ended = audited(shown, seeing, Scale())
    assert open_ended.measures["order"].value == audited(shown, seeing).measures["order"].value
    assert {name for name, measure in open_ended.measures.items() if measure.floor is None} >= {
        "copy_level",
        "retest",
        "words_en",
    }
    assert audited(shown, lambda shown_edit: 10.0 - seeing(shown_edit), Scale()).verdict == "failed"


@pytest.mark.check
def test_anchors_are_twenty_five_of_all_categories_and_levels(shown: tuple[Shown, ...]) -> None:
    anchors = audited(shown, seeing).anchors()
    assert len(anchors) == 25
    assert len({anchor.category for anchor in anchors}) == 5
    assert {anchor.rung for anchor in anchors} == {"right", "extra", "dose_50", "copy"}
    assert len({anchor.sample for anchor in anchors}) == 25
    assert {anchor.sample for anchor in anchors} <= {shown_edit.sample.id for shown_edit in shown}


@pytest.mark.check
def test_anchors_and_repeated_edits_are_drawn_alike_and_are_not_the_same(shown: tuple[Shown, ...]) -> None:
    findings = audited(shown, seeing)
    anchors, repeated = findings.anchors(), findings.pair_repeats()
    assert {anchor.rung for anchor in anchors} == {edit.rung for edit in repeated}
    assert not {anchor.sample for anchor in anchors} & {edit.sample for edit in repeated}
    assert {edit.sample for edit in repeated} <= {
        shown_edit.sample.id for shown_edit in shown if not shown_edit.sample.facts[AUDIT]["view"]
    }
    assert all(edit.before == pytest.approx(edit.now) for edit in repeated), "this judge repeats itself"
    assert max(edit.before for edit in repeated) > 9, "in points"


@pytest.mark.check
def test_drift_moves_the_anchors_and_nothing_else(shown: tuple[Shown, ...]) -> None:
    """A judge that is another one on the second day: each audit by itself passes, the anchors tell."""
    first = audited(shown, seeing)
    second = audited(shown, lambda shown_edit: max(0.0, seeing(shown_edit) - 0.5))
    assert (first.verdict, second.verdict) == ("passed", "passed")
    then, now = ([anchor.score for anchor in some.anchors()] for some in (first, second))
    assert max(abs(a - b) for a, b in zip(then, now, strict=True)) == pytest.approx(0.5)
    both = [
        JudgedTwice(anchor.sample, anchor.rung, anchor.score, is_now)
        for anchor, is_now in zip(first.anchors(), now, strict=True)
    ]
    assert drift(both, first.pair_repeats()).drifted
    assert first.smallest_difference == pytest.approx(0.0, abs=1e-6)
