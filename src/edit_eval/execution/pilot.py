"""The pilot: before the bulk, one sample of each category goes through edit, judge and parser.

It stops the run only if every one of its edits, or every one of its judgements by a judge, failed: then the rest of
the night would fail in the same way. Single failures are results like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from edit_eval.errors import Stopped
from edit_eval.records import Edit, Judgement, Status
from edit_eval.store.matrix import Matrix


class Pilot:
    """Listens to what is recorded until the pilot is over; passes everything on to the real audience."""

    def __init__(self, matrix: Matrix, positions: Sequence[int], audience: Any, when_over: Callable[[], None]) -> None:
        self._matrix = matrix
        self._edits = [matrix.edit_number(0, 0, position) for position in positions]
        self._audience = audience
        self._when_over = when_over
        self._over = not positions

    def edit(self, edit: Edit) -> None:
        """An edit was recorded. Raises `Stopped` when it was the last of the pilot and all of them failed."""
        self._audience.edit(edit)
        if self._over:
            return
        edits = [self._matrix.edits[number] for number in self._edits]
        if all(e.status is Status.EDIT_FAILED for e in edits):
            self._over = True
            raise Stopped(
                f"pilot: every one of the first {len(edits)} edits by {edits[0].edit_model} failed "
                f"({edits[-1].reason}); nothing else was begun"
            )

    def judgement(self, judgement: Judgement) -> None:
        """A judgement was recorded. Raises `Stopped` when a judge's part of the pilot is over and all of it failed."""
        self._audience.judgement(judgement)
        if self._over:
            return
        for judge in range(len(self._matrix.judges)):
            units = [self._matrix.judgement_number(number, judge, 0) for number in self._edits]
            judged = [self._matrix.judgement(unit) for unit in units]
            judged = [j for j in judged if j.status not in (Status.EDIT_FAILED, Status.SKIPPED)]
            if any(j.status is Status.PENDING for j in judged):
                return
            if judged and all(j.status is not Status.OK for j in judged):
                self._over = True
                worst = judged[-1]
                raise Stopped(
                    f"pilot: none of the first {len(judged)} answers by {worst.judge} is a score: {worst.status} "
                    f"({worst.reason}); nothing else was judged"
                )
        self._over = True
        self._when_over()
