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


def paired_interval(found: Estimate, scale: float, *, confidence: float = CONFIDENCE) -> list[float] | None:
    """`[low, high]` of a mean difference, within -scale to scale; None where `no_interval` says why.

    It holds 0 exactly where `paired_p_value` is above 1 - `confidence`.
    """
    return None if no_interval(found) else found.interval(confidence=confidence, lowest=-scale, highest=scale)


def paired_p_value(found: Estimate, scale: float, *, at: float = 0.0) -> float:
    """Two-sided, of "the true mean difference is `at`", 0 to 1.

    That of the estimate; where there is no interval, not below the chance that a kind of image stayed unseen that
    would bring the mean back to `at`. Were it as bad as the scale allows (differences lie within -scale to scale), a
    share s of the images would do it: for a mean d above `at` (1 - s) d - s * scale = at. The chance that none of G
    images is of it is (1 - s)^G, twice that for two sides. Where images count unequally, G is the degrees of freedom
    + 1, which is what they are worth.
    """
    p = found.p_value(at)
    if no_interval(found) is None and p is not None:
        return p
    side = 1.0 if found.value >= at else -1.0
    seen = (scale + side * at) / (scale + side * found.value)
    return max(p or 0.0, min(1.0, 2 * math.pow(seen, found.freedom + 1)))


def beyond_the_unseen(found: Estimate, scale: float, alpha: float) -> float:
    """The difference from which on what stayed unseen cannot raise `paired_p_value` above `alpha`."""
    if no_interval(found) is None:
        return 0.0
    return scale * (math.pow(alpha / 2, -1 / (found.freedom + 1)) - 1)
