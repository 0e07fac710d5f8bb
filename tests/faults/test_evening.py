"""An evening on six GPUs, played through with a driven clock: three things go wrong, and all samples are done."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))  # for `combinations`, which is found from there

from combinations.in_place import InPlace, command, without_processes
from edit_eval.execution.contract import WorkerSpecification
from edit_eval.execution.machine import devices
from edit_eval.execution.machine.devices import LocalMachine
from edit_eval.workers.failures import kind_of
from edit_eval.workers.messages import Message
from fake_nvml import GIB, FakeNvml, gpu, install
from small_benchmark import configuration, write_benchmark

MINUTE = 60.0
LIMIT = 64 * GIB
SECONDS = {"edit": 40.0, "judge": 8.0, "load": 50.0}
"""What an order takes."""
NEIGHBOUR = os.getppid()
"""A process that can be seen."""


class Evening(InPlace):
    """Six GPUs. An order takes its time, and at its end shows what has happened to its worker's device."""

    def __init__(self, nvml: FakeNvml) -> None:
        super().__init__(machine=LocalMachine())
        self._nvml = nvml
        self._at: dict[int, float] = {}  # worker -> when its device is free
        self._poisoned: set[int] = set()
        self._accident = 2 * MINUTE
        self.starts: list[str] = []

    def start(self, worker: int, specification: WorkerSpecification) -> None:
        self._at[worker] = self._now + 5.0
        self.starts.append(specification.devices[0])
        super().start(worker, specification)

    def poll(self, seconds: float) -> Any:
        """Moves the clock to the next order that is due, at most by `seconds`, and has it carried out."""
        waiting = {number: self._at[number] for number, worker in self._workers.items() if worker.orders}
        if self._events or not waiting:
            self._now += 0.0 if self._events else seconds
        else:
            self._now = min(self._now + seconds, max(self._now, min(waiting.values())))
        if self._now > 3 * MINUTE:
            self._nvml.gpus[3]["lost"] = "MemoryInfo"
            self._nvml.gpus[1] |= {"free": 40 * GIB, "users": [(NEIGHBOUR, 40 * GIB)]}
        for number, due in waiting.items():
            if due <= self._now and number in self._workers:
                worker = self._workers[number]
                order = worker.orders.popleft()
                self._at[number] = self._now + SECONDS.get(order.get("kind", order["do"]), 0.0)
                self._carry_out(number, worker, order)
        events, self._events = self._events, []
        return self._now, events

    def _carry_out(self, number: int, worker: Any, order: Message) -> None:
        (device,) = worker.specification.devices
        says = self._fault(number, int(device.partition(":")[2]), order)
        if not says or order["do"] not in ("load", "run"):
            return super()._carry_out(number, worker, order)
        kind = kind_of(RuntimeError(says.partition(": ")[2]))
        if order["do"] == "load":
            self._say(number, "broken", error=says, trace="", kind=kind, memory={})
            return self._died(number, "ended with exit code 1")
        self._say(number, "started", task=order["task"])
        self._say(number, "failed", task=order["task"], error=says, trace="", kind=kind, memory={})

    def _fault(self, number: int, index: int, order: Message) -> str:
        if index == 3 and self._nvml.gpus[3].get("lost"):
            return "RuntimeError: CUDA error: unspecified launch failure"
        if index == 1 and self._nvml.gpus[1]["users"]:
            return "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
        if index == 5 and order["do"] == "run" and self._now > self._accident:
            self._accident = float("inf")
            self._poisoned.add(number)
        return "SomeError: the handle 0x7f2c is stale" if number in self._poisoned else ""


def test_an_evening_on_six_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GPU 3 is lost at minute 3, a neighbour takes GPU 1's memory, an accident breaks the process on GPU 5, whose words
    no table has, and a job's limit holds loads back."""
    write_benchmark(tmp_path, 48)
    nvml = install(monkeypatch, *(gpu(number) for number in range(6)))
    monkeypatch.setattr(devices, "free_host_memory", lambda: LIMIT)
    testing = {"type": "testing", "params": {"device_ids": "auto"}}
    what = configuration(tmp_path, diffusion_model=testing, reward_model=testing, execution={"pilot": False})
    (tmp_path / "evening.yaml").write_text(json.dumps(what))
    driver = Evening(nvml)
    with without_processes(driver=driver):
        ended = command("run", tmp_path / "evening.yaml", "--run-dir", tmp_path / "run", "--progress", "plain")
    assert ended.code == 0, ended.err[-3000:]
    assert "48 of 48 scores" in ended.err
    report = json.loads((tmp_path / "run/report/summary.json").read_text("utf-8"))
    assert report["coverage"]["scored"] == 48
    failures = {failure["device"]: failure for failure in report["device_failures"]}
    assert failures.keys() == {"cuda:1", "cuda:3", "cuda:5"}
    assert "CUDA error" in failures["cuda:3"]["retired"]
    assert "out of memory" in failures["cuda:1"]["retired"], "or that it ran out of it over tasks that others did"
    assert str(NEIGHBOUR) in failures["cuda:1"]["retired"]
    assert (failures["cuda:5"]["error"], failures["cuda:5"]["retired"]) == ("SomeError: the handle 0x7f2c is stale", "")
    assert driver.starts.count("cuda:5") <= 4, "one more for each model, at most"
