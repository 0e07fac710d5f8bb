"""One start of a run: lays models out on devices, turns what is left into tasks, and has the engine do them."""

from __future__ import annotations

import contextlib
import os
import platform
import shlex
import signal
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

from edit_eval.config.components import named
from edit_eval.config.schema import Configuration
from edit_eval.endpoints.serving import ServerEnvironment
from edit_eval.errors import Stopped
from edit_eval.execution.checks import CheckContext, card_of, choose, refuse, sale_findings, short_limits, silent_judges
from edit_eval.execution.contract import Driver, Gpu, Machine, Specifications, WorkerSpecification
from edit_eval.execution.control_questions import ControlQuestions
from edit_eval.execution.doors import partition
from edit_eval.execution.engine.engine import LOAD_AGAIN, Engine
from edit_eval.execution.engine.interruption import ENDED, GRACE_SECONDS, Interruption
from edit_eval.execution.engine.pilot import Pilot, PilotCells, choose_pilot, cut_off_sentences
from edit_eval.execution.engine.purse import Purse
from edit_eval.execution.engine.recorder import Recorder
from edit_eval.execution.engine.workload import fill_work, left_to_do
from edit_eval.execution.machine.environments import interpreter
from edit_eval.execution.machine.gauges import Gauges
from edit_eval.execution.machine.places import Place, lost_to, model_on, places, places_on, said_of
from edit_eval.execution.machine.space import what_is_short
from edit_eval.execution.prices import are_sold, cost_words, prices_of, refuse_unbounded, submitted_words
from edit_eval.execution.spectator import Spectator
from edit_eval.experiment import Experiment
from edit_eval.json_values import JsonObject
from edit_eval.records import Sample, Status, model_title
from edit_eval.scheduling.batches import batches_of, companies
from edit_eval.scheduling.estimates import Estimates, roughly
from edit_eval.scheduling.fleet import Replica
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.simulation import Began, rest_of_a_run
from edit_eval.scheduling.tasks import Model, Work
from edit_eval.store.matrix import Matrix
from edit_eval.store.provenance import ModelsSay, changed_since_the_last_start, several_kinds, unlike_machines
from edit_eval.store.run_directory import CannotWrite, RunDirectory, Shard
from edit_eval.store.subjects.kinds import kinds
from edit_eval.store.table import JudgementTable
from edit_eval.text import Text


def driver_of(configuration: Configuration) -> Driver:
    """Returns the driver of the name that the configuration gives; nothing begins yet."""
    driver: Driver = named("driver", configuration.execution.driver).of(configuration)
    return driver


PATIENCE = 0.9
"""Share of `load_timeout` in which a server must be ready, so that the worker can still say what it waits for."""


@dataclass(frozen=True)
class Layout:
    """All models of a configuration on their devices."""

    models: list[Model] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)
    """Why each model's devices were chosen, by its key."""
    specifications: dict[tuple[str, Place], WorkerSpecification] = field(default_factory=dict)
    host_of: dict[str, str] = field(default_factory=dict)
    """The machine of each GPU in a cluster."""
    lost: dict[tuple[str, str], str] = field(default_factory=dict)
    """Of each model, the GPUs that it was to run on and that do not answer: (its key, the device) -> the sentence."""

    @property
    def devices(self) -> tuple[str, ...]:
        """All devices of all models, in order."""
        return tuple(dict.fromkeys(device for devices in self.places.values() for device in devices))

    @property
    def places(self) -> dict[str, tuple[str, ...]]:
        """Each model's devices, in order."""
        return {model.key: tuple(d for place in model.places for d in place) for model in self.models}


def grow(
    configuration: Configuration, specifications: Specifications, gpus: Sequence[Gpu]
) -> dict[tuple[str, Place], WorkerSpecification]:
    """Returns how to start models on GPUs that have joined: as elsewhere, and only models that take every GPU."""
    grown = {}
    for key, section in configuration.models.items():
        known = next(specification for (model, _), specification in specifications.items() if model == key)
        for place in places_on(section, gpus):
            grown[key, place] = replace(known, name=_log_name(key, place), devices=place)
    return grown


def _log_name(key: str, place: Place) -> str:
    return f"{key.replace(':', '-')}-{'+'.join(place).replace(':', '')}"


