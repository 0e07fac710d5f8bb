"""The work of a run: tasks, what they wait for, and which can start. No clock, no I/O."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from edit_eval.records import model_title

Kind = Literal["edit", "judge"]

PILOT = -1
"""Phase of the pilot: the few tasks that show early whether every model works. It comes before all others and, unlike
later phases, holds none of them back."""
ANSWERS_FROM = 1 << 40
"""Settled numbers below this are edits; from here on they are answers of a judge, which a later question of the same
judge waits for, or an edit."""


@dataclass(frozen=True)
class Model:
    """An edit model or a judge, as scheduling sees it: a name and the places where it may run."""

    name: str
    kind: Kind
    places: tuple[tuple[str, ...], ...]
    """The devices of each replica: `(("cuda:0",), ("cuda:1",))`, or two at a time with `devices_per_replica: 2`."""
    holds_device: bool = True
    """True if it takes device memory. A client of a server, or a reader of files, works beside any model."""
    defers: bool = False
    """True if its answers come long after it was asked: what is asked, but for the pilot, leaves its hands at once."""
    key: str = field(init=False)
    """Its name in tasks: an edit model and a judge may have the same name."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", f"{self.kind}:{self.name}")

    @classmethod
    def from_key(
        cls, key: str, places: tuple[tuple[str, ...], ...], holds_device: bool = True, *, defers: bool = False
    ) -> Model:
        """Returns the model of a task's key, `edit:NAME` or `judge:NAME`."""
        kind, _, name = key.partition(":")
        return cls(name, "edit" if kind == "edit" else "judge", places, holds_device, defers)

    def resources_of(self, place: tuple[str, ...]) -> tuple[str, ...]:
        """Returns what a replica there keeps from others: its devices, or else a place of its own that none wants."""
        return place if self.holds_device else (f"{self.key} on {'+'.join(place)}",)

    @property
    def title(self) -> str:
        """For people: `edit model testing`, `judge testing`."""
        return model_title(self.key)


@dataclass(slots=True, eq=False)
class Task:
    """One piece of work that a worker does in one go: an edit, or a batch of judgements."""

    number: int
    model: str
    """Key of the model that does it."""
    units: tuple[int, ...]
    """What it is about, in the numbers of its maker: one edit, or the questions of a batch."""
    phase: int = 0
    """A later phase starts when no task of an earlier one is left (`order: by_category`)."""
    missing: int = 0
    """Number of edits and answers that must be settled before it can start."""
    edits_missing: int = 0
    """How many of these are edits."""
    alone: bool = False
    """A suspect: it runs after the healthy work of its phase, with nothing else in its worker's hands."""
    by_the_way: bool = False
    """It is about controls: even if all such tasks fail, that says nothing about the rest of the run."""
    failed_on: frozenset[int] = frozenset()
    """Indices of the replicas that it failed on: another one tries it, while there is one."""
    taken_back: bool = False
    """True if the process in which it failed was replaced: whoever is free next shows which of them was at fault."""

    @property
    def asks_elsewhere(self) -> bool:
        """True if another device, or process, will show whether the task or its device was at fault."""
        return (self.taken_back or bool(self.failed_on)) and not self.alone

    @property
    def rank(self) -> tuple[int, int, int]:
        """Sort key of tasks that can start; the lowest comes first.

        Tasks that ask elsewhere come before healthy work, so that a device short of memory is found out before it has
        tried everything.
        """
        return (self.phase, 2 if self.alone else 0 if self.asks_elsewhere else 1, self.number)


