"""The document of the analysis `agreement`: how far judges agree with themselves, with each other and with people."""

from __future__ import annotations

from typing import Literal, Self

import msgspec

from edit_eval.json_values import Unchecked
from edit_eval.plugins.agreement.vote_agreement import Agreed, JudgeBesideVotes
from edit_eval.records import Scale
from edit_eval.statistics.ordinal import Alpha
from edit_eval.statistics.raters import Retest
from edit_eval.statistics.scores_apart import ScoreDifference

Span = list[float]
"""An interval: its lower and its upper end."""
Side = Literal["above", "below"]
FEWEST_MODELS = 3
"""Edit models in a bridge below which its error for another one is unknown."""


# -- each judge, and judges with each other --


class Frequency(msgspec.Struct, frozen=True, kw_only=True):
    """How many of how many."""

    count: int
    """So many."""
    total: int
    """Of so many."""
    rate: float | None
    """The one by the other, 0 to 1; None without any."""
    ci95: Span | None
    """Clustered on the source image."""


class JudgeCard(msgspec.Struct, frozen=True, kw_only=True):
    """What a run says of one judge by itself."""

    score: str
    """Name of the headline."""
    asked: int
    """How often."""
    unscored: Frequency
    """Of the judgements for which it was asked."""
    by_status: dict[str, Frequency]
    """Each way to give no score: `judge_error`, `refused`, `unparseable`, `out_of_range`, `cut_off`, `undefined`."""
    ceiling: Frequency | None
    """Scores at the upper end of the scale, among all scores; None if that is open."""
    floor: Frequency | None
    """The same at the lower end."""
    retest: Retest | None
    """None without repeats."""


class ApartByModel(ScoreDifference, frozen=True, kw_only=True):
    """How far two judges' scores lie apart; a judge that is harsher throughout changes no order, one that is harsher on
    one edit model does."""

    edit_models: dict[str, ScoreDifference]


class TwoJudges(Alpha, frozen=True, kw_only=True):
    """Two judges of the same edits."""

    a: str
    b: str
    apart: ApartByModel


class BetweenJudges(Alpha, frozen=True, kw_only=True):
    """All judges of the same edits, and every two of them."""

    judges: list[str]
    """Their names."""
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
    """0 to 1; None without any."""
    ci95: Span | None


class OfModels(msgspec.Struct, frozen=True, kw_only=True):
    """The order of edit models by two raters."""

    models: int
    """Number of edit models."""
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
    """Of edit models."""
    pairs_alike: Share
    """Of all pairs, those that both order alike."""
    separated: int
    """Pairs that people are shown to tell apart."""
    pairs_ordered: Share
    """Of these, those that the judge orders alike."""


class LeftUnscored(msgspec.Struct, frozen=True, kw_only=True):
    """What people say of edits that a judge gave no score."""

    n: int
    people_mean: float | None
    """Their mean, on people's scale."""
    people_mean_scored: float | None
    """Of the others."""
    difference: float | None
    """Of the two means."""
    ci95: Span | None


class Knot(msgspec.Struct, frozen=True, kw_only=True):
    """A score, and what it maps to."""

    score: float
    """By the first rater."""
    value: float
    """By the second."""
    ci95: Span | None


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """A map from one rater's scores to another's, and its error on source images that it has not seen."""

    n: int
    clusters: int
    folds: int
    """Number of parts in which the map was tried."""
    rmse: float
    """Root mean square error on source images that the map has not seen, in `folds` parts."""
    explained: float
    """Share of the variance; may be below 0."""
    map: list[Knot]
    """Its points, in order; straight lines between them."""

    def with_sign(self, sign: float) -> Self:
        """Returns the map of scores that were multiplied by the sign."""
        knots = [msgspec.structs.replace(knot, score=sign * knot.score) for knot in self.map]
        return msgspec.structs.replace(self, map=sorted(knots, key=lambda knot: knot.score))


class BesidePeople(Correlation, frozen=True, kw_only=True):
    """A judge, or the median of judges, beside people."""

    score: str
    n: int
    """Edits with a score, of `total`."""
    total: int
    """Edits that people have rated."""
    worst_case: float | None
    """The correlation if all had been scored, at worst and at best."""
    best_case: float | None
    """See `worst_case`."""
    edit_models: dict[str, ModelCorrelation]
    one_person: Correlation
    others: Correlation | None
    """With all people but one; None with one person."""
    as_one_person: Share
    between_models: ModelsBesidePeople
    unscored: LeftUnscored
    calibration: Calibration | None
    """None with too little data for one."""


