"""Controls: pictures judged in place of edits, which no edit model made. They tell what a judge's scores are worth."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from edit_eval.records import CONTROL, Judgement, Status
from edit_eval.scheduling.batches import spread
from edit_eval.store.subjects.contract import Kind, Shown, Subject

if TYPE_CHECKING:
    from edit_eval.experiment import Experiment
    from edit_eval.store.cells import Cells
    from edit_eval.store.matrix import Matrix

CONTROLS = ("source", "blank", "shuffled")
"""The source itself, a grey picture, another sample's edit; `Experiment.more_controls` has those of packages."""
CONTROL_OF = "control_of"
"""In an experiment that grows, the fact of a control sample that names the sample it controls."""


class Controls(Kind):
    """Controls of samples that are spread over the categories, asked about once. They have batches of their own, so
    that no edit's answer depends on them, and no device loads a judge for them alone: they wait for their sample's edit
    by the first edit model."""

    name = "control"
    counts = False
    by_the_way = True
    repeated = False

    def unfold(self, experiment: Experiment) -> Iterable[Subject]:
        judges = tuple(place for place, judge in enumerate(experiment.judges) if judge.sees_controls)
        if not experiment.control_samples or not judges:
            return
        samples, good = experiment.samples, experiment.standing_alone
        for place in spread([samples[number].category for number in good], experiment.control_samples):
            number = good[place]
            later = (good[(place + step) % len(good)] for step in range(1, len(good)))
            other = next((one for one in later if samples[one].cluster != samples[number].cluster), None)
            further = ((shows, None) for shows in experiment.more_controls)
            for shows, of in (("source", None), ("blank", None), *further, ("shuffled", other)):
                if shows != "shuffled" or of is not None:
                    yield Subject(self.name, number, other=of, shows=shows, judges=judges)

    def edits(self, cells: Cells, number: int) -> tuple[int, ...]:
        other = cells.subject(number).other
        return () if other is None else (cells.edit(0, 0, other),)

    def waits_for(self, matrix: Matrix, number: int) -> tuple[int, ...]:
        return *self.shown(matrix, number), matrix.cells.edit(0, 0, matrix.cells.sample(number))

    def pictures(self, matrix: Matrix, number: int) -> dict[str, Shown]:
        shown, shows = matrix.given(number), matrix.cells.subject(number).shows
        if shows != "shuffled":
            maker, known = matrix.experiment.more_controls.get(shows, ("", ""))
            return {**shown, "edit": shown["source"]._replace(blank=shows == "blank", maker=maker, made=known)}
        made = matrix.picture(self.edits(matrix.cells, number)[0])
        return {**shown, "edit": Shown.of(made)} if made.status is Status.OK else shown

    def names(self, matrix: Matrix, number: int) -> tuple[str, str]:
        return f"{CONTROL}{matrix.cells.subject(number).shows}", ""

    def company(self, matrix: Matrix, number: int, batch_of: Sequence[int]) -> Hashable:
        return matrix.cells.subject(number).shows, matrix.sample_of(number).category

    def rows(self, matrix: Matrix) -> Iterator[Judgement]:
        """Yields every judgement of a control; in an experiment that grows, under the sample that it controls."""
        yield from super().rows(matrix)
        there = {sample.id for sample in matrix.samples} if matrix.experiment.grows else set[str]()
        for number, sample in enumerate(matrix.samples) if there else ():
            of = str(sample.facts.get(CONTROL_OF, ""))
            if matrix.experiment.control_kind(sample) in CONTROLS and of in there:
                for judgement in matrix.cells.judgements_of(number):
                    yield replace(matrix.judgement(judgement), sample_id=of)
