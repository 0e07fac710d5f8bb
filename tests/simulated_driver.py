"""A driver whose workers take simulated time: the engine and its policies run on any number of devices in a moment, to
compare schedules and to test blame on hundreds of seeds.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from edit_eval.execution.contract import Event, WorkerSpecification
from edit_eval.plugins.preparation.planning import ImaginedMachine
from edit_eval.workers.messages import Message


class Fate(NamedTuple):
    """What a simulated task comes to: after `seconds` it is `done` or `failed`, or the worker `dies`; or it `hangs`."""

    seconds: float
    end: str = "done"
    reason: str = ""
    """Of one that is done: the event by which it shows every ten seconds that it moves."""
    kind: str = "exception"
    """What kind of failure, as `workers.failures` has them."""
    free: int = 0
    """Bytes that the device then has."""


@dataclass(slots=True)
class _Worker:
    model: str
    device: str
    capacity: int = 1
    alive: bool = True
    queue: deque[Message] = field(default_factory=deque)
    running: int = 0
    stopping: bool = False


class SimulatedDriver:
    """Runs the clock from one event to the next.

    `prepare(model, device)` and `load(model, device)` give seconds or a `Fate`; `task(model, message)` gives the fate
    of a task; `unload(model)` is in seconds; `capacity(model)` is how many tasks a worker computes at a time.
    """

    def __init__(
        self,
        *,
        load: Callable[[str, str], float | Fate],
        task: Callable[[str, Message], Fate],
        prepare: Callable[[str, str], float] = lambda model, device: 0.0,
        unload: Callable[[str], float] = lambda model: 0.0,
        capacity: Callable[[str], int] = lambda model: 1,
        machine: ImaginedMachine | None = None,
    ) -> None:
        self._load, self._task, self._prepare = load, task, prepare
        self._unload, self._capacity, self._machine = unload, capacity, machine or ImaginedMachine()
        self._now = 0.0
        self._heap: list[tuple[float, int, int, Message]] = []
        self._at_once: deque[tuple[int, Message]] = deque()
        """What happens now, after all that was put there before."""
        self._count = 0
        self._workers: dict[int, _Worker] = {}

    def machine(self) -> ImaginedMachine:
        """The one that was given."""
        return self._machine

    def start(self, worker: int, specification: WorkerSpecification) -> None:
        """A simulated worker begins its imports."""
        device = "+".join(specification.devices)
        made = self._workers[worker] = _Worker(specification.model, device, self._capacity(specification.model))
        self._later(self._prepare(made.model, device), worker, {"event": "prepared"})

    def submit(self, worker: int, message: Message) -> None:
        """An order; its answer is put into the future at once."""
        known = self._workers.get(worker)
        if known is None or not known.alive:
            return
        if message["do"] == "load":
            fate = self._load(known.model, known.device)
            fate = fate if isinstance(fate, Fate) else Fate(fate)
            if fate.end == "done":
                loaded = {
                    "event": "loaded",
                    "capacity": known.capacity,
                    "seconds": fate.seconds,
                    "about": {},
                    "memory": {},
                }
                self._signs(fate, worker)
                self._later(fate.seconds, worker, loaded)
            elif fate.end == "failed":
                broken = {"event": "broken", "error": fate.reason, "trace": "", "kind": fate.kind}
                broken["memory"] = {"device_free": fate.free}
                self._later(fate.seconds, worker, broken)
                self._later(fate.seconds, worker, {"event": "died", "reason": fate.reason})
            elif fate.end == "dies":
                self._later(fate.seconds, worker, {"event": "died", "reason": fate.reason})
        elif message["do"] == "run":
            known.queue.append(message)
            self._begin(worker, known)
        else:
            known.stopping = True
            if not known.running and not known.queue:
                self._later(self._unload(known.model), worker, {"event": "died", "reason": "ended"})

    def _begin(self, number: int, worker: _Worker) -> None:
        while worker.queue and worker.running < worker.capacity:
            message = worker.queue.popleft()
            worker.running += 1
            task = message["task"]
            self._later(0.0, number, {"event": "started", "task": task})
            fate = self._task(worker.model, message)
            if fate.end == "done":
                results = message.get("results", ())
                done = {"event": "done", "task": task, "results": results, "seconds": fate.seconds}
                self._signs(fate, number)
                self._later(fate.seconds, number, done)
            elif fate.end == "failed":
                failed = {"event": "failed", "task": task, "error": fate.reason, "kind": fate.kind, "trace": ""}
                self._later(fate.seconds, number, failed)
            elif fate.end == "dies":
                self._later(fate.seconds, number, {"event": "died", "reason": fate.reason})

    def _signs(self, fate: Fate, worker: int) -> None:
        for second in range(10, int(fate.seconds) if fate.reason else 0, 10):
            self._later(second, worker, {"event": fate.reason, "step": second, "steps": 0})

    def _later(self, seconds: float, worker: int, message: Message) -> None:
        if not seconds:
            self._at_once.append((worker, message))
            return
        self._count += 1
        heapq.heappush(self._heap, (self._now + seconds, self._count, worker, message))

    def poll(self, seconds: float) -> tuple[float, Sequence[Event]]:
        """Moves the clock to the next moment at which something happens, at most by `seconds`, and tells what."""
        events: list[Event] = []
        heap, at_once = self._heap, self._at_once
        if not at_once:
            if not heap or heap[0][0] > self._now + seconds:
                self._now += seconds
                return self._now, events
            self._now = max(self._now, heap[0][0])
        while at_once or (heap and heap[0][0] <= self._now):
            if heap and heap[0][0] <= self._now:
                _, _, number, message = heapq.heappop(heap)
            else:
                number, message = at_once.popleft()
            worker = self._workers.get(number)
            if worker is None or not worker.alive:
                continue
            events.append(Event(number, message))
            if message["event"] == "died":
                worker.alive = False
                del self._workers[number]
            elif message["event"] in ("done", "failed"):
                worker.running -= 1
                self._begin(number, worker)
        return self._now, events

    def kill(self, worker: int) -> None:
        """The worker dies now."""
        self._later(0.0, worker, {"event": "died", "reason": "killed"})

    def close(self) -> None:
        """Nothing to give back."""
        self._workers.clear()
        self._heap.clear()
        self._at_once.clear()
