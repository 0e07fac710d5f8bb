"""Every page for axe: what people who do not see, or do not use a mouse, would stumble over. None is wanted."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from edit_eval.execution.contract import Meter
from edit_eval.records import Scale
from edit_eval.reporting.live import Count, DeviceView, MeanSoFar, Snapshot, write_live
from edit_eval.run import Run
from edit_eval.store.run_directory import RunDirectory
from plugins.viewer.large_run import write_large_run
from plugins.viewer.served import Viewer
from stumbling_blocks import stumbling_blocks


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Path]:
    """Two runs with a failed edit each, and a third run at work."""
    folder = tmp_path_factory.mktemp("looked_at")
    made = write_large_run(folder, 4, size=(64, 48))
    (made / Run(made).results.edits[3].image).unlink()
    (folder / "runs").mkdir()
    for name in ("one", "other", "at_work"):
        shutil.copytree(made, folder / "runs" / name)
    at_work = RunDirectory(folder / "runs" / "at_work")
    at_work.begin()
    device = DeviceView("cuda:0", "editing", "first", "000001", "3/8", 0.4, 2, None, Meter(5, 9, 0.5))
    mean = MeanSoFar("first", "testing", "score", Scale(lowest=0.0, highest=10.0), 3, 6.1)
    write_live(at_work, Snapshot((device,), Count(5, 1, 12, 6, 3.2), Count(3, 0, 12, 3), means=(mean,), seconds=90.0))
    yield folder
    at_work.end()


@pytest.fixture(scope="module")
def on_runs(runs: Path) -> Iterator[Viewer]:
    with Viewer([runs / "runs"]) as started:
        yield started


def in_both(tab: Any, when: str, within: str = "html") -> list[str]:
    """Light and dark, English and Chinese."""
    faults = []
    for theme, language in (("light", "en"), ("dark", "zh")):
        tab.select_option("#theme", theme)
        tab.click(f"#language button[value={language}]")
        faults += [f"{when}, {theme}, {language}: {fault}" for fault in stumbling_blocks(tab, within)]
    return faults


@pytest.mark.check
def test_axe_finds_nothing(on_runs: Viewer, runs: Path, open_tab: Callable[..., Any]) -> None:
    base = f"{on_runs.address}/run/{on_runs.id_of('one')}"
    tab = open_tab(on_runs.address, script="")  # with every chart
    tab.set_default_timeout(120_000)
    tab.locator(".spark").first.click()
    faults = in_both(tab, "list")
    tab.goto(f"{on_runs.address}/compare/{on_runs.id_of('one')}/{on_runs.id_of('other')}")
    tab.locator(".card").first.wait_for()
    faults += [f"compared: {fault}" for fault in stumbling_blocks(tab)]
    tab.goto(f"{base}/vote")
    faults += [f"who votes: {fault}" for fault in stumbling_blocks(tab)]
    tab.fill("#rater", "Ann")
    tab.keyboard.press("Enter")
    tab.locator(".vote-pictures img").nth(2).wait_for()
    faults += in_both(tab, "pair")
    tab.goto(base)
    tab.locator(".card").first.wait_for()
    faults += in_both(tab, "report")
    tab.locator(".card a").first.click()
    tab.locator("#stage img").first.wait_for()
    for theme in ("light", "dark"):
        tab.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
        faults += [f"detail, {theme}: {fault}" for fault in stumbling_blocks(tab)]
    tab.goto(f"{on_runs.address}/run/{on_runs.id_of('at_work')}")
    tab.locator("#live .bar").first.wait_for()
    faults += in_both(tab, "at work", "#live")  # the rest is a report
    assert not faults, "\n".join(faults)
