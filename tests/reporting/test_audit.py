"""The words of an audit: every measure has a name, each that can be missed a sentence, in both languages."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from edit_eval.passports import Passport, Subject
from edit_eval.records import Scale, Status
from edit_eval.reporting.audit import _fault, audit_sheet, places_of, rows, weaknesses
from edit_eval.reporting.table import print_sheet
from edit_eval.statistics.audit.findings import findings_of
from edit_eval.statistics.audit.measure import DOSE, Measure, ShownEdit, Trial

AXES = ("hue", "place", "size", "count", "light")


def passport() -> Passport:
    """Of a judge that was shown every kind of dose."""
    shown = [
        ShownEdit(f"{axis}{n}.{rung}", f"{axis}{n}", "causal", rung, "", axis, False, Status.OK, 0.5)
        for axis in AXES
        for n in range(8)
        for rung in DOSE
    ]
    found = findings_of(Trial("judge", Scale(lowest=0.0, highest=10.0), 0.0, 10.0, tuple(shown), True), bounds=False)
    subject = Subject(judge={"type": "x", "revision": ""}, protocol="rubric", parameters={}, wording="", language="en")
    return Passport(
        subject=subject,
        name="[mine]",
        form=("score",),
        pictures=("source", "edit"),
        headline="score",
        scale={},
        date="2026-11-21",
        version="1",
        benchmark={},
        verdict=found.verdict,
        measures=found.measures,
        categories=found.categories,
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
    for name, one in made.measures.items():
        if one.floor is not None:  # of its own, or those of a pair: which edit is put above which
            assert _fault(name, wrong)
    all_missed = replace(made, measures={name: wrong for name, one in made.measures.items() if one.floor is not None})
    assert len(weaknesses(all_missed)) >= len(all_missed.measures)


@pytest.mark.parametrize(("language", "verdict"), [("en", "failed"), ("zh", "未通过")])
def test_what_a_terminal_shows(language: str, verdict: str) -> None:
    out = io.StringIO()
    console = Console(file=out, width=80, color_system=None)
    print_sheet([*audit_sheet(passport()), *places_of("/x", "/y", "/z")], console, language)
    said = out.getvalue()
    assert said.startswith("[mine]")
    assert verdict in said.splitlines()[0]
    assert said.rstrip().endswith("/z")
    assert max(map(len, said.splitlines())) <= 80


def test_what_is_not_sure_is_no_weakness() -> None:
    unsure = Measure(value=0.9, ci95=(0.8, 1.0), floor=0.85, passed=False)
    made = replace(passport(), measures={"order": unsure}, categories={})
    assert weaknesses(made) == ["Too little was seen to show: Better edits score higher."]
