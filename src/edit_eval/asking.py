"""Makes the experiment that a configuration asks for: reads its benchmark, and refuses what cannot be asked."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from typing import Protocol as Shape

from edit_eval.benchmarks.selection import (
    check_unicode,
    filter_samples,
    lint,
    refuse_bad,
    refuse_nothing,
    tidy_labels,
    with_predecessors,
)
from edit_eval.config import components
from edit_eval.config.components import NotHere, format_class_name, identify_class, import_class, preserve_cwd
from edit_eval.config.identity import ask_classes, digest, identity
from edit_eval.edit_models.contract import Finished, SampleNames
from edit_eval.errors import BenchmarkError, ConfigurationError, EditEvalError
from edit_eval.experiment import Experiment
from edit_eval.judges.contract import PROBABILITIES
from edit_eval.protocols.asked import AskedJudge, make_judges, rounds_of
from edit_eval.protocols.contract import fault
from edit_eval.protocols.critiques import columns_of, refuse_unfit_critics, refuse_wordless
from edit_eval.records import Sample
from edit_eval.text import Text, pluralize
from edit_eval.workers.failures import one_line
from edit_eval.workers.model_class import make_parameters

if TYPE_CHECKING:  # a dozen classes of pydantic's, for which readers do not wait
    from edit_eval.config.schema import Configuration, ModelSection

MOST_CELLS = 5_000_000
"""Limit of cells in a run: all of them are in memory at once, a kilobyte each."""
READ_IN_SILENCE = 1.0
"""Seconds of reading a benchmark before progress is shown."""


class Data(NamedTuple):
    """Contents of a benchmark."""

    samples: tuple[Sample, ...]
    about: Mapping[str, str]
    """Description by its class: source, licence, and anything else a reader should know."""
    notes: tuple[str, ...]
    """Oddities of the samples that are no faults."""
    lines: Mapping[int, int] = MappingProxyType({})
    """For bad samples, their line in the benchmark's file by index, where it has lines."""
    sources: Mapping[str, str] = MappingProxyType({})
    """What the benchmark's file calls the source of a sample, by its id, where it has a name."""


def make_experiment(configuration: Configuration, data: Data) -> Experiment:
    """Returns the experiment of a configuration, with the benchmark's samples that pass its filters.

    Samples that its protocols cannot ask about become bad ones. Raises `BenchmarkError` naming every bad sample
    (with `on_bad_sample: error`), and `ConfigurationError` for a filter that no sample passes, a protocol that
    cannot be used, and more cells than fit into memory."""
    section, evaluation, folder = configuration.benchmark, configuration.evaluation, configuration.folder
    samples = data.samples
    wanted = filter_samples(samples, **section.filters.model_dump(), source=section.source)
    chosen, names = with_predecessors(samples, wanted), {sample.id for sample in wanted}
    judges = make_judges(configuration)
    for judge in judges:
        if (refuse := getattr(judge.protocol, "refuse_unknown", None)) is not None:
            refuse(dict.fromkeys(sample.category for sample in samples))
    models = [identity(model, folder, "edit_model") for model in configuration.edit_models.values()]
    _, refinements = columns_of(models, configuration.columns.values())
    refuse_unfit_critics(refinements, judges)
    seen = with_clusters([_with_fault(sample, judges) for sample in chosen])
    if section.on_bad_sample == "error":
        refuse_bad({sample.index: sample for sample in (*samples, *seen)}.values(), section.source, data.lines)
    else:
        refuse_nothing(seen)
    ids = [sample.id for sample in samples]
    asked = SampleNames(ids, data.sources, str(section.parameters.get("data_path", "")))
    there = _match_finished_edits(configuration, asked)
    finished = {name: {of: pixels for of, (_, pixels) in edits.files.items()} for name, edits in there.items()}
    models = [replace(m, revision=digest(finished[m.name])) if m.name in finished else m for m in models]
    masked, said_of_masks = _find_masked(configuration, seen, there)
    columns, _ = columns_of(models, configuration.columns.values())
    called = [column.name for column in columns]
    unasked = ask_classes(configuration.judges.values(), "judge", folder, "describe_unused_replies", ids, called)
    if refinements and (follower := next((sample for sample in seen if sample.follows), None)):
        raise ConfigurationError(
            Text(
                "sample {} follows another; such a sample cannot have {: or }",
                follower.id,
                [f"`{key}`" for key in configuration.columns],
            )
        )
    made = Experiment(
        samples=seen,
        beside=frozenset(sample.id for sample in seen) - names,
        edit_models=columns,
        judges=tuple(judges),
        refinements=refinements,
        language=section.language,
        edit_seeds=evaluation.edit_seeds,
        repeats=evaluation.repeats,
        readings=evaluation.readings,
        control_samples=0 if evaluation.controls == "auto" else evaluation.controls,
        more_controls={name: identify_class("control", name) for name in evaluation.more_controls},
        about=data.about,
        notes=(
            *(Text("{}: {}", name, its.words) for name, its in there.items() if its.lacking or its.left),
            *data.notes,
            *_notes_of_checks(configuration),
            *said_of_masks,
            *(Text("{}: {}", name, said) for name, said in unasked.items() if said),
        ),
        finished=finished,
        lacking={name: {of: str(why) for of, why in edits.lacking.items()} for name, edits in there.items()},
        files={pixels: path for edits in there.values() for path, pixels in edits.files.values()},
        there=there,
        masked=masked,
    )
    refuse_too_many_cells(made)
    if evaluation.controls == "auto":
        made = made.with_cheap_controls()
    _refuse_unfit_models(made, configuration)
    return made


