"""A replica: one model on one place, where it is in its life, and what it can be told."""

from __future__ import annotations

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
