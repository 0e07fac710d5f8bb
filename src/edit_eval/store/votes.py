"""Votes of people on the edits of a run: lines of a journal, beside those of the run, in no score.

votes/0001.jsonl    one line a vote; whoever collects votes writes a segment of his own
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from edit_eval.records import Edit, Sample, Status
from edit_eval.statistics.preferences import CHOICES, Vote
from edit_eval.store.journal import Damage, Segment, read, segments

VOTES = "votes"
MOST_WEIGHT = 1e3


class VoteLine(msgspec.Struct):
    """A vote as the journal has it."""

    ticket: str
    """Of the pair as it was shown: a later line with it and the same rater takes the place of an earlier one."""
    rater: str
    sample: str
    edit_seed: int
    left: str
    """The edit model."""
    right: str
    left_key: str
    """The key of its edit: a vote on an edit that was made anew since does not count."""
    right_key: str
    choice: str
    weight: float
    how: str
    """`blindly`, `telling`, `shared`: why this pair was asked about."""
    seconds: float
    """From the moment it was shown."""
    at: float
    """Seconds since 1970."""


@dataclass(frozen=True)
class Votes:
    """All votes on the edits of a run, as they count now."""

    lines: tuple[VoteLine, ...]
    """The last of each (rater, ticket), oldest first."""
    outdated: int
    """Votes on edits that are not there any more."""
    damage: Damage

    def counted(self, samples: Iterable[Sample]) -> list[Vote]:
        """As statistics take them."""
        clusters = {sample.id: sample.cluster for sample in samples}
        return [
            Vote(
                sample_id=one.sample,
                left=one.left,
                right=one.right,
                choice=one.choice,
                rater=one.rater,
                edit_seed=one.edit_seed,
                cluster=clusters.get(one.sample, ""),
                weight=one.weight,
            )
            for one in self.lines
        ]


def read_votes(run: Path, edits: Iterable[Edit]) -> Votes:
    """The votes in a run directory on edits that are there; `run` has been seen to lead nowhere else."""
    damage = Damage()
    last: dict[tuple[str, str], VoteLine] = {}
    for line in read(run / VOTES, damage).of(VoteLine):
        last.pop((line.rater, line.ticket), None)
        last[line.rater, line.ticket] = line
    there = {(edit.key, edit.edit_model, edit.sample_id) for edit in edits if edit.status is Status.OK}
    good = [line for line in last.values() if _is_vote(line)]
    kept = [
        line
        for line in good
        if (line.left_key, line.left, line.sample) in there and (line.right_key, line.right, line.sample) in there
    ]
    return Votes(tuple(kept), len(good) - len(kept), damage)


def _is_vote(line: VoteLine) -> bool:
    return line.choice in CHOICES and line.left != line.right and 0 < line.weight <= MOST_WEIGHT


class Ballot:
    """Where votes are written: a segment of this process alone, made at the first vote. Not for two threads at once."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._segment: Segment | None = None

    def add(self, line: VoteLine) -> None:
        """Keeps a vote; when this returns it survives the death of the machine. Raises `OSError`."""
        record = {field: getattr(line, field) for field in line.__struct_fields__}
        if self._segment is None:
            self._segment = self._begun(record)
        else:
            self._segment.append(record)
        self._segment.sync()

    def _begun(self, record: Mapping[str, Any]) -> Segment:
        folder = self._run / VOTES
        if folder.is_symlink():
            raise OSError(f"{folder} is a link")
        while True:
            number = max((int(path.stem) for path in segments(folder)), default=0) + 1
            segment = Segment(folder / f"{number:04d}.jsonl")
            try:
                segment.append(dict(record))
                return segment
            except FileExistsError:  # another viewer took that number
                continue

    def close(self) -> None:
        """Gives the segment back."""
        if self._segment is not None:
            self._segment.close()


def now() -> float:
    """The time of a vote."""
    return round(time.time(), 3)
