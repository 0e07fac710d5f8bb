"""One start of a run: models are laid out on devices, what is left becomes tasks, the engine has them done."""

from __future__ import annotations

import contextlib
import os
import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from typing import Any, Protocol

from edit_eval.config.schema import Configuration, ModelSection
from edit_eval.execution.answer_limits import cut_off_sentences, short_limits
from edit_eval.execution.choices import choose
from edit_eval.execution.devices import gpus, places
from edit_eval.execution.driver import WorkerSpecification
from edit_eval.execution.engine import Engine, Limits
from edit_eval.execution.engine_contracts import Watcher
from edit_eval.execution.environments import interpreter
from edit_eval.execution.gauges import Gauges
from edit_eval.execution.interruption import Interruption
from edit_eval.execution.local import LocalDriver
from edit_eval.execution.obstacles import refuse
from edit_eval.execution.pilot import Pilot, PilotCells, choose_pilot
from edit_eval.execution.prediction import predict_rest
from edit_eval.execution.recorder import Audience, Recorder
from edit_eval.execution.space import what_is_short
from edit_eval.execution.workload import fill_work
from edit_eval.judges.answers import PARSER_VERSION
from edit_eval.records import Status
from edit_eval.scheduling.batches import cut_batches
from edit_eval.scheduling.estimates import Estimates, roughly
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.replicas import Replica
from edit_eval.scheduling.tasks import Model, Work
from edit_eval.store.matrix import Matrix
from edit_eval.store.provenance import ModelsSay, changed_since_the_last_start, several_kinds
from edit_eval.store.run_directory import CannotWrite, RunDirectory

RECORDED_LIBRARIES = ("edit-eval", "pillow", "numpy", "torch", "diffusers", "transformers", "accelerate", "safetensors")


class Spectator(Watcher, Audience, Protocol):
    """The live progress: sees how far the benchmark is read, what devices do and what is recorded."""

    def reading(self, items: int, read: int, size: int) -> None: ...
    def has_read(self) -> None: ...
    def begin(self, matrix: Matrix, policy: Policy, work: Work, estimates: Estimates) -> None: ...
    def end(self) -> None: ...


