"""What n images say of images unlike them: which share of these would undo a difference, and which n images rule out.

The interval and the test of a difference are those of its estimate, and speak of images like those seen. What no
formula can see is a kind of image that was not drawn: of one that makes a share s of all, n images show none with
probability (1 - s)^n, however bad it is, so no test does better (Bahadur and Savage, Annals of Mathematical Statistics
27, 1956). So these shares are said beside means and differences and decide nothing. The gate's margin alone is strict:
only there something has to be proven to pass, and whether a candidate is *worse* a stricter test would find less often.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from edit_eval.statistics.intervals import CONFIDENCE, Estimate, FloatArray, IntArray

_TIE = 1e-9


def tipping_share(difference: float, span: float) -> float | None:
    """|d| / (R + |d|): the share s of images, each a total loss, that would undo the mean difference d of the others.

    R is `span`, the largest difference on the scale: (1 - s) |d| - s R = 0. None on a scale with an open end, where the
    smallest share would do.
    """
    return None if math.isinf(span) else abs(difference) / (span + abs(difference))


def ruled_out_share(worth: float) -> float:
    """1 - (1 - CONFIDENCE)^(1/n): a kind of image that makes a larger share would be among n images, that surely.

    n is `worth`, the equal images that unequal ones are worth (`Estimate.worth`). 20 images rule out more than 14 %.
    """
    return -math.expm1(math.log(1 - CONFIDENCE) / worth)


def strict_lower(found: Estimate, span: float, *, alpha: float) -> float | None:
    """The lower end of the one-sided interval at 1 - `alpha`, also against what was not seen; None without interval.

    The lower of two: the interval's own, and (R + d) alpha^(1/n) - R, n being the `worth`. The second is the m below
    which max(p, (1 - s)^n) is at most `alpha`, s the share of unseen total losses that brings d down to m: (1 - s) d -
    s R = m, so 1 - s = (R + m) / (R + d). With an open end of the scale there is no R, and it is the interval's own.
    """
    ends = found.interval(confidence=1 - 2 * alpha, lowest=-span, highest=span)
    if ends is None:
        return None
    return (
        ends[0]
        if math.isinf(span)
        else max(-span, min(ends[0], (span + found.value) * alpha ** (1 / found.worth) - span))
    )


@dataclass(frozen=True)
class ImageWins:
    """On how many source images a is better, equal, worse than b, and whether that is more than chance.

    A statement of its own and never one about means: who is a little better on most images may lose most on a few.
    """

    wins: int = 0
    ties: int = 0
    losses: int = 0
    p: float | None = None
    """The exact sign test: 2 P(X <= min(wins, losses)), at most 1, of X binomial with wins + losses trials and 1/2;
    ties are left out (Dixon and Mood, JASA 41, 1946). None where there are only ties, and below six images."""
    p_adjusted: float | None = None
    """By Holm over all pairs of all judges, a family of its own."""


def sign_test(wins: int, losses: int) -> float:
    """The exact p of as many wins and losses, or more apart, where each is as likely."""
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(wins, losses), wins + losses, 0.5)))


def image_wins(gains: FloatArray, images: IntArray, *, fewest: int) -> ImageWins:
    """Of each image the mean of its gains (a's advantage) decides; what is within 1e-9 of 0 is a tie."""
    means = np.bincount(images, gains) / np.bincount(images)
    wins, losses = int((means > _TIE).sum()), int((means < -_TIE).sum())
    p = None
    if wins + losses and len(means) >= fewest:
        p = sign_test(wins, losses)
    return ImageWins(wins, len(means) - wins - losses, losses, p)
