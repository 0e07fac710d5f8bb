"""A run's folder: one writer, a number for each start, and nothing in it that was not asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edit_eval.errors import RunDirectoryError
from edit_eval.records import Activity
from edit_eval.store.run_directory import CannotWrite, RunDirectory
from edit_eval.store.timeline import read_timeline
from examples_of import examples
from small_matrix import small_samples

CONFIGURATION = {"benchmark": {"data_path": "物理.json"}, "evaluation": {"retries": 2}}
RESOLVED = {"judges": [{"name": "判官"}], "rubrics": {}}


def started(path: Path) -> RunDirectory:
    made = RunDirectory(path)
    made.begin()
    return made


def described(path: Path) -> RunDirectory:
    """A start that wrote what a start writes."""
    made = started(path)
    made.write_configuration(CONFIGURATION, RESOLVED)
    made.write_samples(small_samples(3))
    return made


def names(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


# -- one writer --


def test_a_second_writer_is_refused_and_told_who_has_it(tmp_path: Path) -> None:
    first = described(tmp_path / "run")
    holder = json.loads((tmp_path / "run" / "holder.json").read_text())
    assert holder["process"] == os.getpid()
    with pytest.raises(RunDirectoryError, match=rf"in use by process {os.getpid()} on {holder['host']} since "):
        started(tmp_path / "run")
    assert RunDirectory.open_existing(tmp_path / "run").configuration() == CONFIGURATION, "to read, nobody is asked"
    first.end()
    assert not (tmp_path / "run" / "holder.json").exists()
    started(tmp_path / "run").end()


def test_a_writer_that_was_killed_holds_nobody_up(tmp_path: Path) -> None:
    code = "import os, sys; from pathlib import Path; from edit_eval.store.run_directory import RunDirectory\n"
    code += "RunDirectory(Path(sys.argv[1])).begin(); os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "run")]).returncode == -9
    assert (tmp_path / "run" / "holder.json").exists()
    made = started(tmp_path / "run")
    assert json.loads((tmp_path / "run" / "holder.json").read_text())["process"] == os.getpid()
    made.end()


def test_an_unreadable_note_of_who_has_it_is_no_error(tmp_path: Path) -> None:
    first = started(tmp_path / "run")
    (tmp_path / "run" / "holder.json").write_text("{")
    with pytest.raises(RunDirectoryError, match="in use by another process; wait for it"):
        started(tmp_path / "run")
    first.end()
    first.end()  # twice is once


def test_a_folder_with_other_files_is_not_touched(tmp_path: Path) -> None:
    for there in (["thesis.tex"], ["images", "report"], ["logs", "z.txt"]):
        folder = tmp_path / there[0]
        for name in there:
            (folder / name).mkdir(parents=True)
        with pytest.raises(RunDirectoryError, match=f"`{min(there)}`.*name a new folder"):
            started(folder)
        assert sorted(p.name for p in folder.iterdir()) == sorted(there)


def test_what_is_no_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(RunDirectoryError, match=r"cannot be used .*name another folder"):
            started(path)


@pytest.mark.parametrize(("there", "words"), [(False, "does not exist"), (True, "is not a run directory")])
def test_who_only_reads_is_told_that_there_is_nothing(tmp_path: Path, there: bool, words: str) -> None:
    path = tmp_path / "run"
    if there:
        path.mkdir()
    with pytest.raises(RunDirectoryError, match=words):
        RunDirectory.open_existing(path)
    assert path.exists() is there


# -- starts --


def test_each_start_writes_files_of_its_own_and_none_for_nothing(tmp_path: Path) -> None:
    run = tmp_path / "run"
    first = described(run)
    first.append("edits", {"key": "a"})
    first.write_environment({"python": "3.11"})
    first.end()
    started(run).end()  # it had nothing to do
    third = described(run)
    third.append("replies", {"key": "b", "text": "评分：8"})
    third.append("edits", {"key": "c"})
    third.end()
    assert names(run) == [
        "config/0001.json",
        "config/0001.yaml",
        "config/0002.json",
        "config/0002.yaml",
        "edit-eval-run.txt",
        "edits/0001.jsonl",
        "edits/0002.jsonl",
        "environment/0001.json",
        "lock",
        "replies/0002.jsonl",
        "samples/0001.jsonl",  # those of the second start are the same
    ]
    reader = RunDirectory.open_existing(run)
    assert [r["key"] for r in reader.read("edits")] == ["a", "c"]
    assert [r["text"] for r in reader.read("replies")] == ["评分：8"]
    assert list(reader.read("events")) == []
    assert reader.damage.total == 0


def test_a_start_that_only_recorded_answers_counts(tmp_path: Path) -> None:
    first = started(tmp_path / "run")
    first.append("replies", {"key": "a"})
    first.end()
    second = started(tmp_path / "run")
    assert (first.number, second.number) == (1, 2)
    second.end()


def test_what_a_start_describes_comes_back(tmp_path: Path) -> None:
    described(tmp_path / "run").end()
    second = started(tmp_path / "run")
    other = small_samples(4, bad=(2,))
    assert second.says(CONFIGURATION, RESOLVED, small_samples(3))
    assert second.says({**CONFIGURATION, "execution": {"schedule": "batch_sync"}}, RESOLVED, small_samples(3))
    assert not second.says({**CONFIGURATION, "evaluation": {}}, RESOLVED, small_samples(3))
    assert not second.says(CONFIGURATION, RESOLVED, other)
    second.write_configuration({"other": 1}, {"x": [1]})
    second.write_samples(other)
    second.end()
    reader = RunDirectory.open_existing(tmp_path / "run")
    assert (reader.configuration(), reader.read_resolved_configuration(), reader.samples()) == (
        {"other": 1},
        {"x": [1]},
        other,
    )


def test_samples_of_a_class_that_is_not_strict_about_its_types_come_back(tmp_path: Path) -> None:
    first, *others = small_samples(3)
    loose: Any = replace(first, difficulty=None, tags=("a", 2), instructions={"en": "x", "level": 3})
    made = started(tmp_path / "run")
    made.write_configuration(CONFIGURATION, RESOLVED)
    made.write_samples((loose, *others))
    made.end()
    reader = RunDirectory.open_existing(tmp_path / "run")
    assert reader.samples() == (loose, *others)
    assert reader.damage.total == 0


def test_a_damaged_sample_is_counted_once(tmp_path: Path) -> None:
    described(tmp_path / "run").end()
    path = tmp_path / "run" / "samples" / "0001.jsonl"
    path.write_bytes(path.read_bytes().replace(b"do 1", b"do 7"))
    reader = RunDirectory.open_existing(tmp_path / "run")
    assert [sample.id for sample in reader.samples()] == ["s0", "s2"]
    assert reader.damage.total == 1


def test_a_start_that_was_killed_between_its_two_files_has_described_nothing(tmp_path: Path) -> None:
    described(tmp_path / "run").end()
    (tmp_path / "run" / "config" / "0002.json").write_text(json.dumps({"judges": "of another configuration"}))
    reader = RunDirectory.open_existing(tmp_path / "run")
    assert (reader.configuration(), reader.read_resolved_configuration()) == (CONFIGURATION, RESOLVED)


@pytest.mark.parametrize("name", ["0001.yaml", "0001.json"])
@pytest.mark.parametrize("content", ["{", "[]", "\x00"])
def test_a_damaged_description_is_one_line(tmp_path: Path, name: str, content: str) -> None:
    described(tmp_path / "run").end()
    (tmp_path / "run" / "config" / name).write_text(content)
    reader = RunDirectory.open_existing(tmp_path / "run")
    with pytest.raises(RunDirectoryError, match=rf"{name} is damaged; `edit-eval run CONFIG .*` writes it again"):
        reader.configuration() if name.endswith("yaml") else reader.read_resolved_configuration()
    assert not reader.says(CONFIGURATION, RESOLVED, small_samples(3))


def test_the_environment_is_the_last_one_that_can_be_read(tmp_path: Path) -> None:
    made = described(tmp_path / "run")
    assert made.environment() == {}
    made.write_environment({"python": "3.11"})
    made.write_environment({"python": "3.11", "models": {}})
    made.end()
    (tmp_path / "run" / "environment" / "0002.json").write_text("{")
    reader = RunDirectory.open_existing(tmp_path / "run")
    assert reader.environment() == {"python": "3.11", "models": {}}
    assert reader.environments() == {1: reader.environment()}


def test_what_killed_writers_left_is_swept_but_not_what_belongs_to_others(tmp_path: Path) -> None:
    described(tmp_path / "run").end()
    left = ["images/painter/.tmp-1-x", "config/.tmp-2-x", ".tmp-3-x", "report/.tmp-4-x", "images/painter/a.png"]
    for name in left:
        path = tmp_path / "run" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    made = started(tmp_path / "run")
    assert [n for n in left if (tmp_path / "run" / n).exists()] == ["report/.tmp-4-x", "images/painter/a.png"]
    (tmp_path / "run" / "images" / ".tmp-5-x").write_text("")
    made.end()
    assert not (tmp_path / "run" / "images" / ".tmp-5-x").exists()


@pytest.mark.parametrize("what", ["edits", "environment", "config", "samples"])
def test_what_cannot_be_written_is_one_line_and_the_way_on(tmp_path: Path, what: str) -> None:
    made = started(tmp_path / "run")
    (tmp_path / "run" / what).write_text("a file where a folder belongs")

    def write() -> None:
        made.append("edits", {"key": "a"})
        made.write_environment({})
        made.write_configuration({}, {})
        made.write_samples(small_samples(1))

    with pytest.raises(CannotWrite, match=r"cannot be written .*; all finished work is kept; rerun the same command"):
        write()
    made.end()


# -- the timeline --


def test_the_timeline_of_several_starts(tmp_path: Path) -> None:
    def event(made: RunDirectory, name: str, **fields: Any) -> None:
        made.append("events", {"event": name, "start": made.number, **fields})

    activity = {"device": "cuda:0", "kind": "editing", "model": "m", "begin": 1.0, "end": 3.5, "what": "s0"}
    first = described(tmp_path / "run")
    event(first, "devices", devices=["cuda:0", "cuda:1"])
    event(first, "activity", **activity)
    for samples, busy in ((1, 0.2), (3, 0.6)):
        event(first, "utilisation", devices={"cuda:0": {"editing": [samples, busy]}})
    for kind in ("out_of_memory", "error"):
        event(first, "attempt", place=["cuda:0"], model="edit:m", kind=kind, error=f"it was {kind}")
    event(first, "retired", place=["cuda:0"], model="edit:m", reason="it failed too often")
    event(first, "end", seconds=9.0)
    first.end()
    second = described(tmp_path / "run")  # killed: it has no end
    event(second, "devices", devices=["cuda:1", "cuda:2"])
    event(second, "activity", **{**activity, "end": 4.5}, role="edit")
    second.end()
    third = described(tmp_path / "run")  # killed before anything was done
    event(third, "devices", devices=[])
    event(third, "something that a later version records")
    third.end()
    timeline = read_timeline(RunDirectory.open_existing(tmp_path / "run"))
    assert timeline.activities == (
        Activity(start_number=1, device="cuda:0", kind="editing", model="m", begin=1.0, end=3.5, what="s0"),
        Activity(
            start_number=2, device="cuda:0", kind="editing", model="m", begin=1.0, end=4.5, what="s0", role="edit"
        ),
    )
    assert timeline.wall_seconds == (9.0, 4.5, 0.0)
    assert timeline.devices == ("cuda:0", "cuda:1", "cuda:2")
    (failed,) = timeline.device_failures
    assert (failed.attempts, failed.out_of_memory, failed.error) == (2, 1, "it was error")
    assert failed.retired == "it failed too often"
    (used,) = timeline.utilisation
    assert (used.device, used.kind, used.samples, used.busy) == ("cuda:0", "editing", 4, pytest.approx(0.5))


# -- where things lie --


@settings(max_examples=examples(150))
@given(st.text(max_size=80))
def test_a_picture_never_leaves_its_folder_whatever_the_id(sample_id: str) -> None:
    path = RunDirectory(Path("/runs/x")).image_path("painter", sample_id, "0123456789abcdef")
    assert path.parent == Path("/runs/x/images/painter")
    assert path.name.endswith("-0123456789ab.png")
    assert len(path.name.encode()) <= 255
    assert not path.name.startswith(".")


@pytest.mark.parametrize("sample_id", ["../../x", "/etc/passwd", "a\0b", "好" * 300, "..", "", "con\n"])
def test_hostile_ids_can_be_written(tmp_path: Path, sample_id: str) -> None:
    path = RunDirectory(tmp_path).image_path("painter", sample_id, "0" * 64)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    assert [p.parent for p in tmp_path.rglob("*.png")] == [tmp_path / "images" / "painter"]


def test_pictures_of_another_run_are_linked_or_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = tmp_path / "theirs.png"
    theirs.write_bytes(b"pixels")
    made = described(tmp_path / "run")
    linked, copied = (made.image_path("painter", name, "0" * 64) for name in ("linked", "copied"))
    made.take_picture(theirs, linked)
    made.take_picture(theirs, linked)  # again: the start before was killed before its line was written
    assert linked.samefile(theirs)

    def another_file_system(*arguments: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", another_file_system)
    made.take_picture(theirs, copied)
    assert copied.read_bytes() == b"pixels"
    assert not copied.samefile(theirs)
    assert not list(tmp_path.rglob(".tmp-*"))
    (tmp_path / "run" / "images" / "full").write_text("")
    with pytest.raises(CannotWrite):
        made.take_picture(theirs, tmp_path / "run" / "images" / "full" / "x.png")
    made.end()


# -- nothing in it leads elsewhere --


@pytest.mark.parametrize(
    "place",
    ["samples", "config/0001.yaml", "edits/0001.jsonl", "images", "images/model/a.png", "report", "lock", "logs/a"],
)
@pytest.mark.parametrize("what", ["link", "pipe"])
def test_what_is_no_plain_file_or_folder_is_refused_before_it_is_opened(tmp_path: Path, place: str, what: str) -> None:
    described(tmp_path / "run").end()
    elsewhere = tmp_path / "elsewhere"
    path = tmp_path / "run" / place
    if path.exists():
        path.rename(elsewhere)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(elsewhere) if what == "link" else os.mkfifo(path)
    said = rf"{path} is a (link|pipe or a device): a run directory must contain only its own files and folders"
    for opened in (lambda: RunDirectory.open_existing(tmp_path / "run"), lambda: started(tmp_path / "run")):
        with pytest.raises(RunDirectoryError, match=said):
            opened()
    assert not (tmp_path / "run" / "holder.json").exists()


def test_the_run_directory_itself_may_be_a_link_and_a_stranger_beside_ours_is_no_matter(tmp_path: Path) -> None:
    described(tmp_path / "there").end()
    (tmp_path / "run").symlink_to(tmp_path / "there")
    (tmp_path / "there" / "notes").symlink_to("/nowhere")
    assert RunDirectory.open_existing(tmp_path / "run").configuration() == CONFIGURATION
    started(tmp_path / "run").end()
