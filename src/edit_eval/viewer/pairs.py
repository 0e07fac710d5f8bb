"""Which pair of edits a rater is shown next: of which models, of which sample, and on which sides."""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from edit_eval.records import Edit, Status
from edit_eval.statistics.instruments import Item
from edit_eval.statistics.people import Vote
from edit_eval.statistics.preferences import SHARED, PairChoice, sample_chances, sample_order
from edit_eval.statistics.series import gain
from edit_eval.store.votes import AskedPair, VoteLine
from edit_eval.viewer.following import Following


@dataclass(frozen=True)
class SidedPair:
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
        return Item.of_two(self.left.edit_model, self.right.edit_model, self.sample, self.edit_seed)


def item_of(line: AskedPair | VoteLine) -> Item:
    """What a vote, or a pair that somebody was asked about, is about."""
    return Item.of_two(line.left, line.right, line.sample, line.edit_seed)


def asked_pair(ticket: str, pair: SidedPair, page: str = "") -> AskedPair:
    """A pair as it is written down; `page`: the raters' page that it is in."""
    return AskedPair(
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
    """Pairs from a run as it stands, one after the other; each is taken into account when the next is drawn.

    `disputed`: of each sample and seed, 0 to 1 (see `disputed`).
    """

    def __init__(
        self,
        following: Following,
        votes: Sequence[Vote],
        chance: np.random.Generator,
        disputed: Mapping[tuple[str, int], float],
    ) -> None:
        matrix = following.matrix
        assert matrix is not None
        self._chance = chance
        self._edits = {(e.edit_model, e.sample_id, e.edit_seed): e for e in matrix.edits if e.status is Status.OK}
        self._choice = PairChoice(votes, [model.name for model in matrix.edit_models])
        self._place = {item: place for place, item in enumerate(disputed)}
        self._chances = sample_chances(np.array(list(disputed.values())))
        self._phases = np.array([_phase(*item) for item in disputed])
        self._asked = np.zeros(len(disputed))
        for vote in votes:
            self._count(vote.sample_id, vote.edit_seed)

    def planned(self, lines: Iterable[AskedPair]) -> None:
        """Takes into account what somebody was asked, and has not answered yet."""
        for line in lines:
            self._plan(line.left, line.right, line.sample, line.edit_seed)

    def next(
        self, seen: Collection[Item], others: Sequence[AskedPair | VoteLine], *, avoid: Collection[Item] = ()
    ) -> SidedPair | None:
        """One that is not among the `seen`; None where all are.

        `others`: what other raters were asked, of which some are drawn again; those to `avoid` only in that way.
        """
        shared = [line for line in others if item_of(line) not in seen and self._is_there(line)]
        if shared and self._chance.random() < SHARED:
            line = shared[int(self._chance.integers(len(shared)))]
            return self._sided(line.left, line.right, line.sample, line.edit_seed, line.weight, "shared")
        taken = {*seen, *avoid}
        items = list(self._place)
        due = [items[place] for place in sample_order(self._asked, self._chances, self._phases)]
        for a, b in self._choice.order():
            for sample, seed in due:
                there = (a, sample, seed) in self._edits and (b, sample, seed) in self._edits
                if there and Item.of_two(a, b, sample, seed) not in taken:
                    weight = 1 / (len(items) * float(self._chances[self._place[sample, seed]]))
                    return self._sided(a, b, sample, seed, weight, "telling")
        return None

    def _is_there(self, line: AskedPair | VoteLine) -> bool:
        return all((model, line.sample, line.edit_seed) in self._edits for model in (line.left, line.right))

    def _sided(self, a: str, b: str, sample: str, seed: int, weight: float, how: str) -> SidedPair:
        self._plan(a, b, sample, seed)
        both = self._edits[a, sample, seed], self._edits[b, sample, seed]
        left, right = both if self._chance.random() < 0.5 else both[::-1]
        return SidedPair(sample, seed, left, right, weight, how)

    def _plan(self, a: str, b: str, sample: str, seed: int) -> None:
        self._choice.plan(a, b)
        self._count(sample, seed)

    def _count(self, sample: str, seed: int) -> None:
        if (sample, seed) in self._place:
            self._asked[self._place[sample, seed]] += 1


def _phase(sample: str, seed: int) -> float:
    """A number from 0 to 1 that is always the same, and says nothing of the sample."""
    return (zlib.crc32(f"{sample}\n{seed}".encode("utf-8", "surrogatepass")) + 0.5) / 2**32


def disputed(following: Following) -> dict[tuple[str, int], float]:
    """Of each sample and seed with two edits or more, 0 to 1: how undecided the judges are about them.

    That is how close the edits are to each judge, and how far apart two judges are about any two of them. It is one
    number for all pairs of models: how often a sample comes must not depend on which two are asked about.
    """
    matrix = following.matrix
    assert matrix is not None
    scales = {judge.name: judge.scoring.scale for judge in matrix.judges}
    found = {}
    for sample in matrix.samples:
        by_seed: dict[int, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
        made = Counter[int]()
        for edit, judgements in following.of_sample(sample.id)[1]:
            made[edit.edit_seed] += edit.status is Status.OK
            for one in judgements:
                span = scales[one.judge].span
                if one.score is not None and span and edit.status is Status.OK:
                    part = gain(scales[one.judge]) * one.score / span
                    by_seed[edit.edit_seed][one.judge][edit.edit_model] = part
        for seed, count in made.items():
            if count > 1:
                found[sample.id, seed] = _undecided(list(by_seed[seed].values()))
    return found


def _undecided(by_judge: Sequence[Mapping[str, float]]) -> float:
    each = []
    for a, b in combinations(sorted({model for scores in by_judge for model in scores}), 2):
        apart = [scores[a] - scores[b] for scores in by_judge if a in scores and b in scores]
        if apart:
            each.append(min(1.0, 0.5 * (1 - abs(float(np.mean(apart)))) + max(apart) - min(apart)))
    return float(np.mean(each)) if each else 0.5
