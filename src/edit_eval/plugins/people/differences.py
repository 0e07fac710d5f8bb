"""What people would say of two edit models: the judge alone, people alone, and people corrected by the judge.

The scale is people's. For ratings it is theirs, one person's score of one edit less the same person's of the other; for
votes it is the share of votes won less the share lost, -1 to 1. It covers samples with an edit by both models: a failed
edit cannot be looked at, is never a number, and is counted with failures. Answers about one count for nothing.

Corrected is prediction-powered inference (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, Science 382, 2023) with the
tuned weight of PPI++ (Angelopoulos, Duchi and Zrnic, arXiv 2311.01453, 2023), which is the regression estimator of
double sampling (Cochran, Sampling Techniques, 1977, chapter 12): what people would say of all images, from a judge who
saw all of them and people who saw some. The judge's bias, scale and language cancel, and a judge that knows nothing
gets the weight 0: it is people's scale, and people's answer.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import msgspec
import numpy as np
from numpy.typing import NDArray

from edit_eval.errors import ConfigurationError
from edit_eval.statistics.columns import ScoreColumn, group_by_judge
from edit_eval.statistics.families import Correction, FamilyOfTests, PairTest
from edit_eval.statistics.intervals import (
    CONFIDENCE,
    FEWEST_WORTH,
    FloatArray,
    IntArray,
    cluster_codes,
    estimate,
    hull_interval,
    hull_p_value,
    student_quantile,
    worth,
)
from edit_eval.statistics.people import PeoplesAnswers, match_names
from edit_eval.statistics.preferences import one_sided
from edit_eval.statistics.series import gain, mean
from edit_eval.statistics.votes import SHARES, Rating, Vote
from edit_eval.text import Text

NEXT = 10
"""Number of samples named to ask about next."""
FEWEST_ANSWERED = 8
"""Least number of source images with an answer for an interval: for a mean, a slope, and the spread behind their
error."""


class Estimated(msgspec.Struct, frozen=True):
    """A mean difference on people's scale, above 0 if the first of the pair is better."""

    difference: float | None
    """None if the judge has no score, or if its scale has an open end and people give ratings."""
    ci95: list[float] | None
    no_ci95: str | None
    """Why there is no interval: `few_images`, `too_uneven`, `no_spread`, `unlike_scales`, `no_scores`."""


class PeoplesDifference(msgspec.Struct, frozen=True):
    """a - b as people see it, over the samples with an edit by both."""

    judge: str
    score: str
    a: str
    b: str
    answers: int
    """Ratings of both edits by one person, or votes."""
    raters: int
    """Number of people who answered."""
    samples: int
    """Samples with an answer, of `total`."""
    images: int
    """Source images with an answer, of `total_images`."""
    total: int
    """Samples with an edit by both."""
    total_images: int
    """Source images of these."""
    judge_alone: Estimated
    """Its votes, if people vote: 1 if it prefers a, 0 for the same score. If people rate, its difference with its scale
    stretched to the range of their ratings."""
    people_alone: Estimated
    """By the samples with an answer alone."""
    corrected: Estimated
    """The judge's over all samples, corrected by people's answers."""
    weight: float
    """Worth of the judge, in points of people's scale per point of its own; 0.0 if it does not help."""
    more_images: int | None
    """Number of further images, asked about in the same way, that would halve the corrected interval; None if all
    would not."""
    more_answers: int | None
    """The same in answers."""
    narrowest: float | None
    """Share of its width that the corrected interval would keep with answers on all of these images."""
    next_samples: list[str]
    """Samples to ask about next: of images without an answer, drawn evenly over the judge's scores."""
    p: float | None = None
    """Two-sided, of "people prefer neither"; None without a corrected interval."""
    p_adjusted: float | None = None
    """Corrected for all pairs of all judges."""
    preferred: str | None = None
    """The one that people are shown to prefer; None for neither."""


