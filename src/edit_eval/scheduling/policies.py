"""Decides what runs where next.

A *replica* is one model on one place (a GPU, or several). A policy is told what happened and answers with commands:
prepare a replica's process, load it, run a task on it, stop it. It has no clock, files or processes, so the same code
drives a real run, a unit test, and a simulation of a thousand GPUs.

The default policy, in five rules:

1. **Pull.** A loaded replica with a free hand takes the next task that can start. Nothing is dealt out in advance and
   there are no barriers: replicas share nothing, so nothing can drift apart, and a barrier would only make every GPU
   as slow as the slowest. A sample's seed belongs to the sample, so who edits it changes no pixel.
   Only a failed task waits, for a replica that it has not failed on, while the model has one.
2. **One more in hand.** While a replica computes it already holds its next task, to open the pictures; not when few
   tasks are left, so that no GPU ends with two while another has none.
3. **A place takes the earliest model that has work for it.** A free place loads an edit model while there are edits
   for it, then the judge. If the model already runs elsewhere, another replica is loaded only if it would be ready
   before the work is over anyway.
4. **Leave early.** A place gives up editing for the judge as soon as the others can finish the edits in the time it
   takes to load the judge and judge everything. Until those times are known it stays until no edit is left.
5. **The pilot comes first and blocks nothing.** A few tasks of each model show whether it works. As soon as a model's
   whole pilot can start and no place has that model, one place leaves for it. Afterwards rule 3 says where that place
   goes: back to editing, if that shortens the run. This costs one device two loads and gives rule 4 its times.

The other schedules are other queues (`queues.QUEUES`). Each place then has edits of its own, so no place
leaves early, and one that has run the pilot gives up the judge at once; the edits it has missed are dealt again.
`order: by_category` numbers the tasks' phases; `start: together` holds the first task back; `placement: together` lets
a place hold all models. Rules 3 to 5 are in `Places`; how commands are carried out is in `fleet.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence

from edit_eval.scheduling.estimates import Estimates
from edit_eval.scheduling.fleet import Command, Fleet, Leaving, Replica, ReplicaState
from edit_eval.scheduling.queues import QUEUES, PullQueue
from edit_eval.scheduling.tasks import PILOT, Model, Task, Work


class Policy:
    """Turns events into commands. Each method that reports an event returns what to do now."""

    def __init__(
        self,
        models: Sequence[Model],
        work: Work,
        estimates: Estimates,
        *,
        schedule: str = "pull",
        start: str = "asap",
        placement: str = "swap",
        load_concurrency: int | None = None,
        host: Callable[[str], str] = lambda device: "",
    ) -> None:
        """`models` are in the order of their stages: edit models, then judges. `load_concurrency` is per host."""
        self._models = list(models)
        self._work = work
        self._estimates = estimates
        self._shared = placement == "together" and len(models) > 1  # models stay on their place, side by side
        self._fleet = Fleet(models, len(models) if self._shared else 1, load_concurrency, host)
        self.replicas = self._fleet.replicas
        self.schedule = schedule
        self._by_pull = schedule == "pull"
        self._queues = {m.key: QUEUES[schedule if m.kind == "edit" else "pull"](self._fleet.of[m.key]) for m in models}
        self._held_back = {m.key for m in models} if start == "together" else set()
        self._idle: dict[str, dict[int, Replica]] = {m.key: {} for m in models}  # loaded, with a free hand
        self._phase = 0
        self._draining = False
        self._woken: deque[str] = deque()  # models that have something new to do
        self._places = Places(
            models,
            work,
            estimates,
            self._fleet,
            self._queues,
            dealt=not self._by_pull,
            shared=self._shared,
            wake=self._woken.append,
        )
        work.on_ready = self._ready

    # -- events --

    def begin(self) -> list[Command]:
        """Starts the run: each place gets its first model."""
        self._woken.clear()  # no replica is loaded yet, so there is none to ask
        for device in self._fleet.on:
            self._fill(device)
        for name, replicas in self._fleet.of.items():  # so failed imports show within seconds
            if self._work.pilot_left(name) and not self._fleet.active[name]:
                self._fleet.prepare(replicas[0])
        return self._collect_commands()

    def report_prepared(self, replica: Replica) -> list[Command]:
        """Reports that the replica's process has finished its imports."""
        self._fleet.mark_prepared(replica)
        return self._collect_commands()

    def report_loaded(self, replica: Replica, seconds: float, capacity: int) -> list[Command]:
        """Reports that the replica is ready for tasks, `capacity` at a time."""
        self._estimates.load[replica.key].add(seconds)
        self._fleet.mark_loaded(replica, capacity)
        self._mark_back(replica)
        if not self._start_held_replicas(replica.key):
            self._assign_tasks(replica)
        return self._collect_commands()

    def report_done(self, replica: Replica, task: Task, seconds: float) -> list[Command]:
        """Reports that the task ended, with any result; `seconds` is how long the device computed."""
        self._estimates.unit[task.model].add(seconds, len(task.units))
        return self.report_failed(replica, task)

    def report_failed(self, replica: Replica, task: Task) -> list[Command]:
        """Reports a task whose time tells nothing; any retry has already been added as new tasks."""
        self.report_lost_task(replica, task)
        self._take_turns(replica)
        self._fill_free_place()
        return self._collect_commands()

    def report_deferred(self, replica: Replica, task: Task) -> list[Command]:
        """Reports a task that the replica has handed on, and waits for with free hands."""
        if replica.hands.pop(task.number, None) is not None:
            replica.deferred[task.number] = task
            self._take_turns(replica)
        return self._collect_commands()

    def report_lost_task(self, replica: Replica, task: Task) -> None:
        """Reports a task that ended together with its replica; `ended` follows."""
        replica.hands.pop(task.number, None)
        replica.deferred.pop(task.number, None)
        replica.worked = True
        self._idle[replica.key].pop(replica.number, None)  # it may be gone: it is asked again after its own event
        self._end(task)

    def report_ended(self, replica: Replica, *, retired: bool = False) -> list[Command]:
        """Reports that the replica's process has ended. Its tasks were ended or given back before."""
        self._end_replica(replica, retired or replica.lost)
        return self._collect_commands()

    def _end_replica(self, replica: Replica, retired: bool) -> None:
        self._fleet.mark_ended(replica, retired=retired)
        self._idle[replica.key].pop(replica.number, None)
        queue = self._queues[replica.key]
        (queue.retire if retired else queue.mark_away)(replica.index)
        if retired or len(queue):  # others waited for it, or for it to take a suspect
            self._woken.extend([replica.key] * max(1, len(self._idle[replica.key])))
        self._start_held_replicas(replica.key)
        early = self._places.record_end(replica)
        for device in replica.held:
            self._fill(device, judges_first=early)

    def return_task(self, task: Task) -> None:
        """Puts back a task that its replica had not begun before it ended."""
        self._queues[task.model].finish(task)
        self._ready(task)

    def report_lost_devices(self, devices: Collection[str]) -> list[Command]:
        """Reports devices that are lost for good. The ends of their processes are reported separately, as usual."""
        for replica in self.replicas:
            if not replica.lost and any(device in devices for device in replica.place):
                replica.lost = True
                if replica.state is ReplicaState.OFF:
                    self._end_replica(replica, retired=True)
        return self._collect_commands()

    def add_devices(self, places: Sequence[tuple[str, tuple[str, ...]]]) -> list[Command]:
        """Adds devices: places for models, by their keys. Edits already dealt out stay where they are."""
        takes = [model for model in self._models if self._by_pull or model.kind == "judge"]
        made = [self._fleet.add(model, place) for model in takes for key, place in places if key == model.key]
        for device in dict.fromkeys(device for replica in made for device in replica.held):
            self._fill(device)
        return self._collect_commands()

    def report_new_work(self) -> list[Command]:
        """Reports that something can start that could not before."""
        return self._collect_commands()

    def drain(self) -> list[Command]:
        """Begins no further task; finishes the tasks in hand, then stops every replica."""
        self._draining = True
        self._stop_idle_replicas()
        return self._collect_commands()

    # -- queries --

    @property
    def has_processes(self) -> bool:
        """True if any replica has a process."""
        return any(r.state not in (ReplicaState.OFF, ReplicaState.RETIRED) for r in self.replicas)

    @property
    def is_piloting(self) -> bool:
        """True while part of the pilot is left."""
        return self._work.is_piloting

    def list_tasks(self, name: str, later: Sequence[Task] = ()) -> list[list[Task]]:
        """Returns a model's tasks that can start, and those of `later` phases: one list per replica, or one for all."""
        return self._queues[name].list_tasks(later)

    def batch(self, name: str) -> tuple[int, int] | None:
        """Returns which batch of a model is under way and how many this phase has; None if it has no batches."""
        return self._queues[name].batch()

    def ends_batch(self, task: Task) -> bool:
        """True if a task that has ended, but was not reported yet, is the last of its batch."""
        return self._queues[task.model].ends_batch(task)

    def replicas_of(self, name: str) -> list[Replica]:
        """Returns the replicas of a model."""
        return self._fleet.of[name]

    # -- rules 1 and 2: the next task --

    def _next(self, replica: Replica) -> Task | None:
        """Returns the replica's next task, or None; a replica that should leave starts leaving here."""
        queue = self._queues[replica.key]
        if (
            self._draining
            or replica.leaving
            or replica.key in self._held_back
            or not queue.count_open_tasks(replica.index)
        ):
            return None
        if any(task.alone for task in replica.hands.values()):
            return None
        if replica.model.defers and self._work.pilot_left(replica.key) and not queue.has_pilot_task(replica.index):
            return None  # what was handed on cannot be taken back if the pilot fails
        if self._shared and any(other.hands for other in self._fleet.neighbours(replica)):
            return None
        if len(replica.hands) >= replica.capacity and not self._takes_one_more(replica):
            return None
        if why := self._places.why_leave(replica):
            self._prepare_successor(replica)
            self._places.leave(replica, why)
            queue.mark_away(replica.index)
            self._woken.extend([replica.key] * max(1, len(self._idle[replica.key])))  # any may have waited for it
            return None
        task = queue.take(replica)
        if task is not None and (task.alone or task.failed_on):
            # Tasks behind it waited for empty hands, or for this replica.
            self._woken.extend([replica.key] * max(1, len(task.failed_on)))
        return task

    def _takes_one_more(self, replica: Replica) -> bool:
        """Rule 2, for a replica whose hands are as full as it can compute."""
        name = replica.key
        if not self._by_pull or len(self._queues[name]) <= self._fleet.active[name]:
            return False
        if self._work.pilot_left(name):  # no pilot task waits behind another task, and neither does the pilot's end
            return False
        return not (self._shared and any(len(self._queues[o.key]) for o in self._fleet.neighbours(replica)))

    # -- rules 3 to 5: which model gets a place --

    def _fill(self, device: str, judges_first: bool = False) -> None:
        """Loads models on a device while it has room and one of them has work for it."""
        while not self._draining and (replica := self._places.choose_replica(device, judges_first)) is not None:
            self._fleet.claim(replica)

    def _reconsider_leaving(self, replica: Replica) -> None:
        """A leaving replica has emptied its hands: it stays if its place is no longer needed."""
        if not self._places.leaves_still(replica):
            self._mark_back(replica)

    def _mark_back(self, replica: Replica) -> None:
        self._queues[replica.key].mark_back(replica.index)
        if not self._by_pull:  # the tasks it missed are dealt again, perhaps to replicas that have run out
            self._woken.append(replica.key)

    # -- asking replicas --

    def _assign_tasks(self, replica: Replica) -> None:
        """Fills the replica's hands; a replica with nothing to do makes room, or waits."""
        if replica.state is not ReplicaState.LOADED:
            return
        name, idle = replica.key, self._idle[replica.key]
        if replica.leaving and not replica.hands:
            self._reconsider_leaving(replica)
        while len(replica.hands) <= replica.capacity and (task := self._next(replica)) is not None:
            self._fleet.run(replica, task)
        idle.pop(replica.number, None)
        if not replica.hands and (self._draining or self._places.is_needed(replica)):
            self._fleet.stop(replica)
        elif len(replica.hands) < replica.capacity + self._shared:
            idle[replica.number] = replica
        if replica.hands and len(self._queues[name]) <= self._fleet.active[name]:
            self._prepare_successor(replica)

    def _ask_idle_replicas(self, name: str) -> None:
        """Lets a model's idle replicas take tasks, one after the other until one has."""
        waiting = len(self._queues[name])
        for replica in list(self._idle[name].values()):
            self._assign_tasks(replica)
            if not waiting or (self._by_pull and len(self._queues[name]) < waiting):
                return

    def _take_turns(self, replica: Replica) -> None:
        """After a task: where models share a place, a judge with work comes before the next edit."""
        if not self._shared:
            return self._assign_tasks(replica)
        for each in sorted([replica, *self._fleet.neighbours(replica)], key=lambda r: r.model.kind == "edit"):
            self._assign_tasks(each)

    def _prepare_successor(self, replica: Replica) -> None:
        """Starts the imports of the model that comes next while the last edits run."""
        if self._shared or self._draining or replica.model.kind == "judge":
            return
        for rival in self._places.successors(replica):
            if rival.state is ReplicaState.OFF:
                return self._fleet.prepare(rival)

    def _fill_free_place(self) -> None:
        if device := self._fleet.next_free():
            self._fill(device)

    def _ask_all_replicas(self) -> None:
        """All replicas are idle but work is left: asks every replica and every place at once."""
        for idle in self._idle.values():
            for replica in list(idle.values()):
                self._assign_tasks(replica)
        for device in list(self._fleet.free):
            self._fill(device)
        if not self._fleet.has_commands:
            self._break_deadlock()

    def _break_deadlock(self) -> None:
        """Two barriers wait for each other: a waiting replica makes room for one that was dealt a task."""
        for idle in self._idle.values():
            for replica in list(idle.values()):
                if any(
                    self._queues[rival.key].has_exclusive_task(rival.index) for rival in self._fleet.rivals(replica)
                ):
                    del idle[replica.number]
                    return self._fleet.stop(replica)

    def _ready(self, task: Task) -> None:
        self._queues[task.model].add(task)
        self._woken.append(task.model)

    def _end(self, task: Task) -> None:
        self._queues[task.model].finish(task)
        self._work.finish(task)
        if self._work.phase != self._phase:
            self._phase = self._work.phase
            self._places.begin_phase()
        # A barrier has opened, or no task is left to wait for, or no pilot.
        pilot_over = task.phase == PILOT and not self._work.pilot_left(task.model)
        if not self._by_pull or pilot_over or not self._work.count_tasks_left(task.model):
            for replica in list(self._idle[task.model].values()):
                self._assign_tasks(replica)

    def _start_held_replicas(self, name: str) -> bool:
        """With `start: together`: lets a model's replicas begin once the last of them is loaded or given up."""
        if name not in self._held_back or self._fleet.coming[name] or not self._fleet.active[name]:
            return False
        self._held_back.remove(name)
        for replica in self._fleet.of[name]:
            self._assign_tasks(replica)
        return True

    def _stop_idle_replicas(self) -> None:
        coming = (ReplicaState.PREPARING, ReplicaState.PREPARED, ReplicaState.LOADING)
        for replica in self.replicas:
            if replica.state in coming or (replica.state is ReplicaState.LOADED and not replica.hands):
                self._fleet.stop(replica)
                self._idle[replica.key].pop(replica.number, None)

    def _collect_commands(self) -> list[Command]:
        """Returns all commands, once every replica that may be concerned has been asked."""
        while self._woken:
            model = self._woken.popleft()
            for name in self._idle:
                # It has the new task, or may hold the place that the task's model needs.
                if name == model or not self._fleet.active[model]:
                    self._ask_idle_replicas(name)
            self._fill_free_place()
        busy = self._fleet.has_commands or any(replica.busy for replica in self.replicas)
        if not busy and not self._work.is_finished:
            self._ask_all_replicas()
        if self._work.is_finished:
            self._stop_idle_replicas()
        return self._fleet.take_commands()


