"""Whole evaluations on a Ray cluster: what they come to is what one machine makes of them, whoever dies meanwhile."""

from __future__ import annotations

import atexit
import csv
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from edit_eval import evaluate
from edit_eval.run import Run
from ray_machines import WAITS, Machines, processes, soon
from small_benchmark import configuration, write_benchmark

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]
COUNT = 36
SHORT_OF_MEMORY = """
import os
import time
from pathlib import Path
from edit_eval.plugins.rehearse.in_worker.fake_models import FakeEditModel

TRIED = Path(__file__).with_name("tried.txt")


class ShortOfMemory(FakeEditModel):
    def edit(self, request, on_step):
        if os.environ["CUDA_VISIBLE_DEVICES"] == "0":
            TRIED.touch()
            raise MemoryError("CUDA out of memory. (on purpose)")
        end = time.monotonic() + 100
        while not TRIED.exists() and time.monotonic() < end:
            time.sleep(0.05)
        return super().edit(request, on_step)
"""
"""An edit model for which the first GPU of a machine has no memory; the other one begins when that one has tried."""
WORKER = "from edit_eval.workers.process import main"


def asked(folder: Path, machines: Machines | None, seconds: float = 0.0, count: int = COUNT) -> dict[str, Any]:
    """An evaluation, of a cluster's GPUs or, without one, of six workers here."""
    if not (folder / "benchmark.json").exists():
        write_benchmark(folder, count)
    ray = {"driver": "ray", "address": machines.address} if machines else {}
    devices = "auto" if machines else "cpu:6"
    return configuration(
        folder,
        edit={"device_ids": devices, "seconds": seconds},
        judge={"device_ids": devices, "batch_size": 2},
        evaluation={"controls": 3},
        execution={"progress": "none", **ray},
    )


def came_to(run: Path) -> Mapping[str, Any]:
    """What a run came to, without where and when: keys, pictures, answers, and the table of scores."""
    read = Run(run)
    replies = sorted({(r["key"], r["text"], r["status"]) for r in read._directory.read("replies")})
    pictures = {e.image: hashlib.sha256((run / e.image).read_bytes()).hexdigest() for e in read.results.edits}
    with (run / "report" / "scores.csv").open(newline="") as file:
        rows = [
            {k: v for k, v in row.items() if "second" not in k and "device" not in k} for row in csv.DictReader(file)
        ]
    return {
        "edits": [(e.key, e.pixels) for e in read.results.edits],
        "pictures": pictures,
        "replies": replies,
        "rows": rows,
    }


def lines(run: Path, journal: str) -> list[dict[str, Any]]:
    return [
        json.loads(line) for file in sorted((run / journal).glob("*.jsonl")) for line in file.read_text().splitlines()
    ]


def charged(run: Path) -> list[dict[str, Any]]:
    """Lines of edits that were attempts without an edit."""
    return [line for line in lines(run, "edits") if line["status"] != "ok"]


@pytest.fixture(scope="module")
def one_cluster() -> Iterator[Machines]:
    pytest.importorskip("ray")
    made = Machines()
    yield made
    made.close()


@pytest.fixture
def machines(one_cluster: Machines) -> Iterator[Machines]:
    """The cluster with no machines but its head."""
    yield one_cluster
    one_cluster.remove_all()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Mapping[str, Any]]:
    """The folder of the benchmark, and what one machine makes of it."""
    folder = tmp_path_factory.mktemp("evaluation")
    evaluate(asked(folder, None), run_dir=folder / "alone")
    return folder, came_to(folder / "alone")


def begun(folder: Path, run: Path, config: Mapping[str, Any]) -> subprocess.Popen[bytes]:
    """The command, in a process of its own."""
    file = folder / f"{run.name}.yaml"
    file.write_text(yaml.safe_dump(config))
    command = [sys.executable, "-m", "edit_eval", "run", str(file), "--run-dir", str(run)]
    engine = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    atexit.register(engine.kill)  # where a test fails
    return engine


def edited(run: Path, count: int) -> Callable[[], bool]:
    return lambda: sum(line["status"] == "ok" for line in lines(run, "edits")) >= count


def test_three_machines_make_what_one_makes(machines: Machines, alone: tuple[Path, Mapping[str, Any]]) -> None:
    folder, expected = alone
    machines.add(3)
    evaluate(asked(folder, machines), run_dir=folder / "three")
    assert came_to(folder / "three") == expected
    environment = Run(folder / "three").results.provenance.environment
    assert len(environment["machines"]) == 3
    assert len(environment["gpus"]) == 6