class People(msgspec.Struct, frozen=True):
    """People's answers on all pairs that they were asked about."""

    kind: str
    """`ratings` or `votes`."""
    lowest: float
    """See `highest`."""
    highest: float
    """For ratings, the lowest and highest given; for votes, the ends of a difference, -1 and 1."""
    raters: int
    """Number of people."""
    unmatched: int
    """Answers about an edit that is not here, or that failed."""
    unknown: list[str]
    """Samples and edit models that they name and that are not here, the first few of each."""
    weighted: bool
    """True if answers have weights. If not, the images are taken to have been picked at random."""
    pairs: list[PeoplesDifference]
    family: Correction
    """What `preferred` is corrected for."""
    set_apart: list[str] = msgspec.field(default_factory=list)
    """Raters of the run's own votes who always take one side, and are not counted; raters in a file always count, since
    its sides may not have been drawn at random."""


@dataclass(frozen=True)
class _Answer:
    """One person's answer about two edits of a sample: by how much a's is better than b's."""

    sample: str
    seed: int
    a: str
    b: str
    value: float
    weight: float
    rater: str
    score: str
    """The judges' score that it is about; empty: any."""


def peoples_differences(columns: Sequence[ScoreColumn], answers: PeoplesAnswers) -> People:
    """Returns what people would say of every two columns that they were asked about, by each judge.

    Raises `ConfigurationError` if no answer is about two edits that are compared.
    """
    if not columns:
        raise ConfigurationError(
            Text("people correct a judge's scores, and no judge has scored an edit here: `edit-eval votes` has theirs")
        )
    ids = dict.fromkeys(sample for column in columns for sample in column.scores)
    called = dict.fromkeys(name for column in columns for name in (column.name, column.edit_model))
    answers, unknown = match_names(answers, ids, called)
    votes = [answer for answer in answers if isinstance(answer, Vote)]
    ratings = [answer for answer in answers if isinstance(answer, Rating)]
    used: set[int] = set()
    pairs = []
    ends = (-1.0, 1.0)
    if ratings:
        given = [rating.score for rating in ratings if rating.score_name in {"", *(column.score for column in columns)}]
        ends = (min(given, default=0.0), max(given, default=0.0))
    for of_judge in group_by_judge(columns).values():
        names = _names(of_judge)
        comparisons = _from_votes(votes, names, used) if votes else _from_ratings(ratings, names, used)
        for a, b in combinations(of_judge, 2):
            turned = [
                _orient_answer(answer, a.name) for answer in comparisons if {answer.a, answer.b} == {a.name, b.name}
            ]
            some = [answer for answer in turned if answer.score in ("", a.score)]
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
    family = FamilyOfTests(tuple(PairTest(pair.a, pair.b, pair.corrected.difference, None, pair.p) for pair in pairs))
    shown = zip(pairs, family.adjust_p_values(), family.better(), strict=True)
    return People(
        kind="votes" if votes else "ratings",
        lowest=ends[0],
        highest=ends[1],
        raters=len({answer.rater for answer in answers}),
        unmatched=sum(not isinstance(answer, Vote) or answer.choice in SHARES for answer in answers) - len(used),
        unknown=unknown,
        weighted=any(answer.weight != 1.0 for answer in answers),
        pairs=[msgspec.structs.replace(pair, p_adjusted=p, preferred=better) for pair, p, better in shown],
        family=family.correction,
    )


def compare_by_votes(columns: Sequence[ScoreColumn], votes: Sequence[Vote]) -> People:
    """Returns the same by the votes on a run, without those of raters who always take one side, whom it names."""
    apart = one_sided(votes)
    people = peoples_differences(columns, [vote for vote in votes if vote.rater not in apart])
    return msgspec.structs.replace(people, set_apart=sorted(apart))


def _names(columns: Sequence[ScoreColumn]) -> dict[str, ScoreColumn]:
    """Returns the columns by their names in a file: the name, or the edit model if only one column has it."""
    models = [column.edit_model for column in columns]
    named = {column.edit_model: column for column in columns if models.count(column.edit_model) == 1}
    return {**named, **{column.name: column for column in columns}}


