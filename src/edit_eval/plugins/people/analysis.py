"""`edit-eval votes` and `edit-eval people`, and their sections of the report of a run that people have voted on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from edit_eval.errors import ConfigurationError
from edit_eval.plugins.people.differences import People, compare_by_votes, peoples_differences
from edit_eval.plugins.people.sheet import people_sheet
from edit_eval.plugins.people.votes import PeoplesVotes, peoples_votes
from edit_eval.plugins.people.votes_sheet import votes_sheet
from edit_eval.reporting.analyses import RUNS_AS_ONE, Analysis, ChartStyle, RunRecords
from edit_eval.reporting.table import Sheet
from edit_eval.statistics.comparison import columns_to_test
from edit_eval.statistics.people import read_answers
from edit_eval.text import Text


class VotesAnalysis(Analysis[PeoplesVotes]):
    """Which edit models people prefer, according to their votes.

    Strengths with intervals, how each rater votes, how far raters agree, and how often each judge prefers what a person
    does. Votes come from `view`.
    """

    about: ClassVar = {"group": "To judge, and to examine judges"}

    @dataclass(frozen=True)
    class Parameters:
        without: str | None = field(default=None, metadata={"metavar": "A,B"})
        """Leave out these raters' votes."""
        with_: str | None = field(default=None, metadata={"metavar": "A,B"})
        """Count these raters, even if they always take one side."""

    title = Text("What people prefer")
    document: ClassVar[type[PeoplesVotes]] = PeoplesVotes

    def compute(self, records: RunRecords, parameters: Parameters) -> PeoplesVotes:
        """Raises `ConfigurationError` for a name that nobody has who voted."""
        without, taken_in = (_names(raters) for raters in (parameters.without, parameters.with_))
        return peoples_votes(records.results, records.votes, without, taken_in)

    def sheet(self, document: PeoplesVotes) -> Sheet:
        return votes_sheet(document)

    def rows(self, document: PeoplesVotes) -> Sequence[Mapping[str, Any]]:
        return [
            {name: getattr(row, name) for name in ("edit_model", "rank", "strength", "share")}
            | dict(zip(("low", "high"), row.ci95 or (None, None), strict=True))
            for row in document.strengths
        ]


class PeopleAnalysis(Analysis[People]):
    """What people would say of all edits, from those they have seen.

    For every two edit models and each judge: by the judge alone, by people alone, and by the judge set right by people
    (prediction-powered inference), on people's scale.
    """

    about: ClassVar = {"group": "To compare"}

    @dataclass(frozen=True)
    class Parameters:
        people: Path | None = field(default=None, metadata={"metavar": "FILE"})
        """People's scores or votes on some of the edits; default: the votes on this run."""
        score: str | None = field(default=None, metadata={"metavar": "NAME"})
        """Which score of the judges. Default: their headline."""

    title = Text("What people would say")
    chart_title = Text("The difference on people's scale")
    document: ClassVar[type[People]] = People
    sources = RUNS_AS_ONE

    def compute(self, records: RunRecords, parameters: Parameters) -> People:
        """Raises `ConfigurationError` if nobody has answered about two edits of one sample that a judge has scored."""
        columns = columns_to_test(records.results, parameters.score)
        if parameters.people is not None:
            return peoples_differences(columns, read_answers(Path(parameters.people)))
        votes = records.votes.to_votes(records.results.samples)
        if not votes:
            raise ConfigurationError(
                Text("there are no votes on {}; --people FILE names people's scores or votes", records.results.name)
            )
        return compare_by_votes(columns, votes)

    def sheet(self, document: People) -> Sheet:
        return people_sheet(document)

    def charts(self, documents: Sequence[People], style: ChartStyle) -> Sequence[Any]:
        from edit_eval.plugins.people.chart import people_charts  # only a page needs it

        return [chart for document in documents for chart in people_charts(document, style.language)]

    def rows(self, document: People) -> Sequence[Mapping[str, Any]]:
        return [
            {
                "judge": pair.judge,
                "a": pair.a,
                "b": pair.b,
                "whose": whose,
                "difference": estimate.difference,
                "low": estimate.ci95[0] if estimate.ci95 else None,
                "high": estimate.ci95[1] if estimate.ci95 else None,
                "images": pair.images,
                "preferred": pair.preferred or "",
            }
            for pair in document.pairs
            for whose, estimate in (
                ("judge_alone", pair.judge_alone),
                ("people_alone", pair.people_alone),
                ("corrected", pair.corrected),
            )
        ]


def _names(given: str | None) -> list[str]:
    return [name.strip() for name in (given or "").split(",") if name.strip()]
