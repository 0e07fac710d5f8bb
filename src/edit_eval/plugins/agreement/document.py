"""The document of the analysis `agreement`: how far judges agree with themselves, with each other and with people."""

from __future__ import annotations

from typing import Self

import msgspec

from edit_eval.plugins.agreement.beside_votes import Agreed, JudgeBesideVotes
from edit_eval.statistics.ordinal import Alpha
from edit_eval.statistics.raters import Retest
from edit_eval.statistics.scores_apart import Apart
from edit_eval.statistics.summary import Result

Span = list[float]
"""An interval: its lower and its upper end."""


# -- each judge, and judges with each other --


class Frequency(msgspec.Struct, frozen=True, kw_only=True):
    """How many of how many."""

    count: int
    total: int
    rate: float | None
    ci95: Span | None
    """Wilson's."""


class JudgeCard(msgspec.Struct, frozen=True, kw_only=True):
    """What a run says of one judge by itself."""

    score: str
    asked: int
    unscored: Frequency
    """Of the judgements for which it was asked."""
    by_status: dict[str, Frequency]
    """The same for every way to give no score."""
    ceiling: Frequency | None
    """Scores at the upper end of the scale, among all scores; None if that is open."""
    floor: Frequency | None
    retest: Retest | None
    """None without repeats."""


class ApartByModel(Apart, frozen=True, kw_only=True):
    """How far two judges' scores lie apart; a judge that is harsher throughout changes no order, one that is harsher on
    one edit model does."""

    edit_models: dict[str, Apart]


class TwoJudges(Alpha, frozen=True, kw_only=True):
    """Two judges of the same edits."""

    a: str
    b: str
    apart: ApartByModel


class BetweenJudges(Alpha, frozen=True, kw_only=True):
    """All judges of the same edits, and every two of them."""

    judges: list[str]
    pairs: list[TwoJudges]


# -- judges and people --


class Correlation(msgspec.Struct, frozen=True, kw_only=True):
    """Spearman's rank correlation."""

    spearman: float | None
    ci95: Span | None = None


class ModelCorrelation(msgspec.Struct, frozen=True, kw_only=True):
    """That of one edit model's edits."""

    n: int
    spearman: float | None


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """A share with its interval."""

    value: float | None
    ci95: Span | None


class OfModels(msgspec.Struct, frozen=True, kw_only=True):
    """The order of edit models by two raters."""

    models: int
    spearman: float | None
    ci95_models: Span | None
    """Over other possible models."""


class PairsOrdered(msgspec.Struct, frozen=True, kw_only=True):
    """Pairs of edit models that one rater separates, and the share of them that the other orders alike."""

    separated: int
    pairs_ordered: Share


class ModelsBesidePeople(OfModels, frozen=True, kw_only=True):
    """The order of edit models by a judge and by people."""

    pairs: int
    pairs_alike: Share
    separated: int
    pairs_ordered: Share


class LeftUnscored(msgspec.Struct, frozen=True, kw_only=True):
    """What people say of edits that a judge gave no score."""

    n: int
    people_mean: float | None
    people_mean_scored: float | None
    """Of the others."""
    difference: float | None
    ci95: Span | None


class Knot(msgspec.Struct, frozen=True, kw_only=True):
    """A score, and what it maps to."""

    score: float
    value: float
    ci95: Span | None


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """A map from one rater's scores to another's, and its error on source images that it has not seen."""

    n: int
    clusters: int
    folds: int
    rmse: float
    explained: float
    """Share of the variance; may be below 0."""
    map: list[Knot]

    def turned(self, sign: float) -> Self:
        """Returns the map of scores that were multiplied by the sign."""
        knots = [msgspec.structs.replace(knot, score=sign * knot.score) for knot in self.map]
        return msgspec.structs.replace(self, map=sorted(knots, key=lambda knot: knot.score))


class BesidePeople(Correlation, frozen=True, kw_only=True):
    """A judge, or the median of judges, beside people."""

    score: str
    n: int
    total: int
    worst_case: float | None
    """The correlation if all had been scored, at worst and at best."""
    best_case: float | None
    edit_models: dict[str, ModelCorrelation]
    one_person: Correlation
    others: Correlation | None
    """With all people but one; None with one person."""
    as_one_person: Share
    between_models: ModelsBesidePeople
    unscored: LeftUnscored
    calibration: Calibration | None


class CorrelationsApart(msgspec.Struct, frozen=True, kw_only=True):
    """By how much one judge's correlation with people is higher than another's."""

    spearman_a: float | None
    spearman_b: float | None
    difference: float | None
    ci95: Span | None


class TwoBesidePeople(msgspec.Struct, frozen=True, kw_only=True):
    """Two judges beside people, on the edits that both have scored."""

    a: str
    b: str
    n: int
    within_models: CorrelationsApart
    between_models: CorrelationsApart


class Raters(Correlation, frozen=True, kw_only=True):
    """People with each other."""

    raters: int
    others: Correlation
    between_models: Correlation


class PeopleAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """Judges beside people who rated the same edits."""

    judges: dict[str, BesidePeople]
    median: BesidePeople | None
    pairs: list[TwoBesidePeople]
    raters: Raters | None
    """About the first judge's score, if headlines differ; None with one person."""
    people: int
    scores: int
    """That are used."""
    unmatched: int
    """Lines about other edits and other scores."""


# -- judges and people who chose one of two edits --


class JudgeBesideChoices(JudgeBesideVotes, frozen=True, kw_only=True):
    """A judge with the choices that came with the data."""

    constant: float | None
    """The agreement of always taking the side chosen more often, on its pairs."""


class BesideChoices(msgspec.Struct, frozen=True, kw_only=True):
    """A run's judges with the choices that came with the data."""

    judges: list[JudgeBesideChoices]
    people: Agreed | None
    """Each person with the choice of all, if the data have each person's."""
    tie: float | None


class JudgesAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How far judges agree with themselves, with each other and with people."""

    judges: dict[str, JudgeCard]
    between_judges: BetweenJudges | None
    median: list[Result] | None
    """The median of the judges, as if it had judged alone: for each edit model, in edits."""
    no_median: str | None
    """Why there is none: `few_judges`, `unlike_scales`."""
    people: PeopleAgreement | None = None
    choices: BesideChoices | None = None
