from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path

import pytest

from edit_eval.records import Activity, Edit, MemoryUse, Results, Status, Utilisation
from edit_eval.reporting.device_times import loads, times
from edit_eval.reporting.repetition import repetition
from edit_eval.reporting.slow_devices import DeviceTimes, slow_devices
from edit_eval.statistics.summary import summarise
from reporting.reported_runs import HOSTILE, RUBRIC, build_run
from reporting.reports import Elements, Report, report_on

GIB = 1 << 30


def test_times_add_up(complete: Report) -> None:
    took = times(complete.results, complete.summary)
    assert took.wall_seconds == complete.results.telemetry.wall_seconds[0]
    assert took.device_seconds == pytest.approx(4 * took.wall_seconds)
    assert 0 < took.working_seconds < took.device_seconds
    assert (took.on_gpus, took.starts, took.edits, took.answers) == (True, 1, 10, 10)
    assert 38 <= took.seconds_per_edit <= 46
    assert took.seconds_per_answer == pytest.approx(2.1)


def test_what_a_short_run_took_of_its_devices_is_no_zero(tmp_path: Path) -> None:
    activities = (
        Activity(start_number=1, device="cpu:0", kind="editing", model="m", begin=0.0, end=12.0),
        Activity(start_number=1, device="cpu:1", kind="judging", model="m", begin=0.0, end=6.0),
    )
    run = build_run(tmp_path, samples=5, size=(24, 16))
    report = report_on(
        replace(
            run,
            telemetry=replace(run.telemetry, activities=activities, wall_seconds=(12.0,), devices=("cpu:0", "cpu:1")),
        )
    )
    assert "Device time: 24 s." in (report.folder / "report.md").read_text(encoding="utf-8")
    shown = report.html.split(">Device time<")[1].split("</div>")[0]
    assert ">24 s<" in shown
    assert "over all devices, 75% editing or judging" in shown


def test_nothing_measured_is_nothing(complete: Report) -> None:
    results = replace(
        complete.results,
        telemetry=replace(complete.results.telemetry, activities=(), wall_seconds=()),
        edits=tuple(replace(edit, seconds=0.0) for edit in complete.results.edits),
        judgements=tuple(replace(judgement, seconds=0.0) for judgement in complete.results.judgements),
    )
    took = times(results, summarise(results))
    assert (took.seconds_per_edit, took.seconds_per_answer, took.wall_seconds) == (None, None, 0.0)


def test_workers_on_a_cpu_are_no_gpus(complete: Report) -> None:
    activities = tuple(replace(activity, device="cpu:0") for activity in complete.results.telemetry.activities)
    results = replace(
        complete.results, telemetry=replace(complete.results.telemetry, activities=activities, devices=("cpu:0",))
    )
    assert not times(results, summarise(results)).on_gpus


def test_loads_stand_in_the_order_in_which_they_began(complete: Report) -> None:
    activities = loads(complete.results)
    assert len(activities) == 8
    assert [load.begin for load in activities] == sorted(load.begin for load in activities)
    assert [load.end - load.begin for load in activities[:4]] == [70.0, 79.0, 88.0, 97.0]
    assert "Loads, in their order" in complete.html
    assert "| cuda:3 | qwen_image_edit | 0.0 s | 1 min 37 s |" in (complete.folder / "report.md").read_text("utf-8")


