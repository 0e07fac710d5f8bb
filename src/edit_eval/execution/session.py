"""One start of a run: lays models out on devices, turns what is left into tasks, and has the engine do them."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from edit_eval.config.components import import_registered
from edit_eval.config.schema import Configuration
from edit_eval.errors import Stopped
from edit_eval.execution.checks import (
    CheckContext,
    card_of,
    choose,
    load_checks,
    refuse,
    sale_findings,
    short_limits,
    silent_judges,
)
from edit_eval.execution.contract import Driver, Gpu, Price, Specifications, WorkerSpecification
from edit_eval.execution.control_questions import ControlQuestions
from edit_eval.execution.doors import partition
from edit_eval.execution.engine.cost_budget import CostBudget
from edit_eval.execution.engine.engine import LOAD_AGAIN, Engine
from edit_eval.execution.engine.interruption import ENDED, GRACE_SECONDS, Interruption
from edit_eval.execution.engine.pilot import Pilot, PilotCells, choose_pilot, cut_off_sentences
from edit_eval.execution.engine.recorder import Recorder
from edit_eval.execution.engine.workload import count_remaining_work, fill_work
from edit_eval.execution.layout import Layout, environment_record, lay_out, machines_record, specify_joined_gpus
from edit_eval.execution.machine.gauges import Gauges
from edit_eval.execution.machine.places import Place
from edit_eval.execution.machine.space import what_is_short
from edit_eval.execution.prices import are_sold, cost_words, describe_submissions, prices_of, refuse_unbounded
from edit_eval.execution.spectator import Spectator
from edit_eval.experiment import Experiment
from edit_eval.records import Sample, Status, model_title
from edit_eval.scheduling.batches import batch_categories, batches_of
from edit_eval.scheduling.estimates import Estimates, roughly
from edit_eval.scheduling.fleet import Replica
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.tasks import Work
from edit_eval.store.matrix import Matrix
from edit_eval.store.provenance import (
    SelfDescriptionCheck,
    describe_environment_changes,
    several_kinds,
    unlike_machines,
)
from edit_eval.store.run_directory import CannotWrite, RunDirectory, Shard
from edit_eval.store.table import JudgementTable
from edit_eval.store.timeline import read_timeline
from edit_eval.text import Text


def driver_of(configuration: Configuration) -> Driver:
    """Returns the driver of the name that the configuration gives; nothing begins yet."""
    driver: Driver = import_registered("driver", configuration.execution.driver).from_configuration(configuration)
    return driver


class Session:
    """All that one start needs besides the records; the `command` line is recorded.

    Tasks under way when it is interrupted have `grace` seconds. If `strict_environment`, a difference of environments
    from earlier starts ends it with `RunDirectoryError`.
    """

    def __init__(
        self,
        configuration: Configuration,
        driver: Driver,
        *,
        strict_environment: bool = False,
        command: Sequence[str] = (),
        grace: float = GRACE_SECONDS,
    ) -> None:
        self.configuration, self.driver = configuration, driver
        self.strict, self.command, self.grace = strict_environment, command, grace

    @cached_property
    def layout(self) -> Layout:
        """Where the models run, laid out on first use: a finished run needs no devices.

        Raises `ConfigurationError` for a missing device or environment.
        """
        return lay_out(self.configuration, self.driver.machine())

    def refuse_what_cannot_load(self, matrix: Matrix, tell: Callable[[str], Any] = lambda note: None) -> None:
        """Raises `ConfigurationError` if a model with work left could not even be loaded here.

        While others hold the memory, or what has ended still frees it, waits a minute before `Stopped`.
        """
        made_with = matrix.experiment.base_model_of
        busy = {f"edit:{made_with(edit.edit_model)}" for edit in matrix.edits if edit.status is Status.PENDING}
        pending = filter(matrix.is_pending, range(matrix.cells.judgements))
        busy |= {f"judge:{matrix.judges[matrix.cells.judgement_parts(number)[1]].name}" for number in pending}
        if busy and not load_checks():
            tell(Text("memory, weights, environments and keys are not checked: nothing is installed that does"))
        if busy:
            laid_out = [model for model in self.layout.models if model.key in busy]
            for wait in LOAD_AGAIN:
                try:
                    return refuse(CheckContext(self.configuration, self.driver.machine(), laid_out=laid_out))
                except Stopped as held:
                    tell(Text("{}; looking again in {:g} s", held, wait))
                    time.sleep(wait)
            refuse(CheckContext(self.configuration, self.driver.machine(), laid_out=laid_out))

    def refuse_judges(self, *, together: bool) -> None:
        """Does the same for all judges before they have work; `together` on devices that they share."""
        execution = self.configuration.execution.model_copy(update={"placement": "together" if together else "swap"})
        configuration = self.configuration.model_copy(update={"execution": execution})
        refuse(CheckContext(configuration, self.driver.machine(), laid_out=self.layout.models))

    def changes(self, directory: RunDirectory) -> list[str]:
        """Returns notes on differences from the run's last start, and on GPUs of several kinds."""
        now = environment_record(self.layout, self.driver.machine())
        notes = [
            *describe_environment_changes(directory, now, strict=self.strict),
            *several_kinds(now),
            *unlike_machines(now),
        ]
        return notes + [note for host in self.driver.machine().hosts() for note in host.notes]

    def specifications(self, experiment: Experiment, logs: Path) -> dict[tuple[str, Place], WorkerSpecification]:
        """Returns how to start each model on each place; its output goes to the folder `logs`."""
        revisions = {f"edit:{experiment.base_model_of(model.name)}": model.revision for model in experiment.edit_models}
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

    def run(
        self,
        matrix: Matrix,
        directory: RunDirectory,
        spectator: Spectator,
        everything: Sequence[Sample],
        shard: Shard | None = None,
    ) -> None:
        """Does all work that is left, or all of a `shard`.

        Raises `Stopped`, and `KeyboardInterrupt` when interrupted. What models say about their environments is compared
        with earlier starts. Batches are cut from `everything`: the whole benchmark in its order, before any filters.
        """
        start = RunStart(self, matrix, directory, spectator, everything, shard)
        if not start.work.is_finished:
            start.run()


