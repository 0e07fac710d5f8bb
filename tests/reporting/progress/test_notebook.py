"""Progress in a notebook: one output that is drawn again, and nothing in it that data wrote."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from edit_eval.reporting.progress import live
from edit_eval.reporting.progress.displays import KEPT, NotebookProgress, in_notebook
from edit_eval.reporting.progress.live import live_progress
from edit_eval.reporting.progress.view import BenchmarkProgress, Said, Snapshot
from reporting.simulated_runs import SimulatedRun
from simulated_driver import Fate


class Kernel:
    """Stands for IPython in a kernel; keeps every output as it is now, and how often it was drawn."""

    def __init__(self) -> None:
        self.outputs: list[dict[str, str]] = []
        self.drawn = 0

    def display(self, shown: dict[str, str], *, raw: bool, display_id: bool) -> Any:
        assert raw
        assert display_id
        place = len(self.outputs)
        self.outputs.append(shown)

        def update(shown: dict[str, str], *, raw: bool) -> None:
            assert raw
            self.drawn += 1
            self.outputs[place] = shown

        return SimpleNamespace(update=update)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    made, ipython, shown = Kernel(), ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=made)  # type: ignore[attr-defined]
    ipython.display = shown  # type: ignore[attr-defined]
    shown.display = made.display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    return made


def test_a_kernel_is_one_and_a_terminals_ipython_is_none(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    assert in_notebook()
    for shell in (None, SimpleNamespace()):
        monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda shell=shell: shell)
        assert not in_notebook()
    monkeypatch.delitem(sys.modules, "IPython")
    assert not in_notebook()


@pytest.mark.parametrize("mode", ["auto", "rich"])
def test_it_is_what_a_notebook_gets(mode: str, kernel: Kernel) -> None:
    assert (live_progress(mode).mode, live_progress(mode).reason) == ("notebook", "this is a notebook")
    assert live_progress(mode, io.StringIO()).mode == "plain"
    assert live_progress("lines").mode == "lines"


def test_lines_are_written_to_the_notebook_and_not_to_the_servers_terminal() -> None:
    class Stream(io.TextIOBase):  # as a kernel's: its descriptor is the terminal
        def fileno(self) -> int:
            raise AssertionError("that is another place")

    stream: Any = Stream()
    assert live.unbuffered(stream) is stream


def test_a_run_is_one_output_with_what_is_worth_keeping(tmp_path: Path, kernel: Kernel) -> None:
    progress = live_progress("auto")
    progress.note("before <b>it</b>")
    SimulatedRun(tmp_path, fates={"00001_物理_hard": Fate(1, "failed", "no <img src=x>")}).play(progress)
    assert progress.failure is None
    (output,) = kernel.outputs
    assert kernel.drawn >= 2
    text = output["text/plain"]
    for said in ("note  before <b>it</b>", "schedule  pull", "failed", "no <img src=x>", "end  11 of 12 edits"):
        assert said in text
    assert "overall" not in text  # the bars are gone
    markup = output["text/html"]
    assert {*re.findall(r"<(\w+)", markup)} == {"pre", "span"}
    assert "&lt;img src=x&gt;" in markup
    progress.note("after")
    assert len(kernel.outputs) == 2  # a second run's cell has its own


def test_bars_and_the_latest_scores_are_there_meanwhile(kernel: Kernel) -> None:
    display = NotebookProgress(clock=lambda: 0.0)
    display.reading(BenchmarkProgress(3), 0.0)
    assert "reading the benchmark: 3 samples" in kernel.outputs[0]["text/plain"]
    display.reading(BenchmarkProgress(4), 0.1)
    assert "3 samples" in kernel.outputs[0]["text/plain"]  # not that often
    display.has_read()
    assert "reading" not in kernel.outputs[0]["text/plain"]
    display.draw([], Snapshot())
    assert "overall" in kernel.outputs[0]["text/plain"]
    drawn = kernel.drawn
    display.draw([], Snapshot())
    assert kernel.drawn == drawn  # nothing has changed
    display.draw([Said("note", f"note {number}") for number in range(2 * KEPT)], Snapshot())
    text = kernel.outputs[0]["text/plain"]
    assert f"note {2 * KEPT - 1}" in text
    assert "note 1\n" not in text
