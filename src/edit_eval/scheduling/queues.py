"""Who gets which task. `pull` is the product's way; the others are for people who come from the base system.

They deal out edits; a judge's batches are pulled under every schedule.
"""

from __future__ import annotations

from collections import deque

from edit_eval.scheduling.replicas import Replica
from edit_eval.scheduling.tasks import Task


class PullQueue:
    """First come, first served; suspects after all others."""

    def __init__(self, replicas: int) -> None:
        self._ready: deque[Task] = deque()
        self._suspects: deque[Task] = deque()

    def put(self, task: Task) -> None:
        """A task can start."""
        (self._suspects if task.alone else self._ready).append(task)

    def give_back(self, task: Task) -> None:
        """A task that was handed out and not begun comes back: it is the next."""
        self._ready.appendleft(task)

    def take(self, replica: Replica) -> Task | None:
        """The task that this replica is to run next."""
        if self._ready:
            return self._ready.popleft()
        if self._suspects and not replica.hands:
            return self._suspects.popleft()
        return None

    def finish(self, task: Task) -> None:
        """A task that was handed out has come to an end."""

    def retire(self, index: int) -> None:
        """This replica will not come again."""

    def belongs_to(self, index: int) -> bool:
        """Whether a task waits for this replica and for no other."""
        return False

    def dealt(self) -> list[list[Task]]:
        """The tasks that can start: those of each replica, or all of them in one list where nobody owns any."""
        return [list(self._ready)]

    def __len__(self) -> int:
        return len(self._ready) + len(self._suspects)


class RoundRobinQueue(PullQueue):
    """Edit i belongs to replica i mod N, as in the base system."""

    def __init__(self, replicas: int) -> None:
        super().__init__(replicas)
        self._own: list[deque[Task]] = [deque() for _ in range(replicas)]
        self._owners = list(range(replicas))

    def put(self, task: Task) -> None:
        if task.alone:
            return super().put(task)
        self._own[self._owners[task.units[0] % len(self._owners)]].append(task)

    def take(self, replica: Replica) -> Task | None:
        return self._own[replica.index].popleft() if self._own[replica.index] else super().take(replica)

    def retire(self, index: int) -> None:
        if index in self._owners and len(self._owners) > 1:
            self._owners.remove(index)
        orphans, self._own[index] = self._own[index], deque()
        self._ready.extend(orphans)

    def belongs_to(self, index: int) -> bool:
        return bool(self._own[index])

    def dealt(self) -> list[list[Task]]:
        return [list(own) for own in self._own]

    def __len__(self) -> int:
        return super().__len__() + sum(map(len, self._own))


class BatchSyncQueue(PullQueue):
    """Round robin with a barrier: the next N tasks are handed out when the last N are finished."""

    def __init__(self, replicas: int) -> None:
        super().__init__(replicas)
        self._out: set[int] = set()
        self._batch: dict[int, Task] = {}
        self._owners = list(range(replicas))

    def take(self, replica: Replica) -> Task | None:
        if not self._batch and not self._out:
            for owner in self._owners[: len(self._ready)]:
                self._batch[owner] = self._ready.popleft()
        task = self._batch.pop(replica.index, None)
        if task is None and not self._ready and not self._batch and self._suspects and not replica.hands:
            task = self._suspects.popleft()
        if task is not None:
            self._out.add(task.number)
        return task

    def give_back(self, task: Task) -> None:
        self._out.discard(task.number)
        super().give_back(task)

    def finish(self, task: Task) -> None:
        self._out.discard(task.number)

    def retire(self, index: int) -> None:
        if index in self._owners and len(self._owners) > 1:
            self._owners.remove(index)
        if index in self._batch:
            self._ready.appendleft(self._batch.pop(index))

    def dealt(self) -> list[list[Task]]:
        count = len(self._owners)
        return [list(self._ready)[index::count] for index in range(count)]

    def belongs_to(self, index: int) -> bool:
        return index in self._batch or (not self._batch and index in self._owners[: len(self._ready)])

    def __len__(self) -> int:
        return super().__len__() + len(self._batch)


QUEUES = {"pull": PullQueue, "round_robin": RoundRobinQueue, "batch_sync": BatchSyncQueue}
