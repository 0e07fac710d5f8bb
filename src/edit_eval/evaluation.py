"""The story on one page: a benchmark's samples are edited, the edits are judged, the judgements become numbers.

from edit_eval import evaluate
for one in evaluate("config.yaml").means():
    print(one.edit_model, one.judge, one.score, one.value, one.ci95)
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from edit_eval.benchmarks.known_sources import remember_sources
from edit_eval.benchmarks.selection import refuse_nothing
from edit_eval.config.loading import LoadingOptions, load_configuration
from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError
from edit_eval.execution.advice import examination, fetching
from edit_eval.execution.advice.fetching import Fetched
from edit_eval.execution.advice.findings import Finding
from edit_eval.execution.advice.planning import Cluster, Plan, make_plan
from edit_eval.execution.driver_choice import driver_of
from edit_eval.execution.engine.interruption import GRACE_SECONDS, announced_before_it_runs
from edit_eval.execution.run_folders import RUNS, find_place, refuse_an_unfit_python
from edit_eval.execution.session import Session
from edit_eval.execution.shards import read_shard
from edit_eval.execution.spectator import Spectator, with_guest
from edit_eval.execution.tracking import Trackers
from edit_eval.experiment import Experiment, load_samples, verify_sources
from edit_eval.passports import passport_folder
from edit_eval.run import Run, failures
from edit_eval.scheduling.batches import companies
from edit_eval.statistics.comparison import Comparison
from edit_eval.statistics.people import read_answers
from edit_eval.store.comparable import compare_runs
from edit_eval.store.examined import take_passports
from edit_eval.store.joined import judges_apart
from edit_eval.store.known_runs import remember_run
from edit_eval.store.matrix import Matrix, what_is_left
from edit_eval.store.reuse import reuse
from edit_eval.store.run_directory import RunDirectory
from edit_eval.text import Text
from edit_eval.trackers.table import refuse_what_is_missing


@announced_before_it_runs()
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
    shard: str | None = None,
    grace: float = GRACE_SECONDS,
    passports: Path | None = None,
    **options: Unpack[LoadingOptions],
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
    is the command line that was typed, for the records. With a `shard` (`2/8`, or `auto`) several engines share the
    run, each with its samples; the one that ends last draws. After SIGTERM or SIGUSR1 what is under way has `grace`
    seconds to come to its end. The judges' passports are looked for in the folder `passports`, by default in the user's
    cache, and copied into the run. What happens is shown as `execution.progress` says, on stderr or in the notebook,
    and told to the `spectator`.

    Raises `ConfigurationError`, `BenchmarkError` and `RunDirectoryError` before anything is loaded or written, and
    `Stopped` or `RunInterrupted` when the run ended early, `NotDrawn` when only its report is missing: all that was
    done is kept.
    """
    refuse_an_unfit_python()
    if shard is not None and run_dir is None:
        raise ConfigurationError(Text("--shard needs --run-dir: all shards share one run directory"))
    part = None if shard is None or run_dir is None else read_shard(shard, os.environ, Path(run_dir))
    again = failures(retry)
    notes: Sequence[str] = ()
    if not isinstance(configuration, Configuration):  # whoever has loaded it has its notes, too
        configuration = load_configuration(configuration, **options)
        notes = configuration.notes
    refuse_what_is_missing(configuration.trackers)
    spectator = with_guest(progress_of(configuration), spectator)
    trackers = Trackers(configuration.trackers, spectator.note)

    def tell(*notes: str) -> None:
        for note in filter(None, notes):
            spectator.note(note)

    tell(*notes)

    # What is asked.
    altered = verify_sources(configuration) if verify else ""
    data = load_samples(configuration, spectator)
    experiment = Experiment.of(configuration, data)
    for note in experiment.notes:
        spectator.note(note)
    refuse_nothing(experiment.samples)

    # What is there.
    part = part and replace(part, experiment=experiment.fingerprint)
    place = find_place(run_dir, configuration.name, experiment, again.__contains__, reuses=bool(reuse_from))
    sources = [RunDirectory.existing(Path(folder)) for folder in (*reuse_from, *place.sources)]
    with closing(driver_of(configuration)) as driver:
        session = Session(configuration, driver)
        session.refuse_what_cannot_load(place.expected(experiment, sources, again.__contains__))

        with place.begun(part) as directory:
            remember_run(directory.path)
            tell(*place.notes(directory, experiment))
            # What is there already counts first, then what other runs have.
            matrix, noticed = place.recall(directory, Matrix(experiment), again.__contains__, verify=verify)
            tell(altered, *noticed)
            for source in sources:
                tell(reuse(source, directory, matrix))
            tell(directory.damage.note, what_is_left(matrix) if part is None else "")  # its own part is told of later

            # Have the rest done.
            run, pending = Run(directory.path), matrix.pending
            if pending:
                tell(*session.changes(directory, strict=strict_environment))
            plain, asked = configuration.as_plain(), experiment.record(configuration.folder)
            # A finished run that is asked for once more is not touched, down to the times of its files.
            described = directory.says(plain, asked, experiment.samples)
            if pending or not described:
                directory.write_configuration(plain, asked)
                directory.write_samples(experiment.samples)
            with trackers.told(directory, work=bool(pending)) if part is None else nullcontext():
                if pending:
                    # A judge's batches are cut from the whole benchmark's order, whatever the filters left of it.
                    session.run(
                        matrix,
                        directory,
                        with_guest(spectator, trackers if configuration.trackers else None),
                        companies(data.samples),
                        strict_environment=strict_environment,
                        command=command,
                        shard=part,
                        grace=grace,
                    )
                examined = take_passports(experiment, directory.path, passports or passport_folder())
                if part is None:
                    if report and (pending or not described or examined or not run.page.exists()):
                        remember_sources(experiment.samples)
                        run.draw()
                    trackers.finish(run.sent)
                    return run
            remember_sources(experiment.samples)
    run = Run(run.path)  # with what the others have done
    if report and not RunDirectory(run.path).others_at_work:
        run.draw()
        with trackers.told(RunDirectory(run.path), work=True):  # of several engines the last one tells all
            trackers.finish(run.sent)
    return run