def test_a_load_that_failed_is_called_so(complete: Report) -> None:
    failed = Activity(
        start_number=1, device="cuda:0", kind="loading", model="m", begin=0.0, end=3.0, what="failed: no kernel image"
    )
    activities = loads(
        replace(
            complete.results,
            telemetry=replace(complete.results.telemetry, activities=(*complete.results.telemetry.activities, failed)),
        )
    )
    assert [(load.model, load.end - load.begin) for load in activities if load.what] == [("m", 3.0)]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A run on two GPUs and a worker on the CPU that told what they needed; one was killed while it worked."""
    run = build_run(tmp_path_factory.mktemp("measured"), samples=5, size=(24, 16), gpus=2)
    uses = (
        MemoryUse(
            start_number=1,
            device="cuda:1",
            model="qwen_image_edit",
            kind="editing",
            before=0,
            loaded=54 * GIB,
            peak=60 * GIB,
            after=GIB // 2,
        ),
        MemoryUse(
            start_number=1,
            device="cuda:0",
            model=HOSTILE,
            kind="editing",
            before=GIB // 2,
            loaded=None,
            peak=GIB,
            after=None,
        ),
        MemoryUse(
            start_number=2,
            device="cpu:0",
            model="qwen3_vl",
            kind="judging",
            before=None,
            loaded=GIB,
            peak=2 * GIB,
            after=None,
        ),
        MemoryUse(
            start_number=2,
            device="cuda:1",
            model="qwen3_vl",
            kind="judging",
            before=GIB // 2,
            loaded=58 * GIB,
            peak=61 * GIB,
            after=0,
        ),
    )
    seen = (
        Utilisation(start_number=1, device="cuda:1", kind="editing", samples=9, busy=0.964),
        Utilisation(start_number=1, device="cuda:1", kind="idle", samples=1, busy=0.0),
    )
    gpus = [{"name": "cuda:0", "memory": None}, {"name": "cuda:1", "memory": 80 * GIB}]
    environment = {**run.provenance.environment, "gpus": gpus}
    return report_on(
        replace(
            run,
            telemetry=replace(run.telemetry, memory=uses, utilisation=seen, wall_seconds=(9e3, 9e3)),
            provenance=replace(run.provenance, environment=environment),
        )
    )


def test_memory_and_utilisation_are_said_in_the_report(measured: Report) -> None:
    path: Path = measured.folder / "report.md"
    document = path.read_text(encoding="utf-8")
    assert "| cuda:1 | 1 | Editing | qwen_image_edit | 0 MiB | 54.0 GiB | 60.0 GiB | 512 MiB | 80.0 GiB |" in document
    assert "| cpu:0 | 2 | Judging | qwen3_vl | – | 1.0 GiB | 2.0 GiB | – | – |" in document
    assert "| Idle | At work | GPU utilisation | Peak memory |\n" in document
    ends = {line.split(" ")[1]: line.split(" | ")[-2:] for line in document.splitlines() if line.count("%") in (1, 2)}
    assert ends["cuda:1"] == ["87%", "61.0 / 80.0 GiB |"]
    assert ends["cuda:0"] == ["–", "1.0 GiB |"]
    page = measured.html
    assert "Memory before, at the peak and after each stage" in page
    assert "54.0 GiB" in page
    assert "61.0 / 80.0 GiB" in page
    assert ">96%</td>" in page


def test_without_figures_nothing_is_said_of_them(complete: Report) -> None:
    document = (complete.folder / "report.md").read_text(encoding="utf-8")
    for words in ("GPU utilisation", "Memory before", "Peak memory"):
        assert words not in document
        assert f">{words}" not in complete.html


def test_seeds_versions_and_devices_are_those_of_the_records(complete: Report) -> None:
    recorded = repetition(complete.results)
    assert list(recorded.versions.items())[:2] == [("python", "3.11.9"), ("edit-eval", "0.1.0")]
    assert recorded.devices == ["4 × NVIDIA A100-SXM4-80GB"]
    assert recorded.seeds == {"qwen_image_edit": 0}
    assert (recorded.edit_seeds, recorded.repeats) == (1, 1)


def test_workers_on_the_cpu_are_called_so(complete: Report) -> None:
    results = replace(complete.results, telemetry=replace(complete.results.telemetry, devices=("cpu:0", "cpu:1")))
    assert repetition(results).devices == ["2 × cpu"]


def test_records_may_lack_anything(complete: Report, hostile: Report) -> None:
    bare = replace(
        complete.results,
        provenance=replace(complete.results.provenance, environment={}, resolved={}, configuration={}),
        telemetry=replace(complete.results.telemetry, devices=()),
    )
    assert [value for value in repetition(bare) if value] == [1, 1]
    odd = replace(
        bare,
        provenance=replace(
            bare.provenance,
            environment={"libraries": 3, "gpus": "none", "command": ["x"]},
            resolved={"edit_models": "m"},
        ),
    )
    assert repetition(odd).versions == {}
    assert (repetition(odd).command, repetition(odd).folder) == ("", "")
    assert repetition(hostile.results).seeds == {}


def test_they_stand_in_the_page_and_in_the_markdown(complete: Report) -> None:
    assert Elements(complete.html).text_of["command"] == "edit-eval run config.yaml"
    document = (complete.folder / "report.md").read_text(encoding="utf-8")
    assert "- qwen_image_edit: 0 + index of the sample in the benchmark" in document
    assert "Versions: python 3.11.9, edit-eval 0.1.0, torch 2.13.0" in document
    assert "Devices: 4 × NVIDIA A100-SXM4-80GB" in document


def test_the_command_that_was_typed_stands_there_as_text(complete: Report, tmp_path: Path) -> None:
    assert "typed" not in Elements(complete.html).text_of, "nothing was recorded"
    environment = {
        **complete.results.provenance.environment,
        "command": f"edit-eval run '{HOSTILE}'",
        "folder": "/home/<b>me",
    }
    results = replace(
        complete.results,
        provenance=replace(complete.results.provenance, environment=environment),
        directory=str(tmp_path),
    )
    report = report_on(results)
    page = Elements(report.html)
    assert page.text_of["typed"] == f"edit-eval run '{HOSTILE}'"
    assert "As it was last started, in /home/&lt;b&gt;me:</span>" in report.html
    assert HOSTILE not in report.html
    assert {tag for tag, _ in page.all} <= {tag for tag, _ in Elements(complete.html).all}
    document = (report.folder / "report.md").read_text(encoding="utf-8")
    assert "As it was last started, in /home/\\<b\\>me: edit-eval run '\\</script\\>" in document


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
            seconds=time,
            device=device,
        )
        for device, times in seconds.items()
        for n, time in enumerate(times)
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
    assert [slower.device for slower in slow_devices(results_of(seconds))] == named


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
    return told, {slower.device for slower in slow_devices(results_of(times))}


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
    assert slow.slowdown == pytest.approx(0.2)


def test_failed_edits_have_no_time() -> None:
    results = results_of({"a": [10.0, 10.1] * 5, "b": [12.0, 12.1] * 5})
    failed = tuple(replace(edit, status=Status.EDIT_FAILED, image="") for edit in results.edits)
    assert slow_devices(replace(results, edits=failed)) == []


def test_it_is_said_in_the_report(tmp_path: Path) -> None:
    report = report_on(build_run(tmp_path, samples=48, size=(16, 12)))
    said = "cuda:1 is 25% slower than the others at editing with qwen_image_edit"
    assert said in report.html
    assert said in (report.folder / "report.md").read_text(encoding="utf-8")
