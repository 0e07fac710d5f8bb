"""What each edit is made from, its sample's own source or the turn or round before; and what is made from it in turn.

A turn is made from the edit of the sample that its own follows (`Experiment.predecessors`), a round from its source or
the edit before, told what a judge says of that (`critiques.py`). No experiment has both.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from edit_eval.records import Status
from edit_eval.store.cells import make_edit_key, sources_of
from edit_eval.store.critiques import Critiques, explain_lost_follower
from edit_eval.store.subjects.contract import MatrixState

PENDING = Status.PENDING


class Origins:
    """The edits before and behind each edit of a matrix."""

    def __init__(self, matrix: MatrixState, critiques: Critiques) -> None:
        self._matrix, self._critiques = matrix, critiques
        self._before = matrix.experiment.predecessors

    def predecessor(self, edit: int) -> int | None:
        """Returns the edit of the turn before, which is this one's source; None if the sample has its own source."""
        position = edit % len(self._matrix.samples)
        other = self._before.get(position)
        return None if other is None else edit - position + other

    def source_edit_of(self, edit: int) -> int | None:
        """Returns the edit that the edit model starts from; None if it starts from the sample's own source."""
        refinement = self._critiques.refinement(edit) if self._critiques.any else None
        return (
            self._critiques.previous_round_edit(edit)
            if refinement and refinement.source == "last"
            else self.predecessor(edit)
        )

    def last(self, subject: int) -> int | None:
        """Returns the edit of the previous turn or round; None in the first, and for what is no single edit."""
        if subject >= self._matrix.cells.edits:
            return None
        before = self._critiques.previous_round_edit(subject)
        return self.predecessor(subject) if before is None else before

    def original_of(self, edit: int) -> int:
        """Returns the edit that was made: of an earlier round, if this one is kept."""
        return self._critiques.edit_in_column(self._matrix.edits[edit].made_in, edit)

    def copies_of(self, edit: int) -> list[int]:
        """Returns the edits of the rounds behind this one that are kept, up to the first that is not."""
        told = (told for told in self._critiques.dependents_of(edit) if self._matrix.edits[told].made_in)
        return [kept for each in told for kept in (each, *self.copies_of(each))]

    def followers(self, edit: int) -> list[int]:
        """Returns the edits that use this one as their source."""
        position = edit % len(self._matrix.samples)
        return [edit - position + other for other in self._followers.get(position, ())]

    @cached_property
    def _followers(self) -> dict[int, list[int]]:
        followers: dict[int, list[int]] = {}
        for position, before in self._before.items():
            followers.setdefault(before, []).append(position)
        return followers

    def edits_showing(self, edit: int) -> list[int]:
        """Returns the edits whose judges can see this one as that of the turn or round before."""
        rounds = self._critiques.dependents_of(edit) if self._matrix.experiment.uses_previous_pictures else ()
        return [*self.followers(edit), *rounds]

    def fail_dependents(self, edit: int) -> list[int]:
        """Fails all edits that depend, directly or not, on one that was not made; returns them."""
        if self._critiques.any:
            return [
                ended for told in self._critiques.dependents_of(edit) for ended in self._critiques.apply_critique(told)
            ]
        edits = self._matrix.edits
        failed_edits, status = [edit], edits[edit].status
        for failed in failed_edits:
            for follower in self.followers(failed):
                if edits[follower].status is PENDING:
                    reason = explain_lost_follower(status, edits[edit].reason)
                    edits[follower] = replace(edits[follower], status=status, reason=reason)
                    failed_edits.append(follower)
        return failed_edits[1:]

    def keys(self) -> list[str]:
        """Computes the keys of all edits made by an edit model."""
        matrix, samples = self._matrix, len(self._matrix.samples)
        keys: list[str] = [""] * matrix.cells.edits
        later = []
        for number in range(matrix.cells.edits):
            model, edit_seed, sample = matrix.edit_parts(number)
            if sample.follows and not sample.fault:
                later.append(number)
            elif refinement := self._critiques.refinement(number):
                keys[number] = self._critiques.key(number, refinement, keys)
            else:
                keys[number] = make_edit_key(
                    matrix.experiment, model, edit_seed, sample, sources_of(sample), sample.instruction
                )
        while later:  # a key contains that of the edit it follows, so those come first
            left = []
            for number in later:
                model, edit_seed, sample = matrix.edit_parts(number)
                origin = keys[number - number % samples + self._before[number % samples]]
                if origin:
                    sources = [origin, *sources_of(sample)]
                    keys[number] = make_edit_key(
                        matrix.experiment, model, edit_seed, sample, sources, sample.instruction
                    )
                else:
                    left.append(number)
            assert len(left) < len(later), "samples that follow each other in a circle have a fault"
            later = left
        return keys
