"""Means of what is scored so far, as a score's scale says: while a run goes on, and from its records."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from edit_eval.records import Judgement, Scoring
from edit_eval.reporting.progress.view import MeanSoFar


def means_so_far(judgements: Iterable[Judgement], scoring: Mapping[str, Scoring]) -> tuple[MeanSoFar, ...]:
    """For each edit model and judge the mean of the headline, in the order of the judgements."""
    scores: dict[tuple[str, str], dict[str, list[float]]] = {}
    for one in judgements:
        found = scores.setdefault((one.edit_model, one.judge), {}).setdefault(one.category, [])
        score = one.scores.get(scoring[one.judge].headline)
        if score is not None:
            found.append(score)
    made = []
    for (edit_model, judge), by_category in scores.items():
        sums = [(len(found), math.fsum(found)) for found in by_category.values()]
        made.append(mean_so_far(edit_model, judge, scoring[judge], sums))
    return tuple(made)


def mean_so_far(edit_model: str, judge: str, scoring: Scoring, categories: Sequence[tuple[int, float]]) -> MeanSoFar:
    """Of the number of scores in each category and their sum. No mean where there is nothing to take it over."""
    scored = sum(count for count, _ in categories)
    parts = (
        categories if scoring.scale.mean_over == "categories" else [(scored, math.fsum(sum_ for _, sum_ in categories))]
    )
    means = [total / count for count, total in parts if count]
    mean = math.fsum(means) / len(means) if means and len(means) == len(parts) else None
    return MeanSoFar(edit_model, judge, scoring.headline, scoring.scale, scored, mean)
