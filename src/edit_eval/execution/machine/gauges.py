"""Measures how the devices' memory and time are used during a run.

A thread of its own reads the machine's meters once a second, and at once when a model begins to load, is loaded, or
ends: the engine only posts requests and never waits, except for a moment to find out who else uses a device. Meters
that hang, fail or are missing cost figures, never the run. For workers on the CPU there are only their own reports.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from edit_eval.execution.contract import Gpu, Machine, Meter
from edit_eval.scheduling.fleet import Replica, ReplicaState
from edit_eval.store.run_directory import CannotWrite

SAMPLE_EVERY = 1.0
"""Seconds between two samples."""
WRITE_EVERY = 30.0
"""Seconds between two lines about utilisation."""
PATIENCE = 2.0
"""Seconds that the end, or a query for other users, waits for a meter that does not answer."""

Reading = Future[int | None]
"""Bytes in use on a GPU, once its meter has been read."""

_ORDER = ("editing", "judging", "loading", "unloading", "idle")
"""With several models on one device, the first of these owns the moment, as in `statistics.timing`."""


@dataclass(eq=False)
class _Stage:
    """One model on one device, from the order to load it until its process has ended."""

    number: int
    device: str
    model: str
    kind: str
    where: str
    """Which of the worker's own figures concern this device: `device`, `host`, or empty if they sum several GPUs."""
    before: Reading
    loaded: Reading | None = None
    after: Reading | None = None
    held: int | None = None
    """Bytes that the worker reported when it was loaded."""
    highest: int | None = None

    def record_use(self, used: int | None) -> None:
        """Takes in the bytes in use at some moment."""
        if used is not None:
            self.highest = max(used, self.highest or 0)

    def record_report(self, memory: Mapping[str, int], loaded: bool) -> None:
        """Takes in the worker's own figures."""
        self.record_use(memory.get(f"{self.where}_peak", memory.get(self.where)))
        if loaded:
            self.held = memory.get(self.where)

    @property
    def waits(self) -> bool:
        """True if an answer of the driver is still to come."""
        return any(reading is not None and not reading.done() for reading in (self.before, self.loaded, self.after))

    def figures(self) -> dict[str, int | None]:
        """Returns what is known by now, in bytes."""
        before, loaded, after = map(_read_result, (self.before, self.loaded, self.after))
        self.record_use(before)
        self.record_use(loaded)
        return {
            "before": before,
            "loaded": self.held if loaded is None else loaded,
            "peak": self.highest,
            "after": after,
        }


def _read_result(reading: Reading | None) -> int | None:
    return reading.result() if reading is not None and reading.done() else None


