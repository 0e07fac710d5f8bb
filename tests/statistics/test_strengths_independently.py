"""Strengths, errors, corrected tests and ranks, against an implementation that shares nothing with ours."""

from __future__ import annotations

import numpy as np
import pytest

from edit_eval.statistics.fitted_strengths import davidson, fit_strengths
from edit_eval.statistics.preferences import preferences
from edit_eval.statistics.votes import Vote
from independent_strengths import compared, davidsons_side, ranks

MODELS = ["a", "b", "c", "d", "e"]


def drawn(seed: int, sizes: list[int], apart: float, design: str, ties: float) -> list[tuple[str, str, str, float]]:
    """Votes in both orders on pairs of each sample: all, or a cycle; images have their own preferences."""
    chance = np.random.default_rng(seed)
    votes = []
    for image, size in enumerate(sizes):
        quality = apart * np.linspace(-1, 1, len(MODELS)) + 0.7 * chance.normal(size=len(MODELS))
        for _ in range(size):
            cycle = chance.permutation(len(MODELS))
            pairs = list(zip(cycle, np.roll(cycle, -1), strict=True))
            if design.startswith("all"):
                pairs = [(x, y) for x in range(len(MODELS)) for y in range(x)]
            for x, y in pairs:
                for left, right in ((x, y), (y, x)):
                    wins = 60 if design.endswith("wins") else 0
                    lead = quality[left] - quality[right] + 0.3 + wins * (int(left == 4) - int(right == 4))
                    won = float(chance.random() < 1 / (1 + np.exp(-lead)))
                    share = 0.5 if chance.random() < ties else won
                    votes.append((str(image), MODELS[left], MODELS[right], share))
    return votes


DESIGNS = [
    (1, [1] * 30, 0.0, "all", 0.1),
    (2, [1] * 40, 0.6, "cycle", 0.1),
    (3, [9, 6, 5, 4, 3, 3, 2, 2, 1, 1, 1, 1, 1], 0.5, "cycle", 0.3),
    (4, [2] * 20, 1.0, "all", 0.6),
    (5, [1] * 60, 0.8, "cycle", 0.0),
    (6, [1] * 20, 0.4, "all, the last wins", 0.0),
    (7, [2, 1] * 12, 0.3, "cycle, the last wins", 0.0),
]


@pytest.mark.parametrize(("seed", "sizes", "apart", "design", "ties"), DESIGNS)
def test_both_come_to_the_same(seed: int, sizes: list[int], apart: float, design: str, ties: float) -> None:
    told = drawn(seed, sizes, apart, design, ties)
    words = {1.0: "left", 0.0: "right", 0.5: "tie"}
    votes = [
        Vote(f"{n}", left, right, words[share], "j", cluster=image)
        for n, (image, left, right, share) in enumerate(told)
    ]
    strengths, rows = compared(told, MODELS)
    fit = fit_strengths(votes, MODELS)
    assert fit.strengths is not None
    assert fit.strengths == pytest.approx(strengths, abs=1e-6)
    document = preferences(votes, MODELS)
    for row, test, ours in zip(rows, fit.family.tests, document.differences, strict=True):
        assert (ours.a, ours.b) == row["pair"]
        estimate = fit.estimate(np.eye(5)[MODELS.index(ours.a)] - np.eye(5)[MODELS.index(ours.b)])
        assert estimate is not None
        assert (test.difference, test.error, estimate.freedom) == pytest.approx(
            (row["difference"], row["error"], row["freedom"]), rel=1e-5, abs=1e-6
        )
        assert (ours.p, ours.p_adjusted) == pytest.approx((row["p"], row["p_adjusted"]), rel=1e-4, abs=1e-7)
    assert {row.edit_model: row.rank for row in document.strengths} == ranks(strengths, rows, MODELS)


def test_a_side_is_worth_as_much() -> None:
    told = drawn(7, [1] * 8, 0.5, "all", 0.2)
    words = {1.0: "left", 0.0: "right", 0.5: "tie"}
    votes = [
        Vote(f"{n}", left, right, words[share], "j", cluster=image)
        for n, (image, left, right, share) in enumerate(told)
    ]
    assert davidson(votes, MODELS).side == pytest.approx(davidsons_side(told, MODELS), abs=1e-4)
