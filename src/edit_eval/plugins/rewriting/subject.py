"""Rewritings: what a judge makes of an instruction, before there is an edit; columns are told it (`Refinement`)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from edit_eval.experiment import Experiment
from edit_eval.records import CONTROL
from edit_eval.store.subjects.contract import InputPicture, Kind, MatrixState, Subject

REWRITE = f"{CONTROL}rewrite"
"""What stands for the edit model in records."""


class Rewritings(Kind):
    """A sample before there is an edit: what judges make of its instruction.

    Each good sample once, and in no number. One shares a batch only with the samples that its edit would: the edit
    waits for it.
    """

    name = "rewriting"
    counts = False
    repeated = False
    before_edits = True

    def unfold(self, experiment: Experiment) -> Iterable[Subject]:
        judges = tuple(place for place, judge in enumerate(experiment.judges) if judge.before_edits)
        for number in experiment.independent_samples if judges else ():
            yield Subject(self.name, number, judges=judges)

    def pictures(self, matrix: MatrixState, number: int) -> dict[str, InputPicture]:
        return matrix.context_pictures(number)

    def column_names(self, matrix: MatrixState, number: int) -> tuple[str, str]:
        return REWRITE, ""

    def batch_group(self, matrix: MatrixState, number: int, batch_of: Sequence[int]) -> Hashable:
        return batch_of[matrix.sample_of(number).index]