class Gauges:
    """Measures within its block, and passes results to `write` as the events `memory` and `utilisation`.

    It is the engine's observer: it hears all that a replica's worker says, and `loading` when the replica is told to
    load. `write` is called only in the caller's thread, and its exceptions propagate.
    """

    def __init__(
        self,
        replicas: Sequence[Replica],
        write: Callable[..., None],
        machine: Machine,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.latest: dict[str, Meter] = {}
        """Each GPU's last reading; may be read by other threads."""
        self._write, self._machine, self._clock = write, machine, clock
        self._on: dict[str, dict[int, Replica]] = {}
        self._gpus: list[str] = []
        for replica in replicas:
            self._add_replica(replica)
        self._stages: dict[int, list[_Stage]] = {}  # replica number -> one per device, until its process has ended
        self._unwritten: dict[_Stage, None] = {}
        self._count = 0
        self._samples: dict[str, dict[str, list[float]]] = {}  # device -> kind -> number of samples, their sum
        self._before: set[str] = set()
        """Processes on the GPUs that were hidden from us before our workers began: a container sees its own numbers."""
        self._lock = threading.Lock()  # for stages and samples, which both threads change; never held while asking
        self._asked: queue.SimpleQueue[tuple[str, Reading] | Future[Sequence[Gpu]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._last_write = clock()

    def _add_replica(self, replica: Replica) -> None:
        """Adds a replica, which may be on devices that joined later."""
        for device in replica.place:
            if device not in self._on and device.startswith("cuda"):
                self._gpus.append(device)
            self._on.setdefault(device, {}).setdefault(replica.number, replica)

    def __enter__(self) -> Gauges:
        if self._gpus:
            self._thread = threading.Thread(target=self._run, name="edit-eval gauges", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Takes the last readings, now that every worker has ended, and writes what is left."""
        for number in list(self._stages):
            self._end_stages(number)
        if self._thread is not None:
            self._asked.put(None)
            self._thread.join(PATIENCE)
        with contextlib.suppress(CannotWrite) if error is not None else contextlib.nullcontext():
            self._write_memory(all_of_it=True)
            self._write_utilisation()

    # -- the engine's thread --

    def __call__(self, replica: Replica, what: str, message: Mapping[str, Any]) -> None:
        if what == "loading":
            self._add_replica(replica)
            self._begin(replica)
        stages = self._stages.get(replica.number, ())
        if (memory := message.get("memory")) is not None:
            with self._lock:
                for stage in stages:
                    stage.record_report(memory, loaded=what == "loaded")
        if what == "loaded":
            for stage in stages:
                stage.loaded = self._ask(stage.device)
                self._unwritten[stage] = None
        elif what == "died":
            self._end_stages(replica.number)
        self._write_memory()
        if self._clock() - self._last_write >= WRITE_EVERY:
            self._write_utilisation()

    def users(self, devices: Sequence[str]) -> list[str]:
        """Returns who else holds memory on these devices, as `doctor` shows it; empty if that takes too long.

        With several devices, each user has its device's name in front.
        """
        if self._thread is None:
            return []
        seen: Future[Sequence[Gpu]] = Future()
        self._asked.put(seen)
        try:
            there = [gpu for gpu in seen.result(PATIENCE) if gpu.name in devices]
        except TimeoutError:
            return []
        some = [(gpu.name, user) for gpu in there for user in self._strangers(gpu)]
        return [user if len(devices) == 1 else f"{name}: {user}" for name, user in some]

    def _strangers(self, gpu: Gpu) -> list[str]:
        """Returns who is on a GPU, but for as many that came later and cannot be seen as we have workers there."""
        unseen = [user for user in gpu.users if not _hidden(user) <= self._before]
        with self._lock:
            ours = sum(stage.device == gpu.name for stages in self._stages.values() for stage in stages)
        return [user for user in gpu.users if user not in unseen or len(unseen) > ours]

    def _begin(self, replica: Replica) -> None:
        kind = "editing" if replica.model.kind == "edit" else "judging"
        own = "device" if len(replica.place) == 1 else ""
        stages = []
        for device in replica.place:
            self._count += 1
            where = own if device in self._gpus else "host"
            stages.append(_Stage(self._count, device, replica.model.name, kind, where, self._ask(device)))
        with self._lock:
            self._stages[replica.number] = stages

    def _end_stages(self, number: int) -> None:
        with self._lock:
            stages = self._stages.pop(number, [])
        for stage in stages:
            stage.after = self._ask(stage.device)
            self._unwritten[stage] = None

    def _ask(self, device: str) -> Reading:
        reading: Reading = Future()
        if device in self._gpus:
            self._asked.put((device, reading))
        else:
            reading.set_result(None)
        return reading

    def _write_memory(self, *, all_of_it: bool = False) -> None:
        """Writes what is known; a later line about the same stage replaces an earlier one."""
        for stage in [stage for stage in self._unwritten if all_of_it or not stage.waits]:
            del self._unwritten[stage]
            with self._lock:
                figures = stage.figures()
            names = {"device": stage.device, "model": stage.model, "kind": stage.kind}
            self._write("memory", stage=stage.number, **names, **figures)

    def _write_utilisation(self) -> None:
        self._last_write = self._clock()
        with self._lock:
            samples, self._samples = self._samples, {}
        if samples:
            means = {
                device: {kind: [int(count), round(total / count, 4)] for kind, (count, total) in kinds.items()}
                for device, kinds in samples.items()
            }
            self._write("utilisation", devices=means)

    # -- the thread that asks --

    def _run(self) -> None:
        try:
            self._before = {number for gpu in self._machine.gpus() for user in gpu.users for number in _hidden(user)}
            with self._machine.meters() as read:
                self._answer(read)
        except Exception:  # no library, no driver, no permission: the run goes on without figures
            self.latest.clear()
        while (asked := self._asked.get()) is not None:
            if isinstance(asked, Future):
                asked.set_result([])
            else:
                asked[1].set_result(None)

    def _answer(self, read: Callable[[str], Meter]) -> None:
        due = time.monotonic() + SAMPLE_EVERY
        while True:
            try:
                asked = self._asked.get(timeout=max(0.0, due - time.monotonic()))
            except queue.Empty:
                self._sample(read)
                due = time.monotonic() + SAMPLE_EVERY
                continue
            if asked is None:
                self._asked.put(None)
                return
            if isinstance(asked, Future):
                asked.set_result(self._machine.gpus())
                continue
            device, reading = asked
            reading.set_result(read(device).used)

    def _sample(self, read: Callable[[str], Meter]) -> None:
        for device in list(self._gpus):
            meter = self.latest[device] = read(device)
            used, busy = meter.used, meter.busy
            doing = min(map(_activity, list(self._on[device].values())), key=_ORDER.index)
            with self._lock:
                for stages in self._stages.values():
                    for stage in stages:
                        if stage.device == device:
                            stage.record_use(used)
                if busy is not None:
                    kept = self._samples.setdefault(device, {}).setdefault(doing, [0, 0.0])
                    kept[0] += 1
                    kept[1] += busy


def _hidden(user: str) -> set[str]:
    """Returns the number of a process whose program cannot be seen, perhaps a worker of ours."""
    number, program, *_ = user.split()
    return {number} if program == "?" else set()


def _activity(replica: Replica) -> str:
    if replica.state is ReplicaState.LOADED and replica.hands:
        return "editing" if replica.model.kind == "edit" else "judging"
    return {ReplicaState.LOADING: "loading", ReplicaState.STOPPING: "unloading"}.get(replica.state, "idle")
