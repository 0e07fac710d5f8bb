"""`edit-eval best-of`, and its section of every report with several edits of a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from edit_eval.plugins.best_of.sheet import best_of_rows, best_of_sheet, title_of
from edit_eval.plugins.best_of.worth import Worth, best_of, rater, with_critics
from edit_eval.reporting.analyses import Analysis, ChartStyle, RunRecords
from edit_eval.reporting.table import Sheet
from edit_eval.statistics.people import match_names, read_people
from edit_eval.statistics.votes import ratings_of
from edit_eval.text import Text


class BestOf(Analysis[Worth]):
    """What choosing the best of N edits is worth, and what it costs.

    From a run with several edits of each sample (`evaluation.edit_seeds`): what the best of N is worth by one judge
    when another one chooses it. Nothing is edited or judged.
    """

    @dataclass(frozen=True)
    class Parameters:
        select: str = field(metadata={"metavar": "JUDGE"})
        """Who chooses: a judge, JUDGE/SCORE, or people."""
        report: str = field(metadata={"metavar": "JUDGE"})
        """Who reports what that is worth; never the one who chooses."""
        sizes: tuple[int, ...] | None = None
        """How many to choose from. Default: 1, 2, 4, ... and all."""
        people: Path | None = field(default=None, metadata={"metavar": "FILE"})
        """People's scores or votes; default: the votes on this run."""

    title = Text("Best of N")
    chart_title = Text("The best of N edits")
    document: ClassVar[type[Worth]] = Worth
    caption = Text(
        "Solid: by the judge that reports, with 95% intervals. Dashed: what the judge that chooses sees itself, which "
        "is too much."
    )
    explained = Text(
        "Each mean is over all subsets of N edits of a sample, ties broken by chance. Gain: by how much better than "
        "one edit, paired on samples, clustered on source images. Costs: of one sample."
    )

    def compute(self, records: RunRecords, parameters: Parameters) -> Worth:
        """Raises `ConfigurationError` if one judge is both, and if samples have one edit only."""
        people, votes = parameters.people, records.votes.to_votes(records.results.samples)
        given = ratings_of(votes) if people is None else read_people(Path(people))
        ids = [sample.id for sample in records.results.samples]
        ratings, unknown = match_names(given, ids, records.results.edit_models)
        heard = with_critics(records.results)  # critics may choose, but never report
        chooses = rater(heard, parameters.select, ratings)
        worth = best_of(heard, chooses, rater(records.results, parameters.report, ratings), parameters.sizes)
        return msgspec.structs.replace(worth, unknown=tuple(unknown))

    def heading(self, document: Worth) -> Text:
        return title_of(document)

    def sheet(self, document: Worth) -> Sheet:
        return best_of_sheet(document)

    def charts(self, documents: Sequence[Worth], style: ChartStyle) -> Sequence[Any]:
        from edit_eval.plugins.best_of.chart import best_of_charts  # only a page needs it

        return best_of_charts(documents, style)

    def rows(self, document: Worth) -> Sequence[Mapping[str, Any]]:
        return best_of_rows(document)
