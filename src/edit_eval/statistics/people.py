"""Does a judge order edits, and edit models, as people do; and as well as one person would?

Like is held against like: a judge against one person beside one person against another. Against the mean of people, who
are less noisy together, a judge looks better than that, and so does a person.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from edit_eval.errors import ConfigurationError
from edit_eval.records import Judgement, Results
from edit_eval.statistics.audit.measure import Measure
from edit_eval.statistics.calibration import Pairs, calibration
from edit_eval.statistics.corrections import holm
from edit_eval.statistics.intervals import (
    FloatArray,
    IntArray,
    bootstrap_interval,
    cluster_codes,
    estimate,
    none_for_nan,
    percentiles,
)
from edit_eval.statistics.panel import panel
from edit_eval.statistics.people_scores import PersonScore
from edit_eval.statistics.power import ALPHA
from edit_eval.statistics.rank_agreement import (
    Between,
    Item,
    Mean,
    Samples,
    Scores,
    Within,
    bounds_within,
    interval_of_models,
    mean_of,
    mean_scores,
    scored_in,
    summary,
)
from edit_eval.statistics.series import Series, gain, series_of

FLOORS = {"as_one_person": 0.5, "pairs_ordered": 0.8}
"""What a judge's intervals must not fall below to pass: see docs/trust.md."""


def people_agreement(
    results: Results, people: Sequence[PersonScore], *, score: str | None = None, resamples: int = 1_000
) -> dict[str, Any]:
    """How far each judge, and their median, agrees with people: the document that docs/records.md describes.

    Each judge's headline, or its `score` of that name (its mean over repeats, turned round where lower is better). A
    person's score with a name counts for the judges' score of that name alone. `raters` is what people reach among each
    other (where the judges' headlines have different names: about the first judge's); None with one person. `people`
    counts them, `scores` their scores that are used, `unmatched` the lines about other edits and other scores.
    Raises `ConfigurationError` when that is all of them, and for a `score` that no judge gives.
    """
    series = series_of(results, score)
    known = {(edit.edit_model, edit.sample_id, edit.edit_seed) for edit in results.edits}
    names = {of.score for of in series.values()}
    usable = [row for row in people if (row.edit_model, row.sample_id, row.edit_seed) in known]
    usable = [row for row in usable if row.score_name in names | {""}]
    if not usable:
        raise ConfigurationError(_nothing_matches(people, known, names))
    sources = {sample.id: sample.cluster for sample in results.samples}
    crowds = {name: _Crowd.about(name, usable) for name in names}
    samples = Samples([one for crowd in crowds.values() for one in crowd.raters], sources, resamples=resamples)
    judges = {
        judge: _Judge(_scores(results.judgements, judge, of), of, crowds[of.score]) for judge, of in series.items()
    }
    together = panel(results, score)
    median = None
    if together:
        name, of = next(iter(series_of(together.results).items()))
        crowd = crowds.get(of.score) or crowds[next(iter(series.values())).score]
        median = _Judge(_scores(together.results.judgements, name, of), of, crowd)
    first = crowds[next(iter(series.values())).score]
    return {
        "judges": {judge: one.document(samples, sources, resamples) for judge, one in judges.items()},
        "median": median.document(samples, sources, resamples) if median else None,
        "pairs": [
            {"a": a, "b": b, **_two_judges(judges[a], judges[b], samples)}
            for a, b in combinations(judges, 2)
            if judges[a].crowd is judges[b].crowd
        ],
        "raters": first.document(samples),
        "people": len({row.rater for row in usable}),
        "scores": len(usable),
        "unmatched": len(people) - len(usable),
    }


