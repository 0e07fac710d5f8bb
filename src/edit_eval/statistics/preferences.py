"""Strengths of edit models from votes on pairs of edits, and their uncertainty.

The votes are people's, or those of a judge that was shown both edits in both orders (`statistics.battles`).

Bradley and Terry (Biometrika 39, 1952): a is preferred to b with the probability 1 / (1 + exp(s_b - s_a)). A tie, or
two equally bad edits, counts half for each, so that a strength says what share a model would get. Samples on which
judges disagree are not like the others, and raters who never tie are not those of Bradley and Terry: the result must
depend neither on which samples were asked about nor on which pairs. A vote therefore counts with the inverse of the
chance with which its sample was drawn (Horvitz and Thompson, JASA 47, 1952), and all votes on two models together count
as much as those on any other two. The strengths are those over all samples, every two models compared equally often.

A model that lost everything, or won everything, against the others has no finite strength. It gets the one that it
would have with one tie more between every two models that met, and no interval except one that is open on one side
against those that it met: of G images won by the same model, its share is above .025 ** (1 / G).

Also computed is Davidson's model (JASA 65, 1970), in which a tie is an outcome of its own, with the advantage of being
shown on the left. A penalty on strengths with mean 0 keeps it finite, so that no model's name or place plays a part.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from edit_eval.statistics.agreement import alpha
from edit_eval.statistics.instruments import voters_of
from edit_eval.statistics.intervals import (
    CONFIDENCE,
    BoolArray,
    FloatArray,
    IntArray,
    cluster_codes,
    sign_test,
    student_quantile,
    wilson_interval,
)
from edit_eval.statistics.people import SHARES, Vote

SIDE_LEVEL, SIDE_SHARE = 0.001, 0.8
"""A rater counts as always taking one side if his votes for left and right would be that unlikely by chance, and more
than that share of them are for one side: 58 % of 500 votes are as unlikely, but still say something about the edits."""
LEAST_KEPT = 0.7
"""Least share of the covariance over images that is kept after adding that of raters: simulated, intervals hold the
truth in 93 to 97 of 100 with 3, 8 and 20 raters, alike or not; with 0 in 92, with 1 in 98."""
LARGEST_STRENGTH = 8.0
"""Strengths beyond are not estimated: 3,000 to 1, which no number of votes by people can show."""
PENALTY = 0.01
"""Penalty in Davidson's model: half of it times the sum of squares is subtracted from the log-likelihood, as if
strengths and the effect of the side were drawn with a standard deviation of 10."""
UNBOUNDED = "unbounded"
ELO = 400 / math.log(10), 1000.0
"""Points of Elo's scale per logit, and its origin: another view of the same strengths."""


def told_apart(votes: Sequence[Vote], edit_models: Sequence[str], looks: int) -> bool:
    """True if every two edit models are told apart: no interval of a difference, at that many looks, holds 0."""
    fit, places = fit_strengths(votes, edit_models, looks=looks), range(len(edit_models))
    return all(
        (ends := fit.between(a, b)) is not None
        and ((ends[0] is not None and ends[0] > 0) or (ends[1] is not None and ends[1] < 0))
        for a, b in combinations(places, 2)
    )


def level(looks: int) -> float:
    """Returns the level at which the intervals of all looks together hold 95 % (Bonferroni; Dunn, JASA 56, 1961)."""
    return 1 - (1 - CONFIDENCE) / looks


