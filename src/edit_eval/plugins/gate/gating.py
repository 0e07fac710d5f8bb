"""Decides whether a candidate may replace a baseline: a faster engine, quantised weights, a cache, fewer steps.

Both configurations are run on the same samples with the same judges, then `compare` tests the candidate against the
baseline with a margin (`statistics.gate`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from edit_eval.asking import load_samples, make_experiment
from edit_eval.changes import list_changes
from edit_eval.config.loading import LoadingOptions, load_configuration
from edit_eval.config.placement import PLACEMENT_KEYS
from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError
from edit_eval.experiment import Experiment
from edit_eval.reporting.comparison import gate_lines, note_words
from edit_eval.reporting.comparison_tables import columns_table, failures_table, pairs_table
from edit_eval.reporting.displays import watch_run
from edit_eval.reporting.table import Line, Table
from edit_eval.reporting.verdict import verdict_sheet
from edit_eval.run import Run, compare, evaluate
from edit_eval.statistics.comparison import Comparison
from edit_eval.statistics.gate import margin_sizes
from edit_eval.store.run_directory import RunDirectory
from edit_eval.text import Text

BASELINE, CANDIDATE = "baseline", "candidate"
"""Folders of the two runs, and their names in tables."""


def gate(
    baseline: str | Path | Mapping[str, Any] | Configuration,
    candidate: str | Path | Mapping[str, Any] | Configuration,
    *,
    margin: float,
    folder: Path,
    allow_unscored: float | None = None,
    command: Sequence[str] = (),
    examinations: Path | None = None,
    tell: Callable[[str], None] = lambda line: None,
    **options: Unpack[LoadingOptions],
) -> tuple[Run, Run, Comparison]:
    """Runs both, or resumes them, in `folder`, and tests the candidate against the baseline; returns both runs, and
    what the comparison comes to, its `gate` above all.

    `margin` is in points of each judge's headline. `tell` is called with the number of images needed before anything is
    loaded. Raises `ConfigurationError` if the two differ in more than their one edit model, and if there are fewer
    images than could ever show the margin; otherwise the same as `evaluate` and `compare`.
    """
    both = [
        source if isinstance(source, Configuration) else load_configuration(source, **options)
        for source in (baseline, candidate)
    ]
    asked = [
        make_experiment(configuration, load_samples(configuration, watch_run(configuration))) for configuration in both
    ]
    _refuse_unlike(*asked)
    for name, configuration in zip((BASELINE, CANDIDATE), both, strict=True):
        check_resumed(folder / name, configuration, tell if name == CANDIDATE else lambda line: None)
    check_margin(asked[0], margin, tell)
    # Neither run reuses the other's work: another server of the same model has the same keys.
    first, second = (
        evaluate(configuration, run_dir=folder / name, command=command, examinations=examinations)
        for name, configuration in zip((BASELINE, CANDIDATE), both, strict=True)
    )
    return first, second, compare([first, second], margin=margin, allow_unscored=allow_unscored)


def check_margin(experiment: Experiment, margin: float, tell: Callable[[str], None]) -> None:
    """Tells how many images it takes to show a margin by each judge. Raises `ConfigurationError` if the experiment has
    fewer than could ever show it."""
    images = len({sample.cluster for sample in experiment.samples if not sample.fault})
    for size in margin_sizes({judge.name: judge.scoring.scale for judge in experiment.judges_of_one}, images, margin):
        if size.images < size.fewest:
            raise ConfigurationError(
                Text(
                    "margin {:g}: {} images can never show it by judge {}; it takes {} at least, or a larger margin",
                    margin,
                    size.images,
                    size.judge,
                    size.fewest,
                )
            )
        tell(size.line_for(margin))


def check_resumed(folder: Path, configuration: Configuration, tell: Callable[[str], None]) -> None:
    """Tells if the run is complete already. Raises `ConfigurationError` if it is of another model or server: the same
    model elsewhere has the same keys, so its edits would be taken as this one's."""
    if not (folder / "config").is_dir():
        return
    was = RunDirectory.open_existing(folder).configuration().get("edit_models")
    if decisive(was) != decisive(json.loads(json.dumps(configuration.as_plain()["edit_models"]))):
        raise ConfigurationError(
            Text("{}: there is a run of another edit model or server; remove it, or give another --run-dir", folder)
        )
    if Run(folder).summary.complete:
        tell(Text("{}: finished before, nothing is made again; remove it for a new build", folder))


def decisive(edit_models: Any) -> Any:
    """Returns the sections without the devices, which may change when a run is resumed."""
    return {
        name: {**section, "params": {k: v for k, v in section.get("params", {}).items() if k not in PLACEMENT_KEYS}}
        for name, section in (edit_models or {}).items()
    }


def check_single_model(experiment: Experiment, name: str) -> None:
    """Raises `ConfigurationError` unless it has one edit model, which is given the sample's own instruction."""
    if experiment.refinements:
        raise ConfigurationError(
            Text(
                "{}: a gate compares one edit model with one, each given the sample's instruction; leave out `rounds` "
                "and `rewrite`, or run both configurations and `edit-eval compare RUN RUN`",
                name,
            )
        )
    if len(experiment.edit_models) != 1:
        raise ConfigurationError(
            Text("{}: {} edit models; a gate compares one with one", name, len(experiment.edit_models))
        )


def _refuse_unlike(before: Experiment, after: Experiment) -> None:
    for name, experiment in ((BASELINE, before), (CANDIDATE, after)):
        check_single_model(experiment, name)
    (first,), (second,) = before.edit_models, after.edit_models
    if first.seed != second.seed:
        raise ConfigurationError(
            Text("the seeds differ ({} and {}): give both the same, so that both begin alike", first.seed, second.seed)
        )
    if differing := list_changes(before, replace(after, edit_models=before.edit_models)):
        raise ConfigurationError(
            Text("baseline and candidate differ in more than the edit model: {}; make them equal there", differing)
        )


# -- words --


def gate_sheet(comparison: Comparison, wrong: Sequence[str] = (), *, full: bool = False) -> list[Line | Table[Any]]:
    """Returns the verdict (`full` with what it rests on), what else is `wrong`, the reasons, and the numbers by each
    judge."""
    sheet: list[Line | Table[Any]] = [*verdict_sheet(comparison.verdict, full=full)]
    sheet += [Line(line, "problem") for line in wrong]
    sheet += [Line(line) for line in gate_lines(comparison.gate)]
    names = {column.name: column.name for column in comparison.columns}
    for judge in comparison.judges:
        columns = [column for column in comparison.columns if column.judge == judge]
        pairs = [pair for pair in comparison.pairs if pair.judge == judge]
        sheet += [Line(), Line(Text("judged by {}", judge), "strong"), Line(), columns_table(columns, names)]
        sheet += [Line(), pairs_table(pairs, names)]
    if any(pair.failures.a or pair.failures.b for pair in comparison.pairs):
        sheet += [Line(), failures_table(comparison.pairs[:1], names)]
    return [*sheet, Line(), *(Line(note_words(note), "quiet") for note in comparison.notes)]