class Session:
    """Everything that one start needs besides the records."""

    def __init__(self, configuration: Configuration) -> None:
        """Lays the models out. Raises `ConfigurationError` for a device or an environment that is not there."""
        self.configuration = configuration
        self.models: list[Model] = []
        self.layout: dict[str, str] = {}
        """Why each model's devices were chosen."""
        self._sections: dict[str, ModelSection] = {}
        self._specifications: dict[tuple[str, tuple[str, ...]], WorkerSpecification] = {}
        for role, sections in (("edit_model", configuration.edit_models), ("judge", configuration.judges)):
            for section in sections.values():
                self._add(role, section)

    def _add(self, role: str, section: ModelSection) -> None:
        chosen, self.layout[f"{role} {section.name}"] = places(section)
        model = Model(section.name, "edit" if role == "edit_model" else "judge", chosen)
        self.models.append(model)
        self._sections[model.key] = section
        python = interpreter(section)
        for place in chosen:
            self._specifications[model.key, place] = WorkerSpecification(
                name=f"{model.kind}-{section.name}-{'+'.join(place).replace(':', '')}",
                model=model.key,
                role=role,
                devices=place,
                class_path=section.class_path,
                parameters=section.parameters,
                python=python,
                import_path=() if section.type else (str(self.configuration.folder),),
            )

    def refuse_what_cannot_load(self, matrix: Matrix) -> None:
        """Raises `ConfigurationError` where a model that has something left to do could not even be loaded here."""
        busy = {f"edit:{edit.edit_model}" for edit in matrix.edits if edit.status is Status.PENDING}
        busy |= {f"judge:{one.judge}" for one in matrix.judgements() if one.status is Status.PENDING}
        refuse([(self._sections[model.key], model.places) for model in self.models if model.key in busy])

    @property
    def devices(self) -> tuple[str, ...]:
        """All devices of all models, in order."""
        return tuple(dict.fromkeys(device for devices in self.places.values() for device in devices))

    @property
    def places(self) -> dict[str, tuple[str, ...]]:
        """Each model's devices, in order."""
        return {model.key: tuple(d for place in model.places for d in place) for model in self.models}

    def changes(self, directory: RunDirectory, *, strict: bool = False) -> list[str]:
        """Notes on what is not as at the run's last start, and on GPUs of several kinds.

        With `strict` a difference from the last start raises `RunDirectoryError` instead.
        """
        now = environment_record(self.places, self.layout)
        return [*changed_since_the_last_start(directory, now, strict=strict), *several_kinds(now)]

    def run(
        self,
        matrix: Matrix,
        directory: RunDirectory,
        spectator: Spectator,
        benchmark_categories: Sequence[str],
        *,
        strict_environment: bool = False,
        command: Sequence[str] = (),
    ) -> None:
        """Has everything done that is left. Raises `Stopped`, and `KeyboardInterrupt` when somebody wanted the end.

        What models say about their environments is compared with what they said at earlier starts; with
        `strict_environment` a difference ends the start with `RunDirectoryError`. `command` is what was typed.
        """
        execution = self.configuration.execution
        work, estimates = Work(), seen_before(matrix, directory)
        sizes = {name: section.placement.batch_size for name, section in self.configuration.judges.items()}
        cut = {size: cut_batches(benchmark_categories, size) for size in set(sizes.values())}
        batches = {name: cut[size] for name, size in sizes.items()}
        pilot = choose_pilot(matrix) if execution.pilot else PilotCells()
        choices = choose(self.configuration, self.models)
        policy = Policy(
            self.models,
            work,
            estimates,
            schedule=execution.schedule,
            start=execution.start,
            placement=choices.placement.value,
            load_concurrency=choices.load_concurrency.value,
        )

        def tell_prediction(all_work: bool) -> None:
            said = "every edit model and judge works" if all_work else "it is over"
            try:
                left = f"; about {roughly(predict_rest(self.models, work, estimates, policy))} left"
            except Exception:  # a sentence that cannot be said is no reason to end a run
                left = ""
            spectator.note(f"pilot: {said}{left}")
            for sentence in cut_off_sentences(matrix, pilot.judgements):
                spectator.note(f"pilot: {sentence}")

        recorder = Recorder(matrix, directory, work, Pilot(matrix, pilot, spectator, tell_prediction), PARSER_VERSION)
        fill_work(work, matrix, batches, by_category=execution.order == "by_category", pilot=pilot)
        if work.finished:
            return
        placements = {f"edit:{name}": s.placement for name, s in self.configuration.edit_models.items()}
        placements |= {f"judge:{name}": s.placement for name, s in self.configuration.judges.items()}
        revisions = {f"edit:{model.name}": model.revision for model in matrix.edit_models}
        revisions |= {f"judge:{judge.name}": judge.revision for judge in matrix.judges}
        recorder.event("devices", devices=list(self.devices))
        say = ModelsSay(directory, strict=strict_environment)
        environment = {**environment_record(self.places, self.layout), "choices": choices.as_plain()}
        environment = {"folder": os.getcwd(), **environment}  # relative paths count from there
        if command:
            environment = {"command": shlex.join(command), **environment}
        directory.write_environment(environment)
        for sentence in choices.sentences:
            spectator.note(sentence)
        for finding in short_limits(self.configuration) if pilot.judgements else ():
            spectator.note(f"{finding.text}; {finding.advice}")
        spectator.begin(matrix, policy, work, estimates)
        gauges = Gauges(policy.replicas, recorder.event)

        def observe(replica: Replica, what: str, message: Mapping[str, Any]) -> None:
            gauges(replica, what, message)
            if what == "loaded":
                for note in say.compare(replica.model.key, message["about"], "+".join(replica.place)):
                    spectator.note(note)

        with Interruption() as interruption:
            engine = Engine(
                LocalDriver(directory.path / "logs"),
                policy,
                work,
                recorder,
                spectator,
                {of: replace(found, revision=revisions[found.model]) for of, found in self._specifications.items()},
                {key: Limits(p.timeout, p.load_timeout) for key, p in placements.items()},
                offload={key: p.offload for key, p in placements.items()},
                interruption=interruption,
                observer=observe,
            )
            try:
                with gauges:
                    engine.run()
            except KeyboardInterrupt:
                raise Interrupted(interruption.signal or 2) from None
            except CannotWrite as error:
                number = getattr(error.__cause__, "errno", None)
                raise CannotWrite(f"{error}; {what_is_short(number, matrix, directory.path)}") from error
            finally:
                spectator.end()
                with contextlib.suppress(CannotWrite):  # it only adds to what the start has written
                    directory.write_environment({**environment, "models": engine.about, "unlike": say.unlike})


def seen_before(matrix: Matrix, directory: RunDirectory) -> Estimates:
    """The mean times that the records show: a run that goes on need not learn them anew."""
    estimates = Estimates()
    for edit in matrix.edits:
        if edit.status is Status.OK and edit.seconds:
            estimates.unit[f"edit:{edit.edit_model}"].add(edit.seconds)
    for number, answers in enumerate(matrix.answers):
        for answer in answers:
            if answer.seconds:
                estimates.unit[f"judge:{matrix.judges[matrix.place(number).judge].name}"].add(answer.seconds)
    for event in directory.read("events"):
        if event["event"] == "loaded":
            estimates.load[event["model"]].add(event["seconds"])
    return estimates


class Interrupted(KeyboardInterrupt):
    """Somebody wanted the end; `signal` is how. All that was done is kept."""

    def __init__(self, signal: int) -> None:
        super().__init__(f"signal {signal}")
        self.signal = signal


def environment_record(places: Mapping[str, Sequence[str]], layout: Mapping[str, str]) -> dict[str, Any]:
    """What a result depends on besides its key: versions and devices. Recorded, not hashed; holds no variables.

    `places` are each model's devices.
    """
    versions = {}
    for name in RECORDED_LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "host": platform.node(),
        "processors": os.cpu_count(),
        "libraries": versions,
        "devices": list(dict.fromkeys(device for devices in places.values() for device in devices)),
        "places": {model: list(devices) for model, devices in places.items()},
        "layout": dict(layout),
        "gpus": [{"name": g.name, "title": g.title, "uuid": g.uuid, "memory": g.memory} for g in gpus()],
    }
