"""Which pair of edits a rater is shown next: of which models, of which sample, and on which sides."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from edit_eval.records import Edit, Status
from edit_eval.statistics.preferences import SHARED, PairChoice, Vote, sample_chances
from edit_eval.statistics.series import gain
from edit_eval.store.votes import Asked, VoteLine
from edit_eval.viewer.following import Following

Item = tuple[str, int, frozenset[str]]
"""Sample, seed of the edit, and the two edit models, whatever their sides."""


@dataclass(frozen=True)
class Pair:
    """Two edits of one sample, on sides drawn by chance."""

    sample: str
    edit_seed: int
    left: Edit
    right: Edit
    weight: float
    """The inverse of the chance with which its sample was drawn."""
    how: str
    """`telling`, or `shared`: another rater is asked about it, too."""

    @property
    def item(self) -> Item:
        """What it is about."""
        return self.sample, self.edit_seed, frozenset((self.left.edit_model, self.right.edit_model))


def item_of(line: Asked | VoteLine) -> Item:
    """What a vote, or a pair that somebody was asked about, is about."""
    return line.sample, line.edit_seed, frozenset((line.left, line.right))


def asked(ticket: str, pair: Pair, page: str = "") -> Asked:
    """A pair as it is written down; `page`: the raters' page that it is in."""
    return Asked(
        ticket=ticket,
        page=page,
        sample=pair.sample,
        edit_seed=pair.edit_seed,
        left=pair.left.edit_model,
        right=pair.right.edit_model,
        left_key=pair.left.key,
        right_key=pair.right.key,
        weight=round(pair.weight, 6),
        how=pair.how,
    )


class PairDraw:
    """Pairs from a run as it stands, one after the other; each is taken into account when the next is drawn."""

    def __init__(self, following: Following, votes: Sequence[Vote], chance: np.random.Generator) -> None:
        matrix = following.matrix
        assert matrix is not None
        self._following, self._matrix, self._chance = following, matrix, chance
        self._edits = {(e.edit_model, e.sample_id, e.edit_seed): e for e in matrix.edits if e.status is Status.OK}
        self._choice = PairChoice(votes, [model.name for model in matrix.edit_models])
        self._disagreements: dict[tuple[str, str], dict[tuple[str, int], float]] = {}

    def planned(self, lines: Iterable[Asked]) -> None:
        """Takes into account what somebody was asked, and has not answered yet."""
        for line in lines:
            self._choice.plan(line.left, line.right)

    def next(
        self, seen: Collection[Item], others: Sequence[Asked | VoteLine], *, avoid: Collection[Item] = ()
    ) -> Pair | None:
        """One that is not among the `seen`; None where all are.

        `others`: what other raters were asked, of which some are drawn again; those to `avoid` only in that way.
        """
        shared = [line for line in others if item_of(line) not in seen and self._is_there(line)]
        if shared and self._chance.random() < SHARED:
            line = shared[int(self._chance.integers(len(shared)))]
            return self._sided(*self._both(line.left, line.right, line.sample, line.edit_seed), line.weight, "shared")
        taken = {*seen, *avoid}
        for a, b in self._choice.order():
            items = [one for one in self._of_both(a, b) if (*one, frozenset((a, b))) not in taken]
            if not items:
                continue
            chances = sample_chances(np.array([self._disagreements[a, b][one] for one in items]))
            chosen = int(self._chance.choice(len(items), p=chances))
            weight = 1 / (len(items) * float(chances[chosen]))
            return self._sided(*self._both(a, b, *items[chosen]), weight, "telling")
        return None

    def _of_both(self, a: str, b: str) -> list[tuple[str, int]]:
        """Sample and seed of all of which both models have an edit."""
        if (a, b) not in self._disagreements:
            items = [
                (sample.id, seed)
                for sample in self._matrix.samples
                for seed in range(self._matrix.experiment.edit_seeds)
                if (a, sample.id, seed) in self._edits and (b, sample.id, seed) in self._edits
            ]
            found = _disagreement(self._following, a, b, items)
            self._disagreements[a, b] = dict(zip(items, found, strict=True))
        return list(self._disagreements[a, b])

    def _both(self, a: str, b: str, sample: str, seed: int) -> tuple[Edit, Edit]:
        return self._edits[a, sample, seed], self._edits[b, sample, seed]

    def _is_there(self, line: Asked | VoteLine) -> bool:
        return all((model, line.sample, line.edit_seed) in self._edits for model in (line.left, line.right))

    def _sided(self, a: Edit, b: Edit, weight: float, how: str) -> Pair:
        self._choice.plan(a.edit_model, b.edit_model)
        left, right = (a, b) if self._chance.random() < 0.5 else (b, a)
        return Pair(a.sample_id, a.edit_seed, left, right, weight, how)


def _disagreement(following: Following, a: str, b: str, items: Sequence[tuple[str, int]]) -> list[float]:
    """Of each item, 0 to 1: how close the two are to their judges, and how far apart the judges are about them."""
    matrix = following.matrix
    assert matrix is not None
    scales = {judge.name: judge.scoring.scale for judge in matrix.judges}
    found = []
    for sample, seed in items:
        by_judge: dict[str, dict[str, float]] = {}
        for edit, judgements in following.of_sample(sample)[1]:
            if edit.edit_seed == seed and edit.edit_model in (a, b):
                for one in judgements:
                    if one.score is not None and scales[one.judge].span:
                        by_judge.setdefault(one.judge, {})[edit.edit_model] = one.score
        apart = [
            gain(scales[judge]) * (of[a] - of[b]) / (scales[judge].span or 1.0)
            for judge, of in by_judge.items()
            if len(of) == 2
        ]
        close = 1 - abs(float(np.mean(apart))) if apart else 0.5
        found.append(min(1.0, 0.5 * close + (max(apart) - min(apart) if len(apart) > 1 else 0.0)))
    return found
