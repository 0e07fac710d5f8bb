"""Which folder a run takes when none is named; whole starts are in `tests/test_going_on.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from edit_eval.execution import run_folders
from edit_eval.execution.run_folders import Made, choose_place, new_folder, newest_run, was_another
from edit_eval.records import Sample
from edit_eval.store.run_directory import RunDirectory
from small_matrix import small_matrix

PLAIN: dict[str, Any] = {
    "benchmark": {"language": "en"},
    "evaluation": {"answer": "score", "edit_seeds": 1, "repeats": 1, "min_coverage": 1.0, "retries": 2},
}


def model(name: str, **parameters: Any) -> dict[str, Any]:
    return {"name": name, "type": name, "revision": "", "parameters": parameters, "seed": 0}


def sample(index: int, **more: Any) -> Sample:
    return Sample(
        **{
            "id": f"s{index}",
            "index": index,
            "category": "physical",
            "source": f"/cache/{index}.png",
            "source_digest": str(index),
            "instruction": "turn it",
            "description": "",
            "language": "en",
            **more,
        }
    )


SAMPLES = (sample(0), sample(1))


def made(*, samples: tuple[Sample, ...] = SAMPLES, plain: dict[str, Any] = PLAIN, **resolved: Any) -> Made:
    whole = {"edit_models": [model("qwen", steps=50)], "judges": [model("judge")], "rubrics": {}, **resolved}
    return Made.of(plain, whole, samples)


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    """A run directory whose last start was what `made()` says."""
    directory = RunDirectory(tmp_path / "run")
    directory.begin()
    resolved = {"edit_models": [model("qwen", steps=50)], "judges": [model("judge")], "rubrics": {}}
    directory.write_configuration(PLAIN, resolved)
    directory.write_samples(SAMPLES)
    directory.end()
    return directory


def test_the_newest_is_that_of_the_latest_second_and_the_highest_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert newest_run("demo") is None
    names = ("demo-20260101-000000", "demo-20260101-000001-10", "demo-20260101-000001-9", "demo-20260101-000001")
    for name in (*names, "demo-2-20270101-000000", "demo-20280101", "x-demo-20290101-000000"):
        (tmp_path / "runs" / name / "config").mkdir(parents=True)
        (tmp_path / "runs" / name / "config" / "0001.yaml").touch()
    (tmp_path / "runs" / "demo-20300101-000000" / "config").mkdir(parents=True)
    assert newest_run("demo") == Path("runs/demo-20260101-000001-10")
    assert newest_run("demo-2") == Path("runs/demo-2-20270101-000000")


def test_a_new_folder_is_one_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run_folders.time, "strftime", lambda form: "-20260102-030405")
    assert new_folder("my config/?") == Path("runs/my-config--20260102-030405")
    for name in ("runs/demo-20260102-030405", "runs/demo-20260102-030405-2"):
        Path(name).mkdir(parents=True)
    assert new_folder("demo") == Path("runs/demo-20260102-030405-3")


def test_two_runs_that_begin_in_the_same_second_have_a_folder_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run_folders.time, "strftime", lambda form: "-20260102-030405")
    places = [choose_place("demo", made(), small_matrix, lambda status: False) for _ in range(2)]
    directories = [place.begin() for place in places]
    assert [str(directory.path) for directory in directories] == [
        "runs/demo-20260102-030405",
        "runs/demo-20260102-030405-2",
    ]
    assert places[1].notes(directories[1], made()) == ["run directory: runs/demo-20260102-030405-2"]
    for directory in directories:
        directory.end()


def test_the_same_evaluation_is_no_other(directory: RunDirectory) -> None:
    assert Made.recorded(directory) == made()
    assert was_another(directory, made()) == ""
    moved = tuple(sample(index, source=f"/another/cache/{index}.png") for index in (0, 1))
    assert was_another(directory, made(samples=moved)) == "", "where a source lies is no matter"


def test_a_folder_that_is_new_or_damaged_was_nothing(directory: RunDirectory, tmp_path: Path) -> None:
    assert was_another(RunDirectory(tmp_path / "nowhere"), made()) == ""
    (directory.path / "config" / "0001.json").write_text("{")
    assert was_another(directory, made(samples=())) == ""


def test_a_newest_run_that_cannot_be_read_keeps_nobody_from_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, file in (("config", "0001.yaml"), ("samples", "0001.jsonl"), ("edits", "0001.jsonl")):
        path = tmp_path / "runs" / "demo-20260101-000000" / folder / file
        path.parent.mkdir(parents=True)
        path.symlink_to("/nowhere/at/all")
    config = tmp_path / "runs" / "demo-20260101-000000" / "config"
    (config / "0001.yaml").unlink()
    (config / "0001.yaml").write_text(json.dumps(PLAIN))
    (config / "0001.json").write_text("{}")
    place = choose_place("demo", made(), small_matrix, lambda status: False)
    assert not place.folder.exists()
    assert (place.goes_on, place.offer) == (False, "")


OTHERS: list[tuple[dict[str, Any], str]] = [
    ({"edit_models": [model("qwen", steps=15)]}, "qwen: steps 50 -> 15"),
    ({"edit_models": [model("qwen", steps=50, text="x" * 50)]}, f"qwen: text null -> {'x' * 37}..."),
    ({"edit_models": [{**model("qwen", steps=50), "revision": "b"}]}, "qwen: its weights or its code have changed"),
    ({"edit_models": [{**model("qwen", steps=50), "seed": 7}]}, "qwen: seed 0 -> 7"),
    ({"edit_models": [{**model("qwen", steps=50), "type": "mine"}]}, "qwen: type qwen -> mine"),
    ({"judges": [model("judge"), model("second")]}, "judge judge -> judge, second"),
    ({"rubrics": {"causal": {"version": "prompts"}}}, "the rubrics of causal"),
    ({"samples": (sample(0),)}, "samples 2 -> 1"),
    ({"samples": (sample(0), sample(1, instruction="do not"))}, "other samples"),
    ({"plain": {**PLAIN, "benchmark": {"language": "zh"}}}, "language en -> zh"),
    ({"plain": {**PLAIN, "evaluation": {**PLAIN["evaluation"], "repeats": 3}}}, "repeats 1 -> 3"),
]


@pytest.mark.parametrize(("change", "words"), OTHERS, ids=[words for _, words in OTHERS])
def test_what_differs_is_named(directory: RunDirectory, change: dict[str, Any], words: str) -> None:
    assert f"was another evaluation ({words}); results" in was_another(directory, made(**change))


def test_of_many_differences_the_first_are_named(directory: RunDirectory) -> None:
    many = [model("qwen", steps=15, a=1, b=2, c=3)]
    assert "(qwen: steps 50 -> 15; qwen: a null -> 1; qwen: b null -> 2 and 1 more)" in was_another(
        directory, made(edit_models=many)
    )


def test_gates_and_retries_make_no_other_evaluation(directory: RunDirectory) -> None:
    other = json.loads(json.dumps(PLAIN))
    other["evaluation"] |= {"min_coverage": 0.5, "retries": 0}
    assert was_another(directory, made(plain=other)) == ""
