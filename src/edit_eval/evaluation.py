"""The story on one page: a benchmark's samples are edited, the edits are judged, the judgements become numbers.

from edit_eval import evaluate
for result in evaluate("config.yaml").summary["results"]:
    print(result["edit_model"], result["judge"], result["overall"]["mean"])
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from edit_eval.benchmarks.known_sources import remember_sources
from edit_eval.benchmarks.selection import refuse_bad, refuse_nothing, select
from edit_eval.config.components import NotHere, import_class, own_source, staying_here
from edit_eval.config.faults import did_you_mean, explain
from edit_eval.config.loading import load_configuration
from edit_eval.config.schema import Configuration, EvaluationSection, ModelSection, ProtocolSection, Section
from edit_eval.errors import ConfigurationError, RunDirectoryError, Stopped, Unscored
from edit_eval.execution import examination
from edit_eval.execution.findings import Finding
from edit_eval.execution.planning import Plan, make_plan
from edit_eval.execution.run_folders import RUNS, Made, choose_place, named_place
from edit_eval.execution.session import Session, Spectator
from edit_eval.protocols.rubric_score import RubricScore
from edit_eval.records import Results, Sample, Status, counted
from edit_eval.rubrics.loading import load_rubrics, refuse_unknown
from edit_eval.statistics.comparison import Comparison
from edit_eval.statistics.people import people_agreement, read_people_file
from edit_eval.statistics.summary import judges_document, summarise
from edit_eval.store.comparable import compare_runs
from edit_eval.store.keys import Identity
from edit_eval.store.matrix import Matrix
from edit_eval.store.provenance import mixed_environments
from edit_eval.store.reuse import reuse
from edit_eval.store.run_directory import RunDirectory
from edit_eval.workers.model_class import key_parameters, make_parameters

S = TypeVar("S", bound=Section)
MOST_JUDGEMENTS = 5_000_000
"""Of a run; all of them are in memory at once, a kilobyte each."""

READ_IN_SILENCE = 1.0
"""Seconds for which a benchmark is read before anything is said of it."""


def evaluate(
    configuration: str | Path | Mapping[str, Any] | Configuration,
    *,
    run_dir: str | Path | None = None,
    reuse_from: Sequence[str | Path] = (),
    retry: Collection[str] = (),
    verify: bool = False,
    strict_environment: bool = False,
    spectator: Spectator | None = None,
    report: bool = True,
    command: Sequence[str] = (),
    **options: Any,
) -> Run:
    """Runs an evaluation, or goes on with one, and returns it with its numbers.

    `configuration` is a YAML file's path, its content as a mapping, or what `load_configuration` returned; `options`
    are those of `load_configuration` (`overrides`, `devices`, `categories`, `limit`, ...). With a `run_dir` that exists
    the run goes on. Without one the newest run under `runs/` of this configuration that is the same evaluation goes on,
    and a finished one is given back as it is; where there is none a new folder is made, which takes over from earlier
    runs of this configuration what has equal keys. `retry` names statuses (`edit_failed`, `judge_error`, ...) whose
    failures are forgotten and tried again. With `verify` every source that the benchmark keeps is read, and every
    picture that is there is decoded and compared with what was recorded; one that differs is made again. With
    `strict_environment` a run that goes on with other libraries or GPUs than at its last start is refused, and one
    whose replicas are not alike ended; otherwise that is noted. With `report` the report is drawn at the end. `command`
    is the command line that was typed, for the records. What happens is shown on stderr as `execution.progress` says, or
    told to a `spectator` instead.

    Raises `ConfigurationError`, `BenchmarkError` and `RunDirectoryError` before anything is loaded or written, and
    `Stopped` or `RunInterrupted` when the run ended early, `NotDrawn` when only its report is missing: all that was
    done is kept.
    """
    if sys.getfilesystemencoding() != "utf-8":
        raise ConfigurationError(
            f"this Python writes file names in {sys.getfilesystemencoding()}, and a sample's id may be any text; "
            "start it with PYTHONUTF8=1"
        )
    again = failures(retry)
    unsaid: tuple[str, ...] = ()
    if not isinstance(configuration, Configuration):  # whoever has loaded it has its notes, too
        configuration = load_configuration(configuration, **options)
        unsaid = tuple(configuration.notes)
    spectator = spectator or progress_of(configuration)
    for note in unsaid:
        spectator.note(note)
    altered = verify_sources(configuration) if verify else ""
    samples = load_samples(configuration, spectator)
    chosen = choose_samples(configuration, samples)
    protocol, chosen = checked_protocol(configuration, samples, chosen)
    refuse_nothing(chosen)
    session = Session(configuration)
    sources = [RunDirectory.existing(Path(folder)) for folder in reuse_from]

    def everything_pending() -> Matrix:
        return new_matrix(configuration, chosen, protocol)

    matrix = everything_pending()
    plain, made_of = configuration.as_plain(), resolved(matrix, protocol)
    now = Made.of(plain, made_of, chosen)
    if run_dir is None:
        place = choose_place(configuration.name, now, everything_pending, again.__contains__)
        sources += [RunDirectory(folder) for folder in place.sources]
    else:
        place = named_place(Path(run_dir), everything_pending, again.__contains__)
    if not sources:
        session.refuse_what_cannot_load(place.recalled.matrix if place.recalled else matrix)

    directory = place.begin()
    try:
        for note in place.notes(directory, now):
            spectator.note(note)
        # What is there already counts first, then what other runs have.
        matrix, noticed = place.recall(directory, matrix, again.__contains__, verify=verify)
        for note in (altered, *noticed) if altered else noticed:
            spectator.note(note)
        for source in sources:
            spectator.note(reuse(source, directory, matrix))
        if sources:
            session.refuse_what_cannot_load(matrix)
        if directory.damage.note:
            spectator.note(directory.damage.note)
        spectator.note(what_is_left(matrix))
        run = Run(directory.path)
        # A finished run that is asked for once more is not touched, down to the times of its files.
        described = directory.says(plain, made_of, chosen)
        if pending(matrix):
            for note in session.changes(directory, strict=strict_environment):
                spectator.note(note)
        if pending(matrix) or not described:
            directory.write_configuration(plain, made_of)
            directory.write_samples(chosen)
        if pending(matrix):
            # A judge's batches are cut from the whole benchmark's order, whatever the filters left of it.
            categories = [sample.category for sample in samples]
            session.run(
                matrix, directory, spectator, categories, strict_environment=strict_environment, command=command
            )
        elif described and run.page.exists():
            report = False
        if report:
            remember_sources(chosen)
            run.draw()
    except Stopped as stopped:
        stopped.run_dir = directory.path
        raise
    except KeyboardInterrupt as interruption:
        raise RunInterrupted(directory.path, int(getattr(interruption, "signal", 2))) from None
    finally:
        directory.end()
    return run


def progress_of(configuration: Configuration) -> Spectator:
    """The live progress that the configuration asks for."""
    from edit_eval.reporting.live import live_progress  # here, since it takes a while and only some verbs need it

    return live_progress(configuration.execution.progress)


class RunInterrupted(KeyboardInterrupt):
    """Somebody wanted the end of the run in `run_dir`; `signal` is how. All that was done is kept."""

    def __init__(self, run_dir: Path, signal: int) -> None:
        super().__init__(f"signal {signal}")
        self.run_dir = run_dir
        self.signal = signal


def examine(source: str | Path | None = None, *, run_dir: Path = RUNS, **options: Any) -> list[Finding]:
    """Looks at this machine, and at whether a configuration would run on it; `options` as for `evaluate`."""
    if source is None:
        return examination.examine()
    try:
        configuration = load_configuration(source, **options)
    except ConfigurationError as error:
        try:  # where only the benchmark's file is missing, all else can be looked at
            configuration = load_configuration(source, **options, data_may_be_missing=True)
        except ConfigurationError:
            return examination.examine(refused=error)
        return examination.examine(configuration, load_protocol=load_protocol, refused=error, run_folder=run_dir)
    return examination.examine(
        configuration,
        load_samples=lambda it: load_samples(it, progress_of(it)),
        check_rubrics=checked_protocol,
        load_protocol=load_protocol,
        run_folder=run_dir,
    )


def plan(
    source: str | Path,
    *,
    gpus: int | None = None,
    gpu_memory: float | None = None,
    samples: int | None = None,
    from_run: Path | None = None,
    **options: Any,
) -> Plan:
    """Predicts how long an evaluation takes under every schedule; `options` as for `evaluate`. Nothing is loaded.

    As if there were `gpus` GPUs, with `gpu_memory` GiB free on each, and `samples` samples, where given; with `samples`
    the benchmark's file may be missing.
    """
    configuration = load_configuration(source, **options, data_may_be_missing=samples is not None)
    benchmark = configuration.benchmark
    seen = Run(from_run).results if from_run is not None else None
    categories = chosen = None
    if samples is None or Path(benchmark.parameters.get("data_path", "")).exists():
        everything = load_samples(configuration, progress_of(configuration))
        categories = [sample.category for sample in everything]
        _, checked = checked_protocol(configuration, everything, choose_samples(configuration, everything))
        chosen = [sample.index for sample in checked if not sample.fault]
    return make_plan(configuration, categories, chosen, gpus=gpus, gpu_memory=gpu_memory, samples=samples, seen=seen)


def compare(
    runs: Sequence[str | Path | Run], *, detect: float | None = None, margin: float | None = None
) -> Comparison:
    """Compares runs, or the edit models within one, by every judge that they have in common.

    With `detect` it also says how many samples would show a true difference of that many points. Its `gate` says
    whether any is worse than the first; with `margin`, whether all are shown to be less than that many points worse.
    Raises `ConfigurationError` for runs that cannot be compared, with what differs, and `RunDirectoryError` for a
    folder that is no run.
    """
    made = [run if isinstance(run, Run) else Run(Path(run)) for run in runs]
    bounds = made[0].bounds if made else {}
    return compare_runs([run.results for run in made], detect=detect, margin=margin, **bounds)


# -- what a run is made of --


@staying_here()
def load_samples(configuration: Configuration, spectator: Spectator | None = None) -> tuple[Sample, ...]:
    """All samples of the benchmark. Each source image was seen to be whole, or its sample has a fault.

    Where that takes long the `spectator` is told how far it is.
    """
    benchmark = _benchmark(configuration)
    if spectator is None:
        return tuple(benchmark.samples())
    samples, soon = [], time.monotonic() + READ_IN_SILENCE
    try:
        for sample in benchmark.samples():
            samples.append(sample)
            if time.monotonic() >= soon:
                spectator.reading(len(samples), *getattr(benchmark, "position", (0, 0)))
    finally:
        spectator.has_read()
    return tuple(samples)


def verify_sources(configuration: Configuration) -> str:
    """Has the benchmark read the sources that it keeps; one line where some were not what was recorded."""
    verify = getattr(_benchmark(configuration), "verify", None)
    return "" if verify is None else str(verify() or "")


def _benchmark(configuration: Configuration) -> Any:
    section = configuration.benchmark
    benchmark_class = import_class("benchmark", section.class_path, configuration.folder)
    return benchmark_class(make_parameters(benchmark_class, section.parameters))


def choose_samples(configuration: Configuration, samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """Those that pass the benchmark's filters. Raises `ConfigurationError` for a filter that no sample passes."""
    section = configuration.benchmark
    return select(samples, **section.filters.model_dump(), source=section.source)


