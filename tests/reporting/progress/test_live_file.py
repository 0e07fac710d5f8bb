"""`live.json`: whole, fresh, and never in the way."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from edit_eval.execution.contract import Meter
from edit_eval.records import Scale
from edit_eval.reporting.progress import live
from edit_eval.reporting.progress.live import Progress, live_progress
from edit_eval.reporting.progress.view import MOST_BYTES, Count, DeviceView, MeanSoFar, Snapshot, read_live, write_live
from edit_eval.store.run_directory import LIVE, RunDirectory
from reporting.simulated_runs import SimulatedRun

SNAPSHOT = Snapshot(
    devices=(DeviceView("cuda:0", "editing", "q", "00012_物理_medium", "32/50", 0.64, 7, None, Meter(5, 9, 0.5)),),
    edits=Count(130, 1, 270, 131, 3.2),
    judgements=Count(20, 1, 270, 21),
    controls=Count(total=75),
    means=(MeanSoFar("q", "j", "psnr", Scale(lowest=0.0, mean_over="categories"), 20, None),),
    seconds=1880.25,
    left=3720,
    left_without=("judge",),
    batch=(20, 45),
)


@pytest.fixture
def directory(tmp_path: Path) -> Any:
    made = RunDirectory(tmp_path / "run")
    made.begin()
    (made.path / "config").mkdir()
    yield made
    made.end()


def test_what_is_written_is_what_is_read(directory: RunDirectory) -> None:
    write_live(directory, SNAPSHOT)
    found = read_live(RunDirectory.existing(directory.path))
    assert found is not None
    assert {name: getattr(found, name) for name in vars(SNAPSHOT)} == vars(SNAPSHOT)
    assert (found.schema, found.start, found.ended) == (1, 1, False)
    assert abs(time.time() - found.at) < 600
    assert [path.name for path in directory.path.iterdir() if path.name.startswith(".")] == []


def test_others_read_it_as_plain_json(directory: RunDirectory) -> None:
    write_live(directory, SNAPSHOT, ended=True)
    document = json.loads((directory.path / LIVE).read_text("utf-8"))
    assert (document["start"], document["ended"], document["left"], document["batch"]) == (1, True, 3720, [20, 45])
    assert document["edits"] == {"ok": 130, "failed": 1, "total": 270, "settled": 131, "per_minute": 3.2}
    assert document["devices"][0]["meter"] == {"used": 5, "total": 9, "busy": 0.5}
    assert document["means"][0]["scale"]["mean_over"] == "categories"


def test_only_that_of_the_start_at_work_counts(directory: RunDirectory) -> None:
    write_live(directory, SNAPSHOT, ended=True)
    assert read_live(directory) is None, "it has ended"
    write_live(directory, SNAPSHOT)
    (directory.path / "config" / "0001.yaml").write_text("")
    directory.end()
    assert read_live(directory) is None, "nobody is at work"
    again = RunDirectory(directory.path)
    again.begin()
    assert (again.number, read_live(again)) == (2, None), "a start that was killed has left it"
    write_live(again, SNAPSHOT)
    assert read_live(again) is not None
    again.end()


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"schema": 1}', '{"schema": 1, "start": 1, "at": "x", "ended": false}', "\xff\xfe"]
)
def test_what_cannot_be_read_is_nothing(directory: RunDirectory, content: str) -> None:
    (directory.path / LIVE).write_bytes(content.encode("latin-1"))
    assert read_live(directory) is None


def test_no_more_than_so_much_is_read(directory: RunDirectory) -> None:
    write_live(directory, SNAPSHOT)
    whole = (directory.path / LIVE).read_bytes()
    (directory.path / LIVE).write_bytes(whole[:-1] + b" " * MOST_BYTES + b"}")
    assert read_live(directory) is None


def test_a_full_disk_leaves_it_out(directory: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    write_live(directory, SNAPSHOT)
    before = (directory.path / LIVE).read_bytes()

    def full(path: Path, data: bytes) -> None:
        with path.open("wb") as file:
            file.write(data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    write_live(directory, SNAPSHOT, ended=True)
    assert (directory.path / LIVE).read_bytes() == before
    assert not list(directory.path.glob(".tmp*"))


# -- a whole run --


@pytest.mark.parametrize("mode", ["none", "plain"])
def test_a_run_writes_it_whatever_is_shown(tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "KEEP_EVERY", 0.001)
    run = SimulatedRun(tmp_path, count=6)
    written: list[tuple[int, bool]] = []

    def keep(directory: RunDirectory, snapshot: Snapshot, *, ended: bool = False) -> None:
        write_live(directory, snapshot, ended=ended)
        document = json.loads((tmp_path / LIVE).read_text("utf-8"))
        written.append((document["edits"]["total"], document["ended"]))

    monkeypatch.setattr(live, "write_live", keep)
    with open(os.devnull, "w") as stream:
        progress = live_progress(mode, stream)
        run.play(progress)
    assert progress.failure is None
    assert written[0] == (6, False)
    assert [ended for _, ended in written].count(True) == 1
    last = json.loads((tmp_path / LIVE).read_text("utf-8"))
    assert (last["ended"], last["edits"]["ok"], last["judgements"]["ok"]) == (True, 6, 6)
    assert last["means"][0]["mean"] == 6.5


def test_a_disk_that_hangs_holds_nothing_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "PATIENCE", 0.05)
    go_on = threading.Event()
    monkeypatch.setattr(live, "write_live", lambda *arguments, **named: go_on.wait())
    run = SimulatedRun(tmp_path, count=6)
    run.play(Progress(None, "none", ""))
    assert all(one.score is not None for one in run.matrix.judgements())
    go_on.set()


def test_ids_that_no_file_can_hold_are_written_all_the_same(directory: RunDirectory, tmp_path: Path) -> None:
    run = SimulatedRun(tmp_path / "other", count=2)
    progress = Progress(None, "none", "")
    progress.begin(run.matrix, run.policy, run.work, run.estimates, {}, directory)
    replica = run.policy.replicas[0]
    task = run.work.add("edit:qwen_image_edit", [0])
    progress.replica(replica, "loaded", {"seconds": 1.0})
    progress.running(replica, task, "id \ud800 of a benchmark")
    progress.end()
    assert progress.failure is None
    assert "id ? of a benchmark" in (directory.path / LIVE).read_text("utf-8")