def preferences(
    votes: Sequence[Vote],
    edit_models: Sequence[str],
    *,
    taken_in: Collection[str] = (),
    resamples: int = 1_000,
    looks: int = 1,
) -> dict[str, Any]:
    """Computes strengths with intervals, wins of every pair, habits of raters, and their agreement; plain data.

    `strengths` has for each edit model its `strength` (in logits, their mean 0), the same as `elo`, `ci95`, the `share`
    that it would get against the average of the others, and `rank` (1 + the number shown to be stronger); None with a
    reason in `no_ci95`: `no_votes`, `not_connected` (some models never met, directly or through others),
    `unbounded` (some won, or lost, everything against the others: their strengths are bounded by one tie more between
    every two), `few_clusters`. `differences` has the same for every two: `difference`, and `ci95`, where None is an
    open end. `davidson` has `ties` (the odds of a tie between two alike, against one of the two), `side` (the advantage
    of the left one, in logits) with `side_ci95`, and `strengths` in the order of the edit models; None if there are no
    strengths. Intervals are clustered on source images and on raters at once. A rater who always takes one side is
    `set_apart`, and in no number, unless he is `taken_in`. If the number of votes was open, and they were looked at up
    to `looks` times to decide it, all intervals are at `level(looks)`: `ci95` holds the truth in 95 of 100 whenever it
    ended.
    """
    raters = _raters(votes)
    apart = one_sided(votes) - set(taken_in)
    raters = [{**rater, "set_apart": rater["rater"] in apart} for rater in raters]
    of_all = [vote for vote in votes if vote.rater not in apart]
    counted = [vote for vote in of_all if vote.choice in SHARES]
    fit = fit_strengths(counted, edit_models, looks=looks)
    return {
        "schema": 1,
        "votes": len(counted),
        "skipped": len(of_all) - len(counted),
        "samples": len({vote.sample_id for vote in counted}),
        "strengths": [
            {
                "edit_model": model,
                "strength": (strength := fit.strength(place)),
                "elo": None if strength is None else ELO[1] + ELO[0] * strength,
                "share": fit.share(place),
                "ci95": fit.interval(_unit(len(edit_models), place)),
                "no_ci95": fit.doubt,
                "rank": fit.rank(place),
            }
            for place, model in enumerate(edit_models)
        ],
        "differences": [
            {
                "a": edit_models[a],
                "b": edit_models[b],
                **_counts(counted, edit_models[a], edit_models[b]),
                "difference": fit.difference(a, b),
                "ci95": fit.between(a, b),
            }
            for a, b in combinations(range(len(edit_models)), 2)
        ],
        "davidson": davidson(counted, edit_models, looks=looks) if fit.strengths is not None else None,
        "raters": raters,
        "agreement": _agreement(counted, resamples),
    }


@dataclass(frozen=True)
class Fit:
    """Strengths and the covariance of their errors."""

    strengths: FloatArray | None
    """Strength of each edit model, their mean 0; None if they cannot be estimated."""
    covariance: FloatArray
    freedom: float
    """Degrees of freedom of the covariance."""
    doubt: str | None
    """Why there are no strengths, or no interval; None if there are."""
    above: Mapping[tuple[int, int], float | None] = field(default_factory=dict)
    """For `unbounded` strengths: by how much a model at least is stronger than one that it won everything against;
    None if the two never met."""
    confidence: float = CONFIDENCE

    def strength(self, place: int) -> float | None:
        """Returns a strength in logits."""
        return None if self.strengths is None else float(self.strengths[place])

    def difference(self, a: int, b: int) -> float | None:
        """Returns a - b."""
        return None if self.strengths is None else float(self.strengths[a] - self.strengths[b])

    def share(self, place: int) -> float | None:
        """Returns the share of votes that it would get against all others, each met equally often."""
        if self.strengths is None or len(self.strengths) < 2:
            return None
        others = np.delete(self.strengths, place)
        return float(np.mean(1 / (1 + np.exp(others - self.strengths[place]))))

    def interval(self, contrast: FloatArray) -> list[float] | None:
        """Returns the interval of a contrast of strengths, at `confidence`; None if there is none."""
        return None if self.doubt else self._interval(contrast)

    def between(self, a: int, b: int) -> list[float | None] | None:
        """Returns the interval of the difference a - b, at `confidence`; None for an open end."""
        if (a, b) in self.above:
            return None if (least := self.above[a, b]) is None else [least, None]
        if (b, a) in self.above:
            return None if (least := self.above[b, a]) is None else [None, -least]
        if self.strengths is None or self.doubt not in (None, UNBOUNDED):
            return None
        ends = self._interval(_unit(len(self.strengths), a) - _unit(len(self.strengths), b))
        return None if ends is None else [*ends]

    def _interval(self, contrast: FloatArray) -> list[float] | None:
        if self.strengths is None:
            return None
        error = math.sqrt(max(0.0, float(contrast @ self.covariance @ contrast)))
        reach = student_quantile(0.5 + self.confidence / 2, self.freedom) * error
        value = float(contrast @ self.strengths)
        return [value - reach, value + reach]

    def rank(self, place: int) -> int | None:
        """Returns 1 + the number of models shown to be stronger."""
        if self.strengths is None or self.doubt not in (None, UNBOUNDED):
            return None
        of_others = (self.between(one, place) for one in range(len(self.strengths)) if one != place)
        return 1 + sum(1 for ends in of_others if ends and ends[0] is not None and ends[0] > 0)


