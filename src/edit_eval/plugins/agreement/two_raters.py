"""Agreement of two raters about the edits that both have answered: do they rank alike, and one from the other.

Like is compared with like: a judge against one person beside one person against another. Against the mean of people,
which is less noisy, a judge looks better than that, and so does a person.

One rater's scores are mapped to another's by the best map that never falls, with its error on unseen data: isotonic
regression (Barlow and Brunk, JASA 67, 1972), since scores of judges are ordinal: that a 9 is better than an 8 is known,
but not that it is as much better as an 8 than a 7.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from edit_eval.plugins.agreement.document import Calibration, Knot, LeftUnscored, OfModels, PairsOrdered, Share, Span
from edit_eval.plugins.agreement.rank_agreement import (
    EditRanking,
    MeanAgreement,
    ModelRanking,
    Samples,
    bound_mean_correlation,
    interval_of_models,
)
from edit_eval.records import Results
from edit_eval.statistics.intervals import (
    FloatArray,
    IntArray,
    bootstrap_interval,
    cluster_codes,
    cluster_draws,
    estimate,
    holm,
    none_for_nan,
    percentiles,
)
from edit_eval.statistics.levels import ALPHA
from edit_eval.statistics.raters import ByItem, Item, Rater
from edit_eval.statistics.series import gain


def samples_of(results: Results, raters: Iterable[Rater], *, resamples: int = 1_000) -> Samples:
    """Returns the samples that these have answered about, with the run's source images."""
    sources = {sample.id: sample.cluster for sample in results.samples}
    return Samples([rater.answers for rater in raters], sources, resamples=resamples)


