"""Edits, one after the other: the common kind. Judges see it beside its sample's pictures, or the edit before."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from edit_eval.experiment import Experiment
from edit_eval.records import Judgement, Status
from edit_eval.store.subjects.contract import CellNumbers, InputPicture, Kind, MatrixState, Subject


class Edits(Kind):
    """Edits, by edit model, edit seed and sample: a million of them are numbers only (`Cells.edit`)."""

    name = "edit"

    def unfold(self, experiment: Experiment) -> Iterable[Subject]:
        return ()

    def edits(self, cells: CellNumbers, number: int) -> tuple[int, ...]:
        return (number,)

    def visible_edits(self, matrix: MatrixState, number: int) -> tuple[int, ...]:
        before = (
            matrix.origins.last(number)
            if matrix.experiment.uses_previous_pictures
            else matrix.origins.predecessor(number)
        )
        return (number,) if before is None else (before, number)

    def pictures(self, matrix: MatrixState, number: int) -> dict[str, InputPicture]:
        shown, made = matrix.context_pictures(number), matrix.edits[number]
        return {**shown, "edit": InputPicture.from_edit(made)} if made.status is Status.OK else shown

    def column_names(self, matrix: MatrixState, number: int) -> tuple[str, str]:
        return matrix.edit_models[matrix.cells.edit_parts(number)[0]].name, ""

    def batch_group(self, matrix: MatrixState, number: int, batch_of: Sequence[int]) -> Hashable:
        return batch_of[matrix.sample_of(number).index]

    def rows(self, matrix: MatrixState) -> Iterator[Judgement]:
        """Yields by edit model, edit seed, judge, repeat, sample; none of controls, and none beside the filters."""
        experiment, cells = matrix.experiment, matrix.cells
        own = matrix.row_sample_indexes
        for model in range(len(matrix.edit_models)):
            for edit_seed in range(experiment.edit_seeds):
                for judge in cells.judges_of_one:
                    for repeat in range(cells.repeats[judge]):
                        for sample in own:
                            yield matrix.judgement(cells.judgement(cells.edit(model, edit_seed, sample), judge, repeat))
