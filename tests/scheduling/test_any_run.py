"""Any run at all: whatever the models, places, times, failures and settings are, the work is done, once and well.

The engine, the policy, the work and the pilot are the real ones; only devices are simulated, and nothing is written.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from edit_eval.errors import Stopped
from edit_eval.execution.contract import Event, WorkerSpecification
from edit_eval.execution.engine.engine import Engine
from edit_eval.execution.engine.pilot import Pilot, PilotCells, choose_pilot
from edit_eval.execution.engine.workload import fill_work, is_left, work_number
from edit_eval.plugins.preparation.simulation import rest_of_a_run
from edit_eval.records import Refinement, Reply, Status
from edit_eval.scheduling.batches import cut_batches
from edit_eval.scheduling.estimates import Estimates
from edit_eval.scheduling.fleet import Replica, ReplicaState
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.tasks import Model, Task, Work
from edit_eval.workers.messages import Message
from examples_of import examples
from simulated_driver import Fate, SimulatedDriver
from small_matrix import Asking, ask, give_reply, imagined_edit, small_matrix, small_samples

Place = tuple[str, ...]

PLAIN = Asking([ask("plain")])
STEPS = Asking([ask("a"), ask("b", after=("a",)), ask("c", after=("b",)), ask("d", after=("a",))])


@dataclass(frozen=True)
class Situation:
    """Everything that a run can meet. Seconds throughout."""

    samples: int
    edit_models: dict[str, tuple[Place, ...]]
    judges: dict[str, tuple[Place, ...]]
    load: dict[str, float]
    unit: dict[str, float]
    known: bool
    capacity: dict[str, int]
    batch_size: int
    edit_seeds: int
    questions: int
    controls: int
    options: dict[str, Any]
    by_category: bool
    pilot: bool
    prepare: float
    unload: float
    clients: frozenset[str] = frozenset()
    """Models that hold no device: they ask a server, or read files."""
    made_before: tuple[int, ...] = ()
    """Edits that an earlier start has left."""
    ends: dict[tuple[str, int], str] = field(default_factory=dict)
    """(Kind, unit) -> how it always ends: `failed`, `dies`, `hangs`, or `out_of_memory`."""
    flaky: frozenset[tuple[str, int]] = frozenset()
    """What fails once, then works."""
    broken: frozenset[tuple[str, Place]] = frozenset()
    """Models that cannot be loaded on a place."""
    bad_device: str = ""
    """Where nothing is computed: each task ends as `bad_end` says."""
    bad_end: str = "failed"
    short: dict[str, int] = field(default_factory=dict)
    """Devices on which memory runs out over every task of a model, from its so-manieth there on."""
    unclear: frozenset[int] = frozenset()
    """Questions whose first answer cannot be read."""
    rounds: int = 1
    """Edits of a sample by each model: from the second on each waits for what the last judge says of the one before."""


SECONDS = st.sampled_from([0.0, 0.1, 1.0, 7.0, 20.0])


@st.composite
def situations(draw: st.DrawFn, calm: bool = False) -> Situation:
    """Any of them; in a calm one nothing fails, and every replica has one device."""
    devices = [f"gpu:{n}" for n in range(draw(st.integers(1, 5)))]
    single = tuple((device,) for device in devices)
    pairs = tuple(zip(devices[::2], devices[1::2], strict=False))
    layouts = [single, single[::2], single[::-1], single[-1:], (("other",),)] + ([pairs] if pairs and not calm else [])
    some_places = st.sampled_from(layouts)
    edit_models = {name: draw(some_places) for name in draw(st.sampled_from(["a", "a", "ab"]))}
    judges = {name: draw(some_places) for name in draw(st.sampled_from(["x", "x", "xy"]))}
    keys = [f"edit:{name}" for name in edit_models] + [f"judge:{name}" for name in judges]
    samples = draw(st.integers(1, 16))
    edit_seeds = draw(st.sampled_from([1, 1, 2]))
    edits = samples * edit_seeds * len(edit_models)
    questions = draw(st.sampled_from([1, 1, len(STEPS.asked)]))
    cells = edits * len(judges) * questions  # those about controls come behind
    spots = [(f"edit:{name}", place) for name, places in edit_models.items() for place in places]
    spots += [(f"judge:{name}", place) for name, places in judges.items() for place in places]
    units = st.one_of(
        st.tuples(st.just("edit"), st.integers(0, edits - 1)), st.tuples(st.just("judge"), st.integers(0, cells - 1))
    )
    trouble: dict[str, Any] = {}
    if not calm:
        trouble["ends"] = draw(
            st.dictionaries(units, st.sampled_from(["failed", "dies", "hangs", "out_of_memory"]), max_size=4)
        )
        trouble["flaky"] = draw(st.frozensets(units, max_size=2))
        trouble["broken"] = draw(st.frozensets(st.sampled_from(spots), max_size=2))
        trouble["bad_device"] = draw(st.sampled_from(["", "", "", devices[0]]))
        trouble["bad_end"] = draw(st.sampled_from(["failed", "dies", "hangs", "out_of_memory"]))
        trouble["unclear"] = draw(st.frozensets(st.integers(0, cells - 1), max_size=3))
    return Situation(
        samples=samples,
        edit_models=edit_models,
        judges=judges,
        load={key: draw(SECONDS) for key in keys},
        unit={key: draw(SECONDS) for key in keys},
        known=draw(st.booleans()),
        capacity={key: draw(st.sampled_from([1, 1, 3])) for key in keys},
        batch_size=draw(st.integers(1, 3)),
        edit_seeds=edit_seeds,
        questions=questions,
        controls=draw(st.sampled_from([0, 0, 3])),
        options={
            "schedule": draw(st.sampled_from(["pull", "pull", "round_robin", "batch_sync"])),
            "start": draw(st.sampled_from(["asap", "asap", "together"])),
            "placement": draw(st.sampled_from(["swap", "swap", "together"])),
            "load_concurrency": draw(st.sampled_from([None, 1, 2])),
        },
        by_category=draw(st.booleans()),
        pilot=draw(st.booleans()),
        prepare=draw(st.sampled_from([0.0, 3.0])),
        unload=draw(st.sampled_from([0.0, 1.0])),
        clients=draw(st.sampled_from([frozenset(), frozenset(), frozenset(keys[:1]), frozenset(keys[-1:])])),
        made_before=tuple(draw(st.sets(st.integers(0, edits - 1), max_size=5))),
        **trouble,
    )


def columns(situation: Situation) -> dict[str, Refinement | None]:
    """The edit models, each with its rounds."""
    by_column: dict[str, Refinement | None] = {}
    critic = list(situation.judges)[-1]  # a judge that nobody waits for comes before it
    for name in situation.edit_models:
        by_column[name], before = None, name
        for number in range(2, situation.rounds + 1):
            column = f"{name}@{number}"
            source = "last" if number % 2 else "source"
            by_column[column] = Refinement(edit_model=name, judge=critic, before=before, round=number, source=source)
            before = column
    return by_column


class Silence:
    """Hears nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **named: None


