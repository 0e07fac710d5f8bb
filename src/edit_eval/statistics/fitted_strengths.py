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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations

import numpy as np

from edit_eval.statistics.families import FamilyOfTests, PairTest, ranks
from edit_eval.statistics.intervals import (
    CONFIDENCE,
    FEWEST_CLUSTERS,
    BoolArray,
    Estimate,
    FloatArray,
    IntArray,
    cluster_codes,
    linear_estimate,
)
from edit_eval.statistics.strengths import Davidson
from edit_eval.statistics.votes import SHARES, Vote

LEAST_KEPT = 0.7
"""Least share of the variance over images that is kept after adding that of raters: simulated, intervals hold the
truth in 93 to 97 of 100 with 3, 8 and 20 raters, alike or not; with 0 in 92, with 1 in 98."""
LARGEST_STRENGTH = 8.0
"""Strengths beyond are not estimated: 3,000 to 1, which no number of votes by people can show."""
PENALTY = 0.01
"""Penalty in Davidson's model: half of it times the sum of squares is subtracted from the log-likelihood, as if
strengths and the effect of the side were drawn with a standard deviation of 10."""
UNBOUNDED = "unbounded"
NO_FIT = ("no_votes", "not_connected")
"""Doubts with which no model of votes can be fitted."""
ELO = 400 / math.log(10), 1000.0
"""Points of Elo's scale per logit, and its origin: another view of the same strengths."""


def all_differ(votes: Sequence[Vote], edit_models: Sequence[str], tables: int, looks: int) -> bool:
    """True if every two edit models are told apart, corrected for all pairs, tables and looks (`FamilyOfTests`)."""
    return fit_strengths(votes, edit_models, tables=tables, looks=looks).family.all_differ()


def level(looks: int) -> float:
    """Returns the level at which the intervals of all looks together hold 95 % (Bonferroni; Dunn, JASA 56, 1961)."""
    return 1 - (1 - CONFIDENCE) / looks


@dataclass(frozen=True)
class Fit:
    """Strengths, and all that their uncertainty is made of."""

    edit_models: Sequence[str]
    doubt: str | None
    """Why there are no strengths, or no interval; None if there are."""
    strengths: FloatArray | None = None
    """Strength of each edit model, their mean 0; None if they cannot be estimated."""
    errors: Errors | None = None
    above: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """For `unbounded` strengths: the models of which one got everything against the other, directly or in a chain, and
    on how many images; 0 if the two never met."""
    tables: int = 1
    looks: int = 1

    @property
    def confidence(self) -> float:
        """Of every interval: see `level`."""
        return level(self.looks)

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

    def estimate(self, contrast: FloatArray) -> Estimate | None:
        """Estimates a contrast of strengths; None if there are none, or nothing is known of their errors."""
        if self.strengths is None or self.errors is None:
            return None
        return self.errors.estimate_contrast(float(contrast @ self.strengths), contrast)

    def interval(self, contrast: FloatArray) -> list[float | None] | None:
        """Returns the interval of a contrast of strengths, at `confidence`; None if there is none."""
        estimate = None if self.doubt else self.estimate(contrast)
        ends = None if estimate is None else estimate.interval(confidence=self.confidence)
        return None if ends is None else [*ends]

    def doubt_of(self, place: int) -> str | None:
        """Returns why a strength has no interval; None if it has one."""
        estimate = self.estimate(unit(len(self.edit_models), place))
        return self.doubt or (None if estimate is None else estimate.doubt)

    def difference_interval(self, a: int, b: int) -> list[float | None] | None:
        """Returns the interval of the difference a - b, at `confidence`; None for an open end."""
        tail = (1 - self.confidence) / 2
        if (a, b) in self.above:
            return None if not (images := self.above[a, b]) else [_least(tail, images), None]
        if (b, a) in self.above:
            return None if not (images := self.above[b, a]) else [None, -_least(tail, images)]
        ends = estimate.interval(confidence=self.confidence) if (estimate := self._estimate_difference(a, b)) else None
        return None if ends is None else [*ends]

    def p_value(self, a: int, b: int) -> float | None:
        """Returns the two-sided p of "both are as strong"; None if it cannot be tested.

        Of two of which one won every image it is the exact sign test's, 2 / 2^G: below .05 where `between` is above 0.
        """
        if images := self.above.get((a, b), self.above.get((b, a))):
            return min(1.0, 2.0 ** (1 - images))
        return None if images == 0 or (estimate := self._estimate_difference(a, b)) is None else estimate.p_value()

    def _error(self, a: int, b: int) -> float | None:
        estimate = self._estimate_difference(a, b)
        return None if estimate is None or estimate.doubt else estimate.standard_error

    def _estimate_difference(self, a: int, b: int) -> Estimate | None:
        if self.doubt not in (None, UNBOUNDED):
            return None
        return self.estimate(unit(len(self.edit_models), a) - unit(len(self.edit_models), b))

    @cached_property
    def family(self) -> FamilyOfTests:
        """The tests of every two, in the order of `combinations`."""
        names = self.edit_models
        return FamilyOfTests(
            tuple(
                PairTest(names[a], names[b], None if p is None else self.difference(a, b), self._error(a, b), p)
                for a, b in combinations(range(len(names)), 2)
                for p in [self.p_value(a, b)]
            ),
            tables=self.tables,
            looks=self.looks,
        )

    @cached_property
    def ranks(self) -> Mapping[str, int | None]:
        """The rank of each edit model by the whole family; None where nothing is known."""
        return dict.fromkeys(self.edit_models) | ranks(self.family.tests, self.family.better())


