"""The verbs about judges: audits, and people's votes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from edit_eval.command_line import (
    Config,
    Force,
    RunDir,
    RunFolder,
    answer,
    end_if_short,
    verb,
)
from edit_eval.reporting.language import said, spoken
from edit_eval.text import Text

judging = typer.Typer()


def print_audited(made: Any) -> None:
    from edit_eval.reporting.audit import audit_sheet, places_of
    from edit_eval.reporting.table import print_sheet

    sheet = [*audit_sheet(made.passport, made.ways), *places_of(made.run.path, made.page, made.file)]
    answer(made.as_plain, lambda: print_sheet(sheet, language=spoken(made.run.language)))


@verb(judging, short_help="Examine a judge with edits of known quality.")
def audit(
    config: Config,
    *,
    judge: Annotated[str | None, typer.Option(metavar="NAME", help="Examine this judge, if there are several.")] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed for drawing the scenes. Default: new scenes for each audit.")
    ] = None,
    scenes: Annotated[int, typer.Option(metavar="N", help="Scenes per category; more give a surer verdict.")] = 40,
    size: Annotated[int, typer.Option(metavar="PIXELS", help="Width of the scenes.")] = 512,
    run_dir: RunDir = None,
    passports: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the passport there. Default: the user's cache.")
    ] = None,
    people: Annotated[Path | None, typer.Option(metavar="FILE|vie", help="Also compare with people's scores.")] = None,
    judged: Annotated[
        Path | None, typer.Option(metavar="RUN", help="With --people: a run in which it scored those edits.")
    ] = None,
    devices: Annotated[str | None, typer.Option(metavar="LIST|cpu:N|auto", help="Replace the judge's devices.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Replace one value of the YAML, by dotted key."),
    ] = None,
) -> None:
    """Examine a judge with edits of known quality, asked as the configuration asks it. Edit models are not run.

    Exit with 3 unless the judge passes every test. Rerun the same command to resume.
    """
    from edit_eval.auditing import audit as examine

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
    print_audited(made)
    end_if_short(made.passport.verdict != "passed")


# -- the verbs of `edit-eval vote`: votes on raters' pages, and as files --

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
