"""Reads the command line: turns functions into verbs, with the flags that verbs share, and errors into one line."""

from __future__ import annotations

import csv
import errno
import functools
import inspect
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from edit_eval.errors import ConfigurationError, EditEvalError, ExitCode, RunInterrupted, Stopped
from edit_eval.reporting.language import current_language, set_language, translate, translate_description
from edit_eval.reporting.languages import ENGLISH, SPOKEN
from edit_eval.reporting.standard_streams import reserve_stdout, tolerant_stream
from edit_eval.text import Text

if TYPE_CHECKING:
    from edit_eval.config.loading import LoadingOptions
    from edit_eval.reporting.table import Sheet

    Options = LoadingOptions
else:
    Options = dict  # importing it would slow down `--help`

GROUPS: tuple[tuple[Text, tuple[str, ...]], ...] = (
    (Text("To begin"), ("env",)),
    (Text("To evaluate"), ("run", "report")),
    (Text("To compare"), ("compare",)),
    (Text("To analyse a run"), ()),  # analyses that name no other group
    (Text("To judge, and to examine judges"), ()),
    (Text("To share and tidy"), ("export",)),
    (Text("To look up"), ("list", "describe", "config")),
)
"""The core's verbs as `--help` lists them, by what one wants; plug-ins name the group in which they stand."""
ANALYSES = "To analyse a run"


class Group(TyperGroup):
    """Commands below one name, which knows what is meant by a wrong one."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Returns the command that is meant. Raises `ConfigurationError` if there is none of that name."""
        if self.get_command(ctx, args[0]) is None:
            from edit_eval.config.faults import did_you_mean

            meant = did_you_mean(args[0], self.list_commands(ctx)) or Text("; `{} --help` shows all", ctx.command_path)
            raise ConfigurationError(Text("no such command {}{}", args[0], meant))
        return super().resolve_command(ctx, args)


class Verbs(Group):
    """The whole command; its help has the verbs in `GROUPS`, and plug-ins behind them or where they say."""

    before: Mapping[str, str] = {}
    """Of plug-ins, the verb before which each is listed."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes a section for each group."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        lines = {
            name: command.get_short_help_str(_SHORT)
            for name, command in commands.items()
            if command and not command.hidden
        }
        core = {name for _, names in GROUPS for name in names}
        groups = {str(title): [name for name in names if name in lines] for title, names in GROUPS}
        others = lines.keys() - core
        for name in sorted(others, key=lambda name: (self.before.get(name, "") in others, name)):
            group = groups.setdefault(getattr(commands[name], "rich_help_panel", None) or ANALYSES, [])
            behind = self.before.get(name)
            group.insert(group.index(behind) if behind in group else len(group), name)
        width = max(map(len, lines))
        for title, names in groups.items():
            if names:
                with formatter.section(translate_description(title)):
                    formatter.write_dl([(name.ljust(width), lines[name]) for name in names])


_SHORT = 200  # characters; a line of help is wrapped, not cut

app = typer.Typer(
    cls=Verbs,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_document: Any = None
"""Stream for a verb's JSON if it was asked for; anything else printed meanwhile, by any code, goes to stderr."""


def _redirect_stdout(context: typer.Context, wanted: bool) -> None:
    global _document
    _document = context.with_resource(reserve_stdout()) if wanted else None


Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def _flags_of_all(
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            callback=_redirect_stdout,
            help="Print one JSON document to stdout; everything else goes to stderr.",
        ),
    ] = False,
    debug: Debug = False,
) -> None:
    """The flags of every verb; no verb uses them itself."""


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
        "categories": words(categories),
        "difficulty": words(difficulty),
        "tags": words(tags),
        "sample_ids": words(sample_ids),
        "devices": devices,
        "overrides": set_ or (),
    }


