"""`edit-eval plan`: simulates every combination of schedule, order and placement with the scheduler of a real run."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from edit_eval.benchmarks.contract import CATEGORIES, canonical
from edit_eval.config.components import import_class
from edit_eval.config.identity import Identity
from edit_eval.config.schema import Configuration, ModelSection
from edit_eval.errors import ConfigurationError
from edit_eval.execution.advice.cards import card_lines, card_of
from edit_eval.execution.advice.checks import Context, rooms
from edit_eval.execution.advice.checks import devices as devices_of
from edit_eval.execution.advice.control_questions import ControlQuestions
from edit_eval.execution.advice.prediction import (
    Duration,
    Durations,
    Pairs,
    Prediction,
    durations_of,
    lower_bound,
    simulate,
    too_short,
)
from edit_eval.execution.advice.prices import cost_words, expected_cost, prices_of
from edit_eval.execution.choices import Choices, Room, choose
from edit_eval.execution.contract import Gpu, Machine
from edit_eval.execution.machine.devices import LocalMachine
from edit_eval.execution.machine.places import Place, model_on, places
from edit_eval.execution.machine.weights import GIB
from edit_eval.experiment import CONTROLS, columns_of
from edit_eval.records import Results
from edit_eval.scheduling.batches import cut_batches
from edit_eval.scheduling.estimates import roughly
from edit_eval.scheduling.tasks import Model
from edit_eval.statistics.controls import steps
from edit_eval.statistics.timing import cost_of, token_words, tokens
from edit_eval.text import Text, counted

SCHEDULES = ("pull", "round_robin", "batch_sync")
ORDERS = ("by_stage", "by_category")
PLACEMENTS = ("swap", "together")
ALL_COMBINATIONS_UP_TO = 20_000  # samples; beyond this, only the configuration's own combination is simulated


@dataclass(frozen=True)
class ImaginedMachine(Machine):
    """A number of identical GPUs. Nothing is known about their host."""

    count: int = 0
    free: int | None = None
    """Free bytes on each, taken as all of its memory; None if not given."""
    nodes: int = 1
    """Number of machines that the GPUs are divided among."""

    def gpus(self) -> list[Gpu]:
        return [Gpu(name, "", "", memory=self.free, free=self.free, node=self.node_of(name)) for name in self._names]

    @property
    def _names(self) -> list[str]:
        return [f"cuda:{number}" for number in range(self.count)]

    def node_of(self, device: str) -> str:
        """Returns the machine of a device; empty if there is only one."""
        if self.nodes == 1:
            return ""
        return f"node {int(device.partition(':')[2]) * self.nodes // self.count}"


def imagined_gpus(number: int | None, memory: float | None) -> ImaginedMachine | None:
    """Reads `--gpus` and `--gpu-memory` (GiB). Raises `ConfigurationError` for memory of no GPUs, or no memory."""
    if memory is not None and not (math.isfinite(memory) and memory > 0):
        raise ConfigurationError(
            Text("--gpu-memory {:g}: it takes the GiB that each GPU has free, more than 0", memory)
        )
    if number is None:
        if memory is not None:
            raise ConfigurationError(Text("--gpu-memory {:g}: of how many GPUs? Give `--gpus`, too", memory))
        return None
    return ImaginedMachine(number, None if memory is None else round(memory * GIB))


@dataclass(frozen=True)
class Cluster:
    """The cluster of `--nodes`: a number of machines with as many GPUs each."""

    nodes: int
    gpus: int
    """Per machine."""
    shared_disk: bool = False
    """True if all machines read weights from one disk, and so take turns."""
    price: float | None = None
    """Per GPU-hour, in any currency."""

    def refuse_nonsense(self) -> None:
        """Raises `ConfigurationError` for impossible values."""
        if self.nodes < 1 or self.gpus < 1:
            raise ConfigurationError(Text("--nodes {} --gpus {}: at least 1 of each", self.nodes, self.gpus))
        if self.price is not None and not (math.isfinite(self.price) and self.price > 0):
            raise ConfigurationError(Text("--price {:g}: the price of a GPU-hour, more than 0", self.price))

    @property
    def sizes(self) -> list[int]:
        """The numbers of machines to compare: all, and half again and again."""
        return sorted({max(1, self.nodes >> halvings) for halvings in range(self.nodes.bit_length())})


@dataclass(frozen=True)
class ClusterSize:
    """The time and cost of the work on a number of machines."""

    nodes: int
    gpus: int
    """In total."""
    makespan: float
    """Seconds."""
    simulated: bool
    """If False, it is scaled from the lower bound by the ratio found for all machines."""
    price: float | None = None

    @property
    def gpu_hours(self) -> float:
        """GPU-hours of all GPUs, from the first second to the last."""
        return self.makespan * self.gpus / 3600

    @property
    def cost(self) -> float | None:
        """In the currency of the price; None without one."""
        return None if self.price is None else self.gpu_hours * self.price

    def as_plain(self) -> dict[str, Any]:
        """Returns it as plain values, for JSON."""
        return {
            "nodes": self.nodes,
            "gpus": self.gpus,
            "makespan_seconds": round(self.makespan, 3),
            "gpu_hours": round(self.gpu_hours, 4),
            "cost": None if self.cost is None else round(self.cost, 4),
            "simulated": self.simulated,
        }


@dataclass(frozen=True)
class Combination:
    """One way to run, and its prediction. Times are in seconds."""

    schedule: str
    order: str
    placement: str
    prediction: Prediction
    memory: str = "enough"
    """Whether devices and host are known to have room for it: `enough`, `unknown` or `too little`."""

    def as_plain(self) -> dict[str, Any]:
        """Returns it as plain values, for JSON."""
        return {
            "schedule": self.schedule,
            "order": self.order,
            "placement": self.placement,
            "memory": self.memory,
            "makespan_seconds": round(self.prediction.makespan, 3),
            "lower_bound_seconds": round(self.prediction.lower_bound, 3),
            "idle_share": round(self.prediction.idle_share, 4),
        }


@dataclass(frozen=True)
class Plan:
    """All simulated combinations."""

    combinations: tuple[Combination, ...]
    best: int | None
    """The shortest combination known to fit into memory; None if there is none."""
    chosen: int
    """The configuration's own combination."""
    samples: int
    devices: int
    durations: Mapping[str, Duration]
    notes: tuple[str, ...] = ()
    """What `auto` was resolved to, and why; lack of memory; assumptions about a missing benchmark; and why the plan is
    too short, if it is known to be."""
    gpu_memory: float | None = None
    """Free GiB on each GPU, if given."""
    sizes: tuple[ClusterSize, ...] = ()
    """With `--nodes`: the same on fewer machines, beside all of them."""
    cost: float | None = None
    """US dollars for paid models, without retries; None if there are none."""
    controls: ControlQuestions | None = None

    @property
    def cheapest(self) -> int | None:
        """Which size takes the fewest GPU-hours; within a thousandth the faster one."""
        least = min((size.gpu_hours for size in self.sizes), default=0.0)
        return max((k for k, size in enumerate(self.sizes) if size.gpu_hours <= 1.001 * least), default=None)

    @property
    def fastest(self) -> int | None:
        """Which size takes the least time; within a thousandth the smaller one."""
        least = min((size.makespan for size in self.sizes), default=0.0)
        return next((k for k, size in enumerate(self.sizes) if size.makespan <= 1.001 * least), None)

    def as_plain(self) -> dict[str, Any]:
        """Returns the document of `plan --json`."""
        return {
            "combinations": [combination.as_plain() for combination in self.combinations],
            "best": self.best,
            "chosen": self.chosen,
            "samples": self.samples,
            "devices": self.devices,
            "gpu_memory_gib": self.gpu_memory,
            **({} if self.cost is None else {"cost_usd": self.cost}),
            **(
                {
                    "sizes": [size.as_plain() for size in self.sizes],
                    "cheapest": self.cheapest,
                    "fastest": self.fastest,
                }
                if self.sizes
                else {}
            ),
            "durations": {
                name: {"load": d.load, "unit": d.unit, "source": d.source} for name, d in self.durations.items()
            },
            "notes": list(self.notes),
        }


