"""The state of a run for the live progress: updated by the engine, read as lines and snapshots.

Everything here runs in the engine's thread and takes microseconds; a separate thread does the drawing.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import process_time
from types import MappingProxyType
from typing import Any

from rich.cells import cell_len

from edit_eval.execution.contract import Meter
from edit_eval.pictures import UNREPEATABLE
from edit_eval.plugins.preparation.simulation import Elapsed, TimeLeft, rest_of_a_run
from edit_eval.plugins.progress.lines import (
    Assignment,
    AssignmentRow,
    CategoryDone,
    EventLine,
    Judged,
    Line,
    judgement_failure,
    load_words,
    omission_line,
)
from edit_eval.records import CONTROL, DECLINED, JUDGE_FAILED, NO_EDIT, Edit, Judgement, Status
from edit_eval.reporting.formats import duration
from edit_eval.reporting.language import code_to_text, current_language, recognise, translate
from edit_eval.reporting.live import CategorySum, Count, DeviceView, MeanSoFar, Snapshot, count_statuses, mean_so_far
from edit_eval.reporting.names import short_category
from edit_eval.reporting.slow_devices import DeviceTimes, time_of
from edit_eval.scheduling.estimates import Estimates, Mean
from edit_eval.scheduling.fleet import Replica, ReplicaState
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.tasks import Task, Work
from edit_eval.store.table import JudgementTable
from edit_eval.text import Text

# -- counts during a run: what is settled, what failed, and which category has just received its last score --

Address = tuple[str, str, int, str, int]
"""Sample, edit model (both of a battle), edit seed, judge, repeat; the judge is empty for an edit."""
Group = tuple[str, str, str]
"""Category, edit model, judge."""

_RATE_OVER = 100
"""Number of the latest edits or judgements over which a rate is taken."""


@dataclass
class Rate:
    """How often something happened lately."""

    _times: deque[float] = field(default_factory=lambda: deque(maxlen=_RATE_OVER + 1))

    def begin(self, now: float) -> None:
        """Starts the clock: from now on it can happen."""
        if not self._times:
            self._times.append(now)

    def add(self, now: float) -> None:
        """Counts one occurrence."""
        self._times.append(now)

    def per_minute(self, now: float) -> float | None:
        """Returns the rate per minute; None before the first occurrence."""
        if len(self._times) < 2 or now <= self._times[0]:
            return None
        return 60 * (len(self._times) - 1) / (now - self._times[0])


@dataclass
class _Statuses:
    """The status of each address, and counts by status."""

    of: dict[Address, Status] = field(default_factory=dict)
    counts: Counter[Status] = field(default_factory=Counter)

    def set_status(self, address: Address, status: Status) -> Status | None:
        """Sets a status; returns the previous one."""
        before = self.of.get(address)
        self.of[address] = status
        self.counts[status] += 1
        if before is not None:
            self.counts[before] -= 1
        return before


@dataclass
class _Group:
    """The judgements of a category."""

    total: int = 0
    """Judgements to which the headline applies, or may still apply."""
    pending: int = 0
    scores: dict[Address, float] = field(default_factory=dict)
    sum: CategorySum = field(default_factory=CategorySum)
    without: set[Address] = field(default_factory=set)
    """Those to which it does not apply."""

    def set_judgement(self, judgement: Judgement, headline: str) -> None:
        """Sets a judgement, which replaces an earlier state of it."""
        address, score = address_of(judgement), judgement.scores.get(headline)
        if (before := self.scores.pop(address, None)) is not None:
            self.sum.add(judgement.sample_id, before, -1)
        if score is not None:
            self.scores[address] = score
            self.sum.add(judgement.sample_id, score)
        self.total += address in self.without
        self.without.discard(address)
        if judgement.outcome(headline) is None:
            self.without.add(address)
            self.total -= 1


class Tally:
    """Tracks the status of every edit and judgement; in a shard, of those of its own samples.

    Reporting the same thing twice changes nothing.
    """

    def __init__(self, table: JudgementTable, rows: Iterable[Judgement]) -> None:
        """`rows` are those of the table."""
        experiment = table.experiment
        self._scoring = {judge.name: judge.scoring for judge in experiment.judges}
        self._repeats, self._critics = experiment.repeats, experiment.critics
        self._several_edit_models = len(experiment.edit_models) > 1
        self._several_judges = len(experiment.judges) > 1
        self._several_seeds = experiment.edit_seeds > 1
        self._language = experiment.language
        self._edits, self._judgements, self._controls = _Statuses(), _Statuses(), _Statuses()
        self._groups: dict[Group, _Group] = {}
        self._means: tuple[MeanSoFar, ...] | None = None
        self.edit_rate, self.judgement_rate = Rate(), Rate()
        own = table.shard
        for edit in table.edits_of_work:
            if own is None or edit.sample_id in own:
                self._edits.set_status(address_of(edit), edit.status)
        self._table, self._rounds = table, table.rounds
        for row in rows:
            if own is not None and row.sample_id not in own:
                continue
            if row.kind != "edit":
                of = self._judgements if row.kind == "battle" else self._controls
                of.set_status(address_of(row), row.status)
                continue
            address, group = address_of(row), self._groups.setdefault(group_of(row), _Group())
            self._judgements.set_status(address, row.status)
            group.total += 1
            group.pending += row.status is Status.PENDING
            group.set_judgement(row, self._scoring[row.judge].headline)

    def _add_rounds(self) -> None:
        """Adds the battles of rounds begun since the last call."""
        if self._rounds != self._table.rounds:
            self._rounds, own = self._table.rounds, self._table.shard
            for row in self._table.rows("battle"):
                if own is None or row.sample_id in own:
                    self._judgements.set_status(address_of(row), row.status)

    def edit(self, edit: Edit, now: float) -> None:
        """Counts a finished edit."""
        if self._edits.set_status(address_of(edit), edit.status) is not edit.status:
            self.edit_rate.add(now)

    def judgement(self, judgement: Judgement, now: float) -> CategoryDone | None:
        """Counts a finished judgement, perhaps one without an edit; returns a summary with the last of a category."""
        address, status = address_of(judgement), judgement.status
        if is_control(judgement):
            self._controls.set_status(address, status)
            return None
        if judgement.n_asked:
            self.judgement_rate.add(now)
        if judgement.other:  # it has no mean
            self._add_rounds()
            self._judgements.set_status(address, status)
            return None
        key = group_of(judgement)
        group, before = self._groups[key], self._judgements.set_status(address, status)
        group.set_judgement(judgement, self._scoring[judgement.judge].headline)
        self._means = None
        if before is not Status.PENDING or status is Status.PENDING:
            return None
        group.pending -= 1
        return None if group.pending else self._category(key, group)

    def _category(self, key: Group, group: _Group) -> CategoryDone:
        category, edit_model, judge = key
        scores = group.scores.values()
        name = [translate(short_category(category), current_language(self._language))] if category else []
        return CategoryDone(
            label=" · ".join([*name, *self._models(edit_model, judge)]),
            scored=len(scores),
            total=group.total,
            mean=group.sum.total / len(group.sum.of_samples) if scores else None,
            low=min(scores, default=None),
            high=max(scores, default=None),
            scale=self._scoring[judge].scale,
            nameless=not category,
        )

    def _models(self, edit_model: str, judge: str) -> Iterator[str]:
        if self._several_edit_models:
            yield edit_model
        if self._several_judges and judge:
            yield judge

    def label(self, address: Address) -> str:
        """Returns a name that tells one edit or judgement of the run from the others."""
        sample, edit_model, edit_seed, judge, repeat = address
        parts = [sample, *self._models(edit_model, judge)]
        if self._several_seeds:
            parts.append(f"edit {edit_seed}")
        if self._repeats > 1 and judge:
            parts.append(f"repeat {repeat}")
        return " · ".join(parts)

    @property
    def longest_label(self) -> int:
        """Returns the terminal columns of the longest label of a judgement."""
        return max((cell_len(self.label(address)) for address in self._judgements.of), default=0)

    def counts(self, now: float) -> tuple[Count, Count, Count]:
        """Counts edits, judgements and controls, without those of skipped samples."""
        return (
            count_statuses(self._edits.counts, NO_EDIT, self.edit_rate.per_minute(now)),
            count_statuses(self._judgements.counts, JUDGE_FAILED, self.judgement_rate.per_minute(now)),
            count_statuses(self._controls.counts, JUDGE_FAILED),
        )

    @property
    def means(self) -> tuple[MeanSoFar, ...]:
        """Returns the mean of each edit model by each judge."""
        if self._means is None:
            sums: dict[tuple[str, str], list[CategorySum]] = {}
            for (_, edit_model, judge), group in self._groups.items():
                sums.setdefault((edit_model, judge), []).append(group.sum)
            self._means = tuple(
                mean_so_far(edit_model, judge, self._scoring[judge], categories)
                for (edit_model, judge), categories in sums.items()
                if judge not in self._critics
            )
        return self._means


def address_of(record: Edit | Judgement) -> Address:
    """Returns the address of an edit or judgement."""
    if not isinstance(record, Judgement):
        return record.sample_id, record.edit_model, record.edit_seed, "", 0
    whose = f"{record.edit_model} : {record.other}" if record.other else record.edit_model
    return record.sample_id, whose, record.edit_seed, record.judge, record.repeat


def group_of(judgement: Judgement) -> Group:
    """Returns the group in which a judgement counts."""
    return judgement.category, judgement.edit_model, judgement.judge


def is_control(judgement: Judgement) -> bool:
    """True if it judges a picture made by no edit model."""
    return judgement.edit_model.startswith(CONTROL)


LINES_KEPT = 1_000
"""Lines kept for a slow display; older ones are dropped, and their number is shown."""

FORETOLD_EVERY = 1.0
"""Fewest seconds between two estimates of the time left."""
FORETELLING = 200
"""Time before and after an estimate, as a multiple of what it takes: half a percent of the engine's time."""

