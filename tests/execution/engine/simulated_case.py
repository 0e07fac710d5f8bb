"""A run of tasks on simulated devices, with the fates that a test gives them."""

from typing import Any

from edit_eval.execution.contract import WorkerSpecification
from edit_eval.execution.engine.engine import Engine
from edit_eval.records import Activity
from edit_eval.scheduling.estimates import Estimates
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.tasks import Model, Task, Work
from edit_eval.workers.messages import Message
from simulated_driver import SimulatedDriver


class Notes:
    """Records for a test: what was done, and what was set aside and why."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.finished: list[int] = []
        self.set_aside: dict[int, str] = {}
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.activities: list[Activity] = []

    def about(self, task: Task) -> str:
        return ",".join(map(str, task.units))

    def free(self, task: Task) -> None: ...

    def order(self, task: Task) -> Message:
        return {"do": "run", "kind": "edit", "task": task.number, "units": task.units}

    def record_results(self, task: Task, message: dict[str, Any], device: str) -> None:
        self.finished.extend(task.units)

    def record_failure(self, task: Task, reason: str, device: str) -> None:
        for unit in task.units:
            self.set_aside[unit] = reason

    def attempt(self, task: Task, reason: str) -> None: ...
    def leave(self, task: Task) -> None: ...

    def activity(self, device: str, kind: str, model: str, begin: float, end: float, what: str) -> None:
        self.activities.append(
            Activity(start_number=1, device=device, kind=kind, model=model, begin=begin, end=end, what=what)
        )

    def event(self, name: str, **fields: Any) -> None:
        self.events.append((name, fields))

    def sync(self) -> None: ...


class Silence:
    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **named: None


class Case:
    """A run of `count` tasks on `devices` simulated devices, with the given fates."""

    def __init__(
        self,
        count: int,
        devices: int,
        task: Any,
        load: Any = lambda model, device: 5.0,
        units: int = 1,
        schedule: str = "pull",
    ) -> None:
        model = Model("m", "edit", tuple((f"gpu:{i}",) for i in range(devices)))
        self.work = Work()
        policy = Policy([model], self.work, Estimates(), schedule=schedule)
        for first in range(0, count, units):
            self.work.add(model.key, range(first, min(first + units, count)))
        self.notes = Notes(self.work)
        specifications = {
            (model.key, place): WorkerSpecification("w", model.key, place, "", timeout=20.0, load_timeout=50.0)
            for place in model.places
        }
        driver = SimulatedDriver(load=load, task=task)
        self.engine = Engine(driver, policy, self.work, self.notes, Silence(), specifications)

    def run(self) -> "Case":
        self.engine.run()
        return self
