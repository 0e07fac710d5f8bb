"""Runs the scheduler in simulated time: a whole run (`plan`), or the rest of one that is under way.

Nothing fails here; failures are handled by the engine.
"""

from __future__ import annotations

import copy
import heapq
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from math import inf
from typing import Any

from edit_eval.scheduling.estimates import Estimates, Mean, collect_means
from edit_eval.scheduling.fleet import Command, Replica, ReplicaState
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.tasks import ANSWERS_FROM, Model, Task, Work


@dataclass(frozen=True)
class Timing:
    """Times in seconds. A model (its key) that is missing from a mapping takes 0."""

    task: Callable[[Task], float]
    load: Mapping[str, float]
    prepare: Mapping[str, float] = field(default_factory=dict)
    """From the start of a process to the end of its imports."""
    unload: Mapping[str, float] = field(default_factory=dict)
    """From the order to end until the process has ended."""
    capacity: Mapping[str, int] = field(default_factory=dict)
    """How many tasks a replica computes at a time, if more than one."""


@dataclass(frozen=True)
class Elapsed:
    """How long, in seconds, everything under way has been running."""

    replicas: Mapping[int, float] = field(default_factory=dict)
    """Replicas that start, load or unload, by number."""
    tasks: Mapping[int, float] = field(default_factory=dict)
    """Tasks, by number."""


@dataclass(slots=True, eq=False)
class _Process:
    """The simulated process of a replica."""

    replica: Replica
    since: float
    """When its present start, load or unload began."""
    loaded: bool = False
    running: dict[int, float] = field(default_factory=dict)
    """Task numbers and when each began."""
    waiting: deque[Task] = field(default_factory=deque)
    order: int = 0
    """Number of its last order; events that belong to an earlier order are dropped."""


Span = Callable[[Replica, str, float, float], None]
"""Called with what a replica did (`starting`, `loading`, `editing`, `judging`, `unloading`), its begin and its end."""

_Event = tuple[float, int, int, Callable[..., Sequence[Command]], _Process, tuple[Any, ...]]
"""Time, tie-breaking number, number of its order, handler, process, and the handler's further arguments."""


