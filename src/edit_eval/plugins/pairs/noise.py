"""How many of a judge's preferences are wrong by its own noise: the share whose sign another look would turn.

The margin that is seen is a true margin and noise of a known size. How large true margins are is learned from all
margins of the run: their distribution is taken to be symmetric (which of two edits is the first means nothing), with
its peak at 0, a mixture of normal distributions of many widths, fitted by EM. A pair's chance of being wrong is then
the share of its posterior on the other side of 0, the local false sign rate (Stephens, Biostatistics 18, 2017). Being
chosen for a large margin is allowed for by that, since the chance is given the margin.

That takes noise to be normal. A judge that nearly always repeats itself, and rarely jumps, has noise that is not: then
margins beyond its reach between edits that it scores alike are jumps. Differences of two answers about one edit say how
often these are, beyond what normal noise would give; such a pair is wrong, too (`_jumps`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from edit_eval.statistics.intervals import FloatArray, IntArray, student_quantile

STEPS, FURTHER_STEPS, WIDTHS = 3000, 100, 12
"""Of EM from nothing, and from the fit to all images; widths of the mixture besides 0."""
CELLS = 200
"""Margins that differ by less than this part of the largest are one to the fit."""
DRAWS = 200
"""Times that source images are drawn anew for the interval."""
REPEATS_ITSELF = 0.5
"""Share of margins between edits scored alike that are exactly 0, above which a judge's noise is jumps. Below, 0 is
also what rounding makes of small margins."""
TOGETHER = 100_000
"""Margins of all draws that are fitted at once: a hundred bytes each."""


@dataclass(frozen=True)
class Noise:
    """How far one answer of a judge lies from its mean answer about the same edit."""

    sd: float
    """Standard deviation, in points."""
    freedom: float
    """Degrees of freedom of that estimate; infinite if it is taken as known."""
    source: str
    """`repeats` or `passport`."""
    differences: tuple[float, ...] = ()
    """Of two answers about one edit, in points; empty if only `sd` is known."""

    def reach(self, errors: FloatArray) -> FloatArray:
        """Returns the margin beyond which noise of these standard errors is ruled out at .05, two-sided."""
        factor = student_quantile(0.975, self.freedom) if np.isfinite(self.freedom) else 1.959963984540054
        return factor * errors


class _Margins:
    """Margins and their standard errors, alike ones counted together: the sign of a margin means nothing."""

    def __init__(self, margins: FloatArray, errors: FloatArray) -> None:
        sizes, errors = np.abs(margins), np.maximum(errors, 1e-12)
        largest = max(float(sizes.max(initial=0.0)), float(errors.max(initial=0.0)))
        kinds = np.stack([np.round(sizes / largest * CELLS), np.round(np.log(errors) * 100)], axis=1)
        _, first, self.cell = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
        self.cell = self.cell.ravel()
        self._sizes, self._errors = sizes[first], errors[first]
        least = max(float(errors.min()) / 10, largest / 1000)
        self.widths = np.concatenate([[0.0], np.geomspace(least, 2 * largest, WIDTHS)])

    def weights(
        self, of_pairs: FloatArray | None = None, factors: FloatArray | None = None, start: FloatArray | None = None
    ) -> FloatArray:
        """Returns the weights of the widths by maximum likelihood, from `start`, if given: a row for each draw.

        `of_pairs`: how often each pair counts, draw by draw; `factors`: of all standard errors, one for each draw.
        """
        pairs = np.ones((1, len(self.cell))) if of_pairs is None else of_pairs
        counts = np.stack([np.bincount(self.cell, weights=row, minlength=len(self._sizes)) for row in pairs])
        errors = self._errors if factors is None else factors[:, None] * self._errors
        spread = np.sqrt(self.widths**2 + np.atleast_2d(errors)[..., None] ** 2)  # draw, cell, width
        logarithm = -0.5 * (self._sizes[:, None] / spread) ** 2 - np.log(spread)
        likelihood = np.exp(logarithm - logarithm.max(2, keepdims=True))
        weights = np.full((len(pairs), len(self.widths)), 1 / len(self.widths))
        if start is not None:
            weights[:] = start
        for _ in range(STEPS if start is None else FURTHER_STEPS):
            seen = counts / (likelihood @ weights[..., None])[..., 0]
            weights = weights * (seen[:, None, :] @ likelihood)[:, 0] / counts.sum(1, keepdims=True)
        return weights


def _rates(margins: FloatArray, errors: FloatArray, widths: FloatArray, weights: FloatArray) -> FloatArray:
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


def _jumps(sizes: FloatArray, least: float, differences: FloatArray, random: np.random.Generator) -> float:
    """Returns the share, of margins of at least `least`, of those of edits scored alike that normal noise leaves out.

    `sizes` of margins and `least` in standard errors. Half the difference of two answers, of either sign, is spread as
    their mean is about the edit's own, so two of them make a margin between edits scored alike. From how many of these
    are 0, and how many margins, follows how many edits are; other margins of 0 make the share larger, not smaller.
    """
    halves = random.permutation(np.concatenate([differences, -differences])) / 2
    alike = np.abs(halves - np.roll(halves, 1)) / np.sqrt(np.mean(differences**2) / 2)
    at_zero, beyond = np.mean(alike < 1e-9), np.mean(alike >= least) - 2 * ndtr(-least)
    if at_zero < REPEATS_ITSELF or beyond <= 0:
        return 0.0
    return float(min(1.0, min(1.0, np.mean(sizes < 1e-9) / at_zero) * beyond / np.mean(sizes >= least)))


@dataclass(frozen=True)
class ExpectedWrong:
    """The share of chosen pairs that a judge's noise turned, or made of edits that it scores alike."""

    share: float
    ci95: list[float]
    """Of the share in these pairs: what is not known of the noise and of the distribution of margins, and chance."""