def _from_votes(votes: Sequence[Vote], names: dict[str, ScoreColumn], used: set[int]) -> list[_Answer]:
    answers = []
    for place, vote in enumerate(votes):
        left, right = names.get(vote.left), names.get(vote.right)
        if vote.choice not in SHARES or left is None or right is None or left is right:
            continue
        if all(_has_edit(column, vote.sample_id, vote.edit_seed) for column in (left, right)):
            used.add(place)
            value = 2 * SHARES[vote.choice] - 1
            answers.append(
                _Answer(vote.sample_id, vote.edit_seed, left.name, right.name, value, vote.weight, vote.rater, "")
            )
    return answers


def _from_ratings(ratings: Sequence[Rating], names: dict[str, ScoreColumn], used: set[int]) -> list[_Answer]:
    """Returns the difference of every two edits that one person has rated: the person's own level cancels."""
    rated: dict[tuple[str, str, int, str], list[tuple[int, str, Rating]]] = {}
    for place, rating in enumerate(ratings):
        column = names.get(rating.edit_model)
        if column is not None and _has_edit(column, rating.sample_id, rating.edit_seed):
            of = rated.setdefault((rating.rater, rating.sample_id, rating.edit_seed, rating.score_name), [])
            of.append((place, column.name, rating))
    answers = []
    for (rater, sample, seed, score), several in rated.items():
        for (at, a, first), (to, b, second) in combinations(several, 2):
            if a != b:
                used |= {at, to}
                weight = (first.weight + second.weight) / 2
                answers.append(_Answer(sample, seed, a, b, first.score - second.score, weight, rater, score))
    return answers


def _has_edit(column: ScoreColumn, sample: str, seed: int | None = None) -> bool:
    """True if there is an edit; of that seed, if given."""
    if sample not in column.scores:
        return False
    if column.by_seed:
        return sample in column.by_seed if seed is None else seed in column.by_seed.get(sample, ())
    failed = column.failed.get(sample)
    if failed is None:
        return column.scores[sample] is not None
    return not all(failed.values()) if seed is None else not failed.get(seed, True)


def _edits(column: ScoreColumn, sample: str) -> Mapping[int, float | None]:
    """Returns the judge's score of each of a sample's edits, by seed; of a column that has none of single edits, the
    sample's as that of the first."""
    return column.by_seed.get(sample) or {0: column.scores[sample]}


def _orient_answer(answer: _Answer, first: str) -> _Answer:
    if answer.a == first:
        return answer
    return replace(answer, a=answer.b, b=answer.a, value=-answer.value)


def _pair(a: ScoreColumn, b: ScoreColumn, answers: Sequence[_Answer], rated_range: float | None) -> PeoplesDifference:
    """`rated_range`: the largest distance of two ratings; None if people vote."""
    common = sorted(score for score in a.scores if score in b.scores and _has_edit(a, score) and _has_edit(b, score))
    edits = [(sample, seed) for sample in common for seed in sorted({*_edits(a, sample)} & {*_edits(b, sample)})]
    place = {edit: number for number, edit in enumerate(edits)}
    samples = [sample for sample, _ in edits]
    at = np.array(
        [place[answer.sample, answer.seed if (answer.sample, answer.seed) in place else 0] for answer in answers]
    )
    weights = np.array([answer.weight for answer in answers])
    sums = np.asarray(np.bincount(at, weights, len(edits)), dtype=np.float64)
    with np.errstate(invalid="ignore"):
        people = np.bincount(at, weights * [answer.value for answer in answers], len(edits)) / sums  # NaN without any
    scores = [[_edits(column, sample)[seed] for sample, seed in edits] for column in (a, b)]
    of_a, of_b = np.array(scores, dtype=np.float64)  # None becomes NaN
    judge = gain(a.scale) * (of_a - of_b)
    images = cluster_codes([a.image(sample) for sample in samples])
    says = np.nan_to_num(judge)  # any number will do where it has no score: 0 prefers neither
    difference = correct_difference(people, says, images, sums)
    rated = ~np.isnan(people)
    more = difference.images_to_halve()
    ends = (-math.inf, math.inf) if rated_range is not None else (-1.0, 1.0)
    return PeoplesDifference(
        judge=a.judge,
        score=a.score,
        a=a.name,
        b=b.name,
        answers=len(answers),
        raters=len({answer.rater for answer in answers}),
        samples=len({answer.sample for answer in answers}),
        images=difference.images,
        total=len({*samples}),
        total_images=difference.images + difference.others,
        judge_alone=_judge_estimate(judge, a, [a.image(sample) for sample in samples], rated_range),
        people_alone=_estimate_of(correct_difference(people, np.zeros(len(edits)), images, sums), *ends),
        corrected=_estimate_of(difference, *ends),
        weight=difference.weight,
        more_images=more,
        more_answers=None if more is None else math.ceil(more * len(answers) / difference.images),
        narrowest=difference.narrowest(),
        next_samples=_next(samples, images, says, rated, f"{a.judge}\n{a.name}\n{b.name}"),
        p=difference.p_value(),
    )


