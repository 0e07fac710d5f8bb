"""Runs that used what edit-eval no longer does: one line that is true, in every reader; the others are read as ever."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_lines import Command, caller
from edit_eval import ConfigurationError, evaluate
from edit_eval.config.recorded import GONE, drop_removed_parameters
from edit_eval.plugins.audit.passports import Examinee
from edit_eval.plugins.leaderboard.pushed_run import encode_run, read_pushed_run
from edit_eval.run import Run
from small_benchmark import configuration

READERS = ("status", "report", "compare", "agreement", "leaderboard", "costs", "paper", "votes", "pairs", "slices")
TESTING = {"type": "testing", "params": {"device_ids": "cpu:1"}}
JUDGES = {"alone": TESTING, "arena": {**TESTING, "protocol": {"type": "pairwise"}}}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    plain = configuration(folder, benchmark={"limit": 1})
    del plain["diffusion_model"], plain["reward_model"]
    plain |= {"edit_models": {"a": TESTING, "b": TESTING}, "judges": JUDGES}
    return evaluate(plain, run_dir=folder / "run", report=False).path


def changed(whole: Path, folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """A copy of the run whose last start has recorded something else."""
    run = Path(shutil.copytree(whole, folder / "changed"))
    file = run / "config/0001.json"
    plain = json.loads(file.read_text("utf-8"))
    change(plain)
    file.write_text(json.dumps(plain), "utf-8")
    return run


def asked_for(protocol: str, name: str, value: object) -> Callable[[dict[str, Any]], object]:
    def change(plain: dict[str, Any]) -> None:
        for judge in plain["judges"]:
            if judge["protocol"]["type"] == protocol:
                judge["protocol"]["parameters"][name] = value

    return change


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    return caller(monkeypatch, capfd)


def test_a_run_that_edit_models_joined_is_refused_by_every_reader(
    whole: Path, tmp_path: Path, command: Command
) -> None:
    run = changed(whole, tmp_path, lambda plain: plain.update(stored={"b": "runs/earlier"}))
    line = f"error: {run}: edit models joined an earlier run here (`pairs: {{stored: RUN}}`), which edit-eval no longer"
    for verb in READERS:
        for others in ((), (whole,)) if verb in ("compare", "agreement", "leaderboard") else ((),):
            ended = command(verb, run, *others)
            assert (ended.code, ended.err.startswith(line), ended.err.count("\n")) == (2, True, 1), (verb, ended.err)


def test_so_is_one_that_was_pushed(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "standing.json").write_text(json.dumps({**encode_run(Run(whole)), "joined": {"b": 1}}), "utf-8")
    with pytest.raises(ConfigurationError, match="edit models joined an earlier run there"):
        read_pushed_run(tmp_path)


@pytest.mark.parametrize(("protocol", "name"), [(name, key) for name in ("rubric", "pairwise") for key in GONE[name]])
def test_a_parameter_that_asked_for_nothing_is_as_if_it_had_never_been(
    protocol: str, name: str, whole: Path, tmp_path: Path
) -> None:
    nothing = GONE[protocol][name]
    run = Run(changed(whole, tmp_path, asked_for(protocol, name, nothing)))
    assert run.experiment.is_same_evaluation(Run(whole).experiment)
    assert run.summary == Run(whole).summary
    judge = next(judge for judge in run.experiment.judges if judge.protocol_name == protocol)
    assert Examinee.from_judge(judge, "en").parameters[name] == nothing, "passports of before are found by it"
    assert name not in judge.question_parameters()
    with pytest.raises(ConfigurationError, match=f"protocol {protocol} was asked for `{name}: x`, which it no longer"):
        drop_removed_parameters(protocol, {name: "x"})


def test_one_that_asked_for_something_is_named(whole: Path, tmp_path: Path, command: Command) -> None:
    run = changed(whole, tmp_path, asked_for("pairwise", "anchor", "b"))
    ended = command("status", run)
    line = f"error: {run}: its replies cannot be read here: protocol pairwise was asked for `anchor: b`, which it no"
    assert (ended.code, ended.err.startswith(line), ended.err.count("\n")) == (2, True, 1), ended.err
