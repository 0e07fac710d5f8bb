"""Hands out tasks to replicas. `pull` is the default; the others are for people who come from the base system.

Those deal out edits; a judge's batches are pulled under every schedule. Within a queue tasks go by rank: the pilot
first, then the benchmark's order, and suspects after the healthy tasks of their phase. A suspect goes to a replica
that it has not failed on, while the model has one: this tells a bad device from a bad sample.

A task that ran out of memory asks elsewhere: it comes before all others, and goes only to replicas that have not tried
it, even if one has to be loaded for it. While such a replica is there, those that have tried it take nothing else.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import ClassVar

from edit_eval.scheduling.fleet import Replica, ReplicaState
from edit_eval.scheduling.tasks import PILOT, Task
from edit_eval.text import Text


class RankedTasks:
    """Tasks ordered by rank."""

    def __init__(self) -> None:
        self._heap: list[tuple[tuple[int, int, int], Task]] = []

    @property
    def first(self) -> Task | None:
        """The task of the lowest rank."""
        return self._heap[0][1] if self._heap else None

    def add(self, task: Task) -> None:
        """Adds a task."""
        heapq.heappush(self._heap, (task.rank, task))

    def pop(self) -> Task:
        """Removes and returns the first task. Raises `IndexError` when empty."""
        return heapq.heappop(self._heap)[1]

    def __len__(self) -> int:
        return len(self._heap)

    def take_last(self, count: int) -> list[Task]:
        """Removes and returns the tasks of the highest ranks."""
        tasks = self.list_by_rank()
        kept = len(tasks) - count
        self._heap = [(task.rank, task) for task in tasks[:kept]]
        return tasks[kept:]

    def list_by_rank(self) -> list[Task]:
        """Returns all tasks, lowest rank first."""
        return [task for _, task in sorted(self._heap)]


class PullQueue:
    """Gives the first task to any free replica. A suspect needs empty hands, so a healthy task never follows it."""

    sentence: ClassVar[Text] = Text("a free device takes the next sample")
    """The schedule, for people."""

    def __init__(self, replicas: Sequence[Replica]) -> None:
        self._replicas = replicas
        self._tasks = RankedTasks()
        self._asking: dict[int, Task] = {}  # tasks that ask elsewhere, by number

    def add(self, task: Task) -> None:
        """Adds a task that can start, or comes back from a replica that had not begun it."""
        if task.asks_elsewhere:
            self._asking[task.number] = task
        else:
            self._tasks.add(task)

    def take(self, replica: Replica) -> Task | None:
        """Removes and returns the next task for this replica; None if there is none."""
        for number, task in self._asking.items():
            if self._may_try(replica.index, task):
                return self._asking.pop(number)
        if any(replica.index in task.failed_on and self._has_untried_replica(task) for task in self._asking.values()):
            return None
        return self._take_dealt(replica)

    def _take_dealt(self, replica: Replica) -> Task | None:
        """Does the same among the tasks that do not ask elsewhere."""
        first = self._tasks.first
        if first is None or (first.alone and (replica.hands or self._is_for_another(replica.index, first))):
            return None
        return self._tasks.pop()

    def _is_for_another(self, index: int, suspect: Task) -> bool:
        """True if it failed on this replica and another replica, loaded or loading, can try it."""
        return index in suspect.failed_on and self._has_untried_replica(suspect)

    def _has_untried_replica(self, task: Task) -> bool:
        return any(
            replica.wanted and not replica.leaving and replica.index not in task.failed_on for replica in self._replicas
        )

    def _may_try(self, index: int, task: Task) -> bool:
        """True if a task that asks elsewhere may go to this replica: it has not tried it, or all others have."""
        return index not in task.failed_on or not any(
            replica.index not in task.failed_on and replica.state is not ReplicaState.RETIRED and not replica.lost
            for replica in self._replicas
        )

    def finish(self, task: Task) -> None:
        """Reports that a task handed out has left its replica's hands."""

    def retire(self, index: int) -> None:
        """Reports that this replica will not come back."""

    def mark_away(self, index: int) -> None:
        """Reports that this replica is away for a while."""

    def mark_back(self, index: int) -> None:
        """Reports that this replica is back."""

    def count_open_tasks(self, index: int) -> int:
        """Returns how many of the tasks that can start this replica may take."""
        return len(self._tasks) + len(self._asking) - self.count_closed_tasks(index)

    def count_closed_tasks(self, index: int) -> int:
        """Returns how many of them ask for another replica."""
        return sum(not self._may_try(index, task) for task in self._asking.values())

    def has_pilot_task(self, index: int) -> bool:
        """True if this replica may take one of the pilot's tasks now."""
        asking = any(task.phase == PILOT and self._may_try(index, task) for task in self._asking.values())
        return asking or (self._tasks.first is not None and self._tasks.first.phase == PILOT)

    def awaits(self, index: int) -> bool:
        """True if this replica should wait: a task will be open to it, if not now."""
        return self.count_open_tasks(index) > 0

    def has_exclusive_task(self, index: int) -> bool:
        """True if a task waits for this replica and for no other that is loaded or loading."""
        return any(
            index not in task.failed_on and not self._has_untried_replica(task) for task in self._asking.values()
        )

    def list_tasks(self, later: Sequence[Task] = ()) -> list[list[Task]]:
        """Returns the tasks that can start, and those of `later` phases: one list per replica, or one shared list."""
        return [[*self._asking.values(), *self._tasks.list_by_rank(), *later]]

    def batch(self) -> tuple[int, int] | None:
        """Returns which batch is under way and how many this phase has as of now; None without batches."""
        return None

    def ends_batch(self, task: Task) -> bool:
        """True if this task, which has just ended, is the last of the batch under way."""
        return False

    def __len__(self) -> int:
        return len(self._asking) + len(self._tasks)


