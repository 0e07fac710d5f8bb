"""What the engine needs of those around it, its driver apart (see `driver.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from edit_eval.execution.contract import Gpu, WorkerSpecification
from edit_eval.scheduling.fleet import Replica
from edit_eval.scheduling.tasks import Task


class Records(Protocol):
    """What the engine needs to have recorded (see `Recorder`)."""

    def about(self, task: Task) -> str: ...
    def order(self, task: Task) -> dict[str, Any]: ...
    def done(self, task: Task, message: dict[str, Any], device: str) -> None: ...
    def failed(self, task: Task, reason: str, device: str) -> None: ...
    def refused(self, task: Task, reason: str) -> None: ...
    def attempt(self, task: Task, reason: str) -> None: ...
    def leave(self, task: Task) -> None: ...
    def activity(self, device: str, kind: str, model: str, begin: float, end: float, what: str) -> None: ...
    def event(self, name: str, **fields: Any) -> None: ...
    def sync(self) -> None: ...


class Watcher(Protocol):
    """Who is shown what happens (the live progress). It must never fail and never block."""

    def replica(self, replica: Replica, state: str, message: Mapping[str, Any]) -> None: ...
    def running(self, replica: Replica, task: Task, about: str) -> None: ...
    def step(self, replica: Replica, step: int, steps: int) -> None: ...
    def finished(self, replica: Replica, task: Task) -> None: ...
    def note(self, text: str) -> None: ...
    def tick(self, now: float) -> None: ...


Observer = Callable[[Replica, str, Mapping[str, Any]], None]
"""Told of a replica that it is told to load (`loading`), and all that its worker says but its steps (see `Gauges`)."""


Users = Callable[[Sequence[str]], Sequence[str]]
"""Who else holds memory on these devices, as far as can be told in a moment: `4321 python (24.9 GiB)`."""


More = Callable[[], bool]
"""Adds to the work what has come since it was last asked, each time that the engine goes round; whether anything has
(`serve`: all other work is there from the start)."""


Interruption = Callable[[], str]
"""Asks whether somebody wants the run to end: `""`, `drain` (finish what is in hand) or `now`."""


Specifications = Mapping[tuple[str, tuple[str, ...]], WorkerSpecification]
"""How to start a model (its key) on a place."""


Growth = Callable[[Sequence[Gpu]], Specifications]
"""Lays models out on GPUs that have joined."""