def fit_strengths(votes: Sequence[Vote], edit_models: Sequence[str], *, looks: int = 1) -> Fit:
    """Fits strengths by maximum likelihood to weighted votes, every two models counting alike.

    The covariance is the sandwich with two kinds of crossed clusters, source images and raters (Cameron, Gelbach and
    Miller, JBES 29, 2011): that of images, plus the addition of raters. Each is corrected for bias by G / (G - 1); the
    degrees of freedom are Satterthwaite's. With one rater they are that rater's strengths, and say nothing about other
    people. Its intervals are at `level(looks)`.
    """
    count, confidence = len(edit_models), level(looks)
    nothing = np.zeros((count, count))
    if not votes:
        return Fit(None, nothing, 0.0, "no_votes")
    place = {model: number for number, model in enumerate(edit_models)}
    left = np.array([place[vote.left] for vote in votes])
    right = np.array([place[vote.right] for vote in votes])
    shares = np.array([vote.left_gets for vote in votes])
    images = cluster_codes([vote.group for vote in votes])
    weights = _alike(left, right, np.array([vote.weight for vote in votes]), count)
    if not _reached(left, right, np.full(len(left), 0.5), count).all():
        return Fit(None, nothing, 0.0, "not_connected")
    beats = _reached(left, right, shares, count)
    total, won = _table(left, right, shares, weights, count)
    bounded = not beats.all()
    if not bounded:
        strengths, information = newton(total, won)
        bounded = bool(np.abs(strengths).max() > LARGEST_STRENGTH)
    if bounded:
        # One tie more between every two models that met keeps the strengths finite.
        met = (total > 0) * float(np.mean(weights))
        strengths, information = newton(total + met, won + met / 2)
    design = np.zeros((len(votes), count))
    design[np.arange(len(votes)), left] += 1
    design[np.arange(len(votes)), right] -= 1
    residuals = weights * (shares - 1 / (1 + np.exp(-(strengths[left] - strengths[right]))))
    scores = (design * residuals[:, None]) @ np.linalg.pinv(information)
    raters = cluster_codes([vote.rater for vote in votes])
    of_images, groups = _clustered(scores, images)
    covariance, freedom = of_images, groups - 1.0
    if groups < 3:
        return Fit(strengths, covariance, max(freedom, 0.0), "few_clusters")
    of_raters, persons = _clustered(scores, raters)
    if persons > 1:
        cells, _ = _clustered(scores, raters * (int(images.max()) + 1) + images)
        added = of_raters - cells  # the cells of image and rater are in both sums
        covariance = _no_less(of_images + added, LEAST_KEPT * of_images)
        own, theirs = float(np.trace(of_images)), float(np.trace(covariance - of_images))
        freedom = (own + theirs) ** 2 / (own**2 / (groups - 1) + theirs**2 / (persons - 1))
    if not bounded:
        return Fit(strengths, covariance, freedom, None, confidence=confidence)
    apart = [(a, b) for a in range(count) for b in range(count) if beats[a, b] and not beats[b, a]]
    above = {(a, b): _least(images[_met(left, right, a, b)], confidence) for a, b in apart}
    return Fit(strengths, covariance, freedom, UNBOUNDED, above, confidence)


def _met(left: IntArray, right: IntArray, a: int, b: int) -> BoolArray:
    """Selects the votes between these two."""
    return np.asarray(((left == a) & (right == b)) | ((left == b) & (right == a)))


def _least(images: IntArray, confidence: float) -> float | None:
    """Returns how much stronger, in logits, the winner on all these images is at least; None for no image."""
    if not len(images):
        return None
    share = ((1 - confidence) / 2) ** (1 / len(np.unique(images)))
    return math.log(share / (1 - share))