class RoundRobinQueue(PullQueue):
    """Edit i belongs to replica i mod N, as in the base system; suspects are shared.

    A replica that comes back, from the pilot or after its process died, has fallen behind. So that it does not end late
    and alone, the last of its tasks go to the replicas at work, until all shares are level.
    """

    sentence = Text("edit i goes to device i mod N")

    def __init__(self, replicas: Sequence[Replica]) -> None:
        super().__init__(replicas)
        self._own = [RankedTasks() for _ in replicas]
        self._owners = list(range(len(replicas)))
        self._away: set[int] = set()

    def add(self, task: Task) -> None:
        if task.failed_on or task.alone:
            return super().add(task)
        self._own[self._owner(task)].add(task)

    def _owner(self, task: Task) -> int:
        return self._owners[task.units[0] % len(self._owners)]

    def _take_dealt(self, replica: Replica) -> Task | None:
        own, everybodys = self._own[replica.index], self._tasks
        if own.first is None or (everybodys.first is not None and everybodys.first.rank < own.first.rank):
            return super()._take_dealt(replica)
        return own.pop()

    def mark_away(self, index: int) -> None:
        if self.awaits(index):  # a replica that is stopped with nothing left for it has missed nothing
            self._away.add(index)

    def mark_back(self, index: int) -> None:
        if index not in self._away:
            return
        self._away.discard(index)
        shares = {
            owner: len(self._own[owner]) for owner in self._owners if owner == index or self._replicas[owner].wanted
        }
        takers: list[int] = []
        while shares[index] > 1 + shares[shortest := min(shares, key=shares.__getitem__)]:
            takers.append(shortest)
            shares[index] -= 1
            shares[shortest] += 1
        for taker, task in zip(takers, self._own[index].take_last(len(takers)), strict=True):
            self._own[taker].add(task)

    def retire(self, index: int) -> None:
        if index in self._owners and len(self._owners) > 1:
            self._owners.remove(index)
        orphans, self._own[index] = self._own[index], RankedTasks()
        for task in orphans.list_by_rank():
            self._tasks.add(task)

    def count_open_tasks(self, index: int) -> int:
        return len(self._own[index]) + super().count_open_tasks(index)

    def has_exclusive_task(self, index: int) -> bool:
        return len(self._own[index]) > 0 or super().has_exclusive_task(index)

    def list_tasks(self, later: Sequence[Task] = ()) -> list[list[Task]]:
        shares = [own.list_by_rank() for own in self._own]
        for task in later:
            shares[self._owner(task)].append(task)
        return shares

    def __len__(self) -> int:
        return super().__len__() + sum(map(len, self._own))


