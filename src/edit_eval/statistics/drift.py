"""Is a judge still the one that was examined? The same edits, judged again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

LEVEL = 0.01
"""Of both tests together. Not .05: a drift keeps tables from being compared."""


@dataclass(frozen=True, kw_only=True)
class Drift:
    """How far a judge's scores of the same edits lie from those that it gave before."""

    n: int
    """Edits with a score both times."""
    mean: float
    """Now less before, in points."""
    spread: float
    """What the standard deviation of one edit's scores would have to be for such differences, in points."""
    retest_sd: float
    """What it was when the judge was examined."""
    p: float
    """Of "it is the same judge", at most 1."""

    @property
    def drifted(self) -> bool:
        """Whether it is more than the judge's own noise."""
        return self.p < LEVEL


def drift(before: Mapping[str, float], now: Mapping[str, float], retest_sd: float | None) -> Drift | None:
    """What two judgings of the same edits say; None where fewer than two are in both, or the noise is not known.

    Scores of one edit by an unchanged judge differ by normal noise with the variance 2 s^2. So of n differences the
    mean has the standard error s sqrt(2 / n), and the sum of squares over 2 s^2 is chi-square with n degrees of
    freedom. Either may give a drift away, a shift of all scores or scores in another order; p is twice the smaller one
    (Bonferroni). A judge without any noise has drifted when one score is another.
    """
    both = sorted(before.keys() & now.keys())
    if len(both) < 2 or retest_sd is None:
        return None
    differences = np.array([now[edit] - before[edit] for edit in both], dtype=np.float64)
    squares = float((differences**2).sum())
    if retest_sd == 0.0:
        p = 1.0 if float(np.abs(differences).max()) < 1e-9 else 0.0
    else:
        from scipy.special import chdtrc, ndtr

        z = float(differences.mean()) / (retest_sd * math.sqrt(2 / len(both)))
        shifted, spread = 2 * float(ndtr(-abs(z))), float(chdtrc(len(both), squares / (2 * retest_sd**2)))
        p = min(1.0, 2 * min(shifted, spread))
    return Drift(
        n=len(both),
        mean=float(differences.mean()),
        spread=math.sqrt(squares / (2 * len(both))),
        retest_sd=retest_sd,
        p=p,
    )
