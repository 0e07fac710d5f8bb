from __future__ import annotations

import math

import numpy as np
import pytest

from edit_eval.statistics.intervals import estimate, image_wins, ruled_out_share, strict_lower, tipping_share


def gains(count, gain, noise=0.3, seed=1):
    return estimate(gain + noise * np.random.default_rng(seed).normal(size=count), np.arange(count))


@pytest.mark.parametrize("skewed", [False, True])
def test_the_interval_holds_exactly_what_the_test_does_not_reject(skewed):
    generator = np.random.default_rng(6)
    for _ in range(30):
        differences = generator.normal(size=50)
        if skewed:
            differences[:3] -= 8
        found = estimate(differences, np.arange(50))
        assert found.lopsided == skewed
        for end in found.interval(lowest=-10, highest=10):
            assert found.p_value(end) == pytest.approx(0.05)


def test_the_share_of_total_losses_that_would_undo_a_difference():
    assert tipping_share(1.0, 10.0) == tipping_share(-1.0, 10.0) == pytest.approx(1 / 11)
    share = tipping_share(2.35, 10.0)
    assert (1 - share) * 2.35 + share * -10.0 == pytest.approx(0.0)
    assert tipping_share(0.0, 10.0) == 0.0
    assert tipping_share(1.0, math.inf) is None


def test_the_share_that_so_many_images_rule_out():
    assert [round(ruled_out_share(n), 3) for n in (10, 20, 50, 270)] == [0.259, 0.139, 0.058, 0.011]
    assert (1 - ruled_out_share(17.5)) ** 17.5 == pytest.approx(0.05)
    uneven = estimate(
        np.random.default_rng(1).normal(size=60), np.repeat(np.arange(9), [20, 10, 10, 10, 2, 2, 2, 2, 2])
    )
    assert uneven.worth == pytest.approx(60**2 / (400 + 300 + 20))


@pytest.mark.parametrize("count", [6, 20, 270])
def test_the_strict_end_also_asks_for_what_was_not_seen(count):
    """A share of total losses that n images show none of with a probability of .05 brings the difference down to it."""
    found = gains(count, 1.0, noise=1e-6)
    low = strict_lower(found, 10.0, alpha=0.05)
    share = ruled_out_share(count)
    assert (1 - share) * found.value - share * 10.0 == pytest.approx(low)
    wide = gains(count, 1.0, noise=30.0)
    assert strict_lower(wide, math.inf, alpha=0.025) == pytest.approx(wide.interval()[0])
    assert strict_lower(gains(5, 1.0), 10.0, alpha=0.05) is None


def test_wins_are_counted_by_image_and_tested_exactly():
    stats = pytest.importorskip("scipy.stats")
    images = np.repeat(np.arange(20), 2)
    gain = np.where(images < 14, 0.5, np.where(images < 17, -0.5, 0.0))
    gain[::2] += 0.3
    gain[1::2] -= 0.3  # of one image one sample gains, the other loses: their mean decides
    found = image_wins(gain, images, fewest=6)
    assert (found.wins, found.ties, found.losses) == (14, 3, 3)
    assert found.p == pytest.approx(stats.binomtest(14, 17).pvalue)
    assert image_wins(-gain, images, fewest=6).p == found.p
    assert image_wins(np.ones(5), np.arange(5), fewest=6).p is None
    assert image_wins(np.ones(6), np.arange(6), fewest=6).p == pytest.approx(2 / 64)
    assert image_wins(np.zeros(9), np.arange(9), fewest=6).p is None


def test_equal_differences_have_no_interval_and_say_so():
    same = estimate(np.full(30, 2.0), np.arange(30))
    assert (same.doubt, same.interval(), same.p_value()) == ("no_spread", None, None)


def test_one_image_with_nearly_all_samples_shows_nothing():
    images = np.repeat(np.arange(31), [600] + [1] * 30)
    found = estimate(3 + 0.1 * np.random.default_rng(2).normal(size=630), images)
    assert (found.doubt, found.p_value()) == ("too_uneven", None)
    assert math.isfinite(found.freedom)