def _match_finished_edits(configuration: Configuration, asked: SampleNames) -> Mapping[str, Finished]:
    """Returns what each edit model whose edits are there has of the samples. Raises `ConfigurationError` if one has
    none of them."""
    there = ask_classes(configuration.edit_models.values(), "edit_model", configuration.folder, "match_edits", asked)
    for name, edits in there.items():
        if edits.lacking and not edits.files:
            why, has = next(iter(edits.lacking.values())), Text("; it has {}", edits.left[:3]) if edits.left else ""
            raise ConfigurationError(Text("{}: {}{}", name, why, has))
    return there


def _refuse_unfit_models(made: Experiment, configuration: Configuration) -> None:
    """Raises `ConfigurationError` for a model or judge that cannot do what it is asked for."""
    for model_section in configuration.edit_models.values():
        _refuse_unsupported(made, model_section, configuration.folder)
    refuse_wordless(made.refinements, made.questions_by_judge)
    for judge_section in configuration.judges.values():
        _refuse_probabilities(made, judge_section, configuration.folder)
    for judge in (judge for judge in made.judges if judge.of_two and len(made.edit_models) < 2):
        why = Text("{} compares the edits of two models, and there is one; add another to edit_models", judge.name)
        raise ConfigurationError(why)


def _notes_of_checks(configuration: Configuration) -> Iterator[str]:
    """Yields what checks that are installed have to say of the models, for whoever reads the numbers."""
    for name in components.names("check"):
        yield from components.import_registered("check", name)().notes(configuration)


def _find_masked(
    configuration: Configuration, samples: Sequence[Sample], there: Collection[str]
) -> tuple[tuple[str, ...], list[str]]:
    """Returns the edit models that are given the samples' masks, and notes on masks that somebody is not given; none on
    those whose edits are `there`.

    Raises `ConfigurationError` for one with `mask: required` that takes none, and for a sample that has none for it. A
    class that only its own environment can import takes none, as far as is known."""
    models, folder = configuration.edit_models, configuration.folder
    good = [sample for sample in samples if not sample.fault]
    with_mask = [sample for sample in good if "mask" in sample.pictures]
    takers = {name for name, takes in ask_classes(models.values(), "edit_model", folder, "takes_mask").items() if takes}
    notes: list[str] = []
    for name, section in models.items():
        if section.mask == "required":
            lacking = next((sample for sample in good if "mask" not in sample.pictures), None)
            if name not in takers:
                raise ConfigurationError(Text("{}: required, but {} takes no mask", section.name_of("mask"), name))
            if lacking is not None:
                where = section.name_of("mask")
                raise ConfigurationError(
                    Text("{}: required, but sample {} ({}) has no mask", where, lacking.index, lacking.id)
                )
        elif not with_mask or section.mask == "none" or name in there:
            continue
        elif name not in takers:
            notes.append(Text("{}: it takes no mask, and is given none of the samples' {}", name, len(with_mask)))
        elif len(with_mask) < len(good):
            notes.append(Text("{}: it is given the masks of {} of {} samples", name, len(with_mask), len(good)))
    masked = [name for name, section in models.items() if with_mask and name in takers and section.mask != "none"]
    return tuple(masked), notes


