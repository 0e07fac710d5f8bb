"""The command line: parse, call, print; no logic. The main verbs are here, the others in `verbs/`.

Each verb imports what it needs when it runs, so that `--help` answers at once.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from edit_eval.errors import ConfigurationError, EditEvalError, NotDrawn, RunInterrupted, Stopped
from edit_eval.reporting.language import current_language, set_language, translate
from edit_eval.text import Text
from edit_eval.verbs.command_line import (
    Code,
    Config,
    Full,
    Options,
    RunDir,
    RunFolder,
    answer,
    app,
    collect_arguments,
    end_if_short,
    let_option_answer,
    main,
    print_json,
    reasons,
    say,
    verb,
    wants_json,
    words,
    write_option_files,
)

__all__ = ["app", "main"]

evaluating = typer.Typer()


def _print_partial_summary(run_dir: Path | None) -> None:
    from edit_eval.run import Run

    if wants_json() and run_dir is not None:
        with contextlib.suppress(EditEvalError):
            print_json(Run(run_dir).summary)


def _print_numbers(run: Any, *, drawn: bool = True, full: bool = False) -> None:
    def show() -> None:
        from edit_eval.reporting.results_sheet import print_answer, print_summary
        from edit_eval.reporting.terminal_text import stdout_console

        if full:
            print_summary(run.summary, stdout_console(), language=current_language(run.language))
        else:
            print_answer(run.summary, run.path, stdout_console(), language=current_language(run.language))
        if drawn:
            print(translate(Text("report: {}", run.page)))

    answer(lambda: run.summary, show)


def evaluate_and_print(
    config: str, options: Options, run_dir: Path | None, *, shard: str | None = None, full: bool = False, **how: Any
) -> None:
    """Runs the evaluation and prints its answer, `full` with all tables; `how` as `evaluate` takes it."""
    from edit_eval.config.loading import load_configuration
    from edit_eval.run import Run, evaluate

    configuration = load_configuration(config, **options)
    set_language(configuration.benchmark.language)
    for note in configuration.notes:
        say(Text("note: {}", note))
    command = ("edit-eval", *sys.argv[1:])
    try:
        made = evaluate(configuration, run_dir=run_dir, command=command, shard=shard, **how)
    except (RunInterrupted, Stopped) as end:
        _print_partial_summary(end.run_dir)
        raise
    except NotDrawn as unwritten:
        _print_numbers(Run(unwritten.run_dir), drawn=False, full=full)
        raise
    if shard is not None and not made.summary.complete:
        say(Text("shard {} is done; other shards of {} still have work left", shard, made.path))
        return answer(lambda: made.summary, lambda: None)
    if write_option_files("run", run=made, configuration=configuration):
        made = Run(made.path, made.examinations)
    _print_numbers(made, full=full)
    made.check_coverage()


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata

        print(f"edit-eval {metadata.version('edit-eval')}")
        raise typer.Exit


@app.callback()
def edit_eval(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Measure instruction-based image editing models: edit on every GPU, let a judge score, report the uncertainty."""


@verb(evaluating)
def run(
    config: Config,
    *,
    run_dir: RunDir = None,
    options: Options,
    reuse: Annotated[
        list[Path] | None, typer.Option(metavar="DIR", help="Reuse matching edits and judgements of another run.")
    ] = None,
    retry: Annotated[str | None, typer.Option(metavar="STATUS,...", help="Retry failures with these statuses.")] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="First check every source image and edit against the records.")
    ] = False,
    strict_environment: Annotated[
        bool, typer.Option("--strict-environment", help="Stop if libraries or GPUs have changed, or workers differ.")
    ] = False,
    progress: Annotated[
        str | None,
        typer.Option(
            metavar="auto|rich|plain|lines|none", help="Progress display: bars, a few lines, every score, or none."
        ),
    ] = None,
    driver: Annotated[
        str | None, typer.Option(metavar="NAME", help="Run on this machine (local), or by another driver: ray.")
    ] = None,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N|auto", help="Do part I of N; all parts share the same --run-dir.")
    ] = None,
    grace: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="Time to finish running tasks after SIGTERM or SIGUSR1.")
    ] = 10.0,
    full: Full = False,
) -> None:
    """Edit, judge and report. Rerun the same command to resume."""

    options["progress"], options["driver"] = progress, driver
    evaluate_and_print(
        config,
        options,
        run_dir,
        shard=shard,
        full=full,
        reuse_from=reuse or (),
        retry=words(retry) or (),
        verify=verify,
        strict_environment=strict_environment,
        grace=grace,
        **collect_arguments("run"),
    )


