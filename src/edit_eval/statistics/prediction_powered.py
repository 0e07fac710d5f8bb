"""What people would say of all images, from a judge who saw all of them and people who saw some.

Prediction-powered inference (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, Science 382, 2023) with the tuned weight
of PPI++ (Angelopoulos, Duchi and Zrnic, arXiv 2311.01453, 2023), which is the regression estimator of double sampling
(Cochran, Sampling Techniques, 1977, chapter 12). The judge's bias, scale and language cancel, and one that knows
nothing gets the weight 0: it is people's scale, and people's answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from edit_eval.statistics.intervals import (
    CONFIDENCE,
    FEWEST_WORTH,
    FloatArray,
    IntArray,
    Jackknife,
    jackknife,
    student_quantile,
    worth,
)

FEWEST_ANSWERED = 8
"""Source images with an answer below which there is no interval: a mean, a slope, and something to see their error
by."""


@dataclass(frozen=True)
class Corrected:
    """People's mean difference over all images, and how sure it is; see `corrected`."""

    value: float
    error: Jackknife | None
    """None where there is no interval."""
    weight: float
    """What is taken off for each point by which the judge liked the rated images more than the others: lambda of
    PPI++."""
    images: int
    """With an answer."""
    others: int
    """Without any."""
    doubt: str | None
    """Why there is no interval: `few_images`, `too_uneven`, `no_spread`; None where there is one."""

    def interval(self, *, lowest: float = -math.inf, highest: float = math.inf) -> list[float] | None:
        """`[low, high]`, 95 %, cut at the ends of the scale; None where `doubt` says why."""
        if self.error is None:
            return None
        low, high = self.error.interval(self.value)
        return [max(lowest, low), min(highest, high)]

    def half_width(self, error: Jackknife, images: int) -> float:
        """About half the width of the interval, were so many of the same images rated: t sqrt(A / images + F).

        F = V2 (images + others) / others is what stays when all are rated by the judge alone, A / images the
        rest of the squared standard error.
        """
        every = self.images + self.others
        stays = error.of_others * every / self.others if self.others else 0.0
        rest = max(0.0, error.standard_error**2 - stays) * self.images
        return student_quantile(0.5 + CONFIDENCE / 2, images - 2) * math.sqrt(rest / images + stays)

    def narrowest(self) -> float | None:
        """What share of its width the interval would keep if people answered about every image; None without one."""
        if self.error is None:
            return None
        return self.half_width(self.error, self.images + self.others) / self.half_width(self.error, self.images)

    def images_to_halve(self) -> int | None:
        """How many more of these images would have to be rated for half the width; None where all would not do."""
        if self.error is None:
            return None
        wanted = self.half_width(self.error, self.images) / 2
        for more in range(1, self.others + 1):
            if self.half_width(self.error, self.images + more) <= wanted:
                return more
        return None


