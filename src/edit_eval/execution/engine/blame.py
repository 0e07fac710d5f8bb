"""Decides whose fault a failure is, what follows for the task and the replica, and when to try again.

There are two budgets. A task that failed twice is given up. A replica on which `SLOT_FAILURES` tasks in a row failed,
none of them proven bad, is retired; that budget is the larger one, so that a bad sample is given up before the last
replica is. Suspects run after healthy work and alone, so that no innocent neighbour is charged, and on another replica
while there is one, so that a bad device is told from a bad sample; a replica is acquitted of a failure that is proven
to be the sample's.

A task may take too much memory, or a device may have too little, so running out of it is charged to neither before
another device has tried the same task, a batch whole. If it passes there, that speaks against the devices on which it
did not. If it fails on two devices that were well, or on all there are, it is too large, and no device is blamed. A
device is well if it has done something since its last failure: two that are both short convict no sample.

A fault of a device (an uncorrectable memory error, a server that has ended) convicts a sample only if one of the
devices that failed on it has done something since. Until then other devices try it, and where none is left it stays
pending: with every card broken no edit is given up. Of a sample that alone fails so, nobody can tell; it is given up.

What a library says of a device is known by its words (`pretrained/device_faults.py`). Whatever it says otherwise, a
process that has worked may have been broken by an accident. If several tasks in a row fail there in the same words, the
process is replaced and they are taken back at no charge. If one alone fails and the process has done nothing since, it
is tried no second time there, but in a fresh one, and is then given up as any other: no attempt is made for this. Only
one that is to be given up at its first failure (a member of a batch that failed, or a lack of memory) is taken back as
well, unless it failed in a process that was well. What is then done convicts the process; what fails again in the same
words is the tasks' own, and after `FRESH_PROCESSES` of them no further one is replaced for these words. A process is
well if it has done a task since, or if the task was its first. A device on which tasks fail that others do is dropped.

A request to a server that came to nothing comes with facts (`errors.RequestError`), which `weigh_request` weighs.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Literal

from edit_eval.errors import Stopped
from edit_eval.execution.contract import Records, Users
from edit_eval.execution.machine.memory import memory_advice, memory_figures
from edit_eval.records import Status, model_title
from edit_eval.scheduling.fleet import Replica, ReplicaState
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.tasks import Task, Work
from edit_eval.text import Text, pluralize

TASK_FAILURES = 2
SLOT_FAILURES = 5
SAME_FAILURE_WINDOW = 50
"""The run stops when more than half of this many latest tasks failed the same way."""
IN_A_ROW = 3
"""So many tasks that fail one after the other in the same words speak against a process that has worked."""
FRESH_PROCESSES = 2
"""So many processes are replaced for the same words of a model, unless that helps."""
OF_THE_DATA = "device-side assert"
"""In the text of a device's fault that is none: a kernel was given what it refuses, such as an index."""
LONGEST_ERROR = 300
"""Characters of an error kept with each attempt."""

Key = tuple[str, tuple[int, ...]]
"""Identifies a task across attempts: its model and its units."""

_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+")
"""What differs between two errors of a kind: addresses, shapes, amounts."""


@dataclass(slots=True)
class _Process:
    """What a replica's present process has done."""

    done: int = 0
    failed: dict[Key, str] = field(default_factory=dict)
    """The tasks that have failed since it last did one, the latest last, and their words."""


@dataclass(slots=True)
class _FailedTask:
    """What is known of a task that has failed, with replicas by their numbers."""

    charges: int = 0
    tried: dict[int, int] = field(default_factory=dict)  # where it failed, and how much each replica had done
    short: dict[int, bool] = field(default_factory=dict)  # where memory was lacking, and if each replica was well
    otherwise: bool = False  # it has failed for something else than a fault of a device
    first: _Process | None = None  # while it is charged: the process in which it failed first
    sound: bool = False  # it has failed in a process that was well
    doubted: str = ""  # its words, if it was taken back from a process that was replaced


