"""The drawings that belong to no choice of scores, and the axis of a score."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as changed

from edit_eval.errors import NotDrawn
from edit_eval.plugins.page.charts import timeline, utilisation
from edit_eval.records import Activity, Results, RunTelemetry, Scale
from edit_eval.reporting.chart_parts import Axis, axis_of, axis_step
from edit_eval.run import Run
from edit_eval.statistics.timing import RunTiming
from reporting.reported_runs import RUBRIC
from reporting.reports import Report


@pytest.mark.parametrize(
    ("scale", "domain", "bin_width", "marks", "form"),
    [
        (Scale(lowest=0, highest=10), [0, 10], 0.5, [0, 2, 4, 6, 8, 10], "d"),
        (Scale(lowest=1, highest=5), [1, 5], 0.2, [1, 2, 3, 4, 5], "d"),
        (Scale(lowest=-1, highest=1), [-1, 1], 0.1, [-1, -0.5, 0, 0.5, 1], ".1f"),
        (Scale(lowest=0, highest=1), [0, 1], 0.05, [0, 0.2, 0.4, 0.6, 0.8, 1], ".1f"),
        (Scale(lowest=0, highest=100), [0, 100], 5, [0, 20, 40, 60, 80, 100], "d"),
        (Scale(), [18, 34], 1, [20, 25, 30], "d"),
        (Scale(lowest=0), [0, 35], 2, [0, 10, 20, 30], "d"),
        (Scale(highest=50), [15, 50], 2, [20, 30, 40, 50], "d"),
    ],
)
def test_an_axis_is_the_scale_or_as_far_as_there_are_scores(
    scale: Scale, domain: list[float], bin_width: float, marks: list[float], form: str
) -> None:
    axis = axis_of(scale, [19.2, 25.0, 33.1])
    assert (axis.domain, axis.bin_width, axis.marks(5), axis.mark_format(5)) == (domain, bin_width, marks, form)
    assert axis.low + axis.bins * axis.bin_width >= axis.high


@pytest.mark.parametrize("scores", [[], [7.0], [7.0, 7.0], [0.0], [-3e-7], [1e9, -1e9]])
def test_an_open_axis_has_room_on_both_sides_of_every_score(scores: list[float]) -> None:
    axis = axis_of(Scale(), scores)
    assert axis.low < min(scores, default=0.5) <= max(scores, default=0.5) < axis.high
    assert 0 < axis.bins <= 20
    assert len(axis.marks(10)) >= 2


def test_each_score_lies_in_one_bin() -> None:
    axis = Axis(-1, 1)
    assert [axis.bin_of(score) for score in (-1, -0.7, 0.0, 0.3, 0.999, 1)] == [0, 3, 10, 13, 19, 19]
    assert [axis.bin_of(score) for score in (-4, 4)] == [0, 19]


def test_steps_are_round() -> None:
    assert [axis_step(width, 10) for width in (10, 11, 0.1, 4, 0.0007, 12345)] == [1, 2, 0.01, 0.5, 0.0001, 2000]


def results_of(*activities: Activity, wall: tuple[float, ...] = (), devices: tuple[str, ...] = ()) -> Results:
    return Results(
        name="r",
        directory="/r",
        samples=(),
        edits=(),
        judgements=(),
        edit_models=("m",),
        judges=("j",),
        scoring={"j": RUBRIC},
        telemetry=RunTelemetry(activities=activities, wall_seconds=wall, devices=devices),
    )


def rows_of(chart: object) -> list[dict[str, Any]]:
    specification = chart.to_dict()  # type: ignore[attr-defined]
    return max(specification["datasets"].values(), key=len)


def test_starts_follow_each_other_on_one_axis() -> None:
    results = results_of(
        Activity(start_number=1, device="cuda:0", kind="editing", model="m", begin=10.0, end=20.0, what="a"),
        Activity(start_number=2, device="cuda:0", kind="judging", model="j", begin=5.0, end=6.0, what="a"),
        wall=(30.0, 8.0),
    )
    [chart] = timeline(results, "en")
    assert [(row["begin"], row["end"]) for row in rows_of(chart)] == [(10, 20), (35, 36)]
    assert "layer" in chart.to_dict()  # a line where the run was started again


def test_a_start_that_was_killed_lasts_until_its_last_activity() -> None:
    results = results_of(
        Activity(start_number=1, device="cuda:0", kind="editing", model="m", begin=10.0, end=20.0),
        Activity(start_number=2, device="cuda:0", kind="editing", model="m", begin=0.0, end=4.0),
        wall=(),
    )
    [chart] = timeline(results, "en")
    assert [row["begin"] for row in rows_of(chart)] == [10, 20]


@pytest.mark.parametrize(("last", "unit"), [(100, "seconds"), (4000, "minutes"), (40_000, "hours")])
def test_the_axis_has_a_unit_that_can_be_read(last: float, unit: str) -> None:
    [chart] = timeline(
        results_of(Activity(start_number=1, device="cuda:0", kind="editing", model="m", begin=0.0, end=last)), "en"
    )
    specification = chart.to_dict()
    assert unit in specification["encoding"]["x"]["title"]
    assert specification["encoding"]["x"]["scale"]["domain"][1] <= 200


def test_devices_stand_in_the_order_of_the_run() -> None:
    activities = [
        Activity(start_number=1, device=name, kind="editing", model="m", begin=0.0, end=1.0)
        for name in ("cuda:10", "cuda:2", "other")
    ]
    [chart] = timeline(results_of(*activities, devices=("cuda:2", "cuda:3", "cuda:10")), "en")
    assert chart.to_dict()["encoding"]["y"]["scale"]["domain"] == ["cuda:2", "cuda:10", "other"]


def test_shares_of_a_device_add_up(complete: Report) -> None:
    [chart] = utilisation(complete.summary, "en")
    for device, kinds in complete.summary.timing.devices.items():
        rows = [row for row in rows_of(chart) if row["device"] == device]
        assert sum(row["share"] for row in rows) == pytest.approx(1)
        assert [row["seconds"] for row in rows if row["kind"] == "Idle"] == [kinds["idle"]]


def test_nothing_recorded_is_nothing_drawn(complete: Report) -> None:
    assert timeline(replace(complete.results, telemetry=replace(complete.results.telemetry, activities=())), "en") == []
    nothing = changed(complete.summary, timing=RunTiming(wall_seconds=0.0, devices={}))
    assert utilisation(nothing, "en") == []


def test_a_process_that_fails_is_a_fault_of_ours_and_keeps_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(NotDrawn, match=r"could not be drawn \(.*RunDirectoryError: .*is not a run directory") as caught:
        Run(tmp_path).write_report()
    assert caught.value.exit_code == 1
    assert caught.value.run_dir == tmp_path


@pytest.mark.check
@pytest.mark.skipif(sys.platform != "linux", reason="no process is copied elsewhere")
def test_a_copy_of_the_process_fails_in_the_same_words(tmp_path: Path) -> None:
    code = """
import pathlib, sys, edit_eval.run
from edit_eval.reporting import render_subprocess as apart
assert apart._can_fork()
run = pathlib.Path(sys.argv[1])
for code, told in (apart._run_fork(lambda: edit_eval.run.Run(run).results), apart._run_interpreter(run)):
    print(code, told.splitlines()[-1])
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    copied, started = done.stdout.splitlines()
    assert copied == started
    assert "is not a run directory" in copied


def test_whoever_has_a_report_drawn_imports_nothing_that_draws() -> None:
    """A run would take a second longer, before a process that imports it again."""
    code = "import sys, edit_eval.evaluation, edit_eval.reporting.render_subprocess; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "edit_eval.reporting.render_subprocess" in loaded
    assert not {"altair", "vl_convert", "edit_eval.plugins.page.page"} & {*loaded}
