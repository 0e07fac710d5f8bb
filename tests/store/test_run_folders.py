"""Which folder a run takes when none is named; whole starts are in `tests/test_going_on.py`."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edit_eval.config.identity import Identity
from edit_eval.config.recorded import ProtocolSection
from edit_eval.experiment import Experiment
from edit_eval.protocols.asked import AskedJudge, make_protocol
from edit_eval.records import Picture, Sample
from edit_eval.run import evaluate
from edit_eval.store import run_folders
from edit_eval.store.matrix import Matrix
from edit_eval.store.recall import load_run_journals
from edit_eval.store.run_directory import RunDirectory
from edit_eval.store.run_folders import (
    Place,
    choose_run_folder,
    new_folder,
    previous_evaluation_note,
    read_experiment,
    runs_of,
)
from small_benchmark import configuration, sample_id
from small_matrix import small_sample


def model(name: str, seed: int = 0, revision: str = "", kind: str = "", **parameters: Any) -> Identity:
    return Identity(name, kind or name, revision, parameters, seed)


def judge(name: str = "judge", retries: int = 2, **parameters: Any) -> AskedJudge:
    section = ProtocolSection(
        type="rubric", class_path="edit_eval.protocols.rubric:Rubric", parameters=parameters, retries=retries
    )
    protocol, texts = make_protocol(section, Path())
    return AskedJudge(model(name), section, texts, protocol)


def sample(index: int, folder: str = "/cache", **more: Any) -> Sample:
    pictures = {"source": Picture(path=f"{folder}/{index}.png", digest=str(index))}
    return small_sample(index, pictures=pictures, **more)


def made(**changed: Any) -> Experiment:
    whole: dict[str, Any] = {
        "samples": (sample(0), sample(1)),
        "edit_models": (model("qwen", steps=50),),
        "judges": (judge(),),
    }
    return Experiment(**whole | changed)


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    """A run directory whose last start was what `made()` says."""
    directory = RunDirectory(tmp_path / "run")
    directory.begin()
    directory.write_configuration({}, made().to_record(tmp_path))
    directory.write_samples(made().samples)
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
    monkeypatch.setattr(time, "strftime", lambda form: "-20260102-030405")
    assert new_folder("my config/?") == Path("runs/my-config--20260102-030405")
    for name in ("runs/demo-20260102-030405", "runs/demo-20260102-030405-2"):
        Path(name).mkdir(parents=True)
    assert new_folder("demo") == Path("runs/demo-20260102-030405-3")


def test_two_runs_that_begin_in_the_same_second_have_a_folder_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(time, "strftime", lambda form: "-20260102-030405")
    places = [choose_run_folder(None, "demo", made(), ()) for _ in range(2)]
    directories = [place.begin() for place in places]
    assert [str(directory.path) for directory in directories] == [
        "runs/demo-20260102-030405",
        "runs/demo-20260102-030405-2",
    ]
    assert places[1].notes(directories[1], made()) == ["run directory: runs/demo-20260102-030405-2"]
    for directory in directories:
        directory.end()


def test_the_same_evaluation_is_no_other(directory: RunDirectory) -> None:
    assert made().is_same_evaluation(read_experiment(directory))
    assert previous_evaluation_note(directory, made()) == ""
    moved = tuple(sample(index, "/another/cache") for index in (0, 1))
    assert previous_evaluation_note(directory, made(samples=moved)) == "", "where a source lies is no matter"


def test_retries_make_no_other_evaluation(directory: RunDirectory) -> None:
    assert previous_evaluation_note(directory, made(judges=(judge(retries=0),))) == ""


def test_a_folder_that_is_new_was_nothing(tmp_path: Path) -> None:
    assert previous_evaluation_note(RunDirectory(tmp_path / "nowhere"), made()) == ""


@pytest.mark.parametrize(
    "written",
    [
        "{",
        "[]",
        {"edit_models": [{}]},
        {"edit_models": [{"name": "qwen", "type": "qwen", "revision": "", "parameters": "none", "seed": 0}]},
        {"edit_models": {"qwen": {}}},
        {"judges": [3]},
        {"judges": [{"name": "judge"}]},
        {"readings": "many"},
        {"language": None, "judges": "none"},
    ],
)
def test_of_one_that_is_damaged_one_line_says_that_nothing_is_known(
    directory: RunDirectory, written: str | dict[str, Any]
) -> None:
    file = directory.path / "config" / "0001.json"
    whole = json.loads(file.read_text())
    file.write_text(written if isinstance(written, str) else json.dumps({**whole, **written}))
    said = previous_evaluation_note(directory, made())
    assert said.startswith(f"what this run directory held until now is unknown: {directory.path}/config")
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
    (config / "0001.yaml").write_text("{}")
    (config / "0001.json").write_text("{}")
    place = choose_run_folder(None, "demo", made(), ())
    assert not place.folder.exists()
    assert (place.found, place.sources) == (False, ())


PROMPTS = {"causal": {"system_prompt": "Rate it."}}
OTHERS: list[tuple[dict[str, Any], str]] = [
    ({"edit_models": (model("qwen", steps=15),)}, "edit model qwen: steps 50 -> 15"),
    ({"edit_models": (model("qwen", steps=50, text="x" * 50),)}, f"edit model qwen: text null -> {'x' * 37}..."),
    (
        {"edit_models": (model("qwen", steps=50, revision="b"),)},
        "edit model qwen: its weights or its code have changed",
    ),
    ({"edit_models": (model("qwen", steps=50, seed=7),)}, "edit model qwen: seed 0 -> 7"),
    ({"edit_models": (model("qwen", steps=50, kind="mine"),)}, "edit model qwen: type qwen -> mine"),
    ({"judges": (judge(), judge("second"))}, "judge judge -> judge, second"),
    ({"judges": (judge(prompts=PROMPTS),)}, "judge judge: the wording of its questions"),
    ({"judges": (judge(answer="reason_then_score"),)}, "judge judge: answer null -> reason_then_score"),
    ({"samples": (sample(0),)}, "samples 2 -> 1"),
    ({"samples": (sample(0), sample(1, instruction="do not"))}, "other samples"),
    ({"language": "zh"}, "language en -> zh"),
    ({"repeats": 3}, "repeats 1 -> 3"),
    ({"readings": 3}, "readings 1 -> 3"),
    ({"control_samples": 3}, "controls 0 -> 3"),
]


@pytest.mark.parametrize(("change", "words"), OTHERS, ids=[words for _, words in OTHERS])
def test_what_differs_is_named(directory: RunDirectory, change: dict[str, Any], words: str) -> None:
    assert f"held another evaluation ({words}); results" in previous_evaluation_note(directory, made(**change))


def test_of_many_differences_the_first_are_named(directory: RunDirectory) -> None:
    many = (model("qwen", steps=15, a=1, b=2, c=3),)
    said = previous_evaluation_note(directory, made(edit_models=many))
    prefix = "edit model qwen: "
    assert f"({prefix}steps 50 -> 15; {prefix}a null -> 1; {prefix}b null -> 2 and 1 more)" in said


def test_another_protocol_is_named_alone(directory: RunDirectory) -> None:
    other = replace(judge(), section=replace_section(judge().section, type="viescore"))
    assert "(judge judge: protocol rubric -> viescore);" in previous_evaluation_note(directory, made(judges=(other,)))


def replace_section(section: ProtocolSection, **changed: Any) -> ProtocolSection:
    return section.model_copy(update=changed)


def test_what_was_recorded_is_what_was_asked(directory: RunDirectory) -> None:
    experiment = read_experiment(directory)
    assert experiment is not None
    assert (experiment.samples, experiment.edit_models, experiment.judges) == (
        made().samples,
        made().edit_models,
        made().judges,
    )
    assert experiment.questions_by_judge == made().questions_by_judge
    assert read_experiment(RunDirectory(directory.path / "nowhere")) is None


@pytest.mark.parametrize(("written_meanwhile", "reads"), [(False, 1), (True, 2)])
def test_a_run_that_goes_on_is_read_once_unless_somebody_has_written_to_it(
    written_meanwhile: bool, reads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = configuration(tmp_path, edit={"fail": [sample_id(4)]})
    first = evaluate(source, report=False)
    begin = Place.begin
    read: list[Path] = []

    def counted(matrix: Matrix, run: RunDirectory, *more: Any, **options: Any) -> list[str]:
        read.append(run.path)
        return load_run_journals(matrix, run, *more, **options)

    def begun(place: Place, *shard: Any) -> RunDirectory:
        if written_meanwhile:
            with next(first.path.glob("edits/*.jsonl")).open("a") as file:
                file.write("torn\n")
        return begin(place, *shard)

    monkeypatch.setattr(run_folders, "load_run_journals", counted)
    monkeypatch.setattr(Place, "begin", begun)
    again = evaluate(source, report=False, retry=["edit_failed"])
    assert [folder.resolve() for folder in read] == [first.path.resolve()] * reads
    assert again.path.resolve() == first.path.resolve()
    assert again.summary.coverage.by_status == {"ok": 8, "edit_failed": 1}
