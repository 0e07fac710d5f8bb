"""Agreement of two instruments about the edits that both have answered: the one way in which judges are compared.

With each other and with people, over a bridge from one to the other, and in an audit.
Like is compared with like: a judge against one person beside one person against another. Against the mean of people,
which is less noisy, a judge looks better than that, and so does a person.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from edit_eval.errors import ConfigurationError
from edit_eval.records import Judgement, Results
from edit_eval.statistics.audit.measure import Measure
from edit_eval.statistics.calibration import FEWEST_MAPPED, Pairs, bridge, calibration, turned
from edit_eval.statistics.instruments import (
    ByItem,
    Instrument,
    Item,
    as_one,
    as_voter,
    comparers_of,
    judge_card,
    judges_of,
    panel,
    people_of,
    voters_of,
)
from edit_eval.statistics.intervals import (
    FloatArray,
    IntArray,
    bootstrap_interval,
    cluster_codes,
    estimate,
    holm,
    none_for_nan,
    percentiles,
)
from edit_eval.statistics.people import SHARES, Rating, Vote
from edit_eval.statistics.power import ALPHA
from edit_eval.statistics.rank_agreement import (
    Between,
    MeanAgreement,
    OrdinalRatings,
    Samples,
    Within,
    bounds_within,
    by_model,
    interval_of_models,
    with_interval,
)
from edit_eval.statistics.series import gain, largest_difference
from edit_eval.text import Text

FLOORS = {"as_one_person": 0.5, "pairs_ordered": 0.8}
"""Limits for the lower bounds of a judge's intervals to pass: see docs/trust.md."""


def agreement(one: Instrument, other: Instrument, samples: Samples) -> Agreement:
    """Returns the agreement of two instruments; `samples` has at least those that both have answered about."""
    return Agreement(one, other, samples)