def make_plan(
    configuration: Configuration,
    categories: Sequence[str] | None,
    chosen: Sequence[int] | None = None,
    *,
    gpus: int | None = None,
    gpu_memory: float | None = None,
    samples: int | None = None,
    seen: Results | None = None,
    questions: Mapping[str, float] | None = None,
    at_most: Collection[str] = (),
    battles: Mapping[str, Sequence[Sequence[Pairs]]] | None = None,
    controls: ControlQuestions | None = None,
    machine: Machine | None = None,
    cluster: Cluster | None = None,
) -> Plan:
    """Simulates a configuration. `categories` has the category of each sample of its benchmark, in order.

    `chosen` are the samples that pass the filters, as numbers; all by default. `gpus` replaces the machine's GPUs by
    that many, with `gpu_memory` GiB free on each: loads then have no limit, and a split of the devices stays one, in
    the same shares; without known memory, `placement: auto` counts as `swap`. A server that is queried from the CPU
    (`cpu:1`) needs none of them. `samples` stretches or cuts the chosen ones to that many, with the same shares of
    categories; with it `categories` may be None if unknown: samples are then spread evenly. `seen` is a run whose
    durations are used, `questions` as for `durations_of`: for a judge in `at_most`, the most that can be asked.
    `battles` has, for each judge that compares, which edit models' edits of each chosen sample it is shown, by round: a
    design that is extended is planned with all rounds, and its first round is reported beside it. So are `controls` in
    steps; by default each sample is taken to have a source image of its own. `machine` is this machine by default. With
    a `cluster` the limit of loads is per machine, or for all machines together if they share a disk, and other numbers
    of machines are compared.
    Raises `ConfigurationError` for a model of which nothing is known and for too few devices.
    """
    if samples is not None and samples < 1:
        raise ConfigurationError(Text("--samples {}: at least 1", samples))
    if cluster is not None:
        cluster.refuse_nonsense()
        gpus = cluster.nodes * cluster.gpus
    imagined = imagined_gpus(gpus, gpu_memory)
    if imagined is not None and cluster is not None:
        imagined = replace(imagined, nodes=cluster.nodes)
    durations = durations_of(configuration, seen, questions)
    machine = imagined or machine or LocalMachine()
    models = _models(configuration, machine, imagined)
    execution, evaluation = configuration.execution, configuration.evaluation
    room = rooms(Context(configuration, machine, laid_out=models))
    choices = choose(configuration, models, machine)
    placement, load_concurrency = choices.placement.value, choices.load_concurrency.value
    notes = [*_notes(choices, room, here=imagined is None), *too_short(configuration, models, durations)]
    for section in configuration.edit_models.values():
        notes += [Text("{}: {}", section.name, line) for line in card_lines(card_of(section, configuration.folder))]
    if categories is None:
        categories = [canonical(name) for name in configuration.benchmark.filters.categories] or CATEGORIES
        path = configuration.benchmark.parameters.get("data_path", Text("the benchmark"))
        several = (
            Text("{} categories of equal size are", len(categories)) if len(categories) > 1 else Text("one category is")
        )
        notes.append(Text("{} does not exist: {} assumed instead", path, several))
    if samples is not None:
        categories = _stretched(categories if chosen is None else [categories[n] for n in chosen], samples)
        chosen = None
    batches = _batches(configuration, categories, chosen)
    if chosen is not None:
        categories = [categories[number] for number in chosen]
    rounds = {name: [of[n % len(of)] for n in range(len(categories))] for name, of in (battles or {}).items() if of}
    fought = {name: [tuple(chain(*its)) for its in of] for name, of in rounds.items()}
    first = {name: [tuple(chain(*its[:1])) for its in of] for name, of in rounds.items()}
    notes += _askings(configuration, questions or {}, fought, first)
    notes += [
        Text("{}: some questions are asked only after an answer; this plan asks all of them", name)
        for name in sorted(at_most)
    ]
    controls = controls or _controls(configuration, len(categories), questions or {})
    notes += [controls.sentence] if controls.sentence else []
    paid = prices_of(configuration), _paid_work(configuration, len(categories), questions or {}, fought, controls)
    notes += cost_words(*paid)
    notes += _tokens(configuration, seen, len(categories), fought, controls) if seen is not None else []
    if first != fought and seen is not None:
        notes += [
            Text("with the first round alone: {}", note)
            for note in _tokens(configuration, seen, len(categories), first, controls)
        ]
    own = (execution.schedule, execution.order, placement)
    ways = (
        list(itertools.product(SCHEDULES, ORDERS, PLACEMENTS)) if len(categories) <= ALL_COMBINATIONS_UP_TO else [own]
    )
    timing = timing_of(durations)
    if cluster is not None and cluster.shared_disk and cluster.nodes > 1:
        load_concurrency = load_concurrency or cluster.gpus
        notes.append(Text("one disk for all machines: {} at once", counted(load_concurrency, "load")))
    capacity = {model.key: _asks_at_once(configuration.models[model.key]) for model in models}
    columns, waiting = columns_of(configuration, [Identity(name, "", "") for name in configuration.edit_models])
    if waiting:
        plain = len(categories) * evaluation.edit_seeds
        counts = plain * len(columns), plain * len(configuration.edit_models)
        notes.append(Text("rounds and rewriting: {:,} edits in place of {:,}, if no round is stopped early", *counts))
    shape: dict[str, Any] = {
        "edit_seeds": evaluation.edit_seeds,
        "repeats": evaluation.repeats,
        "controls": {f"judge:{name}": controls.most for name in controls.each},
        "more_controls": len(evaluation.more_controls),
        "battles": {f"judge:{name}": of for name, of in fought.items()},
        "columns": {
            one.name: f"edit:{waiting[one.name].edit_model if one.name in waiting else one.name}" for one in columns
        },
        "told": waiting,
        "capacity": capacity,
    }

    def simulated(
        its: Sequence[Model], on: Machine, way: tuple[str, str, str], battles: Mapping[str, Sequence[Pairs]] = fought
    ) -> Prediction:
        of = on.node_of if isinstance(on, ImaginedMachine) and cluster and not cluster.shared_disk else None
        return simulate(
            its,
            categories,
            timing,
            schedule=way[0],
            order=way[1],
            placement=way[2],
            start=execution.start,
            load_concurrency=load_concurrency,
            batches=batches,
            pilot=execution.pilot,
            host=of or (lambda device: ""),
            **shape | {"battles": {f"judge:{name}": its for name, its in battles.items()}},
        )

    made = []
    for schedule, order, stay in ways:
        prediction = simulated(models, machine, (schedule, order, stay))
        made.append(Combination(schedule, order, stay, prediction, room[stay].answer))
    if first != fought:
        least = simulated(models, machine, own, first).makespan
        notes.append(Text("with the first round of battles alone: {}; the most is given below", roughly(least)))
    # Within a thousandth the simpler combination wins, which comes first.
    possible = {k: way.prediction.makespan for k, way in enumerate(made) if way.memory == "enough"}
    shortest = min(possible.values(), default=0.0)
    best = next((k for k, seconds in possible.items() if seconds <= 1.001 * shortest), None)
    devices = len({d for model in models for place in model.places for d in place})
    plan = Plan(tuple(made), best, ways.index(own), len(categories), devices, durations, tuple(notes), gpu_memory)
    plan = replace(plan, cost=expected_cost(*paid), controls=controls)
    if cluster is None:
        return plan
    mine, sizes = made[ways.index(own)].prediction, []
    over = mine.makespan / mine.lower_bound if mine.lower_bound else 1.0
    for nodes in cluster.sizes:
        seconds, whole = mine.makespan, True
        if nodes != cluster.nodes:
            fewer = replace(imagined or ImaginedMachine(), count=nodes * cluster.gpus, nodes=nodes)
            try:
                its = _models(configuration, fewer, fewer)
            except ConfigurationError:  # too few for a replica
                continue
            if whole := len(categories) <= ALL_COMBINATIONS_UP_TO:
                seconds = simulated(its, fewer, own).makespan
            else:
                swap = placement == "swap"
                seconds = over * lower_bound(its, len(categories), timing, swap=swap, **shape)
        sizes.append(ClusterSize(nodes, nodes * cluster.gpus, seconds, whole, cluster.price))
    return replace(plan, sizes=tuple(sizes))


