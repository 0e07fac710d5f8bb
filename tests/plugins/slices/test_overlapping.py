"""Overlapping groups: what is computed, held against all orders of the values, and images that move together."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.special import ndtri, stdtr

from edit_eval.plugins.slices.overlapping import large_enough, overlapping_groups
from edit_eval.statistics.families import Correction


def test_a_p_is_the_share_of_all_orders_whose_largest_difference_is_as_large() -> None:
    values = np.array([1.0, 2.0, 2.5, 4.0, 7.0, 8.0, 9.5])
    members = np.array([[1, 0], [1, 1], [0, 1], [0, 0], [0, 0], [0, 1], [0, 1]], dtype=bool)

    def z(dealt: np.ndarray) -> np.ndarray:
        sides = [(dealt[group], dealt[~group]) for group in members.T]  # Welch's statistic
        gaps = [abs(of.mean() - rest.mean()) for of, rest in sides]
        of_student = np.array(gaps) / np.sqrt(
            [of.var(ddof=1) / len(of) + rest.var(ddof=1) / len(rest) for of, rest in sides]
        )
        return -ndtri(stdtr([min(len(of), len(rest)) - 1 for of, rest in sides], -of_student))

    largest = np.array([z(np.array(order)).max() for order in permutations(values)])
    exact = [(largest >= of - 1e-9).mean() for of in z(values)]
    groups = overlapping_groups(values, np.arange(7), members, draws=20_000)
    assert [test.p_adjusted for test in groups.tests] == pytest.approx(exact, abs=0.015)
    assert groups.correction == Correction(2, method="largest")


def test_an_interval_holds_zero_just_when_nothing_is_shown() -> None:
    random = np.random.default_rng(3)
    members = random.random((80, 25)) < 0.3
    groups = overlapping_groups(random.normal(0, 1, 80) + 1.3 * members[:, 0], np.arange(80), members, draws=999)
    assert {test.shown for test in groups.tests} == {True, False}
    for test in groups.tests:
        assert test.ci95 is not None
        assert test.shown == (not test.ci95[0] <= 0 <= test.ci95[1])
        assert test.shown == (test.p_adjusted <= 0.05)
        assert test.difference == pytest.approx(test.mean - test.elsewhere)


def test_samples_of_one_image_count_as_little_as_they_know() -> None:
    """Twelve images of ten equal samples each: a group of three whole images is three values, not thirty."""
    random = np.random.default_rng(5)
    images = np.repeat(np.arange(12), 10)
    values = random.normal(0, 1, 12)[images]
    whole = np.isin(images, np.argsort([values[images == image][0] for image in range(12)])[[-1, -2, 4]])
    alone = overlapping_groups(values, np.arange(120), whole[:, None], draws=999).tests[0]
    together = overlapping_groups(values, images, whole[:, None], draws=999).tests[0]
    assert alone.p_adjusted < 0.01 < together.p_adjusted


def test_a_group_needs_samples_and_images_on_either_side() -> None:
    images = np.repeat(np.arange(10), 2)
    members = np.zeros((20, 3), dtype=bool)
    members[:10, 0] = True  # five images
    members[:12, 1] = True  # six, and four are left
    members[[0, 2, 4, 6, 8, 10, 12, 14], 2] = True  # eight images, and all ten in the rest
    assert large_enough(members, images, 8).tolist() == [False, False, True]


def test_values_that_do_not_vary_show_nothing() -> None:
    members = np.arange(20)[:, None] % 2 == 0
    [test] = overlapping_groups(np.full(20, 3.0), np.arange(20), members).tests
    assert (test.difference, test.ci95, test.p_adjusted, test.shown) == (0.0, None, 1.0, False)


def test_the_error_is_that_of_whole_images() -> None:
    """Of images with several samples, on one side or on both, as somebody would write it down."""
    random = np.random.default_rng(7)
    images = np.array([0, 0, 0, 1, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8])
    values, inside = random.normal(0, 1, 14), np.array([1, 1, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0], dtype=bool)
    [test] = overlapping_groups(values, images, inside[:, None], draws=99).tests
    parts = np.zeros(9)
    for side, sign in ((inside, 1), (~inside, -1)):
        count, mean = len(set(images[side])), values[side].mean()
        for image, value in zip(images[side], values[side], strict=True):
            parts[image] += sign * np.sqrt(count / (count - 1)) * (value - mean) / side.sum()
    assert test.standard_error == pytest.approx(np.sqrt((parts**2).sum()))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("per_image", [1, 3])
@pytest.mark.parametrize("kind", ["wide", "ties"])
def test_a_group_that_is_only_more_scattered_is_not_named(kind: str, per_image: int) -> None:
    """A twentieth of the samples scatters five times as far; most others tie, and a tenth does not: means are equal."""
    random, wrong, runs = np.random.default_rng(12), 0, 60
    for _ in range(runs):
        images = np.repeat(np.arange(240 // per_image), per_image)
        members = random.random((240, 15)) < random.uniform(0.06, 0.5, 15)
        hard = np.zeros(240, dtype=bool)
        hard[random.permutation(240)[: 12 if kind == "wide" else 24]] = True
        members[:, -1] = hard
        values = random.normal(0, 1, 240) * np.where(hard, 5, 1)
        if kind == "ties":
            scattered = random.choice([-3.0, -2.0, 0.0, 2.0, 3.0], 240)
            values = np.where(hard, scattered, random.choice([-1.0, 1.0], 240) * (random.random(240) < 0.2))
        wrong += any(test.shown for test in overlapping_groups(values, images, members, draws=199).tests)
    assert wrong <= 0.05 * runs + 3 * (0.05 * 0.95 * runs) ** 0.5


@pytest.mark.chaos
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("noise", ["normal", "skewed", "ties"])
def test_among_equals_one_run_in_twenty_names_a_group(noise: str, clustered: bool) -> None:
    random = np.random.default_rng(11)
    wrong = 0
    for _ in range(300):
        images = np.sort(random.integers(0, 90, 270)) if clustered else np.arange(270)
        images = np.unique(images, return_inverse=True)[1]
        members = random.random((270, 40)) < random.uniform(0.06, 0.5, 40)
        of_images = random.random((270, 12)) < random.uniform(0.06, 0.5, 12)
        members[:, :12] = of_images[images]
        values = _drawn(noise, random, 270)
        if clustered:
            values = np.sqrt(0.4) * _drawn(noise, random, 270)[images] + np.sqrt(0.6) * values
        members = members[:, large_enough(members, images, 8)]
        wrong += any(test.shown for test in overlapping_groups(values, images, members, draws=499).tests)
    assert wrong <= 25, "of 300, where 15 are to be expected; 25 is beyond chance by 1 in 200"


def _drawn(noise: str, random: np.random.Generator, count: int) -> np.ndarray:
    if noise == "ties":
        return random.choice([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, -6.0], count)
    drawn = random.normal(0, 2, count)
    if noise == "skewed":
        drawn[random.random(count) < 0.1] -= 8
    return drawn
