"""`score`: one number for one edit, or one for each of a table, with everything that a run knows of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from command_lines import Command, caller
from edit_eval import ConfigurationError, Status, evaluate, score, score_table
from edit_eval.reporting.language import translate


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of two drawn scenes with their edits."""
    folder = tmp_path_factory.mktemp("pairs")
    run = evaluate(
        "demo",
        run_dir=folder / "run",
        limit=1,
        categories=["physical", "causal"],
        overrides=["edit_models={careful: {type: scene_editor}}", "benchmark.size=128"],
        report=False,
        progress="none",
    )
    rows = []
    for sample, edit in zip(run.results.samples, run.results.edits, strict=True):
        shutil.copy(sample.source, folder / f"{sample.category}.png")
        shutil.copy(run.path / edit.image, folder / f"{sample.category}_edited.png")
        pictures = {"source": f"{sample.category}.png", "edit": f"{sample.category}_edited.png"}
        rows.append({**pictures, "instruction": sample.instruction, "category": sample.category})
    (folder / "pairs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    (folder / "scores.json").write_text(json.dumps([judgement.score for judgement in run.results.judgements]), "utf-8")
    return folder / "pairs.jsonl"


def rows(table: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in table.read_text("utf-8").splitlines()]


@pytest.mark.check
def test_a_table_has_the_scores_of_its_run(pairs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    scores = score_table(pairs, judge="scene_judge", devices="cpu:1", progress="none")
    assert [score.score for score in scores] == json.loads(pairs.with_name("scores.json").read_text())
    assert {(score.status, score.passport, score.error, score.scale.highest) for score in scores} == {
        (Status.OK, "not audited", None, 10.0)
    }
    assert {translate(score.passport, "zh") for score in scores} == {"未经检验"}


def test_one_edit_is_scored_once(pairs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The judge of a configuration; asked again, the same run answers."""
    monkeypatch.chdir(tmp_path)
    row = rows(pairs)[0]
    pictures = pairs.with_name(row["source"]), row["instruction"], pairs.with_name(row["edit"])
    how = {"judge": "demo", "category": row["category"], "progress": "none"}
    first, second = score(*pictures, **how), score(*pictures, **how)
    assert first == second
    assert first.score == json.loads(pairs.with_name("scores.json").read_text())[0]
    assert first.reason  # its configuration has it give its reasons


def test_an_edit_without_a_score_says_why(
    pairs: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    command: Command = caller(monkeypatch, capfd)
    row = rows(pairs)[0]
    pictures = pairs.with_name(row["source"]), row["instruction"], pairs.with_name(row["edit"])
    ended = command("score", *pictures, "--judge", "demo", "--progress", "none", "--json")  # no category: no rubric
    assert ended.code == 3
    (answer,) = ended.document
    assert (answer["status"], answer["score"], answer["missing"]) == ("judge_error", None, {"score": "judge_error"})
    assert "no category" in answer["reason"]


def test_several_readings_say_how_sure_a_score_is(pairs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judge.py").write_text(
        "class Odd:\n"
        "    def __init__(self, parameters): pass\n"
        "    def load(self, devices): pass\n"
        "    def judge(self, requests): return [f'Score: {6 - r.seed % 2 * 2}.000' for r in requests]\n"
    )
    scores = score_table(pairs, judge="judge.py:Odd", readings=4, devices="cpu:1", progress="none")
    assert [(score.score, score.readings) for score in scores] == [(5.0, 4)] * 2
    assert scores[0].error == pytest.approx((4 / 3) ** 0.5 / 2)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["a.png", "make it red", "b.png"], "--judge is missing"),
        (["a.png", "make it red", "--judge", "scene_judge"], "SOURCE INSTRUCTION EDIT"),
        (["a.png", "make it red", "b.png", "--judge", "scene_judge"], "a.png: cannot be read"),
        (["pairs.csv", "--edits", "mine", "--judge", "scene_judg"], "did you mean"),
        (["pairs.csv", "--judge", "scene_judge"], "--edits"),
    ],
)
def test_what_is_wrong_is_one_line(
    words: list[str], wanted: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.csv").write_text("source,instruction,mine\na.png,make it red,b.png\n")
    ended = caller(monkeypatch, capfd)("score", *words)
    assert ended.code == 2
    assert wanted in ended.err


def test_several_judges_are_named(pairs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    judges = {name: {"type": "scene_judge", "params": {"device_ids": "cpu:1"}} for name in ("one", "two")}
    (tmp_path / "two.yaml").write_text(
        json.dumps({"benchmark": "scenes", "diffusion_model": {"type": "scene_editor"}, "judges": judges})
    )
    row = rows(pairs)[0]
    pictures = pairs.with_name(row["source"]), row["instruction"], pairs.with_name(row["edit"])
    with pytest.raises(ConfigurationError, match="several judges"):
        score(*pictures, judge="two.yaml", category="physical", progress="none")
    scored = score(*pictures, judge="two.yaml", only="two", category="physical", progress="none")
    assert (scored.judge, scored.status) == ("two", Status.OK)


def test_judges_that_compare_two_edits_are_left_out(pairs: Path, tmp_path: Path) -> None:
    judge = {"type": "scene_judge", "params": {"device_ids": "cpu:1"}}
    edit_model = {"type": "testing", "params": {"device_ids": "cpu:1"}}
    arena = {**judge, "protocol": {"type": "pairwise"}}
    written = {"benchmark": {"type": "scenes"}, "edit_models": {"a": edit_model, "b": edit_model}}
    both, alone = tmp_path / "both.yaml", tmp_path / "alone.yaml"
    both.write_text(yaml.safe_dump({**written, "judges": {"arena": arena, "scene": judge}}), "utf-8")
    alone.write_text(yaml.safe_dump({**written, "judges": {"arena": arena}}), "utf-8")
    scores = score_table(pairs, judge=both, run_dir=tmp_path / "run", progress="none")
    assert [(score.judge, score.status) for score in scores] == [("scene", Status.OK)] * 2
    with pytest.raises(ConfigurationError, match="its judges compare two edits"):
        score_table(pairs, judge=alone, progress="none")
