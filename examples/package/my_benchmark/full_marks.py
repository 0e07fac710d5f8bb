"""`edit-eval full-marks RUN`: a verb, its JSON, a section of the page with a chart, `Run.analysis`, from one class."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec

from edit_eval import Analysis, ChartStyle, Column, ConfigurationError, RunRecords, Scale, Table, Text


class Share(msgspec.Struct, frozen=True):
    """How many of an edit model's scored edits have the best score that there is."""

    edit_model: str
    full: int
    scored: int


class Shares(msgspec.Struct, frozen=True):
    """What `--json` prints."""

    judge: str
    shares: list[Share]


class FullMarks(Analysis[Shares]):
    """How many edits get the best score that there is.

    A judge that gives full marks to nearly all edits cannot tell good ones from better ones.
    """

    @dataclass(frozen=True)
    class Parameters:
        judge: str = field(metadata={"metavar": "JUDGE"})
        """Whose scores."""

    title = Text("Full marks")
    document: ClassVar[type[Shares]] = Shares
    caption = Text("Share of scored edits with the best score.")

    def select_parameters(self, records: RunRecords) -> Sequence[Mapping[str, Any]]:
        """Every judge whose scale has a best score."""
        scales: Mapping[str, Scale] = {name: records.results.scoring[name].scale for name in records.results.judges}
        return [{"judge": name} for name, scale in scales.items() if scale.best is not None]

    def compute(self, records: RunRecords, parameters: Parameters) -> Shares:
        results, judge = records.results, parameters.judge
        if judge not in results.judges:
            raise ConfigurationError(Text("{} has no judge {}; there are: {}", results.name, judge, results.judges))
        best = results.scoring[judge].scale.best
        shares = []
        for model in results.edit_models:
            scores = [
                judgement.score
                for judgement in results.judgements
                if (judgement.edit_model, judgement.judge) == (model, judge)
            ]
            known = [score for score in scores if score is not None]
            shares.append(Share(model, known.count(best), len(known)))
        return Shares(judge, shares)

    def heading(self, document: Shares) -> Text:
        return Text("judged by {}", document.judge)

    def sheet(self, document: Shares) -> Sequence[Any]:
        columns: list[Column[Share]] = [
            Column(Text("Edit model"), lambda row: row.edit_model, "name"),
            Column(Text("Full marks"), lambda row: f"{row.full}/{row.scored}", look="strong"),
        ]
        return [Table(columns, document.shares)]

    def rows(self, document: Shares) -> Sequence[Mapping[str, Any]]:
        return [{"judge": document.judge, **msgspec.structs.asdict(share)} for share in document.shares]

    def charts(self, documents: Sequence[Shares], style: ChartStyle) -> Sequence[Any]:
        import altair  # only a page needs it

        return [
            altair.Chart(
                {"values": [msgspec.structs.asdict(share) for share in document.shares]},
                width="container",
                height=30 * len(document.shares),  # the page keeps this room
            )
            .transform_calculate("share", "datum.scored ? datum.full / datum.scored : 0")
            .mark_bar()
            .encode(y=altair.Y("edit_model:N", title=None), x=altair.X("share:Q", title=document.judge))
            for document in documents
        ]
