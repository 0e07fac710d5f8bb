"""Stages, rounds of battles and steps of controls: subjects that are judged only if those before leave something open.

All have numbers from the start; those of stages to come are ignored otherwise. Their kind says which come from stage to
stage together, and when the next one opens. That depends on replies alone: a resumed or reread run has the same stages.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from edit_eval.store.subjects.contract import MatrixState
from edit_eval.store.subjects.kinds import kinds


class Stages:
    """Which subjects of a matrix are to be judged by now."""

    def __init__(self, matrix: MatrixState) -> None:
        self._matrix = matrix
        self.most = {name: kind.stages(matrix.experiment) for name, kind in kinds().items()}
        """The most stages that those of a kind may come to."""
        self._lines: dict[tuple[str, Hashable], list[int]] = {}
        for name, kind in kinds().items():
            for number in matrix.cells.of_kind(name) if self.most[name] > 1 else ():
                self._lines.setdefault((name, kind.line(matrix.cells.subject(number))), []).append(number)
        self._reached = dict.fromkeys(self._lines, 1)
        self.closed = self._unreached()
        """Numbers of those that are not to be judged yet."""

    def reached(self, kind: str) -> int:
        """Returns the highest stage of a kind that is open, from 1."""
        return max((stage for (its, _), stage in self._reached.items() if its == kind), default=1)

    def open(self, kind: str) -> Sequence[int]:
        """Returns the numbers of those of a kind that are to be judged by now, in order."""
        every = self._matrix.cells.of_kind(kind)
        return every if self.most[kind] == 1 else [number for number in every if number not in self.closed]

    def look(self) -> list[int]:
        """Opens the stages that the replies so far call for; returns those that are to be judged now and were not
        before."""
        before = self.closed
        for (name, line), numbers in self._lines.items():
            kind, stage = kinds()[name], 1
            while stage < self.most[name] and kind.calls_for_more(self._matrix, self._within(numbers, stage), stage):
                stage += 1
            self._reached[name, line] = stage
        self.closed = self._unreached()
        return sorted(before - self.closed)

    def open_all(self, *, but: str = "") -> None:
        """Opens all stages of all kinds but one, whatever the replies are."""
        self._reached |= {(name, line): self.most[name] for name, line in self._lines if name != but}
        self.closed = self._unreached()

    def _within(self, numbers: Sequence[int], stage: int) -> list[int]:
        return [number for number in numbers if self._matrix.cells.subject(number).round < stage]

    def _unreached(self) -> frozenset[int]:
        subject = self._matrix.cells.subject
        return frozenset(
            number
            for line, numbers in self._lines.items()
            for number in numbers
            if subject(number).round >= self._reached[line]
        )
