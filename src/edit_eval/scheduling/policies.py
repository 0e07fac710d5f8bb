"""What runs where next.

A *replica* is one model on one place (a GPU, or several). A policy is told what happened and answers with commands:
prepare a replica's process, load it, let it run a task, stop it. It knows no clock, no files and no processes, so the
same code drives a real run, a unit test, and a simulation of a thousand GPUs.

The policy of the product, in four rules:

1. **Pull.** A loaded replica that has a free hand takes the next task that can start. Nothing is dealt out in advance
   and nobody waits for anybody: replicas share nothing, so nothing can drift apart, and a barrier would only make
   every GPU as slow as the slowest. A sample's seed belongs to the sample, so who edits it changes no pixel.
2. **One more in hand.** While a replica computes it holds the next task too, to open its pictures; not when few tasks
   are left, so that no GPU ends with two while another has none.
3. **A place takes the earliest model that has something to do for it.** A free place loads an edit model while there
   are edits for it, then the judge. Where the judge is at work already, another one is loaded only if it has started
   before the work would be over anyway.
4. **Leave early.** A place gives up editing for the judge as soon as the others can finish the edits in the time that
   it takes to load the judge and to judge everything (`Policy._leaves`). Without knowledge of those times it stays
   until no edit is left.

With a *pilot* a fifth: the first sample of each category comes first, and as soon as its edits are there one place
leaves for the judge, judges them, and goes back to editing if that shortens the run. It costs one device two loads; in
return nothing is found out at dawn, and the times that rule 4 needs are known.

The other schedules (`round_robin`, `batch_sync`) are other queues, nothing else; `order: by_category` numbers the
tasks' phases; `start: together` holds the first task back; `placement: together` lets a place hold two models.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from edit_eval.scheduling.estimates import Estimates
from edit_eval.scheduling.queues import QUEUES
from edit_eval.scheduling.replicas import Command, Replica, State
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
        pilot: bool = False,
    ) -> None:
        """`models` are in the order of their stages. With `pilot`, some batches in `work` are marked as such."""
        self._models = list(models)  # in the order of their stages: edit models, then judges
        self._work = work
        self._estimates = estimates
        self._start = start
        self._pilot = pilot
        self._residents = len(self._models) if placement == "together" else 1
        self._load_limit = load_concurrency or 1 << 30
        self.replicas: list[Replica] = []
        self._of: dict[str, list[Replica]] = {m.key: [] for m in models}
        self._on: dict[str, list[Replica]] = {}  # device -> the replicas that may be there, in the order of stages
        for model in self._models:
            for index, place in enumerate(model.places):
                replica = Replica(len(self.replicas), model, index, place)
                self.replicas.append(replica)
                self._of[model.key].append(replica)
                for device in place:
                    self._on.setdefault(device, []).append(replica)
        self._queues = {m.key: QUEUES[schedule if m.kind == "edit" else "pull"](len(m.places)) for m in models}
        self.schedule = schedule
        self._by_pull = schedule == "pull"
        self._holders: dict[str, list[Replica]] = {device: [] for device in self._on}
        self._active: dict[str, int] = {m.key: 0 for m in models}  # replicas loading or loaded
        self._coming: dict[str, int] = {m.key: 0 for m in models}  # replicas on their way to be loaded
        self._idle: dict[str, dict[int, Replica]] = {m.key: {} for m in models}
        self._free: dict[str, None] = dict.fromkeys(self._on)  # devices with room, in order
        self._leaving = 0  # replicas that gave up editing for the judge and still finish what they have in hand
        self._left: set[str] = set()  # devices that left editing early: they do not go back in this phase
        self._phase = 0
        self._to_load: deque[Replica] = deque()
        self._loading = 0
        self._begun: set[str] = set()  # models that `start: together` no longer holds back
        self._draining = False
        self._commands: list[Command] = []
        self._woken: deque[str] = deque()
        work.on_ready = self._ready

    # -- what a policy is told --

    def begin(self) -> list[Command]:
        """The run starts: each place gets its first model."""
        for device in list(self._on):
            self._fill(device)
        if self._pilot:
            for model in self._models:  # what cannot even be imported is found out in the first seconds
                first = self._of[model.key][0]
                if model.kind == "judge" and first.state is State.OFF and self._work.left(model.key):
                    self._prepare(first)
        return self._answer()

    def prepared(self, replica: Replica) -> list[Command]:
        """The replica's process has done its imports."""
        replica.state = State.PREPARED
        if replica.wanted:
            self._queue_load(replica)
        return self._answer()

    def loaded(self, replica: Replica, seconds: float, capacity: int) -> list[Command]:
        """The replica is ready for tasks, `capacity` at a time."""
        self._estimates.load[replica.model.key].add(seconds)
        self._loading -= 1
        self._coming[replica.model.key] -= 1
        replica.state, replica.capacity = State.LOADED, capacity
        self._load_next()
        if not self._open_the_gate(replica.model.key):
            self._feed(replica)
        return self._answer()

    def done(self, replica: Replica, task: Task, seconds: float) -> list[Command]:
        """The task has come to an end, with whatever result; `seconds` is how long the device computed."""
        self._estimates.unit[task.model].add(seconds, len(task.units))
        self.lost(replica, task)
        self._take_turns(replica)
        self._fill_a_free_place()
        return self._answer()

    def failed(self, replica: Replica, task: Task) -> list[Command]:
        """The task failed; whatever is to be tried again has been added to the work as new tasks."""
        self.lost(replica, task)
        self._take_turns(replica)
        return self._answer()

    def lost(self, replica: Replica, task: Task) -> None:
        """The task has come to an end together with its replica; tell `ended` next."""
        replica.hands.pop(task.number, None)
        replica.worked = True
        self._end(task)

    def ended(self, replica: Replica, *, retired: bool = False) -> list[Command]:
        """The replica's process is gone. What it had in hand was ended or given back before."""
        name = replica.model.key
        if replica.state is State.LOADING:
            self._loading -= 1
        if replica.wanted and replica.state is not State.LOADED:
            self._coming[name] -= 1
        if replica in self._to_load:
            self._to_load.remove(replica)
        if replica.wanted:
            self._active[name] -= 1
        left_early, replica.wanted, replica.leaving, replica.worked = replica.leaving, False, False, False
        self._idle[name].pop(replica.number, None)
        replica.state = State.RETIRED if retired else State.OFF
        if retired:
            self._queues[name].retire(replica.index)
        for device in replica.place:
            if replica in self._holders[device]:
                self._holders[device].remove(replica)
            self._free[device] = None
        self._load_next()
        self._open_the_gate(name)
        if left_early:
            self._leaving -= 1
            if not any(map(self._awaits_its_pilot, self._successors(replica))):
                self._left.update(replica.place)  # after a pilot it comes back
        for device in replica.place:
            self._fill(device, judges_first=left_early)
        if retired:
            self._woken.append(name)
        return self._answer()

    def give_back(self, task: Task) -> None:
        """The task was in the hands of a replica that is gone, and had not begun."""
        self._queues[task.model].finish(task)
        self._queues[task.model].give_back(task)

    def drain(self) -> list[Command]:
        """No further task is begun; what is in hand is finished, then every replica is stopped."""
        self._draining = True
        for replica in self.replicas:
            if replica.state in (State.PREPARING, State.PREPARED, State.LOADING) or (
                replica.state is State.LOADED and not replica.hands
            ):
                self._stop(replica)
        return self._answer()

    # -- what others may ask --

    @property
    def at_work(self) -> bool:
        """Whether any replica has a process."""
        return any(r.state not in (State.OFF, State.RETIRED) for r in self.replicas)

    def dealt(self, name: str) -> list[list[Task]]:
        """The tasks of a model that can start: those of each replica, or all in one list where nobody owns any."""
        return self._queues[name].dealt()

    @property
    def piloting(self) -> bool:
        """Whether there is a pilot and some judge has not judged yet."""
        judges = (m.key for m in self._models if m.kind == "judge")
        return self._pilot and any(self._estimates.unit[key].value is None for key in judges)

    def of(self, name: str) -> list[Replica]:
        """The replicas of a model."""
        return self._of[name]

    # -- the rules --

    def _next(self, replica: Replica) -> Task | None:
        """Rules 1, 2 and 4: the task that the replica gets now."""
        name = replica.model.key
        queue = self._queues[name]
        ready = len(queue)
        if not ready or self._draining or replica.leaving:
            return None
        if self._start == "together" and name not in self._begun:
            return None
        if self._residents > 1 and self._neighbour_computes(replica):
            return None
        if len(replica.hands) >= replica.capacity:
            suspect = any(task.alone for task in replica.hands.values())
            first = self._pilot and self._estimates.unit[name].value is None  # none of a pilot's waits behind another
            if first or not self._by_pull or ready <= self._active[name] or suspect or self._neighbour_waits(replica):
                return None
        if replica.model.kind == "edit" and self._leaves(replica):
            replica.leaving = True
            self._leaving += 1
            self._prepare_successor(replica)
            return None
        return queue.take(replica)

    def _leaves(self, replica: Replica) -> bool:
        """Rule 4, for a replica of an edit model."""
        mine = replica.model
        if self._residents > 1 or not replica.worked:
            return False
        if self._pilot and any(map(self._awaits_its_pilot, self._successors(replica))):
            return True
        if not self._by_pull:
            return False
        for model in self._models:
            if model.kind == "edit" and model is not mine and self._work.units_left(model.key):
                return False
        editing = self._active[mine.key] - self._leaving
        seconds = self._estimates.unit[mine.key].value
        if editing < 2 or seconds is None:
            return False
        finish_hands = len(replica.hands) * seconds
        edits_take = self._work.units_left(mine.key) * seconds
        for judge in self._successors(replica):
            name = judge.model.key
            load, pair = self._estimates.load[name].value, self._estimates.unit[name].value
            if load is None or pair is None or not self._shortens(judge):
                continue
            judging_takes = load + self._work.units_left(name) * pair / (self._active[name] + self._leaving + 1)
            if (edits_take - finish_hands) / (editing - 1) <= finish_hands + judging_takes:
                return True
        return False

    def _awaits_its_pilot(self, judge: Replica) -> bool:
        """Whether all that a judge is to judge as a pilot is there, and no replica of it is at work or on its way."""
        key = judge.model.key
        if judge.model.kind != "judge":
            return False
        if self._estimates.unit[key].value is not None or self._active[key] or self._leaving:
            return False
        return bool(len(self._queues[key])) and not self._work.pilots_waiting(key)

    def _shortens(self, replica: Replica) -> bool:
        """Rule 3: whether loading this replica can end the run earlier."""
        name = replica.model.key
        if self._queues[name].belongs_to(replica.index):
            return True
        there = self._active[name]
        tasks = self._work.left(name) if replica.model.kind == "judge" else len(self._queues[name])
        if replica.model.kind == "edit":
            there = self._coming[name]
        if tasks <= there:
            return False
        there = self._active[name] + (self._leaving if replica.model.kind == "judge" else 0)
        if not there:
            return True
        load, unit = self._estimates.load[name].value, self._estimates.unit[name].value
        if load is None or unit is None:
            return True
        return self._work.units_left(name) * unit / there > load

    def _still_leaves(self, replica: Replica) -> bool:
        """Whether a replica that decided to leave would still shorten the run by it, now that its hands are empty."""
        self._leaving -= 1
        shortens = any(self._awaits_its_pilot(j) or self._shortens(j) for j in self._successors(replica))
        self._leaving += 1
        return shortens

    def _successors(self, replica: Replica) -> Iterator[Replica]:
        """Judges that may follow on the same devices and have no process, or one that is only prepared."""
        for device in replica.place:
            for other in self._on[device]:
                if other.model.kind == "judge" and other.state in (State.OFF, State.PREPARED) and not other.wanted:
                    yield other

    def _fill(self, device: str, judges_first: bool = False) -> None:
        """Rule 3: a place with room takes the earliest model that has something to do for it."""
        if self._draining:
            return
        order = self._on[device]
        if judges_first:
            order = sorted(order, key=lambda r: r.model.kind == "edit")
        if self.piloting:
            order = sorted(order, key=lambda r: not self._awaits_its_pilot(r))
        for replica in order:
            if replica.wanted or replica.state in (State.STOPPING, State.RETIRED):
                continue
            if any(len(self._holders[d]) >= self._residents for d in replica.place):
                continue
            if replica.model.kind == "edit" and self._gave_up(replica):
                continue
            if self._shortens(replica):
                self._claim(replica)

    def _fill_a_free_place(self) -> None:
        if self._free:
            device = next(iter(self._free))
            self._free[device] = self._free.pop(device)  # to the end of the row: each gets its turn
            self._fill(device)

    def _look_everywhere(self) -> None:
        """Nobody is busy and work is left: every idle replica and every place is asked, not one an event."""
        for idle in self._idle.values():
            for replica in list(idle.values()):
                self._feed(replica)
        for device in list(self._free):
            self._fill(device)

    def _gave_up(self, replica: Replica) -> bool:
        """Whether this place left editing early, and others still edit."""
        return bool(self._active[replica.model.key]) and any(device in self._left for device in replica.place)

    def _claim(self, replica: Replica) -> None:
        replica.wanted = True
        self._active[replica.model.key] += 1
        self._coming[replica.model.key] += 1
        for device in replica.place:
            self._holders[device].append(replica)
            if len(self._holders[device]) >= self._residents:
                self._free.pop(device, None)
        if replica.state is State.PREPARED:
            self._queue_load(replica)
        elif replica.state is State.OFF:
            self._prepare(replica)

    def _feed(self, replica: Replica) -> None:
        """Fills the replica's hands; one that has nothing to do makes room, or waits."""
        if replica.state is not State.LOADED:
            return
        name = replica.model.key
        idle = self._idle[name]
        if replica.leaving and not replica.hands and not self._still_leaves(replica):
            replica.leaving = False  # others have taken the judge meanwhile
            self._leaving -= 1
        while len(replica.hands) <= replica.capacity and (task := self._next(replica)) is not None:
            replica.hands[task.number] = task
            self._commands.append(Command("run", replica, task))
        if replica.hands:
            idle.pop(replica.number, None)
            if len(self._queues[name]) <= self._active[name]:
                self._prepare_successor(replica)
            if self._residents > 1 and len(replica.hands) <= replica.capacity:
                idle[replica.number] = replica
            return
        if self._makes_room(replica):
            self._stop(replica)
        else:
            idle[replica.number] = replica

    def _makes_room(self, replica: Replica) -> bool:
        """Whether a replica with empty hands gives its place back: nothing is left for it, or others need the place."""
        if self._residents > 1:  # where all models fit, they stay: a later category wants them again
            return self._draining or not self._work.units_left(replica.model.key)
        if replica.leaving or self._draining or not self._work.left(replica.model.key):
            return True
        if len(self._queues[replica.model.key]):
            return False
        for device in replica.place:
            for other in self._on[device]:
                if other is replica or other.wanted or other.state in (State.RETIRED, State.STOPPING):
                    continue
                # A judge that waits for edits stays: they are made elsewhere, and coming back would cost two loads.
                if replica.model.kind == "judge" and (other.model.kind == "judge" or self._gave_up(other)):
                    continue
                if self._shortens(other):
                    return True
        return False

    def _take_turns(self, replica: Replica) -> None:
        """After a task: where models share a place, a judge with something to judge comes before the next edit."""
        if self._residents > 1:
            for device in replica.place:
                for other in sorted(self._holders[device], key=lambda r: r.model.kind == "edit"):
                    self._feed(other)
        self._feed(replica)

    def _prepare_successor(self, replica: Replica) -> None:
        """While the last edits run, the process of the judge that will follow does its imports."""
        if replica.model.kind != "edit" or self._residents > 1 or self._draining:
            return
        for other in self._successors(replica):
            if other.state is State.OFF and (replica.leaving or self._shortens(other)):
                self._prepare(other)
                return

    def _neighbours(self, replica: Replica) -> Iterator[Replica]:
        return (o for d in replica.place for o in self._holders[d] if o is not replica)

    def _neighbour_computes(self, replica: Replica) -> bool:
        return self._residents > 1 and any(o.hands for o in self._neighbours(replica))

    def _neighbour_waits(self, replica: Replica) -> bool:
        return self._residents > 1 and any(len(self._queues[o.model.key]) for o in self._neighbours(replica))

    # -- carrying it out --

    def _ready(self, task: Task) -> None:
        self._queues[task.model].put(task)
        self._woken.append(task.model)

    def _end(self, task: Task) -> None:
        self._queues[task.model].finish(task)
        self._work.finish(task)
        if self._work.phase != self._phase:
            self._phase = self._work.phase
            self._left.clear()
        if not self._by_pull or not self._work.left(task.model):  # a barrier has opened, or nothing is left to wait for
            for replica in list(self._idle[task.model].values()):
                self._feed(replica)

    def _open_the_gate(self, name: str) -> bool:
        """With `start: together`: lets a model's replicas begin when the last of them is loaded, or given up."""
        shut = self._start == "together" and name not in self._begun
        if not shut or self._coming[name] or not self._active[name]:
            return False
        self._begun.add(name)
        for replica in self._of[name]:
            self._feed(replica)
        return True

    def _prepare(self, replica: Replica) -> None:
        replica.state = State.PREPARING
        self._commands.append(Command("prepare", replica))

    def _queue_load(self, replica: Replica) -> None:
        self._to_load.append(replica)
        self._load_next()

    def _load_next(self) -> None:
        while self._to_load and self._loading < self._load_limit:
            replica = self._to_load.popleft()
            replica.state = State.LOADING
            self._loading += 1
            self._commands.append(Command("load", replica))

    def _stop(self, replica: Replica) -> None:
        if replica.state is State.LOADING:
            self._loading -= 1
        if replica in self._to_load:
            self._to_load.remove(replica)
        if replica.wanted and replica.state is not State.LOADED:
            self._coming[replica.model.key] -= 1
        if replica.wanted:
            self._active[replica.model.key] -= 1
        replica.wanted = False
        replica.state = State.STOPPING
        self._idle[replica.model.key].pop(replica.number, None)
        self._commands.append(Command("stop", replica))

    def _answer(self) -> list[Command]:
        while self._woken:
            model = self._woken.popleft()
            for name, idle in self._idle.items():
                # A task of its own, or of an edit model that may need the place of a judge.
                if idle and (name == model or not self._active[model]):
                    self._feed(next(iter(idle.values())))
            self._fill_a_free_place()
        if not self._commands and not self._work.finished and not any(replica.busy for replica in self.replicas):
            self._look_everywhere()
        if self._work.finished:
            for replica in self.replicas:
                if replica.state in (State.PREPARING, State.PREPARED, State.LOADING) or (
                    replica.state is State.LOADED and not replica.hands
                ):
                    self._stop(replica)
        commands, self._commands = self._commands, []
        return commands
