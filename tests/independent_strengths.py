"""Strengths of models, their errors and their ranks, computed once more, from the description in docs/pairwise.md.

It shares no code with `edit_eval.statistics`, and is slow on purpose: the likelihood is maximised by a general
optimiser, matrices are written out, not summed in closed form, and Student's t comes from scipy.stats.

    Bradley and Terry, Biometrika 39 (1952); Davidson, JASA 65 (1970)
    Bell and McCaffrey, Survey Methodology 28 (2002): CR2 and its degrees of freedom
    Holm, Scandinavian Journal of Statistics 6 (1979)

A vote is `(image, left, right, share)`, the share of the left one: 1, 0, or a half for a tie.
"""

from collections import Counter
from itertools import combinations

import numpy as np
from scipy import linalg, optimize, stats


def weights(votes):
    """Every two models count alike, however often they met; the sum stays that of the votes."""
    met = Counter(frozenset(vote[1:3]) for vote in votes)
    return np.array([len(votes) / len(met) / met[frozenset(vote[1:3])] for vote in votes])


def got_everything(votes, models):
    """The pairs of which the first got all against the second, directly or by way of others, and never the reverse."""
    beats = np.eye(len(models), dtype=int)
    for _, left, right, share in votes:
        beats[models.index(left), models.index(right)] |= share > 0
        beats[models.index(right), models.index(left)] |= share < 1
    reached = np.linalg.matrix_power(beats, len(models)) > 0
    return {(a, b) for i, a in enumerate(models) for j, b in enumerate(models) if reached[i, j] and not reached[j, i]}


def one_tie_more(votes):
    """A tie, of an average vote's weight, between every two models that met."""
    return [("", *sorted(pair), 0.5) for pair in sorted({frozenset(vote[1:3]) for vote in votes}, key=sorted)]


def strengths(votes, models):
    """Maximum likelihood: the log-odds of left against right are the difference of strengths; their mean is 0.

    Where some model has none, `one_tie_more` are behind the votes.
    """
    more = one_tie_more(votes) if got_everything(votes, models) else []
    weight = weights(votes)
    weight, votes = np.append(weight, np.full(len(more), weight.mean())), [*votes, *more]
    signs = np.array([[(left == model) - (right == model) for model in models] for _, left, right, _ in votes], float)
    shares = np.array([vote[3] for vote in votes])

    def less_likely(free):
        apart = signs[:, 1:] @ free
        return float(weight @ (np.logaddexp(0, apart) - shares * apart))

    def slope(free):
        apart = signs[:, 1:] @ free
        return signs[:, 1:].T @ (weight * (1 / (1 + np.exp(-apart)) - shares))

    best = optimize.minimize(
        less_likely, np.zeros(len(models) - 1), jac=slope, method="BFGS", options={"gtol": 1e-10}
    ).x
    fitted = np.concatenate([[0.0], best])
    return fitted - fitted.mean(), signs, shares, weight


def compared(votes, models):
    """For every two models difference, standard error, degrees of freedom, p, and p by Holm.

    CR2 by its definition, at the level of votes. A contrast is a weighted mean of "working" values: linear regression
    of z = apart + (y - q) / (q (1 - q)) on the signs, with weights w q (1 - q). An image's votes on this contrast are
    one value, with as much weight as they know of it, so that its leverage is its share a of the information, and its
    part of the error is stretched by 1 / sqrt(1 - a).
    """
    fitted, signs, shares, weight = strengths(votes, models)
    q = 1 / (1 + np.exp(-signs @ fitted))
    known = weight * q * (1 - q)
    information = sum(k * np.outer(x, x) for k, x in zip(known, signs, strict=True))
    inverse = linalg.pinvh(information)
    everything = got_everything(votes, models)
    votes = [*votes, *(one_tie_more(votes) if everything else [])]
    images = sorted({vote[0] for vote in votes} - {""})
    of_image = [np.array([vote[0] == image for vote in votes]) for image in images]
    rows = []
    for a, b in combinations(range(len(models)), 2):
        contrast = np.zeros(len(models))
        contrast[a], contrast[b] = 1, -1
        reach = signs @ inverse @ contrast
        u = np.array([(weight * (shares - q) * reach)[of].sum() for of in of_image])
        knows = np.array([(known * reach**2)[of].sum() for of in of_image])
        assert everything or abs(knows.sum() / (contrast @ inverse @ contrast) - 1) < 1e-8
        share = knows / knows.sum()
        u, share = u[share > 1e-12], share[share > 1e-12]
        # P of Bell and McCaffrey under independent values of which an image has as many as it knows.
        count = len(share)
        residual = np.eye(count) - np.outer(np.ones(count), share)  # of means, the whole mean taken off
        stretched = np.diag(share / np.sqrt(1 - share)) @ residual
        cover = stretched @ np.diag(1 / share) @ stretched.T
        freedom = np.trace(cover) ** 2 / np.trace(cover @ cover)
        whole = np.trace(stretched @ stretched.T)  # its mean square if an image's values are all the same
        square = (u**2 / (1 - share)).sum() * max(1.0, (share**2).sum() / whole)
        error, difference = np.sqrt(square), fitted[a] - fitted[b]
        p = 2 * stats.t.sf(abs(difference) / error, freedom)
        if {(models[a], models[b]), (models[b], models[a])} & everything:
            p = 2 / 2 ** len({vote[0] for vote in votes if {*vote[1:3]} == {models[a], models[b]}} - {""})
        rows.append(
            {"pair": (models[a], models[b]), "difference": difference, "error": error, "freedom": freedom, "p": p}
        )
    return fitted, by_holm(rows)


def by_holm(rows):
    """Adds the p by Holm: of m, the i-th smallest times m - i + 1, and no smaller than those before."""
    least = 0.0
    for place, row in enumerate(sorted(rows, key=lambda row: row["p"])):
        least = max(least, min(1.0, row["p"] * (len(rows) - place)))
        row["p_adjusted"] = least
    return rows


def ranks(fitted, rows, models):
    """1 + how many are shown to be better, and the least of that over a model and all below it."""
    above = Counter()
    for row in rows:
        a, b = row["pair"]
        if row["p_adjusted"] <= 0.05:
            above[b if row["difference"] > 0 else a] += 1
    place = dict(zip(models, fitted, strict=True))
    return {model: 1 + min(above[other] for other in models if place[other] <= place[model]) for model in models}


def davidsons_side(votes, models):
    """What being on the left is worth, in Davidson's model: a tie as likely as `ties` times the root of the others."""

    def less_likely(of):
        place, total = dict(zip(models, of[: len(models)], strict=True)), 0.005 * float(of[:-2] @ of[:-2] + of[-2] ** 2)
        for _, left, right, share in votes:
            apart = place[left] - place[right] + of[-2]
            ways = np.array([apart / 2, -apart / 2, of[-1]])
            total += np.logaddexp.reduce(ways) - ways[0 if share == 1 else 1 if share == 0 else 2]
        return total

    return optimize.minimize(less_likely, np.zeros(len(models) + 2), method="BFGS", options={"gtol": 1e-8}).x[-2]