Verdict = Literal["request", "unclear", "left", "crowded", "unasked", "unanswered", "away", "process"]
"""On a request to a server: it is the `request`'s own fault, for good; or that is `unclear` until others have
succeeded; it is `left` for another start; its server is `away`, or busy, or does not let us in, so all of its model's
are; or its `process` must be replaced, and what it loads with will show; or it was in a batch that has not come to it
(`unasked`), or has no answer to it (`unanswered`), or was not taken beside others (`crowded`)."""


def weigh_request(facts: Mapping[str, Any], *, others_succeed: bool) -> Verdict:
    """Decides whose fault a request that came to nothing is.

    `facts`: see `errors.RequestError`; `others_succeed`: another request to its model was answered while it failed.
    """
    says, canary = facts["says"], facts["canary"]
    if says in ("account", "key", "day"):
        return "away"
    if says in ("crowded", "unasked", "unanswered"):
        return "crowded" if says == "crowded" else "unasked" if says == "unasked" else "unanswered"
    if says == "batch":
        return "left"
    if says == "busy":
        return "left" if others_succeed else "away"
    if says == "denied" and canary != "failed":
        return "request" if canary in ("answered", "known") or (canary != "denied" and others_succeed) else "away"
    if canary in ("failed", "denied"):
        return "process"
    return "request" if canary == "answered" or others_succeed else "unclear"


