"""Blind votes: which pair a rater is shown next, and what came of it."""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from edit_eval.records import Edit, Status
from edit_eval.statistics.intervals import FloatArray
from edit_eval.statistics.preferences import CHOICES, SHARED, Vote, pair_chances, sample_chances
from edit_eval.statistics.series import gain
from edit_eval.store.votes import Ballot, VoteLine, now, read_votes
from edit_eval.viewer.following import Following
from edit_eval.viewer.watching import WatchedRun

MOST_TICKETS = 10_000
_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,60}")


class NotAVote(Exception):
    """What was sent is no vote; `status` is that of the answer."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True)
class Ticket:
    """A pair that was shown to somebody."""

    rater: str
    sample: str
    edit_seed: int
    left: Edit
    right: Edit
    weight: float
    how: str


def rater_name(name: object) -> str:
    """A rater's name as it is kept. Raises `NotAVote` for what is none."""
    if not isinstance(name, str) or not _NAME.fullmatch(name.strip()):
        raise NotAVote(400, "say who votes: a name of 1 to 60 characters")
    return name.strip()


class Voting:
    """The votes on one run; `opened` gives it as it stands."""

    def __init__(self, opened: Callable[[], WatchedRun]) -> None:
        self._opened = opened
        self._ballot = Ballot(opened().path)
        self._tickets: OrderedDict[str, Ticket] = OrderedDict()
        self._chance = np.random.default_rng()
        self._lock = threading.Lock()

    def next(self, rater: str) -> dict[str, Any]:
        """The next pair for a rater, or `done`; and how many votes there are."""
        rater = rater_name(rater)
        watched = self._opened()
        with self._lock, watched.lock:
            matrix = watched.following.matrix
            if matrix is None:
                raise NotAVote(409, watched.following.fault)
            votes = read_votes(watched.path, matrix.edits)
            mine = [line for line in votes.lines if line.rater == rater]
            told = {
                "mine": sum(line.choice != "skip" for line in mine),
                "all": sum(line.choice != "skip" for line in votes.lines),
                "raters": len({line.rater for line in votes.lines} | {rater}),
            }
            ticket = self._draw(watched.following, rater, votes.counted(matrix.samples), votes.lines)
            if ticket is None:
                return {**told, "done": True}
            name = secrets.token_hex(12)
            self._tickets[name] = ticket
            while len(self._tickets) > MOST_TICKETS:
                self._tickets.popitem(last=False)
            sample = matrix.samples[watched.following.samples[ticket.sample]]
            pictures = watched.pictures
            return {
                **told,
                "ticket": name,
                "instruction": sample.instruction,
                "language": sample.language,
                "description": sample.description,
                "source": pictures.of_sample(sample),
                "left": pictures.of_edit(ticket.left),
                "right": pictures.of_edit(ticket.right),
            }

    def add(self, body: bytes) -> dict[str, Any]:
        """Keeps a vote, and returns what is next. Raises `NotAVote`, and `OSError` where it cannot be kept."""
        try:
            sent = json.loads(body)
        except (ValueError, RecursionError):
            raise NotAVote(400, "that is not JSON") from None
        if not isinstance(sent, dict):
            raise NotAVote(400, "that is not a vote")
        rater, choice, seconds = rater_name(sent.get("rater")), sent.get("choice"), sent.get("seconds")
        if choice not in CHOICES:
            raise NotAVote(400, f"the choices are {', '.join(CHOICES)}")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < 1e7:
            raise NotAVote(400, "say how many seconds it took")
        name = sent.get("ticket")
        ticket = self._tickets.get(name) if isinstance(name, str) else None
        if ticket is None or ticket.rater != rater:
            raise NotAVote(409, "that pair was not shown to you here; this is the next one")
        with self._lock:
            self._ballot.add(
                VoteLine(
                    ticket=str(name),
                    rater=rater,
                    sample=ticket.sample,
                    edit_seed=ticket.edit_seed,
                    left=ticket.left.edit_model,
                    right=ticket.right.edit_model,
                    left_key=ticket.left.key,
                    right_key=ticket.right.key,
                    choice=choice,
                    weight=round(ticket.weight, 6),
                    how=ticket.how,
                    seconds=round(float(seconds), 2),
                    at=now(),
                )
            )
        return self.next(rater)

    def close(self) -> None:
        """Closes the journal."""
        with self._lock:
            self._ballot.close()

    # -- which pair --

    def _draw(
        self, following: Following, rater: str, votes: Sequence[Vote], lines: Sequence[VoteLine]
    ) -> Ticket | None:
        matrix = following.matrix
        assert matrix is not None
        edits = {(e.edit_model, e.sample_id, e.edit_seed): e for e in matrix.edits if e.status is Status.OK}
        seen = {_item(line) for line in lines if line.rater == rater}
        others = [line for line in lines if line.rater != rater and _item(line) not in seen]
        if others and self._chance.random() < SHARED:
            line = others[int(self._chance.integers(len(others)))]
            theirs = [edits[model, line.sample, line.edit_seed] for model in (line.left, line.right)]
            return self._sided(rater, theirs[0], theirs[1], line.weight, "shared")
        models = [model.name for model in matrix.edit_models]
        pairs = list(combinations(models, 2))
        chances = pair_chances(votes, models)
        for place in self._chance.choice(len(pairs), size=len(pairs), replace=False, p=chances):
            a, b = pairs[int(place)]
            items = [
                (sample.id, seed)
                for sample in matrix.samples
                for seed in range(matrix.experiment.edit_seeds)
                if (a, sample.id, seed) in edits
                and (b, sample.id, seed) in edits
                and (sample.id, seed, frozenset((a, b))) not in seen
            ]
            if not items:
                continue
            of_items = sample_chances(_disagreement(following, a, b, items))
            chosen = int(self._chance.choice(len(items), p=of_items))
            sample, seed = items[chosen]
            weight = 1 / (len(items) * float(of_items[chosen]))
            return self._sided(rater, edits[a, sample, seed], edits[b, sample, seed], weight, "telling")
        return None

    def _sided(self, rater: str, a: Edit, b: Edit, weight: float, how: str) -> Ticket:
        left, right = (a, b) if self._chance.random() < 0.5 else (b, a)
        return Ticket(rater, a.sample_id, a.edit_seed, left, right, weight, how)


def _disagreement(following: Following, a: str, b: str, items: Sequence[tuple[str, int]]) -> FloatArray:
    """Of each item, 0 to 1: how close the two are to their judges, and how far apart the judges are about them."""
    matrix = following.matrix
    assert matrix is not None
    scoring = {judge.name: judge.scoring for judge in matrix.judges}
    found = []
    for sample, seed in items:
        by_judge: dict[str, dict[str, float]] = {}
        for edit, judgements in following.of_sample(sample)[1]:
            if edit.edit_seed == seed and edit.edit_model in (a, b):
                for one in judgements:
                    score = one.scores.get(scoring[one.judge].headline)
                    if score is not None and scoring[one.judge].scale.span:
                        by_judge.setdefault(one.judge, {})[edit.edit_model] = score
        apart = [
            gain(scoring[judge].scale) * (of[a] - of[b]) / (scoring[judge].scale.span or 1.0)
            for judge, of in by_judge.items()
            if len(of) == 2
        ]
        close = 1 - abs(float(np.mean(apart))) if apart else 0.5
        found.append(min(1.0, 0.5 * close + (max(apart) - min(apart) if len(apart) > 1 else 0.0)))
    return np.array(found)


def _item(line: VoteLine) -> tuple[str, int, frozenset[str]]:
    return line.sample, line.edit_seed, frozenset((line.left, line.right))
