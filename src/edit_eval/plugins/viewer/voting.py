"""Blind votes: choosing the next pair for a rater, and recording the answer."""

from __future__ import annotations

import json
import math
import secrets
import sys
import threading
import time
import zlib
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from edit_eval.errors import ConfigurationError
from edit_eval.files.new import refuse_existing, write_atomically, write_rows
from edit_eval.plugins.viewer.following import Following
from edit_eval.plugins.viewer.runs import WatchedRun
from edit_eval.records import Edit, Sample, Status
from edit_eval.statistics.fitted_strengths import settle_pairs
from edit_eval.statistics.next_pair import SHARED, PairChoice, sample_chances, sample_order
from edit_eval.statistics.preferences import one_sided
from edit_eval.statistics.raters import Item
from edit_eval.statistics.series import gain
from edit_eval.statistics.votes import CHOICES, Vote, ratings_of
from edit_eval.store.run_directory import is_copy
from edit_eval.store.votes import Ballot, VoteLine, Votes, is_rater_name, read_votes
from edit_eval.text import Text

# -- choosing the next pair of edits for a rater: the models, the sample, and the sides --


@dataclass(frozen=True)
class SidedPair:
    """Two edits of one sample, on random sides."""

    sample: str
    edit_seed: int
    left: Edit
    right: Edit
    weight: float
    """Inverse of the probability with which its sample was drawn."""
    how: str
    """`telling`, or `shared` if another rater was asked about it, too."""

    @property
    def item(self) -> Item:
        """The item it is about."""
        return Item.from_pair(self.left.edit_model, self.right.edit_model, self.sample, self.edit_seed)


def item_of(line: VoteLine) -> Item:
    """Returns the item of a vote."""
    return Item.from_pair(line.left, line.right, line.sample, line.edit_seed)


def make_vote(pair: SidedPair, *, ticket: str, rater: str, choice: str, seconds: float) -> VoteLine:
    """Returns the vote on a pair, given now."""
    return VoteLine(
        ticket=ticket,
        rater=rater,
        sample=pair.sample,
        edit_seed=pair.edit_seed,
        left=pair.left.edit_model,
        right=pair.right.edit_model,
        left_key=pair.left.key,
        right_key=pair.right.key,
        choice=choice,
        weight=round(pair.weight, 6),
        how=pair.how,
        seconds=round(seconds, 2),
        at=round(time.time(), 3),
    )


class PairDraw:
    """Draws pairs from a run as it stands, one after the other, each taking the earlier ones into account.

    `disputed`: 0 to 1 for each sample and seed (see `disputed`).
    """

    def __init__(
        self,
        following: Following,
        votes: Sequence[Vote],
        chance: np.random.Generator,
        disputed: Mapping[tuple[str, int], float],
    ) -> None:
        table = following.table
        assert table is not None
        self._chance = chance
        made = filter(_is_votable, table.edits)
        self._edits = {(edit.edit_model, edit.sample_id, edit.edit_seed): edit for edit in made}
        self._choice = PairChoice(votes, [model.name for model in table.experiment.edit_models])
        self._place = {item: place for place, item in enumerate(disputed)}
        self._chances = sample_chances(np.array(list(disputed.values())))
        self._phases = np.array([_phase(*item) for item in disputed])
        self._asked = np.zeros(len(disputed))
        for vote in votes:
            self._count(vote.sample_id, vote.edit_seed)

    def add_pending_pairs(self, pairs: Iterable[SidedPair]) -> None:
        """Takes into account pairs that raters were asked about but have not answered yet."""
        for pair in pairs:
            self._plan(pair.left.edit_model, pair.right.edit_model, pair.sample, pair.edit_seed)

    def next(self, seen: Collection[Item], others: Sequence[VoteLine]) -> SidedPair | None:
        """Returns a pair that is not among the `seen`; None if all are. Some votes of `others` are drawn again."""
        shared = [line for line in others if item_of(line) not in seen and self._is_there(line)]
        if shared and self._chance.random() < SHARED:
            line = shared[int(self._chance.integers(len(shared)))]
            return self._choose_sides(line.left, line.right, line.sample, line.edit_seed, line.weight, "shared")
        items = list(self._place)
        due = [items[place] for place in sample_order(self._asked, self._chances, self._phases)]
        for a, b in self._choice.order():
            for sample, seed in due:
                there = (a, sample, seed) in self._edits and (b, sample, seed) in self._edits
                if there and Item.from_pair(a, b, sample, seed) not in seen:
                    weight = 1 / (len(items) * float(self._chances[self._place[sample, seed]]))
                    return self._choose_sides(a, b, sample, seed, weight, "telling")
        return None

    def _is_there(self, line: VoteLine) -> bool:
        return all((model, line.sample, line.edit_seed) in self._edits for model in (line.left, line.right))

    def _choose_sides(self, a: str, b: str, sample: str, seed: int, weight: float, how: str) -> SidedPair:
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
    """Returns a fixed number from 0 to 1, unrelated to the sample's content."""
    return (zlib.crc32(f"{sample}\n{seed}".encode("utf-8", "surrogatepass")) + 0.5) / 2**32