class Blame:
    """Keeps account of failures. Retries are added to the work; tasks that are given up go to the records."""

    def __init__(
        self, policy: Policy, work: Work, records: Records, note: Callable[[str], Any], users: Users = lambda on: ()
    ) -> None:
        self._policy, self._work, self._records, self._note, self._users = policy, work, records, note, users
        self._tasks: defaultdict[Key, _FailedTask] = defaultdict(_FailedTask)
        self._failures: Counter[int] = Counter()  # by replica, in a row
        self._well: set[int] = set()
        self._said: set[int] = set()  # the replicas whose lack of memory has been reported
        self._done: Counter[int] = Counter()  # tasks by replica
        self._outdone: Counter[int] = Counter()  # by replica, in a row: tasks that failed there, and others did
        self._processes: defaultdict[int, _Process] = defaultdict(_Process)  # by replica
        self._convicted: set[tuple[str, str]] = set()  # model, words: a process was at fault
        self._vain: Counter[tuple[str, str]] = Counter()  # model, words -> processes that were replaced in vain
        self._unsettled: Counter[tuple[str, str]] = Counter()  # the same of those that nobody knows this of yet
        self._left: dict[str, list[str]] = {}  # model -> the faults of devices for which tasks are left
        self._of_devices: set[str] = set()  # what `_recent` has of such faults
        self._of_batches: list[str] = []  # for what questions in batches are left
        self._batched: Counter[tuple[Key, bool]] = Counter()  # how often a batch came to nothing for a question
        self._recent: deque[tuple[str, Status]] = deque(maxlen=SAME_FAILURE_WINDOW)

    # -- evidence for a replica --

    def record_new_process(self, replica: Replica) -> None:
        """Records that the replica has a new process, which has done nothing yet."""
        self._well.discard(replica.number)
        self._processes[replica.number] = _Process()

    def record_success(self, replica: Replica) -> None:
        """Records that the replica has done a task."""
        number = replica.number
        process = self._processes[number]
        process.done += 1
        for key, words in process.failed.items():
            self._prove(key, words)
        process.failed = {}
        self._outdone[number] = self._failures[number] = 0
        self._done[number] += 1
        self._well.add(number)
        self._recent.append(("", Status.OK))

    # -- failures --

    def weigh_failure(self, replica: Replica, task: Task, reason: str, kind: str, memory: Mapping[str, int]) -> bool:
        """Judges a failure that a worker reports (see `workers.failures.kind_of`); `memory`: its figures.

        True if its process must be replaced: the others' tasks are then taken back as well.
        """
        of_device = kind in ("device", "machine")
        if not of_device and self._doubts(replica, task, reason, kind):
            return True
        if kind == "out_of_memory":
            self.ran_out_of_memory(replica, task, reason, memory)
        else:
            self.charge(replica, task, reason, final=kind in ("model", "refused"), of_device=of_device)
        return of_device

    def _doubts(self, replica: Replica, task: Task, reason: str, kind: str) -> bool:
        """True if the failure may be the process's: then this task and those before it are taken back."""
        if not replica.model.holds_device:  # a client of a server: a new one would ask the same server
            return False
        key, process = (task.model, task.units), self._processes[replica.number]
        words = _NUMBER.sub("#", reason)[:LONGEST_ERROR]
        before = {other: said for other, said in process.failed.items() if other != key}
        process.failed = {**before, key: words}
        known = self._tasks[key]
        known.first = known.first or process
        only_here = known.first is process or (task.model, words) in self._convicted
        if not process.done:
            if not before:
                self._prove(key, words)
            return False
        unknown = [said for other, said in process.failed.items() if not self._tasks[other].sound]
        row = sum(1 for _ in takewhile(lambda said: said == words, reversed(unknown)))
        given_up = only_here and kind not in ("model", "refused") and self._is_last(replica, key, kind)
        if not (given_up or row >= IN_A_ROW) or not self._may_replace(key, words):
            return False
        self._replace(replica, key, words)
        for other in process.failed:
            known = self._tasks[other]
            if known.charges and other != key:
                known.charges -= 1
            if not known.charges:
                known.first = None
        self._keep_attempt(replica, reason, kind * (kind == "out_of_memory"))
        self._work.add_again(task, alone=False, failed_on=frozenset(), taken_back=True)
        self._records.attempt(task, reason)
        return True

    def wants_fresh(self, replica: Replica, task: Task) -> bool:
        """True if the process must be replaced before the task: it failed there, and nothing has been done since."""
        key, process = (task.model, task.units), self._processes[replica.number]
        words = process.failed.get(key)
        if len(replica.hands) > 1 or words is None or not process.done or not self._may_replace(key, words):
            return False
        self._replace(replica, key, words)
        return True

    def _may_replace(self, key: Key, words: str) -> bool:
        replaced = self._vain[key[0], words] + self._unsettled[key[0], words]
        return not self._tasks[key].sound and replaced < FRESH_PROCESSES

    def _replace(self, replica: Replica, key: Key, words: str) -> None:
        """Notes that a process is replaced for these words; the tasks that failed there will show whether in vain."""
        self._unsettled[key[0], words] += 1
        for other, said in self._processes.pop(replica.number).failed.items():
            self._tasks[other].doubted = said
        self._failures[replica.number] = 0

    def _prove(self, key: Key, words: str) -> None:
        """Records that a task has failed in a process that was well: if it was taken back for these words, in vain."""
        known = self._tasks[key]
        known.sound = True
        if known.doubted == words:
            known.doubted = ""
            self._vain[key[0], words] += 1
            self._unsettled[key[0], words] = max(0, self._unsettled[key[0], words] - 1)

    def _is_last(self, replica: Replica, key: Key, kind: str) -> bool:
        """True if the task would be given up for one more failure."""
        if kind != "out_of_memory":
            return self._tasks[key].charges + 1 >= TASK_FAILURES
        short = self._tasks[key].short
        well = sum(short.values()) + (replica.number in self._well)
        untried = any(other.number not in short for other in self._others(replica))
        return not untried or replica.number in short or well >= TASK_FAILURES

    def charge(
        self, replica: Replica, task: Task, reason: str, *, final: bool = False, of_device: bool = False
    ) -> None:
        """Charges the task with a failure: it is retried as a suspect, or given up.

        If it is `of_device` the task is only given up once the device is proven well.
        """
        self._keep_attempt(replica, reason)
        known = self._tasks[task.model, task.units]
        tried = known.tried
        ails = self._ails(replica) and replica.number not in tried
        tried.setdefault(replica.number, self._done[replica.number])
        if of_device and OF_THE_DATA not in reason and not self._work.kept:  # a service has no later start
            self._of_devices.add(self._add_model_title(replica, reason.split(":")[0]))
        else:
            known.otherwise = True
        # Suspects run one after the other: a second failure is no news about the machine.
        if not task.alone and not task.failed_on:
            self._remember(replica, task, reason.split(":")[0])
        known.charges += 1
        if len(task.units) > 1 and known.charges >= (1 if final else TASK_FAILURES):
            known.charges = 0
            # Each member runs alone, to show which of them it was.
            for unit in task.units:
                of_batch = {} if known.otherwise else dict(tried)
                self._tasks[task.model, (unit,)] = _FailedTask(1, of_batch, otherwise=known.otherwise)
                self._work.add_again(task, units=(unit,), alone=True, failed_on=frozenset({replica.index}))
            self._records.attempt(task, reason)
        elif known.charges >= TASK_FAILURES and not known.otherwise and not self._is_proven(task.model, known):
            self._failures[replica.number] += 1
            if any(other.number not in tried for other in self._others(replica)):
                return self._try_elsewhere(replica, task, reason, alone=True)
            known.charges = 0
            self._left.setdefault(task.model, []).append(reason)
            self._records.attempt(task, reason)
            self._records.leave(task)
        elif (
            not final
            and ails
            and any(other.number not in tried and other.index not in task.failed_on for other in self._others(replica))
        ):
            self._try_elsewhere(replica, task, reason, alone=False)
        elif final or known.charges >= TASK_FAILURES:
            if not final:
                reason = f"failed {known.charges} times; the last time: {reason}"
                for index in task.failed_on:  # proven bad: the first replica that it failed on is acquitted
                    first = self._policy.replicas_of(task.model)[index].number
                    self._failures[first] = max(0, self._failures[first] - 1)
            known.charges = 0
            self._records.record_failure(task, reason, "+".join(replica.place))
        else:
            self._failures[replica.number] += 1
            self._try_elsewhere(replica, task, reason, alone=not ails)

    def _ails(self, replica: Replica) -> bool:
        """True if its process does nothing else than fail: others that work will show at once if its tasks are bad."""
        process = self._processes[replica.number]
        only_fails = len(process.failed) >= (IN_A_ROW if process.done else 1)
        return only_fails and any(self._done[other.number] for other in self._others(replica))

    def ask_again(self, replica: Replica, task: Task, reason: str, *, final: bool) -> None:
        """Has a question that was in a batch for nothing asked once more; then it is left, or if `final` given up."""
        of = (task.model, task.units), final
        self._batched[of] += 1
        if self._batched[of] < TASK_FAILURES:
            self.return_task(replica, task, reason)
        elif final:
            self.charge(replica, task, reason, final=True)
        else:
            self.leave(replica, task, reason)

    def leave(self, replica: Replica, task: Task, reason: str) -> None:
        """Leaves the task for another start: it is not to blame."""
        self._keep_attempt(replica, reason)
        # What a batch came to says nothing of the next.
        (self._of_batches if replica.model.defers else self._left.setdefault(task.model, [])).append(reason)
        self._records.attempt(task, reason)
        self._records.leave(task)

    def return_task(self, replica: Replica, task: Task, reason: str) -> None:
        """Puts the task back among the work, at no charge."""
        self._keep_attempt(replica, reason)
        self._work.add_again(task)
        self._records.attempt(task, reason)

    def _is_proven(self, model: str, known: _FailedTask) -> bool:
        """True if a device that failed on the task has done another one since, or if no other task fails like this."""
        others = (other for (of, _), other in self._tasks.items() if of == model and other is not known)
        alike = any(other.tried and not other.otherwise for other in others)
        return not alike or any(self._done[number] > before for number, before in known.tried.items())

    def ran_out_of_memory(self, replica: Replica, task: Task, error: str, memory: Mapping[str, int]) -> None:
        """Has another device try the task, or gives it up as too large once it has been tried enough."""
        self._keep_attempt(replica, error, "out_of_memory")
        known, number = self._tasks[task.model, task.units], replica.number
        known.tried.setdefault(number, self._done[number])
        known.otherwise, tried = True, known.short
        in_vain = number in tried  # no other replica came to try it
        tried[number] = number in self._well
        self._well.discard(number)
        others = [other for other in self._others(replica) if other.number not in tried]
        if others and not in_vain and sum(tried.values()) < TASK_FAILURES:
            if number not in self._said:
                self._said.add(number)
                self._note(
                    Text("{} ran out of memory; what does not fit there is tried on another device", replica.name)
                )
            return self._try_elsewhere(replica, task, error, alone=task.alone)
        known.short = {}
        self._well.update(number for number, was_well in tried.items() if was_well)  # the fault was not theirs
        if len(task.units) > 1:  # each member is tried alone, to show which of them it was
            for unit in task.units:
                self._work.add_again(task, units=(unit,), alone=False, failed_on=frozenset())
            return self._records.attempt(task, error)
        self._remember(replica, task, "out of memory")
        where = f"on each of {len(tried)} devices" if len(tried) > 1 else "on this device"
        places = (peer.place for peer in self._policy.replicas_of(replica.key) if peer.number in tried)
        figures = memory_figures(memory, self._users([device for place in places for device in place]))
        advice = memory_advice(replica.model.kind, error, memory)
        self._records.record_failure(task, f"{error} ({where}{figures}); {advice}", "+".join(replica.place))

    def blame_replicas(self, witness: Replica, task: Task) -> Iterator[tuple[Replica, str]]:
        """Counts a task done by the witness against the replicas on which it failed, and which have done none since.

        Yields those that must be retired, each with the reason.
        """
        known = self._tasks.pop((task.model, task.units), None)  # a service reuses its numbers for other work
        if known is None:
            return
        if known.doubted:
            of = task.model, known.doubted
            self._convicted.add(of)
            self._vain.pop(of, None)
            self._unsettled.pop(of, None)
        for replica in [
            other for other in self._others(witness) if known.tried.get(other.number) == self._done[other.number]
        ]:
            self._outdone[replica.number] += 1
            if self._outdone[replica.number] >= SLOT_FAILURES:
                short = replica.number in known.short
                figures = memory_figures({}, self._users(replica.place)) if short else ""
                what = "ran out of memory over" if short else "failed at"
                yield replica, f"it {what} {SLOT_FAILURES} tasks that other devices did{figures}"

    def fails_too_often(self, replica: Replica) -> bool:
        """True if the replica should be retired, and others are left."""
        return self._failures[replica.number] >= SLOT_FAILURES and bool(self._others(replica))

    def stop_if_systemic(self) -> None:
        """Raises `Stopped` if most of the latest tasks failed the same way; never in a service (`serve`).

        Also if every device of a model has failed from its start, on several tasks.
        """
        for model, faults in self._left.items():
            if len(faults) >= TASK_FAILURES and not any(
                self._done[replica.number] for replica in self._policy.replicas_of(model)
            ):
                raise Stopped(
                    Text(
                        "{}: every device that tried failed ({}), so nothing is held against the samples; when the "
                        "devices work, rerun the same command",
                        model_title(model),
                        faults[-1],
                    )
                )
        if len(self._recent) < SAME_FAILURE_WINDOW or self._work.kept:
            return
        (what, status), count = Counter(self._recent).most_common(1)[0]
        if not what or count <= SAME_FAILURE_WINDOW // 2:
            return
        seen = count, SAME_FAILURE_WINDOW, what
        if what in self._of_devices:
            raise Stopped(
                Text(
                    "{} of the last {} tasks failed the same way ({}), through their devices; when these work, rerun "
                    "the same command",
                    *seen,
                )
            )
        raise Stopped(
            Text(
                "{} of the last {} tasks failed the same way ({}); fix that, then rerun the same "
                "command with `--retry {}`",
                *seen,
                status,
            )
        )

    # -- helpers --

    def _others(self, replica: Replica) -> list[Replica]:
        """Returns the other replicas of its model that may still work, loaded or not."""
        of = self._policy.replicas_of(replica.key)
        return [
            other for other in of if other is not replica and other.state is not ReplicaState.RETIRED and not other.lost
        ]

    def _try_elsewhere(self, replica: Replica, task: Task, reason: str, *, alone: bool) -> None:
        self._work.add_again(task, alone=alone, failed_on=task.failed_on | {replica.index})
        self._records.attempt(task, reason)

    def _keep_attempt(self, replica: Replica, reason: str, kind: str = "") -> None:
        error = reason[:LONGEST_ERROR]
        self._records.event("attempt", model=replica.key, place=list(replica.place), kind=kind, error=error)

    def _remember(self, replica: Replica, task: Task, what: str) -> None:
        if not task.by_the_way:
            status = Status.EDIT_FAILED if replica.model.kind == "edit" else Status.JUDGE_ERROR
            self._recent.append((self._add_model_title(replica, what), status))

    @staticmethod
    def _add_model_title(replica: Replica, what: str) -> str:
        return Text("{}: {}", replica.model.title, what)

    @property
    def fault_summary(self) -> str:
        """For which faults of devices tasks were left, for people; empty if none were."""
        reasons = [reason for faults in (*self._left.values(), self._of_batches) for reason in faults]
        return _first(reasons, pluralize(len(reasons) - 1, "more task"))


