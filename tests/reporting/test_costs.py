from dataclasses import replace

import pytest

from edit_eval.reporting.costs import costs, loads
from edit_eval.statistics.summary import summarise
from reporting.reports import Report


def test_costs_add_up(complete: Report) -> None:
    cost = costs(complete.results, complete.summary)
    assert cost.wall_seconds == complete.results.wall_seconds[0]
    assert cost.device_seconds == pytest.approx(4 * cost.wall_seconds)
    assert 0 < cost.working_seconds < cost.device_seconds
    assert (cost.on_gpus, cost.starts, cost.edits, cost.answers) == (True, 1, 10, 10)
    assert 38 <= cost.seconds_per_edit <= 46
    assert cost.seconds_per_answer == pytest.approx(2.1)


def test_nothing_measured_is_nothing(complete: Report) -> None:
    results = replace(
        complete.results,
        activities=(),
        wall_seconds=(),
        edits=tuple(replace(edit, seconds=0.0) for edit in complete.results.edits),
        judgements=tuple(replace(one, seconds=0.0) for one in complete.results.judgements),
    )
    cost = costs(results, summarise(results))
    assert (cost.seconds_per_edit, cost.seconds_per_answer, cost.wall_seconds) == (None, None, 0.0)


def test_workers_on_a_cpu_are_no_gpus(complete: Report) -> None:
    activities = tuple(replace(one, device="cpu:0") for one in complete.results.activities)
    results = replace(complete.results, activities=activities, devices=("cpu:0",))
    assert not costs(results, summarise(results)).on_gpus


def test_loads_stand_in_the_order_in_which_they_began(complete: Report) -> None:
    found = loads(complete.results)
    assert len(found) == 8
    assert [one.begin for one in found] == sorted(one.begin for one in found)
    assert [one.seconds for one in found[:4]] == [70.0, 79.0, 88.0, 97.0]
    assert "Loads, in their order" in complete.html
    assert "| 1 | cuda:3 | qwen_image_edit | 0.0 s | 1 min 37 s |" in complete.files.markdown.read_text("utf-8")