def verb(on: typer.Typer, **shown: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a function a verb with the flags of all; its parameter `options` becomes the flags of `_options`.

    `on`: the group that it belongs to. `shown`: keywords of `app.command`.
    """

    def make(function: Callable[..., None]) -> Callable[..., None]:
        parts = (inspect.signature(each, eval_str=True).parameters for each in (function, _options, _flags_of_all))
        own, shared, of_all = parts

        @functools.wraps(function)
        def with_flags(**given: Any) -> None:
            values = {name: value for name, value in given.items() if name in own}
            if "options" in own:
                values["options"] = _options(**{name: given[name] for name in shared})
            try:
                function(**values)
            except RunInterrupted as end:
                _print_resume_command(end, given.get("run_dir"))
                sys.exit(end.exit_code)

        flat = [p for name in own for p in (shared.values() if name == "options" else [own[name]])]
        keywords = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*flat, *of_all.values())]
        with_flags.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
        return on.command(**shown)(with_flags)

    return make


# -- plug-ins and packages as verbs --


def command_of(app: typer.Typer, words: Sequence[str] | None = None) -> Any:
    """Returns the whole command: the verbs of `app`, and one for every registered verb and analysis.

    One of those is imported if its name is among the `words` of the command line, or if none are given; of the others
    there is only their first line, for `--help`, and nothing where the first word is a verb: nobody looks at them. A
    name that a verb of `app` has is not replaced.
    """
    from edit_eval.config.components import import_registered, list_components, names

    command: Any = copy(typer.main.get_command(app))  # typer keeps its own
    plugins, taken, before = typer.Typer(rich_markup_mode=None), {*command.commands}, {}
    known = taken.union(*map(names, _TYPED))
    asked = words[:1] if words and words[0] in known else None
    for kind, make in _TYPED.items():
        for component in list_components(kind, asked):
            if component.name in taken:
                continue
            taken.add(component.name)
            before[component.name] = component.about.get("before", "")
            shown: Any = {"rich_help_panel": component.about.get("group", ANALYSES), "short_help": component.summary}
            if words is None or component.name in words:
                make(plugins, component.name, import_registered(kind, component.name), shown)
            else:
                plugins.command(component.name, **shown)(lambda: None)
    plugins.callback()(lambda: None)  # one command alone would be no group
    every = {**command.commands, **typer.main.get_group(plugins).commands}
    command.before = before
    command.commands = {
        name: _with_options(name, subcommand) if words is None or name in words else subcommand
        for name, subcommand in every.items()
    }
    return command


def _verb(on: typer.Typer, name: str, cls: Any, shown: Mapping[str, Any]) -> None:
    doc = inspect.cleandoc(cls.__doc__ or "")
    below = getattr(cls, "below", {})
    if not below:
        verb(on, name=name, help=doc, **shown)(cls.call)
        return
    group = typer.Typer(cls=Group, no_args_is_help=True, rich_markup_mode=None)
    for each, inner in below.items():
        _verb(group, each, inner, {})
    on.add_typer(group, name=name, help=doc, callback=cls.call, **shown)


def _analysis_verb(on: typer.Typer, name: str, cls: Any, shown: Mapping[str, Any]) -> None:
    """Makes an analysis a verb: its parameters are flags, their docstrings the help."""
    flags, read = _flags(cls)
    several = cls.sources.several

    def call(sources: Any, to: Path | None, force: bool, code: object, **given: Any) -> None:
        from edit_eval.reporting.analyses import section_of
        from edit_eval.reporting.table import print_sheet
        from edit_eval.run import analyse

        made = analyse(name, *(sources if several else [sources]), **read(given))
        document, language = made.document, current_language(made.language)
        if to is not None:
            from edit_eval.reporting.document_files import write_document

            write_document(name, document, to, records=made.records, language=language, force=force)
        answer(lambda: document, lambda: print_sheet(section_of(name, document).sheet(), language=language))

    to = typer.Option("--to", metavar="FILE|FOLDER", help="Also write it: .html, .md, .json, .csv, .svg; folder: all.")
    about = typer.Argument(metavar=cls.sources.metavar, help=cls.sources.help, autocompletion=_runs)
    own = [
        _keyword("sources", Annotated[list[str] if several else str, about]),
        *flags,
        _keyword("to", Annotated[Path | None, to], None),
        _keyword("force", Force, False),
        _keyword("code", Code, None),
    ]
    call.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    call.__doc__ = cls.__doc__
    verb(on, name=name, **shown)(call)


def _flags(cls: Any) -> tuple[list[inspect.Parameter], Callable[[Mapping[str, Any]], dict[str, object]]]:
    """Returns the flags of a class's `Parameters`, and what makes its fields of the values of those."""
    from dataclasses import MISSING, fields
    from typing import get_type_hints

    from edit_eval.config.parameters import describe_parameters, parameters_of

    nested = parameters_of(cls)
    types, docs = get_type_hints(nested), {parameter.name: parameter.doc for parameter in describe_parameters(cls)}
    flags = {field.name: field for field in fields(nested)} if nested else {}
    several = [key for key in flags if types[key] in (tuple[int, ...], tuple[int, ...] | None)]

    def flag(key: str) -> inspect.Parameter:
        field = flags[key]
        metavar = field.metadata.get("metavar", "1,2,4" if key in several else None)
        option = typer.Option(f"--{key.strip('_').replace('_', '-')}", metavar=metavar, help=docs[key])
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        kind = str | None if key in several else types[key]
        return _keyword(key, Annotated[kind, option], default)

    def read(given: Mapping[str, Any]) -> dict[str, object]:
        return {key: _whole_numbers(key, given[key]) if key in several else given[key] for key in flags}

    return [flag(key) for key in flags], read


def _keyword(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _whole_numbers(key: str, text: str | None) -> tuple[int, ...] | None:
    try:
        return None if text is None else tuple(int(word) for word in words(text) or ())
    except ValueError:
        flag = f"--{key.replace('_', '-')}"
        raise ConfigurationError(Text("{} {}: must be whole numbers: `{} 1,2,4`", flag, text, flag)) from None


# -- options of plug-ins and packages on verbs of the core --

_added: dict[str, list[tuple[Any, Any]]] = {}
"""By the name of a verb, the options that were added to it, each with its parameters as they were typed."""


def _with_options(name: str, command: Any) -> Any:
    """Returns a command with the flags of every registered `option.NAME.*`."""
    from edit_eval.config.components import import_registered, names

    made, readers = copy(command), []
    for option in names("option"):
        if option.partition(".")[0] != name:
            continue
        cls, alone = import_registered("option", option), typer.Typer(rich_markup_mode=None)
        flags, read = _flags(cls)

        def values(read: Any = read, **given: Any) -> dict[str, object]:
            return dict(read(given))

        values.__signature__ = inspect.Signature(flags)  # type: ignore[attr-defined]
        alone.command()(values)
        adds = typer.main.get_command(alone)
        own = [parameter for parameter in adds.params if parameter.name in {flag.name for flag in flags}]
        place = next(n for n, flag in enumerate(made.params) if flag.name == "as_json")  # of the flags that all have
        made.params = [*made.params[:place], *own, *made.params[place:]]
        readers.append((cls, adds, [parameter.name for parameter in own]))

    def callback(**given: Any) -> Any:
        _added[name] = []
        for cls, adds, keys in readers:
            typed: Any = adds.callback
            _added[name].append((cls(), cls.Parameters(**typed(**{key: given.pop(key) for key in keys}))))
        return command.callback(**given)

    made.callback = callback
    return made if readers else command


def let_option_answer(name: str, **given: Any) -> bool:
    """True if an option that was added to this verb has answered in its place; `given` is what the verb is about."""
    return any(option.answer_instead(parameters, **given) for option, parameters in _added.get(name, ()))


def collect_arguments(name: str) -> dict[str, Any]:
    """Returns what the options that were added to this verb add to what it asks for, by the words of Python."""
    return {
        key: value
        for option, parameters in _added.get(name, ())
        for key, value in option.extra_arguments(parameters).items()
    }


def reasons(name: str, **given: Any) -> list[str]:
    """Returns why the options that were added to this verb have it end with 3; `given` is what it has found."""
    return [reason for option, parameters in _added.get(name, ()) for reason in option.reasons(parameters, **given)]


def write_option_files(name: str, **given: Any) -> list[Path]:
    """Returns the files that the options added to this verb have written beside its own; `given` is what it wrote."""
    return [path for option, parameters in _added.get(name, ()) for path in option.write_files(parameters, **given)]


_TYPED: dict[Literal["verb", "analysis"], Callable[..., None]] = {"verb": _verb, "analysis": _analysis_verb}
"""How each kind that is typed becomes a command."""


LISTS = ("--categories", "--difficulty", "--tags", "--sample-ids", "--devices", "--retry")
"""Flags that take several words."""
UsageError: Any = typer.BadParameter.__mro__[1]
"""Raised by typer for a command line that it cannot read; it has no public name."""


def _what_is_wrong(error: Any) -> str:
    """Returns what is wrong with a command line, by what kind of error it is; the library's own sentence for others."""
    match type(error).__name__:
        case "NoSuchOption" if error.possibilities:
            return Text("no such option: {}; did you mean {}?", error.option_name, sorted(error.possibilities))
        case "NoSuchOption":
            return Text("no such option: {}", error.option_name)
        case "MissingParameter" if error.param.param_type_name == "argument":
            return Text("missing argument {}", _hint(error))
        case "MissingParameter":
            return Text("missing option {}", _hint(error))
        case "BadOptionUsage" if any(word.startswith(f"{error.option_name}=") for word in sys.argv):
            return Text("{} takes no value", error.option_name)
        case "BadOptionUsage":
            return Text("{} needs a value", error.option_name)
        case "BadParameter":
            return _wrong_value(_hint(error), error)
    return str(error.message[:1].lower() + error.message[1:].rstrip("."))


def _hint(error: Any) -> str:
    return str(error.param.get_error_hint()).replace("'", "")


def _wrong_value(name: str, error: Any) -> str:
    """Words the value of a flag that cannot be taken, of which pydantic says in `errors` what is wrong."""
    for fault in getattr(error.__cause__, "errors", list)():
        match fault["type"].partition("_")[0]:
            case "int":
                return Text("{} must be a whole number", name)
            case "float" | "finite":
                return Text("{} must be a number", name)
        if fault["type"] == "greater_than_equal":
            return Text("{} must be at least {}, not {}", name, f"{fault['ctx']['ge']:g}", fault["input"])
        if fault["type"] == "less_than_equal":
            return Text("{} must be at most {}, not {}", name, f"{fault['ctx']['le']:g}", fault["input"])
    return f"{name}: {error.message.rstrip('.')}"


def main() -> None:
    """Runs the command line and ends the process with the right exit code."""
    if sys.getfilesystemencoding() != "utf-8":  # ids of samples may be Chinese, and become file names
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "PYTHONUTF8": "1"})
    sys.stdout, sys.stderr = tolerant_stream(sys.stdout), tolerant_stream(sys.stderr)
    set_language("")  # forget the language of anything this process did before
    try:
        if sys.flags.optimize > 1:
            from edit_eval.store.run_folders import refuse_an_unfit_python

            refuse_an_unfit_python()
        command = command_of(app, [*sys.argv[1:], *os.environ.get("COMP_WORDS", "").split()])
        if current_language() != ENGLISH:
            translate_help(command)
        code = command(standalone_mode=False)
        if code == ExitCode.INTERRUPTED:  # typer's way of passing on a Ctrl-C
            say("interrupted")
        sys.exit(code)
    except typer.Abort:  # Ctrl-C or the end of input at a question
        print("interrupted", file=sys.stderr)
        sys.exit(ExitCode.INTERRUPTED)
    except UsageError as error:
        _fail_to_read(error)
    except EditEvalError as error:
        _fail(error, error.exit_code)
    except Exception as error:
        if _is_out_of_memory(error):
            why = str(error) or type(error).__name__
            _fail(Stopped(Text("this process has too little memory ({}): look at `ulimit -v`", why)), ExitCode.STOPPED)
        if error := _find_faulty_place(error) or error:
            _fail(error, getattr(error, "exit_code", ExitCode.BUG))


