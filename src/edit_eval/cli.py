"""The command line: parse, call, print; no logic.

Each verb imports what it needs when it runs, so that `--help` answers at once.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import os
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edit_eval.errors import ConfigurationError, EditEvalError, NotDrawn, RunInterrupted, Stopped
from edit_eval.reporting.progress.standard_streams import forgiving, set_apart

if TYPE_CHECKING:
    from edit_eval.config.loading import LoadingOptions as Options
else:
    Options = dict  # imported, it would hold up `--help`

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Config = Annotated[str, typer.Argument(metavar="CONFIG", help="The YAML file, or a name that `list` shows.")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")]


_document: Any = None
"""Where a verb's JSON goes if it was asked for; whatever else is printed meanwhile, by whomever, goes to stderr."""


def _set_document_apart(context: typer.Context, wanted: bool) -> None:
    global _document
    _document = context.with_resource(set_apart()) if wanted else None


Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def _flags_of_all(
    as_json: Annotated[
        bool,
        typer.Option("--json", callback=_set_document_apart, help="Print one JSON document; all else goes to stderr."),
    ] = False,
    debug: Debug = False,
) -> None:
    """What every verb takes; no verb looks at them."""


def _options(
    limit: Annotated[int | None, typer.Option(help="Take the first N samples of each category.")] = None,
    categories: Annotated[str | None, typer.Option(metavar="A,B", help="Take only these categories.")] = None,
    difficulty: Annotated[str | None, typer.Option(metavar="A,B", help="Take only these difficulties.")] = None,
    tags: Annotated[str | None, typer.Option(metavar="A,B", help="Take only samples with one of these tags.")] = None,
    sample_ids: Annotated[str | None, typer.Option(metavar="A,B", help="Take only these samples.")] = None,
    devices: Annotated[
        str | None, typer.Option(metavar="LIST|cpu:N|auto", help="Replace every model's devices.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Replace one value of the YAML, by dotted key."),
    ] = None,
) -> Options:
    return {
        "limit": limit,
        "categories": _words(categories),
        "difficulty": _words(difficulty),
        "tags": _words(tags),
        "sample_ids": _words(sample_ids),
        "devices": devices,
        "overrides": set_ or (),
    }


def verb(**shown: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a function a verb with the flags of all; those of `_options` stand for its parameter `options`.

    `shown`: keywords of `app.command`.
    """

    def make(function: Callable[..., None]) -> Callable[..., None]:
        parts = (inspect.signature(each, eval_str=True).parameters for each in (function, _options, _flags_of_all))
        own, shared, of_all = parts

        @functools.wraps(function)
        def with_flags(**given: Any) -> None:
            values = {name: value for name, value in given.items() if name in own}
            if "options" in own:
                values["options"] = _options(**{name: given[name] for name in shared})
            function(**values)

        flat = [p for name in own for p in (shared.values() if name == "options" else [own[name]])]
        keywords = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*flat, *of_all.values())]
        with_flags.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
        return app.command(**shown)(with_flags)

    return make


LISTS = ("--categories", "--difficulty", "--tags", "--sample-ids", "--devices", "--retry")
"""Flags that take several words."""
UsageError: Any = typer.BadParameter.__mro__[1]
"""What typer raises for a command line that it cannot read; it has no public name."""
READABLE = (
    (r"\. Did you mean (.*)\?$", r"; did you mean \1?"),
    (r" \(Possible options: (.*)\)$", r"; did you mean \1?"),
    (r"^Invalid value for '?(.*?)'?: ", r"\1: "),
    (r"Input should be a valid integer.*", "must be a whole number"),
    (r"Input should be a valid number.*", "must be a number"),
    (r"'(\S+?)'", r"\1"),
    (r"\.$", ""),
)
"""Typer's way of saying it, and ours."""


def main() -> None:
    """Runs the command line and ends the process with the right exit code."""
    if sys.getfilesystemencoding() != "utf-8":  # a sample's id may be Chinese, and becomes a file's name
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "PYTHONUTF8": "1"})
    sys.stdout, sys.stderr = forgiving(sys.stdout), forgiving(sys.stderr)
    try:
        code = app(standalone_mode=False)
        if code == 130:  # so typer passes a Ctrl-C on
            print("interrupted", file=sys.stderr)
        sys.exit(code)
    except UsageError as error:
        _fail_to_read(error)
    except EditEvalError as error:
        _fail(error, error.exit_code)
    except Exception as error:
        _fail(error, 1)


