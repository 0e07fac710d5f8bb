from __future__ import annotations

import math

import numpy as np
import pytest

from edit_eval.statistics.intervals import estimate
from edit_eval.statistics.paired import FEWEST_IMAGES, beyond_the_unseen, no_interval, paired_interval, paired_p_value


def gains(count, gain, noise=0.3, seed=1):
    return estimate(gain + noise * np.random.default_rng(seed).normal(size=count), np.arange(count))


def test_with_images_enough_it_is_students_t_test():
    stats = pytest.importorskip("scipy.stats")
    differences = np.random.default_rng(5).normal(0.3, 1, size=40)
    found = estimate(differences, np.arange(40))
    assert paired_p_value(found, 10) == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)
    assert paired_p_value(found, 10, at=0.5) == pytest.approx(stats.ttest_1samp(differences, 0.5).pvalue)


@pytest.mark.parametrize("skewed", [False, True])
def test_the_interval_holds_exactly_what_the_test_does_not_reject(skewed):
    generator = np.random.default_rng(6)
    for _ in range(30):
        differences = generator.normal(size=50)
        if skewed:
            differences[:3] -= 8
        found = estimate(differences, np.arange(50))
        assert bool(found.asymmetry) == skewed
        for end in paired_interval(found, 10):
            assert paired_p_value(found, 10, at=end) == pytest.approx(0.05)


def test_few_images_may_have_shown_nothing_of_what_would_cancel_a_gain():
    few = gains(10, 1.0)
    assert few.p_value() < 0.001
    assert no_interval(few) == "few_images"
    assert paired_interval(few, 10) is None
    # The worst possible on a share s of the images: (1 - s) * 1 = 10 s, and none of it among ten.
    assert paired_p_value(few, 10) == pytest.approx(min(1, 2 * (10 / (10 + few.value)) ** 10))
    assert paired_p_value(gains(10, 6.0), 10) < 0.05
    assert paired_p_value(gains(FEWEST_IMAGES, 1.0), 10) < 0.001
    assert no_interval(gains(FEWEST_IMAGES, 1.0)) is None


def test_few_images_against_another_value_than_0():
    few = gains(10, 1.0)
    assert paired_p_value(few, 10, at=1.5) == pytest.approx(min(1, 2 * (8.5 / (10 - few.value)) ** 10))
    assert paired_p_value(few, 10, at=-4) == pytest.approx(2 * (6 / (10 + few.value)) ** 10)


@pytest.mark.parametrize("count", [6, 10, 23])
def test_the_difference_from_which_on_few_images_are_enough(count):
    least = beyond_the_unseen(gains(count, 1.0), 10, 0.05)
    found = gains(count, least, noise=1e-9)
    assert paired_p_value(found, 10) == pytest.approx(0.05, rel=1e-3)
    assert beyond_the_unseen(gains(24, 1.0), 10, 0.05) == 0.0


def test_equal_differences_are_judged_by_what_stayed_unseen():
    same = estimate(np.full(30, 2.0), np.arange(30))
    assert no_interval(same) == "no_spread"
    assert paired_p_value(same, 10) == pytest.approx(2 * (10 / 12) ** 30)
    assert paired_p_value(estimate(np.zeros(30), np.arange(30)), 10) == 1.0
    assert paired_p_value(estimate(np.full(9, 8.0), np.zeros(9, dtype=np.int64)), 10) == 1.0


def test_one_image_with_nearly_all_samples_shows_nothing():
    images = np.repeat(np.arange(31), [600] + [1] * 30)
    found = estimate(3 + 0.1 * np.random.default_rng(2).normal(size=630), images)
    assert no_interval(found) == "too_uneven"
    assert paired_p_value(found, 10) > 0.05
    assert math.isfinite(found.freedom)
