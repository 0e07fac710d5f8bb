"""The engine: one thread, one loop. Events come in, are recorded and reported to the policy, and commands go out.

`blame.py` decides who is to blame for a failure, and what follows for the task and the device. A failure is charged
to a task only if the task was running on a loaded worker that died, timed out or raised; a failed start, or a task
handed to a dying worker, is the machine's fault and costs the task nothing. Unreadable pictures (`blame.py`), and
silence while the engine itself was asleep, are charged to no one.
"""

from __future__ import annotations

import contextlib
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edit_eval.errors import ConfigurationError, Stopped
from edit_eval.execution.contract import (
    FLEET,
    Driver,
    Event,
    Growth,
    Interruption,
    More,
    Observer,
    Records,
    Specifications,
    Users,
    WorkerSpecification,
)
from edit_eval.execution.engine.blame import FIRST_TICKET, SLOT_FAILURES, Blame, ReadRetries, weigh_request
from edit_eval.execution.engine.cost_budget import CostBudget
from edit_eval.execution.machine.environments import with_install_line
from edit_eval.execution.machine.memory import memory_advice, memory_figures
from edit_eval.execution.spectator import Spectator
from edit_eval.records import model_title
from edit_eval.scheduling.fleet import Command, Replica, ReplicaState
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.tasks import Task, Work
from edit_eval.store.run_directory import CannotWrite
from edit_eval.text import Text, join_texts
from edit_eval.workers.messages import Message

UNRELIABLE = "its model or device is no longer reliable"  # why a worker is replaced although it is charged with nothing
LOAD_ATTEMPTS = 2
LOAD_AGAIN = (5.0, 15.0, 40.0)
"""Seconds before each further load on a device that had no memory for it: a process that has ended may still be freeing
it. After the first only while other processes hold some, or more is free than the time before."""
NOT_THE_ENVIRONMENT = ("changed", "machine")  # kinds of reasons why a worker cannot be prepared
LOOK_EVERY = 0.5
"""Seconds between two checks for silent workers and interruptions."""


@dataclass(slots=True)
class RunningWorker:
    """The engine's view of a replica's process."""

    replica: Replica
    specification: WorkerSpecification
    number: int
    since: float
    """When its present activity began."""
    last_sign: float
    """On the clock of the engine's waking hours, unlike all other times here."""
    loading_since: float | None = None
    """When it was told to load; its imports, and the time that others loaded first, do not count."""
    running: dict[int, float] = field(default_factory=dict)
    """Tasks that the device is computing, and when each began."""
    loaded: bool = False
    computed: float = 0.0
    """The time until which the device is known to have been busy."""
    killed: str = ""
    """Why the engine killed it; empty if it did not."""
    broken: str = ""
    short: Mapping[str, int] | None = None
    """Its figures when memory ran out while it loaded."""
    stopping: bool = False