def load_protocol(configuration: Configuration) -> RubricScore:
    """How the judge is asked: the packaged rubrics, or the configuration's own prompts in their place."""
    rubrics = load_rubrics(configuration.prompts, configuration.benchmark.language)
    protocol = configuration.protocol
    return RubricScore(rubrics, configuration.benchmark.language, protocol.answer, protocol.retries)


def checked_protocol(
    configuration: Configuration, samples: Sequence[Sample], chosen: Sequence[Sample]
) -> tuple[RubricScore, tuple[Sample, ...]]:
    """How the judge is asked; and the chosen samples, of which those that have no rubric are bad ones from here on.

    Raises `BenchmarkError` that names every bad sample of the benchmark (with `on_bad_sample: error`), and
    `ConfigurationError` where `prompts:` names a category that there is not. A sample that is skipped needs no rubric.
    """
    protocol, section = load_protocol(configuration), configuration.benchmark
    refuse_unknown(configuration.prompts, (sample.category for sample in samples))
    seen = tuple(sample if sample.fault else replace(sample, fault=protocol.fault(sample)) for sample in chosen)
    if section.on_bad_sample == "error":
        refuse_bad({sample.index: sample for sample in (*samples, *seen)}.values(), section.source)
    return protocol, seen


def new_matrix(configuration: Configuration, samples: Sequence[Sample], protocol: RubricScore) -> Matrix:
    """Every edit and judgement that the configuration asks for, with nothing done yet."""
    evaluation, folder = configuration.evaluation, configuration.folder
    each = evaluation.edit_seeds * evaluation.repeats * len(configuration.edit_models) * len(configuration.judges)
    if len(samples) * each > MOST_JUDGEMENTS:
        raise ConfigurationError(
            f"{len(samples):,} samples and {each:,} judgements of each make {len(samples) * each:,} judgements; a run "
            f"has {MOST_JUDGEMENTS:,} at most (evaluation.repeats, evaluation.edit_seeds, benchmark.limit)"
        )
    return Matrix(
        samples,
        [identity(section, folder, "edit_model") for section in configuration.edit_models.values()],
        [identity(section, folder, "judge") for section in configuration.judges.values()],
        protocol,
        edit_seeds=evaluation.edit_seeds,
        repeats=evaluation.repeats,
    )


