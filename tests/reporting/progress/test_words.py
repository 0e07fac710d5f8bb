"""The words that a terminal and a log file share."""

import pytest

from edit_eval.execution.contract import Meter
from edit_eval.records import Scale, Scoring, Status
from edit_eval.reporting.progress.view import (
    AssignmentRow,
    CategoryDone,
    Count,
    DeviceView,
    Snapshot,
    category_sentence,
    counts,
    device_words,
    devices,
    ending,
    failed,
    left,
    loaded,
    more_devices,
    plan_sentence,
    rate,
)
from reporting.simulated_runs import TEN, a_judgement


def test_a_failure_has_its_reason_or_else_the_answer() -> None:
    refused = a_judgement(None, status=Status.OUT_OF_RANGE, answer="Score: 12")
    assert failed(refused) == "score out of range: Score: 12"


def test_which_load_of_a_model_it_is() -> None:
    assert loaded("qwen", "cuda:0", 41.3, 1, 2, int(57.7 * (1 << 30))) == "qwen on cuda:0 in 41 s (1 of 2), 57.7 GiB"
    assert loaded("qwen", "cuda:1", 190.0, 3, 2) == "qwen on cuda:1 in 3 min 10 s (again)"


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["cuda:0"], "cuda:0"),
        (["cuda:0", "cuda:1"], "cuda:0, 1"),
        (["cuda:1", "cuda:2", "cuda:3"], "cuda:1–3"),
        (["cuda:2", "cuda:3", "cuda:0"], "cuda:2, 3, 0"),
        (["cuda:0", "cpu:0"], "cuda:0, cpu:0"),
        ([f"cuda:{n}" for n in range(64)], "cuda:0–63"),
        ([f"cuda:{2 * n}" for n in range(32)], "cuda:0 to cuda:62 (32)"),
    ],
)
def test_devices(names: list[str], shown: str) -> None:
    assert devices(names) == shown


@pytest.mark.parametrize(("per_minute", "shown"), [(0.449, "0.45/min"), (3.21, "3.2/min"), (120.4, "120/min")])
def test_rate(per_minute: float, shown: str) -> None:
    assert rate(per_minute) == shown


@pytest.mark.parametrize(
    ("snapshot", "shown"),
    [
        (Snapshot(), "time left unknown"),
        (Snapshot(left=3720), "1 h 02 min left"),
        (Snapshot(left=60, left_without=("judge",)), "1 min 00 s left for the edits"),
        (Snapshot(left=60, left_without=("edit",)), "1 min 00 s left for the scores"),
        (Snapshot(edits=Count(total=4)), "time left unknown"),
    ],
)
def test_left(snapshot: Snapshot, shown: str) -> None:
    assert left(snapshot) == shown


# -- scales --


@pytest.mark.parametrize(
    ("scale", "numbers", "shown"),
    [
        (TEN, (6.4321, 2.0, 9.5), "mean 6.43, min 2.00, max 9.50, 48/50 scored"),
        (Scale(lowest=0.0, highest=1.0), (0.81234, 0.5, 1.0), "mean 0.812, min 0.500, max 1.000, 48/50 scored"),
        (
            Scale(lowest=-1.0, highest=1.0, higher_is_better=False),
            (-0.2, -0.5, 0.3),
            "mean -0.200, min -0.500, max 0.300, 48/50 scored, lower is better",
        ),
        (Scale(lowest=0.0), (31.25, 12.0, 48.0), "mean 31.25, min 12.00, max 48.00, 48/50 scored"),
    ],
)
def test_a_category_is_summed_up_on_its_scale(scale: Scale, numbers: tuple[float, float, float], shown: str) -> None:
    assert category_sentence(CategoryDone("social", 48, 50, *numbers, scale)) == shown


def test_how_a_judge_is_asked() -> None:
    macro = Scoring(protocol="viescore", headline="O", scales={"O": TEN, "SC": TEN})
    row = AssignmentRow("judge", "gpt", ("cpu:0",), 300, questions=675, controls=75, scoring=macro)
    assert plan_sentence(row) == "scores by gpt on cpu:0: 300, 75 controls, 675 questions, O of viescore, out of 10"
    error = Scoring(protocol="numbers", headline="mse", scales={"mse": Scale(lowest=0.0, higher_is_better=False)})
    plain = plan_sentence(AssignmentRow("judge", "pixels", ("cpu:0",), 300, questions=300, scoring=error))
    assert plain.startswith("scores by pixels on cpu:0: 300, mse of numbers, ")
    assert plain.endswith("lower is better")


# -- controls --


def test_controls_are_said_while_they_are_left_and_count_to_the_whole() -> None:
    some = Count(ok=12, failed=3, total=75, settled=15)
    snapshot = Snapshot(edits=Count(4, 0, 4, 4), judgements=Count(4, 0, 4, 4), controls=some)
    assert counts(snapshot) == ["edits 4/4", "scores 4/4", "controls 15/75"]
    assert (snapshot.fraction, snapshot.failed) == ((4 + 4 + 15) / (4 + 4 + 75), 0)
    assert ending(snapshot) == "4 of 4 edits, 4 of 4 scores, 60 not done, in 0.0 s"
    over = Snapshot(edits=Count(4, 0, 4, 4), judgements=Count(4, 0, 4, 4), controls=Count(72, 3, 75, 75))
    assert counts(over) == ["edits 4/4", "scores 4/4"]
    assert ending(over) == "4 of 4 edits, 4 of 4 scores, in 0.0 s"


# -- devices --


BUSY = Meter(61 << 30, 80 << 30, 0.976)


@pytest.mark.parametrize(
    ("view", "shown"),
    [
        (DeviceView("cuda:0", "editing", "q", "s1", "32/50", meter=BUSY), "editing 32/50, s1, 98 %, 61/80 GiB"),
        (DeviceView("cuda:0", "judging", "v", "s1", "31 asked", meter=Meter(busy=0.0)), "judging 31 asked, s1, 0 %"),
        (DeviceView("cuda:0", "loading", "qwen", seconds=12, expected=24.0), "loading 12 s, qwen"),
        (DeviceView("cpu:0", "waiting", "v"), "waiting, v"),
        (DeviceView("cpu:0", ""), "free"),
    ],
)
def test_what_a_device_does(view: DeviceView, shown: str) -> None:
    assert device_words(view) == shown


def test_devices_that_have_no_room_are_counted() -> None:
    views = [DeviceView("a", "editing"), DeviceView("b", ""), DeviceView("c", "editing")]
    assert more_devices(views) == "and 3 more: 2 editing, 1 free"
