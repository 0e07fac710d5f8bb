"""Ratings and votes: what people say about edits, and judges that were shown two."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from edit_eval.records import NO_EDIT, Judgement, Sample, Status

SHARES = {"left": 1.0, "right": 0.0, "tie": 0.5, "both_bad": 0.5}
"""Share of a vote that the left one gets. A skipped vote says nothing."""
CHOICES = (*SHARES, "skip")


@dataclass(frozen=True)
class Rating:
    """One person's rating of one edit, on any scale on which higher is better: only the order matters."""

    sample_id: str
    edit_model: str
    score: float
    rater: str = ""
    edit_seed: int = 0
    score_name: str = ""
    """The judges' score to compare it with; empty: any."""
    weight: float = 1.0
    """Inverse of the chance with which its sample was picked, relative to one picked blindly."""


@dataclass(frozen=True)
class Vote:
    """One person's vote on two edits of one sample, shown beside each other on sides drawn at random."""

    sample_id: str
    left: str
    """The edit model."""
    right: str
    choice: str
    """`left`, `right`, `tie`, `both_bad`, `skip`."""
    rater: str = ""
    edit_seed: int = 0
    cluster: str = ""
    """Source image of the sample. Empty: the sample itself."""
    weight: float = 1.0
    """Inverse of the chance with which its sample was drawn, relative to one drawn blindly."""
    share: float | None = None
    """Share of the left one, 0 to 1, if a judge's probabilities say more than a choice."""
    tied: float | None = None
    """Share of the answer that is a tie, in that case."""

    @property
    def share_of_left(self) -> float:
        """Share of the left one, 0 to 1; half for a tie, and for two that are both bad."""
        return SHARES[self.choice] if self.share is None else self.share

    @property
    def tie(self) -> float:
        """Share of the vote that is a tie, 0 to 1."""
        return float(self.choice in ("tie", "both_bad")) if self.tied is None else self.tied

    @property
    def group(self) -> str:
        """Cluster of the vote."""
        return self.cluster or self.sample_id


class VoteCounts(msgspec.Struct, frozen=True):
    """Votes as they were given: no weights, no model of them."""

    votes: int
    """Skipped ones do not count."""
    wins: Mapping[str, int]
    """By edit model, the most first."""
    ties: int
    """Both are equally good, or both bad."""
    pairs: int
    """Of edit models."""
    settled: int
    """Those of which the votes show an order, corrected for all pairs."""


def count_votes(votes: Sequence[Vote], pairs: int, settled: int) -> VoteCounts:
    """Counts how often each edit model was preferred; one that never was has 0.

    `pairs` and `settled` are of `fitted_strengths.settle_pairs`.
    """
    wins, ties, given = dict[str, int](), 0, 0
    for vote in votes:
        if vote.choice not in SHARES:
            continue
        given += 1
        for model, won in ((vote.left, vote.choice == "left"), (vote.right, vote.choice == "right")):
            wins[model] = wins.get(model, 0) + won
        ties += vote.choice in ("tie", "both_bad")
    return VoteCounts(given, dict(sorted(wins.items(), key=lambda row: (-row[1], row[0]))), ties, pairs, settled)


def ratings_of(votes: Iterable[Vote]) -> list[Rating]:
    """Returns each rater's rating of each edit: its share of its votes, 0 to 1.

    Two that are both bad get nothing; in a tie each gets half.
    """
    got: dict[tuple[str, str, int, str], list[float]] = {}
    for vote in votes:
        if vote.choice in SHARES:
            share = vote.share_of_left
            bad = vote.choice == "both_bad"
            for model, value in ((vote.left, share), (vote.right, 1 - share)):
                rated = got.setdefault((vote.sample_id, model, vote.edit_seed, vote.rater), [])
                rated.append(0.0 if bad else value)
    return [
        Rating(sample, model, math.fsum(shares) / len(shares), rater, seed)
        for (sample, model, seed, rater), shares in sorted(got.items())
    ]


FORWARD, BACKWARD = "forward", "backward"
"""Orders in which the first edit, or the second one, is shown first."""


def value_names(score: str, order: str) -> tuple[str, str]:
    """Returns the names of a question's values in one order: the first edit's share, and the tie's."""
    return f"{score}.{order}", f"{score}.{order}.tie"


def shares(judgement: Judgement, score: str) -> dict[str, tuple[float, float]] | None:
    """Returns the first edit's share and the tie's in each order, means over readings; None if one is unanswered."""
    if score not in judgement.scores:
        return None
    by_order = {}
    for order in (FORWARD, BACKWARD):
        names = value_names(score, order)
        given = [
            reply.values for reading in judgement.readings for reply in reading.values() if names[0] in reply.values
        ]
        if len(given) != len(judgement.readings):
            return None
        share, tie = (math.fsum(values[name] for values in given) / len(given) for name in names)
        by_order[order] = share, tie
    return by_order


def votes_of(battles: Iterable[Judgement], score: str, samples: Iterable[Sample]) -> list[Vote]:
    """Returns each order of each complete battle as a vote by its judge; the sides are those shown."""
    clusters = {sample.id: sample.cluster for sample in samples}
    votes = []
    for battle in battles:
        for order, (share, tie) in (shares(battle, score) or {}).items():
            first, second, left = battle.edit_model, battle.other, share
            if order == BACKWARD:
                first, second, left = battle.other, battle.edit_model, 1 - share
            votes.append(_vote(battle, first, second, left, tie, clusters))
    return votes


def votes_against_failures(
    battles: Iterable[Judgement], edits: Mapping[tuple[str, str, int], Status], samples: Iterable[Sample]
) -> list[Vote]:
    """Returns the battles that one edit model lost by making no edit while the other did, as votes in both orders."""
    clusters = {sample.id: sample.cluster for sample in samples}
    votes = []
    for battle in battles:
        ours, theirs = (edits[battle.sample_id, model, battle.edit_seed] for model in (battle.edit_model, battle.other))
        if {ours in NO_EDIT, theirs in NO_EDIT} == {True, False} and Status.OK in (ours, theirs):
            share = float(theirs in NO_EDIT)
            votes.append(_vote(battle, battle.edit_model, battle.other, share, 0.0, clusters))
            votes.append(_vote(battle, battle.other, battle.edit_model, 1 - share, 0.0, clusters))
    return votes


def _vote(battle: Judgement, first: str, second: str, left: float, tie: float, clusters: Mapping[str, str]) -> Vote:
    return Vote(
        sample_id=battle.sample_id,
        left=first,
        right=second,
        choice="tie" if left == 0.5 else "left" if left > 0.5 else "right",
        rater=battle.judge,
        edit_seed=battle.edit_seed,
        cluster=clusters.get(battle.sample_id, ""),
        share=left,
        tied=tie,
    )


def tables_of(scores: Iterable[Collection[str]]) -> int:
    """Returns how many tables of strengths stand beside each other: for judges with these scores, one for each, and one
    for all of a judge's together."""
    return sum(len(of) + (len(of) > 1) for of in scores)
