"""Pictures that cannot be read just now: when their tasks are tried again, and when they are left for another start.

A file that is gone or a disk that fails says nothing about the model that was to look at it, so nobody is charged.
Such a task waits, longer each time. When all of `AGAIN_AFTER` is used up it is left pending, the rest of the run is
done, and the run ends with what could not be read.
"""

from __future__ import annotations

import heapq
from collections import Counter

from edit_eval.scheduling.tasks import Task
from edit_eval.text import Text, counted

AGAIN_AFTER = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds before each further attempt."""

FIRST_TICKET = -1
"""Of each start; those that follow count down."""


class ReadingAgain:
    """The tasks that wait. What each waits for is a ticket: a number below that of any edit (see `Work.settle`)."""

    def __init__(self) -> None:
        self._attempts: Counter[tuple[str, tuple[int, ...]]] = Counter()
        self._due: list[tuple[float, int]] = []  # a heap of moments and tickets
        self._next = FIRST_TICKET
        self._left: list[str] = []

    def put_off(self, task: Task, reason: str, now: float) -> int | None:
        """The ticket that the task is to wait for; None when it has waited long enough, and is left."""
        key = (task.model, task.units)
        attempt = self._attempts[key]
        if attempt == len(AGAIN_AFTER):
            self._left.append(reason)
            del self._attempts[key]
            return None
        self._attempts[key] += 1
        ticket = self._next
        self._next -= 1
        heapq.heappush(self._due, (now + AGAIN_AFTER[attempt], ticket))
        return ticket

    def due(self, now: float) -> list[int]:
        """The tickets whose moment has come; each is told once."""
        found = []
        while self._due and self._due[0][0] <= now:
            found.append(heapq.heappop(self._due)[1])
        return found

    @property
    def waiting(self) -> bool:
        """Whether a task will be tried again by itself."""
        return bool(self._due)

    @property
    def left(self) -> str:
        """What could not be read until the end, for people; empty where there is no such thing."""
        reasons = list(dict.fromkeys(self._left))
        if len(reasons) < 2:
            return "".join(reasons)
        return Text("{}, and {}", reasons[0], counted(len(reasons) - 1, "more picture"))
