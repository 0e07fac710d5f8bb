"""Interfaces that the engine depends on: a driver (its machine, and five calls), and records.

Local processes and clusters are two drivers; tests have a simulated one. Only drivers know which devices there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

if TYPE_CHECKING:  # whoever shows what a device does needs a Meter alone
    from edit_eval.config.schema import Configuration
    from edit_eval.endpoints.serving import ServerEnvironment
    from edit_eval.judges.contract import AnswerForm
    from edit_eval.records import Unknown
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
    """Bytes; None if unknown (a GPU that shares the host's memory)."""
    free: int | None
    """Bytes."""
    utilisation: int | None = None
    """Per cent."""
    users: tuple[str, ...] = ()
    """Processes that hold memory on it, except this run's workers: `1234 python (12.3 GiB)`."""
    capability: tuple[int, int] | None = None
    """Compute capability: (9, 0) is Hopper."""
    node: str = ""
    """Its machine in a cluster; empty if there is only one."""


@dataclass(frozen=True)
class Meter:
    """A GPU's load at one moment; None for what is unknown."""

    used: int | None = None
    """Bytes in use, by any process."""
    total: int | None = None
    """Bytes."""
    busy: float | None = None
    """Share of the last moments in which it computed anything, 0 to 1."""


class Machine(Protocol):
    """The machine that a driver's workers run on: its present devices, and how they are watched.

    The defaults suit one that only lists its GPUs: it hides none, and reports nothing about its host or their load.
    """

    def gpus(self) -> Sequence[Gpu]:
        """Returns the GPUs that workers can be given, the first is `cuda:0`; none if they cannot be queried."""

    def lost(self) -> Mapping[str, Unknown]:
        """Returns by name the GPUs that are there and do not answer, each with the driver's words."""
        return {}

    def gpu_count(self) -> int:
        """Returns the number of GPUs, lost ones too, as far as it is known when they cannot be queried."""
        return len(self.gpus())

    def limit(self) -> str:
        """Returns what hides GPUs from this command, for people: `CUDA_VISIBLE_DEVICES=0,1`; empty if nothing does."""
        return ""

    def fault(self) -> str:
        """Returns why GPUs that may exist cannot be queried; empty if they can be, or there are none."""
        return ""

    def free_host_memory(self) -> int | None:
        """Returns the bytes of host memory that are free (of several hosts, on the one with the least), or None."""
        return None

    def hosts(self) -> Sequence[Host]:
        """Returns the machines of a cluster; empty for this machine alone."""
        return ()

    def find_warning(self) -> str:
        """Returns a warning for people who use it; empty if there is none."""
        return ""

    def find_missing_weights(self, weights: Sequence[tuple[str, str | None, str]]) -> Mapping[str, Sequence[str]]:
        """Returns what each other machine lacks of these weights (name, revision, dtype), by its name."""
        return {}

    def meters(self) -> AbstractContextManager[Callable[[str], Meter]]:
        """Opens a reader of a GPU's meter by its name. Both may take long; opening raises if there are no meters."""
        return nullcontext(lambda device: Meter())


@dataclass(frozen=True)
class Host:
    """One machine of a cluster, as it describes itself."""

    name: str
    devices: tuple[str, ...]
    about: Mapping[str, Any]
    """`python`, `platform`, `processors` and `libraries`, as recorded for a single machine."""
    notes: tuple[str, ...] = ()
    """Oddities, for people: its clock is wrong."""


PICTURE_TOKENS = 5000
"""The most that a maker's model counts for a picture, with room to spare (Claude Opus 4.7: 4784 tokens)."""


@dataclass(frozen=True, kw_only=True)
class Price:
    """What a model that somebody else runs costs, in US dollars."""

    usual: float | None = None
    """Of an edit."""
    most: float = 0.0
    """Of an edit with all its attempts."""
    read: float = 0.0
    """Of a million tokens that a judge reads."""
    written: float = 0.0
    """Of a million that it writes."""
    longest: int = 0
    """Most tokens of an answer, thoughts included."""
    attempts: int = 1
    """Most attempts at a question."""
    load: float = 0.0
    """Of what is tried out when a judge is loaded, at most."""
    batch: float = 1.0
    """The share of it that a question in a batch costs."""
    batched: bool = False
    """True if its questions are asked in batches."""
    told: bool = False
    """True if the provider tells the cost."""
    date: str = ""
    source: str = ""

    def most_of(self, order: Mapping[str, Any]) -> float:
        """Returns the most that an order can cost with all its attempts."""
        if order["kind"] == "edit":
            return self.most
        return sum(self._questions(order)) * (self.batch if order.get("deferred") else self.attempts)

    def cost_of(self, order: Mapping[str, Any], message: Mapping[str, Any]) -> tuple[float, bool, int]:
        """Returns what it did cost by what its worker reports, whether that was told, and the number of attempts."""
        charged = message.get("charged") or {}
        if order["kind"] == "edit":
            usd = charged.get("usd")
            return (self.most, False, 1) if usd is None else (usd, charged["told"], charged["attempts"])
        each, lost = self._questions(order), int(charged.get("lost", 0))
        share = self.batch if order.get("deferred") else 1.0
        feared = lost * share * max(each, default=0.0)
        results = message.get("results")
        if results is None:  # some of a batch may have been answered
            return feared + (sum(each) if len(each) > 1 else 0.0), False, lost  # a question in a batch is alone
        counted = [result.get("tokens") for result in results]
        answered = sum(
            (read_written[0] * self.read + read_written[1] * self.written) / 1e6 if read_written else most
            for read_written, most in zip(counted, each, strict=True)
        )
        return feared + share * answered, False, lost + len(results)

    def _questions(self, order: Mapping[str, Any]) -> list[float]:
        """Returns the most that one attempt at each question costs: a token has a byte at least."""
        return [
            (
                (
                    len(request["system"].encode())
                    + len(request["user"].encode())
                    + PICTURE_TOKENS * len(request["pictures"])
                    + 200
                )
                * self.read
                + self.longest * self.written
            )
            / 1e6
            for request in order["requests"]
        ]


@dataclass(frozen=True)
class WorkerSpecification:
    """All that a driver needs to start a worker."""

    name: str
    """Name of its log: `qwen_image_edit-cuda0`."""
    model: str
    """The model's key."""
    devices: tuple[str, ...]
    class_path: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    python: str = ""
    """Interpreter of its environment; empty: this one."""
    server: ServerEnvironment | None = None
    """Where the server started for its model (`serve`) runs; None for all other models."""
    forms: tuple[AnswerForm, ...] = ()
    """The forms in which a judge will be told to answer, without duplicates."""
    revision: str = ""
    """The part of keys on its code or weights (see `workers.model_class.refuse_changed`); empty if they have none."""
    import_path: tuple[str, ...] = ()
    """Folders of the user's own classes."""
    logs: Path | None = None
    """Folder for its output, in a file of its `name`; None: discarded."""
    offload: str = "none"
    timeout: float = 600.0
    """Seconds that it may be silent while it has a task."""
    load_timeout: float = 3600.0
    """The same while it is being prepared or loaded."""


FLEET = 0
"""Takes the place of a worker's number in events of the devices themselves."""


class Event(NamedTuple):
    """A worker's message, or `{"event": "died", "reason": ...}` when its process has ended.

    `died` has `lost` if the whole machine was lost, for which no task is to blame. Messages of `FLEET` are `gone`
    (`devices`), before the workers on them die, `joined` (`gpus`, a list of `Gpu`), and `note`; each has a `reason`.
    """

    worker: int
    message: Message


class Driver(Protocol):
    """Starts workers and carries messages. The engine numbers the workers.

    `driver.NAME` of the register; this machine is `local`, all others are plug-ins, or a package's.

    An unused driver holds no resources; its clock begins with its first use.
    """

    @classmethod
    def from_configuration(cls, configuration: Configuration) -> Self:
        """Returns the driver that a configuration asks for by `execution.driver`; nothing begins yet."""

    def machine(self) -> Machine:
        """Returns the machine that its workers run on."""

    def start(self, worker: int, specification: WorkerSpecification) -> None:
        """Starts a worker's process, which will report `prepared` or `broken`, or die."""

    def submit(self, worker: int, message: Message) -> None:
        """Sends a message. For a dead worker it is dropped without an error: the death is an event."""

    def poll(self, seconds: float) -> tuple[float, Sequence[Event]]:
        """Waits for events, at most `seconds`. Returns the time (seconds since its first use) and the events."""

    def kill(self, worker: int) -> None:
        """Ends a worker at once; `died` follows."""

    def close(self) -> None:
        """Ends all workers at once and releases all resources."""


class Records(Protocol):
    """What the engine has recorded (see `Recorder`)."""

    def about(self, task: Task) -> str: ...
    def order(self, task: Task) -> Message | None: ...
    def free(self, task: Task) -> None: ...
    def record_results(self, task: Task, message: Message, device: str) -> None: ...
    def record_failure(self, task: Task, reason: str, device: str) -> None: ...
    def record_refusal(self, task: Task, reason: str) -> None: ...
    def record_submission(self, task: Task, message: Message) -> None: ...
    def clear_submission(self, task: Task) -> None: ...
    def attempt(self, task: Task, reason: str) -> None: ...
    def leave(self, task: Task) -> bool: ...
    def activity(self, device: str, kind: str, model: str, begin: float, end: float, what: str) -> None: ...
    def event(self, name: str, **fields: Any) -> None: ...
    def sync(self) -> None: ...


Observer = Callable[["Replica", str, Mapping[str, Any]], None]
"""Called when a replica is told to load (`loading`), and for all messages of its worker except steps (see `Gauges`)."""


Users = Callable[[Sequence[str]], Sequence[str]]
"""Returns which other processes hold memory on these devices, as far as is quickly known: `4321 python (24.9 GiB)`."""


More = Callable[[], bool]
"""Adds work that has arrived since the last call, on each round of the engine; True if there was any (`serve`: all
other work is there from the start)."""


Interruption = Callable[[], str]
"""Returns whether the run should end: `""`, `drain` (finish the tasks in hand) or `now`."""


Specifications = Mapping[tuple[str, tuple[str, ...]], WorkerSpecification]
"""How to start a model (its key) on a place."""


Growth = Callable[[Sequence[Gpu]], Specifications]
"""Returns how to start models on GPUs that have joined."""