@dataclass(frozen=True)
class Errors:
    """What images, and raters, add to the errors of strengths."""

    inverse: FloatArray
    """Of the information: models x models."""
    scores: FloatArray
    """Of each image, the sum of its votes' derivatives: images x models."""
    information: FloatArray
    """Of each image about each pair of models: images x pairs, in the order of `combinations`."""
    raters: int
    added: FloatArray
    """Covariance that differences between raters add to that of images; zeros for one rater."""

    def estimate_contrast(self, value: float, contrast: FloatArray) -> Estimate:
        """Estimates a contrast: the error by images as that of any mean, and what raters add."""
        reach = self.inverse @ contrast
        a, b = np.triu_indices(len(reach), 1)
        estimate = linear_estimate(value, self.scores @ reach, self.information @ (reach[a] - reach[b]) ** 2)
        if self.raters < 2 or estimate.doubt:
            return estimate
        own = estimate.standard_error**2
        square = max(LEAST_KEPT * own, own + float(contrast @ self.added @ contrast))
        theirs = square - own
        return replace(
            estimate,
            standard_error=math.sqrt(square),
            freedom=square**2 / (own**2 / estimate.freedom + theirs**2 / (self.raters - 1)),
        )


def settle_pairs(votes: Sequence[Vote], edit_models: Sequence[str]) -> tuple[int, int]:
    """Counts the pairs of edit models, and those of which the votes show an order, corrected for all pairs."""
    family = fit_strengths([vote for vote in votes if vote.choice in SHARES], edit_models).family
    return len(family.tests), sum(better is not None for better in family.better())


