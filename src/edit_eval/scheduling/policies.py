"""What runs where next.

A *replica* is one model on one place (a GPU, or several). A policy is told what happened and answers with commands:
prepare a replica's process, load it, let it run a task, stop it. It knows no clock, no files and no processes, so the
same code drives a real run, a unit test, and a simulation of a thousand GPUs.

The policy of the product, in five rules:

1. **Pull.** A loaded replica that has a free hand takes the next task that can start. Nothing is dealt out in advance
   and nobody waits for anybody: replicas share nothing, so nothing can drift apart, and a barrier would only make
   every GPU as slow as the slowest. A sample's seed belongs to the sample, so who edits it changes no pixel.
   Only what has failed waits, for another replica than it failed on, while the model has another.
2. **One more in hand.** While a replica computes it holds the next task too, to open its pictures; not when few tasks
   are left, so that no GPU ends with two while another has none.
3. **A place takes the earliest model that has something to do for it.** A free place loads an edit model while there
   are edits for it, then the judge. Where a model is at work already, another replica of it is loaded only if it has
   started before the work would be over anyway.
4. **Leave early.** A place gives up editing for the judge as soon as the others can finish the edits in the time that
   it takes to load the judge and to judge everything. Without knowledge of those times it stays until no edit is left.
5. **The pilot comes first, and holds nobody back.** A few tasks of each model show whether it works. As soon as all of
   a model's pilot can start and no place has that model, one place leaves for it. Afterwards rule 3 says where that
   place goes: back to editing, if that shortens the run. It costs one device two loads, and tells what rule 4 needs.

The other schedules (`round_robin`, `batch_sync`) are other queues. Since each place has edits of its own there, no
place leaves early, and one that has done the pilot gives the judge up at once; what it has missed is dealt again.
`order: by_category` numbers the tasks' phases; `start: together` holds the first task back; `placement: together` lets
a place hold all models. Rules 3 to 5 are in `Places`; how commands are carried out is in `fleet.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence

from edit_eval.scheduling.estimates import Estimates
from edit_eval.scheduling.fleet import Command, Fleet, Leaving, Replica, ReplicaState
from edit_eval.scheduling.queues import QUEUES, PullQueue
from edit_eval.scheduling.tasks import Model, Task, Work


class Policy:
    """Decides. The methods that are told something return what is to be done now."""

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
        """`models` are in the order of their stages: edit models, then judges. `load_concurrency` is of each host."""
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
        self._woken: deque[str] = deque()  # models for which there is something new
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

    # -- what a policy is told --

    def begin(self) -> list[Command]:
        """The run starts: each place gets its first model."""
        self._woken.clear()  # nobody is there yet who could be asked
        for device in self._fleet.on:
            self._fill(device)
        for name, replicas in self._fleet.of.items():  # what cannot even be imported is found out in the first seconds
            if self._work.pilot_left(name) and not self._fleet.active[name]:
                self._fleet.prepare(replicas[0])
        return self._answer()

    def prepared(self, replica: Replica) -> list[Command]:
        """The replica's process has done its imports."""
        self._fleet.prepared(replica)
        return self._answer()

    def loaded(self, replica: Replica, seconds: float, capacity: int) -> list[Command]:
        """The replica is ready for tasks, `capacity` at a time."""
        self._estimates.load[replica.key].add(seconds)
        self._fleet.loaded(replica, capacity)
        self._come(replica)
        if not self._open_the_gate(replica.key):
            self._feed(replica)
        return self._answer()

    def done(self, replica: Replica, task: Task, seconds: float) -> list[Command]:
        """The task has come to an end, with whatever result; `seconds` is how long the device computed."""
        self._estimates.unit[task.model].add(seconds, len(task.units))
        return self.failed(replica, task)

    def failed(self, replica: Replica, task: Task) -> list[Command]:
        """The task took no time worth knowing; whatever is to be tried again has been added as new tasks."""
        self.lost(replica, task)
        self._take_turns(replica)
        self._fill_a_free_place()
        return self._answer()

    def lost(self, replica: Replica, task: Task) -> None:
        """The task has come to an end together with its replica; tell `ended` next."""
        replica.hands.pop(task.number, None)
        replica.worked = True
        self._idle[replica.key].pop(replica.number, None)  # its process may be gone: it is asked again by its own event
        self._end(task)

    def ended(self, replica: Replica, *, retired: bool = False) -> list[Command]:
        """The replica's process is gone. What it had in hand was ended or given back before."""
        self._ended(replica, retired or replica.lost)
        return self._answer()

    def _ended(self, replica: Replica, retired: bool) -> None:
        self._fleet.ended(replica, retired=retired)
        self._idle[replica.key].pop(replica.number, None)
        queue = self._queues[replica.key]
        (queue.retire if retired else queue.go)(replica.index)
        if retired or len(queue):  # others waited for it, or for it to take a suspect
            self._woken.extend([replica.key] * max(1, len(self._idle[replica.key])))
        self._open_the_gate(replica.key)
        early = self._places.left(replica)
        for device in replica.held:
            self._fill(device, judges_first=early)

    def give_back(self, task: Task) -> None:
        """The task was in the hands of a replica that is gone, and had not begun."""
        self._queues[task.model].finish(task)
        self._ready(task)

    def lose(self, devices: Collection[str]) -> list[Command]:
        """These devices are gone for good. That the processes on them are will be told as ever."""
        for replica in self.replicas:
            if not replica.lost and any(one in devices for one in replica.place):
                replica.lost = True
                if replica.state is ReplicaState.OFF:
                    self._ended(replica, retired=True)
        return self._answer()

    def gain(self, places: Sequence[tuple[str, tuple[str, ...]]]) -> list[Command]:
        """There are more devices: places for models, by their keys. Edits that were dealt out stay dealt."""
        takes = [model for model in self._models if self._by_pull or model.kind == "judge"]
        made = [self._fleet.add(model, place) for model in takes for key, place in places if key == model.key]
        for device in dict.fromkeys(device for replica in made for device in replica.held):
            self._fill(device)
        return self._answer()

    def look(self) -> list[Command]:
        """Something can start that could not a moment ago."""
        return self._answer()

    def drain(self) -> list[Command]:
        """No further task is begun; what is in hand is finished, then every replica is stopped."""
        self._draining = True
        self._stop_the_idle()
        return self._answer()

    # -- what others may ask --

    @property
    def at_work(self) -> bool:
        """Whether any replica has a process."""
        return any(r.state not in (ReplicaState.OFF, ReplicaState.RETIRED) for r in self.replicas)

    @property
    def piloting(self) -> bool:
        """Whether something of the pilot is left."""
        return self._work.piloting

    def dealt(self, name: str, later: Sequence[Task] = ()) -> list[list[Task]]:
        """A model's tasks that can start, and those of `later` phases: each replica's, or one list of nobody's."""
        return self._queues[name].dealt(later)

    def batch(self, name: str) -> tuple[int, int] | None:
        """Which batch of a model is under way, of how many in this phase; None where it has none."""
        return self._queues[name].batch()

    def ends_batch(self, task: Task) -> bool:
        """Whether a task that has come to its end, of which the policy was not told yet, is the last of its batch."""
        return self._queues[task.model].ends_batch(task)

    def of(self, name: str) -> list[Replica]:
        """The replicas of a model."""
        return self._fleet.of[name]

    # -- rules 1 and 2: the next task --

    def _next(self, replica: Replica) -> Task | None:
        """The task that the replica gets now; none if it leaves instead."""
        queue = self._queues[replica.key]
        if self._draining or replica.leaving or replica.key in self._held_back or not queue.open_to(replica.index):
            return None
        if any(task.alone for task in replica.hands.values()):
            return None
        if self._shared and any(other.hands for other in self._fleet.neighbours(replica)):
            return None
        if len(replica.hands) >= replica.capacity and not self._takes_one_more(replica):
            return None
        if why := self._places.why_leave(replica):
            self._prepare_successor(replica)
            self._places.leave(replica, why)
            queue.go(replica.index)
            self._woken.extend([replica.key] * max(1, len(self._idle[replica.key])))  # each may have waited for it
            return None
        task = queue.take(replica)
        if task is not None and (task.alone or task.failed_on):
            # What came after it waited for empty hands, or for this replica.
            self._woken.extend([replica.key] * max(1, len(task.failed_on)))
        return task

    def _takes_one_more(self, replica: Replica) -> bool:
        """Rule 2, for a replica that has as much in hand as it can compute."""
        name = replica.key
        if not self._by_pull or len(self._queues[name]) <= self._fleet.active[name]:
            return False
        if self._work.pilot_left(name):  # nothing of the pilot waits behind another task, nor does its end
            return False
        return not (self._shared and any(len(self._queues[o.key]) for o in self._fleet.neighbours(replica)))

    # -- rules 3 to 5: whose a place is --

    def _fill(self, device: str, judges_first: bool = False) -> None:
        """A place with room takes the models that have something to do for it."""
        while not self._draining and (replica := self._places.next_on(device, judges_first)) is not None:
            self._fleet.claim(replica)

    def _think_again(self, replica: Replica) -> None:
        """The hands of a replica that leaves are empty: it stays if nobody needs its place any more."""
        if not self._places.leaves_still(replica):
            self._come(replica)

    def _come(self, replica: Replica) -> None:
        self._queues[replica.key].come(replica.index)
        if not self._by_pull:  # what it has missed is dealt again, perhaps to those who have nothing left to do
            self._woken.append(replica.key)

    # -- when what is looked at --

    def _feed(self, replica: Replica) -> None:
        """Fills the replica's hands; one that has nothing to do makes room, or waits."""
        if replica.state is not ReplicaState.LOADED:
            return
        name, idle = replica.key, self._idle[replica.key]
        if replica.leaving and not replica.hands:
            self._think_again(replica)
        while len(replica.hands) <= replica.capacity and (task := self._next(replica)) is not None:
            self._fleet.run(replica, task)
        idle.pop(replica.number, None)
        if not replica.hands and (self._draining or self._places.is_needed(replica)):
            self._fleet.stop(replica)
        elif len(replica.hands) < replica.capacity + self._shared:
            idle[replica.number] = replica
        if replica.hands and len(self._queues[name]) <= self._fleet.active[name]:
            self._prepare_successor(replica)

    def _ask_the_idle(self, name: str) -> None:
        """Has one of a model's idle replicas take what there is; if that one cannot, the next."""
        waiting = len(self._queues[name])
        for replica in list(self._idle[name].values()):
            self._feed(replica)
            if not waiting or (self._by_pull and len(self._queues[name]) < waiting):
                return

    def _take_turns(self, replica: Replica) -> None:
        """After a task: where models share a place, a judge with something to judge comes before the next edit."""
        if not self._shared:
            return self._feed(replica)
        for each in sorted([replica, *self._fleet.neighbours(replica)], key=lambda r: r.model.kind == "edit"):
            self._feed(each)

    def _prepare_successor(self, replica: Replica) -> None:
        """While its last edits run, the process of the model that will follow does its imports."""
        if self._shared or self._draining or replica.model.kind == "judge":
            return
        for rival in self._places.successors(replica):
            if rival.state is ReplicaState.OFF:
                return self._fleet.prepare(rival)

    def _fill_a_free_place(self) -> None:
        if device := self._fleet.next_free():
            self._fill(device)

    def _look_everywhere(self) -> None:
        """Nobody is busy and work is left: every idle replica and every place is asked, not one an event."""
        for idle in self._idle.values():
            for replica in list(idle.values()):
                self._feed(replica)
        for device in list(self._fleet.free):
            self._fill(device)
        if not self._fleet.commanded:
            self._break_the_tie()

    def _break_the_tie(self) -> None:
        """Two barriers wait for each other: one who waits makes room for one to whom a task was dealt."""
        for idle in self._idle.values():
            for replica in list(idle.values()):
                if any(self._queues[rival.key].belongs_to(rival.index) for rival in self._fleet.rivals(replica)):
                    del idle[replica.number]
                    return self._fleet.stop(replica)

    def _ready(self, task: Task) -> None:
        self._queues[task.model].put(task)
        self._woken.append(task.model)

    def _end(self, task: Task) -> None:
        self._queues[task.model].finish(task)
        self._work.finish(task)
        if self._work.phase != self._phase:
            self._phase = self._work.phase
            self._places.begin_phase()
        # A barrier has opened, or nothing is left to wait for.
        if not self._by_pull or not self._work.left(task.model):
            for replica in list(self._idle[task.model].values()):
                self._feed(replica)

    def _open_the_gate(self, name: str) -> bool:
        """With `start: together`: lets a model's replicas begin when the last of them is loaded, or given up."""
        if name not in self._held_back or self._fleet.coming[name] or not self._fleet.active[name]:
            return False
        self._held_back.remove(name)
        for replica in self._fleet.of[name]:
            self._feed(replica)
        return True

    def _stop_the_idle(self) -> None:
        coming = (ReplicaState.PREPARING, ReplicaState.PREPARED, ReplicaState.LOADING)
        for replica in self.replicas:
            if replica.state in coming or (replica.state is ReplicaState.LOADED and not replica.hands):
                self._fleet.stop(replica)
                self._idle[replica.key].pop(replica.number, None)

    def _answer(self) -> list[Command]:
        """All commands, when everybody who may be concerned has been asked."""
        while self._woken:
            model = self._woken.popleft()
            for name in self._idle:
                # A task of its own, or of a model that may need its place.
                if name == model or not self._fleet.active[model]:
                    self._ask_the_idle(name)
            self._fill_a_free_place()
        busy = self._fleet.commanded or any(replica.busy for replica in self.replicas)
        if not busy and not self._work.finished:
            self._look_everywhere()
        if self._work.finished:
            self._stop_the_idle()
        return self._fleet.take_commands()