class CorrelationsApart(msgspec.Struct, frozen=True, kw_only=True):
    """By how much one judge's correlation with people is higher than another's."""

    spearman_a: float | None
    """Of `a` with people, -1 to 1."""
    spearman_b: float | None
    """Of `b` with people."""
    difference: float | None
    """The one less the other."""
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
    """Number of people."""
    others: Correlation
    between_models: Correlation


class PeopleAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """Judges beside people who rated the same edits."""

    judges: dict[str, BesidePeople]
    pairs: list[TwoBesidePeople]
    raters: Raters | None
    """About the first judge's score, if headlines differ; None with one person."""
    people: int
    """Number of people."""
    scores: int
    """That are used."""
    unmatched: int
    """Lines about other edits and other scores."""
    unknown: list[str] = msgspec.field(default_factory=list)
    """Samples and edit models that they name and the run does not have, the first few of each."""


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
    """The agreement of always calling both equal."""


# -- a bridge between two judges --


class BridgedJudge(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of the two judges."""

    judge: str
    """Name of the judge in its run."""
    score: str
    """Name of the score."""
    lowest: float | None
    highest: float | None
    higher_is_better: bool
    identity: Unchecked
    """The judge and how it is asked, which has to be equal in a run that is translated."""
    texts: str
    """Digest of its protocol's wording; empty if it has none."""

    @property
    def scale(self) -> Scale:
        """Scale of its scores."""
        return Scale(lowest=self.lowest, highest=self.highest, higher_is_better=self.higher_is_better)


class HeldOut(msgspec.Struct, frozen=True, kw_only=True):
    """An edit model that both have scored, by a map that has not seen it."""

    n: int
    mean: float
    """By the second judge."""
    bridged: float
    """By the map, which was fitted without this model."""


class Bridge(Calibration, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A bridge: the map from the old judge's scores to the new one's, and the pairs of scores themselves, so that a map
    can be fitted in both directions, with its error."""

    edit_eval_bridge: Literal[1] = 1
    """Number of this format."""
    made: str
    """Day on which it was made."""
    old: BridgedJudge
    new: BridgedJudge
    held_out: dict[str, HeldOut]
    """By edit model."""
    off_by: float | None
    """Root mean square of how far the map is off for these; None with one edit model."""
    edits: list[tuple[str, str, float, float]]
    """For each edit that both have scored: edit model, identifier of its source image, score by `old`, by `new`."""


class TranslatedModel(msgspec.Struct, frozen=True, kw_only=True):
    """The mean of an edit model that only one judge of a bridge has scored, on the scale of the other one."""

    n: int
    """Its edits with a score, of `total`."""
    total: int
    """Its edits, with and without a score."""
    before: float
    """Mean by the judge of the run."""
    value: float
    """The same, translated."""
    ci95: Span | None
    outside: float
    """Share of its scores outside the `range`."""
    beyond: Side | None
    """`above` or `below` if its mean by the judge of the run is not shown to lie within the means of the bridge's edit
    models (one-sided .05, clustered on the source image); else None."""


class TranslatedRun(msgspec.Struct, frozen=True, kw_only=True, rename={"as_": "as"}):
    """A run's means by one judge of a bridge, told on the scale of the other one."""

    as_: str
    """Name of the judge on whose scale the means are told."""
    by: str
    """Name of the judge that scored."""
    made: str
    """Day on which the bridge was made."""
    n: int
    """Edits that the bridge has seen."""
    clusters: int
    """Source images of these."""
    off_by: float | None
    """As in the bridge."""
    held_out: dict[str, HeldOut]
    range: Span
    """Of the scores that the bridge has seen."""
    edit_models: dict[str, TranslatedModel]


class JudgesAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How far judges agree with themselves, with each other and with people."""

    judges: dict[str, JudgeCard]
    between_judges: BetweenJudges | None
    """With two judges or more."""
    people: PeopleAgreement | None = None
    """With `--people`."""
    choices: BesideChoices | None = None
    """If the data have [people's choices](pairwise-details.md#beside-data-of-peoples-choices)."""
    bridge: Bridge | None = None
    """If two judges are named."""
