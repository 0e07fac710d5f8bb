"""The command line: parse, call, print; no logic.

Each verb imports what it needs when it runs, so that `--help` answers at once.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edit_eval.command_line import Debug, answer, app, main, print_json, verb, wants_json, words
from edit_eval.errors import ConfigurationError, EditEvalError, NotDrawn, RunInterrupted, Stopped
from edit_eval.vote_verbs import vote

if TYPE_CHECKING:
    from edit_eval.config.loading import LoadingOptions as Options
else:
    Options = dict  # imported, it would hold up `--help`

__all__ = ["app", "main"]

Config = Annotated[str, typer.Argument(metavar="CONFIG", help="The YAML file, or a name that `list` shows.")]
Passports = Annotated[
    Path | None, typer.Option("--passports", metavar="DIR", help="Where judges' passports lie. Default: your cache.")
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")]


def _say_how_to_go_on(end: RunInterrupted, run_dir: Path | None) -> None:
    """The command that goes on with what was interrupted; `run_dir` as it was given."""
    from edit_eval.reporting.status import in_folder

    where = [] if run_dir else ["--run-dir", str(end.run_dir)]
    print(f"interrupted: all that was done is kept in {end.run_dir}; to go on:", file=sys.stderr)
    print(f"  {in_folder(str(Path.cwd()), ['edit-eval', *sys.argv[1:], *where])}", file=sys.stderr)


def _print_what_is_there(run_dir: Path | None) -> None:
    """The document of a run that ended early; nothing where nobody asked for it, or nothing was recorded yet."""
    from edit_eval.run import Run

    if wants_json() and run_dir is not None:
        with contextlib.suppress(EditEvalError):
            print_json(Run(run_dir).summary)


def _print_numbers(run: Any, *, drawn: bool = True) -> None:
    def show() -> None:
        from edit_eval.reporting.agreement import print_agreement
        from edit_eval.reporting.tables import print_summary
        from edit_eval.reporting.terminal_text import stdout_console

        print_summary(run.summary, stdout_console(), language=run.language)
        if "agreement" in run.summary:
            print()
            print_agreement(run.summary["agreement"], language=run.language)
        if drawn:
            print(f"report: {run.page}")

    answer(lambda: run.summary, show)


def _print_audit(made: Any) -> None:
    from edit_eval.reporting.audit import places_of, print_audit

    places = places_of(made.run.path, made.page, made.file, made.run.language)
    answer(made.as_plain, lambda: print_audit(made.passport, places, language=made.run.language))


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
    """Measure instruction-based image editing models: edits on every GPU, a judge, scores with their uncertainty."""


@verb()
def run(
    config: Config,
    *,
    run_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Run directory; resumes if it exists. Default: a folder in runs/."),
    ] = None,
    options: Options,
    reuse: Annotated[
        list[Path] | None, typer.Option(metavar="DIR", help="Reuse matching edits and judgements of another run.")
    ] = None,
    retry: Annotated[str | None, typer.Option(metavar="STATUS,...", help="Retry failures with these statuses.")] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="First check every source and every edit against the records.")
    ] = False,
    strict_environment: Annotated[
        bool,
        typer.Option(
            "--strict-environment", help="Refuse libraries or GPUs that have changed since, and workers that differ."
        ),
    ] = False,
    passports: Passports = None,
    anchors: Annotated[
        bool, typer.Option("--anchors", help="Judge the passport's anchor edits again: has the judge drifted?")
    ] = False,
    progress: Annotated[
        str | None,
        typer.Option(
            metavar="auto|rich|plain|lines|none", help="Progress display: bars, a few lines, every score, or none."
        ),
    ] = None,
    driver: Annotated[
        str | None, typer.Option(metavar="local|ray", help="Run on this machine, or on a Ray cluster.")
    ] = None,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N|auto", help="Do part I of N; all parts share one --run-dir.")
    ] = None,
    grace: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="Time to finish what is under way after SIGTERM or SIGUSR1.")
    ] = 10.0,
) -> None:
    """Edit, judge and report. Rerun the same command to resume."""
    from edit_eval.config.loading import load_configuration
    from edit_eval.evaluation import evaluate
    from edit_eval.run import Run

    options["progress"], options["driver"] = progress, driver
    configuration = load_configuration(config, **options)
    for note in configuration.notes:
        print(f"note: {note}", file=sys.stderr)
    try:
        made = evaluate(
            configuration,
            run_dir=run_dir,
            reuse_from=reuse or (),
            retry=words(retry) or (),
            verify=verify,
            strict_environment=strict_environment,
            command=("edit-eval", *sys.argv[1:]),
            shard=shard,
            grace=grace,
            passports=passports,
        )
    except RunInterrupted as end:
        _say_how_to_go_on(end, run_dir)
        _print_what_is_there(end.run_dir)
        sys.exit(128 + end.signal)
    except Stopped as stopped:
        _print_what_is_there(stopped.run_dir)
        raise
    except NotDrawn as unwritten:
        _print_numbers(Run(unwritten.run_dir), drawn=False)
        raise
    if shard is not None and made.summary["status"] != "complete":
        print(f"shard {shard} is done; other shards of {made.path} have something left", file=sys.stderr)
        return answer(lambda: made.summary, lambda: None)
    if anchors:
        from edit_eval.anchors import judge_anchors

        made = judge_anchors(configuration, made)
    _print_numbers(made)
    made.check_coverage()


@verb()
def report(run: RunFolder) -> None:
    """Make the report again, from the records alone; of an audit its page."""
    from edit_eval.auditing import drawn_again
    from edit_eval.run import Run

    made = Run(run)
    made.summary  # noqa: B018 (what is no run is said here, not by the process that draws)
    if examined := drawn_again(made):
        _print_audit(examined)
        return
    try:
        made.draw()
    except NotDrawn:
        _print_numbers(made, drawn=False)
        raise
    _print_numbers(made)


@verb(short_help="Write a report that can be sent: one page, a folder or a zip.")
def export(
    run: RunFolder,
    target: Annotated[Path, typer.Argument(metavar="FILE.html|FOLDER|FILE.zip", help="Where to write it.")],
    *,
    size: Annotated[int, typer.Option(metavar="PIXELS", help="The longest side of the pictures in it.")] = 1024,
) -> None:
    """Write a report with its sources and edits in it, from the records alone; no link leads out of it."""
    from edit_eval.reporting.page.export import export as write
    from edit_eval.run import Run

    made = Run(run)
    written = write(made.results, made.summary, target, language=made.language, side=size)
    answer(lambda: {"written": str(written)}, lambda: print(f"report: {written}"))


@verb(short_help="Predict how long a run takes under every schedule.")
def plan(
    config: Config,
    *,
    gpus: Annotated[int | None, typer.Option(metavar="N", help="Simulate N GPUs; with --nodes, N on each.")] = None,
    nodes: Annotated[int | None, typer.Option(metavar="N", help="Simulate N machines, and compare with fewer.")] = None,
    shared_disk: Annotated[
        bool, typer.Option("--shared-disk", help="With --nodes: one disk for the weights of all machines.")
    ] = False,
    price: Annotated[
        float | None, typer.Option(metavar="P", help="With --nodes: the price of a GPU-hour, to show the cost.")
    ] = None,
    gpu_memory: Annotated[
        float | None, typer.Option(metavar="GIB", help="With --gpus: free memory on each, in GiB.")
    ] = None,
    samples: Annotated[int | None, typer.Option(metavar="M", help="Simulate M samples.")] = None,
    from_: Annotated[Path | None, typer.Option("--from", metavar="RUN", help="Use timings from RUN.")] = None,
    options: Options,
) -> None:
    """Predict how long a run takes under every schedule, by simulating it."""
    from edit_eval.evaluation import plan as make
    from edit_eval.reporting.plans import print_plan
    from edit_eval.reporting.terminal_text import stdout_console

    made = make(
        config,
        gpus=gpus,
        gpu_memory=gpu_memory,
        samples=samples,
        from_run=from_,
        nodes=nodes,
        shared_disk=shared_disk,
        price=price,
        **options,
    )
    answer(made.as_plain, lambda: print_plan(made, stdout_console()))


@verb(short_help="Compare runs, or the edit models of one run.")
def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run directories, or one with several edit models.")
    ],
    score: Annotated[
        str | None, typer.Option(metavar="NAME", help="Compare this score instead of the headline.")
    ] = None,
    detect: Annotated[
        float | None, typer.Option(metavar="D", help="Also show how many samples a difference of D points would take.")
    ] = None,
    fail_if_worse: Annotated[
        bool, typer.Option("--fail-if-worse", help="Exit with 3 if any scores lower or fails more than the first.")
    ] = False,
    margin: Annotated[
        float | None,
        typer.Option(metavar="D", help="With --fail-if-worse: also exit with 3 unless all are shown within D points."),
    ] = None,
    passports: Passports = None,
    allow_drift: Annotated[
        bool, typer.Option("--allow-drift", help="Do not exit with 3 where a judge has drifted between the runs.")
    ] = False,
) -> None:
    """Paired differences with intervals, corrected p-values, ranks with ties; of runs, or of models within one."""
    from edit_eval.evaluation import compare as compare_runs
    from edit_eval.passports import passport_folder
    from edit_eval.reporting.comparison import comparison_document, print_comparison
    from edit_eval.reporting.gate import drift_lines, gate_lines
    from edit_eval.run import Run

    if margin is not None and not fail_if_worse:
        raise ConfigurationError("--margin needs --fail-if-worse: give both, or neither")
    if score is not None and fail_if_worse:
        raise ConfigurationError("--fail-if-worse holds the headline against the first; leave out --score")
    made = [Run(run, passports or passport_folder()) for run in runs]
    comparison = compare_runs(made, score=score, detect=detect, margin=margin)
    language = made[0].language
    answer(lambda: comparison_document(comparison), lambda: print_comparison(comparison, language=language))
    if fail_if_worse:
        for line in gate_lines(comparison.gate, language=language):
            print(line, file=sys.stderr)
    drifted = [] if allow_drift else drift_lines(comparison)
    for line in drifted:
        print(line, file=sys.stderr)
    if drifted or (fail_if_worse and not comparison.gate.passed):
        sys.exit(3)


@verb(short_help="How far judges agree with each other and with people.")
def agreement(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="A run directory; more add their judges of the same edits.")
    ],
    people: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="People's scores: CSV (sample_id, edit_model, score, rater), VIEScore's folder, or vie.",
        ),
    ] = None,
    bridge: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="OLD NEW", help="Map scores of judge OLD to the scale of judge NEW."),
    ] = None,
    score: Annotated[
        str | None, typer.Option(metavar="NAME", help="Look at this score instead of the headline.")
    ] = None,
) -> None:
    """How far the judges agree with themselves, with each other and with people, and how often they give no score."""
    from edit_eval.reporting.agreement import print_agreement
    from edit_eval.run import Run

    made, *others = [Run(run) for run in runs]
    document = made.agreement(people, score, others=others, bridge=bridge)
    answer(lambda: document, lambda: print_agreement(document, language=made.language))


@verb(short_help="Examine a judge with edits of known worth.")
def audit(
    config: Config,
    *,
    judge: Annotated[str | None, typer.Option(metavar="NAME", help="Examine this one of several judges.")] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Draw other scenes.")] = 0,
    scenes: Annotated[int, typer.Option(metavar="N", help="Scenes a category; fewer show less.")] = 40,
    size: Annotated[int, typer.Option(metavar="PIXELS", help="Width of the scenes.")] = 512,
    run_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Run directory; resumes if it exists. Default: a folder in runs/."),
    ] = None,
    passports: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the passport there. Default: the user's cache.")
    ] = None,
    people: Annotated[Path | None, typer.Option(metavar="FILE|vie", help="Hold it against people, too.")] = None,
    judged: Annotated[
        Path | None, typer.Option(metavar="RUN", help="With --people: its scores of these edits.")
    ] = None,
    devices: Annotated[str | None, typer.Option(metavar="LIST|cpu:N|auto", help="Replace the judge's devices.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Replace one value of the YAML, by dotted key."),
    ] = None,
) -> None:
    """Show a judge edits of known worth, asked as the configuration asks it. Its edit models are not run.

    Exit with 3 if the judge did not pass everything. Rerun the same command to resume.
    """
    from edit_eval.auditing import audit as examine

    try:
        made = examine(
            config,
            judge=judge,
            seed=seed,
            scenes=scenes,
            size=size,
            run_dir=run_dir,
            folder=passports,
            people=people,
            judged=judged,
            command=("edit-eval", *sys.argv[1:]),
            devices=devices,
            overrides=set_ or (),
        )
    except RunInterrupted as end:
        _say_how_to_go_on(end, run_dir)
        sys.exit(128 + end.signal)
    _print_audit(made)
    if made.passport.verdict != "passed":
        sys.exit(3)


@verb()
def status(
    run: RunFolder,
    sample: Annotated[str | None, typer.Argument(metavar="SAMPLE", help="Show one sample in full.")] = None,
) -> None:
    """Show run progress, or one sample in full."""
    from edit_eval.reporting.samples import print_sample, sample_document
    from edit_eval.reporting.status import print_status, status_document
    from edit_eval.run import Run

    results = Run(run).results
    if sample is None:
        answer(lambda: status_document(results), lambda: print_status(results))
    else:
        answer(lambda: sample_document(results, sample), lambda: print_sample(results, sample))


@verb(short_help="Look at runs in a browser, also while they are at work.")
def view(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN|FOLDER...", help="Run directories, or folders with some in them. Default: runs."),
    ] = None,
    *,
    host: Annotated[
        str, typer.Option(metavar="HOST", help="Listen on this address; any but this machine's own needs a token.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Listen on this port; 0 takes a free one.")
    ] = 7860,
    token: Annotated[
        str,
        typer.Option(
            metavar="TEXT|auto", envvar="EDIT_EVAL_TOKEN", help="Answer nothing without this token; auto makes one."
        ),
    ] = "",
) -> None:
    """Look at runs in a browser, also while they are at work; compare them, and vote on edits.

    Behind a connection such as `ssh -L 7860:localhost:7860 MACHINE` it works as it does here.
    """
    from edit_eval.execution.run_folders import RUNS
    from edit_eval.viewer.server import serve

    serve(runs or [RUNS], host=host, port=port, token=token, tell=lambda line: print(line, flush=True))


@verb(name="list", short_help="List what a configuration can name.")
def list_() -> None:
    """List benchmarks, edit models, judges and protocols by their names, and configurations to start from."""
    from edit_eval.reporting.components import components_document, print_components

    answer(components_document, print_components)


@verb(short_help="Show the parameters of a benchmark, model, judge or protocol.")
def describe(
    type_: Annotated[str, typer.Argument(metavar="TYPE", help="A registered name, or a class path.")],
) -> None:
    """Show the parameters of a benchmark, an edit model, a judge or a protocol; and a protocol's scores."""
    from edit_eval.reporting.components import description_document, print_description

    answer(lambda: description_document(type_), lambda: print_description(type_))


