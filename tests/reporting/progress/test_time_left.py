"""The prediction of the time left, against cases that can be worked out by hand."""

from __future__ import annotations

import pytest

from edit_eval.reporting.progress.time_left import Demand, TimeLeft, time_left

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