class Driver(SimulatedDriver):
    """Looks at what the policy has left undone whenever everybody has been told what to do."""

    def __init__(self, run: Run, **more: Any) -> None:
        super().__init__(**more)
        self._run = run

    def poll(self, seconds: float) -> tuple[float, Sequence[Event]]:
        self._run.look()
        return super().poll(seconds)

    def submit(self, worker: int, message: Message) -> None:
        there = self._workers.get(worker)
        super().submit(worker, {**message, "devices": there.device.split("+") if there else []})


class Run:
    """One run, and the records that it leaves: what has become of every edit and every judgement."""

    def __init__(self, situation: Situation) -> None:
        self.situation = situation
        models = [(f"edit:{name}", places) for name, places in situation.edit_models.items()]
        models += [(f"judge:{name}", places) for name, places in situation.judges.items()]
        self.models = [Model.from_key(key, places, key not in situation.clients) for key, places in models]
        self.matrix = small_matrix(
            small_samples(situation.samples),
            models=tuple(columns(situation)),
            refinements={name: how for name, how in columns(situation).items() if how is not None},
            judges=tuple(situation.judges),
            edit_seeds=situation.edit_seeds,
            protocol=PLAIN if situation.questions == 1 else STEPS,
            controls=situation.controls,
        )
        self.results: Counter[tuple[str, int]] = Counter()
        self.loads: Counter[tuple[str, Place]] = Counter()
        self.attempts: Counter[tuple[str, int]] = Counter()
        self.order_of_edits: list[int] = []
        self.tasks_on: Counter[tuple[str, str]] = Counter()
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.looks = 0
        self.over = 0
        for number in situation.made_before:
            self._made(number)
        self.cells = choose_pilot(self.matrix) if situation.pilot else PilotCells()
        self.work, self.estimates = Work(in_vain=self._in_vain), Estimates()
        for key in situation.load if situation.known else ():
            self.estimates.load[key].add(situation.load[key])
            self.estimates.unit[key].add(situation.unit[key])
        self.policy = Policy(self.models, self.work, self.estimates, **situation.options)
        self.pilot = Pilot(
            self.matrix, self.cells, Silence(), self._over, lambda why: self.engine.begin_nothing_more(why)
        )
        batches = cut_batches([sample.category for sample in self.matrix.samples], situation.batch_size)
        fill_work(
            self.work,
            self.matrix,
            dict.fromkeys(situation.judges, batches),
            by_category=situation.by_category,
            pilot=self.cells,
        )
        places = [(model.key, place) for model in self.models for place in model.places]
        self.driver = Driver(
            self,
            load=self._load,
            task=self._fate,
            prepare=lambda model, device: situation.prepare,
            unload=lambda model: situation.unload,
            capacity=situation.capacity.__getitem__,
        )
        self.engine = Engine(
            self.driver,
            self.policy,
            self.work,
            self,
            Silence(),
            {
                (key, place): WorkerSpecification(key, key, place, "", timeout=20_000.0, load_timeout=20_000.0)
                for key, place in places
            },
            poll_seconds=5_000.0,
        )

    def _made(self, number: int) -> None:
        self.matrix.set_edit(number, imagined_edit(self.matrix, number))

    def _over(self, all_work: bool) -> None:
        self.over += 1
        left = rest_of_a_run(self.work, self.estimates, self.policy).seconds
        assert left is None or left >= 0.0

    def _in_vain(self, task: Task) -> bool:
        if task.model.startswith("edit:"):
            return self.matrix.edits[task.units[0]].status is not Status.PENDING
        return not any(is_left(self.matrix, cell) for cell in task.units)

    # -- fates --

    def _load(self, model: str, device: str) -> Fate:
        place = tuple(device.split("+"))
        broken = (model, place) in self.situation.broken
        self.loads[model, place] += 1
        return Fate(self.situation.load[model], "failed" if broken else "done", "no kernel image")

    def _fate(self, model: str, message: Message) -> Fate:
        kind, end = model.split(":")[0], "done"
        if self.situation.bad_device in message["devices"]:
            end = self.situation.bad_end
        for unit in message["units"]:
            self.attempts[kind, unit] += 1
            once = (kind, unit) in self.situation.flaky and self.attempts[kind, unit] == 1
            if end == "done":
                end = self.situation.ends.get((kind, unit), "failed" if once else "done")
        for device in message["devices"]:
            self.tasks_on[model, device] += 1
            if self.tasks_on[model, device] > self.situation.short.get(device, len(self.matrix.cells) * 100):
                end = "out_of_memory"
        if end == "out_of_memory":
            return Fate(self.situation.unit[model] / 10, "failed", "CUDA out of memory", "out_of_memory")
        return Fate(self.situation.unit[model] * len(message["units"]), end, f"{end} on purpose")

    # -- the records that the engine keeps --

    def about(self, task: Task) -> str:
        return ""

    def free(self, task: Task) -> None: ...

    def order(self, task: Task) -> Message:
        if task.model.startswith("edit:"):
            self.order_of_edits.append(task.units[0])
        return {"do": "run", "task": task.number, "units": task.units}

    def record_results(self, task: Task, message: dict[str, Any], device: str) -> None:
        if task.model.startswith("edit:"):
            self._made(task.units[0])
            return self._settle(task.units[0])
        for cell in task.units:
            if is_left(self.matrix, cell):
                unclear = cell in self.situation.unclear and not self.matrix.replies(cell)
                self._answer(task, cell, Reply(text="hm" if unclear else "7"))

    def record_failure(self, task: Task, reason: str, device: str) -> None:
        if task.model.startswith("edit:"):
            number = task.units[0]
            self.matrix.set_edit(number, replace(self.matrix.edits[number], status=Status.EDIT_FAILED, reason=reason))
            for ended in self.matrix.origins.fail_dependents(number):
                self._settle_behind(ended)
            return self._settle(number)
        for cell in task.units:
            if is_left(self.matrix, cell):
                self._answer(task, cell, Reply(text=reason, ended=Status.JUDGE_ERROR, final=True))

    def _settle(self, number: int) -> None:
        self.results["edit", number] += 1
        self.pilot.edit(self.matrix.edits[number])
        self.work.settle(number)
        for shown in self.matrix.subjects_showing(number):  # also what stands beside it, which will not come either
            self._settle_ended(self.matrix.cells.cells_of_subject(shown))

    def _settle_behind(self, number: int) -> None:
        self.work.settle(number)
        self._settle_ended(self.matrix.cells.cells_of_subject(number))

    def _settle_ended(self, cells: Iterable[int]) -> None:
        for cell in cells:
            if not is_left(self.matrix, cell):
                self.work.settle(work_number(cell))

    def _answer(self, task: Task, cell: int, reply: Reply) -> None:
        if give_reply(self.matrix, cell, reply).status is Status.PENDING:
            self.work.add(task.model, [cell], phase=task.phase)
            return
        self.results["judge", cell] += 1
        for told in self.matrix.critiques.edits_told(self.matrix.cells.judgement_of(cell)):
            for ended in self.matrix.critiques.apply_critique(told):
                self._settle_behind(ended)
        self._settle_ended((cell, *self.matrix.cells.dependents_of(cell)))
        judgement = self.matrix.judgement(self.matrix.cells.judgement_of(cell))
        if judgement.status is not Status.PENDING:
            self.pilot.judgement(judgement)

    def attempt(self, task: Task, reason: str) -> None: ...
    def leave(self, task: Task) -> None: ...
    def activity(self, device: str, kind: str, model: str, begin: float, end: float, what: str) -> None: ...
    def event(self, name: str, **fields: Any) -> None:
        self.events.append((name, fields))

    def sync(self) -> None: ...

    # -- what must hold at every moment --

    def look(self) -> None:
        self.looks += 1
        assert self.looks < 2_000, "the run does not come to its end"
        holders: dict[str, list[Replica]] = defaultdict(list)
        for replica in self.policy.replicas:
            if replica.state in (ReplicaState.LOADING, ReplicaState.LOADED) and replica.model.holds_device:
                for device in replica.place:
                    holders[device].append(replica)
            if any(task.alone for task in replica.hands.values()):
                assert len(replica.hands) == 1, "a suspect has company"
            assert len(replica.hands) <= replica.capacity + 1
            self._has_what_it_can_do(replica)
        if self.situation.options["placement"] == "swap":
            assert all(len(there) == 1 for there in holders.values())

    def _has_what_it_can_do(self, replica: Replica) -> None:
        """With `pull` no loaded replica has a free hand while a task that it may take waits."""
        options = self.situation.options
        if (options["schedule"], options["placement"], options["start"]) != ("pull", "swap", "asap"):
            return
        if replica.state is not ReplicaState.LOADED or replica.leaving or len(replica.hands) >= replica.capacity:
            return
        (waiting,) = self.policy.list_tasks(replica.key)
        held = replica.hands and ((waiting[:1] and waiting[0].alone) or any(t.alone for t in replica.hands.values()))
        asking = [task for task in waiting if task.asks_elsewhere]
        held = held or any(replica.index in task.failed_on and self._others_of(replica, task) for task in asking)
        mine = [task for task in waiting if task not in asking or not self._others_left(replica, task)]
        for_another = mine[:1] and replica.index in mine[0].failed_on and self._others_of(replica, mine[0])
        assert held or for_another or not mine, f"{replica.name} idles"

    def _others_left(self, replica: Replica, task: Task) -> bool:
        """Whether it failed there, and another one is left that has not tried it."""
        others = [other for other in self.policy.replicas_of(replica.key) if other.index not in task.failed_on]
        return replica.index in task.failed_on and any(other.state is not ReplicaState.RETIRED for other in others)

    def _others_of(self, replica: Replica, task: Task) -> list[Replica]:
        """The other replicas of its model that can take what it is not to try again, or have yet to end."""
        others = [
            other
            for other in self.policy.replicas_of(replica.key)
            if other.index not in task.failed_on and not other.leaving
        ]
        return [other for other in others if other.wanted or other.state is ReplicaState.STOPPING]

    def go(self) -> Run:
        self.engine.run()
        return self


