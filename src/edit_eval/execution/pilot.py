"""The pilot: before the bulk, one sample of each category goes through edit, judge and parser.

It covers every edit model and every judge that the records do not show at work yet: each such model edits those
samples, each such judge judges what the first edit model makes of them. It stops the run only if every edit of such a
model, or every judgement by such a judge, failed: then the rest of the night would fail in the same way. Single
failures are results like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from edit_eval.errors import Stopped
from edit_eval.records import Edit, Judgement, Status
from edit_eval.store.matrix import Matrix


class PilotCells(NamedTuple):
    """What the pilot is to show: numbers of edits and of judgements in a matrix."""

    edits: frozenset[int] = frozenset()
    judgements: frozenset[int] = frozenset()


def choose_pilot(matrix: Matrix) -> PilotCells:
    """The cells that come first: of the first sample of each category with something left for a model to show.

    Nothing is chosen when the records show every model at work, or when the pilot would be all there is.
    """
    at_work = models_at_work(matrix)
    edit_models = [m for m, identity in enumerate(matrix.edit_models) if f"edit:{identity.name}" not in at_work]
    judges = [j for j, identity in enumerate(matrix.judges) if f"judge:{identity.name}" not in at_work]
    cells = {position: _cells(matrix, position, edit_models, judges) for position in range(len(matrix.samples))}
    cells = {position: found for position, found in cells.items() if found.edits or found.judgements}
    chosen = {matrix.samples[position].category: cells[position] for position in reversed(cells)}.values()
    if len(chosen) == len(cells):
        return PilotCells()
    return PilotCells(
        frozenset().union(*(found.edits for found in chosen)),
        frozenset().union(*(found.judgements for found in chosen)),
    )


def _cells(matrix: Matrix, position: int, edit_models: Sequence[int], judges: Sequence[int]) -> PilotCells:
    """What these models have not done yet of a sample. The judges take the first edit model that has not failed."""
    numbers = [matrix.edit_number(model, 0, position) for model in range(len(matrix.edit_models))]
    edits = [numbers[model] for model in edit_models if matrix.edits[numbers[model]].status is Status.PENDING]
    to_judge = next((n for n in numbers if matrix.edits[n].status in (Status.OK, Status.PENDING)), None)
    units = [] if to_judge is None else [matrix.judgement_number(to_judge, judge, 0) for judge in judges]
    return PilotCells(
        frozenset(edits), frozenset(unit for unit in units if matrix.judgement(unit).status is Status.PENDING)
    )


def models_at_work(matrix: Matrix) -> set[str]:
    """The models (`edit:NAME`, `judge:NAME`) that have made an edit, or given an answer with a score."""
    found = {f"edit:{edit.edit_model}" for edit in matrix.edits if edit.status is Status.OK}
    for unit, answers in enumerate(matrix.answers):
        judge = f"judge:{matrix.judges[matrix.place(unit).judge].name}"
        if answers and judge not in found and matrix.judgement(unit).status is Status.OK:
            found.add(judge)
    return found


class Pilot:
    """Listens to what is recorded until the pilot is over; passes everything on to the real audience."""

    def __init__(self, matrix: Matrix, cells: PilotCells, audience: Any, when_over: Callable[[bool], None]) -> None:
        """`when_over` is told whether every model that the pilot covers has been seen at work."""
        self._matrix = matrix
        self._audience = audience
        self._when_over = when_over
        self._at_work = models_at_work(matrix)
        self._edits: dict[str, list[int]] = {}
        self._judgements: dict[str, list[int]] = {}
        for number in sorted(cells.edits):
            self._edits.setdefault(matrix.edits[number].edit_model, []).append(number)
        for unit in sorted(cells.judgements):
            self._judgements.setdefault(matrix.address(unit)[3], []).append(unit)
        self._over = not (self._edits or self._judgements)

    def edit(self, edit: Edit) -> None:
        """An edit was recorded. Raises `Stopped` when it is the pilot's last of a model that has made none."""
        self._audience.edit(edit)
        if edit.status is Status.OK:
            self._at_work.add(f"edit:{edit.edit_model}")
        if not self._over:
            self._look()

    def judgement(self, judgement: Judgement) -> None:
        """A judgement was recorded. Raises `Stopped` when it is the pilot's last by a judge that has given no score."""
        self._audience.judgement(judgement)
        if judgement.status is Status.OK:
            self._at_work.add(f"judge:{judgement.judge}")
        if not self._over:
            self._look()

    def _look(self) -> None:
        pending = False
        for model, numbers in self._edits.items():
            edits = [self._matrix.edits[number] for number in numbers]
            if any(edit.status is Status.PENDING for edit in edits):
                pending = True
            elif f"edit:{model}" not in self._at_work:
                self._stop_at_edits(edits[-1])
        for judge, units in self._judgements.items():
            judgements = [self._matrix.judgement(unit) for unit in units]
            given = [judgement for judgement in judgements if judgement.status is not Status.EDIT_FAILED]
            if any(judgement.status is Status.PENDING for judgement in given):
                pending = True
            elif given and f"judge:{judge}" not in self._at_work:
                self._stop_at_judgements(given[-1])
        if not pending:
            self._over = True
            covered = {f"edit:{model}" for model in self._edits} | {f"judge:{judge}" for judge in self._judgements}
            self._when_over(covered <= self._at_work)

    def _stop_at_edits(self, last: Edit) -> None:
        # Others may have been made meanwhile: they failed, too.
        count = sum(e.edit_model == last.edit_model and e.status is Status.EDIT_FAILED for e in self._matrix.edits)
        self._over = True
        raise Stopped(
            f"pilot: every one of the first {count} edits by {last.edit_model} failed ({last.reason}); "
            f"mend that and run again with --retry {Status.EDIT_FAILED}"
        )

    def _stop_at_judgements(self, last: Judgement) -> None:
        nothing = (Status.PENDING, Status.SKIPPED, Status.EDIT_FAILED)
        judgements = [j for j in self._matrix.judgements() if j.judge == last.judge and j.status not in nothing]
        statuses = ",".join(dict.fromkeys(j.status.value for j in judgements))
        self._over = True
        raise Stopped(
            f"pilot: none of the first {len(judgements)} answers by {last.judge} is a score: {last.status} "
            f"({last.reason}); mend that and run again with --retry {statuses}"
        )