@verb(short_help="Check whether a configuration would run here.")
def doctor(
    config: Annotated[str | None, typer.Argument(metavar="CONFIG", help="The YAML file.")] = None,
    *,
    options: Options,
) -> None:
    """Check this machine, and whether a configuration would run on it. Exit with 3 if something would stop it."""
    from edit_eval.evaluation import examine
    from edit_eval.reporting.examination import print_findings

    findings = examine(config, **options)
    answer(lambda: [finding.as_plain() for finding in findings], lambda: print_findings(findings))
    if any(finding.stops for finding in findings):
        sys.exit(3)


@verb(short_help="Download what a configuration needs, for machines without a network.")
def fetch(config: Config, *, options: Options) -> None:
    """Download the benchmark, weights and prompts of a configuration into their caches (HF_HOME, XDG_CACHE_HOME).

    A machine without a network that has the same caches runs it with HF_HUB_OFFLINE=1.
    """
    from edit_eval.evaluation import fetch as fetch_all
    from edit_eval.reporting.formats import memory

    found = []
    for each in fetch_all(config, **options):
        found.append(each)
        if not wants_json():
            print(f"{each.what}: {each.name}: {memory(each.bytes)} in {each.path}")
    answer(lambda: [each.as_plain() for each in found], lambda: None)


env = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Environments for models.")
app.add_typer(env, name="env")


@env.command("create", short_help="Create one, and print its line for the YAML.")
def env_create(
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    for_: Annotated[str, typer.Option("--for", metavar="edit|judge", help="What will run in it.")],
    constraint: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Versions, as `pip install -c` takes them.")
    ] = None,
    python: Annotated[str, typer.Option(help="The interpreter to make it from.")] = "",
    debug: Debug = False,
) -> None:
    """Create an environment for a model, and print its line for the YAML."""
    from edit_eval.execution.machine.environments import create_environment

    print(create_environment(folder, for_, constraints=constraint or (), python=python, shown=True))


app.add_typer(vote, name="vote")
