"""What is left of a matrix, as tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edit_eval.records import Status
from edit_eval.scheduling.tasks import Work
from edit_eval.store.matrix import Matrix


def fill_work(work: Work, matrix: Matrix, batches: Mapping[str, Sequence[int]], *, by_category: bool = False) -> None:
    """Adds a task for every edit that is pending and every batch with a judgement that is.

    `batches[judge][index]` is the batch of the sample with that index in the whole benchmark (see
    `edit_eval.scheduling.batches`). A batch goes to the judge whole: those of its members that are answered already
    keep the others company. With `by_category` each category is a phase of its own.
    """
    categories = list(dict.fromkeys(sample.category for sample in matrix.samples))
    phases = [categories.index(sample.category) if by_category else 0 for sample in matrix.samples]
    for number, edit in enumerate(matrix.edits):
        if edit.status is Status.PENDING:
            work.add(f"edit:{edit.edit_model}", [number], phase=phases[number % len(matrix.samples)])
    for model in range(len(matrix.edit_models)):
        for edit_seed in range(matrix.edit_seeds):
            for judge, identity in enumerate(matrix.judges):
                for repeat in range(matrix.repeats):
                    members: dict[int, list[int]] = {}
                    for position, sample in enumerate(matrix.samples):
                        unit = matrix.judgement_number(matrix.edit_number(model, edit_seed, position), judge, repeat)
                        members.setdefault(batches[identity.name][sample.index], []).append(unit)
                    for units in members.values():
                        phase = phases[matrix.place(units[0]).edit % len(matrix.samples)]
                        _add_batch(work, matrix, f"judge:{identity.name}", units, phase)


def _add_batch(work: Work, matrix: Matrix, judge: str, units: list[int], phase: int) -> None:
    units = [u for u in units if matrix.edits[matrix.place(u).edit].status in (Status.OK, Status.PENDING)]
    if all(matrix.judgement(unit).status is not Status.PENDING for unit in units):
        return
    waits_for = [e for u in units if matrix.edits[e := matrix.place(u).edit].status is Status.PENDING]
    if not waits_for and all(matrix.answers[u] for u in units if matrix.judgement(u).status is Status.PENDING):
        # Only answers that could not be read are left: those are asked again one by one.
        for unit in units:
            if matrix.judgement(unit).status is Status.PENDING:
                work.add(judge, [unit], phase=phase)
        return
    work.add(judge, units, after=waits_for, phase=phase)
