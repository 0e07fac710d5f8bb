"""A rule without words, on simulated devices: whatever is drawn, exactly the bad samples are set aside.

Words are unknown on purpose: nothing but what happens next tells a process that was broken by an accident from tasks
that are bad, and a device that is broken from both.
"""

import random
from collections import Counter
from typing import Any

import pytest

from edit_eval.workers.messages import Message
from execution.engine.simulated_case import Case
from simulated_driver import Fate, SimulatedDriver

BUG, ACCIDENT, BROKEN = "IndexError: index 7 is out of range", "Xyz: no such thing at 0x7f3a2b", "Xyz: gone"


class Processes(SimulatedDriver):
    """Tells a task's fate in which process and on which device it runs."""

    def submit(self, worker: int, message: Message) -> None:
        there = self._workers.get(worker)
        super().submit(worker, {**message, "worker": worker, "device": there.device if there else ""})


class Drawn:
    """A run with the faults that a seed draws."""

    def __init__(
        self, seed: int, *, every: int = 0, accidents: float = 0.0, broken: bool = False, kind: str = "exception"
    ) -> None:
        """`every` so many units is bad; so many tasks, a process's first apart, break it, and one process at a time."""
        draw = self.draw = random.Random(seed)
        self.count, self.devices = draw.randrange(30, 90), draw.choice([2, 3, 6] if broken else [1, 2, 3, 6])
        self.bad = set(range(draw.randrange(every), self.count, every)) if every else set[int]()
        self.broken = "gpu:0" if broken else ""
        self.accidents, self.kind = accidents, kind
        self.poisoned, self.done, self.started = set[int](), Counter[int](), Counter[str]()
        self.case = Case(self.count, self.devices, self.fate, units=1 if broken or every == 3 else draw.choice([1, 2]))
        self.driver = self.case.engine._driver = Processes(load=lambda model, device: self.load(device), task=self.fate)

    def load(self, device: str) -> float:
        self.started[device] += 1
        return 5.0

    def fate(self, model: str, message: Message) -> Fate:
        worker, seconds = message["worker"], self.draw.uniform(0.5, 3.0)
        if message["device"] == self.broken and self.done.total() > 5:
            return Fate(seconds, "failed", BROKEN)
        alive = self.poisoned & self.driver._workers.keys()
        if self.done[worker] and not alive and self.draw.random() < self.accidents:
            self.poisoned.add(worker)
        if worker in self.poisoned:
            return Fate(seconds, "failed", f"{ACCIDENT}{self.draw.randrange(99)}", self.kind)
        if self.bad & set(message["units"]):
            return Fate(seconds, "failed", BUG)
        self.done[worker] += 1
        return Fate(seconds)

    def run(self) -> Any:
        self.case.run()
        assert set(self.case.notes.set_aside) == self.bad
        assert sorted(self.case.notes.finished) == sorted(set(range(self.count)) - self.bad)
        return self

    @property
    def retired(self) -> list[str]:
        return [fields["replica"].split()[-1] for name, fields in self.case.notes.events if name == "retired"]


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("kind", ["exception", "out_of_memory"])
def test_an_accident_in_a_process_costs_no_sample(seed: int, kind: str) -> None:
    drawn = Drawn(seed, accidents=0.04, kind=kind).run()
    assert not drawn.retired


@pytest.mark.parametrize("seed", range(30))
def test_a_bug_at_every_third_sample_costs_no_device_and_two_processes_at_most(seed: int) -> None:
    drawn = Drawn(seed, every=3).run()
    assert not drawn.retired
    assert drawn.started.total() <= drawn.devices + 2


@pytest.mark.parametrize("seed", range(30))
def test_both_at_once(seed: int) -> None:
    drawn = Drawn(seed, every=random.Random(seed).choice([3, 7]), accidents=0.03).run()
    assert not drawn.retired


@pytest.mark.parametrize("seed", range(30))
def test_what_fails_on_one_device_alone_convicts_that_device(seed: int) -> None:
    drawn = Drawn(seed, every=random.Random(seed).choice([0, 5]), broken=True).run()
    assert set(drawn.retired) <= {"gpu:0"}


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("bad", [1, 2])
def test_so_few_bad_samples_are_tried_twice_each_wherever_they_stand(seed: int, bad: int) -> None:
    drawn = Drawn(seed, every=3)
    late = drawn.count - 4 if seed % 2 else 0  # where nothing may be done after them
    drawn.bad = set(drawn.draw.sample(range(late, drawn.count), bad))
    drawn.run()
    tries = [fields["error"] for name, fields in drawn.case.notes.events if name == "attempt"]
    assert tries == [BUG] * 2 * bad
    assert drawn.started.total() <= drawn.devices + 1