def people_measures(
    results: Results,
    people: Sequence[PersonScore],
    *,
    judge: str | None = None,
    score: str | None = None,
    resamples: int = 1_000,
) -> dict[str, Measure]:
    """What an audit asks of people about one judge, the first by default.

    `as_one_person`: its agreement with one person over that of one person with another. `pairs_ordered`: of the pairs
    of edit models that people separate the share that it orders as they do. Raises `ConfigurationError` where not one
    of the people's scores is about an edit of these results.
    """
    found = people_agreement(results, people, score=score, resamples=resamples)["judges"]
    name = judge if judge is not None else next(iter(found))
    one, between = found[name], found[name]["between_models"]
    images = len({sample.cluster for sample in results.samples})
    as_one = _measure(
        "as_one_person",
        one["as_one_person"],
        one["n"],
        images,
        "on these edits, agreement between two people is not shown",
    )
    apart = "people's scores do not separate any two edit models"
    ordered = _measure("pairs_ordered", between["pairs_ordered"], between["separated"], images, apart)
    return {"as_one_person": as_one, "pairs_ordered": ordered}


def _measure(name: str, found: Mapping[str, Any], n: int, images: int, none: str) -> Measure:
    """Passed where the lower end of the interval reaches the floor; nothing is asked where there is no interval."""
    ci95 = found["ci95"]
    return Measure(
        value=found["value"],
        ci95=None if ci95 is None else (ci95[0], ci95[1]),
        n=n,
        scenes=images,
        reason=none if found["value"] is None else "",
    ).held_against(None if ci95 is None else FLOORS[name])


def _scores(judgements: Sequence[Judgement], judge: str, of: Series) -> dict[str, dict[Item, float]]:
    return mean_scores(
        (one.edit_model, one.sample_id, one.edit_seed, gain(of.scale) * one.scores[of.score])
        for one in judgements
        if one.judge == judge and of.score in one.scores
    )


def _nothing_matches(
    people: Sequence[PersonScore], known: Collection[tuple[str, str, int]], names: Collection[str]
) -> str:
    if not people:
        return "there are no scores by people"
    row, (edit_model, sample, edit_seed) = people[0], min(known, default=("", "", 0))
    if any((one.edit_model, one.sample_id, one.edit_seed) in known for one in people):
        theirs, ours = (", ".join(sorted(some)) for some in ({one.score_name for one in people}, names))
        return f"none of the {len(people)} scores by people is about {ours}; they are about {theirs}"
    return (
        f"none of the {len(people)} scores by people is about an edit of this run; the first is about "
        f"{row.sample_id!r} "
        f"by {row.edit_model!r} (edit seed {row.edit_seed}), an edit of this run is {sample!r} by {edit_model!r} "
        f"(edit seed {edit_seed})"
    )


# -- people among each other --


@dataclass(frozen=True, eq=False)
class _Crowd:
    """What people say of one score."""

    raters: list[dict[str, dict[Item, float]]]
    mean: Scores

    @classmethod
    def about(cls, score: str, people: Sequence[PersonScore]) -> _Crowd:
        by_rater: dict[str, list[tuple[str, str, int, float]]] = {}
        for row in people:
            if row.score_name in ("", score):
                rows = by_rater.setdefault(row.rater, [])
                rows.append((row.edit_model, row.sample_id, row.edit_seed, row.score))
        raters = [mean_scores(by_rater[rater]) for rater in sorted(by_rater)]
        return cls(raters, mean_of(raters))

    def others(self, rater: int) -> Scores:
        """The mean of all but one."""
        return mean_of([one for place, one in enumerate(self.raters) if place != rater])

    def between_raters(self, samples: Samples) -> Mean:
        return Mean([Within(one, other, samples) for one, other in combinations(self.raters, 2)])

    def document(self, samples: Samples) -> dict[str, Any] | None:
        """None where no two people have a correlation."""
        numbers = range(len(self.raters))
        found = summary(self.between_raters(samples), samples)
        if found["spearman"] is None:
            return None
        others = [(one, self.others(number)) for number, one in zip(numbers, self.raters, strict=True)]
        models = Mean([Between(one, other, samples) for one, other in others])
        return {
            "raters": len(self.raters),
            **found,
            "others": summary(Mean([Within(one, other, samples) for one, other in others]), samples),
            "between_models": summary(models, samples),
        }


# -- a judge and people --


