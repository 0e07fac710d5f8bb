"""Controls: pictures judged in place of edits, which no edit model made. They tell what a judge's scores are worth."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from edit_eval.experiment import Experiment
from edit_eval.records import CONTROL, Status
from edit_eval.scheduling.batches import pick_across_categories
from edit_eval.statistics.controls import ControlTest, is_final, scores_by_model
from edit_eval.statistics.series import Series
from edit_eval.store.subjects.contract import CellNumbers, InputPicture, Kind, MatrixState, Subject
from edit_eval.text import Text, pluralize


class Controls(Kind):
    """Pictures that no edit model made, judged in place of edits.

    Of samples that are spread over the categories, asked about once. They have batches of their own, so
    that no edit's answer depends on them, and no device loads a judge for them alone: they wait for their sample's edit
    by the first edit model. In steps, each judge has its own, and a step is a round; else all are of one.
    """

    name = "control"
    counts = False
    by_the_way = True
    repeated = False

    def unfold(self, experiment: Experiment) -> Iterable[Subject]:
        judges = tuple(place for place, judge in enumerate(experiment.judges) if judge.sees_controls)
        if not experiment.control_samples or not judges:
            return
        for turn, number in _samples(experiment):
            other = _other(experiment, number)
            further = ((shows, None) for shows in experiment.more_controls)
            for shows, of in (("source", None), ("blank", None), *further, ("shuffled", other)):
                if shows != "shuffled" or of is not None:
                    for asked in [judges] if experiment.control_steps is None else [(judge,) for judge in judges]:
                        yield Subject(self.name, number, other=of, round=turn, shows=shows, judges=asked)

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
        of = matrix.cells.subject(number)
        return of.round, of.shows, matrix.sample_of(number).category

    def stages(self, experiment: Experiment) -> int:
        return len(experiment.control_steps or ()) or 1

    def line(self, subject: Subject) -> Hashable:
        return subject.judges, subject.shows

    def calls_for_more(self, matrix: MatrixState, numbers: Sequence[int], stage: int) -> bool:
        """True if these, and the edits of the same samples, have been judged, and the kind is not shown to be below
        edits. All replies that this depends on are of samples with controls, which are in one shard."""
        cells, (judge,) = matrix.cells, matrix.cells.subject(numbers[0]).judges
        scoring = matrix.judges[judge].scoring
        controls = [matrix.judgement(judgement) for number in numbers for judgement in cells.judgements_of(number)]
        if not is_final(controls):
            return False
        edits = [
            matrix.judgement(cells.judgement(cells.edit(model, edit_seed, cells.sample(number)), judge, repeat))
            for number in numbers
            for model in range(len(matrix.edit_models))
            for edit_seed in range(matrix.experiment.edit_seeds)
            for repeat in range(cells.repeats[judge])
        ]
        if not is_final(edits):
            return False
        series = Series(scoring.headline, scoring.scales[scoring.headline])
        test = ControlTest(matrix.samples, series, steps=matrix.experiment.control_steps or ())
        models = scores_by_model(edits, series.score, [model.name for model in matrix.edit_models])
        return not test.is_shown(controls, models)

    def say_why(self, matrix: MatrixState, numbers: Sequence[int]) -> str:
        judges = dict.fromkeys(matrix.judges[matrix.cells.subject(number).judges[0]].name for number in numbers)
        asked = sum(len(matrix.cells.cells_of_subject(number)) for number in numbers)
        return Text("{} not shown fit yet: {} more about controls", [*judges], pluralize(asked, "question"))


def _samples(experiment: Experiment) -> list[tuple[int, int]]:
    """Returns the positions of the samples with controls, each after its round, in order."""
    samples, steps = experiment.samples, experiment.control_steps
    good = experiment.independent_samples if steps is None else experiment.images_for_controls
    categories = [samples[number].category for number in good]
    positions, before = list[tuple[int, int]](), set[int]()
    for turn, count in enumerate((experiment.control_samples,) if steps is None else steps):
        chosen = pick_across_categories(categories, count)
        positions += [(turn, good[place]) for place in chosen if place not in before]
        before |= set(chosen)
    return positions


def _other(experiment: Experiment, number: int) -> int | None:
    """Returns the sample behind this one that has another source image, whose edit is shown; None if there is none."""
    samples, good = experiment.samples, experiment.independent_samples
    place = good.index(number)
    later = (good[(place + step) % len(good)] for step in range(1, len(good)))
    return next((sample for sample in later if samples[sample].cluster != samples[number].cluster), None)
