"""The verbs of people's votes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edit_eval.command_line import Force, RunFolder, answer, verb
from edit_eval.reporting.language import said
from edit_eval.text import Text

voting = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Collect people's votes, and write them as files."
)


@verb(voting, name="export", short_help="Write people's scores as CSV, for `agreement --people`.")
def vote_export(
    run: RunFolder,
    file: Annotated[Path, typer.Argument(metavar="FILE.csv", help="Where to write it; - is stdout.")] = Path("-"),
    votes: Annotated[bool, typer.Option("--votes", help="Write every vote instead, one per row.")] = False,
    force: Force = False,
) -> None:
    """Write each edit's share of the votes it could have won, by rater. Each edit appears once."""
    from edit_eval.run import Run
    from edit_eval.store.votes import write_votes

    made = Run(run).records
    write_votes(made.votes, made.results.samples, file, every=votes, force=force)


@verb(voting, name="page", short_help="Write a page on which people vote without a server.")
def vote_page(
    run: RunFolder,
    file: Annotated[Path, typer.Argument(metavar="FILE.html", help="Where to write it.")],
    *,
    pairs: Annotated[int, typer.Option(metavar="N", help="Pairs of edits in it.")] = 100,
    size: Annotated[int, typer.Option(metavar="PIXELS", help="Longest side of the pictures in it.")] = 1024,
    force: Force = False,
) -> None:
    """Write blind pairs with their pictures into one file, to send to raters.

    It needs no server and no network. Raters send back a file for `vote import`.
    """
    from edit_eval.viewer.pages import write_raters_page

    count = write_raters_page(run, file, pairs=pairs, side=size, force=force)
    answer(lambda: {"written": str(file), "pairs": count}, lambda: print(said(Text("{}: {} pairs", file, count))))


@verb(voting, name="import", short_help="Take in the votes that raters have sent back.")
def vote_import(
    run: RunFolder,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files that the raters' page has saved.")],
) -> None:
    """Add votes from a page of `vote page` to the run. The same file twice adds nothing."""
    from edit_eval.store.run_directory import RunDirectory
    from edit_eval.store.votes import add_saved_votes

    counts = add_saved_votes(RunDirectory.existing(run).path, files)
    line = Text("{} new votes, {} changed, {} already there", counts["new"], counts["changed"], counts["already"])
    answer(lambda: counts, lambda: print(said(line)))
