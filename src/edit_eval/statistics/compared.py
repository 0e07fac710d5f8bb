"""What is found when columns of scores are compared. `comparison` computes it, with `gate` and `outcomes`; `verdict`
concludes from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from edit_eval.records import Scale
from edit_eval.statistics.failure_rates import FailedEdits, PairedFailures
from edit_eval.statistics.families import Correction, FamilyOfTests, PairTest
from edit_eval.statistics.intervals import ImageWins
from edit_eval.statistics.levels import ALPHA
from edit_eval.statistics.series import gain

MOST_NAMED = 3
"""Number of named samples, among outliers."""
FAR = 100
"""If settling a lead would take this many times the present pictures or more, no number is given."""


@dataclass(frozen=True)
class Outcome:
    """Which model is better, or why that is unknown."""

    kind: Literal["better", "fails_more", "trade", "equal", "cannot_be_told", "not_comparable"]
    """`better` in score; `fails_more`, with no difference in score shown; `trade`: one scores better and fails more;
    `equal` within `margin`; `cannot_be_told`; `not_comparable`: no sample is scored in both."""
    better: str | None = None
    """The one that is better in score or in failures and not worse in the other. How much score a failed edit is worth
    is up to the reader, so in a trade neither is."""
    why: str = ""
    """Why it cannot be told: `identical` scores on all common samples, else as from `untested`; empty for a tie."""
    holds: bool | None = None
    """True if `better` in score or `equal` would hold for any missing scores; None if neither is claimed."""
    failures: Literal["trade", "tie", "lower", "perhaps"] | None = None
    """Effect of failed edits: the one that fails more scores better (`trade`), alike (`tie`) or worse (`lower`); or it
    may fail more, which is not proven, and is not shown to score worse (`perhaps`)."""
    margin: float | None = None
    """Margin within which they are `equal`."""


@dataclass(frozen=True)
class CategoryDifference:
    """a - b within one category. Exploratory: a finding here is a question for the next run."""

    n: int
    """Samples scored in both."""
    clusters: int
    difference: float
    """Mean of a - b, in points."""
    ci95: list[float] | None
    no_ci95: str | None
    p: float | None
    """None if there is no interval."""
    p_adjusted: float | None = None
    """By Benjamini and Hochberg over all categories of all pairs of all judges."""
    exploratory: bool = True
    """Always true: it decides nothing."""

    @property
    def is_significant(self) -> bool:
        """True if a and b are shown to differ here."""
        return self.p_adjusted is not None and self.p_adjusted <= ALPHA


@dataclass(frozen=True)
class MeanDifference:
    """a - b, each sample or each category with the same weight."""

    difference: float | None
    """None if nothing is scored in both; for categories, if one of those that both ran has nothing."""
    ci95: list[float] | None
    no_ci95: str | None


@dataclass(frozen=True)
class Outliers:
    """A few samples whose differences are far to one side of the others: they widen the interval, and may decide."""

    samples: list[str]
    """At most `MOST_NAMED` of them, the furthest first."""
    loser: str | None
    """The column that scores worse on each of them; None if they are only smaller wins."""


class More(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many further source images would show a lead as large as the one seen four times in five, if it is real."""

    kind: Literal["none", "images", "far", "unknown"]
    """`none`: it is shown; `images`: so many; `far`: `FAR` times the present ones would not do, or there is no lead at
    all; `unknown`: the samples cannot say, `because`."""
    images: int = 0
    """How many."""
    because: Literal["", "no_scores", "few_images", "too_uneven", "identical", "outliers"] = ""
    """Why the samples cannot say."""
    samples: tuple[str, ...] = ()
    """Those outliers."""


