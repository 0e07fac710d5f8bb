"""A rehearsal: a few samples through engine, pilot, placement and NVML as they are, with weights that may be made up.

What it writes lies in a folder of its own in the user's cache, is not described as a run is, so that no reader of
scores takes it for one, and is deleted in the end. Scores of random weights mean nothing, and none is kept.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from edit_eval.asking import load_samples, make_experiment
from edit_eval.config.loading import LoadingOptions, load_configuration
from edit_eval.config.schema import Configuration, Filters, ModelSection
from edit_eval.errors import ConfigurationError
from edit_eval.execution.engine.interruption import stop_on_signal
from edit_eval.execution.findings import Finding
from edit_eval.execution.session import driver_of
from edit_eval.files.user_cache import cache_folder
from edit_eval.plugins.preparation.checks import CHECKS, Context, reachable, run_checks, weights
from edit_eval.plugins.preparation.planning import Plan
from edit_eval.plugins.preparation.requests import plan
from edit_eval.plugins.rehearse.results import (
    FAULTS,
    Digest,
    FaultRehearsed,
    ModelRehearsed,
    Rehearsal,
    digests_of,
    failures_of,
    models_of,
    outcomes_of_faults,
)
from edit_eval.plugins.rehearse.stand_ins import is_half_here, stand_ins
from edit_eval.plugins.rehearse.start import RehearsedStart, start, tell
from edit_eval.records import Judgement, Sample
from edit_eval.reporting.language import set_language
from edit_eval.text import Text, pluralize

FEWEST = 2
"""Samples, or one a device where there are more."""
SILENCE, SILENCES = 10.0, 4.0
"""Seconds without a step after which a card that stops answering is given up, at least; and as a multiple of the
longest edit or judgement that was seen."""


@stop_on_signal()
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
    configuration = _load_for_one_machine(source, options)
    set_language(configuration.benchmark.language)
    with _folder() as folder, closing(driver_of(configuration)) as driver:
        machine = driver.machine()
        everything = load_samples(configuration)
        experiment = make_experiment(configuration, everything)
        context = Context(configuration, machine)
        findings = _find_problems(context)
        texts = [sample.instruction for sample in everything.samples[:200]] + _prompts(configuration)
        on_cpu = {wanted.model.key for wanted in context.models if not wanted.is_on_gpu}
        made = stand_ins(configuration, folder / "models", layers, texts, on_cpu)
        fewest = 1 if made.small else FEWEST
        count = samples or max(fewest, len({d for w in context.models if w.model.kind == "edit" for d in w.places}))
        chosen = _choose_samples(experiment.samples, count)
        if not chosen:
            raise ConfigurationError(Text("{}: no sample is left that could be edited", configuration.benchmark.source))
        asked = _shrink_configuration(made.configuration, chosen)

        def remaining_seconds() -> float:
            return max(0.0, begin + 60 * minutes - time.monotonic())

        for note in (
            *made.notes,
            *(Text("{}: {} left out", what, pluralize(left, "layer")) for what, left in made.cut.items()),
        ):
            tell(note)
        batches = {f"judge:{name}": judge.placement.batch_size for name, judge in asked.judges.items()}
        first = start(asked, folder / "first", made.models_to_fill, remaining_seconds, batches=batches)
        digests: list[Digest] = []
        planted: tuple[FaultRehearsed, ...] | None = None
        again: RehearsedStart | None = None
        if not first.stopped:
            tell(Text("the same edit once more, in a fresh process on each device"))
            again = start(
                _repeat_on_devices(asked, first, chosen[:1]), folder / "again", made.models_to_fill, remaining_seconds
            )
            digests = digests_of(first, again)
        if faults and not first.stopped:
            tell(Text("once more, with faults"))
            alike = _choose_samples(_select_largest_category(experiment.samples), max(count, 2 * len(FAULTS)))
            more = _impatient(_shrink_configuration(made.configuration, alike), first)
            last = start(more, folder / "faults", made.models_to_fill, remaining_seconds, [*FAULTS])
            planted = tuple(outcomes_of_faults(last))
        stopped = first.stopped or (again.stopped if again else "")
        models = tuple(models_of(context.models, made, first))
        return Rehearsal(
            configuration=configuration.name,
            samples=tuple(chosen),
            layers=layers,
            seconds=time.monotonic() - begin,
            models=models,
            digests=tuple(digests),
            plan=_predict_plan(source, options, first, models),
            faults=planted,
            findings=tuple(finding.as_plain() for finding in findings),
            failures=tuple(failures_of(first)),
            notes=(*made.notes, *(first.results.provenance.notes if first.results else ())),
            stopped=stopped,
        )


def _load_for_one_machine(source: str | Path, options: LoadingOptions) -> Configuration:
    configuration = load_configuration(source, **options)
    if configuration.execution.driver != "local":
        raise ConfigurationError(
            Text(
                "execution.driver: {}: a rehearsal is of one machine; give `--set execution.driver=local`",
                configuration.execution.driver,
            )
        )
    return configuration


def _find_problems(context: Context) -> list[Finding]:
    """Returns what checks of memory and of weights that are half here find. Raises `ConfigurationError` for what
    stops a run: random weights would hide it."""
    memory = [check for check in CHECKS if check.room]
    findings = [finding for finding in run_checks(context, memory) if finding.level != "ok"]
    for model in context.models:
        if is_half_here(model.weights):
            broken = [*reachable(context, model), *weights(context, model)]
            if stops := [finding.line for finding in broken if finding.stops]:
                raise ConfigurationError(stops[0])
            findings += broken
    return findings


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


def _choose_samples(samples: Sequence[Sample], count: int) -> list[str]:
    """Returns the ids of `count` samples, evenly spread over the benchmark, none of which has a fault."""
    whole = [sample.id for sample in samples if not sample.fault and not sample.follows]
    count = min(count, len(whole))
    return [whole[number * len(whole) // count] for number in range(count)] if count else []


def _select_largest_category(samples: Sequence[Sample]) -> list[Sample]:
    """Returns the samples of the largest category: a batch is of one."""
    largest = max(Counter(sample.category for sample in samples).items(), key=lambda item: item[1])[0]
    return [sample for sample in samples if sample.category == largest]


def _prompts(configuration: Configuration) -> list[str]:
    """Returns the texts that judges are shown: a tokenizer that knows their words counts them as a real one does."""
    texts: list[str] = []
    waiting: list[Any] = [judge.protocol.parameters for judge in configuration.judges.values() if judge.protocol]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
    return texts


def _shrink_configuration(configuration: Configuration, chosen: Sequence[str]) -> Configuration:
    """Returns the configuration with these samples alone, each edited and asked about once."""
    evaluation = {"edit_seeds": 1, "repeats": 1, "readings": 1, "controls": 0, "more_controls": ()}
    return configuration.model_copy(
        update={
            "benchmark": configuration.benchmark.model_copy(update={"filters": Filters(sample_ids=tuple(chosen))}),
            "evaluation": configuration.evaluation.model_copy(update=evaluation),
            "trackers": {},
        }
    )


def _repeat_on_devices(configuration: Configuration, first: RehearsedStart, chosen: Sequence[str]) -> Configuration:
    """Returns a configuration in which every edit model makes one edit on each of its places, in a new process."""
    edits = {}
    for name, section in configuration.edit_models.items():
        for place in first.places[f"edit:{name}"]:
            placement = section.placement.model_copy(update={"device_ids": place})
            new = f"{name} on {'+'.join(place)}"
            edits[new] = section.model_copy(update={"name": new, "placement": placement})
    told = {name for section in configuration.columns.values() for name in section.speakers}
    judges = {}
    for name, judge in configuration.judges.items():
        if name in told and told != {*configuration.judges}:  # the first edit is all that is made again
            continue
        alone = judge.placement.model_copy(update={"batch_size": 1})
        judges[name] = judge.model_copy(update={"placement": alone})
    filters = Filters(sample_ids=tuple(chosen))
    benchmark = configuration.benchmark.model_copy(update={"filters": filters})
    execution = configuration.execution.model_copy(update={"pilot": False})
    more = {"edit_models": edits, "judges": judges, "benchmark": benchmark, "execution": execution}
    return configuration.model_copy(update={**more, "columns": {}})


def _impatient(configuration: Configuration, first: RehearsedStart) -> Configuration:
    """Returns the configuration with timeouts that fit what was measured, so that silence is noticed soon."""

    def sooner(section: ModelSection) -> ModelSection:
        longest = max((m["seconds"] for m in first.marks if m["what"] in ("edit", "judge")), default=0.0)
        timeout = min(section.placement.timeout, max(SILENCE, SILENCES * longest))
        return section.model_copy(update={"placement": section.placement.model_copy(update={"timeout": timeout})})

    edits = {name: sooner(section) for name, section in configuration.edit_models.items()}
    return configuration.model_copy(update={"edit_models": edits})


def _predict_plan(
    source: str | Path, options: LoadingOptions, first: RehearsedStart, models: Sequence[ModelRehearsed]
) -> Plan | None:
    """Returns what `plan` makes of the measured durations for the whole benchmark: a judge's are those of its batch."""
    if first.results is None or not any(mark["what"] != "loaded" for mark in first.marks):
        return None
    units = {model.model: model.unit for model in models}

    def with_batch_time(judgement: Judgement) -> Judgement:
        unit = units.get(f"judge:{judgement.judge}")
        return judgement if unit is None else replace(judgement, seconds=unit * sum(map(len, judgement.readings)))

    results = replace(
        first.results,
        name="rehearsal",
        judgements=tuple(map(with_batch_time, first.results.judgements)),
        battles=tuple(map(with_batch_time, first.results.battles)),
    )
    try:
        return plan(source, from_run=results, **options)
    except ConfigurationError:  # a model that nothing was seen of
        return None
