"""Predicts how long a run takes, by running the real scheduler on simulated devices."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict, Unpack

from edit_eval.config.known_weights import find_release
from edit_eval.config.schema import Configuration, ModelSection
from edit_eval.execution.checks import call_class_method
from edit_eval.plugins.preparation.simulation import Simulation, Timing
from edit_eval.records import Activity, Results, Status, no_garbage
from edit_eval.scheduling.estimates import Estimates
from edit_eval.scheduling.fleet import Replica
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.tasks import Model, Task, TaskList, Work
from edit_eval.text import Text

PROMPT_TOKENS = 2 * 1024 + 1300
"""For a pair: two pictures and the text."""
PROMPT_SECONDS = 0.1
"""Time for Qwen3-VL-30B-A3B to read a pair: 33.6 TFLOP, counted from its configuration, at some 330 a second as
others' mixtures of experts compute on an H100. Also used for other mixtures."""
DENSE_FLOPS = 4.0e14
"""FLOP per second of a dense model reading there: 40 % of the card's 989 TFLOP/s in bfloat16. Not measured."""
TOKEN_SECONDS = 0.05
"""Time to write one token in each row of a batch: 4.7 ms to read the experts of four rows at 3.35 TB/s, and about 45 ms
for transformers to start its kernels (30 to 60 by published measurements of eager decoding)."""
ANSWER_TOKENS = {"score": 8, "probabilities": 1}
"""Per answer: `Score: 7.250` is eight, since each digit is one."""
REASONS_TOKENS = 128
"""Per answer with reasons, roughly."""
LOAD_BYTES_A_SECOND = 1.0e9
"""From a disk that is not cached, imports included."""
BYTES_A_PARAMETER = 2
"""In bfloat16."""


@dataclass(frozen=True)
class Duration:
    """Seconds per load and per unit (an edit, or the judgement of a pair), and their source."""

    load: float
    """Includes imports, unless those were measured separately."""
    unit: float
    source: str
    published: bool = False
    """True if others measured or estimated it, with the whole model on a GPU."""
    start: float = 0.0
    """From the start of a worker's process to the end of its imports."""
    unload: float = 0.0
    """From the order to end until the process has ended."""


def durations_of(
    configuration: Configuration, seen: Results | None, questions: Mapping[str, float] | None = None
) -> dict[str, Duration]:
    """Returns the durations of every model of which one is known, by its key (`edit:NAME`, `judge:NAME`).

    What `seen` (a run's results) shows of a model of the same name comes first, then what is known of its type.
    `questions` has by judge the mean number of questions per pair (1 if missing); each of the configuration's readings
    asks all of them.
    """
    durations: dict[str, Duration] = {}
    readings = configuration.evaluation.readings
    for key, section in configuration.models.items():
        times = readings * (questions or {}).get(section.name, 1.0) if key.startswith("judge:") else 1.0
        duration = _read_duration(key, seen, readings) or _estimate_duration(section, times)
        for method in ("duration", "duration_anywhere") if duration is None else ():
            if said := call_class_method(section, configuration.folder, method):
                load, unit, source = said
                duration = Duration(load, times * unit, source, published=method == "duration")
        durations |= {} if duration is None else {key: duration}
    return durations


def too_short(
    configuration: Configuration, models: Sequence[Model], durations: Mapping[str, Duration]
) -> Iterator[str]:
    """Yields a line for each model that is slower than its published duration by an unpublished factor.

    These run on the CPU, or are offloaded: their weights are moved to the GPU again and again.
    """
    for model in (model for model in models if model.key in durations):
        known, offload = durations[model.key], configuration.models[model.key].placement.offload
        slow = Text("the CPU") if model.places[0][0].startswith("cpu") else Text("offload: {}", offload)
        if known.published and slow != "offload: none":
            told = Text("{:g} s {}", known.unit, Text("an edit") if model.kind == "edit" else Text("a pair"))
            yield Text(
                "{}: {} is for a GPU without offload; {} is slower, so the plan is too short", model.name, told, slow
            )


def _read_duration(key: str, seen: Results | None, readings: int) -> Duration | None:
    if seen is None:
        return None
    kind, _, name = key.partition(":")
    spans: dict[str, list[float]] = {"starting": [], "loading": [], "unloading": []}
    for activity in seen.telemetry.activities:
        if (
            activity.kind in spans and activity.model == name and activity.role in (kind, "") and not activity.what
        ):  # it succeeded
            spans[activity.kind].append(activity.end - activity.begin)
    start, load, unload = (sum(some) / len(some) if some else 0.0 for some in spans.values())
    if kind == "edit":
        units = [e.seconds for e in seen.edits if e.edit_model == name and e.status is Status.OK]
    else:
        every = (*seen.judgements, *seen.battles, *seen.critiques)
        its = (judgement for judgement in every if judgement.judge == name and judgement.n_asked)
        scored = [judgement for judgement in its if judgement.status is Status.OK]
        units = [readings * judgement.seconds / len(judgement.readings) for judgement in scored]
    if not units:
        return None
    return Duration(load, sum(units) / len(units), Text("run {}", seen.name), start=start, unload=unload)


def _estimate_duration(section: ModelSection, asked: float) -> Duration | None:
    parameters: Mapping[str, Any] = section.parameters
    if section.type in ("qwen3_vl", "transformers") and parameters.get("thinking") != "on":
        judge = find_release(parameters.get("model_name", ""))
        if judge is None and section.type == "transformers":
            return None
        billions = 31.07 if judge is None else judge.billions  # a folder is assumed to hold the original's judge
        dense = judge is not None and not re.search(r"-A\d+B", judge.name)
        reading = 2e9 * billions * PROMPT_TOKENS / DENSE_FLOPS if dense else PROMPT_SECONDS
        form = "score" if section.protocol is None else section.protocol.parameters.get("answer", "")
        tokens = ANSWER_TOKENS.get(form, REASONS_TOKENS)
        unit = reading + tokens * TOKEN_SECONDS / section.placement.batch_size
        load = billions * 1e9 * BYTES_A_PARAMETER / LOAD_BYTES_A_SECOND
        return Duration(load, asked * unit, Text("estimated for an H100"), published=True)
    return None


