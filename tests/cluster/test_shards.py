"""Several engines on one run directory, each with its shard: together they make what one makes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from edit_eval import evaluate
from edit_eval.run import Run
from ray_machines import WAITS, soon
from small_benchmark import configuration, write_benchmark

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]
COUNT = 48


def asked(folder: Path) -> dict[str, Any]:
    """An evaluation that stands still until there is a file `go`."""
    write_benchmark(folder, COUNT)
    (folder / "waits.py").write_text(WAITS)
    made = configuration(
        folder,
        judge={"device_ids": "cpu:1", "batch_size": 2},
        evaluation={"controls": 3},
        execution={"progress": "none", "load_concurrency": 2, "pilot": False},
    )
    del made["diffusion_model"]
    params = {"device_ids": "cpu:1", "until": str(folder / "go")}
    return {**made, "edit_models": {"testing": {"class_path": "waits:Waits", "params": params}}}


def begun(folder: Path, run: Path, shard: str, *flags: str, **more: str) -> subprocess.Popen[str]:
    config = folder / "config.yaml"
    if not config.exists():
        config.write_text(yaml.safe_dump(asked(folder)))
    command = [sys.executable, "-m", "edit_eval", "run", str(config), "--run-dir", str(run), "--shard", shard, *flags]
    environment = {**os.environ, **more}
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)


def came_to(run: Run) -> list[Any]:
    directory = run._directory
    edits = sorted((e["key"], e["pixels"]) for e in directory.read("edits"))
    replies = sorted((r["key"], r["sample"], r["edit_model"], r["text"]) for r in directory.read("replies"))
    return [edits, replies, run.summary["results"]]


def edits_of(run: Path) -> int:
    return sum(line.count("\n") for line in (file.read_text() for file in (run / "edits").glob("*.jsonl")))


def test_four_shards_one_killed_and_started_again_make_what_one_engine_makes(tmp_path: Path) -> None:
    run = tmp_path / "shards"
    engines = {number: begun(tmp_path, run, f"{number}/4") for number in (1, 2, 3)}
    engines[4] = begun(tmp_path, run, "auto", SLURM_ARRAY_TASK_ID="3", SLURM_ARRAY_TASK_COUNT="4")
    assert soon(lambda: edits_of(run) == 4)
    # The same number twice: the second one is refused, and harms nobody.
    twice = begun(tmp_path, run, "2/4")
    assert "shard 2/4 of" in twice.communicate(timeout=60)[1]
    assert twice.returncode == 2
    engines[3].kill()
    engines[3].wait()
    engines[3] = begun(tmp_path, run, "3/4")
    go = tmp_path / "go"
    # One is told that its time ends: it finishes what is under way, and goes on afterwards.
    engines[1].send_signal(signal.SIGUSR1)
    time.sleep(1.0)
    go.touch()
    said = engines[1].communicate(timeout=60)[1]
    assert engines[1].returncode == 4, said
    assert "SIGUSR1: all finished work is kept" in said
    for number in (2, 3, 4):
        said = engines[number].communicate(timeout=300)[1]
        assert engines[number].returncode == 0, said
        assert "other shards" in said
    assert Run(run).summary["status"] == "incomplete"
    last = begun(tmp_path, run, "1/4")
    said = last.communicate(timeout=300)[1]
    assert last.returncode == 0, said
    assert (run / "report" / "index.html").exists(), "the last to end draws"
    alone = evaluate(tmp_path / "config.yaml", run_dir=tmp_path / "alone", report=False)
    assert came_to(Run(run)) == came_to(alone)


def test_sigterm_drains_within_its_grace(tmp_path: Path) -> None:
    run = tmp_path / "run"
    engine = begun(tmp_path, run, "1/1", "--grace", "1")
    assert soon(lambda: edits_of(run) == 1)
    engine.send_signal(signal.SIGTERM)
    engine.communicate(timeout=60)
    assert engine.returncode == 143
