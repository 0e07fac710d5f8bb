"""Whether one engine's pictures are another's: the statistics, of numbers alone.

The unit is a source picture: all its edits, of any seed or instruction, are one observation, the furthest of them. The
claims are about pictures like these, so the pictures are what was drawn.

**Within D.** A picture is within D or it is not. That at least `SHARE` of such pictures are is claimed if so few are
not that a share of 5 % would show as few in one case of 20 (Clopper and Pearson, Biometrika 26, 1934): none of 59, one
of 93, two of 124. Nothing is assumed about the distances.

**Within the reference's own noise.** The reference was run again; of each picture there are `candidate`, how far the
candidate is from the reference, and `again`, how far the reference is from itself. Both are distances from the same
picture, so if the engines are equal the two can be exchanged, picture by picture, whatever the noise is like: heavy,
in few pictures only, or another in each picture. Three shares of pictures are compared (`NOISE_TESTS`): the candidate
differs at all and the reference does not; the candidate is beyond the reference's own 95th percentile and the
reference is not; the candidate is further than the reference. Each less its opposite is 0 for equal engines, and has to
be shown to be below a margin (Tango's score test for paired shares, Statistics in Medicine 17, 1998, at .05). All three
have to hold, of every distance that decides, so that the error of the whole is at most that of one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import binom

from edit_eval.statistics.levels import ALPHA, POWER

SHARE = 0.95
"""Of pictures like these, how many have to be within D."""
NOISE_TESTS: Mapping[str, float] = {"at_all": 0.15, "beyond": 0.15, "further": 0.4}
"""Kind of difference -> the share of pictures, over that of the reference itself, below which it has to be shown."""

Distances = NDArray[np.float64]


class NoiseTest(NamedTuple):
    """One comparison of the candidate's distances with the reference's own."""

    kind: str
    """`at_all`, `beyond`, `further`."""
    candidate: int
    """Pictures where the candidate differs so and the reference does not."""
    again: int
    """Pictures where it is the other way round."""
    pictures: int
    z: float
    """Of Tango's test, of which a normal quantile is the limit."""
    p_further: float
    """How often equal engines would have the candidate differ in at least as many: the exact test of signs."""

    @property
    def passes(self) -> bool:
        """True if the excess is shown to be below the margin."""
        return self.z > float(ndtri(1 - ALPHA))

    @property
    def is_more_than_chance(self) -> bool:
        """True if the candidate is shown to be further away than the reference's second run."""
        return self.p_further <= ALPHA

    @property
    def pictures_needed(self) -> int | None:
        """With how many pictures it would pass 4 times in 5, if the shares are as they were seen; None: with none."""
        if self.candidate - self.again >= NOISE_TESTS[self.kind] * self.pictures:
            return None
        enough = float(ndtri(1 - ALPHA) + ndtri(POWER))
        return max(self.pictures + 1, math.ceil(self.pictures * (enough / self.z) ** 2))


def count_allowed(pictures: int) -> int | None:
    """Returns how many pictures may lie outside, for the claim that at least `SHARE` of such pictures lie within; None
    if there are too few for any claim."""
    allowed = int(_allowed_of(np.array(pictures)))
    return allowed if allowed >= 0 else None


def _allowed_of(pictures: NDArray[np.int_]) -> NDArray[np.float64]:
    """Returns the same for each of several numbers; negative for too few."""
    least = binom.ppf(ALPHA, pictures, 1 - SHARE)  # the fewest of which the chance is `ALPHA` or more
    allowed: NDArray[np.float64] = least - (binom.cdf(least, pictures, 1 - SHARE) > ALPHA)
    return allowed


FEWEST = next(pictures for pictures in range(1, 1000) if count_allowed(pictures) is not None)
"""Pictures without which nothing can be claimed: 59."""


def smallest_limit(distances: Distances) -> float | None:
    """Returns the smallest D of which `SHARE` can be claimed of these distances; None if none can."""
    allowed = count_allowed(len(distances))
    limit = math.inf if allowed is None else float(np.sort(distances)[len(distances) - 1 - allowed])
    return limit if math.isfinite(limit) else None


def pictures_needed(outside: int, pictures: int) -> int | None:
    """Returns with how many pictures the claim would be made 4 times in 5 if as large a share lay outside as was seen;
    None if no number is enough."""
    share = outside / pictures
    if share >= 1 - SHARE:
        return None
    numbers = np.arange(max(FEWEST, pictures + 1), 20_000)
    enough = numbers[binom.cdf(_allowed_of(numbers), numbers, share) >= POWER]
    return int(enough[0]) if len(enough) else None


def typical(distances: Distances) -> float:
    """Returns their median."""
    return float(np.median(distances))


def own_percentile(again: Distances) -> float:
    """Returns the 95th percentile of the reference's distances from itself, one of these distances."""
    return float(np.sort(again)[math.ceil(0.95 * (len(again) - 1))])


def compare_with_noise(candidate: Distances, again: Distances, equal: float = 0.0) -> list[NoiseTest]:
    """Returns the three tests; both arrays are of the same pictures in the same order, `equal` is the distance of equal
    pictures."""
    limit = own_percentile(again)
    sides = {
        "at_all": ((candidate > equal) & (again <= equal), (again > equal) & (candidate <= equal)),
        "beyond": ((candidate > limit) & (again <= limit), (again > limit) & (candidate <= limit)),
        "further": (candidate > again, again > candidate),
    }
    return [_noise_test(kind, int(more.sum()), int(less.sum()), len(again)) for kind, (more, less) in sides.items()]


def _noise_test(kind: str, more: int, less: int, pictures: int) -> NoiseTest:
    margin = NOISE_TESTS[kind]
    # The likeliest share of `less`, if that of `more` were larger by the margin: the root of the score's quadratic.
    b = (2 * pictures - more + less) * margin - more - less
    root = (math.sqrt(b * b + 8 * pictures * less * margin * (1 - margin)) - b) / (4 * pictures)
    deviation = math.sqrt(pictures * (2 * root + margin * (1 - margin)))
    z = (pictures * margin - (more - less)) / deviation
    return NoiseTest(kind, more, less, pictures, z, sign_test(more, less))


def sign_test(more: int, less: int) -> float:
    """Returns the p of the exact test of signs, one-sided: how often as many of `more + less` would be `more` by
    chance."""
    return float(binom.sf(more - 1, more + less, 0.5))
