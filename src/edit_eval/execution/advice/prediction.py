"""What a run will take: the very engine and policies of a real run, on simulated devices."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edit_eval.execution.drivers.contract import WorkerSpecification
from edit_eval.execution.drivers.simulated import Fate, SimulatedDriver
from edit_eval.execution.engine.engine import Engine
from edit_eval.records import Activity
from edit_eval.scheduling.batches import cut_batches, first_samples
from edit_eval.scheduling.estimates import Estimates
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.replicas import Replica
from edit_eval.scheduling.tasks import PILOT, Model, Task, Work
from edit_eval.store.journal import no_garbage
from edit_eval.workers.messages import Message


@dataclass(frozen=True)
class Durations:
    """Seconds: of a load, and of an edit or the judgement of one pair, by the model's key (`edit:NAME`)."""

    load: dict[str, float]
    unit: dict[str, float]
    jitter: float = 0.0
    """Relative standard deviation of an edit's duration."""
    prepare: Mapping[str, float] = field(default_factory=dict)
    """A process's start and imports, before a load; 0 for a model (its key) that is not in it."""
    unload: Mapping[str, float] = field(default_factory=dict)
    """Until the process is gone, likewise."""
    known: bool = False
    """Whether the policy knows these means from the start, as after a pilot or an earlier run."""


@dataclass
class Prediction:
    """How a simulated run went."""

    makespan: float
    """Seconds."""
    lower_bound: float
    """Seconds (see `lower_bound`)."""
    busy: dict[str, float] = field(default_factory=dict)
    """Seconds of editing and judging, by device."""
    activities: list[Activity] = field(default_factory=list)

    @property
    def idle_share(self) -> float:
        """The share of all device time in which nothing was edited or judged, loads included."""
        whole = self.makespan * len(self.busy)
        return 1.0 - sum(self.busy.values()) / whole if whole else 0.0


class _Tally:
    """Keeps no records, only times."""

    def __init__(self, work: Work, devices: Sequence[str], keep: bool) -> None:
        self._work = work
        self._spans: dict[str, list[tuple[float, float]]] = {device: [] for device in devices}
        self.activities: list[Activity] | None = [] if keep else None

    def about(self, task: Task) -> str:
        return ""

    def order(self, task: Task) -> Message:
        return {"do": "run", "task": task.number, "units": task.units}

    def done(self, task: Task, message: dict[str, Any], device: str) -> None:
        if task.model.startswith("edit:"):
            self._work.settle(task.units[0])

    def failed(self, task: Task, reason: str, device: str) -> None:
        self.done(task, {}, device)

    def refused(self, task: Task, reason: str) -> None: ...
    def attempt(self, task: Task, reason: str) -> None: ...
    def leave(self, task: Task) -> None: ...

    def activity(self, device: str, kind: str, model: str, begin: float, end: float, what: str) -> None:
        if self.activities is not None:
            role, _, name = model.partition(":")
            about = {"device": device, "kind": kind, "model": name, "role": role, "what": what}
            self.activities.append(Activity(start_number=1, begin=begin, end=end, **about))
        if kind in ("editing", "judging"):
            spans = self._spans[device]
            while spans and spans[-1][1] >= begin:  # of several tasks at a time the same second counts once
                earlier, later = spans.pop()
                begin, end = min(begin, earlier), max(end, later)
            spans.append((begin, end))

    @property
    def busy(self) -> dict[str, float]:
        """Seconds in which a device edited or judged."""
        return {device: sum(end - begin for begin, end in spans) for device, spans in self._spans.items()}

    def event(self, name: str, **fields: Any) -> None: ...

    def sync(self) -> None: ...


class _Nobody:
    """Watches nothing."""

    def replica(self, replica: Replica, state: str, message: Mapping[str, Any]) -> None: ...
    def running(self, replica: Replica, task: Task, about: str) -> None: ...
    def step(self, replica: Replica, step: int, steps: int) -> None: ...
    def finished(self, replica: Replica, task: Task) -> None: ...
    def note(self, text: str) -> None: ...
    def tick(self, now: float) -> None: ...


def lower_bound(
    models: Sequence[Model],
    samples: int,
    durations: Durations,
    *,
    edit_seeds: int = 1,
    repeats: int = 1,
    swap: bool = True,
    capacity: Mapping[str, int] | None = None,
) -> float:
    """Seconds that no schedule can beat by much: the sum of all work and unavoidable loads, over the devices.

    Every device that edits loads once, and some device loads each judge; without `swap` that load can lie beside an
    edit model's. `capacity` as for `simulate`.
    """
    devices = {d for model in models for place in model.places for d in place}
    edit_models = [m for m in models if m.kind == "edit"]
    edits = samples * edit_seeds
    total = 0.0
    for model in models:
        units = edits if model.kind == "edit" else edits * len(edit_models) * repeats
        at_once = (capacity or {}).get(model.key, 1)
        total += units * durations.unit[model.key] * len(model.places[0]) / at_once
    total += sum(durations.load[m.key] for m in edit_models[:1]) * min(len(devices), edits)
    if swap:
        total += sum(durations.load[m.key] for m in models if m.kind == "judge")
    return total / len(devices)


