"""The words of an audit: every measure has a name, each that can be missed a sentence, in both languages."""

from __future__ import annotations

import io

import numpy as np
import pytest
from msgspec import structs
from rich.console import Console

from edit_eval.plugins.audit.findings import findings_of
from edit_eval.plugins.audit.measure import DOSE, Measure, ShownEdit, Trial
from edit_eval.plugins.audit.passports import ExaminedScale, Examinee, Passport
from edit_eval.plugins.audit.sheet import _fault, audit_sheet, better_way, meaning, places_of, rows, weaknesses
from edit_eval.records import Scale, Status
from edit_eval.reporting.table import print_sheet
from edit_eval.statistics.intervals import wilson_interval

AXES = ("hue", "place", "size", "count", "light")


def passport() -> Passport:
    """Of a judge that was shown every kind of dose."""
    shown = [
        ShownEdit(f"{axis}{n}.{rung}", f"{axis}{n}", "causal", rung, "", axis, False, Status.OK, 0.5)
        for axis in AXES
        for n in range(8)
        for rung in DOSE
    ]
    findings = findings_of(Trial("judge", Scale(lowest=0.0, highest=10.0), 0.0, 10.0, tuple(shown), True), bounds=False)
    subject = Examinee(judge={"type": "x", "revision": ""}, protocol="rubric", parameters={}, wording="", language="en")
    return Passport(
        **structs.asdict(subject),
        name="[mine]",
        form=("score",),
        pictures=("source", "edit"),
        headline="score",
        scale=ExaminedScale(lowest=0.0, highest=10.0, higher_is_better=True),
        date="2026-11-21",
        version="1",
        benchmark={},
        verdict=findings.verdict,
        measures=findings.measures,
        categories=findings.categories,
        smallest_difference=None,
        retest_sd=None,
        anchors=(),
    )


def test_every_measure_has_its_words() -> None:
    made = passport()
    assert {f"dose_{axis}" for axis in AXES} <= set(made.measures)
    held, shown = rows(made, held=True), rows(made, held=False)
    assert len(held) + len(shown) == len(made.measures) + sum(map(len, made.categories.values()))
    wrong = Measure(value=0.1, ci95=(0.0, 0.2), floor=0.9, passed=False)
    for name, measure in made.measures.items():
        if measure.floor is not None:  # of its own, or those of a pair: which edit is put above which
            assert _fault(name, wrong)
    all_missed = structs.replace(
        made, measures={name: wrong for name, measure in made.measures.items() if measure.floor is not None}
    )
    assert len(weaknesses(all_missed)) >= len(all_missed.measures)


@pytest.mark.parametrize(("language", "verdict"), [("en", "failed"), ("zh", "未通过")])
def test_what_a_terminal_shows(language: str, verdict: str) -> None:
    out = io.StringIO()
    console = Console(file=out, width=80, color_system=None)
    print_sheet([*audit_sheet(passport()), *places_of("/x", "/y", "/z")], console, language)
    said = out.getvalue()
    assert said.startswith("[mine]")
    assert verdict in said.splitlines()[0]
    assert said.splitlines()[-2].endswith("/z")
    assert max(map(len, said.splitlines())) <= 80


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_told_first_is_a_line_a_finding(language: str) -> None:
    """Of a judge that misses everything: the gravest, and where all the others are."""
    made = passport()
    wrong = Measure(value=0.1, ci95=(0.0, 0.2), floor=0.9, passed=False)
    unsure = Measure(value=0.9, ci95=(0.8, 1.0), floor=0.85, passed=False)
    held = [name for name, measure in made.measures.items() if measure.floor is not None]
    measures = {name: unsure if number % 5 == 4 else wrong for number, name in enumerate(held)}
    for some in (measures, dict.fromkeys(held[:3], unsure)):
        out = io.StringIO()
        judge = structs.replace(made, measures=some, categories={})
        print_sheet(audit_sheet(judge, full=False), Console(file=out, width=80, color_system=None), language)
        lines = out.getvalue().splitlines()
        listed = [place for place, line in enumerate(lines) if line.startswith("  - ")]
        assert listed == list(range(listed[0], listed[-1] + 1)), "each fits on one line"
        assert len(listed) == min(8, len(weaknesses(judge, full=False)))
        assert "--full" in lines[-1]


def test_what_is_not_sure_is_no_weakness() -> None:
    unsure = Measure(value=0.9, ci95=(0.8, 1.0), floor=0.85, passed=False)
    made = structs.replace(passport(), measures={"order": unsure}, categories={})
    assert weaknesses(made) == ["Too little was seen to show: Better edits score higher."]


def test_a_fault_is_said_as_strongly_as_it_is_shown() -> None:
    blind = Measure(value=0.52, ci95=(0.4, 0.64), floor=0.75, passed=False)
    nearly = Measure(value=0.74, ci95=(0.66, 0.8), floor=0.75, passed=False)
    assert _fault("instruction", blind) == "It does not look at the instruction."
    assert _fault("instruction", nearly) == "It heeds the instruction too seldom."
    dose = Measure(value=0.2, ci95=(0.05, 0.35), floor=0.25, passed=False)
    assert _fault("dose_hue", dose) == "It hardly sees how much of a colour has changed."


def test_that_scores_tell_nothing_is_said_of_a_judge_that_orders_nothing() -> None:
    """Not of one that orders nine pairs in ten, and prefers one kind of wrong edit."""
    liked = Measure(value=0.1, ci95=(0.05, 0.2), floor=0.5, passed=False)
    for order, words in ((0.55, "do not tell good edits from bad ones"), (0.9, "can put the worse model first")):
        measures = {
            "order": Measure(value=order, ci95=(order - 0.05, order + 0.05), floor=0.85),
            "right_over_extra": liked,
        }
        said = meaning(structs.replace(passport(), verdict="failed", measures=measures))
        assert words in said
        assert "Do not rank models by them." in said
    assert "sees what it scores" in meaning(structs.replace(passport(), verdict="limited"))


def way(two: bool, right: int, of: int = 200) -> Passport:
    low, high = wilson_interval(right, of) or (0.0, 1.0)
    measures = {"right_first": Measure(value=right / of, ci95=(low, high))}
    return structs.replace(passport(), benchmark={"battles": two}, measures=measures)


def test_a_way_of_asking_is_better_if_it_is_above_all_of_the_other() -> None:
    assert better_way([way(True, 180)]) is None
    assert "two edits at a time" in better_way([way(True, 190), way(False, 160)])
    assert "one edit at a time: so" in better_way([way(True, 160), way(False, 190)])
    assert "Neither" in better_way([way(True, 190), way(False, 160), way(False, 188)])
    assert "two edits at a time" in better_way([way(True, 178), way(False, 162)])
    assert "Neither" in better_way([*(way(True, 150 + n) for n in range(9)), way(True, 178), way(False, 162)])


@pytest.mark.parametrize(
    "draws", [pytest.param(20, marks=pytest.mark.check), pytest.param(400, marks=pytest.mark.chaos)]
)
def test_of_equal_ways_of_asking_none_is_called_better_too_often(draws: int) -> None:
    """Each takes as long as a page."""
    g = np.random.default_rng(6)
    called = 0
    for _ in range(draws):
        ways = [way(two, int(g.binomial(200, 0.8))) for two in (True, True, True, True, False)]
        called += "Neither" not in better_way(ways)
    assert called / draws <= 0.07