class Places:
    """Which model takes a place, and whether the one that has it leaves: rules 3 to 5.

    It answers questions; what follows from the answers is done by the policy.
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
        """`dealt`: edits belong to devices. `shared`: models stay on their place, side by side. `wake` is told of a
        model (its key) for which others may have to make room."""
        self._models = models
        self._work = work
        self._estimates = estimates
        self._fleet = fleet
        self._queues = queues
        self._dealt = dealt
        self._shared = shared
        self._wake = wake
        self._leaving = 0  # replicas that give up their place and still finish what they have in hand
        self._left: set[str] = set()  # devices that left editing early: they do not go back in this phase
        self._kept: dict[str, Replica] = {}  # devices that are kept free for a replica

    # -- rule 3: the next model --

    def next_on(self, device: str, judges_first: bool = False) -> Replica | None:
        """The replica that a place with room takes; none where none can end the run earlier."""
        order = self._fleet.on[device]
        if judges_first:
            order = sorted(order, key=lambda r: (r.model.kind == "edit", self._comes_after(r)))
        elif self._dealt:  # all places come to the judges at about the same time, and share them out
            order = sorted(order, key=lambda r: (0, 0.0) if r.model.kind == "edit" else (1, self._comes_after(r)))
        if self._work.piloting:
            order = sorted(order, key=lambda r: not self.is_called(r))
        if self._work.edits_wait_for_answers:  # a judge that can begin goes before one that would only wait
            order = sorted(order, key=lambda r: not self._queues[r.key].open_to(r.index))
        for replica in order:
            if replica.wanted or replica.state in (ReplicaState.STOPPING, ReplicaState.RETIRED):
                continue
            if not self._fleet.has_room(replica) or self._is_kept_from(replica) or self._gave_up(replica):
                continue
            if self._shortens(replica):
                self._keep_no_more(replica)
                return replica
        return None

    def _shortens(self, replica: Replica) -> bool:
        """Whether loading this replica can end the run earlier."""
        name, queue = replica.key, self._queues[replica.key]
        if queue.belongs_to(replica.index) or name in self._work.kept:
            return True
        there = self._fleet.active[name]
        if replica.model.kind == "edit":
            enough = queue.open_to(replica.index) <= self._fleet.coming[name]
        else:
            enough = self._work.left(name) - queue.closed_to(replica.index) <= there
            there += self._leaving
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
        """Whether it is of an edit model, its place left editing early, and others still edit."""
        others_edit = replica.model.kind == "edit" and self._fleet.active[replica.key]
        if not others_edit or self._queues[replica.key].belongs_to(replica.index):
            return False
        return any(device in self._left for device in replica.held)

    def is_needed(self, replica: Replica) -> bool:
        """Whether others need the place of a replica with empty hands, or nothing is left for it."""
        if replica.key in self._work.kept:
            return False
        if self._shared or not replica.model.holds_device:  # it is in nobody's way, and a later category wants it again
            return not self._work.units_left(replica.key)
        if replica.leaving or not self._work.left(replica.key):
            return True
        if self._is_kept_from(replica):
            return True
        if self._queues[replica.key].awaits(replica.index):
            return False
        for rival in self._fleet.rivals(replica):
            # A judge that waits for edits stays: they are made elsewhere, and coming back would cost two loads. Unless
            # they may wait for another judge's answers.
            answers = self._work.edits_wait_for_answers and self._queues[rival.key].open_to(rival.index) > 0
            waits = rival.model.kind == "judge" and not answers
            stays = replica.model.kind == "judge" and (waits or self._gave_up(rival))
            if self.is_called(rival) or (not stays and self._shortens(rival)):
                self._keep(rival, replica)
                return True
        return False

    def _keep(self, replica: Replica, instead: Replica) -> None:
        """Where two replicas share only some devices, what becomes free for the one goes to nobody else meanwhile."""
        if replica.held != instead.held and not any(device in self._kept for device in replica.held):
            self._kept.update(dict.fromkeys(replica.held, replica))
            self._wake(replica.key)

    def _is_kept_from(self, replica: Replica) -> bool:
        """Whether a device of its place is kept free for a replica of an earlier model, or for one of the pilot."""
        for device in replica.held:
            other = self._kept.get(device, replica)
            if other.state is ReplicaState.RETIRED or not self._shortens(other):
                self._keep_no_more(other)
            elif other.number < replica.number or (other is not replica and self._work.pilot_ready(other.key)):
                return True
        return False

    def _keep_no_more(self, replica: Replica) -> None:
        for device in replica.held:
            if self._kept.get(device) is replica:
                del self._kept[device]

    # -- rules 4 and 5: leaving a model that still has something to do --

    def why_leave(self, replica: Replica) -> Leaving:
        """Whether the replica gives up its place, and why."""
        if self._shared or not replica.worked:
            return ""
        if self._is_called_away(replica) or self._is_owed(replica):
            return "pilot"
        return "early" if self._can_leave_early(replica) else ""

    def leave(self, replica: Replica, why: Leaving) -> None:
        """It gives up its place when its hands are empty; not any more where `why` is empty."""
        self._leaving += bool(why) - bool(replica.leaving)
        replica.leaving = why

    def left(self, replica: Replica) -> bool:
        """It is gone; whether it left early."""
        early = replica.leaving == "early"
        if early:
            self._left.update(replica.held)
        self.leave(replica, "")
        return early

    def begin_phase(self) -> None:
        """Whoever left editing early may come back."""
        self._left.clear()

    def leaves_still(self, replica: Replica) -> bool:
        """Whether it leaves now that its hands are empty: not if others have taken the judge meanwhile."""
        why = replica.leaving
        self.leave(replica, "")
        called = self._is_called_away(replica) or self._is_owed(replica)
        if called if why == "pilot" else self._judges_next(replica):
            self.leave(replica, why)
        return bool(replica.leaving)

    def successors(self, replica: Replica) -> list[Replica]:
        """The replicas that may have its place after it, as far as can be said."""
        return [one for one in self._fleet.rivals(replica) if self.is_called(one)] or self._judges_next(replica)

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
        # Of several judges, a place leaves for the one that it is going to load.
        rival = min(self._judges_next(replica), key=self._comes_after, default=None)
        if rival is None or unit[rival.key].value is None or (loading := load[rival.key].value) is None:
            return False
        rest = self._estimates.rest(self._work, rival.key)
        judging_takes = loading + rest / (self._fleet.active[rival.key] + self._leaving + 1)
        return (edits_take - finish_hands) / (editing - 1) <= finish_hands + judging_takes

    def _comes_after(self, judge: Replica) -> float:
        """Ranks judges for a place that is theirs: who has most to do for each of its places would be the last."""
        return -self._estimates.rest(self._work, judge.key) / (self._fleet.active[judge.key] + 1)

    def _judges_next(self, replica: Replica) -> list[Replica]:
        """The judges that would take its place by rule 3."""
        rivals = self._fleet.rivals(replica)
        return [rival for rival in rivals if rival.model.kind == "judge" and self._shortens(rival)]

    def is_called(self, replica: Replica) -> bool:
        """Rule 5: whether the pilot needs a place for its model."""
        name = replica.key
        if not self._work.pilot_ready(name) or self._fleet.active[name] or self._leaving:
            return False
        # Where edits are dealt, each waits for its own replica.
        dealt = self._dealt and replica.model.kind == "edit"
        return not dealt and self._queues[name].has_pilot_for(replica.index)

    def _is_called_away(self, replica: Replica) -> bool:
        """Rule 5: whether the pilot needs the replica's place, and not for its own model."""
        if not self._work.piloting or self._work.pilot_ready(replica.key):
            return False
        for rival in self._fleet.rivals(replica):
            kept = self._work.pilot_ready(rival.key) and rival in map(self._kept.get, replica.held)
            if kept or self.is_called(rival):
                self._keep(rival, replica)
                return True
        return False

    def _is_owed(self, replica: Replica) -> bool:
        """Whether a judge has done its pilot on a place to which edits were dealt, which wait for it."""
        if not self._dealt or replica.model.kind == "edit" or self._work.pilot_left(replica.key):
            return False
        if self._work.edits_wait_for_answers and not self._work.piloting:  # it does what it can before the next round
            return False
        rivals = (rival for rival in self._fleet.rivals(replica) if rival.model.kind == "edit")
        return any(self._queues[rival.key].belongs_to(rival.index) for rival in rivals)