@staying_here()
def identity(section: ModelSection, folder: Path, kind: Any) -> Identity:
    """What of a model enters the keys of its results: type, parameters, and its revision.

    The revision is what its class says (`revision(parameters)`); of a class of the user's own that says nothing, the
    SHA-256 of its source file, so that changed code makes its results anew.
    """
    type_name, revision, parameters = section.type or section.class_path, "", section.parameters
    file, _, class_name = section.class_path.rpartition(":")
    if file.endswith(".py"):  # wherever it lies; what it says decides the result
        type_name = f"{Path(file).name}:{class_name}"
    source = None if section.type else own_source(section.class_path, folder)
    if source is not None:
        revision = hashlib.sha256(source.read_bytes()).hexdigest()
    try:
        model_class = import_class(kind, section.class_path, folder)
        parameters = key_parameters(model_class, parameters)
        if hasattr(model_class, "revision"):
            revision = str(model_class.revision(make_parameters(model_class, section.parameters)))
    except NotHere:
        pass  # a class that only its own environment can import
    except ConfigurationError as error:  # it begins with the name of a parameter, of which only we know the place
        key, _, text = str(error).partition(": ")
        if key not in section.names:
            raise
        raise ConfigurationError(f"{section.named(key)}: {text}") from error
    return Identity(section.name, type_name, revision, parameters, section.seed)


