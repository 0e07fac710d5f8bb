"""Best of N: one rater chooses among several edits of a sample, another says what that was worth.

Everything is computed from records: with n edits of a sample (`evaluation.edit_seeds`), the best of N of them is
worth the mean over all subsets of N, ties broken at random. The share of the subsets in which an edit is chosen has a
formula, so no subset is ever drawn.

The chooser must not be the reporter. A judge chooses by its errors, too: the gain that it sees itself is the true one
divided by its reliability.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np

from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.best_of.section import common_family, edits_each, same_judge
from edit_eval.records import DECLINED, EDIT_LOST, NO_EDIT, NO_FILE, Edit, Judgement, Results, Sample, Scale, Status
from edit_eval.statistics.intervals import Estimate, IntArray, cluster_codes, estimate
from edit_eval.statistics.raters import Item, Rater, judges_of, people_of
from edit_eval.statistics.series import ends, finite, gain, groups_of, largest_difference, mean, sureness
from edit_eval.statistics.timing import cost_of, price_of
from edit_eval.statistics.votes import Rating, ratings_of, votes_of
from edit_eval.text import Text

PEOPLE = "people"
"""Name of people in place of a judge's name."""
_NOT_TRIED = (Status.PENDING, Status.SKIPPED)
_ROUNDING = 1e-12


def chances(scores: Sequence[float | None], size: int) -> list[float]:
    """Returns each of n edits' chance to be chosen, if `size` of the n are drawn blindly and the best one taken.

    None is an edit that cannot be chosen, and ranks below all others. With C for the binomial coefficient, and for an
    edit that ties with k - 1 others above `below` lesser ones:

        (C(below + k, size) - C(below, size)) / C(n, size) / k

    The chances add up to 1 less that of drawing only edits that cannot be chosen. Raises `ValueError` for a size that
    is not 1 to n.
    """
    if not 1 <= size <= len(scores):
        raise ValueError(f"best of {size} of {len(scores)} edits cannot be")
    every = math.comb(len(scores), size)
    below, share = scores.count(None), {}
    for score, tied in _alike(scores):
        share[score] = (math.comb(below + tied, size) - math.comb(below, size)) / every / tied
        below += tied
    return [0.0 if score is None else share[score] for score in scores]


def tie_probability(scores: Sequence[float | None], size: int) -> float:
    """Returns the chance that the best of `size` is tied, so that chance decides."""
    every = math.comb(len(scores), size)
    below, ties = scores.count(None), 0
    for _, tied in _alike(scores):
        ties += math.comb(below + tied, size) - math.comb(below, size) - tied * math.comb(below, size - 1)
        below += tied
    return ties / every


def _alike(scores: Sequence[float | None]) -> list[tuple[float, int]]:
    return sorted(Counter(score for score in scores if score is not None).items())


def all_fail(failed: int, edits: int, size: int) -> float:
    """Returns the chance that `size` edits, drawn from `edits`, are all among the failed ones."""
    return math.comb(failed, size) / math.comb(edits, size)


# -- the document --


class Chooser(msgspec.Struct, frozen=True, kw_only=True):
    """Who chooses, or who reports."""

    name: str
    """Name of the judge, or `people`."""
    given: str
    """How its answers came: `asked`, `measured`, `recorded`, `voted`, `together` (people)."""
    score: str
    scale: Scale