def could_stop(run: Run) -> bool:
    """Whether a model has no place left on which it can be loaded."""
    return any(all((m.key, place) in run.situation.broken for place in m.places) for m in run.models)


@settings(max_examples=examples(250))
@given(situations())
def test_all_of_it_is_done_once_whatever_happens(situation: Situation) -> None:
    run = Run(situation)
    try:
        run.go()
    except Stopped as stopped:
        stopped_by_the_pilot = str(stopped).startswith("pilot:")
    else:
        return finished_well(run)
    assert stopped_by_the_pilot or situation.bad_device or could_stop(run)
    assert set(run.results.values()) <= {1}


def finished_well(run: Run) -> None:
    """Nothing is pending, nothing was done twice, and only what was to fail has failed."""
    situation = run.situation
    edits = {n for n in range(len(run.matrix.edits)) if n not in situation.made_before}
    assert {n: run.results["edit", n] for n in edits} == dict.fromkeys(edits, 1)
    for number in () if situation.bad_device else edits:
        bad = ("edit", number) in situation.ends
        assert run.matrix.edits[number].status is (Status.EDIT_FAILED if bad else Status.OK)
    assert run.matrix.pending == 0
    for cell in range(len(run.matrix.cells)):
        if run.matrix.what_lacks(run.matrix.cells.about(cell)) is not None:
            assert ("judge", cell) not in run.results
            continue
        status, bad = run.matrix.reading(cell).status, ("judge", cell) in situation.ends
        nothing_to_ask = any(
            run.matrix.reading(n).status is not Status.OK for n in run.matrix.cells.prerequisites_of(cell).values()
        )
        assert run.results["judge", cell] == (not nothing_to_ask)
        if not situation.bad_device:  # it may be all that there is
            assert status is (Status.JUDGE_ERROR if bad or nothing_to_ask else Status.OK)
    assert run.over == bool(run.cells.edits or run.cells.judgements)


