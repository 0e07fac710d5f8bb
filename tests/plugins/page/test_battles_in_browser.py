"""Battles on the page of a run whose only judge compares: each with both answers, and found by what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from edit_eval.protocols.pairwise import preference
from edit_eval.records import Judgement, Reading, Scoring, Status
from edit_eval.statistics.votes import BACKWARD, FORWARD
from reporting.reported_runs import build_run
from reporting.reports import Report, ids, report_on

OpenPage = Callable[..., Any]
SAID = [("A", "A"), ("A", "B"), ("C", "C"), ("A", "-"), ("B", "A"), ("A", "B")]
"""What was said of each sample, in each order."""


def battle(sample: str, category: str, said: tuple[str, str]) -> Judgement:
    readings = {}
    for order, label in zip((FORWARD, BACKWARD), said, strict=True):
        first = {"A": 1.0, "B": 0.0, "C": 0.5}.get(label)
        if first is None:
            readings[f"overall.{order}"] = Reading(status=Status.UNPARSEABLE, reason="no label", text="Image B")
            continue
        share = first if order == FORWARD else 1 - first
        values = {f"overall.{order}": share, f"overall.{order}.tie": float(label == "C")}
        readings[f"overall.{order}"] = Reading(values=values, text=f"I say <{label}>.")
    given = [
        value for reading in readings.values() for name, value in reading.values.items() if not name.endswith("tie")
    ]
    labelled = len(given) == 2
    return Judgement(
        sample_id=sample,
        category=category,
        edit_model="first",
        other="second",
        judge="arena",
        edit_seed=0,
        repeat=0,
        headline="overall",
        status=Status.OK if labelled else Status.UNPARSEABLE,
        reason="" if labelled else "no label",
        scores={"overall": sum(given) / 2} if labelled else {},
        missing={} if labelled else {"overall": (Status.UNPARSEABLE, "no label")},
        readings=(readings,),
    )


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Report:
    run = build_run(tmp_path_factory.mktemp("arena"), samples=6, size=(48, 36), edit_models=("first", "second"))
    return report_on(
        replace(
            run,
            judges=(),
            judgements=(),
            controls=(),
            battle_judges=("arena",),
            battles=tuple(
                battle(sample.id, sample.category, said) for sample, said in zip(run.samples, SAID, strict=True)
            ),
            scoring={
                "arena": Scoring(
                    protocol="pairwise", headline="overall", scales={"overall": preference("overall").scale}
                )
            },
        )
    )


def test_each_battle_is_seen_with_both_answers_and_is_found_by_what_came_of_it(
    arena: Report, open_page: OpenPage
) -> None:
    tab = open_page(arena)
    every = [sample.id for sample in arena.results.samples]
    assert ids(tab) == every
    assert tab.locator(".tile .won").all_inner_texts()[2:4] == ["won 1, lost 0", "won 0, lost 1"]
    assert tab.locator("#battles table").count() == 2, "strengths, with points as others define them; won and lost"
    [headline] = tab.locator("h1").all_inner_texts()
    assert headline == "No winner yet: battles on fewer than six source images are too few to tell."
    assert tab.locator(".standings tbody th").all_inner_texts() == ["first", "second"]
    assert tab.locator(".look-title").all_inner_texts()[0] == "Contradictions"
    begins = tab.evaluate("document.getElementById('gallery').getBoundingClientRect().top + scrollY")
    assert begins <= 1.5 * 900, "pictures are before the tables of battles"
    for outcome, expected in (
        ("contradiction", [every[0]]),
        ("tie", [every[2]]),
        ("missing", [every[3]]),
        ("preferred", [every[1], every[4], every[5]]),
    ):
        tab.select_option("[name=outcome]", outcome)
        assert ids(tab) == expected
    tab.select_option("[name=outcome]", "contradiction")
    assert "outcome=contradiction" in tab.evaluate("location.hash")
    tab.locator(".card .instruction a").click()
    sides = [tab.locator(f"#pick-{side}").input_value() for side in ("left", "right")]
    assert sides == ["edit:first", "edit:second"], "not the source: the two were held against each other"
    shown = tab.locator(".about-battles")
    assert shown.locator("strong").inner_text() == "contradiction: each time the one shown first"
    assert shown.locator("blockquote").all_inner_texts() == ["I say <A>.", "I say <A>."]
    assert shown.locator(".reply header").all_inner_texts() == [
        "first shown first\nprefers first",
        "second shown first\nprefers second",
    ]
    tab.click("#detail-close")
    tab.select_option("[name=outcome]", "missing")
    tab.locator(".card .instruction a").click()
    assert shown.locator("blockquote").all_inner_texts() == ["I say <A>.", "Image B"]
    assert shown.locator("strong.unscored").inner_text() == "no score in the answer"
