"""Runs that earlier edit-evals made are resumed: nothing is made or asked again but by new wording.

One (of commit b2e86a73) has edits, controls, battles, rewritten instructions, and rounds in which some edits are
kept; the other samples that follow others, some of which pass no filter, readings, and a design of battles that is
extended. The third (016b5b40) asked about controls step by step, as long as they did not show enough. Some edits and
answers have failed on purpose. What was recorded then says more than any test of keys alone.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from edit_eval.records import Edit, Judgement, Results
from edit_eval.run import Run, evaluate
from edit_eval.store.subjects.kinds import kinds

HERE = Path(__file__).parent
RUNS = {"rounds": "b2e86a73", "turns": "b2e86a73", "steps": "016b5b40"}
"""Each with the commit that made it."""
JOURNALS = ("edits", "replies")


def here(value: Any, folder: Path) -> Any:
    """A configuration with the paths of files that are in this folder."""
    if isinstance(value, dict):
        return {key: here(one, folder) for key, one in value.items()}
    if isinstance(value, str) and value.startswith("models.py:"):
        return f"{HERE}/{value}"
    return str(folder / value) if isinstance(value, str) and value.endswith(".csv") else value


@pytest.fixture
def older(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for commit in {*RUNS.values()}:
        with zipfile.ZipFile(HERE / f"{commit}.zip") as runs:
            runs.extractall(tmp_path)
    monkeypatch.setenv("OLDER_RUNS_LOG", str(tmp_path / "asked.jsonl"))
    return tmp_path


def journals(run: Path) -> dict[str, bytes]:
    return {str(path.relative_to(run)): path.read_bytes() for name in JOURNALS for path in (run / name).iterdir()}


def samples(run: Path) -> list[dict[str, Any]]:
    """The samples that count, but for where this machine's cache has their pictures."""
    found = [json.loads(line) for line in max((run / "samples").iterdir()).read_text("utf-8").splitlines()]
    digests = [{name: picture["digest"] for name, picture in one["pictures"].items()} for one in found]
    return [{**one, "pictures": of, "crc": ""} for one, of in zip(found, digests, strict=True)]


def configured(name: str, older: Path) -> dict[str, Any]:
    plain: dict[str, Any] = here(json.loads((older / f"{name}.yaml").read_text("utf-8")), older)
    return plain


@pytest.mark.parametrize("name", RUNS)
def test_nothing_is_made_or_asked_again(name: str, older: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the wording of then, which the run has recorded."""
    before, asked_about, configuration = journals(older / name), samples(older / name), configured(name, older)
    for judge in Run(older / name).experiment.judges:
        if judge.texts:
            monkeypatch.setattr(type(judge.protocol), "texts", staticmethod(lambda _, then=judge.texts: then))
    made = evaluate(configuration, run_dir=older / name, report=False)
    assert not (older / "asked.jsonl").exists(), (older / "asked.jsonl").read_text()
    assert journals(older / name) == before
    assert samples(older / name) == asked_about
    assert made.table.is_complete
    assert bool(made.results.beside) == (name == "turns")


def edits_written(run: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted((run / "edits").iterdir())]


def edits_of(results: Results) -> dict[Any, Any]:
    """What came of each edit, but for when, where and how fast."""
    return {
        (edit.edit_model, edit.sample_id, edit.edit_seed): (edit.status, edit.pixels, edit.instruction, edit.made_in)
        for edit in results.edits
    }


def judgements_of(results: Results) -> dict[Any, Any]:
    """What came of each judgement of any kind."""
    return {
        (of.judge, of.edit_model, of.other, of.sample_id, of.edit_seed, of.repeat): (of.status, of.scores, of.answer)
        for of in (*results.judgements, *results.battles, *results.controls, *results.critiques)
    }


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "share", [pytest.param(0.1, marks=pytest.mark.check), 0.5, pytest.param(0.9, marks=pytest.mark.check)]
)
@pytest.mark.parametrize("name", RUNS)
def test_one_that_broke_off_is_gone_on_with(
    name: str, share: float, older: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its journals end amid a line, as a kill leaves them. No edit in them is made again; a reader sees the same.

    Answers that were lost are asked for by key alone, where a run of then may have had several of one key: so what is
    said anew, and edits that are told it, are not held against those of then.
    """
    run = older / name
    for judge in Run(run).experiment.judges:
        if judge.texts:
            monkeypatch.setattr(type(judge.protocol), "texts", staticmethod(lambda _, then=judge.texts: then))
    for path, data in journals(run).items():
        (run / path).write_bytes(data[: int(len(data) * share)])
    held = edits_written(run)
    made = evaluate(configured(name, older), run_dir=run, report=False)
    assert made.table.is_complete
    assert "display has failed" not in capfd.readouterr().err
    written = [json.loads(line) for data in edits_written(run) for line in data.split(b"\n") if line.endswith(b"}")]
    there = [json.loads(line) for data in held for line in data.split(b"\n")[:-1]]
    assert there
    ended = {one["key"] for one in there if one["status"] != "pending"}
    assert [edit for edit in written if edit["key"] in ended] == [edit for edit in there if edit["key"] in ended]
    assert any(edit.made_in for edit in made.results.edits) == (name == "rounds")
    again = Run(run).results
    assert edits_of(made.results).items() <= edits_of(again).items()
    assert judgements_of(made.results).items() == judgements_of(again).items()
    assert (older / "asked.jsonl").exists(), "something was missing"


def test_the_wording_of_then_can_be_asked_for(older: Path) -> None:
    """`protocol: {version: v1}`: such a run is gone on with, and nobody is asked again."""
    configuration = configured("turns", older)
    for judge in configuration["judges"].values():
        judge["protocol"] = {**(judge.get("protocol") or configuration.get("protocol") or {}), "version": "v1"}
    before = journals(older / "turns")
    evaluate(configuration, run_dir=older / "turns", report=False)
    assert not (older / "asked.jsonl").exists(), (older / "asked.jsonl").read_text()
    assert journals(older / "turns") == before


def test_a_wording_that_was_mended_asks_again_and_nothing_else_is_done(older: Path) -> None:
    evaluate(configured("turns", older), run_dir=older / "turns", report=False)
    done = [json.loads(line) for line in (older / "asked.jsonl").read_text("utf-8").splitlines()]
    assert {(what, by) for what, by, *_ in done} == {("judge", "arena"), ("judge", "scores")}


def test_what_came_of_it_is_of_every_kind(older: Path) -> None:
    runs = [Run(older / name) for name in RUNS]
    assert {kind for kind in kinds() for run in runs if next(run.table.rows(kind), None)} == {*kinds()} - {"canary"}
    rounds, turns, steps = (run.results for run in runs)
    for judge in ("scores", "others"):  # both have been asked about five more, in a second step
        assert sum(of.judge == judge and of.edit_model == "control:source" for of in steps.controls) == 6
    assert any(edit.made_in for edit in rounds.edits)
    assert turns.rounds == 2
    every: list[Edit | Judgement] = []
    for of in (rounds, turns):
        every += [*of.edits, *of.judgements, *of.battles]
    assert {one.status.value for one in every} == {"ok", "edit_failed", "unparseable"}