def count_questions(experiment: Experiment) -> int:
    """Returns how many questions an experiment asks about edits, controls aside."""
    often = experiment.repeats * experiment.readings
    columns = len(experiment.edit_models) * experiment.edit_seeds
    of_one = sum(
        len(asked) for judge in experiment.judges if judge.of_one for asked in experiment.questions_by_judge[judge.name]
    )
    of_two = sum(
        len(experiment.questions_by_judge[judge.name][position]) * experiment.edit_seeds * sum(map(len, rounds))
        for judge in experiment.judges
        for position, sample in enumerate(experiment.samples)
        if judge.of_two and sample.id not in experiment.beside
        for rounds in [rounds_of(judge.protocol, sample, experiment.edit_models)]
    )
    return of_one * columns * often + of_two * often


def refuse_too_many_cells(experiment: Experiment, most: int = MOST_CELLS) -> None:
    """Raises `ConfigurationError` for more than `most` cells, by default as fit into memory."""
    columns = len(experiment.edit_models) * experiment.edit_seeds
    good = sum(not (sample.fault or sample.id in experiment.beside) for sample in experiment.samples)
    judged = sum(map(experiment.repeats_of, (judge for judge in experiment.judges if judge.of_one)))
    if (least := good * columns * max(1, judged * experiment.readings)) > most:
        raise _too_much(experiment, least, most)  # before a question is unfolded: a record may name any numbers
    if (count := count_questions(experiment)) > most:
        raise _too_much(experiment, count, most)


def _too_much(experiment: Experiment, count: int, most: int) -> ConfigurationError:
    return ConfigurationError(
        Text(
            "{:,} samples with all questions, models, seeds, repeats and readings make {:,} "
            "questions to ask; a run has {:,} at most (evaluation.repeats, "
            "evaluation.edit_seeds, benchmark.limit)",
            len(experiment.samples),
            count,
            most,
        )
    )


def _refuse_unsupported(experiment: Experiment, section: ModelSection, folder: Path) -> None:
    """Raises `ConfigurationError` for an edit model that takes fewer sources than a sample has, and for one that crops
    them if a judge measures outside a mask, or it is given a mask for its own edits. Classes that only their own
    environment can import are not checked."""
    try:
        model_class = import_class("edit_model", section.class_path, folder)
    except NotHere:
        return
    parameters = make_parameters(model_class, section.parameters)
    most = model_class.sources(parameters) if hasattr(model_class, "sources") else None
    for sample in experiment.samples:
        count = sum(name.startswith("source") for name in sample.pictures) + bool(sample.follows)
        if most is not None and count > most and not sample.fault:
            raise ConfigurationError(
                Text(
                    "{} takes {} at most, and sample {} ({}) has {}; leave out the model, "
                    "or such samples (as by benchmark.categories)",
                    section.name,
                    pluralize(most, "source"),
                    sample.index,
                    sample.id,
                    count,
                )
            )
    if not (hasattr(model_class, "cuts_source") and model_class.cuts_source(parameters)):
        return
    from_last = {refinement.edit_model for refinement in experiment.refinements.values() if refinement.source == "last"}
    if section.name in experiment.masked and (
        section.name in from_last or any("mask" in sample.pictures for sample in experiment.samples if sample.follows)
    ):
        raise ConfigurationError(
            Text(
                "{} crops its sources, so a mask would be of other places in its own edits; give it `mask: none`",
                section.name,
            )
        )
    for judge in experiment.judges:
        asked = (
            sample_question.question for some in experiment.questions_by_judge[judge.name] for sample_question in some
        )
        if judge.measures and any(view.picture == "mask" for question in asked for view in question.shows):
            raise ConfigurationError(
                Text(
                    "{} crops its sources, so what {} measures outside a mask would be of other "
                    "places; leave out one of them",
                    section.name,
                    judge.name,
                )
            )