def timing_of(durations: Mapping[str, Duration], **more: Any) -> Durations:
    """Returns the durations in the form that a simulation takes; `more` are further fields of it."""
    return Durations(
        {key: d.load for key, d in durations.items()},
        {key: d.unit for key, d in durations.items()},
        prepare={key: d.start for key, d in durations.items()},
        unload={key: d.unload for key, d in durations.items()},
        **more,
    )


def _batches(
    configuration: Configuration, categories: Sequence[str], chosen: Sequence[int] | None
) -> dict[str, Sequence[int]]:
    """Returns the batch of each chosen sample by judge, cut from the whole benchmark's order as in a run."""
    sizes = {name: section.placement.batch_size for name, section in configuration.judges.items()}
    cut: dict[int, Sequence[int]] = {size: cut_batches(categories, size) for size in set(sizes.values())}
    if chosen is not None:
        cut = {size: [batch[number] for number in chosen] for size, batch in cut.items()}
    return {name: cut[size] for name, size in sizes.items()}


def _askings(
    configuration: Configuration,
    questions: Mapping[str, float],
    battles: Mapping[str, Sequence[Pairs]],
    first: Mapping[str, Sequence[Pairs]],
) -> list[str]:
    """Returns a line for each judge that is asked more than once about an edit, with the number of its answers, and
    for each that compares two, with the number of its battles."""
    readings, notes = configuration.evaluation.readings, list[str]()
    for name in configuration.judges:
        asked = questions.get(name, 1.0)
        if name in battles:
            often = _battles(configuration, battles[name])
            once, least = asked * readings, _battles(configuration, first[name])
            if least == often:
                notes.append(Text("{}: {:,} battles, so {:,.0f} answers", name, often, often * once))
            else:
                answers = least * once, often * once
                notes.append(
                    Text("{}: {:,} to {:,} battles, so {:,.0f} to {:,.0f} answers", name, least, often, *answers)
                )
        elif readings * asked > 1:
            each = Text("{:.3g} questions x ", asked) if asked != 1 else ""
            read = counted(readings, "reading")
            notes.append(Text("{}: {}{}, so {:.3g} answers a pair", name, each, read, readings * asked))
    return notes


