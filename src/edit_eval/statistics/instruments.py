"""Instruments: anything that answers questions about edits, a judge, a measure, recorded replies, or people.

An instrument is its answers. This module describes one instrument: its answers, how often it gave none, and whether
the same question gets the same answer again. `agreement` compares two.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np

from edit_eval.judges.answers import LEAST_MASS
from edit_eval.records import JUDGE_FAILED, Edit, Judgement, Results, Scale, Scoring, Status
from edit_eval.statistics.intervals import FloatArray, wilson_interval
from edit_eval.statistics.people import Rating, Vote
from edit_eval.statistics.series import ends, gain, series_of

MEDIAN = "median"
"""Name of the median of several judges in place of a judge's name; also of its score, if theirs have several names."""
FEWEST_JUDGES = 3
"""Least number of judges for a median."""
Given = Literal["asked", "measured", "recorded", "rated", "voted", "together"]
"""How answers were given: by a judge that was asked, one that measures, or one recorded elsewhere, by people who rate
or vote; or by several instruments together."""
_SHARE = Scale(lowest=0, highest=1)
"""Scale of answers about two edits: the first one's share."""
_ENOUGH = 10
"""Number of edits below which the same words may come twice by chance."""


class Item(NamedTuple):
    """Subject of an answer: an edit, or two edits of one sample that are compared."""

    edit_model: str
    sample_id: str
    edit_seed: int
    other: str = ""
    """The second edit model, if there are two."""

    @classmethod
    def of(cls, one: Edit | Judgement | Rating) -> Item:
        """Returns the item that it is about."""
        return cls(one.edit_model, one.sample_id, one.edit_seed)

    @classmethod
    def of_two(cls, one: str, other: str, sample_id: str, edit_seed: int) -> Item:
        """Returns the item of a pair, the same in either order."""
        first, second = sorted((one, other))
        return cls(first, sample_id, edit_seed, second)


ByItem = Mapping[Item, float]


@dataclass(frozen=True, eq=False)
class Instrument:
    """One judge or person, and all answers to one question."""

    name: str
    """Name of a judge or person, or `people`, `median`."""
    given: Given
    score: str
    """Name of the score; empty for people who did not name one."""
    scale: Scale
    answers: Mapping[Item, Sequence[float]]
    """Answers on its scale: a judge's repeats, or the values of several instruments."""
    raters: tuple[Instrument, ...] = ()
    """The instruments combined in this one, if several."""

    @cached_property
    def values(self) -> dict[Item, float]:
        """The mean of the answers about each item."""
        return {item: math.fsum(some) / len(some) for item, some in self.answers.items()}

    @cached_property
    def upward(self) -> dict[Item, float]:
        """The values, negated if lower is better: higher is better for all instruments."""
        return {item: gain(self.scale) * value for item, value in self.values.items()}

    @cached_property
    def others(self) -> tuple[Instrument, ...]:
        """For each of the raters, all others together."""
        every = self.raters
        return tuple(as_one(self.name, [one for one in every if one is not left]) for left in every)

    def only(self, items: Container[Item]) -> Instrument:
        """Returns its answers about these items."""
        return replace(self, answers={item: some for item, some in self.answers.items() if item in items})


# -- sources --


def judges_of(results: Results, score: str | None = None) -> dict[str, Instrument]:
    """Returns the judges of a run by their headlines, or those that give `score`; in the order of its edit models.

    Judges that are asked, that measure, and that replay recorded answers are all treated alike.
    Raises `ConfigurationError` for a `score` that no judge gives.
    """
    series, given = series_of(results, score), given_by(results)
    places = {model: place for place, model in enumerate(results.edit_models)}
    answers: dict[str, dict[Item, list[float]]] = {judge: {} for judge in series}
    for one in results.judgements:
        if one.judge in series and (name := series[one.judge].score) in one.scores:
            answers[one.judge].setdefault(Item.of(one), []).append(one.scores[name])
    return {
        judge: Instrument(
            judge,
            given.get(judge, "asked"),
            *series[judge],
            {item: of[item] for item in sorted(of, key=lambda item: (places[item.edit_model], item))},
        )
        for judge, of in answers.items()
    }


