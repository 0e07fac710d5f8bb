"""What the engine needs of those around it: a driver (the machine that it has, and five calls), records, a watcher.

Local processes and clusters are two drivers; tests have a simulated one. Nobody else asks which devices there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from edit_eval.endpoints.serving import ServerEnvironment
from edit_eval.judges.contract import AnswerForm
from edit_eval.scheduling.fleet import Replica
from edit_eval.scheduling.tasks import Task
from edit_eval.workers.messages import Message


@dataclass(frozen=True)
class Gpu:
    """One GPU that a worker can be given."""

    name: str
    """`cuda:0`."""
    title: str
    uuid: str
    memory: int | None
    """Bytes; None where nobody tells (a GPU that shares the host's memory)."""
    free: int | None
    """Bytes."""
    utilisation: int | None = None
    """Per cent."""
    users: tuple[str, ...] = ()
    """Processes that hold memory on it, workers of this run apart: `1234 python (12.3 GiB)`."""
    capability: tuple[int, int] | None = None
    """Of its CUDA architecture: (9, 0) is Hopper."""
    node: str = ""
    """The machine of a cluster that it is in; empty where there is only one."""


@dataclass(frozen=True)
class Meter:
    """What a GPU is doing at a moment; None for what nobody tells."""

    used: int | None = None
    """Bytes in use, by whatever process."""
    total: int | None = None
    """Bytes."""
    busy: float | None = None
    """The share of the last moments in which anything was computed on it, 0 to 1."""


class Machine(Protocol):
    """What a driver's workers run on: its devices, as they are now, and how they are watched.

    One that says no more than which GPUs it has hides none, and tells nothing of its host or of what they do.
    """

    def gpus(self) -> Sequence[Gpu] | None:
        """The GPUs that workers can be given, the first is `cuda:0`; None where nobody can be asked."""

    def gpu_count(self) -> int:
        """How many there are, as far as can be told where nobody can be asked."""
        return len(self.gpus() or ())

    def limit(self) -> str:
        """What keeps this command from more GPUs, for people: `CUDA_VISIBLE_DEVICES=0,1`; empty where nothing does."""
        return ""

    def fault(self) -> str:
        """Why GPUs that may be there cannot be asked; empty where they can, and where there are none."""
        return ""

    def free_host_memory(self) -> int | None:
        """Bytes that processes can still take on the host (of several: on the one with the least); None: not known."""
        return None

    def hosts(self) -> Sequence[Host]:
        """The machines that it consists of; empty where it is this one alone."""
        return ()

    def warning(self) -> str:
        """What somebody who has it work should know, for people; empty where there is nothing."""
        return ""

    def lacking(self, weights: Sequence[tuple[str, str | None, str]]) -> Mapping[str, Sequence[str]]:
        """What each of those machines lacks of weights (name, revision, dtype), by its name; nothing of this one."""
        return {}

    def meters(self) -> AbstractContextManager[Callable[[str], Meter]]:
        """Opens what reads a GPU by its name. Opening and reading may take long; opening raises where nobody tells."""
        return nullcontext(lambda device: Meter())


@dataclass(frozen=True)
class Host:
    """One machine of a cluster, as it describes itself."""

    name: str
    devices: tuple[str, ...]
    about: Mapping[str, Any]
    """`python`, `platform`, `processors` and `libraries`, as the records have them of a single machine."""
    notes: tuple[str, ...] = ()
    """What is unusual about it, for people: its clock is wrong."""


@dataclass(frozen=True)
class WorkerSpecification:
    """What a driver must know to start a worker."""

    name: str
    """For its log: `qwen_image_edit-cuda0`."""
    model: str
    """Its key."""
    devices: tuple[str, ...]
    class_path: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    python: str = ""
    """The interpreter of its environment; empty: this one."""
    server: ServerEnvironment | None = None
    """Where the server that its model starts (`serve`) runs; None for all other models."""
    forms: tuple[AnswerForm, ...] = ()
    """How a judge will be told to answer, each once."""
    revision: str = ""
    """What keys say of its code or weights (see `workers.model_class.refuse_changed`); empty where they say nothing."""
    import_path: tuple[str, ...] = ()
    """Folders in which the user's own classes are found."""
    logs: Path | None = None
    """Where what it prints is kept, in a file of its `name`; None: nowhere."""
    offload: str = "none"
    timeout: float = 600.0
    """Seconds for which it may be silent with a task."""
    load_timeout: float = 3600.0
    """The same while it is prepared or loaded."""


FLEET = 0
"""In place of a worker's number: an event of the devices themselves."""


class Event(NamedTuple):
    """A worker's message, or `{"event": "died", "reason": ...}` when its process is gone.

    `died` has `lost` where the machine is gone with it, of which no task is to blame. Of `FLEET` the message is `gone`
    (`devices`), before the workers on them die, `joined` (`gpus`, a list of `Gpu`), or `note`; each with its `reason`.
    """

    worker: int
    message: Message


class Driver(Protocol):
    """Starts workers and carries messages. Workers are known by numbers that the engine gives.

    One that is made and never used has nothing to give back; its clock begins with its first use.
    """

    def machine(self) -> Machine:
        """What its workers run on."""

    def start(self, worker: int, specification: WorkerSpecification) -> None:
        """Starts a worker's process; it will report `prepared`, or `broken`, or that it died."""

    def submit(self, worker: int, message: Message) -> None:
        """Sends a message. To a dead worker it is lost without an error: that it died is an event."""

    def poll(self, seconds: float) -> tuple[float, Sequence[Event]]:
        """Waits for events, at most `seconds`. Returns the time (seconds since its first use) and the events."""

    def kill(self, worker: int) -> None:
        """Ends a worker at once; `died` follows."""

    def close(self) -> None:
        """Ends all workers at once and gives everything back."""


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
