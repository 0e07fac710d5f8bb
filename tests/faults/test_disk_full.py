"""A disk that is full, at sampled points of a run: it stops with what it needs, and goes on when there is room."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from edit_eval.errors import Stopped
from edit_eval.execution.machine.space import space_needed, what_is_short
from edit_eval.records import Status
from edit_eval.run import Run
from edit_eval.store.journal import Segment
from edit_eval.store.run_directory import CannotWrite
from faults.faulty_runs import (
    Ears,
    images,
    is_alive,
    lines,
    report_of,
    run,
    said_by_engine,
    settings,
    start_engine,
    stray_files,
    verdicts,
    wait_until,
    workers_of,
)
from small_benchmark import write_benchmark
from small_matrix import matrix_of

SIZE = (160, 120)  # pictures of about 58 kB
SAMPLES = 9


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("clean")
    write_benchmark(folder, SAMPLES, SIZE)
    return run(folder)


def used(folder: Path) -> int:
    """Bytes that a run takes on a tmpfs: whole pages, and one for each file's name."""
    return sum(-(-p.lstat().st_size // 4096) * 4096 for p in folder.rglob("*") if p.is_file())


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Mounts a disk of a given size, or resizes it."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(size: int) -> Path:
        how = "remount,size" if os.path.ismount(place) else "size"
        command = ["mount", "-t", "tmpfs", "-o", f"{how}={size}", "tmpfs", str(place)]
        if subprocess.run(command, capture_output=True).returncode:
            pytest.skip("no permission to mount a disk")
        return place

    yield mount
    if os.path.ismount(place):
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize(
    "part", [*(0.0, 0.15, 0.4, 0.9), *(pytest.param(n / 40, marks=pytest.mark.chaos) for n in range(40))]
)
def test_a_full_disk_stops_the_run_and_a_free_one_lets_it_go_on(
    tmp_path: Path, clean: Run, small_disk: Callable[[int], Path], part: float
) -> None:
    disk = small_disk(max(4096, int(part * used(clean.path))))
    write_benchmark(tmp_path, SAMPLES, SIZE)
    with pytest.raises(Stopped) as stopped:
        run(tmp_path, "disk/run")
    said = str(stopped.value)
    assert "No space left on device" in said
    assert "all finished work is kept; rerun the same command to resume" in said
    assert "\n" not in said
    assert wait_until(lambda: not workers_of(disk / "run"))
    done = {r["key"] for r in lines(disk / "run", "edits") if r["status"] == "ok"}
    if part >= 0.3:
        # How far the judge was depends on the machine's pace, what is said to remain on the records alone.
        remaining = re.search(r"the remaining (\d+) edits? and (\d+) judgements? need about", said)
        judged = len({r["key"] for r in lines(disk / "run", "replies") if r["status"] == "ok"})
        assert remaining, said
        assert [int(n) for n in remaining.groups()] == [SAMPLES - len(done), SAMPLES - judged], said
    assert not [r for r in lines(disk / "run", "edits") if r["status"] != "ok"], "no edit is blamed"
    small_disk(16 << 20)
    made = run(tmp_path, "disk/run")
    assert verdicts(made) == verdicts(clean)
    assert report_of(made) == report_of(clean)
    assert images(made.path) == images(clean.path)
    assert not stray_files(made.path)
    again = [r["key"] for r in lines(made.path, "edits") if r["status"] == "ok"]
    assert len(again) == len(set(again)) == SAMPLES
    assert done <= set(again)


def test_a_disk_without_inodes_is_not_said_to_lack_space(tmp_path: Path, small_disk: Callable[[int], Path]) -> None:
    disk = small_disk(16 << 20)
    write_benchmark(tmp_path, SAMPLES, SIZE)

    class Saboteur(Ears):
        def replica(self, replica: Any, state: str, message: Any) -> None:
            if state == "loaded":
                place = os.statvfs(disk)
                options = f"remount,nr_inodes={place.f_files - place.f_ffree}"
                subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)], check=True)

    with pytest.raises(
        CannotWrite, match=r"No space left on device.*hold no more files, whatever their size"
    ) as stopped:
        run(tmp_path, "disk/run", edit={"seconds": 0.05}, ears=Saboteur())
    assert "need about" not in str(stopped.value)
    assert not [r for r in lines(disk / "run", "edits") if r["status"] != "ok"], "no edit is blamed"


def test_a_disk_is_said_to_be_what_it_is(clean: Run, small_disk: Callable[[int], Path]) -> None:
    disk, matrix = small_disk(1 << 20), matrix_of(clean)
    assert "need about" in what_is_short(errno.ENOSPC, matrix, disk)
    assert "`ulimit -n`" in what_is_short(errno.EMFILE, matrix, disk)
    assert "need about" in what_is_short(None, matrix, disk / "nowhere")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert "read-only: mount it for writing" in what_is_short(None, matrix, disk), "whatever a worker called it"