@verb(evaluating)
def report(run: RunFolder, full: Full = False, code: Code = None) -> None:
    """Write the report again from the records."""
    from edit_eval.run import Run
    from edit_eval.store.examined import take_examinations

    made = Run(run)
    experiment = made.experiment  # a folder that is no run is named here
    try:
        if note := take_examinations(experiment, made.path):  # of an audit since the run
            say(Text("note: {}", note))
    except (OSError, EditEvalError):  # the numbers are there all the same
        say(Text("note: an audit that was made since the run could not be kept in it, and is not in the report"))
    made.summary  # noqa: B018 (a folder that is no run is reported here, not by the process that draws)
    if let_option_answer("report", run=made, full=full):
        return
    try:
        made.write_report()
    except NotDrawn:
        _print_numbers(made, drawn=False, full=full)
        raise
    _print_numbers(made, full=full)


@verb(evaluating, short_help="Compare runs, or the edit models of one run.")
def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run directories, or one with several edit models.")
    ],
    score: Annotated[
        str | None, typer.Option(metavar="NAME", help="Compare this score instead of the headline.")
    ] = None,
    detect: Annotated[
        float | None, typer.Option(metavar="D", help="Also show how many samples would detect a difference of D.")
    ] = None,
    fail_if_worse: Annotated[
        bool, typer.Option("--fail-if-worse", help="Exit with 3 if any run scores lower or fails more than the first.")
    ] = False,
    margin: Annotated[
        float | None,
        typer.Option(metavar="D", help="With --fail-if-worse: also exit with 3 unless all are shown within D points."),
    ] = None,
    allow_unscored: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="With --fail-if-worse: leave out unscored samples, up to this share."),
    ] = None,
    full: Full = False,
    code: Code = None,
) -> None:
    """Paired differences with intervals, corrected p-values and ranks with ties, between runs or models of one run."""
    from edit_eval.reporting.comparison import gate_lines, print_comparison
    from edit_eval.reporting.terminal_text import one_line
    from edit_eval.run import Run
    from edit_eval.run import compare as compare_runs

    if margin is not None and not fail_if_worse:
        raise ConfigurationError(Text("--margin needs --fail-if-worse: give both or neither"))
    if allow_unscored is not None and not fail_if_worse:
        raise ConfigurationError(Text("--allow-unscored needs --fail-if-worse: give both or neither"))
    if score is not None and fail_if_worse:
        raise ConfigurationError(Text("--fail-if-worse compares the headline score with the first; leave out --score"))
    folder = collect_arguments("compare").get("examinations")
    made = [Run(run, folder) for run in runs]
    comparison = compare_runs(made, score=score, detect=detect, margin=margin, allow_unscored=allow_unscored)
    language = current_language(made[0].language)
    answer(comparison.document, lambda: print_comparison(comparison, language=language, full=full))
    sys.stdout.flush()  # before what stderr says of it
    lines = gate_lines(comparison.gate) if fail_if_worse else []
    wrong = reasons("compare", comparison=comparison)
    for line in (*lines, *wrong):
        print(one_line(translate(line, language)), file=sys.stderr)
    write_option_files("compare", comparison=comparison, wrong=wrong)
    end_if_short(bool(wrong) or (fail_if_worse and not comparison.gate.passed))


app.add_typer(evaluating)