def _fail(error: Exception, code: int) -> None:
    if "--debug" in sys.argv:
        traceback.print_exception(error)
    text = str(error) if isinstance(error, EditEvalError) else f"{type(error).__name__}: {error}"
    text = " ".join(text.split())
    faults = getattr(error, "faults", ())
    for fault in faults[:20] if len(faults) > 1 else ():  # the first is in the error's own line
        print(f"  {fault}", file=sys.stderr)
    if not isinstance(error, EditEvalError):
        text += " (a fault of edit-eval; `--debug` shows the trace)"
    print(f"error: {text}", file=sys.stderr)
    for note in getattr(error, "__notes__", ()):
        print(f"  {note}", file=sys.stderr)
    sys.exit(code)


def _fail_to_read(error: Any) -> None:
    """A command line that cannot be read gets one line, as every error."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        sys.exit(2)
    from edit_eval.config.base_system import FLAGS

    text = error.format_message()
    for theirs, ours in READABLE:
        text = re.sub(theirs, ours, text)
    command = error.ctx.command_path if error.ctx else "edit-eval"
    rest = "" if "did you mean" in text else f"; `{command} --help` shows what there is"
    unknown = re.match(r"No such option: (--[\w-]+)", text, re.IGNORECASE)
    if unknown and unknown[1] in FLAGS:
        text, rest = unknown[0], f"; {FLAGS[unknown[1]]}"
    elif "unexpected extra argument" in text and set(LISTS) & set(sys.argv):
        rest = f"; a list is written with commas: `{next(flag for flag in LISTS if flag in sys.argv)} A,B`"
    print(f"error: {text[:1].lower()}{text[1:]}{rest}", file=sys.stderr)
    sys.exit(2)


def _words(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def _print_json(document: Any) -> None:
    escaped = not (_document.encoding or "").lower().startswith("utf")
    print(json.dumps(document, ensure_ascii=escaped, indent=2, allow_nan=False), file=_document, flush=True)


def _print_what_is_there(run_dir: Path | None) -> None:
    """The document of a run that ended early; nothing where nobody asked for it, or nothing was recorded yet."""
    from edit_eval.run import Run

    if _document and run_dir is not None:
        with contextlib.suppress(EditEvalError):
            _print_json(Run(run_dir).summary)


def _answer(document: Callable[[], Any], show: Callable[[], None]) -> None:
    """Prints the document where JSON was asked for; else does what shows it to a person."""
    if _document:
        _print_json(document())
    else:
        show()


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

    _answer(lambda: run.summary, show)


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
    progress: Annotated[
        str | None,
        typer.Option(
            metavar="auto|rich|plain|lines|none", help="Progress display: bars, a few lines, every score, or none."
        ),
    ] = None,
) -> None:
    """Edit, judge and report. Rerun the same command to resume."""
    from edit_eval.config.loading import load_configuration
    from edit_eval.evaluation import evaluate
    from edit_eval.run import Run

    options["progress"] = progress
    configuration = load_configuration(config, **options)
    for note in configuration.notes:
        print(f"note: {note}", file=sys.stderr)
    try:
        made = evaluate(
            configuration,
            run_dir=run_dir,
            reuse_from=reuse or (),
            retry=_words(retry) or (),
            verify=verify,
            strict_environment=strict_environment,
            command=("edit-eval", *sys.argv[1:]),
        )
    except RunInterrupted as end:
        from edit_eval.reporting.status import in_folder

        where = [] if run_dir else ["--run-dir", str(end.run_dir)]
        print(f"interrupted: all that was done is kept in {end.run_dir}; to go on:", file=sys.stderr)
        print(f"  {in_folder(str(Path.cwd()), ['edit-eval', *sys.argv[1:], *where])}", file=sys.stderr)
        _print_what_is_there(end.run_dir)
        sys.exit(128 + end.signal)
    except Stopped as stopped:
        _print_what_is_there(stopped.run_dir)
        raise
    except NotDrawn as unwritten:
        _print_numbers(Run(unwritten.run_dir), drawn=False)
        raise
    _print_numbers(made)
    made.check_coverage()


@verb()
def report(run: RunFolder) -> None:
    """Make the report again, from the records alone."""
    from edit_eval.run import Run

    made = Run(run)
    made.summary  # noqa: B018 (what is no run is said here, not by the process that draws)
    try:
        made.draw()
    except NotDrawn:
        _print_numbers(made, drawn=False)
        raise
    _print_numbers(made)


@verb(short_help="Predict how long a run takes under every schedule.")
def plan(
    config: Config,
    *,
    gpus: Annotated[int | None, typer.Option(metavar="N", help="Simulate N GPUs.")] = None,
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

    made = make(config, gpus=gpus, gpu_memory=gpu_memory, samples=samples, from_run=from_, **options)
    _answer(made.as_plain, lambda: print_plan(made, stdout_console()))


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
) -> None:
    """Paired differences with intervals, corrected p-values, ranks with ties; of runs, or of models within one."""
    from edit_eval.evaluation import compare as compare_runs
    from edit_eval.reporting.comparison import comparison_document, print_comparison
    from edit_eval.reporting.gate import gate_lines
    from edit_eval.run import Run

    if margin is not None and not fail_if_worse:
        raise ConfigurationError("--margin needs --fail-if-worse: give both, or neither")
    if score is not None and fail_if_worse:
        raise ConfigurationError("--fail-if-worse holds the headline against the first; leave out --score")
    made = [Run(run) for run in runs]
    comparison = compare_runs(made, score=score, detect=detect, margin=margin)
    language = made[0].language
    _answer(lambda: comparison_document(comparison), lambda: print_comparison(comparison, language=language))
    if fail_if_worse:
        for line in gate_lines(comparison.gate, language=language):
            print(line, file=sys.stderr)
        if not comparison.gate.passed:
            sys.exit(3)


@verb(short_help="How far judges agree with each other and with people.")
def agreement(
    run: RunFolder,
    people: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="People's scores as CSV: sample_id, edit_model, score, perhaps rater."),
    ] = None,
    score: Annotated[
        str | None, typer.Option(metavar="NAME", help="Look at this score instead of the headline.")
    ] = None,
) -> None:
    """How far the judges agree with themselves, with each other and with people, and how often they give no score."""
    from edit_eval.reporting.agreement import print_agreement
    from edit_eval.run import Run

    made = Run(run)
    document = made.agreement(people, score)
    _answer(lambda: document, lambda: print_agreement(document, language=made.language))


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
        _answer(lambda: status_document(results), lambda: print_status(results))
    else:
        _answer(lambda: sample_document(results, sample), lambda: print_sample(results, sample))


@verb(name="list", short_help="List what a configuration can name.")
def list_() -> None:
    """List benchmarks, edit models, judges and protocols by their names, and configurations to start from."""
    from edit_eval.reporting.components import components_document, print_components

    _answer(components_document, print_components)


@verb(short_help="Show the parameters of a benchmark, model, judge or protocol.")
def describe(
    type_: Annotated[str, typer.Argument(metavar="TYPE", help="A registered name, or a class path.")],
) -> None:
    """Show the parameters of a benchmark, an edit model, a judge or a protocol; and a protocol's scores."""
    from edit_eval.reporting.components import description_document, print_description

    _answer(lambda: description_document(type_), lambda: print_description(type_))


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
    _answer(lambda: [finding.as_plain() for finding in findings], lambda: print_findings(findings))
    if any(finding.stops for finding in findings):
        sys.exit(3)


@verb(short_help="Download what a configuration needs, for machines without a network.")
def fetch(config: Config, *, options: Options) -> None:
    """Download the benchmark, weights and prompts of a configuration from the hub, into its cache (HF_HOME).

    A machine without a network that has the same cache runs it with HF_HUB_OFFLINE=1.
    """
    from edit_eval.evaluation import fetch as fetch_all
    from edit_eval.reporting.formats import memory

    found = []
    for each in fetch_all(config, **options):
        found.append(each)
        if not _document:
            print(f"{each.what}: {each.name}: {memory(each.bytes)} in {each.path}")
    _answer(lambda: [each.as_plain() for each in found], lambda: None)


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
