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
from edit_eval.text import Text

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
        Text("on these edits, agreement between two people is not shown"),
    )
    apart = Text("people's scores do not separate any two edit models")
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
        return Text("there are no scores by people")
    row, (edit_model, sample, edit_seed) = people[0], min(known, default=("", "", 0))
    if any((one.edit_model, one.sample_id, one.edit_seed) in known for one in people):
        theirs, ours = (", ".join(sorted(some)) for some in ({one.score_name for one in people}, names))
        return Text("none of the {} scores by people is about {}; they are about {}", len(people), ours, theirs)
    return Text(
        "none of the {} scores by people is about an edit of this run; the first is about {!r} by "
        "{!r} (edit seed {}), an edit of this run is {!r} by {!r} (edit seed {})",
        len(people),
        row.sample_id,
        row.edit_model,
        row.edit_seed,
        sample,
        edit_model,
        edit_seed,
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
            "between_models": {"spearman": none_for_nan(models(samples.once)[0])},
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
        spearman = none_for_nan(between(samples.once)[0])
        separated = separated_pairs(self.crowd.mean, sources, set(between.models))
        proven = separated_pairs(self.scores, sources, set(between.models))
        return {
            "models": len(between),
            "spearman": spearman,
            "ci95_models": interval_of_models(spearman, len(between)),
            "pairs": math.comb(len(between), 2),
            "pairs_alike": pairs_alike(self.scores, self.crowd.mean, between, samples, sources),
            "separated": len(separated),
            "pairs_ordered": {
                "value": none_for_nan(_ordered(between.means(samples.once)[0][0], between.models, separated)),
                "ci95": _of_proven(len(separated), set(separated), set(proven)),
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
            # Of the order of a few models no draw gives an interval: see `pairs_alike`.
            "ci95": percentiles(draws) if kind == "within_models" and not math.isnan(values[0] - values[1]) else None,
        }
    return found


def separated_pairs(
    people: Scores, sources: Mapping[str, str], models: Collection[str], *, level: float = ALPHA
) -> list[tuple[str, str]]:
    """The pairs of edit models (worse, better) that people, or a judge, separate: paired t on common edits, Holm's p at
    most `level` over all pairs. As `compare` would, on the scale that was used. That any is the wrong way round has the
    probability `level` at most.
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
        if p is not None and p <= level
    ]


def pairs_alike(
    one: Scores, other: Scores, between: Between, samples: Samples, sources: Mapping[str, str]
) -> dict[str, Any]:
    """`{"value", "ci95"}`: of all pairs of edit models the share that two instruments order alike, a tie being a half.

    No resampling can give a rank correlation over the same models an interval: where models are close the draws shuffle
    them whatever their true order, and where both orders are equal the truth is the very end of what can be drawn. The
    order of two models can be proven or left open, so the interval goes from the share of pairs that both instruments
    prove to be alike to 1 less the share that both prove to be unlike. Each proves its pairs at .025 (Holm), so that
    all of it is right in .95 at least (Bonferroni). None with fewer than two models.
    """
    models = set(between.models)
    means = between.means(samples.once)
    pairs = list(combinations(range(len(between.models)), 2))
    if not pairs:
        return {"value": None, "ci95": None}
    signs = [np.array([np.sign(of[0][b] - of[0][a]) for a, b in pairs]) for of in means]
    alike = np.where((signs[0] == 0) | (signs[1] == 0), 0.5, signs[0] == signs[1])
    proven, too = (set(separated_pairs(scores, sources, models, level=ALPHA / 2)) for scores in (one, other))
    return {"value": float(alike.mean()), "ci95": _of_proven(len(pairs), proven, too)}


def _of_proven(count: int, one: Collection[tuple[str, str]], other: Collection[tuple[str, str]]) -> list[float] | None:
    """Of `count` pairs, from the share that both order alike to 1 less the share that they order the other way."""
    if not count:
        return None
    alike = len(set(one) & set(other))
    unlike = len({(better, worse) for worse, better in one} & set(other))
    return [alike / count, 1 - unlike / count]


def _ordered(means: FloatArray, models: Sequence[str], pairs: Sequence[tuple[str, str]]) -> float:
    """The share of pairs (worse, better) that these means order so, a tie being a half; NaN without any."""
    at = {model: place for place, model in enumerate(models)}
    signs = [np.sign(means[at[better]] - means[at[worse]]) for worse, better in pairs]
    return 0.5 + 0.5 * float(np.mean(signs)) if signs else math.nan
