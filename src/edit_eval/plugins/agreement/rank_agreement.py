"""Measures whether two raters rank edits, or edit models, alike.

Within an edit model: does it see which edits are good? Between edit models: does it see which models are? A rater
may do one and not the other, and a leaderboard rests on the second. All of it is computed for many weightings of the
samples at once, a row each, so that one set of draws gives intervals for every number, and for their differences.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from edit_eval.plugins.agreement.document import Correlation, ModelCorrelation
from edit_eval.statistics.intervals import (
    FloatArray,
    IntArray,
    cluster_codes,
    cluster_draws,
    none_for_nan,
    normal_quantile,
    percentiles,
)
from edit_eval.statistics.ordinal import levels, midranks
from edit_eval.statistics.raters import ByItem, Item

FEWEST_RANKED = 4
"""Edits of a model below which its correlation says nothing: Fisher's z has the variance 1 / (n - 3). Also models."""
_MOST_AT_ONCE = 4_000_000
"""Limit of weights (draws x samples) in memory at once."""


class Samples:
    """The samples that agreement is about, their source images, and draws of these."""

    def __init__(
        self, items: Iterable[Iterable[Item]], sources: Mapping[str, str] | None = None, *, resamples: int = 1_000
    ) -> None:
        """Takes all samples in `items`. An unknown source image is taken as the sample's own."""
        names = sorted({item.sample_id for some in items for item in some})
        self.place = {sample: position for position, sample in enumerate(names)}
        self._sources = sources or {}
        self.code = dict(zip(names, cluster_codes([self.image(name) for name in names]).tolist(), strict=True))
        self.resamples = resamples

    @cached_property
    def _codes(self) -> IntArray:
        return np.fromiter(self.code.values(), dtype=np.int64, count=len(self.code))

    @cached_property
    def _draws(self) -> FloatArray:
        return cluster_draws(self._codes, self.resamples)

    def image(self, sample: str) -> str:
        """Returns the identifier of its source image."""
        return self._sources.get(sample) or sample

    @property
    def clusters(self) -> int:
        """Number of source images."""
        return len(set(self.code.values()))

    @property
    def once(self) -> FloatArray:
        """Weights of every sample once: the data as seen."""
        return np.ones((1, len(self.place)))

    def resample_statistic(self, statistic: Any) -> FloatArray:
        """Returns the statistic (weights with a row per draw -> a value per draw) of every draw."""
        rows = max(1, _MOST_AT_ONCE // max(1, len(self.place)))
        parts = [
            statistic(self._draws[start : start + rows][:, self._codes]) for start in range(0, len(self._draws), rows)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)


def group_by_model(items: Iterable[Item]) -> dict[str, list[Item]]:
    """Returns the items of each edit model, in the order of their samples; the models as they come."""
    items_by_model: dict[str, list[Item]] = {}
    for item in items:
        items_by_model.setdefault(item.edit_model, []).append(item)
    for some in items_by_model.values():
        some.sort()
    return items_by_model


class EditRanking:
    """Spearman's correlation of two raters within each edit model, the mean over models through Fisher's z.

    tanh(mean(atanh(r))) (Fisher, Metron 1, 1921; as VIEScore does, arXiv 2312.14867). Within a model, so that a judge
    gets no credit for knowing which models are good on the whole. A model with fewer than four shared edits, or one
    whose scores are all equal, has no correlation and does not count. A correlation closer to 1 than 1 - 1 / n counts
    as that, since the z of 1 is infinite and would outweigh all others.
    """

    def __init__(self, first: ByItem, second: ByItem, samples: Samples) -> None:
        self._models: dict[str, tuple[IntArray, IntArray, IntArray]] = {}
        for model, items in group_by_model(item for item in first if item in second).items():
            self._models[model] = (
                levels(np.array([first[item] for item in items], dtype=np.float64)),
                levels(np.array([second[item] for item in items], dtype=np.float64)),
                np.array([samples.place[item.sample_id] for item in items], dtype=np.int64),
            )

    def __call__(self, weights: FloatArray) -> FloatArray:
        """Returns the mean for each row of weights of all samples; NaN if no model has a correlation."""
        sizes = [len(of) for _, _, of in self._models.values()]
        return _through_z([self._spearman(model, weights) for model in self._models], sizes, len(weights))

    def _spearman(self, model: str, weights: FloatArray) -> FloatArray:
        first, second, of_samples = self._models[model]
        if len(of_samples) < FEWEST_RANKED:
            return np.full(len(weights), math.nan)
        weights = weights[:, of_samples]
        return _pearson(_rank_with_weights(first, weights), _rank_with_weights(second, weights), weights)

    def correlate_by_model(self, samples: Samples) -> dict[str, ModelCorrelation]:
        """Returns that of each edit model in the data as seen."""
        return {
            model: ModelCorrelation(n=len(of), spearman=none_for_nan(self._spearman(model, samples.once)[0]))
            for model, (_, _, of) in self._models.items()
        }


class ModelRanking:
    """Spearman's correlation of the edit models' means, each over the edits that both have scored."""

    def __init__(self, first: ByItem, second: ByItem, samples: Samples) -> None:
        items = sorted(item for item in first if item in second)
        self.models = sorted({item.edit_model for item in items})
        places = {model: place for place, model in enumerate(self.models)}
        rows = [(places[item.edit_model], samples.place[item.sample_id], first[item], second[item]) for item in items]
        table = np.array(rows, dtype=np.float64).reshape(-1, 4).T
        self._codes, self._samples = table[0].astype(np.int64), table[1].astype(np.int64)
        self._first, self._second = table[2], table[3]
        self._of_model = np.equal.outer(self._codes, np.arange(len(self.models))).astype(np.float64)

    def means(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Returns the means by either, one row per row of weights, one column per model; NaN for a model not drawn."""
        of_edits = weights[:, self._samples]
        with np.errstate(invalid="ignore"):
            totals = of_edits @ self._of_model
            first, second = ((of_edits * values) @ self._of_model / totals for values in (self._first, self._second))
        return np.round(first, 12), np.round(second, 12)  # means that differ only by the order of their sums are equal

    def __call__(self, weights: FloatArray) -> FloatArray:
        """Returns the correlation for each row of weights; NaN with fewer than four models, or all means equal."""
        if len(self.models) < FEWEST_RANKED:
            return np.full(len(weights), math.nan)
        first, second = self.means(weights)
        return _pearson(_row_ranks(first), _row_ranks(second), np.ones_like(first))

    def __len__(self) -> int:
        return len(self.models)


class MeanAgreement:
    """The mean of several agreements, such as a judge's with each of several people: within models by Fisher's z."""

    def __init__(self, parts: Sequence[EditRanking | ModelRanking]) -> None:
        self._parts = parts

    def __call__(self, weights: FloatArray) -> FloatArray:
        correlations = [part(weights) for part in self._parts]
        if all(isinstance(part, EditRanking) for part in self._parts):
            return _through_z(correlations, [0] * len(correlations), len(weights))
        return np.asarray(np.mean(correlations, axis=0), dtype=np.float64)  # over few models, a correlation is often 1


def with_interval(agreement: EditRanking | ModelRanking | MeanAgreement, samples: Samples) -> Correlation:
    """Returns the correlation as seen; its interval resamples source images, the same for all models."""
    return Correlation(
        spearman=none_for_nan(agreement(samples.once)[0]), ci95=percentiles(samples.resample_statistic(agreement))
    )


def interval_of_models(spearman: float | None, models: int) -> list[float] | None:
    """Returns `[low, high]` of a rank correlation over models: other models could have been compared.

    tanh(atanh(r) -+ 1.96 sqrt((1 + r^2 / 2) / (n - 3))) (Bonett and Wright, Psychometrika 65, 2000). None with fewer
    than four models. A correlation of 1 is taken as 1 - 1 / n.
    """
    if spearman is None or models < FEWEST_RANKED:
        return None
    limit = 1 - 1 / models
    z = math.atanh(min(limit, max(-limit, spearman)))
    reach = normal_quantile(0.975) * math.sqrt((1 + spearman**2 / 2) / (models - 3))
    return [math.tanh(z - reach), math.tanh(z + reach)]


def bound_mean_correlation(rater: ByItem, reference: ByItem) -> list[float] | None:
    """Returns `[low, high]`: the mean of `EditRanking` if `rater` had scored all edits that `reference` has.

    Nothing is assumed about why a score is missing: each may be anywhere in the order of the model's edits.
    """
    bounds, sizes = [], []
    for items in group_by_model(reference).values():
        if len(items) >= FEWEST_RANKED:
            ends = spearman_bounds(
                np.array([rater.get(item, math.nan) for item in items], dtype=np.float64),
                np.array([reference[item] for item in items], dtype=np.float64),
            )
            if ends is not None:
                bounds.append(ends)
                sizes.append(len(items))
    if not bounds:
        return None
    low, high = (_through_z([np.array([ends[side]]) for ends in bounds], sizes, 1)[0] for side in (0, 1))
    return [float(low), float(high)]


def spearman_bounds(scores: FloatArray, other: FloatArray) -> tuple[float, float] | None:
    """Returns the least and the greatest Spearman correlation possible if the scores that are NaN were known.

    Over all ways to insert the missing into the order of the known, the largest and smallest sum of products of ranks
    is exact: missing ones are in the order of `other` (rearrangement inequality), so it is a merge of two sequences.
    The denominator is a sum of squares that depends on how many are tied: the one that leads furthest out is taken.
    None if `other` does not vary.
    """
    known = ~np.isnan(scores)
    n, missing = len(scores), int((~known).sum())
    ranks = midranks(levels(other), np.ones(n)) - n / 2
    square = float((ranks**2).sum())
    if square <= 0.0:
        return None
    of_known = levels(scores[known])
    sizes = np.bincount(of_known).astype(np.float64) if known.any() else np.zeros(0)
    sums = np.asarray(np.bincount(of_known, ranks[known]) if known.any() else [], dtype=np.float64)
    # Sums of squares of midranks: all missing ones distinct, or all tied with the largest group (Kendall, 1945).
    largest = max(sizes.max(initial=0.0), 1.0)
    apart = (n**3 - n - float((sizes**3 - sizes).sum())) / 12
    group = largest + (missing if sizes.size else missing - 1)
    together = apart - ((group**3 - group) - (largest**3 - largest)) / 12
    ends = []
    for sign in (-1.0, 1.0):
        product = sign * _largest_sum(sizes, sign * sums, np.sort(sign * ranks[~known]))
        outward = together if product * sign > 0 else apart
        if apart <= 0.0:
            return None
        ends.append(sign if outward <= 0.0 else max(-1.0, min(1.0, product / math.sqrt(square * outward))))
    return ends[0], ends[1]


def _largest_sum(sizes: FloatArray, sums: FloatArray, missing: FloatArray) -> float:
    """Returns the largest sum of rank times value over all orders that keep the groups, and the missing, in order.

    `sums` and `missing` add up to 0, so it does not matter where ranks begin.
    """
    places = np.arange(len(missing) + 1, dtype=np.float64)  # how many of the missing come before

    def with_missing(best: FloatArray, placed: float) -> FloatArray:
        """Puts any number of missing ones next: a running maximum over where to stop before them."""
        added = np.concatenate([[0.0], np.cumsum((placed + places[1:]) * missing)])
        return np.asarray(np.maximum.accumulate(best - added) + added, dtype=np.float64)

    start = np.full(len(places), -math.inf)
    start[0] = 0.0
    best, placed = with_missing(start, 0.0), 0.0
    for size, total in zip(sizes, sums, strict=True):
        best = with_missing(best + (placed + places + (size + 1) / 2) * total, placed + size)
        placed += size
    return float(best[-1])


# -- correlations for many weightings at once --


def _rank_with_weights(of_levels: IntArray, weights: FloatArray) -> FloatArray:
    """Computes `midranks` for each row of weights."""
    order = np.argsort(of_levels, kind="stable")
    starts = np.searchsorted(of_levels[order], np.arange(int(of_levels.max()) + 1))
    counts = np.add.reduceat(weights[:, order], starts, axis=1)
    return np.asarray((np.cumsum(counts, axis=1) - counts / 2)[:, of_levels], dtype=np.float64)


def _row_ranks(values: FloatArray) -> FloatArray:
    """Computes midranks within each row: for each value how many are smaller, and half of those that are equal."""
    columns = range(values.shape[1])
    smaller = sum((values[:, [column]] < values).astype(np.float64) for column in columns)
    equal = sum((values[:, [column]] == values).astype(np.float64) for column in columns)
    return np.asarray(np.where(np.isnan(values), math.nan, smaller + equal / 2), dtype=np.float64)


def _pearson(a: FloatArray, b: FloatArray, weights: FloatArray) -> FloatArray:
    """Computes the correlation of each row; NaN if one side does not vary."""
    with np.errstate(invalid="ignore", divide="ignore"):
        total = weights.sum(axis=1, keepdims=True)
        a = a - (weights * a).sum(axis=1, keepdims=True) / total
        b = b - (weights * b).sum(axis=1, keepdims=True) / total
        squares = (weights * a**2).sum(axis=1), (weights * b**2).sum(axis=1)
        correlation = (weights * a * b).sum(axis=1) / np.sqrt(squares[0] * squares[1])
    flat = ~((squares[0] > 1e-9) & (squares[1] > 1e-9))  # ranks that vary at all vary by a half
    return np.asarray(np.where(flat, math.nan, np.clip(correlation, -1.0, 1.0)), dtype=np.float64)


def _through_z(parts: Sequence[FloatArray], sizes: Sequence[int], rows: int) -> FloatArray:
    """Returns tanh(mean(atanh(r))) over the parts that have one; r of n values is at most 1 - 1 / n from 0.

    A size of 0 is for one that cannot be 1.
    """
    if not parts:
        return np.full(rows, math.nan)
    limits = [1 - 1 / size if size else 1 - 1e-15 for size in sizes]
    z = np.array([np.arctanh(np.clip(part, -end, end)) for part, end in zip(parts, limits, strict=True)])
    there = (~np.isnan(z)).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.tanh(np.nansum(z, axis=0) / np.where(there == 0, math.nan, there)), dtype=np.float64)