Span = list[float]
"""An interval: its lower and its upper end."""


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """What the best of `size` edits of a sample is worth, and what it costs."""

    size: int
    """Edits to choose from."""
    samples: int
    """Samples with a value; one with fewer edits is missing, and included in the bounds."""
    of: int
    """All to which the reported score applies."""
    images: int
    mean: float | None
    ci95: Span | None
    no_ci95: str | None
    worst_case_mean: float | None
    """The mean with missing scores at their worst; None if nothing bounds it."""
    best_case_mean: float | None
    """The same at their best."""
    gain: float | None
    """Over one edit, paired on samples; above 0 is better."""
    gain_ci95: Span | None
    """Its 95 % interval."""
    no_gain_ci95: str | None
    """Why it has none."""
    own_mean: float | None
    """By the one who chooses, as the next."""
    own_gain: float | None
    """The gain as the one who chooses sees it."""
    by_lot: float | None
    """Share of draws decided by a tie."""
    all_fail: float | None
    """Share of draws of failed edits alone."""
    none_chosen: float | None
    """Share of draws without an edit that can be chosen."""
    edits: int
    """For one sample, as are the next three."""
    readings: float
    """Answers of the one who chooses."""
    seconds: float | None
    """Of devices; None if unknown."""
    price: float | None
    """Of the tokens, in the currency of the judge's `price`; None without one."""


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the edits of an edit model."""

    tried: int
    """Edits that were asked for."""
    failed: int
    """Of these, not made."""
    refused: int
    """Of these, refused by the model."""
    unscored_by_selector: int
    """Made, without a score by the one who chooses."""
    unscored_by_reporter: int
    """Made, without a score by the one who reports."""


class ModelWorth(msgspec.Struct, frozen=True, kw_only=True):
    """What choosing is worth, for one edit model."""

    edit_model: str
    edits: Tried
    reliability: float | None
    """Share of the variance among edits of one sample, by the one who chooses, that is not its own noise; from its
    repeats or readings."""
    reliability_ci95: Span | None
    """Its 95 % interval."""
    inflation: float | None
    """The factor by which a gain that the chooser sees itself is too large, at least: 1 over the upper end of
    `reliability_ci95`."""
    no_inflation: str | None
    """Why it is unknown: `no_repeats`, `identical`, `noise_alone`."""
    sizes: tuple[Size, ...]


class Worth(msgspec.Struct, frozen=True, kw_only=True):
    """What choosing the best of N edits is worth: the document of the analysis `best-of`."""

    select: Chooser
    """Who chooses."""
    report: Chooser
    """Who says what the chosen edit is worth."""
    family: str
    """The family of both judges (`Qwen3-VL`), if they share one; else empty."""
    edit_seeds: int
    """How many edits a sample has."""
    models: tuple[ModelWorth, ...]
    unknown: tuple[str, ...] = ()
    """Samples and edit models that people's file names and the run does not have, the first few of each."""


# -- chooser and reporter --


def rater(results: Results, name: str, ratings: Iterable[Rating] = ()) -> Rater:
    """Returns a judge by its headline; `JUDGE/SCORE`: by that score; `people`: those who gave these ratings.

    For a judge that compares two edits, the value of an edit is its share of its battles: against the same sample's
    edits by other edit models, made with the same edit seed. Raises `ConfigurationError` for a name that is not there,
    or has answered nothing.
    """
    judge, _, score = name.partition("/")
    if name == PEOPLE and PEOPLE not in results.every_judge:
        people = people_of(ratings)
        if not people.answers:
            raise ConfigurationError(
                Text(
                    "people: there are no votes on edits of {}; --people FILE names people's scores or votes",
                    results.name,
                )
            )
        return people
    known = list(results.every_judge)
    if judge not in known:
        meant = did_you_mean(judge, known) or Text("; there are: {}", known)
        raise ConfigurationError(Text("{} has no judge {!r}{}", results.name, judge, meant))
    scales = results.scoring[judge].scales
    if score and score not in scales:
        raise ConfigurationError(Text("judge {} gives no score {!r}; there are: {}", judge, score, list(scales)))
    if judge in results.judges:
        return judges_of(results, score or None)[judge]
    score = score or results.scoring[judge].headline
    battles = [battle for battle in results.battles if battle.judge == judge]
    shares = people_of(ratings_of(votes_of(battles, score, results.samples)))
    return replace(shares, name=judge, given="voted", score=score, scale=Scale(lowest=0, highest=1))


def with_critics(results: Results) -> Results:
    """Returns the results with critics as judges like any other, to choose by their scores."""
    heard = tuple(critique for critique in results.critiques if critique.kind == "edit")
    critics = dict.fromkeys(critique.judge for critique in heard)
    return replace(results, judges=(*results.judges, *critics), judgements=(*results.judgements, *heard))


# -- the worth of choosing --


@dataclass(frozen=True, eq=False)
class _Candidates:
    """The edits of one sample by one edit model that were tried, in the order of their seeds; may be empty."""

    sample: Sample
    upward: tuple[float | None, ...]
    """The selecting rater's value of each, higher being better; None without a value or without an edit."""
    own: tuple[float | None, ...]
    """The same values on its own scale."""
    reported: tuple[float | None, ...]
    failed: int
    """Number of failed edits."""


class _Choice(NamedTuple):
    """The result of choosing among some of a sample's candidates."""

    chances: list[float]
    reported: float | None
    """Mean over candidates that have a value, by their chances; None if none has."""
    own: float | None

    @classmethod
    def choose_best(cls, of: _Candidates, size: int) -> _Choice:
        """Chooses the best of `size`, by the selecting rater."""
        share = chances(of.upward, size)
        return cls(share, _average_by_weight(share, of.reported), _average_by_weight(share, of.own))


