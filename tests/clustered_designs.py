"""Designs of benchmarks, how many scores each source image has, and scores drawn for them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

DESIGNS = {
    "30 images with 9": [9] * 30,
    "10 images with 9": [9] * 10,
    "6 images with 6": [6] * 6,
    "6 with 27, 24 with 3": [27] * 6 + [3] * 24,
    "2 with 27, 8 with 3": [27] * 2 + [3] * 8,
    "one with half": [135] + [4] * 29,
    "two with 80 %": [100, 100] + [4] * 12,
    "1 to 5": [1, 2, 3, 4, 5] * 8,
    "270 images with 1": [1] * 270,
}

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def images_of(sizes: list[int]) -> IntArray:
    """The image of each score."""
    return np.repeat(np.arange(len(sizes)), sizes)


def clustered(generator: np.random.Generator, sizes: list[int], icc: float) -> tuple[FloatArray, IntArray]:
    """Scores with mean 0 and variance 1, of which the share `icc` lies between images; and their images."""
    images = images_of(sizes)
    between = generator.normal(size=len(sizes))[images]
    return math.sqrt(icc) * between + math.sqrt(1 - icc) * generator.normal(size=len(images)), images


def disasters(generator: np.random.Generator, images: int, noise: float, rate: float = 1 / 9) -> FloatArray:
    """Differences with mean 0, one an image: a share `rate` loses 8 points, the others gain what makes up for it."""
    lost = generator.uniform(size=images) < rate
    return np.where(lost, -8.0, 8 * rate / (1 - rate)) + noise * generator.normal(size=images)
