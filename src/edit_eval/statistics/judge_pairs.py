"""Two judges on the same edits: how far apart their scores lie, and the bridge from one's scale to the other's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from edit_eval.errors import ConfigurationError
from edit_eval.records import Results
from edit_eval.statistics.calibration import FEWEST_CLUSTERS, Pairs, bridge
from edit_eval.statistics.intervals import cluster_codes, estimate, none_for_nan
from edit_eval.statistics.rank_agreement import Between, Item, Samples, Within, interval_of_models, mean_scores, summary
from edit_eval.statistics.series import Series, gain, largest_difference, series_of
from edit_eval.text import Text

Scored = Mapping[str, Mapping[Item, float]]


def scores_of(results: Results, judge: str, score: str) -> dict[str, dict[Item, float]]:
    """For each edit model a judge's score of each edit, the mean over its repeats; as it is on its scale."""
    return mean_scores(
        (one.edit_model, one.sample_id, one.edit_seed, one.scores[score])
        for one in results.judgements
        if one.judge == judge and score in one.scores
    )


def judge_difference(results: Results, a: tuple[str, Series], b: tuple[str, Series]) -> dict[str, Any]:
    """`{"n", "images", "mean_a", "mean_b", "difference", "ci95", "no_ci95", "edit_models"}`: a - b, edit by edit.

    Paired: the same edits, and the interval that `compare` has for paired differences (none with fewer than six source
    images). `edit_models` has the same for each of them: a judge that is harsher throughout changes no table, one that
    is harsher with one model does. No difference on unlike scales (`unlike_scales`).
    """
    (judge_a, series_a), (judge_b, series_b) = a, b
    of_a, of_b = scores_of(results, judge_a, series_a.score), scores_of(results, judge_b, series_b.score)
    sources = {sample.id: sample.cluster for sample in results.samples}
    alike = series_a.scale == series_b.scale
    rows = {
        model: [
            (sources[item[0]] or item[0], of_a[model][item], of_b[model][item])
            for item in sorted(of_a[model])
            if item in of_b[model]
        ]
        for model in results.edit_models
        if model in of_a and model in of_b
    }

    def differ(some: list[tuple[str, float, float]]) -> dict[str, Any]:
        values = np.array([row[1:] for row in some], dtype=np.float64).reshape(-1, 2)
        found: dict[str, Any] = {
            "n": len(some),
            "images": len({row[0] for row in some}),
            "mean_a": float(values[:, 0].mean()) if some else None,
            "mean_b": float(values[:, 1].mean()) if some else None,
        }
        if not some or not alike:
            return {**found, "difference": None, "ci95": None, "no_ci95": "unlike_scales" if some else "no_scores"}
        one = estimate(values[:, 0] - values[:, 1], cluster_codes([row[0] for row in some]))
        span = largest_difference(series_a.scale)
        interval = one.interval(lowest=-span, highest=span)
        return {**found, "difference": one.value, "ci95": interval, "no_ci95": one.doubt}

    return {
        **differ([row for some in rows.values() for row in some]),
        "edit_models": {model: differ(some) for model, some in rows.items() if some},
    }


def bridge_document(
    results: Results, old: str, new: str, *, score: str | None = None, resamples: int = 1_000
) -> dict[str, Any]:
    """The map from the scores of the judge `old` to those of `new`, from the edits that both have scored.

    As `calibration.bridge`, with `old`, `new`, `score` of either, their rank agreement `within_models` and
    `between_models`, and beside each bridged mean the `mean` that `new` gave where it has scored the model's edits
    itself. Raises `ConfigurationError` for judges that are not here and where there is too little for a map.
    """
    series = series_of(results, score)
    for name in (old, new):
        if name not in series:
            raise ConfigurationError(Text("--bridge {} {}: no judge {!r} here; there are: {}", old, new, name, series))
    if old == new:
        raise ConfigurationError(Text("--bridge {} {}: name two judges, the old one and then the new one", old, new))
    # As if more were better with either: the map must rise. What is given out is turned back.
    turned = gain(series[old].scale) * gain(series[new].scale)
    before = {
        model: {item: turned * value for item, value in items.items()}
        for model, items in scores_of(results, old, series[old].score).items()
    }
    after = scores_of(results, new, series[new].score)
    sources = {sample.id: sample.cluster or sample.id for sample in results.samples}
    images = {image: code for code, image in enumerate(sorted(set(sources.values())))}
    rows = [
        (value, after[model][item], images[sources[item[0]]], model)
        for model in results.edit_models
        for item, value in sorted(before.get(model, {}).items())
        if item in after.get(model, {})
    ]
    pairs = Pairs(
        np.array([row[0] for row in rows], dtype=np.float64),
        np.array([row[1] for row in rows], dtype=np.float64),
        np.array([row[2] for row in rows], dtype=np.int64),
        [row[3] for row in rows],
    )
    continued = {
        model: (
            np.array([before[model][item] for item in sorted(before[model])], dtype=np.float64),
            np.array([images[sources[item[0]]] for item in sorted(before[model])], dtype=np.int64),
        )
        for model in results.edit_models
        if model in before
    }
    found = bridge(pairs, continued, resamples=resamples)
    if found is None:
        raise ConfigurationError(
            Text(
                "--bridge {} {}: both have scored {} edits of {} source images here; a bridge needs "
                "{} source images and scores that differ",
                old,
                new,
                len(pairs),
                len(set(pairs.clusters.tolist())),
                FEWEST_CLUSTERS,
            )
        )
    samples = Samples([before], sources, resamples=resamples)
    between = Between(before, after, samples)
    spearman = none_for_nan(between(samples.once)[0])
    for knot in found["map"]:
        knot["score"] *= turned
    found["map"].sort(key=lambda knot: knot["score"])
    lowest, highest = series[new].scale.lowest, series[new].scale.highest
    for model, row in found["edit_models"].items():
        own = after.get(model, {})
        row["before"] *= turned
        if row["ci95"]:
            low, high = row["ci95"]
            row["ci95"] = [low if lowest is None else max(lowest, low), high if highest is None else min(highest, high)]
        row["mean"] = math.fsum(own.values()) / len(own) if own else None
        row["scored"] = len(own)
    return {
        "old": {"judge": old, "score": series[old].score},
        "new": {"judge": new, "score": series[new].score},
        **found,
        "within_models": summary(Within(before, after, samples), samples),
        "between_models": {
            "models": len(between),
            "spearman": spearman,
            "ci95_models": interval_of_models(spearman, len(between)),
        },
    }
