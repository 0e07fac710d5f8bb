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
        want, found = self.want, list[Cast]()
        for a, b in itertools.combinations(want.columns, 2):
            for sample, seed in itertools.product(want.samples, want.seeds):
                both = [want.edit(column, sample, seed) for column in (a, b)]
                if all(edit.status == "ok" and not edit.kept for edit in both):
                    for rater in ("ann", "bo"):
                        place = len(found) + self.draw["salt"]
                        left, right = (a, b) if place // len(CHOICES) % 2 else (b, a)
                        found.append(Cast(rater, left, right, sample, seed, CHOICES[place % len(CHOICES)]))
        return found

    def _write(self) -> None:
        """Into the run, as the viewer does."""
        keys = {(one.edit_model, one.sample_id, one.edit_seed): one.key for one in Run(self.run).results.edits}
        ballot = Ballot(self.run)
        for place, one in enumerate(self.cast):
            left, right = (keys[column, one.sample, one.seed] for column in (one.left, one.right))
            ballot.add(
                VoteLine(
                    ticket=str(place),
                    rater=one.rater,
                    sample=one.sample,
                    edit_seed=one.seed,
                    left=one.left,
                    right=one.right,
                    left_key=left,
                    right_key=right,
                    choice=one.choice,
                    weight=1.0,
                    how="blindly",
                    seconds=1.0,
                    at=float(place),
                )
            )
        ballot.close()

    def read_votes(self, said: Mapping[str, Any]) -> None:
        counted = [one for one in self.cast if one.choice != "skip"]
        self.check("votes: how many", "", len(counted), said["votes"])
        self.check("votes: skipped", "", len(self.cast) - len(counted), said["skipped"])
        self.check("votes: samples", "", len({one.sample for one in counted}), said["samples"])
        self.check("votes: on edits that are gone", "", (0, 0), (said["outdated"], said["damaged"]))
        by = Counter(one.rater for one in counted)
        self.check("votes: by rater", "", by, Counter({one["rater"]: one["votes"] for one in said["raters"]}))
        for one in said["differences"]:
            mine = [each for each in counted if {each.left, each.right} == {one["a"], one["b"]}]
            worth = Counter(each.of(one["a"]) for each in mine if each.choice in ("left", "right"))
            self.check("votes: of two", f"{one['a']} {one['b']}", (worth[1], worth[-1]), (one["wins"], one["losses"]))
            alike = Counter(each.choice for each in mine)
            self.check(
                "votes: alike",
                f"{one['a']} {one['b']}",
                (alike["tie"], alike["both_bad"]),
                (one["tie"], one["both_bad"]),
            )
        self.check("votes: in the report", "", [said], plain(Run(self.run).summary.analyses.get("votes")))

    def _about(self) -> dict[tuple[str, str, str], list[Cast]]:
        """By judge and two columns, the votes on edits of samples to which its headline applies."""
        found: dict[tuple[str, str, str], list[Cast]] = {}
        for judge in self.want.reporting:
            there = {
                column: {place.sample for place in self.want.series(column, judge)} for column in self.want.columns
            }
            for a, b in itertools.combinations(self.want.columns, 2):
                some = [
                    one
                    for one in self.cast
                    if {one.left, one.right} == {a, b} and one.choice != "skip" and one.sample in there[a] & there[b]
                ]
                if some:
                    found[judge, a, b] = some
        return found

    def read_people(self, said: Mapping[str, Any]) -> None:
        want = self._about()
        pairs = {(one["judge"], one["a"], one["b"]): one for one in said["pairs"]}
        self.check("people: which pairs", "", sorted(want), sorted(pairs))
        for key in want.keys() & pairs.keys():
            one, some = pairs[key], want[key]
            self.check("people: answers", str(key), len(some), one["answers"])
            self.check("people: samples", str(key), len({each.sample for each in some}), one["samples"])
            images = self.want.images({each.sample: 0.0 for each in some})
            self.check("people: images", str(key), images, one["images"])
            alone = fmean(each.of(key[1]) for each in some)
            self.check("people: alone", str(key), alone, one["people_alone"]["difference"])
        self.check("people: in the report", "", [said], plain(Run(self.run).summary.analyses.get("people")))