def _battles(configuration: Configuration, battles: Sequence[Pairs]) -> int:
    return sum(map(len, battles)) * configuration.evaluation.edit_seeds * configuration.evaluation.repeats


def _paid_work(
    configuration: Configuration,
    samples: int,
    questions: Mapping[str, float],
    battles: Mapping[str, Sequence[Pairs]],
    controls: ControlQuestions,
) -> dict[str, tuple[int, int]]:
    """Returns how many edits each model makes questions each judge is asked, and at most about controls."""
    evaluation = configuration.evaluation
    columns, _ = columns_of(configuration, [Identity(name, "", "") for name in configuration.edit_models])
    edits = samples * evaluation.edit_seeds
    share = len(columns) / max(1, len(configuration.edit_models))
    work = {f"edit:{name}": (round(edits * share), 0) for name in configuration.edit_models}
    for name in configuration.judges:
        each = questions.get(name, 1.0) * evaluation.readings
        asked = edits * len(columns) * evaluation.repeats
        if name in battles:
            asked = _battles(configuration, battles[name])
        work[f"judge:{name}"] = round(asked * each), controls.asked(controls.most, name)
    return work


def _controls(configuration: Configuration, samples: int, questions: Mapping[str, float]) -> ControlQuestions:
    """Returns the controls of a run about so many samples, each with a source image of its own."""
    evaluation = configuration.evaluation
    columns, _ = columns_of(configuration, [Identity(name, "", "") for name in configuration.edit_models])
    judges = [name for name in configuration.judges if _has_controls(configuration, f"judge:{name}")]
    critic = configuration.rounds.critic if configuration.rounds else ""
    often = {name: 1 if name == critic else evaluation.repeats for name in judges}
    each = {name: questions.get(name, 1.0) * evaluation.readings for name in judges}
    edits, kinds = samples * evaluation.edit_seeds * len(columns), len(CONTROLS) + len(evaluation.more_controls)
    if evaluation.controls == "auto":
        its = steps(samples, edits * min(often.values(), default=0), kinds, len(columns))
    else:
        its = tuple(filter(None, [min(evaluation.controls, samples)]))
    return ControlQuestions(
        steps=its,
        automatic=evaluation.controls == "auto",
        kinds=kinds - (samples < 2),
        edit_models=len(columns),
        each=each,
        edits=round(sum(edits * often[name] * each[name] for name in judges)),
        images=samples,
    )