@dataclass(frozen=True, eq=False)
class _Judge:
    """What a judge says of edits, higher being better, and the people who have looked at the same score of them."""

    scores: Scores
    of: Series
    crowd: _Crowd

    def document(self, samples: Samples, sources: Mapping[str, str], resamples: int) -> dict[str, Any]:
        raters = self.crowd.raters
        within = Within(self.scores, self.crowd.mean, samples)
        by_model = within.by_model(samples)
        one_person = Mean([Within(self.scores, one, samples) for one in raters])
        others = Mean([Within(self.scores, self.crowd.others(n), samples) for n in range(len(raters))])
        bounds = bounds_within(self.scores, self.crowd.mean)
        return {
            "score": self.of.score,
            "n": sum(model["n"] for model in by_model.values()),
            "total": sum(map(len, self.crowd.mean.values())),
            **summary(within, samples),
            "worst_case": bounds[0] if bounds else None,
            "best_case": bounds[1] if bounds else None,
            "edit_models": by_model,
            "one_person": summary(one_person, samples),
            "others": summary(others, samples) if len(raters) > 1 else None,
            "as_one_person": _ratio(one_person, self.crowd.between_raters(samples), samples),
            "between_models": self._between(samples, sources),
            "unscored": self._unscored(sources, resamples),
            "calibration": self._calibration(sources, resamples),
        }

    def _between(self, samples: Samples, sources: Mapping[str, str]) -> dict[str, Any]:
        between = Between(self.scores, self.crowd.mean, samples)
        found = summary(between, samples)
        separated = separated_pairs(self.crowd.mean, sources, set(between.models))
        ordered = _Ordered(between, separated)
        return {
            "models": len(between),
            **found,
            "ci95_models": interval_of_models(found["spearman"], len(between)),
            "pairs": math.comb(len(between), 2),
            "separated": len(separated),
            "pairs_ordered": {
                "value": none_for_nan(ordered(samples.once)[0]),
                "ci95": _share_interval(ordered, samples) if separated else None,
            },
        }

    def _unscored(self, sources: Mapping[str, str], resamples: int) -> dict[str, Any]:
        """What people say of the edits that this judge has no score for, beside what they say of the others."""
        rows = [
            (item in self.scores.get(model, ()), score, sources[item[0]])
            for model, items in sorted(self.crowd.mean.items())
            for item, score in sorted(items.items())
        ]
        scored = np.array([row[0] for row in rows], dtype=bool)
        values = np.array([row[1] for row in rows], dtype=np.float64)

        def difference(weights: FloatArray) -> float | None:
            means = [
                float((weights * values)[some].sum() / total) if (total := float(weights[some].sum())) else None
                for some in (~scored, scored)
            ]
            return None if means[0] is None or means[1] is None else means[0] - means[1]

        clusters = cluster_codes([row[2] for row in rows])
        missing = not scored.all()
        return {
            "n": int((~scored).sum()),
            "people_mean": float(values[~scored].mean()) if missing else None,
            "people_mean_scored": float(values[scored].mean()) if scored.any() else None,
            "difference": difference(np.ones(len(rows))) if missing else None,
            "ci95": bootstrap_interval(difference, clusters, resamples=resamples) if missing else None,
        }

    def _calibration(self, sources: Mapping[str, str], resamples: int) -> dict[str, Any] | None:
        """From its scores to people's mean, over the edits that have both."""
        rows = [
            (self.scores[model][item], score, sources[item[0]], model)
            for model, items in sorted(self.crowd.mean.items())
            for item, score in sorted(items.items())
            if item in self.scores.get(model, ())
        ]
        pairs = Pairs(
            np.array([row[0] for row in rows], dtype=np.float64),
            np.array([row[1] for row in rows], dtype=np.float64),
            cluster_codes([row[2] for row in rows]),
            [row[3] for row in rows],
        )
        found = calibration(pairs, resamples=resamples)
        for knot in found["map"] if found else ():
            knot["score"] *= gain(self.of.scale)  # as it is on its scale
        return found


