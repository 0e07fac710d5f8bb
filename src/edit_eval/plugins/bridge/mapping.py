"""The map from one judge's scores to another's over a bridge, and how far it is off for a model it has not seen."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec
import numpy as np

from edit_eval.plugins.agreement.calibration import FEWEST_MAPPED, Isotonic, Pairs, calibration, held_out, isotonic
from edit_eval.plugins.bridge.document import BridgedModel, HeldOut, Map, Side, TranslatedModel, Translation
from edit_eval.statistics.intervals import (
    FEWEST_WORTH,
    FloatArray,
    IntArray,
    Jackknife,
    hull_interval,
    jackknife,
    student_quantile,
    worth,
)

FEWEST_MODELS = 3
"""Edit models in a bridge below which its error for another one is unknown."""
SIDES: tuple[Side, ...] = ("above", "below")
ONE_SIDED = 0.05
"""Error at which a model is shown to lie among those of a bridge."""


def bridge(
    pairs: Pairs,
    continued: Mapping[str, tuple[FloatArray, IntArray]],
    *,
    resamples: int = 1_000,
) -> Map | None:
    """Returns the map from one judge's scores to another's, and its values for edits that only the first has scored.

    `continued` has for each edit model the first judge's scores of all its edits with their clusters (codes on the same
    count as `pairs.clusters`; one may have none in `pairs`). As `calibration`, and

    - `held_out`: for each edit model that both have scored, `bridged`, the mean by a map fitted to the *other* models,
      beside the `mean` by the second judge, since a bridge is for models that the second never saw;
    - `off_by`: the root mean square of these differences. Two means on the two sides of a bridge that are closer than
      that are not told apart. None with fewer than two models.
    - `edit_models`: for each of `continued` its mean `before` (by the first judge) and `bridged`, with an interval: a
      jackknife over source images in which the map is fitted anew without each (`_interval`); and whether a model that
      is not in the pairs lies `beyond` those that are.

    None if `pairs` are not enough for a map.
    """
    score_map = calibration(pairs, resamples=resamples)
    if score_map is None:
        return None
    names = np.array(pairs.edit_models)
    models = list(dict.fromkeys(pairs.edit_models))
    parts = np.array([models.index(name) for name in pairs.edit_models], dtype=np.int64)
    unseen = held_out(pairs, parts)
    out = {
        model: HeldOut(
            n=int((names == model).sum()),
            mean=float(pairs.targets[names == model].mean()),
            bridged=float(unseen[names == model].mean()),
        )
        for model in models
        if len(models) > 1
    }
    misses = [row.bridged - row.mean for row in out.values()]
    whole = isotonic(pairs.scores, pairs.targets)
    without = {
        int(image): isotonic(pairs.scores, pairs.targets, (pairs.clusters != image).astype(np.float64))
        for image in np.unique(pairs.clusters)
    }
    return Map(
        **msgspec.structs.asdict(score_map),
        held_out=out,
        off_by=math.sqrt(math.fsum(miss**2 for miss in misses) / len(misses)) if misses else None,
        edit_models={
            model: BridgedModel(
                n=len(scores),
                before=float(scores.mean()),
                bridged=float(whole(scores).mean()),
                ci95=_interval(pairs, scores, clusters, whole, without),
                beyond=None if model in out else beyond(pairs, scores, clusters),
            )
            for model, (scores, clusters) in continued.items()
            if len(scores)
        },
    )


def _interval(
    pairs: Pairs, scores: FloatArray, clusters: IntArray, whole: Isotonic, without: Mapping[int, Isotonic]
) -> list[float] | None:
    """Returns `[low, high]` of one model's mean over the bridge (`intervals.jackknife`); not cut at the scale's ends.

    Each image is deleted in turn from the pairs and from the model's edits: one of those in the pairs (stratum 1), by a
    map that was fitted `without` it, or one of the model's other images (stratum 2), by the `whole` map. Degrees of
    freedom are one less than what the images of a stratum are worth, by their pairs and by the model's edits.

    None with fewer images of the model than a map takes, if two or three images have nearly all of
    its edits or of the pairs, and if nothing varies.
    """
    error = _error(pairs, scores, clusters, whole, without)
    return None if error is None else error.interval(float(whole(scores).mean()))


def _error(
    pairs: Pairs, scores: FloatArray, clusters: IntArray, whole: Isotonic, without: Mapping[int, Isotonic]
) -> Jackknife | None:
    images, sizes = np.unique(clusters, return_counts=True)
    known = np.isin(images, pairs.clusters)
    _, of_pairs = np.unique(pairs.clusters, return_counts=True)
    if len(images) < FEWEST_MAPPED or min(worth(sizes), worth(of_pairs)) < FEWEST_WORTH:
        return None
    own = np.array([fit(scores[clusters != image]).mean() for image, fit in without.items()])
    mapped = whole(scores)
    others = np.array([mapped[clusters != image].mean() for image in images[~known]])
    freedom = worth(sizes[~known]) - 1 if len(others) > 1 else 0.0
    return jackknife(own, others, worth(of_pairs) - 1, freedom, level=float(np.abs(whole.value).max()))


def beyond(pairs: Pairs, scores: FloatArray, clusters: IntArray) -> Side | None:
    """Tells whether a model may lie beyond what a bridge has seen: on which side of the pairs' edit models its mean by
    the first judge is not shown to be within (one-sided .05, clustered on the source image). None if it is within.

    A map of single scores says what the second judge gives to such *scores*, good ones by luck among them. For a model
    that is better than the best of the pairs, fewer are by luck, so that its mean is drawn back to what was seen.
    """
    names = np.array(pairs.edit_models)
    of_models = {model: names == model for model in dict.fromkeys(pairs.edit_models)}
    ends = [end(of_models, key=lambda model: pairs.scores[of_models[model]].mean()) for end in (max, min)]
    gaps = {}
    for side, sign, model in zip(SIDES, (1, -1), ends, strict=True):
        there = of_models[model]
        means = scores.mean(), pairs.scores[there].mean()
        images, codes = np.unique(np.concatenate([clusters, pairs.clusters[there]]), return_inverse=True)
        parts = np.concatenate([(scores - means[0]) / len(scores), -(pairs.scores[there] - means[1]) / there.sum()])
        error = math.sqrt(len(images) / (len(images) - 1) * float((np.bincount(codes, parts) ** 2).sum()))
        gap = sign * float(means[0] - means[1])
        if gap + student_quantile(1 - ONE_SIDED, len(images) - 1) * error >= 0:
            gaps[side] = gap
    return max(gaps, key=gaps.__getitem__, default=None)


def turned(side: Side | None, sign: float) -> Side | None:
    """Returns the side by scores that were multiplied by the sign."""
    return side if side is None or sign > 0 else SIDES[1 - SIDES.index(side)]


def translated(pairs: Pairs, continued: Mapping[str, tuple[FloatArray, IntArray]]) -> Translation | None:
    """Predicts the second judge's means of edits that only the first has scored, by model, with the bridge's error.

    As `bridge`, but for edit models that the second may never have seen: to the error of `_interval` is added that of
    a model, `off_by`, which has as many degrees of freedom as models were held out (Satterthwaite's for both together).
    `ci95` is None if the pairs are by fewer than three edit models, which show too little of how models differ, and as
    in `_interval`. None if `pairs` are not enough for a map.
    """
    score_map = bridge(pairs, {}, resamples=0)
    if score_map is None:
        return None
    whole = isotonic(pairs.scores, pairs.targets)
    without = {
        int(image): isotonic(pairs.scores, pairs.targets, (pairs.clusters != image).astype(np.float64))
        for image in np.unique(pairs.clusters)
    }
    low, high = float(pairs.scores.min()), float(pairs.scores.max())
    models = {}
    for model, (scores, clusters) in continued.items():
        value = float(whole(scores).mean())
        error = _error(pairs, scores, clusters, whole, without)
        models[model] = TranslatedModel(
            n=len(scores),
            before=float(scores.mean()),
            value=value,
            ci95=_with_models(value, error, score_map.off_by, len(score_map.held_out)),
            outside=float(((scores < low) | (scores > high)).mean()),
            beyond=beyond(pairs, scores, clusters),
        )
    return Translation(
        n=score_map.n,
        clusters=score_map.clusters,
        rmse=score_map.rmse,
        explained=score_map.explained,
        off_by=score_map.off_by,
        held_out=score_map.held_out,
        range=[low, high],
        edit_models=models,
    )


def _with_models(value: float, error: Jackknife | None, off_by: float | None, held_out: int) -> list[float] | None:
    if error is None or off_by is None or held_out < FEWEST_MODELS:
        return None
    own, of_models = error.standard_error**2, off_by**2
    square = own + of_models
    freedom = square**2 / (own**2 / error.freedom + of_models**2 / held_out)
    return list(hull_interval(value, math.sqrt(square), freedom, error.asymmetry * (own / square) ** 1.5))
