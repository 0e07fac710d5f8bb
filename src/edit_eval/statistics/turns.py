"""Edits of several turns: how scores change from turn to turn, where each turn's source is the edit before it.

A chain is a sample that follows none and those that follow it, one after the other. A turn is held against the first
turn of the same chain: later turns ask for other things, and of the chains that came so far the easy ones are more.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from edit_eval.records import Judgement, Results, Sample
from edit_eval.statistics.intervals import cluster_codes, estimate
from edit_eval.statistics.series import Series, gain, largest_difference, series_of, sureness


def turns_of(samples: Sequence[Sample]) -> dict[str, tuple[int, str]]:
    """For each sample which turn of its chain it is, from 1, and the sample that the chain begins with."""
    by_id = {sample.id: sample for sample in samples}
    found: dict[str, tuple[int, str]] = {}
    for sample in samples:
        chain = [sample.id]
        while (before := by_id[chain[-1]].follows) in by_id and before not in chain:
            chain.append(before)
        found[sample.id] = len(chain), chain[-1]
    return found


def turns(results: Results) -> list[dict[str, Any]]:
    """For each edit model and judge whose headline is given at several turns what there is of each turn.

    `turn`, from 1; judgements that are `scored`, of `total` (a turn that fails fails those behind it); their `mean`,
    `ci95`, `no_ci95`, over samples and clustered on source images; and `change`: by how much better than the first
    turn, paired on the chains that have both (`chains`), with `change_ci95` and `no_change_ci95`. Empty where no sample
    follows another.
    """
    place = turns_of(results.samples)
    if max((turn for turn, _ in place.values()), default=1) < 2:
        return []
    found = []
    for judge, series in series_of(results).items():
        for model in results.edit_models:
            own = [
                one
                for one in results.judgements
                if (one.judge, one.edit_model) == (judge, model) and one.outcome(series.score) is not None
            ]
            by_turn: dict[int, list[Judgement]] = defaultdict(list)
            for one in own:
                by_turn[place[one.sample_id][0]].append(one)
            if len(by_turn) > 1:
                first = by_chain(results, place, by_turn[min(by_turn)], series)
                found.append(
                    {
                        "edit_model": model,
                        "judge": judge,
                        "score": series.score,
                        "scale": asdict(replace(series.scale, mean_over="samples")),
                        "turns": [
                            {
                                "turn": turn,
                                "scored": sum(series.score in one.scores for one in some),
                                "total": len(some),
                                **mean_of(results, some, series),
                                **change_of(
                                    first, by_chain(results, place, some, series), series, turn != min(by_turn)
                                ),
                            }
                            for turn, some in sorted(by_turn.items())
                        ],
                    }
                )
    return found


Chain = dict[tuple[str, int], tuple[float, str]]
"""By the sample that a chain begins with and the edit seed: the mean score over its repeats, and its cluster."""


def by_chain(
    results: Results, place: dict[str, tuple[int, str]], judgements: Sequence[Judgement], series: Series
) -> Chain:
    """For each chain and edit seed the mean score of a turn over its repeats, and the chain's cluster."""
    clusters = clusters_of(results)
    scores: dict[tuple[str, int], list[float]] = defaultdict(list)
    for one in judgements:
        if series.score in one.scores:
            scores[place[one.sample_id][1], one.edit_seed].append(one.scores[series.score])
    return {chain: (math.fsum(some) / len(some), clusters[chain[0]]) for chain, some in scores.items()}


def clusters_of(results: Results) -> dict[str, str]:
    return {sample.id: sample.cluster or sample.id for sample in results.samples}


def mean_of(results: Results, judgements: Sequence[Judgement], series: Series) -> dict[str, Any]:
    """`mean`, `ci95`, `no_ci95` of a series over judgements, clustered on source images."""
    clusters = clusters_of(results)
    known = [(one.scores[series.score], clusters[one.sample_id]) for one in judgements if series.score in one.scores]
    return mean_over(known, series)


def mean_over(known: Sequence[tuple[float, str]], series: Series) -> dict[str, Any]:
    """The same over values, each with its cluster."""
    if not known:
        return {"mean": None, "ci95": None, "no_ci95": "no_scores"}
    values, images = zip(*known, strict=True)
    made = estimate(np.array(values, dtype=np.float64), cluster_codes(images))
    sure = sureness(made, series.scale)
    return {"mean": made.value, "ci95": sure.ci95, "no_ci95": sure.no_ci95}


def change_of(first: Chain, later: Chain, series: Series, is_later: bool) -> dict[str, Any]:
    """`change`, `change_ci95`, `no_change_ci95` from the first to a later step, paired on the `chains` that have both;
    above 0 is better."""
    both = sorted(first.keys() & later.keys()) if is_later else []
    if not both:
        return {
            "chains": len(both),
            "change": None,
            "change_ci95": None,
            "no_change_ci95": "no_scores" if is_later else None,
        }
    changes = [gain(series.scale) * (later[chain][0] - first[chain][0]) for chain in both]
    made = estimate(np.array(changes, dtype=np.float64), cluster_codes([first[chain][1] for chain in both]))
    reach = largest_difference(series.scale)
    return {
        "chains": len(both),
        "change": made.value,
        "change_ci95": made.interval(lowest=-reach, highest=reach),
        "no_change_ci95": made.doubt,
    }