_ORDER = ("", "retired", "starting", "waiting", "unloading", "loading", "judging", "editing")
"""With several models on one device, the last of these activities is shown."""


@dataclass(slots=True)
class _ReplicaView:
    replica: Replica
    since: float
    state: str = ""
    """`starting`, `loading`, `loaded`, `retired`, or empty."""
    running: dict[int, str] = field(default_factory=dict)
    """Tasks the device is computing: task -> its samples."""
    step: int = 0
    steps: int = 0
    settled: int = 0
    """Edits made, or questions answered."""

    @property
    def activity(self) -> str:
        if self.state == "loaded":
            if self.running:
                return "editing" if self.replica.model.kind == "edit" else "judging"
            return "unloading" if self.replica.state is ReplicaState.STOPPING else "waiting"
        return self.state


class ProgressState:
    """What has happened and is happening in a run, by a `clock` of seconds.

    `meters` has the latest reading of each GPU; the caller keeps it up to date.
    """

    def __init__(
        self,
        table: JudgementTable,
        policy: Policy,
        work: Work,
        estimates: Estimates,
        clock: Callable[[], float],
        meters: Mapping[str, Meter] = MappingProxyType({}),
    ) -> None:
        self.lines: deque[Line] = deque()
        rows = list(table.rows())
        self.tally = Tally(table, rows)
        self._work, self._estimates, self._meters = work, estimates, meters
        self._clock, self._began = clock, clock()
        self._replicas: dict[int, _ReplicaView] = {}
        self._of_model: dict[str, list[_ReplicaView]] = {}
        self._on_device: dict[str, list[_ReplicaView]] = {}
        for replica in policy.replicas:
            self._see(replica)
        self._models_of_kind = Counter(key.partition(":")[0] for key in self._of_model)
        self._loads: Counter[str] = Counter()
        self._policy = policy
        self._batches_began: dict[str, float] = {}  # model -> when its batch under way began
        self._batches_said: dict[str, tuple[int, int]] = {}  # a batch that lacked a replica, or had a failure, is short
        self._times = DeviceTimes()
        self._times.add_all(table.edits_of_work)  # edits of earlier starts, which the report counts, too
        self._times.add_all(row for row in rows if row.kind == "edit")
        self._dropped = 0
        self._last_note = ""
        self._foretold = TimeLeft(None)
        self._foretold_at = self._foretell_at = -math.inf
        self._say(plan(table, rows, policy, work, self.tally.longest_label))

    def _see(self, replica: Replica) -> _ReplicaView:
        """Returns the view of a replica, which may be on devices that joined later."""
        view = self._replicas.get(replica.number)
        if view is None:
            view = self._replicas[replica.number] = _ReplicaView(replica, self._clock())
            self._of_model.setdefault(replica.model.key, []).append(view)
            for device in replica.place:
                self._on_device.setdefault(device, []).append(view)
        return view

    def _say(self, line: Line) -> None:
        self.lines.append(line)
        if len(self.lines) > LINES_KEPT:
            self.lines.popleft()
            self._dropped += 1

    def take_lines(self) -> list[Line]:
        """Returns all lines since the last call, oldest first. May be called from another thread."""
        taken: list[Line] = []
        if self._dropped:
            taken.append(omission_line(self._dropped))
            self._dropped = 0
        with suppress(IndexError):  # the engine's thread may drop lines meanwhile
            taken.extend(self.lines.popleft() for _ in range(len(self.lines)))
        return taken

    # -- events of the engine --

    def replica(self, replica: Replica, state: str, message: Mapping[str, Any]) -> None:
        """A replica is `preparing`, `loading` or `loaded`, has `ended` or `died`, or is `retired`."""
        view = self._see(replica)
        model, place = replica.model.title, "+".join(replica.place)
        view.since = self._clock()
        view.running.clear()
        view.state = {"preparing": "starting", "ended": "", "died": ""}.get(state, state)
        if state == "loaded":
            self._loads[replica.model.key] += 1
            order, replicas = self._loads[replica.model.key], len(self._of_model[replica.model.key])
            memory = int(message.get("memory", {}).get("device", 0))
            self._say(EventLine("loaded", load_words(model, place, float(message["seconds"]), order, replicas, memory)))
        elif state == "died":
            reason = str(message.get("reason", ""))
            if not reason or reason not in self._last_note:  # the note has already reported a killed one
                self._say(EventLine("died", Text("{} on {}: {}", model, place, reason or Text("its process is gone"))))

    def running(self, replica: Replica, task: Task, about: str) -> None:
        """A device has begun a task."""
        view, now = self._replicas[replica.number], self._clock()
        view.running[task.number] = about.encode("utf-8", "replace").decode()  # an id may be any text, JSON not
        view.step, view.since = 0, now
        self._batches_began.setdefault(task.model, now)
        (self.tally.edit_rate if replica.model.kind == "edit" else self.tally.judgement_rate).begin(now)

    def step(self, replica: Replica, step: int, steps: int) -> None:
        """An edit has reached a step."""
        view = self._replicas[replica.number]
        view.step, view.steps = step, steps

    def finished(self, replica: Replica, task: Task) -> None:
        """A task has finished, successful or not."""
        view = self._replicas[replica.number]
        view.running.pop(task.number, None)
        view.settled += len(task.units)
        batch = self._policy.batch(task.model) if self._policy.ends_batch(task) else None
        if batch and self._batches_said.get(task.model) != batch:
            now, self._batches_said[task.model] = self._clock(), batch
            began = self._batches_began.pop(task.model, now)
            model = Text(" of {}", replica.model.name) if self._models_of_kind[replica.model.kind] > 1 else ""
            self._say(EventLine("batch", Text("{}/{}{} done in {}", *batch, model, duration(now - began))))

    def note(self, text: str) -> None:
        """Adds a note."""
        self._last_note = text
        self._say(EventLine("note", text))

    def edit(self, edit: Edit) -> None:
        """An edit has finished."""
        self.tally.edit(edit, self._clock())
        if edit.made_in:
            return
        if edit.status in NO_EDIT:
            tag = "refused" if edit.status in DECLINED else "failed"
            self._say(EventLine(tag, Text("no edit: {}", recognise(edit.reason)), self.tally.label(address_of(edit))))
        if UNREPEATABLE in edit.flags:
            text = Text("asked for again with the same seed, it came out different: the server does not keep to seeds")
            self._say(EventLine("note", text, self.tally.label(address_of(edit))))
        self._note_slow_device(edit)

    def judgement(self, judgement: Judgement) -> None:
        """A judgement has finished: its last question is answered, or there is no edit to ask about."""
        category = self.tally.judgement(judgement, self._clock())
        if judgement.status not in (*NO_EDIT, Status.SKIPPED) and not is_control(judgement):
            label = self.tally.label(address_of(judgement))
            scored = judgement.status is Status.OK
            self._say(Judged(judgement, label) if scored else EventLine("failed", judgement_failure(judgement), label))
        self._note_slow_device(judgement)
        if category is not None:
            self._say(category)

    def _note_slow_device(self, record: Edit | Judgement) -> None:
        """Names a device that is slower than the others, once that is statistically sure."""
        time = time_of(record)
        slow = self._times.has_become_slow(*time) if time else None
        if slow is None:
            return
        unit = Text("an edit") if slow.kind == "editing" else Text("a score")
        times = Text("{:.3g} s {} instead of {:.3g} s", slow.seconds, unit, slow.others)
        who, percent, doing = slow.device, round(100 * slow.slowdown), code_to_text(slow.kind)
        words = Text("{} is {} % slower than the others at {} with {}: {}", who, percent, doing, slow.model, times)
        self._say(EventLine("note", words))

    # -- snapshots --

    def snapshot(self) -> Snapshot:
        """Returns the run at this moment."""
        now = self._clock()
        edits, judgements, controls = self.tally.counts(now)
        left = self._time_left(now)
        loaded = Counter(view.replica.model.key for view in self._replicas.values() if view.state == "loaded")
        return Snapshot(
            devices=tuple(self._device(device, now, loaded) for device in self._on_device if self._is_there(device)),
            edits=edits,
            judgements=judgements,
            controls=controls,
            means=self.tally.means,
            seconds=now - self._began,
            left=None if left.seconds is None else math.ceil(left.seconds),
            left_without=left.missing,
            batch=next(filter(None, map(self._policy.batch, self._of_model)), None),
        )

    def _is_there(self, device: str) -> bool:
        return not all(view.replica.lost for view in self._on_device[device])

    def _device(self, device: str, now: float, loaded: Mapping[str, int]) -> DeviceView:
        """Returns what a device is doing; `loaded` counts the loaded replicas of each model."""
        view = max(self._on_device[device], key=lambda v: (_ORDER.index(v.activity), v.since))
        activity, replica = view.activity, view.replica
        about: str = ""
        figures: str = ""
        fraction, expected = None, None
        if activity in ("editing", "judging"):
            about = next(reversed(view.running.values()))
            others = min(len(view.running), replica.capacity) - 1
            about = Text("{} and {} more", about, others) if others > 0 else about
            if self._models_of_kind[replica.model.kind] > 1:
                about = Text("{} · {}", about, replica.model.name)
        if activity == "editing":
            fraction = view.step / view.steps if view.steps else 0.0
            figures = f"{view.step}/{view.steps}" if view.steps else ""
        elif activity == "waiting" and replica.deferred:
            figures = Text("{} in batches", len(replica.deferred))
        elif activity == "judging" or (activity == "waiting" and replica.model.kind == "judge"):
            share = self._work.units_left(replica.model.key) / max(1, loaded[replica.model.key])
            fraction = view.settled / (view.settled + share) if view.settled else 0.0
            figures = Text("{} asked", view.settled) if view.settled else ""
        elif activity == "loading":
            expected = self._estimates.load.get(replica.model.key, Mean()).value
        return DeviceView(
            device=device,
            activity=activity,
            model=replica.model.name if activity else "",
            about=about,
            figures=figures,
            fraction=fraction,
            seconds=int(max(0.0, now - view.since)),
            expected=expected,
            meter=self._meters.get(device, Meter()),
        )

    def _time_left(self, now: float) -> TimeLeft:
        """Returns the latest estimate minus its age; the longer an estimate takes, the more rarely one is made."""
        if now >= self._foretell_at:
            before = process_time()
            affordable = (now - self._began) / FORETELLING
            self._foretold, self._foretold_at = self.foretell(now, affordable), now
            self._foretell_at = now + max(FORETOLD_EVERY, FORETELLING * (process_time() - before))
        if self._foretold.seconds is None:
            return self._foretold
        return replace(self._foretold, seconds=max(0.0, self._foretold.seconds - (now - self._foretold_at)))

    def foretell(self, now: float, affordable: float = math.inf) -> TimeLeft:
        """Returns how long the rest takes, in at most `affordable` seconds of processor."""
        tasks: dict[int, float] = {}
        for view in self._replicas.values():
            gone = now - view.since
            if view.steps and view.activity == "editing" and view.replica.capacity == 1:
                gone = view.step / view.steps * (self._estimates.unit[view.replica.key].value or 0.0)
            tasks |= dict.fromkeys(view.running, gone)
        elapsed = Elapsed({number: now - view.since for number, view in self._replicas.items()}, tasks)
        return rest_of_a_run(self._work, self._estimates, self._policy, elapsed, affordable)