def _bound(of: _Candidates, share: Sequence[float], value: float) -> float:
    """Returns what would be reported if everything missing had got `value`, which may be infinite."""
    known = [(chance, score) for chance, score in zip(share, of.reported, strict=True) if score is not None]
    missing = 1 - math.fsum(chance for chance, _ in known)
    rest = missing * value if missing > _ROUNDING else 0.0
    return math.fsum(chance * score for chance, score in known) + rest


def _average_by_weight(weights: Sequence[float], values: Sequence[float | None]) -> float | None:
    known = [(weight, value) for weight, value in zip(weights, values, strict=True) if value is not None]
    total = math.fsum(weight for weight, _ in known)
    return math.fsum(weight * value for weight, value in known) / total if total > 0 else None


def sizes_of(edits: int) -> list[int]:
    """Returns 1, 2, 4, 8, ... up to the number of edits, and that number."""
    powers = [2**power for power in range(edits.bit_length()) if 2**power <= edits]
    return sorted({*powers, edits})


def best_of(results: Results, select: Rater, report: Rater, sizes: Sequence[int] | None = None) -> Worth:
    """Computes what the best of N edits by one rater is worth by another.

    For every edit model, and for every N of `sizes` (by default those of `sizes_of`; 1 is always included): the mean
    over samples with its interval, the gain over N = 1, paired on samples, and the cost. Raises `ConfigurationError` if
    both are one rater, if samples have one edit only, and for a size beyond that.
    """
    if same_judge(results, select.name, report.name):
        raise ConfigurationError(
            Text(
                "{} cannot both choose and report: what it gets wrong is what it chooses by, so it would see more gain "
                "than there is; name another rater to report",
                select.name,
            )
        )
    edits = edits_each(results)
    if edits < 2:
        raise ConfigurationError(
            Text(
                "{} has one edit of each sample, so there is nothing to choose from; "
                "`evaluation: {{edit_seeds: 4}}` and the same command again make more",
                results.name,
            )
        )
    if beyond := [size for size in sizes or () if not 1 <= size <= edits]:
        raise ConfigurationError(
            Text("best of {}: the run has {} edits of each sample; name sizes from 1 to {}", beyond[0], edits, edits)
        )
    wanted = sorted({1, *sizes}) if sizes else sizes_of(edits)
    return Worth(
        select=_chooser(select),
        report=_chooser(report),
        family=common_family(results, select.name, report.name),
        edit_seeds=edits,
        models=tuple(_Curve(results, select, report, model, tuple(wanted)).document() for model in results.edit_models),
    )


def _chooser(of: Rater) -> Chooser:
    return Chooser(name=of.name, given=of.given, score=of.score, scale=of.scale)


