"""Lists of tasks beside each other, as a plan has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property

from edit_eval.scheduling.tasks import ANSWERS_FROM, PlannedTask, TaskList


class RepeatedTasks(TaskList):
    """Lists beside each other, none of which waits for another, without a copy of each: a million tasks are numbers."""

    def __init__(self, lists: Sequence[tuple[TaskList, int, int]]) -> None:
        """`lists`, each with how many edits and answers it has numbers for; the first has the first phases and models
        of all."""
        super().__init__()
        self._lists = lists

    def __iter__(self) -> Iterator[PlannedTask]:
        ranks = {model: rank for rank, model in enumerate(dict.fromkeys(task.model for task in self._lists[0][0]))}
        by_rank: dict[int, dict[tuple[int, bool, int], list[PlannedTask]]] = {}
        for tasks in {id(tasks): tasks for tasks, *_ in self._lists}.values():
            ranked = by_rank[id(tasks)] = {}
            for task in tasks:
                ranked.setdefault((task.phase, task.by_the_way, ranks[task.model]), []).append(task)
        for rank in sorted({rank for ranked in by_rank.values() for rank in ranked}):
            first = answers = 0
            for tasks, edits, count in self._lists:
                for model, units, after, phase, by_the_way in by_rank[id(tasks)].get(rank, ()):
                    shift = first if model.startswith("edit:") else answers
                    yield PlannedTask(
                        model,
                        tuple([unit + shift for unit in units]),
                        tuple([number + (first if number < ANSWERS_FROM else answers) for number in after]),
                        phase,
                        by_the_way,
                    )
                first, answers = first + edits, answers + count

    def __len__(self) -> int:
        return sum(len(tasks) for tasks, *_ in self._lists)

    @cached_property
    def units(self) -> Counter[str]:
        """Number of units by model."""
        return sum((tasks.units for tasks, *_ in self._lists), Counter[str]())