def _tokens(
    configuration: Configuration,
    seen: Results,
    samples: int,
    battles: Mapping[str, Sequence[Pairs]],
    controls: ControlQuestions,
) -> list[str]:
    """Returns a line for each judge whose server counted tokens in the seen run: how many this run would take."""
    evaluation, notes = configuration.evaluation, list[str]()
    columns, _ = columns_of(configuration, [Identity(name, "", "") for name in configuration.edit_models])
    pairs = samples * len(columns) * evaluation.edit_seeds
    for one in tokens(seen):
        if one.judge in configuration.judges:
            critic = configuration.rounds is not None and one.judge == configuration.rounds.critic
            judgements = pairs * (1 if critic else evaluation.repeats)
            judgements += controls.kinds * controls.most if one.judge in controls.each else 0
            if one.judge in battles:
                judgements = _battles(configuration, battles[one.judge])
            if one.judge in configuration.rewrite:
                judgements = samples
            every = (*seen.judgements, *seen.battles, *seen.critiques)
            before = max(len(each.readings) for each in every if each.judge == one.judge) or 1
            times = judgements * evaluation.readings / before / one.judgements
            read, written = times * one.read, times * one.written
            cost = cost_of(configuration.judges[one.judge].parameters.get("price"), read, written)
            notes.append(Text("tokens, as in {}: {}", seen.name, token_words(one.judge, read, written, cost)))
    return notes