@no_garbage()
def simulate(
    models: Sequence[Model],
    categories: Sequence[str],
    durations: Durations,
    *,
    schedule: str = "pull",
    order: str = "by_stage",
    placement: str = "swap",
    start: str = "asap",
    load_concurrency: int | None = None,
    batch_size: int = 1,
    batches: Mapping[str, Sequence[int]] | None = None,
    edit_seeds: int = 1,
    repeats: int = 1,
    pilot: bool = False,
    seed: int = 0,
    keep_activities: bool = False,
    capacity: Mapping[str, int] | None = None,
    host: Callable[[str], str] = lambda device: "",
) -> Prediction:
    """Runs the scheduler on simulated devices. `categories` has the category of each sample, in order.

    `batches[judge]` has the batch of each sample; without it, batches of `batch_size` are cut from `categories`. A
    pilot that would be all there is is left out, as in a real run. `capacity` says how many tasks a replica of a model
    (its key) computes at a time, where that is more than one. `load_concurrency` replicas may load at once on each
    `host` of devices.
    """
    work, estimates = Work(), Estimates()
    count = len(categories)
    judges = [model for model in models if model.kind == "judge"]
    if batches is None:
        batches = dict.fromkeys((judge.name for judge in judges), cut_batches(categories, batch_size))
    first = pilot_samples(categories, batches) if pilot else []
    if durations.known:
        for key, seconds in durations.load.items():
            estimates.load[key].add(seconds)
        for key, seconds in durations.unit.items():
            estimates.unit[key].add(seconds)
    policy = Policy(
        models,
        work,
        estimates,
        schedule=schedule,
        start=start,
        placement=placement,
        load_concurrency=load_concurrency,
        host=host,
    )
    editions = [m for m in models if m.kind == "edit" for _ in range(edit_seeds)]
    names = list(dict.fromkeys(categories))
    phases = [names.index(name) if order == "by_category" else 0 for name in categories]
    early = set(first)
    for number, model in enumerate(editions):
        its_early = early if number % edit_seeds == 0 else set()
        for index in sorted(range(count), key=lambda index: index not in its_early):
            phase = PILOT if index in its_early else phases[index]
            work.add(model.key, (number * count + index,), phase=phase)
    for number, judge in itertools.product(range(len(editions)), judges):
        members: dict[int, list[int]] = {}
        for index, batch in enumerate(batches[judge.name]):
            members.setdefault(batch, []).append(number * count + index)
        for repeat, units in itertools.product(range(repeats), members.values()):
            is_pilot = number == 0 and repeat == 0 and units[0] in early
            work.add(judge.key, units, after=units, phase=PILOT if is_pilot else phases[units[0] % count])

    shape = {"edit_seeds": edit_seeds, "repeats": repeats}
    bound = lower_bound(models, count, durations, swap=placement == "swap", capacity=capacity, **shape)
    devices = list(dict.fromkeys(device for model in models for place in model.places for device in place))
    tally = _Tally(work, devices, keep_activities)
    driver = SimulatedDriver(
        load=lambda model, device: durations.load[model],
        task=lambda model, message: _fate(model, message, durations, seed),
        prepare=lambda model, device: durations.prepare.get(model, 0.0),
        unload=lambda model: durations.unload.get(model, 0.0),
        capacity=lambda model: (capacity or {}).get(model, 1),
    )
    specifications = {
        (model.key, place): WorkerSpecification(
            model.key, model.key, place, "", timeout=math.inf, load_timeout=math.inf
        )
        for model in models
        for place in model.places
    }
    engine = Engine(driver, policy, work, tally, _Nobody(), specifications, poll_seconds=math.inf)
    engine.run()
    return Prediction(engine.now, bound, tally.busy, tally.activities or [])


def _fate(model: str, task: Message, durations: Durations, seed: int) -> Fate:
    seconds = durations.unit[model] * len(task["units"])
    if durations.jitter and model.startswith("edit:"):
        # Drawn from the sample, not from the order: the same work under every schedule.
        seconds *= max(0.0, random.Random(seed * 1_000_003 + task["units"][0]).gauss(1.0, durations.jitter))
    return Fate(seconds)


def pilot_samples(categories: Sequence[str], batches: Mapping[str, Sequence[int]]) -> list[int]:
    """The pilot's samples, with all that share a batch with one of them; none when that would be all there is.

    The same samples as in a run in which nothing was done yet (`pilot.choose_pilot`, `workload.fill_work`).
    """
    firsts = first_samples(categories)
    wanted = [(batch, {batch[first] for first in firsts}) for batch in batches.values()]
    early = [n for n in range(len(categories)) if any(batch[n] in those for batch, those in wanted)]
    return early if len(early) < len(categories) else []