@dataclass(frozen=True, eq=False)
class Agreement:
    """Two instruments and their agreement; each number is computed when asked for."""

    one: Instrument
    other: Instrument
    samples: Samples

    @cached_property
    def items(self) -> list[Item]:
        """Items that both have answered about, in the order of the first."""
        return [item for item in self.one.answers if item in self.other.answers]

    # -- the order of edits, and of edit models --

    @cached_property
    def within(self) -> Within:
        """Do they rank a model's edits alike?"""
        return Within(self.one.upward, self.other.upward, self.samples)

    @cached_property
    def between(self) -> Between:
        """Do they rank the edit models alike?"""
        return Between(self.one.upward, self.other.upward, self.samples)

    def bounds(self) -> list[float] | None:
        """Returns the range of the first number of `within` if `one` had answered everything that `other` has."""
        return bounds_within(self.one.upward, self.other.upward)

    def of_models(self) -> dict[str, Any]:
        """Returns `{"models", "spearman", "ci95_models"}`: `between`, with an interval over other possible models."""
        spearman = none_for_nan(self.between(self.samples.once)[0])
        models = len(self.between)
        return {"models": models, "spearman": spearman, "ci95_models": interval_of_models(spearman, models)}

    def pairs_alike(self) -> dict[str, Any]:
        """Returns `{"value", "ci95"}`: the share of pairs of edit models that they order alike, a tie being a half.

        No resampling can give a rank correlation over the same models an interval: if models are close the draws
        shuffle them regardless of their true order, and if both orders are equal the truth is the very end of what can
        be drawn. The order of two models can be proven or left open, so the interval goes from the share of pairs that
        both instruments prove to be alike to 1 less the share that both prove to be unlike. Each proves its pairs at
        .025 (Holm), so all of it is right with probability .95 at least (Bonferroni). None with fewer than two models.
        """
        means = self.between.means(self.samples.once)
        pairs = list(combinations(range(len(self.between.models)), 2))
        if not pairs:
            return {"value": None, "ci95": None}
        signs = [np.array([np.sign(of[0][b] - of[0][a]) for a, b in pairs]) for of in means]
        alike = np.where((signs[0] == 0) | (signs[1] == 0), 0.5, signs[0] == signs[1])
        return {"value": float(alike.mean()), "ci95": _of_proven(len(pairs), *self._separated(ALPHA / 2))}

    def pairs_ordered(self) -> dict[str, Any]:
        """Returns `{"separated", "pairs_ordered"}`: the number of pairs of edit models that `other` separates, and the
        share of them that `one` orders alike, a tie being a half; None without any."""
        proven, separated = self._separated(ALPHA)
        means, at = self.between.means(self.samples.once)[0][0], self.between.models.index
        signs = [np.sign(means[at(better)] - means[at(worse)]) for worse, better in separated]
        value = 0.5 + 0.5 * float(np.mean(signs)) if signs else None
        ends = _of_proven(len(separated), proven, separated)
        return {"separated": len(separated), "pairs_ordered": {"value": value, "ci95": ends}}

    def _separated(self, level: float) -> list[list[tuple[str, str]]]:
        """Returns the pairs of models that each of the two separates."""
        both = (self.one, self.other)
        return [separated_pairs(of.upward, self.samples, self.between.models, level=level) for of in both]

    # -- which of two edits --

    def choices(self) -> dict[str, Any]:
        """Returns `{"pairs", "images", "agrees", "ci95"}`: how often `one` and a rater of `other` agree.

        A tie where the other has none is half right. `pairs` counts items that both have answered about; the interval
        is clustered on source images.
        """
        raters = self.other.raters or (self.other,)
        found = [
            (self.samples.image(item.sample_id), _alike(self.one.values[item], rater.values[item]))
            for item in self.items
            for rater in raters
            if item in rater.answers
        ]
        return _agreed(found, len(self.items))

    # -- the same number, and how far from it --

    def alpha(self) -> dict[str, Any]:
        """Returns Krippendorff's alpha of the two (`alpha`)."""
        return alpha((self.one, self.other), self.samples.image, self.samples.resamples)

    def difference(self) -> dict[str, Any]:
        """Returns `{"n", "images", "mean_a", "mean_b", "difference", "ci95", "no_ci95", "edit_models"}` of one - other.

        Paired by edit, with the interval that `compare` gives paired differences (none with fewer than six source
        images). `edit_models` has the same for each of them: a judge that is harsher throughout changes no table, one
        that is harsher on one model does. No difference on unlike scales (`unlike_scales`).
        """
        models = {model: self._differ(items) for model, items in by_model(self.items).items()}
        return {**self._differ(self.items), "edit_models": models}

    def _differ(self, items: Sequence[Item]) -> dict[str, Any]:
        a, b = (np.array([of.values[item] for item in items], dtype=np.float64) for of in (self.one, self.other))
        images = [self.samples.image(item.sample_id) for item in items]
        found: dict[str, Any] = {
            "n": len(items),
            "images": len(set(images)),
            "mean_a": float(a.mean()) if items else None,
            "mean_b": float(b.mean()) if items else None,
        }
        if not items or self.one.scale != self.other.scale:
            return {**found, "difference": None, "ci95": None, "no_ci95": "unlike_scales" if items else "no_scores"}
        mean, span = estimate(a - b, cluster_codes(images)), largest_difference(self.one.scale)
        interval = mean.interval(lowest=-span, highest=span)
        return {**found, "difference": mean.value, "ci95": interval, "no_ci95": mean.doubt}

    # -- from one to the other --

    @property
    def _turn(self) -> float:
        """Sign that makes higher better on both scales: a map must rise. Results are turned back."""
        return gain(self.one.scale) * gain(self.other.scale)

    @cached_property
    def pairs(self) -> Pairs:
        """Scores of items that both have answered about, those of `one` turned so that a map to the others can rise."""
        return Pairs(
            self._turn * np.array([self.one.values[item] for item in self.items], dtype=np.float64),
            np.array([self.other.values[item] for item in self.items], dtype=np.float64),
            self._codes(self.items),
            [item.edit_model for item in self.items],
        )

    def _codes(self, items: Sequence[Item]) -> IntArray:
        return np.array([self.samples.code[item.sample_id] for item in items], dtype=np.int64)

    def calibration(self) -> dict[str, Any] | None:
        """Returns the map from the scores of `one` to those of `other` (`calibration.calibration`)."""
        return self._turned_back(calibration(self.pairs, resamples=self.samples.resamples))

    def bridge(self) -> dict[str, Any] | None:
        """Returns the same map over all edits scored by `one` (`calibration.bridge`), and `other`'s own scores."""
        continued = {
            model: (
                self._turn * np.array([self.one.values[item] for item in items], dtype=np.float64),
                self._codes(items),
            )
            for model, items in by_model(self.one.values).items()
        }
        found = self._turned_back(bridge(self.pairs, continued, resamples=self.samples.resamples))
        lowest, highest = self.other.scale.lowest, self.other.scale.highest
        own = by_model(self.other.values)
        for model, row in found["edit_models"].items() if found else ():
            scores = [self.other.values[item] for item in own.get(model, ())]
            row["before"] *= self._turn
            row["beyond"] = turned(row["beyond"], self._turn)
            if row["ci95"]:
                low, high = row["ci95"]
                low = low if lowest is None else max(lowest, low)
                row["ci95"] = [low, high if highest is None else min(highest, high)]
            row["mean"] = math.fsum(scores) / len(scores) if scores else None
            row["scored"] = len(scores)
        return found

    def _turned_back(self, found: dict[str, Any] | None) -> dict[str, Any] | None:
        for knot in found["map"] if found else ():
            knot["score"] *= self._turn
        if found:
            found["map"].sort(key=lambda knot: knot["score"])
        return found

    # -- one and several --

    def with_each(self) -> MeanAgreement:
        """Returns the mean agreement of `one` with each of `other`'s raters."""
        return self._mean(self.other.raters)

    def with_others(self) -> MeanAgreement:
        """Returns the same with all of them but one."""
        return self._mean(self.other.others)

    def _mean(self, raters: Iterable[Instrument]) -> MeanAgreement:
        return MeanAgreement([Within(self.one.upward, of.upward, self.samples) for of in raters])

    def as_one_rater(self) -> dict[str, Any]:
        """Returns `{"value", "ci95"}`: its agreement with one of `other`'s raters over that of two of them.

        Both None if the raters are not shown to agree with each other at all: the ratio to nothing is undefined.
        """
        judge, raters = self.with_each(), among(self.other, self.samples)
        one, other = self.samples.drawn(judge), self.samples.drawn(raters)
        seen = raters(self.samples.once)[0]
        low = percentiles(other)
        if math.isnan(seen) or (seen if low is None else low[0]) <= 0:
            return {"value": None, "ci95": None}
        shares = np.divide(one, other, out=np.full_like(one, math.nan), where=other > 0)  # NaN in the few draws below
        return {"value": none_for_nan(judge(self.samples.once)[0] / seen), "ci95": percentiles(shares)}

    def unanswered(self) -> dict[str, Any]:
        """Compares `other`'s values of items that `one` has not answered with those of the rest."""
        items = sorted(self.other.values)
        scored = np.array([item in self.one.answers for item in items], dtype=bool)
        values = np.array([self.other.values[item] for item in items], dtype=np.float64)

        def difference(weights: FloatArray) -> float | None:
            means = [
                float((weights * values)[some].sum() / total) if (total := float(weights[some].sum())) else None
                for some in (~scored, scored)
            ]
            return None if means[0] is None or means[1] is None else means[0] - means[1]

        missing = not scored.all()
        clusters = cluster_codes([self.samples.image(item.sample_id) for item in items])
        interval = bootstrap_interval(difference, clusters, resamples=self.samples.resamples) if missing else None
        return {
            "n": int((~scored).sum()),
            "people_mean": float(values[~scored].mean()) if missing else None,
            "people_mean_scored": float(values[scored].mean()) if scored.any() else None,
            "difference": difference(np.ones(len(items))) if missing else None,
            "ci95": interval,
        }


