"""What votes on pairs of edits come to, as typed documents: `statistics.preferences` computes them."""

from __future__ import annotations

from typing import Literal

import msgspec

from edit_eval.statistics.families import Correction


class Strength(msgspec.Struct, frozen=True, kw_only=True):
    """How strong an edit model is against the others."""

    edit_model: str
    strength: float | None
    """In logits, their mean 0; None if it cannot be estimated."""
    elo: float | None
    """The same in points of Elo's scale."""
    share: float | None
    """What it would get against the average of the others, 0 to 1."""
    ci95: list[float | None] | None
    """Interval of the strength; an end that is None is open."""
    no_ci95: str | None
    """Why there is no interval, or no strength: `no_votes`, `not_connected` (some models never met, directly or through
    others), `no_preference` and `few_preferences` (votes on no image, or on fewer than six, prefer anybody: all are
    ties, or contradict each other), `few_images`, `unbounded` (some won, or lost, everything against the others: their
    strengths are bounded by one tie more between every two), and those of `intervals.Estimate`."""


class RankedStrength(Strength, frozen=True, kw_only=True):
    """The same, with what is shown of it."""

    rank: int | None
    """Models that no test separates share one; None if nothing is known."""

    @property
    def plain_strength(self) -> Strength:
        """The same without the rank."""
        return Strength(**{name: getattr(self, name) for name in Strength.__struct_fields__})


class StrengthDifference(msgspec.Struct, frozen=True, kw_only=True):
    """Two edit models: the votes on both, and the difference of their strengths."""

    a: str
    b: str
    wins: int
    """Votes for `a`."""
    tie: int
    """Votes that neither is better."""
    both_bad: int
    """Votes that both are bad; not among the ties."""
    losses: int
    """Votes for `b`."""
    difference: float | None
    """Strength of `a` less that of `b`, in logits."""
    ci95: list[float | None] | None
    """An end that is None is open."""
    p: float | None
    p_adjusted: float | None
    """Corrected as `family` says."""
    better: str | None
    """Who is shown to be better; None for neither."""


class Davidson(msgspec.Struct, frozen=True, kw_only=True):
    """Davidson's model: a tie is an outcome of its own, and the left side has an advantage."""

    ties: float
    """Odds of a tie between two alike, against one of the two."""
    side: float
    """Advantage of the left one, in logits."""
    side_ci95: list[float] | None
    """Clustered on source images."""
    strengths: list[float]
    """In logits, in the order of the edit models."""


class Voter(msgspec.Struct, frozen=True, kw_only=True):
    """How somebody votes."""

    rater: str
    """The name that the rater gave."""
    votes: int
    """With `skipped` ones left out."""
    skipped: int
    """Pairs that were skipped: no vote."""
    ties: int
    """Votes that neither is better."""
    both_bad: int
    """Votes that both are bad; not among the ties."""
    left: float | None
    """Share of votes for the left one among those for a side; None without any."""
    left_ci95: list[float] | None
    """95 % interval of `left`; None if there is none."""
    side: Literal["left", "right"] | None
    """The one that is always taken."""
    set_apart: bool = False
    """True if the rater is in no number for that."""


class RaterAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How raters agree on pairs that two or more have voted on."""

    raters: int
    """Number of raters."""
    pairs: int
    """Pairs of edits that two or more have voted on."""
    identical: float | None
    """Share of two raters' votes on one pair that are the same: preferred, neither, the other."""
    alpha: float | None
    """Krippendorff's, ordinal."""
    ci95: list[float] | None
    """95 % interval of `alpha`, clustered on source images."""


class Preferences(msgspec.Struct, frozen=True, kw_only=True):
    """What votes come to."""

    votes: int
    """Votes that count, with ties and `both_bad`."""
    skipped: int
    """Pairs that were skipped: no votes."""
    samples: int
    """Samples with a vote."""
    strengths: list[RankedStrength]
    """In the order of the edit models."""
    differences: list[StrengthDifference]
    """Of every two."""
    family: Correction
    """What these are corrected for: all pairs, and tables of the same models beside each other."""
    davidson: Davidson | None
    """None if there are no strengths, or nothing but ties."""
    raters: list[Voter]
    agreement: RaterAgreement | None
    """None for one rater."""
