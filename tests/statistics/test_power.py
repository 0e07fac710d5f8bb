from __future__ import annotations

import math

import numpy as np
import pytest

from edit_eval.statistics.intervals import clustered_standard_error
from edit_eval.statistics.permutation import sign_flip_p_value
from edit_eval.statistics.power import clusters_needed, detectable_difference, fewest_clusters


def test_a_difference_of_that_size_is_found_four_times_in_five():
    generator = np.random.default_rng(17)
    clusters = np.repeat(np.arange(60), 2)

    def draw(shift):
        return shift + generator.normal(size=60)[clusters] + generator.normal(size=120)

    error = math.sqrt(1.5 / 60)  # the variance of a cluster's mean is 1 + 1/2
    shift = detectable_difference(error, 60)
    found = [sign_flip_p_value(draw(shift), clusters, resamples=999) <= 0.05 for _ in range(600)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.04)
    assert clustered_standard_error(draw(0.0), clusters)[0] == pytest.approx(error, rel=0.3)


@pytest.mark.parametrize("difference", [0.05, 0.2, 1.0, 5.0])
def test_the_number_needed_is_the_smallest_that_is_enough(difference):
    spread = 2.0
    needed = clusters_needed(spread / math.sqrt(90), 90, difference)
    assert detectable_difference(spread / math.sqrt(needed), needed) <= difference
    fewer = needed - 1
    assert fewer < fewest_clusters() or detectable_difference(spread / math.sqrt(fewer), fewer) > difference


def test_a_sharper_level_needs_more():
    assert clusters_needed(0.2, 90, 0.3, alpha=0.005) > clusters_needed(0.2, 90, 0.3)
    assert fewest_clusters(0.05) == 6
    assert 2 / 2 ** fewest_clusters(0.001) <= 0.001 < 2 / 2 ** (fewest_clusters(0.001) - 1)


@pytest.mark.parametrize("difference", [0.0, -1.0, math.inf, math.nan])
def test_a_difference_that_cannot_be_detected_is_refused(difference):
    with pytest.raises(ValueError, match="above 0"):
        clusters_needed(0.2, 90, difference)


def test_one_cluster_says_nothing():
    with pytest.raises(ValueError, match="at least 2"):
        detectable_difference(0.2, 1)
    with pytest.raises(ValueError, match="at least 2"):
        clusters_needed(0.2, 1, 1.0)
