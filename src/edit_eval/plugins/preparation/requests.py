"""Checks before a run: whether it would run on this machine, and how long it would take."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from edit_eval.asking import load_samples, make_experiment
from edit_eval.config.loading import LoadingOptions, load_configuration
from edit_eval.errors import ConfigurationError
from edit_eval.execution.control_questions import ControlQuestions
from edit_eval.execution.findings import Finding
from edit_eval.execution.session import driver_of
from edit_eval.experiment import Experiment
from edit_eval.plugins.preparation import checks
from edit_eval.plugins.preparation.imagined import assume_experiment
from edit_eval.plugins.preparation.planning import Cluster, Plan, make_plan
from edit_eval.records import Results, Sample, Scale
from edit_eval.reporting.displays import watch_run
from edit_eval.run import Run
from edit_eval.statistics.gate import margin_sizes
from edit_eval.store.run_folders import RUNS
from edit_eval.text import Text


def examine(
    source: str | Path | None = None, *, run_dir: Path = RUNS, **options: Unpack[LoadingOptions]
) -> list[Finding]:
    """Examines this machine, and whether a configuration would run on it; `options` as for `evaluate`."""
    if source is None:
        return checks.examine()
    try:
        configuration = load_configuration(source, **options)
    except ConfigurationError as error:
        as_far_as_it_goes = None
        with suppress(ConfigurationError):  # if only the benchmark's file is missing, all else can be checked
            as_far_as_it_goes = load_configuration(source, **options, data_may_be_missing=True)
        return checks.examine(as_far_as_it_goes, refused=error, run_folder=run_dir)
    with closing(driver_of(configuration)) as driver:
        listener = watch_run(configuration)
        return checks.examine(configuration, run_folder=run_dir, machine=driver.machine(), listener=listener)


def controls_of(source: str | Path, **options: Unpack[LoadingOptions]) -> str:
    """Says how many controls a run of a configuration has and what they cost; empty if it has none to speak of."""
    configuration = load_configuration(source, **options)
    data = load_samples(configuration, watch_run(configuration))
    return ControlQuestions.from_experiment(make_experiment(configuration, data)).sentence


def plan(
    source: str | Path,
    *,
    gpus: int | None = None,
    gpu_memory: float | None = None,
    samples: int | None = None,
    from_run: Path | Results | None = None,
    nodes: int | None = None,
    price: float | None = None,
    margin: float | None = None,
    **options: Unpack[LoadingOptions],
) -> Plan:
    """Predicts how long an evaluation takes under every schedule; `options` as for `evaluate`. Nothing is loaded.

    Assumes `gpus` GPUs, with `gpu_memory` GiB free on each, and `samples` samples, if given; with `samples` the
    benchmark's file may be missing. With `nodes` machines of `gpus` GPUs each, fewer machines are compared as well:
    which take the least time, and which the fewest GPU-hours (at a `price` each). With a
    `margin` in points its notes say how many images a gate with that margin takes.
    """
    if nodes is None and price is not None:
        raise ConfigurationError(Text("--price: of how many machines? Give `--nodes`"))
    if nodes is not None and gpus is None:
        raise ConfigurationError(Text("--nodes {}: of how many GPUs each? Give `--gpus`", nodes))
    cluster = None if nodes is None else Cluster(nodes, gpus or 0, price)
    configuration = load_configuration(source, **options, data_may_be_missing=samples is not None)
    seen = from_run if from_run is None or isinstance(from_run, Results) else Run(from_run).results
    path, notes = configuration.benchmark.parameters.get("data_path", ""), list[Text]()
    if samples is None or Path(path).exists():
        data = load_samples(configuration, watch_run(configuration))
        experiment = make_experiment(configuration, data)
        everything: Sequence[Sample] = data.samples
        notes += (
            []
            if margin is None
            else [size.line_for(margin) for size in margin_sizes(*_count_judgements(experiment), margin)]
        )
    else:
        experiment, note = assume_experiment(configuration)
        everything = experiment.samples
        notes.append(note)
        if margin is not None:
            raise ConfigurationError(
                Text("--margin needs the benchmark's file, to see how many source images there are")
            )
    made = make_plan(
        configuration,
        experiment,
        everything,
        gpus=gpus,
        gpu_memory=gpu_memory,
        samples=samples,
        seen=seen,
        cluster=cluster,
    )
    return replace(made, notes=(*made.notes, *notes))


def _count_judgements(experiment: Experiment) -> tuple[dict[str, Scale], int]:
    """Returns the scale of each judge of single edits, and how many source images there are."""
    images = {sample.cluster for sample in experiment.samples if not sample.fault}
    return {judge.name: judge.scoring.scale for judge in experiment.judges_of_one}, len(images)
