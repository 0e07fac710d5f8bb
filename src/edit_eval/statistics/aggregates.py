"""What is said of a set of scores, wherever it is said: coverage, a mean with its interval, and the numbers beside it.

Typed documents, which `summary.json` has as they are. A number is there or it is None, and then the reason is beside
it; never 0 in place of a failure.
"""

from __future__ import annotations

import msgspec

from edit_eval.records import Scale


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """How much of what should have a score has one."""

    scored: int
    """How many have a number, of `total`."""
    total: int
    """How many were asked for."""
    asked_again: int
    """How many of `scored` came only after a question that the score needs was asked again."""
    by_status: dict[str, int]
    """Number with each status that there is (`ok`, `edit_failed`, ...); they add up to `total`."""

    @property
    def complete(self) -> bool:
        """True if everything has a score."""
        return self.scored == self.total


class RequiredCoverage(Coverage, frozen=True, kw_only=True):
    """The same, held against what was asked for."""

    required: float
    """Share, 0 to 1."""
    reached: bool
    """True if the headline has it; at the top of the summary: if every entry has."""


class MeanInterval(msgspec.Struct, frozen=True, kw_only=True):
    """A mean, in points of its score."""

    mean: float | None
    """Of the judgements with a number."""
    ci95: list[float] | None
    """Its 95% interval, clustered on the source image, cut at the ends that the scale has."""
    no_ci95: str | None
    """Why there is none: `no_scores`, `unknown_source`, `one_image`, `few_images`, `too_uneven`, `no_spread`."""
    ruled_out_share: float | None
    """A kind of image with a larger share of all would be among these in 95 of 100 evaluations; None without
    interval."""


class Aggregate(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of a set of scores, in points."""

    coverage: Coverage
    """`total` counts the judgements to which the score applies."""
    n: int
    """Judgements with a number: with several edit seeds or repeats a sample has several."""
    images: int | None
    """Source images behind these, or other groups that the benchmark defines: what the interval rests on. None with `n`
    0, and where one of them is not known."""
    mean: float | None
    """Over samples, of each sample's mean, or over the categories' means of these, as the scale says; then None if a
    category has no number."""
    ci95: list[float] | None
    """95 % interval of the mean, clustered on the source image, cut at the ends of the scale."""
    no_ci95: str | None
    """Why there is none: `no_scores`, `unknown_source`, `one_image`, `few_images`, `too_uneven`, `no_spread`."""
    ruled_out_share: float | None
    """A kind of image with a larger share than this would be among these in 95 of 100 evaluations: 1 - .05^(1/n), n the
    number of equal images that they are worth. Of rarer kinds the interval says nothing."""
    worst_case_mean: float | None
    """The mean if every missing score had the worst value of the scale; None if a score is missing and that end is
    open."""
    best_case_mean: float | None
    """The same with the best value."""
    std: float | None
    """Of the single scores, n - 1 in the denominator; None with fewer than two."""
    median: float | None
    """Of the single scores, as are `min` and `max`."""
    min: float | None
    max: float | None


def says_little(of: MeanInterval | Aggregate, scale: Scale) -> bool:
    """True if the interval is wider than half of its scale: it takes more pictures."""
    if of.ci95 is None or scale.lowest is None or scale.highest is None:
        return False
    return of.ci95[1] - of.ci95[0] > (scale.highest - scale.lowest) / 2
