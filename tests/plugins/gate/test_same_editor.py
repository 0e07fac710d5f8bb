"""`edit-eval gate --same-seed`: five endings, what usually broke, and what is not known."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

from command_lines import Command, one_error
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.gate.answer import SameEditor
from edit_eval.plugins.gate.same_editor import NotTheSame, assert_same_editor, hold_same_editor
from edit_eval.run import Run, evaluate
from small_benchmark import sample_id, write_benchmark

ENGINE = Path(__file__).with_name("planted_engine.py")
COUNT = 60


def settings(folder: Path, judge: Mapping[str, Any] | None = None, **params: Any) -> dict[str, Any]:
    """An engine with these parameters, without judges or with one that is told what to say."""
    cpu = {"device_ids": "cpu:1"}
    return {
        "benchmark": {"data_path": str(folder / "benchmark.json"), "cache_dir": str(folder / "cache")},
        "edit_models": {"engine": {"class_path": f"{ENGINE}:Engine", "params": {**cpu, **params}}},
        "judges": {"judge": {"type": "testing", "params": {**cpu, "batch_size": 20, **judge}}} if judge else {},
        "evaluation": {"controls": 0},
        "execution": {"pilot": False, "progress": "none"},
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("engines")
    write_benchmark(folder, COUNT)
    return folder


Hold = Callable[..., SameEditor]


@pytest.fixture(scope="module")
def hold(folder: Path) -> Hold:
    """The reference, made once, against an engine with these parameters."""

    def against(*, gate: Mapping[str, Any] | None = None, **params: Any) -> SameEditor:
        shutil.rmtree(folder / "gate/candidate", ignore_errors=True)
        return hold_same_editor(settings(folder), settings(folder, **params), folder=folder / "gate", **(gate or {}))

    return against


def test_bit_equal(hold: Hold, folder: Path) -> None:
    answer = hold()
    assert (answer.ending, answer.passes, answer.equal, answer.edits) == ("bit_equal", True, COUNT, COUNT)
    assert "all 60 edits of 60 pictures" in answer.sentence
    assert not [*(folder / "gate").glob("again-*")], "nothing depends on the reference's noise"


def test_the_same_pictures_without_noise(hold: Hold) -> None:
    invisible = hold(shift=1)
    assert (invisible.ending, invisible.equal, invisible.noise_kind) == ("same_pictures", 0, "not_asked")
    assert "60 of 60 lie within largest colour difference (ΔE) 2.3" in invisible.sentence
    seen = hold(shift=20)
    assert (seen.ending, seen.passes, seen.noise_kind) == ("unknown", False, "none")
    assert "bit for bit" in seen.noise
    row = seen.rows[0]
    assert row.smallest == row.values.max() > 2.3
    assert seen.worst is not None
    assert Image.open(seen.worst).width == 3 * 256
    allowed = hold(shift=20, gate={"within": {"largest": 250, "mean": 5}})
    assert allowed.ending == "same_pictures"
    assert hold(shift=20, gate={"within": {"psnr": 60}}).ending == "unknown"


@pytest.mark.one_in(4)
@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        ("guidance", "guidance", "guidance is off"),
        ("size", "size", "48x16 in place of 24x16"),
        ("steps", "steps", "after 7 steps"),
        ("scheduler", "scheduler", "Euler -> Heun"),
        ("seed", "seed", "another one gives the same picture"),
        ("random", "seed", "another picture each time"),
        ("gamma", "colour", "gamma"),
        ("channels", "colour", "red and blue"),
        ("contrast", "colour", "curve of tones"),
        ("black", "black", "50 of 50 edits"),
        ("lora", "lora", "LoRA that is not there"),
        ("copy", "source", "60 of 60 edits are their source"),
        ("noise", "noise", "with another seed"),
    ],
)
def test_what_usually_broke_is_named(hold: Hold, fault: str, kind: str, words: str) -> None:
    answer = hold(fault=fault)
    assert not answer.passes
    assert [finding.kind for finding in answer.findings] == [kind], answer.findings
    assert words in answer.findings[0].line
    assert answer.ending == ("worse" if fault == "black" else "unknown")


def test_without_running_anything_again_less_is_known(hold: Hold) -> None:
    answer = hold(fault="guidance", gate={"again": 0})
    assert (answer.ending, answer.noise_kind, answer.findings) == ("unknown", "unknown", ())
    assert "--again 0" in answer.noise
    assert hold(shift=1, gate={"again": 0}).ending == "same_pictures", "D is D, whatever the noise"


def test_finished_pictures_cannot_be_made_again(folder: Path, tmp_path: Path, hold: Hold) -> None:
    """A copy of what is there is no second run: taken for one, it would show that there is no noise."""
    assert hold().passes
    made = {
        edit.sample_id: folder / "gate/baseline" / edit.image for edit in Run(folder / "gate/baseline").results.edits
    }
    (tmp_path / "edits").mkdir()
    for name, path in made.items():
        shutil.copy(path, tmp_path / "edits" / f"{name}.png")
    pictures = settings(folder)
    pictures["edit_models"] = {"engine": {"type": "image_folder", "params": {"folder": str(tmp_path / "edits")}}}
    answer = hold_same_editor(pictures, settings(folder, shift=20), folder=tmp_path / "gate")
    assert (answer.ending, answer.noise_kind) == ("unknown", "unknown")
    assert "finished pictures" in answer.noise
    assert hold_same_editor(pictures, settings(folder), folder=tmp_path / "other").ending == "bit_equal"


def test_a_second_run_belongs_to_the_pictures_of_its_first(folder: Path, tmp_path: Path) -> None:
    """Another build of the reference is not held against the noise of an old one; a finished one finds its own."""
    noisy = settings(folder, noise=6, loads=str(tmp_path / "loads"))
    asked = {"folder": tmp_path / "gate", "pictures": 6}
    other = settings(folder, fault="noise")
    for builds in (1, 2):
        assert hold_same_editor(noisy, other, **asked).noise_kind == "some"
        assert len([*(tmp_path / "gate").glob("again-*")]) == builds
        kept = hold_same_editor(tmp_path / "gate/baseline", tmp_path / "gate/candidate", folder=tmp_path / "kept")
        assert kept.noise_kind == "some"
        shutil.rmtree(tmp_path / "gate/baseline")


NOISY = {"noise": 6}


@pytest.fixture(scope="module")
def hold_noisy(folder: Path) -> Hold:
    """A reference that never repeats itself, made once, against an engine with these parameters."""

    def against(*, gate: Mapping[str, Any] | None = None, **params: Any) -> SameEditor:
        shutil.rmtree(folder / "noisy/candidate", ignore_errors=True)
        noisy, loads = settings(folder, **NOISY, loads=str(folder / "loads")), str(folder / "loads")
        return hold_same_editor(noisy, settings(folder, **params, loads=loads), folder=folder / "noisy", **(gate or {}))

    return against


def test_the_same_pictures_within_the_noise_of_the_reference(hold_noisy: Hold) -> None:
    equal = hold_noisy(**NOISY)
    assert (equal.ending, equal.noise_kind, equal.equal) == ("same_pictures", "some", 0)
    assert "no further from the reference than the reference is from itself, on 60 pictures" in equal.sentence
    assert "60 of 60 pictures are others" in equal.noise


@pytest.mark.check
def test_more_than_the_noise_is_not_the_same(hold_noisy: Hold) -> None:
    louder = hold_noisy(noise=12)
    assert louder.ending == "unknown"
    assert any("more than chance" in reason for reason in louder.reasons)
    broken = hold_noisy(**NOISY, fault="guidance")
    assert [finding.kind for finding in broken.findings] == ["guidance"]
    few = hold_noisy(**NOISY, gate={"pictures": 20})
    assert few.ending == "unknown"
    assert any("pictures would do" in reason for reason in few.reasons), few.reasons


def say(model: str, *scores: float) -> dict[str, str]:
    return {f"{model}/{sample_id(n)}": f"Score: {scores[n % len(scores)]:.1f}" for n in range(COUNT)}


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("scores", "margin", "ending"),
    [
        ((6.1, 5.0, 7.0), 0.6, "equally_good"),
        ((6.1, 5.0, 7.0), None, "unknown"),
        ((4.0, 3.5, 5.0), 0.6, "worse"),
        ((4.0, 3.5, 5.0), None, "worse"),
        ((9.0, 1.0, 8.0), 0.6, "unknown"),
    ],
)
def test_other_pictures_are_the_judges(
    folder: Path, tmp_path: Path, scores: tuple[float, ...], margin: float | None, ending: str
) -> None:
    judge = {"answers": say("reference", 6.0, 5.0, 7.1) | say("candidate", *scores)}
    runs = []
    for name, fault in (("reference", ""), ("candidate", "guidance")):
        asked = settings(folder, judge, fault=fault)
        asked["edit_models"] = {name: asked["edit_models"]["engine"]}
        runs.append(evaluate(asked, run_dir=tmp_path / name, report=False).path)
    answer = hold_same_editor(*runs, folder=tmp_path / "gate", margin=margin)
    assert answer.ending == ending, answer.sentence
    assert answer.passes is (ending == "equally_good")
    assert "finished run" in answer.noise


def test_the_command_line_python_and_junit(folder: Path, tmp_path: Path, command: Command, hold: Hold) -> None:
    assert hold().passes
    reference = folder / "gate/baseline"
    (tmp_path / "candidate.yaml").write_text(yaml.safe_dump(settings(folder, shift=20)), "utf-8")
    asked = ("gate", reference, tmp_path / "candidate.yaml", "--same-seed", "--run-dir", tmp_path / "gate")
    ended = command(*asked, "--junit", tmp_path / "junit.xml", "--markdown", tmp_path / "answer.md")
    assert ended.code == 3
    assert ended.out.startswith("cannot be said: ")
    assert len(ended.out.splitlines()) <= 24, "it fits on a screen"
    assert 'failures="1"' in (tmp_path / "junit.xml").read_text("utf-8")
    assert "| --- |" in (tmp_path / "answer.md").read_text("utf-8").replace(":", "")
    document = command(*asked, "--json").document
    assert (document["ending"], document["equal"], document["passed"]) == ("unknown", 0, False)
    assert document["distances"][0]["name"] == "delta_e"
    with pytest.raises(NotTheSame, match="cannot be said") as caught:
        assert_same_editor(reference, settings(folder, shift=20), run_dir=tmp_path / "gate")
    assert caught.value.answer.edits == COUNT
    assert command(*asked, "--within", "largest=250", "--junit", tmp_path / "junit.xml").code == 0
    assert 'failures="0"' in (tmp_path / "junit.xml").read_text("utf-8")


def test_what_cannot_be_compared_is_refused(folder: Path, tmp_path: Path, command: Command) -> None:
    for name, change in (("reference", {}), ("seed", {"seed": 5}), ("lora", {"loras": []})):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(settings(folder, **change)), "utf-8")
    asked = ("gate", tmp_path / "reference.yaml", tmp_path / "seed.yaml")
    one_error(command(*asked, "--same-seed", "--run-dir", tmp_path / "gate"), 2, "the seeds differ (0 and 5)")
    one_error(command(*asked), 2, "give --margin D, or --same-seed, or both")
    one_error(command(*asked, "--margin", "1", "--within", "2"), 2, "--within needs --same-seed")
    asked = (*asked[:2], tmp_path / "lora.yaml", "--same-seed")
    one_error(command(*asked, "--within", "colour=2"), 2, "no such distance here; there are")
    one_error(command(*asked, "--within", "psnr=many"), 2, "it takes a number, or NAME=NUMBER")
    other = settings(folder)
    other["benchmark"]["data_path"] = str(write_benchmark(tmp_path, 9, (32, 32)))
    with pytest.raises(ConfigurationError, match="is another one in the candidate"):
        hold_same_editor(settings(folder), other, folder=tmp_path / "gate")
    assert not (tmp_path / "gate").exists()
