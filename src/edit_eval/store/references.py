"""What is kept from an earlier round, and therefore refers to it: resolved here, and nowhere else.

An edit that a critic finds good enough is kept: the edit of the next round *is* that edit, and so is that of every
round after it. What a judge says of it is what it said the first time, and costs nothing. A battle of a kept edit is
the battle of the edit that it refers to, whichever of the battles between those two pictures is asked; between a kept
edit and the one that it refers to there is no battle. Only a judge that is shown the edit of the round before is asked
about a kept edit by itself: it sees one picture twice, and so that nothing has changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from edit_eval.protocols.contract import LAST
from edit_eval.records import Judgement, Status
from edit_eval.store.critiques import Critiques
from edit_eval.store.subjects.contract import MatrixState

SKIPPED = Status.SKIPPED


class References:
    """Which edits and judgements of a matrix refer to earlier ones, as far as is known."""

    def __init__(self, matrix: MatrixState, critiques: Critiques) -> None:
        self._matrix, self._critiques, experiment = matrix, critiques, matrix.experiment
        places = experiment.places
        self._next = {
            places[refinement.before]: places[name]
            for name, refinement in experiment.refinements.items()
            if refinement.before
        }
        self._battles = matrix.cells.of_kind("battle")  # none in an experiment that grows
        self.possible = bool(self._next)
        """False if the experiment has no rounds, so that nothing refers to anything."""

    @cached_property
    def _see_the_last(self) -> frozenset[int]:
        """Judges that are shown the edit of the round before."""
        asked, judges = self._matrix.experiment.asked, self._matrix.judges
        return frozenset(
            place
            for place, judge in enumerate(judges)
            if any(
                view.picture == LAST for of in asked[judge.name] for question in of for view in question.question.shows
            )
        )

    def edit(self, number: int) -> int:
        """Returns the edit whose picture an edit has: one of an earlier round if it is kept, else the edit itself."""
        matrix = self._matrix
        while self.possible and matrix.edits[number].status is SKIPPED and not matrix.sample_of(number).fault:
            before = self._critiques.before(number)
            if before is None:
                break
            number = before
        return number

    def with_picture(self, number: int) -> list[int]:
        """Returns an edit and all kept ones of later rounds that refer to it, in order."""
        cells, edits = self._matrix.cells, [number]
        place, edit_seed, sample = cells.edit_parts(number)
        while (later := self._next.get(place)) is not None:
            place = later
            edit = cells.edit(place, edit_seed, sample)
            if self._matrix.edits[edit].status is not SKIPPED or self._matrix.samples[sample].fault:
                break
            edits.append(edit)
        return edits

    def is_battle(self, battle: int) -> bool:
        """False if both edits of a battle are one: then there is none."""
        if not self.possible:
            return True
        first, second = map(self.edit, self._matrix.cells.edits_of(battle))
        return first != second

    def judgement(self, number: int) -> int | None:
        """Returns the judgement that is asked for in a judgement's place: mostly itself. None if there is nothing to
        judge, since both edits of a battle are one."""
        if not self.possible:
            return number
        cells = self._matrix.cells
        subject, judge, repeat = cells.parts(number)
        if subject in self._battles:
            return self._of_battle(number)
        if subject >= cells.edits or (made := self.edit(subject)) == subject:
            return number
        if judge in self._see_the_last:  # of several rounds in which nothing changes, the first is asked about
            made = self.with_picture(made)[1]
        return cells.judgement(made, judge, repeat)

    def referring(self, number: int) -> Iterator[int]:
        """Yields the judgements that refer to this one."""
        if not self.possible:
            return
        cells = self._matrix.cells
        subject, judge, repeat = cells.parts(number)
        if subject in self._battles:
            alike = self._alike(number)
        elif subject < cells.edits:
            alike = [cells.judgement(edit, judge, repeat) for edit in self.with_picture(self.edit(subject))]
        else:
            return
        yield from (judgement for judgement in alike if judgement != number and self.judgement(judgement) == number)

    def referred(self, number: int, asked: int | None) -> Judgement:
        """Returns a judgement in whose place another one is `asked`: that one, at no cost; None for no battle."""
        matrix = self._matrix
        subject, _, repeat = matrix.cells.parts(number)
        edit_model, other = matrix.names_of(subject)
        if asked is not None:
            was = matrix.judgement(asked)
            made_in = f"{was.edit_model} : {was.other}" if was.other else was.edit_model
            free = replace(was, made_in=made_in, seconds=0.0, tokens=(0, 0))
            return replace(free, edit_model=edit_model, other=other)
        judge, sample = matrix.judges[matrix.cells.parts(number)[1]], matrix.sample_of(subject)
        return Judgement(
            sample_id=sample.id,
            category=sample.category,
            edit_model=edit_model,
            other=other,
            judge=judge.name,
            edit_seed=matrix.cells.edit_seed(subject),
            repeat=repeat,
            headline=judge.scoring.headline,
            status=SKIPPED,
            reason="both are one edit, which was kept",
            counts=False,
        )

    def _of_battle(self, number: int) -> int | None:
        battle = self._matrix.cells.parts(number)[0]
        if not self.is_battle(battle):
            return None
        if not self._matrix.is_open(battle):  # it refers to nothing yet, and nothing to it
            return number
        return self._alike(number)[0]

    def _alike(self, number: int) -> list[int]:
        """Returns all judgements of battles between the two pictures of this one, in order."""
        cells = self._matrix.cells
        battle, judge, repeat = cells.parts(number)
        first, second = (self.with_picture(self.edit(edit)) for edit in cells.edits_of(battle))
        if len(first) == len(second) == 1:
            return [number]
        return sorted(
            judgement
            for edit in first
            for other in second
            for battle in self._between.get((edit, other), ())
            if self._matrix.is_open(battle)
            for judgement in cells.judgements_of(battle)
            if cells.parts(judgement)[1:] == (judge, repeat)
        )

    @cached_property
    def _between(self) -> dict[tuple[int, int], list[int]]:
        """The battles between two edits."""
        battles: dict[tuple[int, int], list[int]] = {}
        for battle in self._battles:
            first, second = self._matrix.cells.edits_of(battle)
            battles.setdefault((first, second), []).append(battle)
        return battles