def lay_out(configuration: Configuration, machine: Machine) -> Layout:
    """Gives every model its devices. Raises `ConfigurationError` for a missing device or environment."""
    layout = Layout(host_of={gpu.name: gpu.node for gpu in machine.gpus()})
    for key, section in configuration.models.items():
        chosen, layout.reasons[key] = places(section, machine)
        lost = lost_to(section, machine)
        layout.lost.update(zip(((key, name) for name in lost), said_of(lost), strict=True))
        layout.models.append(model_on(chosen, key, section, configuration.folder))
        python, placement, server = interpreter(section), section.placement, None
        if section.served:  # the environment is the server's; the worker that queries it runs in ours
            python, server = "", ServerEnvironment(python, seconds=PATIENCE * placement.load_timeout)
        for place in chosen:
            layout.specifications[key, place] = WorkerSpecification(
                name=_log_name(key, place),
                model=key,
                devices=place,
                class_path=section.class_path,
                parameters=section.parameters,
                python=python,
                server=server,
                import_path=() if section.type else (str(configuration.folder),),
                offload=placement.offload,
                timeout=placement.timeout,
                load_timeout=placement.load_timeout,
            )
    return layout


RECORDED_LIBRARIES = ("edit-eval", "pillow", "numpy", "torch", "diffusers", "transformers", "accelerate", "safetensors")


