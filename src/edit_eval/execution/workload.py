"""What is left of a matrix, as tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edit_eval.execution.pilot import PilotCells
from edit_eval.records import Status
from edit_eval.scheduling.tasks import PILOT, Work
from edit_eval.store.matrix import Matrix


def fill_work(
    work: Work,
    matrix: Matrix,
    batches: Mapping[str, Sequence[int]],
    *,
    by_category: bool = False,
    pilot: PilotCells = PilotCells(),  # noqa: B008 (it cannot change)
) -> None:
    """Adds a task for every edit that is pending and every batch with a judgement that is.

    `batches[judge][index]` is the batch of the sample with that index in the whole benchmark (see
    `edit_eval.scheduling.batches`). A batch goes to the judge whole: those of its members that are answered already
    keep the others company. With `by_category` each category is a phase of its own. The batches in which `pilot` has
    a judgement are part of the pilot, and so are the edits that they wait for.
    """
    categories = list(dict.fromkeys(sample.category for sample in matrix.samples))
    phases = [categories.index(sample.category) if by_category else 0 for sample in matrix.samples]

    asked = [batch for judge in range(len(matrix.judges)) for batch in _batches(matrix, judge, batches)]
    early = {unit for units in asked if not pilot.judgements.isdisjoint(units) for unit in units}
    first = pilot.edits | {edit for unit in early if _is_pending(matrix, edit := matrix.place(unit).edit)}

    def phase(edit: int, is_pilot: bool) -> int:
        return PILOT if is_pilot else phases[edit % len(phases)]

    # In the order of their phases: a task begins at once where nothing of an earlier phase has been added.
    edits = [
        (phase(number, number in first), f"edit:{edit.edit_model}", [number])
        for number, edit in enumerate(matrix.edits)
        if _is_pending(matrix, number)
    ]
    judging = [
        (
            phase(matrix.place(units[0]).edit, units[0] in early),
            f"judge:{matrix.judges[matrix.place(units[0]).judge].name}",
            units,
        )
        for units in asked
    ]
    for its_phase, model, units in sorted([*edits, *judging], key=lambda task: task[0]):
        waits_for = []
        if model.startswith("judge:"):
            waits_for = [edit for unit in units if _is_pending(matrix, edit := matrix.place(unit).edit)]
        work.add(model, units, after=waits_for, phase=its_phase)


def _is_pending(matrix: Matrix, edit: int) -> bool:
    return matrix.edits[edit].status is Status.PENDING


def _batches(matrix: Matrix, judge: int, batches: Mapping[str, Sequence[int]]) -> list[list[int]]:
    """The judgements that a judge is asked for together, in the order of edit models, edit seeds and repeats."""
    of_sample = batches[matrix.judges[judge].name]
    asked = []
    for model in range(len(matrix.edit_models)):
        for edit_seed in range(matrix.edit_seeds):
            for repeat in range(matrix.repeats):
                members: dict[int, list[int]] = {}
                for position, sample in enumerate(matrix.samples):
                    unit = matrix.judgement_number(matrix.edit_number(model, edit_seed, position), judge, repeat)
                    members.setdefault(of_sample[sample.index], []).append(unit)
                for units in members.values():
                    asked += _what_is_left(matrix, units)
    return asked


def _what_is_left(matrix: Matrix, units: list[int]) -> list[list[int]]:
    """A batch without the members that have no edit, if a judgement of it is pending."""
    units = [u for u in units if matrix.edits[matrix.place(u).edit].status in (Status.OK, Status.PENDING)]
    pending = [unit for unit in units if matrix.judgement(unit).status is Status.PENDING]
    if pending and all(matrix.answers[unit] for unit in pending):
        # Only answers that could not be read are left: those are asked again one by one.
        return [[unit] for unit in pending]
    return [units] if pending else []
