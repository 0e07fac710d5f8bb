"""Raters: anything that answers questions about edits, a judge, a measure, recorded replies, or people.

A rater is its answers. This module describes one rater: its answers, and whether the same question gets the
same answer again. Others compare two: `scores_apart.compare_scores`, `ordinal.alpha`, and the plug-in `agreement`.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from edit_eval.judges.answers import LEAST_MASS
from edit_eval.records import Edit, Judgement, Results, Scale, Status
from edit_eval.statistics.intervals import FloatArray
from edit_eval.statistics.series import gain, series_of
from edit_eval.statistics.votes import Rating, Vote

Given = Literal["asked", "measured", "recorded", "rated", "voted", "together"]
"""How answers were given: by a judge that was asked, one that measures, or one recorded elsewhere, by people who rate
or vote; or by several raters together."""
SHARE = Scale(lowest=0, highest=1)
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
    def from_record(cls, record: Edit | Judgement | Rating) -> Item:
        """Returns the item that it is about."""
        return cls(record.edit_model, record.sample_id, record.edit_seed)

    @classmethod
    def from_pair(cls, a: str, b: str, sample_id: str, edit_seed: int) -> Item:
        """Returns the item of a pair, the same in either order."""
        first, second = sorted((a, b))
        return cls(first, sample_id, edit_seed, second)


ByItem = Mapping[Item, float]


@dataclass(frozen=True, eq=False)
class Rater:
    """One judge or person, and all answers to one question."""

    name: str
    """Name of a judge or person, or `people`, `median`."""
    given: Given
    score: str
    """Name of the score; empty for people who did not name one."""
    scale: Scale
    answers: Mapping[Item, Sequence[float]]
    """Answers on its scale: a judge's repeats, or the values of several raters."""
    raters: tuple[Rater, ...] = ()
    """The raters combined in this one, if several."""

    @cached_property
    def values(self) -> dict[Item, float]:
        """The mean of the answers about each item."""
        return {item: math.fsum(some) / len(some) for item, some in self.answers.items()}

    @cached_property
    def upward(self) -> dict[Item, float]:
        """The values, negated if lower is better: higher is better for all raters."""
        return {item: gain(self.scale) * value for item, value in self.values.items()}

    @cached_property
    def others(self) -> tuple[Rater, ...]:
        """For each of the raters, all others together."""
        every = self.raters
        return tuple(as_one(self.name, [rater for rater in every if rater is not left]) for left in every)

    def only(self, items: Container[Item]) -> Rater:
        """Returns its answers about these items."""
        return replace(self, answers={item: some for item, some in self.answers.items() if item in items})


def image_of(results: Results) -> Callable[[str], str]:
    """Returns what gives each sample's source image; one that is not known is taken as the sample's own."""
    sources = {sample.id: sample.cluster for sample in results.samples}
    return lambda sample: sources.get(sample) or sample


# -- sources --


def judges_of(results: Results, score: str | None = None) -> dict[str, Rater]:
    """Returns the judges of a run by their headlines, or those that give `score`; in the order of its edit models.

    Judges that are asked, that measure, and that replay recorded answers are all treated alike.
    Raises `ConfigurationError` for a `score` that no judge gives.
    """
    series, given = series_of(results, score), reply_origins(results)
    places = {model: place for place, model in enumerate(results.edit_models)}
    answers: dict[str, dict[Item, list[float]]] = {judge: {} for judge in series}
    for judgement in results.judgements:
        if judgement.judge in series and (name := series[judgement.judge].score) in judgement.scores:
            answers[judgement.judge].setdefault(Item.from_record(judgement), []).append(judgement.scores[name])
    return {
        judge: Rater(
            judge,
            given.get(judge, "asked"),
            *series[judge],
            {item: of[item] for item in sorted(of, key=lambda item: (places[item.edit_model], item))},
        )
        for judge, of in answers.items()
    }


def judge_records(results: Results) -> dict[str, Mapping[str, Any]]:
    """Returns the run's records of each judge, by its name; damaged ones are left out."""
    judges = results.provenance.resolved.get("judges")
    return {
        record["name"]: record
        for record in (judges if isinstance(judges, list) else ())
        if isinstance(record, dict) and isinstance(record.get("name"), str)
    }


def reply_origins(results: Results) -> dict[str, Given]:
    """Returns how each judge's replies were given, according to the run's records."""
    return {
        name: "measured" if record.get("measures") else "recorded" if record.get("replays") else "asked"
        for name, record in judge_records(results).items()
    }


def people_of(ratings: Iterable[Rating], score: str = "") -> Rater:
    """Returns people who rated edits, together: the ratings that name this score, and those that name none."""
    by_rater: dict[str, dict[Item, list[float]]] = {}
    for rating in ratings:
        if rating.score_name in ("", score):
            by_rater.setdefault(rating.rater, {}).setdefault(Item.from_record(rating), []).append(rating.score)
    raters = [Rater(rater, "rated", score, Scale(), by_rater[rater]) for rater in sorted(by_rater)]
    return as_one("people", raters)


def voters_of(votes: Iterable[Vote]) -> list[Rater]:
    """Returns people who voted, one each: for two edits, the share that the first one gets, 0 to 1."""
    by_rater: dict[str, dict[Item, list[float]]] = {}
    for vote in votes:
        item = Item.from_pair(vote.left, vote.right, vote.sample_id, vote.edit_seed)
        share = vote.share_of_left if vote.left == item.edit_model else 1 - vote.share_of_left
        by_rater.setdefault(vote.rater, {}).setdefault(item, []).append(share)
    return [Rater(rater, "voted", "", SHARE, by_rater[rater]) for rater in sorted(by_rater)]


