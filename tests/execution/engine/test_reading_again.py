"""What cannot be read is tried again, later each time, and is left in the end."""

from __future__ import annotations

from unittest.mock import Mock

from edit_eval.execution.engine.blame import AGAIN_AFTER, FIRST_TICKET, ReadingAgain
from edit_eval.execution.engine.engine import Engine
from edit_eval.scheduling.tasks import Task, Work


def task(unit: int) -> Task:
    return Task(unit, "edit:m", (unit,))


def test_a_task_waits_longer_each_time_and_is_left_after_a_minute() -> None:
    again, now, tickets = ReadingAgain(), 0.0, []
    while (ticket := again.put_off(task(1), "a.png: gone", now)) is not None:
        tickets.append(ticket)
        assert again.waiting
        assert not again.left
        seconds = AGAIN_AFTER[len(tickets) - 1]
        assert again.due(now + seconds - 0.01) == []
        now += seconds
        assert again.due(now) == [ticket]
        assert again.due(now) == [], "once"
        assert not again.waiting
    assert tickets[0] == FIRST_TICKET
    assert len(set(tickets)) == len(AGAIN_AFTER)
    assert max(tickets) < 0, "no edit has such a number"
    assert now == 60
    assert again.left == "a.png: gone"


def test_tasks_wait_each_for_itself_and_all_are_counted_at_the_end() -> None:
    again = ReadingAgain()
    first, second = again.put_off(task(1), "a", 0.0), again.put_off(task(2), "b", 0.5)
    assert again.due(1.2) == [first]
    assert again.due(9.0) == [second]
    for unit, reason in ((1, "a"), (2, "b"), (3, "c"), (4, "c")):
        while again.put_off(task(unit), reason, 9.0) is not None:
            continue
    assert again.left == "a, and 2 more pictures"


def test_controls_that_are_read_again_are_still_controls() -> None:
    """That they fail then, all of them, ends no run."""
    work, engine = Work(), Engine.__new__(Engine)
    found: list[Task] = []
    work.on_ready = found.append
    engine._again, engine._now, engine._work, engine._policy = ReadingAgain(), 0.0, work, Mock()
    engine._do, engine._watch = Mock(), Mock()  # type: ignore[method-assign]
    engine._read_again(Mock(), Task(1, "judge:m", (1,), control=True), "a.png: gone")
    work.settle(FIRST_TICKET)
    assert [one.control for one in found] == [True]
