"""`edit-eval plan`: simulates every combination of schedule, order and placement with the scheduler of a real run."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from edit_eval.config.schema import Configuration, ModelSection
from edit_eval.errors import ConfigurationError
from edit_eval.execution.checks import card_of, choose, sale_findings
from edit_eval.execution.choices import Choices
from edit_eval.execution.contract import Gpu, Machine
from edit_eval.execution.control_questions import ControlQuestions
from edit_eval.execution.machine.devices import LocalMachine
from edit_eval.execution.machine.memory import GIB
from edit_eval.execution.machine.places import Place, build_model, places
from edit_eval.execution.prices import cost_words, estimate_cost, prices_of
from edit_eval.experiment import Experiment
from edit_eval.json_values import JsonObject
from edit_eval.plugins.preparation.automatic import Room
from edit_eval.plugins.preparation.cards import card_lines
from edit_eval.plugins.preparation.checks import Context, rooms
from edit_eval.plugins.preparation.checks import devices as devices_of
from edit_eval.plugins.preparation.imagined import ImaginedWork
from edit_eval.plugins.preparation.prediction import (
    Duration,
    Durations,
    Prediction,
    durations_of,
    lower_bound,
    simulate,
    too_short,
)
from edit_eval.records import Results, Sample
from edit_eval.scheduling.queues import QUEUES
from edit_eval.scheduling.tasks import Model
from edit_eval.statistics.timing import cost_of, token_words, tokens
from edit_eval.text import Text, pluralize

SCHEDULES = tuple(QUEUES)
ORDERS = ("by_stage", "by_category")
PLACEMENTS = ("swap", "together")
ALL_COMBINATIONS_UP_TO = 40_000  # tasks; beyond this, only the configuration's own combination is simulated


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


def read_gpu_options(number: int | None, memory: float | None) -> ImaginedMachine | None:
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

    def as_plain(self) -> JsonObject:
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

    def as_plain(self) -> JsonObject:
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
    """Empty if it is not known how long a model takes."""
    best: int | None
    """The shortest combination known to fit into memory; None if there is none."""
    chosen: int | None
    """The configuration's own combination; None if there is none."""
    samples: int
    devices: int
    durations: Mapping[str, Duration]
    notes: tuple[str, ...] = ()
    """What `auto` was resolved to, and why; lack of memory; assumptions about a missing benchmark; and why the plan is
    too short, if it is known to be."""
    gpu_memory: float | None = None
    """Free GiB on each GPU, if given."""
    unknown: tuple[str, ...] = ()
    """Models of which it is not known how long they take, by name."""
    sizes: tuple[ClusterSize, ...] = ()
    """With `--nodes`: the same on fewer machines, beside all of them."""
    cost: float | None = None
    """US dollars for paid models, without retries; None if there are none."""
    controls: ControlQuestions | None = None
    work: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """How many edits each model makes (its key), or questions each judge is asked at most, and how many more about
    controls."""

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

    def as_plain(self) -> JsonObject:
        """Returns the document of `plan --json`."""
        return {
            "combinations": [combination.as_plain() for combination in self.combinations],
            "best": self.best,
            "chosen": self.chosen,
            "samples": self.samples,
            "devices": self.devices,
            "gpu_memory_gib": self.gpu_memory,
            "work": {
                key: {"edits": count} if key.startswith("edit:") else {"questions": count, "about_controls": controls}
                for key, (count, controls) in self.work.items()
            },
            **({} if self.cost is None else {"cost_usd": self.cost}),
            **({"unknown_durations": list(self.unknown)} if self.unknown else {}),
            **(
                {"sizes": [size.as_plain() for size in self.sizes], "cheapest": self.cheapest, "fastest": self.fastest}
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
    experiment: Experiment,
    everything: Sequence[Sample] | None = None,
    *,
    gpus: int | None = None,
    gpu_memory: float | None = None,
    samples: int | None = None,
    seen: Results | None = None,
    machine: Machine | None = None,
    cluster: Cluster | None = None,
) -> Plan:
    """Simulates a configuration's `experiment`; `everything` are all samples of its benchmark, its own by default.

    `gpus` replaces the machine's GPUs by that many, with `gpu_memory` GiB free on each: loads then have no limit, and a
    split of the devices stays one, in the same shares; without known memory, `placement: auto` counts as `swap`. A
    server that is queried from the CPU (`cpu:1`) needs none of them. `samples` stretches or cuts the experiment to that
    many, with the same shares of categories. `seen` is a run whose durations are used. Battles and controls that are
    asked in rounds and steps are planned with all of them; the first round of battles is reported beside. `machine` is
    this machine by default. With a `cluster` the limit of loads is per machine, or for all machines together if they
    share a disk, and other numbers of machines are compared.
    Nothing is simulated while it is not known how long a model takes; all else is as it would be.
    Raises `ConfigurationError` for too few devices.
    """
    if samples is not None and samples < 1:
        raise ConfigurationError(Text("--samples {}: at least 1", samples))
    if cluster is not None:
        cluster.refuse_nonsense()
        gpus = cluster.nodes * cluster.gpus
    imagined = read_gpu_options(gpus, gpu_memory)
    if imagined is not None and cluster is not None:
        imagined = replace(imagined, nodes=cluster.nodes)
    durations = durations_of(configuration, seen, experiment.questions_per_edit)
    machine = imagined or machine or LocalMachine()
    models = _models(configuration, machine, imagined)
    execution = configuration.execution
    room = rooms(Context(configuration, machine, laid_out=models))
    choices = choose(configuration, models, machine)
    placement, load_concurrency = choices.placement.value, choices.load_concurrency.value
    notes = [*_notes(choices, room, here=imagined is None), *too_short(configuration, models, durations)]
    notes += _describe_cards(configuration)
    sizes = {name: section.placement.batch_size for name, section in configuration.judges.items()}
    every_sample = everything or experiment.samples
    work = ImaginedWork(experiment, every_sample, sizes, pilot=execution.pilot, samples=samples)
    notes += [*_askings(experiment, work), *_words(configuration, experiment, work, seen)]
    own = (execution.schedule, execution.order, placement)
    every = len(work.tasks()) <= ALL_COMBINATIONS_UP_TO
    unknown = tuple(section.name for key, section in configuration.models.items() if key not in durations)
    ways = [] if unknown else [*itertools.product(SCHEDULES, ORDERS, PLACEMENTS)] if every else [own]
    often = {f"judge:{name}": each * experiment.readings for name, each in experiment.questions_per_edit.items()}
    at_once = {model.key: _asks_at_once(configuration.models[model.key]) for model in models}
    timing = timing_of(durations, often, capacity=at_once)
    simulator = _Simulator(configuration, work, timing, load_concurrency, by_machine=cluster is not None)
    made = [Combination(*way, simulator.simulate_way(models, machine, way), room[way[2]].answer) for way in ways]
    plan = Plan(
        tuple(made),
        _find_best(made),
        ways.index(own) if ways else None,
        work.samples,
        len({d for model in models for place in model.places for d in place}),
        durations,
        tuple(notes),
        gpu_memory,
        unknown,
        cost=estimate_cost(prices_of(configuration), work.work_counts),
        controls=work.controls,
        work=work.work_counts,
    )
    if cluster is None or unknown:
        return plan
    mine = made[ways.index(own)].prediction
    return replace(plan, sizes=tuple(simulator.compare_sizes(cluster, imagined, own, mine, simulated=every)))


def _find_best(made: Sequence[Combination]) -> int | None:
    """Returns the index of the shortest combination that memory allows; None if it allows none.

    Within a thousandth the simpler combination wins, which comes first.
    """
    possible = {k: way.prediction.makespan for k, way in enumerate(made) if way.memory == "enough"}
    shortest = min(possible.values(), default=0.0)
    return next((k for k, seconds in possible.items() if seconds <= 1.001 * shortest), None)


@dataclass(frozen=True)
class _Simulator:
    """One evaluation, simulated in several ways and on several machines."""

    configuration: Configuration
    work: ImaginedWork
    timing: Durations
    load_concurrency: int | None
    by_machine: bool
    """True if loads are limited on each machine of a cluster by itself."""

    def simulate_way(self, models: Sequence[Model], machine: Machine, way: tuple[str, str, str]) -> Prediction:
        """Simulates one (schedule, order, placement)."""
        hosts = machine.node_of if isinstance(machine, ImaginedMachine) and self.by_machine else None
        return simulate(
            models,
            self.work.tasks(by_category=way[1] == "by_category"),
            self.timing,
            schedule=way[0],
            placement=way[2],
            start=self.configuration.execution.start,
            load_concurrency=self.load_concurrency,
            host=hosts or (lambda device: ""),
        )

    def compare_sizes(
        self,
        cluster: Cluster,
        imagined: ImaginedMachine | None,
        own: tuple[str, str, str],
        mine: Prediction,
        *,
        simulated: bool,
    ) -> Iterator[ClusterSize]:
        """Yields the cluster's sizes on which the models fit; `mine` is the prediction for all of its machines.

        Unless `simulated`, a smaller one takes as much more than its lower bound as the whole cluster does.
        """
        for nodes in cluster.sizes:
            seconds, whole = mine.makespan, simulated or nodes == cluster.nodes
            if nodes != cluster.nodes:
                fewer = replace(imagined or ImaginedMachine(), count=nodes * cluster.gpus, nodes=nodes)
                try:
                    models = _models(self.configuration, fewer, fewer)
                    if simulated:
                        seconds = self.simulate_way(models, fewer, own).makespan
                    else:
                        tasks = self.work.tasks(by_category=own[1] == "by_category")
                        over = mine.makespan / mine.lower_bound if mine.lower_bound else 1.0
                        seconds = over * lower_bound(models, tasks, self.timing, swap=own[2] == "swap")
                except ConfigurationError:  # too few devices for a replica
                    continue
            yield ClusterSize(nodes, nodes * cluster.gpus, seconds, whole, cluster.price)


def _describe_cards(configuration: Configuration) -> list[str]:
    """Returns what is known of closed models beforehand, and of their sale."""
    editors, every = configuration.edit_models.values(), configuration.models.values()
    folder = configuration.folder
    lines: list[str] = [Text("{}: {}", one.name, line) for one in editors for line in card_lines(card_of(one, folder))]
    return lines + [finding.text for one in every for finding in sale_findings(card_of(one, folder), one.name)]


def timing_of(durations: Mapping[str, Duration], often: Mapping[str, float] | None = None, **more: Any) -> Durations:
    """Returns the durations in the form that a simulation takes; `more` are further fields of it.

    `often` has by judge (its key) how many questions a pair comes to, which are units of their own; 1 if missing.
    """
    return Durations(
        {key: d.load for key, d in durations.items()},
        {key: d.unit / ((often or {}).get(key) or 1.0) for key, d in durations.items()},
        prepare={key: d.start for key, d in durations.items()},
        unload={key: d.unload for key, d in durations.items()},
        **more,
    )


def _askings(experiment: Experiment, work: ImaginedWork) -> list[str]:
    """Returns a line for each judge that is asked more than once about an edit, with the number of its answers, and
    for each that compares two, with the number of its battles."""
    readings, notes = experiment.readings, list[str]()
    for judge in experiment.judges:
        name, asked = judge.name, experiment.questions_per_edit.get(judge.name, 1.0)
        if judge.of_two:
            many = work.battles(name), work.work_counts.get(f"judge:{name}", (0, 0))[0]
            line = Text("{}: {:,} battles, so {:,.0f} answers", name, *many)
            if (rounds := judge.scoring.looks) > 1:
                line = Text("{}, if all {} rounds are asked", line, rounds)
            notes.append(line)
        elif readings * asked > 1:
            each = Text("{:.3g} questions x ", asked) if asked != 1 else ""
            read = pluralize(readings, "reading")
            notes.append(Text("{}: {}{}, so {:.3g} answers a pair", name, each, read, readings * asked))
    return notes + [
        Text("{}: some questions are asked only after an answer; this plan asks all of them", name)
        for name in sorted(experiment.conditional_judges)
    ]


def _words(configuration: Configuration, experiment: Experiment, work: ImaginedWork, seen: Results | None) -> list[str]:
    """Returns what the work comes to: controls, costs, tokens, and edits that are told a judge's words."""
    notes: list[str] = [work.controls.sentence] if work.controls.sentence else []
    notes += cost_words(prices_of(configuration), work.work_counts)
    if seen is not None:
        notes += _tokens(configuration, experiment, seen, work)
    if experiment.refinements:
        counts = work.edits, work.edits - work.n_refined_edits
        notes.append(Text("rounds and rewriting: {:,} edits in place of {:,}, if no round is stopped early", *counts))
    return notes


def _tokens(configuration: Configuration, experiment: Experiment, seen: Results, work: ImaginedWork) -> list[str]:
    """Returns a line for each judge whose server counted tokens in the seen run: how many this run would take."""
    notes = list[str]()
    for use in tokens(seen):
        if use.judge in configuration.judges:
            questions = sum(work.work_counts.get(f"judge:{use.judge}", (0, 0)))
            every = (*seen.judgements, *seen.battles, *seen.critiques)
            before = max(len(each.readings) for each in every if each.judge == use.judge) or 1
            times = questions / experiment.questions_per_edit.get(use.judge, 1.0) / before / use.judgements
            read, written = times * use.read, times * use.written
            cost = cost_of(configuration.judges[use.judge].parameters.get("price"), read, written)
            notes.append(Text("tokens, as in {}: {}", seen.name, token_words(use.judge, read, written, cost)))
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
        chosen = _imagine_places([*sections.values()], imagined)
    laid_out = zip(chosen, sections.items(), strict=True)
    return [build_model(its, key, section, configuration.folder) for its, (key, section) in laid_out]


def _places(configuration: Configuration, machine: Machine) -> list[tuple[Place, ...]]:
    """Returns the models' replicas on a machine. Raises `ConfigurationError` if a run would be refused for them."""
    context, chosen = Context(configuration, machine), list[tuple[Place, ...]]()
    for choice in context.devices.values():
        if isinstance(choice, ConfigurationError):
            raise choice
        chosen.append(choice[0])
    for finding in devices_of(context):
        if finding.stops:
            raise ConfigurationError(Text("{}; `plan --gpus N` simulates GPUs", finding.line))
    return chosen


def _imagine_places(sections: Sequence[ModelSection], machine: ImaginedMachine) -> list[tuple[Place, ...]]:
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