@dataclass
class Work:
    """All unfinished tasks. Calls `on_ready` with each task as soon as it can start."""

    on_ready: Callable[[Task], None] = lambda task: None
    in_vain: Callable[[Task], bool] = lambda task: False
    """True if a task that could start has nothing to work on (all its edits failed); it is then finished silently."""
    before_the_end_of: Callable[[], None] = lambda: None
    """Called just before a model's last task ends: work added here goes on with the models that are loaded."""
    kept: set[str] = field(default_factory=set)
    """Models that stay loaded on all of their places even without work, because more may come (`serve`)."""
    edits_wait_for_answers: bool = field(default=False, init=False)
    """True if an edit waits for a judge's answer: then another judge's edits may wait for that judge, too."""
    phase: int = field(default=0, init=False)
    """The earliest phase with work left, apart from the pilot."""
    _count: int = 0
    _waiting: dict[int, list[Task]] = field(default_factory=lambda: defaultdict(list))
    _left: dict[int, dict[str, int]] = field(default_factory=dict)  # phase -> model -> unfinished tasks
    _units: dict[str, int] = field(default_factory=lambda: defaultdict(int))  # model -> unfinished units
    _pilot_waiting: dict[str, int] = field(default_factory=lambda: defaultdict(int))  # model -> pilots lacking edits
    _waits: dict[str, int] = field(default_factory=lambda: defaultdict(int))  # model -> tasks that wait for something
    _held: dict[int, list[Task]] = field(default_factory=lambda: defaultdict(list))  # phase -> ready before its time

    def add(
        self,
        model: str,
        units: Sequence[int],
        *,
        after: Iterable[int] = (),
        phase: int = 0,
        alone: bool = False,
        by_the_way: bool = False,
        failed_on: frozenset[int] = frozenset(),
    ) -> Task:
        """Adds a task that can start once all of `after` is settled. Tasks of earlier phases are added first."""
        task = Task(self._count, model, tuple(units), phase, alone=alone, by_the_way=by_the_way, failed_on=failed_on)
        return self._enter(task, after)

    def add_again(self, task: Task, *, after: Iterable[int] = (), **other: Any) -> Task:
        """Adds a task once more, under a number of its own, with `other` fields than it had."""
        return self._enter(replace(task, number=self._count, missing=0, edits_missing=0, **other), after)

    def _enter(self, task: Task, after: Iterable[int]) -> Task:
        model, phase = task.model, task.phase
        self._count += 1
        for number in after:
            self._waiting[number].append(task)
            task.missing += 1
            task.edits_missing += number < ANSWERS_FROM
            self.edits_wait_for_answers |= number >= ANSWERS_FROM and model.startswith("edit:")
        if phase not in self._left:
            self._left[phase] = {}
            self._find_phase()
        left = self._left[phase]
        left[model] = left.get(model, 0) + 1
        self._units[model] += len(task.units)
        self._pilot_waiting[model] += phase == PILOT and task.edits_missing > 0
        self._waits[model] += task.missing > 0
        if not task.missing:
            self._begin(task)
        return task

    def _begin(self, task: Task) -> None:
        if task.phase > self.phase:
            self._held[task.phase].append(task)
        elif self.in_vain(task):
            self.finish(task)
        else:
            self.on_ready(task)

    def _find_phase(self) -> None:
        self.phase = min((phase for phase in self._left if phase != PILOT), default=0)

    @property
    def is_finished(self) -> bool:
        """True if nothing is left and nothing more may come."""
        return not self._left and not self.kept

    @property
    def is_piloting(self) -> bool:
        """True while part of the pilot is left."""
        return PILOT in self._left

    @property
    def tasks_left(self) -> int:
        """Number of unfinished tasks in all phases."""
        return sum(sum(models.values()) for models in self._left.values())

    def count_tasks_left(self, model: str) -> int:
        """Returns the number of unfinished tasks of `model` in the pilot and the present phase."""
        present, pilot = self._left.get(self.phase), self._left.get(PILOT)
        return (present.get(model, 0) if present else 0) + (pilot.get(model, 0) if pilot else 0)

    def count_ready_tasks(self, model: str) -> int:
        """Returns how many of these wait for no edit and no answer."""
        return self.count_tasks_left(model) - self._waits[model]

    def units_left(self, model: str) -> int:
        """Returns the number of unfinished units of `model` in all phases."""
        return self._units[model]

    def list_held_tasks(self, model: str) -> list[Task]:
        """Returns the tasks of `model` that only their phase holds back, in order."""
        return [task for phase in sorted(self._held) for task in self._held[phase] if task.model == model]

    def pilot_left(self, model: str) -> int:
        """Returns the number of unfinished tasks of `model` in the pilot."""
        return self._left[PILOT].get(model, 0) if PILOT in self._left else 0

    def pilot_ready(self, model: str) -> bool:
        """True if `model` has pilot tasks left and none of them waits for an edit."""
        return self.pilot_left(model) > 0 and not self._pilot_waiting[model]

    def settle(self, number: int) -> None:
        """Records that an edit or answer has ended, well or badly, and begins tasks that waited only for it."""
        is_edit = number < ANSWERS_FROM
        for task in self._waiting.pop(number, ()):
            task.missing -= 1
            task.edits_missing -= is_edit
            self._pilot_waiting[task.model] -= is_edit and task.phase == PILOT and not task.edits_missing
            if not task.missing:
                self._waits[task.model] -= 1
                self._begin(task)

    def finish(self, task: Task) -> None:
        """Removes a task that has ended. With the last of its phase the next phase begins."""
        if sum(models.get(task.model, 0) for models in self._left.values()) == 1:
            self.before_the_end_of()
        phase = task.phase
        left = self._left[phase]
        self._units[task.model] -= len(task.units)
        left[task.model] -= 1
        if not left[task.model]:
            del left[task.model]
            if not left:
                del self._left[phase]
                self._find_phase()
                for held in self._held.pop(self.phase, ()) if self._left else ():
                    self._begin(held)


class PlannedTask(NamedTuple):
    """A task before it is begun, as `Work.add` takes it."""

    model: str
    units: tuple[int, ...]
    after: tuple[int, ...] = ()
    phase: int = 0
    by_the_way: bool = False


class TaskList:
    """Tasks that can be begun any number of times. It is filled as a `Work` is."""

    def __init__(self) -> None:
        self._tasks: list[PlannedTask] = []

    def add(
        self, model: str, units: Sequence[int], *, after: Iterable[int] = (), phase: int = 0, by_the_way: bool = False
    ) -> None:
        """Adds a task; arguments as for `Work.add`."""
        self._tasks.append(PlannedTask(model, tuple(units), tuple(after), phase, by_the_way))

    def __iter__(self) -> Iterator[PlannedTask]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)

    @cached_property
    def units(self) -> Counter[str]:
        """Number of units by model."""
        units = Counter[str]()
        for task in self._tasks:
            units[task.model] += len(task.units)
        return units

    def fill(self, work: Work) -> None:
        """Adds all of them to `work`."""
        for model, units, after, phase, by_the_way in self:
            work.add(model, units, after=after, phase=phase, by_the_way=by_the_way)
