from __future__ import annotations

import math

import numpy as np
import pytest

from edit_eval.statistics.intervals import FEWEST_CLUSTERS, Estimate, estimate
from edit_eval.statistics.power import clusters_needed, detectable_difference


def seen(clusters: int, deviation: float = 2.0) -> Estimate:
    """What as many images with one sample each say."""
    chance = math.sqrt(6 * (clusters - 2) / ((clusters + 1) * (clusters + 3)) / clusters)
    free = clusters - 1
    return Estimate(0.0, deviation / math.sqrt(clusters), free, free, clusters, clusters, 0.0, chance, None)


@pytest.mark.parametrize("images", [8, *(pytest.param(n, marks=pytest.mark.chaos) for n in (10, 30))])
def test_a_difference_of_the_reported_size_is_found_four_times_in_five(images):
    """Reported by one run, looked for by the next, whose skewness of its own may ask for more than Student's t."""
    generator = np.random.default_rng(17)
    clusters = np.repeat(np.arange(images), 2)

    def draw():
        return generator.normal(size=images)[clusters] + generator.normal(size=2 * images)

    found = []
    for _ in range(400):
        shift = detectable_difference(estimate(draw(), clusters), 10)
        if shift is not None:  # a skewed draw now and then says nothing
            found.append(estimate(shift + draw(), clusters).p_value() <= 0.05)
    assert len(found) > 370
    assert np.mean(found) == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("difference", [0.05, 0.2, 1.0, 5.0])
def test_the_number_needed_is_the_smallest_that_is_enough(difference):
    needed = clusters_needed(seen(10_000), difference, 10)
    assert detectable_difference(seen(needed), 10) <= difference * 1.02
    fewer = needed - 1
    assert fewer < FEWEST_CLUSTERS or detectable_difference(seen(fewer), 10) > difference * 0.98


def test_as_many_as_were_seen_show_what_they_could():
    for clusters in (10, 24, 90, 270):
        found = seen(clusters)
        assert clusters_needed(found, detectable_difference(found, 10), 10) == clusters


def test_a_sharper_level_needs_more():
    assert clusters_needed(seen(90), 0.3, 10, alpha=0.005) > clusters_needed(seen(90), 0.3, 10)
    assert clusters_needed(seen(90), 10.0, 10, alpha=0.005) >= FEWEST_CLUSTERS


@pytest.mark.parametrize("difference", [0.0, -1.0, math.inf, math.nan])
def test_a_difference_that_cannot_be_detected_is_refused(difference):
    with pytest.raises(ValueError, match="above 0"):
        clusters_needed(seen(90), difference, 10)


def test_where_the_samples_do_not_say_there_is_no_number():
    one = estimate(np.array([1.0, 2.0]), np.array([0, 0]))
    few = seen(4)
    uneven = estimate(np.random.default_rng(1).normal(size=251), np.repeat(np.arange(30), [135] + [4] * 29))
    assert one.doubt == "one_image"
    assert few.freedom == 3
    assert uneven.freedom < 4
    skewed = estimate(np.array([0.0] * 58 + [-4.6, -4.3]), np.arange(60))
    assert skewed.lopsided
    for found in (one, few, uneven, skewed):
        assert detectable_difference(found, 10) is None
        assert clusters_needed(found, 1.0, 10) is None
    assert detectable_difference(seen(7), 3, alpha=0.001) is None, "beyond the scale"
    assert clusters_needed(seen(90), 11.0, 10) is None, "nor can any difference be that large"