class Simulation:
    """Carries out a policy's commands in simulated time."""

    def __init__(
        self, policy: Policy, work: Work, timing: Timing, span: Span = lambda replica, kind, begin, end: None
    ) -> None:
        self._policy, self._work, self._timing, self._span = policy, work, timing, span
        self._now = 0.0
        self._count = 0
        self._coming: list[_Event] = []
        self._processes: dict[int, _Process] = {}

    def run(self) -> float:
        """Runs until nothing more happens. Returns the seconds that it took."""
        self._do(self._policy.report_new_work() if self._processes else self._policy.begin())
        while self._coming:
            for _, _, order, happens, process, about in self._now_due():
                if order == process.order:
                    self._do(happens(process, *about))
        return self._now

    def _now_due(self) -> list[_Event]:
        """Returns the next events, all of one moment. Devices begin their next task before the policy hears of any."""
        due: list[_Event] = []
        while self._coming and (not due or self._coming[0][0] <= due[0][0]):
            event = heapq.heappop(self._coming)
            when, _, order, happens, process, about = event
            if order != process.order:
                continue
            self._now = when
            due.append(event)
            if happens == self._finish_task:
                self._free(process, about[0])
        return due

    def resume(self, elapsed: Elapsed) -> None:
        """Takes over what the policy's replicas are doing; anything not in `elapsed` has just begun."""
        for replica in self._policy.replicas:
            if replica.state in (ReplicaState.OFF, ReplicaState.RETIRED):
                continue
            loaded = replica.state in (ReplicaState.LOADED, ReplicaState.STOPPING)
            gone = elapsed.replicas.get(replica.number, 0.0)
            process = self._processes[replica.number] = _Process(replica, -gone, loaded)
            if replica.state in _BUSY:
                _BUSY[replica.state](self, process, gone)
            process.waiting.extend(replica.hands.values())
            for task in list(islice(process.waiting, replica.capacity)):
                self._begin(process, elapsed.tasks.get(task.number, 0.0))

    # -- commands --

    def _do(self, commands: Sequence[Command]) -> None:
        for verb, replica, task in commands:
            if verb == "run":
                assert task is not None
                process = self._processes[replica.number]
                process.waiting.append(task)
                if len(process.running) < replica.capacity:
                    self._begin(process)
                continue
            if verb == "prepare":
                self._processes[replica.number] = _Process(replica, self._now)
            process = self._processes[replica.number]
            process.since = self._now
            {"prepare": self._prepare, "load": self._load, "stop": self._stop}[verb](process)

    def _prepare(self, process: _Process, gone: float = 0.0) -> None:
        self._later(self._timing.prepare.get(process.replica.key, 0.0) - gone, self._finish_preparing, process)

    def _load(self, process: _Process, gone: float = 0.0) -> None:
        self._later(self._timing.load.get(process.replica.key, 0.0) - gone, self._finish_loading, process)

    def _stop(self, process: _Process, gone: float = 0.0) -> None:
        process.order += 1
        # A process that is not loaded is killed, which takes no time.
        seconds = self._timing.unload.get(process.replica.key, 0.0) if process.loaded else 0.0
        self._later(seconds - gone, self._finish_stopping, process)

    def _begin(self, process: _Process, gone: float = 0.0) -> None:
        task = process.waiting.popleft()
        process.running[task.number] = self._now
        seconds = self._timing.task(task)
        self._later(seconds - gone, self._finish_task, process, task, seconds)

    def _later(self, seconds: float, happens: Callable[..., Sequence[Command]], process: _Process, *about: Any) -> None:
        self._count += 1
        when = self._now + max(0.0, seconds)
        heapq.heappush(self._coming, (when, self._count, process.order, happens, process, about))

    # -- events --

    def _finish_preparing(self, process: _Process) -> Sequence[Command]:
        self._span(process.replica, "starting", process.since, self._now)
        return self._policy.report_prepared(process.replica)

    def _finish_loading(self, process: _Process) -> Sequence[Command]:
        replica, process.loaded = process.replica, True
        self._span(replica, "loading", process.since, self._now)
        return self._policy.report_loaded(replica, self._now - process.since, self._timing.capacity.get(replica.key, 1))

    def _free(self, process: _Process, task: Task) -> None:
        """Ends a computed task and begins the next one in hand."""
        began = process.running.pop(task.number)
        kind = "editing" if process.replica.model.kind == "edit" else "judging"
        self._span(process.replica, kind, began, self._now)
        if process.waiting:
            self._begin(process)

    def _finish_task(self, process: _Process, task: Task, seconds: float) -> Sequence[Command]:
        first = 0 if process.replica.model.kind == "edit" else ANSWERS_FROM
        for unit in task.units:
            self._work.settle(first + unit)
        return self._policy.report_done(process.replica, task, seconds)

    def _finish_stopping(self, process: _Process) -> Sequence[Command]:
        if process.loaded:
            self._span(process.replica, "unloading", process.since, self._now)
        return self._policy.report_ended(process.replica)


_BUSY = {
    ReplicaState.PREPARING: Simulation._prepare,
    ReplicaState.LOADING: Simulation._load,
    ReplicaState.STOPPING: Simulation._stop,
}
"""What a replica in each of these states is doing without further orders."""


def rest_of(policy: Policy, work: Work, timing: Timing, elapsed: Elapsed) -> float:
    """Returns the seconds until all work is done and every replica has ended. Policy and work are not changed.

    `timing.task` is called with copies of the tasks.
    """
    apart = {id(work.in_vain): _never}  # a real run's would copy its records
    its_policy, its_work = copy.deepcopy((policy, work), apart)
    simulation = Simulation(its_policy, its_work, timing)
    simulation.resume(elapsed)
    return simulation.run()


def _never(task: Task) -> bool:
    return False


MOST_SIMULATED = 5_000
"""Number of tasks; simulating this many takes a quarter of a second."""
SIMULATING = 2e-4
"""Processor seconds that simulating one task takes, roughly, the copy of the work included."""
NOTHING = Elapsed()

MODELS_LOOKED_AT = 6
"""Up to this many models, every set of them is examined; beyond it, only all of them and each alone."""


@dataclass(frozen=True)
class Demand:
    """Work left for one model."""

    kind: str
    """`edit` or `judge`."""
    devices: frozenset[str]
    """Devices that the model may run on."""
    units: float
    """Edits or judgements left; one under way counts by the part that is left."""
    seconds: float | None
    """Device seconds per edit or judgement; None before the first."""
    load: float = 0.0
    """Seconds that a device still needs to load the model, as far as is known."""
    longest: float = 0.0
    """Seconds left of the longest single edit or judgement, which no number of devices makes shorter."""