def as_one(name: str, raters: Sequence[Rater]) -> Rater:
    """Combines several into one: its values are the means of theirs, each over those that have answered."""
    answers: dict[Item, list[float]] = {}
    for rater in raters:
        for item, value in rater.values.items():
            answers.setdefault(item, []).append(value)
    first = raters[0] if raters else None
    return Rater(
        name, "together", first.score if first else "", first.scale if first else Scale(), answers, tuple(raters)
    )


# -- one judge --


class Retest(msgspec.Struct, frozen=True, kw_only=True):
    """How far a judge's answers about the same edit are apart."""

    edits: int
    """With two answers or more."""
    answers: int
    """All answers about these edits."""
    sd: float
    """Standard deviation within an edit, sqrt(MSW), in points of the score."""
    icc: float | None
    """The share of the variance that is between edits; None with fewer than two edits, or when all scores are equal."""
    identical: float
    """Share of the edits whose scores are all the same."""


def retest(repeats: Sequence[Sequence[float]]) -> Retest | None:
    """Measures how far the judge's answers about the same edit are apart. None if nothing was asked twice.

    `repeats` has the scores of each edit; edits with fewer than two scores are left out. `icc` is
    ICC(1,1) = (MSB - MSW) / (MSB + (k - 1) * MSW) of a one-way analysis of variance (Shrout and Fleiss, Psychological
    Bulletin 86, 1979), k for unequal numbers by (N - sum k_i^2 / N) / (n - 1).
    """
    items = [np.array(scores, dtype=np.float64) for scores in repeats if len(scores) >= 2]
    if not items:
        return None
    sizes = np.array([len(scores) for scores in items], dtype=np.float64)
    means = np.array([scores.mean() for scores in items])
    answers = float(sizes.sum())
    within = math.fsum(float(((scores - scores.mean()) ** 2).sum()) for scores in items)
    mean_square_within = within / (answers - len(items))
    return Retest(
        edits=len(items),
        answers=int(answers),
        sd=math.sqrt(mean_square_within),
        icc=_intraclass_correlation(sizes, means, mean_square_within),
        identical=sum(bool((scores == scores[0]).all()) for scores in items) / len(items),
    )


def _intraclass_correlation(sizes: FloatArray, means: FloatArray, mean_square_within: float) -> float | None:
    if len(sizes) < 2:
        return None
    answers = float(sizes.sum())
    grand = float((sizes * means).sum()) / answers
    mean_square_between = float((sizes * (means - grand) ** 2).sum()) / (len(sizes) - 1)
    size = (answers - float((sizes**2).sum()) / answers) / (len(sizes) - 1)
    denominator = mean_square_between + (size - 1) * mean_square_within
    return (mean_square_between - mean_square_within) / denominator if denominator > 0 else None


class ReadingMass(msgspec.Struct, frozen=True, kw_only=True):
    """How much probability the well-formed answers had, over all readings with probabilities."""

    readings: int
    """All questions about all edits."""
    unknown: int
    """Readings whose server tells only how likely the answers are beside each other."""
    median: float | None
    """Of the others, 0 to 1; None without any."""
    below: int
    """How many of them are below the `floor`, and so no answers."""
    floor: float
    """The least probability that an answer needs, 0 to 1."""


class JudgeReadings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The readings of a judge that was asked."""

    readings: int
    """Of an edit (`evaluation.readings`)."""
    spread: float | None
    """Standard deviation of the headline within an edit, in points; None with one reading."""
    identical: bool
    """True if the readings of each edit used the same words, with ten edits or more: then nothing was sampled."""
    mass: ReadingMass | None
    """None if no reading has probabilities."""
    shared: int = 0
    """Judgements with an answer to the very same question about another edit, which has the same pixels."""


def readings_of(results: Results) -> dict[str, JudgeReadings]:
    """Returns the readings of each judge that was asked."""
    readings = {}
    for judge in results.judges:
        judged = [judgement for judgement in results.judgements if judgement.judge == judge and judgement.readings]
        if judged:
            readings[judge] = JudgeReadings(
                readings=max(len(judgement.readings) for judgement in judged),
                spread=reading_spread(judged, judged[0].headline),
                identical=_identical(judged),
                mass=_mass(judged),
                shared=sum(judgement.free > 0 for judgement in judged),
            )
    return readings


def reading_spread(judgements: Iterable[Judgement], score: str) -> float | None:
    """Computes the standard deviation between the readings of one edit, in points: a root mean square over the edits.

    None if no edit has a score of two readings or more.
    """
    squares = [judgement.spread[score] ** 2 for judgement in judgements if score in judgement.spread]
    return math.sqrt(math.fsum(squares) / len(squares)) if squares else None


def _identical(judgements: Sequence[Judgement]) -> bool:
    several = [judgement for judgement in judgements if len(judgement.readings) > 1 and judgement.status is Status.OK]
    alike = (
        {question: reading.text for question, reading in read.items()}
        == {k: r.text for k, r in judgement.readings[0].items()}
        for judgement in several
        for read in judgement.readings[1:]
    )
    return len(several) >= _ENOUGH and all(alike)


def _mass(judgements: Sequence[Judgement]) -> ReadingMass | None:
    every = [reply.mass for judged in judgements for reading in judged.readings for reply in reading.values()]
    masses = [mass for mass in every if mass is not None]
    known = [float(mass) for mass in masses if mass != "unknown"]
    if not masses:
        return None
    return ReadingMass(
        readings=len(masses),
        unknown=len(masses) - len(known),
        median=statistics.median(known) if known else None,
        below=sum(mass < LEAST_MASS for mass in known),
        floor=LEAST_MASS,
    )
