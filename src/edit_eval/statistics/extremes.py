"""The edits to look at first: those with the worst score of each judge, and those that judges disagree about most.

An edit's score by a judge is the mean over its repeats. No number is over several judges: where they disagree each has
its own beside the others. A judge that is stricter than another disagrees about no edit: its own level, the mean over
the edits that all of them have scored, is taken out before judges are held against each other. The samples that models
differ on most are the comparison's (`Pair.largest`).
"""

from __future__ import annotations

from statistics import fmean
from typing import Any

from edit_eval.records import Results
from edit_eval.statistics.instruments import Item, judges_of

SHOWN = 3


_ROUNDING = 1e-9


def extremes(results: Results) -> dict[str, Any]:
    """`{"worst": {JUDGE: [...]}, "judges_apart": [...]}`, at most three edits each.

    Of equal ones the first in the benchmark. Of each: `sample_id`, `edit_model`, `edit_seed`; of the worst the judge's
    `score`, by its headline; of those on which judges are apart their `scores` by name, and how far the lowest and the
    highest lie apart without the judges' levels (`difference`). Judges are held against those whose headline has the
    same scale.
    """
    place = {sample.id: sample.index for sample in results.samples}
    models = {name: number for number, name in enumerate(results.edit_models)}

    def order(item: Item) -> tuple[int, int, int]:
        return place[item.sample_id], models[item.edit_model], item.edit_seed

    judges = judges_of(results)
    worst = {
        name: sorted(judge.upward, key=lambda item: (judge.upward[item], order(item)))[:SHOWN]
        for name, judge in judges.items()
    }
    apart = []
    for scale in dict.fromkeys(judge.scale for judge in judges.values()):
        alike = {name: judge.values for name, judge in judges.items() if judge.scale == scale}
        shared = set.intersection(*map(set, alike.values()))
        level = {name: fmean(values[item] for item in shared) if shared else 0.0 for name, values in alike.items()}
        for item in sorted({item for values in alike.values() for item in values}, key=order):
            scores = {name: values[item] for name, values in alike.items() if item in values}
            apart_by = [score - level[name] for name, score in scores.items()]
            difference = max(apart_by) - min(apart_by)
            if difference > _ROUNDING:
                apart.append({**_named(item), "scores": scores, "difference": difference})
    return {
        "worst": {
            name: [{**_named(item), "score": judges[name].values[item]} for item in items]
            for name, items in worst.items()
        },
        "judges_apart": sorted(apart, key=lambda one: -one["difference"])[:SHOWN],
    }


def _named(item: Item) -> dict[str, Any]:
    return {"sample_id": item.sample_id, "edit_model": item.edit_model, "edit_seed": item.edit_seed}
