"""Blame, on simulated devices: exactly the bad samples are set aside, whatever else goes wrong."""

import itertools
import random
from collections import Counter, defaultdict
from typing import Any

import pytest

from edit_eval.errors import Stopped
from edit_eval.execution.contract import Price, WorkerSpecification
from edit_eval.execution.engine.cost_budget import CostBudget
from edit_eval.execution.engine.engine import Engine
from edit_eval.scheduling.estimates import Estimates
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.tasks import Model, Task, Work
from edit_eval.workers.messages import Message
from execution.engine.simulated_case import Case, Notes, Silence
from simulated_driver import Fate, SimulatedDriver


@pytest.mark.parametrize("seed", range(50))
def test_exactly_the_bad_samples_are_set_aside(seed: int) -> None:
    draw = random.Random(seed)
    count = draw.randrange(20, 80)
    fault = {n: draw.choice(["crash", "hang", "fail"]) for n in draw.sample(range(count), draw.randrange(1, 6))}
    flaky = {n for n in range(count) if n not in fault and draw.random() < 0.05}
    batch = draw.choice([1, 1, 2, 3])
    attempts: dict[int, int] = defaultdict(int)

    def task(model: str, message: Message) -> Fate:
        seconds = draw.uniform(0.5, 3.0)
        end = "done"
        for unit in message["units"]:
            attempts[unit] += 1
            bad = fault.get(unit) or ("fail" if unit in flaky and attempts[unit] == 1 else None)
            if bad and end == "done":
                end = {"crash": "dies", "hang": "hangs", "fail": "failed"}[bad]
        return Fate(seconds, end, f"{end} on purpose")

    case = Case(count, draw.choice([1, 2, 4]), task, units=batch).run()
    assert set(case.notes.set_aside) == set(fault)
    assert sorted(case.notes.finished) == sorted(set(range(count)) - set(fault))
    assert case.work.is_finished


def test_a_machine_that_kills_workers_costs_no_sample_anything() -> None:
    """Loads that die and workers that die between tasks are the machine's affair."""
    loads = iter([Fate(1.0, "dies", "host out of memory"), 5.0, 5.0, 5.0])
    case = Case(10, 2, lambda model, message: Fate(1.0), load=lambda model, device: next(loads)).run()
    assert sorted(case.notes.finished) == list(range(10))
    assert not case.notes.set_aside


def test_a_device_on_which_the_model_cannot_be_loaded_is_dropped_with_its_reason() -> None:
    def load(model: str, device: str) -> Any:
        return Fate(1.0, "failed", "CUDA error: no kernel image") if device == "gpu:1" else 5.0

    case = Case(10, 3, lambda model, message: Fate(1.0), load=load).run()
    assert sorted(case.notes.finished) == list(range(10))
    retired = [fields for name, fields in case.notes.events if name == "retired"]
    assert [(r["replica"], r["reason"]) for r in retired] == [("edit model m on gpu:1", "CUDA error: no kernel image")]


def test_without_any_device_left_the_run_stops_with_the_first_reason() -> None:
    case = Case(3, 2, lambda model, message: Fate(1.0), load=lambda model, device: Fate(1.0, "failed", f"no {device}"))
    with pytest.raises(Stopped, match="m: no gpu:0"):
        case.run()
    assert case.notes.finished == []
    assert case.notes.set_aside == {}


def test_a_load_that_takes_too_long_is_given_up() -> None:
    def load(model: str, device: str) -> Any:
        return Fate(1.0, "hangs") if device == "gpu:0" else 5.0

    case = Case(80, 2, lambda model, message: Fate(1.0), load=load).run()
    assert sorted(case.notes.finished) == list(range(80))
    retired = [fields for name, fields in case.notes.events if name == "retired"]
    assert [(r["replica"].split()[-1], r["reason"]) for r in retired] == [("gpu:0", "not loaded after 50 s")]


def test_who_shows_that_it_moves_is_not_hung() -> None:
    """A download of more than `load_timeout` (50 s), answers of more than `timeout` (20 s)."""
    case = Case(4, 1, lambda model, message: Fate(90.0, reason="step"), load=lambda *_: Fate(300.0, reason="moving"))
    assert sorted(case.run().notes.finished) == list(range(4))
    assert not retired(case)


