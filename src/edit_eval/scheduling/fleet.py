"""The fleet: every replica, the devices that it holds, and the steps of its life. What is to happen is decided in
`policies.py`; here is how it is carried out, as commands.
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
    """Where a replica is in its life."""

    OFF = auto()
    PREPARING = auto()  # its process is starting: imports, no device memory
    PREPARED = auto()
    LOADING = auto()
    LOADED = auto()
    STOPPING = auto()
    RETIRED = auto()  # it cannot be loaded here, or failed too often: not tried again in this run


Leaving = Literal["", "early", "pilot"]
"""Why a replica gives up its place when its hands are empty: for the judge (rule 4), or for a pilot (rule 5)."""


@dataclass(slots=True, eq=False)
class Replica:
    """One model on one place."""

    number: int
    model: Model
    index: int
    """Its number among the replicas of its model."""
    place: tuple[str, ...]
    state: ReplicaState = ReplicaState.OFF
    capacity: int = 1
    hands: dict[int, Task] = field(default_factory=dict)
    worked: bool = False
    """It has finished a task since it was loaded."""
    leaving: Leaving = ""
    wanted: bool = False
    """It holds its place: it is loaded, or will be as soon as it is prepared."""
    lost: bool = False
    """Its devices are gone: it will not come again."""
    key: str = field(init=False)
    """The key of its model."""
    held: tuple[str, ...] = field(init=False)
    """What it keeps from others while it has its place: its devices, or nothing that another could want."""

    def __post_init__(self) -> None:
        self.key, self.held = self.model.key, self.model.held(self.place)

    @property
    def name(self) -> str:
        """For people: `edit model qwen_image_edit on cuda:0`."""
        return Text("{} on {}", self.model.title, "+".join(self.place))

    @property
    def busy(self) -> bool:
        """Whether it will report something without being told to do anything more."""
        return bool(self.hands) or self.state in (ReplicaState.PREPARING, ReplicaState.LOADING, ReplicaState.STOPPING)


class Command(NamedTuple):
    """What the engine is to do."""

    verb: Literal["prepare", "load", "run", "stop"]
    replica: Replica
    task: Task | None = None


class Fleet:
    """All replicas. Each begins without a process; `residents` of them may hold a device at a time."""

    def __init__(
        self,
        models: Sequence[Model],
        residents: int,
        load_concurrency: int | None,
        host: Callable[[str], str] = lambda device: "",
    ) -> None:
        """`load_concurrency` replicas may load at once on each `host` (of a device)."""
        self.replicas: list[Replica] = []
        self.of: dict[str, list[Replica]] = {model.key: [] for model in models}
        self.on: dict[str, list[Replica]] = {}
        """Device -> the replicas that may hold it, in the order of the models (see `Model.held`)."""
        self.free: dict[str, None] = {}
        """Devices with room, in order."""
        self._holders: dict[str, list[Replica]] = {}
        for model in models:
            for place in model.places:
                self.add(model, place)
        self.active = dict.fromkeys(self.of, 0)
        """Model -> its replicas that hold a place."""
        self.coming = dict.fromkeys(self.of, 0)
        """Model -> those of them that are not loaded yet."""
        self._residents = residents
        self._load_limit, self._host = load_concurrency or 1 << 30, host
        self._to_load: dict[str, dict[int, Replica]] = {}  # host -> by number
        self._loading: Counter[str] = Counter()  # on each host
        self._commands: list[Command] = []

    def add(self, model: Model, place: tuple[str, ...]) -> Replica:
        """One more replica of a model, on devices that may be new."""
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
        """Whether its devices are free for it."""
        return all(len(self._holders[device]) < self._residents for device in replica.held)

    def next_free(self) -> str | None:
        """A device with room. Whoever asks again is told another one: each gets its turn."""
        if not self.free:
            return None
        device = next(iter(self.free))
        self.free[device] = self.free.pop(device)
        return device

    def load_at_once(self, name: str) -> bool:
        """Whether a model has places and is loaded on none, and one more can be loaded beside them."""
        return 0 < self.active[name] == self.coming[name] < self._load_limit

    def neighbours(self, replica: Replica) -> Iterator[Replica]:
        """The replicas that hold its devices beside it."""
        return (other for device in replica.held for other in self._holders[device] if other is not replica)

    def rivals(self, replica: Replica) -> Iterator[Replica]:
        """The replicas of other models that could hold its devices in its stead."""
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
        """What has been commanded since it was last asked."""
        commands, self._commands = self._commands, []
        return commands

    @property
    def commanded(self) -> bool:
        """Whether there are commands to take."""
        return bool(self._commands)

    def claim(self, replica: Replica) -> None:
        """It gets its place, and goes on until it is loaded."""
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
        """Its process starts with its imports, which need no place."""
        replica.state = ReplicaState.PREPARING
        self._commands.append(Command("prepare", replica))

    def run(self, replica: Replica, task: Task) -> None:
        """It gets a task into its hands."""
        replica.hands[task.number] = task
        self._commands.append(Command("run", replica, task))

    def stop(self, replica: Replica) -> None:
        """Its process is to end. It holds its place until that is reported."""
        self._count_out(replica)
        replica.state = ReplicaState.STOPPING
        self._commands.append(Command("stop", replica))

    # -- what has happened --

    def prepared(self, replica: Replica) -> None:
        """Its process has done its imports."""
        replica.state = ReplicaState.PREPARED
        if replica.wanted:
            self._queue_load(replica)

    def loaded(self, replica: Replica, capacity: int) -> None:
        """It is ready for tasks."""
        host = self._line(replica)
        self._loading[host] -= 1
        self.coming[replica.key] -= 1
        replica.state, replica.capacity = ReplicaState.LOADED, capacity
        self._load_next(host)

    def ended(self, replica: Replica, *, retired: bool) -> None:
        """Its process is gone, and its place is free."""
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
        """In which line it waits for its load: that of its host, or of nobody else where no weights are read."""
        return self._host(replica.place[0]) if replica.model.holds_device else replica.name

    def _load_next(self, host: str) -> None:
        waiting = self._to_load.get(host)
        while waiting and self._loading[host] < self._load_limit:
            # Edit models first, in the order of the devices: whose imports were quicker is chance.
            replica = waiting.pop(min(waiting))
            replica.state = ReplicaState.LOADING
            self._loading[host] += 1
            self._commands.append(Command("load", replica))
