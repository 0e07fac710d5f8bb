"""The judge as a measuring instrument: does it agree with itself and others, how often is it mute?

Agreement with people is in `people`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from edit_eval.records import Judgement, Results, Status
from edit_eval.statistics.intervals import (
    FloatArray,
    bootstrap_interval,
    cluster_codes,
    wilson_interval,
)
from edit_eval.statistics.judge_pairs import judge_difference
from edit_eval.statistics.ranks import levels, midranks
from edit_eval.statistics.series import Series, series_of

_NO_SCORE = (
    Status.JUDGE_ERROR,
    Status.REFUSED,
    Status.UNPARSEABLE,
    Status.OUT_OF_RANGE,
    Status.CUT_OFF,
    Status.UNDEFINED,
)


def judge_agreement(results: Results, *, score: str | None = None, resamples: int = 1_000) -> dict[str, Any]:
    """`{"judges": {NAME: card}, "between_judges": {...} | None}`: what a run says of its judges, plain data.

    Of each judge's headline, or of the judges that give `score`, of that. A card holds for every way to give no score
    (`unparseable`, `refused`, `out_of_range`, `cut_off`, `judge_error`, `undefined`) and for all of them together
    (`unscored`) its `count`, `total`, `rate` and Wilson's `ci95` among the judgements for which the judge was `asked`;
    the same for scores at the `ceiling` and the `floor` of the scale (its highest and lowest) among all scores, None at
    an open end; the `retest` over repeats (None without repeats); and the `score` that all of it is about.
    """
    series = series_of(results, score)
    by_judge: dict[str, list[Judgement]] = {judge: [] for judge in series}
    for judgement in results.judgements:
        if judgement.judge in by_judge:
            by_judge[judgement.judge].append(judgement)
    return {
        "judges": {judge: _card(found, series[judge]) for judge, found in by_judge.items()},
        "between_judges": _between_judges(results, series, resamples),
    }


def _card(judgements: Sequence[Judgement], series: Series) -> dict[str, Any]:
    name, scale = series
    outcomes = [outcome for one in judgements if (outcome := one.outcome(name)) is not None]
    counts = Counter(status for status, _ in outcomes)
    unscored = sum(counts[status] for status in _NO_SCORE)
    asked = counts[Status.OK] + unscored
    repeated: dict[tuple[str, str, int], list[float]] = {}
    for judgement in judgements:
        if name in judgement.scores:
            item = (judgement.edit_model, judgement.sample_id, judgement.edit_seed)
            repeated.setdefault(item, []).append(judgement.scores[name])
    scores = [score for of_item in repeated.values() for score in of_item]
    at_the_ends = {
        "ceiling": None if scale.highest is None else sum(score >= scale.highest for score in scores),
        "floor": None if scale.lowest is None else sum(score <= scale.lowest for score in scores),
    }
    return {
        "score": name,
        "asked": asked,
        "unscored": _rate(unscored, asked),
        **{status.value: _rate(counts[status], asked) for status in _NO_SCORE},
        **{end: None if count is None else _rate(count, len(scores)) for end, count in at_the_ends.items()},
        "retest": retest(list(repeated.values())),
    }


def _rate(count: int, total: int) -> dict[str, Any]:
    return {
        "count": count,
        "total": total,
        "rate": count / total if total else None,
        "ci95": wilson_interval(count, total),
    }


def retest(repeats: Sequence[Sequence[float]]) -> dict[str, Any] | None:
    """How far the judge's answers about one and the same edit lie apart. None where nothing was asked twice.

    `repeats` holds the scores of each edit; edits with fewer than two scores are left out.

    `sd`: standard deviation within an edit, sqrt(MSW), in points of the score. `icc`: the share of the
    variance that lies between edits, ICC(1,1) = (MSB - MSW) / (MSB + (k - 1) * MSW) of a one-way analysis of
    variance (Shrout and Fleiss, Psychological Bulletin 86, 1979), k for unequal numbers by (N - sum k_i^2 /
    N) / (n - 1); None with fewer than two edits or when all scores are equal. `identical`: share of the edits
    whose scores are all the same.
    """
    items = [np.array(scores, dtype=np.float64) for scores in repeats if len(scores) >= 2]
    if not items:
        return None
    sizes = np.array([len(scores) for scores in items], dtype=np.float64)
    means = np.array([scores.mean() for scores in items])
    answers = float(sizes.sum())
    within = math.fsum(float(((scores - scores.mean()) ** 2).sum()) for scores in items)
    mean_square_within = within / (answers - len(items))
    return {
        "edits": len(items),
        "answers": int(answers),
        "sd": math.sqrt(mean_square_within),
        "icc": _intraclass_correlation(sizes, means, mean_square_within),
        "identical": sum(bool((scores == scores[0]).all()) for scores in items) / len(items),
    }


def _intraclass_correlation(sizes: FloatArray, means: FloatArray, mean_square_within: float) -> float | None:
    if len(sizes) < 2:
        return None
    answers = float(sizes.sum())
    grand = float((sizes * means).sum()) / answers
    mean_square_between = float((sizes * (means - grand) ** 2).sum()) / (len(sizes) - 1)
    size = (answers - float((sizes**2).sum()) / answers) / (len(sizes) - 1)
    denominator = mean_square_between + (size - 1) * mean_square_within
    return (mean_square_between - mean_square_within) / denominator if denominator > 0 else None


class OrdinalRatings:
    """Ratings ready to be weighted again and again: sorting them is most of the work, and needed once.

    `ratings`: edits x judges, NaN where there is none. Edits with fewer than two ratings do not matter.
    """

    def __init__(self, ratings: FloatArray) -> None:
        given = ~np.isnan(ratings)
        given[given.sum(axis=1) < 2] = False
        self._edits = np.nonzero(given)[0]  # of each rating
        self._levels = levels(ratings[given])
        self._counts = given.sum(axis=1).astype(np.float64)

    def alpha(self, weights: FloatArray) -> float | None:
        """Krippendorff's alpha, 1 for perfect agreement, 0 for that of chance; `weights`: how often each edit counts.

        alpha = 1 - D_o / D_e (Krippendorff, Content Analysis, 2004, chapter 11). The ordinal distance of two ratings is
        the number of ratings between them, halves of their own levels included: the difference of their midranks. None
        where there is nothing to agree about: no edit with two ratings, or all ratings equal.
        """
        of_ratings = weights[self._edits]
        total = float(of_ratings.sum())
        if total < 2:
            return None
        # Less the mean rank: keeps the sums of squares small, and so exact.
        ranks = midranks(self._levels, of_ratings) - total / 2
        sums = np.bincount(self._edits, ranks, len(weights))
        squares = np.bincount(self._edits, ranks**2, len(weights))
        within = (self._counts * squares - sums**2) / np.maximum(self._counts - 1, 1)
        observed = float((weights * within).sum()) / total
        expected = (float((weights * squares).sum()) - float((weights * sums).sum()) ** 2 / total) / (total - 1)
        return 1 - observed / expected if expected > 0 else None


def _between_judges(results: Results, series: Mapping[str, Series], resamples: int) -> dict[str, Any] | None:
    """Alpha over all judges and for every two, on the mean of each judge's repeats.

    Ratings on unlike scales have no alpha: it asks whether judges give the same rating, not whether they rank alike.
    """
    if len(series) < 2:
        return None
    places = {judge: place for place, judge in enumerate(series)}
    items: dict[tuple[str, str, int], list[list[float]]] = {}
    for judgement in results.judgements:
        item = (judgement.edit_model, judgement.sample_id, judgement.edit_seed)
        row = items.setdefault(item, [[] for _ in places])
        if judgement.judge in places and (name := series[judgement.judge].score) in judgement.scores:
            row[places[judgement.judge]].append(judgement.scores[name])
    ratings = np.array(
        [[math.fsum(scores) / len(scores) if scores else math.nan for scores in items[item]] for item in sorted(items)],
        dtype=np.float64,
    ).reshape(len(items), len(places))
    clusters = {sample.id: sample.cluster for sample in results.samples}
    sources = [clusters[sample] for _, sample, _ in sorted(items)]

    def between(*judges: str) -> dict[str, Any]:
        alike = len({series[judge].scale for judge in judges}) == 1
        found = ratings[:, [places[judge] for judge in judges]]
        return _alpha(found, sources, resamples, alike=alike)

    return {
        "judges": list(places),
        **between(*places),
        "pairs": [
            {"a": a, "b": b, **between(a, b), "apart": judge_difference(results, (a, series[a]), (b, series[b]))}
            for a, b in combinations(places, 2)
        ],
    }


def _alpha(ratings: FloatArray, sources: Sequence[str], resamples: int, *, alike: bool) -> dict[str, Any]:
    """Alpha with its interval over resampled source images, the number of edits it rests on, and why there is none."""
    shared = np.flatnonzero((~np.isnan(ratings)).sum(axis=1) >= 2)
    if not alike:
        return {"edits": len(shared), "alpha": None, "ci95": None, "no_alpha": "unlike_scales"}
    prepared = OrdinalRatings(ratings[shared])
    clusters = cluster_codes([sources[row] for row in shared.tolist()])
    alpha = prepared.alpha(np.ones(len(shared)))
    return {
        "edits": len(shared),
        "alpha": alpha,
        "ci95": bootstrap_interval(prepared.alpha, clusters, resamples=resamples),
        "no_alpha": None if alpha is not None else "no_spread" if len(shared) else "no_scores",
    }