def fit_strengths(votes: Sequence[Vote], edit_models: Sequence[str], *, tables: int = 1, looks: int = 1) -> Fit:
    """Fits strengths by maximum likelihood to weighted votes, every two models counting alike.

    With w_i a vote's weight, y_i the left one's share, q_i = 1 / (1 + exp(s_r - s_l)), x_i the vector with 1 for the
    left model and -1 for the right one, c a contrast, and I = sum_i w_i q_i (1 - q_i) x_i x_i': image g adds to the
    error of c's, and knows of it, the parts

        u_g = sum_(i in g) w_i (y_i - q_i) x_i' I^+ c
        a_g = sum_(i in g) w_i q_i (1 - q_i) (x_i' I^+ c)^2 / (c' I^+ c)

    from which follow error, degrees of freedom, interval and p as of a mean (`intervals.linear_estimate`). Votes of
    several raters are clustered in two crossed ways, by image and by rater (Cameron, Gelbach and Miller, JBES 29,
    2011): what raters add is the sum over raters less that over cells of both, each times G / (G - 1), and the degrees
    of freedom are Satterthwaite's. With one rater they are that rater's strengths, and say nothing about other people.

    There is no interval with fewer than `FEWEST_CLUSTERS` images (`few_images`), nor if that many have no vote that
    says something (`few_preferences`); no strength if none has (`no_preference`): a judge that contradicts itself on
    every pair is not known to find all alike. Tests are corrected over all pairs, `tables`
    and `looks` (`FamilyOfTests`).
    """
    models = tuple(edit_models)
    count = len(models)
    fit = partial(Fit, models, tables=tables, looks=looks)
    if not votes:
        return fit("no_votes")
    place = {model: number for number, model in enumerate(models)}
    left = np.array([place[vote.left] for vote in votes])
    right = np.array([place[vote.right] for vote in votes])
    shares = np.array([vote.share_of_left for vote in votes])
    images = cluster_codes([vote.group for vote in votes])
    raters = cluster_codes([vote.rater for vote in votes])
    weights = _alike(left, right, np.array([vote.weight for vote in votes]), count)
    if not _find_reachable(left, right, np.full(len(left), 0.5), count).all():
        return fit("not_connected")
    telling = _count_decisive_images(left, right, weights * (shares - 0.5), images, count)
    if not telling:
        return fit("no_preference")
    beats = _find_reachable(left, right, shares, count)
    total, won = table_of_pairs(left, right, shares, weights, count)
    strengths, ties = np.zeros(count), np.zeros((count, count))
    bounded = bool(beats.all())
    if bounded:
        strengths, _ = newton(total, won)
        bounded = bool(np.abs(strengths).max() <= LARGEST_STRENGTH)
    if not bounded:
        # One tie more between every two models that met keeps the strengths finite.
        ties = np.where(total > 0, float(np.mean(weights)), 0.0)
        strengths, _ = newton(total + ties, won + ties / 2)
    expected = 1 / (1 + np.exp(-(strengths[left] - strengths[right])))
    residuals, known = weights * (shares - expected), weights * expected * (1 - expected)
    chances = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
    errors = _errors(left, right, residuals, known, images, raters, ties * chances * (1 - chances))
    fit = partial(fit, strengths=strengths, errors=errors)
    if int(np.unique(images).size) < FEWEST_CLUSTERS:
        return fit("few_images")
    if bounded:
        return fit(None if telling >= FEWEST_CLUSTERS else "few_preferences")
    apart = [(a, b) for a in range(count) for b in range(count) if beats[a, b] and not beats[b, a]]
    return fit(UNBOUNDED, above={(a, b): len(np.unique(images[_met(left, right, a, b)])) for a, b in apart})