def among(several: Instrument, samples: Samples) -> MeanAgreement:
    """Returns the mean agreement of every two of an instrument's raters."""
    both = combinations(several.raters, 2)
    return MeanAgreement([Within(one.upward, other.upward, samples) for one, other in both])


def alpha(instruments: Sequence[Instrument], image: Callable[[str], str], resamples: int) -> dict[str, Any]:
    """Returns `{"edits", "alpha", "ci95", "no_alpha"}`: Krippendorff's alpha of two instruments or more.

    With its interval over resampled source images (`image` of each sample), the number of `edits` that two or more have
    answered about, and why there is none. It asks whether they give the same rating, not whether they rank alike, so
    ratings on `unlike_scales` have none.
    """
    count = Counter(item for one in instruments for item in one.answers)
    shared = sorted(item for item, times in count.items() if times >= 2)
    if len({one.scale for one in instruments}) > 1:
        return {"edits": len(shared), "alpha": None, "ci95": None, "no_alpha": "unlike_scales"}
    rows = [[one.values.get(item, math.nan) for one in instruments] for item in shared]
    prepared = OrdinalRatings(np.array(rows, dtype=np.float64).reshape(len(shared), len(instruments)))
    found = prepared.alpha(np.ones(len(shared)))
    codes = cluster_codes([image(item.sample_id) for item in shared])
    return {
        "edits": len(shared),
        "alpha": found,
        "ci95": bootstrap_interval(prepared.alpha, codes, resamples=resamples),
        "no_alpha": None if found is not None else "no_spread" if shared else "no_scores",
    }


