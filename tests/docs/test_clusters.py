"""The files of docs/clusters.md: their commands are ours, and their shell does what it says with a stub of Slurm."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from edit_eval.cli import evaluating
from edit_eval.plugins.shards.partition import LAUNCHERS, read_shard

ROOT = Path(__file__).parents[2]
FILES = ROOT / "examples" / "clusters"


def stub(folder: Path, name: str, script: str) -> None:
    """A program that the scripts find first."""
    path = folder / name
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(0o755)


def started(folder: Path, script: str, **variables: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "RUN": "/shared/run", **variables}
    command = ["bash", str(FILES / script), "config.yaml"]
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)


def flags_of(line: str) -> list[str]:
    return re.findall(r"(?<!\S)--[a-z-]+", line)


def test_an_array_gives_each_job_its_shard_and_is_queued_again_when_its_time_is_over(tmp_path: Path) -> None:
    stub(tmp_path, "edit-eval", 'echo "$@" > command; trap "exit 4" USR1; touch ready; while :; do sleep 0.05; done')
    stub(tmp_path, "scontrol", 'echo "$@" > control')
    job = started(tmp_path, "slurm_array.sh", SLURM_ARRAY_JOB_ID="77", SLURM_ARRAY_TASK_ID="3")
    while not (tmp_path / "ready").exists():
        time.sleep(0.02)
    job.send_signal(signal.SIGUSR1)  # as `--signal=B:USR1@300` does, to the shell alone
    assert job.wait(30) == 4
    words = shlex.split((tmp_path / "command").read_text())
    assert words == ["run", "config.yaml", "--run-dir", "/shared/run", "--shard", "auto", "--grace", "240"]
    assert (tmp_path / "control").read_text().split() == ["requeue", "77_3"]


@pytest.mark.parametrize("code", [0, 2, 3])
def test_a_job_that_ends_by_itself_is_not_queued_again(tmp_path: Path, code: int) -> None:
    stub(tmp_path, "edit-eval", f"exit {code}")
    stub(tmp_path, "scontrol", "touch control")
    assert started(tmp_path, "slurm_array.sh").wait(30) == code
    assert not (tmp_path / "control").exists()


def test_slurm_starts_ray_on_every_node_and_the_engine_once(tmp_path: Path) -> None:
    stub(tmp_path, "scontrol", "echo node1; echo node2")
    stub(tmp_path, "srun", 'echo "$@" > command')
    assert started(tmp_path, "slurm_ray.sh", SLURM_JOB_NODELIST="node[1-2]", SLURM_JOB_NUM_NODES="2").wait(30) == 0
    line = (tmp_path / "command").read_text()
    assert "ray symmetric-run --address node1:6379 --min-nodes 2 -- edit-eval run config.yaml" in line
    assert "--driver ray" in line


def commands() -> dict[str, str]:
    """The command of each file that runs edit-eval."""
    by_file = {}
    for path in sorted(FILES.glob("*.yaml")):
        plain: Any = yaml.safe_load(path.read_text("utf-8"))
        spec = plain.get("spec", {})
        pods = spec.get("template", {}).get("spec", {}).get("containers", [{}])
        by_file[path.name] = plain.get("run") or spec.get("entrypoint") or pods[0]["args"][0]
    for path in sorted(FILES.glob("*.sh")):
        text = path.read_text("utf-8").replace("\\\n", " ")
        by_file[path.name] = next(line for line in text.splitlines() if "edit-eval run" in line and line[0] != "#")
    return by_file


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_command_is_one_that_the_command_line_takes(name: str) -> None:
    line = commands()[name].partition("edit-eval run")[2]
    (run,) = [
        command for command in evaluating.registered_commands if command.callback and command.callback.__name__ == "run"
    ]
    import inspect

    known = {f"--{parameter.replace('_', '-').strip('-')}" for parameter in inspect.signature(run.callback).parameters}
    assert flags_of(line)
    assert set(flags_of(line)) <= known


def test_the_pods_of_a_job_know_how_many_they_are() -> None:
    job = yaml.safe_load((FILES / "kubernetes_job.yaml").read_text("utf-8"))["spec"]
    (container,) = job["template"]["spec"]["containers"]
    variables = {variable["name"]: variable["value"] for variable in container["env"]}
    shard = read_shard("auto", {**variables, "JOB_COMPLETION_INDEX": "3"})
    assert (shard.number, shard.count) == (4, job["completions"])
    grace = int(re.search(r"--grace ([0-9]+)", container["args"][0])[1])
    assert grace < job["template"]["spec"]["terminationGracePeriodSeconds"]


def test_the_page_names_every_launcher_and_every_file() -> None:
    page = (ROOT / "docs" / "clusters.md").read_text("utf-8")
    for launcher in LAUNCHERS:
        assert f"`{launcher.number}`, `{launcher.count}`" in page
    for path in FILES.iterdir():
        assert f"(../examples/clusters/{path.name})" in page