def recorded_judges(results: Results) -> dict[str, Mapping[str, Any]]:
    """Returns the run's records of each judge, by its name; damaged ones are left out."""
    judges = results.resolved.get("judges")
    return {
        one["name"]: one
        for one in (judges if isinstance(judges, list) else ())
        if isinstance(one, dict) and isinstance(one.get("name"), str)
    }


def given_by(results: Results) -> dict[str, Given]:
    """Returns how each judge's replies were given, according to the run's records."""
    return {
        name: "measured" if one.get("measures") else "recorded" if one.get("replays") else "asked"
        for name, one in recorded_judges(results).items()
    }


def people_of(ratings: Iterable[Rating], score: str = "") -> Instrument:
    """Returns people who rated edits, together: the ratings that name this score, and those that name none."""
    by_rater: dict[str, dict[Item, list[float]]] = {}
    for one in ratings:
        if one.score_name in ("", score):
            by_rater.setdefault(one.rater, {}).setdefault(Item.of(one), []).append(one.score)
    raters = [Instrument(rater, "rated", score, Scale(), by_rater[rater]) for rater in sorted(by_rater)]
    return as_one("people", raters)


def voters_of(votes: Iterable[Vote]) -> list[Instrument]:
    """Returns people who voted, one each: for two edits, the share that the first one gets, 0 to 1."""
    by_rater: dict[str, dict[Item, list[float]]] = {}
    for one in votes:
        item = Item.of_two(one.left, one.right, one.sample_id, one.edit_seed)
        share = one.left_gets if one.left == item.edit_model else 1 - one.left_gets
        by_rater.setdefault(one.rater, {}).setdefault(item, []).append(share)
    return [Instrument(rater, "voted", "", _SHARE, by_rater[rater]) for rater in sorted(by_rater)]


def comparers_of(results: Results) -> list[Instrument]:
    """Returns the judges of a run that compare edits, by their headlines: as voters, over both orders."""
    found: dict[str, dict[Item, list[float]]] = {judge: {} for judge in results.battle_judges}
    for one in results.battles:
        if one.score is not None:
            item = Item.of_two(one.edit_model, one.other, one.sample_id, one.edit_seed)
            share = one.score if one.edit_model == item.edit_model else 1 - one.score
            found[one.judge].setdefault(item, []).append(share)
    return [Instrument(judge, "asked", "", _SHARE, answers) for judge, answers in found.items()]


def as_voter(judge: Instrument) -> Instrument:
    """Returns a judge of single edits as if it had voted on every two edits of a sample, for the one scored higher."""
    of_samples: dict[tuple[str, int], list[tuple[str, float]]] = {}
    for (model, sample, seed, _), value in judge.upward.items():
        of_samples.setdefault((sample, seed), []).append((model, value))
    answers = {}
    for (sample, seed), scored in of_samples.items():
        for (first, one), (second, other) in combinations(sorted(scored), 2):
            answers[Item(first, sample, seed, second)] = [0.5 + 0.5 * float(np.sign(one - other))]
    return replace(judge, scale=_SHARE, answers=answers)


def as_one(name: str, raters: Sequence[Instrument]) -> Instrument:
    """Combines several into one: its values are the means of theirs, each over those that have answered."""
    answers: dict[Item, list[float]] = {}
    for one in raters:
        for item, value in one.values.items():
            answers.setdefault(item, []).append(value)
    first = raters[0] if raters else None
    return Instrument(
        name, "together", first.score if first else "", first.scale if first else Scale(), answers, tuple(raters)
    )


# -- one judge --