@dataclass(frozen=True, eq=False)
class Agreement:
    """Two raters and their agreement; each number is computed when asked for."""

    rater: Rater
    reference: Rater
    samples: Samples
    """At least those that both have answered about."""

    @cached_property
    def items(self) -> list[Item]:
        """Items that both have answered about, in the order of the first."""
        return [item for item in self.rater.answers if item in self.reference.answers]

    # -- the order of edits, and of edit models --

    @cached_property
    def edit_ranking(self) -> EditRanking:
        """Do they rank a model's edits alike?"""
        return EditRanking(self.rater.upward, self.reference.upward, self.samples)

    @cached_property
    def model_ranking(self) -> ModelRanking:
        """Do they rank the edit models alike?"""
        return ModelRanking(self.rater.upward, self.reference.upward, self.samples)

    def bounds(self) -> Span | None:
        """Returns the range of the first number of `within` if `rater` had answered everything that `reference` has."""
        return bound_mean_correlation(self.rater.upward, self.reference.upward)

    def estimate_model_ranking(self) -> OfModels:
        """Returns `between`, with an interval over other possible models."""
        spearman = none_for_nan(self.model_ranking(self.samples.once)[0])
        models = len(self.model_ranking)
        return OfModels(models=models, spearman=spearman, ci95_models=interval_of_models(spearman, models))

    def pairs_alike(self) -> Share:
        """Returns the share of pairs of edit models that they order alike, a tie being a half.

        No resampling can give a rank correlation over the same models an interval: if models are close the draws
        shuffle them regardless of their true order, and if both orders are equal the truth is the very end of what can
        be drawn. The order of two models can be proven or left open, so the interval goes from the share of pairs that
        both raters prove to be alike to 1 less the share that both prove to be unlike. Each proves its pairs at
        .025 (Holm), so all of it is right with probability .95 at least (Bonferroni). None with fewer than two models.
        """
        means = self.model_ranking.means(self.samples.once)
        pairs = list(combinations(range(len(self.model_ranking.models)), 2))
        if not pairs:
            return Share(value=None, ci95=None)
        signs = [np.array([np.sign(of[0][b] - of[0][a]) for a, b in pairs]) for of in means]
        alike = np.where((signs[0] == 0) | (signs[1] == 0), 0.5, signs[0] == signs[1])
        return Share(value=float(alike.mean()), ci95=_bound_share(len(pairs), *self._pairs_by_rater(ALPHA / 2)))

    def pairs_ordered(self) -> PairsOrdered:
        """Returns the pairs of edit models that `reference` separates, and the share of them that `rater` orders alike,
        a tie being a half; None without any."""
        proven, separated = self._pairs_by_rater(ALPHA)
        means, at = self.model_ranking.means(self.samples.once)[0][0], self.model_ranking.models.index
        signs = [np.sign(means[at(better)] - means[at(worse)]) for worse, better in separated]
        value = 0.5 + 0.5 * float(np.mean(signs)) if signs else None
        ends = _bound_share(len(separated), proven, separated)
        return PairsOrdered(separated=len(separated), pairs_ordered=Share(value=value, ci95=ends))

    def _pairs_by_rater(self, level: float) -> list[list[tuple[str, str]]]:
        """Returns the pairs of models that each of the two separates."""
        both = (self.rater, self.reference)
        return [find_separated_pairs(of.upward, self.samples, self.model_ranking.models, level=level) for of in both]

    # -- from one to the other --

    @property
    def turn(self) -> float:
        """Sign that makes higher better on both scales: a map must rise. Results are turned back."""
        return gain(self.rater.scale) * gain(self.reference.scale)

    @cached_property
    def pairs(self) -> Pairs:
        """Scores of items that both have answered about, those of `rater` turned so that a map to the others can
        rise."""
        return Pairs(
            self.turn * np.array([self.rater.values[item] for item in self.items], dtype=np.float64),
            np.array([self.reference.values[item] for item in self.items], dtype=np.float64),
            self.codes(self.items),
            [item.edit_model for item in self.items],
        )

    def codes(self, items: Iterable[Item]) -> IntArray:
        """Returns the code of each item's source image."""
        return np.array([self.samples.code[item.sample_id] for item in items], dtype=np.int64)

    def calibration(self) -> Calibration | None:
        """Returns the map from the scores of `rater` to those of `reference` (`calibration`)."""
        score_map = calibration(self.pairs, resamples=self.samples.resamples)
        return None if score_map is None else score_map.with_sign(self.turn)

    # -- one and several --

    def with_each(self) -> MeanAgreement:
        """Returns the mean agreement of `rater` with each of `reference`'s raters."""
        return self._mean(self.reference.raters)

    def with_others(self) -> MeanAgreement:
        """Returns the same with all of them but one."""
        return self._mean(self.reference.others)

    def _mean(self, raters: Iterable[Rater]) -> MeanAgreement:
        return MeanAgreement([EditRanking(self.rater.upward, of.upward, self.samples) for of in raters])

    def as_one_rater(self) -> Share:
        """Returns its agreement with one of `reference`'s raters over that of two of them.

        None if the raters are not shown to agree with each other at all: the ratio to nothing is undefined.
        """
        judge, raters = self.with_each(), agreement_of_raters(self.reference, self.samples)
        judge_draws, rater_draws = self.samples.resample_statistic(judge), self.samples.resample_statistic(raters)
        seen = raters(self.samples.once)[0]
        low = percentiles(rater_draws)
        if math.isnan(seen) or (seen if low is None else low[0]) <= 0:
            return Share(value=None, ci95=None)
        shares = np.divide(
            judge_draws, rater_draws, out=np.full_like(judge_draws, math.nan), where=rater_draws > 0
        )  # NaN in the few draws below
        return Share(value=none_for_nan(judge(self.samples.once)[0] / seen), ci95=percentiles(shares))

    def compare_unanswered(self) -> LeftUnscored:
        """Compares `reference`'s values of items that `rater` has not answered with those of the rest."""
        items = sorted(self.reference.values)
        scored = np.array([item in self.rater.answers for item in items], dtype=bool)
        values = np.array([self.reference.values[item] for item in items], dtype=np.float64)

        def difference(weights: FloatArray) -> float | None:
            means = [
                float((weights * values)[some].sum() / total) if (total := float(weights[some].sum())) else None
                for some in (~scored, scored)
            ]
            return None if means[0] is None or means[1] is None else means[0] - means[1]

        missing = not scored.all()
        clusters = cluster_codes([self.samples.image(item.sample_id) for item in items])
        interval = bootstrap_interval(difference, clusters, resamples=self.samples.resamples) if missing else None
        return LeftUnscored(
            n=int((~scored).sum()),
            people_mean=float(values[~scored].mean()) if missing else None,
            people_mean_scored=float(values[scored].mean()) if scored.any() else None,
            difference=difference(np.ones(len(items))) if missing else None,
            ci95=interval,
        )


def agreement_of_raters(several: Rater, samples: Samples) -> MeanAgreement:
    """Returns the mean agreement of every two of a rater's raters."""
    both = combinations(several.raters, 2)
    return MeanAgreement([EditRanking(first.upward, second.upward, samples) for first, second in both])