def _notes(choices: Choices, room: Mapping[str, Room], *, here: bool) -> list[str]:
    """Returns notes on lack of memory, and on what `auto` was resolved to."""
    swap, together = room["swap"], room["together"]
    notes: list[str] = [] if swap.answer == "enough" else [Text("memory {}: {}", swap.answer, swap.reason)]
    if not choices.placement.automatic and together.answer != "enough" and together != swap:
        notes.append(Text("placement: together, memory {}: {}", together.answer, together.reason))
    if here:
        return [*notes, *choices.sentences]
    if choices.placement.automatic:
        notes.append(Text("placement: auto is taken to be {}: {}", choices.placement.value, choices.placement.reason))
    if choices.load_concurrency.automatic:
        notes.append(Text("load_concurrency: auto is taken to be no limit: the memory of their host is not known"))
    return notes


def _has_controls(configuration: Configuration, key: str) -> bool:
    """True if a model is asked about controls: a judge of one edit at a time that neither measures nor replays."""
    if not key.startswith("judge:") or key.partition(":")[2] in configuration.rewrite:
        return False
    section = configuration.models[key]
    try:
        if section.protocol and hasattr(
            import_class("protocol", section.protocol.class_path, configuration.folder), "battles"
        ):
            return False
        judge = import_class("judge", section.class_path, configuration.folder)
    except ConfigurationError:  # only its own environment can import it
        return True
    return not (hasattr(judge, "measures") or getattr(judge, "replays", False))


