"""The fleet: every replica, the devices that it holds, and its life cycle. `policies.py` decides what to do; this
module turns it into commands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Literal, NamedTuple

from edit_eval.scheduling.tasks import Model, Task
from edit_eval.text import Text


class ReplicaState(Enum):
    """The stages of a replica's life."""

    OFF = auto()
    PREPARING = auto()  # its process is starting: imports, no device memory
    PREPARED = auto()
    LOADING = auto()
    LOADED = auto()
    STOPPING = auto()
    RETIRED = auto()  # cannot be loaded here, or failed too often: not tried again in this run


Leaving = Literal["", "early", "pilot"]
"""Why a replica gives up its place once its hands are empty: for the judge (rule 4), or for a pilot (rule 5)."""


@dataclass(slots=True, eq=False)
class Replica:
    """One model on one place."""

    number: int
    model: Model
    index: int
    """Its index among the replicas of its model."""
    place: tuple[str, ...]
    state: ReplicaState = ReplicaState.OFF
    capacity: int = 1
    hands: dict[int, Task] = field(default_factory=dict)
    deferred: dict[int, Task] = field(default_factory=dict)
    """What it has handed on, and waits for, besides."""
    worked: bool = False
    """True if it has finished a task since it was loaded."""
    leaving: Leaving = ""
    wanted: bool = False
    """True if it holds its place: it is loaded, or will be as soon as it is prepared."""
    lost: bool = False
    """True if its devices are lost: it will not come back."""
    key: str = field(init=False)
    """The key of its model."""
    held: tuple[str, ...] = field(init=False)
    """What it keeps from others while it has its place: its devices, or a name that no other model wants."""

    def __post_init__(self) -> None:
        self.key, self.held = self.model.key, self.model.resources_of(self.place)

    @property
    def name(self) -> str:
        """For people: `edit model qwen_image_edit on cuda:0`."""
        return Text("{} on {}", self.model.title, "+".join(self.place))

    @property
    def busy(self) -> bool:
        """True if it will report something without further orders."""
        coming = (ReplicaState.PREPARING, ReplicaState.LOADING, ReplicaState.STOPPING)
        return bool(self.hands or self.deferred) or self.state in coming


class Command(NamedTuple):
    """An order to the engine."""

    verb: Literal["prepare", "load", "run", "stop"]
    replica: Replica
    task: Task | None = None


