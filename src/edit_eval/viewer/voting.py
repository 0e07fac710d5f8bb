"""Blind votes: which pair a rater is shown next, and what came of it."""

from __future__ import annotations

import json
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from edit_eval.statistics.people import CHOICES, SHARES, Vote
from edit_eval.statistics.preferences import fit_strengths, one_sided
from edit_eval.store.votes import Ballot, is_rater_name, now, read_asked, read_votes
from edit_eval.text import Text
from edit_eval.viewer.pairs import PairDraw, SidedPair, asked_pair, disputed, item_of
from edit_eval.viewer.watching import WatchedRun

MOST_TICKETS = 10_000


class NotAVote(Exception):
    """What was sent is no vote; `status` is that of the answer."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True)
class Ticket:
    """A pair that was shown to somebody."""

    rater: str
    pair: SidedPair


def _settled(votes: Sequence[Vote], edit_models: Sequence[str]) -> dict[str, int]:
    """Of how many `pairs` of edit models votes tell the order: the interval of their difference has no 0 in it."""
    apart = one_sided(votes)
    fit = fit_strengths([vote for vote in votes if vote.choice in SHARES and vote.rater not in apart], edit_models)
    pairs = list(combinations(np.eye(len(edit_models)), 2))
    ends = [fit.interval(a - b) for a, b in pairs]
    return {"pairs": len(pairs), "settled": sum(bool(one) and (one[0] > 0 or one[1] < 0) for one in ends if one)}


def rater_name(name: object) -> str:
    """A rater's name as it is kept. Raises `NotAVote` for what is none."""
    if not isinstance(name, str) or not is_rater_name(name.strip()):
        raise NotAVote(400, Text("say who votes: a name of 1 to 60 characters"))
    return name.strip()


class Voting:
    """The votes on one run; `opened` gives it as it stands."""

    def __init__(self, opened: Callable[[], WatchedRun]) -> None:
        self._opened = opened
        self._ballot = Ballot(opened().path)
        self._tickets: OrderedDict[str, Ticket] = OrderedDict()
        self._disputed: tuple[str, dict[tuple[str, int], float]] = "", {}
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
            counted = votes.counted(matrix.samples)
            models = [model.name for model in matrix.edit_models]
            told = {
                **_settled(counted, models),
                "mine": sum(line.choice != "skip" for line in mine),
                "all": sum(line.choice != "skip" for line in votes.lines),
                "raters": len({line.rater for line in votes.lines} | {rater}),
            }
            if self._disputed[0] != watched.seen:
                self._disputed = watched.seen, disputed(watched.following)
            draw = PairDraw(watched.following, counted, self._chance, self._disputed[1])
            shown = {ticket.rater: (name, ticket) for name, ticket in self._tickets.items() if ticket.rater != rater}
            waiting = [asked_pair(name, ticket.pair) for name, ticket in shown.values()]
            draw.planned(one for one in (*read_asked(watched.path), *waiting) if one.ticket not in votes.tickets)
            others = [line for line in votes.lines if line.rater != rater]
            pair = draw.next({item_of(line) for line in mine}, others)
            if pair is None:
                return {**told, "done": True}
            name = secrets.token_hex(12)
            self._tickets[name] = Ticket(rater, pair)
            while len(self._tickets) > MOST_TICKETS:
                self._tickets.popitem(last=False)
            sample = matrix.samples[watched.following.samples[pair.sample]]
            pictures = watched.pictures
            return {
                **told,
                "ticket": name,
                "instruction": sample.instruction,
                "language": sample.language,
                "description": sample.description,
                "source": pictures.of_sample(sample),
                "left": pictures.of_edit(pair.left),
                "right": pictures.of_edit(pair.right),
            }

    def add(self, body: bytes) -> dict[str, Any]:
        """Keeps a vote, and returns what is next. Raises `NotAVote`, and `OSError` where it cannot be kept."""
        try:
            sent = json.loads(body)
        except (ValueError, RecursionError):
            raise NotAVote(400, Text("that is not JSON")) from None
        if not isinstance(sent, dict):
            raise NotAVote(400, Text("that is not a vote"))
        rater, choice, seconds = rater_name(sent.get("rater")), sent.get("choice"), sent.get("seconds")
        if choice not in CHOICES:
            raise NotAVote(400, Text("the choices are {}", CHOICES))
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < 1e7:
            raise NotAVote(400, Text("say how many seconds it took"))
        name = sent.get("ticket")
        ticket = self._tickets.get(name) if isinstance(name, str) else None
        if ticket is None or ticket.rater != rater:
            raise NotAVote(409, Text("that pair was not shown to you here; this is the next one"))
        with self._lock:
            self._ballot.add(asked_pair(str(name), ticket.pair).answered(rater, choice, float(seconds), now()))
        return self.next(rater)

    def close(self) -> None:
        """Closes the journal."""
        with self._lock:
            self._ballot.close()