def measure_disagreement(following: Following) -> dict[tuple[str, int], float]:
    """Returns how undecided the judges are, 0 to 1, about each sample and seed with two or more edits.

    That is how close the edits are to each judge, and how far apart two judges are about any two of them. All pairs of
    models share one number, because how often a sample is drawn must not depend on the two models asked about.
    """
    table = following.table
    assert table is not None
    scales = {judge.name: judge.scoring.scale for judge in table.experiment.judges}
    undecided = {}
    for sample_id in table.sample_ids:
        by_seed: dict[int, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
        made = Counter[int]()
        for edit, judgements in table.results_of(sample_id).edits:
            if not _is_votable(edit):
                continue
            made[edit.edit_seed] += 1
            for judgement in judgements:
                span = scales[judgement.judge].span
                if judgement.score is not None and span:
                    part = gain(scales[judgement.judge]) * judgement.score / span
                    by_seed[edit.edit_seed][judgement.judge][edit.edit_model] = part
        for seed, count in made.items():
            if count > 1:
                undecided[sample_id, seed] = _mean_disagreement(list(by_seed[seed].values()))
    return undecided


def _mean_disagreement(by_judge: Sequence[Mapping[str, float]]) -> float:
    each = []
    for a, b in combinations(sorted({model for scores in by_judge for model in scores}), 2):
        apart = [scores[a] - scores[b] for scores in by_judge if a in scores and b in scores]
        if apart:
            each.append(min(1.0, 0.5 * (1 - abs(float(np.mean(apart)))) + max(apart) - min(apart)))
    return float(np.mean(each)) if each else 0.5


MOST_TICKETS = 10_000


NO_PAIR = Text("a vote is between two edit models, and this run has one")


def find_obstacle(watched: WatchedRun) -> str:
    """Returns why nobody can vote on a run; empty if people can."""
    table = watched.following.table
    if table is None or len(table.experiment.edit_models) < 2:
        return watched.following.fault or NO_PAIR
    if is_copy(watched.path):
        return Text("this run came in one file, and votes here would be lost: vote on the run itself")
    return ""


def count_pairs(following: Following) -> int:
    """Returns how many pairs of edits there are to vote on, by now."""
    table = following.table
    assert table is not None
    made = Counter((edit.sample_id, edit.edit_seed) for edit in table.edits if _is_votable(edit))
    return sum(math.comb(count, 2) for count in made.values())


def _is_votable(edit: Edit) -> bool:
    return edit.status is Status.OK and not edit.made_in  # else it is the same picture as in the round before


class NotAVote(Exception):
    """Raised for a request that is not a valid vote; `status` is that of the answer."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True)
class Ticket:
    """A pair that was shown to a rater."""

    rater: str
    pair: SidedPair


def rater_name(name: object) -> str:
    """Returns a rater's name as it is kept. Raises `NotAVote` for an invalid one."""
    if not isinstance(name, str) or not is_rater_name(name.strip()):
        raise NotAVote(400, Text("say who votes: a name of 1 to 60 characters"))
    return name.strip()


class Voting:
    """The votes on one run; `opened` returns its current state."""

    def __init__(self, opened: Callable[[], WatchedRun]) -> None:
        self._opened = opened
        self._ballot = Ballot(opened().path)
        self._tickets: OrderedDict[str, Ticket] = OrderedDict()
        self._disputed: tuple[str, dict[tuple[str, int], float]] = "", {}
        self._chance = np.random.default_rng()
        self._lock = threading.Lock()

    def next(self, rater: str) -> dict[str, object]:
        """Returns the next pair for a rater, or `done`, and the numbers of votes."""
        rater = rater_name(rater)
        watched = self._opened()
        with self._lock, watched.lock:
            if obstacle := find_obstacle(watched):
                raise NotAVote(409, obstacle)
            table = watched.following.table
            assert table is not None
            votes = read_votes(watched.path, table.edits)
            mine = [line for line in votes.lines if line.rater == rater]
            counted = votes.to_votes(table.samples)
            models = [model.name for model in table.experiment.edit_models]
            apart = one_sided(counted)
            pairs, settled = settle_pairs([vote for vote in counted if vote.rater not in apart], models)
            progress = {
                "pairs": pairs,
                "settled": settled,
                "mine": sum(line.choice != "skip" for line in mine),
                "all": sum(line.choice != "skip" for line in votes.lines),
                "raters": len({line.rater for line in votes.lines} | {rater}),
            }
            if self._disputed[0] != watched.page_version:
                self._disputed = watched.page_version, measure_disagreement(watched.following)
            draw = PairDraw(watched.following, counted, self._chance, self._disputed[1])
            answered = {line.ticket for line in votes.lines}
            shown = {ticket.rater: (name, ticket) for name, ticket in self._tickets.items() if ticket.rater != rater}
            draw.add_pending_pairs(ticket.pair for name, ticket in shown.values() if name not in answered)
            others = [line for line in votes.lines if line.rater != rater]
            skipped = {item_of(line) for line in mine if line.choice == "skip"}
            progress["there"] = count_pairs(watched.following) - len(skipped)
            pair = draw.next({item_of(line) for line in mine}, others)
            if pair is None:
                return {**progress, "done": True}
            name = secrets.token_hex(12)
            self._tickets[name] = Ticket(rater, pair)
            while len(self._tickets) > MOST_TICKETS:
                self._tickets.popitem(last=False)
            sample = table.results_of(pair.sample).sample
            pictures = watched.pictures
            return {
                **progress,
                "ticket": name,
                "instruction": sample.instruction,
                "language": sample.language,
                "description": sample.description,
                "source": pictures.address_of_sample(sample),
                "left": pictures.address_of_edit(pair.left),
                "right": pictures.address_of_edit(pair.right),
            }

    def add(self, body: bytes) -> dict[str, object]:
        """Records a vote and returns what is next. Raises `NotAVote`, or `OSError` if it cannot be recorded."""
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
            vote = make_vote(ticket.pair, ticket=str(name), rater=rater, choice=choice, seconds=float(seconds))
            self._ballot.add(vote)
        return self.next(rater)

    def close(self) -> None:
        """Closes the journal."""
        with self._lock:
            self._ballot.close()


SCORES = ("sample_id", "edit_model", "score", "rater", "edit_seed")
EVERY = ("sample_id", "edit_seed", "left", "right", "choice", "rater", "weight", "how", "seconds", "at")


def write_votes(votes: Votes, samples: Iterable[Sample], file: Path, *, every: bool, force: bool = False) -> None:
    """Writes people's scores of edits, or every vote, as CSV. Raises `ConfigurationError` if there is none."""
    if not votes.lines:
        raise ConfigurationError(Text("there are no votes yet; `edit-eval view RUN` collects them"))
    if every:
        names: tuple[str, ...] = EVERY
        rows = [[line.sample, *(getattr(line, name) for name in names[1:])] for line in votes.lines]
    else:
        names, ratings = SCORES, ratings_of(votes.to_votes(samples))
        rows = [[getattr(rating, name) for name in names] for rating in ratings]
    if str(file) == "-":
        write_rows(sys.stdout, names, rows)
        return
    refuse_existing(file, force=force)
    with write_atomically(file) as temporary, temporary.open("w", encoding="utf-8", newline="") as out:
        write_rows(out, names, rows)
