"""The edits to look at first: those with the worst score of each judge, and those that judges disagree about most.

An edit's score by a judge is the mean over its repeats. No number is over several judges: where they disagree each has
its own beside the others. The samples that models differ on most are the comparison's (`Pair.largest`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from edit_eval.records import Judgement, Results
from edit_eval.statistics.series import Series, gain, series_of

SHOWN = 3

_Edit = tuple[str, str, int]
"""(sample, edit model, edit seed)"""


def extremes(results: Results) -> dict[str, Any]:
    """`{"worst": {JUDGE: [...]}, "judges_apart": [...]}`, at most three edits each.

    Of equal ones the first in the benchmark. Of each: `sample_id`, `edit_model`, `edit_seed`; of the worst the judge's
    `score`, by its headline; of those on which judges are apart their `scores` by name, and how far the lowest and the
    highest lie apart (`difference`). Judges are held against those whose headline has the same scale.
    """
    series = series_of(results)
    place = {sample.id: sample.index for sample in results.samples}
    models = {name: number for number, name in enumerate(results.edit_models)}

    def order(edit: _Edit) -> tuple[int, int, int]:
        return place[edit[0]], models[edit[1]], edit[2]

    scores = {}
    for judge, of in series.items():
        found = _scores(results, judge, of)
        scores[judge] = {edit: found[edit] for edit in sorted(found, key=order)}
    return {
        "worst": {
            judge: [{**_named(edit), "score": scores[judge][edit]} for edit in _worst_first(scores[judge], of)[:SHOWN]]
            for judge, of in series.items()
        },
        "judges_apart": _apart(series, scores, order),
    }


def _scores(results: Results, judge: str, of: Series) -> dict[_Edit, float]:
    """Every edit that the judge gave the score."""
    found: dict[_Edit, list[float]] = {}
    for one in results.judgements:
        if one.judge == judge and of.score in one.scores:
            found.setdefault(_edit(one), []).append(one.scores[of.score])
    return {edit: math.fsum(values) / len(values) for edit, values in found.items()}


def _worst_first(scores: Mapping[_Edit, float], of: Series) -> list[_Edit]:
    return sorted(scores, key=lambda edit: gain(of.scale) * scores[edit])


def _apart(
    series: Mapping[str, Series],
    scores: Mapping[str, Mapping[_Edit, float]],
    order: Callable[[_Edit], tuple[int, int, int]],
) -> list[dict[str, Any]]:
    found = []
    for scale in dict.fromkeys(of.scale for of in series.values()):
        judges = [judge for judge, of in series.items() if of.scale == scale]
        for edit in sorted({edit for judge in judges for edit in scores[judge]}, key=order):
            of_edit = {judge: scores[judge][edit] for judge in judges if edit in scores[judge]}
            difference = max(of_edit.values()) - min(of_edit.values())
            if difference > 0:
                found.append({**_named(edit), "scores": of_edit, "difference": difference})
    return sorted(found, key=lambda one: -one["difference"])[:SHOWN]


def _edit(judgement: Judgement) -> _Edit:
    return judgement.sample_id, judgement.edit_model, judgement.edit_seed


def _named(edit: _Edit) -> dict[str, Any]:
    return dict(zip(("sample_id", "edit_model", "edit_seed"), edit, strict=True))