@pytest.mark.parametrize("what", [pytest.param("pictures", marks=pytest.mark.check), "journals"])
def test_a_limit_on_the_size_of_files_is_a_full_disk(tmp_path: Path, what: str) -> None:
    """RLIMIT_FSIZE, as a quota: it hits the workers' pictures first, or the engine's journals."""
    write_benchmark(tmp_path, *((9, (400, 200)) if what == "pictures" else (60, (16, 16))))
    judge = {"answers": {}, "default_answer": "word " * 400}
    run(tmp_path, "clean", judge=judge)
    description = max(p.stat().st_size for p in (tmp_path / "clean" / "config").iterdir())
    limit = max(description, max(p.stat().st_size for p in (tmp_path / "clean" / "samples").iterdir())) + 4096
    engine = start_engine(settings(tmp_path, judge=judge), tmp_path / "run", limit)
    assert wait_until(lambda: not is_alive(engine))
    said = said_by_engine(tmp_path / "run")
    assert said.startswith("CannotWrite: "), said
    assert not [r for r in lines(tmp_path / "run", "edits") if r["status"] != "ok"], "no edit is blamed"
    assert "File too large" in said
    assert "need about" in said
    assert wait_until(lambda: not workers_of(tmp_path / "run"))
    made = run(tmp_path, judge=judge)
    assert verdicts(made) == verdicts(Run(tmp_path / "clean"))
    assert {e.status for e in made.results.edits} == {Status.OK}


@pytest.mark.parametrize(
    ("call", "number"), [("append", errno.ENOSPC), ("append", errno.EROFS), ("sync", errno.EIO), ("sync", errno.EDQUOT)]
)
def test_whatever_the_disk_says_it_is_one_line(
    tmp_path: Path, undisturbed: Run, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    count = 0
    real = getattr(Segment, call)

    def fails(self: Segment, *arguments: Any) -> None:
        nonlocal count
        count += 1
        if count > 12:
            raise OSError(number, os.strerror(number))
        real(self, *arguments)

    monkeypatch.setattr(Segment, call, fails)
    with pytest.raises(CannotWrite, match=os.strerror(number)) as stopped:
        run(tmp_path, edit={"seconds": 0.02})
    assert stopped.value.exit_code == 4
    assert wait_until(lambda: not workers_of(tmp_path / "run"))
    monkeypatch.undo()
    assert verdicts(run(tmp_path, edit={"seconds": 0.02})) != []
    assert [v[:9] for v in verdicts(Run(tmp_path / "run"))] == [v[:9] for v in verdicts(undisturbed)]


def test_a_run_directory_that_is_removed_ends_the_run_at_once(tmp_path: Path) -> None:
    """Lines in a file without a name are lost: nobody should work a night for them."""

    class Vandal(Ears):
        def edit(self, edit: Any) -> None:
            shutil.rmtree(tmp_path / "run", ignore_errors=True)  # a worker may be writing there

    with pytest.raises(CannotWrite, match="its journals were moved or deleted"):
        run(tmp_path, edit={"seconds": 0.1}, ears=Vandal())
    assert wait_until(lambda: not workers_of(tmp_path / "run"))


def test_a_folder_that_must_not_be_written_is_refused(tmp_path: Path) -> None:
    from edit_eval.errors import RunDirectoryError

    (tmp_path / "run").write_text("a file")
    with pytest.raises(RunDirectoryError, match="cannot be used"):
        run(tmp_path)


def test_what_is_needed_is_told_from_what_is_there(clean: Run, tmp_path: Path) -> None:
    matrix = matrix_of(clean)
    assert space_needed(matrix, tmp_path).startswith("the remaining 0 edits and 0 judgements need about 0.0 kB; ")
    from dataclasses import replace

    size = matrix.edits[0].file_bytes
    for number in range(3):
        matrix.set_edit(number, replace(matrix.edits[number], status=Status.PENDING, image=""))
    text = space_needed(matrix, tmp_path)
    needed = float(text.partition("need about ")[2].partition(" kB")[0]) * 1000
    assert 3 * size < needed < 5 * size
    for number in (1, 2):
        matrix.set_edit(number, matrix_of(clean).edits[number])
    assert space_needed(matrix, tmp_path).startswith("the remaining 1 edit and ")


# -- the report --


@pytest.fixture
def no_room_for_a_report(tmp_path: Path, small_disk: Callable[[int], Path]) -> Path:
    """A finished run on a disk that holds its records, and not the page."""
    small_disk(16 << 20)
    write_benchmark(tmp_path, SAMPLES, SIZE)
    made = run(tmp_path, "disk/run")
    small_disk(used(made.path) + 64 * 1024)
    return made.path


@pytest.mark.parametrize(("verb", "as_json"), [("run", False), ("report", True)])
def test_a_disk_that_is_full_when_the_report_is_written_costs_no_number(
    tmp_path: Path, no_room_for_a_report: Path, verb: str, as_json: bool
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps(settings(tmp_path)))
    words = ["run", str(config), "--run-dir", str(no_room_for_a_report)] if verb == "run" else ["report"]
    done = cli(*words, *(() if verb == "run" else (str(no_room_for_a_report),)), *(("--json",) if as_json else ()))
    assert done.returncode == 4
    said = done.stderr.splitlines()[-1]
    assert said.startswith(f"error: the report could not be written to {no_room_for_a_report}/report (No space left")
    assert said.endswith(f"`edit-eval report {no_room_for_a_report}` writes it")
    if as_json:
        assert json.loads(done.stdout)["coverage"]["scored"] == SAMPLES
    else:
        assert f"{SAMPLES} of {SAMPLES} scored" in done.stdout
        assert "report:" not in done.stdout, "there is none"
    assert not list((no_room_for_a_report / "report").glob(".*"))


def test_the_report_of_a_run_that_is_read_only_is_refused_and_its_numbers_are_printed(
    tmp_path: Path, small_disk: Callable[[int], Path]
) -> None:
    disk = small_disk(16 << 20)
    write_benchmark(tmp_path, SAMPLES, SIZE)
    made = run(tmp_path, "disk/run")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    done = cli("report", str(made.path), "--json")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: the report could not be written to {made.path}/report (Read-only file")
    assert json.loads(done.stdout)["coverage"]["scored"] == SAMPLES


def cli(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "edit_eval", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)
