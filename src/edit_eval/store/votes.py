"""Votes of people on the edits of a run, in journals of their own; they enter no score.

votes/0001.jsonl          one line per vote; each process that collects votes writes its own segment
votes/pages/0001.jsonl    one line per pair on a raters' page; the page itself does not reveal who made which edit

The file saved by a raters' page has the same kind of lines: a head with page and rater, then one line per vote.
"""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from edit_eval.errors import ConfigurationError
from edit_eval.files.given import read_bytes
from edit_eval.files.new import refuse_existing, write_rows, written_whole
from edit_eval.records import Edit, Sample, Status
from edit_eval.statistics.votes import CHOICES, Vote, ratings_of
from edit_eval.store.journal import Damage, Segment, read, segments, unseal
from edit_eval.text import Text

VOTES = "votes"
PAGES = "votes/pages"
MOST_WEIGHT = 1e3
MOST_BYTES = 16 << 20
"""Most bytes of a file saved by a raters' page."""
_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,60}")


def is_rater_name(name: str) -> bool:
    """True if the name is valid for a rater: 1 to 60 characters, on one line."""
    return _NAME.fullmatch(name) is not None and name == name.strip()


class VoteLine(msgspec.Struct):
    """A vote's line in the journal."""

    ticket: str
    """Id of the pair as shown: of several lines with the same ticket and rater, the last counts."""
    rater: str
    sample: str
    edit_seed: int
    left: str
    """The edit model."""
    right: str
    left_key: str
    """Key of its edit: a vote on an edit that has been made again since does not count."""
    right_key: str
    choice: str
    weight: float
    how: str
    """`blindly`, `telling`, `shared`: why this pair was asked about."""
    seconds: float
    """Seconds from showing the pair to the vote."""
    at: float
    """Seconds since 1970."""


class AskedPair(msgspec.Struct):
    """A pair that raters are asked about."""

    ticket: str
    page: str
    """The raters' page it is on."""
    sample: str
    edit_seed: int
    left: str
    right: str
    left_key: str
    right_key: str
    weight: float
    how: str

    def answered(self, rater: str, choice: str, seconds: float, at: float) -> VoteLine:
        """Returns the vote on this pair."""
        pair = {field: getattr(self, field) for field in self.__struct_fields__ if field != "page"}
        return VoteLine(**pair, rater=rater, choice=choice, seconds=round(seconds, 2), at=round(at, 3))


class FileHead(msgspec.Struct):
    """First line of a file saved by a raters' page."""

    page: str
    rater: str
    votes: int


class FileVote(msgspec.Struct):
    """Any other line of such a file."""

    ticket: str
    choice: str
    seconds: float
    at: float


@dataclass(frozen=True)
class Votes:
    """All votes on the edits of a run that count."""

    lines: tuple[VoteLine, ...]
    """The last vote of each (rater, ticket), oldest first."""
    outdated: int
    """Number of votes on edits that no longer exist."""
    damage: Damage

    @property
    def tickets(self) -> frozenset[str]:
        """Tickets of all votes."""
        return frozenset(line.ticket for line in self.lines)

    def counted(self, samples: Iterable[Sample]) -> list[Vote]:
        """Converts the votes to those that statistics take."""
        clusters = {sample.id: sample.cluster for sample in samples}
        return [
            Vote(
                sample_id=line.sample,
                left=line.left,
                right=line.right,
                choice=line.choice,
                rater=line.rater,
                edit_seed=line.edit_seed,
                cluster=clusters.get(line.sample, ""),
                weight=line.weight,
            )
            for line in self.lines
        ]


def read_votes(run: Path, edits: Iterable[Edit]) -> Votes:
    """Reads the votes of a run on existing edits; the caller has checked `run` for links."""
    damage = Damage()
    last = _last(run, damage)
    there = {(edit.key, edit.edit_model, edit.sample_id) for edit in edits if edit.status is Status.OK}
    good = [line for line in last.values() if _is_vote(line)]
    kept = [
        line
        for line in good
        if (line.left_key, line.left, line.sample) in there and (line.right_key, line.right, line.sample) in there
    ]
    return Votes(tuple(kept), len(good) - len(kept), damage)


def _last(run: Path, damage: Damage) -> dict[tuple[str, str], VoteLine]:
    last: dict[tuple[str, str], VoteLine] = {}
    for line in read(run / VOTES, damage).of(VoteLine):
        last.pop((line.rater, line.ticket), None)
        last[line.rater, line.ticket] = line
    return last


def read_asked(run: Path) -> list[AskedPair]:
    """Reads the pairs of all raters' pages written for a run."""
    return list(read(run / PAGES, Damage()).of(AskedPair))