class Places:
    """Decides which model takes a place, and when the present one leaves: rules 3 to 5.

    It only answers questions; the policy acts on the answers.
    """

    def __init__(
        self,
        models: Sequence[Model],
        work: Work,
        estimates: Estimates,
        fleet: Fleet,
        queues: Mapping[str, PullQueue],
        *,
        dealt: bool,
        shared: bool,
        wake: Callable[[str], None],
    ) -> None:
        """`dealt`: edits belong to devices. `shared`: models stay on their place, side by side. `wake` is told the key
        of a model that others may have to make room for."""
        self._models = models
        self._work = work
        self._estimates = estimates
        self._fleet = fleet
        self._queues = queues
        self._dealt = dealt
        self._shared = shared
        self._wake = wake
        self._leaving = 0  # replicas that give up their place once their hands are empty
        self._left: set[str] = set()  # devices that left editing early: they do not go back in this phase
        self._kept: dict[str, Replica] = {}  # devices kept free for a replica

    # -- rule 3: the next model --

    def choose_replica(self, device: str, judges_first: bool = False) -> Replica | None:
        """Returns the replica that a device with room should take; None if none can end the run earlier."""
        order = self._fleet.on[device]
        if judges_first:
            order = sorted(order, key=lambda r: (r.model.kind == "edit", self._judge_sort_key(r)))
        elif self._dealt:  # all places reach the judges at about the same time, and share them out
            order = sorted(order, key=lambda r: (0, 0.0) if r.model.kind == "edit" else (1, self._judge_sort_key(r)))
        if self._work.is_piloting:
            order = sorted(order, key=lambda r: not self.is_called(r))
        if self._work.edits_wait_for_answers:  # a judge that can begin goes before one that would only wait
            order = sorted(order, key=lambda r: not self._queues[r.key].count_open_tasks(r.index))
        for replica in order:
            if replica.wanted or replica.state in (ReplicaState.STOPPING, ReplicaState.RETIRED):
                continue
            if not self._fleet.has_room(replica) or self._is_blocked(replica) or self._gave_up(replica):
                continue
            if self._shortens(replica):
                self._release_devices(replica)
                return replica
        return None

    def _shortens(self, replica: Replica) -> bool:
        """True if loading this replica can end the run earlier."""
        name, queue = replica.key, self._queues[replica.key]
        if queue.has_exclusive_task(replica.index) or name in self._work.kept:
            return True
        there = self._fleet.active[name]
        if replica.model.kind == "edit":
            enough = queue.count_open_tasks(replica.index) <= self._fleet.coming[name]
        else:
            enough = self._work.count_tasks_left(name) - queue.count_closed_tasks(replica.index) <= there
            there += self._leaving
        # No if the replicas at hand will take every task; yes for a model's first replica.
        if enough or not there:
            return not enough
        load, unit = self._estimates.load[name].value, self._estimates.unit[name].value
        if load is None or unit is None:
            return True
        takes = self._work.units_left(name) * unit / there
        if self._dealt and self._fleet.load_at_once(name):  # they have yet to load, too, and no longer than this one
            takes += load
        return takes > load

    def _gave_up(self, replica: Replica) -> bool:
        """True if it is an edit model's replica, its place left editing early, and others still edit."""
        others_edit = replica.model.kind == "edit" and self._fleet.active[replica.key]
        if not others_edit or self._queues[replica.key].has_exclusive_task(replica.index):
            return False
        return any(device in self._left for device in replica.held)

    def is_needed(self, replica: Replica) -> bool:
        """True if others need the place of a replica with empty hands, or no work is left for it."""
        if replica.key in self._work.kept:
            return False
        if self._shared or not replica.model.holds_device:  # it blocks no other, and a later category will want it
            return not self._work.units_left(replica.key)
        if replica.leaving or not self._work.count_tasks_left(replica.key):
            return True
        if self._is_blocked(replica):
            return True
        if self._queues[replica.key].awaits(replica.index):
            return False
        for rival in self._fleet.rivals(replica):
            # A judge that waits for edits stays: they are made elsewhere, and coming back would cost two loads. Unless
            # those edits may wait for another judge's answers.
            answers = self._work.edits_wait_for_answers and self._queues[rival.key].count_open_tasks(rival.index) > 0
            waits = rival.model.kind == "judge" and not answers
            stays = replica.model.kind == "judge" and (waits or self._gave_up(rival))
            if self.is_called(rival) or (not stays and self._shortens(rival)):
                self._reserve_devices(rival, replica)
                return True
        return False

    def _reserve_devices(self, replica: Replica, instead: Replica) -> None:
        """Keeps a replica's devices free for it as they are given up one by one, where two places only overlap."""
        if replica.held != instead.held and not any(device in self._kept for device in replica.held):
            self._kept.update(dict.fromkeys(replica.held, replica))
            self._wake(replica.key)

    def _is_blocked(self, replica: Replica) -> bool:
        """True if one of its devices is kept free for a replica of an earlier model, or for one of the pilot."""
        for device in replica.held:
            other = self._kept.get(device, replica)
            if other.state is ReplicaState.RETIRED or not self._shortens(other):
                self._release_devices(other)
            elif other.number < replica.number or (other is not replica and self._work.pilot_ready(other.key)):
                return True
        return False

    def _release_devices(self, replica: Replica) -> None:
        for device in replica.held:
            if self._kept.get(device) is replica:
                del self._kept[device]

    # -- rules 4 and 5: leaving a model that still has work --

    def why_leave(self, replica: Replica) -> Leaving:
        """Returns why the replica gives up its place, or an empty string if it stays."""
        if self._shared or not replica.worked:
            return ""
        if self._is_called_away(replica) or self._must_return_device(replica):
            return "pilot"
        return "early" if self._can_leave_early(replica) else ""

    def leave(self, replica: Replica, why: Leaving) -> None:
        """Marks the replica to give up its place once its hands are empty; an empty `why` takes that back."""
        self._leaving += bool(why) - bool(replica.leaving)
        replica.leaving = why

    def record_end(self, replica: Replica) -> bool:
        """Records that the replica has ended. True if it left early."""
        early = replica.leaving == "early"
        if early:
            self._left.update(replica.held)
        self.leave(replica, "")
        return early

    def begin_phase(self) -> None:
        """Lets places that left editing early come back."""
        self._left.clear()

    def leaves_still(self, replica: Replica) -> bool:
        """True if it still leaves now that its hands are empty: not if others have taken the judge meanwhile."""
        why = replica.leaving
        self.leave(replica, "")
        called = self._is_called_away(replica) or self._must_return_device(replica)
        if called if why == "pilot" else self._judges_next(replica):
            self.leave(replica, why)
        return bool(replica.leaving)

    def successors(self, replica: Replica) -> list[Replica]:
        """Returns the replicas that may take its place next, as far as is known."""
        return [rival for rival in self._fleet.rivals(replica) if self.is_called(rival)] or self._judges_next(replica)

    def _can_leave_early(self, replica: Replica) -> bool:
        """Rule 4."""
        mine = replica.key
        if self._dealt or replica.model.kind == "judge":
            return False
        editing, seconds = self._fleet.active[mine] - self._leaving, self._estimates.unit[mine].value
        if editing < 2 or seconds is None:
            return False
        for model in self._models:
            if model.kind == "edit" and model.key != mine and self._work.units_left(model.key):
                return False
        finish_hands, edits_take = len(replica.hands) * seconds, self._work.units_left(mine) * seconds
        load, unit = self._estimates.load, self._estimates.unit
        # With several judges, a place leaves for the one that it will load.
        rival = min(self._judges_next(replica), key=self._judge_sort_key, default=None)
        if rival is None or unit[rival.key].value is None or (loading := load[rival.key].value) is None:
            return False
        rest = self._estimates.rest(self._work, rival.key)
        judging_takes = loading + rest / (self._fleet.active[rival.key] + self._leaving + 1)
        # The others finish the edits before this place, once its hands are empty, would have judged everything.
        return (edits_take - finish_hands) / (editing - 1) <= finish_hands + judging_takes

    def _judge_sort_key(self, judge: Replica) -> float:
        """Sort key of judges for a place that they could have: the one with most left per place comes first."""
        return -self._estimates.rest(self._work, judge.key) / (self._fleet.active[judge.key] + 1)

    def _judges_next(self, replica: Replica) -> list[Replica]:
        """Returns the judges that rule 3 would put in its place."""
        rivals = self._fleet.rivals(replica)
        return [rival for rival in rivals if rival.model.kind == "judge" and self._shortens(rival)]

    def is_called(self, replica: Replica) -> bool:
        """Rule 5: true if the pilot needs a place for this replica's model."""
        name = replica.key
        if not self._work.pilot_ready(name) or self._fleet.active[name] or self._leaving:
            return False
        # Dealt edits wait for their own replicas.
        dealt = self._dealt and replica.model.kind == "edit"
        return not dealt and self._queues[name].has_pilot_task(replica.index)

    def _is_called_away(self, replica: Replica) -> bool:
        """Rule 5: true if the pilot needs the replica's place for another model."""
        if not self._work.is_piloting or self._work.pilot_ready(replica.key):
            return False
        for rival in self._fleet.rivals(replica):
            kept = self._work.pilot_ready(rival.key) and rival in map(self._kept.get, replica.held)
            if kept or self.is_called(rival):
                self._reserve_devices(rival, replica)
                return True
        return False

    def _must_return_device(self, replica: Replica) -> bool:
        """True for a judge that has finished its pilot on a place whose dealt edits wait for it to leave."""
        if not self._dealt or replica.model.kind == "edit" or self._work.pilot_left(replica.key):
            return False
        if (
            self._work.edits_wait_for_answers and not self._work.is_piloting
        ):  # it does what it can before the next round
            return False
        rivals = (rival for rival in self._fleet.rivals(replica) if rival.model.kind == "edit")
        return any(self._queues[rival.key].has_exclusive_task(rival.index) for rival in rivals)
