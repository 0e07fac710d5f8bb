"""The words that a terminal and a log file share."""

import pytest

from edit_eval.records import Judgement, Status
from edit_eval.reporting.progress_view import CategoryDone, Count, Judged, Skipped, Snapshot
from edit_eval.reporting.progress_words import devices, left, rate, told


def test_a_failure_has_its_reason_or_else_the_answer() -> None:
    refused = Judgement("", "s", "c", "m", "j", 0, 0, Status.OUT_OF_RANGE, answer="Score: 12", answers=1)
    assert told(Judged(refused, "s · m")) == ("failed", "s · m", "out of range: Score: 12")


def test_what_was_left_out_has_no_tag() -> None:
    assert told(Skipped(7)) == ("", "", "(7 lines were left out)")


def test_what_has_a_form_of_its_own_is_refused() -> None:
    with pytest.raises(TypeError, match="CategoryDone"):
        told(CategoryDone("social", 0, 50, None, None, None))


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
        (Snapshot(), "time left not known yet"),
        (Snapshot(left=3720), "1 h 02 min left"),
        (Snapshot(left=60, left_without=("judge",)), "1 min 00 s left for the edits"),
        (Snapshot(left=60, left_without=("edit",)), "1 min 00 s left for the scores"),
        (Snapshot(edits=Count(total=4)), "time left not known yet"),
    ],
)
def test_left(snapshot: Snapshot, shown: str) -> None:
    assert left(snapshot) == shown
