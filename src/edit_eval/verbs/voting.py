"""The verbs of `edit-eval vote`: what people prefer, by the votes that `view` collects."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edit_eval.command_line import answer, verb, words
from edit_eval.reporting.chinese.spoken import spoken
from edit_eval.verbs.arguments import RunFolder

voting = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="What people prefer, from the votes in `view`.")


@verb(voting, name="show", short_help="Show which edit models people prefer.")
def vote_show(
    run: RunFolder,
    without: Annotated[str | None, typer.Option(metavar="A,B", help="Leave out these raters' votes.")] = None,
) -> None:
    """Show how strong each edit model is by people's votes, with intervals, and how each rater votes."""
    from edit_eval.reporting.votes import print_preferences
    from edit_eval.run import Run

    made = Run(run)
    document = made.preferences(words(without) or ())
    answer(lambda: document, lambda: print_preferences(document, language=spoken(made.language)))


@verb(voting, name="export", short_help="Write people's scores as CSV, for `agreement --people`.")
def vote_export(
    run: RunFolder,
    file: Annotated[Path, typer.Argument(metavar="FILE.csv", help="Where to write it; - is stdout.")] = Path("-"),
    votes: Annotated[bool, typer.Option("--votes", help="Write every vote instead, one per row.")] = False,
) -> None:
    """Write each edit's share of the votes it could have won, by rater. Each edit appears once."""
    from edit_eval.reporting.votes import write_votes
    from edit_eval.run import Run

    made = Run(run)
    write_votes(made.votes, made.results.samples, file, every=votes)
