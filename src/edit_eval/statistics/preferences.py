"""What votes on pairs of edits come to: strengths, wins, raters and their agreement; and which pair to ask about next.

The votes are people's, or those of a judge that was shown both edits in both orders (`statistics.battles`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from itertools import combinations

import msgspec
import numpy as np

from edit_eval.statistics.fitted_strengths import ELO, NO_FIT, davidson, fit_strengths, newton, table_of_pairs, unit
from edit_eval.statistics.intervals import FloatArray, IntArray, sign_test, wilson_interval
from edit_eval.statistics.ordinal import alpha
from edit_eval.statistics.raters import voters_of
from edit_eval.statistics.strengths import Preferences, RankedStrength, RaterAgreement, StrengthDifference, Voter
from edit_eval.statistics.votes import SHARES, Vote

SIDE_LEVEL, SIDE_SHARE = 0.001, 0.8
"""A rater counts as always taking one side if his votes for left and right would be that unlikely by chance, and more
than that share of them are for one side: 58 % of 500 votes are as unlikely, but still say something about the edits."""


def preferences(
    votes: Sequence[Vote],
    edit_models: Sequence[str],
    *,
    taken_in: Collection[str] = (),
    resamples: int = 1_000,
    tables: int = 1,
    looks: int = 1,
) -> Preferences:
    """Computes strengths with intervals, wins of every pair, habits of raters, and their agreement.

    Intervals are clustered on source images and on raters at once. `tables` of the same models stand beside each other,
    and p is corrected for them, too. A rater who always takes one side is set apart, and in no number, unless he is
    `taken_in`. If the number of votes was open, and they were looked at up to `looks` times to decide it, all intervals
    are at `level(looks)`: `ci95` holds the truth in 95 of 100 whenever it ended.
    """
    raters = _raters(votes)
    apart = one_sided(votes) - set(taken_in)
    of_all = [vote for vote in votes if vote.rater not in apart]
    counted = [vote for vote in of_all if vote.choice in SHARES]
    fit = fit_strengths(counted, edit_models, tables=tables, looks=looks)
    fits, all_ties = fit.doubt not in NO_FIT, all(vote.tie == 1 for vote in counted)  # odds of a tie without bound
    tests = zip(fit.family.tests, fit.family.adjust_p_values(), fit.family.better(), strict=True)
    return Preferences(
        votes=len(counted),
        skipped=len(of_all) - len(counted),
        samples=len({vote.sample_id for vote in counted}),
        strengths=[
            RankedStrength(
                edit_model=model,
                strength=(strength := fit.strength(place)),
                elo=None if strength is None else ELO[1] + ELO[0] * strength,
                share=fit.share(place),
                ci95=fit.interval(unit(len(edit_models), place)),
                no_ci95=fit.doubt_of(place),
                rank=fit.ranks[model],
            )
            for place, model in enumerate(edit_models)
        ],
        differences=[
            StrengthDifference(
                a=edit_models[a],
                b=edit_models[b],
                **_counts(counted, edit_models[a], edit_models[b]),
                difference=fit.difference(a, b),
                ci95=fit.difference_interval(a, b),
                p=test.p,
                p_adjusted=adjusted,
                better=better,
            )
            for (a, b), (test, adjusted, better) in zip(combinations(range(len(edit_models)), 2), tests, strict=True)
        ],
        family=fit.family.correction,
        davidson=davidson(counted, edit_models, looks=looks) if fits and not all_ties else None,
        raters=[msgspec.structs.replace(rater, set_apart=rater.rater in apart) for rater in raters],
        agreement=_agreement(counted, resamples),
    )


def _counts(votes: Sequence[Vote], a: str, b: str) -> dict[str, int]:
    """Counts how often a was preferred, b was, neither was, and both were bad."""
    counts = Counter[str]()
    for vote in votes:
        if {vote.left, vote.right} == {a, b}:
            side = {"left": vote.left, "right": vote.right}.get(vote.choice)
            counts[
                "tie" if vote.choice == "tie" else "both_bad" if side is None else "wins" if side == a else "losses"
            ] += 1
    return {name: counts[name] for name in ("wins", "tie", "both_bad", "losses")}


def one_sided(votes: Sequence[Vote]) -> set[str]:
    """Returns the raters who always take one side: their votes say nothing, as sides are drawn at random."""
    return {rater.rater for rater in _raters(votes) if rater.side}


def _raters(votes: Sequence[Vote]) -> list[Voter]:
    of: dict[str, list[Vote]] = defaultdict(list)
    for vote in votes:
        of[vote.rater].append(vote)
    return [_rater(name, of[name]) for name in sorted(of)]


def _rater(name: str, votes: Sequence[Vote]) -> Voter:
    of = Counter(vote.choice for vote in votes)
    sides = of["left"] + of["right"]
    most = max(of["left"], of["right"])
    one_sided = most > SIDE_SHARE * sides and sign_test(of["left"], of["right"]) <= SIDE_LEVEL
    return Voter(
        rater=name,
        votes=sum(of[choice] for choice in SHARES),
        skipped=of["skip"],
        ties=of["tie"],
        both_bad=of["both_bad"],
        left=of["left"] / sides if sides else None,
        left_ci95=wilson_interval(of["left"], sides),
        side=None if not one_sided else "left" if of["left"] == most else "right",
    )


def _agreement(votes: Sequence[Vote], resamples: int) -> RaterAgreement | None:
    """Computes Krippendorff's alpha (ordinal) between raters, over pairs with two votes or more; None for one rater."""
    raters = voters_of(votes)
    if len(raters) < 2:
        return None
    images = {vote.sample_id: vote.group for vote in votes}
    agreement = alpha(raters, images.__getitem__, resamples)
    same = [
        first.values[pair] == second.values[pair]
        for first, second in combinations(raters, 2)
        for pair in first.answers.keys() & second.answers.keys()
    ]
    return RaterAgreement(
        raters=len(raters),
        pairs=agreement.edits,
        identical=sum(same) / len(same) if same else None,
        alpha=agreement.alpha,
        ci95=agreement.ci95,
    )


# -- choice of the next pair --


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