def test_the_same_failure_again_and_again_stops_the_run() -> None:
    case = Case(200, 2, lambda model, message: Fate(1.0, "failed", "RuntimeError: the disk is dead"))
    with pytest.raises(Stopped, match="of the last 50 tasks failed the same way"):
        case.run()
    assert len(case.notes.set_aside) < 100


def test_failures_among_many_successes_stop_nothing() -> None:
    """Not even their second attempts, which come last and all together."""
    bad = set(range(0, 1000, 16))
    fates = {unit: "failed" if unit in bad else "done" for unit in range(1000)}
    case = Case(1000, 4, lambda model, message: Fate(1.0, fates[message["units"][0]], "RuntimeError: on purpose")).run()
    assert set(case.notes.set_aside) == bad
    assert len(case.notes.finished) == 1000 - len(bad)
    assert set(case.engine._blame._failures.values()) == {0}, "what is proven bad gives nobody credit"


def test_a_device_that_kills_everything_it_touches_is_retired_and_nobody_is_blamed() -> None:
    """Every task dies on gpu:0 and works on gpu:1: the suspects prove their innocence there."""
    where: dict[int, str] = {}

    class Driver(SimulatedDriver):
        def submit(self, worker: int, message: Message) -> None:
            if message["do"] == "run":
                where[message["task"]] = self._workers[worker].device if worker in self._workers else "?"
            super().submit(worker, message)

    def task(model: str, message: Message) -> Fate:
        return Fate(1.0, "dies", "Xid 79") if where[message["task"]] == "gpu:0" else Fate(1.0)

    case = Case(60, 2, task)
    case.engine._driver = Driver(load=lambda model, device: 1.0, task=task)
    case.run()
    assert sorted(case.notes.finished) == list(range(60))
    assert not case.notes.set_aside
    assert [fields["replica"] for name, fields in case.notes.events if name == "retired"] == ["edit model m on gpu:0"]


class PlacedDriver(SimulatedDriver):
    """Tells a task's fate on which device it runs."""

    def submit(self, worker: int, message: Message) -> None:
        there = self._workers.get(worker)
        super().submit(worker, {**message, "device": there.device if there else ""})


@pytest.mark.parametrize("end", ["failed", "dies", "hangs"])
@pytest.mark.parametrize("units", [1, 2])
def test_what_failed_on_a_bad_device_is_tried_on_another_one(end: str, units: int) -> None:
    """The bad device is the quicker one to be free again, with nothing but suspects left."""
    tried: dict[int, list[str]] = defaultdict(list)

    def task(model: str, message: Message) -> Fate:
        bad = message["device"] == "gpu:0"
        for unit in message["units"]:
            tried[unit].append(message["device"])
        return Fate(0.1, end, "on purpose") if bad else Fate(15.0)

    case = Case(4, 2, task, units=units)
    case.engine._driver = PlacedDriver(load=lambda model, device: 1.0, task=task)
    case.run()
    assert sorted(case.notes.finished) == list(range(4))
    assert not case.notes.set_aside
    assert tried[0] == ["gpu:0", "gpu:1"]


def test_the_members_of_a_bad_batch_are_tried_on_another_device_than_the_batch_was_last() -> None:
    tried: dict[tuple[int, ...], list[str]] = defaultdict(list)

    def task(model: str, message: Message) -> Fate:
        tried[tuple(message["units"])].append(message["device"])
        return Fate(1.0, "failed" if 0 in message["units"] else "done")

    case = Case(4, 2, task, units=2)
    case.engine._driver = PlacedDriver(load=lambda model, device: 1.0, task=task)
    case.run()
    assert set(case.notes.set_aside) == {0}
    assert tried[0, 1] == ["gpu:0", "gpu:1"]
    assert (tried[0,], tried[1,]) == (["gpu:0"], ["gpu:0"])


def test_under_batch_sync_nobody_waits_for_a_worker_that_died_and_loads_again() -> None:
    loads: list[str] = []
    died: list[int] = []

    def load(model: str, device: str) -> float:
        loads.append(device)
        return 5.0 if loads.count(device) == 1 else 45.0

    def task(model: str, message: Message) -> Fate:
        dies = message["device"] == "gpu:1" and not died
        died.extend(message["units"] if dies else ())
        return Fate(1.0, "dies" if dies else "done")

    case = Case(30, 3, task, schedule="batch_sync")
    case.engine._driver = PlacedDriver(load=load, task=task)
    case.run()
    assert sorted(case.notes.finished) == list(range(30))
    assert died == [1]
    back = 5.0 + 1.0 + 45.0
    edits = [a for a in case.notes.activities if a.kind == "editing"]
    ends = {f"gpu:{n}": sorted(a.end for a in edits if a.device == f"gpu:{n}") for n in range(3)}
    before = {device: [end for end in its if end < back][-1] for device, its in ends.items()}
    assert before == {"gpu:0": 15.0, "gpu:1": 6.0, "gpu:2": 16.0}, "ten edits each, and the suspect"
    assert {its[-1] for its in ends.values()} == {back + 3.0}, "what waited for it is then everybody's"


