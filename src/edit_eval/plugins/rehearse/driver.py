"""The driver of a rehearsal: the configured one, whose workers load the model within `beside.rehearsed.Rehearsed`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from edit_eval.config.schema import Configuration
from edit_eval.execution.contract import Driver, Event, Machine, WorkerSpecification
from edit_eval.workers.messages import Message

REHEARSED = "edit_eval.plugins.rehearse.in_worker.rehearsed:Rehearsed"


@dataclass
class RehearsalDriver:
    """Starts what it is told to start, rehearsed."""

    driver: Driver
    marks: Path
    """File for what workers measure, a JSON object a line."""
    filled: frozenset[str]
    """The models (keys) whose weights are holes."""
    faults: Sequence[str] = ()
    """What is planted, each once (`found.FAULTS`)."""
    batches: Mapping[str, int] = field(default_factory=dict)
    """By judge (key), how many pairs it is asked at once: its first batch is made as large with neighbours."""
    loads: dict[str, int] = field(default_factory=dict)
    """How many workers were started, by model."""

    @classmethod
    def from_configuration(cls, configuration: Configuration) -> Self:
        """Not made from a configuration: `execution.driver` names the one that it is about."""
        raise NotImplementedError

    def machine(self) -> Machine:
        """Returns the machine of the driver within."""
        return self.driver.machine()

    def start(self, worker: int, specification: WorkerSpecification) -> None:
        """Starts the same worker with the model within ours."""
        self.loads[specification.model] = self.loads.get(specification.model, 0) + 1
        folder = self.marks.with_suffix(".planted")
        folder.mkdir(exist_ok=True)
        inner: Mapping[str, Any] = {
            "class_path": specification.class_path,
            "path": list(specification.import_path),
            "parameters": dict(specification.parameters),
            "model": specification.model,
            "fill": specification.model in self.filled,
            "marks": str(self.marks),
            "batch": self.batches.get(specification.model, 1),
            "faults": {"folder": str(folder), "names": list(self.faults), "place": list(specification.devices)},
        }
        rehearsed = replace(specification, class_path=REHEARSED, parameters=inner, revision="")
        self.driver.start(worker, rehearsed)

    def submit(self, worker: int, message: Message) -> None:
        """Passes it on."""
        self.driver.submit(worker, message)

    def poll(self, seconds: float) -> tuple[float, Sequence[Event]]:
        """Passes it on."""
        return self.driver.poll(seconds)

    def kill(self, worker: int) -> None:
        """Passes it on."""
        self.driver.kill(worker)

    def close(self) -> None:
        """Passes it on."""
        self.driver.close()
