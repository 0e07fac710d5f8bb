"""`edit-eval rounds` and `edit-eval turns`, and their sections of every report that has some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from edit_eval.errors import ConfigurationError
from edit_eval.plugins.steps.changes import Rounds, Turns, rounds, turns
from edit_eval.plugins.steps.sheet import rounds_sheet, turns_sheet
from edit_eval.reporting.analyses import Analysis, ChartStyle, RunRecords
from edit_eval.reporting.table import Sheet
from edit_eval.text import Text


class RoundsAnalysis(Analysis[Rounds]):
    """What each round of editing, looking and editing again is worth.

    From a run with `rounds`, by each judge but the critic: the change from the first round, the best of a sample's
    rounds by the critic, and the best of as many edits that are told nothing.
    """

    title = Text("From round to round")
    chart_title = Text("Mean by round")
    document: ClassVar[type[Rounds]] = Rounds
    caption = Text("Dot: mean. Line: 95% interval.")

    def compute(self, records: RunRecords, parameters: Any) -> Rounds:
        """Raises `ConfigurationError` if the run has no rounds."""
        of_models = rounds(records.results)
        if not of_models:
            raise ConfigurationError(Text("{} has no rounds; `rounds` in its YAML makes some", records.results.name))
        return Rounds(results=tuple(of_models))

    def sheet(self, document: Rounds) -> Sheet:
        return rounds_sheet(document.results)

    def charts(self, documents: Sequence[Rounds], style: ChartStyle) -> Sequence[Any]:
        from edit_eval.plugins.steps.chart import steps_charts  # only a page needs it

        return steps_charts([result for document in documents for result in document.results], style, Text("Round"))


class TurnsAnalysis(Analysis[Turns]):
    """How scores change from turn to turn of a chain of edits.

    From a run in which samples follow others: each turn against the first of its own chain.
    """

    title = Text("From turn to turn")
    chart_title = Text("Mean by turn")
    document: ClassVar[type[Turns]] = Turns
    caption = Text("Dot: mean. Line: 95% interval.")

    def compute(self, records: RunRecords, parameters: Any) -> Turns:
        """Raises `ConfigurationError` if no sample follows another."""
        of_models = turns(records.results)
        if not of_models:
            raise ConfigurationError(Text("{} has no samples of several turns", records.results.name))
        return Turns(results=tuple(of_models))

    def sheet(self, document: Turns) -> Sheet:
        return turns_sheet(document.results)

    def charts(self, documents: Sequence[Turns], style: ChartStyle) -> Sequence[Any]:
        from edit_eval.plugins.steps.chart import steps_charts  # only a page needs it

        return steps_charts([result for document in documents for result in document.results], style, Text("Turn"))
