from dataclasses import replace

import pytest

from edit_eval.records import Activity, Results
from edit_eval.reporting.page.timeline import timeline, utilisation
from reporting.reported_runs import RUBRIC
from reporting.reports import Report


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
        activities=activities,
        wall_seconds=wall,
        devices=devices,
    )


def rows_of(chart: object) -> list[dict]:
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
    for device, kinds in complete.summary["timing"]["devices"].items():
        rows = [row for row in rows_of(chart) if row["device"] == device]
        assert sum(row["share"] for row in rows) == pytest.approx(1)
        assert [row["seconds"] for row in rows if row["kind"] == "Idle"] == [kinds["idle"]]


def test_nothing_recorded_is_nothing_drawn(complete: Report) -> None:
    assert timeline(replace(complete.results, activities=()), "en") == []
    assert utilisation({"timing": {"wall_seconds": 0.0, "devices": {}}}, "en") == []
