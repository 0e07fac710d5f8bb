"""What is left of a matrix, as tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edit_eval.records import Status
from edit_eval.scheduling.tasks import Work
from edit_eval.store.matrix import Matrix


def fill_work(
    work: Work,
    matrix: Matrix,
    batches: Mapping[str, Sequence[int]],
    *,
    by_category: bool = False,
    pilot: Sequence[int] = (),
) -> None:
    """Adds a task for every edit that is pending and every batch with a judgement that is.

    `batches[judge][index]` is the batch of the sample with that index in the whole benchmark (see
    `edit_eval.scheduling.batches`). A batch goes to the judge whole: those of its members that are answered already
    keep the others company. With `by_category` each category is a phase of its own. `pilot` has the positions (in
    `matrix.samples`) of the samples whose first edits come before all others.
    """
    count = len(matrix.samples)
    categories = list(dict.fromkeys(sample.category for sample in matrix.samples))
    first = {matrix.edit_number(0, 0, position) for position in pilot}
    # The pilot is the earliest phase: with `by_category` the first category waits for all of it.
    phases = [1 + categories.index(sample.category) if by_category else 0 for sample in matrix.samples]
    for number in [*sorted(first), *(n for n in range(len(matrix.edits)) if n not in first)]:
        edit = matrix.edits[number]
        if edit.status is Status.PENDING:
            work.add(f"edit:{edit.edit_model}", [number], phase=0 if number in first else phases[number % count])
    for model in range(len(matrix.edit_models)):
        for edit_seed in range(matrix.edit_seeds):
            for judge, identity in enumerate(matrix.judges):
                for repeat in range(matrix.repeats):
                    members: dict[int, list[int]] = {}
                    for position, sample in enumerate(matrix.samples):
                        unit = matrix.judgement_number(matrix.edit_number(model, edit_seed, position), judge, repeat)
                        members.setdefault(batches[identity.name][sample.index], []).append(unit)
                    for units in members.values():
                        number = matrix.place(units[0]).edit
                        is_pilot = number in first and repeat == 0
                        phase = 0 if is_pilot else phases[number % count]
                        _add_batch(work, matrix, f"judge:{identity.name}", units, phase, is_pilot)


def _add_batch(work: Work, matrix: Matrix, judge: str, units: list[int], phase: int, pilot: bool) -> None:
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
    work.add(judge, units, after=waits_for, phase=phase, pilot=pilot)


def pilot_positions(matrix: Matrix, batches: Mapping[str, Sequence[int]]) -> list[int]:
    """The samples of the pilot: the first of each category, with all that share a batch with it.

    Empty when the records show the first edit model and every judge at work already, or when the pilot would be all
    there is.
    """
    edited = any(edit.status is Status.OK for edit in matrix.edits)
    judged = {matrix.place(unit).judge for unit, answers in enumerate(matrix.answers) if answers}
    if edited and len(judged) == len(matrix.judges):
        return []
    usable = [(position, sample) for position, sample in enumerate(matrix.samples) if not sample.fault]
    firsts = {sample.category: sample.index for _, sample in reversed(usable)}
    wanted = {(judge, batches[judge][index]) for judge in batches for index in firsts.values()}
    chosen = [p for p, sample in usable if any((judge, batches[judge][sample.index]) in wanted for judge in batches)]
    return chosen if len(chosen) < len(usable) else []