def _asks_at_once(section: ModelSection) -> int:
    """Returns how many tasks a replica computes at a time: for a server's adapter, its `concurrency`."""
    concurrency = section.parameters.get("concurrency")
    return concurrency if isinstance(concurrency, int) else 1


def _needs_no_gpu(section: ModelSection) -> bool:
    """True if it queries a server from the CPU: more GPUs change nothing for it."""
    device_ids = section.placement.device_ids
    return "concurrency" in section.parameters and device_ids != "auto" and device_ids[0].startswith("cpu")


def _models(configuration: Configuration, machine: Machine, imagined: ImaginedMachine | None) -> list[Model]:
    sections = configuration.models
    if imagined is None:
        chosen = _places(configuration, machine)
    else:
        chosen = _imagined([*sections.values()], imagined)
    laid_out = zip(chosen, sections.items(), strict=True)
    return [model_on(its, key, section, configuration.folder) for its, (key, section) in laid_out]


def _places(configuration: Configuration, machine: Machine) -> list[tuple[Place, ...]]:
    """Returns the models' replicas on a machine. Raises `ConfigurationError` if a run would be refused for them."""
    context, chosen = Context(configuration, machine), list[tuple[Place, ...]]()
    for found in context.devices.values():
        if isinstance(found, ConfigurationError):
            raise found
        chosen.append(found[0])
    for finding in devices_of(context):
        if finding.stops:
            raise ConfigurationError(Text("{}; `plan --gpus N` simulates GPUs", finding.line))
    return chosen


def _imagined(sections: Sequence[ModelSection], machine: ImaginedMachine) -> list[tuple[Place, ...]]:
    """Returns each model's replicas on imagined GPUs; a split of devices stays one, in the same shares."""
    gpus = machine.count
    asking = [s.placement.device_ids for s in sections if s.placement.device_ids != "auto" and not _needs_no_gpu(s)]
    there = list(dict.fromkeys(itertools.chain(*asking)))
    laid_out = []
    for section in sections:
        placement = section.placement
        if _needs_no_gpu(section):
            laid_out.append(places(section, machine)[0])
            continue
        asked = there if placement.device_ids == "auto" else placement.device_ids
        shares = sorted(there.index(device) for device in asked)
        mine = [n for s in shares for n in range(s * gpus // len(there), (s + 1) * gpus // len(there))]
        if not there:
            mine = list(range(gpus))
        width = placement.devices_per_replica
        count = min(1, len(mine) // width) if placement.single else len(mine) // width
        if not count:
            gets = Text("and gets {}", len(mine))
            raise ConfigurationError(
                Text("--gpus {}: {} needs {} for one replica, {}", gpus, section.name, width, gets)
            )
        laid_out.append(tuple(tuple(f"cuda:{n}" for n in mine[r * width : (r + 1) * width]) for r in range(count)))
    return laid_out


def _stretched(categories: Sequence[str], samples: int) -> list[str]:
    """Returns categories for another number of samples, in the same shares."""
    names = list(dict.fromkeys(categories))
    shares = [sum(c == name for c in categories) * samples / len(categories) for name in names]
    counts = [int(share) for share in shares]
    by_rest = sorted(range(len(names)), key=lambda k: shares[k] - counts[k], reverse=True)
    for k in by_rest[: samples - sum(counts)]:
        counts[k] += 1
    return [name for name, count in zip(names, counts, strict=True) for _ in range(count)]