def _estimate_of(difference: Corrected, lowest: float, highest: float) -> Estimated:
    return Estimated(difference.value, difference.interval(lowest=lowest, highest=highest), difference.doubt)


def _judge_estimate(
    judge: FloatArray, column: ScoreColumn, images: Sequence[str], rated_range: float | None
) -> Estimated:
    """Returns the judge on people's scale, by `estimate` over the samples that it has scored."""
    known = ~np.isnan(judge)
    span = column.scale.span
    if not known.any() or (rated_range is not None and not span):
        return Estimated(None, None, "unlike_scales" if known.any() else "no_scores")
    values = np.sign(judge[known]) if rated_range is None else judge[known] * (rated_range / (span or 1.0))
    difference = estimate(
        values, cluster_codes([image for image, scored in zip(images, known.tolist(), strict=True) if scored])
    )
    end = 1.0 if rated_range is None else math.inf  # it votes, too
    return Estimated(mean(values), difference.interval(lowest=-end, highest=end), difference.doubt)


def _next(samples: Sequence[str], images: IntArray, says: FloatArray, rated: NDArray[np.bool_], name: str) -> list[str]:
    """Picks samples of images without an answer: a systematic draw in the order of the judge's scores of the images.

    Every image is equally likely, so they need no weight, and images that the judge prefers strongly, weakly and not
    at all are all included (Cochran, Sampling Techniques, 1977, chapter 8). The same names give the same draw.
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


# -- what people would say of all images --


@dataclass(frozen=True)
class Corrected:
    """People's mean difference over all images, and its uncertainty; see `corrected`."""

    value: float
    error: Jackknife | None
    """None if there is no interval."""
    weight: float
    """Amount subtracted for each point by which the judge liked the rated images more than the others: lambda of
    PPI++."""
    images: int
    """Images with an answer."""
    others: int
    """Images without any."""
    doubt: str | None
    """Why there is no interval: `few_images`, `too_uneven`, `no_spread`; None if there is one."""

    def interval(self, *, lowest: float = -math.inf, highest: float = math.inf) -> list[float] | None:
        """Returns `[low, high]`, 95 %, cut at the ends of the scale; None if `doubt` says why."""
        if self.error is None:
            return None
        low, high = self.error.interval(self.value)
        return [max(lowest, low), min(highest, high)]

    def p_value(self) -> float | None:
        """Returns the two-sided p of "people prefer neither"; None if `doubt` says why."""
        return None if self.error is None else self.error.p_value(self.value)

    def half_width(self, error: Jackknife, images: int) -> float:
        """Returns about half the width of the interval with that many of the images rated: t sqrt(A / images + F).

        F = V2 (images + others) / others is left when all are rated by the judge alone, A / images is the
        rest of the squared standard error.
        """
        every = self.images + self.others
        stays = error.of_others * every / self.others if self.others else 0.0
        rest = max(0.0, error.standard_error**2 - stays) * self.images
        return student_quantile(0.5 + CONFIDENCE / 2, images - 2) * math.sqrt(rest / images + stays)

    def narrowest(self) -> float | None:
        """Returns the share of its width that the interval would keep with answers about every image; None without."""
        if self.error is None:
            return None
        return self.half_width(self.error, self.images + self.others) / self.half_width(self.error, self.images)

    def images_to_halve(self) -> int | None:
        """Returns how many more of these images would have to be rated for half the width; None if all are too few."""
        if self.error is None:
            return None
        wanted = self.half_width(self.error, self.images) / 2
        for more in range(1, self.others + 1):
            if self.half_width(self.error, self.images + more) <= wanted:
                return more
        return None