def test_one_machine_dies_and_another_joins_and_nobody_is_charged(
    machines: Machines, alone: tuple[Path, Mapping[str, Any]]
) -> None:
    folder, expected = alone
    machines.add(3)
    (folder / "waits.py").write_text(WAITS)
    run, go = folder / "killed", folder / "go"
    config = asked(folder, machines)
    model = {"device_ids": "auto", "until": str(go), "seconds": 0.5}  # worth a load
    config["edit_models"] = {"testing": {"class_path": "waits:Waits", "params": model}}
    del config["diffusion_model"]
    config["execution"]["pilot"] = False
    engine = begun(folder, run, config)
    assert soon(edited(run, 6))
    machines.kill()
    assert soon(lambda: any(event["event"] == "gone" for event in lines(run, "events")))
    machines.add()
    assert soon(lambda: {"cuda:6", "cuda:7"} <= {d for event in lines(run, "events") for d in event.get("place", ())})
    go.touch()
    _, said = engine.communicate(timeout=300)
    assert engine.returncode == 0, said
    made = Run(run)
    records = came_to(run)
    assert [pixels for _, pixels in records["edits"]] == [pixels for _, pixels in expected["edits"]]
    assert records["replies"] == expected["replies"]
    assert records["rows"] == expected["rows"]
    assert charged(run) == []
    assert max(Counter(line["key"] for line in lines(run, "edits")).values()) == 1
    events = lines(run, "events")
    (gone,) = [event for event in events if event["event"] == "gone"]
    assert len(gone["devices"]) == 2
    after = [event for event in events if event["event"] == "activity" and event["begin"] > gone["seconds"]]
    assert not {activity["device"] for activity in after} & set(gone["devices"])
    assert {activity["device"] for activity in after} >= {"cuda:6", "cuda:7"}
    assert set(made.results.telemetry.devices) == {f"cuda:{number}" for number in range(8)}


def test_a_machine_whose_agent_has_ended_is_used_again(
    machines: Machines, alone: tuple[Path, Mapping[str, Any]]
) -> None:
    """As those end of themselves that a busy cluster has not asked for seconds."""
    folder, expected = alone
    machines.add(2)
    (folder / "waits.py").write_text(WAITS)
    run, go = folder / "ended", folder / "ended_go"
    config = asked(folder, machines)
    model = {"device_ids": "auto", "until": str(go), "seconds": 0.5}
    config["edit_models"] = {"testing": {"class_path": "waits:Waits", "params": model}}
    del config["diffusion_model"]
    config["execution"]["pilot"] = False
    engine = begun(folder, run, config)
    assert soon(edited(run, 4))
    os.kill(processes("ray::Agent")[0], signal.SIGKILL)
    assert soon(lambda: {"cuda:4", "cuda:5"} <= {d for event in lines(run, "events") for d in event.get("place", ())})
    go.touch()
    _, said = engine.communicate(timeout=300)
    assert engine.returncode == 0, said
    assert came_to(run)["rows"] == expected["rows"]
    assert charged(run) == []


def test_a_gpu_without_memory_is_retired_and_costs_no_sample(
    machines: Machines, alone: tuple[Path, Mapping[str, Any]]
) -> None:
    folder, expected = alone
    machines.add(1)
    (folder / "short_of_memory.py").write_text(SHORT_OF_MEMORY)
    config = asked(folder, machines)
    config["edit_models"] = {
        "testing": {"class_path": "short_of_memory:ShortOfMemory", "params": {"device_ids": "auto", "seconds": 0.2}}
    }
    del config["diffusion_model"]
    config["execution"]["pilot"] = False
    run = folder / "short"
    (folder / "short.yaml").write_text(yaml.safe_dump(config))
    evaluate(folder / "short.yaml", run_dir=run)
    records = came_to(run)
    assert [pixels for _, pixels in records["edits"]] == [pixels for _, pixels in expected["edits"]]
    assert records["replies"] == expected["replies"]
    (there,) = json.loads((run / "report" / "summary.json").read_text())["device_failures"]
    assert there["device"] == "cuda:0"
    assert there["attempts"] == there["out_of_memory"] >= 5
    assert there["retired"]


def test_without_a_shared_directory_pictures_come_back_and_a_killed_engine_leaves_nobody(
    machines: Machines, alone: tuple[Path, Mapping[str, Any]]
) -> None:
    folder, expected = alone
    for _ in range(3):
        machines.add_without(folder)
    # A first engine is killed in the middle.
    run = folder / "apart"
    engine = begun(folder, run, asked(folder, machines, seconds=0.5))
    assert soon(edited(run, 10))
    os.kill(engine.pid, signal.SIGKILL)
    begin = time.monotonic()
    assert soon(lambda: not processes(WORKER), 5.0), "workers outlive their engine"
    assert soon(lambda: not processes("ray::Agent"), 30.0), f"agents outlive it after {time.monotonic() - begin:.0f} s"
    assert soon(lambda: not processes("plugins.ray.gateway"), 5.0)
    kept = {line["key"] for line in lines(run, "edits") if line["status"] == "ok"}
    # The next one repeats nothing that was finished.
    evaluate(asked(folder, machines, seconds=0.5), run_dir=run)
    counts = Counter(line["key"] for line in lines(run, "edits"))
    assert all(counts[key] == 1 for key in kept)
    assert charged(run) == []
    assert [pixels for _, pixels in came_to(run)["edits"]] == [pixels for _, pixels in expected["edits"]]
    assert came_to(run)["rows"] == expected["rows"]
    # With the same keys as on one machine, everything is the same.
    evaluate(asked(folder, machines), run_dir=folder / "apart_too")
    assert came_to(folder / "apart_too") == expected


def test_the_end_of_the_head_is_a_clear_stop(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    machines = Machines()
    try:
        machines.add(1)
        run = tmp_path / "run"
        engine = begun(tmp_path, run, asked(tmp_path, machines, seconds=1.0))
        assert soon(edited(run, 4))
        machines.stop_head()
        _, said = engine.communicate(timeout=300)
        assert engine.returncode == 4, said
        last = said.decode().strip().splitlines()[-1]
        assert last.startswith("error: the Ray cluster is gone")
        assert "all finished work is kept" in last
        assert sum(line["status"] == "ok" for line in lines(run, "edits")) >= 4
    finally:
        machines.close()
    assert soon(lambda: not processes(WORKER))
