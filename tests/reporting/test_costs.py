from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from edit_eval.records import Activity, MemoryUse, Utilisation
from edit_eval.reporting.costs import costs, loads
from edit_eval.statistics.summary import summarise
from reporting.reported_runs import HOSTILE, build_run
from reporting.reports import Report, report_on

GIB = 1 << 30


def test_costs_add_up(complete: Report) -> None:
    cost = SimpleNamespace(**costs(complete.results, complete.summary))
    assert cost.wall_seconds == complete.results.wall_seconds[0]
    assert cost.device_seconds == pytest.approx(4 * cost.wall_seconds)
    assert 0 < cost.working_seconds < cost.device_seconds
    assert (cost.on_gpus, cost.starts, cost.edits, cost.answers) == (True, 1, 10, 10)
    assert 38 <= cost.seconds_per_edit <= 46
    assert cost.seconds_per_answer == pytest.approx(2.1)


def test_what_a_short_run_took_of_its_devices_is_no_zero(tmp_path: Path) -> None:
    activities = (
        Activity(start_number=1, device="cpu:0", kind="editing", model="m", begin=0.0, end=12.0),
        Activity(start_number=1, device="cpu:1", kind="judging", model="m", begin=0.0, end=6.0),
    )
    run = build_run(tmp_path, samples=5, size=(24, 16))
    report = report_on(replace(run, activities=activities, wall_seconds=(12.0,), devices=("cpu:0", "cpu:1")))
    assert "Device time: 24 s." in (report.folder / "report.md").read_text(encoding="utf-8")
    shown = report.html.split(">Device time<")[1].split("</div>")[0]
    assert ">24 s<" in shown
    assert "over all devices, 75% editing or judging" in shown


def test_nothing_measured_is_nothing(complete: Report) -> None:
    results = replace(
        complete.results,
        activities=(),
        wall_seconds=(),
        edits=tuple(replace(edit, seconds=0.0) for edit in complete.results.edits),
        judgements=tuple(replace(one, seconds=0.0) for one in complete.results.judgements),
    )
    cost = SimpleNamespace(**costs(results, summarise(results)))
    assert (cost.seconds_per_edit, cost.seconds_per_answer, cost.wall_seconds) == (None, None, 0.0)


def test_workers_on_a_cpu_are_no_gpus(complete: Report) -> None:
    activities = tuple(replace(one, device="cpu:0") for one in complete.results.activities)
    results = replace(complete.results, activities=activities, devices=("cpu:0",))
    assert not costs(results, summarise(results))["on_gpus"]


def test_loads_stand_in_the_order_in_which_they_began(complete: Report) -> None:
    found = loads(complete.results)
    assert len(found) == 8
    assert [one.begin for one in found] == sorted(one.begin for one in found)
    assert [one.end - one.begin for one in found[:4]] == [70.0, 79.0, 88.0, 97.0]
    assert "Loads, in their order" in complete.html
    assert "| cuda:3 | qwen_image_edit | 0.0 s | 1 min 37 s |" in (complete.folder / "report.md").read_text("utf-8")


def test_a_load_that_failed_is_called_so(complete: Report) -> None:
    failed = Activity(
        start_number=1, device="cuda:0", kind="loading", model="m", begin=0.0, end=3.0, what="failed: no kernel image"
    )
    found = loads(replace(complete.results, activities=(*complete.results.activities, failed)))
    assert [(one.model, one.end - one.begin) for one in found if one.what] == [("m", 3.0)]


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
    environment = {**run.environment, "gpus": gpus}
    return report_on(replace(run, memory=uses, utilisation=seen, environment=environment, wall_seconds=(9e3, 9e3)))


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
