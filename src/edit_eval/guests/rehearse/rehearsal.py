"""A rehearsal: a few samples through engine, pilot, placement and NVML as they are, with weights that may be made up.

What it writes lies in a folder of its own in the user's cache, is not described as a run is, so that no reader of
scores takes it for one, and is deleted in the end. Scores of random weights mean nothing, and none is kept.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack, cast

from edit_eval.config.loading import LoadingOptions, load_configuration
from edit_eval.config.schema import Configuration, Filters, ModelSection
from edit_eval.errors import ConfigurationError, EditEvalError, Stopped
from edit_eval.execution.advice.checks import CHECKS, Context, look
from edit_eval.execution.advice.planning import Plan
from edit_eval.execution.engine.interruption import announced_before_it_runs
from edit_eval.execution.machine.fitting import CONTEXT, Need, Wanted, need_of
from edit_eval.execution.session import Session, driver_of
from edit_eval.execution.spectator import with_guest
from edit_eval.experiment import Experiment, load_samples
from edit_eval.guests.rehearse.beside.rehearsed import FAULTS
from edit_eval.guests.rehearse.driver import RehearsalDriver
from edit_eval.guests.rehearse.stand_ins import StandIns, stand_ins
from edit_eval.preparation import plan
from edit_eval.records import Activity, Edit, Judgement, MemoryUse, Results, Sample, Status
from edit_eval.reporting.progress.live import progress_of
from edit_eval.run import Run
from edit_eval.scheduling.fleet import Replica
from edit_eval.store.run_folders import Place
from edit_eval.store.table import JudgementTable
from edit_eval.text import Text
from edit_eval.user_cache import cache_folder

ANSWERED = (Status.OK, Status.UNPARSEABLE, Status.OUT_OF_RANGE, Status.CUT_OFF, Status.UNDEFINED)
"""Statuses of what was answered, readable or not: nobody can read random words."""
NEAR = 0.05
"""How far measured memory may lie from what was predicted."""
FEWEST = 2
"""Samples, or one a device where there are more."""
SILENCE = 10.0
"""Seconds without a step after which a card that stops answering is given up, at least; and as a multiple of the
longest silence that was seen."""
SILENCES = 4.0


@dataclass(frozen=True)
class ModelRehearsed:
    """What came of one model. Memory is in bytes, times are in seconds; None is unknown."""

    model: str
    """`edit:NAME`, `judge:NAME`."""
    loads: str
    """`stand-in`, `weights on disk`, `as it is` (a class of the user's own), `server`."""
    layers_left_out: int
    devices: tuple[str, ...]
    doctor: int | None
    """What `doctor` says that its weights take on a device, before anything is made or loaded."""
    predicted: int | None
    """The same of what is rehearsed."""
    measured: int | None
    """What torch holds for its weights on one device."""
    predicted_peak: int | None
    peak: int | None
    """The most that torch has reserved on one GPU while it worked."""
    seen_loaded: int | None
    """By the driver (NVML), all processes together; on the CPU, the process's memory on the host."""
    seen_peak: int | None
    load: float | None
    """With the reading of files that have no bytes on disk, so without the disk's own time."""
    unit: float | None
    """An edit, or the judgement of one pair."""
    one_step: float | None
    """An edit of one step, from an edit's first and further steps."""
    steps: int | None
    batch: int | None
    """Pairs that a judge was asked at once."""
    misses: tuple[str, ...] = ()
    """What lies further from its prediction than it should."""


@dataclass(frozen=True)
class Digest:
    """Whether one edit, or one answer, is the same elsewhere."""

    model: str
    sample: str
    where: str
    """`cuda:1, a fresh process`; `alone in its batch`."""
    digest: str
    equal: bool


@dataclass(frozen=True)
class FaultRehearsed:
    """What the run made of one planted fault."""

    fault: str
    sample: str
    device: str
    outcome: str
    """What became of the edit or the judgement that it hit: `made`, `missing`, its status, or `not planted`."""
    made_on: str
    """The device on which it was made in the end."""
    notes: tuple[str, ...]
    """What the run said of it."""


@dataclass(frozen=True)
class Rehearsal:
    """All that was found."""

    configuration: str
    samples: tuple[str, ...]
    layers: int | None
    seconds: float
    models: tuple[ModelRehearsed, ...]
    digests: tuple[Digest, ...]
    plan: Plan | None
    faults: tuple[FaultRehearsed, ...] | None
    """None if none were asked for."""
    findings: tuple[Mapping[str, Any], ...]
    """What would not fit, or might not, and the setting that would."""
    failures: tuple[str, ...]
    """Why edits have failed, and judgements."""
    notes: tuple[str, ...]
    stopped: str = ""
    """Why it ended early; empty if it did not."""

    @property
    def reasons(self) -> list[str]:
        """Why the night should not begin like this, a line each; empty if nothing speaks against it."""
        found = [Text("{}: {}", one.model, miss) for one in self.models for miss in one.misses]
        found += [one["text"] for one in self.findings if one["stops"]]
        found += list(self.failures)
        found += [Text("{}: {}", one.fault, one.outcome) for one in self.faults or () if one.outcome not in ("made", "not planted")]
        return found + [self.stopped] * bool(self.stopped)

    def as_plain(self) -> dict[str, Any]:
        """Returns the document of `--json`."""
        return {
            "configuration": self.configuration,
            "samples": list(self.samples),
            "layers": self.layers,
            "seconds": round(self.seconds, 3),
            "models": [asdict(one) for one in self.models],
            "digests": [asdict(one) for one in self.digests],
            "plan": self.plan.as_plain() if self.plan else None,
            "faults": None if self.faults is None else [asdict(one) for one in self.faults],
            "findings": [dict(one) for one in self.findings],
            "failures": list(self.failures),
            "notes": list(self.notes),
            "stopped": self.stopped,
            "reasons": self.reasons,
        }


@announced_before_it_runs()
def rehearse(
    source: str | Path,
    *,
    minutes: float = 10.0,
    layers: int | None = None,
    samples: int | None = None,
    faults: bool = False,
    **options: Unpack[LoadingOptions],
) -> Rehearsal:
    """Rehearses a configuration on this machine; `options` as for `evaluate`.

    With `layers` every stack of layers is cut to so many. `samples` is how many are edited and judged. With `faults`
    some are planted, in a start of their own. After `minutes` the tasks in hand are finished, and the rest is left.
    Raises `ConfigurationError` and `BenchmarkError` before anything is loaded.
    """
    begin = time.monotonic()
    configuration = load_configuration(source, **options)
    if configuration.execution.driver != "local":
        raise ConfigurationError(
            Text(
                "execution.driver: {}: a rehearsal is of one machine; give `--set execution.driver=local`",
                configuration.execution.driver,
            )
        )
    with _folder() as folder, closing(driver_of(configuration)) as driver:
        machine = driver.machine()
        everything = load_samples(configuration).samples
        context = Context(configuration, machine)
        findings = [one for one in look(context, [check for check in CHECKS if check.room]) if one.level != "ok"]
        texts = [sample.instruction for sample in everything[:200]] + _prompts(configuration)
        made = stand_ins(configuration, folder / "models", layers, texts)
        count = samples or max(FEWEST, len({d for w in context.wanted if w.model.kind == "edit" for d in w.places}))
        chosen = _spread(Experiment.of(configuration, load_samples(configuration)).samples, count)
        asked = _rehearsed(made.configuration, chosen)
        left = _until(begin + 60 * minutes)

        first = _start(asked, folder / "first", made.filled, left)
        digests: list[Digest] = []
        planted: list[FaultRehearsed] | None = None
        again: _Start | None = None
        if not first.stopped and chosen:
            again = _start(_on_each_device(asked, first, chosen[:1]), folder / "again", made.filled, left)
            digests = _digests(first, again)
        if faults and not first.stopped:
            last = _start(_impatient(asked, first), folder / "faults", made.filled, left, FAULTS)
            planted = _made_of_faults(last)
        stopped = first.stopped or (again.stopped if again else "")
        return Rehearsal(
            configuration=configuration.name,
            samples=tuple(chosen),
            layers=layers,
            seconds=time.monotonic() - begin,
            models=tuple(_models(context.wanted, made, first)),
            digests=tuple(digests),
            plan=_planned(source, options, first),
            faults=None if planted is None else tuple(planted),
            findings=tuple(one.as_plain() for one in findings),
            failures=tuple(_failures(first)),
            notes=tuple(made.notes),
            stopped=stopped,
        )


# -- what is asked --


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder of this rehearsal's own, deleted afterwards; what one that was killed has left is deleted first.

    Not in the temporary folder, which may be in memory: there a hole that is read takes memory.
    """
    parent = cache_folder() / "rehearsals"
    for left in parent.glob("[0-9]*"):
        if not Path(f"/proc/{left.name}").exists():
            shutil.rmtree(left, ignore_errors=True)
    folder = parent / str(os.getpid())
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise ConfigurationError(
            Text("{} cannot be written ({}); set XDG_CACHE_HOME to a writable folder", parent, error.strerror)
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _spread(samples: Sequence[Sample], count: int) -> list[str]:
    """Returns the ids of `count` samples, evenly spread over the benchmark, none of which has a fault."""
    whole = [sample.id for sample in samples if not sample.fault and not sample.follows]
    count = min(count, len(whole))
    return [whole[number * len(whole) // count] for number in range(count)] if count else []


def _prompts(configuration: Configuration) -> list[str]:
    """Returns the texts that judges are shown: a tokenizer that knows their words counts them as a real one does."""
    found: list[str] = []
    waiting: list[Any] = [judge.protocol.parameters for judge in configuration.judges.values() if judge.protocol]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, Mapping):
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
    return found


def _rehearsed(configuration: Configuration, chosen: Sequence[str]) -> Configuration:
    """Returns the configuration with these samples alone, each edited and asked about once."""
    judges = {}
    for name, judge in configuration.judges.items():
        protocol = judge.protocol and judge.protocol.model_copy(update={"retries": 0})  # nothing will be readable
        judges[name] = judge.model_copy(update={"protocol": protocol})
    evaluation = {"edit_seeds": 1, "repeats": 1, "readings": 1, "controls": 0, "more_controls": ()}
    return configuration.model_copy(
        update={
            "judges": judges,
            "benchmark": configuration.benchmark.model_copy(update={"filters": Filters(sample_ids=tuple(chosen))}),
            "evaluation": configuration.evaluation.model_copy(update=evaluation),
            "trackers": {},
        }
    )


def _on_each_device(configuration: Configuration, first: _Start, chosen: Sequence[str]) -> Configuration:
    """Returns a configuration in which every edit model makes one edit on each of its places, in a new process."""
    edits = {}
    for name, section in configuration.edit_models.items():
        for place in first.places[f"edit:{name}"]:
            placement = section.placement.model_copy(update={"device_ids": place})
            new = f"{name} on {'+'.join(place)}"
            edits[new] = section.model_copy(update={"name": new, "placement": placement})
    judges = {}
    for name, judge in configuration.judges.items():
        alone = judge.placement.model_copy(update={"batch_size": 1})
        judges[name] = judge.model_copy(update={"placement": alone})
    filters = Filters(sample_ids=tuple(chosen))
    benchmark = configuration.benchmark.model_copy(update={"filters": filters})
    execution = configuration.execution.model_copy(update={"pilot": False})
    more = {"edit_models": edits, "judges": judges, "benchmark": benchmark, "execution": execution}
    return configuration.model_copy(update={**more, "rounds": None} if not configuration.rounds else more)


def _impatient(configuration: Configuration, first: _Start) -> Configuration:
    """Returns the configuration with timeouts that fit what was measured, so that silence is noticed soon."""

    def sooner(section: ModelSection) -> ModelSection:
        longest = max((m["seconds"] for m in first.marks if m["what"] in ("edit", "judge")), default=0.0)
        timeout = min(section.placement.timeout, max(SILENCE, SILENCES * longest))
        return section.model_copy(update={"placement": section.placement.model_copy(update={"timeout": timeout})})

    edits = {name: sooner(section) for name, section in configuration.edit_models.items()}
    return configuration.model_copy(update={"edit_models": edits})


# -- a start --


@dataclass
class _Start:
    """One start of the engine, and what came of it."""

    results: Results | None = None
    wanted: list[Wanted] = field(default_factory=list)
    places: dict[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    marks: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    stopped: str = ""

    @property
    def edits(self) -> Sequence[Edit]:
        return self.results.edits if self.results else ()

    @property
    def judgements(self) -> Sequence[Judgement]:
        return (*self.results.judgements, *self.results.battles) if self.results else ()

    @property
    def activities(self) -> Sequence[Activity]:
        return self.results.activities if self.results else ()

    @property
    def memory(self) -> Sequence[MemoryUse]:
        return self.results.memory if self.results else ()


class _Ears:
    """Keeps what the run says, and how workers have ended."""

    def __init__(self, notes: list[str]) -> None:
        self.notes = notes

    def note(self, text: str) -> None:
        self.notes.append(text)

    def replica(self, replica: Replica, state: str, message: Mapping[str, Any]) -> None:
        if state == "died" and message.get("reason"):
            where = "+".join(replica.place)
            self.notes.append(Text("{} on {}: {}", replica.model.title, where, str(message["reason"])))


class _Muted:
    """A display that is told no score: none of them means anything."""

    def __init__(self, display: Any) -> None:
        self._display = display

    def judgement(self, judgement: Judgement) -> None:
        """Shows nothing."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._display, name)


def _until(end: float) -> Callable[[], float]:
    return lambda: max(0.0, end - time.monotonic())


def _start(
    configuration: Configuration,
    folder: Path,
    filled: frozenset[str],
    left: Callable[[], float],
    faults: Sequence[str] = (),
) -> _Start:
    """Does all work of a configuration in a folder of its own; ends early when no time is left."""
    came = _Start()
    keys = {key for key in configuration.models if key.partition(" on ")[0] in filled}
    data = load_samples(configuration)
    experiment, place = Experiment.of(configuration, data), Place(folder)
    marks = folder.with_suffix(".marks")
    with closing(RehearsalDriver(driver_of(configuration), marks, frozenset(keys), faults)) as driver:
        session = Session(configuration, driver)
        try:
            layout = session.layout
            came.wanted = Context(configuration, driver.machine(), laid_out=layout.models).wanted
            came.places = {model.key: model.places for model in layout.models}
            session.refuse_what_cannot_load(place.expected(experiment, ()))
        except ConfigurationError as error:
            came.stopped = str(error)
            return came
        directory = place.begin()
        try:
            matrix, _ = place.recall(directory, experiment, ())
            table = JudgementTable(matrix)
            display: Any = _Muted(progress_of(configuration))
            spectator = with_guest(display, cast(Any, _Ears(came.notes)))
            with _alarm(left()):
                session.run(matrix, directory, spectator, data.samples, grace=10.0)
        except Stopped as error:
            came.stopped = (
                Text("its time is over; `--minutes` gives it more") if left() <= 0 else str(error)
            )
        except EditEvalError as error:
            came.stopped = str(error)
        finally:
            directory.end()
        came.results = Run.opened(directory, table).results
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


# -- what came of it --


def _models(doctor: Sequence[Wanted], made: StandIns, first: _Start) -> Iterator[ModelRehearsed]:
    """Yields what came of each model."""
    said = {wanted.model.key: need_of(wanted) for wanted in doctor}
    for wanted in first.wanted:
        key, need = wanted.model.key, need_of(wanted)
        marks = [mark for mark in first.marks if mark["model"] == key]
        yield _model(key, wanted, said.get(key), need, made, marks, first)


def _model(
    key: str,
    wanted: Wanted,
    said: Need | None,
    need: Need | None,
    made: StandIns,
    marks: Sequence[Mapping[str, Any]],
    first: _Start,
) -> ModelRehearsed:
    kind, _, name = key.partition(":")
    devices = tuple("+".join(place) for place in wanted.places)
    loaded = [mark for mark in marks if mark["what"] == "loaded"]
    works = [mark for mark in marks if mark["what"] in ("edit", "judge")]
    width = max((len(place) for place in wanted.places), default=1)
    measured = _most(sum(mark["weights"].values()) for mark in loaded)
    measured = None if measured is None else measured // width
    offloaded = wanted.section.placement.offload != "none" and wanted.on_gpu
    if offloaded:  # on the card there is only what computes
        measured = _most(mark["weights"].get("cuda", 0) for mark in loaded)
    peak = _most(mark["peak"] // width for mark in works if "peak" in mark)
    seen = [one for one in first.memory if one.model == name and one.kind == ("editing" if kind == "edit" else "judging")]
    loads = [a.end - a.begin for a in first.activities if a.kind == "loading" and a.model == name and not a.what]
    timed = [mark for mark in works if mark.get("nth") != 1] or works  # the first is slower: kernels are chosen
    unit = _middle([mark["seconds"] / mark.get("batch", 1) for mark in timed])
    step = _middle([mark["step"] for mark in timed if mark.get("step") is not None])
    steps = max((mark["steps"] for mark in timed if "steps" in mark), default=None)
    one = None
    if unit is not None and step is not None and steps:
        one = unit - (steps - 1) * step
    elif steps == 1:
        one = unit
    misses = []
    whole = not offloaded and made.loads.get(key) in ("stand-in", "weights on disk")
    if whole and need is not None and measured is not None:
        misses += _miss(Text("its weights"), measured, need.weights, both=True)
    if said is not None and need is not None and key not in made.cut and made.loads.get(key) == "stand-in":
        misses += _miss(Text("its weights as doctor has them"), need.weights, said.weights, both=True)
    if need is not None and peak is not None:
        misses += _miss(Text("the most it takes"), peak + CONTEXT, need.total, both=False)
    return ModelRehearsed(
        model=key,
        loads=made.loads.get(key, "as it is"),
        layers_left_out=made.cut.get(key, 0),
        devices=devices,
        doctor=said.weights if said else None,
        predicted=need.weights if need else None,
        measured=measured or None,
        predicted_peak=need.total if need else None,
        peak=peak,
        seen_loaded=_most(one.loaded for one in seen if one.loaded is not None),
        seen_peak=_most(one.peak for one in seen if one.peak is not None),
        load=_middle(loads),
        unit=unit,
        one_step=one,
        steps=steps or None,
        batch=max((mark["batch"] for mark in works if "batch" in mark), default=None),
        misses=tuple(misses),
    )


def _miss(what: str, measured: int, predicted: int, *, both: bool) -> list[str]:
    """Returns a line if the measured bytes lie further from the predicted ones than is allowed, in either direction."""
    off = measured / predicted - 1 if predicted else 0.0
    if off <= NEAR and (off >= -NEAR or not both):
        return []
    return [Text("{}: {:.2f} GiB, and {:.2f} were predicted ({:+.0%})", what, measured / 2**30, predicted / 2**30, off)]


def _most(values: Any) -> int | None:
    return max(values, default=None)


def _middle(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _digests(first: _Start, again: _Start) -> list[Digest]:
    """Compares the edits on each device with the first start's, and the answers about them."""
    found = []
    before = {(edit.edit_model, edit.sample_id): edit for edit in first.edits if edit.status is Status.OK}
    for edit in again.edits:
        name, _, place = edit.edit_model.rpartition(" on ")
        if edit.status is Status.OK and (name, edit.sample_id) in before:
            there = before[name, edit.sample_id]
            where = Text("{}, a fresh process", place)
            found.append(Digest(f"edit:{name}", edit.sample_id, where, edit.pixels, edit.pixels == there.pixels))
    said = {(j.edit_model, j.sample_id, j.judge): j for j in first.judgements}
    for answer in again.judgements:
        name = answer.edit_model.rpartition(" on ")[0]
        earlier = said.get((name, answer.sample_id, answer.judge))
        if earlier is not None and answer.answer and earlier.answer and answer.kind == earlier.kind == "edit":
            found.append(
                Digest(
                    f"judge:{answer.judge}",
                    answer.sample_id,
                    Text("alone in its batch, about the edit of {}", answer.edit_model.rpartition(" on ")[2]),
                    "",
                    answer.answer == earlier.answer,
                )
            )
    return found


def _failures(first: _Start) -> Iterator[str]:
    """Yields why edits have failed, and judgements for other reasons than that nobody can read random words."""
    seen = set()
    unread = (Status.PENDING, Status.SKIPPED, *ANSWERED)
    for one in (*first.edits, *first.judgements):
        if one.status in unread:
            continue
        reason = " ".join(one.reason.split())
        if reason not in seen:
            seen.add(reason)
            yield Text("{}: {}", one.sample_id, reason)


def _planned(source: str | Path, options: LoadingOptions, first: _Start) -> Plan | None:
    """Returns what `plan` makes of the measured durations for the whole benchmark."""
    if first.results is None or not any(mark["what"] != "loaded" for mark in first.marks):
        return None
    try:
        return plan(source, from_run=replace(first.results, name="rehearsal"), **options)
    except ConfigurationError:  # a model that nothing was seen of
        return None


def _made_of_faults(last: _Start) -> list[FaultRehearsed]:
    """Returns what the run has made of each planted fault."""
    found = []
    planted = {mark["fault"]: mark for mark in last.marks if mark["what"] == "planted"}
    for fault in FAULTS:
        if fault not in planted:
            found.append(FaultRehearsed(fault, "", "", "not planted", "", ()))
            continue
        mark = planted[fault]
        kind, _, name = mark["model"].partition(":")
        sample, good = mark["sample"], {Status.OK} if kind == "edit" else {*ANSWERED}
        hit: list[Edit | Judgement] = [e for e in last.edits if (e.sample_id, e.edit_model) == (sample, name)]
        if kind != "edit":
            hit = [j for j in last.judgements if (j.sample_id, j.judge) == (sample, name)]
        done = bool(hit) and {one.status for one in hit} <= good
        outcome = "made" if done else ", ".join(sorted({str(one.status) for one in hit})) or "missing"
        made_on = ", ".join(dict.fromkeys(one.device for one in hit)) if done else ""
        notes = tuple(dict.fromkeys(n for n in last.notes if mark["device"] in n or sample in n))
        found.append(FaultRehearsed(fault, sample, mark["device"], outcome, made_on, notes))
    return found