def resolved(matrix: Matrix, protocol: RubricScore) -> dict[str, Any]:
    """What the configuration came to: with it the records can be read without any model or benchmark."""
    rubrics = {name: {**asdict(rubric), "criteria": list(rubric.criteria)} for name, rubric in protocol.rubrics.items()}
    return {
        "edit_models": [asdict(model) for model in matrix.edit_models],
        "judges": [asdict(judge) for judge in matrix.judges],
        "rubrics": rubrics,
    }


def failures(names: Collection[str]) -> frozenset[Status]:
    """The statuses that are to be tried again. Raises `ConfigurationError` for a name that is no failure's."""
    known = {s.value: s for s in Status if s not in (Status.OK, Status.PENDING, Status.SKIPPED)}
    for name in names:
        if name not in known:
            meant = did_you_mean(name, known) or f"; there are: {', '.join(known)}"
            raise ConfigurationError(f"--retry {name}: no failure has that status{meant}")
    return frozenset(known[name] for name in names)


def pending(matrix: Matrix) -> int:
    """How many judgements have not come to an end."""
    return sum(judgement.status is Status.PENDING for judgement in matrix.judgements())


def what_is_left(matrix: Matrix) -> str:
    """One line: what is reused, and what is to be done."""
    edits = [e for e in matrix.edits if e.status is not Status.SKIPPED]
    kept = sum(e.status is not Status.PENDING for e in edits)
    judgements = [j for j in matrix.judgements() if j.status is not Status.SKIPPED]
    judged = sum(j.status is not Status.PENDING for j in judgements)
    if judged == len(judgements):
        every = "all " if len(judgements) > 1 else ""
        there = f"{counted(len(edits), 'edit')} and {counted(len(judgements), 'judgement')}"
        return f"nothing to do: {every}{there} are there"
    kept_text = f"{kept} of {len(edits)} edits and {judged} of {len(judgements)} judgements are kept; " if kept else ""
    left = counted(len(edits) - kept, "edit"), counted(len(judgements) - judged, "judgement")
    return f"{kept_text}to do: {', '.join(left)}"


# -- a run, read from its records --


