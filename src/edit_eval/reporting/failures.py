"""What ended without a score, counted by its reason. What is still to be done is no failure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from edit_eval.records import Results, Status


@dataclass(frozen=True)
class Failure:
    """One reason for which one edit model under one judge has judgements without a score."""

    status: Status
    reason: str
    edit_model: str
    judge: str
    count: int


def failures(results: Results) -> list[Failure]:
    """Every (status, reason, edit model, judge) that ended without a score, the most frequent first."""
    counts = Counter(
        (judgement.status, " ".join(judgement.reason.split()), judgement.edit_model, judgement.judge)
        for judgement in results.judgements
        if judgement.status not in (Status.OK, Status.PENDING)
    )
    ordered = sorted(counts.items(), key=lambda item: (-item[1], *map(str, item[0])))
    return [Failure(status, reason, edit_model, judge, count) for (status, reason, edit_model, judge), count in ordered]
