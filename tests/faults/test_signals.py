"""Ctrl-C, a second one, SIGTERM: what is under way is finished, given up at once, or after a grace; all goes on."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edit_eval import evaluate
from edit_eval.run import Run
from faults.faulty_runs import (
    Command,
    Said,
    faulty,
    is_alive,
    kill,
    lines,
    run,
    settings,
    verdicts,
    wait_until,
    workers_of,
)

pytestmark = pytest.mark.timeout(150)

SOON = 40.0
"""Seconds in which somebody who has interrupted twice has his terminal back, on a machine that is very busy."""


class Place:
    """A folder in which an edit model waits until it may go on."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.run = folder, folder / "run"
        self.what = settings(folder, **faulty("Patient", device_ids="cpu:2", folder=str(folder)))

    def begun(self) -> int:
        """How many edits have begun."""
        note = self.folder / "begun"
        return len(note.read_text().splitlines()) if note.exists() else 0

    def command(self) -> Command:
        """The command, with two edits under way."""
        command = Command(self.what, self.folder)
        assert wait_until(lambda: self.begun() == 2 or command.process.poll() is not None, 60), command.text
        assert command.process.poll() is None, command.text
        return command

    def let_go(self) -> None:
        (self.folder / "go").touch()

    def kept(self) -> list[dict[str, Any]]:
        """The lines about edits."""
        return lines(self.run, "edits")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_what_is_under_way_is_finished_and_nothing_else_is_begun(place: Place, undisturbed: Run) -> None:
    with place.command() as command:
        os.killpg(command.process.pid, signal.SIGINT)
        assert wait_until(lambda: "stopping: running tasks finish first" in command.text, 60)
        assert command.process.poll() is None
        place.let_go()
        said = command.wait()
    goes_on(place, said, 130, undisturbed, range(2, 5))  # each of two devices has one more in hand


@pytest.mark.check
def test_the_second_is_at_once(place: Place, undisturbed: Run) -> None:
    with place.command() as command:
        command.process.send_signal(signal.SIGINT)
        assert wait_until(lambda: "interrupt again to stop at once" in command.text, 60)
        workers = workers_of(place.run)
        assert len(workers) >= 2
        command.process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        said = command.wait()
        assert time.monotonic() - begin < SOON
        assert not any(map(is_alive, workers))
    goes_on(place, said, 130, undisturbed, range(1))


def test_sigterm_gives_up_after_a_grace(place: Place, undisturbed: Run) -> None:
    with place.command() as command:
        command.process.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        said = command.wait()
        assert 10 <= time.monotonic() - begin < 10 + SOON
    goes_on(place, said, 143, undisturbed, range(1))


@pytest.mark.usefixtures("cold_workers")
def test_sigterm_to_everybody_as_slurm_and_systemd_send_it_gives_the_same_grace(place: Place, undisturbed: Run) -> None:
    with place.command() as command:
        for process in (*workers_of(place.run), command.process.pid):
            kill(process, signal.SIGTERM)
        assert wait_until(lambda: "stopping: running tasks finish first" in command.text, 60)
        place.let_go()
        said = command.wait()
    goes_on(place, said, 143, undisturbed, range(2, 5))


def goes_on(place: Place, said: Said, code: int, undisturbed: Run, finished: range) -> None:
    """Everybody is told how it ended, nobody is blamed, and the same command comes to the same end."""
    assert said.code == code, said.text
    assert "interrupted: all finished work is kept" in said.text
    assert wait_until(lambda: not workers_of(place.run))
    assert {r["status"] for r in place.kept()} <= {"ok"}, "no attempt was charged"
    assert len(place.kept()) in finished
    done = {r["key"] for r in place.kept()}
    place.let_go()
    made = evaluate(place.what, run_dir=place.run, report=False)
    assert len(place.kept()) == 9, "and nothing is made twice"
    assert done <= {r["key"] for r in place.kept()}
    assert [v[5:9] + v[10:] for v in verdicts(made)] == [v[5:9] + v[10:] for v in verdicts(undisturbed)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_load_is_not_waited_for(tmp_path: Path, number: int) -> None:
    """A judge of 60 GB takes minutes, and has nothing under way."""
    what = settings(tmp_path, **faulty("HangsWhenLoading", device_ids="cpu:2", folder=str(tmp_path)))
    with Command(what, tmp_path) as command:
        assert wait_until((tmp_path / "loads").exists, 60), command.text
        command.process.send_signal(number)
        begin = time.monotonic()
        said = command.wait()
        assert time.monotonic() - begin < 10, "not even for the grace that SIGTERM gives"
    assert said.code == 128 + number, said.text
    assert not workers_of(tmp_path / "run")
    assert not lines(tmp_path / "run", "edits")


def while_it_looks_around(tmp_path: Path) -> bool:
    return (tmp_path / "cache").exists()


@pytest.mark.parametrize("moment", [while_it_looks_around, lambda tmp_path: (tmp_path / "run" / "lock").exists()])
def test_a_signal_before_anything_was_begun(tmp_path: Path, moment: Callable[[Path], bool], undisturbed: Run) -> None:
    what = settings(tmp_path)
    with Command(what, tmp_path) as command:
        assert wait_until(lambda: moment(tmp_path) or command.process.poll() is not None, 60)
        command.process.send_signal(signal.SIGINT)
        said = command.wait()
    assert said.code == 130, said.text
    assert "Traceback" not in said.text
    assert not workers_of(tmp_path / "run")
    assert verdicts(run(tmp_path)) == verdicts(undisturbed)
