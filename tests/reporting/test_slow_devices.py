from dataclasses import replace
from pathlib import Path

import pytest

from edit_eval.records import Edit, Results, Status
from edit_eval.reporting.slow_devices import slow_devices
from reporting.reported_runs import build_run
from reporting.reports import report_on


def results_of(seconds: dict[str, list[float]]) -> Results:
    edits = [
        Edit(f"{device}{n}", f"s{n}", "m", 0, 0, Status.OK, image="x.png", seconds=one, device=device)
        for device, times in seconds.items()
        for n, one in enumerate(times)
    ]
    return Results("r", "/r", (), tuple(edits), (), ("m",), ("j",))


@pytest.mark.parametrize(
    ("seconds", "named"),
    [
        ({"a": [10.0, 10.1] * 5, "b": [11.5, 11.6] * 5}, ["b"]),
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


def test_by_how_much() -> None:
    [slow] = slow_devices(results_of({"a": [10.0, 10.0] * 5, "b": [12.0, 12.0] * 5}))
    assert (slow.kind, slow.model, slow.seconds, slow.others) == ("editing", "m", 12.0, 10.0)
    assert slow.slower_by == pytest.approx(0.2)


def test_failed_edits_have_no_time() -> None:
    results = results_of({"a": [10.0, 10.1] * 5, "b": [12.0, 12.1] * 5})
    failed = tuple(replace(edit, status=Status.EDIT_FAILED, image="") for edit in results.edits)
    assert slow_devices(replace(results, edits=failed)) == []


def test_it_is_said_in_the_report(tmp_path: Path) -> None:
    report = report_on(build_run(tmp_path, samples=24, size=(16, 12)))
    said = "cuda:1 is 12% slower than the others at editing with qwen_image_edit"
    assert said in report.html
    assert said in report.files.markdown.read_text(encoding="utf-8")
