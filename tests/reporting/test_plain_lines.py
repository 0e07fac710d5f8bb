"""What a run shows where no display is installed: lines, counted in its records."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from edit_eval.config.loading import load_configuration
from edit_eval.execution.spectator import Spectator
from edit_eval.plugins.progress.state import Tally
from edit_eval.reporting import displays, plain_lines
from edit_eval.reporting.live import count_work
from edit_eval.reporting.plain_lines import PlainLines
from edit_eval.store.run_directory import LIVE
from edit_eval.store.table import JudgementTable
from reporting.simulated_runs import SimulatedRun
from simulated_driver import Fate
from small_benchmark import configuration


def test_a_run_in_plain_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_lines, "EVERY", 0.0)
    stream = io.StringIO()
    run = SimulatedRun(tmp_path, fates={"00001_物理_hard": Fate(1, "failed", "no")})
    lines = PlainLines(stream)
    lines.note("first\nof all")
    run.play(lines)
    said = stream.getvalue().splitlines()
    assert said[0] == "note: first of all"
    assert any(line.startswith("progress: edits ") for line in said)
    assert "11 of 12 scores" in said[-1]
    assert said[-1].startswith("end: ")
    live = json.loads((run.directory.path / LIVE).read_text("utf-8"))
    assert live["ended"]
    table = JudgementTable(run.matrix)
    edits, judgements, controls = Tally(table, table.rows()).counts(0.0)
    assert (edits, judgements, controls) == count_work(table)
    assert table.count_finished() == edits.settled + judgements.settled


def test_silent_lines_are_notes_alone(tmp_path: Path) -> None:
    stream = io.StringIO()
    lines = PlainLines(stream, silent=True)
    SimulatedRun(tmp_path, count=2).play(lines)
    lines.note("kept")
    assert stream.getvalue() == "note: kept\n"


@pytest.mark.parametrize("installed", [False, True])
def test_without_a_display_or_with_one_that_fails_there_are_lines(
    installed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(kind: str, name: str) -> type[Spectator]:
        if name == "plain":
            return PlainLines
        raise RuntimeError("no terminal")

    monkeypatch.setattr(displays, "import_registered", fail)
    monkeypatch.setattr(displays, "locate", lambda *named: "a:B" if installed else None)
    loaded = load_configuration(configuration(tmp_path))
    assert isinstance(displays.watch_run(loaded), PlainLines)
    told = "note: the progress display has failed (RuntimeError: no terminal); the run goes on\n"
    assert capsys.readouterr().err == (told if installed else "")
