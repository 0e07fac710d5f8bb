"""What one sees first: the answer and, soon below it, pictures, however many edit models and judges there are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edit_eval.reporting.page.verdict import verdict_told
from edit_eval.statistics.summary import summarise
from reporting.reported_runs import build_run
from reporting.reports import Report, report_on

OpenPage = Callable[..., Any]
MODELS = tuple(f"an-edit-model-{number}" for number in range(1, 13))
JUDGES = ("judge-of-32b", "judge-of-235b", "another-judge", "a-fourth-judge")
PAPER = 703
"""Pixels of a sheet of A4 without its margins."""
MOST_SCREENS = {(1280, 900): 1.5, (768, 1024): 1.5, (390, 844): 3.0}


@pytest.fixture(scope="module", params=[(8, 4)], ids=lambda counts: "{} by {}".format(*counts))
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Failures of all kinds, so that every line that can be above the pictures is."""
    models, judges = request.param
    folder = tmp_path_factory.mktemp("first_screen")
    return report_on(
        build_run(folder, samples=8, size=(24, 18), edit_models=MODELS[:models], judges=JUDGES[:judges], failing=0.2)
    )


def test_the_gallery_begins_soon(drawn: Report, open_page: OpenPage) -> None:
    tab = open_page(drawn)
    for code in ("en", "zh"):
        tab.click(f"#language button[value={code}]")
        for (width, height), most in MOST_SCREENS.items():
            tab.set_viewport_size({"width": width, "height": height})
            begins = tab.evaluate("document.getElementById('gallery').getBoundingClientRect().top + scrollY")
            assert begins / height <= most, (code, width)
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, "nothing to scroll sideways"
    tab.emulate_media(media="print")
    tab.set_viewport_size({"width": PAPER, "height": 1000})
    assert tab.evaluate("document.querySelector('.standings').getBoundingClientRect().right") <= PAPER, (
        "nobody is cut off"
    )


def test_what_is_not_scored_is_accounted_for(tmp_path: Path) -> None:
    run = build_run(tmp_path, samples=30, size=(8, 6), edit_models=MODELS[:3], failing=0.4)
    summary = summarise(run)
    table = verdict_told(run, summary)["standings"]
    no_edit, no_score = table.columns[-2:]
    for row in table.rows:
        found = row.parts["qwen3_vl"].coverage
        missing = int(no_edit.cell(row)) + int(no_score.cell(row))
        assert 0 < missing == found["total"] - found["scored"], row.edit_model
        assert "status=edit_failed" in no_edit.to(row)
        assert "status=unscored" in no_score.to(row), "of several statuses"


def test_the_axis_of_the_strips_ends_with_the_scale(tmp_path: Path) -> None:
    run = build_run(tmp_path, samples=8, size=(8, 6), edit_models=MODELS)
    [axis] = [column for column in verdict_told(run, summarise(run))["standings"].columns if column.strip]
    low, high = map(float, axis.title.fields)
    assert (low > 0, high) == (True, 10), "the best have 10 of 10"
