"""Tests that are made together, what they show when corrected for one another, and the ranks that follow.

Whatever is shown of several things at once, means of scores or strengths from battles, is decided here: a difference
is shown if its p, corrected over the whole family, is at most `ALPHA`; a rank counts nothing else. Among equals any of
them is then ranked below another in at most `ALPHA` of all evaluations, however many there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from edit_eval.statistics.intervals import holm
from edit_eval.statistics.levels import ALPHA
from edit_eval.text import Text, pluralize


@dataclass(frozen=True)
class PairTest:
    """The test of one difference, a - b, where more is better."""

    a: str
    b: str
    difference: float | None
    """None if nothing is known of it."""
    error: float | None
    """Standard error of the difference; None where it is not known."""
    p: float | None
    """Two-sided; None if it could not be made, and then it is in no count."""


@dataclass(frozen=True)
class Correction:
    """What p-values were corrected for: kept beside them, and put into words by whoever shows them."""

    tests: int
    """Number of p-values."""
    tables: int = 1
    """Families of the same models that are shown beside each other: several questions, several judges."""
    looks: int = 1
    """How often the same question may have been put to growing data."""
    alpha: float = ALPHA
    """The level at which all hold together."""
    method: Literal["holm", "largest"] = "holm"
    """`largest`: by what the largest of all comes to by chance (`overlapping`)."""

    def describe_tests(self) -> Text:
        """Says what corrected p-values are corrected for: a part of a sentence."""
        if self.method == "largest":
            return Text("what the largest of {} reaches by chance", pluralize(self.tests, "slice"))
        return Text("Holm over {}", pluralize(self.tests, "test"))

    def words(self) -> Text:
        """Says what a rank is, and what it was corrected for, as a sentence."""
        beside = [pluralize(self.tests, "comparison")] if self.tests > 1 else []
        beside += [pluralize(self.tables, "table")] if self.tables > 1 else []
        beside += [pluralize(self.looks, "look")] if self.looks > 1 else []
        shared = Text("Models that share a rank are not shown to differ.")
        if not beside:
            return shared
        return shared + Text(" The test allows for {: and } made at once (Holm).", beside)


@dataclass(frozen=True)
class FamilyOfTests:
    """Tests made together. `tables` families stand beside each other, at each of `looks` looks.

    Within a family the correction is Holm's; for tables and looks each p is multiplied by their number (Bonferroni;
    Dunn, JASA 56, 1961), since the same data are in all of them. Both hold under any dependence.
    """

    tests: tuple[PairTest, ...]
    tables: int = 1
    looks: int = 1

    @property
    def correction(self) -> Correction:
        """What the p-values are corrected for."""
        return Correction(sum(test.p is not None for test in self.tests), self.tables, self.looks)

    def adjust_p_values(self) -> list[float | None]:
        """Returns the corrected p of each test."""
        times = self.tables * self.looks
        return [None if p is None else min(1.0, p * times) for p in holm([test.p for test in self.tests])]

    def better(self) -> list[str | None]:
        """Returns of each test the one shown to be better; None if neither is."""
        return [
            None if p is None or p > ALPHA or not test.difference else test.a if test.difference > 0 else test.b
            for test, p in zip(self.tests, self.adjust_p_values(), strict=True)
        ]

    def all_differ(self) -> bool:
        """True if each test shows one to be better."""
        return None not in self.better()


HALF_KNOWN = math.sqrt(2)
"""Standard error, relative to that of another, of what is known half as well."""


def ranks(contrasts: Sequence[PairTest], better: Sequence[str | None]) -> dict[str, int | None]:
    """Returns the rank of each that is in a contrast: 1 + the number shown to be better, in the order of the estimates.

    `better`: of each contrast who is shown to be better, by tests that a family has corrected; None for neither.

    Fewer may be shown to be better than y than of an x that leads y, since less is known of y. If it is known half as
    well as x in all that counts, y has no rank (None): to lose samples lifts nobody. Otherwise x shares the rank of y:
    it is the least over x and all that it leads, directly or by way of others. So as many are shown to be better as the
    rank says, and nobody is ranked above one that leads it. Of whom no difference is known has no rank.
    """
    names = list(dict.fromkeys(name for contrast in contrasts for name in (contrast.a, contrast.b)))
    known = {name for contrast in contrasts if contrast.difference is not None for name in (contrast.a, contrast.b)}
    above: dict[str, set[str]] = {name: set() for name in names}
    leads: dict[str, set[str]] = {name: set() for name in names}
    errors: dict[tuple[str, str], float | None] = {}
    for contrast, best in zip(contrasts, better, strict=True):
        errors[contrast.a, contrast.b] = errors[contrast.b, contrast.a] = (
            contrast.error if contrast.p is not None else None
        )
        if best is not None:
            above[contrast.b if best == contrast.a else contrast.a].add(best)
        ahead = [] if contrast.difference is None else [contrast.a] if contrast.difference > 0 else [contrast.b]
        for x in [contrast.a, contrast.b] if contrast.difference == 0 else ahead:
            if best in (None, x):  # one that leads may fail more
                leads[x].add(contrast.b if x == contrast.a else contrast.a)
    for middle in names:
        for x in names:
            if middle in leads[x]:
                leads[x] |= leads[middle]

    def less_known(y: str, x: str) -> bool:
        """True if y has fewer above it than x, which leads it, for want of knowledge alone."""
        lost = above[x] - above[y] - {y}
        return len(above[y]) < len(above[x]) and all(
            (error := errors.get((name, y))) is None or error > HALF_KNOWN * (errors[name, x] or math.inf)
            for name in lost
        )

    ranked = [name for name in names if name in known]
    ranked = [y for y in ranked if not any(y in leads[x] and less_known(y, x) for x in ranked)]
    return {
        name: 1 + min(len(above[y]) for y in ranked if y == name or y in leads[name]) if name in ranked else None
        for name in names
    }
