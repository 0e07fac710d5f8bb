"""The verbs of `edit-eval vote`: what people prefer, by the votes that `view` collects."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edit_eval.command_line import answer, verb, words
from edit_eval.verbs.arguments import RunFolder

voting = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="What people prefer, by the votes in `view`.")


@verb(voting, name="show", short_help="Show which edit models people prefer.")
def vote_show(
    run: RunFolder,
    without: Annotated[str | None, typer.Option(metavar="A,B", help="Leave out the votes of these raters.")] = None,
) -> None:
    """Show the strengths of the edit models by people's votes, with intervals; and the raters with their habits."""
    from edit_eval.reporting.votes import print_preferences
    from edit_eval.run import Run

    made = Run(run)
    document = made.preferences(words(without) or ())
    answer(lambda: document, lambda: print_preferences(document, language=made.language))


@verb(voting, name="export", short_help="Write people's scores as CSV, for `agreement --people`.")
def vote_export(
    run: RunFolder,
    file: Annotated[Path, typer.Argument(metavar="FILE.csv", help="Where to write it; - is stdout.")] = Path("-"),
    votes: Annotated[bool, typer.Option("--votes", help="Write every vote instead, one a row.")] = False,
) -> None:
    """Write what people think of each edit: the share of its votes that it got, by rater. No edit is in it twice."""
    from edit_eval.reporting.votes import write_votes
    from edit_eval.run import Run

    made = Run(run)
    write_votes(made.votes, made.results.samples, file, every=votes)
