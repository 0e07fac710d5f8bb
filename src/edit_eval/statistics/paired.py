"""Is a paired difference more than chance? The test and the interval of one estimate, which cannot contradict.

What no formula can see is what was not drawn: where one image in nine is a disaster and the others are a little
better, ten images show none of it in 31 of 100 draws, and look like ten small gains. With few images a difference
counts only if it is larger than anything that may have stayed unseen.
"""

from __future__ import annotations

import math

from edit_eval.statistics.intervals import CONFIDENCE, Estimate

FEWEST_IMAGES = 24
"""From here on a kind of image that makes one in nine is seen in 94 of 100 draws: 1 - (8 / 9)^24."""


def no_interval(found: Estimate) -> str | None:
    """Why a difference has no interval: the estimate's own `doubt`, or `few_images`; None where it has one."""
    return found.doubt or ("few_images" if found.clusters < FEWEST_IMAGES else None)


def paired_interval(found: Estimate, span: float, *, confidence: float = CONFIDENCE) -> list[float] | None:
    """`[low, high]` of a mean difference, within -span to span; None where `no_interval` says why.

    It holds 0 exactly where `paired_p_value` is above 1 - `confidence`.
    """
    return None if no_interval(found) else found.interval(confidence=confidence, lowest=-span, highest=span)


def paired_p_value(found: Estimate, span: float, *, at: float = 0.0) -> float:
    """Two-sided, of "the true mean difference is `at`", 0 to 1.

    That of the estimate; where there is no interval, not below the chance that a kind of image stayed unseen that
    would bring the mean back to `at`. Were it as bad as the scale allows (differences lie within -span to span), a
    share s of the images would do it: for a mean d above `at` (1 - s) d - s * span = at. The chance that none of G
    images is of it is (1 - s)^G, twice that for two sides. Where images count unequally, G is the degrees of freedom
    + 1, which is what they are worth.

    On a scale with an open end (`span` infinite) the smallest share would do it, so p is 1: what the formula tends to.
    The range that was seen is no way out, for the kind in question is the one that was not. With images enough for an
    interval the scale does not enter.
    """
    p = found.p_value(at)
    if no_interval(found) is None and p is not None:
        return p
    if math.isinf(span):
        return 1.0
    side = 1.0 if found.value >= at else -1.0
    seen = (span + side * at) / (span + side * found.value)
    return max(p or 0.0, min(1.0, 2 * math.pow(seen, found.freedom + 1)))


def beyond_the_unseen(found: Estimate, span: float, alpha: float) -> float:
    """The difference from which on what stayed unseen cannot raise `paired_p_value` above `alpha`.

    Above `span`, or infinite, where no difference can be so large.
    """
    if no_interval(found) is None:
        return 0.0
    return span * (math.pow(alpha / 2, -1 / (found.freedom + 1)) - 1)
