"""Reports written once for all tests of this room, and a browser to look at them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from browser_tabs import NO_IDLE, Tabs
from reporting.reported_runs import build_hostile_run, build_run
from reporting.reports import Report, report_on
from reporting.three_scores import with_three_scores

SMALL = (96, 72)


@pytest.fixture(scope="session")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """One model, one judge, everything scored."""
    return report_on(build_run(tmp_path_factory.mktemp("complete"), samples=10, size=SMALL))


@pytest.fixture(scope="session")
def incomplete(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """One model, one judge, failures of several kinds, two samples still to do, 30 samples: two pages of cards."""
    run = build_run(tmp_path_factory.mktemp("incomplete"), samples=30, size=SMALL, failing=0.4, pending=2)
    return report_on(run)


@pytest.fixture(scope="session")
def several(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Two models and two judges, with the source of one sample and one edit gone from the disk."""
    directory = tmp_path_factory.mktemp("several")
    run = build_run(
        directory, samples=10, size=SMALL, edit_models=("first", "second"), judges=("strict", "kind"), failing=0.15
    )
    Path(run.samples[3].source).unlink()
    (directory / next(edit.image for edit in run.edits[5:] if edit.image)).unlink()
    (directory / next(edit.image for edit in run.edits[8:] if edit.image)).write_bytes(b"no picture")
    flagged = replace(run.edits[0], flags=("identical_to_source",))
    return report_on(replace(run, edits=(flagged, *run.edits[1:])))


@pytest.fixture(scope="session")
def three_scores(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Two models, a judge with three scores and one with a single one, and all kinds of missing scores."""
    directory = tmp_path_factory.mktemp("three_scores")
    run = build_run(
        directory, samples=30, size=SMALL, edit_models=("first", "second"), judges=("three", "kind"), failing=0.2
    )
    return report_on(with_three_scores(run, "three"))


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A run in which every word tries to be markup, a script or a path."""
    return report_on(build_hostile_run(tmp_path_factory.mktemp("hostile")), analyses=True)


@pytest.fixture(scope="session")
def faults() -> list[str]:
    """What pages of the test at work have complained of, or asked for elsewhere."""
    return []


@pytest.fixture(scope="session")
def tabs(browser: Any, faults: list[str]) -> Tabs:
    listeners: dict[str, Callable[[Any], object]] = {
        "console": lambda said: faults.append(said.text) if said.type in ("error", "warning") else None,
        "pageerror": lambda error: faults.append(str(error)),
        "request": lambda made: None if made.url.startswith(("file:", "data:", "about:")) else faults.append(made.url),
        "dialog": lambda shown: (faults.append(f"dialog: {shown.message}"), shown.dismiss()),
    }
    return Tabs(browser, listeners, NO_IDLE)


@pytest.fixture
def open_page(tabs: Tabs, faults: list[str]) -> Iterator[Callable[..., Any]]:
    """Opens a report from the disk; fails at the end if the page complained or asked for anything elsewhere."""
    with tabs.of_a_test() as opened:

        def open_it(report: Report, address: str = "", script: str = "", idle: bool = False, **options: Any) -> Any:
            """`script` runs before the page's own. Only with `idle` are charts drawn that nobody looks at, which is
            two thirds of what it costs to open a page."""
            own = "" if idle else NO_IDLE
            place = (report.folder / "index.html").as_uri() + address
            tab = opened(place, f"{script};{own}" if script or idle else None, **options)
            tab.wait_for_function("() => !document.getElementById('data')")  # unpacked: the page is made
            return tab

        yield open_it
    complaints = [*faults]
    faults.clear()
    assert complaints == []