# -- the plan --


def plan(table: JudgementTable, rows: Iterable[Judgement], policy: Policy, work: Work, label: int = 0) -> Assignment:
    """Returns who does what: each device's share if tasks are dealt out in advance, else what comes first."""
    schedule = policy.schedule
    lines = []
    own = table.shard

    def is_open(judgement: Judgement) -> bool:
        return judgement.status is Status.PENDING and (own is None or judgement.sample_id in own)

    pending, controls = Counter[str](), Counter[str]()
    for row in filter(is_open, rows):
        (controls if is_control(row) else pending)[row.judge] += 1
    scoring = {judge.name: judge.scoring for judge in table.experiment.judges}
    for model in dict.fromkeys(replica.model for replica in policy.replicas):
        units = work.units_left(model.key)
        if not units:
            continue
        replicas = policy.replicas_of(model.key)
        everywhere = tuple(dict.fromkeys(device for replica in replicas for device in replica.place))
        dealt = policy.list_tasks(model.key, work.list_held_tasks(model.key))
        first = _first(table, model.kind, dealt[0])
        if model.kind == "judge":
            name = model.name
            lines.append(
                AssignmentRow("judge", name, everywhere, pending[name], first, units, controls[name], scoring[name])
            )
            continue
        if schedule == "pull":
            lines.append(AssignmentRow("edit", model.name, everywhere, units, first))
            continue
        for replica, tasks in zip(replicas, dealt, strict=True):
            count = sum(len(task.units) for task in tasks)
            lines.append(AssignmentRow("edit", model.name, replica.place, count, _first(table, "edit", tasks)))
    return Assignment(schedule, tuple(lines), label)


def _first(table: JudgementTable, kind: str, tasks: Iterable[Task]) -> tuple[int, ...]:
    units = [unit for task in list(tasks)[:5] for unit in task.units][:5]
    sample_of = table.sample_of_edit if kind == "edit" else table.sample_of_question
    return tuple(sample_of(unit).index for unit in units)
