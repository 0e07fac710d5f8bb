from __future__ import annotations

import random

import pytest

from documents import plain
from edit_eval.records import Activity, MemoryUse, Utilisation
from edit_eval.statistics.timing import compute_timing


def activity(kind: str, begin: float, end: float, device: str = "cuda:0", start: int = 1) -> Activity:
    return Activity(start_number=start, device=device, kind=kind, model="model", begin=begin, end=end)


def memory_use(start: int, device: str, model: str, kind: str, *seen: int | None) -> MemoryUse:
    before, loaded, peak, after = seen
    of_load = {"start_number": start, "device": device, "model": model, "kind": kind}
    return MemoryUse(**of_load, before=before, loaded=loaded, peak=peak, after=after)


@pytest.fixture
def timing_of(make_results):
    def build(activities, wall_seconds, devices=()):
        return compute_timing(
            make_results([], {}, activities=tuple(activities), wall_seconds=wall_seconds, devices=devices)
        )

    return build


def test_what_nothing_covers_is_idle(timing_of):
    spent = timing_of([activity("loading", 1, 3), activity("editing", 3, 7), activity("unloading", 7, 7.5)], (10.0,))
    times = {"starting": 0.0, "loading": 2.0, "editing": 4.0, "judging": 0.0, "unloading": 0.5, "idle": 3.5}
    assert plain(spent) == {"wall_seconds": 10.0, "devices": {"cuda:0": times}}


def test_imports_are_no_idle_time_and_what_another_model_does_meanwhile_is_that_models(timing_of):
    everything = [activity("starting", 0, 3), activity("loading", 4, 6), activity("editing", 6, 9)]
    everything += [activity("starting", 8, 11), activity("loading", 11, 12)]
    seconds = timing_of(everything, (12.0,)).devices["cuda:0"]
    assert (seconds["starting"], seconds["loading"], seconds["editing"], seconds["idle"]) == (3 + 2, 2 + 1, 3, 1)


def test_a_moment_of_two_activities_is_counted_once(timing_of):
    seconds = timing_of(
        [activity("loading", 0, 6), activity("editing", 2, 5), activity("editing", 4, 7), activity("judging", 6, 9)],
        (9.0,),
    ).devices["cuda:0"]
    assert seconds == {"starting": 0.0, "loading": 2.0, "editing": 5.0, "judging": 2.0, "unloading": 0.0, "idle": 0.0}


def test_a_device_counts_in_the_starts_in_which_it_did_something(timing_of):
    spent = timing_of(
        [activity("editing", 0, 4), activity("editing", 0, 1, device="cuda:1"), activity("judging", 1, 2, start=2)],
        (5.0, 3.0),
        devices=("cuda:1", "cuda:0", "cuda:7"),
    )
    assert spent.wall_seconds == 8.0
    assert list(spent.devices) == ["cuda:1", "cuda:0"]
    assert sum(spent.devices["cuda:0"].values()) == 8.0
    assert sum(spent.devices["cuda:1"].values()) == 5.0
    assert spent.devices["cuda:0"]["idle"] == 3.0


def test_activities_are_cut_at_the_wall_time_and_a_killed_start_ends_with_its_last(timing_of):
    spent = timing_of(
        [activity("loading", -1, 4), activity("editing", 4, 12), activity("editing", 0, 6, start=2)], (10.0,)
    )
    assert spent.wall_seconds == 16.0
    assert spent.devices["cuda:0"]["editing"] == 12.0
    assert spent.devices["cuda:0"]["loading"] == 4.0
    assert spent.devices["cuda:0"]["idle"] == 0.0


def test_activities_without_a_device_are_nobodys_time(timing_of):
    assert timing_of([activity("judging", 0, 5, device="")], (5.0,)).devices == {}


def test_it_adds_up_to_the_wall_time_whatever_overlaps(timing_of):
    chance = random.Random(7)
    activities = []
    for _ in range(500):
        begin = chance.uniform(0, 90)
        kind = chance.choice(["starting", "loading", "editing", "judging", "unloading"])
        device, start = f"cuda:{chance.randrange(3)}", chance.randrange(1, 4)
        activities.append(activity(kind, begin, begin + chance.uniform(0, 4), device, start))
    spent = timing_of(activities, (95.0, 80.0, 120.0))
    assert spent.wall_seconds == 295.0
    for seconds in spent.devices.values():
        assert sum(seconds.values()) == pytest.approx(295.0, abs=1e-9)
        assert min(seconds.values()) >= 0.0
    chance.shuffle(activities)
    assert timing_of(activities, (95.0, 80.0, 120.0)) == spent


def test_the_utilisation_of_gpus_is_a_mean_over_samples(make_results):
    seen = (
        Utilisation(start_number=1, device="cuda:0", kind="editing", samples=30, busy=0.9),
        Utilisation(start_number=1, device="cuda:0", kind="idle", samples=10, busy=0.0),
        Utilisation(start_number=2, device="cuda:0", kind="editing", samples=10, busy=0.5),
        Utilisation(start_number=2, device="cuda:1", kind="judging", samples=1, busy=1.0),
    )
    utilisation = compute_timing(make_results([], {}, utilisation=seen)).gpu_utilisation
    assert utilisation["cuda:0"] == pytest.approx({"mean": 32 / 50, "editing": 0.8, "idle": 0.0})
    assert utilisation["cuda:1"] == {"mean": 1.0, "judging": 1.0}


def test_memory_stands_device_by_device_in_the_order_of_the_stages(make_results):
    uses = (
        memory_use(2, "cuda:1", "judge", "judging", 5, 58, 61, 0),
        memory_use(1, "cuda:1", "model", "editing", 0, 54, 60, 5),
        memory_use(1, "cuda:0", "model", "editing", 5, None, None, None),
        memory_use(1, "cpu:0", "judge", "judging", None, 1, 2, None),
    )
    gpus = [{"name": "cuda:0", "memory": None}, {"name": "cuda:1", "memory": 80}, "damaged"]
    results = make_results([], {}, memory=uses, devices=("cuda:0", "cuda:1"), environment={"gpus": gpus})
    memory = compute_timing(results).memory
    assert list(memory) == ["cuda:0", "cuda:1", "cpu:0"]
    assert [(device.total, device.peak) for device in memory.values()] == [(None, None), (80, 61), (None, 2)]
    assert [stage.model for stage in memory["cuda:1"].stages] == ["model", "judge"]
    assert plain(memory["cuda:0"].stages[0]) == {
        "start_number": 1, "model": "model", "kind": "editing", "before": 5, "loaded": None, "peak": None, "after": None
    }  # fmt: skip
    assert "memory" not in plain(compute_timing(make_results([], {})))
