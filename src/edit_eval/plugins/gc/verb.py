"""The verb `gc`."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from edit_eval.errors import ConfigurationError
from edit_eval.reporting.language import translate
from edit_eval.text import Text
from edit_eval.verbs.command_line import answer, wants_json
from edit_eval.verbs.contract import Verb


class Gc(Verb):
    """Show what the cache and old runs hold, and clear what can go.

    What can go is what can be made again, and what no run names. Nothing is deleted without --delete, and no run that
    is not named with --run.
    """

    about: ClassVar = {"group": "To share and tidy"}

    @staticmethod
    def call(
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
        delete: Annotated[
            bool, typer.Option("--delete", help="Delete what can go; without this nothing is deleted.")
        ] = False,
        yes: Annotated[bool, typer.Option("--yes", help="Do not ask before a whole run is deleted.")] = False,
    ) -> None:
        """Looks, and deletes where that is asked for."""
        from edit_eval.plugins.gc.holdings import clear_holdings, find_holdings
        from edit_eval.reporting.formats import file_size
        from edit_eval.store.run_folders import RUNS

        places = folders or ([RUNS] if RUNS.is_dir() else [])
        holdings = find_holdings(places, run or (), days)
        if delete and run and not yes:
            whole = [item for item in holdings.items if item.what == "run" and item.goes]
            delete = not whole or _may_go(
                [Text("{} ({})", holding.place, file_size(holding.bytes)) for holding in whole]
            )
            holdings = find_holdings(places, run, days)  # the answer may have taken a while
        if delete:
            holdings = clear_holdings(holdings)
        rows = [(item.what, str(item.place), item.bytes, item.used, item.goes, item.why) for item in holdings.items]
        answer(holdings.as_plain, lambda: _print_found(rows, holdings.freed))


def _may_go(runs: list[str]) -> bool:
    """Asks for confirmation at a terminal."""
    named = ", ".join(runs)
    if wants_json() or not sys.stdin.isatty():
        raise ConfigurationError(Text("--run deletes {}, with all edits; confirm it with --yes", named))
    return typer.confirm(translate(Text("Delete {}, with all edits?", named)), err=True)


def _print_found(rows: Sequence[tuple[str, str, int, float, bool, str]], freed: int | None) -> None:
    """Prints what takes space (kind, place, bytes, last use, whether it can go, why), and the total that can go."""
    from edit_eval.reporting.formats import file_size

    for what, place, count, used, goes, why in rows:
        day = time.strftime("%Y-%m-%d", time.localtime(used)) if used else "-"
        line = translate(Text("{}: {}: {}: {}", Text("can go") if goes else Text("stays"), what, why, place))
        print(f"{file_size(count):>10}  {day:>10}  {line}")
    if freed is not None:
        print(translate(Text("deleted: {}", file_size(freed))))
        return
    room = sum(count for _, _, count, _, goes, _ in rows if goes)
    print(translate(Text("{} can go; `--delete` deletes that", file_size(room)) if room else Text("nothing can go")))
