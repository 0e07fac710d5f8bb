"""Votes of people on the edits of a run, in journals of their own; they enter no score.

votes/0001.jsonl          one line per vote; each process that collects votes writes its own segment
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from edit_eval.records import Edit, Sample, Status
from edit_eval.statistics.votes import CHOICES, Vote
from edit_eval.store.journal import Damage, Segment, read, segments
from edit_eval.text import Text

VOTES = "votes"
MOST_WEIGHT = 1e3
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


@dataclass(frozen=True)
class Votes:
    """All votes on the edits of a run that count."""

    lines: tuple[VoteLine, ...]
    """The last vote of each (rater, ticket), oldest first."""
    outdated: int
    """Number of votes on edits that no longer exist."""
    damage: Damage

    def to_votes(self, samples: Iterable[Sample]) -> list[Vote]:
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


def count_given(run: Path) -> int:
    """Returns how many votes people have given on a run, also on edits that are not there any more."""
    return sum(line.choice != "skip" for line in _last(run, Damage()).values() if _is_vote(line))


def votes_version(run: Path) -> str:
    """Returns a word that is another one after each vote."""
    return ",".join(str(path.stat().st_size) for path in segments(run / VOTES))


def _last(run: Path, damage: Damage) -> dict[tuple[str, str], VoteLine]:
    last: dict[tuple[str, str], VoteLine] = {}
    for line in read(run / VOTES, damage).decode_lines(VoteLine):
        last.pop((line.rater, line.ticket), None)
        last[line.rater, line.ticket] = line
    return last


def _is_vote(line: VoteLine) -> bool:
    return line.choice in CHOICES and line.left != line.right and 0 < line.weight <= MOST_WEIGHT


class Ballot:
    """Writes votes to a segment of this process, created with the first vote. Not thread-safe."""

    def __init__(self, run: Path) -> None:
        self._folder = run / VOTES
        self._segment: Segment | None = None

    def add(self, *lines: VoteLine) -> None:
        """Writes and syncs lines: they survive a crash of the machine once this returns. Raises `OSError`."""
        for line in lines:
            record = {field: getattr(line, field) for field in line.__struct_fields__}
            if self._segment is None:
                self._segment = self._create_segment(record)
            else:
                self._segment.append(record)
        if self._segment is not None:
            self._segment.sync()

    def _create_segment(self, record: Mapping[str, Any]) -> Segment:
        if self._folder.is_symlink():
            raise OSError(Text("{} is a link", self._folder))
        while True:
            number = max((int(path.stem) for path in segments(self._folder)), default=0) + 1
            segment = Segment(self._folder / f"{number:04d}.jsonl")
            try:
                segment.append(dict(record))
                return segment
            except FileExistsError:  # another process took that number
                continue

    def close(self) -> None:
        """Closes the segment."""
        if self._segment is not None:
            self._segment.close()


def carry_votes(source: Path, run: Path, edits: Iterable[Edit]) -> int:
    """Copies the votes of another run on the very edits of this one, each once; returns how many were new here.

    An edit's key tells whether it is the same; the caller has checked both runs for links. Raises `OSError`.
    """
    there = {(edit.key, edit.edit_model, edit.sample_id) for edit in edits}
    known = _last(run, Damage())
    new = [
        line
        for place, line in _last(source, Damage()).items()
        if place not in known
        and _is_vote(line)
        and {(line.left_key, line.left, line.sample), (line.right_key, line.right, line.sample)} <= there
    ]
    with closing(Ballot(run)) as ballot:
        ballot.add(*new)
    return len(new)