def estimate_wrong_pairs(
    margins: FloatArray, errors: FloatArray, clusters: IntArray, chosen: Sequence[int], noise: Noise, *, seed: int = 0
) -> ExpectedWrong:
    """Returns the expected share of wrong pairs among those `chosen`, with its interval.

    `margins`: of all pairs of edits of a sample, with their standard errors by the noise, and their source images. The
    interval: source images are drawn anew with what is fitted to them, the noise's variance from its chi-square; in
    each draw every chosen pair is wrong or not by its own chance.
    """
    picked = np.asarray(chosen, dtype=np.int64)
    random = np.random.default_rng(seed)
    every = _Margins(margins, errors)
    [fitted] = every.weights()
    sizes, repeated = np.abs(margins) / np.maximum(errors, 1e-12), np.asarray(noise.differences)
    least = float(sizes[picked].min(initial=np.inf))
    jumps = _jumps(sizes, least, repeated, random) if len(picked) and repeated.any() else 0.0
    share = min(1.0, float(_rates(margins[picked], errors[picked], every.widths, fitted).mean()) + jumps)
    images = int(clusters.max(initial=-1)) + 1
    known = not np.isfinite(noise.freedom)
    factors, often, chances = [], [], []
    for _ in range(DRAWS):
        factors.append(1.0 if known else float(np.sqrt(noise.freedom / random.chisquare(noise.freedom))))
        often.append(np.bincount(random.integers(0, images, images), minlength=images)[clusters].astype(np.float64))
        chances.append(random.random(len(picked)))
    drawn = []
    some = max(1, TOGETHER // max(1, len(margins)))
    for first in range(0, DRAWS, some):
        part = slice(first, first + some)
        fits = every.weights(np.stack(often[part]), np.array(factors[part]), fitted)
        for factor, weights, chance in zip(factors[part], fits, chances[part], strict=True):
            rates = _rates(margins[picked], factor * errors[picked], every.widths, weights)
            again = random.choice(repeated, len(repeated)) if jumps else repeated
            drawn.append(float((chance < rates + (_jumps(sizes, least, again, random) if again.any() else 0)).mean()))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return ExpectedWrong(share, [float(low), float(high)])