@settings(max_examples=examples(150))
@given(situations(), st.integers(2, 3))
def test_edits_that_wait_for_answers_come_to_their_end_too(situation: Situation, rounds: int) -> None:
    run = Run(replace(situation, rounds=rounds, made_before=()))
    try:
        run.go()
    except Stopped as stopped:
        why = str(stopped)
    else:
        why = ""
    if why:
        assert why.startswith("pilot:") or situation.bad_device or could_stop(run)
        return
    assert run.matrix.pending == 0
    assert not [edit for edit in run.matrix.edits if edit.status is Status.PENDING]
    assert set(run.results.values()) == {1}


@settings(max_examples=examples(150))
@given(situations(calm=True))
def test_no_model_is_loaded_twice_on_a_place_in_the_default_order(situation: Situation) -> None:
    options = {**situation.options, "schedule": "pull", "start": "asap"}
    run = Run(replace(situation, options=options, by_category=False, pilot=False)).go()
    assert set(run.loads.values()) <= {1}


@settings(max_examples=examples(100))
@given(situations(calm=True), st.booleans())
def test_a_client_neither_waits_for_a_model_nor_drives_one_out(situation: Situation, editing: bool) -> None:
    """The run takes as long as one in which it has devices of its own."""
    its, others = list(situation.judges), list(situation.edit_models)
    if editing:
        its, others = others, its
    keys = ["edit:" + name if name in situation.edit_models else "judge:" + name for name in its]
    places = tuple((f"cpu:{n}",) for n in range(2))
    calm = replace(situation, clients=frozenset(keys))
    apart = {"edit_models" if editing else "judges": dict.fromkeys(its, places)}
    on_one = {"edit_models": dict.fromkeys(situation.edit_models, places)}
    on_one["judges"] = dict.fromkeys(situation.judges, places)
    beside = {"judges" if editing else "edit_models": dict.fromkeys(others, (("gpu:0",), ("gpu:1",)))}
    there, elsewhere = Run(replace(calm, **on_one)).go(), Run(replace(calm, **apart, **beside)).go()
    for key in keys:
        assert {place: there.loads[key, place] for place in places} == {p: elsewhere.loads[key, p] for p in places}
    assert there.engine.now == elsewhere.engine.now


