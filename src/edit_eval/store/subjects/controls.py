"""Controls: pictures judged in place of edits, which no edit model made. They tell what a judge's scores are worth."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from edit_eval.experiment import Experiment
from edit_eval.records import CONTROL, Status
from edit_eval.scheduling.batches import pick_across_categories
from edit_eval.store.subjects.contract import CellNumbers, InputPicture, Kind, MatrixState, Subject


class Controls(Kind):
    """Pictures that no edit model made, judged in place of edits.

    Of samples that are spread over the categories, asked about once. They have batches of their own, so
    that no edit's answer depends on them, and no device loads a judge for them alone: they wait for their sample's edit
    by the first edit model.
    """

    name = "control"
    counts = False
    by_the_way = True
    repeated = False

    def unfold(self, experiment: Experiment) -> Iterable[Subject]:
        judges = tuple(place for place, judge in enumerate(experiment.judges) if judge.sees_controls)
        if not experiment.control_samples or not judges:
            return
        good = experiment.samples_for_controls
        categories = [experiment.samples[number].category for number in good]
        for place in pick_across_categories(categories, experiment.control_samples):
            number = good[place]
            other = _other(experiment, number)
            further = ((shows, None) for shows in experiment.more_controls)
            for shows, of in (("source", None), ("blank", None), *further, ("shuffled", other)):
                if shows != "shuffled" or of is not None:
                    yield Subject(self.name, number, other=of, shows=shows, judges=judges)

    def edits(self, cells: CellNumbers, number: int) -> tuple[int, ...]:
        other = cells.subject(number).other
        return () if other is None else (cells.edit(0, 0, other),)

    def waits_for(self, matrix: MatrixState, number: int) -> tuple[int, ...]:
        return *self.visible_edits(matrix, number), matrix.cells.edit(0, 0, matrix.cells.sample(number))

    def pictures(self, matrix: MatrixState, number: int) -> dict[str, InputPicture]:
        shown, shows = matrix.context_pictures(number), matrix.cells.subject(number).shows
        if shows != "shuffled":
            maker, known = matrix.experiment.more_controls.get(shows, ("", ""))
            return {**shown, "edit": shown["source"]._replace(blank=shows == "blank", maker=maker, made=known)}
        made = matrix.edits[self.edits(matrix.cells, number)[0]]
        return {**shown, "edit": InputPicture.from_edit(made)} if made.status is Status.OK else shown

    def column_names(self, matrix: MatrixState, number: int) -> tuple[str, str]:
        return f"{CONTROL}{matrix.cells.subject(number).shows}", ""

    def batch_group(self, matrix: MatrixState, number: int, batch_of: Sequence[int]) -> Hashable:
        return matrix.cells.subject(number).shows, matrix.sample_of(number).category


def _other(experiment: Experiment, number: int) -> int | None:
    """Returns the sample behind this one that has another source image, whose edit is shown; None if there is none."""
    samples, good = experiment.samples, experiment.independent_samples
    place = good.index(number)
    later = (good[(place + step) % len(good)] for step in range(1, len(good)))
    return next((sample for sample in later if samples[sample].cluster != samples[number].cluster), None)
