"""The test behind every comparison: flip the signs of paired differences, one source image at a time."""

from __future__ import annotations

import numpy as np

from edit_eval.statistics.intervals import FloatArray, IntArray, cluster_sums

EXACT_CLUSTERS = 13
"""Up to here all 2^G sign patterns are tried; above, random ones."""
RESAMPLES = 9_999
_SEED = 20_260_101
_CELLS = 4_000_000
"""Size of the largest matrix of signs held at once: 32 MB."""


def sign_flip_p_value(differences: FloatArray, clusters: IntArray, *, resamples: int = RESAMPLES) -> float:
    """The two-sided p-value of "the differences are symmetric around 0", clusters flipped as a whole.

    If two models are exchangeable, then swapping their scores on any source image (all its instructions,
    seeds and repeats at once) changes nothing about how likely the data are. The p-value is the share of all
    swaps whose mean difference lies at least as far from 0 as the one seen. With up to 13 clusters whose
    differences do not cancel all 2^G are tried; else R = `resamples` random ones with a fixed seed, and the
    p-value is (1 + as far) / (1 + R), never 0 (Phipson and Smyth, Statistical Applications in Genetics and
    Molecular Biology 9, 2010).

    No form of distribution is assumed. Raises `ValueError` without any difference.
    """
    if len(differences) == 0:
        raise ValueError("there are no differences to test")
    sums = cluster_sums(differences, clusters)
    sums = sums[sums != 0.0]  # flipping a zero changes nothing
    if len(sums) == 0:
        return 1.0
    # Patterns that tie in exact arithmetic must tie in floating point too.
    threshold = abs(float(sums.sum())) - 1e-9 * float(np.abs(sums).sum())
    if len(sums) <= EXACT_CLUSTERS:
        patterns = np.arange(2 ** len(sums))[:, None] >> np.arange(len(sums)) & 1
        return float(np.mean(_distances(patterns.astype(np.float64), sums) >= threshold))
    generator = np.random.default_rng(_SEED)
    as_far, left = 0, resamples
    while left:
        rows = min(left, max(1, _CELLS // len(sums)))
        flips = generator.integers(0, 2, size=(rows, len(sums)), dtype=np.int8).astype(np.float64)
        as_far += int((_distances(flips, sums) >= threshold).sum())
        left -= rows
    return (1 + as_far) / (1 + resamples)


def _distances(flips: FloatArray, sums: FloatArray) -> FloatArray:
    """How far from 0 the sum lies for each row of flips (1: sign changed)."""
    return np.asarray(np.abs(sums.sum() - 2.0 * (flips @ sums)), dtype=np.float64)
