"""One start of the engine in a rehearsal: all work of a configuration, in a folder that is no run's."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from edit_eval.asking import load_samples, make_experiment
from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError, EditEvalError, Stopped
from edit_eval.execution.contract import Driver, Event, Machine, WorkerSpecification
from edit_eval.execution.session import Session, driver_of
from edit_eval.execution.spectator import Spectator
from edit_eval.plugins.preparation.checks import Context
from edit_eval.plugins.preparation.fitting import PlacedModel
from edit_eval.plugins.rehearse.in_worker.rehearsed import Mark
from edit_eval.records import Edit, Judgement, Results, model_title
from edit_eval.reporting.language import translate
from edit_eval.run import Run
from edit_eval.scheduling.fleet import Replica
from edit_eval.store.run_folders import Place
from edit_eval.store.table import JudgementTable
from edit_eval.text import Text
from edit_eval.workers.messages import Message

# -- the driver of a rehearsal: the configured one, whose workers load the model within `Rehearsed` --

REHEARSED = "edit_eval.plugins.rehearse.in_worker.rehearsed:Rehearsed"


@dataclass
class RehearsalDriver:
    """Starts what it is told to start, rehearsed."""

    driver: Driver
    marks: Path
    """File for what workers measure, a JSON object a line."""
    filled: frozenset[str]
    """The models (keys) whose weights are holes."""
    faults: Sequence[str] = ()
    """What is planted, each once (`found.FAULTS`)."""
    batches: Mapping[str, int] = field(default_factory=dict)
    """By judge (key), how many pairs it is asked at once: its first batch is made as large with neighbours."""
    loads: dict[str, int] = field(default_factory=dict)
    """How many workers were started, by model."""

    @classmethod
    def from_configuration(cls, configuration: Configuration) -> Self:
        """Not made from a configuration: `execution.driver` names the one that it is about."""
        raise NotImplementedError

    def machine(self) -> Machine:
        """Returns the machine of the driver within."""
        return self.driver.machine()

    def start(self, worker: int, specification: WorkerSpecification) -> None:
        """Starts the same worker with the model within ours."""
        self.loads[specification.model] = self.loads.get(specification.model, 0) + 1
        folder = self.marks.with_suffix(".planted")
        folder.mkdir(exist_ok=True)
        inner: Mapping[str, Any] = {
            "class_path": specification.class_path,
            "path": list(specification.import_path),
            "parameters": dict(specification.parameters),
            "model": specification.model,
            "fill": specification.model in self.filled,
            "marks": str(self.marks),
            "batch": self.batches.get(specification.model, 1),
            "faults": {"folder": str(folder), "names": list(self.faults), "place": list(specification.devices)},
        }
        rehearsed = replace(specification, class_path=REHEARSED, parameters=inner, revision="")
        self.driver.start(worker, rehearsed)

    def submit(self, worker: int, message: Message) -> None:
        """Passes it on."""
        self.driver.submit(worker, message)

    def poll(self, seconds: float) -> tuple[float, Sequence[Event]]:
        """Passes it on."""
        return self.driver.poll(seconds)

    def kill(self, worker: int) -> None:
        """Passes it on."""
        self.driver.kill(worker)

    def close(self) -> None:
        """Passes it on."""
        self.driver.close()


NO_BATCHES: Mapping[str, int] = {}
GRACE = 10.0
"""Seconds that tasks under way have when the time is over."""


@dataclass
class RehearsedStart:
    """One start of the engine, and what came of it."""

    results: Results | None = None
    wanted: list[PlacedModel] = field(default_factory=list)
    places: dict[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)
    answered: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The sample and edit model of each answer, by its key."""
    notes: list[str] = field(default_factory=list)
    retired: dict[str, list[str]] = field(default_factory=dict)
    """By reason, the workers that were given up."""
    stopped: str = ""

    @property
    def edits(self) -> Sequence[Edit]:
        return self.results.edits if self.results else ()

    @property
    def judgements(self) -> Sequence[Judgement]:
        return self.results.coverage_judgements if self.results else ()


class _Listener(Spectator):
    """Tells on stderr how far it is, without a score, and keeps what the run says."""

    def __init__(self, came: RehearsedStart) -> None:
        self.notes, self._retired = came.notes, came.retired
        self._count = {"edit": 0, "judge": 0}

    def note(self, text: str) -> None:
        """Keeps and prints it."""
        self.notes.append(text)
        tell(text)

    def replica(self, replica: Replica, state: str, message: Mapping[str, Any]) -> None:
        """Tells of loads, and keeps why a worker has ended that was not told to."""
        place = "+".join(replica.place)
        where = Text("{} on {}", model_title(replica.model.key.removesuffix(f" on {place}")), place)
        if state == "loaded":
            tell(Text("loaded: {}", where))
        elif state == "retired":
            self._retired.setdefault(message["reason"], []).append(where)
        elif state == "died" and message.get("reason"):
            self.note(Text("{}: {}", where, str(message["reason"])))

    def edit(self, edit: Edit) -> None:
        """Counts it."""
        self._one_more("edit", Text("edited: {}", edit.sample_id))

    def judgement(self, judgement: Judgement) -> None:
        """Counts it; its score is nobody's business."""
        self._one_more("judge", Text("judged: {}", judgement.sample_id))

    def _one_more(self, kind: str, text: str) -> None:
        self._count[kind] += 1
        tell(Text("{} ({})", text, self._count[kind]))


def tell(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {translate(text)}", file=sys.stderr, flush=True)


def start(
    configuration: Configuration,
    folder: Path,
    filled: frozenset[str],
    left: Callable[[], float],
    faults: Sequence[str] = (),
    batches: Mapping[str, int] = NO_BATCHES,
) -> RehearsedStart:
    """Does all work of a configuration in a folder of its own; ends early when no time is left.

    `faults` and `batches` as in `RehearsalDriver`.
    """
    came = RehearsedStart()
    keys = {key for key in configuration.models if key.partition(" on ")[0] in filled}
    data = load_samples(configuration)
    experiment, place = make_experiment(configuration, data), Place(folder)
    marks = folder.with_suffix(".marks")
    with closing(RehearsalDriver(driver_of(configuration), marks, frozenset(keys), faults, batches)) as driver:
        session = Session(configuration, driver, grace=GRACE)
        try:
            layout = session.layout
            came.wanted = Context(configuration, driver.machine(), laid_out=layout.models).models
            came.places = {model.key: model.places for model in layout.models}
            session.refuse_what_cannot_load(place.preview_matrix(experiment, ()))
        except (ConfigurationError, Stopped) as error:
            came.stopped = str(error)
            return came
        directory = place.begin()
        try:
            matrix, _ = place.load_matrix(directory, experiment, (), lambda *_: 0)
            try:
                with _alarm(left()):
                    session.run(matrix, directory, _Listener(came), data.samples)
            except EditEvalError as error:
                over = isinstance(error, Stopped) and left() <= 0
                came.stopped = Text("its time is over; `--minutes` gives it more") if over else str(error)
            asked = [cell for cell in range(len(matrix.cells)) if matrix.can_be_asked(cell)]
            came.answered = {matrix.key(cell): matrix.address(cell)[:2] for cell in asked}
            came.results = Run.from_directory(directory, JudgementTable(matrix)).results
        finally:
            directory.end()
    with suppress(FileNotFoundError):
        came.marks = [json.loads(line) for line in marks.read_text("utf-8").splitlines()]
    return came


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Has the engine finish what is under way after so long, as SIGUSR1 does."""
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGUSR1))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
