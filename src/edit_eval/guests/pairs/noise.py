"""How many of a judge's preferences are wrong by its own noise: the share whose sign another look would turn.

The margin that is seen is a true margin and noise of a known size. How large true margins are is learned from all
margins of the run: their distribution is taken to be symmetric (which of two edits is the first means nothing), with
its peak at 0, a mixture of normal distributions of many widths, fitted by EM. A pair's chance of being wrong is then
the share of its posterior on the other side of 0, the local false sign rate (Stephens, Biostatistics 18, 2017). Being
chosen for a large margin is allowed for by that, since the chance is given the margin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edit_eval.statistics.intervals import FloatArray, IntArray, student_quantile

STEPS, FURTHER_STEPS, WIDTHS = 80, 12, 12
"""Of EM from nothing, and from the fit to all images; widths of the mixture besides 0."""
DRAWS = 200
"""Times that source images are drawn anew for the interval."""


@dataclass(frozen=True)
class Noise:
    """How far one answer of a judge lies from its mean answer about the same edit."""

    sd: float
    """Standard deviation, in points."""
    freedom: float
    """Degrees of freedom of that estimate; infinite if it is taken as known."""
    source: str
    """`repeats` or `passport`."""

    def reach(self, errors: FloatArray) -> FloatArray:
        """Returns the margin beyond which noise of these standard errors is ruled out at .05, two-sided."""
        factor = student_quantile(0.975, self.freedom) if np.isfinite(self.freedom) else 1.959963984540054
        return factor * errors


def false_sign_rates(margins: FloatArray, errors: FloatArray, of: FloatArray, of_errors: FloatArray) -> FloatArray:
    """Returns the chance that the true margin has another sign (or, at equal quality, a half) for each of `of`.

    `margins`, `errors`: all margins of the run, whose true distribution is learned, and their standard errors from the
    judge's noise; `of`, `of_errors`: those asked about.
    """
    widths = _widths(margins, errors)
    return _rates(of, of_errors, widths, _weights(margins, errors, widths))


def _widths(margins: FloatArray, errors: FloatArray) -> FloatArray:
    """Returns the widths of the mixture: 0, and from a tenth of the noise to twice the largest margin."""
    largest = max(float(np.abs(margins).max(initial=0.0)), float(errors.max(initial=0.0)), 1e-9)
    least = max(float(errors.min(initial=largest)) / 10, largest / 1000)
    return np.concatenate([[0.0], np.geomspace(least, 2 * largest, WIDTHS)])


def _weights(
    margins: FloatArray, errors: FloatArray, widths: FloatArray, start: FloatArray | None = None
) -> FloatArray:
    """Returns the weights of the widths by maximum likelihood, from `start`, if given."""
    spread = np.sqrt(widths[None, :] ** 2 + np.maximum(errors, 1e-12)[:, None] ** 2)
    likelihood = np.exp(-0.5 * (margins[:, None] / spread) ** 2) / spread
    likelihood /= likelihood.max(1, keepdims=True)
    weights = np.full(len(widths), 1 / len(widths)) if start is None else start
    for _ in range(STEPS if start is None else FURTHER_STEPS):
        of_each = likelihood * weights
        of_each /= of_each.sum(1, keepdims=True)
        weights = of_each.mean(0)
    return weights


def _rates(margins: FloatArray, errors: FloatArray, widths: FloatArray, weights: FloatArray) -> FloatArray:
    from scipy.special import ndtr

    errors = np.maximum(errors, 1e-12)
    spread = np.sqrt(widths[None, :] ** 2 + errors[:, None] ** 2)
    density = (
        np.exp(-0.5 * ((margins[:, None] / spread) ** 2 - (margins / spread.max(1))[:, None] ** 2)) / spread * weights
    )
    shrunk = widths[None, :] ** 2 / spread**2
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.abs(margins)[:, None] * np.sqrt(shrunk) / errors[:, None]
    wrong = np.where(widths[None, :] > 0, ndtr(-z), 0.5)
    total = density.sum(1)
    rates: FloatArray = (density * wrong).sum(1) / np.where(total > 0, total, 1)
    return rates


@dataclass(frozen=True)
class ExpectedWrong:
    """The share of chosen pairs that a judge's noise turned."""

    share: float
    ci95: list[float]
    """Of the share in these pairs: what is not known of the noise and of the distribution of margins, and chance."""


def expected_wrong(
    margins: FloatArray, errors: FloatArray, clusters: IntArray, chosen: Sequence[int], noise: Noise, *, seed: int = 0
) -> ExpectedWrong:
    """Returns the expected share of wrong pairs among those `chosen`, with its interval.

    `margins`: of all pairs of edits of a sample, with their standard errors by the noise, and their source images. The
    interval: source images are drawn anew with what is fitted to them, the noise's variance from its chi-square; in
    each draw every chosen pair is wrong or not by its own chance.
    """
    picked = np.asarray(chosen, dtype=np.int64)
    random = np.random.default_rng(seed)
    widths = _widths(margins, errors)
    fitted = _weights(margins, errors, widths)
    share = float(_rates(margins[picked], errors[picked], widths, fitted).mean())
    images = int(clusters.max(initial=-1)) + 1
    order = np.argsort(clusters, kind="stable")
    of_image = np.split(order, np.cumsum(np.bincount(clusters, minlength=images))[:-1])
    drawn = []
    for _ in range(DRAWS):
        factor = np.sqrt(noise.freedom / random.chisquare(noise.freedom)) if np.isfinite(noise.freedom) else 1.0
        some = np.concatenate([of_image[at] for at in random.integers(0, images, images)])
        weights = _weights(margins[some], factor * errors[some], widths, fitted)
        rates = _rates(margins[picked], factor * errors[picked], widths, weights)
        drawn.append(float((random.random(len(picked)) < rates).mean()))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return ExpectedWrong(share, [float(low), float(high)])
