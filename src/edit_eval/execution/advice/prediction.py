"""Predicts how long a run takes, by running the real scheduler on simulated devices."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edit_eval.config.schema import Configuration, ModelSection
from edit_eval.errors import ConfigurationError
from edit_eval.execution.advice.cards import asked
from edit_eval.experiment import CONTROLS
from edit_eval.judges.judge_table import published
from edit_eval.records import Activity, Results, Status, Told
from edit_eval.scheduling.batches import cut_batches, first_samples, spread
from edit_eval.scheduling.estimates import Estimates
from edit_eval.scheduling.fleet import Replica
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.simulation import Simulation, Timing
from edit_eval.scheduling.tasks import PILOT, Model, Task, Work
from edit_eval.store.journal import no_garbage
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
    """Returns the durations of every model, by its key (`edit:NAME`, `judge:NAME`).

    What `seen` (a run's results) shows of a model of the same name comes first, then what is known of its type.
    `questions` has by judge the mean number of questions per pair (1 if missing); each of the configuration's readings
    asks all of them.
    Raises `ConfigurationError` for a model of which nothing is known.
    """
    found = {}
    readings = configuration.evaluation.readings
    for key, section in configuration.models.items():
        times = readings * (questions or {}).get(section.name, 1.0) if key.startswith("judge:") else 1.0
        duration = _seen(key, seen, readings) or _known(section, times)
        if duration is None and (said := asked(section, configuration.folder, "duration")):
            load, unit, source = said
            duration = Duration(load, times * unit, source, published=True)
        if duration is None:
            raise ConfigurationError(
                Text(
                    "how long {} takes is unknown: run a few samples (`edit-eval run CONFIG --limit "
                    "8 --run-dir RUN`), then plan with `--from RUN`",
                    section.name,
                )
            )
        found[key] = duration
    return found


def too_short(
    configuration: Configuration, models: Sequence[Model], durations: Mapping[str, Duration]
) -> Iterator[str]:
    """Yields a line for each model that is slower than its published duration by an unpublished factor.

    These run on the CPU, or are offloaded: their weights are moved to the GPU again and again.
    """
    for model in models:
        known, offload = durations[model.key], configuration.models[model.key].placement.offload
        slow = Text("the CPU") if model.places[0][0].startswith("cpu") else Text("offload: {}", offload)
        if known.published and slow != "offload: none":
            told = Text("{:g} s {}", known.unit, Text("an edit") if model.kind == "edit" else Text("a pair"))
            yield Text(
                "{}: {} is for a GPU without offload; {} is slower, so the plan is too short", model.name, told, slow
            )


def _seen(key: str, seen: Results | None, readings: int) -> Duration | None:
    if seen is None:
        return None
    kind, _, name = key.partition(":")
    spans: dict[str, list[float]] = {"starting": [], "loading": [], "unloading": []}
    for one in seen.activities:
        if one.kind in spans and one.model == name and one.role in (kind, "") and not one.what:  # it succeeded
            spans[one.kind].append(one.end - one.begin)
    start, load, unload = (sum(some) / len(some) if some else 0.0 for some in spans.values())
    if kind == "edit":
        units = [e.seconds for e in seen.edits if e.edit_model == name and e.status is Status.OK]
    else:
        every = (*seen.judgements, *seen.battles, *seen.critiques)
        scored = [one for one in every if one.judge == name and one.status is Status.OK]
        units = [readings * one.seconds / len(one.readings) for one in scored]
    if not units:
        return None
    return Duration(load, sum(units) / len(units), Text("run {}", seen.name), start=start, unload=unload)


def _known(section: ModelSection, asked: float) -> Duration | None:
    parameters: Mapping[str, Any] = section.parameters
    if section.type == "testing":
        return Duration(
            float(parameters["load_seconds"]), asked * float(parameters["seconds"]), Text("its own parameters")
        )
    if section.type in ("qwen3_vl", "transformers") and parameters.get("thinking") != "on":
        judge = published(parameters.get("model_name", ""))
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
    if section.type in ("scene_editor", "scene_judge"):
        unit = asked * (0.2 + float(parameters.get("seconds", 0.0)))
        return Duration(0.5, unit, Text("the built-in models on one CPU core"))
    if section.type in ("copy_source", "blank", "image_folder"):
        return Duration(0.3, 0.05, Text("it only writes a picture"))
    return None


Pairs = Sequence[tuple[int, int]]
"""The edit models, by place, whose edits of a sample are compared."""


@dataclass(frozen=True)
class Durations:
    """Seconds per load, and per edit or judgement of one pair, by the model's key (`edit:NAME`)."""

    load: dict[str, float]
    unit: dict[str, float]
    jitter: float = 0.0
    """Relative standard deviation of an edit's duration."""
    prepare: Mapping[str, float] = field(default_factory=dict)
    """Start and imports of a process, before a load; 0 for a missing model (key)."""
    unload: Mapping[str, float] = field(default_factory=dict)
    """Until the process has ended, likewise."""
    known: bool = False
    """True if the policy knows these means from the start, as after a pilot or an earlier run."""


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
        """Adds a stretch of a replica's time."""
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


def lower_bound(
    models: Sequence[Model],
    samples: int,
    durations: Durations,
    *,
    edit_seeds: int = 1,
    repeats: int = 1,
    controls: Mapping[str, int] | None = None,
    more_controls: int = 0,
    battles: Mapping[str, Sequence[Pairs]] | None = None,
    columns: Mapping[str, str] | None = None,
    told: Mapping[str, Told] | None = None,
    swap: bool = True,
    capacity: Mapping[str, int] | None = None,
) -> float:
    """Returns the seconds that no schedule can beat by much: all work and unavoidable loads, over the devices.

    Every device that edits loads once, and some device loads each judge; without `swap` that load can overlap an edit
    model's. `capacity`, `controls`, `battles`, `columns` and `told` as for `simulate`.
    """
    devices = {d for model in models for place in model.places for d in model.held(place)}
    edit_models = [m for m in models if m.kind == "edit"]
    columns = columns or {m.name: m.key for m in edit_models}
    edits = samples * edit_seeds
    total = 0.0
    for model in models:
        units = edits * sum(made == model.key for made in columns.values())
        if model.kind == "judge":
            fought, asked = (battles or {}).get(model.key), (controls or {}).get(model.key, 0)
            again = (
                1 if model.name in {how.judge for how in (told or {}).values()} else repeats
            )  # a critic is asked once
            units = edits * len(columns) * again + (_kinds(samples) + more_controls) * min(asked, samples)
            if model.name in _rewriters(told or {}):
                units = samples
            if fought is not None:
                units = sum(map(len, fought)) * edit_seeds * repeats
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
    controls: Mapping[str, int] | None = None,
    more_controls: int = 0,
    battles: Mapping[str, Sequence[Pairs]] | None = None,
    columns: Mapping[str, str] | None = None,
    told: Mapping[str, Told] | None = None,
    pilot: bool = False,
    seed: int = 0,
    keep_activities: bool = False,
    capacity: Mapping[str, int] | None = None,
    host: Callable[[str], str] = lambda device: "",
) -> Prediction:
    """Runs the scheduler on simulated devices. `categories` has the category of each sample, in order.

    `batches[judge]` has the batch of each sample; without it, batches of `batch_size` are cut from `categories`. A
    pilot that would be the whole run is left out, as in a real run. `controls` has, by judge (its key), the number
    of samples with controls: the source, a grey picture, another sample's edit, and `more_controls`. `battles` has,
    by judge (its key) that compares, which edit models' edits of each sample it is shown; it is shown no single
    edits. `columns` has the key of the edit model that makes each column of edits, and `told` the columns that wait
    for a judge's answer, as if no round were stopped early. `capacity` is how many tasks a replica of a model (its
    key) computes at a time, if more than one. At most `load_concurrency` replicas load at once on each `host` of
    devices.
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
    told = told or {}
    columns = columns or {m.name: m.key for m in models if m.kind == "edit"}
    editions = [(column, key, seed) for column, key in columns.items() for seed in range(edit_seeds)]
    made = {(column, seed): number for number, (column, _, seed) in enumerate(editions)}
    every = len(editions) * count
    if told:  # answers are known by their edit's number: only one critic's, and only the first
        work.answers_from = every
    rewriters = _rewriters(told)

    def needs(column: str, edit_seed: int, index: int) -> list[int]:
        if column not in told:
            return []
        how = told[column]
        if not how.before:
            return [every + every * (1 + rewriters.index(how.judge)) + index]
        before = made[how.before, edit_seed] * count + index
        return [every + before, *([before] if how.source == "last" else [])]

    names = list(dict.fromkeys(categories))
    phases = [names.index(name) if order == "by_category" else 0 for name in categories]
    early = set(first)
    for number, (column, key, edit_seed) in enumerate(editions):
        its_early = early if edit_seed == 0 and column not in told else set()
        for index in sorted(range(count), key=lambda index: index not in its_early):
            phase = PILOT if index in its_early else phases[index]
            work.add(key, (number * count + index,), after=needs(column, edit_seed, index), phase=phase)
    of_one = [judge for judge in judges if judge.key not in (battles or {}) and judge.name not in rewriters]
    critics = {how.judge for how in told.values()}
    beyond = every * (1 + len(rewriters))  # numbers of answers that nothing waits for
    for place, name in enumerate(rewriters):
        asked_of: dict[int, list[int]] = {}
        for index, batch in enumerate(batches[name]):
            asked_of.setdefault(batch, []).append(index)
        for some in asked_of.values():
            work.add(f"judge:{name}", [every * (1 + place) + n for n in some], phase=max(phases[n] for n in some))
    for number, judge in itertools.product(range(len(editions)), of_one):
        members: dict[int, list[int]] = {}
        for index, batch in enumerate(batches[judge.name]):
            members.setdefault(batch, []).append(number * count + index)
        again = 1 if judge.name in critics else repeats
        for repeat, units in itertools.product(range(again), members.values()):
            is_pilot = number == 0 and repeat == 0 and units[0] in early
            phase = PILOT if is_pilot else phases[units[0] % count]
            known_from = 0 if judge.name in critics else beyond
            work.add(judge.key, [known_from + unit for unit in units] if told else units, after=units, phase=phase)
    for key, fought in (battles or {}).items():
        for together in _battles(fought, batches[key.partition(":")[2]]):
            for edit_seed, repeat in itertools.product(range(edit_seeds), range(repeats)):
                pairs = [[(model * edit_seeds + edit_seed) * count + index for model in two] for index, two in together]
                is_pilot = edit_seed == 0 and repeat == 0 and together[0][0] in early
                after = dict.fromkeys(edit for pair in pairs for edit in pair)
                phase = PILOT if is_pilot else max(phases[index] for index, _ in together)
                work.add(key, [pair[0] for pair in pairs], after=after, phase=phase)
    for judge in of_one:
        size = max(Counter(batches[judge.name]).values(), default=1)
        for shown in _controls(categories, (controls or {}).get(judge.key, 0), size, more_controls):
            # They wait for the first edit model's edits: their own sample's, and those that they show.
            edits = {edit for of_one in shown for edit in of_one}
            phase = max(phases[edit] for edit in edits)
            work.add(judge.key, [of_one[0] for of_one in shown], after=edits, phase=phase, by_the_way=True)

    bound = lower_bound(
        models,
        count,
        durations,
        edit_seeds=edit_seeds,
        repeats=repeats,
        controls=controls,
        more_controls=more_controls,
        battles=battles,
        columns=columns,
        told=told,
        swap=placement == "swap",
        capacity=capacity,
    )
    devices = list(dict.fromkeys(device for model in models for place in model.places for device in place))
    tally = _Tally(devices, keep_activities)
    timing = Timing(
        task=lambda task: _seconds(task, durations, seed),
        load=durations.load,
        prepare=durations.prepare,
        unload=durations.unload,
        capacity=capacity or {},
    )
    makespan = Simulation(policy, work, timing, tally).run()
    return Prediction(makespan, bound, tally.busy, tally.activities)


def _rewriters(told: Mapping[str, Told]) -> list[str]:
    """Returns the judges that are asked before there is an edit."""
    return list(dict.fromkeys(how.judge for how in told.values() if not how.before))


def _seconds(task: Task, durations: Durations, seed: int) -> float:
    seconds = durations.unit[task.model] * len(task.units)
    if durations.jitter and task.model.startswith("edit:"):
        # Drawn by sample, not by order, so that the work is the same under every schedule.
        seconds *= max(0.0, random.Random(seed * 1_000_003 + task.units[0]).gauss(1.0, durations.jitter))
    return seconds


def _battles(fought: Sequence[Pairs], batches: Sequence[int]) -> Iterator[list[tuple[int, tuple[int, int]]]]:
    """Yields the battles asked about together, as sample and edit models (`workload.fill_work`)."""
    size = max(Counter(batches).values(), default=1)
    members: dict[int, list[tuple[int, tuple[int, int]]]] = {}
    for index, pairs in enumerate(fought):
        members.setdefault(batches[index], []).extend((index, pair) for pair in pairs)
    for some in members.values():
        yield from (some[n : n + size] for n in range(0, len(some), size))


def _kinds(samples: int) -> int:
    """Returns how many controls a sample has: a single sample cannot show another one's edit."""
    return len(CONTROLS) - (samples < 2)


