"""Which folder a run takes when none is named; whole starts are in `tests/test_going_on.py`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from edit_eval.evaluation import evaluate
from edit_eval.execution import run_folders
from edit_eval.execution.run_folders import Made, Place, choose_place, new_folder, runs_of, was_another
from edit_eval.records import Sample
from edit_eval.rubrics.loading import load_rubrics
from edit_eval.store.matrix import Matrix
from edit_eval.store.run_directory import RunDirectory
from small_benchmark import configuration, sample_id
from small_matrix import small_matrix

PLAIN: dict[str, Any] = {
    "benchmark": {"language": "en"},
    "protocol": {"type": "rubric", "answer": "score", "retries": 2},
    "evaluation": {"edit_seeds": 1, "repeats": 1, "min_coverage": 1.0},
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
    assert runs_of("demo") == []
    names = ("demo-20260101-000000", "demo-20260101-000001-10", "demo-20260101-000001-9", "demo-20260101-000001")
    for name in (*names, "demo-2-20270101-000000", "demo-20280101", "x-demo-20290101-000000"):
        (tmp_path / "runs" / name / "config").mkdir(parents=True)
        (tmp_path / "runs" / name / "config" / "0001.yaml").touch()
    (tmp_path / "runs" / "demo-20300101-000000" / "config").mkdir(parents=True)
    assert runs_of("demo")[:2] == [Path("runs/demo-20260101-000001-10"), Path("runs/demo-20260101-000001-9")]
    assert runs_of("demo-2") == [Path("runs/demo-2-20270101-000000")]


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
    assert made().is_as(Made.recorded(directory))
    assert was_another(directory, made()) == ""
    moved = tuple(sample(index, source=f"/another/cache/{index}.png") for index in (0, 1))
    assert was_another(directory, made(samples=moved)) == "", "where a source lies is no matter"


def test_another_line_for_asking_again_makes_no_other_evaluation() -> None:
    rubrics = {name: asdict(rubric) for name, rubric in load_rubrics(None, "en").items()}
    others = {name: {**rubric, "ask_again": {"score": "Again."}} for name, rubric in rubrics.items()}
    assert made(rubrics=rubrics).is_as(made(rubrics=others))


def test_a_folder_that_is_new_was_nothing(tmp_path: Path) -> None:
    assert was_another(RunDirectory(tmp_path / "nowhere"), made()) == ""


@pytest.mark.parametrize(
    "written",
    [
        "{",
        "[]",
        "{}",
        json.dumps({"edit_models": [{}], "judges": [], "rubrics": {}}),
        json.dumps({"edit_models": [model("qwen")], "judges": [3], "rubrics": {}}),
        json.dumps({"edit_models": [{**model("qwen"), "parameters": "none"}], "judges": [], "rubrics": {}}),
        json.dumps({"edit_models": {"qwen": model("qwen")}, "judges": [], "rubrics": {}}),
        json.dumps({"edit_models": [], "judges": [], "rubrics": ["physical"]}),
    ],
)
def test_of_one_that_is_damaged_one_line_says_that_nothing_is_known(directory: RunDirectory, written: str) -> None:
    (directory.path / "config" / "0001.json").write_text(written)
    said = was_another(directory, made(samples=()))
    assert said.startswith(f"what this run directory was until now is not known: {directory.path}/config")
    assert "is damaged" in said
    assert "\n" not in said


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
    assert (place.found, place.sources) == (False, ())


OTHERS: list[tuple[dict[str, Any], str]] = [
    ({"edit_models": [model("qwen", steps=15)]}, "edit model qwen: steps 50 -> 15"),
    ({"edit_models": [model("qwen", steps=50, text="x" * 50)]}, f"edit model qwen: text null -> {'x' * 37}..."),
    (
        {"edit_models": [{**model("qwen", steps=50), "revision": "b"}]},
        "edit model qwen: its weights or its code have changed",
    ),
    ({"edit_models": [{**model("qwen", steps=50), "seed": 7}]}, "edit model qwen: seed 0 -> 7"),
    ({"edit_models": [{**model("qwen", steps=50), "type": "mine"}]}, "edit model qwen: type qwen -> mine"),
    ({"judges": [model("judge"), model("second")]}, "judge judge -> judge, second"),
    ({"rubrics": {"causal": asdict(load_rubrics(None, "zh")["causal"])}}, "the rubrics of causal"),
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
    said = was_another(directory, made(edit_models=many))
    one = "edit model qwen: "
    assert f"({one}steps 50 -> 15; {one}a null -> 1; {one}b null -> 2 and 1 more)" in said


def test_gates_and_retries_make_no_other_evaluation(directory: RunDirectory) -> None:
    other = json.loads(json.dumps(PLAIN))
    other["evaluation"] |= {"min_coverage": 0.5}
    other["protocol"] |= {"retries": 0}
    assert was_another(directory, made(plain=other)) == ""


@pytest.mark.parametrize(("written_meanwhile", "reads"), [(False, 1), (True, 2)])
def test_a_run_that_goes_on_is_read_once_unless_somebody_has_written_to_it(
    written_meanwhile: bool, reads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = configuration(tmp_path, edit={"fail": [sample_id(4)]})
    first = evaluate(source, report=False)
    recall, begin = Matrix.recall, Place.begin
    read: list[Path] = []

    def counted(matrix: Matrix, edits: Any, answers: Any, folder: Path, *more: Any, **options: Any) -> list[str]:
        read.append(folder)
        return recall(matrix, edits, answers, folder, *more, **options)

    def begun(place: Place) -> RunDirectory:
        if written_meanwhile:
            with next(first.path.glob("edits/*.jsonl")).open("a") as file:
                file.write("torn\n")
        return begin(place)

    monkeypatch.setattr(Matrix, "recall", counted)
    monkeypatch.setattr(Place, "begin", begun)
    again = evaluate(source, report=False, retry=["edit_failed"])
    assert [folder.resolve() for folder in read] == [first.path.resolve()] * reads
    assert again.path.resolve() == first.path.resolve()
    assert again.summary["coverage"]["by_status"] == {"ok": 8, "edit_failed": 1}
