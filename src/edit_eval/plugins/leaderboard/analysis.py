"""`edit-eval leaderboard`: an analysis of several runs, here or pushed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from edit_eval.plugins.leaderboard.board import Leaderboard, leaderboard
from edit_eval.plugins.leaderboard.pushed_run import PushedRun, is_pushed_run, read_pushed_run
from edit_eval.plugins.leaderboard.sheet import leaderboard_sheet
from edit_eval.reporting.analyses import Analysis, Sources
from edit_eval.reporting.table import Sheet
from edit_eval.run import Run
from edit_eval.store.examined import usual_folder
from edit_eval.text import Text

_IN_CSV = ("judge", "score", "name", "rank", "scored", "total", "clusters", "mean")


class LeaderboardAnalysis(Analysis[Leaderboard]):
    """Edit models of several runs, ranked by one judge.

    It shows means and ranks, strengths, coverage and passports. Runs with other samples, another judge or another
    protocol are refused.
    """

    @dataclass(frozen=True)
    class Parameters:
        """Where to look for passports."""

        passports: Path | None = None
        """Folder of judges' passports. Default: your cache."""

    about: ClassVar = {"group": "To compare"}
    title: ClassVar[Text] = Text("Leaderboard")
    document: ClassVar = Leaderboard
    sources: ClassVar = Sources(
        "RUN...", "Runs of the same samples by the same judge; pushed: hub:OWNER/NAME.", several=True
    )

    def open_source(self, source: Any, parameters: Parameters) -> Run | PushedRun:
        """Opens a run directory, or a pushed run: `hub:OWNER/NAME`, or a folder with its `standing.json`."""
        if isinstance(source, Run | PushedRun):
            return source
        folder = parameters.passports or usual_folder()
        return read_pushed_run(source) if is_pushed_run(source) else Run(Path(source), folder)

    def compute(self, records: Sequence[Run | PushedRun], parameters: Parameters) -> Leaderboard:
        """Ranks the edit models of all runs. Raises `ConfigurationError` for runs that may not be compared."""
        return leaderboard(records)

    def sheet(self, document: Leaderboard) -> Sheet:
        """Returns every judge's table, with coverage, intervals and ranks; passports and notes below."""
        return leaderboard_sheet(document)

    def rows(self, document: Leaderboard) -> Sequence[Mapping[str, Any]]:
        """Returns a row for each column by judges of single edits."""
        return [
            {name: getattr(column, name) for name in _IN_CSV}
            | dict(zip(("ci95_low", "ci95_high"), column.ci95 or (None, None), strict=True))
            for column in document.columns
        ]