def _ratio(judge: Mean, raters: Mean, samples: Samples) -> dict[str, Any]:
    """`{"value", "ci95"}`: one agreement over another, over the same draws.

    Neither where people are not shown to agree with each other at all: over what may be nothing there is no share.
    """
    one, other = samples.drawn(judge), samples.drawn(raters)
    seen = raters(samples.once)[0]
    low = percentiles(other)
    if math.isnan(seen) or (seen if low is None else low[0]) <= 0:
        return {"value": None, "ci95": None}
    return {"value": none_for_nan(judge(samples.once)[0] / seen), "ci95": percentiles(one / other)}


def _two_judges(a: _Judge, b: _Judge, samples: Samples) -> dict[str, Any]:
    """How much better a agrees with the mean of people than b, on the edits that both have scored."""
    of_a, of_b = scored_in(a.scores, b.scores), scored_in(b.scores, a.scores)
    crowd = a.crowd.mean
    kinds: dict[str, tuple[Within | Between, Within | Between]] = {
        "within_models": (Within(of_a, crowd, samples), Within(of_b, crowd, samples)),
        "between_models": (Between(of_a, crowd, samples), Between(of_b, crowd, samples)),
    }
    found: dict[str, Any] = {"n": sum(map(len, scored_in(of_a, crowd).values()))}
    for kind, (one, other) in kinds.items():
        values = one(samples.once)[0], other(samples.once)[0]
        draws = samples.drawn(one) - samples.drawn(other)
        found[kind] = {
            "spearman_a": none_for_nan(values[0]),
            "spearman_b": none_for_nan(values[1]),
            "difference": none_for_nan(values[0] - values[1]),
            "ci95": percentiles(draws) if not math.isnan(values[0] - values[1]) else None,
        }
    return found


def separated_pairs(people: Scores, sources: Mapping[str, str], models: Collection[str]) -> list[tuple[str, str]]:
    """The pairs of edit models (worse, better) that people separate: paired t on common edits, Holm over all pairs.

    As `compare` would, with people as the judge.
    """
    pairs = list(combinations(sorted(models), 2))
    tests: list[float | None] = []
    differences: list[float] = []
    for a, b in pairs:
        shared = sorted(people.get(a, {}).keys() & people.get(b, {}).keys())
        gains = np.array([people[b][item] - people[a][item] for item in shared], dtype=np.float64)
        if not len(gains) or not gains.any():
            tests.append(None)
            differences.append(0.0)
            continue
        found = estimate(gains, cluster_codes([sources[sample] for sample, _ in shared]))
        tests.append(found.p_value())
        differences.append(found.value)
    adjusted = holm(tests)
    return [
        (a, b) if difference > 0 else (b, a)
        for (a, b), p, difference in zip(pairs, adjusted, differences, strict=True)
        if p is not None and p <= ALPHA
    ]


class _Ordered:
    """The share of pairs of edit models that the judge orders as people do; a tie is half a pair."""

    def __init__(self, between: Between, pairs: Sequence[tuple[str, str]]) -> None:
        self._between = between
        places = {model: place for place, model in enumerate(between.models)}
        self._worse: IntArray = np.array([places[worse] for worse, _ in pairs], dtype=np.int64)
        self._better: IntArray = np.array([places[better] for _, better in pairs], dtype=np.int64)

    def __call__(self, weights: FloatArray) -> FloatArray:
        """For each row of weights; NaN without any pair."""
        if not len(self._worse):
            return np.full(len(weights), math.nan)
        means = self._between.means(weights)[0]
        return np.asarray(0.5 + 0.5 * np.sign(means[:, self._better] - means[:, self._worse]).mean(axis=1))


def _share_interval(ordered: _Ordered, samples: Samples) -> list[float] | None:
    """Over source images, the pairs being those that people separate; a point where no draw changes the order."""
    drawn = samples.drawn(ordered)
    if len(drawn) and not np.isnan(drawn).any() and drawn.min() == drawn.max():
        return [float(drawn[0]), float(drawn[0])]
    return percentiles(drawn)
