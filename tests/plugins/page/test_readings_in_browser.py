"""The page of a judge that was read twice, told how likely its answers are, and gave parts of its score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from edit_eval.records import Judgement, Reading, Scale, Scoring
from reporting.reported_runs import build_run
from reporting.reports import Report, link_to, report_on
from reporting.written_reports import SMALL

OpenPage = Callable[..., Any]
PARTED = Scoring(
    protocol="rubric",
    headline="score",
    scales={"score": Scale(lowest=0, highest=10), "Light": Scale(lowest=-1, highest=1)},
    parts=("Light",),
)

ANSWER = """I looked at both.
```json
{"what_changed": "the <b>sky</b>", "scores": [6, 7], "parts": [{"name": "light", "kept": true}]}
```"""


def read_twice(judgement: Judgement, mass: float | str) -> Judgement:
    readings = [{"score": Reading(values={"score": value}, mass=mass, asked=1, text=ANSWER)} for value in (6.0, 7.0)]
    scores, spread = {"score": 6.5, "Light": 0.25}, {"score": 0.7071, "Light": 0.0}
    return replace(judgement, scores=scores, spread=spread, readings=tuple(readings), tokens=(1234, 56))


@pytest.fixture(scope="module")
def likely(tmp_path_factory: pytest.TempPathFactory) -> Report:
    run = build_run(tmp_path_factory.mktemp("likely"), samples=4, size=SMALL)
    masses = (0.9, 0.9, 0.8, "unknown")
    judged = tuple(read_twice(judgement, mass) for judgement, mass in zip(run.judgements, masses, strict=True))
    return report_on(replace(run, judgements=judged, scoring=dict.fromkeys(run.judges, PARTED)))


def test_spread_mass_and_parts_are_shown(likely: Report, open_page: OpenPage) -> None:
    tab = open_page(likely, link_to(likely, 0))
    panel = tab.locator("#detail-words")
    assert "6.50 ± 0.71 between readings" in " ".join(panel.inner_text().split())
    assert panel.get_by_text("mass 0.900").count() == 2
    assert "1234 tokens read, 56 written" in panel.inner_text()
    answer = panel.locator("blockquote").first
    said = "I looked at both. what changed: the <b>sky</b> scores: 6, 7 parts: name: light kept: true As it came"
    assert " ".join(answer.inner_text().split()) == said
    answer.locator("summary").click()
    assert '"what_changed": "the <b>sky</b>"' in answer.inner_text()
    tab = open_page(likely, link_to(likely, 3))
    assert tab.locator("#detail-words").get_by_text("mass: unknown").count() == 2
    tab.keyboard.press("Escape")
    text = " ".join(tab.locator("#results").inner_text().split())
    judge = likely.results.judges[0]
    assert f"{judge}: each score is the mean of 2 readings, with a standard deviation of 0.71 between them." in text
    assert f"{judge}: mass (the probability of all answers that were asked for) 0.900 in the median" in text
    assert f"{judge}: mass: unknown in 2 of 8 readings" in text
    assert "Light" not in text, "parts are folded away at first"
    tab.click("#results summary")
    assert "Light from -1 to 1" in " ".join(tab.locator("#results details").inner_text().split())
    tab.click("#language button[value=zh]")
    assert "次评读的平均" in tab.locator("#results").inner_text()
