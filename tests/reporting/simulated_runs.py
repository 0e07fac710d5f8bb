"""Whole runs for the live progress to watch: the real engine, recorder and store on simulated devices and time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from edit_eval import records
from edit_eval.benchmarks.contract import SUBSETS
from edit_eval.config.identity import Identity
from edit_eval.config.recorded import ProtocolSection
from edit_eval.errors import Stopped
from edit_eval.execution.contract import Meter, WorkerSpecification
from edit_eval.execution.engine.engine import Engine
from edit_eval.execution.engine.pilot import PilotCells, choose_pilot
from edit_eval.execution.engine.recorder import Recorder
from edit_eval.execution.engine.workload import fill_work
from edit_eval.execution.spectator import Spectator
from edit_eval.experiment import Experiment
from edit_eval.plugins.progress.lines import BenchmarkProgress, Display, EventLine, Line
from edit_eval.plugins.progress.state import ProgressState
from edit_eval.protocols.asked import AskedJudge, make_protocol
from edit_eval.records import Judgement, Picture, Sample, Scale, Status
from edit_eval.reporting.live import Snapshot
from edit_eval.scheduling.batches import cut_batches
from edit_eval.scheduling.estimates import Estimates
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.tasks import Model, Work
from edit_eval.store.matrix import Matrix
from edit_eval.store.run_directory import RunDirectory
from edit_eval.store.table import JudgementTable
from edit_eval.workers.messages import Message
from simulated_driver import Fate, SimulatedDriver

STEPS = 10
TEN = Scale(lowest=0.0, highest=10.0)


PROTOCOLS = {"rubric": "edit_eval.protocols.rubric:Rubric", "viescore": "edit_eval.plugins.published.gedit:VIEScore"}


@cache
def asked_judge(name: str, protocol: str = "rubric", **parameters: Any) -> AskedJudge:
    """A judge that is asked by a protocol of ours, and once more after an answer that cannot be read."""
    section = ProtocolSection(type=protocol, class_path=PROTOCOLS[protocol], parameters=parameters, retries=1)
    made, texts = make_protocol(section, Path())
    return AskedJudge(Identity(name, "testing", ""), section, texts, made, reads=("sample_id", "question"))


def samples(count: int, categories: int = 2) -> list[Sample]:
    """Samples of the first categories in turn."""
    names = list(SUBSETS)[:categories]
    made = []
    for index in range(count):
        category = names[index * categories // count]
        name = f"{index:05d}_{SUBSETS[category]}_hard"
        source = Picture(path=f"/sources/{index}.png", digest=f"{index:064x}")
        pictures, instruction = {"source": source}, "Make it rain."
        made.append(Sample(id=name, index=index, category=category, pictures=pictures, instruction=instruction))
    return made


def a_judgement(
    score: float | None,
    *,
    status: Status = Status.OK,
    reason: str = "",
    answer: str = "",
    sample: str = "s",
    category: str = "c",
) -> Judgement:
    """One that a rubric's question and one answer came to."""
    scores = {} if score is None else {"score": score}
    reading = records.Reading(values=scores, status=status, reason=reason, text=answer, asked=1)
    return Judgement(
        sample_id=sample,
        category=category,
        edit_model="m",
        judge="j",
        edit_seed=0,
        repeat=0,
        headline="score",
        status=status,
        reason=reason,
        scores=scores,
        missing={} if scores else {"score": (status, reason)},
        readings=({"score": reading},),
    )


class AnsweringDriver(SimulatedDriver):
    """A simulated driver whose workers answer what real ones would, and report steps."""

    def __init__(self, answers: Mapping[str, str], **times: Any) -> None:
        super().__init__(**times)
        self._answers = answers

    @property
    def now(self) -> float:
        """Simulated seconds."""
        return self._now

    def submit(self, worker: int, message: Message) -> None:
        if message["do"] == "run" and message["kind"] == "edit":
            made = {"pixels": message["sample"], "width": 64, "height": 48, "file_bytes": 9, "flags": []}
            message = {**message, "results": [made]}
        elif message["do"] == "run":
            results = [{"text": self._answer(request)} for request in message["requests"]]
            message = {**message, "results": results}
        super().submit(worker, message)

    def _answer(self, request: Mapping[str, Any]) -> str:
        """That of the question, or of the sample, or else of all."""
        sample = request["sample_id"]
        names = (f"{sample}#{request['question']}", sample, f"#{request['question']}")
        return next((self._answers[name] for name in names if name in self._answers), "Score: 6.500")

    def _later(self, seconds: float, worker: int, message: Message) -> None:
        if message["event"] == "done" and self._workers[worker].model.startswith("edit:"):
            for step in range(1, STEPS + 1):
                told = {"event": "step", "task": message["task"], "step": step, "steps": STEPS}
                super()._later(seconds * step / STEPS, worker, told)
        super()._later(seconds, worker, message)


