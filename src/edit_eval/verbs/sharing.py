"""The verbs that publish a run, and that free disk space."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from edit_eval.command_line import RunFolder, answer, say, verb, wants_json
from edit_eval.errors import ConfigurationError
from edit_eval.reporting.language import said
from edit_eval.text import Text

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
    answer(made.as_plain, lambda: _print_pushed(made.files, made.rows, made.address, made.notes))


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
    from edit_eval.store.run_folders import RUNS
    from edit_eval.tidying import delete as clear
    from edit_eval.tidying import look

    places = folders or ([RUNS] if RUNS.is_dir() else [])
    found = look(places, run or (), days)
    if delete and run and not yes:
        whole = [one for one in found.items if one.what == "run" and one.goes]
        delete = not whole or _may_go([Text("{} ({})", one.place, _size(one.bytes)) for one in whole])
        found = look(places, run, days)  # the answer may have taken a while
    if delete:
        found = clear(found)
    rows = [(one.what, str(one.place), one.bytes, one.used, one.goes, one.why) for one in found.items]
    answer(found.as_plain, lambda: _print_found(rows, found.freed))


def _may_go(runs: list[str]) -> bool:
    """Asks for confirmation at a terminal."""
    named = ", ".join(runs)
    if wants_json() or not sys.stdin.isatty():
        raise ConfigurationError(Text("--run deletes {}, with all edits; confirm it with --yes", named))
    return typer.confirm(said(Text("Delete {}, with all edits?", named)), err=True)


# -- printing what was pushed, and what can be deleted --


def _size(count: int) -> str:
    """Formats a size: `3.4 KiB`; from 10 MiB on, as memory is shown."""
    from edit_eval.reporting.formats import memory

    if count >= 10 << 20:
        return memory(count)
    return f"{count / 2**20:.1f} MiB" if count >= 1 << 20 else f"{count / 2**10:.1f} KiB" if count else "0"


def _print_pushed(files: Mapping[str, int], rows: int, address: str, notes: Sequence[str]) -> None:
    """Prints the files with their sizes; if nothing was sent, also the notes (otherwise printed before)."""
    for name, count in files.items():
        print(f"{_size(count):>10}  {name}")
    total = _size(sum(files.values()))
    if address:
        print(said(Text("sent: {} rows, {}: {}", rows, total, address)))
        return
    for note in notes:
        print(said(Text("note: {}", note)))
    print(said(Text("would send: {} rows, {}; without `--dry-run` it is sent", rows, total)))


def _print_found(rows: Sequence[tuple[str, str, int, float, bool, str]], freed: int | None) -> None:
    """Prints what takes space (kind, place, bytes, last use, whether it can go, why), and the total that can go."""
    for what, place, count, used, goes, why in rows:
        day = time.strftime("%Y-%m-%d", time.localtime(used)) if used else "-"
        line = said(Text("{}: {}: {}: {}", Text("can go") if goes else Text("stays"), what, why, place))
        print(f"{_size(count):>10}  {day:>10}  {line}")
    if freed is not None:
        print(said(Text("deleted: {}", _size(freed))))
        return
    room = sum(count for _, _, count, _, goes, _ in rows if goes)
    print(said(Text("{} can go; `--delete` deletes that", _size(room)) if room else Text("nothing can go")))
