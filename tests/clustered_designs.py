"""Designs of benchmarks, how many scores each source image has, and scores drawn for them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Kind:
    """Differences between equal models, one an image: their true mean is 0."""

    draw: Callable[[np.random.Generator, int], FloatArray]
    rarest: float = 1.0
    """The share that the rarest kind of image makes without which the mean is another."""
    sizes: Callable[[int], list[int]] = lambda count: [1] * count
    within: float = 0.0
    """The standard deviation of the scores of an image around its difference."""


def _ties(share: float, low: float) -> Kind:
    """A share of ties; the others lie from `low` to 4, and what that makes on average is taken off."""

    def draw(generator: np.random.Generator, images: int) -> FloatArray:
        steps = generator.integers(1, 5, images) * (generator.choice([-1.0, 1.0], images) if low < 0 else 1.0)
        return np.where(generator.random(images) < share, 0.0, steps) - (0.0 if low < 0 else 2.5 * (1 - share))

    return Kind(draw, 1.0 if low < 0 else 1 - share)


def _ceiling(share: float, low: float) -> Kind:
    """A share of the scores is at 10, the others are spread from `low` to 10."""
    middle = 10 * share + (1 - share) * (10 + low) / 2
    return Kind(
        lambda generator, images: (
            np.where(generator.random(images) < share, 10.0, generator.uniform(low, 10, images))
            - middle
            + 0.5 * generator.normal(size=images)
        ),
        1 - share,
    )


def _rare(one_in: int) -> Kind:
    return Kind(lambda generator, images: disasters(generator, images, 0.1, 1 / one_in), 1 / one_in)


def _zipf(count: int) -> list[int]:
    return np.ceil(3 * count / np.arange(1, count + 1)).astype(int).tolist()


SCORES: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "normal": lambda g, n: np.clip(6 + 1.5 * g.normal(size=n), 0, 10),
    "two heaps, 85 % about 9 and 15 % about 2": lambda g, n: np.clip(
        np.where(g.random(n) < 0.85, 9.0, 2.0) + 0.3 * g.normal(size=n), 0, 10
    ),
    "lognormal below 10": lambda g, n: np.clip(10 - np.exp(0.3 + 0.8 * g.normal(size=n)), 0, 10),
    "logistic near 10": lambda g, n: 10 / (1 + np.exp(-2.2 - 1.2 * g.normal(size=n))),
}
"""Scores from 0 to 10, one an image."""
_FIVE = [0.1, 0.15, 0.25, 0.3, 0.2]

KINDS = {
    "normal": Kind(lambda generator, images: generator.normal(size=images)),
    **{f"{share:.0%} ties, else 1 to 4 either way": _ties(share, -4) for share in (0.5, 0.7, 0.9, 0.95)},
    **{f"{share:.0%} ties, else 1 to 4 one way": _ties(share, 1) for share in (0.5, 0.7, 0.9, 0.95)},
    "1 to 5 against 1 to 5": Kind(
        lambda generator, images: generator.choice(5, images, p=_FIVE) - 1.0 * generator.choice(5, images, p=_FIVE)
    ),
    "5% 8 either way, else noise of .5": Kind(
        lambda generator, images: np.where(
            generator.random(images) < 0.05,
            8 * generator.choice([-1.0, 1.0], images),
            0.5 * generator.normal(size=images),
        )
    ),
    "70% ties, 24% 1 up, 6% 4 down": Kind(
        lambda generator, images: generator.choice([0.0, 1.0, -4.0], images, p=[0.7, 0.24, 0.06]), 0.06
    ),
    "heavy tails, t(2.2)": Kind(lambda generator, images: np.clip(generator.standard_t(2.2, images), -10, 10)),
    "ceiling, 10 beta(9, 1)": Kind(
        lambda generator, images: 10 * generator.beta(9, 1, images) - 9 + 0.3 * generator.normal(size=images), 0.3
    ),
    "70% at the ceiling, else 4 to 10": _ceiling(0.7, 4),
    "85% at the ceiling, else 0 to 10": _ceiling(0.85, 0),
    "sizes by a power law, correlation about .5": Kind(
        lambda generator, images: generator.normal(size=images), 1.0, _zipf, 1.0
    ),
    "the same, skewed": Kind(lambda generator, images: 1 - generator.exponential(size=images), 1.0, _zipf, 1.0),
    **{f"1 in {one_in} loses 8": _rare(one_in) for one_in in (9, 15, 20, 30)},
}
"""How two equal models may differ, image by image."""
