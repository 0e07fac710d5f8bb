"""The table of judgements: a row for every subject by judge and repeat. Readers of a run query it.

A row is a `records.Judgement`. Its `kind` is what was judged; a row that is `made_in` another column refers to the row
there, and was `asked` 0 times; whether coverage and means count it is `counts`. What is no subject has no row: a battle
of an edit with itself, a battle of a round that was not begun, a sample that passes no filter.
"""

from __future__ import annotations

from collections.abc import Iterator

from edit_eval.records import Edit, Judgement, Sample, Status
from edit_eval.store.matrix import Matrix
from edit_eval.text import Text, counted


def rows(matrix: Matrix) -> Iterator[Judgement]:
    """Yields every row: of edits, of controls, of battles, and of what was asked before there was an edit."""
    for of_kind in (matrix.judgements, matrix.controls, matrix.battles, matrix.rewrites):
        yield from of_kind()


def by_kind(matrix: Matrix) -> dict[str, list[Judgement]]:
    """Returns the rows by kind; those of edits that do not count, a critic's, as `critique`."""
    found: dict[str, list[Judgement]] = {"edit": [], "battle": [], "control": [], "rewriting": [], "critique": []}
    for one in rows(matrix):
        found["critique" if one.kind == "edit" and not one.counts else one.kind].append(one)
    return found


def subjects(matrix: Matrix) -> tuple[tuple[Sample, ...], tuple[Edit, ...]]:
    """Returns samples and edits that the rows of edits are about: none beside the filters, and none of the controls
    that an experiment that grows has among its samples."""
    experiment = matrix.experiment
    own = [
        number
        for number, sample in enumerate(matrix.samples)
        if sample.id not in experiment.beside and not experiment.control_kind(sample)
    ]
    places = {*own}
    edits = (number for number in range(matrix.cells.edits) if matrix.cells.sample(number) in places)
    return tuple(matrix.samples[number] for number in own), tuple(map(matrix.shown_edit, edits))


def what_is_left(matrix: Matrix) -> str:
    """Returns a line on what is reused and what is to be done."""
    edits = [e for e in matrix.edits if e.status is not Status.SKIPPED]
    kept = sum(e.status is not Status.PENDING for e in edits)
    judgements = [j for j in rows(matrix) if j.status is not Status.SKIPPED and not j.made_in]
    judged = sum(j.status is not Status.PENDING for j in judgements)
    if judged == len(judgements):
        return Text(
            "Nothing to do: {} and {} already complete",
            counted(len(edits), "edit"),
            counted(len(judgements), "judgement"),
        )
    kept_text = (
        Text("{} of {} edits and {} of {} judgements are kept; ", kept, len(edits), judged, len(judgements))
        if kept
        else ""
    )
    left = counted(len(edits) - kept, "edit"), counted(len(judgements) - judged, "judgement")
    return Text("{}to do: {}", kept_text, left)
