"""What lies in the machine, or in the engine itself, is charged to no sample and no worker."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from edit_eval import evaluate
from edit_eval.errors import Stopped
from edit_eval.execution.engine import blame
from edit_eval.records import Status
from edit_eval.run import Run
from edit_eval.store.run_directory import CannotWrite
from faults.faulty_runs import (
    COUNT,
    MODELS,
    Ears,
    is_alive,
    kill,
    lines,
    run,
    said_by_engine,
    settings,
    start_engine,
    verdicts,
    wait_until,
    workers_of,
)
from small_benchmark import write_benchmark

pytestmark = pytest.mark.timeout(90)


# -- a class that goes elsewhere --


@pytest.mark.parametrize("role", ["diffusion_model", "reward_model"])
def test_a_class_that_goes_to_another_folder_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undisturbed: Run, role: str
) -> None:
    """At its import, in the engine and in the worker, when it is loaded, and at its work; with every path relative."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "wanderer.py").write_text(
        f"import os, sys\nsys.path.insert(0, {str(MODELS.parent)!r})\nos.chdir({str(tmp_path / 'elsewhere')!r})\n"
        "from faulty_models import Wanderer\n"
    )
    monkeypatch.chdir(tmp_path)
    write_benchmark(tmp_path)
    what = settings(tmp_path)
    what["benchmark"] = {"data_path": "benchmark.json", "cache_dir": "cache"}
    what[role] = {"class_path": "wanderer.py:Wanderer", "params": {"device_ids": "cpu:1", "folder": "/"}}
    made = evaluate(what, run_dir="run", report=False)
    assert Path.cwd() == tmp_path
    assert {e.status for e in made.results.edits} == {Status.OK}
    assert {j.status for j in made.results.judgements} == {Status.OK}
    assert len(lines(tmp_path / "run", "edits")) == COUNT, "no edit was made twice"
    assert not any((tmp_path / "elsewhere").iterdir())
    if role == "diffusion_model":
        assert [v[9] for v in verdicts(made)] != []
        assert [e.pixels for e in made.results.edits] == [e.pixels for e in undisturbed.results.edits]


# -- what keys speak of --


def plug_in(folder: Path, colour: str) -> Path:
    """A plug-in in whose source the colour stands; both have the same length, and perhaps the same second."""
    path = folder / "mine.py"
    path.write_text(
        "import os, signal, time\nfrom pathlib import Path\nfrom PIL import Image\n\n\nclass Mine:\n"
        "    def __init__(self, parameters): self.folder = Path(parameters['folder'])\n"
        "    def load(self, devices): ...\n"
        "    def edit(self, request, on_step):\n"
        "        first = len(list(self.folder.glob('made-*'))) == 3\n"
        "        (self.folder / f'made-{request.seed}').touch()\n"
        "        if first:\n"
        "            while not (self.folder / 'changed').exists(): time.sleep(0.01)\n"
        "            os.kill(os.getpid(), signal.SIGKILL)\n"
        f"        return Image.new('RGB', request.source.size, '{colour}')\n"
    )
    return path


def test_a_plug_in_that_changes_during_the_run_makes_nothing_under_the_old_key(tmp_path: Path) -> None:
    """The worker that replaces a dead one imports another program: it says so instead of working with it."""
    section = {"class_path": f"{plug_in(tmp_path, 'red')}:Mine", "params": {"folder": str(tmp_path)}}
    section["params"]["device_ids"] = "cpu:1"

    def change() -> None:
        assert wait_until(lambda: len(list(tmp_path.glob("made-*"))) == 4)
        plug_in(tmp_path, "tan")
        (tmp_path / "changed").touch()

    changing = threading.Thread(target=change)
    changing.start()
    with pytest.raises(Stopped, match=r"mine\.py has changed since the run began; rerun the same command") as stop:
        run(tmp_path, diffusion_model=section)
    changing.join()
    assert stop.value.exit_code == 4
    edits = Run(tmp_path / "run").results.edits
    assert {e.status for e in edits} == {Status.OK, Status.PENDING}, "nobody is blamed"
    assert sum(e.status is Status.OK for e in edits) <= 3
    made = run(tmp_path, diffusion_model=section)
    assert {e.status for e in made.results.edits} == {Status.OK}
    assert len({e.pixels for e in made.results.edits}) == 1, "all of them by the new program"


def test_pictures_of_a_folder_that_change_during_the_run_are_not_taken_for_the_old_ones(
    tmp_path: Path, undisturbed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blame, "AGAIN_AFTER", (0.1, 0.2))
    folder = tmp_path / "edits"
    folder.mkdir()
    for edit in undisturbed.results.edits:
        shutil.copy(undisturbed.path / edit.image, folder / f"{edit.sample_id}.png")
    names = sorted(folder.iterdir())

    class Swapper(Ears):
        def replica(self, replica: Any, state: str, message: Any) -> None:
            if replica.model.kind == "edit" and state == "loaded":
                shutil.copy(names[0], names[1])
                names[2].unlink()

    section = {"type": "image_folder", "params": {"folder": str(folder), "device_ids": "cpu:1"}}
    with pytest.raises(Stopped, match=r"changed since the run began.* rerun the same command"):
        run(tmp_path, diffusion_model=section, ears=Swapper())
    edits = {Path(e.sample_id).name: e for e in Run(tmp_path / "run").results.edits}
    assert edits[names[1].stem].status is Status.PENDING
    assert edits[names[2].stem].status is Status.PENDING
    assert [e.status for e in edits.values()].count(Status.OK) == COUNT - 2


# -- an engine that sleeps --


