"""How many battles it takes to know a new edit model as well as is wanted, by what the battles that are there tell.

A new model's strength s meets held ones. With S source images and k battles on each, the residuals z of its battles
vary by w within an image and by b between images, and I is a battle's mean information q (1 - q): the standard error
is sqrt((w / k + b) / S) / I. What w, b and I are is taken from the models that are there, each in turn.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from edit_eval.statistics.fitted_strengths import ELO, NOBODY, fit_strengths
from edit_eval.statistics.intervals import CONFIDENCE
from edit_eval.statistics.votes import Vote


class Effort(NamedTuple):
    """What so many opponents a sample come to, for each new edit model."""

    opponents: int
    battles: int
    """With one edit seed and one repeat."""
    interval: float
    """Elo points to either side of its strength."""


def steps(votes: Sequence[Vote], edit_models: Sequence[str], samples: int, most: int) -> list[Effort]:
    """Returns what 1 to `most` opponents a sample come to, for a model about as strong as the others.

    `votes`: of both orders of the battles that are there. Empty if too little is known from them. Whoever joined
    others is held as if all had been there at first: it decides nothing here.
    """
    fit = fit_strengths(votes, edit_models, joined=NOBODY)
    if fit.strengths is None or fit.doubt is not None:
        return []
    place = {model: number for number, model in enumerate(edit_models)}
    of: dict[tuple[str, str], dict[tuple[str, int, str], list[float]]] = defaultdict(lambda: defaultdict(list))
    variances = []
    for vote in votes:
        left, right = fit.strengths[place[vote.left]], fit.strengths[place[vote.right]]
        chance = 1 / (1 + math.exp(right - left))
        variances.append(chance * (1 - chance))
        for mine, other, sign in ((vote.left, vote.right, 1), (vote.right, vote.left, -1)):
            battle = vote.sample_id, vote.edit_seed, other
            of[mine, vote.group][battle].append(sign * (vote.left_gets - chance))
    groups = [np.array([np.mean(both) for both in battles.values()]) for battles in of.values()]
    count, total = sum(map(len, groups)), float(math.fsum((group**2).sum() for group in groups))
    within = math.fsum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    freedom = count - len(groups)
    # One battle on each image says nothing of how alike several would be: as if half of it were the image's.
    w = within / freedom if freedom else total / count / 2
    size = float(np.mean([1 / len(group) for group in groups]))
    b = max(0.0, float(np.mean([group.mean() ** 2 for group in groups])) - w * size) if freedom else w
    images = len({group for _, group in of})
    information, each = float(np.mean(variances)), samples / images
    from scipy.stats import t

    reach = float(t.ppf((1 + CONFIDENCE) / 2, images - 1)) * ELO[0] / information
    return [Effort(k, k * samples, reach * math.sqrt((w / (k * each) + b) / images)) for k in range(1, most + 1)]