def davidson(votes: Sequence[Vote], edit_models: Sequence[str], *, looks: int = 1) -> dict[str, Any]:
    """Fits Davidson's model with an effect of the side (see `preferences`); votes count by their weights.

    The log-odds of left against right are a - b + side; a tie is `ties` times as likely as the geometric mean of the
    two. Without any tie `ties` is 0, and it is Bradley and Terry's model with an effect of the side.
    """
    count = len(edit_models)
    place = {model: number for number, model in enumerate(edit_models)}
    left = np.array([place[vote.left] for vote in votes])
    right = np.array([place[vote.right] for vote in votes])
    weights = np.array([vote.weight for vote in votes])
    tie = np.array([vote.tie for vote in votes])
    won = np.array([vote.left_gets for vote in votes]) - tie / 2
    has_ties = bool(tie.any())
    design = np.zeros((len(votes), count + 1))  # derivatives of the log-odds: strengths, and the side
    rows = np.arange(len(votes))
    design[rows, left] += 1
    design[rows, right] -= 1
    design[:, count] = 1
    penalty = np.diag(np.full(count + 1, PENALTY))
    beta, odds = np.zeros(count + 1), 0.0  # log-odds of a tie
    for _ in range(100):
        apart = design @ beta
        first, second = np.exp(apart / 2), np.exp(-apart / 2)
        third = np.full(len(votes), math.exp(odds) if has_ties else 0.0)
        together = first + second + third
        first, second, third = first / together, second / together, third / together
        of_difference = ((won - (1 - won - tie)) - (first - second)) / 2
        of_tie = tie - third
        scores = np.column_stack([design * (weights * of_difference)[:, None], weights * of_tie])
        spread = (first + second - (first - second) ** 2) / 4
        cross = -third * (first - second) / 2
        information = np.zeros((count + 2, count + 2))
        information[:-1, :-1] = design.T @ (design * (weights * spread)[:, None]) + penalty
        information[:-1, -1] = information[-1, :-1] = design.T @ (weights * cross)
        information[-1, -1] = float(weights @ (third * (1 - third))) if has_ties else 1.0
        step = np.linalg.solve(information, np.append(scores.sum(axis=0)[:-1] - PENALTY * beta, scores[:, -1].sum()))
        if not has_ties:
            step[-1] = 0.0
        step *= min(1.0, 2.0 / max(1e-12, float(np.abs(step).max())))
        beta, odds = beta + step[:-1], odds + float(step[-1])
        if np.abs(step).max() < 1e-10:
            break
    of_images, groups = _clustered(scores @ np.linalg.inv(information), cluster_codes([vote.group for vote in votes]))
    side = float(beta[count])
    quantile = student_quantile(0.5 + level(looks) / 2, groups - 1) if groups > 2 else 0
    reach = quantile * math.sqrt(of_images[count, count])
    strengths = beta[:count] - beta[:count].mean()
    return {
        "ties": math.exp(odds) if has_ties else 0.0,
        "side": side,
        "side_ci95": [side - reach, side + reach] if reach else None,
        "strengths": [float(one) for one in strengths],
    }


def _alike(left: IntArray, right: IntArray, weights: FloatArray, count: int) -> FloatArray:
    """Scales the weights so that every two models have the same sum; the total stays."""
    pairs = np.minimum(left, right) * count + np.maximum(left, right)
    sums = np.bincount(pairs, weights)
    return np.asarray(weights * (weights.sum() / np.count_nonzero(sums) / sums[pairs]))


def _table(
    left: IntArray, right: IntArray, shares: FloatArray, weights: FloatArray, count: int
) -> tuple[FloatArray, FloatArray]:
    """Returns, for each two models in both orders, the weight of their votes and the first one's part of it."""
    cells = left * count + right
    total = np.bincount(cells, weights, count * count).reshape(count, count)
    won = np.bincount(cells, weights * shares, count * count).reshape(count, count)
    return np.asarray(total + total.T, np.float64), np.asarray(won + (total.T - won.T), np.float64)