_PLACES: Mapping[int, Text] = {
    errno.EACCES: Text("this user may not use it; change its rights, or name another place"),
    errno.EPERM: Text("the system does not let this user use it; change its rights, or name another place"),
    errno.EROFS: Text("its disk is read-only; name another place"),
    errno.ENAMETOOLONG: Text("this name is too long for its disk; shorten it"),
    errno.ELOOP: Text("its links lead in a circle; fix them"),
    errno.ENOTDIR: Text("a part of this path is a file, not a folder"),
    errno.ENOSPC: Text("its disk is full; free some space, then type the same again"),
    errno.EDQUOT: Text("your share of its disk is used up; free some space, then type the same again"),
    errno.EIO: Text("its disk does not answer; look at the disk, then type the same again"),
    errno.ESTALE: Text("its disk is on a network and has lost it; mount it again, then type the same again"),
}
"""What the system says of a path (errno(3)): the machine's state, and no bug of anybody."""

_FROM_OUTSIDE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE)


def _find_faulty_place(error: Exception) -> EditEvalError | None:
    """Returns what is wrong with a path that the system does not let us use; None for any other error."""
    if not isinstance(error, OSError) or error.filename is None or (error.errno or 0) not in _PLACES:
        return None
    text = Text("{}: {}", os.fsdecode(error.filename), _PLACES[error.errno or 0])
    raised: EditEvalError = (Stopped if error.errno in _FROM_OUTSIDE else ConfigurationError)(text)
    return raised.with_traceback(error.__traceback__)