class Session:
    """All that one start needs besides the records."""

    def __init__(self, configuration: Configuration, driver: Driver) -> None:
        self.configuration = configuration
        self._driver = driver

    @cached_property
    def layout(self) -> Layout:
        """Where the models run, laid out on first use: a finished run needs no devices.

        Raises `ConfigurationError` for a missing device or environment.
        """
        return lay_out(self.configuration, self._driver.machine())

    def refuse_what_cannot_load(self, matrix: Matrix, tell: Callable[[str], Any] = lambda note: None) -> None:
        """Raises `ConfigurationError` if a model with work left could not even be loaded here.

        While others hold the memory, or what has ended still frees it, waits a minute before `Stopped`.
        """
        made_with = matrix.experiment.made_with
        busy = {f"edit:{made_with(edit.edit_model)}" for edit in matrix.edits if edit.status is Status.PENDING}
        pending = filter(matrix.is_pending, matrix.open_judgements())
        busy |= {f"judge:{matrix.judges[matrix.cells.parts(number)[1]].name}" for number in pending}
        if busy:
            laid_out = [model for model in self.layout.models if model.key in busy]
            for wait in LOAD_AGAIN:
                try:
                    return refuse(CheckContext(self.configuration, self._driver.machine(), laid_out=laid_out))
                except Stopped as held:
                    tell(Text("{}; looking again in {:g} s", held, wait))
                    time.sleep(wait)
            refuse(CheckContext(self.configuration, self._driver.machine(), laid_out=laid_out))

    def refuse_judges(self, *, together: bool) -> None:
        """Does the same for all judges before they have work; `together` on devices that they share."""
        execution = self.configuration.execution.model_copy(update={"placement": "together" if together else "swap"})
        configuration = self.configuration.model_copy(update={"execution": execution})
        refuse(CheckContext(configuration, self._driver.machine(), laid_out=self.layout.models))

    def changes(self, directory: RunDirectory, *, strict: bool = False) -> list[str]:
        """Returns notes on differences from the run's last start, and on GPUs of several kinds.

        With `strict` a difference from the last start raises `RunDirectoryError` instead.
        """
        now = environment_record(self.layout, self._driver.machine())
        notes = [
            *changed_since_the_last_start(directory, now, strict=strict),
            *several_kinds(now),
            *unlike_machines(now),
        ]
        return notes + [note for host in self._driver.machine().hosts() for note in host.notes]

    def specifications(self, experiment: Experiment, logs: Path) -> dict[tuple[str, Place], WorkerSpecification]:
        """Returns how to start each model on each place; its output goes to the folder `logs`."""
        revisions = {f"edit:{experiment.made_with(model.name)}": model.revision for model in experiment.edit_models}
        revisions |= {
            f"edit:{name}": "" for name in experiment.finished
        }  # of pictures, which have digests of their own
        revisions |= {f"judge:{judge.name}": judge.model.revision for judge in experiment.judges}
        forms = {f"judge:{name}": of_judge for name, of_judge in experiment.forms.items()}
        return {
            of: replace(
                specification,
                revision=revisions[specification.model],
                logs=logs,
                forms=forms.get(specification.model, ()),
            )
            for of, specification in self.layout.specifications.items()
        }

    def _on_the_cpu(self, machine: Machine) -> Iterator[str]:
        """Yields a sentence for each model that runs on the CPU since no GPU is visible, where there may be some."""
        if machine.lost() or machine.fault() or machine.limit():
            for model in self.layout.models:
                section = self.configuration.models[model.key]
                if (
                    section.placement.device_ids == "auto"
                    and model.holds_device
                    and model.places[0][0].startswith("cpu")
                ):
                    yield Text("{}: {}", model.title, self.layout.reasons[model.key])

    def run(
        self,
        matrix: Matrix,
        directory: RunDirectory,
        spectator: Spectator,
        everything: Sequence[Sample],
        *,
        strict_environment: bool = False,
        command: Sequence[str] = (),
        shard: Shard | None = None,
        grace: float = GRACE_SECONDS,
    ) -> None:
        """Does all work that is left, or all of a `shard`.

        Raises `Stopped`, and `KeyboardInterrupt` when interrupted; tasks under way then have `grace` seconds. What
        models say about their environments is compared with earlier starts; with `strict_environment` a difference ends
        the start with `RunDirectoryError`. Batches are cut from `everything`: the whole benchmark in its order, before
        any filters. `command` is the command line.
        """
        execution, layout, machine = self.configuration.execution, self.layout, self._driver.machine()
        choices = choose(self.configuration, layout.models, machine)
        work, estimates = Work(), seen_before(matrix, directory)
        sizes = {name: section.placement.batch_size for name, section in self.configuration.judges.items()}
        batches = batches_of(sizes, everything)
        mine = None
        if shard is not None:
            of = partition().divide(matrix.experiment, list(sizes.values()), companies(everything), shard.count)
            mine = frozenset(position for position, its in enumerate(of) if its == shard.number)
            matrix.own = frozenset(matrix.samples[position].id for position in mine)
            spectator.note(Text("shard {}: {} of {} samples", shard, len(mine), len(of)))
        pilot = choose_pilot(matrix, mine) if execution.pilot else PilotCells()
        policy = Policy(
            layout.models,
            work,
            estimates,
            schedule=execution.schedule,
            start=execution.start,
            placement=choices.placement.value,
            load_concurrency=choices.load_concurrency.value,
            host=lambda device: layout.host_of.get(device, ""),
        )

        began = Began()

        def tell_prediction(all_work: bool) -> None:
            said = Text("every edit model and judge works") if all_work else Text("it is over")
            left = rest_of_a_run(work, estimates, policy, began.elapsed(engine.now)).seconds
            soon = "" if left is None else Text("; about {} left", roughly(left))
            spectator.note(Text("pilot: {}{}", said, soon))
            for sentence in cut_off_sentences(matrix, pilot.judgements):
                spectator.note(Text("pilot: {}", sentence))
            took = {name: size * (estimates.unit[f"judge:{name}"].value or 0.0) for name, size in sizes.items()}
            for finding in silent_judges(self.configuration, took):
                spectator.note(Text("pilot: {}", finding.line))

        def end(why: str) -> None:
            engine.begin_nothing_more(why)

        recorder = Recorder(matrix, directory, work, Pilot(matrix, pilot, spectator, tell_prediction, end), estimates)

        def fill(pilot: PilotCells = PilotCells(), opened: Container[int] | None = None) -> None:  # noqa: B008
            by_category = execution.order == "by_category"
            fill_work(work, matrix, batches, by_category=by_category, pilot=pilot, mine=mine, opened=opened)

        def look() -> None:
            opened = matrix.stages.open_stages()
            for name, kind in kinds().items():
                if more := [subject for subject in opened if subject in matrix.cells.of_kind(name)]:
                    spectator.note(kind.say_why(matrix, more))
            if opened:
                recorder.tell(opened)
                fill(opened=frozenset(opened))

        fill(pilot)
        work.before_the_end_of = look
        if work.finished:
            return
        specifications = self.specifications(matrix.experiment, directory.path / "logs")
        controls = matrix.list_open_subjects("control")
        its = [of for of in controls if any(map(matrix.is_pending, matrix.cells.judgements_of(of)))]
        if its and (sentence := ControlQuestions.of(matrix.experiment).sentence):
            spectator.note(sentence)
        prices = prices_of(self.configuration)
        refuse_unbounded(self.configuration, prices, sharded=shard is not None)
        for sentence in cost_words(prices, left_to_do(matrix)) if prices else ():
            spectator.note(sentence)
        for section in self.configuration.models.values():
            for finding in sale_findings(card_of(section, self.configuration.folder), section.name):
                if finding.level == "warning":
                    spectator.note(finding.text)

        def growth(gpus: Sequence[Gpu]) -> Specifications:
            layout.host_of.update({gpu.name: gpu.node for gpu in gpus})
            environment.update(machines_record(machine))
            return grow(self.configuration, specifications, gpus)

        recorder.event("devices", devices=list(layout.devices))
        say = ModelsSay(directory, strict=strict_environment)
        environment = {**environment_record(layout, machine), "choices": choices.as_plain()}
        environment = {"folder": os.getcwd(), **environment}  # relative paths count from there
        if command:
            environment = {"command": shlex.join(command), **environment}
        directory.write_environment(environment)
        for (key, device), sentence in layout.lost.items():
            where = Text("{} on {}", model_title(key), device)
            recorder.event("retired", replica=where, model=key, place=[device], reason=sentence)
        for sentence in (*dict.fromkeys(layout.lost.values()), *self._on_the_cpu(machine), *choices.at_start):
            spectator.note(sentence)
        for finding in short_limits(self.configuration, matrix.experiment):
            if pilot.judgements:
                spectator.note(finding.line)
        gauges = Gauges(policy.replicas, recorder.event, machine)
        spectator.begin(JudgementTable(matrix), policy, work, estimates, gauges.latest, directory)

        def observe(replica: Replica, what: str, message: Mapping[str, Any]) -> None:
            gauges(replica, what, message)
            if what == "started":
                began.tasks[message["task"]] = engine.now
            elif what == "loading":
                began.replicas[replica.number] = engine.now
            if what == "loaded":
                del began.replicas[replica.number]
                turn_is_over()
                for note in say.compare(replica.model.key, message["about"], "+".join(replica.place)):
                    spectator.note(note)

        at_once = execution.load_concurrency
        with (
            Interruption(grace) as interruption,
            contextlib.nullcontext(lambda: None)
            if shard is None or at_once == "auto"
            else partition().take_turn(directory.path, at_once, spectator.note, interruption) as turn_is_over,
        ):
            timeline = directory.timeline() if are_sold(self.configuration) else None
            before = timeline.spent if timeline else ()
            recorder.submitted_before |= timeline.submitted if timeline else {}
            for sentence in submitted_words(recorder.submitted_before, matrix.edits):
                spectator.note(sentence)
            identities = matrix.experiment.identities

            def bill(event: str, *, model: str, **of: Any) -> None:
                recorder.event(event, model=model, identity=identities.get(model, ""), **of)

            purse = Purse(prices, execution.max_cost, before, bill, spectator.note)
            engine = Engine(
                self._driver,
                policy,
                work,
                recorder,
                spectator,
                specifications,
                growth=growth,
                interruption=interruption,
                observer=observe,
                users=gauges.users,
                purse=purse,
            )
            try:
                with gauges:
                    engine.run()
            except KeyboardInterrupt:
                if interruption.signal == signal.SIGUSR1:
                    raise Stopped(ENDED) from None
                raise Interrupted(interruption.signal or 2) from None
            except CannotWrite as error:
                number = getattr(error.__cause__, "errno", None)
                raise CannotWrite(Text("{}; {}", error, what_is_short(number, matrix, directory.path))) from error
            finally:
                spectator.end()
                with contextlib.suppress(CannotWrite):  # it only adds to what the start has written
                    directory.write_environment({**environment, "models": engine.about, "unlike": say.unlike})


