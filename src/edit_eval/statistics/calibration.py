"""Maps one instrument's scores to another's: the best map that never falls, and its error on unseen data.

Isotonic regression (Barlow and Brunk, JASA 67, 1972), since scores of judges are ordinal: that a 9 is better than an 8
is known, but not that it is as much better as an 8 than a 7.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from edit_eval.statistics.intervals import (
    FEWEST_WORTH,
    FloatArray,
    IntArray,
    Jackknife,
    cluster_draws,
    hull_interval,
    jackknife,
    percentiles,
    student_quantile,
    worth,
)

FOLDS = 10
FEWEST_MAPPED = 8
"""Source images below which nothing can be said about a map."""
FEWEST_MODELS = 3
"""Edit models in a bridge below which its error for another one is unknown."""
SIDES: tuple[Literal["above", "below"], ...] = ("above", "below")
ONE_SIDED = 0.05
"""Error at which a model is shown to lie among those of a bridge."""
_MOST_KNOTS = 21
"""Limit of knots of a map given with their intervals."""


@dataclass(frozen=True)
class Isotonic:
    """A map that never falls: linear between its knots, level beyond the first and the last."""

    at: FloatArray
    value: FloatArray

    def __call__(self, scores: FloatArray) -> FloatArray:
        return np.asarray(np.interp(scores, self.at, self.value), dtype=np.float64)


def isotonic(scores: FloatArray, targets: FloatArray, weights: FloatArray | None = None) -> Isotonic:
    """Fits the map with the least squared error. Raises `ValueError` if no score has any weight."""
    from scipy.optimize import isotonic_regression

    weights = np.ones(len(scores)) if weights is None else weights
    counts = weights > 0
    if not counts.any():
        raise ValueError("there is nothing to fit a map to")
    at, of_level = np.unique(scores[counts], return_inverse=True)
    mass = np.bincount(of_level, weights[counts])
    means = np.bincount(of_level, weights[counts] * targets[counts]) / mass
    return Isotonic(at, np.asarray(isotonic_regression(means, weights=mass).x, dtype=np.float64))


@dataclass(frozen=True)
class Pairs:
    """Scores of the same edits by two instruments, with the source image and the edit model of each."""

    scores: FloatArray
    targets: FloatArray
    clusters: IntArray
    """Codes from 0."""
    edit_models: Sequence[str]

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def usable(self) -> bool:
        """True if there is enough for a map: eight source images, and a spread on both sides."""
        return (
            len(self) > 0
            and len(np.unique(self.clusters)) >= FEWEST_MAPPED
            and float(np.ptp(self.scores)) > 0
            and float(np.ptp(self.targets)) > 0
        )


def cross_fitted(pairs: Pairs) -> FloatArray:
    """Maps each score by a map fitted to the other source images, in ten parts (or one per image)."""
    groups = np.unique(pairs.clusters)
    order = np.random.default_rng(0).permutation(len(groups))
    fold_of = np.empty(len(groups), dtype=np.int64)
    fold_of[order] = np.arange(len(groups)) % min(FOLDS, len(groups))
    return _held_out(pairs, fold_of[np.searchsorted(groups, pairs.clusters)])


def _held_out(pairs: Pairs, parts: IntArray) -> FloatArray:
    found = np.full(len(pairs), math.nan)
    for part in np.unique(parts):
        out = parts == part
        if not out.all():
            found[out] = isotonic(pairs.scores[~out], pairs.targets[~out])(pairs.scores[out])
    return found


def calibration(pairs: Pairs, *, resamples: int = 1_000) -> dict[str, Any] | None:
    """Returns `{"n", "clusters", "folds", "rmse", "explained", "map": [{"score", "value", "ci95"}]}` if `usable`.

    `rmse` and `explained` (the share of the targets' variance, which may be below 0) are cross-fitted: each edit is
    predicted by a map that has not seen its source image. `map` has each level of the scores, or 21 of them;
    its intervals resample source images. None if not `usable`.
    """
    if not pairs.usable:
        return None
    errors = cross_fitted(pairs) - pairs.targets
    return {
        "n": len(pairs),
        "clusters": len(np.unique(pairs.clusters)),
        "folds": min(FOLDS, len(np.unique(pairs.clusters))),
        **_quality(errors, pairs.targets),
        "map": _knots(pairs, resamples),
    }


def _quality(errors: FloatArray, targets: FloatArray) -> dict[str, float]:
    squares = math.fsum((errors**2).tolist())
    return {
        "rmse": math.sqrt(squares / len(errors)),
        "explained": 1 - squares / math.fsum(((targets - targets.mean()) ** 2).tolist()),
    }


def _knots(pairs: Pairs, resamples: int) -> list[dict[str, Any]]:
    _, images = np.unique(pairs.clusters, return_inverse=True)
    drawn = [isotonic(pairs.scores, pairs.targets, counts[images]) for counts in cluster_draws(images, resamples)]
    whole = isotonic(pairs.scores, pairs.targets)
    at = np.unique(pairs.scores)
    if len(at) > _MOST_KNOTS:
        at = np.unique(np.quantile(at, np.linspace(0, 1, _MOST_KNOTS)))
    values = np.array([one(at) for one in drawn]).reshape(-1, len(at))
    return [
        {"score": float(score), "value": float(value), "ci95": percentiles(values[:, place])}
        for place, (score, value) in enumerate(zip(at, whole(at), strict=True))
    ]


def bridge(
    pairs: Pairs,
    continued: Mapping[str, tuple[FloatArray, IntArray]],
    *,
    resamples: int = 1_000,
) -> dict[str, Any] | None:
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
    found = calibration(pairs, resamples=resamples)
    if found is None:
        return None
    names = np.array(pairs.edit_models)
    models = list(dict.fromkeys(pairs.edit_models))
    parts = np.array([models.index(name) for name in pairs.edit_models], dtype=np.int64)
    unseen = _held_out(pairs, parts)
    held_out = {
        model: {
            "n": int((names == model).sum()),
            "mean": float(pairs.targets[names == model].mean()),
            "bridged": float(unseen[names == model].mean()),
        }
        for model in models
        if len(models) > 1
    }
    misses = [one["bridged"] - one["mean"] for one in held_out.values()]
    whole = isotonic(pairs.scores, pairs.targets)
    without = {
        int(image): isotonic(pairs.scores, pairs.targets, (pairs.clusters != image).astype(np.float64))
        for image in np.unique(pairs.clusters)
    }
    return {
        **found,
        "held_out": held_out,
        "off_by": math.sqrt(math.fsum(miss**2 for miss in misses) / len(misses)) if misses else None,
        "edit_models": {
            model: {
                "n": len(scores),
                "before": float(scores.mean()),
                "bridged": float(whole(scores).mean()),
                "ci95": _interval(pairs, scores, clusters, whole, without),
                "beyond": None if model in held_out else beyond(pairs, scores, clusters),
            }
            for model, (scores, clusters) in continued.items()
            if len(scores)
        },
    }


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
    own = np.array([one(scores[clusters != image]).mean() for image, one in without.items()])
    mapped = whole(scores)
    others = np.array([mapped[clusters != image].mean() for image in images[~known]])
    freedom = worth(sizes[~known]) - 1 if len(others) > 1 else 0.0
    return jackknife(own, others, worth(of_pairs) - 1, freedom, level=float(np.abs(whole.value).max()))


def beyond(pairs: Pairs, scores: FloatArray, clusters: IntArray) -> Literal["above", "below"] | None:
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


def turned(side: Literal["above", "below"] | None, sign: float) -> Literal["above", "below"] | None:
    """Returns the side by scores that were multiplied by the sign."""
    return side if side is None or sign > 0 else SIDES[1 - SIDES.index(side)]


def translated(pairs: Pairs, continued: Mapping[str, tuple[FloatArray, IntArray]]) -> dict[str, Any] | None:
    """Predicts the second judge's means of edits that only the first has scored, by model, with the bridge's error.

    As `bridge`, but for edit models that the second may never have seen: to the error of `_interval` is added that of
    a model, `off_by`, which has as many degrees of freedom as models were held out (Satterthwaite's for both together).
    `{"n", "clusters", "rmse", "explained", "off_by", "held_out", "range", "edit_models": {MODEL: {"n", "before",
    "value", "ci95", "outside", "beyond"}}}`; `range` is that of the first judge's scores in the pairs, `outside` the
    share of a model's scores outside it, and `beyond` as for `beyond`. `ci95` is None if the pairs are by fewer than
    three edit models, which show too little of how models differ, and as in `_interval`.
    None if `pairs` are not enough for a map.
    """
    found = bridge(pairs, {}, resamples=0)
    if found is None:
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
        models[model] = {
            "n": len(scores),
            "before": float(scores.mean()),
            "value": value,
            "ci95": _with_models(value, error, found["off_by"], len(found["held_out"])),
            "outside": float(((scores < low) | (scores > high)).mean()),
            "beyond": beyond(pairs, scores, clusters),
        }
    kept = {name: found[name] for name in ("n", "clusters", "rmse", "explained", "off_by", "held_out")}
    return {**kept, "range": [low, high], "edit_models": models}


def _with_models(value: float, error: Jackknife | None, off_by: float | None, held_out: int) -> list[float] | None:
    if error is None or off_by is None or held_out < FEWEST_MODELS:
        return None
    own, of_models = error.standard_error**2, off_by**2
    square = own + of_models
    freedom = square**2 / (own**2 / error.freedom + of_models**2 / held_out)
    return list(hull_interval(value, math.sqrt(square), freedom, error.asymmetry * (own / square) ** 1.5))
