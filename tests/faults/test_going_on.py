"""The same command again, and another one: what is kept, what is made anew, what is refused; each said beforehand."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edit_eval import cli, evaluate
from edit_eval import run as run_module
from edit_eval.errors import ConfigurationError, RunDirectoryError
from edit_eval.pictures import open_picture, pixel_digest
from edit_eval.records import Status
from edit_eval.run import Run
from faults.faulty_runs import (
    Ears,
    Said,
    copied,
    faulty,
    images,
    is_alive,
    lines,
    run,
    said_by_engine,
    settings,
    start_engine,
    verdicts,
    wait_until,
)
from faults.test_pictures_that_lie import changed_pixel
from small_benchmark import sample_id

Run_ = Callable[..., Said]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Run_:
    """`edit-eval run` on a configuration with some flags, in this process and without drawing its page."""
    monkeypatch.setattr(run_module, "render_report", lambda *_: "")

    def told(what: dict[str, Any], *flags: str) -> Said:
        path = tmp_path / "config.yaml"
        path.write_text(json.dumps(what))
        line = ["run", str(path), "--run-dir", str(tmp_path / "run"), "--progress", "plain", *flags]
        monkeypatch.setattr(sys, "argv", ["edit-eval", *line])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return Said(int(ended.value.code or 0), capfd.readouterr().err)

    return told


def counts(folder: Path) -> tuple[int, int]:
    """How many lines there are about edits, and about judgements."""
    return len(lines(folder, "edits")), len(lines(folder, "replies"))


def everything(folder: Path) -> dict[str, bytes]:
    """Every file of a run, but the lock."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name != "lock"}


# -- --verify --


def test_verifying_finds_a_changed_pixel_of_a_finished_run_and_makes_the_picture_again(
    tmp_path: Path, undisturbed: Run, command: Run_
) -> None:
    folder = copied(undisturbed, tmp_path)
    whole = images(folder)
    victims = [edit.image for edit in Run(folder).results.edits[2:4]]
    for image in victims:
        changed_pixel(folder / image)
    changed = images(folder)
    assert {name for name in whole if whole[name] != changed[name]} == set(victims)
    what = settings(tmp_path)
    said = command(what)
    assert said.code == 0
    assert "Nothing to do" in said.text
    assert images(folder) == changed, "who only looks at sizes cannot know"
    said = command(what, "--verify")
    assert said.code == 0, said.text
    assert "2 pictures are not what was recorded" in said.text
    assert "7 of 9 edits" in said.text
    assert images(folder) == whole
    assert verdicts(Run(folder)) == verdicts(undisturbed)
    assert counts(folder) == (9 + 2, 9), "the same pixels came out: the answers about them count again"
    said = command(what, "--verify")
    assert "not what was recorded" not in said.text
    assert "Nothing to do" in said.text


def test_other_pixels_are_judged_anew(tmp_path: Path, undisturbed: Run) -> None:
    """A picture that is gone is made again by a model that draws as it likes: what was said of the old one is void."""
    what = settings(tmp_path, **faulty("Whimsical", folder=str(tmp_path), does={sample_id(2): "changes"}))
    first = evaluate(what, run_dir=tmp_path / "run", report=False)
    (edit,) = [e for e in first.results.edits if e.sample_id == sample_id(2)]
    changed_pixel(first.path / edit.image)
    ears = Ears()
    made = evaluate(what, run_dir=tmp_path / "run", report=False, verify=True, spectator=ears)
    (again,) = [e for e in made.results.edits if e.sample_id == sample_id(2)]
    assert again.pixels != edit.pixels
    assert pixel_digest(open_picture(made.path / again.image)) == again.pixels
    assert counts(made.path) == (9 + 1, 9 + 1)
    assert {j.status for j in made.results.judgements} == {Status.OK}


# -- libraries --


@pytest.fixture
def unfinished(tmp_path: Path, undisturbed: Run) -> Path:
    """A run made with another Pillow, in which a judgement is left."""
    folder = copied(undisturbed, tmp_path)
    path = folder / "environment" / "0001.json"
    recorded = json.loads(path.read_text())
    recorded["libraries"]["pillow"] = "1.1.7"
    path.write_text(json.dumps(recorded))
    journal = folder / "replies" / "0001.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    return folder


