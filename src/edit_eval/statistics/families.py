"""Tests that are made together, what they show when corrected for one another, and the ranks that follow.

Whatever is shown of several things at once, means of scores or strengths from battles, is decided here: a difference
is shown if its p, corrected over the whole family, is at most `ALPHA`; a rank counts nothing else. Among equals any of
them is then ranked below another in at most `ALPHA` of all evaluations, however many there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from edit_eval.statistics.intervals import holm
from edit_eval.statistics.power import ALPHA
from edit_eval.text import Text, counted


@dataclass(frozen=True)
class Contrast:
    """The test of one difference, a - b, where more is better."""

    a: str
    b: str
    difference: float | None
    p: float | None
    """Two-sided; None if it could not be made, and then it is in no count."""


@dataclass(frozen=True)
class Correction:
    """What p-values were corrected for: kept beside them, and put into words by whoever shows them."""

    tests: int
    tables: int = 1
    """Families of the same models that are shown beside each other: several questions, several judges."""
    looks: int = 1
    """How often the same question may have been put to growing data."""
    alpha: float = ALPHA
    method: Literal["holm"] = "holm"

    def document(self) -> dict[str, Any]:
        """Returns plain data for JSON."""
        return {
            "method": self.method,
            "alpha": self.alpha,
            "tests": self.tests,
            "tables": self.tables,
            "looks": self.looks,
        }

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Correction:
        """Reads `document` back."""
        return cls(**document)

    def words(self) -> Text:
        """Says what a rank is, and what it was corrected for, as a sentence."""
        beside = [counted(self.tests, "pair")]
        beside += [counted(self.tables, "question")] if self.tables > 1 else []
        beside += [counted(self.looks, "look")] if self.looks > 1 else []
        return Text(
            "A rank is 1 + how many are shown to be better, corrected for {: and } (Holm, .05 together); who shares "
            "one is not told apart.",
            beside,
        )


@dataclass(frozen=True)
class FamilyOfTests:
    """Tests made together. `tables` families stand beside each other, at each of `looks` looks.

    Within a family the correction is Holm's; for tables and looks each p is multiplied by their number (Bonferroni;
    Dunn, JASA 56, 1961), since the same data are in all of them. Both hold under any dependence.
    """

    tests: tuple[Contrast, ...]
    tables: int = 1
    looks: int = 1

    @property
    def correction(self) -> Correction:
        """What the p-values are corrected for."""
        return Correction(sum(one.p is not None for one in self.tests), self.tables, self.looks)

    def adjusted(self) -> list[float | None]:
        """Returns the corrected p of each test."""
        times = self.tables * self.looks
        return [None if p is None else min(1.0, p * times) for p in holm([one.p for one in self.tests])]

    def better(self) -> list[str | None]:
        """Returns of each test the one shown to be better; None if neither is."""
        return [
            None if p is None or p > ALPHA or not one.difference else one.a if one.difference > 0 else one.b
            for one, p in zip(self.tests, self.adjusted(), strict=True)
        ]

    def told_apart(self) -> bool:
        """True if each test shows one to be better."""
        return None not in self.better()


def ranks(estimates: Mapping[str, Sequence[float] | None], shown: Sequence[tuple[str, str]]) -> dict[str, int | None]:
    """Returns the rank of each: 1 + the number shown to be better, monotone in the estimates.

    `estimates`: of each its estimates (a mean; a mean and the negative of what failed), where more is better, or None
    if nothing can be said of it: it has no rank, and counts in none. `shown`: pairs (better, worse) of a family.

    Of one that few votes are about, fewer may be shown to be better than of one that lies above it. So x's count is the
    least over x and all whose estimates are nowhere above those of x: that many are still shown to be better than x,
    and nobody is ranked above one with better estimates.
    """
    known = {name: tuple(of) for name, of in estimates.items() if of is not None}
    above = dict.fromkeys(known, 0)
    for better, worse in set(shown):
        if better in known and worse in known:
            above[worse] += 1
    return {
        name: None
        if (own := known.get(name)) is None
        else 1
        + min(
            above[other] for other, its in known.items() if all(low <= high for low, high in zip(its, own, strict=True))
        )
        for name in estimates
    }
