"""Carries out an evaluation: a benchmark's samples are edited, the edits are judged, and all of it is drawn.

What came of it is read by `run.Run`, which `edit_eval.evaluate` returns. Nothing is compared here, but that a design of
battles may ask the strengths whether to go on.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, Unpack, cast

from edit_eval.asking import load_samples, make_experiment, verify_sources
from edit_eval.config.loading import LoadingOptions, load_configuration
from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError
from edit_eval.execution.doors import Followers, partition
from edit_eval.execution.engine.interruption import stop_on_signal
from edit_eval.execution.session import Session, driver_of
from edit_eval.execution.spectator import Spectator, chain_spectators
from edit_eval.records import Edit, Sample
from edit_eval.store.derived import keep_derived
from edit_eval.store.examined import take_examinations
from edit_eval.store.run_directory import RunDirectory
from edit_eval.store.run_folders import choose_run_folder, failure_statuses, refuse_an_unfit_python
from edit_eval.store.table import JudgementTable, describe_remaining_work, open_table
from edit_eval.text import Text


class EvaluationOptions(LoadingOptions, total=False):
    """How an evaluation is begun; `run.evaluate` says what each means."""

    run_dir: str | Path | None
    reuse_from: Sequence[str | Path]
    retry: Collection[str]
    verify: bool
    strict_environment: bool
    spectator: Spectator | None
    report: bool
    command: Sequence[str]
    shard: str | None
    grace: float
    examinations: Path | None


OWN = EvaluationOptions.__annotations__.keys() - LoadingOptions.__annotations__.keys()


class Surroundings(Protocol):
    """What is around an evaluation, and decides nothing in it: who watches, what people have said, the report."""

    def watch(self, configuration: Configuration) -> Spectator:
        """Returns what is told of the run while it works."""

    def carry_votes(self, source: Path, run: Path, edits: Sequence[Edit]) -> int:
        """Copies people's votes on these edits from another run; returns how many were new."""

    def remember_sources(self, samples: Sequence[Sample]) -> None:
        """Takes note of the pictures that the run was made of, which its pages may open from now on."""

    def draw(self, run: Path) -> str:
        """Draws the report of the run in a folder; returns a note, or nothing."""

    def files(self, run: Path) -> Sequence[Path]:
        """Returns the files of the report of the run in a folder, the one that people open first."""


@stop_on_signal()
def run_evaluation(
    configuration: str | Path | Mapping[str, Any] | Configuration,
    around: Surroundings,
    **options: Unpack[EvaluationOptions],
) -> Path:
    """Runs an evaluation, or resumes one, and returns its run directory. Arguments and errors are `run.evaluate`'s."""
    refuse_an_unfit_python()
    shard, run_dir = options.get("shard"), options.get("run_dir")
    draws = options.get("report", True)
    how: Any = {name: options[name] for name in ("strict_environment", "command", "grace") if name in options}
    if shard is not None and run_dir is None:
        raise ConfigurationError(Text("--shard needs --run-dir: all shards share one run directory"))
    part = None if shard is None or run_dir is None else partition().read(shard, os.environ, Path(run_dir))
    again = failure_statuses(options.get("retry", ()))
    notes: Sequence[str] = ()
    if not isinstance(configuration, Configuration):  # a caller that has loaded it has its notes, too
        loading = {name: value for name, value in options.items() if name not in OWN}
        configuration = load_configuration(configuration, **cast(LoadingOptions, loading))
        notes = configuration.notes
    spectator = chain_spectators(around.watch(configuration), options.get("spectator"))
    followers = Followers(configuration)

    def show_notes(*notes: str) -> None:
        for note in filter(None, notes):
            spectator.note(note)

    show_notes(*notes)

    # What is asked for.
    altered = verify_sources(configuration) if options.get("verify") else ""
    data = load_samples(configuration, spectator)
    experiment = make_experiment(configuration, data)
    show_notes(*experiment.notes)

    # What is there already.
    place = choose_run_folder(run_dir, configuration.name, experiment, again, options.get("reuse_from", ()))
    with closing(driver_of(configuration)) as driver:
        session = Session(configuration, driver, **how)
        session.refuse_what_cannot_load(place.preview_matrix(experiment, again), show_notes)
        with place.hold_folder(part and replace(part, experiment=experiment.fingerprint)) as directory:
            folder = directory.path
            show_notes(*place.notes(directory, experiment))
            verify = options.get("verify", False)
            matrix, noticed = place.load_matrix(directory, experiment, again, around.carry_votes, verify=verify)
            show_notes(altered, *noticed)
            if part is None:  # a shard's own part is told later
                show_notes(describe_remaining_work(JudgementTable(matrix)))

            # Do the rest. A finished run that is requested once more is not touched, down to its files' times.
            pending = bool(matrix.pending)
            if pending:
                show_notes(*session.changes(directory))
            asked, plain = experiment.to_record(configuration.folder), configuration.as_plain()
            described = directory.describe(plain, asked, experiment.samples, anew=pending)
            with followers.started(directory, spectator.note, work=pending) if part is None else nullcontext():
                if pending:
                    session.run(matrix, directory, followers.join(spectator), data.samples, part)
                if part is None:
                    keep_derived(directory, JudgementTable(matrix), configuration.folder)
                examined = take_examinations(experiment, folder, options.get("examinations"))
                show_notes(examined or "")
                around.remember_sources(experiment.samples)
                if part is None:
                    if draws and (pending or described or examined or not around.files(folder)[0].exists()):
                        show_notes(around.draw(folder))
                    followers.finish(around.files(folder), JudgementTable(matrix).count_finished)
                    return folder
    whole = RunDirectory(folder)
    if not whole.others_at_work:
        table = open_table(whole, experiment)
        keep_derived(whole, table, configuration.folder)
        if draws:
            show_notes(around.draw(folder))
            if table.is_complete:  # a part may end before the others begin: the one that ends last tells all
                with followers.started(whole, spectator.note, work=True):
                    followers.finish(around.files(folder), table.count_finished)
    return folder