def _count_decisive_images(left: IntArray, right: IntArray, leanings: FloatArray, images: IntArray, count: int) -> int:
    """Returns on how many images the votes on some pair of models lean to one of the two."""
    turned = np.where(left < right, leanings, -leanings)
    cells = (images * count + np.minimum(left, right)) * count + np.maximum(left, right)
    sums = np.bincount(cells, turned)
    size = np.bincount(cells, np.abs(leanings))
    return len(np.unique(np.flatnonzero(np.abs(sums) > 1e-9 * (size + 1e-300)) // count**2))


def _errors(
    left: IntArray,
    right: IntArray,
    residuals: FloatArray,
    known: FloatArray,
    images: IntArray,
    raters: IntArray,
    ties: FloatArray,
) -> Errors:
    """Sums by image what votes add to the errors, `residuals`, and what is `known` by them; `ties`: of every two, what
    is as good as known of them, where strengths would have no bound."""
    count, groups = len(ties), int(images.max()) + 1
    together = ties.copy()
    np.add.at(together, (left, right), known)
    np.add.at(together, (right, left), known)
    inverse = np.asarray(np.linalg.pinv(np.diag(together.sum(axis=1)) - together), np.float64)
    scores = np.zeros((groups, count))
    np.add.at(scores, (images, left), residuals)
    np.add.at(scores, (images, right), -residuals)
    a, b = np.triu_indices(count, 1)
    pairs = np.zeros((count, count), dtype=np.int64)
    pairs[a, b] = pairs[b, a] = np.arange(len(a))
    cells = np.bincount(images * len(a) + pairs[left, right], known, groups * len(a))
    information = np.asarray(cells.reshape(groups, len(a)), np.float64)
    persons, added = int(raters.max()) + 1, np.zeros((count, count))
    if persons > 1:
        influence = residuals[:, None] * (inverse[left] - inverse[right])
        # The cells of image and rater are in both sums.
        added = _cluster_covariance(influence, raters) - _cluster_covariance(influence, raters * groups + images)
    return Errors(inverse, scores, information, persons, added)


def _met(left: IntArray, right: IntArray, a: int, b: int) -> BoolArray:
    """Selects the votes between these two."""
    return np.asarray(((left == a) & (right == b)) | ((left == b) & (right == a)))


def _least(tail: float, images: int) -> float:
    """Returns how much stronger, in logits, the winner on all of so many images is at least."""
    share = tail ** (1 / images)
    return math.log(share / (1 - share))


def davidson(votes: Sequence[Vote], edit_models: Sequence[str], *, looks: int = 1) -> Davidson:
    """Fits Davidson's model with an effect of the side (see `preferences`); votes count by their weights.

    The log-odds of left against right are a - b + side; a tie is `ties` times as likely as the geometric mean of the
    two. Without any tie `ties` is 0, and it is Bradley and Terry's model with an effect of the side. The side has no
    interval if nothing bounds it, since every vote is for the same one.
    """
    count = len(edit_models)
    place = {model: number for number, model in enumerate(edit_models)}
    left = np.array([place[vote.left] for vote in votes])
    right = np.array([place[vote.right] for vote in votes])
    weights = np.array([vote.weight for vote in votes])
    tie = np.array([vote.tie for vote in votes])
    won = np.array([vote.share_of_left for vote in votes]) - tie / 2
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
    side, reach = float(beta[count]), np.linalg.inv(information)[:, count]
    images, along = cluster_codes([vote.group for vote in votes]), design @ reach[:-1]
    known = weights * (spread * along**2 + 2 * cross * along * reach[-1] + third * (1 - third) * reach[-1] ** 2)
    parts, shares = (np.bincount(images, each).astype(np.float64) for each in (scores @ reach, known))
    estimate = linear_estimate(side, parts, shares)
    one_side = not (won > 0).any() or not (won + tie < 1).any()
    strengths = beta[:count] - beta[:count].mean()
    return Davidson(
        ties=math.exp(odds) if has_ties else 0.0,
        side=side,
        side_ci95=None if one_side else estimate.interval(confidence=level(looks)),
        strengths=[float(strength) for strength in strengths],
    )


def _alike(left: IntArray, right: IntArray, weights: FloatArray, count: int) -> FloatArray:
    """Scales the weights so that every two models have the same sum; the total stays."""
    pairs = np.minimum(left, right) * count + np.maximum(left, right)
    sums = np.bincount(pairs, weights)
    return np.asarray(weights * (weights.sum() / np.count_nonzero(sums) / sums[pairs]))


def table_of_pairs(
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


def _cluster_covariance(scores: FloatArray, clusters: IntArray) -> FloatArray:
    """Returns the sum over clusters of squared sums, times G / (G - 1)."""
    _, codes = np.unique(clusters, return_inverse=True)
    groups = int(codes.max()) + 1
    sums = np.stack([np.bincount(codes, column, groups) for column in scores.T], axis=1)
    return np.asarray(sums.T @ sums * (groups / max(1, groups - 1)))


def _find_reachable(left: IntArray, right: IntArray, shares: FloatArray, count: int) -> BoolArray:
    """Returns which model got something against which other, directly or in a chain (Ford, AMM 64, 1957)."""
    beats = np.eye(count, dtype=bool)
    beats[left[shares > 0], right[shares > 0]] = True
    beats[right[shares < 1], left[shares < 1]] = True
    for middle in range(count):
        beats |= beats[:, [middle]] & beats[[middle], :]
    return beats


def unit(count: int, place: int) -> FloatArray:
    """Returns the contrast that is one strength: its distance from the mean."""
    unit = np.zeros(count)
    unit[place] = 1.0
    return unit
