"""What is asked: the samples, the models with what decides their results, and how the judge is asked."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from edit_eval.benchmarks.selection import refuse_bad, select
from edit_eval.config.components import NotHere, import_class, own_source, staying_here
from edit_eval.config.schema import Configuration, ModelSection
from edit_eval.errors import ConfigurationError
from edit_eval.execution.session import Spectator
from edit_eval.protocols.rubric_score import RubricScore
from edit_eval.records import Sample
from edit_eval.rubrics.loading import load_rubrics, refuse_unknown
from edit_eval.store.keys import Identity
from edit_eval.store.matrix import Matrix
from edit_eval.workers.model_class import key_parameters, make_parameters

MOST_JUDGEMENTS = 5_000_000
"""Of a run; all of them are in memory at once, a kilobyte each."""
READ_IN_SILENCE = 1.0
"""Seconds for which a benchmark is read before anything is said of it."""


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