def _find_faulty_package(error: BaseException) -> str:
    """Returns the installed package that raised an error, or called what raised it; empty if edit-eval did."""
    from edit_eval.config.components import list_registrations  # not before it is needed

    packages = {
        registration.class_path.partition(".")[0].partition(":")[0]: registration.package
        for registration in list_registrations()
    }
    modules = [str(frame.f_globals.get("__name__")) for frame, _ in traceback.walk_tb(error.__traceback__)]
    roots = (module.partition(".")[0] for module in reversed(modules))
    return next((packages[root] for root in roots if root in packages), "")


def _is_out_of_memory(error: BaseException) -> bool:
    """True if memory ran out, as reported by libraries when they are loaded, or by a thread when it begins."""
    said = re.search("failed to map segment|cannot allocate memory|can't start new thread", str(error), re.IGNORECASE)
    out_of_memory = isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM or said is not None
    return out_of_memory or (error.__cause__ is not None and _is_out_of_memory(error.__cause__))


def _fail(error: Exception, code: int) -> None:
    if "--debug" in sys.argv:
        traceback.print_exception(error)
    text: object = str(error) if isinstance(error, EditEvalError) else Text("{}: {}", type(error).__name__, error)
    faults = getattr(error, "faults", ())
    for fault in faults[:20] if len(faults) > 1 else ():  # the first is in the error's own line
        say(Text("  {}", fault))
    if not isinstance(error, EditEvalError):
        if package := _find_faulty_package(error):
            text = Text("{} (in {}, not in edit-eval; `--debug` shows the traceback)", text, package)
        else:
            text = Text("{} (this is a bug in edit-eval; `--debug` shows the traceback)", text)
    say(Text("error: {}", text))
    for note in getattr(error, "__notes__", ()):
        say(Text("  {}", note))
    sys.exit(code)