def add_saved_votes(run: Path, files: Iterable[Path]) -> dict[str, int]:
    """Imports votes saved by raters' pages; returns how many are `new`, `changed`, and known `already`.

    A vote that is new to the run replaces the rater's earlier one. Clocks may be wrong, and only decide the order of
    files imported together. All files are read before anything is written. Raises `ConfigurationError` for a file that
    is damaged or from another run's page, and if the journal cannot be written.
    """
    asked = {line.ticket: line for line in read_asked(run)}
    together = [saved_votes(file, asked) for file in files]
    lines = chain(*sorted(together, key=lambda votes: max((vote.at for vote in votes), default=0.0)))
    known = _last(run, Damage())
    ever = {_said(line) for line in read(run / VOTES, Damage()).of(VoteLine)}  # including replaced votes
    counts = {"new": 0, "changed": 0, "already": 0}
    ballot = Ballot(run)
    try:
        for line in lines:
            place = line.rater, line.ticket
            kind = "already" if _said(line) in ever else "changed" if place in known else "new"
            counts[kind] += 1
            if kind != "already":
                ballot.add(line)
                known[place] = line
                ever.add(_said(line))
    except OSError as error:
        raise ConfigurationError(Text("{}: cannot be written ({})", run / VOTES, error.strerror or error)) from error
    finally:
        ballot.close()
    return counts


def _said(line: VoteLine) -> tuple[str, str, str, float]:
    """Returns the fields that identify a vote when its file is imported again."""
    return line.rater, line.ticket, line.choice, line.at


def saved_votes(file: Path, asked: Mapping[str, AskedPair]) -> list[VoteLine]:
    """Reads the votes in a file saved by a raters' page. `asked` is by ticket. Raises `ConfigurationError`."""
    lines = read_bytes(file, MOST_BYTES).splitlines()
    again = Text("ask the rater to save the votes again")
    head = unseal(lines[0], FileHead) if lines else None
    if head is None:
        raise ConfigurationError(
            Text("{}: not a file of votes from a raters' page, or its first line is damaged; {}", file, again)
        )
    if head.page not in {pair.page for pair in asked.values()}:
        raise ConfigurationError(Text("{}: these votes are from a page of another run; import them there", file))
    votes = []
    for number, line in enumerate(lines[1:], 2):
        vote = unseal(line, FileVote)
        pair = asked.get(vote.ticket) if vote else None
        if vote is None or pair is None or pair.page != head.page or not _is_sane(vote):
            raise ConfigurationError(Text("{}: line {} is damaged; {}", file, number, again))
        votes.append(pair.answered(head.rater, vote.choice, vote.seconds, vote.at))
    if len(votes) != head.votes or not is_rater_name(head.rater):
        raise ConfigurationError(
            Text("{}: {} votes where its first line says {}; {}", file, len(votes), head.votes, again)
        )
    return votes


def _is_sane(vote: FileVote) -> bool:
    return vote.choice in CHOICES and 0 <= vote.seconds < 1e7 and math.isfinite(vote.at)


def _is_vote(line: VoteLine) -> bool:
    return line.choice in CHOICES and line.left != line.right and 0 < line.weight <= MOST_WEIGHT


class Ballot:
    """Writes votes to a segment of this process, created with the first vote. Not thread-safe."""

    def __init__(self, run: Path, folder: str = VOTES) -> None:
        self._run, self._folder = run, folder
        self._segment: Segment | None = None

    def add(self, *lines: VoteLine | AskedPair) -> None:
        """Writes and syncs lines: they survive a crash of the machine once this returns. Raises `OSError`."""
        for line in lines:
            record = {field: getattr(line, field) for field in line.__struct_fields__}
            if self._segment is None:
                self._segment = self._begun(record)
            else:
                self._segment.append(record)
        if self._segment is not None:
            self._segment.sync()

    def _begun(self, record: Mapping[str, Any]) -> Segment:
        folder = self._run / self._folder
        if (self._run / VOTES).is_symlink() or folder.is_symlink():
            raise OSError(Text("{} is a link", folder))
        while True:
            number = max((int(path.stem) for path in segments(folder)), default=0) + 1
            segment = Segment(folder / f"{number:04d}.jsonl")
            try:
                segment.append(dict(record))
                return segment
            except FileExistsError:  # another process took that number
                continue

    def close(self) -> None:
        """Closes the segment."""
        if self._segment is not None:
            self._segment.close()


def now() -> float:
    """Returns the current time, as recorded for a vote."""
    return round(time.time(), 3)


# -- as files --

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
        names, ratings = SCORES, ratings_of(votes.counted(samples))
        rows = [[getattr(rating, name) for name in names] for rating in ratings]
    if str(file) == "-":
        write_rows(sys.stdout, names, rows)
        return
    refuse_existing(file, force=force)
    with written_whole(file) as temporary, temporary.open("w", encoding="utf-8", newline="") as out:
        write_rows(out, names, rows)
