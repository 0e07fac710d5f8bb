import math
import random
from dataclasses import replace
from pathlib import Path

import pytest

from edit_eval.records import Edit, Results, Status
from edit_eval.reporting.slow_devices import DeviceTimes, slow_devices
from reporting.reported_runs import RUBRIC, build_run
from reporting.reports import report_on


def results_of(seconds: dict[str, list[float]]) -> Results:
    edits = [
        Edit(
            key=f"{device}{n}",
            sample_id=f"s{n}",
            edit_model="m",
            seed=0,
            edit_seed=0,
            status=Status.OK,
            image="x.png",
            seconds=one,
            device=device,
        )
        for device, times in seconds.items()
        for n, one in enumerate(times)
    ]
    return Results(
        name="r",
        directory="/r",
        samples=(),
        edits=tuple(edits),
        judgements=(),
        edit_models=("m",),
        judges=("j",),
        scoring={"j": RUBRIC},
    )


@pytest.mark.parametrize(
    ("seconds", "named"),
    [
        ({"a": [10.0, 10.1] * 5, "b": [11.5, 11.6] * 5}, ["b"]),
        ({"a": [10.0, 10.1] * 5, "b": [11.1, 11.2] * 5}, []),  # perhaps 10 %
        ({"a": [10.0, 10.1] * 5, "b": [11.5, 11.6] * 4}, []),  # too few
        ({"a": [10.0, 10.1] * 5, "b": [10.5, 10.6] * 5}, []),  # only 5 %
        ({"a": [10.0, 10.1] * 5, "b": [11.5, 11.6]}, []),  # too few
        ({"a": [5.0, 15.0] * 5, "b": [6.0, 18.0] * 5}, []),  # may be chance
        ({"a": [10.0, 10.1] * 5, "b": [10.0, 10.1] * 5, "c": [20.0, 20.1] * 5}, ["c"]),
        ({"a": [10.0, 10.1] * 5}, []),
        ({}, []),
    ],
)
def test_only_what_is_clearly_slower_is_named(seconds: dict[str, list[float]], named: list[str]) -> None:
    assert [one.device for one in slow_devices(results_of(seconds))] == named


def told_and_reported(seed: int, devices: int, slow: float = 1.0) -> tuple[set[str], set[str]]:
    """Whom a run of 270 edits tells of while it goes on, and whom its report names. The first device is `slow`.

    A third of what an edit takes more or less is its own, the rest what the machine does for a while.
    """
    chance = random.Random(seed)
    live, times = DeviceTimes(), {f"cuda:{n}": list[float]() for n in range(devices)}
    free, weather = dict.fromkeys(times, 0.0), dict.fromkeys(times, 0.0)
    told = set()
    for _ in range(270):
        device = min(free, key=free.__getitem__)
        weather[device] = 0.8 * weather[device] + 0.6 * chance.gauss(0.0, 0.09)
        seconds = math.exp(weather[device] + chance.gauss(0.0, 0.05)) * (slow if device == "cuda:0" else 1.0)
        free[device] += seconds
        times[device].append(seconds)
        if live.has_become_slow("editing", "m", device, seconds):
            assert device not in told, "once"
            told.add(device)
    return told, {one.device for one in slow_devices(results_of(times))}


def test_noise_is_not_taken_for_a_slow_device() -> None:
    runs = [told_and_reported(seed, devices) for seed in range(60) for devices in (3, 8)]
    assert sum(bool(told) for told, _ in runs) <= 3
    assert sum(bool(reported) for _, reported in runs) <= 3


def test_a_slow_device_is_told_of_and_the_report_confirms_it() -> None:
    runs = [told_and_reported(seed, 6, slow=1.4) for seed in range(20)]
    assert sum(told == {"cuda:0"} for told, _ in runs) >= 18
    assert all(told <= reported for told, reported in runs)


def test_by_how_much() -> None:
    [slow] = slow_devices(results_of({"a": [10.0, 10.0] * 5, "b": [12.0, 12.0] * 5}))
    assert (slow.kind, slow.model, slow.seconds, slow.others) == ("editing", "m", 12.0, 10.0)
    assert slow.slower_by == pytest.approx(0.2)


def test_failed_edits_have_no_time() -> None:
    results = results_of({"a": [10.0, 10.1] * 5, "b": [12.0, 12.1] * 5})
    failed = tuple(replace(edit, status=Status.EDIT_FAILED, image="") for edit in results.edits)
    assert slow_devices(replace(results, edits=failed)) == []


def test_it_is_said_in_the_report(tmp_path: Path) -> None:
    report = report_on(build_run(tmp_path, samples=48, size=(16, 12)))
    said = "cuda:1 is 25% slower than the others at editing with qwen_image_edit"
    assert said in report.html
    assert said in (report.folder / "report.md").read_text(encoding="utf-8")