def _controls(categories: Sequence[str], samples: int, size: int, more: int) -> Iterator[list[tuple[int, ...]]]:
    """Yields batches of at most `size` controls, each as the samples whose edits it waits for, its own first.

    They are of the same samples as in a run (`Experiment.controls`), in the same batches (`workload.fill_work`).
    """
    for kind in (*CONTROLS[: _kinds(len(categories))], *("made",) * more):
        members: dict[str, list[tuple[int, ...]]] = {}
        for index in spread(categories, samples):
            other = ((index + 1) % len(categories),) if kind == "shuffled" else ()
            members.setdefault(categories[index], []).append((index, *other))
        for of_category in members.values():
            yield from (of_category[n : n + size] for n in range(0, len(of_category), size))


def pilot_samples(categories: Sequence[str], batches: Mapping[str, Sequence[int]]) -> list[int]:
    """Returns the pilot's samples, with all that share a batch with one of them; none if that would be the whole run.

    The same samples as in a run in which nothing is done yet (`pilot.choose_pilot`, `workload.fill_work`).
    """
    firsts = first_samples(categories)
    wanted = [(batch, {batch[first] for first in firsts}) for batch in batches.values()]
    early = [n for n in range(len(categories)) if any(batch[n] in those for batch, those in wanted)]
    return early if len(early) < len(categories) else []
