"""A run that goes on with other libraries or GPUs says so by name, and refuses where that was asked for."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from edit_eval import evaluate
from edit_eval.errors import RunDirectoryError
from edit_eval.run import Run
from edit_eval.store.provenance import (
    SelfDescriptionCheck,
    changes,
    collect_environment_notes,
    describe_environment_changes,
    several_kinds,
)
from edit_eval.store.run_directory import RunDirectory
from faults.faulty_runs import Ears, copied, faulty, run, settings

OLD: dict[str, Any] = {
    "python": "3.11.2",
    "libraries": {"torch": "2.6.0", "diffusers": "0.36.0", "pillow": "11.0"},
    "gpus": [{"title": "NVIDIA A100"}, {"title": "NVIDIA A100"}],
    "host": "node1",
    "models": {"judge:qwen3_vl": {"transformers": "4.57.0", "commit": "abc", "server": "http://a/v1"}},
}


def other(**what: Any) -> dict[str, Any]:
    made = copy.deepcopy(OLD)
    for path, value in what.items():
        place, *keys = [made, *path.split("__")]
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value
    return made


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (OLD, []),
        (other(libraries__torch="2.13.0"), ["torch 2.6.0 -> 2.13.0"]),
        (other(libraries={"torch": "2.6.0", "pillow": "11.0"}), ["diffusers 0.36.0 -> none"]),
        (other(python="3.12.1"), ["python 3.11.2 -> 3.12.1"]),
        (other(gpus=[{"title": "NVIDIA H100"}]), ["GPUs NVIDIA A100 -> NVIDIA H100"]),
        (other(gpus=[]), ["GPUs NVIDIA A100 -> none"]),
        (other(gpus=[{"title": "NVIDIA A100"}]), []),
        (other(host="node2"), []),
        (
            other(models={"judge:qwen3_vl": {"transformers": "5.0", "commit": "abd", "server": "http://b/v1"}}),
            ["qwen3_vl: commit abc -> abd", "qwen3_vl: transformers 4.57.0 -> 5.0"],
        ),
        (other(models={"edit:other": {"torch": "1"}}), []),
        ({k: v for k, v in OLD.items() if k != "models"}, []),
    ],
)
def test_what_changed_is_named(now: dict[str, Any], said: list[str]) -> None:
    assert changes(OLD, now) == said
    assert changes({}, now) == []


@pytest.fixture
def resumed(tmp_path: Path, undisturbed: Run) -> RunDirectory:
    """A run whose last start was made with another torch."""
    folder = copied(undisturbed, tmp_path)
    path = folder / "environment" / "0001.json"
    recorded = json.loads(path.read_text())
    recorded["libraries"]["pillow"] = "1.1.7"
    path.write_text(json.dumps(recorded))
    return RunDirectory(folder)


def test_whoever_resumes_is_told(resumed: RunDirectory, undisturbed: Run) -> None:
    now = RunDirectory(undisturbed.path).environment()
    (note,) = describe_environment_changes(resumed, now)
    assert "pillow 1.1.7 -> " in note
    assert "\n" not in note
    with pytest.raises(RunDirectoryError, match=r"pillow 1\.1\.7 -> .*--strict-environment"):
        describe_environment_changes(resumed, now, strict=True)
    assert not describe_environment_changes(RunDirectory(undisturbed.path), now, strict=True)


def test_a_model_in_an_environment_of_its_own_is_compared_when_it_is_loaded(resumed: RunDirectory) -> None:
    (resumed.path / "environment" / "0001.json").write_text(json.dumps(OLD))
    same, other_one = OLD["models"]["judge:qwen3_vl"], {"transformers": "5.0", "commit": "abc"}
    assert not SelfDescriptionCheck(resumed, strict=True).compare("judge:qwen3_vl", same)
    assert not SelfDescriptionCheck(resumed, strict=True).compare("edit:new", other_one)
    then = SelfDescriptionCheck(resumed)
    (note,) = then.compare("judge:qwen3_vl", other_one)
    assert "qwen3_vl: transformers 4.57.0 -> 5.0" in note
    assert not then.compare("judge:qwen3_vl", other_one), "said once"
    with pytest.raises(RunDirectoryError, match=r"4\.57\.0 -> 5\.0"):
        SelfDescriptionCheck(resumed, strict=True).compare("judge:qwen3_vl", other_one)


def test_what_a_model_notes_about_itself_is_said_once_a_start_and_stands_in_the_report(resumed: RunDirectory) -> None:
    about = {"same_seed": "another picture", "note": "the same seed does not give the same picture"}
    say = SelfDescriptionCheck(resumed, strict=True)
    assert say.compare("edit:new", about, "cpu:0") == [about["note"]]
    assert not say.compare("edit:new", {**about, "note": "in other words"}, "cpu:1")
    for number in (1, 2):
        recorded = {**OLD, "models": {"edit:new": about}}
        (resumed.path / "environment" / f"000{number}.json").write_text(json.dumps(recorded))
    assert collect_environment_notes(resumed) == [about["note"]]


def test_replicas_of_one_start_are_compared_with_the_first(resumed: RunDirectory) -> None:
    said = {"attention": "_native_cudnn", "device": "cuda:0"}
    say = SelfDescriptionCheck(resumed)
    assert not say.compare("edit:qwen", said, "cuda:0")
    assert not say.compare("edit:qwen", {**said, "device": "cuda:1"}, "cuda:1")
    assert not say.compare("judge:other", {"attention": "native"}, "cuda:2")
    for _ in range(2):  # loaded, given up, and loaded again
        (note,) = say.compare("edit:qwen", {"attention": "native"}, "cuda:2")
        assert note.startswith("qwen on cuda:2 differs from cuda:0: attention _native_cudnn -> native; ")
    assert say.unlike == ["qwen on cuda:2 differs from cuda:0: attention _native_cudnn -> native"]
    strict = SelfDescriptionCheck(resumed, strict=True)
    assert not strict.compare("edit:qwen", said, "cuda:0")
    with pytest.raises(RunDirectoryError, match=r"qwen on cuda:2 differs from cuda:0: .*; remove one of them"):
        strict.compare("edit:qwen", {"attention": "native"}, "cuda:2")


def test_gpus_of_several_kinds_under_one_model_are_named(resumed: RunDirectory) -> None:
    gpus = [
        {"name": "cuda:0", "title": "A100"},
        {"name": "cuda:1", "title": "H100"},
        {"name": "cuda:2", "title": "A100"},
    ]

    def kinds(**places: list[str]) -> list[str]:
        return several_kinds({"gpus": gpus, "places": {f"edit:{name}": devices for name, devices in places.items()}})

    assert not kinds(one=["cuda:0", "cuda:2"], other=["cuda:1"])
    assert not several_kinds({"gpus": gpus})
    assert not several_kinds(OLD)
    (note,) = kinds(one=["cuda:0", "cuda:1"], other=["cuda:1", "cpu:0"])
    assert note == "one runs on GPUs of 2 kinds (A100, H100): the same seed gives the same pixels only on one kind"
    recorded = {**resumed.environments()[1], "gpus": gpus, "places": {"edit:one": ["cuda:0", "cuda:1"]}}
    (resumed.path / "environment" / "0001.json").write_text(
        json.dumps({**recorded, "unlike": ["one on cuda:1 is not"]})
    )
    assert collect_environment_notes(resumed) == [f"start 1: {note}", "start 1: one on cuda:1 is not"]


def test_a_run_tells_of_replicas_that_are_not_alike(tmp_path: Path) -> None:
    """Two workers that see another kernel each: the run says so as it loads them, and its report for good."""
    ears = Ears()
    unlike = faulty("Unlike", device_ids="cpu:2", folder=str(tmp_path))
    made = run(tmp_path, ears=ears, **unlike)
    (note,) = [note for note in ears.notes if "differs from" in note]
    assert note.endswith("; their results may differ for that reason")
    assert re.search(r"Unlike on cpu:\d differs from cpu:\d: kernel (one -> other|other -> one)", note)
    assert [f"start 1: {note.rpartition(';')[0]}"] == list(made.results.provenance.notes)
    for name in ("one", "other"):
        (tmp_path / name).unlink()
    with pytest.raises(RunDirectoryError, match=r"differs from .* remove one of them from device_ids"):
        evaluate(settings(tmp_path, **unlike), run_dir=tmp_path / "b", strict_environment=True)


def test_a_first_start_has_nothing_to_compare_with(tmp_path: Path) -> None:
    assert not describe_environment_changes(RunDirectory(tmp_path), OLD, strict=True)


def test_a_report_can_tell_which_starts_differ(resumed: RunDirectory) -> None:
    assert not collect_environment_notes(resumed)
    for number, torch in ((2, "2.7.0"), (3, "2.7.0"), (4, "2.13.0")):
        recorded = {**resumed.environments()[1]}
        recorded["libraries"] = {**recorded["libraries"], "torch": torch}
        (resumed.path / "environment" / f"{number:04d}.json").write_text(json.dumps(recorded))
    notes = collect_environment_notes(resumed)
    assert [note.partition(":")[0] for note in notes] == ["from start 2 on", "from start 4 on"]
    assert "torch 2.7.0 -> 2.13.0" in notes[1]


def test_a_damaged_record_is_left_out(resumed: RunDirectory) -> None:
    (resumed.path / "environment" / "0002.json").write_text("{half")
    assert list(resumed.environments()) == [1]