@dataclass(frozen=True)
class Durations:
    """Seconds per load, and per unit of a task (an edit, or the answer to a question), by the model's key."""

    load: dict[str, float]
    unit: dict[str, float]
    jitter: float = 0.0
    """Relative standard deviation of an edit's duration."""
    prepare: Mapping[str, float] = field(default_factory=dict)
    """Start and imports of a process, before a load; 0 for a missing model (key)."""
    unload: Mapping[str, float] = field(default_factory=dict)
    """Until the process has ended, likewise."""
    capacity: Mapping[str, int] = field(default_factory=dict)
    """How many tasks a replica computes at a time, if more than one."""
    known: bool = False
    """True if the policy knows these means from the start, as after a pilot or an earlier run."""


class Driven(TypedDict, total=False):
    """How devices are driven: what a `Policy` takes."""

    schedule: str
    start: str
    placement: str
    load_concurrency: int | None
    host: Callable[[str], str]


@dataclass
class Prediction:
    """Result of a simulated run."""

    makespan: float
    """Seconds."""
    lower_bound: float
    """Seconds (see `lower_bound`)."""
    busy: dict[str, float] = field(default_factory=dict)
    """Seconds of editing and judging, by device."""
    activities: list[Activity] = field(default_factory=list)

    @property
    def idle_share(self) -> float:
        """Share of all device time not spent editing or judging; loads count as idle."""
        whole = self.makespan * len(self.busy)
        return 1.0 - sum(self.busy.values()) / whole if whole else 0.0


class _Tally:
    """Records what the devices did."""

    def __init__(self, devices: Sequence[str], keep: bool) -> None:
        self._spans: dict[str, list[tuple[float, float]]] = {device: [] for device in devices}
        self._keep = keep
        self.activities: list[Activity] = []

    def __call__(self, replica: Replica, kind: str, begin: float, end: float) -> None:
        for device in replica.place:
            if self._keep:
                model = replica.model
                about = {"device": device, "kind": kind, "model": model.name, "role": model.kind, "what": ""}
                self.activities.append(Activity(start_number=1, begin=begin, end=end, **about))
            if kind in ("editing", "judging"):
                self._work(self._spans[device], begin, end)

    def _work(self, spans: list[tuple[float, float]], begin: float, end: float) -> None:
        while spans and spans[-1][1] >= begin:  # overlapping tasks count the same second once
            earlier, later = spans.pop()
            begin, end = min(begin, earlier), max(end, later)
        spans.append((begin, end))

    @property
    def busy(self) -> dict[str, float]:
        """Seconds in which each device edited or judged."""
        return {device: sum(end - begin for begin, end in spans) for device, spans in self._spans.items()}


def lower_bound(models: Sequence[Model], tasks: TaskList, durations: Durations, *, swap: bool = True) -> float:
    """Returns the seconds that no schedule can beat by much: all work and unavoidable loads, over the devices.

    Every device that edits loads once, and some device loads each judge; without `swap` that load can overlap an edit
    model's.
    """
    devices = {d for model in models for place in model.places for d in model.resources_of(place)}
    edit_models = [m for m in models if m.kind == "edit"]
    edits = sum(tasks.units[model.key] for model in edit_models)
    total = 0.0
    for model in models:
        at_once = durations.capacity.get(model.key, 1)
        total += tasks.units[model.key] * durations.unit[model.key] * len(model.places[0]) / at_once
    total += sum(durations.load[m.key] for m in edit_models[:1]) * min(len(devices), edits)
    if swap:
        total += sum(durations.load[m.key] for m in models if m.kind == "judge")
    return total / len(devices)


@no_garbage()
def simulate(
    models: Sequence[Model],
    tasks: TaskList,
    durations: Durations,
    *,
    seed: int = 0,
    keep_activities: bool = False,
    **driven: Unpack[Driven],
) -> Prediction:
    """Runs the scheduler on simulated devices. `seed` draws what `durations.jitter` changes."""
    work, estimates = Work(), Estimates()
    if durations.known:
        for key, seconds in durations.load.items():
            estimates.load[key].add(seconds)
        for key, seconds in durations.unit.items():
            estimates.unit[key].add(seconds)
    policy = Policy(models, work, estimates, **driven)
    tasks.fill(work)
    bound = lower_bound(models, tasks, durations, swap=driven.get("placement", "swap") == "swap")
    devices = list(dict.fromkeys(device for model in models for place in model.places for device in place))
    tally = _Tally(devices, keep_activities)
    timing = Timing(
        task=lambda task: _seconds(task, durations, seed),
        load=durations.load,
        prepare=durations.prepare,
        unload=durations.unload,
        capacity=durations.capacity,
    )
    makespan = Simulation(policy, work, timing, tally).run()
    return Prediction(makespan, bound, tally.busy, tally.activities)


def _seconds(task: Task, durations: Durations, seed: int) -> float:
    seconds = durations.unit[task.model] * len(task.units)
    if durations.jitter and task.model.startswith("edit:"):
        # Drawn by sample, not by order, so that the work is the same under every schedule.
        seconds *= max(0.0, random.Random(seed * 1_000_003 + task.units[0]).gauss(1.0, durations.jitter))
    return seconds