def _fail_to_read(error: Any) -> None:
    """Reports a command line that cannot be read in one line, like every error."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        sys.exit(ExitCode.UNUSABLE)
    from edit_eval.config.base_system import FLAGS

    text, command = _what_is_wrong(error), error.ctx.command_path if error.ctx else "edit-eval"
    name = getattr(error, "option_name", "")
    rest = "" if getattr(error, "possibilities", None) else Text("; `{} --help` shows the options", command)
    if name in FLAGS:
        text, rest = Text("no such option: {}", name), Text("; {}", FLAGS[name])
    elif type(error) is UsageError and set(LISTS) & set(sys.argv):  # further words
        rest = Text(
            "; separate the items of a list with commas: `{} A,B`", next(flag for flag in LISTS if flag in sys.argv)
        )
    say(Text("error: {}{}", text, rest))
    sys.exit(ExitCode.UNUSABLE)


def say(text: str) -> None:
    """Prints a line for people on stderr, in the language that is spoken."""
    lines = list(filter(str.strip, translate(text).splitlines()))
    print(" ".join([*lines[:1], *map(str.strip, lines[1:])]), file=sys.stderr)


def words(text: str | None) -> list[str] | None:
    """Returns the parts of a comma-separated list, in quotes if they have commas; None if nothing was given."""
    parts = next(csv.reader([text], skipinitialspace=True), []) if text else []
    return None if text is None else [word.strip() for word in parts if word.strip()]


def print_json(document: Any) -> None:
    """Prints the one JSON document of a verb, a msgspec Struct or plain data."""
    from edit_eval.reporting.documents import encode_document

    written = encode_document(document)
    if not (_document.encoding or "").lower().startswith("utf"):
        written = json.dumps(json.loads(written), indent=2)  # in ASCII
    print(written, file=_document, flush=True)


def wants_json() -> bool:
    """True if JSON was asked for."""
    return _document is not None


def answer(document: Callable[[], Any], show: Callable[[], None]) -> None:
    """Prints the document if JSON was asked for; else calls `show`."""
    if _document:
        print_json(document())
    else:
        show()


def answer_with_sheet(document: Callable[[], Any], sheet: Sheet, language: str, markdown: Path | None = None) -> None:
    """`answer` with a sheet, which is also written to the file `markdown`, if one is named."""
    from edit_eval.files.new import write_atomically
    from edit_eval.reporting.table import markdown_sheet, print_sheet

    answer(document, lambda: print_sheet(sheet, language=language))
    if markdown is not None:
        with write_atomically(markdown) as temporary:
            temporary.write_text(f"{markdown_sheet(sheet, language)}\n", "utf-8", "backslashreplace")


def end_if_short(short: bool) -> None:
    """Ends the command with code 3 if its printed result is not what was asked for."""
    if short:
        sys.exit(ExitCode.SHORT)


def _print_resume_command(end: RunInterrupted, run_dir: Path | None) -> None:
    """Prints the command that resumes the interrupted run; `run_dir` as it was given."""
    from edit_eval.reporting.repetition import shell_command

    where = [] if run_dir else ["--run-dir", str(end.run_dir)]
    say(Text("interrupted: all finished work is kept in {}; to resume:", end.run_dir))
    print(f"  {shell_command(str(Path.cwd()), ['edit-eval', *sys.argv[1:], *where])}", file=sys.stderr)


# -- arguments of several verbs --


def _configurations(incomplete: str) -> list[str]:
    """Returns completions for CONFIG: shipped names, YAML files, and folders on the way to them."""
    from edit_eval.config.shipped import find_shipped_files

    names = [name for name in find_shipped_files() if name.startswith(incomplete)]
    return [*names, *(path for path in _paths(incomplete) if path.endswith(("/", ".yaml", ".yml")))]


def _runs(incomplete: str) -> list[str]:
    """Returns completions for RUN: run directories, those in runs/ too; else folders on the way to one."""
    folders = [path for path in (*_paths("runs/"), *_paths(incomplete)) if path.endswith("/")]
    fitting = dict.fromkeys(path for path in folders if path.startswith(incomplete))
    return [path.rstrip("/") for path in fitting if Path(path, "config").is_dir()] or [*fitting]


def _paths(incomplete: str) -> list[str]:
    """Returns the paths that begin like this; a folder's ends with a slash."""
    head, slash, start = incomplete.rpartition("/")
    folder = Path(head + slash)
    try:
        names = sorted(path.name + "/" * path.is_dir() for path in folder.iterdir())
    except OSError:
        return []
    return [head + slash + name for name in names if name.startswith(start) and name[0] != "."]


