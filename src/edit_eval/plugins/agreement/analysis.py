"""`edit-eval agreement`, and the section of every report with several judges, or with repeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from edit_eval.errors import ConfigurationError
from edit_eval.plugins.agreement.bridge_sheet import bridge_sheet
from edit_eval.plugins.agreement.choices import compare_with_choices
from edit_eval.plugins.agreement.document import JudgesAgreement
from edit_eval.plugins.agreement.judges import cards_of, compare_judges
from edit_eval.plugins.agreement.people import people_agreement
from edit_eval.plugins.agreement.people_sheet import people_sheet
from edit_eval.plugins.agreement.sheet import GAP, agreement_sheet, choices_sheet
from edit_eval.reporting.analyses import Analysis, ChartStyle, RunRecords, Sources
from edit_eval.reporting.table import Sheet
from edit_eval.statistics.people import read_people
from edit_eval.text import Text


class AgreementAnalysis(Analysis[JudgesAgreement]):
    """How well judges agree with each other and with people.

    Also with themselves, if they were asked again; and how often each gives no score. With --old and --new, a bridge
    from one judge to the other: `--to FILE.json` keeps it, so that `report RUN --as OLD --bridge FILE.json` reports a
    later run by NEW on the scale of OLD.
    """

    @dataclass(frozen=True)
    class Parameters:
        people: Path | None = field(default=None, metadata={"metavar": "FILE"})
        """People's scores: CSV (sample_id, edit_model, score, rater), VIEScore's folder, or vie."""
        score: str | None = field(default=None, metadata={"metavar": "NAME"})
        """Use this score instead of the headline."""
        old: str | None = field(default=None, metadata={"metavar": "JUDGE"})
        """A judge that is gone, or will be: from its scores a bridge leads to --new."""
        new: str | None = field(default=None, metadata={"metavar": "JUDGE"})
        """With --old: the judge that takes over."""

    about: ClassVar = {"group": "To judge, and to examine judges"}
    title = Text("Judges")
    chart_title = Text("Two judges about the same edit")
    caption = Text("A dot is an edit. On a dashed line both judges give the same score; unlike scales have none.")
    document: ClassVar[type[JudgesAgreement]] = JudgesAgreement
    sources = Sources("RUN...", "A run; further runs add their judges of the same edits.", several=True, as_one=True)
    appendix = True

    def compute(self, records: RunRecords, parameters: Parameters) -> JudgesAgreement:
        """Raises `ConfigurationError` for a score that no judge gives, for people who scored other edits, and for two
        judges between which there can be no bridge."""
        results, score = records.results, parameters.score
        ratings = None if parameters.people is None else read_people(Path(parameters.people))
        if (parameters.old is None) != (parameters.new is None):
            raise ConfigurationError(Text("--old JUDGE needs --new JUDGE: give both or neither"))
        over = None
        if parameters.old is not None and parameters.new is not None:
            from edit_eval.plugins.agreement.bridge import make_bridge

            over = make_bridge(results, parameters.old, parameters.new, score)
        return JudgesAgreement(
            judges=cards_of(results, score),
            between_judges=compare_judges(results, score),
            people=None if ratings is None else people_agreement(results, ratings, score=score),
            choices=compare_with_choices(results),
            bridge=over,
        )

    def sheet(self, document: JudgesAgreement) -> Sheet:
        return [
            *agreement_sheet(document),
            *([GAP, *people_sheet(document.people)] if document.people else []),
            *([GAP, *choices_sheet(document.choices)] if document.choices else []),
            *([GAP, *bridge_sheet(document.bridge)] if document.bridge else []),
        ]

    def charts(self, documents: Sequence[JudgesAgreement], style: ChartStyle) -> Sequence[Any]:
        """Draws single edits, so only where there are the records of a run."""
        from edit_eval.plugins.agreement.chart import agreement_charts  # only a page needs it

        return agreement_charts(style.results, style.language) if style.results else []

    def rows(self, document: JudgesAgreement) -> Sequence[Mapping[str, Any]]:
        """Returns a row for each judge: its card."""
        return [
            {
                "judge": name,
                "score": card.score,
                "asked": card.asked,
                "unscored": card.unscored.count,
                "ceiling": card.ceiling.count if card.ceiling else None,
                "floor": card.floor.count if card.floor else None,
                "retest_sd": card.retest.sd if card.retest else None,
                "retest_icc": card.retest.icc if card.retest else None,
                "identical": card.retest.identical if card.retest else None,
            }
            for name, card in document.judges.items()
        ]