def test_a_run_that_goes_on_with_another_library_says_so(
    tmp_path: Path, unfinished: Path, undisturbed: Run, command: Run_
) -> None:
    said = command(settings(tmp_path))
    assert said.code == 0
    assert "pillow 1.1.7 -> " in said.text
    assert verdicts(Run(unfinished)) == verdicts(undisturbed)
    assert any("pillow 1.1.7 -> " in note for note in Run(unfinished).results.provenance.notes), (
        "and so does its report"
    )


def test_where_that_is_not_wanted_it_is_refused_and_nothing_is_loaded_or_written(
    tmp_path: Path, unfinished: Path, command: Run_
) -> None:
    before = everything(unfinished)
    said = command(settings(tmp_path), "--strict-environment")
    assert said.code == 2
    (error,) = [line for line in said.text.splitlines() if line.startswith("error: ")]
    assert "pillow 1.1.7 -> " in error
    assert "--strict-environment" in error
    assert everything(unfinished) == before


def test_the_same_libraries_are_not_refused(tmp_path: Path, unfinished: Path, command: Run_) -> None:
    assert command(settings(tmp_path)).code == 0
    journal = max((unfinished / "replies").iterdir())
    journal.unlink()
    said = command(settings(tmp_path), "--strict-environment")
    assert said.code == 0, said.text
    assert counts(unfinished) == (9, 9)


def test_a_model_whose_own_environment_changed_ends_the_start_before_its_first_task(
    tmp_path: Path, unfinished: Path, command: Run_
) -> None:
    """What it has there, only its worker knows."""
    path = unfinished / "environment" / "0001.json"
    recorded = json.loads(path.read_text())
    recorded["libraries"] = Run(unfinished).results.provenance.environment["libraries"]
    path.write_text(json.dumps(recorded))
    assert command(settings(tmp_path)).code == 0
    max((unfinished / "replies").iterdir()).unlink()
    path = max((unfinished / "environment").iterdir())
    recorded = json.loads(path.read_text())
    assert recorded["models"], "what the worker said was recorded"
    for about in recorded["models"].values():
        about["python"] = "3.8.1"
    path.write_text(json.dumps(recorded))
    for old in (unfinished / "environment").iterdir():
        if old != path:
            old.unlink()
    before = counts(unfinished)
    said = command(settings(tmp_path), "--strict-environment")
    assert said.code == 2, said.text
    assert "python 3.8.1 -> " in said.text
    assert counts(unfinished) == before
    said = command(settings(tmp_path))
    assert said.code == 0
    assert "python 3.8.1 -> " in said.text


# -- another configuration --


def is_said(words: str, notes: list[str]) -> bool:
    return any(words in note for note in notes)


def test_what_is_reused_is_said_before_anything_starts(tmp_path: Path, undisturbed: Run) -> None:
    folder = copied(undisturbed, tmp_path)

    def said(**more: Any) -> list[str]:
        began: list[int] = []
        ears = Ears()
        ears.begin = lambda *arguments: began.append(len(ears.notes))  # type: ignore[attr-defined]
        run(tmp_path, ears=ears, **more)
        (place,) = began or [len(ears.notes)]
        return ears.notes[:place]

    where_and_how = {"device_ids": "cpu:1", "timeout": 99, "load_timeout": 98}
    assert is_said("Nothing to do", said(edit=where_and_how, judge=where_and_how)), "they decide no result"
    assert counts(folder) == (9, 9)
    other_judge = {"answers": {}, "default_answer": "Score: 3"}
    notes = said(judge=other_judge)
    assert is_said("9 of 9 edits and 0 of 9 judgements are kept; to do: 0 edits, 9 judgements", notes)
    assert counts(folder) == (9, 18)
    notes = said(edit={"steps": 2})
    assert is_said("to do: 9 edits, ", notes)
    assert counts(folder)[0] == 18, "none of the edits that other parameters made"
    assert is_said("Nothing to do", said()), "what the first configuration made is still there"
    assert verdicts(Run(folder)) == verdicts(undisturbed)
    assert is_said("Nothing to do", said(judge=other_judge))


