from dataclasses import replace

import pytest

from edit_eval.records import Activity, Results
from edit_eval.reporting.timeline import timeline, utilisation
from reporting.reports import Report


def results_of(*activities: Activity, wall: tuple[float, ...] = (), devices: tuple[str, ...] = ()) -> Results:
    return Results("r", "/r", (), (), (), ("m",), ("j",), activities, wall, devices)


def rows_of(chart: object) -> list[dict]:
    specification = chart.to_dict()  # type: ignore[attr-defined]
    return max(specification["datasets"].values(), key=len)


def test_starts_follow_each_other_on_one_axis() -> None:
    results = results_of(
        Activity(1, "cuda:0", "editing", "m", 10.0, 20.0, "a"),
        Activity(2, "cuda:0", "judging", "j", 5.0, 6.0, "a"),
        wall=(30.0, 8.0),
    )
    [chart] = timeline(results, "en")
    assert [(row["begin"], row["end"]) for row in rows_of(chart)] == [(10, 20), (35, 36)]
    assert "layer" in chart.to_dict()  # a line where the run was started again


def test_a_start_that_was_killed_lasts_until_its_last_activity() -> None:
    results = results_of(
        Activity(1, "cuda:0", "editing", "m", 10.0, 20.0), Activity(2, "cuda:0", "editing", "m", 0.0, 4.0), wall=()
    )
    [chart] = timeline(results, "en")
    assert [row["begin"] for row in rows_of(chart)] == [10, 20]


@pytest.mark.parametrize(("last", "unit"), [(100, "seconds"), (4000, "minutes"), (40_000, "hours")])
def test_the_axis_has_a_unit_that_can_be_read(last: float, unit: str) -> None:
    [chart] = timeline(results_of(Activity(1, "cuda:0", "editing", "m", 0.0, last)), "en")
    specification = chart.to_dict()
    assert unit in specification["encoding"]["x"]["title"]
    assert specification["encoding"]["x"]["scale"]["domain"][1] <= 200


def test_devices_stand_in_the_order_of_the_run() -> None:
    activities = [Activity(1, name, "editing", "m", 0.0, 1.0) for name in ("cuda:10", "cuda:2", "other")]
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