def corrected(people: FloatArray, judge: FloatArray, images: IntArray, weights: FloatArray | None = None) -> Corrected:
    """People's mean difference over all samples, from theirs of some (`people`, NaN elsewhere) and a judge's of all.

    A value a sample: what a person gives to one edit less what the same person gives to the other (or 1, 0, -1 for a
    vote), the mean of all who were asked about the sample; and any number that the judge gives, higher for the first.
    `images` are codes of the source images. The samples with an answer are a random draw from all of them. `weights`
    say how much each of those counts (1 where there are none): the sum over its answers of the inverse of the chance
    with which the sample was drawn.

    R are the samples with an answer, U the others, r = |U| / (|R| + |U|). Y and F are weighted means of people and
    judge over R, F1 the judge's plain mean over R, G its plain mean over U (where r = 0, r G is 0), V the variance of
    the judge over all samples, and b = max(0, S_fy) / max(S_ff, V sum w) with S_fy = sum w (f - F) (y - Y) and S_ff =
    sum w (f - F)^2 over R; b is 0 where V is at most 1e-12 of the judge's mean square:

        theta = Y - b (F - (1 - r) F1 - r G)        (with equal weights Y - b r (F - G); lambda of PPI++ is b r)

    PPI++ has V sum w alone below, the regression estimator S_ff alone. S_ff has the smaller error where both are near
    each other; but where the judge says nearly the same of the images that people saw, and not of others, it makes a
    slope of noise, and an interval hundreds of times too wide. With the larger of both neither happens.

    The error is `intervals.jackknife`: one image is deleted with all its samples, of the k that have an answer (stratum
    1, w1 - 2 degrees of freedom) or of the u that have none (stratum 2, w2 - 1), and Y, F, F1, G and b are made anew; r
    and V stay.

    w = 1 / sum p^2 is what the images of a stratum are worth, p an image's share of the weights of its samples with an
    answer (stratum 1), of its samples (stratum 2); equal images are worth their number. By their number unequal ones
    would cover less: .90 for .95 where 30 with an answer are worth 8. In stratum 1 it is w1 - 1 where there is no slope
    to fit, V being 0. Where one image alone has samples without an answer, or u = 1, nothing shows how far off G may
    be: b is then 0 throughout.
    The interval is the hull of Student's t and of Hall's (`intervals.hull_interval`).

    Raises `ValueError` where no sample has an answer.
    """
    _, codes = np.unique(images, return_inverse=True)
    rated = ~np.isnan(people)
    if not rated.any():
        raise ValueError("no sample has an answer")
    w = np.where(rated, 1.0 if weights is None else weights, 0.0)
    # About their means: sums of squares about 0 lose a spread that is small beside the level, and with it the slope.
    level, middle = np.average(people[rated], weights=w[rated]), np.average(judge[rated], weights=w[rated])
    y, f = np.where(rated, people - level, 0.0), np.asarray(judge - middle, dtype=np.float64)
    # By image: of its samples with an answer the weighted 1, y, f, f^2, f y and the plain 1, f; of its others 1, f.
    columns = (w, w * y, w * f, w * f * f, w * f * y, rated * 1.0, rated * f, ~rated * 1.0, ~rated * f)
    sums = np.stack([np.bincount(codes, column) for column in columns])
    answered = sums[5] > 0
    k, u = int(answered.sum()), int((~answered).sum())
    total = sums.sum(axis=1, keepdims=True)
    share = float(total[7, 0] / (total[5, 0] + total[7, 0]))
    fitted = u != 1 and int((sums[7] > 0).sum()) != 1
    variance = float(np.var(judge))
    if not fitted or variance <= 1e-12 * float(np.square(judge).mean()):
        variance = 0.0
    value, slope = _point(total, share, variance)
    own = _point(total - sums[:, answered], share, variance)[0] if k > 1 else value
    others = _point(total - sums[:, ~answered], share, variance)[0] if u > 1 else value
    sizes = sums[0, answered]
    doubt = "few_images" if k < FEWEST_ANSWERED else "too_uneven" if worth(sizes) < FEWEST_WORTH else None
    error = None
    if doubt is None:
        freedom = worth(sizes) - (2 if variance else 1)
        of_others = worth(sums[7, ~answered]) - 1 if u > 1 else 0.0
        error = jackknife(own, others, freedom, of_others, level=float(np.abs(people[rated]).max()))
    return Corrected(
        value=float(level + value[0]),
        error=error,
        weight=float(slope[0]) * share,
        images=k,
        others=u,
        doubt=doubt or (None if error else "no_spread"),
    )


def _point(sums: FloatArray, share: float, variance: float) -> tuple[FloatArray, FloatArray]:
    """theta and the slope b for each column of sums; without a `variance` of the judge there is no slope."""
    n, y, f, ff, fy, rated, plain, others, of_others = sums
    if not variance:
        return y / n, np.zeros_like(y)
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.maximum(0.0, fy - f * y / n) / np.maximum(ff - f * f / n, n * variance)
        beyond = share * of_others / others if share else 0.0
        return y / n - slope * (f / n - (1 - share) * plain / rated - beyond), slope