def test_a_finished_run_is_not_drawn_again_for_other_devices(tmp_path: Path) -> None:
    made = run(tmp_path)
    made.page.parent.mkdir(exist_ok=True)
    made.page.write_text("as it was drawn")
    before = {path: path.stat().st_mtime_ns for path in made.path.rglob("*") if path.is_file()}
    moved = {"device_ids": "cpu:1", "timeout": 99}
    evaluate(settings(tmp_path, edit=moved, judge={**moved, "batch_size": 3}), run_dir=made.path, spectator=Ears())
    assert made.page.read_text() == "as it was drawn"
    assert {path: path.stat().st_mtime_ns for path in made.path.rglob("*") if path.is_file()} == before


def test_a_machine_without_gpus_has_all_that_was_finished_elsewhere(
    tmp_path: Path, undisturbed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It resumes, draws the report and merges runs: nothing is left, so no device is looked for."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    folder = copied(undisturbed, tmp_path)
    on_gpus = {"device_ids": [0, 1]}
    what = settings(tmp_path, edit=on_gpus, judge=on_gpus)
    ears = Ears()
    made = evaluate(what, run_dir=folder, spectator=ears)
    assert is_said("Nothing to do", ears.notes)
    assert made.page.is_file()
    halves = []
    for categories in (["physical"], ["environmental", "social"]):
        halves.append(tmp_path / categories[0])
        part = settings(tmp_path, edit=on_gpus, judge=on_gpus, benchmark={"categories": categories})
        evaluate(part, run_dir=halves[-1], reuse_from=[folder], report=False, spectator=Ears())
    assert [counts(half) for half in halves] == [(3, 3), (6, 6)]
    merged = evaluate(what, run_dir=tmp_path / "merged", reuse_from=halves, spectator=Ears())
    assert verdicts(merged) == verdicts(undisturbed)
    assert images(merged.path) == images(folder)
    assert merged.page.is_file()
    assert not (merged.path / "logs").exists(), "no worker was started"
    with pytest.raises(ConfigurationError, match=r"device_ids: cuda:0 and cuda:1 are not there"):
        evaluate(what, run_dir=tmp_path / "anew", report=False, spectator=Ears())
    assert not (tmp_path / "anew").exists()


# -- --retry --


def test_a_failure_is_final_until_its_status_is_named(tmp_path: Path, command: Run_) -> None:
    bad = {sample_id(n): "fails" for n in (1, 4)}
    what = settings(tmp_path, **faulty("Moody", folder=str(tmp_path), does=bad), judge={"fail": [sample_id(7)]})
    folder = tmp_path / "run"

    def failed() -> list[str]:
        return [j.status.value for j in Run(folder).results.judgements if j.status is not Status.OK]

    assert command(what).code == 3
    assert failed() == ["edit_failed", "edit_failed", "judge_error"]
    (tmp_path / "go").touch()
    before = counts(folder)
    said = command(what)
    assert said.code == 3, "again, although nothing was done"
    assert "Nothing to do" in said.text
    assert counts(folder) == before
    assert command(what, "--retry", "refused").code == 3
    assert counts(folder) == before, "another status"
    assert command(what, "--retry", "edit_failed").code == 3
    assert failed() == ["judge_error"]
    assert counts(folder) == (before[0] + 2, before[1] + 2)
    said = command(what, "--retry", "edit-failed")
    assert said.code == 2
    assert "did you mean `edit_failed`" in said.text or "edit_failed" in said.text


# -- two of them --


def test_a_second_engine_is_refused_with_host_and_process_of_the_first_and_does_it_no_harm(
    tmp_path: Path, undisturbed: Run, command: Run_
) -> None:
    what = settings(tmp_path, **faulty("Patient", folder=str(tmp_path)))
    folder = tmp_path / "run"
    first = start_engine(what, folder)
    assert wait_until((tmp_path / "begun").exists, 60), said_by_engine(folder)
    said = command(what)
    assert said.code == 2
    (error,) = [line for line in said.text.splitlines() if line.startswith("error: ")]
    assert f"process {first} on {socket.gethostname()} since " in error
    with pytest.raises(RunDirectoryError, match=f"process {first} on "):
        run(tmp_path)
    assert Run(folder).summary.status != "complete", "whoever only reads is not refused"
    (tmp_path / "go").touch()
    assert wait_until(lambda: not is_alive(first), 60)
    assert said_by_engine(folder) == "done"
    assert counts(folder) == (9, 9)
    assert [v[5:9] + v[10:] for v in verdicts(Run(folder))] == [v[5:9] + v[10:] for v in verdicts(undisturbed)]