@dataclass(frozen=True)
class TimeLeft:
    """A prediction of the time left."""

    seconds: float | None
    """None while nothing is known."""
    missing: tuple[str, ...] = ()
    """Kinds (`edit`, `judge`) with work left and no times yet: they come on top."""


def time_left(demands: Sequence[Demand]) -> TimeLeft:
    """Returns how long the busiest set of devices needs, or the longest single unit if that is longer.

    For every set of models: their device seconds over the number of devices on which any of them may run. The largest
    of these is the length of the best schedule of work that can be divided at will (McNaughton's bound, for models
    bound to devices), which pulling comes close to while much is left.
    """
    open_demands = [d for d in demands if d.units > 0 and d.devices]
    known = [d for d in open_demands if d.seconds is not None]
    missing = tuple(dict.fromkeys(d.kind for d in open_demands if d.seconds is None))
    if not known:
        return TimeLeft(None if missing else 0.0, missing)
    sizes = range(1, len(known) + 1) if len(known) <= MODELS_LOOKED_AT else (1, len(known))
    shared = max(_seconds(some) for size in sizes for some in combinations(known, size))
    return TimeLeft(max(shared, *(d.longest for d in known)), missing)


def rest_of_a_run(
    work: Work, estimates: Estimates, policy: Policy, elapsed: Elapsed = NOTHING, affordable: float = inf
) -> TimeLeft:
    """Returns the time for all work left, controls included, from the mean times seen so far.

    Runs the scheduler itself in simulated time, so dealt shares, turns at loading and loads still to come count.
    Beyond `MOST_SIMULATED` tasks, or where it would take more than the `affordable` seconds of the processor, the bound
    is near enough.
    """
    if work.tasks_left > MOST_SIMULATED or work.tasks_left * SIMULATING > affordable:
        return _bound(work, estimates, policy)
    models = {replica.model for replica in policy.replicas if replica.state is not ReplicaState.RETIRED}
    waits = {model.key for model in models if model.defers}  # nobody knows how long
    unit = {key: seconds for key, seconds in collect_means(estimates.unit).items() if key not in waits}
    left = [model for model in models if work.units_left(model.key)]
    missing = tuple(sorted({model.kind for model in left if model.key not in unit}))
    if left and not any(model.key in unit for model in left):
        return TimeLeft(None, missing)
    capacity: dict[str, int] = {}
    for replica in policy.replicas:
        capacity[replica.key] = max(replica.capacity, capacity.get(replica.key, 1))
    timing = Timing(
        task=lambda task: unit.get(task.model, 0.0) * len(task.units),
        load=collect_means(estimates.load),
        prepare=_like_the_others(estimates.start, models),
        unload=_like_the_others(estimates.unload, models),
        capacity=capacity,
    )
    return TimeLeft(rest_of(policy, work, timing, elapsed) if left else 0.0, missing)


def _like_the_others(means: Mapping[str, Mean], models: Iterable[Model]) -> dict[str, float]:
    """Returns seconds by model; an unseen model gets the mean of the others."""
    seen = collect_means(means)
    usual = sum(seen.values()) / len(seen) if seen else 0.0
    return {model.key: seen.get(model.key, usual) for model in models}


def _bound(work: Work, estimates: Estimates, policy: Policy) -> TimeLeft:
    """Returns the same by `time_left`; units under way count whole."""
    demands = []
    for model in dict.fromkeys(replica.model for replica in policy.replicas):
        alive = [replica for replica in policy.replicas_of(model.key) if replica.state is not ReplicaState.RETIRED]
        unit, load = estimates.unit[model.key].value, estimates.load[model.key].value
        per_replica = max((len(replica.place) / replica.capacity for replica in alive), default=1.0)
        there = any(replica.state is ReplicaState.LOADED for replica in alive)
        demands.append(
            Demand(
                kind=model.kind,
                devices=frozenset(device for replica in alive for device in replica.held),
                units=work.units_left(model.key),
                seconds=None if unit is None or model.defers else unit * per_replica,
                load=0.0 if there or load is None else load,
                longest=unit or 0.0,
            )
        )
    return time_left(demands)


def _seconds(demands: Sequence[Demand]) -> float:
    devices = frozenset[str]().union(*(d.devices for d in demands))
    return sum(d.units * (d.seconds or 0.0) + d.load * len(d.devices) for d in demands) / len(devices)
