"""What people would say of two edit models: the judge alone, people alone, and people corrected by the judge.

The scale is people's. Of ratings it is theirs, one person's score of one edit less the same person's of the other; of
votes it is the share of votes won less the share lost, -1 to 1. It is about samples of which both models have made an
edit: a failed edit cannot be looked at, is never a number, and is counted where failures are. An answer about one
counts for nothing.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from edit_eval.errors import ConfigurationError
from edit_eval.statistics.columns import Column, by_judge
from edit_eval.statistics.intervals import FloatArray, IntArray, cluster_codes, estimate
from edit_eval.statistics.people import SHARES, PeoplesAnswers, Rating, Vote
from edit_eval.statistics.prediction_powered import Corrected, corrected
from edit_eval.statistics.series import gain, mean
from edit_eval.text import Text

NEXT = 10
"""How many samples to ask about next are named."""


@dataclass(frozen=True)
class Estimated:
    """A mean difference on people's scale, above 0 where the first of the pair is better."""

    difference: float | None
    """None where the judge has no score, and where its scale has an open end and people give ratings."""
    ci95: list[float] | None
    no_ci95: str | None


@dataclass(frozen=True)
class PeoplesDifference:
    """a - b as people see it, over the samples of which both have an edit."""

    judge: str
    score: str
    a: str
    b: str
    answers: int
    """Ratings of both edits by one person, or votes."""
    raters: int
    samples: int
    images: int
    """Source images with an answer."""
    total: int
    total_images: int
    judge_alone: Estimated
    """Its votes, where people vote: 1 where it prefers a, 0 where it gives both the same. Where people rate, its
    difference with its scale stretched to the range of their ratings."""
    people_alone: Estimated
    corrected: Estimated
    weight: float
    """What the judge is worth, in points of people's scale for one of its own; 0.0 where it does not help."""
    more_images: int | None
    """How many more of these images, asked about alike, would halve the corrected interval; None where all would
    not."""
    more_answers: int | None
    narrowest: float | None
    """What share of its width the corrected interval would keep with answers on all of these images."""
    next_samples: list[str]
    """To ask about next: of images without an answer, drawn evenly over what the judge says of them."""


@dataclass(frozen=True)
class People:
    """What people say of all pairs that they were asked about."""

    kind: str
    """`ratings` or `votes`."""
    lowest: float
    highest: float
    """Of ratings the lowest and highest that were given; of votes the ends of a difference, -1 and 1."""
    raters: int
    unmatched: int
    """Answers about an edit that is not here, or that failed."""
    weighted: bool
    """Whether answers have weights. If not, the images are taken to have been picked at random."""
    pairs: list[PeoplesDifference]
    set_apart: list[str] = field(default_factory=list)
    """Raters of the run's own votes who always take one side, and are not counted; nobody in a file is: nothing says
    that its sides were drawn by chance."""


@dataclass(frozen=True)
class _Answer:
    """Of one person, about one sample: by how much a is better than b."""

    sample: str
    a: str
    b: str
    value: float
    weight: float
    rater: str
    score: str
    """The judges' score that it is about; empty: any."""


def peoples_differences(columns: Sequence[Column], answers: PeoplesAnswers) -> People:
    """What people would say of every two columns that they were asked about, by each judge.

    Raises `ConfigurationError` where not one answer is about two edits that are compared.
    """
    votes = [one for one in answers if isinstance(one, Vote)]
    ratings = [one for one in answers if isinstance(one, Rating)]
    used: set[int] = set()
    pairs = []
    ends = (-1.0, 1.0)
    if ratings:
        given = [one.score for one in ratings if one.score_name in {"", *(column.score for column in columns)}]
        ends = (min(given, default=0.0), max(given, default=0.0))
    for of_judge in by_judge(columns).values():
        names = _names(of_judge)
        found = _from_votes(votes, names, used) if votes else _from_ratings(ratings, names, used)
        for a, b in combinations(of_judge, 2):
            turned = [_of_pair(one, a.name) for one in found if {one.a, one.b} == {a.name, b.name}]
            some = [one for one in turned if one.score in ("", a.score)]
            if some:
                pairs.append(_pair(a, b, some, None if votes else ends[1] - ends[0]))
    if not pairs:
        models = ", ".join(column.name for column in columns)
        raise ConfigurationError(
            Text(
                "none of the {} answers by people is about two edits of one sample by the models "
                "compared ({}); ratings need one rater for both",
                len(answers),
                models,
            )
        )
    return People(
        kind="votes" if votes else "ratings",
        lowest=ends[0],
        highest=ends[1],
        raters=len({one.rater for one in answers}),
        unmatched=sum(not isinstance(one, Vote) or one.choice in SHARES for one in answers) - len(used),
        weighted=any(one.weight != 1.0 for one in answers),
        pairs=pairs,
    )


def _names(columns: Sequence[Column]) -> dict[str, Column]:
    """The columns by what a file may call them: their name, or their edit model where that is one column's alone."""
    models = [column.edit_model for column in columns]
    named = {column.edit_model: column for column in columns if models.count(column.edit_model) == 1}
    return {**named, **{column.name: column for column in columns}}


def _from_votes(votes: Sequence[Vote], names: dict[str, Column], used: set[int]) -> list[_Answer]:
    found = []
    for place, one in enumerate(votes):
        left, right = names.get(one.left), names.get(one.right)
        if one.choice not in SHARES or left is None or right is None or left is right:
            continue
        if all(_made(column, one.sample_id, one.edit_seed) for column in (left, right)):
            used.add(place)
            value = 2 * SHARES[one.choice] - 1
            found.append(_Answer(one.sample_id, left.name, right.name, value, one.weight, one.rater, ""))
    return found


