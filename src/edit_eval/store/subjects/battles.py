"""Battles: two edits of a sample held against each other, in both orders; an extended design, round by round."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product

from edit_eval.experiment import Experiment
from edit_eval.protocols.asked import AskedJudge, SampleQuestion, asked_digest, rounds_of
from edit_eval.records import Judgement, Status
from edit_eval.statistics.fitted_strengths import all_differ
from edit_eval.statistics.votes import tables_of, votes_of
from edit_eval.store.subjects.contract import CellNumbers, Kind, MatrixState, Shown, Subject


class Battles(Kind):
    """Battles, by round, sample, edit seed and columns. Samples that follow another have none: their edits were made
    from different pictures."""

    name = "battle"

    def unfold(self, experiment: Experiment) -> Iterable[Subject]:
        judges_of_battle: dict[tuple[int, int, int, int, int], list[int]] = {}
        for place, judge in enumerate(experiment.judges):
            for number, sample in enumerate(experiment.samples) if judge.of_two else ():
                if sample.id in experiment.beside:
                    continue
                rounds = rounds_of(judge.protocol, sample, experiment.edit_models)
                for (turn, pairs), edit_seed in product(enumerate(rounds), range(experiment.edit_seeds)):
                    for column, other in pairs:
                        judges_of_battle.setdefault((turn, number, edit_seed, column, other), []).append(place)
        for (turn, number, edit_seed, column, other), judges in sorted(judges_of_battle.items()):
            yield Subject(self.name, number, column, other, edit_seed, turn, judges=tuple(judges))

    def edits(self, cells: CellNumbers, number: int) -> tuple[int, ...]:
        of = cells.subject(number)
        assert of.other is not None
        return cells.edit(of.column, of.seed, of.sample), cells.edit(of.other, of.seed, of.sample)

    def pictures(self, matrix: MatrixState, number: int) -> dict[str, Shown]:
        both = zip(("edit", "other"), map(matrix.picture, self.edits(matrix.cells, number)), strict=True)
        return {**matrix.given(number), **{name: Shown.of(edit) for name, edit in both if edit.status is Status.OK}}

    def in_key(
        self, matrix: MatrixState, cell: int, asked: SampleQuestion, pictures: Mapping[str, str]
    ) -> tuple[str, str]:
        """The pixels of both are in what is asked, in the order shown: which of the two comes first is in no key."""
        return asked_digest(matrix.question(cell), pictures), ""

    def names(self, matrix: MatrixState, number: int) -> tuple[str, str]:
        of = matrix.cells.subject(number)
        assert of.other is not None
        return matrix.edit_models[of.column].name, matrix.edit_models[of.other].name

    def company(self, matrix: MatrixState, number: int, batch_of: Sequence[int]) -> Hashable:
        of = matrix.cells.subject(number)
        return of.round, batch_of[matrix.sample_of(number).index], of.seed

    def open(self, matrix: MatrixState) -> range:
        return matrix.design.open

    def is_open(self, matrix: MatrixState, number: int) -> bool:
        return number < matrix.design.open.stop

    def rows(self, matrix: MatrixState) -> Iterator[Judgement]:
        for number in filter(matrix.references.is_battle, self.open(matrix)):
            yield from map(matrix.judgement, matrix.cells.judgements_of(number))


class Design:
    """How many rounds of battles are asked. Those of later rounds have numbers, and are ignored otherwise."""

    def __init__(self, matrix: MatrixState) -> None:
        self._matrix = matrix
        self.most = max((judge.scoring.looks for judge in matrix.judges if judge.of_two), default=1)
        """The most rounds that any judge may be asked."""
        self.rounds = 1
        """Rounds asked so far."""

    @property
    def open(self) -> range:
        """Numbers of the battles of the rounds so far."""
        every, subject = self._matrix.cells.of_kind(Battles.name), self._matrix.cells.subject
        if self.most == 1:
            return every
        return every[: bisect_right(every, self.rounds - 1, key=lambda number: subject(number).round)]

    def look(self) -> bool:
        """Opens the rounds that the replies so far call for; True if that is more than before.

        A round opens once all earlier ones are final and some edit models cannot be told apart yet. This depends on
        replies alone, so that a resumed or reread run has the same rounds.
        """
        before = self.rounds
        self._open(1)
        while (
            self.rounds < self.most
            and not any(row.status is Status.PENDING for row in self._matrix.rows(Battles.name))
            and any(map(self._cannot_tell, self._matrix.judges))
        ):
            self._open(self.rounds + 1)
        return self.rounds > before

    def open_all(self) -> None:
        """Opens all rounds."""
        self._open(self.most)

    def of_sample(self, sample: int) -> list[int]:
        """Returns the numbers of a sample's battles so far, by the sample's position."""
        is_battle = self._matrix.references.is_battle
        return [number for number in self._by_sample.get(sample, []) if is_battle(number)]

    @cached_property
    def _by_sample(self) -> dict[int, list[int]]:
        by_sample: dict[int, list[int]] = {}
        for number in self.open:
            by_sample.setdefault(self._matrix.cells.sample(number), []).append(number)
        return by_sample

    def _open(self, rounds: int) -> None:
        self.rounds = rounds
        vars(self).pop("_by_sample", None)

    def _cannot_tell(self, judge: AskedJudge) -> bool:
        """True if a judge has rounds left, and its strengths do not tell all edit models apart."""
        if not judge.of_two or (looks := judge.scoring.looks) <= self.rounds:
            return False
        matrix = self._matrix
        its = [row for row in matrix.rows(Battles.name) if row.judge == judge.name]
        votes = votes_of(its, judge.scoring.headline, matrix.samples)
        tables = tables_of(judge.scoring.scales for judge in matrix.judges if judge.of_two)
        return not all_differ(votes, [model.name for model in matrix.edit_models], tables, looks)
