"""Which two edits somebody is shown next, from the votes so far."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from edit_eval.statistics.fitted_strengths import newton, table_of_pairs
from edit_eval.statistics.intervals import FloatArray, IntArray
from edit_eval.statistics.votes import SHARES, Vote

BLIND_SHARE = 0.3
"""Share of samples that are drawn blindly, so that none has a large weight."""


EVEN_SHARE = 0.85
"""Share of an even number of votes that every two models get regardless of their information, which is itself
estimated."""


SHARED = 0.2
"""Share of pairs that another rater has voted on too, if there are several: for their agreement."""


EVENLY = 6
"""Exponent by which strengths less certain than with blindly drawn pairs come first."""


CLOSE = 0.3
"""Weight of the order of two models, relative to the strengths."""


class PairChoice:
    """Chooses the next two edit models to ask about, from the votes so far.

    The variance of strength i is a sum over pairs of models k, b_ik / n_k with n_k votes, from which follows by how
    much another vote on each would reduce it (Neyman, JRSS 97, 1934). Every strength counts relative to its variance if
    all pairs had as many votes, to the power `EVENLY` of how much worse it is: so each is at least as certain as with
    pairs drawn blindly. The difference of every two models counts too, by `CLOSE` times the chance that they are in the
    wrong order. There is little to gain for all strengths at once: an even number of votes is close to the best.
    """

    def __init__(self, votes: Sequence[Vote], edit_models: Sequence[str]) -> None:
        count = len(edit_models)
        self._models = tuple(edit_models)
        self._a, self._b = np.array(list(combinations(range(count), 2))).T
        place = {model: number for number, model in enumerate(edit_models)}
        counted = [vote for vote in votes if vote.choice in SHARES]
        left = np.array([place[vote.left] for vote in counted], dtype=np.int64)
        right = np.array([place[vote.right] for vote in counted], dtype=np.int64)
        shares = np.array([SHARES[vote.choice] for vote in counted])
        total, won = table_of_pairs(left, right, shares, np.ones(len(counted)), count)
        # As if each had won one of two against each other, which keeps every strength finite.
        others = 1 - np.eye(count)
        strengths, _ = newton(total + others, won + 0.5 * others)
        self._votes = total[self._a, self._b] + 0.5
        pairs = np.arange(len(self._a))
        design = np.zeros((len(pairs), count))
        design[pairs, self._a], design[pairs, self._b] = 1, -1
        expected = 1 / (1 + np.exp(strengths[self._b] - strengths[self._a]))
        of_a_vote = expected * (1 - expected)
        reach = np.linalg.pinv((design.T * of_a_vote) @ design) @ design.T
        self._of_strengths = of_a_vote * reach**2
        self._of_differences = of_a_vote * (reach[self._a] - reach[self._b]) ** 2
        self._apart = np.abs(strengths[self._a] - strengths[self._b])

    def plan(self, a: str, b: str) -> None:
        """Counts a vote on these two that is still to come."""
        first, second = sorted((self._models.index(a), self._models.index(b)))
        self._votes[(self._a == first) & (self._b == second)] += 1

    def order(self) -> list[tuple[str, str]]:
        """Returns every two edit models, those first about which another vote tells most."""
        from scipy.special import ndtr

        off = 1 / self._votes - 1 / (self._votes + 1)
        blindly = self._of_strengths.sum(axis=1) * len(self._votes) / self._votes.sum()
        worse = (self._of_strengths / self._votes).sum(axis=1) / blindly
        gain = (worse**EVENLY / blindly) @ (self._of_strengths * off)
        variance = (self._of_differences / self._votes).sum(axis=1)
        doubt = ndtr(-self._apart / np.sqrt(variance))
        gain = gain + CLOSE * (doubt / variance) @ (self._of_differences * off)
        gain[self._votes < EVEN_SHARE * self._votes.mean()] = np.inf
        return [(self._models[self._a[k]], self._models[self._b[k]]) for k in np.argsort(-gain, kind="stable")]


def sample_chances(disagreement: FloatArray) -> FloatArray:
    """Returns each sample's chance to be asked about: a share blindly, the rest by disagreement between judges.

    `disagreement`: of each sample, 0 to 1. The most disputed sample comes at most half as often again as the least:
    weights that differ more would make intervals wider than blind votes do.
    """
    wanted = 1 + 0.7 * np.asarray(disagreement, dtype=np.float64)
    return np.asarray(BLIND_SHARE / len(wanted) + (1 - BLIND_SHARE) * wanted / wanted.sum())


def sample_order(asked: FloatArray, chances: FloatArray, phases: FloatArray) -> IntArray:
    """Returns samples in the order in which they are due, so that none is asked about again long before all others.

    `asked`: how often each was; `phases`: for each a fixed random number from 0 to 1 (Ohlsson, Journal of Official
    Statistics 14, 1998, repeated). Each comes as often as its chance says; votes on the same image tell less than
    votes that are spread.
    """
    return np.argsort((asked + phases) / chances, kind="stable")
