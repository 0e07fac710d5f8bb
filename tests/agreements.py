"""What judges agree on, as the JSON that a reader gets, and the sheet of such JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from edit_eval.guests.agreement import judges, people
from edit_eval.guests.agreement.analysis import AgreementAnalysis
from edit_eval.guests.agreement.document import JudgesAgreement
from edit_eval.records import Results
from edit_eval.reporting.analyses import RunRecords, plain
from edit_eval.reporting.table import Sheet
from edit_eval.statistics.people import Rating


def judges_document(run: Results, *, min_coverage: float = 1.0, score: str | None = None) -> dict[str, Any]:
    """All of it, without people."""
    records = RunRecords(run, min_coverage=min_coverage)
    found: dict[str, Any] = plain(AgreementAnalysis().compute(records, AgreementAnalysis.Parameters(score=score)))
    return found


def judge_agreement(run: Results, *, score: str | None = None, resamples: int = 1_000) -> dict[str, Any]:
    """Cards, and judges with each other, by fewer resamples."""
    between = judges.between_judges(run, score, resamples=resamples)
    return {"judges": plain(judges.cards_of(run, score)), "between_judges": plain(between)}


def people_agreement(run: Results, ratings: Sequence[Rating], **how: Any) -> dict[str, Any]:
    """Judges beside people."""
    found: dict[str, Any] = plain(people.people_agreement(run, ratings, **how))
    return found


def sheet_of(document: dict[str, Any]) -> Sheet:
    """The sheet of that JSON, as it is read back."""
    return AgreementAnalysis().sheet(msgspec.convert(document, JudgesAgreement))