def correct_difference(
    people: FloatArray, judge: FloatArray, images: IntArray, weights: FloatArray | None = None
) -> Corrected:
    """Estimates people's mean difference over all samples, from theirs of some (`people`, else NaN) and a judge's of
    all.

    One value per sample: a person's score of one edit less the same person's of the other (or 1, 0, -1 for a
    vote), the mean of all who were asked about the sample; and any number given by the judge, higher for the first.
    `images` are codes of the source images. The samples with an answer are a random draw from all of them. `weights`
    say how much each of those counts (1 by default): the sum over its answers of the inverse of the chance with which
    the sample was drawn.

    R are the samples with an answer, U the others, r = |U| / (|R| + |U|). Y and F are weighted means of people and
    judge over R, F1 the judge's plain mean over R, G its plain mean over U (for r = 0, r G is 0), V the variance of
    the judge over all samples, and b = max(0, S_fy) / max(S_ff, V sum w) with S_fy = sum w (f - F) (y - Y) and S_ff =
    sum w (f - F)^2 over R; b is 0 if V is at most 1e-12 of the judge's mean square:

        theta = Y - b (F - (1 - r) F1 - r G)        (with equal weights Y - b r (F - G); lambda of PPI++ is b r)

    PPI++ has V sum w alone below, the regression estimator S_ff alone. S_ff has the smaller error if both are near
    each other; but if the judge scores the images that people saw nearly alike, and others not, it makes a
    slope of noise, and an interval hundreds of times too wide. With the larger of both neither happens.

    The error is `intervals.jackknife`: one image is deleted with all its samples, of the k that have an answer (stratum
    1, w1 - 2 degrees of freedom) or of the u that have none (stratum 2, w2 - 1), and Y, F, F1, G and b are computed
    anew; r and V stay.

    w = 1 / sum p^2 is what the images of a stratum are worth, p an image's share of the weights of its samples with an
    answer (stratum 1), of its samples (stratum 2); equal images are worth their number. Counting them instead, unequal
    ones would cover less: .90 for .95 if 30 with an answer are worth 8. In stratum 1 it is w1 - 1 if there is no slope
    to fit, V being 0. If one image alone has samples without an answer, or u = 1, nothing shows how far off G may
    be: b is then 0 throughout.
    The interval is the hull of Student's t and of Hall's (`intervals.hull_interval`).

    Raises `ValueError` if no sample has an answer.
    """
    _, codes = np.unique(images, return_inverse=True)
    rated = ~np.isnan(people)
    if not rated.any():
        raise ValueError("no sample has an answer")
    w = np.where(rated, 1.0 if weights is None else weights, 0.0)
    # Centred: sums of squares about 0 lose a spread that is small beside the level, and with it the slope.
    level, middle = np.average(people[rated], weights=w[rated]), np.average(judge[rated], weights=w[rated])
    y, f = np.where(rated, people - level, 0.0), np.asarray(judge - middle, dtype=np.float64)
    # Per image: for samples with an answer the weighted 1, y, f, f^2, f y and the plain 1, f; for the others 1, f.
    columns = (w, w * y, w * f, w * f * f, w * f * y, rated * 1.0, rated * f, ~rated * 1.0, ~rated * f)
    sums = np.stack([np.bincount(codes, column) for column in columns])
    answered = sums[5] > 0
    k, u = int(answered.sum()), int((~answered).sum())
    total = sums.sum(axis=1, keepdims=True)
    share = float(total[7, 0] / (total[5, 0] + total[7, 0]))
    fitted = u != 1 and int((sums[7] > 0).sum()) != 1
    variance = float(np.var(judge))
    if not fitted or variance <= 1e-12 * float(np.square(judge).mean()):
        variance = 0.0
    value, slope = _point(total, share, variance)
    own = _point(total - sums[:, answered], share, variance)[0] if k > 1 else value
    others = _point(total - sums[:, ~answered], share, variance)[0] if u > 1 else value
    sizes = sums[0, answered]
    doubt = "few_images" if k < FEWEST_ANSWERED else "too_uneven" if worth(sizes) < FEWEST_WORTH else None
    error = None
    if doubt is None:
        freedom = worth(sizes) - (2 if variance else 1)
        of_others = worth(sums[7, ~answered]) - 1 if u > 1 else 0.0
        error = jackknife(own, others, freedom, of_others, level=float(np.abs(people[rated]).max()))
    return Corrected(
        value=float(level + value[0]),
        error=error,
        weight=float(slope[0]) * share,
        images=k,
        others=u,
        doubt=doubt or (None if error else "no_spread"),
    )