def separated_pairs(
    values: ByItem, samples: Samples, models: Collection[str], *, level: float = ALPHA
) -> list[tuple[str, str]]:
    """Returns the pairs of edit models (worse, better) that an instrument separates: paired t on common edits, Holm's p
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
        found = estimate(gains, cluster_codes([samples.image(sample) for sample, _ in shared]))
        tests.append(found.p_value())
        differences.append(found.value)
    return [
        (a, b) if difference > 0 else (b, a)
        for (a, b), p, difference in zip(pairs, holm(tests), differences, strict=True)
        if p is not None and p <= level
    ]


def _of_proven(count: int, one: Collection[tuple[str, str]], other: Collection[tuple[str, str]]) -> list[float] | None:
    """Returns the range from the share of `count` pairs that both order alike to 1 less the share ordered otherwise."""
    if not count:
        return None
    alike = len(set(one) & set(other))
    unlike = len({(better, worse) for worse, better in one} & set(other))
    return [alike / count, 1 - unlike / count]


def _alike(one: float, other: float) -> float:
    """Compares two shares: 1 if both prefer the same, 0 if not, .5 if one of them is a tie."""
    signs = np.sign(one - 0.5), np.sign(other - 0.5)
    return 1.0 if signs[0] == signs[1] else 0.5 if 0 in signs else 0.0


def _agreed(found: Sequence[tuple[str, float]], pairs: int) -> dict[str, Any]:
    """Returns the mean over votes, each with its source image."""
    images = [image for image, _ in found]
    document: dict[str, Any] = {"pairs": pairs, "images": len({*images}), "agrees": None, "ci95": None}
    if not found:
        return document
    mean = estimate(np.array([value for _, value in found], dtype=np.float64), cluster_codes(images))
    return {**document, "agrees": mean.value, "ci95": mean.interval(lowest=0, highest=1)}


def beside_votes(results: Results, votes: Sequence[Vote]) -> dict[str, Any]:
    """Compares judges with people who voted: plain data.

    `judges` has for each of the run's its `judge`, how many edits it was shown at once (`edits`, 1 or 2) and its
    `Agreement.choices` with people; `people` the same of one person with another (None with one); `tie` the agreement
    of always calling both equal.
    """
    raters = voters_of([vote for vote in votes if vote.choice in SHARES])
    people = as_one("people", raters)
    samples = samples_of(results, [people], resamples=0)
    ties = replace(people, name="tie", answers={item: [0.5] for item in people.answers}, raters=())
    asked = [(1, as_voter(one)) for one in judges_of(results).values()]
    asked += [(2, one) for one in comparers_of(results)]
    return {
        "judges": [
            {"judge": one.name, "edits": edits, **agreement(one, people, samples).choices()} for edits, one in asked
        ],
        "people": _among_voters(raters, samples),
        "tie": agreement(ties, people, samples).choices()["agrees"],
    }


def beside_choices(results: Results) -> dict[str, Any] | None:
    """Compares judges with the choices that came with the benchmark (`benchmarks.people_choices`): as `beside_votes`.

    Each judge also has a `constant`: the agreement of always taking the side chosen more often, on its pairs. `people`
    is each person with the choice of all, if the data have each person's choice. None if the data have no choices, or
    the run has no edit models `A` and `B`.
    """
    facts = {one.id: one.facts for one in results.samples if one.facts.get("chosen") in CHOICES_OF_DATA}
    if not facts or not {"A", "B"} <= {*results.edit_models}:
        return None

    def vote(sample: str, chosen: str, rater: str) -> Vote:
        return Vote(sample, "A", "B", CHOICES_OF_DATA[chosen], rater)

    votes = [vote(sample, str(of["chosen"]), "chosen") for sample, of in facts.items()]
    (chosen,) = voters_of(votes)
    every = [
        vote(sample, said, str(place))
        for sample, of in facts.items()
        for place, said in enumerate(of.get("raters") or ())
        if said in CHOICES_OF_DATA
    ]
    samples = samples_of(results, [chosen], resamples=0)
    found = beside_votes(results, votes)
    asked = [as_voter(one) for one in judges_of(results).values()] + comparers_of(results)
    for row, judge in zip(found["judges"], asked, strict=True):
        shares = [chosen.values[item] for item in judge.answers if item in chosen.answers]
        first = math.fsum(shares) / len(shares) if shares else None
        row["constant"] = None if first is None else max(first, 1 - first)
    people = [agreement(one, chosen, samples).choices() for one in voters_of(every)]
    agrees = [one["agrees"] for one in people if one["agrees"] is not None]
    return {
        "judges": found["judges"],
        "people": {**people[0], "agrees": math.fsum(agrees) / len(agrees), "ci95": None} if agrees else None,
        "tie": found["tie"],
    }


CHOICES_OF_DATA = {"A": "left", "B": "right", "tie": "tie"}
"""Choice in a sample's facts -> a vote's choice, with A on the left."""


def _among_voters(raters: Sequence[Instrument], samples: Samples) -> dict[str, Any] | None:
    """Compares every two of them, on what both have voted on."""
    found = []
    items = set()
    for one, other in combinations(raters, 2):
        for item in one.answers.keys() & other.answers.keys():
            items.add(item)
            found.append((samples.image(item.sample_id), _alike(one.values[item], other.values[item])))
    return _agreed(sorted(found), len(items)) if found else None


# -- the judges of a run --


def judge_agreement(results: Results, *, score: str | None = None, resamples: int = 1_000) -> dict[str, Any]:
    """Returns `{"judges": {NAME: card}, "between_judges": {...} | None}`: a run's judges compared, plain data.

    By each judge's headline, or by `score` for the judges that give it. A card has for every way to give no score
    (`unparseable`, `refused`, `out_of_range`, `cut_off`, `judge_error`, `undefined`) and for all of them together
    (`unscored`) its `count`, `total`, `rate` and Wilson's `ci95` among the judgements for which the judge was `asked`;
    the same for scores at the `ceiling` and the `floor` of the scale (its highest and lowest) among all scores, None at
    an open end; the `retest` over repeats (None without repeats); and the `score` that all of it is about.
    """
    results = results.once
    judges = judges_of(results, score)
    judgements: dict[str, list[Judgement]] = {judge: [] for judge in judges}
    for one in results.judgements:
        if one.judge in judgements:
            judgements[one.judge].append(one)
    return {
        "judges": {name: judge_card(judgements[name], judge) for name, judge in judges.items()},
        "between_judges": _between_judges(results, judges, resamples),
    }


def _between_judges(results: Results, judges: Mapping[str, Instrument], resamples: int) -> dict[str, Any] | None:
    if len(judges) < 2:
        return None
    samples = samples_of(results, judges.values(), resamples=resamples)
    pairs = [agreement(*both, samples) for both in combinations(judges.values(), 2)]
    return {
        "judges": list(judges),
        **alpha([*judges.values()], samples.image, resamples),
        "pairs": [{"a": one.one.name, "b": one.other.name, **one.alpha(), "apart": one.difference()} for one in pairs],
    }


def samples_of(results: Results, instruments: Iterable[Instrument], *, resamples: int = 1_000) -> Samples:
    """Returns the samples that these have answered about, with the run's source images."""
    sources = {sample.id: sample.cluster for sample in results.samples}
    return Samples([one.answers for one in instruments], sources, resamples=resamples)