@dataclass(frozen=True, eq=False)
class _Curve:
    """What the best of N is worth, for one edit model."""

    results: Results
    select: Rater
    report: Rater
    edit_model: str
    sizes: tuple[int, ...]

    @cached_property
    def edits(self) -> dict[str, list[Edit]]:
        """For each sample, the edits that were tried, by seed."""
        by_sample: dict[str, list[Edit]] = defaultdict(list)
        for edit in self.results.edits:
            if edit.edit_model == self.edit_model and edit.status not in _NOT_TRIED:
                by_sample[edit.sample_id].append(edit)
        return {sample: sorted(some, key=lambda edit: edit.edit_seed) for sample, some in by_sample.items()}

    @cached_property
    def candidates(self) -> list[_Candidates]:
        """Candidates of the samples that the reported score applies to, in the benchmark's order."""
        applies = self._applies
        return [
            _Candidates(
                sample,
                tuple(self.select.upward.get(Item.from_record(edit)) for edit in edits),
                tuple(self.select.values.get(Item.from_record(edit)) for edit in edits),
                tuple(self.report.values.get(Item.from_record(edit)) for edit in edits),
                failed=sum(edit.status in NO_EDIT for edit in edits),
            )
            for sample in self.results.samples
            if sample.id in applies
            for edits in [self.edits.get(sample.id, [])]
        ]

    @cached_property
    def _applies(self) -> set[str]:
        """Samples that a judge's score applies to; for other raters, those that they have answered about."""
        answered = {item.sample_id for item in self.report.answers if item.edit_model == self.edit_model}
        return answered | {
            judgement.sample_id
            for judgement in self.results.judgements
            if (judgement.judge, judgement.edit_model) == (self.report.name, self.edit_model)
            and judgement.outcome(self.report.score) is not None
        }

    def document(self) -> ModelWorth:
        """Returns its sizes, and the counts behind them."""
        tried = [edit for edits in self.edits.values() for edit in edits]
        there = [edit for edit in tried if edit.status is Status.OK]
        return ModelWorth(
            edit_model=self.edit_model,
            edits=Tried(
                tried=len(tried),
                failed=sum(edit.status in (*EDIT_LOST, *NO_FILE) for edit in tried),
                refused=sum(edit.status in DECLINED for edit in tried),
                unscored_by_selector=sum(Item.from_record(edit) not in self.select.values for edit in there),
                unscored_by_reporter=sum(Item.from_record(edit) not in self.report.values for edit in there),
            ),
            **self._reliability()._asdict(),
            sizes=tuple(self._size(size) for size in self.sizes),
        )

    def _size(self, size: int) -> Size:
        having = [candidate for candidate in self.candidates if len(candidate.upward) >= size]
        of_one, chosen = ([_Choice.choose_best(candidate, number) for candidate in having] for number in (1, size))
        values = [choice.reported for choice in chosen]
        made = self._estimate(having, values)
        sure = sureness(made, self.report.scale) if made else None
        gains = self._gains(self.report, values, [choice.reported for choice in of_one])
        own = [choice.own for choice in chosen]
        own_gains = self._gains(self.select, own, [choice.own for choice in of_one])
        gained = self._estimate(having, gains) if size > 1 else None
        reach = largest_difference(self.report.scale)
        of_own = self._groups(self.select, having)
        each = self._cost_of_one
        worst, best = (self._bound(size, having, chosen, end) for end in ends(self.report.scale))
        return Size(
            size=size,
            samples=sum(value is not None for value in values),
            of=len(self.candidates),
            images=len(
                {_image(candidate.sample) for candidate, value in zip(having, values, strict=True) if value is not None}
            ),
            mean=made.value if made else None,
            ci95=sure.ci95 if sure else None,
            no_ci95=sure.no_ci95 if sure else "no_scores",
            worst_case_mean=worst,
            best_case_mean=best,
            gain=gained.value if gained else None,
            gain_ci95=gained.interval(lowest=-reach, highest=reach) if gained else None,
            no_gain_ci95=gained.doubt if gained else "no_scores" if size > 1 else None,
            own_mean=_mean(own, of_own),
            own_gain=_mean(own_gains, of_own) if size > 1 else None,
            by_lot=_mean([tie_probability(candidate.upward, size) for candidate in having]),
            all_fail=_mean([all_fail(candidate.failed, len(candidate.upward), size) for candidate in having]),
            none_chosen=_mean([max(0.0, 1 - math.fsum(choice.chances)) for choice in chosen]),
            edits=size,
            readings=size * each.readings,
            seconds=None if each.seconds is None else size * each.seconds,
            price=None if each.price is None else size * each.price,
        )

    def _bound(self, size: int, having: Sequence[_Candidates], chosen: Sequence[_Choice], end: float) -> float | None:
        """Returns the mean if everything missing had got `end`."""
        bounds = [_bound(candidate, choice.chances, end) for candidate, choice in zip(having, chosen, strict=True)]
        absent = [
            candidate for candidate in self.candidates if len(candidate.upward) < size
        ]  # not tried so often: could be anything
        return finite(_mean([*bounds, *([end] * len(absent))], self._groups(self.report, [*having, *absent])))

    def _gains(self, of: Rater, best: Sequence[float | None], singles: Sequence[float | None]) -> list[float | None]:
        """Returns each sample's gain over one edit; above 0 is better on every scale."""
        return [
            None if more is None or single is None else gain(of.scale) * (more - single)
            for more, single in zip(best, singles, strict=True)
        ]

    def _groups(self, of: Rater, having: Sequence[_Candidates]) -> IntArray | None:
        return groups_of(of.scale, [candidate.sample.category for candidate in having])

    def _estimate(self, having: Sequence[_Candidates], values: Sequence[float | None]) -> Estimate | None:
        """Estimates the mean on the reporting rater's scale; None if there is no mean."""
        groups = self._groups(self.report, having)
        if _mean(values, groups) is None:
            return None
        known = np.array([value is not None for value in values])
        return estimate(
            np.array([value for value in values if value is not None], dtype=np.float64),
            cluster_codes([_image(candidate.sample) for candidate in having])[known],
            None if groups is None else groups[known],
        )

    # -- the selecting rater's repeatability --

    def _reliability(self) -> _Reliability:
        """Returns it from repeated answers about one edit.

        Reliability is the share of its values' variance among edits of one sample that is not its own noise: with S of
        n freedoms that variance and E of m that of the noise, 1 - E / S, its interval by F(n, m) (Shrout and Fleiss,
        Psychological Bulletin 86, 1979), cut at 0 and 1. Errors that it repeats are not noise here. So `inflation`, the
        least factor by which the gain that it sees itself is too large, is 1 over the interval's upper end; or None,
        with the reason `no_repeats`, `identical`, or `noise_alone` (that end is 0).
        """
        from scipy.special import fdtri

        noise, freedom_of_noise = self._noise()
        if not freedom_of_noise or noise == 0.0:
            return _Reliability(no_inflation="identical" if freedom_of_noise else "no_repeats")
        values = [[value for value in candidate.own if value is not None] for candidate in self.candidates]
        among, freedom = _group_variance([some for some in values if len(some) > 1])
        if not freedom or among == 0.0:
            return _Reliability(no_inflation="noise_alone")
        share = noise / among
        ends = [1 - share * float(fdtri(freedom, freedom_of_noise, part)) for part in (0.975, 0.025)]
        low, high = (min(1.0, max(0.0, end)) for end in ends)
        return _Reliability(
            reliability=max(0.0, 1 - share),
            reliability_ci95=[low, high],
            inflation=1 / high if high else None,
            no_inflation=None if high else "noise_alone",
        )

    def _noise(self) -> tuple[float, int]:
        """Returns the variance of its value of one edit, from its repeats, else from its readings; and its freedoms."""
        if self.select.raters:  # people, who differ in more than noise
            return 0.0, 0
        mine = [some for item, some in self.select.answers.items() if item.edit_model == self.edit_model]
        if repeated := [some for some in mine if len(some) > 1]:
            variance, freedom = _group_variance(repeated)
            return variance / (sum(map(len, repeated)) / len(repeated)), freedom
        read = [
            judgement
            for judgement in self.results.judgements
            if (judgement.judge, judgement.edit_model) == (self.select.name, self.edit_model)
            and self.select.score in judgement.spread
        ]
        squares = [judgement.spread[self.select.score] ** 2 / len(judgement.readings) for judgement in read]
        return math.fsum(squares) / max(1, len(read)), sum(len(judgement.readings) - 1 for judgement in read)

    # -- cost --

    @cached_property
    def _cost_of_one(self) -> _Cost:
        """Cost of one edit: answers of the selecting rater, seconds of editing and of its answers, its price."""
        tried = [edit for edits in self.edits.values() for edit in edits]
        asked = self._selector_judgements
        count = max(1, len(tried))
        answers: float = sum(
            map(len, (some for item, some in self.select.answers.items() if item.edit_model == self.edit_model))
        )
        if asked:
            answers = sum(judgement.n_asked for judgement in asked)
        halves = 2 if self.select.given == "voted" else 1  # a question about two edits is shared by both
        seconds = (
            math.fsum(edit.seconds for edit in tried) + math.fsum(judgement.seconds for judgement in asked) / halves
        )
        read, written = (sum(judgement.tokens[place] for judgement in asked) for place in (0, 1))
        price = price_of(self.results.provenance.configuration, self.select.name)
        cost = cost_of(price, read / halves, written / halves) if read or written else None
        return _Cost(
            readings=answers / halves / count,
            seconds=seconds / count if seconds else None,
            price=None if cost is None else cost / count,
        )

    @cached_property
    def _selector_judgements(self) -> list[Judgement]:
        return [
            judgement
            for judgement in self.results.coverage_judgements
            if judgement.judge == self.select.name and self.edit_model in (judgement.edit_model, judgement.other)
        ]


class _Reliability(NamedTuple):
    """How far a chooser agrees with itself; see `ModelWorth`."""

    reliability: float | None = None
    reliability_ci95: Span | None = None
    inflation: float | None = None
    no_inflation: str | None = None


class _Cost(NamedTuple):
    """What one edit costs; see `Size`."""

    readings: float
    seconds: float | None
    price: float | None


def _group_variance(groups: Sequence[Sequence[float]]) -> tuple[float, int]:
    """Returns the variance within groups, and its degrees of freedom."""
    freedom = sum(len(some) - 1 for some in groups)
    squares = math.fsum(float(np.var(some)) * len(some) for some in groups)
    return squares / max(1, freedom), freedom


def _image(sample: Sample) -> str:
    """Returns the sample's cluster, or the sample itself if that is not known."""
    return sample.cluster or sample.id


def _mean(values: Sequence[float | None], groups: IntArray | None = None) -> float | None:
    return mean(np.array(values, dtype=np.float64), groups)  # NaN for None