def _refuse_probabilities(experiment: Experiment, section: ModelSection, folder: Path) -> None:
    """Raises `ConfigurationError` for a judge that needs to give probabilities and whose class cannot. Classes that
    only their own environment can import are not checked; an answer without probabilities counts as none."""
    try:
        judge_class: Any = import_class("judge", section.class_path, folder)
    except NotHere:
        return
    if getattr(judge_class, "probabilities", False) or getattr(judge_class, "replays", False):
        return
    asked = (
        sample_question.question for some in experiment.questions_by_judge[section.name] for sample_question in some
    )
    if any(question.form == PROBABILITIES for question in asked):
        raise ConfigurationError(
            Text(
                "{} cannot give the probabilities of its answers (its class has no `probabilities = "
                "True`); write another `answer` into its `protocol`, or use a judge that can",
                section.name,
            )
        )


class Listener(Shape):
    """Receives progress while the benchmark is read."""

    def reading(self, items: int, read: int, size: int) -> None: ...
    def has_read(self) -> None: ...


@preserve_cwd()
def load_samples(configuration: Configuration, listener: Listener | None = None) -> Data:
    """Reads all samples of the benchmark. Each source image was checked to be whole, or its sample has a fault.

    If that takes long, the `listener` is told the progress.
    """
    benchmark = _benchmark(configuration)
    samples, soon = [], time.monotonic() + READ_IN_SILENCE
    try:
        for sample in benchmark.samples():
            samples.append(check_unicode(sample))
            if listener is not None and time.monotonic() >= soon:
                listener.reading(len(samples), *getattr(benchmark, "position", (0, 0)))
    except EditEvalError:
        raise
    except Exception as error:
        path = configuration.benchmark.class_path
        if path.startswith("edit_eval."):
            raise
        who = format_class_name("benchmark", path)
        text = Text("{} failed at sample {}: {}; `--debug` shows where", who, len(samples), one_line(error))
        raise BenchmarkError(text) from error
    finally:
        if listener is not None:
            listener.has_read()
    about, said = getattr(benchmark, "about", {}), getattr(benchmark, "notes", ())
    about = {str(key): str(text) for key, text in about.items()} if isinstance(about, Mapping) else {}
    notes = tuple(said) if getattr(benchmark, "unlinted", False) else lint(samples, said)
    lines, sources = (getattr(benchmark, name, {}) for name in ("lines", "source_names"))
    return Data(tuple(map(tidy_labels, samples)), about, notes, lines, sources if isinstance(sources, Mapping) else {})


def verify_sources(configuration: Configuration) -> str:
    """Has the benchmark check the sources that it keeps; returns a line if some differ from the record."""
    verify = getattr(_benchmark(configuration), "verify", None)
    return "" if verify is None else str(verify() or "")


def _benchmark(configuration: Configuration) -> Any:
    section = configuration.benchmark
    benchmark_class = import_class("benchmark", section.class_path, configuration.folder)
    return benchmark_class(make_parameters(benchmark_class, section.parameters))


def _with_fault(sample: Sample, judges: Sequence[AskedJudge]) -> Sample:
    """Returns the sample, marked bad if a protocol cannot ask about it."""
    faults = () if sample.fault else filter(None, (fault(judge.protocol, sample) for judge in judges))
    return replace(sample, fault=problem) if (problem := next(iter(faults), "")) else sample


def with_clusters(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """Returns the samples; those that follow another take its cluster, and its fault."""
    if not any(sample.follows for sample in samples):
        return tuple(samples)
    by_id = {sample.id: sample for sample in samples}

    def first(sample: Sample) -> tuple[str, str]:
        """Returns cluster and fault."""
        seen = {sample.id}
        while sample.follows and not sample.fault:
            before = by_id.get(sample.follows)
            if before is None:
                return "", Text("it follows `{}`, which is not among the selected samples", sample.follows)
            if before.fault:
                return "", Text("it follows `{}`, which cannot be used: {}", before.id, before.fault)
            if before.id in seen:
                return "", Text("it follows `{}`, which follows it", sample.follows)
            seen.add(before.id)
            sample = before
        return sample.cluster, sample.fault

    clustered = []
    for sample in samples:
        if sample.follows:
            cluster, problem = first(sample)
            sample = replace(sample, cluster=sample.cluster or cluster, fault=sample.fault or problem)
        clustered.append(sample)
    return tuple(clustered)