class BatchSyncQueue(RoundRobinQueue):
    """Round robin with a barrier: each replica gets its next task when all have finished their present one.

    An absent replica is left out of the batches that begin meanwhile, so none waits for it. No replica ever has two
    tasks in hand, so suspects run alone anyway.
    """

    sentence = Text("edit i goes to device i mod N, and all devices wait for each other after every N edits")

    def __init__(self, replicas: Sequence[Replica]) -> None:
        super().__init__(replicas)
        self._batch: dict[int, Task] = {}
        self._out: set[int] = set()
        self._units: set[int] = set()  # all units since the queue was last empty

    def add(self, task: Task) -> None:
        if not len(self) and not self._out:
            self._units.clear()
        self._units.add(task.units[0])
        super().add(task)

    def take(self, replica: Replica) -> Task | None:
        if not self._batch and not self._out:
            there = [self._replicas[owner] for owner in self._order_owners() if owner not in self._away]
            self._batch = {peer.index: task for peer in there if (task := super(BatchSyncQueue, self).take(peer))}
        task = self._batch.pop(replica.index, None)
        if task is not None:
            self._out.add(task.number)
        return task

    def finish(self, task: Task) -> None:
        self._out.discard(task.number)

    def _order_owners(self) -> list[int]:
        """Returns the owners in the order in which they get shared tasks: those a suspect failed on come last."""
        first = next(iter(self._asking.values()), self._tasks.first)
        failed_on = [owner for owner in self._owners if first is not None and owner in first.failed_on]
        if not failed_on:
            return self._owners
        after = self._owners.index(failed_on[-1]) + 1
        turn = self._owners[after:] + self._owners[:after]
        return sorted(turn, key=failed_on.__contains__)

    def mark_away(self, index: int) -> None:
        super().mark_away(index)
        if index in self._batch:
            super().add(self._batch.pop(index))

    def retire(self, index: int) -> None:
        self.mark_away(index)
        super().retire(index)

    def count_open_tasks(self, index: int) -> int:
        return int(self.has_exclusive_task(index))

    def awaits(self, index: int) -> bool:
        if index in self._batch or len(self._own[index]):
            return True
        # Shared tasks go to replicas that have none of their own.
        free = [owner for owner in self._order_owners() if not len(self._own[owner])]
        there = [owner for owner in free if owner not in self._away]
        count = len(self._asking) + len(self._tasks)
        return index in free[:count] or index in there[:count]

    def has_exclusive_task(self, index: int) -> bool:
        return index in self._batch or (not self._batch and self.awaits(index))

    def batch(self) -> tuple[int, int] | None:
        if not len(self) and not self._out:
            return None
        # Counted in tasks, so that it never grows: how many batches lacked a replica is known only afterwards.
        count, each = math.ceil(len(self._units) / len(self._own)), len(self._own)
        return min(count, (len(self._units) - len(self) - len(self._out)) // each + 1), count

    def ends_batch(self, task: Task) -> bool:
        return not self._batch and self._out == {task.number}

    def __len__(self) -> int:
        return super().__len__() + len(self._batch)


QUEUES: dict[str, type[PullQueue]] = {"pull": PullQueue, "round_robin": RoundRobinQueue, "batch_sync": BatchSyncQueue}