def bridge_document(
    results: Results, old: str, new: str, *, score: str | None = None, resamples: int = 1_000
) -> dict[str, Any]:
    """Returns the map from the scores of the judge `old` to those of `new`, from the edits that both have scored.

    As `calibration.bridge`, with `old`, `new`, `score` of either, their rank agreement `within_models` and
    `between_models`, and beside each bridged mean the `mean` by `new` if it has scored the model's edits itself. Raises
    `ConfigurationError` for judges that are not here, and if there is too little for a map.
    """
    judges = judges_of(results, score)
    for name in (old, new):
        if name not in judges:
            raise ConfigurationError(Text("--bridge {} {}: no judge {!r} here; there are: {}", old, new, name, judges))
    if old == new:
        raise ConfigurationError(Text("--bridge {} {}: name two judges, the old one and then the new one", old, new))
    both = agreement(judges[old], judges[new], samples_of(results, [judges[old]], resamples=resamples))
    found = both.bridge()
    if found is None:
        raise ConfigurationError(
            Text(
                "--bridge {} {}: both have scored {} edits of {} source images here; a bridge needs "
                "{} source images and scores that differ",
                old,
                new,
                len(both.items),
                len(set(both.pairs.clusters.tolist())),
                FEWEST_MAPPED,
            )
        )
    return {
        "old": {"judge": old, "score": judges[old].score},
        "new": {"judge": new, "score": judges[new].score},
        **found,
        "within_models": with_interval(both.within, both.samples),
        "between_models": both.of_models(),
    }


