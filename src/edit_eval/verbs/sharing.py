"""The verbs that hand a run on, and that make room."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from edit_eval.command_line import answer, say, verb, wants_json
from edit_eval.errors import ConfigurationError
from edit_eval.reporting.language import said
from edit_eval.text import Text
from edit_eval.verbs.arguments import RunFolder

sharing = typer.Typer()


@verb(sharing, short_help="Publish a run as a data set on the Hugging Face Hub.")
def push(
    run: RunFolder,
    repository: Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The data set; it is made if need be.")],
    *,
    private: Annotated[bool, typer.Option("--private", help="Make a new data set private.")] = False,
    without_images: Annotated[bool, typer.Option("--without-images", help="Send texts and numbers only.")] = False,
    sources: Annotated[
        bool, typer.Option("--sources", help="Send the source pictures too: you may publish them.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be sent, and send nothing.")] = False,
) -> None:
    """Publish edits, scores, judges' words and a card as a data set on the Hugging Face Hub. Needs HF_TOKEN.

    Source pictures are left out unless the benchmark's licence allows them. Rerun the same command to go on or update.
    """
    from edit_eval.reporting.sharing import print_pushed
    from edit_eval.run import Run
    from edit_eval.sharing.push import push as send

    made = send(
        Run(run),
        repository,
        private=private,
        images=not without_images,
        sources=sources,
        dry_run=dry_run,
        tell=lambda note: say(Text("note: {}", note)),
    )
    answer(made.as_plain, lambda: print_pushed(made.files, made.rows, made.address, made.notes))


@verb(sharing, short_help="Show what the cache and old runs hold, and clear what can go.")
def gc(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DIR...", help="Runs, or folders with some in them. Default: runs."),
    ] = None,
    *,
    run: Annotated[
        list[Path] | None, typer.Option("--run", metavar="RUN", help="Delete this whole run, with all its edits.")
    ] = None,
    days: Annotated[
        float, typer.Option("--days", metavar="N", min=0, help="Keep what the cache has used in the last N days.")
    ] = 30.0,
    delete: Annotated[bool, typer.Option("--delete", help="Delete what can go; without it nothing is.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before a whole run is deleted.")] = False,
) -> None:
    """Show what the cache and runs hold, and what can go: what can be made again, and what no run names.

    Nothing is deleted without --delete, and no run that is not named with --run.
    """
    from edit_eval.reporting.sharing import print_found, size
    from edit_eval.store.run_folders import RUNS
    from edit_eval.tidying import delete as clear
    from edit_eval.tidying import look

    places = folders or ([RUNS] if RUNS.is_dir() else [])
    found = look(places, run or (), days)
    if delete and run and not yes:
        whole = [one for one in found.items if one.what == "run" and one.goes]
        delete = not whole or _may_go([Text("{} ({})", one.place, size(one.bytes)) for one in whole])
        found = look(places, run, days)  # the answer may have taken a while
    if delete:
        found = clear(found)
    rows = [(one.what, str(one.place), one.bytes, one.used, one.goes, one.why) for one in found.items]
    answer(found.as_plain, lambda: print_found(rows, found.freed))


def _may_go(runs: list[str]) -> bool:
    """Asks a person at a terminal."""
    named = ", ".join(runs)
    if wants_json() or not sys.stdin.isatty():
        raise ConfigurationError(Text("--run deletes {}, with all edits; confirm it with --yes", named))
    return typer.confirm(said(Text("Delete {}, with all edits?", named)), err=True)