class RunStart:
    """Work is laid out when it is made; `run` has the engine do it."""

    def __init__(
        self,
        session: Session,
        matrix: Matrix,
        directory: RunDirectory,
        spectator: Spectator,
        everything: Sequence[Sample],
        shard: Shard | None,
    ) -> None:
        """`everything` is the whole benchmark in its order, before any filters: batches are cut from it."""
        # What is given.
        self.configuration, self.layout = session.configuration, session.layout
        self.shard, self._session, self._interruption = shard, session, Interruption(session.grace)
        self.driver, self.machine = session.driver, session.driver.machine()
        self.matrix, self.directory, self.spectator = matrix, directory, spectator
        # The work, and who does what next.
        self.choices = choose(self.configuration, self.layout.models, self.machine)
        self.work, self.estimates = Work(), read_estimates(matrix, directory)
        self._sizes = {name: section.placement.batch_size for name, section in self.configuration.judges.items()}
        self._deferring = {model.key for model in self.layout.models if model.defers}
        alone = {name: 1 for name in self._sizes if f"judge:{name}" in self._deferring}
        self._batches = batches_of(self._sizes | alone, everything)
        self._mine = None if shard is None else self._take_share(shard, everything)
        self._pilot = choose_pilot(matrix, self._mine) if self.configuration.execution.pilot else PilotCells()
        self.policy = self._make_policy()
        # What is recorded and told.
        self._end_turn = _nothing
        self._models_say = SelfDescriptionCheck(directory, strict=session.strict)
        watched = Pilot(matrix, self._pilot, spectator, self._tell_prediction, self._end)
        self.recorder = Recorder(matrix, directory, self.work, watched, self.estimates, self._deferring)
        self._fill(self._pilot)
        # A function: predictions copy the work, and with a bound method all that is here.
        self.work.before_the_end_of = lambda: self._add_round()

    # -- the work --

    def _take_share(self, shard: Shard, everything: Sequence[Sample]) -> frozenset[int]:
        """Returns the positions of the shard's own samples."""
        sizes, groups = list(self._sizes.values()), batch_categories(everything)
        of = partition().divide(self.matrix.experiment, sizes, groups, shard.count)
        mine = frozenset(position for position, its in enumerate(of) if its == shard.number)
        self.matrix.own = frozenset(self.matrix.samples[position].id for position in mine)
        self.spectator.note(Text("shard {}: {} of {} samples", shard, len(mine), len(of)))
        return mine

    def _make_policy(self) -> Policy:
        execution, host_of = self.configuration.execution, self.layout.host_of
        return Policy(
            self.layout.models,
            self.work,
            self.estimates,
            schedule=execution.schedule,
            start=execution.start,
            placement=self.choices.placement.value,
            load_concurrency=self.choices.load_concurrency.value,
            host=lambda device: host_of.get(device, ""),
        )

    def _fill(self, pilot: PilotCells, added: frozenset[int] | None = None) -> None:
        by_category = self.configuration.execution.order == "by_category"
        fill_work(
            self.work, self.matrix, self._batches, by_category=by_category, pilot=pilot, mine=self._mine, added=added
        )

    def _add_round(self) -> None:
        """Adds the work of another round of battles, if those before leave something open."""
        if added := self.matrix.unfold_more():
            most = max(judge.scoring.looks for judge in self.matrix.judges)
            turn = 1 + self.matrix.cells.subject(added[-1]).round
            self.spectator.note(Text("round {} of {} at most: some edit models cannot be told apart yet", turn, most))
            self.recorder.tell(added)
            self._fill(PilotCells(), frozenset(added))

    # -- the pilot's end --

    def _tell_prediction(self, all_work: bool) -> None:
        note = self.spectator.note
        said = Text("every edit model and judge works") if all_work else Text("it is over")
        batches = any(map(self.work.units_left, self._deferring))
        left = self.spectator.time_left()
        soon = "" if left is None or batches else Text("; about {} left", roughly(left))
        note(Text("pilot: {}{}", said, soon))
        if batches:
            note(Text("what is asked in batches is answered within a day; `status` says what waits where"))
        for sentence in cut_off_sentences(self.matrix, self._pilot.judgements):
            note(Text("pilot: {}", sentence))
        unit = self.estimates.unit
        took = {name: size * (unit[f"judge:{name}"].value or 0.0) for name, size in self._sizes.items()}
        for finding in silent_judges(self.configuration, took):
            note(Text("pilot: {}", finding.line))

    def _end(self, why: str) -> None:
        self.engine.begin_nothing_more(why)

    # -- the engine, and what it asks and tells --

    @cached_property
    def engine(self) -> Engine:
        """Made when it is first asked for, of all that stands above and below."""
        return Engine(
            self.driver,
            self.policy,
            self.work,
            self.recorder,
            self.spectator,
            self._specifications,
            growth=self._grow,
            interruption=self._interruption,
            observer=self._observe,
            users=self._gauges.users,
            purse=self._purse,
        )

    @cached_property
    def _specifications(self) -> Specifications:
        return self._session.specifications(self.matrix.experiment, self.directory.path / "logs")

    @cached_property
    def _gauges(self) -> Gauges:
        return Gauges(self.policy.replicas, self.recorder.event, self.machine)

    @cached_property
    def _prices(self) -> dict[str, Price]:
        return prices_of(self.configuration)

    @cached_property
    def _purse(self) -> CostBudget:
        """What may be spent, with what earlier starts have spent and bought."""
        timeline = read_timeline(self.directory) if self._deferring or are_sold(self.configuration) else None
        self.recorder.submitted_before |= timeline.submitted if timeline else {}
        for sentence in describe_submissions(self.recorder.submitted_before, self.matrix.edits):
            self.spectator.note(sentence)
        limit, before = self.configuration.execution.max_cost, timeline.spent if timeline else ()
        return CostBudget(self._prices, limit, before, self._bill, self.spectator.note)

    @cached_property
    def _environment(self) -> dict[str, Any]:
        """What is recorded of the start; GPUs that join are added."""
        environment = {**environment_record(self.layout, self.machine), "choices": self.choices.as_plain()}
        environment = {"folder": os.getcwd(), **environment}  # relative paths count from there
        command = self._session.command
        return {"command": shlex.join(command), **environment} if command else environment

    def _grow(self, gpus: Sequence[Gpu]) -> Specifications:
        self.layout.host_of.update({gpu.name: gpu.node for gpu in gpus})
        self._environment.update(machines_record(self.machine))
        return specify_joined_gpus(self.configuration, self._specifications, gpus)

    def _bill(self, event: str, *, model: str, **of: Any) -> None:
        identity = self.matrix.experiment.identities.get(model, "")
        self.recorder.event(event, model=model, identity=identity, **of)

    def _observe(self, replica: Replica, what: str, message: Mapping[str, Any]) -> None:
        self._gauges(replica, what, message)
        if what == "loaded":
            self._end_turn()
            for note in self._models_say.compare(replica.model.key, message["about"], "+".join(replica.place)):
                self.spectator.note(note)

    # -- one start --

    def run(self) -> None:
        """Does the work. Raises as `Session.run`."""
        for note in self._costs():
            self.spectator.note(note)
        self.recorder.event("devices", devices=list(self.layout.devices))
        self.directory.write_environment(self._environment)
        for (key, device), sentence in self.layout.lost.items():
            where = Text("{} on {}", model_title(key), device)
            self.recorder.event("retired", replica=where, model=key, place=[device], reason=sentence)
        for note in self._oddities():
            self.spectator.note(note)
        table, latest = JudgementTable(self.matrix), self._gauges.latest
        self.spectator.begin(table, self.policy, self.work, self.estimates, latest, self.directory)
        with self._interruption, self._turn() as self._end_turn:
            self._run_engine()

    def _turn(self) -> contextlib.AbstractContextManager[Callable[[], None]]:
        """Waits until fewer other shards of the run are loading than may at once; gives what ends the turn."""
        at_once = self.configuration.execution.load_concurrency
        if self.shard is None or at_once == "auto":
            return contextlib.nullcontext(_nothing)
        return partition().take_turn(self.directory.path, at_once, self.spectator.note, self._interruption)

    def _run_engine(self) -> None:
        engine = self.engine
        try:
            with self._gauges:
                engine.run()
        except KeyboardInterrupt:
            if self._interruption.signal == signal.SIGUSR1:
                raise Stopped(ENDED) from None
            raise Interrupted(self._interruption.signal or 2) from None
        except CannotWrite as error:
            number = getattr(error.__cause__, "errno", None)
            raise CannotWrite(Text("{}; {}", error, what_is_short(number, self.matrix, self.directory.path))) from error
        finally:
            self.spectator.end()
            said = self._models_say
            with contextlib.suppress(CannotWrite):  # it only adds to what the start has written
                self.directory.write_environment({**self._environment, "models": engine.about, "unlike": said.unlike})

    def _costs(self) -> Iterator[str]:
        """Yields what controls and paid models come to. Raises `ConfigurationError` if a limit could not be kept."""
        matrix, configuration = self.matrix, self.configuration
        controls = matrix.cells.subjects_of("control")
        its = [of for of in controls if any(map(matrix.is_pending, matrix.cells.judgements_of(of)))]
        if its and (sentence := ControlQuestions.from_experiment(matrix.experiment).sentence):
            yield sentence
        refuse_unbounded(configuration, self._prices, sharded=self.shard is not None)
        yield from cost_words(self._prices, count_remaining_work(matrix)) if self._prices else ()
        for section in configuration.models.values():
            for finding in sale_findings(card_of(section, configuration.folder), section.name):
                if finding.level == "warning":
                    yield finding.text

    def _oddities(self) -> Iterator[str]:
        """Yields what is not as one would expect: lost GPUs, models on the CPU, settings held back, short limits."""
        yield from dict.fromkeys(self.layout.lost.values())
        yield from self._explain_cpu_use()
        yield from self.choices.start_sentences
        for finding in short_limits(self.configuration, self.matrix.experiment) if self._pilot.judgements else ():
            yield finding.line

    def _explain_cpu_use(self) -> Iterator[str]:
        """Yields a sentence for each model that runs on the CPU since no GPU is visible, where there may be some."""
        if self.machine.lost() or self.machine.fault() or self.machine.limit():
            for model in self.layout.models:
                automatic = self.configuration.models[model.key].placement.device_ids == "auto"
                if automatic and model.holds_device and model.places[0][0].startswith("cpu"):
                    yield Text("{}: {}", model.title, self.layout.reasons[model.key])


def _nothing() -> None:
    """Nobody waits for this load."""


def read_estimates(matrix: Matrix, directory: RunDirectory) -> Estimates:
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
            estimates.add_span(event["kind"], f"{event['role']}:{event['model']}", event["end"] - event["begin"])
    return estimates


class Interrupted(KeyboardInterrupt):
    """The run was interrupted by `signal`. All finished work is kept."""

    def __init__(self, signal: int) -> None:
        super().__init__(Text("signal {}", signal))
        self.signal = signal