def find_separated_pairs(
    values: ByItem, samples: Samples, models: Collection[str], *, level: float = ALPHA
) -> list[tuple[str, str]]:
    """Returns the pairs of edit models (worse, better) that a rater separates: paired t on common edits, Holm's p
    at most `level` over all pairs. As `compare` would, on the scale that was used. The probability that any pair is the
    wrong way round is at most `level`.
    """
    of_models: dict[str, dict[tuple[str, int], float]] = {model: {} for model in models}
    for item, value in values.items():
        if item.edit_model in of_models:
            of_models[item.edit_model][item.sample_id, item.edit_seed] = value
    pairs = list(combinations(sorted(models), 2))
    tests: list[float | None] = []
    differences: list[float] = []
    for a, b in pairs:
        shared = sorted(of_models[a].keys() & of_models[b].keys())
        gains = np.array([of_models[b][edit] - of_models[a][edit] for edit in shared], dtype=np.float64)
        if not len(gains) or not gains.any():
            tests.append(None)
            differences.append(0.0)
            continue
        difference = estimate(gains, cluster_codes([samples.image(sample) for sample, _ in shared]))
        tests.append(difference.p_value())
        differences.append(difference.value)
    return [
        (a, b) if difference > 0 else (b, a)
        for (a, b), p, difference in zip(pairs, holm(tests), differences, strict=True)
        if p is not None and p <= level
    ]


def _bound_share(count: int, first: Collection[tuple[str, str]], second: Collection[tuple[str, str]]) -> Span | None:
    """Returns the range from the share of `count` pairs that both order alike to 1 less the share ordered otherwise."""
    if not count:
        return None
    alike = len(set(first) & set(second))
    unlike = len({(better, worse) for worse, better in first} & set(second))
    return [alike / count, 1 - unlike / count]


# -- maps from one to the other --


FOLDS = 10
FEWEST_MAPPED = 8
"""Source images below which nothing can be said about a map."""
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
    """Scores of the same edits by two raters, with the source image and the edit model of each."""

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
    return predict_by_other_parts(pairs, fold_of[np.searchsorted(groups, pairs.clusters)])


def predict_by_other_parts(pairs: Pairs, parts: IntArray) -> FloatArray:
    """Maps each score by a map fitted to the other parts; NaN if there is one part only."""
    values = np.full(len(pairs), math.nan)
    for part in np.unique(parts):
        out = parts == part
        if not out.all():
            values[out] = isotonic(pairs.scores[~out], pairs.targets[~out])(pairs.scores[out])
    return values


def calibration(pairs: Pairs, *, resamples: int = 1_000) -> Calibration | None:
    """Returns the map, with its error.

    `rmse` and `explained` (the share of the targets' variance, which may be below 0) are cross-fitted: each edit is
    predicted by a map that has not seen its source image. `map` has each level of the scores, or 21 of them;
    its intervals resample source images. None if not `usable`.
    """
    if not pairs.usable:
        return None
    errors = cross_fitted(pairs) - pairs.targets
    squares = math.fsum((errors**2).tolist())
    return Calibration(
        n=len(pairs),
        clusters=len(np.unique(pairs.clusters)),
        folds=min(FOLDS, len(np.unique(pairs.clusters))),
        rmse=math.sqrt(squares / len(errors)),
        explained=1 - squares / math.fsum(((pairs.targets - pairs.targets.mean()) ** 2).tolist()),
        map=_knots(pairs, resamples),
    )


def _knots(pairs: Pairs, resamples: int) -> list[Knot]:
    _, images = np.unique(pairs.clusters, return_inverse=True)
    drawn = [isotonic(pairs.scores, pairs.targets, counts[images]) for counts in cluster_draws(images, resamples)]
    whole = isotonic(pairs.scores, pairs.targets)
    at = np.unique(pairs.scores)
    if len(at) > _MOST_KNOTS:
        at = np.unique(np.quantile(at, np.linspace(0, 1, _MOST_KNOTS)))
    values = np.array([fit(at) for fit in drawn]).reshape(-1, len(at))
    return [
        Knot(score=float(score), value=float(value), ci95=percentiles(values[:, place]))
        for place, (score, value) in enumerate(zip(at, whole(at), strict=True))
    ]
