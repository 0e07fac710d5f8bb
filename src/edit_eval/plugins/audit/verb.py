"""The verb `audit`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from edit_eval.reporting.language import translate
from edit_eval.text import Text
from edit_eval.verbs.command_line import Config, Full, RunDir, answer, end_if_short, say, wants_json
from edit_eval.verbs.contract import Verb

if TYPE_CHECKING:
    from edit_eval.plugins.audit.trial import Audit


class AuditVerb(Verb):
    """Examine a judge with edits of known quality.

    It is asked as the configuration asks it. Edit models are not run. Exit with 3 unless the judge passes every test.
    Rerun the same command to resume.
    """

    about: ClassVar = {"group": "To judge, and to examine judges"}

    @staticmethod
    def call(
        config: Config,
        *,
        judge: Annotated[
            str | None, typer.Option(metavar="NAME", help="Examine this judge, if there are several.")
        ] = None,
        seed: Annotated[
            int | None,
            typer.Option(metavar="N", help="Seed for drawing the scenes. Default: new scenes for each audit."),
        ] = None,
        scenes: Annotated[int, typer.Option(metavar="N", help="Scenes per category; more give a surer verdict.")] = 40,
        size: Annotated[int, typer.Option(metavar="PIXELS", help="Width of the scenes.")] = 512,
        run_dir: RunDir = None,
        passports: Annotated[
            Path | None,
            typer.Option(metavar="DIR", help="Write the passport to this folder. Default: the user's cache."),
        ] = None,
        people: Annotated[
            Path | None, typer.Option(metavar="FILE|vie", help="Also compare with people's scores.")
        ] = None,
        judged: Annotated[
            Path | None, typer.Option(metavar="RUN", help="With --people: a run in which it scored those edits.")
        ] = None,
        devices: Annotated[
            str | None, typer.Option(metavar="LIST|cpu:N|auto", help="Replace the judge's devices.")
        ] = None,
        set_: Annotated[
            list[str] | None,
            typer.Option("--set", metavar="KEY=VALUE", help="Replace one value of the YAML, by dotted key."),
        ] = None,
        full: Full = False,
    ) -> None:
        """Audits the judge, and prints what is wrong with it and where its page and passport are."""
        from edit_eval.plugins.audit.trial import audit

        made = audit(
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
            before=_say_how_much,
            listener=_Drawing(),
            devices=devices,
            overrides=set_ or (),
        )
        answer_audited(made, full=full)
        end_if_short(made.passport.verdict != "passed")


class _Drawing:
    """Says now and then how many edits are drawn."""

    def __init__(self) -> None:
        self._next, self._pause = time.monotonic() + 5.0, 10.0

    def reading(self, items: int, read: int, size: int) -> None:
        """Writes a line, and later ones further apart."""
        if time.monotonic() >= self._next:
            say(Text("drawing the scenes: {:,} drawn so far", items))
            self._next, self._pause = time.monotonic() + self._pause, min(2 * self._pause, 60.0)

    def has_read(self) -> None:
        """Says nothing: what is asked is told next."""


def _say_how_much(questions: int | None, cost: float | None) -> None:
    """Says what an audit asks, and lets whoever sits at a terminal leave it; before that is known, what it does."""
    if questions is None:
        return say(Text("drawing the scenes: a minute or so"))
    said = Text("the audit asks {:,} questions in all; `--scenes` makes it shorter", questions)
    say(said if cost is None else Text("{}; about {:,.2f} USD", said, cost))
    here = not wants_json() and sys.stdin.isatty() and sys.stderr.isatty()
    if here and not typer.confirm(translate(Text("Begin?")), default=True, err=True):
        raise typer.Exit
    return None


def answer_audited(made: Audit, *, full: bool = False) -> None:
    """Prints what an audit found, `full` with all measures, or its document."""
    from edit_eval.plugins.audit.sheet import audit_sheet, places_of
    from edit_eval.reporting.language import current_language
    from edit_eval.reporting.table import print_sheet

    sheet = [
        *audit_sheet(made.passport, made.ways, full=full),
        *places_of(made.run.path, made.page if made.page.is_file() else None, made.file),
    ]
    answer(lambda: made.document, lambda: print_sheet(sheet, language=current_language(made.run.language)))
