"""`edit-eval bridge`: an analysis of the runs in which two judges have scored the same edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from edit_eval.plugins.bridge.bridge import bridge_between
from edit_eval.plugins.bridge.document import Bridge
from edit_eval.plugins.bridge.sheet import bridge_sheet, title_of
from edit_eval.reporting.analyses import Analysis, Sources
from edit_eval.reporting.table import Sheet
from edit_eval.run import Run
from edit_eval.text import Text


class BridgeAnalysis(Analysis[Bridge]):
    """Carry a table over to another judge.

    It maps scores of judge OLD to those of judge NEW, from the edits that both have scored. `--to FILE.json` keeps the
    bridge, so that `report RUN --as OLD --bridge FILE.json` reports a later run by NEW on the scale of OLD.
    """

    @dataclass(frozen=True)
    class Parameters:
        old: str = field(metadata={"metavar": "JUDGE"})
        """The judge that is gone, or will be."""
        new: str = field(metadata={"metavar": "JUDGE"})
        """The judge that takes over."""
        score: str | None = field(default=None, metadata={"metavar": "NAME"})
        """Use this score instead of the headline."""

    about: ClassVar = {"group": "To judge, and to examine judges"}
    title = Text("Bridge")
    document: ClassVar[type[Bridge]] = Bridge
    sources = Sources("RUN...", "A run; further runs add their judges of the same edits.", several=True)

    def opened(self, source: Any, parameters: Parameters) -> Run:
        """Opens a run directory."""
        return source if isinstance(source, Run) else Run(Path(source))

    def compute(self, records: Sequence[Run], parameters: Parameters) -> Bridge:
        """Raises `ConfigurationError` for judges that are not there, and for too few edits that both have scored."""
        return bridge_between(records, parameters.old, parameters.new, score=parameters.score)

    def heading(self, document: Bridge) -> Text:
        return title_of(document)

    def sheet(self, document: Bridge) -> Sheet:
        return bridge_sheet(document)

    def rows(self, document: Bridge) -> Sequence[Mapping[str, Any]]:
        """Returns the map: a row for each score of the old judge."""
        rows = []
        for knot in document.map:
            low, high = knot.ci95 or (None, None)
            rows.append({"score": knot.score, "value": knot.value, "low": low, "high": high})
        return rows
