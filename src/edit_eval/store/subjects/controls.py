"""Controls: pictures judged in place of edits, which no edit model made. They tell what a judge's scores are worth."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from edit_eval.experiment import CONTROLS, Experiment
from edit_eval.records import CONTROL, Judgement, Status
from edit_eval.scheduling.batches import spread
from edit_eval.statistics.controls import ControlTest, is_final, scores_by_model
from edit_eval.statistics.series import Series
from edit_eval.store.subjects.contract import CellNumbers, Kind, MatrixState, Shown, Subject

CONTROL_OF = "control_of"
"""In an experiment that grows, the fact of a control sample that names the sample it controls."""


class Controls(Kind):
    """Controls of samples that are spread over the categories, asked about once. They have batches of their own, so
    that no edit's answer depends on them, and no device loads a judge for them alone: they wait for their sample's edit
    by the first edit model. In steps, each judge has its own, and a step is a round; else all are of one."""

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
        return *self.shown(matrix, number), matrix.cells.edit(0, 0, matrix.cells.sample(number))

    def pictures(self, matrix: MatrixState, number: int) -> dict[str, Shown]:
        shown, shows = matrix.given(number), matrix.cells.subject(number).shows
        if shows != "shuffled":
            maker, known = matrix.experiment.more_controls.get(shows, ("", ""))
            return {**shown, "edit": shown["source"]._replace(blank=shows == "blank", maker=maker, made=known)}
        made = matrix.picture(self.edits(matrix.cells, number)[0])
        return {**shown, "edit": Shown.of(made)} if made.status is Status.OK else shown

    def names(self, matrix: MatrixState, number: int) -> tuple[str, str]:
        return f"{CONTROL}{matrix.cells.subject(number).shows}", ""

    def company(self, matrix: MatrixState, number: int, batch_of: Sequence[int]) -> Hashable:
        of = matrix.cells.subject(number)
        return of.round, of.shows, matrix.sample_of(number).category

    def open(self, matrix: MatrixState) -> Sequence[int]:
        return matrix.control_steps.open

    def is_open(self, matrix: MatrixState, number: int) -> bool:
        return matrix.control_steps.is_open(number)

    def rows(self, matrix: MatrixState) -> Iterator[Judgement]:
        """Yields every judgement of a control; in an experiment that grows, under the sample that it controls."""
        yield from super().rows(matrix)
        there = {sample.id for sample in matrix.samples} if matrix.experiment.grows else set[str]()
        for number, sample in enumerate(matrix.samples) if there else ():
            of = str(sample.facts.get(CONTROL_OF, ""))
            if matrix.experiment.control_kind(sample) in CONTROLS and of in there:
                for judgement in matrix.cells.judgements_of(number):
                    yield replace(matrix.judgement(judgement), sample_id=of)


def _samples(experiment: Experiment) -> list[tuple[int, int]]:
    """Returns the positions of the samples with controls, each after its round, in order."""
    samples, steps = experiment.samples, experiment.control_steps
    good = experiment.standing_alone if steps is None else experiment.images_for_controls
    categories = [samples[number].category for number in good]
    positions, before = list[tuple[int, int]](), set[int]()
    for turn, count in enumerate((experiment.control_samples,) if steps is None else steps):
        chosen = spread(categories, count)
        positions += [(turn, good[place]) for place in chosen if place not in before]
        before |= set(chosen)
    return positions


def _other(experiment: Experiment, number: int) -> int | None:
    """Returns the sample behind this one that has another source image, whose edit is shown; None if there is none."""
    samples, good = experiment.samples, experiment.standing_alone
    place = good.index(number)
    later = (good[(place + step) % len(good)] for step in range(1, len(good)))
    return next((sample for sample in later if samples[sample].cluster != samples[number].cluster), None)


class Steps:
    """How many controls of each kind each judge is asked about, where that is found out in steps.

    A step opens once all before it, and the edits of the same samples, have been judged and the kind is not shown to be
    below edits. This depends on replies alone, and on those of samples with controls, which are in one shard.
    """

    def __init__(self, matrix: MatrixState) -> None:
        self._matrix = matrix
        self._steps: dict[tuple[int, str], int] = {}
        """For each judge's kind of control, the steps that are open."""
        self.open: Sequence[int] = ()
        """Numbers of the controls that are to be judged by now."""
        self._open = frozenset[int]()
        self._begin()

    def _begin(self) -> None:
        every, subject = self._matrix.cells.of_kind(Controls.name), self._matrix.cells.subject
        if self._matrix.experiment.control_steps is None:
            self.open = every
            return
        self._steps = {(subject(number).judges[0], subject(number).shows): 1 for number in every}
        self._sort()

    def _sort(self) -> None:
        cells = self._matrix.cells
        several = map(cells.subject, every := cells.of_kind(Controls.name))
        self.open = [
            number
            for number, control in zip(every, several, strict=True)
            if control.round < self._steps[control.judges[0], control.shows]
        ]
        self._open = frozenset(self.open)

    def is_open(self, number: int) -> bool:
        """True if a control is to be judged by now."""
        return self._matrix.experiment.control_steps is None or number in self._open

    def open_all(self) -> None:
        """Opens all steps."""
        if self._steps:
            self._steps = dict.fromkeys(self._steps, len(self._matrix.experiment.control_steps or ()))
            self._sort()

    def look(self) -> bool:
        """Opens the steps that the replies so far call for; True if some controls are open that were not."""
        most = len(self._matrix.experiment.control_steps or ())
        if most < 2:
            return False
        before = self._open
        for judge, kind in self._steps:
            number = 1
            while number < most and self._calls_for_more(judge, kind, number):
                number += 1
            self._steps[judge, kind] = number
        self._sort()
        return not self._open <= before

    def _calls_for_more(self, judge: int, kind: str, steps: int) -> bool:
        matrix, numbers = self._matrix, self._of[judge, kind]
        cells, scoring = matrix.cells, matrix.judges[judge].scoring
        numbers = numbers[: bisect_right(numbers, steps - 1, key=lambda number: cells.subject(number).round)]
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

    @cached_property
    def _of(self) -> dict[tuple[int, str], list[int]]:
        """The numbers of each judge's controls of a kind, in order."""
        numbers: dict[tuple[int, str], list[int]] = {}
        for number in self._matrix.cells.of_kind(Controls.name):
            control = self._matrix.cells.subject(number)
            numbers.setdefault((control.judges[0], control.shows), []).append(number)
        return numbers