class Engine:
    """Gets the work done. `run` returns when nothing is left, or raises `Stopped`."""

    def __init__(
        self,
        driver: Driver,
        policy: Policy,
        work: Work,
        records: Records,
        watcher: Spectator,
        specifications: Specifications,
        *,
        growth: Growth = lambda gpus: {},
        interruption: Interruption = lambda: "",
        observer: Observer = lambda replica, what, message: None,
        users: Users = lambda devices: (),
        more: More = lambda: False,
        purse: CostBudget | None = None,
        poll_seconds: float = LOOK_EVERY,
    ) -> None:
        self._driver, self._policy, self._work = driver, policy, work
        self._records, self._watch = records, watcher
        self._specifications, self._growth = dict(specifications), growth
        self._interruption, self._observe, self._more = interruption, observer, more
        self._poll_seconds = poll_seconds
        self._simulated = poll_seconds == float("inf")  # without interruptions or silent workers
        self._purse = purse or CostBudget({}, None, (), records.event)
        self._held: list[tuple[RunningWorker, Task, Message]] = []  # orders that could pass the limit of costs
        self._ends = ""
        self._workers: dict[int, RunningWorker] = {}
        self._of: dict[int, RunningWorker] = {}  # replica number -> its worker
        self._started = 0
        self._now = 0.0
        self._awake = 0.0
        self._looked = 0.0
        self._again = ReadRetries()
        self._tasks: dict[int, tuple[RunningWorker, Task]] = {}
        self._blame = Blame(policy, work, records, watcher.note, users)
        self._dropped: dict[int, str] = {}  # replicas whose processes are ended for good, and why
        self._load_failures: Counter[int] = Counter()
        self._free: dict[int, int | None] = {}  # of a replica's device, when it last had no memory for a load
        self._due: dict[int, float] = {}  # replicas that load again only then
        self._waiting: dict[int, Replica] = {}  # those of them that would begin
        self._users = users
        self._idle_deaths: Counter[int] = Counter()  # in a row, of loaded workers that were idle
        self._first_load_error: dict[str, str] = {}
        self._refused: set[str] = set()  # models that have never worked, and never will as configured
        self._unprepared: set[str] = set()  # models that failed before loading: their environment is at fault
        self._away: dict[str, str] = {}  # models whose servers are away or do not let us in, and what they say
        self._last_answer: dict[str, float] = {}  # when each model last did a task
        self._draining = False
        self._unsynced = False
        self.about: dict[str, dict[str, str]] = {}
        """What each model's first loaded worker reported about itself."""

    @property
    def now(self) -> float:
        """Seconds since the driver began."""
        return self._now

    # -- the loop --

    def run(self) -> None:
        """Runs until the work is finished.

        Raises `Stopped` when it cannot be finished: no device is left, the same failure occurs again and again, or the
        disk is full. Raises `KeyboardInterrupt` when interrupted. All finished work is recorded either way.
        """
        whole = False
        try:
            self._do(self._policy.begin())
            while self._policy.has_processes:
                before = self._now
                self._now, events = self._driver.poll(self._poll_seconds)
                # If this process or its machine was suspended, the workers were not silent all that time.
                self._awake += min(self._now - before, 2 * self._poll_seconds)
                for event in events:
                    self._handle(event)
                if self._more():
                    self._do(self._policy.report_new_work())
                elif not events:
                    self._guard_progress()
                if self._held:
                    self._submit_deferred()
                if self._unsynced:
                    self._records.sync()
                    self._unsynced = False
                self._check_run()
                self._watch.tick(self._now)
            self._end_or_explain()
            whole = True
        except OSError as error:
            raise CannotWrite(Text("{}; all finished work is kept; rerun the same command to resume", error)) from error
        finally:
            self._driver.close()
            # A full disk refuses this as well; the exception under way already says why.
            with contextlib.nullcontext() if whole else contextlib.suppress(OSError, Stopped):
                self._records.event("end", seconds=self._now)
                self._records.sync()

    def _end_or_explain(self) -> None:
        if self._ends:
            raise Stopped(self._ends)
        if self._draining:
            raise KeyboardInterrupt
        if not self._work.is_finished:
            self._explain()
        if left := self._again.loss_summary:
            raise Stopped(
                Text("{}; everything else is done: make sure that it can be read, then rerun the same command", left)
            )
        if left := self._blame.fault_summary:
            raise Stopped(
                Text(
                    "left for another start: {}; everything else is done: rerun the same command when that works again",
                    left,
                )
            )

    def _explain(self) -> None:
        for model in self._unprepared:
            error = self._first_load_error[model]
            raise ConfigurationError(
                Text(
                    "{} cannot be prepared in its environment: {}; `edit-eval doctor CONFIG` says what is missing",
                    model_title(model),
                    error,
                )
            )
        for model, reason in self._away.items():
            raise Stopped(
                Text("{}: {}; all that is left is pending: rerun the same command later", model_title(model), reason)
            )
        for model in self._refused:
            raise ConfigurationError(Text("{}: {}", model_title(model), self._first_load_error[model]))
        reasons = [Text("{}: {}", model_title(model), error) for model, error in self._first_load_error.items()]
        why = join_texts(reasons) if reasons else Text("every replica failed too often")
        raise Stopped(Text("{}; no device is left to finish the run", why))

    def _check_run(self) -> None:
        if self._now - self._looked < LOOK_EVERY or self._simulated:
            return
        self._looked = self._now
        wanted = self._interruption()
        if wanted == "now":
            raise KeyboardInterrupt
        if wanted == "drain" and not self._draining:
            self._draining = True
            self._watch.note(Text("stopping: running tasks finish first; interrupt again to stop at once"))
            self._do(self._policy.drain())
        for replica in [replica for replica in self._waiting.values() if self._due[replica.number] <= self._now]:
            del self._waiting[replica.number], self._due[replica.number]
            self._prepare(replica)
        if due := self._again.due(self._now):
            for ticket in due:
                self._work.settle(ticket)
            self._do(self._policy.report_new_work())
        for worker in list(self._workers.values()):
            limits = worker.specification
            silent = self._awake - worker.last_sign
            if worker.killed:
                continue
            # A task in hand that never began counts as well: a suspended process (SIGSTOP) begins none.
            waits = {task.number for _, task, _ in self._held}
            if worker.loaded and worker.replica.hands.keys() - waits and silent > limits.timeout:
                self._kill(worker, f"no step for {limits.timeout:g} s")
            # A prepared worker waits for its device, however long that takes.
            elif (
                not worker.loaded and worker.replica.state is not ReplicaState.PREPARED and silent > limits.load_timeout
            ):
                self._kill(worker, f"not loaded after {limits.load_timeout:g} s")
            elif worker.stopping and silent > limits.timeout:
                self._kill(worker, "did not end")

    def _guard_progress(self) -> None:
        """Raises if work is left but every replica is idle, so no event will ever come: a bug, not worth a wait."""
        busy = self._waiting or any(w.replica.busy for w in self._workers.values())
        if busy or self._work.is_finished or self._work.kept or self._draining or self._ends or self._again.is_waiting:
            return
        if self._first_load_error or self._away:
            self._explain()
        held = ", ".join(w.replica.name for w in self._workers.values()) or "nobody"
        raise Stopped(
            Text("no progress: work is left that {} cannot do; this is a bug in edit-eval, please report it", held)
        )

    def _kill(self, worker: RunningWorker, reason: str) -> None:
        worker.killed = reason
        self._watch.note(Text("{}: {}; its process is replaced", worker.replica.name, reason))
        self._driver.kill(worker.number)

    # -- commands --

    def _do(self, commands: Sequence[Command]) -> None:
        waiting = deque(commands)
        while waiting:
            verb, replica, task = waiting.popleft()
            if verb == "prepare":
                if replica.number in self._due:
                    self._waiting[replica.number] = replica
                else:
                    self._prepare(replica)
                continue
            if self._waiting.pop(replica.number, None):  # it is to stop before it has begun
                self._do(self._policy.report_ended(replica))
                continue
            worker = self._of[replica.number]
            if verb == "load":
                if not self._purse.charge_load(replica.model.key):
                    raise Stopped(self._purse.words)
                worker.loading_since, worker.last_sign = self._now, self._awake
                self._driver.submit(worker.number, {"do": "load", "offload": worker.specification.offload})
                self._watch.replica(replica, "loading", {})
                self._observe(replica, "loading", {})
            elif verb == "run":
                assert task is not None
                order = self._records.order(task)
                if order is None:  # answered, or being asked, since it became ready
                    waiting.extend(self._policy.report_failed(replica, task))
                    continue
                self._tasks[task.number] = (worker, task)
                if not worker.running and next(iter(replica.hands)) == task.number:
                    worker.last_sign = self._awake  # it was idle until now, so its silence begins here
                self._order(worker, task, order)
            else:
                worker.stopping, worker.since, worker.last_sign = True, self._now, self._awake
                if worker.loaded:
                    self._driver.submit(worker.number, {"do": "stop"})
                else:  # it has nothing to finish, and an unneeded load may take minutes
                    self._driver.kill(worker.number)

    def _order(self, worker: RunningWorker, task: Task, order: Message) -> None:
        """Orders a task, unless it could pass the limit of costs: then it waits for what is under way."""
        if task.model in self._away:
            return  # it goes back when its replica is given up
        if self._blame.wants_fresh(worker.replica, task):
            return self._kill(worker, UNRELIABLE)  # it goes back when this has ended
        if self._ends or not self._purse.reserve_cost(task, order):
            self._held.append((worker, task, order))
        else:
            self._driver.submit(worker.number, order)

    def _submit_deferred(self) -> None:
        """Orders what fits by now; if nothing under way can make room for the rest, begins nothing more."""
        held, self._held = self._held, []
        for worker, task, order in held:
            if task.number in self._tasks and worker.number in self._workers:
                self._order(worker, task, order)
        if self._held and not self._purse.has_reservations:
            held, self._held = self._held, []
            for worker, task, _ in held:
                self._return(worker.replica, task)
            if not self._ends:
                self._watch.note(self._purse.words)
            self._ends = self._ends or self._purse.words
            self._do(self._policy.drain())  # also of those whose tasks were returned just now

    def begin_nothing_more(self, why: str) -> None:
        """Finishes what is under way, which may have been paid for already; then `run` raises `Stopped`."""
        if not self._ends:
            self._ends = why
            if self._tasks:
                self._watch.note(Text("stopping: running tasks finish first"))
            self._do(self._policy.drain())

    def _prepare(self, replica: Replica) -> None:
        self._started += 1
        specification = self._specifications[replica.model.key, replica.place]
        worker = RunningWorker(replica, specification, self._started, self._now, self._awake)
        self._workers[worker.number] = self._of[replica.number] = worker
        self._watch.replica(replica, "preparing", {})
        self._driver.start(worker.number, specification)

    # -- events --

    def _handle(self, event: Event) -> None:
        worker = self._workers.get(event.worker)
        if worker is None:
            return self._devices_changed(event.message) if event.worker == FLEET else None
        worker.last_sign = self._awake
        message = event.message
        kind = message["event"]
        if kind == "moving":  # a download: `load_timeout` begins anew
            return
        if kind == "step":
            self._watch.step(worker.replica, message["step"], message["steps"])
            return
        self._observe(worker.replica, kind, message)
        if kind == "started":
            self._handle_begun(worker, message["task"])
        elif kind == "submitted":
            if message["task"] in self._tasks:
                self._handle_submitted(worker, self._tasks[message["task"]][1], message)
        elif kind == "done":
            self._handle_done(worker, message)
        elif kind == "failed":
            self._handle_failed(worker, message)
        elif kind in ("prepared", "loaded"):
            if worker.stopping:
                return  # sent before it heard that it is no longer needed
            if kind == "loaded":
                self._handle_loaded(worker, message)
            else:
                self._activity(worker.replica, "starting", worker.since, self._now, "")
                self._do(self._policy.report_prepared(worker.replica))
        elif kind == "broken":
            message = with_install_line(message, worker.specification)
            worker.broken = message["error"]
            if message.get("kind") == "out_of_memory":
                worker.short = message.get("memory", {})
            self._first_load_error.setdefault(worker.replica.model.key, message["error"])
            if message.get("kind") == "configuration" and worker.replica.model.key not in self.about:
                self._refused.add(worker.replica.model.key)
            at_fault = worker.loading_since is None and message.get("kind") not in NOT_THE_ENVIRONMENT
            if at_fault or "lacks" in message:
                self._unprepared.add(worker.replica.model.key)
            self._records.event("broken", replica=worker.replica.name, error=message["error"], trace=message["trace"])
        elif kind == "died":
            self._handle_died(worker, message["reason"], lost="lost" in message)

    def _devices_changed(self, message: Mapping[str, Any]) -> None:
        """Handles devices that join or go: tasks on lost ones start again elsewhere, and new ones get work."""
        self._watch.note(message["reason"])
        if message["event"] == "gone":
            self._records.event("gone", seconds=self._now, devices=list(message["devices"]), reason=message["reason"])
            return self._do(self._policy.report_lost_devices(message["devices"]))
        if message["event"] == "joined":
            new = self._growth(message["gpus"])
            self._specifications |= new
            names = [gpu.name for gpu in message["gpus"]]
            self._records.event("devices", seconds=self._now, devices=names, reason=message["reason"])
            self._do(self._policy.add_devices(list(new)))

    def _handle_loaded(self, worker: RunningWorker, message: Mapping[str, Any]) -> None:
        replica = worker.replica
        worker.loaded = True
        began = self._now if worker.loading_since is None else worker.loading_since
        self._activity(replica, "loading", began, self._now, "")
        self._load_failures[replica.number] = 0
        self._blame.record_new_process(replica)
        self.about.setdefault(replica.model.key, dict(message["about"]))
        took = round(self._now - began, 4)
        self._records.event(
            "loaded", model=replica.model.key, place=replica.place, seconds=took, memory=message["memory"]
        )
        self._watch.replica(replica, "loaded", {**message, "seconds": took})
        self._do(self._policy.report_loaded(replica, self._now - began, int(message["capacity"])))

    def _handle_begun(self, worker: RunningWorker, number: int) -> None:
        if number in self._tasks:
            task = self._tasks[number][1]
            worker.running[number] = self._now
            self._watch.running(worker.replica, task, self._records.about(task))

    def _handle_submitted(self, worker: RunningWorker, task: Task, message: Message) -> None:
        """Has written down what is bought. A question's answer comes later: until then it is in nobody's hands."""
        replica = worker.replica
        self._records.record_submission(task, {**message, "reserved": self._purse.keep_reserved(task)})
        self._unsynced = True
        if replica.model.kind == "judge":
            if worker.running.pop(task.number, None) is not None:
                self._watch.finished(replica, task)
            self._driver.submit(worker.number, {"do": "noted", "task": task.number})
            self._do(self._policy.report_deferred(replica, task))

    def _take(self, worker: RunningWorker, number: int, seconds: float) -> Task:
        """Takes a finished task from its worker and records its stretch of time."""
        _, task = self._tasks.pop(number)
        self._records.free(task)
        if number in worker.replica.deferred:  # it took no device's time
            return task
        began = worker.running.pop(number, self._now)
        # The device was free once it had computed; writing the result came after.
        ended = min(self._now, began + seconds)
        if worker.replica.capacity == 1 and worker.running:
            ended = min(ended, *worker.running.values())  # it was over when the next one began
        ended = max(began, ended)
        kind = "editing" if worker.replica.model.kind == "edit" else "judging"
        self._activity(worker.replica, kind, began, ended, self._records.about(task))
        self._watch.finished(worker.replica, task)
        return task

    def _handle_done(self, worker: RunningWorker, message: Message) -> None:
        seconds = float(message["seconds"])
        task = self._take(worker, message["task"], seconds)
        self._records.record_results(task, message, "+".join(worker.replica.place))
        self._purse.settle(task, message)
        self._record_answer(worker.replica)
        if task.number in worker.replica.deferred:  # how long it waited says nothing of the next
            self._do(self._policy.report_failed(worker.replica, task))
        else:
            self._do(self._policy.report_done(worker.replica, task, seconds))
        for replica, reason in self._blame.blame_replicas(worker.replica, task):
            self._drop(replica, reason)
        self._drop_if_away(task.model)

    def _record_answer(self, replica: Replica) -> None:
        self._idle_deaths[replica.number] = 0
        self._blame.record_success(replica)
        self._last_answer[replica.model.key] = self._now
        self._unsynced = True

    def _handle_failed(self, worker: RunningWorker, message: Mapping[str, Any]) -> None:
        began = worker.running.get(message["task"], self._now)
        task = self._take(worker, message["task"], self._now - began)
        if (message.get("facts") or {}).get("bought"):
            self._purse.leave_reserved(task)
        else:
            if task.number in worker.replica.deferred:
                self._records.clear_submission(task)
            self._purse.settle(task, message)
        reason, kind = str(message["error"]), str(message["kind"])
        if kind == "disk":
            self._return(worker.replica, task)
            raise CannotWrite(Text("{}; all finished work is kept; rerun the same command to resume", reason))
        self._records.event(
            "failed", replica=worker.replica.name, what=self._records.about(task), error=reason, trace=message["trace"]
        )
        if worker.killed == UNRELIABLE:  # the first to say so is charged: the server is down for all of them
            return self._return(worker.replica, task)
        if kind == "unreadable":
            return self._read_again(worker.replica, task, reason)
        if kind == "refused" and worker.replica.model.kind == "edit":  # that is an answer; no one is charged
            self._records.record_refusal(task, reason)
            self._record_answer(worker.replica)
        elif kind == "request" and message.get("facts"):
            self._request_failed(worker, task, reason, message["facts"])
        else:
            doubted = self._blame.weigh_failure(worker.replica, task, reason, kind, message.get("memory", {}))
            if doubted or message.get("spent"):
                # After a device-side assert no result of this process can be trusted; a new one has descriptors again.
                self._kill(worker, UNRELIABLE)
            self._unsynced = True
        self._do(self._policy.report_failed(worker.replica, task))
        self._drop_if_away(task.model)
        self._blame.stop_if_systemic()

    def _request_failed(self, worker: RunningWorker, task: Task, reason: str, facts: Mapping[str, Any]) -> None:
        """Does what follows from a request to a server that came to nothing."""
        replica, model = worker.replica, worker.replica.model.key
        recently = self._now - float(facts["seconds"]) / 2
        verdict = weigh_request(facts, others_succeed=self._last_answer.get(model, -1.0) >= recently)
        self._unsynced = True
        if verdict == "request" or (verdict in ("left", "away") and self._work.kept):  # a service has no later start
            return self._blame.charge(replica, task, reason, final=True)
        if verdict in ("unclear", "process"):
            self._blame.charge(replica, task, reason, of_device=True)
            if verdict == "process":
                self._kill(worker, UNRELIABLE)
            return
        if verdict == "left":
            return self._blame.leave(replica, task, reason)
        if verdict == "crowded":
            return self._blame.return_task(replica, task, reason)
        if verdict in ("unasked", "unanswered"):
            return self._blame.ask_again(replica, task, reason, final=verdict == "unanswered")
        self._blame.return_task(replica, task, reason)
        if facts["ours"]:  # other replicas have servers of their own
            self._first_load_error.setdefault(model, reason)
            return self._drop(replica, reason)
        self._away.setdefault(model, reason)

    def _drop_if_away(self, model: str) -> None:
        """Gives up the replicas of a model whose server is away, once what each has under way has ended."""
        for replica in self._policy.replicas_of(model) if model in self._away else ():
            worker = self._of.get(replica.number)
            if replica.number not in self._dropped and not (worker and worker.running):
                self._drop(replica, self._away[model])

    def _read_again(self, replica: Replica, task: Task, reason: str) -> None:
        """Retries a task with an unreadable picture later, or leaves it for another start."""
        ticket = self._again.schedule_retry(task, self._now)
        if ticket is None:
            if self._records.leave(task):
                self._again.lost.append(reason)
        else:
            if ticket == FIRST_TICKET:  # the first of perhaps a thousand
                self._watch.note(Text("{}; unreadable pictures are retried for a minute", reason))
            self._work.add_again(task, after=[ticket])
        self._do(self._policy.report_failed(replica, task))

    def _handle_died(self, worker: RunningWorker, reason: str, lost: bool = False) -> None:
        replica = worker.replica
        del self._workers[worker.number]
        if self._of.get(replica.number) is worker:
            del self._of[replica.number]
        dropped = self._dropped.get(replica.number, "")
        if worker.stopping and not worker.running:
            if worker.loaded:
                self._activity(replica, "unloading", worker.since, self._now, "")
            elif worker.loading_since is not None:
                self._activity(replica, "loading", worker.loading_since, worker.since, "no longer needed")
            self._watch.replica(replica, "ended", {})
            for task in [*replica.hands.values(), *replica.deferred.values()]:
                self._return(replica, task)
            return self._retire(replica, dropped) if dropped else self._do(self._policy.report_ended(replica))
        reason = worker.killed or worker.broken or reason
        if not worker.loaded and worker.loading_since is not None:
            self._activity(replica, "loading", worker.loading_since, self._now, f"failed: {reason}")
        # An earlier task was computed already and only being written: it did not kill the worker.
        guilty = set(list(worker.running)[-replica.capacity :])
        if worker.killed == UNRELIABLE or lost or dropped:
            guilty = set()
        elif worker.killed and worker.loaded and not guilty:
            guilty = set(list(replica.hands)[:1])  # the one that it should have begun
        elif worker.loaded and not guilty:
            self._idle_deaths[replica.number] += 1
        for number, task in list(replica.hands.items()):
            if number in guilty:
                self._take(worker, number, self._now - worker.running.get(number, self._now))
                self._purse.charge_maximum(task)
                self._blame.charge(worker.replica, task, reason)
                self._unsynced = True
                self._policy.report_lost_task(replica, task)
            else:
                if number in worker.running:  # nobody's fault, and perhaps charged
                    self._purse.charge_maximum(task)
                self._return(replica, task)
        for task in list(replica.deferred.values()):
            self._return(replica, task)
        self._records.event("died", replica=replica.name, reason=reason)
        if dropped:
            return self._retire(replica, dropped)
        retired = lost or self._is_to_retire(worker, reason)
        self._watch.replica(replica, "retired" if retired else "died", {"reason": reason})
        self._do(self._policy.report_ended(replica, retired=retired))
        if (
            retired
            and (self._policy.is_piloting or replica.model.key in self._refused or replica.model.key in self._work.kept)
            and all(r.state is ReplicaState.RETIRED for r in self._policy.replicas_of(replica.model.key))
        ):
            self._explain()  # otherwise this would only come out when everything else is done
        self._blame.stop_if_systemic()

    def _return(self, replica: Replica, task: Task) -> None:
        """Puts a task that had not begun back into the queue, at no charge."""
        self._purse.release_cost(task)
        self._records.free(task)
        self._tasks.pop(task.number, None)
        replica.hands.pop(task.number, None)
        replica.deferred.pop(task.number, None)
        self._policy.return_task(task)

    # -- giving up --

    def _drop(self, replica: Replica, reason: str) -> None:
        """Gives up a replica; its tasks go to others, at no charge."""
        self._dropped[replica.number] = reason
        worker = self._of.get(replica.number)
        if worker is None:
            self._retire(replica, reason)
        elif not worker.killed:
            worker.killed = reason
            self._driver.kill(worker.number)

    def _retire(self, replica: Replica, reason: str) -> None:
        self._waiting.pop(replica.number, None)
        self._say_retired(replica, reason)
        self._watch.replica(replica, "retired", {"reason": reason})
        self._do(self._policy.report_ended(replica, retired=True))

    def _say_retired(self, replica: Replica, reason: str) -> None:
        self._watch.note(Text("{} is not used any more: {}", replica.name, reason))
        self._records.event(
            "retired", replica=replica.name, model=replica.model.key, place=list(replica.place), reason=reason
        )

    def _is_to_retire(self, worker: RunningWorker, reason: str) -> bool:
        replica = worker.replica
        if worker.loaded:
            retired = self._blame.fails_too_often(replica)
            if self._idle_deaths[replica.number] >= SLOT_FAILURES:  # no task is charged, so they would never end
                self._first_load_error[replica.model.key] = Text("with nothing to do, {}", reason)
                retired = True
        else:
            self._first_load_error.setdefault(replica.model.key, reason)
            self._load_failures[replica.number] += 1
            retired = bool(worker.broken or worker.killed) or self._load_failures[replica.number] >= LOAD_ATTEMPTS
            if worker.short is not None:
                users, tried = self._users(replica.place), self._load_failures[replica.number]
                before, free = self._free.get(replica.number), worker.short.get("device_free")
                self._free[replica.number] = free
                passes = users or (before is not None and free is not None and free > before)
                reason += memory_figures(worker.short, users)
                if tried == 1 or (passes and tried <= len(LOAD_AGAIN)):
                    wait = LOAD_AGAIN[tried - 1]
                    self._due[replica.number] = self._now + wait
                    self._watch.note(Text("{}: {}; it is loaded again in {:g} s", replica.name, reason, wait))
                    return False
                reason += "; " + memory_advice(replica.model.kind, reason, worker.short, loading=True)
                self._first_load_error[replica.model.key] = reason
        if retired:
            self._say_retired(replica, reason)
        return retired

    def _activity(self, replica: Replica, kind: str, begin: float, end: float, what: str) -> None:
        for device in replica.place:
            self._records.activity(device, kind, replica.model.key, begin, end, what)
