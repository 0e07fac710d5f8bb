"""The statistics of `gate --same-seed`: closed forms, and what they hold where the truth is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import beta, binomtest

from edit_eval.plugins.gate.sameness import (
    FEWEST,
    NOISE_TESTS,
    compare_with_noise,
    count_allowed,
    own_percentile,
    pictures_needed,
    smallest_limit,
)

Noise = Callable[[np.random.Generator, int], np.ndarray]
"""Distances (3, pictures) from the reference's first picture: two more runs of the reference, and an equal engine."""


def even(chance: np.random.Generator, n: int) -> np.ndarray:
    return chance.gamma(20, 1, (2, n))


def heavy(chance: np.random.Generator, n: int) -> np.ndarray:
    return np.abs(chance.standard_cauchy((2, n)))


def by_picture(chance: np.random.Generator, n: int) -> np.ndarray:
    return chance.lognormal(0, 1.5, n) * chance.gamma(3, 1, (2, n))


def in_few(share: float) -> Noise:
    """Pictures that fall on one of two sides by chance, as far apart as it happens; the others repeat."""

    def draw(chance: np.random.Generator, n: int) -> np.ndarray:
        apart = np.where(chance.random(n) < share, chance.lognormal(0, 1, n), 0)
        side = chance.random((3, n)) < 0.5
        return apart * (side[1:] != side[0])

    return draw


NOISES: dict[str, Noise] = {
    "even": even,
    "heavy": heavy,
    "by picture": by_picture,
    "in 2 %": in_few(0.02),
    "in 4 %": in_few(0.04),
    "in 10 %": in_few(0.1),
    "in 30 %": in_few(0.3),
}


def is_same(again: np.ndarray, candidate: np.ndarray) -> bool:
    """The ending of the gate by one distance: without noise by counting, with noise by its three tests."""
    if not again.any():
        allowed = count_allowed(len(candidate))
        return allowed is not None and int((candidate > 0).sum()) <= allowed
    return all(test.passes for test in compare_with_noise(candidate, again))


def share_of_same(noise: Noise, change: Callable[[np.ndarray], np.ndarray], n: int, draws: int, seed: int = 1) -> float:
    chance = np.random.default_rng(seed)
    same = 0
    for _ in range(draws):
        again, candidate = noise(chance, n)
        same += is_same(again, change(candidate))
    return same / draws


def broken(share: float, by: float = 1e3) -> Callable[[np.ndarray], np.ndarray]:
    def change(candidate: np.ndarray) -> np.ndarray:
        return candidate + np.where(np.arange(len(candidate)) < share * len(candidate), by, 0)

    return change


def test_the_bound_by_counting_is_that_of_clopper_and_pearson() -> None:
    assert FEWEST == 59
    assert [count_allowed(n) for n in (58, 59, 92, 93, 123, 124, 1000)] == [None, 0, 0, 1, 1, 2, 38]
    for n in (59, 93, 100, 250):
        allowed = count_allowed(n)
        for outside, claimed in ((allowed, True), (allowed + 1, False)):
            assert (beta.ppf(0.95, outside + 1, n - outside) <= 0.05) is np.bool_(claimed)


def test_the_smallest_limit_is_one_that_can_be_claimed_and_the_next_is_not() -> None:
    distances = np.random.default_rng(2).gamma(2, 1, 100)
    limit = smallest_limit(distances)
    assert (distances > limit).sum() == count_allowed(100) == 1
    assert smallest_limit(distances[:58]) is None
    assert smallest_limit(np.where(np.arange(100) < 2, np.inf, 1.0)) is None, "two have no picture"
    assert smallest_limit(np.where(np.arange(100) < 1, np.inf, 1.0)) == 1.0


def test_how_many_pictures_would_do() -> None:
    assert pictures_needed(0, 10) == 59
    needed = pictures_needed(2, 100)
    assert needed is not None
    assert binomtest(count_allowed(needed), needed, 0.02).statistic == count_allowed(needed) / needed
    chance = np.random.default_rng(3)
    shown = np.mean(chance.binomial(needed, 0.02, 20_000) <= count_allowed(needed))
    assert 0.78 < shown < 0.88
    assert pictures_needed(5, 100) is None


def test_the_score_of_paired_shares_is_at_its_likeliest_share() -> None:
    """Tango's quadratic against a search for the maximum of the likelihood; a worked case by hand."""
    again = np.r_[np.zeros(92), np.ones(8)]
    candidate = np.r_[np.zeros(80), np.ones(12), np.zeros(8)]
    (test, _, _) = compare_with_noise(candidate, again)
    assert (test.kind, test.candidate, test.again, test.pictures) == ("at_all", 12, 8, 100)
    shares, margin = np.linspace(1e-6, (1 - 0.15) / 2 - 1e-6, 400_001), NOISE_TESTS["at_all"]
    likely = shares[np.argmax(12 * np.log(shares + margin) + 8 * np.log(shares) + 80 * np.log(1 - 2 * shares - margin))]
    z = (100 * margin - 4) / np.sqrt(100 * (2 * likely + margin * (1 - margin)))
    assert test.z == pytest.approx(z, abs=1e-4)
    assert test.p_further == pytest.approx(binomtest(12, 20, alternative="greater").pvalue)
    assert test.passes
    assert own_percentile(again) == 1.0


def test_what_would_be_needed_is_told_and_is_enough() -> None:
    again, candidate = np.r_[np.zeros(16), np.ones(4)], np.r_[np.ones(5), np.zeros(15)]
    test = compare_with_noise(candidate, again)[0]
    assert not test.passes
    times = -(-test.pictures_needed // test.pictures)
    assert compare_with_noise(np.tile(candidate, times), np.tile(again, times))[0].passes
    worse = compare_with_noise(np.ones(20), np.r_[np.zeros(16), np.ones(4)])[0]
    assert worse.pictures_needed is None
    assert worse.p_further < 0.001


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.one_in(3)) for name in NOISES])
def test_equal_engines_are_told_to_be_equal(name: str) -> None:
    assert share_of_same(NOISES[name], lambda candidate: candidate, 100, 400) >= 0.94


@pytest.mark.chaos
@pytest.mark.parametrize("name", NOISES)
def test_equal_engines_are_told_to_be_equal_many_times(name: str) -> None:
    """At most 5 of 100 equal engines are not told to be: the figures of `docs/trust.md`."""
    assert share_of_same(NOISES[name], lambda candidate: candidate, 100, 20_000) >= 0.95


@pytest.mark.parametrize(
    ("share", "most"), [(0.2, 0.05), pytest.param(0.25, 0.01, marks=pytest.mark.check), (0.4, 0.0)]
)
@pytest.mark.parametrize("name", ["even", "by picture", "in 10 %"])
def test_an_engine_that_breaks_more_than_the_margin_does_not_pass(name: str, share: float, most: float) -> None:
    """The broken ones are beyond all noise: their excess is at least their share less the noise's own."""
    assert share_of_same(NOISES[name], broken(share), 100, 400) <= most + 0.02


def test_twice_the_noise_in_every_picture_is_found_though_loud_pictures_hide_it() -> None:
    assert share_of_same(by_picture, lambda candidate: 2 * candidate, 100, 300) <= 0.05
    assert share_of_same(even, lambda candidate: 1.3 * candidate, 100, 300) <= 0.05


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("share", "least"), [(0.05, 0.95), (0.02, 0.5)])
def test_what_a_hundred_pictures_find_without_noise(share: float, least: float) -> None:
    chance = np.random.default_rng(4)
    found = np.mean([(chance.random(100) < share).sum() > count_allowed(100) for _ in range(4000)])
    assert found >= least