# -- judges and people --


class _Matched(NamedTuple):
    """The judges of a run beside people who rated its edits."""

    judges: dict[str, Instrument]
    people: dict[str, Instrument]
    """People's answers for each score that a judge is compared by."""
    samples: Samples
    ratings: Sequence[Rating]
    """Ratings that are about an edit and a score of the run."""

    def beside(self, judge: Instrument) -> Agreement:
        """Returns a judge and the people who rated the same score, or else the first judge's score."""
        return agreement(judge, self.people.get(judge.score) or self.first, self.samples)

    @property
    def first(self) -> Instrument:
        return self.people[next(iter(self.judges.values())).score]


def _matched(results: Results, ratings: Sequence[Rating], score: str | None, resamples: int) -> _Matched:
    """Raises `ConfigurationError` if no rating is about these results."""
    judges = judges_of(results, score)
    known = {Item.of(edit) for edit in results.edits}
    names = {of.score for of in judges.values()}
    there = [one for one in ratings if Item.of(one) in known]
    usable = [one for one in there if one.score_name in names | {""}]
    if not usable:
        raise ConfigurationError(_nothing_matches(ratings, there, known, names))
    people = {name: people_of(usable, name) for name in names}
    return _Matched(judges, people, samples_of(results, people.values(), resamples=resamples), usable)


def _nothing_matches(
    ratings: Sequence[Rating], there: Sequence[Rating], known: Collection[Item], names: Collection[str]
) -> str:
    if not ratings:
        return Text("there are no scores by people")
    if there:
        theirs, ours = (", ".join(sorted(some)) for some in ({one.score_name for one in ratings}, names))
        return Text("none of the {} scores by people is about {}; they are about {}", len(ratings), ours, theirs)
    one, (edit_model, sample, edit_seed, _) = ratings[0], min(known, default=Item("", "", 0))
    return Text(
        "none of the {} scores by people is about an edit of this run; the first is about {!r} by "
        "{!r} (edit seed {}), an edit of this run is {!r} by {!r} (edit seed {})",
        len(ratings),
        one.sample_id,
        one.edit_model,
        one.edit_seed,
        sample,
        edit_model,
        edit_seed,
    )


def people_agreement(
    results: Results, ratings: Sequence[Rating], *, score: str | None = None, resamples: int = 1_000
) -> dict[str, Any]:
    """Measures how far each judge, and their median, agrees with people: the document described in docs/records.md.

    By each judge's headline, or its `score` of that name (its mean over repeats, negated if lower is better). A
    rating with a name counts for the judges' score of that name alone. `raters` is the agreement of people with each
    other (if the judges' headlines have different names: about the first judge's); None with one person. `people`
    counts them, `scores` their ratings that are used, `unmatched` the lines about other edits and other scores.
    Raises `ConfigurationError` when that is all of them, and for a `score` that no judge gives.
    """
    found = _matched(results, ratings, score, resamples)
    together = panel(results, score)
    return {
        "judges": {name: _beside_people(found.beside(judge)) for name, judge in found.judges.items()},
        "median": _beside_people(found.beside(together.judge)) if together else None,
        "pairs": [
            {"a": a.name, "b": b.name, **_two_beside_people(a, b, found)}
            for a, b in combinations(found.judges.values(), 2)
            if a.score == b.score
        ],
        "raters": _raters(found.first, found.samples),
        "people": len({one.rater for one in found.ratings}),
        "scores": len(found.ratings),
        "unmatched": len(ratings) - len(found.ratings),
    }