@dataclass(frozen=True)
class Run:
    """An evaluation in its run directory. Everything is read from the records alone."""

    path: Path

    @cached_property
    def _directory(self) -> RunDirectory:
        """The one through which all of it is read, so that all damage is counted in one place."""
        return RunDirectory.existing(self.path)

    @cached_property
    def matrix(self) -> Matrix:
        """Every edit and judgement. Raises `RunDirectoryError` for a folder that is no run."""
        directory, evaluation = self._directory, self._section("evaluation", EvaluationSection)
        made = Made.recorded(directory)
        if made is None:
            raise RunDirectoryError(f"{self.path} has no configuration; `edit-eval run CONFIG` writes it")
        asked = self._section("protocol", ProtocolSection)
        protocol = RubricScore(made.rubrics, made.language, asked.answer, asked.retries)
        matrix = Matrix(
            made.samples,
            made.edit_models,
            made.judges,
            protocol,
            edit_seeds=evaluation.edit_seeds,
            repeats=evaluation.repeats,
        )
        matrix.recall(directory.read("edits"), directory.read("judgements"), self.path, lambda status: False)
        return matrix

    @cached_property
    def results(self) -> Results:
        """All records, as statistics and reports take them."""
        directory, matrix = self._directory, self.matrix
        timeline = directory.timeline()
        configuration = directory.configuration()
        return Results(
            name=self.path.resolve().name,
            directory=str(self.path),
            samples=matrix.samples,
            edits=tuple(matrix.edits),
            judgements=tuple(matrix.judgements()),
            edit_models=tuple(model.name for model in matrix.edit_models),
            judges=tuple(judge.name for judge in matrix.judges),
            activities=timeline.activities,
            wall_seconds=timeline.wall_seconds,
            devices=timeline.devices,
            memory=timeline.memory,
            utilisation=timeline.utilisation,
            configuration=configuration,
            resolved=directory.resolved(),
            environment=directory.environment(),
            notes=tuple(filter(None, (directory.damage.note, *mixed_environments(directory)))),
        )

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The numbers, as in `summary.json`."""
        return summarise(self.results, min_coverage=self._min_coverage, **self.bounds)

    def agreement(self, people: Path | None = None) -> dict[str, Any]:
        """How far the judges agree with themselves, each other and, under `people`, with that CSV file."""
        document = judges_document(self.results, min_coverage=self._min_coverage, **self.bounds)
        against = None if people is None else people_agreement(self.results, read_people_file(people))
        return {**document, "people": against}

    @property
    def bounds(self) -> dict[str, float]:
        """The `lowest` and the `highest` score there can be."""
        protocol = self.matrix.protocol
        return {"lowest": getattr(protocol, "lowest", 0.0), "highest": getattr(protocol, "highest", 10.0)}

    @property
    def language(self) -> str:
        """The language of the instructions, `en` or `zh`."""
        benchmark: Any = self.results.configuration["benchmark"]
        return str(benchmark["language"])

    def _section(self, name: str, model: type[S]) -> S:
        """A section of the recorded configuration."""
        written = self._directory.configuration().get(name)
        if isinstance(written, dict):  # another version may have known more
            written = {key: value for key, value in written.items() if key in model.model_fields}
        try:
            return model.model_validate(written)
        except ValidationError as error:
            (place, text), *_ = explain(error, written)
            problem = f"{'.'.join((name, *place))}: {text}"
            raise RunDirectoryError(
                f"{self.path / 'config'} is damaged ({problem}); `edit-eval run CONFIG` writes it anew"
            ) from error

    @cached_property
    def _min_coverage(self) -> float:
        return self._section("evaluation", EvaluationSection).min_coverage

    @property
    def reached(self) -> bool:
        """Whether everything came to an end, with the coverage that was asked for."""
        return bool(self.summary["coverage"]["reached"]) and self.summary["status"] == "complete"

    def check_coverage(self) -> None:
        """Raises `Unscored` where fewer samples are scored than `evaluation.min_coverage` asks for."""
        if not self.reached:
            coverage = self.summary["coverage"]
            skipped = coverage["by_status"].get(Status.SKIPPED.value, 0)
            verb = "count" if skipped > 1 else "counts"
            counts = f" ({skipped} skipped {verb} as not scored)" if skipped else ""
            done = (Status.OK.value, Status.PENDING.value, Status.SKIPPED.value)
            failed = ",".join(name for name in coverage["by_status"] if name not in done)
            again = f", `--retry {failed}` tries those again" if failed else ""
            raise Unscored(
                f"coverage: {coverage['scored']} of {coverage['total']} are scored{counts}, and "
                f"evaluation.min_coverage is {self._min_coverage:g}; `edit-eval status {self.path}` names the rest"
                f"{again}"
            )

    @property
    def page(self) -> Path:
        """The report's page."""
        return self.path / "report" / "index.html"

    def draw(self) -> None:
        """Writes the report, in a process of its own, so that its pictures never weigh on this one.

        Raises `NotDrawn` when it cannot be written; the run's records are as they were.
        """
        from edit_eval.reporting.drawing import draw_apart

        draw_apart(self.path)


if __name__ == "__main__":
    from edit_eval.reporting.drawing import draw

    _run = Run(Path(sys.argv[1]))
    sys.exit(draw(_run.results, _run.summary, _run.path, language=_run.language))