# -- pictures that cannot be read just now --
#
# A missing file or a failing disk says nothing about the model that was to look at it, so no one is charged. Such a
# task waits, longer each time. Once all of `AGAIN_AFTER` is used up it is left pending, the rest of the run is done,
# and the run ends with what could not be read.

AGAIN_AFTER = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds before each further attempt."""

FIRST_TICKET = -1
"""The first ticket of each start; the next ones count down."""


class ReadRetries:
    """Tasks waiting to be retried. Each waits for a ticket: a number below that of any edit (see `Work.settle`)."""

    def __init__(self) -> None:
        self._attempts: Counter[tuple[str, tuple[int, ...]]] = Counter()
        self._due: list[tuple[float, int]] = []  # a heap of times and tickets
        self._next = FIRST_TICKET
        self.lost: list[str] = []
        """For what tasks were left."""

    def schedule_retry(self, task: Task, now: float) -> int | None:
        """Returns the ticket that the task must wait for; None when it has waited long enough and is left."""
        key = (task.model, task.units)
        attempt = self._attempts[key]
        if attempt == len(AGAIN_AFTER):
            del self._attempts[key]
            return None
        self._attempts[key] += 1
        ticket = self._next
        self._next -= 1
        heapq.heappush(self._due, (now + AGAIN_AFTER[attempt], ticket))
        return ticket

    def due(self, now: float) -> list[int]:
        """Returns the tickets that are due, each only once."""
        tickets = []
        while self._due and self._due[0][0] <= now:
            tickets.append(heapq.heappop(self._due)[1])
        return tickets

    @property
    def is_waiting(self) -> bool:
        """True if a task is waiting to be retried."""
        return bool(self._due)

    @property
    def loss_summary(self) -> str:
        """What could not be read to the end, for people; empty if all was read."""
        reasons = list(dict.fromkeys(self.lost))
        return _first(reasons, pluralize(len(reasons) - 1, "more picture"))


def _first(reasons: Sequence[str], more: str) -> str:
    return Text("{}, and {}", reasons[0], more) if reasons[1:] else "".join(reasons)
