"""Several engines on one run directory, each with its shard: together they make what one makes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from edit_eval import evaluate
from edit_eval.run import Run
from ray_machines import WAITS, soon
from slurm_cluster import Slurm, lacking
from small_benchmark import configuration, write_benchmark

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]
COUNT = 48
JOB = Path(__file__).parents[2] / "examples" / "clusters" / "slurm_array.sh"


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
    return [edits, replies, run.summary.results]


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
    assert Run(run).summary.status == "incomplete"
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


@pytest.fixture
def slurm() -> Iterator[Slurm]:
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder:  # a socket's path must be short
        made = Slurm(Path(folder).resolve() / "s")
        yield made
        made.close()


@pytest.mark.skipif(bool(lacking()), reason=lacking() or "it is here")
def test_an_array_is_drained_queued_again_and_loses_a_node(slurm: Slurm, tmp_path: Path) -> None:
    run, config = tmp_path / "run", tmp_path / "config.yaml"
    plain = asked(tmp_path)
    plain["execution"]["progress"] = "plain"
    config.write_text(yaml.safe_dump(plain))
    variables = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin:/usr/sbin:/sbin", "RUN": str(run)}
    job = slurm.said(
        *("sbatch", "--parsable", "--array=0-3", "--gpus-per-node=0", "--ntasks=1", f"--output={tmp_path}/%a.out"),
        *(str(JOB), str(config)),
        **variables,
    )
    assert job, slurm.log("controller")

    def printed(number: int) -> str:
        file = tmp_path / f"{number}.out"
        return file.read_text(errors="replace") if file.exists() else ""

    def restarts() -> dict[int, int]:
        by_shard = {}
        for number in range(4):
            said = slurm.said("scontrol", "show", "job", f"{job}_{number}")
            by_shard[number] = int(said.partition("Restarts=")[2].split()[0]) if "Restarts=" in said else 0
        return by_shard

    # Each shard has made one edit, and waits.
    assert soon(lambda: edits_of(run) == 4), [printed(number) for number in range(4)]
    places = {number: node for number, (_, node) in slurm.jobs().items()}
    assert Counter(places.values()) == {"n1": 2, "n2": 2}
    told = next(number for number, node in places.items() if node == "n1")
    lost = [number for number, node in places.items() if node == "n2"]
    # What `--signal=B:USR1@300` does when its time comes.
    slurm.said("scancel", "--signal=USR1", "--batch", f"{job}_{told}")
    assert soon(lambda: "stopping: running tasks finish first" in printed(told)), printed(told)
    slurm.lose("n2")
    assert soon(lambda: all(slurm.jobs().get(number, ("", ""))[0] == "PENDING" for number in lost)), slurm.jobs()
    (tmp_path / "go").touch()

    def over() -> bool:
        slurm.go_on(job)
        return not slurm.jobs()

    again = Counter[int]()

    def watched() -> bool:
        again.update({number: count for number, count in restarts().items() if count > again[number]})
        return over()

    assert soon(watched, 300.0), (slurm.jobs(), [printed(number) for number in range(4)])
    assert set(again) == {told, *lost}, "who was drained or lost was queued again, and nobody else"
    assert "SIGUSR1: all finished work is kept" in printed(told)
    alone = evaluate(config, run_dir=tmp_path / "alone", report=False)
    assert came_to(Run(run)) == came_to(alone)
    assert (run / "report" / "index.html").exists(), "the last to end draws"
    # A part of it once more: the shard that it was.
    part = slurm.said(
        *("sbatch", "--parsable", "--array=2", "--gpus-per-node=0", "--ntasks=1", f"--output={tmp_path}/part.out"),
        *(str(JOB), str(config)),
        **variables,
    )
    assert part
    assert soon(lambda: not slurm.jobs())
    assert (run / "shards" / "0003-of-0004.entered").exists()
    assert not list((run / "shards").glob("*-of-0001.*")), "no array of one"
