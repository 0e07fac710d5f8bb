"""`edit-eval gate`: two servers of edits are run on the same samples, and held against each other with a margin."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from edit_eval import cli
from edit_eval.plugins.preparation.requests import plan
from edit_eval.run import Run, compare
from faults.faulty_runs import lines
from image_server import AskedEdit, ImageServer, drawn
from small_benchmark import sample_id, write_benchmark

ROOT = Path(__file__).parents[3]
COUNT = 110
EASE = [random.Random(number).uniform(4, 8) for number in range(COUNT)]


def answers(edit_model: str, worse: float, seed: int) -> dict[str, str]:
    """What a judge that sees edits of that worth says: how easy the sample is, how much is lost, and chance."""
    chance = random.Random(seed)
    worth = [min(10.0, max(0.0, ease - worse + chance.gauss(0, 0.15))) for ease in EASE]
    return {f"{edit_model}/{sample_id(n)}": f"Score: {score:.3f}" for n, score in enumerate(worth)}


class Server(ImageServer):
    """Honours a negative prompt, or leaves it aside without a word."""

    def __init__(self, *, guided: bool = True) -> None:
        super().__init__()
        self.draw = lambda asked: drawn(asked.size, self.noise(asked, guided))

    @staticmethod
    def noise(asked: AskedEdit, guided: bool) -> int:
        return asked.seed + (1000 * len(asked.fields.get("negative_prompt", "")) if guided else 0)


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    with Server() as released, Server() as fast, Server(guided=False) as unguided:
        yield {"released": released, "fast": fast, "unguided": unguided}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, servers: Mapping[str, Server]) -> Path:
    """A baseline; candidates that are .1 and .5 worse; one without guidance; all judged by one judge."""
    folder = tmp_path_factory.mktemp("engines")
    said = answers("released", 0.0, 1) | answers("close", 0.1, 2) | answers("worse", 0.5, 3) | answers("off", 0.0, 4)
    base: dict[str, Any] = {
        "benchmark": {"data_path": str(write_benchmark(folder, COUNT)), "cache_dir": str(folder / "cache")},
        "judges": {"judge": {"type": "testing", "params": {"device_ids": "cpu:1", "batch_size": 50, "answers": said}}},
        "evaluation": {"controls": 0},
        "execution": {"pilot": False, "progress": "none"},
    }
    (folder / "base.yaml").write_text(yaml.safe_dump(base, allow_unicode=True), "utf-8")
    for name, server in (("released", "released"), ("close", "fast"), ("worse", "fast"), ("off", "unguided")):
        params = {
            "model": "editor",
            "base_url": servers[server].base_url,
            "device_ids": "cpu:1",
            "concurrency": 8,
            "call": {"true_cfg_scale": 4.0, "negative_prompt": " "},
        }
        own = {"extends": "base.yaml", "edit_models": {name: {"type": "image_endpoint", "params": params}}}
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(own), "utf-8")
    return folder


Gate = Callable[..., tuple[int, str, str]]


@pytest.fixture
def gate(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Gate:
    """`edit-eval gate released.yaml NAME.yaml ...` in the folder: exit code, stdout, stderr."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    def run_it(name: str, *more: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["edit-eval", "gate", "released.yaml", f"{name}.yaml", *more])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), *capsys.readouterr()

    return run_it


@pytest.mark.check
def test_a_server_that_leaves_guidance_out_does_not_pass_whatever_its_scores(gate: Gate, folder: Path) -> None:
    code, out, _ = gate("off", "--margin", "0.4", "--run-dir", "one")
    assert code == 3
    assert "guidance is off there" in " ".join(out.split())
    assert any("guidance is off" in note for note in Run(folder / "one" / "candidate").results.provenance.notes)
    for runs, kinds in ((("baseline", "candidate"), ["unguided"]), (("candidate", "baseline"), ["first_unguided"])):
        held = compare([folder / "one" / name for name in runs]).gate
        assert ([reason.kind for reason in held.candidates[0].reasons], held.passed) == (kinds, False)
        assert held.guidance == {"baseline": "on", "candidate": "off"}
    shutil.rmtree(folder / "one" / "candidate")


def test_plan_says_how_many_images_it_takes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    planned = plan("close.yaml", margin=0.4)  # also of a server of which it is unknown how long it takes
    assert any("110 images here, 74 at least" in note for note in planned.notes)


def test_what_could_never_say_anything_is_refused_before_anything_is_made(gate: Gate, folder: Path) -> None:
    for more, said in (
        (("--margin", "0.2"), "it takes 149 at least"),
        (("--margin", "0"), "a number of points above 0"),
        (("--margin", "0.4", "--set", "evaluation.edit_seeds=2", "--limit", "3"), "9 images can never show it"),
    ):
        code, _, err = gate("close", *more, "--run-dir", "three")
        assert (code, said in err) == (2, True), err
    other = yaml.safe_load((folder / "close.yaml").read_text())
    for key, value, said in (
        ("evaluation", {"repeats": 2}, "differ in more than the edit model"),
        ("edit_models", {**other["edit_models"], "two": {"type": "testing"}}, "compares one with one"),
    ):
        (folder / "other.yaml").write_text(yaml.safe_dump({**other, key: value}), "utf-8")
        code, _, err = gate("other", "--margin", "0.4", "--run-dir", "three")
        assert (code, said in err) == (2, True), err
    assert not (folder / "three").exists()


@pytest.mark.check
def test_the_action_runs_it_and_keeps_the_answer(folder: Path, tmp_path: Path, gate: Gate) -> None:
    """The steps of `action.yml`, as a runner would do them: what is run, what is written for the pull request."""
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    assert action["runs"]["using"] == "composite"
    given = {name: str(setting.get("default", "")) for name, setting in action["inputs"].items()}
    given |= {"baseline": "released.yaml", "candidate": "worse.yaml", "margin": "0.4", "run-dir": "one"}
    assert [name for name, setting in action["inputs"].items() if setting.get("required")] == ["baseline", "candidate"]
    script = next(step for step in action["runs"]["steps"] if step.get("id") == "gate")
    named = {name: value.removeprefix("${{ inputs.").removesuffix(" }}") for name, value in script["env"].items()}
    environment = {
        **os.environ,
        **{name: given[key] for name, key in named.items() if key in given},
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(["bash", "-e", "-c", script["run"]], cwd=folder, env=environment, capture_output=True)
    assert done.returncode == 3, done.stderr.decode()
    asked = {"MARGIN": "", "SAME_SEED": "true", "WITHIN": "largest=255", "CANDIDATE": "one/baseline"}
    asked |= {"BASELINE": "one/baseline", "RUNNER_TEMP": str(folder)}
    done = subprocess.run(["bash", "-e", "-c", script["run"]], cwd=folder, env=environment | asked, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert (folder / "edit-eval-gate.md").read_text("utf-8").startswith("bit-equal")
    assert "\n\nNot passed: candidate may not replace" in (tmp_path / "summary").read_text("utf-8")
    assert "markdown=" in (tmp_path / "output").read_text("utf-8")
    assert all(
        "always()" in step.get("if", "") for step in action["runs"]["steps"] if "comment" in step.get("name", "")
    )


def test_a_last_look_at_what_was_asked(folder: Path) -> None:
    """Both runs were asked the same questions of the same samples, with the same seeds."""
    asked = [
        {(line["sample"], line["question"]) for line in lines(folder / "one" / name, "replies")}
        for name in ("baseline", "candidate")
    ]
    assert asked[0] == asked[1]
