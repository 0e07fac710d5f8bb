"""What a run will take: sums that can be done by hand, and a bound that holds."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from edit_eval.plugins.preparation.prediction import Durations, Prediction, lower_bound
from edit_eval.records import Refinement
from edit_eval.scheduling.tasks import Model
from imagined_tasks import simulated, tasks_of

LOAD, EDIT, JUDGE_LOAD, JUDGE = 10.0, 4.0, 6.0, 0.5


ROUNDS: dict[str, Any] = {
    "refinements": {
        "e0@2": Refinement(edit_model="e0", judge="j", before="e0", round=2),
        "e0@3": Refinement(edit_model="e0", judge="j", before="e0@2", round=3, source="last"),
    }
}


def models(devices: int = 1, width: int = 1, editors: int = 1) -> list[Model]:
    places = tuple(tuple(f"cuda:{i + k}" for k in range(width)) for i in range(0, devices, width))
    return [*(Model(f"e{n}", "edit", places) for n in range(editors)), Model("j", "judge", places)]


def durations(layout: list[Model], **more: Any) -> Durations:
    load = {m.key: LOAD if m.kind == "edit" else JUDGE_LOAD for m in layout}
    unit = {m.key: EDIT if m.kind == "edit" else JUDGE for m in layout}
    return Durations(load, unit, **more)


def run(layout: list[Model], samples: int, known: bool = False, **more: Any) -> Prediction:
    categories = [("physical", "social")[n % 2] for n in range(samples)]
    timing = durations(layout, known=known, capacity=more.pop("capacity", {}))
    return simulated(layout, categories, timing, keep_activities=True, **more)


@pytest.mark.parametrize(
    ("more", "edits", "judgements", "loads"),
    [
        ({}, 12, 12, 16),
        ({"batch_size": 5}, 12, 12, 16),
        ({"edit_seeds": 3}, 36, 36, 16),
        ({"repeats": 4}, 12, 48, 16),
        ({"edit_seeds": 2, "repeats": 2}, 24, 48, 16),
        ({"order": "by_category"}, 12, 12, 32),
        ({"schedule": "round_robin"}, 12, 12, 16),
        ({"schedule": "batch_sync"}, 12, 12, 16),
        ({"placement": "together"}, 12, 12, 10),  # the judge's load lies beside the edit model's
        ({"pilot": True}, 12, 12, 32),  # editing, judging, editing, judging
        ({**ROUNDS}, 36, 36, 48),  # three rounds: editing, judging, editing, ...
        ({**ROUNDS, "schedule": "batch_sync", "batch_size": 4, "edit_seeds": 2}, 72, 72, 48),
        ({"capacity": {"judge:j": 4}}, 12, 3, 16),  # four answers in the time of one
        ({"capacity": {"judge:j": 4}, "batch_size": 3, "repeats": 2}, 12, 6, 16),  # eight batches, in two rounds
    ],
)
def test_one_device_does_one_thing_after_the_other(
    more: dict[str, Any], edits: int, judgements: int, loads: float
) -> None:
    result = run(models(), 12, **more)
    assert result.makespan == pytest.approx(edits * EDIT + judgements * JUDGE + loads)
    assert result.busy == {"cuda:0": pytest.approx(edits * EDIT + judgements * JUDGE)}
    assert result.idle_share == pytest.approx(1 - result.busy["cuda:0"] / result.makespan)


def test_seeds_are_edits_of_their_own_that_every_device_can_take() -> None:
    """Not one longer edit: a sample with four seeds keeps four devices busy."""
    result = run(models(4), 1, edit_seeds=4)
    assert {a.device for a in result.activities if a.kind == "editing"} == {f"cuda:{n}" for n in range(4)}
    assert result.makespan < LOAD + 2 * EDIT + JUDGE_LOAD + 4 * JUDGE


def test_two_edit_models_are_loaded_and_judged_one_after_the_other() -> None:
    result = run(models(editors=2), 6)
    assert result.makespan == pytest.approx(2 * LOAD + 12 * EDIT + JUDGE_LOAD + 12 * JUDGE)


def test_a_pilot_that_would_be_all_there_is_is_left_out() -> None:
    assert run(models(), 3, pilot=True).makespan == run(models(), 3).makespan
    assert run(models(), 4, pilot=True).makespan > run(models(), 4).makespan


@pytest.mark.parametrize("schedule", ["pull", "batch_sync"])
def test_nobody_waits_for_the_device_that_is_away_for_the_pilot(schedule: str) -> None:
    """Two loads of one device in six, and what it would have done meanwhile; not six times as much.

    With `batch_sync` what is dealt to it waits for it, so that it is done by so much later than the others.
    """
    layout = models(6)
    timing = durations(layout, known=True)
    with_, without = (
        simulated(layout, ["a", "b", "c"] * 30, timing, schedule=schedule, pilot=pilot).makespan
        for pilot in (True, False)
    )
    away = LOAD + JUDGE_LOAD + 3 * JUDGE
    assert with_ - without < (away if schedule == "batch_sync" else away / 6) + 2 * EDIT


def test_a_replica_on_two_devices_keeps_both_busy() -> None:
    result = run(models(4, width=2), 8)
    assert len(set(result.busy.values())) <= 2
    assert sum(result.busy.values()) == pytest.approx(2 * (8 * EDIT + 8 * JUDGE))


def test_the_same_seed_is_the_same_run_and_the_same_work_under_every_schedule() -> None:
    layout = models(3)
    jittered = durations(layout, jitter=0.3)
    work = {}
    for schedule in ("pull", "round_robin", "batch_sync"):
        once, again = (simulated(layout, ["a"] * 30, jittered, schedule=schedule, seed=5) for _ in range(2))
        assert (once.makespan, once.busy) == (again.makespan, again.busy)
        work[schedule] = sum(once.busy.values())
    assert work["pull"] == pytest.approx(work["round_robin"]) == pytest.approx(work["batch_sync"])
    assert simulated(layout, ["a"] * 30, jittered, seed=6).makespan != once.makespan


def test_activities_are_what_the_devices_did() -> None:
    result = run(models(2), 8)
    for device, busy in result.busy.items():
        spans = [a.end - a.begin for a in result.activities if a.device == device and a.kind in ("editing", "judging")]
        assert sum(spans) == pytest.approx(busy)
    assert max(a.end for a in result.activities) <= result.makespan


@pytest.mark.parametrize("placement", ["swap", "together"])
@pytest.mark.parametrize("at_once", [1, 2, None])
def test_a_load_lasts_from_its_order_to_its_end(at_once: int | None, placement: str) -> None:
    """Not from the start of its process, and not while others load: four loads in turn are not 1, 2, 3 and 4 long."""
    layout = models(4)
    keys = [model.key for model in layout]
    timing = durations(layout, prepare=dict.fromkeys(keys, 2.0), unload=dict.fromkeys(keys, 0.5))
    more: dict[str, Any] = {"placement": placement, "load_concurrency": at_once}
    activities = simulated(layout, ["a"] * 40, timing, keep_activities=True, **more).activities
    loads = [activity for activity in activities if activity.kind == "loading" and not activity.what]
    assert {(load.role, round(load.end - load.begin, 9)) for load in loads} == {("edit", LOAD), ("judge", JUDGE_LOAD)}
    assert max(sum(b.begin <= a.begin < b.end for b in loads) for a in loads) <= (at_once or 8)
    assert {activity.end - activity.begin for activity in activities if activity.kind == "starting"} == {2.0}
    started = {(activity.device, activity.role, activity.end) for activity in activities if activity.kind == "starting"}
    assert all(any(s[:2] == (load.device, load.role) and s[2] <= load.begin for s in started) for load in loads)


def test_nothing_to_do_takes_no_time() -> None:
    result = run(models(), 0)
    assert (result.makespan, result.idle_share) == (0.0, 0.0)


# -- the bound --


def bound(layout: list[Model], samples: int, swap: bool = True, **more: Any) -> float:
    return lower_bound(layout, tasks_of(layout, ["a"] * samples, **more), durations(layout), swap=swap)


def test_the_bound_is_all_work_a_load_a_device_and_one_of_the_judge() -> None:
    layout = models(4)
    assert bound(layout, 100) == pytest.approx((400 + 50 + 4 * LOAD + JUDGE_LOAD) / 4)
    assert bound(layout, 100, swap=False) == pytest.approx((400 + 50 + 4 * LOAD) / 4)
    usual, further = (
        bound(layout, 100, controls=8, more_controls={f"c{k}": ("", "") for k in range(n)}) for n in (0, 3)
    )
    assert further - usual == pytest.approx(usual - bound(layout, 100)), "three more, as many again"
    assert bound(layout, 100, edit_seeds=2, repeats=3) == pytest.approx((800 + 300 + 4 * LOAD + JUDGE_LOAD) / 4)
    assert bound(models(4, editors=2), 100) == pytest.approx((800 + 100 + 4 * LOAD + JUDGE_LOAD) / 4)
    assert bound(models(4, width=2), 100) == pytest.approx((800 + 100 + 4 * LOAD + JUDGE_LOAD) / 4)
    assert bound(layout, 1) == pytest.approx((EDIT + JUDGE + LOAD + JUDGE_LOAD) / 4), "three stay empty"


@pytest.mark.parametrize("seed", range(60))
def test_no_run_is_shorter_than_its_bound(seed: int) -> None:
    draw = random.Random(seed)
    layout = models(draw.choice([1, 2, 3, 8]), editors=draw.choice([1, 1, 2]))
    timing = Durations(
        {m.key: draw.choice([0.0, 1.0, 60.0]) for m in layout},
        {m.key: draw.choice([0.05, 1.0, 25.0]) for m in layout},
        known=draw.random() < 0.5,
    )
    categories = [draw.choice("abc") for _ in range(draw.randrange(1, 40))]
    options: dict[str, Any] = {
        "schedule": draw.choice(["pull", "round_robin", "batch_sync"]),
        "order": draw.choice(["by_stage", "by_category"]),
        "placement": draw.choice(["swap", "together"]),
        "batch_size": draw.choice([1, 3]),
        "edit_seeds": draw.choice([1, 2]),
        "repeats": draw.choice([1, 2]),
        "pilot": draw.random() < 0.5,
    }
    result = simulated(layout, categories, replace(timing, capacity={"judge:j": draw.choice([1, 4])}), **options)
    assert 0 <= result.idle_share <= 1
    assert result.makespan >= 0.999 * result.lower_bound > 0