def judge_card(judgements: Sequence[Judgement], judge: Instrument) -> dict[str, Any]:
    """Counts how often a judge gave no score, and the ends of its scale; with `retest`. See `judge_agreement`."""
    outcomes = [outcome for one in judgements if (outcome := one.outcome(judge.score)) is not None]
    counts = Counter(status for status, _ in outcomes)
    unscored = sum(counts[status] for status in JUDGE_FAILED)
    asked = counts[Status.OK] + unscored
    scores = [score for of_item in judge.answers.values() for score in of_item]
    lowest, highest = judge.scale.lowest, judge.scale.highest
    at_the_ends = {
        "ceiling": None if highest is None else sum(score >= highest for score in scores),
        "floor": None if lowest is None else sum(score <= lowest for score in scores),
    }
    return {
        "score": judge.score,
        "asked": asked,
        "unscored": _rate(unscored, asked),
        **{status.value: _rate(counts[status], asked) for status in JUDGE_FAILED},
        **{end: None if count is None else _rate(count, len(scores)) for end, count in at_the_ends.items()},
        "retest": retest(list(judge.answers.values())),
    }


def _rate(count: int, total: int) -> dict[str, Any]:
    return {
        "count": count,
        "total": total,
        "rate": count / total if total else None,
        "ci95": wilson_interval(count, total),
    }


