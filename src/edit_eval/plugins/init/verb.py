"""The verb `init`: makes a configuration from pictures, edits and judges that the user has."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, TypeVar

import typer

from edit_eval.errors import ConfigurationError, EditEvalError
from edit_eval.json_values import JsonObject
from edit_eval.reporting.language import translate
from edit_eval.text import Text, pluralize
from edit_eval.verbs.command_line import JUDGE, Force, answer, end_if_short, say, wants_json, write_option_files
from edit_eval.verbs.contract import Verb

if TYPE_CHECKING:
    from edit_eval.benchmarks.table import NoColumn
    from edit_eval.config.shorthand import Kind, ModelDraft
    from edit_eval.plugins.init.writing import Pictures, Started

T = TypeVar("T")

FIRST_TRY = 2
"""Samples of each category that `init` proposes for a first run where models are paid."""

PICTURES = "a folder, a table (CSV, JSON, JSONL, Parquet), OWNER/NAME on the Hub, or a benchmark of `list`"
EDITS = "a folder of finished edits or of weights, OWNER/NAME on the Hub, MODEL@http://..., FILE.py:CLASS"


class InitVerb(Verb):
    """Write a configuration for your pictures and models.

    It is checked, and the next command is printed. In a terminal it asks for what is not given. Pictures without
    instructions get a table to fill in. Of a file that is there and has no judge, `--judge` alone adds one.
    """

    about: ClassVar = {"group": "To begin", "before": "doctor"}

    @staticmethod
    def call(
        file: Annotated[
            Path | None,
            typer.Argument(metavar="FILE.yaml", help="The configuration to write. Default: evaluation.yaml."),
        ] = None,
        *,
        pictures: Annotated[str | None, typer.Option(metavar="WHAT", help=f"Your pictures: {PICTURES}.")] = None,
        edits: Annotated[
            list[str] | None,
            typer.Option(metavar="[NAME=]WHAT", help=f"What edits them; several are compared: {EDITS}."),
        ] = None,
        judge: Annotated[list[str] | None, typer.Option(metavar="[NAME=]WHAT", help=f"The judge: {JUDGE}.")] = None,
        devices: Annotated[
            str | None, typer.Option(metavar="LIST|cpu:N|auto", help="Where models run: auto is every GPU here.")
        ] = None,
        instruction: Annotated[
            str, typer.Option(metavar="TEXT", help="One instruction for all pictures of a folder that has none.")
        ] = "",
        field: Annotated[
            list[str] | None,
            typer.Option(metavar="OURS=THEIRS", help="A column of your table by its name: instruction=task."),
        ] = None,
        reasons: Annotated[
            bool | None,
            typer.Option(
                "--reasons/--no-reasons",
                help="Whether judges write why before the score: more to read, several times slower.",
                show_default=False,
            ),
        ] = None,
        from_: Annotated[
            str | None, typer.Option("--from", metavar="NAME", help="Copy a configuration that `list` shows instead.")
        ] = None,
        force: Force = False,
    ) -> None:
        """Writes it, and says what to type next."""
        from edit_eval.config.shorthand import read_judge_flag
        from edit_eval.plugins.init.writing import (
            STANDARD,
            add_judges,
            copy_shipped,
            refuse_to_overwrite,
            write_configuration,
        )

        if from_ is not None:
            if any((pictures, edits, judge, devices, instruction, field, reasons is not None)):
                raise ConfigurationError(Text("--from copies a configuration as it is; leave out the other flags"))
            file = file or Path(f"{from_}.yaml")
            refuse_to_overwrite(file, force)
            return _say_and_check(copy_shipped(from_, file))
        file = file or Path(STANDARD)
        if judge and not (force or any((pictures, edits, instruction, field))) and file.is_file():
            drafts = [read_judge_flag(name) for name in _names(judge)]
            return _say_and_check(add_judges(file, drafts, devices or "auto", reasons is not False))
        refuse_to_overwrite(file, force)
        chosen_pictures, models, judges = _answers(
            pictures, edits or [], judge or [], instruction, _fields(field or [])
        )
        asked_where = devices or (
            _ask_question(Text("Where does it run? (auto: every GPU here; 0,1; cpu:2)"), "auto", str)
            if any(model.wants_device for model in (*models, *judges))
            else "auto"
        )
        if chosen_pictures.takes_reasons and any(model.writes for model in judges) and reasons is None:
            question = Text("Should judges say why before they score? (yes: more to read; no: several times faster)")
            reasons = _ask_question(question, "yes", _yes)
        started = write_configuration(file, chosen_pictures, models, judges, asked_where, bool(reasons))
        _say_and_check(started, votes=not judges)


def _answers(
    pictures: str | None, edits: list[str], judges: list[str], instruction: str, fields: dict[str, str]
) -> tuple[Pictures, list[ModelDraft], list[ModelDraft]]:
    """Finds pictures, edit models and judges from the flags, the current folder, or answers at a terminal."""
    from edit_eval.benchmarks.table import NoColumn
    from edit_eval.plugins.init.writing import (
        NOBODY,
        find_near_table,
        likely_edits,
        likely_pictures,
        parse_model,
        parse_pictures,
    )

    def look(written: str) -> Pictures:
        while True:
            try:
                return parse_pictures(written, instruction=instruction, fields=fields)
            except NoColumn as error:
                if not _somebody_answers():
                    raise
                fields[error.ours] = _which_column(error)

    def models(kind: Kind, written: list[str]) -> list[ModelDraft]:
        named = [each for each in _names(written) if kind != "judge" or each not in (NOBODY, "none")]
        if kind == "edit_model":
            named = [each for name in named for each in _take_inner_folders(name, chosen_pictures)]
        return [parse_model(kind, each, chosen_pictures) for each in named]

    def make_reader(kind: Kind) -> Callable[[str], list[ModelDraft]]:
        return lambda text: models(kind, [text])

    question = Text("What are your pictures? ({})", Text(PICTURES))
    chosen_pictures = look(pictures) if pictures else _ask_question(question, likely_pictures(), look, "--pictures")
    if beside_table := find_near_table(chosen_pictures):
        line = Text("{} has instructions for these pictures", beside_table)
        if not _somebody_answers():
            say(Text("note: {}: `--pictures {}` takes them", line, beside_table))
        elif _ask_question(Text("{}. Take them?", line), "yes", _yes):
            chosen_pictures = look(beside_table)
    if chosen_pictures.choices:
        say(chosen_pictures.set_folder(_which_folder(chosen_pictures)))
    beside = Path(chosen_pictures.table).parent if chosen_pictures.table else Path()
    near = dict.fromkeys([*likely_edits(beside, chosen_pictures.names), *likely_edits(Path(), chosen_pictures.names)])
    likely = ",".join(name for name in near if Path(name).resolve() not in {beside.resolve(), *chosen_pictures.folders})
    question = Text("What edits them? ({}; several with commas)", Text(EDITS))
    editing = (
        models("edit_model", edits) if edits else _ask_question(question, likely, make_reader("edit_model"), "--edits")
    )
    editing = _with_likely_ones(editing, chosen_pictures)
    if judges or not _somebody_answers():
        question = Text("What judges the edits? ({})", Text(JUDGE))
        judging = models("judge", judges) if judges else _ask_question(question, "", make_reader("judge"), "--judge")
    else:
        judging = _ask_who_judges(len(chosen_pictures.ids) * len(editing), make_reader("judge"))
    return chosen_pictures, editing, judging


def _which_folder(pictures: Pictures) -> str:
    """Returns the folder that has the sources; asks if several may."""
    if len(pictures.choices) == 1:
        return pictures.choices[0]
    text = Text("{} names files that are in each of {: and }", Path(pictures.table).name, pictures.choices)
    if not _somebody_answers():
        raise ConfigurationError(
            Text("--pictures {}: {}; move it into the folder of the sources", pictures.table, text)
        )
    return _ask_question(Text("{}. Which of them has the sources?", text), "", _one_of(pictures.choices))


def _with_likely_ones(models: list[ModelDraft], pictures: Pictures) -> list[ModelDraft]:
    """Says which finished edits are there, and takes those with other names if whoever answers says yes."""
    from edit_eval.plugins.init.writing import draft_edit_folder

    for model in models if _somebody_answers() else ():  # others are told by the findings below
        if model.section.get("type") == "image_folder":
            say(Text("{}: {}", model.name, model.words))
    if not (_somebody_answers() and any(model.likely for model in models)):
        return models
    if not _ask_question(Text("Take the pictures in brackets for the missing edits?"), "yes", _yes):
        return models
    for place, model in enumerate(models):
        if model.likely:
            taken = draft_edit_folder(Path(model.section["params"]["folder"]), pictures, model.likely)
            models[place] = replace(taken, name=model.name)
    return models


def _ask_who_judges(edits: int, read: Callable[[str], list[ModelDraft]]) -> list[ModelDraft]:
    """Asks who judges so many edits (0: not known yet), by numbered choices or as `--judge` takes it."""
    from edit_eval.plugins.init.writing import can_reach_servers, list_judge_offers

    offered = list_judge_offers(edits)
    say(Text("Who judges the edits?"))
    for number, judge in enumerate(offered, 1):
        say(Text("  {}  {}", number, judge.words))
    if not can_reach_servers():
        say(Text("Judges behind a server need aiohttp: pip install 'edit-eval[openai]'"))
    question = Text("1 to {}, or a judge as `--judge` takes it, such as {}", len(offered), offered[0].answer)

    def read_choice(answer: str) -> list[ModelDraft]:
        if not answer.isdecimal():
            return read(answer)
        if not 0 < int(answer) <= len(offered):
            raise ConfigurationError(Text("{}: answer {}", answer, question))
        written = offered[int(answer) - 1].answer
        return (
            read(written)
            if written
            else _ask_question(Text("Which server? (MODEL@http://localhost:8000/v1)"), "", read)
        )

    return _ask_question(question, str(next(n for n, judge in enumerate(offered, 1) if judge.works_here)), read_choice)


def _take_inner_folders(written: str, pictures: Pictures) -> list[str]:
    from edit_eval.plugins.init.writing import find_edit_folders

    if (found := find_edit_folders(written, pictures)) != [written]:
        say(Text("note: in {}: {:, }", written, found))
    return found


def _names(written: list[str]) -> list[str]:
    """Splits what is named with commas (Chinese ones, too), at a question or a flag, unless a path is called so."""
    groups = [[each] if os.path.lexists(each) else re.split("[,，、]", each) for each in written]
    return [name.strip() for some in groups for name in some]


def _which_column(lacking: NoColumn) -> str:
    what = Text("the instructions") if lacking.ours == "instruction" else Text("the source pictures")
    return _ask_question(Text("Which column has {}? ({})", what, lacking.there), "", _one_of(lacking.there))


def _one_of(names: Sequence[str]) -> Callable[[str], str]:
    def read(answer: str) -> str:
        if answer not in names:
            raise ConfigurationError(Text("{}: answer one of {}", answer, names))
        return answer

    return read


def _yes(answer: str) -> bool:
    meanings = {"yes": True, "y": True, "是": True, "no": False, "n": False, "否": False}
    if answer.strip().lower() not in meanings:
        raise ConfigurationError(Text("{}: answer yes or no", answer))
    return meanings[answer.strip().lower()]


def _somebody_answers() -> bool:
    return not wants_json() and sys.stdin.isatty()


def _ask_question(question: str, likely: str, read: Callable[[str], T], flag: str = "") -> T:
    """Asks at a terminal until the answer can be read; without a terminal, uses the likely answer."""
    if not _somebody_answers():
        if not likely:
            raise ConfigurationError(Text("{} is missing. {}", flag, question))
        return read(likely)
    while True:
        given = typer.prompt(translate(question), default=likely or None, err=True)
        try:
            return read(str(given))
        except ConfigurationError as error:
            say(Text("  {}", error))


def _fields(written: list[str]) -> dict[str, str]:
    parts = [pair.partition("=") for pair in written]
    if wrong := next(("".join(part) for part in parts if not part[0] or not part[2]), ""):
        raise ConfigurationError(Text("--field {}: it takes OURS=THEIRS, such as instruction=task", wrong))
    return {ours.strip(): theirs.strip() for ours, _, theirs in parts}


def _say_and_check(made: Started, *, votes: bool = False) -> None:
    """Prints what was written, what prevents it from running here, and what to type next; `votes`: nobody judges."""
    from edit_eval.plugins.preparation.plans import print_findings
    from edit_eval.plugins.preparation.requests import examine

    beside = write_option_files("init", file=made.file)
    empty = made.pictures.empty if made.pictures else 0
    table = made.pictures.template if made.pictures and empty else None
    findings = [] if table else examine(made.file)
    stops = any(finding.stops for finding in findings)
    whole, first = (None, None) if stops or table else _costs(made.file)
    controls = "" if stops or table else _controls(made.file)
    named = shlex.quote(str(made.file))
    next_ = f"edit-eval {'doctor' if stops or table else 'run'} {named}"
    if first is not None:
        next_ += f" --limit {FIRST_TRY}"
    written = [str(path) for path in (*made.others, *beside, made.file)]
    document: JsonObject = {
        "written": list(written),
        "fill_in": str(table) if table else None,
        "findings": [finding.as_plain() for finding in findings],
        "next": next_,
        **({} if first is None else {"cost_usd": {"first": first, "whole": whole}}),
        **({"controls": translate(controls)} if controls else {}),
    }

    def show() -> None:
        print("\n".join(translate(Text("wrote {}", path)) for path in written))
        print()
        if findings:
            print_findings(findings)
            print()
        if controls:
            print(translate(controls))
            print()
        if table:
            print(translate(Text("Fill in the column `instruction` of {} ({} are empty), then type:", table, empty)))
        else:
            print(translate(Text("Fix that, then type:") if stops else Text("Now type:")))
        print(f"  {next_}")
        if votes and not (stops or table):
            print(f"  edit-eval view    # {translate(Text('vote, then look'))}")
        if first is not None:
            of = Text(
                "That is a first try, {} of each category: about {:,.2f} USD.", pluralize(FIRST_TRY, "sample"), first
            )
            print(translate(of))
            print(translate(Text("All of it, about {:,.2f} USD:", whole)))
            print(f"  edit-eval run {named}")

    answer(lambda: document, show)
    end_if_short(stops)


def _costs(file: Path) -> tuple[float | None, float | None]:
    """Returns what a run and a first try of it cost in US dollars; None, None without paid models, or if unknown."""
    from edit_eval.config.loading import load_configuration
    from edit_eval.execution.prices import prices_of
    from edit_eval.plugins.preparation.requests import plan

    try:
        if not prices_of(load_configuration(file)):
            return None, None
        return plan(file).cost, plan(file, limit=FIRST_TRY).cost
    except EditEvalError:  # whoever runs it is told why
        return None, None


def _controls(file: Path) -> str:
    """Says how many controls a run has and what they cost; empty if that is unknown."""
    from edit_eval.plugins.preparation.requests import controls_of

    try:
        return controls_of(file)
    except EditEvalError:  # whoever runs it is told why
        return ""
