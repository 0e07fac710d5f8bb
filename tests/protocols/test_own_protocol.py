"""A protocol of the user's own, three questions with three scales: run, killed, resumed, compared, drawn, changed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from command_lines import Command
from edit_eval import evaluate
from edit_eval.config import components
from edit_eval.errors import ConfigurationError, RunDirectoryError
from edit_eval.judges.answers import LEAST_MASS
from edit_eval.records import Judgement, Status
from edit_eval.run import Run, compare
from edit_eval.store.journal import seal
from faults.faulty_runs import Ears, lines

EXAMPLES = Path(__file__).parents[2] / "examples"


def configuration(folder: Path, protocol: Path | None = None, **more: Any) -> dict[str, Any]:
    """That of the examples, with everything written into `folder`."""
    written = yaml.safe_load((EXAMPLES / "all_of_it.yaml").read_text("utf-8"))
    for section in (
        written["benchmark"],
        written["protocol"],
        *written["edit_models"].values(),
        written["judges"]["colour"],
    ):
        section["class_path"] = str(EXAMPLES.parent / section["class_path"])
    written["benchmark"]["folder"] = str(folder / "discs")
    written["execution"] = {"pilot": False, "progress": "none"}
    if protocol is not None:
        written["protocol"]["class_path"] = f"{protocol}:ThreeQuestions"
    return {**written, **more}


def run(folder: Path, protocol: Path | None = None, ears: Ears | None = None, **more: Any) -> Run:
    return evaluate(
        configuration(folder, protocol, **more), run_dir=folder / "run", report=False, spectator=ears or Ears()
    )


def own_copy(folder: Path, *changes: tuple[str, str]) -> Path:
    """The example's protocol as a file of its own, changed."""
    text = (EXAMPLES / "protocol.py").read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "protocol.py"
    path.write_text(text, "utf-8")
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(tmp_path_factory.mktemp("own"))


def test_it_takes_sixty_lines() -> None:
    assert len((EXAMPLES / "protocol.py").read_text("utf-8").splitlines()) <= 60


def test_every_score_has_its_scale_and_the_headline_is_named(made: Run) -> None:
    [careful, careless] = made.summary.results
    assert careful.headline == "overall"
    scales = {name: (score.scale.lowest, score.scale.highest) for name, score in careful.scores.items()}
    assert scales == {"overall": (0, 1), "followed": (1, 5), "kept": (0, 100), "looks_real": (0, 1)}
    assert careful.scores["overall"].scale.mean_over == "categories"
    assert careful.scores["overall"].mean > careless.scores["overall"].mean
    assert careful.scores["looks_real"].mean == pytest.approx(1 / 9)
    assert careful.coverage.scored == 8
    first = made.results.judgements[0]
    both = first.scores["followed"], first.scores["kept"], first.scores["looks_real"]
    assert first.score == pytest.approx(((both[0] - 1) / 4 + both[1] / 100 + both[2]) / 3)


@pytest.mark.models
def test_a_judge_with_weights_gives_the_probability(tiny_models: Path, tmp_path: Path) -> None:
    """Untrained weights write no numbers, but of yes and no they have some probability, which may be too small."""
    judge = {"type": "transformers", "params": {"model_name": str(tiny_models / "qwen3-vl"), "device_ids": "cpu:1"}}
    tiny = run(tmp_path, judges={"tiny": judge}, evaluation={"controls": 0})
    for judgement in tiny.results.judgements:
        reading = judgement.readings[0]["real"]
        assert reading.mass is not None, "the judge was asked for a distribution"
        assert (reading.status is Status.OK) == (reading.mass >= LEAST_MASS)
        assert reading.status is not Status.OK or 0 < judgement.scores["looks_real"] < 1


def test_controls_are_judged_and_counted_apart(made: Run) -> None:
    assert len(made.results.judgements) == 16
    kinds = [control.edit_model for control in made.results.controls]
    assert kinds == ["control:source", "control:blank", "control:shuffled"] * 4
    assert {control.status for control in made.results.controls} == {Status.OK}
    judges = made.summary.controls.judges
    assert len(judges) == 1
    blocks = next(iter(judges.values())).kinds
    assert {kind: block.n for kind, block in blocks.items()} == {"source": 4, "blank": 4, "shuffled": 4}
    assert made.summary.coverage.total == 16


def test_two_edit_models_are_compared_by_the_headline_or_by_another_score(made: Run) -> None:
    document = compare([made]).document()
    [pair] = document.pairs
    assert pair.difference == pytest.approx(
        made.summary.results[0].scores["overall"].mean - made.summary.results[1].scores["overall"].mean
    )
    [followed] = compare([made], score="followed").document().pairs
    assert followed.mean_a > followed.mean_b >= 1


def test_a_changed_score_asks_nobody(made: Run, tmp_path: Path) -> None:
    first = run(tmp_path, own_copy(tmp_path))
    asked = len(lines(first.path, "replies"))
    changed = own_copy(tmp_path, ('+ v["yes"]) / 3', '+ 2 * v["yes"]) / 4'), ("highest=5)", "highest=5.0)"))
    again = run(tmp_path, changed)
    assert len(lines(first.path, "replies")) == asked
    assert again.results.judgements[0].scores["overall"] != made.results.judgements[0].scores["overall"]