Config = Annotated[
    str,
    typer.Argument(
        metavar="CONFIG", help="The YAML file, or a name that `list` shows.", autocompletion=_configurations
    ),
]
JUDGE = "openai/MODEL, MODEL@http://HOST:8000/v1, a folder of weights, OWNER/NAME on the Hub, FILE.py:CLASS"
"""What a flag `--judge` takes."""
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.", autocompletion=_runs)]


def _take_code(folders: list[Path] | None) -> list[Path] | None:
    from edit_eval.config.components import name_code

    name_code(folders or ())
    return folders


Code = Annotated[
    list[Path] | None,
    typer.Option(
        "--code",
        metavar="FOLDER",
        help="A folder with classes of your own that the run names; can be given several times.",
        callback=_take_code,
    ),
]
"""Taken as it is read: a verb only names it."""
RunDir = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Run directory; resumes if it exists. Default: a folder in runs/.")
]
Full = Annotated[bool, typer.Option("--full", help="Print all tables.")]
Markdown = Annotated[Path | None, typer.Option("--markdown", metavar="FILE", help="Also write it as Markdown.")]
Force = Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")]


# -- `--help` in another language: each text is translated where it is laid out, and wrapped by terminal columns --

COLUMN = 30
"""Columns of the widest option whose text begins on the same line."""