def retest(repeats: Sequence[Sequence[float]]) -> dict[str, Any] | None:
    """Measures how far the judge's answers about the same edit are apart. None if nothing was asked twice.

    `repeats` has the scores of each edit; edits with fewer than two scores are left out.

    `sd`: standard deviation within an edit, sqrt(MSW), in points of the score. `icc`: the share of the
    variance that is between edits, ICC(1,1) = (MSB - MSW) / (MSB + (k - 1) * MSW) of a one-way analysis of
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


def readings_document(results: Results) -> dict[str, Any]:
    """Returns, for each judge that was asked, `readings` (of an edit), `spread`, `identical`, and `mass` if any.

    `identical`: whether each edit's several readings were given in the same words, so that nothing was sampled.
    `spread` is that of the headline, as `spread_of`; None with one reading. `mass` covers all readings with
    probabilities: their number (`readings`), for how many the mass is `unknown`, and of the others the `median` (None
    without any) and how many are `below` the `floor`, and so no answers.
    """
    found: dict[str, dict[str, Any]] = {}
    for judge in results.judges:
        judged = [one for one in results.once.judgements if one.judge == judge and one.readings]
        if judged:
            found[judge] = {
                "readings": max(len(one.readings) for one in judged),
                "spread": spread_of(judged, judged[0].headline),
                "identical": _identical(judged),
                "mass": _mass(judged),
            }
    return found


def spread_of(judgements: Iterable[Judgement], score: str) -> float | None:
    """Computes the standard deviation between the readings of one edit, in points: a root mean square over the edits.

    None if no edit has a score of two readings or more.
    """
    squares = [one.spread[score] ** 2 for one in judgements if score in one.spread]
    return math.sqrt(math.fsum(squares) / len(squares)) if squares else None


def _identical(judgements: Sequence[Judgement]) -> bool:
    several = [one for one in judgements if len(one.readings) > 1 and one.status is Status.OK]
    alike = (
        {question: reading.text for question, reading in read.items()}
        == {k: r.text for k, r in one.readings[0].items()}
        for one in several
        for read in one.readings[1:]
    )
    return len(several) >= _ENOUGH and all(alike)


def _mass(judgements: Sequence[Judgement]) -> dict[str, Any] | None:
    every = [one.mass for judged in judgements for reading in judged.readings for one in reading.values()]
    masses = [mass for mass in every if mass is not None]
    known = [float(mass) for mass in masses if mass != "unknown"]
    if not masses:
        return None
    return {
        "readings": len(masses),
        "unknown": len(masses) - len(known),
        "median": statistics.median(known) if known else None,
        "below": sum(mass < LEAST_MASS for mass in known),
        "floor": LEAST_MASS,
    }


# -- several judges as one --


@dataclass(frozen=True)
class Panel:
    """A run as if one judge, the median of several, had judged it once.

    A median, because a judge that is far off, or harsher than the others, moves a mean but not it. Two judges have
    none: it would be their mean. Nor have judges on unlike scales. An edit without a score by any of the judges has no
    median: over fewer judges it would be another instrument, used just for edits that are hard to judge.
    """

    results: Results
    """One judgement for each edit that the score applies to, in their order."""
    bounds: Mapping[Item, tuple[float, float]]
    """For each of those edits, its score with everything missing at the worst end of the scale, and at the best;
    infinite if an open end decides."""

    @cached_property
    def judge(self) -> Instrument:
        """The median as an instrument."""
        return replace(judges_of(self.results)[MEDIAN], given="together")


def no_panel(results: Results, score: str | None = None) -> str | None:
    """Returns why there is no median: `few_judges` (fewer than three give the score) or `unlike_scales`; else None."""
    series = series_of(results, score)
    if len(series) < FEWEST_JUDGES:
        return "few_judges"
    return "unlike_scales" if len({of.scale for of in series.values()}) > 1 else None


def panel(results: Results, score: str | None = None) -> Panel | None:
    """Computes the median over the judges of each judge's mean over its repeats, for their headlines or `score`.

    None if `no_panel` says why.
    """
    if no_panel(results, score):
        return None
    judges = judges_of(results, score)
    names, scale = {of.score for of in judges.values()}, next(iter(judges.values())).scale
    name = names.pop() if len(names) == 1 else MEDIAN
    repeats: dict[Item, dict[str, list[Judgement]]] = {}
    for judgement in results.judgements:
        repeats.setdefault(Item.of(judgement), {}).setdefault(judgement.judge, []).append(judgement)
    categories = {sample.id: sample.category for sample in results.samples}
    judgements, bounds = [], {}
    for edit in results.edits:
        item = Item.of(edit)
        series = [(judge, repeats.get(item, {}).get(known, [])) for known, judge in judges.items()]
        if all(one.outcome(judge.score) is not None for judge, every in series for one in every):
            judgements.append(_judgement(name, edit, categories[edit.sample_id], series))
            worst, best = (
                statistics.median(_mean(judge, every, end) for judge, every in series) for end in ends(scale)
            )
            bounds[item] = worst, best
    one_judge = replace(
        results,
        judges=(MEDIAN,),
        judgements=tuple(judgements),
        scoring={MEDIAN: Scoring(protocol=MEDIAN, headline=name, scales={name: scale})},
        controls=(),
        published={},
    )
    return Panel(one_judge, bounds)


_JudgedByEach = Sequence[tuple[Instrument, Sequence[Judgement]]]
"""Judgements of one edit by each judge, one for each repeat."""


def _mean(judge: Instrument, repeats: Sequence[Judgement], missing: float) -> float:
    """Returns the mean of its scores, with `missing` in place of each missing one."""
    scores = [one.scores.get(judge.score, missing) for one in repeats] or [missing]
    return math.fsum(scores) / len(scores)


def _judgement(name: str, edit: Edit, category: str, series: _JudgedByEach) -> Judgement:
    values = [judge.values.get(Item.of(edit)) for judge, _ in series]
    known = [value for value in values if value is not None]
    scored = len(known) == len(series)
    # A score may still come; only if none can is there a reason to give.
    outcomes = [
        one.outcome(judge.score)
        for (judge, every), value in zip(series, values, strict=True)
        for one in every
        if value is None
    ]
    silence = [outcome for outcome in outcomes if outcome is not None] or [(Status.PENDING, "")]
    status, reason = next((outcome for outcome in silence if outcome[0] is Status.PENDING), silence[0])
    return Judgement(
        sample_id=edit.sample_id,
        category=category,
        edit_model=edit.edit_model,
        judge=MEDIAN,
        edit_seed=edit.edit_seed,
        repeat=0,
        headline=name,
        status=Status.OK if scored else status,
        reason="" if scored else reason,
        scores={name: statistics.median(known)} if scored else {},
    )