class SampleDifference(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One sample's two scores."""

    sample_id: str
    category: str
    """The sample's category."""
    a: float
    """Score of `a`, in points."""
    b: float
    """Score of `b`, in points."""
    difference: float
    """The one less the other."""
    words_a: str = ""
    """The judge's words about a's edit; not in a document if there are none."""
    words_b: str = ""
    """The same about b's edit."""

    @property
    def scores_only(self) -> SampleDifference:
        """The same without what the judge said."""
        return msgspec.structs.replace(self, words_a="", words_b="")


@dataclass(frozen=True)
class Pair:
    """a - b over the samples scored in both, by one judge: its mean over samples or categories, as the scale says.
    Below 0 is worse for a if higher is better, and better for a if lower is."""

    judge: str
    score: str
    scale: Scale
    a: str
    b: str
    total: int
    """Samples that both ran, scored or not."""
    n: int
    """Samples scored in both."""
    clusters: int
    """Source images of the `n` samples scored in both."""
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    """Mean of a - b, in points; None without a sample scored in both."""
    ci95: list[float] | None
    no_ci95: str | None
    """Why there is no interval: `no_scores`, `one_image`, `few_images`, `too_uneven`, `no_spread`; `exact` if the
    exact test of signs says more of 0 than it would."""
    exact: bool
    """True if `p` is that of the exact test of signs."""
    outliers: Outliers | None
    """Set if the differences are so skewed that a few of them decide."""
    sample_mean: MeanDifference
    category_mean: MeanDifference
    p: float | None
    """None if it could not be tested."""
    p_adjusted: float | None
    """By Holm over all pairs of all judges that have a `p`."""
    outcome: Outcome
    """Follows from `scores_better` and `fails_more`."""
    identical: bool
    """True if every one of the `n` samples has the same two scores; says nothing about other samples."""
    detectable: float | None
    """The smallest true difference that would be found with a probability of .8, at .05 / number of tests.

    None if no difference on the scale could be, and if it is unknown: no spread, few losses that decide, fewer than six
    images, or most samples on a few of them."""
    worst_case_difference: float | None
    """See `best_case_difference`."""
    best_case_difference: float | None
    """Over all `total` samples, with the missing scores least or most favourable to a. None if an open end of the scale
    leaves no bound."""
    wins: int
    """See `losses`."""
    ties: int
    """Samples with the same two scores."""
    losses: int
    """For a: `wins` are the samples on which it has the better score."""
    categories: Mapping[str, CategoryDifference]
    largest: Sequence[SampleDifference]
    """The samples with the largest differences."""
    needed: Mapping[str, float | int] | None = None
    """Numbers of `samples` and source images (`clusters`) that would show the `difference` asked for."""
    scores_better: str | None = None
    """The one with the better scores at a family-wise level of .05; None if no difference was found."""
    fails_more: str | None = None
    """The one that fails to make an edit more often at a family-wise level of .05; else None."""
    equal_within: float | None = None
    """Smallest margin within which they are shown to be equal, at .05 / number of tests."""
    failures: PairedFailures = field(default_factory=PairedFailures)
    by_image: ImageWins = field(default_factory=ImageWins)
    """Wins of a by source image: a statement of its own, which decides nothing above."""
    tipping_share: float | None = None
    """Share of unseen images, each a total loss, that would undo the difference; decides nothing either."""
    ruled_out_share: float | None = None
    """A kind of image with a larger share would be among that many images in 95 of 100 evaluations."""
    standard_error: float | None = None
    """Of the difference; None if there is no interval."""
    settled_by: int | None = None
    """Source images that would show a true difference as large as the one seen; None as for `detectable`."""
    more: More = field(default_factory=lambda: More("none"))
    """How many of these are still to be had."""

    @property
    def better(self) -> str | None:
        """The better one, by the `outcome`."""
        return self.outcome.better


class ColumnSummary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One column beside the others."""

    name: str
    """Name of the column: its edit model, and its run where there are several."""
    edit_model: str
    judge: str
    score: str
    scale: Scale
    scored: int
    """Judgements with a score: samples times edit seeds times repeats, less the missing."""
    total: int
    """All of them."""
    clusters: int
    """Source images of the scored samples."""
    mean: float | None
    """Over samples or over categories, as the scale says."""
    ci95: list[float] | None
    no_ci95: str | None
    """Why there is no interval, as in the summary."""
    ruled_out_share: float | None
    """As in [a score](#a-score)."""
    rank: int | None
    """Columns that no test separates share one. None without enough shared source images."""
    place: int | None
    """In the order of paired differences, from 1; None if it is not comparable."""
    failed: FailedEdits
    run: str = ""
    """Not in the document of one run."""
    differs: tuple[str, ...] = ()
    """Differences of the edit model from that of the first column, a line each; not in the document if there are
    none."""


@dataclass(frozen=True)
class Reason:
    """Why a column does not pass."""

    kind: str
    """`blind`, `unguided`, `first_unguided`; `not_held`, `category_not_held`, `too_few`, `too_uneven`, `no_spread`,
    `worse`, `fails_more`, `open`; with a margin `no_interval`, `margin`, `beyond_margin` and `cannot_say`."""
    values: Mapping[str, float | int | None]
    """The numbers behind it."""


@dataclass(frozen=True)
class Candidate:
    """One column compared with the first, by one judge. A difference is how much better it is; below 0, worse."""

    name: str
    """Name of the column."""
    first: str
    """Name of the first column."""
    judge: str
    passed: bool
    """True if it may replace the first."""
    reasons: list[Reason]
    """Empty if it passes."""
    difference: float | None
    """Below 0: worse."""
    p_adjusted: float | None
    """By Holm over the pairs of this judge with the first."""
    failures_p_adjusted: float | None
    """The same for failed edits."""
    lower: float | None
    """With a margin: the lower end of the one-sided 95 % interval of the difference over all samples that either has,
    by Bonferroni over the columns but the first. The least over all possible missing scores; None if that is
    unbounded."""
    detectable: float | None
    """The loss that would have been found four times in five."""
    total: int
    """Samples that either has, except bad ones that both skipped."""
    missing: int
    """Number of them that lack a score, or a part of it, in either."""
    left_out: int
    """Number of these left out, as allowed."""


@dataclass(frozen=True)
class Gate:
    """Whether all candidates pass."""

    passed: bool
    """True if every candidate passes, by every judge."""
    margin: float | None
    """The margin asked for, in points."""
    allow_unscored: float | None
    """Share of samples without a score that may be left out."""
    candidates: list[Candidate]
    guidance: Mapping[str, str] = field(default_factory=dict)
    """For each column whose server was asked whether it guides: `on`, `off`, or why that is unknown."""


@dataclass(frozen=True)
class PairedTests:
    """All tests of columns against each other, before anything is concluded from them."""

    columns: tuple[ColumnSummary, ...]
    pairs: tuple[Pair, ...]
    gate: Gate
    """Whether any other column may replace the first: the question of `--fail-if-worse`."""
    notes: tuple[str, ...] = ()
    """Warnings for the reader: unfinished runs, judges that some runs lack."""

    @property
    def correction(self) -> Correction:
        """What ranks and the pairs' `p_adjusted` are corrected for."""
        return family_of(self.pairs).correction


def family_of(pairs: Sequence[Pair]) -> FamilyOfTests:
    """Returns the tests of all pairs of all judges."""
    return FamilyOfTests(
        tuple(
            PairTest(
                pair.a,
                pair.b,
                None if pair.difference is None else gain(pair.scale) * pair.difference,
                pair.standard_error,
                pair.p,
            )
            for pair in pairs
        )
    )
