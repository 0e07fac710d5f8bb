"""People's votes on a draw, and what `votes` and `people` say of them, held against the oracle."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from combinations.drawing import Draw
from combinations.oracle import Expected
from documents import plain
from edit_eval.run import Run
from edit_eval.store.votes import Ballot, VoteLine

CHOICES = ("left", "right", "tie", "right", "left", "both_bad", "skip")
"""In turn, so that nobody takes one side whatever it is."""
WORTH = {"left": 1.0, "right": -1.0, "tie": 0.0, "both_bad": 0.0}


class Cast(NamedTuple):
    """What somebody said of two columns' edits of a sample."""

    rater: str
    left: str
    right: str
    sample: str
    seed: int
    choice: str

    def of(self, a: str) -> float:
        """What it is worth to one of the two, 1 to -1."""
        return WORTH[self.choice] * (1 if self.left == a else -1)


class VoteReadings:
    """What the verbs about people say of a draw; a part of `reading`'s class."""

    draw: Draw
    run: Path
    want: Expected
    check: Any
    document: Any

    def voted(self) -> None:
        """Two people vote on every two edits that were made, each once."""
        if not self.draw["voted"]:
            return
        self.cast = self._cast()
        self._write()
        if self.cast:
            self.document("votes", True, self.read_votes)
        self.document("people", bool(self._about()), self.read_people)

    def _cast(self) -> list[Cast]:
        want, votes = self.want, list[Cast]()
        for a, b in itertools.combinations(want.columns, 2):
            for sample, seed in itertools.product(want.samples, want.seeds):
                both = [want.edit(column, sample, seed) for column in (a, b)]
                if all(edit.status == "ok" and not edit.kept for edit in both):
                    for rater in ("ann", "bo"):
                        place = len(votes) + self.draw["salt"]
                        left, right = (a, b) if place // len(CHOICES) % 2 else (b, a)
                        votes.append(Cast(rater, left, right, sample, seed, CHOICES[place % len(CHOICES)]))
        return votes

    def _write(self) -> None:
        """Into the run, as the viewer does."""
        keys = {(edit.edit_model, edit.sample_id, edit.edit_seed): edit.key for edit in Run(self.run).results.edits}
        ballot = Ballot(self.run)
        for place, vote in enumerate(self.cast):
            left, right = (keys[column, vote.sample, vote.seed] for column in (vote.left, vote.right))
            ballot.add(
                VoteLine(
                    ticket=str(place),
                    rater=vote.rater,
                    sample=vote.sample,
                    edit_seed=vote.seed,
                    left=vote.left,
                    right=vote.right,
                    left_key=left,
                    right_key=right,
                    choice=vote.choice,
                    weight=1.0,
                    how="blindly",
                    seconds=1.0,
                    at=float(place),
                )
            )
        ballot.close()

    def read_votes(self, said: Mapping[str, Any]) -> None:
        counted = [vote for vote in self.cast if vote.choice != "skip"]
        self.check("votes: how many", "", len(counted), said["votes"])
        self.check("votes: skipped", "", len(self.cast) - len(counted), said["skipped"])
        self.check("votes: samples", "", len({vote.sample for vote in counted}), said["samples"])
        self.check("votes: on edits that are gone", "", (0, 0), (said["outdated"], said["damaged"]))
        by = Counter(vote.rater for vote in counted)
        self.check("votes: by rater", "", by, Counter({rater["rater"]: rater["votes"] for rater in said["raters"]}))
        for difference in said["differences"]:
            mine = [each for each in counted if {each.left, each.right} == {difference["a"], difference["b"]}]
            worth = Counter(each.of(difference["a"]) for each in mine if each.choice in ("left", "right"))
            self.check(
                "votes: of two",
                f"{difference['a']} {difference['b']}",
                (worth[1], worth[-1]),
                (difference["wins"], difference["losses"]),
            )
            alike = Counter(each.choice for each in mine)
            self.check(
                "votes: alike",
                f"{difference['a']} {difference['b']}",
                (alike["tie"], alike["both_bad"]),
                (difference["tie"], difference["both_bad"]),
            )
        self.check("votes: in the report", "", [said], plain(Run(self.run).summary.analyses.get("votes")))

    def _about(self) -> dict[tuple[str, str, str], list[Cast]]:
        """By judge and two columns, the votes on edits of samples to which its headline applies."""
        votes: dict[tuple[str, str, str], list[Cast]] = {}
        for judge in self.want.reporting:
            there = {
                column: {place.sample for place in self.want.series(column, judge)} for column in self.want.columns
            }
            for a, b in itertools.combinations(self.want.columns, 2):
                some = [
                    vote
                    for vote in self.cast
                    if {vote.left, vote.right} == {a, b}
                    and vote.choice != "skip"
                    and vote.sample in there[a] & there[b]
                ]
                if some:
                    votes[judge, a, b] = some
        return votes

    def read_people(self, said: Mapping[str, Any]) -> None:
        want = self._about()
        pairs = {(pair["judge"], pair["a"], pair["b"]): pair for pair in said["pairs"]}
        self.check("people: which pairs", "", sorted(want), sorted(pairs))
        for key in want.keys() & pairs.keys():
            pair, some = pairs[key], want[key]
            self.check("people: answers", str(key), len(some), pair["answers"])
            self.check("people: samples", str(key), len({each.sample for each in some}), pair["samples"])
            images = self.want.images({each.sample: 0.0 for each in some})
            self.check("people: images", str(key), images, pair["images"])
            alone = fmean(each.of(key[1]) for each in some)
            self.check("people: alone", str(key), alone, pair["people_alone"]["difference"])
        self.check("people: in the report", "", [said], plain(Run(self.run).summary.analyses.get("people")))
