"""Does a judge put edits above what is none: the source itself, a grey picture, another sample's edit?

A judge that does not has seen nothing, or no edit model of the run has made anything; either way its means say nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edit_eval.records import CONTROL, Judgement, Results
from edit_eval.statistics.intervals import cluster_codes, estimate
from edit_eval.statistics.series import Series, gain

FEWEST_WITH_CONTROLS = 8
"""Source images below which nothing is said: a good judge would often not be shown to be one."""


def kind_of(control: Judgement) -> str:
    """`source`, `blank` or `shuffled`."""
    return control.edit_model.removeprefix(CONTROL)


def controls_of(results: Results, judge: str, score: str) -> list[Judgement]:
    """A judge's controls whose samples lead with that score."""
    return [one for one in results.controls if one.judge == judge and one.headline == score]


def beside_edits(results: Results, judge: str, series: Series) -> dict[str, dict[str, Any]]:
    """For each kind of control the edit model that stands out most from it: `{"edit_model", "n", ..., "below"}`.

    Paired on the samples of the controls: `edits` and `control` are the means over the `n` samples (of `images` source
    images) that have both, `difference` is edits less control, `ci95` its interval, clustered on the source image.
    `below`: the control is shown to be worse than the edits of some model, its interval lying beyond 0 (or every sample
    showing the same difference). False where no model does; None with fewer than eight source images.
    """
    found = {}
    for kind in dict.fromkeys(map(kind_of, controls_of(results, judge, series.score))):
        control = _means(results.controls, judge, series.score, f"{CONTROL}{kind}")
        models = {
            model: _against(results, _means(results.judgements, judge, series.score, model), control, series)
            for model in results.edit_models
        }
        name, best = max(models.items(), key=lambda one: _standing(one[1], series))
        found[kind] = {"edit_model": name, **best}
    return found


def put_last(beside: Mapping[str, Mapping[str, Any]]) -> bool | None:
    """Whether all kinds are put below edits; None where that cannot be said of one, and no other is not."""
    states = [one["below"] for one in beside.values()]
    return False if False in states else None if None in states or not states else True


def _means(judgements: Sequence[Judgement], judge: str, score: str, edit_model: str) -> dict[str, float]:
    """For each sample the mean of a judge's score over edit seeds and repeats."""
    collected: dict[str, list[float]] = {}
    for one in judgements:
        if one.judge == judge and one.edit_model == edit_model and score in one.scores:
            collected.setdefault(one.sample_id, []).append(one.scores[score])
    return {sample: math.fsum(scores) / len(scores) for sample, scores in collected.items()}


def _against(
    results: Results, edits: Mapping[str, float], control: Mapping[str, float], series: Series
) -> dict[str, Any]:
    images = {sample.id: sample.cluster or sample.id for sample in results.samples}
    both = sorted(edits.keys() & control.keys())
    count = len({images[sample] for sample in both})
    found: dict[str, Any] = {
        "n": len(both),
        "images": count,
        "edits": math.fsum(edits[sample] for sample in both) / len(both) if both else None,
        "control": math.fsum(control[sample] for sample in both) / len(both) if both else None,
    }
    if not both:
        return {**found, "difference": None, "ci95": None, "below": None}
    one = estimate(
        np.array([edits[sample] - control[sample] for sample in both], dtype=np.float64),
        cluster_codes([images[sample] for sample in both]),
    )
    interval = one.interval()
    beyond = one.value if interval is None else min(interval, key=lambda end: gain(series.scale) * end)
    enough = count >= FEWEST_WITH_CONTROLS and one.doubt in (None, "no_spread")
    return {
        **found,
        "difference": one.value,
        "ci95": interval,
        "below": gain(series.scale) * beyond > 0 if enough else None,
    }


def _standing(found: Mapping[str, Any], series: Series) -> tuple[int, float]:
    """What of two edit models' results says more: that it is shown, then the difference."""
    shown = {True: 2, False: 1, None: 0}[found["below"]]
    return shown, -math.inf if found["difference"] is None else gain(series.scale) * found["difference"]