def seen_before(matrix: Matrix, directory: RunDirectory) -> Estimates:
    """Returns the mean times in the records, so that a resumed run need not learn them anew."""
    estimates = Estimates()
    for edit in matrix.edits:
        if edit.status is Status.OK and edit.seconds:
            estimates.unit[f"edit:{edit.edit_model}"].add(edit.seconds)
    for cell in {*range(len(matrix.cells))} - matrix.answers.free:
        for reply in matrix.replies(cell):
            if reply.seconds:
                estimates.unit[f"judge:{matrix.judge_of(cell).name}"].add(reply.seconds)
    for event in directory.read("events"):
        if event["event"] == "loaded":
            estimates.load[event["model"]].add(event["seconds"])
        elif event["event"] == "activity" and not event["what"]:
            estimates.saw(event["kind"], f"{event['role']}:{event['model']}", event["end"] - event["begin"])
    return estimates


class Interrupted(KeyboardInterrupt):
    """The run was interrupted by `signal`. All finished work is kept."""

    def __init__(self, signal: int) -> None:
        super().__init__(Text("signal {}", signal))
        self.signal = signal


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    """Returns the versions of the recorded libraries; cached, as each look-up takes milliseconds and a process does it
    twice a run."""
    versions = []
    for name in RECORDED_LIBRARIES:
        try:
            versions.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            continue
    return tuple(versions)


def environment_record(layout: Layout, machine: Machine) -> JsonObject:
    """Returns what results depend on besides their keys: versions and devices. Recorded, not hashed; no variables."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "host": platform.node(),
        "processors": os.cpu_count(),
        "libraries": dict(_versions()),
        "devices": list(layout.devices),
        "places": {model: list(devices) for model, devices in layout.places.items()},
        "layout": layout.reasons,
        **machines_record(machine),
    }


def machines_record(machine: Machine) -> JsonObject:
    """Returns the GPUs and, of a cluster, its machines."""
    seen = machine.gpus()
    gpus = [{"name": g.name, "title": g.title, "uuid": g.uuid, "memory": g.memory} for g in seen]
    hosts = [{"name": h.name, "devices": list(h.devices), **h.about, "notes": list(h.notes)} for h in machine.hosts()]
    return {"gpus": gpus, **({"machines": hosts} if hosts else {})}
