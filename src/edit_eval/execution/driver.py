"""What the engine needs of a driver: five calls. Local processes, simulated devices and clusters are three drivers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from edit_eval.workers.messages import Message


@dataclass(frozen=True)
class WorkerSpecification:
    """What a driver must know to start a worker."""

    name: str
    """For its log: `qwen_image_edit-cuda0`."""
    model: str
    role: str
    """`edit_model` or `judge`."""
    devices: tuple[str, ...]
    class_path: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    python: str = ""
    """The interpreter of its environment; empty: this one."""
    revision: str = ""
    """What keys say of its code or weights (see `workers.model_class.refuse_changed`); empty where they say nothing."""
    import_path: tuple[str, ...] = ()
    """Folders in which the user's own classes are found."""


class Event(NamedTuple):
    """A worker's message, or `{"event": "died", "reason": ...}` when its process is gone."""

    worker: int
    message: Message


class Driver(Protocol):
    """Starts workers and carries messages. Workers are known by numbers that the engine gives."""

    def start(self, worker: int, specification: WorkerSpecification) -> None:
        """Starts a worker's process; it will report `prepared`, or `broken`, or that it died."""

    def submit(self, worker: int, message: Message) -> None:
        """Sends a message. To a dead worker it is lost without an error: that it died is an event."""

    def poll(self, seconds: float) -> tuple[float, Sequence[Event]]:
        """Waits for events, at most `seconds`. Returns the time (seconds since the driver began) and the events."""

    def kill(self, worker: int) -> None:
        """Ends a worker at once; `died` follows."""

    def close(self) -> None:
        """Ends all workers at once and gives everything back."""