def test_a_suspended_engine_charges_nobody(tmp_path: Path, undisturbed: Run) -> None:
    """Ctrl-Z for longer than `timeout`: the workers have worked on, and what they said lies in their pipes."""
    write_benchmark(tmp_path)
    what = settings(tmp_path, edit={"seconds": 0.3, "timeout": 1.5, "device_ids": "cpu:2"}, judge={"timeout": 1.5})
    engine = start_engine(what, tmp_path / "run")
    assert wait_until(lambda: len(lines(tmp_path / "run", "edits")) >= 2)
    for _ in range(2):
        kill(engine, signal.SIGSTOP)
        time.sleep(4)
        kill(engine, signal.SIGCONT)
        time.sleep(0.3)
    assert wait_until(lambda: not is_alive(engine))
    assert said_by_engine(tmp_path / "run") == "done"
    assert not [r for r in lines(tmp_path / "run", "events") if r["event"] in ("died", "retired", "failed")]
    assert [v[:9] for v in verdicts(Run(tmp_path / "run"))] == [v[:9] for v in verdicts(undisturbed)]


# -- sources that cannot be read for a while --


class Thief(Ears):
    """Takes the sources away when an edit model is loaded, and perhaps brings them back after a while."""

    def __init__(self, cache: Path, kind: str, back_after: float | None) -> None:
        super().__init__()
        self._cache, self._kind, self._back_after = cache, kind, back_after
        self.returning: threading.Timer | None = None

    def replica(self, replica: Any, state: str, message: Any) -> None:
        if replica.model.kind == self._kind and state == "loaded" and self.returning is None:
            self._cache.rename(self._cache.with_name("taken"))
            self.returning = threading.Timer(self._back_after or 3600, self.bring_back)
            if self._back_after is not None:
                self.returning.start()

    def bring_back(self) -> None:
        self._cache.with_name("taken").rename(self._cache)


@pytest.mark.parametrize("kind", ["edit", "judge"])
def test_sources_that_are_gone_for_a_moment_are_read_again(tmp_path: Path, undisturbed: Run, kind: str) -> None:
    write_benchmark(tmp_path)
    thief = Thief(tmp_path / "cache", kind, 1.5)
    made = run(tmp_path, ears=thief)
    assert thief.returning is not None
    assert verdicts(made) == verdicts(undisturbed)
    assert {r["event"] for r in lines(made.path, "events")} >= {"failed"}, "it was noticed"
    assert not [r for r in lines(made.path, "edits") if r["status"] != "ok"]


@pytest.mark.parametrize("order", ["by_stage", "by_category"])
def test_a_source_that_stays_away_is_left_pending_and_all_else_is_done(
    tmp_path: Path, undisturbed: Run, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    monkeypatch.setattr(blame, "AGAIN_AFTER", (0.1, 0.2))
    write_benchmark(tmp_path)
    what = {"judge": {"batch_size": 1, "device_ids": "cpu:2"}, "execution": {"order": order}}
    taken: list[Path] = []

    class Taker(Ears):
        def replica(self, replica: Any, state: str, message: Any) -> None:
            if not taken:
                taken.extend(sorted((tmp_path / "cache").rglob("*.png"))[:2])
                for path in taken:
                    path.rename(tmp_path / path.name)

    with pytest.raises(
        Stopped, match=r"cannot be read \(No such file or directory\), and 1 more picture; everything else is"
    ):
        run(tmp_path, ears=Taker(), **what)
    left = Run(tmp_path / "run").results
    assert sorted(e.status for e in left.edits) == [Status.OK] * (COUNT - 2) + [Status.PENDING] * 2
    assert sorted(j.status for j in left.judgements) == [Status.OK] * (COUNT - 2) + [Status.PENDING] * 2
    for path in taken:
        (tmp_path / path.name).rename(path)
    assert verdicts(run(tmp_path, **what)) == verdicts(undisturbed)


# -- a machine without processes --


def test_a_machine_that_starts_no_more_processes_ends_the_run_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undisturbed: Run
) -> None:
    """The limit spares root, so the refusal is played."""
    write_benchmark(tmp_path)
    real, started = subprocess.Popen, 0

    def refuse(*arguments: Any, **named: Any) -> Any:
        nonlocal started
        started += 1
        if started > 1:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return real(*arguments, **named)

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with pytest.raises(Stopped, match=r"no more processes can be started; `ulimit -u`") as stopped:
        run(tmp_path, edit={"device_ids": "cpu:2"}, judge={"device_ids": "cpu:2"})
    assert stopped.value.exit_code == 4
    monkeypatch.undo()
    assert {e.status for e in Run(tmp_path / "run").results.edits} == {Status.OK}, "the one that was there went on"
    assert verdicts(run(tmp_path)) == verdicts(undisturbed)


def test_a_run_directory_that_is_moved_ends_the_run_and_keeps_all_that_was_done(
    tmp_path: Path, undisturbed: Run
) -> None:
    write_benchmark(tmp_path)
    seen: list[Any] = []

    class Mover(Ears):
        def edit(self, edit: Any) -> None:
            seen.append(edit)
            if len(seen) == 3:
                (tmp_path / "run").rename(tmp_path / "moved")

    with pytest.raises(
        CannotWrite, match=r"its journals were moved or deleted.*give its new location as `--run-dir`$"
    ) as stopped:
        run(tmp_path, edit={"seconds": 0.1}, ears=Mover())
    assert stopped.value.exit_code == 4
    assert not workers_of(tmp_path / "run")
    assert sum(e.status is Status.OK for e in Run(tmp_path / "moved").results.edits) >= 3
    assert [v[5:7] for v in verdicts(run(tmp_path, "moved"))] == [v[5:7] for v in verdicts(undisturbed)]