def people_measures(
    results: Results,
    ratings: Sequence[Rating],
    *,
    judge: str | None = None,
    score: str | None = None,
    resamples: int = 1_000,
) -> dict[str, Measure]:
    """Returns an audit's measures of agreement with people for one judge, the first by default.

    `as_one_person`: its agreement with one person over that of one person with another. `pairs_ordered`: of the pairs
    of edit models that people separate, the share that it orders alike. Raises `ConfigurationError` if no score by
    people is about an edit of these results.
    """
    found = _matched(results, ratings, score, resamples)
    both = found.beside(found.judges[judge if judge is not None else next(iter(found.judges))])
    ordered = both.pairs_ordered()
    not_shown = Text("on these edits, agreement between two people is not shown")
    none_apart = Text("people's scores do not separate any two edit models")
    images = len({sample.cluster for sample in results.samples})
    return {
        name: Measure(
            value=of["value"],
            ci95=None if of["ci95"] is None else (of["ci95"][0], of["ci95"][1]),
            n=n,
            scenes=images,
            reason=none if of["value"] is None else "",
        ).held_against(None if of["ci95"] is None else FLOORS[name])  # without an interval nothing is required
        for name, of, n, none in (
            ("as_one_person", both.as_one_rater(), len(both.items), not_shown),
            ("pairs_ordered", ordered["pairs_ordered"], ordered["separated"], none_apart),
        )
    }


def _beside_people(both: Agreement) -> dict[str, Any]:
    samples, bounds = both.samples, both.bounds()
    return {
        "score": both.one.score,
        "n": len(both.items),
        "total": len(both.other.values),
        **with_interval(both.within, samples),
        "worst_case": bounds[0] if bounds else None,
        "best_case": bounds[1] if bounds else None,
        "edit_models": both.within.of_models(samples),
        "one_person": with_interval(both.with_each(), samples),
        "others": with_interval(both.with_others(), samples) if len(both.other.raters) > 1 else None,
        "as_one_person": both.as_one_rater(),
        "between_models": {
            **both.of_models(),
            "pairs": math.comb(len(both.between), 2),
            "pairs_alike": both.pairs_alike(),
            **both.pairs_ordered(),
        },
        "unscored": both.unanswered(),
        "calibration": both.calibration(),
    }


def _two_beside_people(a: Instrument, b: Instrument, found: _Matched) -> dict[str, Any]:
    """Computes how much better a agrees with people than b, on the edits that both have scored."""
    of_a, of_b = found.beside(a.only(b.answers)), found.beside(b.only(a.answers))
    samples = found.samples
    document: dict[str, Any] = {"n": len(of_a.items)}
    for kind, one, other in (
        ("within_models", of_a.within, of_b.within),
        ("between_models", of_a.between, of_b.between),
    ):
        values = one(samples.once)[0], other(samples.once)[0]
        known = kind == "within_models" and not math.isnan(values[0] - values[1])
        document[kind] = {
            "spearman_a": none_for_nan(values[0]),
            "spearman_b": none_for_nan(values[1]),
            "difference": none_for_nan(values[0] - values[1]),
            # No draw gives an interval of the order of a few models: see `pairs_alike`.
            "ci95": percentiles(samples.drawn(one) - samples.drawn(other)) if known else None,
        }
    return document


def _raters(people: Instrument, samples: Samples) -> dict[str, Any] | None:
    """Compares people with each other; None if no two of them have a correlation."""
    found = with_interval(among(people, samples), samples)
    if found["spearman"] is None:
        return None
    each = [agreement(*both, samples) for both in zip(people.raters, people.others, strict=True)]
    models = MeanAgreement([one.between for one in each])
    return {
        "raters": len(people.raters),
        **found,
        "others": with_interval(MeanAgreement([one.within for one in each]), samples),
        "between_models": {"spearman": none_for_nan(models(samples.once)[0])},
    }