def _from_ratings(ratings: Sequence[Rating], names: dict[str, Column], used: set[int]) -> list[_Answer]:
    """Of every two edits that one person has rated the difference: what a person is like on the whole cancels."""
    rated: dict[tuple[str, str, int, str], list[tuple[int, str, Rating]]] = {}
    for place, one in enumerate(ratings):
        column = names.get(one.edit_model)
        if column is not None and _made(column, one.sample_id, one.edit_seed):
            of = rated.setdefault((one.rater, one.sample_id, one.edit_seed, one.score_name), [])
            of.append((place, column.name, one))
    found = []
    for (rater, sample, _, score), several in rated.items():
        for (at, a, one), (to, b, other) in combinations(several, 2):
            if a != b:
                used |= {at, to}
                weight = (one.weight + other.weight) / 2
                found.append(_Answer(sample, a, b, one.score - other.score, weight, rater, score))
    return found


def _made(column: Column, sample: str, seed: int | None = None) -> bool:
    """Whether there is an edit; of that seed, where one is given."""
    if sample not in column.scores:
        return False
    failed = column.failed.get(sample)
    if failed is None:
        return column.scores[sample] is not None
    return not all(failed.values()) if seed is None else not failed.get(seed, True)


def _of_pair(one: _Answer, first: str) -> _Answer:
    if one.a == first:
        return one
    return _Answer(one.sample, one.b, one.a, -one.value, one.weight, one.rater, one.score)


def _pair(a: Column, b: Column, answers: Sequence[_Answer], rated_range: float | None) -> PeoplesDifference:
    """`rated_range`: how far apart two ratings can lie; None where people vote."""
    samples = sorted(one for one in a.scores if one in b.scores and _made(a, one) and _made(b, one))
    place = {sample: number for number, sample in enumerate(samples)}
    at = np.array([place[one.sample] for one in answers])
    weights = np.array([one.weight for one in answers])
    sums = np.asarray(np.bincount(at, weights, len(samples)), dtype=np.float64)
    with np.errstate(invalid="ignore"):
        people = np.bincount(at, weights * [one.value for one in answers], len(samples)) / sums  # NaN without any
    scores = [[column.scores[sample] for sample in samples] for column in (a, b)]
    of_a, of_b = np.array(scores, dtype=np.float64)  # None becomes NaN
    judge = gain(a.scale) * (of_a - of_b)
    images = cluster_codes([a.image(sample) for sample in samples])
    says = np.nan_to_num(judge)  # where it says nothing, any number will do: 0 prefers neither
    found = corrected(people, says, images, sums)
    rated = ~np.isnan(people)
    more = found.images_to_halve()
    ends = (-math.inf, math.inf) if rated_range is not None else (-1.0, 1.0)
    return PeoplesDifference(
        judge=a.judge,
        score=a.score,
        a=a.name,
        b=b.name,
        answers=len(answers),
        raters=len({one.rater for one in answers}),
        samples=int(rated.sum()),
        images=found.images,
        total=len(samples),
        total_images=found.images + found.others,
        judge_alone=_judge_alone(judge, a, [a.image(sample) for sample in samples], rated_range),
        people_alone=_estimated(corrected(people, np.zeros(len(samples)), images, sums), *ends),
        corrected=_estimated(found, *ends),
        weight=found.weight,
        more_images=more,
        more_answers=None if more is None else math.ceil(more * len(answers) / found.images),
        narrowest=found.narrowest(),
        next_samples=_next(samples, images, says, rated, f"{a.judge}\n{a.name}\n{b.name}"),
    )


def _estimated(found: Corrected, lowest: float, highest: float) -> Estimated:
    return Estimated(found.value, found.interval(lowest=lowest, highest=highest), found.doubt)


def _judge_alone(judge: FloatArray, column: Column, images: Sequence[str], rated_range: float | None) -> Estimated:
    """The judge on people's scale; as `estimate` has it, of the samples that it has scored."""
    known = ~np.isnan(judge)
    span = column.scale.span
    if not known.any() or (rated_range is not None and not span):
        return Estimated(None, None, "unlike_scales" if known.any() else "no_scores")
    values = np.sign(judge[known]) if rated_range is None else judge[known] * (rated_range / (span or 1.0))
    found = estimate(values, cluster_codes([image for image, one in zip(images, known.tolist(), strict=True) if one]))
    return Estimated(mean(values), found.interval(), found.doubt)


def _next(samples: Sequence[str], images: IntArray, says: FloatArray, rated: NDArray[np.bool_], name: str) -> list[str]:
    """Samples of images without an answer: a systematic draw in the order of what the judge says of the images.

    Every image is as likely as any other, so they need no weight, and what the judge prefers strongly, weakly and not
    at all is all there (Cochran, Sampling Techniques, 1977, chapter 8). The same names give the same draw.
    """
    answered = set(images[rated].tolist())
    left: dict[int, list[int]] = {}
    for place, image in enumerate(images.tolist()):
        if image not in answered:
            left.setdefault(image, []).append(place)
    ordered = sorted(left.values(), key=lambda places: (float(says[places].mean()), samples[places[0]]))
    count = min(NEXT, len(ordered))
    start = zlib.crc32(f"{name}\n{len(answered)}".encode("utf-8", "surrogatepass")) / 2**32
    return [samples[ordered[int((number + start) * len(ordered) / count)][0]] for number in range(count)]
