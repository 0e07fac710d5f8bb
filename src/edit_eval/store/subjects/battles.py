"""Battles: two edits of a sample held against each other, in both orders; an extended design, round by round."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import product

from edit_eval.experiment import Experiment
from edit_eval.protocols.asked import SampleQuestion, question_digest, rounds_of
from edit_eval.records import Judgement, Status
from edit_eval.statistics.votes import tables_of, votes_of
from edit_eval.store.subjects.contract import CellNumbers, InputPicture, Kind, MatrixState, Subject
from edit_eval.text import Text


class Battles(Kind):
    """Two edits of a sample compared with each other.

    By round, sample, edit seed and columns. Samples that follow another have none: their edits were made from different
    pictures.
    """

    name = "battle"

    def unfold(self, experiment: Experiment) -> Iterable[Subject]:
        return [subject for subject in self._unfold_rounds(experiment) if not subject.round]

    def unfold_more(self, matrix: MatrixState, *, every: bool = False) -> Sequence[Subject]:
        """Returns the next round, if all battles so far are final and some edit models cannot be told apart yet."""
        extended = any(judge.of_two and judge.scoring.looks > 1 for judge in matrix.judges)
        begun = len(matrix.cells.subjects_of(self.name))
        rest = self._unfold_rounds(matrix.experiment)[begun:] if extended else []
        if every or not rest:
            return rest
        rows = [*self.rows(matrix)]
        if any(row.status is Status.PENDING for row in rows):
            return ()
        turn = rest[0].round
        models = [model.name for model in matrix.edit_models]
        tables = tables_of(judge.scoring.scales for judge in matrix.judges if judge.of_two)
        for judge in matrix.judges:
            if judge.of_two and (looks := judge.scoring.looks) > turn:
                its = [row for row in rows if row.judge == judge.name]
                from edit_eval.statistics.fitted_strengths import all_differ  # numpy, for runs with battles alone

                if not all_differ(votes_of(its, judge.scoring.headline, matrix.samples), models, tables, looks):
                    return [subject for subject in rest if subject.round == turn]
        return ()

    def _unfold_rounds(self, experiment: Experiment) -> list[Subject]:
        judges_of_battle: dict[tuple[int, int, int, int, int], list[int]] = {}
        for place, judge in enumerate(experiment.judges):
            for number, sample in enumerate(experiment.samples) if judge.of_two else ():
                if sample.id in experiment.beside:
                    continue
                rounds = rounds_of(judge.protocol, sample, experiment.edit_models)
                for (turn, pairs), edit_seed in product(enumerate(rounds), range(experiment.edit_seeds)):
                    for column, other in pairs:
                        judges_of_battle.setdefault((turn, number, edit_seed, column, other), []).append(place)
        return [
            Subject(self.name, number, column, other, edit_seed, turn, judges=tuple(judges))
            for (turn, number, edit_seed, column, other), judges in sorted(judges_of_battle.items())
        ]

    def edits(self, cells: CellNumbers, number: int) -> tuple[int, ...]:
        of = cells.subject(number)
        assert of.other is not None
        return cells.edit(of.column, of.seed, of.sample), cells.edit(of.other, of.seed, of.sample)

    def what_lacks(self, matrix: MatrixState, number: int) -> tuple[Status, str] | None:
        if _is_of_one(matrix, self.edits(matrix.cells, number)):
            return Status.SKIPPED, Text("both are one edit, which was kept")
        return super().what_lacks(matrix, number)

    def rows_of(self, matrix: MatrixState, numbers: Iterable[int]) -> Iterator[Judgement]:
        """Yields no battle of an edit with itself."""
        return super().rows_of(matrix, (n for n in numbers if not _is_of_one(matrix, self.edits(matrix.cells, n))))

    def pictures(self, matrix: MatrixState, number: int) -> dict[str, InputPicture]:
        both = zip(("edit", "other"), (matrix.edits[edit] for edit in self.edits(matrix.cells, number)), strict=True)
        return {
            **matrix.context_pictures(number),
            **{name: InputPicture.from_edit(edit) for name, edit in both if edit.status is Status.OK},
        }

    def key_parts(
        self, matrix: MatrixState, cell: int, asked: SampleQuestion, pictures: Mapping[str, str]
    ) -> tuple[str, str]:
        """The pixels of both are in what is asked, in the order shown: which of the two comes first is in no key."""
        return question_digest(matrix.question(cell), pictures), ""

    def column_names(self, matrix: MatrixState, number: int) -> tuple[str, str]:
        of = matrix.cells.subject(number)
        assert of.other is not None
        return matrix.edit_models[of.column].name, matrix.edit_models[of.other].name

    def batch_group(self, matrix: MatrixState, number: int, batch_of: Sequence[int]) -> Hashable:
        of = matrix.cells.subject(number)
        return of.round, batch_of[matrix.sample_of(number).index], of.seed


def _is_of_one(matrix: MatrixState, edits: Sequence[int]) -> bool:
    """True if both edits are one, since one is kept, or both are."""
    return len({*map(matrix.origins.original_of, edits)}) < len(edits)
