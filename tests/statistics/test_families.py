"""Ranks of means and of strengths: one correction, one order, and nothing where nothing is known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edit_eval.statistics.families import Correction, FamilyOfTests, PairTest, ranks
from edit_eval.statistics.fitted_strengths import Fit, fit_strengths
from edit_eval.statistics.intervals import estimate, holm, linear_estimate
from edit_eval.statistics.votes import Vote

NAMES = "abcdef"


@st.composite
def shown(draw: Any) -> tuple[dict[str, int], list[PairTest], list[str | None]]:
    """Models with estimates, each known as well as it is, and any differences shown that are in their order."""
    values = dict(zip(NAMES, draw(st.lists(st.integers(0, 4), min_size=2, max_size=6)), strict=False))
    known = {name: draw(st.sampled_from((1.0, 1.2, 4.0))) for name in values}
    pairs = list(combinations(values, 2))
    contrasts = [PairTest(a, b, float(values[a] - values[b]), math.hypot(known[a], known[b]), 0.5) for a, b in pairs]
    ahead = [None if values[a] == values[b] else a if values[a] > values[b] else b for a, b in pairs]
    return values, contrasts, [name if draw(st.booleans()) else None for name in ahead]


@given(shown())
def test_no_rank_claims_more_than_is_shown_and_none_is_against_the_estimates(drawn: Any) -> None:
    estimates, contrasts, better = drawn
    rank_of = ranks(contrasts, better)
    beaten = [
        contrast.b if best == contrast.a else contrast.a
        for contrast, best in zip(contrasts, better, strict=True)
        if best
    ]
    assert all(rank is None or 1 <= rank <= 1 + beaten.count(name) for name, rank in rank_of.items())
    known = [name for name in estimates if rank_of[name] is not None]
    ordered = sorted(known, key=lambda name: -estimates[name])
    for ahead, behind in pairwise(ordered):
        assert rank_of[ahead] <= rank_of[behind]
        assert rank_of[ahead] == rank_of[behind] or estimates[ahead] != estimates[behind]


def of(names: str, *shown: str, errors: Mapping[str, float] | None = None) -> dict[str, int | None]:
    """Ranks of models in their order; `ac`: a is shown to be better than c."""
    pairs = list(combinations(names, 2))
    errors = errors or {}
    contrasts = [PairTest(a, b, 1.0, max(errors.get(a, 1.0), errors.get(b, 1.0)), 0.5) for a, b in pairs]
    return ranks(contrasts, [a if a + b in shown else None for a, b in pairs])


def test_where_each_is_shown_to_be_better_than_all_below_the_rank_counts_them() -> None:
    assert of("abcd", "ab", "ac", "ad", "bc", "bd", "cd") == {"a": 1, "b": 2, "c": 3, "d": 4}
    assert of("abcd", "ac", "bd", "ad") == {"a": 1, "b": 1, "c": 2, "d": 3}
    assert of("abc", "ab") == {"a": 1, "b": 1, "c": 1}, "c lies below b, and is not shown to be worse than a"


def test_what_is_known_half_as_well_has_no_rank_and_takes_none_from_others() -> None:
    assert of("abc", "ab", errors={"c": 1.3}) == {"a": 1, "b": 1, "c": 1}
    assert of("abc", "ab", errors={"c": 1.5}) == {"a": 1, "b": 2, "c": None}


def test_one_that_scores_better_and_fails_more_is_not_ranked_by_its_scores_alone() -> None:
    assert ranks([PairTest("a", "b", 1.0, 0.5, 0.04)], ["b"]) == {"a": 2, "b": 1}


def test_of_whom_nothing_is_known_has_no_rank() -> None:
    contrasts = [
        PairTest("a", "b", 1.0, 0.1, 0.01),
        PairTest("a", "c", None, None, None),
        PairTest("b", "c", None, None, None),
    ]
    assert ranks(contrasts, ["a", None, None]) == {"a": 1, "b": 2, "c": None}
    assert ranks([PairTest("a", "b", 0.0, None, None)], [None]) == {"a": 1, "b": 1}, "the same on all samples"


def test_what_is_corrected_is_corrected_for_pairs_and_tables_and_looks() -> None:
    contrasts = tuple(PairTest("a", "b", 1.0, 0.3, p) for p in (0.001, None, 0.02, 0.5))
    family = FamilyOfTests(contrasts, tables=2, looks=3)
    by_holm = holm([0.001, None, 0.02, 0.5])
    assert family.adjust_p_values() == [p if p is None else min(1.0, 6 * p) for p in by_holm]
    assert family.better() == ["a", None, None, None]
    assert FamilyOfTests(contrasts).better() == ["a", None, "a", None]
    assert family.correction == Correction(3, 2, 3)
    assert all(each in str(family.correction.words()) for each in ("3 comparisons", "2 tables", "3 looks"))


@given(st.lists(st.integers(1, 9), min_size=6, max_size=20), st.integers(0, 10**6))
def test_a_sum_over_clusters_is_as_sure_as_the_mean_that_it_is(sizes: list[int], seed: int) -> None:
    """Of unequal clusters, too: one contract."""
    chance = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    values = chance.normal(size=len(codes)) + chance.normal(size=len(sizes))[codes]
    mean = estimate(values, codes)
    parts = np.bincount(codes, values - values.mean()) / len(codes)
    total = linear_estimate(mean.value, parts, np.array(sizes) / len(codes))
    assert total.doubt == mean.doubt
    assert (total.standard_error, total.freedom, total.worth) == pytest.approx(
        (mean.standard_error, mean.freedom, mean.worth)
    )


def coins(seed: int, models: int, images: int, *, rounds: int = 1, winning: float = 0.0) -> list[Vote]:
    """Cycles of equal models, each pair in both orders, with what each image prefers; the first wins more often."""
    chance = np.random.default_rng(seed)
    votes = []
    for image in range(images):
        own = 0.7 * chance.normal(size=models) + winning * np.eye(models)[0]
        for _ in range(rounds):
            cycle = chance.permutation(models)
            for a, b in zip(cycle, np.roll(cycle, -1), strict=True):
                for left, right in ((a, b), (b, a)):
                    won = chance.random() < 1 / (1 + np.exp(own[right] - own[left]))
                    choice = "tie" if chance.random() < 0.1 else "left" if won else "right"
                    votes.append(Vote(str(image), f"m{left}", f"m{right}", choice, "j"))
    return votes


def fitted(votes: list[Vote], models: int, **more: int) -> Fit:
    return fit_strengths(votes, [f"m{place}" for place in range(models)], **more)


def test_a_better_one_is_found_and_ranked_before_all_others() -> None:
    rankings = [fitted(coins(seed, 6, 60, rounds=2, winning=1.2), 6).ranks for seed in range(20)]
    assert all(ranks["m0"] == 1 for ranks in rankings)
    assert sum(sum(rank is not None and rank > 1 for rank in ranks.values()) for ranks in rankings) > 50


def test_more_looks_and_more_tables_ask_for_more() -> None:
    votes = coins(1, 4, 60, winning=0.8)
    once = fitted(votes, 4).family.adjust_p_values()
    often = fitted(votes, 4, tables=2, looks=3).family.adjust_p_values()
    assert often == [min(1.0, 6 * p) for p in once if p is not None]
    assert fitted(votes, 4, looks=3).difference_interval(0, 1) != fitted(votes, 4).difference_interval(0, 1)
    assert fitted(votes, 4, tables=2).difference_interval(0, 1) == fitted(votes, 4).difference_interval(0, 1)


def test_one_image_with_half_of_the_votes_is_not_taken_for_one_of_many() -> None:
    """Every interval at .05 of such votes would miss in two of ten."""
    few = coins(3, 3, 21)
    votes = [Vote(vote.sample_id if int(vote.sample_id) > 10 else "0", *two(vote)) for vote in few for _ in range(1)]
    votes += [Vote("0", *two(vote)) for vote in coins(4, 3, 40)]
    fit = fitted(votes, 3)
    assert [test.p for test in fit.family.tests] == [None] * 3
    assert set(fit.ranks.values()) == {None}
    assert fit.doubt_of(0) == "too_uneven"


def two(vote: Vote) -> tuple[str, str, str, str]:
    return vote.left, vote.right, vote.choice, vote.rater
