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
            for number in matrix.cells.subjects_of(name) if self.most[name] > 1 else ():
                self._lines.setdefault((name, kind.line(matrix.cells.subject(number))), []).append(number)
        self._reached = dict.fromkeys(self._lines, 1)
        self.closed = frozenset(number for line in self._lines for number in self._list_closed_subjects(line))
        """Numbers of those that are not to be judged yet."""

    def highest_stage(self, kind: str) -> int:
        """Returns the highest stage of a kind that is open, from 1."""
        return max((stage for (its, _), stage in self._reached.items() if its == kind), default=1)

    def open_stages(self) -> list[int]:
        """Opens the stages that the replies so far call for; returns those that are to be judged now and were not
        before."""
        before = self.closed
        for (name, line), numbers in self._lines.items():
            kind, stage = kinds()[name], 1
            while stage < self.most[name] and kind.calls_for_more(
                self._matrix, self._select_by_stage(numbers, stage), stage
            ):
                stage += 1
                self._open((name, line), max(stage, self._reached[name, line]))  # what is closed has no judgement
            self._open((name, line), stage)
        return sorted(before - self.closed)

    def open_all_stages(self, *, but: str = "") -> None:
        """Opens all stages of all kinds but one, whatever the replies are."""
        for name, line in self._lines:
            if name != but:
                self._open((name, line), self.most[name])

    def _select_by_stage(self, numbers: Sequence[int], stage: int) -> list[int]:
        """Returns those of these numbers that are to be judged if so many stages are open."""
        subject, is_void = self._matrix.cells.subject, self._matrix.is_void
        return [number for number in numbers if subject(number).round < stage and not is_void(number)]

    def _open(self, line: tuple[str, Hashable], stage: int) -> None:
        if stage != self._reached[line]:
            self._reached[line] = stage
            self.closed = self.closed.difference(self._lines[line]).union(self._list_closed_subjects(line))

    def _list_closed_subjects(self, line: tuple[str, Hashable]) -> list[int]:
        subject = self._matrix.cells.subject
        return [number for number in self._lines[line] if subject(number).round >= self._reached[line]]
