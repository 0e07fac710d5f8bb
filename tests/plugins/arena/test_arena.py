"""An edit model joins an arena that was pushed: only what is new is asked, and the strengths of the others stay."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from combinations.drawing import configuration, off, written
from combinations.in_place import Ended, command, killed, without_processes
from documents import plain as as_written
from edit_eval.config.loading import load_configuration
from edit_eval.errors import ConfigurationError
from edit_eval.experiment import Experiment, load_samples
from edit_eval.files.hub import local_path
from edit_eval.plugins.leaderboard.board import leaderboard
from edit_eval.plugins.push.sending import push
from edit_eval.run import Run
from edit_eval.store.lending import joining
from edit_eval.store.stored import FILE, FOLDER
from late_imports import needs
from writable_hub import TOKEN, WritableHub

constants = pytest.importorskip("huggingface_hub.constants")
needs("pyarrow", "huggingface_hub")

ROWS, THERE = 9, 3
DRAW = {**off(ROWS, salt=5), "models": THERE, "arena": "all", "scorer": 0, "edit_failed": 0.1, "garbled": 0.05}


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("arena") / "drawn"
    path = written({**DRAW, "min_coverage": 0.0}, folder)
    with without_processes():
        assert command("run", path, "--run-dir", folder / "run").code == 0
    return folder / "run"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WritableHub]:
    with WritableHub() as server:
        server.stands_in(monkeypatch, tmp_path / "hub")
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)  # whose servers are more than a test can play
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield server


def joins(arena: Path, pairs: dict[str, Any], *, models: int = 1, **more: Any) -> Path:
    """The configuration of new edit models, beside that of the arena."""
    plain = configuration({**DRAW, "models": THERE + models, "min_coverage": 0.0, **more}, arena.parent)
    for place in range(THERE):
        del plain["edit_models"][f"m{place}"]
    plain["judges"]["arena"]["protocol"]["pairs"] = pairs
    path = arena.parent / f"joins{len([*arena.parent.glob('joins*')])}.yaml"
    path.write_text(json.dumps(plain), "utf-8")
    return path


def ran(path: Path, run: Path, *more: str) -> Ended:
    with without_processes():
        return command("run", path, "--run-dir", run, *more)


def strengths(run: Path) -> dict[str, Any]:
    (of,) = Run(run).summary.battles.values()
    return {strength.edit_model: as_written(strength) for strength in of.scores["overall"].strengths}


def asked(run: Path) -> list[dict[str, Any]]:
    """The replies of a run, as they were recorded."""
    return [json.loads(line) for file in sorted((run / "replies").iterdir()) for line in file.read_text().splitlines()]


KEPT = ("strength", "elo", "ci95")


def test_only_what_is_new_is_asked_and_the_others_stay(arena: Path, hub: WritableHub, tmp_path: Path) -> None:
    push(Run(arena), "me/arena")
    pushed = tmp_path / "pushed"  # as somebody downloads it; who is killed knows no hub of tests
    shutil.copytree(local_path("hub:me/arena"), pushed)
    path, run = joins(arena, {"stored": str(pushed)}), tmp_path / "run"
    log = arena.parent / "asked.jsonl"
    before = len(log.read_text().splitlines())
    assert killed(14, "run", path, "--run-dir", run) == -9
    assert [*(run / "images" / "m3").glob("*.png")], "it had begun"
    ended = ran(path, run)
    assert ended.code == 0, ended.err
    said = asked(run)
    assert {reply["edit_model"] for reply in said} == {"m3"}, "a battle that is there is not asked"
    edits = [json.loads(line) for file in (run / "edits").iterdir() for line in file.read_text().splitlines()]
    assert {edit["edit_model"] for edit in edits if "reused_from" not in edit} == {"m3"}
    new = [json.loads(line) for line in log.read_text().splitlines()[before:]]
    assert not {"m0", "m1", "m2"} & {row[1] for row in new}, "no model of the arena is loaded"
    were, are = strengths(arena), strengths(run)
    for model, strength in were.items():
        for name in KEPT:
            assert are[model][name] == pytest.approx(strength[name], abs=1e-9), (model, name)
    # Each order once: what was under way when it was killed is asked again, and nothing besides.
    addresses = [(reply["sample"], reply["other"], reply["question"], reply["ask"]) for reply in said]
    assert len({*addresses}) == len(addresses)
    theirs = {(edit.sample_id, edit.edit_model) for edit in Run(arena).results.edits if edit.image}
    mine = {edit.sample_id for edit in Run(run).results.edits if edit.image and edit.edit_model == "m3"}
    met = [battle for battle in Run(run).results.battles if battle.sample_id in mine]
    assert {(battle.sample_id, battle.other) for battle in met} == {both for both in theirs if both[0] in mine}
    # The run is whole by itself.
    shutil.rmtree(pushed)
    assert strengths(run) == are
    assert command("report", run).code == 0
    assert f"27 battles of {pushed} are taken over" in (run / "report" / "report.md").read_text()


def test_a_run_here_is_as_one_that_was_pushed(arena: Path, hub: WritableHub, tmp_path: Path) -> None:
    push(Run(arena), "me/arena")
    for name, stored in (("here", str(arena)), ("there", "hub:me/arena")):
        assert ran(joins(arena, {"stored": stored}), tmp_path / name).code == 0
    assert strengths(tmp_path / "here") == strengths(tmp_path / "there")
    shown = {model.parent.name for model in (tmp_path / "there" / "images").glob("*/*.png")}
    assert shown == {"m0", "m1", "m2", "m3"}


def test_who_joins_is_joined_in_turn(arena: Path, hub: WritableHub, tmp_path: Path) -> None:
    """The run of one who joined is an arena itself; each strength stays as it was first."""
    first, second = tmp_path / "first", tmp_path / "second"
    assert ran(joins(arena, {"stored": str(arena)}), first).code == 0
    push(Run(first), "me/first")
    plain = json.loads(joins(arena, {"stored": "hub:me/first"}, models=2).read_text())
    del plain["edit_models"]["m3"]
    path = arena.parent / "second.yaml"
    path.write_text(json.dumps(plain), "utf-8")
    assert ran(path, second).code == 0
    assert Run(second).results.joined == {"m3": 1, "m4": 2}
    were, are = strengths(first), strengths(second)
    for model, strength in were.items():
        assert [are[model][name] for name in KEPT] == [pytest.approx(strength[name], abs=1e-9) for name in KEPT]
    board = leaderboard([Run(arena), Run(second)])
    (of,) = board.battles.values()
    ranked = {strength.edit_model: strength.strength for strength in of.scores["overall"].strengths}
    assert ranked == pytest.approx({model: strength["strength"] for model, strength in are.items()}, abs=1e-9)


def test_the_design_says_how_many_battles_an_interval_takes(arena: Path, tmp_path: Path) -> None:
    path = joins(arena, {"stored": str(arena), "opponents": 1})
    assert ran(path, tmp_path / "one").code == 0
    planned = command("plan", path, "--from", tmp_path / "one")
    assert "each new edit meets 1 of 3, 9 battles" in " ".join(planned.out.split()), planned
    work = json.loads(command("plan", path, "--from", tmp_path / "one", "--json").out)["work"].values()
    assert [counts["edits"] for counts in work if "edits" in counts] == [ROWS], "those that are there are not made"
    assert [counts["questions"] for counts in work if "questions" in counts] == [2 * ROWS]
    assert len(Run(tmp_path / "one").results.battles) == ROWS
    wide = joins(arena, {"stored": str(arena), "interval": 5000})
    ended = ran(wide, tmp_path / "wide")
    assert ended.code == 0, ended.err
    assert len(Run(tmp_path / "wide").results.battles) == ROWS, "one opponent is enough"
    narrow = load_configuration(joins(arena, {"stored": str(arena), "interval": 1}))
    _, there = joining(Experiment.of(narrow, load_samples(narrow)), narrow)
    assert there is not None
    first, short, asks = there.notes
    assert first == f"{arena}: 3 edit models and 27 battles are taken over, and not asked again"
    assert short.startswith("an interval of ±1 Elo points takes more samples than there are: all 27 battles give about")
    assert asks.startswith("arena: each new edit meets 3 of 3, 27 battles for each new edit model, for an interval of")


@pytest.mark.parametrize(
    ("pairs", "change", "words"),
    [
        ({"stored": "no/run"}, {}, "no/run is neither a run nor one that was pushed"),
        ({"stored": "ARENA", "opponents": 0}, {}, "opponents 0 is not 1 or more"),
        ({"stored": "ARENA", "opponents": 1, "interval": 9}, {}, "give `opponents` or `interval`, not both"),
        ({"stored": "ARENA"}, {"limit": 3}, "has other samples"),
        ({"stored": "ARENA"}, {"readings": 1, "salt": 6}, "has no judge that is asked as arena is"),
    ],
)
def test_what_cannot_be_joined(
    arena: Path, tmp_path: Path, pairs: dict[str, Any], change: dict[str, Any], words: str
) -> None:
    pairs = {**pairs, "stored": pairs["stored"].replace("ARENA", str(arena))}
    ended = ran(joins(arena, pairs, **change), tmp_path / "run")
    assert (ended.code, words in ended.err) == (2, True), ended.err
    assert "Traceback" not in ended.err


def test_an_edit_model_that_is_there_is_not_new(arena: Path, tmp_path: Path) -> None:
    plain = json.loads(joins(arena, {"stored": str(arena)}).read_text())
    plain["edit_models"]["again"] = configuration(DRAW, arena.parent)["edit_models"]["m0"]
    path = arena.parent / "again.yaml"
    path.write_text(json.dumps(plain), "utf-8")
    ended = ran(path, tmp_path / "run")
    assert "has the edit model again already" in ended.err


def test_a_copy_that_is_damaged_is_said(arena: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert ran(joins(arena, {"stored": str(arena)}), run).code == 0
    (run / FOLDER / FILE).write_text("{}", "utf-8")
    ended = command("report", run)
    assert ended.code != 0
    assert f"{FOLDER}/{FILE} is damaged" in ended.err


def test_without_what_lends_a_configuration_that_goes_on_from_a_run_is_refused(
    arena: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edit_eval.store.lending.the_one", lambda kind: None)
    loaded = load_configuration(joins(arena, {"stored": str(arena)}))
    with pytest.raises(ConfigurationError, match=r"protocol\.pairs\.stored"):
        joining(Experiment.of(loaded, load_samples(loaded)), loaded)
