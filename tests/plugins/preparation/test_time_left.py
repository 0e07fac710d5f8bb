"""The prediction of the time left, against cases that can be worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from edit_eval.plugins.preparation import simulation as simulation_module
from edit_eval.plugins.preparation.simulation import Demand, Elapsed, TimeLeft, rest_of_a_run, time_left
from edit_eval.scheduling.estimates import Estimates
from edit_eval.scheduling.fleet import ReplicaState
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.tasks import Model, Work

A, B, C = (frozenset({f"cuda:{n}"}) for n in range(3))


@pytest.mark.parametrize(
    ("demands", "expected"),
    [
        ([], TimeLeft(0.0)),
        ([Demand("edit", A, 0, 10.0)], TimeLeft(0.0)),
        ([Demand("edit", A, 3, None)], TimeLeft(None, ("edit",))),
        ([Demand("edit", A, 3, 10.0)], TimeLeft(30.0)),
        ([Demand("edit", A | B, 3, 10.0)], TimeLeft(15.0)),
        # The last edit is not divided.
        ([Demand("edit", A | B, 1, 10.0, longest=9.0)], TimeLeft(9.0)),
        # The judge follows on the same devices, and each of them has to load it.
        ([Demand("edit", A | B, 4, 10.0), Demand("judge", A | B, 10, 2.0, load=7.0)], TimeLeft(37.0)),
        # A split: both work at once, the longer one counts.
        ([Demand("edit", A, 4, 10.0), Demand("judge", B, 10, 2.0)], TimeLeft(40.0)),
        # The edit model has two devices of its own, the judge may use all: it evens out ...
        ([Demand("edit", A | B, 3, 10.0), Demand("judge", A | B | C, 15, 2.0)], TimeLeft(20.0)),
        # ... unless one of them is a bottleneck by itself.
        ([Demand("edit", A, 9, 10.0), Demand("judge", A | B | C, 15, 2.0)], TimeLeft(90.0)),
        ([Demand("edit", A, 4, 10.0), Demand("judge", A, 9, None)], TimeLeft(40.0, ("judge",))),
        # Every replica was given up.
        ([Demand("edit", frozenset(), 4, 10.0)], TimeLeft(0.0)),
    ],
)
def test_time_left(demands: list[Demand], expected: TimeLeft) -> None:
    estimate = time_left(demands)
    assert estimate.missing == expected.missing
    assert estimate.seconds == (None if expected.seconds is None else pytest.approx(expected.seconds))


def test_many_models_are_looked_at_in_no_time() -> None:
    demands = [Demand("edit", A | B, 1, 1.0) for _ in range(40)]
    assert time_left(demands).seconds == pytest.approx(20.0)


PLACES = (("cuda:0",), ("cuda:1",))
BOTH = [Model("e", "edit", PLACES), Model("j", "judge", PLACES)]
LOAD, EDIT, JUDGE = 10.0, 4.0, 0.5


def begun(
    layout: list[Model], edits: int, judgements: int, capacity: int = 1, **more: Any
) -> tuple[Work, Estimates, Policy]:
    """So much is left, the first models have just been loaded, and each has its first tasks in hand."""
    work, estimates = Work(), Estimates()
    policy = Policy(layout, work, estimates, **more)
    for model in layout:
        estimates.unit[model.key].add(EDIT if model.kind == "edit" else JUDGE)
        estimates.load[model.key].add(LOAD)
    for model in layout:
        is_edit = model.kind == "edit"
        for number in range(edits if is_edit else judgements):
            work.add(model.key, [number], after=[] if is_edit or not edits else [number % edits])
    policy.begin()
    for replica in policy.replicas:
        if replica.state is ReplicaState.PREPARING:
            policy.report_prepared(replica)
    for replica in policy.replicas:
        if replica.state is ReplicaState.LOADING:
            policy.report_loaded(replica, LOAD, capacity)
    return work, estimates, policy


def bound(work: Work, estimates: Estimates, policy: Policy, monkeypatch: pytest.MonkeyPatch) -> float | None:
    """What is told of a run that is too long to be simulated."""
    monkeypatch.setattr(simulation_module, "MOST_SIMULATED", 0)
    return rest_of_a_run(work, estimates, policy).seconds


def test_the_rest_of_a_run_is_what_its_devices_do_with_the_loads_that_are_still_to_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = begun(BOTH, 10, 20)
    # One device leaves after three edits, loads until 22 s and judges alone; the other one edits until 28 s.
    assert rest_of_a_run(*run).seconds == 3 * EDIT + LOAD + 20 * JUDGE
    assert bound(*run, monkeypatch) == (10 * EDIT + 2 * LOAD + 20 * JUDGE) / 2
    assert rest_of_a_run(*begun(BOTH, 0, 0)).seconds == 0.0


@pytest.mark.parametrize("schedule", ["pull", "round_robin"])
def test_what_is_dealt_out_is_not_shared(schedule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of eight edits those with even numbers belong to one device, and the other's are done."""
    work, estimates, policy = begun(BOTH[:1], 8, 0, schedule=schedule)
    for number in (1, 3, 5, 7):
        other = (
            policy.replicas_of("edit:e")[1]
            if schedule == "round_robin"
            else policy.replicas_of("edit:e")[number // 2 % 2]
        )
        task = next(iter(other.hands.values()))
        policy.report_done(other, task, EDIT)
    assert rest_of_a_run(work, estimates, policy).seconds == (16.0 if schedule == "round_robin" else 8.0)
    assert bound(work, estimates, policy, monkeypatch) == 8.0


def test_what_has_been_under_way_for_a_while_takes_less() -> None:
    work, estimates, policy = begun(BOTH[:1], 2, 0, schedule="round_robin")
    (first,), (second,) = (replica.hands for replica in policy.replicas_of("edit:e"))
    assert rest_of_a_run(work, estimates, policy).seconds == EDIT
    assert rest_of_a_run(work, estimates, policy, Elapsed(tasks={first: 3.0, second: 1.0})).seconds == EDIT - 1.0
    assert rest_of_a_run(work, estimates, policy, Elapsed(tasks={first: 9.0, second: 9.0})).seconds == 0.0


def test_asking_changes_nothing() -> None:
    work, estimates, policy = begun(BOTH, 10, 20)
    once = rest_of_a_run(work, estimates, policy)
    assert (work.units_left("edit:e"), work.units_left("judge:j"), estimates.unit["edit:e"].count) == (10, 20, 1)
    assert rest_of_a_run(work, estimates, policy) == once


def test_a_server_that_answers_several_at_a_time_takes_less(monkeypatch: pytest.MonkeyPatch) -> None:
    run = begun(BOTH[1:], 0, 40, capacity=8)
    assert rest_of_a_run(*run).seconds == pytest.approx(40 * JUDGE / 8 / 2, abs=JUDGE)
    assert bound(*run, monkeypatch) == 40 * JUDGE / 8 / 2


def test_of_what_nobody_has_seen_no_time_is_told() -> None:
    work, estimates = Work(), Estimates()
    policy = Policy(BOTH, work, estimates)
    work.add("edit:e", [0])
    assert rest_of_a_run(work, estimates, policy) == TimeLeft(None, ("edit",))