def progress_of(configuration: Configuration) -> Spectator:
    """The live progress that the configuration asks for."""
    from edit_eval.reporting.language import speak
    from edit_eval.reporting.progress.live import live_progress  # it takes a while, and only some verbs need it

    speak(configuration.benchmark.language)
    return live_progress(configuration.execution.progress)


def examine(
    source: str | Path | None = None, *, run_dir: Path = RUNS, **options: Unpack[LoadingOptions]
) -> list[Finding]:
    """Looks at this machine, and at whether a configuration would run on it; `options` as for `evaluate`."""
    if source is None:
        return examination.examine()
    try:
        configuration = load_configuration(source, **options)
    except ConfigurationError as error:
        as_far_as_it_goes = None
        with suppress(ConfigurationError):  # where only the benchmark's file is missing, all else can be looked at
            as_far_as_it_goes = load_configuration(source, **options, data_may_be_missing=True)
        return examination.examine(as_far_as_it_goes, refused=error, run_folder=run_dir)
    with closing(driver_of(configuration)) as driver:
        listener = progress_of(configuration)
        return examination.examine(configuration, run_folder=run_dir, machine=driver.machine(), listener=listener)


def fetch(source: str | Path, **options: Unpack[LoadingOptions]) -> Iterator[Fetched]:
    """Downloads what a configuration takes from the hub (see `fetching`); yields each thing as soon as it is here."""
    return fetching.fetch(load_configuration(source, **options))


def plan(
    source: str | Path,
    *,
    gpus: int | None = None,
    gpu_memory: float | None = None,
    samples: int | None = None,
    from_run: Path | None = None,
    nodes: int | None = None,
    shared_disk: bool = False,
    price: float | None = None,
    **options: Unpack[LoadingOptions],
) -> Plan:
    """Predicts how long an evaluation takes under every schedule; `options` as for `evaluate`. Nothing is loaded.

    As if there were `gpus` GPUs, with `gpu_memory` GiB free on each, and `samples` samples, where given; with `samples`
    the benchmark's file may be missing. With `nodes` machines of `gpus` GPUs each, fewer machines are compared as well:
    which take the least time, and which the fewest GPU-hours (at a `price` each). With a `shared_disk` they take turns
    to load.
    """
    if nodes is None and (shared_disk or price is not None):
        raise ConfigurationError(
            Text("{}: of how many machines? Give `--nodes`", "--shared-disk" if shared_disk else "--price")
        )
    if nodes is not None and gpus is None:
        raise ConfigurationError(Text("--nodes {}: of how many GPUs each? Give `--gpus`", nodes))
    cluster = None if nodes is None else Cluster(nodes, gpus or 0, shared_disk, price)
    configuration = load_configuration(source, **options, data_may_be_missing=samples is not None)
    benchmark = configuration.benchmark
    seen = Run(from_run).results if from_run is not None else None
    categories = chosen = questions = None
    if samples is None or Path(benchmark.parameters.get("data_path", "")).exists():
        everything = load_samples(configuration, progress_of(configuration))
        categories = [sample.category for sample in everything.samples]
        experiment = Experiment.of(configuration, everything)
        chosen, questions = [s.index for s in experiment.samples if not s.fault], experiment.questions_a_pair
    return make_plan(
        configuration,
        categories,
        chosen,
        gpus=gpus,
        gpu_memory=gpu_memory,
        samples=samples,
        seen=seen,
        questions=questions,
        cluster=cluster,
    )


def compare(
    runs: str | Path | Run | Sequence[str | Path | Run],
    *,
    score: str | None = None,
    detect: float | None = None,
    margin: float | None = None,
    allow_unscored: float | None = None,
    people: str | Path | None = None,
) -> Comparison:
    """Compares runs, or the edit models within one run, by every judge that they have in common.

    By the headline of each judge, or by its score of that name. With `detect` it also says how many samples would show
    a true difference of that many points. Its `gate` says whether any is worse than the first; with `margin`, whether
    all are shown to be less than that many points worse. It passes only what would pass for every score that is
    missing, save for those of a share `allow_unscored` of the samples, which it leaves out. With a file of `people`'s
    scores or votes on some of the edits it says what they would say of all of them. Raises `ConfigurationError` for
    runs that cannot be compared,
    with what differs, and `RunDirectoryError` for a folder that is no run."""
    given = [runs] if isinstance(runs, str | Path | Run) else runs
    made = [run if isinstance(run, Run) else Run(Path(run)) for run in given]
    try:
        answers = None if people is None else read_answers(Path(people))
        return compare_runs(
            made, score=score, detect=detect, margin=margin, allow_unscored=allow_unscored, people=answers
        )
    except ConfigurationError as error:
        for line in judges_apart(made):
            error.add_note(Text("{}; `edit-eval agreement {: }` says more", line, (str(run.path) for run in made)))
        raise