@pytest.fixture
def newcomer(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process in which the user has named nothing."""
    monkeypatch.setattr(components, "_NAMED", set())
    monkeypatch.setattr(components, "_CODE", {})


def test_without_its_class_readers_show_what_the_last_start_derived(
    made: Run, newcomer: None, tmp_path: Path, command: Command
) -> None:
    shown, asked = Run(made.path), made.results

    def timeless(judgements: Sequence[Judgement]) -> list[Judgement]:
        return [replace(judgement, seconds=0.0) for judgement in judgements]

    assert timeless(shown.results.judgements) == timeless(asked.judgements)
    assert timeless(shown.results.controls) == timeless(asked.controls)
    assert [entry.scores for entry in shown.summary.results] == [entry.scores for entry in made.summary.results]
    [note] = [note for note in shown.results.provenance.notes if "derived them on" in note]
    assert "protocol.py:ThreeQuestions (" in note
    assert "--code FOLDER" in note
    for words in (("status",), ("report",), ("compare",), ("leaderboard",)):
        assert command(*words, made.path).code == 0
        assert words == ("status",) or command(*words, made.path, "--code", EXAMPLES).code == 0


def test_named_code_derives_anew(made: Run, newcomer: None, tmp_path: Path) -> None:
    own_copy(tmp_path, ('+ v["yes"]) / 3', '+ 2 * v["yes"]) / 4'))
    derived, anew = Run(made.path).results, Run(made.path, code=[tmp_path]).results
    assert derived.judgements[0].scores["overall"] != anew.judgements[0].scores["overall"]
    assert not [note for note in anew.provenance.notes if "derived them on" in note]
    with pytest.raises(ConfigurationError, match=r"--code .*: no such folder"):
        Run(made.path, code=tmp_path / "nowhere")
    with pytest.raises(ConfigurationError, match=r"is within the run .*; name a folder of your own"):
        Run(made.path, code=made.path / "logs")


def test_what_was_derived_is_never_done(tmp_path: Path, newcomer: None) -> None:
    """A start asks what has no reply, whatever was derived; one that finds nothing to do leaves the file as it is."""
    own = own_copy(tmp_path)
    first = run(tmp_path, own)
    derived, replies = first.path / "derived.jsonl", first.path / "replies" / "0001.jsonl"
    asked, before = len(lines(first.path, "replies")), derived.stat().st_mtime_ns
    run(tmp_path, own)
    assert derived.stat().st_mtime_ns == before
    replies.unlink()
    run(tmp_path, own)
    assert len(lines(first.path, "replies")) == asked


def test_nothing_derived_is_said(tmp_path: Path, newcomer: None) -> None:
    first = run(tmp_path, own_copy(tmp_path))
    (first.path / "derived.jsonl").unlink()
    components._NAMED.clear()
    with pytest.raises(RunDirectoryError, match=r"cannot be read here: .*protocol\.py.*`--code FOLDER` names the"):
        _ = Run(first.path).results


@pytest.mark.parametrize("score", [1.5, -0.1, 1e300])
def test_a_derived_score_off_its_scale_is_damage(made: Run, newcomer: None, tmp_path: Path, score: float) -> None:
    folder = tmp_path / "run"
    shutil.copytree(made.path, folder)
    head, first, *rest = [json.loads(line) for line in (folder / "derived.jsonl").read_bytes().splitlines()]
    first["scores"]["overall"] = score
    (folder / "derived.jsonl").write_bytes(
        b"".join(seal({key: value for key, value in line.items() if key != "crc"}) for line in (head, first, *rest))
    )
    results = Run(folder).results
    assert results.judgements[0].status is Status.PENDING
    assert any("1 damaged line" in note for note in results.provenance.notes)


def test_its_page_is_drawn(made: Run) -> None:
    made.write_report()
    page = made.page.read_text("utf-8")
    for name in ("overall", "followed", "kept", "looks_real"):
        assert name in page
    assert json.loads((made.path / "report" / "summary.json").read_text("utf-8"))["schema"] == 3


def test_code_that_lies_in_a_run_directory_is_not_run(tmp_path: Path) -> None:
    first = run(tmp_path, own_copy(tmp_path))
    described = first.path / "config" / "0001.json"
    asked = json.loads(described.read_text("utf-8"))
    evil = first.path / "logs" / "protocol.py"
    evil.write_text("open(__file__ + '.ran', 'w')\n", "utf-8")
    asked["judges"][0]["protocol"]["class_path"] = f"{evil}:ThreeQuestions"
    described.write_text(json.dumps(asked), "utf-8")
    (first.path / "derived.jsonl").unlink()
    with pytest.raises(RunDirectoryError, match="what a run names is not imported"):
        _ = Run(first.path).results
    assert not evil.with_name("protocol.py.ran").exists()