@settings(max_examples=examples(100))
@given(situations(calm=True))
def test_a_pilot_costs_at_most_one_more_load_a_model_and_a_return(situation: Situation) -> None:
    options = {**situation.options, "schedule": "pull", "start": "asap"}
    calm = replace(situation, options=options, by_category=False)
    with_, without = (Run(replace(calm, pilot=pilot)).go() for pilot in (True, False))
    assert with_.loads.total() <= without.loads.total() + 2 * len(with_.models)


@settings(max_examples=examples(150))
@given(situations(calm=True), st.integers(2, 5), st.sampled_from(["failed", "dies", "hangs"]), st.data())
def test_a_bad_device_costs_no_sample_while_another_one_edits(
    situation: Situation, devices: int, end: str, data: st.DataObject
) -> None:
    """Whenever all are loaded from the beginning; the suspects of `batch_sync` follow its rounds."""
    places = tuple((f"gpu:{n}",) for n in range(devices))
    (bad,) = data.draw(st.sampled_from(places))
    if situation.options["schedule"] == "batch_sync":
        situation.options["schedule"] = "round_robin"
    run = Run(
        replace(
            situation,
            samples=max(situation.samples, devices),
            edit_models={"a": places},
            judges=dict.fromkeys(situation.judges, (("other",),)),
            known=False,
            by_category=False,
            made_before=(),
            bad_device=bad,
            bad_end=end,
        )
    ).go()
    assert {edit.status for edit in run.matrix.edits} == {Status.OK}