def _point(sums: FloatArray, share: float, variance: float) -> tuple[FloatArray, FloatArray]:
    """Returns theta and the slope b for each column of sums; without a `variance` of the judge there is no slope."""
    n, y, f, ff, fy, rated, plain, others, of_others = sums
    if not variance:
        return y / n, np.zeros_like(y)
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.maximum(0.0, fy - f * y / n) / np.maximum(ff - f * f / n, n * variance)
        beyond = share * of_others / others if share else 0.0
        return y / n - slope * (f / n - (1 - share) * plain / rated - beyond), slope


@dataclass(frozen=True)
class Jackknife:
    """The uncertainty of a statistic; see `jackknife`."""

    standard_error: float
    freedom: float
    asymmetry: float
    of_others: float
    """The second stratum's part of the squared standard error."""

    def interval(self, value: float) -> list[float]:
        """Returns `[low, high]`, 95 %, around the statistic of all images (`hull_interval`)."""
        return list(hull_interval(value, self.standard_error, self.freedom, self.asymmetry))

    def p_value(self, value: float) -> float:
        """Returns the two-sided p of "the statistic is 0", above .05 exactly where `interval` contains it."""
        return hull_p_value(value, self.standard_error, self.freedom, self.asymmetry)


def jackknife(
    own: FloatArray, others: FloatArray, freedom: float, freedom_of_others: float, *, level: float
) -> Jackknife | None:
    """Estimates the error of a statistic by deleting each image in turn from two strata of k and u images.

    `own` and `others` are the statistic without each image of the one and of the other stratum, whose degrees of
    freedom are given; `others` may be empty. With theta(g) and their mean m in each stratum (Wolter, Introduction to
    Variance Estimation, 2007, chapter 4; the freedom is Satterthwaite's):

        V1 = (k - 1) / k sum (theta(g) - m)^2,   V2 = (u - 1) / u sum (theta(g) - m)^2,   SE^2 = V1 + V2
        freedom = SE^4 / (V1^2 / freedom1 + V2^2 / freedom2)
        a = sum e^3 / (sum e^2)^1.5 * (V1 / SE^2)^1.5,   e = m - theta(g) in stratum 1

    Returns None if the first stratum has no spread but rounding (1e-12 of `level`, the largest value that went into
    it): nothing shows how far off the statistic may be.
    """
    e = own.mean() - own
    of_own = (len(own) - 1) / len(own) * float((e**2).sum())
    of_others = float(others.var() * (len(others) - 1)) if len(others) > 1 else 0.0
    if math.sqrt(of_own) <= 1e-12 * max(1.0, level):
        return None
    square = of_own + of_others
    inverse = of_own**2 / freedom + (of_others**2 / freedom_of_others if of_others else 0.0)
    asymmetry = float((e**3).sum() / (e**2).sum() ** 1.5) * (of_own / square) ** 1.5
    return Jackknife(math.sqrt(square), square**2 / inverse, asymmetry, of_others)
