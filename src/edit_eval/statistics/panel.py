"""Several judges as one panel: the median of what they say of each edit.

A median, because one judge that is far off, or harsher than the others, moves a mean but not it. Two judges have none:
it would be their mean. An edit that any of the judges has no score for has no median: over fewer judges it would be
another instrument, and edits that are hard to judge would be measured with it.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace

from edit_eval.records import Edit, Judgement, Results, Status

NAME = "median"
"""What the panel is called where a judge's name stands."""


@dataclass(frozen=True)
class Panel:
    """A run as if one judge, the panel, had judged it once."""

    results: Results
    """One judgement for each edit, in their order."""
    worst: tuple[float, ...]
    """For each judgement its score, were all answers without a score the lowest of the rubric."""
    best: tuple[float, ...]
    """The same for the highest."""


def panel(results: Results, *, lowest: float = 0.0, highest: float = 10.0) -> Panel | None:
    """The median over the judges of each judge's mean over its repeats; None with fewer than three judges."""
    if len(results.judges) < 3:
        return None
    answers: dict[tuple[str, str, int], dict[str, list[Judgement]]] = {}
    for judgement in results.judgements:
        key = (judgement.edit_model, judgement.sample_id, judgement.edit_seed)
        answers.setdefault(key, {}).setdefault(judgement.judge, []).append(judgement)
    categories = {sample.id: sample.category for sample in results.samples}
    judgements, worst, best = [], [], []
    for edit in results.edits:
        of_judges = answers.get((edit.edit_model, edit.sample_id, edit.edit_seed), {})
        told = [of_judges.get(judge, []) for judge in results.judges]
        judgements.append(_judgement(edit, categories[edit.sample_id], told))
        worst.append(statistics.median(_mean(of_judge, lowest) for of_judge in told))
        best.append(statistics.median(_mean(of_judge, highest) for of_judge in told))
    one_judge = replace(results, judges=(NAME,), judgements=tuple(judgements))
    return Panel(one_judge, tuple(worst), tuple(best))


def _judgement(edit: Edit, category: str, told: list[list[Judgement]]) -> Judgement:
    known = [[one.score for one in of_judge if one.score is not None] for of_judge in told]
    common = ("", edit.sample_id, category, edit.edit_model, NAME, edit.edit_seed, 0)
    if all(known):
        means = [math.fsum(scores) / len(scores) for scores in known]
        return Judgement(*common, Status.OK, score=statistics.median(means))
    # What is still to come may yet be a score; only then is there anything to say of why there is none.
    mute = [one for of_judge, scores in zip(told, known, strict=True) if not scores for one in of_judge]
    statuses = [one.status for one in mute] or [Status.PENDING]
    status = Status.PENDING if Status.PENDING in statuses else statuses[0]
    reason = next((one.reason for one in mute if one.status is status), "")
    return Judgement(*common, status, reason=reason)


def _mean(judgements: list[Judgement], value: float) -> float:
    """The mean of a judge's answers about one edit, with `value` for each that is no score."""
    scores = [value if one.score is None else one.score for one in judgements] or [value]
    return math.fsum(scores) / len(scores)