def test_a_sample_that_fails_on_two_devices_speaks_against_neither() -> None:
    """Eight bad samples and nothing else in each of three phases, on two devices: five in a row of each."""
    case = Case(0, 2, lambda model, message: Fate(1.0, "dies"))
    for unit in range(24):
        case.work.add("edit:m", [unit], phase=unit // 8)
    case.run()
    assert set(case.notes.set_aside) == set(range(24))
    assert not retired(case)
    assert not any(case.engine._blame._failures.values())


def retired(case: Case) -> list[str]:
    return [fields["replica"] for name, fields in case.notes.events if name == "retired"]


def test_the_last_device_is_not_given_up_for_bad_samples() -> None:
    case = Case(30, 1, lambda model, message: Fate(1.0, "dies" if message["units"][0] < 8 else "done")).run()
    assert set(case.notes.set_aside) == set(range(8))
    assert sorted(case.notes.finished) == list(range(8, 30))
    assert not retired(case)


def test_only_failures_in_a_row_give_up_a_device() -> None:
    """A third of the tasks die at their first attempt, on either device."""
    seen: set[int] = set()

    def task(model: str, message: Message) -> Fate:
        unit = message["units"][0]
        dies = unit % 3 == 0 and unit not in seen
        seen.add(unit)
        return Fate(1.0, "dies" if dies else "done")

    case = Case(60, 2, task).run()
    assert sorted(case.notes.finished) == list(range(60))
    assert not retired(case)


def test_samples_that_are_proven_bad_give_up_no_device() -> None:
    """Phase after phase of nothing but bad samples: each is set aside at its second attempt, and so acquits."""
    case = Case(0, 2, lambda model, message: Fate(1.0, "dies"))
    for unit in range(20):
        case.work.add("edit:m", [unit], phase=unit // 4)
    case.run()
    assert set(case.notes.set_aside) == set(range(20))
    assert not retired(case)


def test_a_task_in_the_hands_of_a_worker_that_died_idle_keeps_both_its_attempts() -> None:
    failed: set[int] = set()

    class Driver(SimulatedDriver):
        def _begin(self, number: int, worker: Any) -> None:
            if number > 1:
                super()._begin(number, worker)
            elif len(worker.queue) == 2:
                self._later(0.0, number, {"event": "died", "reason": "nobody knows"})

    def task(model: str, message: Message) -> Fate:
        unit = message["units"][0]
        first = unit not in failed
        failed.add(unit)
        return Fate(1.0, "failed" if first else "done")

    case = Case(4, 1, task)
    case.engine._driver = Driver(load=lambda model, device: 1.0, task=task)
    case.run()
    assert next(fields["reason"] for name, fields in case.notes.events if name == "died") == "nobody knows"
    assert sorted(case.notes.finished) == list(range(4))
    assert not case.notes.set_aside


def test_only_deaths_of_idle_workers_in_a_row_give_up_a_device() -> None:
    """Of each four workers three die before they begin anything, and the fourth after its first task."""
    worked: set[int] = set()

    class Driver(SimulatedDriver):
        def _begin(self, number: int, worker: Any) -> None:
            if number % 4 == 0 and number not in worked:
                worked.add(number)
                super()._begin(number, worker)
            elif worker.queue and not worker.running:
                self._later(0.0, number, {"event": "died", "reason": "nobody knows"})

    fate = lambda model, message: Fate(1.0)  # noqa: E731
    case = Case(8, 1, fate)
    case.engine._driver = Driver(load=lambda model, device: 1.0, task=fate)
    case.run()
    assert sorted(case.notes.finished) == list(range(8))
    assert not case.notes.set_aside
    assert len(worked) == 8
    assert not retired(case)


def test_out_of_memory_on_the_only_device_is_final_and_names_what_would_help() -> None:
    class Driver(SimulatedDriver):
        def _later(self, seconds: float, worker: int, message: Message) -> None:
            if message["event"] == "failed":
                message = {**message, "kind": "out_of_memory", "memory": {"device_peak": 78 * 2**30}}
            super()._later(seconds, worker, message)

    def task(model: str, message: Message) -> Fate:
        return Fate(1.0, "failed" if message["units"] == (1,) else "done", "OutOfMemoryError: CUDA out of memory")

    case = Case(4, 1, task)
    case.engine._driver = Driver(load=lambda model, device: 1.0, task=task)
    case.run()
    assert set(case.notes.set_aside) == {1}
    assert "78.0 GiB" in case.notes.set_aside[1]
    assert "offload: model" in case.notes.set_aside[1]


def test_the_timeline_adds_up() -> None:
    case = Case(12, 2, lambda model, message: Fate(2.0)).run()
    for device in ("gpu:0", "gpu:1"):
        spans = sorted((a.begin, a.end) for a in case.notes.activities if a.device == device)
        assert all(later[0] >= earlier[1] - 1e-6 for earlier, later in itertools.pairwise(spans))
    assert sum(a.end - a.begin for a in case.notes.activities if a.kind == "editing") == pytest.approx(24.0)
    assert sum(a.end - a.begin for a in case.notes.activities if a.kind == "loading") == pytest.approx(10.0)


def test_what_is_only_being_written_is_not_blamed_for_the_death_of_its_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Task 0 is computed and being written when task 1 kills the process: only task 1 is charged."""

    class Driver(SimulatedDriver):
        def _begin(self, number: int, worker: Any) -> None:
            while worker.queue and worker.running < 1:
                message = worker.queue.popleft()
                task, unit = message["task"], message["units"][0]
                self._later(0.0, number, {"event": "started", "task": task})
                if unit == 1:
                    self._later(1.0, number, {"event": "died", "reason": "segfault"})
                else:  # two seconds to compute, two more to write, while the next one computes
                    done = {"event": "done", "task": task, "results": (), "seconds": 2.0}
                    self._later(4.0, number, done)
                    self._later(2.0, number, {"event": "step", "task": task, "step": 1, "steps": 1})
                    worker.running += 1

        def poll(self, seconds: float) -> Any:
            now, events = super().poll(seconds)
            for event in events:
                worker = self._workers.get(event.worker)
                if event.message["event"] == "step" and worker is not None:
                    worker.running = 0
                    self._begin(event.worker, worker)
            return now, events

    fate = lambda model, message: Fate(1.0)  # noqa: E731 (the driver above decides)
    case = Case(6, 1, fate)
    case.engine._driver = Driver(load=lambda model, device: 1.0, task=fate)
    charged, charge = set(), case.engine._blame.charge
    note = lambda replica, task, reason: charged.add(task.units) or charge(replica, task, reason)  # noqa: E731
    monkeypatch.setattr(case.engine._blame, "charge", note)
    case.run()
    assert set(case.notes.set_aside) == {1}
    assert sorted(set(case.notes.finished)) == [0, 2, 3, 4, 5]
    assert charged == {(1,)}


def test_of_the_tasks_that_a_broken_worker_fails_before_its_end_one_is_charged() -> None:
    """A server that is gone fails whatever is in its worker's hands, sooner than the worker can be ended."""
    failed: Counter[int] = Counter()
    handed: dict[int, Message] = {}

    class Driver(SimulatedDriver):
        def _later(self, seconds: float, worker: int, message: Message) -> None:
            super()._later(seconds, worker, {**message, "kind": "device"} if message["event"] == "failed" else message)

        def kill(self, worker: int) -> None:
            if handed[worker]["units"] != (0,):  # what it had in hands beside the one that has failed
                failed[handed[worker]["units"][0]] += 1
                gone = {"event": "failed", "task": handed[worker]["task"], "error": "gone", "trace": ""}
                self._later(0.0, worker, gone)
            super().kill(worker)

        def submit(self, worker: int, message: Message) -> None:
            if message["do"] == "run":
                handed[worker] = message
            super().submit(worker, message)

    def task(model: str, message: Message) -> Fate:
        (unit,) = message["units"]
        tried[unit] += 1
        return Fate(1.0, "failed" if tried[unit] == 1 + bool(failed[unit]) and unit < 2 else "done")

    tried: Counter[int] = Counter()
    case = Case(4, 1, task)
    case.engine._driver = Driver(load=lambda model, device: 1.0, task=task)
    case.run()
    assert failed[1] == 1
    assert tried[1] == 3, "begun by the worker that was ended, failed by its own fault, done"
    assert sorted(case.notes.finished) == list(range(4))
    assert not case.notes.set_aside


class FaultyDevices(PlacedDriver):
    """Whatever fails does so for a fault of its device, in the words `says`."""

    says = "RuntimeError: CUDA error: uncorrectable ECC error encountered"

    def _later(self, seconds: float, worker: int, message: Message) -> None:
        failed = {"kind": "device", "error": self.says} if message["event"] == "failed" else {}
        super()._later(seconds, worker, message | failed)


def on_faulty_devices(case: Case, task: Any, says: str = FaultyDevices.says) -> Case:
    case.engine._driver = driver = FaultyDevices(load=lambda model, device: 1.0, task=task)
    driver.says = says
    return case


@pytest.mark.parametrize("devices", [1, 2, 6])
@pytest.mark.parametrize("units", [1, 2])
@pytest.mark.parametrize("before", [0, 9])
def test_with_every_device_broken_nothing_is_given_up(devices: int, units: int, before: int) -> None:
    done: list[int] = []

    def task(model: str, message: Message) -> Fate:
        if len(done) >= before:
            return Fate(1.0, "failed")
        done.extend(message["units"])
        return Fate(1.0)

    case = on_faulty_devices(Case(40, devices, task, units=units), task)
    with pytest.raises(Stopped, match="rerun the same command") as stopped:
        case.run()
    assert "--retry" not in str(stopped.value)
    assert case.notes.set_aside == {}
    assert case.notes.finished == done


@pytest.mark.parametrize("broken", [1, 2, 5])
def test_while_one_device_works_all_is_done_there(broken: int) -> None:
    bad = {f"gpu:{number}" for number in range(broken)}

    def task(model: str, message: Message) -> Fate:
        return Fate(1.0, "failed" if message["device"] in bad else "done")

    case = on_faulty_devices(Case(30, 6, task), task).run()
    assert case.notes.set_aside == {}
    assert sorted(case.notes.finished) == list(range(30))


@pytest.mark.parametrize("devices", [1, 3])
def test_a_sample_that_fails_on_devices_which_work_is_given_up(devices: int) -> None:
    def task(model: str, message: Message) -> Fate:
        return Fate(1.0, "failed" if message["units"][0] in (0, 7) else "done")

    case = on_faulty_devices(Case(20, devices, task), task).run()
    assert set(case.notes.set_aside) == {0, 7}
    alone = on_faulty_devices(Case(1, devices, task), task).run()
    assert set(alone.notes.set_aside) == {0}, "of one alone nobody can tell, and a rerun would not"


def test_what_a_kernel_refuses_is_no_fault_of_the_device() -> None:
    task = lambda model, message: Fate(1.0, "failed")  # noqa: E731
    case = on_faulty_devices(Case(4, 2, task), task, "RuntimeError: CUDA error: device-side assert triggered").run()
    assert set(case.notes.set_aside) == set(range(4))


def test_a_load_that_nobody_needs_any_more_is_not_waited_for() -> None:
    """gpu:1 takes long to load, and gpu:0 has done everything meanwhile. A worker that loads hears nothing."""

    class Driver(SimulatedDriver):
        def submit(self, worker: int, message: Message) -> None:
            if message["do"] != "stop" or self._workers[worker].device != "gpu:1":
                super().submit(worker, message)

    case = Case(4, 2, lambda model, message: Fate(1.0), load=lambda model, device: 1.0 if device == "gpu:0" else 40.0)
    case.engine._driver = Driver(
        load=case.engine._driver._load,  # type: ignore[attr-defined]
        task=lambda model, message: Fate(1.0),
    )
    case.run()
    assert sorted(case.notes.finished) == list(range(4))
    assert case.engine.now < 10
    loads = [(a.device, a.end - a.begin, a.what) for a in case.notes.activities if a.kind == "loading"]
    assert loads == [("gpu:0", 1.0, ""), ("gpu:1", pytest.approx(5.0), "no longer needed")]
    assert not [name for name, _ in case.notes.events if name in ("died", "retired")]


@pytest.mark.parametrize("said", ["prepared", "loaded"])
def test_what_was_said_before_the_end_was_heard_of_brings_nobody_back(said: str) -> None:
    """The last task ends at the very moment at which another device is ready."""

    class Driver(SimulatedDriver):
        def kill(self, worker: int) -> None:
            message = {"event": said, "capacity": 1, "seconds": 1.0, "about": {}, "memory": {}}
            self._later(0.0, worker, message)
            super().kill(worker)

    case = Case(2, 2, lambda model, message: Fate(1.0), load=lambda model, device: 1.0 if device == "gpu:0" else 40.0)
    case.engine._driver = Driver(
        load=case.engine._driver._load,  # type: ignore[attr-defined]
        task=lambda model, message: Fate(1.0),
    )
    case.run()
    policy = case.engine._policy
    fleet = policy._fleet
    assert sorted(case.notes.finished) == [0, 1]
    assert not policy.has_processes
    assert (fleet._loading.total(), fleet.coming, fleet.active) == (0, {"edit:m": 0}, {"edit:m": 0})


def test_a_worker_that_was_idle_for_longer_than_its_timeout_is_not_silent_when_it_gets_work() -> None:
    """The judge waits 100 s for its edits, and then gets two batches at once."""
    editor, judge = Model("e", "edit", (("gpu:0",),)), Model("j", "judge", (("gpu:1",),))
    seconds = {editor.key: 100.0, judge.key: 9.0}
    work, driver = Work(), SimulatedDriver(load=lambda *_: 5.0, task=lambda model, _: Fate(seconds[model]))
    policy = Policy([editor, judge], work, Estimates())
    work.add(editor.key, [0])
    for unit in range(6):
        work.add(judge.key, [unit], after=[0])
    notes = Notes(work)
    notes.record_results = lambda task, *_: work.settle(0) if task.model == editor.key else None
    models = (editor, judge)
    seconds = {editor.key: 500.0, judge.key: 20.0}
    specifications = {
        (m.key, m.places[0]): WorkerSpecification("w", m.key, m.places[0], "", timeout=seconds[m.key]) for m in models
    }
    Engine(driver, policy, work, notes, Silence(), specifications, poll_seconds=1.0).run()
    assert work.is_finished
    assert not [fields for name, fields in notes.events if name == "died"]


def test_a_run_that_ends_stops_those_whose_orders_were_held() -> None:
    """The second device waits for money that the first has; then the run ends, with its order never given."""
    case = Case(4, 2, lambda model, message: Fate(1.0))
    price = Price(usual=0.05, most=0.05)
    case.engine._purse = CostBudget({"edit:m": price}, 0.05, (), case.notes.event)
    done = case.notes.record_results

    def end(task: Task, message: dict[str, Any], device: str) -> None:
        done(task, message, device)
        case.engine.begin_nothing_more("the pilot failed")

    case.notes.record_results = end
    with pytest.raises(Stopped, match="the pilot failed"):
        case.run()
    assert len(case.notes.finished) == 1


@pytest.mark.parametrize("devices", [1, 3])
def test_a_load_that_once_finds_no_memory_is_tried_again(devices: int) -> None:
    """On all of them at once, too: a run that was killed may still be freeing it."""
    tried: Counter[str] = Counter()

    def load(model: str, device: str) -> Any:
        tried[device] += 1
        return Fate(1.0, "failed", "CUDA out of memory", "out_of_memory") if tried[device] == 1 else 5.0

    case = Case(30, devices, lambda model, message: Fate(9.0), load=load).run()
    assert sorted(case.notes.finished) == list(range(30))
    assert not retired(case)
    assert set(tried.values()) == {2}


@pytest.mark.parametrize(
    ("users", "frees", "tries"), [([], 0, 2), (["4321 python (70.0 GiB)"], 0, 4), ([], 1 << 30, 4)]
)
def test_a_load_that_never_finds_memory_says_who_has_it_and_what_would_help(
    users: list[str], frees: int, tries: int
) -> None:
    """While others hold it, or it is still being freed, it is tried for a minute."""
    tried: Counter[str] = Counter()

    def load(model: str, device: str) -> Any:
        tried[device] += 1
        return Fate(1.0, "failed", "CUDA out of memory", "out_of_memory", frees * tried[device])

    case = Case(3, 2, lambda model, message: Fate(1.0), load=load)
    case.engine._users = lambda devices: users
    with pytest.raises(Stopped, match="offload: model, or devices_per_replica: 2 needs less") as stopped:
        case.run()
    assert set(tried.values()) == {tries}
    assert all(user in str(stopped.value) for user in users)
    assert case.notes.set_aside == {}