class SimulatedRun:
    """One run of `count` samples; `play` has it watched from beginning to end."""

    def __init__(
        self,
        folder: Path,
        *,
        count: int = 12,
        devices: tuple[str, ...] = ("cuda:0", "cuda:1"),
        schedule: str = "pull",
        by_category: bool = False,
        pilot: bool = False,
        batch_size: int = 2,
        edit_models: tuple[str, ...] = ("qwen_image_edit",),
        judges: tuple[str, ...] = ("qwen3_vl",),
        protocols: Mapping[str, str] | None = None,
        edit_seeds: int = 1,
        repeats: int = 1,
        controls: int = 0,
        fates: Mapping[str, Fate] | None = None,
        answers: Mapping[str, str] | None = None,
        load: Callable[[str, str], float | Fate] | None = None,
        edit_seconds: float = 40.0,
        judge_seconds: float = 3.0,
    ) -> None:
        self.matrix = Matrix(
            Experiment(
                samples=tuple(samples(count)),
                edit_models=tuple(Identity(name, "testing", "") for name in edit_models),
                judges=tuple(asked_judge(name, (protocols or {}).get(name, "rubric")) for name in judges),
                edit_seeds=edit_seeds,
                repeats=repeats,
                control_samples=controls,
            )
        )
        self.meters: dict[str, Meter] = {}
        places = tuple((device,) for device in devices)
        models = [Model(name, "edit", places) for name in edit_models] + [Model(n, "judge", places) for n in judges]
        self.work, self.estimates = Work(), Estimates()
        self.policy = Policy(models, self.work, self.estimates, schedule=schedule)
        fates = fates or {}

        def task(model: str, message: Message) -> Fate:
            if model.startswith("edit:"):
                return fates.get(message["sample"], Fate(edit_seconds))
            return Fate(judge_seconds * len(message["requests"]))

        def loading(model: str, device: str) -> float:
            return 30.0 if model.startswith("edit:") else 60.0

        self.driver = AnsweringDriver(answers or {}, load=load or loading, task=task, prepare=lambda m, d: 5.0)
        self.directory = RunDirectory(folder)
        self.directory.begin()
        (folder / "config").mkdir(exist_ok=True)  # by which a folder is known as a run
        self.directory.sync = lambda: None  # hours pass in a moment, a disk is slow
        self._batches = {name: cut_batches([s.category for s in self.matrix.samples], batch_size) for name in judges}
        self._by_category = by_category
        self._pilot = choose_pilot(self.matrix) if pilot else PilotCells()
        self._specifications = {
            (model.key, place): WorkerSpecification(model.name, model.key, place, "", timeout=500.0, load_timeout=500.0)
            for model in models
            for place in places
        }

    def play(self, spectator: Spectator) -> None:
        """Runs to the end."""
        recorder = Recorder(self.matrix, self.directory, self.work, spectator)
        fill_work(self.work, self.matrix, self._batches, by_category=self._by_category, pilot=self._pilot)
        spectator.begin(
            JudgementTable(self.matrix), self.policy, self.work, self.estimates, self.meters, self.directory
        )
        try:
            Engine(self.driver, self.policy, self.work, recorder, spectator, self._specifications).run()
        except Stopped:
            pass
        finally:
            spectator.end()
            self.directory.end()


class Recording:
    """A display that keeps what it is shown."""

    interval = 0.01

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.snapshots: list[Snapshot] = []
        self.readings: list[BenchmarkProgress | None] = []
        self.closed = False

    def reading(self, so_far: BenchmarkProgress, now: float) -> None:
        self.readings.append(so_far)

    def has_read(self) -> None:
        self.readings.append(None)

    def write(self, lines: Any) -> None:
        self.lines.extend(lines)

    def draw(self, lines: Any, snapshot: Snapshot) -> None:
        self.lines.extend(lines)
        self.snapshots.append(snapshot)

    def close(self, lines: Any, snapshot: Snapshot) -> None:
        self.draw(lines, snapshot)
        self.closed = True

    def of(self, kind: type[Any]) -> list[Any]:
        """All lines of a kind."""
        return [line for line in self.lines if isinstance(line, kind)]

    def said(self, tag: str) -> list[str]:
        """The words of all lines with a tag."""
        return [line.words for line in self.of(EventLine) if line.tag == tag]


class Watched:
    """A spectator without a thread: shows everything at once, in simulated time; or only its lines, and the end."""

    def __init__(self, run: SimulatedRun, display: Display, only_the_end: bool = False) -> None:
        self.run, self.display = run, display
        self._only_the_end = only_the_end
        self.state: ProgressState | None = None

    def reading(self, items: int, read: int, size: int) -> None: ...
    def has_read(self) -> None: ...

    def begin(
        self,
        table: JudgementTable,
        policy: Policy,
        work: Work,
        estimates: Estimates,
        meters: Mapping[str, Meter],
        directory: RunDirectory,
    ) -> None:
        self.state = ProgressState(table, policy, work, estimates, lambda: self.run.driver.now, meters)
        self.tick(0.0)

    def tick(self, now: float) -> None:
        assert self.state is not None
        if self._only_the_end and now:
            self.display.write(self.state.take_lines())
        else:
            self.display.draw(self.state.take_lines(), self.state.snapshot())

    def end(self) -> None:
        assert self.state is not None
        self.display.close(self.state.take_lines(), self.state.snapshot())

    def __getattr__(self, told: str) -> Any:
        return getattr(self.state, told)
