"""The gate on whole runs, through the command line: what a candidate can and cannot do to pass it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from command_lines import Command
from edit_eval import evaluate
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.gate.gating import gate
from edit_eval.run import Run, compare
from small_benchmark import sample_id, write_benchmark

COUNT, FAILED = 60, 23
EASE = [random.Random(number).gauss(5.0, 2.0) for number in range(COUNT)]
"""How easy each sample is, for whatever edits it."""


def worth(shift: float, seed: int) -> list[float]:
    """What a model's edits are worth: how easy the sample is, how good the model is, and chance."""
    chance = random.Random(seed)
    return [min(10.0, max(0.0, ease + shift + chance.gauss(0, 0.8))) for ease in EASE]


def settings(folder: Path) -> dict[str, Any]:
    """A candidate that is truly .3 worse than what is released, and that makes no edit of the 23 hardest samples."""
    of_models = {"released": worth(0.0, 1), "candidate": worth(-0.3, 7)}
    hardest = sorted(range(COUNT), key=lambda number: EASE[number])[:FAILED]
    answers = {
        f"{model}/{sample_id(n)}": f"Score: {score:.3f}"
        for model, scores in of_models.items()
        for n, score in enumerate(scores)
    }
    cpu = {"device_ids": "cpu:1"}
    return {
        "benchmark": {"data_path": str(write_benchmark(folder, COUNT)), "cache_dir": str(folder / "cache")},
        "edit_models": {
            "released": {"type": "testing", "params": cpu},
            "candidate": {"type": "testing", "params": {**cpu, "fail": [sample_id(n) for n in hardest]}},
        },
        "judges": {"judge": {"type": "testing", "params": {**cpu, "batch_size": 8, "answers": answers}}},
        "execution": {"pilot": False},
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("gate")
    return evaluate(settings(folder), run_dir=folder / "night", report=False)


def test_a_candidate_does_not_pass_by_failing_what_is_hard(run: Run, command: Command) -> None:
    ended = command("compare", run.path, "--fail-if-worse", "--full")
    said = " ".join(ended.out.split())
    assert ended.code == 3, ended.out
    assert "23/60" in said
    assert "B fails more edits: 23 of 60 against 0 (p adj. <0.0001). A is better." in said
    comparison = json.loads(command("compare", run.path, "--json").out)
    assert [column["rank"] for column in comparison["columns"]] == [1, 2]
    means = [column["mean"] for column in comparison["columns"]]
    assert means[1] > means[0] + 0.5, "what it did not fail looks better"
    assert comparison["pairs"][0]["scores_better"] is None
    outcome = comparison["pairs"][0]["outcome"]
    assert (outcome["kind"], outcome["better"]) == ("fails_more", "released")


def test_a_margin_through_the_command_line_and_in_python(run: Run, command: Command) -> None:
    ended = command("compare", run.path, "--fail-if-worse", "--margin", "2.0", "--json")
    assert ended.code == 3
    assert "candidate fails more edits than released: 23 of 60 against 0" in ended.err
    gate = json.loads(ended.out)["gate"]
    assert (gate["passed"], gate["margin"]) == (False, 2.0)
    assert [reason["kind"] for reason in gate["candidates"][0]["reasons"]] == ["fails_more"]
    same = command("compare", run.path, run.path, "--fail-if-worse", "--margin", "0.5", "--full")
    assert same.code == 3, "the candidate is in both"
    comparison = compare([run], margin=0.5)
    assert [reason.kind for reason in comparison.gate.candidates[0].reasons] == ["fails_more"]
    assert comparison.gate.candidates[0].lower < -1.5, "what it failed could have been anything"
    assert "compared with itself" in " ".join(same.out.split())
    refused = command("compare", run.path, "--margin", "0.5")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == "error: --margin needs --fail-if-worse: give both or neither\n"


def test_one_model_is_held_against_one_that_is_told_the_same(tmp_path: Path) -> None:
    told = settings(tmp_path) | {"rounds": {"critic": "critic", "max": 2}}
    told["judges"]["critic"] = {**told["judges"]["judge"], "protocol": {"answer": "reason_then_score"}}
    with pytest.raises(ConfigurationError, match="leave out `rounds` and `rewrite`"):
        gate(told, told, margin=0.3, folder=tmp_path / "gate")