def translate_help(command: Any) -> None:
    """Makes a command of typer's, and all below it, print their help in the spoken language."""
    context = command.context_class
    laid_out = type("TranslatedHelp", (TranslatedHelp, context.formatter_class), {})
    command.context_class = type(context.__name__, (context,), {"formatter_class": laid_out})
    command.short_help = _sentences(command.short_help or (command.help or "").split("\n\n")[0].replace("\n", " "))
    for below in getattr(command, "commands", {}).values():
        translate_help(below)


class TranslatedHelp:
    """Overrides the writing methods of typer's help formatter."""

    width: int
    current_indent: int

    def write(self, string: str) -> None:
        """Writes text as it is."""
        super().write(string)  # type: ignore[misc]

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """`用法：edit-eval run [OPTIONS] CONFIG`."""
        super().write_usage(prog, args, _translate_label("Usage"))  # type: ignore[misc]

    def write_heading(self, heading: str) -> None:
        """`选项：`."""
        self.write(f"{'':{self.current_indent}}{_translate_label(heading).rstrip()}\n")

    def write_text(self, text: str) -> None:
        """Writes the paragraphs of a verb's description."""
        for i, paragraph in enumerate(text.split("\n\n")):
            self.write("\n" if i else "")
            for line in _wrap_text(_sentences(" ".join(paragraph.split())), self.width - self.current_indent):
                self.write(f"{'':{self.current_indent}}{line}\n")

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = COLUMN, col_spacing: int = 2) -> None:
        """Writes names and their meanings, in two columns."""
        from rich.cells import cell_len

        column = min(max((cell_len(name) for name, _ in rows), default=0), col_max) + col_spacing
        indent = " " * self.current_indent
        for name, meaning in rows:
            lines = _wrap_text(_meaning(meaning), max(self.width - column - self.current_indent, 20))
            beside = cell_len(name) <= column - col_spacing
            head = indent + name + " " * (column - cell_len(name))
            if not beside:
                self.write(f"{indent}{name}\n")
                head = indent + " " * column
            for line in lines or [""]:
                self.write(f"{head}{line}".rstrip() + "\n")
                head = indent + " " * column


def _meaning(text: str) -> str:
    """Translates a text and the part that typer appends: `[default: 1024; required]`."""
    match = re.fullmatch(r"(.*?)\s*\[((?:default|required|env var|\d|x).*)\]", text, re.DOTALL)
    if match is None:
        return _sentences(" ".join(text.split()))
    extras = SPOKEN[current_language()].translate_separator("; ").join(_extra(extra) for extra in match[2].split("; "))
    return f"{_sentences(' '.join(match[1].split()))} [{extras}]".strip()


def _extra(text: str) -> str:
    """Translates `required`, `default: 8`."""
    name, colon, value = text.partition(": ")
    return _translate_label(name) + value if colon else translate_description(name)


def _translate_label(name: str) -> str:
    """Returns `用法：`."""
    return translate_description(name) + SPOKEN[current_language()].translate_separator(": ")


def _sentences(text: str) -> str:
    return SPOKEN[current_language()].space.join(map(translate_description, re.split(r"(?<=[.?]) (?=[A-Z])", text)))


def _wrap_text(text: str, cells: int) -> list[str]:
    from edit_eval.reporting.terminal_text import Styled

    return [line.plain for line in Styled(text).fold_lines(cells)]
