"""The prediction of the time left, against cases that can be worked out by hand."""

from __future__ import annotations

import pytest

from edit_eval.scheduling.estimates import Estimates
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.replicas import State
from edit_eval.scheduling.tasks import Model, Work
from edit_eval.scheduling.time_left import Demand, TimeLeft, rest_of_a_run, time_left

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
    found = time_left(demands)
    assert found.missing == expected.missing
    assert found.seconds == (None if expected.seconds is None else pytest.approx(expected.seconds))


def test_many_models_are_looked_at_in_no_time() -> None:
    demands = [Demand("edit", A | B, 1, 1.0) for _ in range(40)]
    assert time_left(demands).seconds == pytest.approx(20.0)


def left(layout: list[Model], edits: int, judgements: int, *loaded: str, capacity: int = 1) -> float | None:
    """So much is left, an edit takes 4 s, a judgement 0.5 s, and each load 10 s."""
    work, estimates = Work(), Estimates()
    policy = Policy(layout, work, estimates)
    for model in layout:
        for number in range(edits if model.kind == "edit" else judgements):
            work.add(model.key, [number])
        estimates.unit[model.key].add(4.0 if model.kind == "edit" else 0.5)
        estimates.load[model.key].add(10.0)
        for replica in policy.of(model.key):
            if model.key in loaded:
                replica.state, replica.capacity = State.LOADED, capacity
    return rest_of_a_run(work, estimates, policy).seconds


PLACES = (("cuda:0",), ("cuda:1",))
BOTH = [Model("e", "edit", PLACES), Model("j", "judge", PLACES)]


def test_the_rest_of_a_run_is_what_its_devices_share_with_the_loads_that_are_still_to_come() -> None:
    assert left(BOTH, 10, 20, "edit:e") == (10 * 4.0 + 2 * 10.0 + 20 * 0.5) / 2
    assert left(BOTH, 10, 20, "edit:e", "judge:j") == (10 * 4.0 + 20 * 0.5) / 2
    assert left(BOTH, 0, 0) == 0.0


def test_a_server_that_answers_several_at_a_time_takes_less() -> None:
    assert left(BOTH[1:], 0, 40, "judge:j", capacity=8) == 40 * 0.5 / 8 / 2


def test_of_what_nobody_has_seen_no_time_is_told() -> None:
    work, estimates = Work(), Estimates()
    policy = Policy(BOTH, work, estimates)
    work.add("edit:e", [0])
    assert rest_of_a_run(work, estimates, policy) == TimeLeft(None, ("edit",))