class Fleet:
    """All replicas. None has a process at first; at most `residents` of them hold a device at a time."""

    def __init__(
        self,
        models: Sequence[Model],
        residents: int,
        load_concurrency: int | None,
        host: Callable[[str], str] = lambda device: "",
    ) -> None:
        """At most `load_concurrency` replicas load at once on each `host` (of a device)."""
        self.replicas: list[Replica] = []
        self.of: dict[str, list[Replica]] = {model.key: [] for model in models}
        self.on: dict[str, list[Replica]] = {}
        """Device -> the replicas that may hold it, in the order of the models (see `Model.resources_of`)."""
        self.free: dict[str, None] = {}
        """Devices with room, in order."""
        self._holders: dict[str, list[Replica]] = {}
        for model in models:
            for place in model.places:
                self.add(model, place)
        self.active = dict.fromkeys(self.of, 0)
        """Model -> number of its replicas that hold a place."""
        self.coming = dict.fromkeys(self.of, 0)
        """Model -> number of those that are not loaded yet."""
        self._residents = residents
        self._load_limit, self._host = load_concurrency or 1 << 30, host
        self._to_load: dict[str, dict[int, Replica]] = {}  # host -> replicas by number
        self._loading: Counter[str] = Counter()  # by host
        self._commands: list[Command] = []

    def add(self, model: Model, place: tuple[str, ...]) -> Replica:
        """Adds a replica of a model, on devices that may be new."""
        replica = Replica(len(self.replicas), model, len(self.of[model.key]), place)
        self.replicas.append(replica)
        self.of[model.key].append(replica)
        for device in replica.held:
            self.on.setdefault(device, []).append(replica)
            if device not in self._holders:
                self._holders[device], self.free[device] = [], None
        return replica

    # -- places --

    def has_room(self, replica: Replica) -> bool:
        """True if its devices have room for it."""
        return all(len(self._holders[device]) < self._residents for device in replica.held)

    def next_free(self) -> str | None:
        """Returns a device with room, another one at each call so that each gets its turn; None if all are full."""
        if not self.free:
            return None
        device = next(iter(self.free))
        self.free[device] = self.free.pop(device)
        return device

    def load_at_once(self, name: str) -> bool:
        """True if a model has places but is loaded on none of them yet, and one more replica can load at once."""
        return 0 < self.active[name] == self.coming[name] < self._load_limit

    def neighbours(self, replica: Replica) -> Iterator[Replica]:
        """Yields the replicas that share its devices."""
        return (other for device in replica.held for other in self._holders[device] if other is not replica)

    def rivals(self, replica: Replica) -> Iterator[Replica]:
        """Yields the replicas of other models that could hold its devices instead."""
        for device in replica.held:
            for other in self.on[device]:
                if (
                    other is not replica
                    and not other.wanted
                    and other.state not in (ReplicaState.STOPPING, ReplicaState.RETIRED)
                ):
                    yield other

    # -- commands --

    def take_commands(self) -> list[Command]:
        """Returns the commands since the last call."""
        commands, self._commands = self._commands, []
        return commands

    @property
    def has_commands(self) -> bool:
        """True if there are commands to take."""
        return bool(self._commands)

    def claim(self, replica: Replica) -> None:
        """Gives the replica its place and starts it on the way to being loaded."""
        replica.wanted = True
        self.active[replica.key] += 1
        self.coming[replica.key] += 1
        for device in replica.held:
            self._holders[device].append(replica)
            if len(self._holders[device]) >= self._residents:
                self.free.pop(device, None)
        if replica.state is ReplicaState.PREPARED:
            self._queue_load(replica)
        elif replica.state is ReplicaState.OFF:
            self.prepare(replica)

    def prepare(self, replica: Replica) -> None:
        """Starts the replica's process with its imports, which need no place."""
        replica.state = ReplicaState.PREPARING
        self._commands.append(Command("prepare", replica))

    def run(self, replica: Replica, task: Task) -> None:
        """Puts a task into the replica's hands."""
        replica.hands[task.number] = task
        self._commands.append(Command("run", replica, task))

    def stop(self, replica: Replica) -> None:
        """Has the replica's process end. It holds its place until the end is reported."""
        self._count_out(replica)
        replica.state = ReplicaState.STOPPING
        self._commands.append(Command("stop", replica))

    # -- events --

    def mark_prepared(self, replica: Replica) -> None:
        """Records that the replica's process has finished its imports."""
        replica.state = ReplicaState.PREPARED
        if replica.wanted:
            self._queue_load(replica)

    def mark_loaded(self, replica: Replica, capacity: int) -> None:
        """Records that the replica is ready for tasks."""
        host = self._line(replica)
        self._loading[host] -= 1
        self.coming[replica.key] -= 1
        replica.state, replica.capacity = ReplicaState.LOADED, capacity
        self._load_next(host)

    def mark_ended(self, replica: Replica, *, retired: bool) -> None:
        """Records that the replica's process has ended, and frees its place."""
        self._count_out(replica)
        replica.state = ReplicaState.RETIRED if retired else ReplicaState.OFF
        replica.worked = False
        for device in replica.held:
            if replica in self._holders[device]:
                self._holders[device].remove(replica)
                self.free[device] = None
        self._load_next(self._line(replica))

    def _count_out(self, replica: Replica) -> None:
        host = self._line(replica)
        if replica.state is ReplicaState.LOADING:
            self._loading[host] -= 1
        self._to_load.get(host, {}).pop(replica.number, None)
        if replica.wanted:
            self.active[replica.key] -= 1
            self.coming[replica.key] -= replica.state is not ReplicaState.LOADED
            replica.wanted = False

    def _queue_load(self, replica: Replica) -> None:
        host = self._line(replica)
        self._to_load.setdefault(host, {})[replica.number] = replica
        self._load_next(host)

    def _line(self, replica: Replica) -> str:
        """Returns the line in which it waits to load: its host's, or one of its own if it reads no weights."""
        return self._host(replica.place[0]) if replica.model.holds_device else replica.name

    def _load_next(self, host: str) -> None:
        waiting = self._to_load.get(host)
        while waiting and self._loading[host] < self._load_limit:
            # Edit models first, in the order of the devices, not of how quick their imports happened to be.
            replica = waiting.pop(min(waiting))
            replica.state = ReplicaState.LOADING
            self._loading[host] += 1
            self._commands.append(Command("load", replica))