def newton(total: FloatArray, won: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Returns the maximum likelihood strengths of a table, their mean 0, and the information about them."""
    strengths = np.zeros(len(total))
    information = np.zeros_like(total)
    for _ in range(50):
        expected = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
        curvature = total * expected * (1 - expected)
        information = np.diag(curvature.sum(axis=1)) - curvature
        step = np.linalg.pinv(information) @ (won - total * expected).sum(axis=1)
        step *= min(1.0, 2.0 / max(1e-12, float(np.abs(step).max())))
        strengths = strengths + step
        if np.abs(step).max() < 1e-9 or np.abs(strengths).max() > 2 * LARGEST_STRENGTH:
            break
    return strengths - strengths.mean(), information


def _clustered(scores: FloatArray, clusters: IntArray) -> tuple[FloatArray, int]:
    """Returns the sum over clusters of squared sums, times G / (G - 1); and G."""
    _, codes = np.unique(clusters, return_inverse=True)
    groups = int(codes.max()) + 1
    sums = np.stack([np.bincount(codes, column, groups) for column in scores.T], axis=1)
    return np.asarray(sums.T @ sums * (groups / max(1, groups - 1))), groups


def _no_less(covariance: FloatArray, least: FloatArray) -> FloatArray:
    """Returns the covariance, nowhere below another: the addition of raters is estimated, and may be negative."""
    values, vectors = np.linalg.eigh(covariance - least)
    return np.asarray(least + (vectors * np.maximum(values, 0.0)) @ vectors.T)


def _reached(left: IntArray, right: IntArray, shares: FloatArray, count: int) -> BoolArray:
    """Returns which model got something against which other, directly or in a chain (Ford, AMM 64, 1957)."""
    beats = np.eye(count, dtype=bool)
    beats[left[shares > 0], right[shares > 0]] = True
    beats[right[shares < 1], left[shares < 1]] = True
    for middle in range(count):
        beats |= beats[:, [middle]] & beats[[middle], :]
    return beats


def _unit(count: int, place: int) -> FloatArray:
    found = np.zeros(count)
    found[place] = 1.0
    return found


def _counts(votes: Sequence[Vote], a: str, b: str) -> dict[str, int]:
    """Counts how often a was preferred, b was, neither was, and both were bad."""
    found = Counter[str]()
    for vote in votes:
        if {vote.left, vote.right} == {a, b}:
            side = {"left": vote.left, "right": vote.right}.get(vote.choice)
            found[
                "tie" if vote.choice == "tie" else "both_bad" if side is None else "wins" if side == a else "losses"
            ] += 1
    return {name: found[name] for name in ("wins", "tie", "both_bad", "losses")}


def one_sided(votes: Sequence[Vote]) -> set[str]:
    """Returns the raters who always take one side: their votes say nothing, as sides are drawn at random."""
    return {rater["rater"] for rater in _raters(votes) if rater["side"]}


def _raters(votes: Sequence[Vote]) -> list[dict[str, Any]]:
    of: dict[str, list[Vote]] = defaultdict(list)
    for vote in votes:
        of[vote.rater].append(vote)
    return [_rater(name, of[name]) for name in sorted(of)]


def _rater(name: str, votes: Sequence[Vote]) -> dict[str, Any]:
    """Returns `votes`, `skipped`, the share of `left` among those for a side, and `side`: the one always taken."""
    of = Counter(vote.choice for vote in votes)
    sides = of["left"] + of["right"]
    most = max(of["left"], of["right"])
    one_sided = most > SIDE_SHARE * sides and sign_test(of["left"], of["right"]) <= SIDE_LEVEL
    return {
        "rater": name,
        "votes": sum(of[choice] for choice in SHARES),
        "skipped": of["skip"],
        "ties": of["tie"],
        "both_bad": of["both_bad"],
        "left": of["left"] / sides if sides else None,
        "left_ci95": wilson_interval(of["left"], sides),
        "side": None if not one_sided else "left" if of["left"] == most else "right",
    }


def _agreement(votes: Sequence[Vote], resamples: int) -> dict[str, Any] | None:
    """Computes Krippendorff's alpha (ordinal) between raters, over pairs with two votes or more; None for one rater.

    With `identical`, the share of two raters' votes on one pair that are the same: preferred, neither, the other.
    """
    raters = voters_of(votes)
    if len(raters) < 2:
        return None
    images = {vote.sample_id: vote.group for vote in votes}
    found = alpha(raters, images.__getitem__, resamples)
    same = [
        one.values[pair] == other.values[pair]
        for one, other in combinations(raters, 2)
        for pair in one.answers.keys() & other.answers.keys()
    ]
    return {
        "raters": len(raters),
        "pairs": found["edits"],
        "identical": sum(same) / len(same) if same else None,
        "alpha": found["alpha"],
        "ci95": found["ci95"],
    }


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
        total, won = _table(left, right, shares, np.ones(len(counted)), count)
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
        one, other = sorted((self._models.index(a), self._models.index(b)))
        self._votes[(self._a == one) & (self._b == other)] += 1

    def order(self) -> list[tuple[str, str]]:
        """Returns every two edit models, those first about which another vote tells most."""
        from scipy.special import ndtr

        off = 1 / self._votes - 1 / (self._votes + 1)
        blindly = self._of_strengths.sum(axis=1) * len(self._votes) / self._votes.sum()
        worse = (self._of_strengths / self._votes).sum(axis=1) / blindly
        told = (worse**EVENLY / blindly) @ (self._of_strengths * off)
        variance = (self._of_differences / self._votes).sum(axis=1)
        doubt = ndtr(-self._apart / np.sqrt(variance))
        told = told + CLOSE * (doubt / variance) @ (self._of_differences * off)
        told[self._votes < EVEN_SHARE * self._votes.mean()] = np.inf
        return [(self._models[self._a[k]], self._models[self._b[k]]) for k in np.argsort(-told, kind="stable")]


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
