"""Between the engine and the records: orders, what is kept of results, and pictures that do not stay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from edit_eval.execution.engine.blame import AGAIN_AFTER, FIRST_TICKET, ReadRetries
from edit_eval.execution.engine.engine import Engine
from edit_eval.execution.engine.recorder import is_edit
from edit_eval.execution.engine.workload import fill_work
from edit_eval.protocols.contract import View
from edit_eval.protocols.judging import add_reminder
from edit_eval.records import Picture, Status
from edit_eval.scheduling.tasks import Task, Work
from edit_eval.store.recall import load_run_journals
from edit_eval.store.run_directory import RunDirectory
from execution.engine.desk import GOOD, Desk, damaged
from small_matrix import Asking, ask, asked_judge, small_matrix, small_sample


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path, small_matrix(2))
    yield made
    made.directory.end()


# -- orders --


def test_an_edit_is_ordered_with_all_that_a_worker_needs(desk: Desk) -> None:
    desk.fill()
    order = desk.recorder.order(desk.take(editing=True))
    edit = desk.matrix.edits[0]
    output = desk.directory.path / "images" / "painter" / f"s0-{edit.key[:12]}.png"
    files = {"pictures": [{"name": "source", "path": "/sources/0.png", "digest": ""}], "output": str(output)}
    copies = {"folder": str(desk.directory.path / "report" / "thumbnails"), "side": 512, "file_bytes": 64_000}
    kept = {"small_copies": copies}
    about = {"instruction": "do 0", "seed": 0, "sample": "s0", **kept}
    assert order == {"do": "run", "task": 0, "kind": "edit", **files, **about}
    assert output.parent.is_dir(), "the worker only writes"


def test_a_worker_compares_a_picture_with_its_digest_where_that_is_one(tmp_path: Path) -> None:
    sources = {
        "source": Picture(path="/s.png", digest="ab" * 32),
        "source_2": Picture(path="/t.png", digest="a word of the benchmark's own"),
        "reference": Picture(path="/r.png"),
    }
    desk = Desk(tmp_path, small_matrix([small_sample(0, pictures=sources)]))
    desk.fill()
    order = desk.recorder.order(desk.take(editing=True))
    assert order["pictures"] == [
        {"name": "source", "path": "/s.png", "digest": "ab" * 32},
        {"name": "source_2", "path": "/t.png", "digest": ""},
    ]
    desk.directory.end()


def test_an_edit_that_is_left_for_another_start_takes_its_judgements_with_it(desk: Desk) -> None:
    desk.fill()
    before = desk.work.count_tasks_left("judge:critic")
    desk.recorder.leave(desk.take(editing=True))
    assert desk.work.count_tasks_left("judge:critic") == before - 1
    assert desk.matrix.edits[0].status is Status.PENDING
    assert desk.matrix.judgement(0).status is Status.PENDING


def test_a_question_is_ordered_with_the_pictures_and_what_they_were(desk: Desk) -> None:
    desk.fill()
    desk.make()
    task = desk.take(editing=False)
    order = desk.recorder.order(task)
    edit, question = desk.matrix.edits[0], desk.matrix.question(0)
    assert {key: order[key] for key in ("do", "task", "kind")} == {"do": "run", "task": task.number, "kind": "judge"}
    assert order["requests"] == [
        {
            "system": question.system,
            "user": question.user,
            "form": "score",
            "seed": 0,
            "key": desk.matrix.key(0),
            "pictures": [
                {"name": "source", "steps": [], "path": "/sources/0.png", "digest": ""},
                {"name": "edit", "steps": [], "path": str(desk.directory.path / edit.image), "pixels": edit.pixels},
            ],
        }
    ]


VIEWS = (
    View(picture="edit", steps=(("like", "source"), ("longest", 64)), label="scaled"),
    View(picture="source", steps=(("like", "edit"),)),
    View(picture="reference", steps=(("crop", 0, 0, 4, 4),)),
)


def test_a_view_has_the_picture_whose_size_it_takes_in_its_step(tmp_path: Path) -> None:
    pictures = {"source": Picture(path="/s.png", digest="a" * 64), "reference": Picture(path="/r.png")}
    protocol = Asking([ask("first", shows=VIEWS)])
    desk = Desk(tmp_path, small_matrix([small_sample(0, pictures=pictures)], protocol=protocol))
    desk.fill()
    desk.make()
    desk.begin()
    edit = desk.matrix.edits[0]
    source = {"path": "/s.png", "digest": "a" * 64}
    made = {"path": str(desk.directory.path / edit.image), "pixels": edit.pixels}
    assert desk.requests[0]["pictures"] == [
        {"name": "scaled", "steps": [["like", source], ["longest", 64]], **made},
        {"name": "source", "steps": [["like", made]], **source},
        {"name": "reference", "steps": [["crop", 0, 0, 4, 4]], "path": "/r.png", "digest": ""},
    ]
    desk.directory.end()


def test_a_judge_that_replays_is_shown_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path, small_matrix(1, judges=[asked_judge("replays", replays=True)], repeats=2, readings=2))
    desk.fill()
    desk.make()
    seen = []
    for _ in range(4):
        desk.finish(desk.begin(), GOOD)
        assert desk.requests[0]["pictures"] == []
        seen.append([desk.requests[0][name] for name in ("repeat", "reading", "seed")])
    assert seen == [[0, 0, 0], [0, 1, 1], [1, 0, 1_000_000], [1, 1, 1_000_001]]
    desk.directory.end()


def test_who_a_task_is_about(desk: Desk) -> None:
    desk.fill(2)
    assert desk.recorder.about(desk.take(editing=True)) == "s0"
    assert desk.recorder.about(Task(9, "judge:critic", (0, 1))) == "s0, s1"


# -- results --


def test_an_edit_is_in_the_journal_before_anybody_hears_of_it(desk: Desk) -> None:
    seen: list[tuple[str, int]] = []
    desk.edit = lambda edit: seen.append((edit.status.value, len(desk.lines("edits"))))
    desk.work.on_ready = lambda task: seen.append((task.model, len(desk.lines("edits"))))
    desk.fill()
    desk.ready = [Task(0, "edit:painter", (0,))]
    desk.make()
    assert seen[2:] == [("ok", 1), ("judge:critic", 1)]
    line = desk.lines("edits")[0]
    edit = desk.matrix.edits[0]
    assert (line["status"], line["pixels"], line["seconds"], line["device"]) == ("ok", edit.pixels, 2.0, "cpu:0")
    assert line["flags"] == ["other_aspect_ratio"]
    assert line["image"] == edit.image
    assert line["at"] > 1.6e9


def test_an_answer_is_in_the_journal_before_anybody_hears_of_it(desk: Desk) -> None:
    seen: list[tuple[str, int]] = []
    desk.fill(2)
    desk.make()
    desk.make()
    desk.judgement = lambda made: seen.append((made.status.value, len(desk.lines("replies"))))
    desk.work.on_ready = lambda task: seen.append((task.model, len(desk.lines("replies"))))
    desk.answer(GOOD, "no idea")
    assert seen == [("ok", 1), ("judge:critic", 2)]


def test_an_answer_is_kept_as_it_came_with_what_it_amounts_to(desk: Desk) -> None:
    desk.fill(2)
    desk.make()
    desk.make()
    desk.answer({"text": "Score:  7.50 ", "halved_to": 1}, "no idea")
    first, second = desk.lines("replies")
    assert first["text"] == "Score:  7.50 "
    assert (first["status"], first["read"], first["ask"], first["ended"]) == ("ok", {"score": 7.5}, 0, "ok")
    assert (first["batch"], first["halved_to"], first["seconds"], first["device"]) == (2, 1, 0.3, "cpu:1")
    names = ("sample", "edit_model", "edit_seed", "judge", "repeat", "question", "reading")
    assert [first[name] for name in names] == ["s0", "painter", 0, "critic", 0, "score", 0]
    assert (second["status"], second["read"], "halved_to" in second) == ("pending", {}, False)
    assert [j.score for j in desk.judgements] == [7.5], "what is to be asked again is no result yet"


def test_what_cannot_be_read_is_asked_again_alone_and_with_a_line_more(desk: Desk) -> None:
    desk.fill(2)
    desk.make()
    desk.make()
    desk.answer(GOOD, "no idea")
    for time in (1, 2):
        task = desk.begin()
        assert task.units == (1,)
        assert desk.requests[0]["user"] == add_reminder(desk.matrix.question(1)).user
        desk.finish(task, "still no idea")
        assert desk.lines("replies")[-1]["ask"] == time
    assert desk.statuses() == [Status.OK, Status.UNPARSEABLE]
    assert [j.status for j in desk.judgements] == [Status.OK, Status.UNPARSEABLE]
    assert desk.work.is_finished


def test_what_was_cut_off_is_kept_so_and_asked_again_with_a_line_more(desk: Desk) -> None:
    desk.fill()
    desk.make()
    desk.answer({"text": "Score: 1", "ended": "cut_off"})
    (first,) = desk.lines("replies")
    assert (first["text"], first["ended"], first["status"], first["read"]) == ("Score: 1", "cut_off", "pending", {})
    task = desk.begin()
    assert desk.requests[0]["user"] == add_reminder(desk.matrix.question(0)).user
    desk.finish(task, {"text": "so long", "ended": "cut_off", "length": 9_000_000})
    assert desk.lines("replies")[-1]["length"] == 9_000_000
    desk.answer("Score: 10.000")
    assert desk.statuses()[0] is Status.OK
    (judgement,) = desk.judgements
    assert (judgement.score, judgement.answers) == (10.0, 3)


def test_who_only_kept_company_is_not_judged_twice(desk: Desk) -> None:
    desk.fill(2)
    desk.make()
    desk.make()
    whole = desk.take(editing=False)
    desk.work.add("judge:critic", [0])
    desk.answer(GOOD)
    desk.ready = [whole]
    desk.answer("Score: 1", "Score: 1")
    assert len(desk.lines("replies")) == 2
    assert [j.score for j in desk.matrix.judgements()] == [8.0, 1.0]


def test_a_member_without_an_edit_leaves_its_place_empty(desk: Desk) -> None:
    desk.fill(2)
    desk.make()
    desk.fail()
    desk.answer(GOOD)
    assert len(desk.requests) == 1
    assert desk.statuses() == [Status.OK, Status.EDIT_FAILED]
    assert [j.reason for j in desk.matrix.judgements()][1] == "black image"
    assert desk.lines("replies")[0]["batch"] == 2
    assert desk.work.is_finished


def test_a_batch_without_any_edit_is_over_without_a_word(desk: Desk) -> None:
    desk.fill(2)
    for _ in range(2):
        desk.fail()
    assert not desk.ready
    assert desk.work.is_finished


def test_an_attempt_is_a_line_and_no_result(desk: Desk) -> None:
    desk.fill()
    desk.recorder.attempt(desk.take(editing=True), "killed by SIGKILL")
    line = desk.lines("edits")[0]
    assert (line["status"], line["reason"], line["image"]) == ("pending", "killed by SIGKILL", "")
    assert desk.edits == []
    assert desk.matrix.edits[0].status is Status.PENDING


def test_a_judge_that_is_given_up_has_no_answer_whatever_retries_are_left(desk: Desk) -> None:
    desk.fill(2)
    desk.make()
    desk.make()
    task = desk.begin()
    desk.recorder.record_failure(task, "failed 2 times; the last time: killed by SIGKILL", "cpu:1")
    desk.work.finish(task)
    assert desk.statuses() == [Status.JUDGE_ERROR] * 2
    line = desk.lines("replies")[0]
    assert (line["ended"], line["final"], line["read"]) == ("judge_error", True, {})
    assert "SIGKILL" in line["text"]
    assert desk.work.is_finished


def test_times_and_events_are_a_line_each(desk: Desk) -> None:
    desk.recorder.activity("cpu:0", "loading", "edit:painter", 0.123456, 2.0, "")
    desk.recorder.event("devices", devices=["cpu:0"])
    desk.recorder.sync()
    first, second = desk.lines("events")
    about = {"device": "cpu:0", "kind": "loading", "model": "painter", "begin": 0.1235, "end": 2.0, "what": ""}
    assert first == {"event": "activity", "start": desk.directory.number, **about, "role": "edit"}
    assert second == {"event": "devices", "start": desk.directory.number, "devices": ["cpu:0"]}


# -- pictures that did not stay what they were --


def test_a_damaged_picture_is_made_again_and_judged(desk: Desk) -> None:
    desk.fill(2)
    desk.make()
    desk.make()
    desk.answer(damaged(), GOOD)
    assert desk.matrix.edits[0].status is Status.PENDING
    assert desk.lines("edits")[-1]["reason"] == "cut off"
    assert desk.make() == 0
    desk.answer(GOOD)
    assert desk.statuses() == [Status.OK, Status.OK]
    assert desk.work.is_finished


def test_one_that_is_damaged_twice_is_a_failed_edit(desk: Desk) -> None:
    desk.fill(2)
    desk.make()
    desk.make()
    desk.answer(damaged(), GOOD)
    desk.make()
    desk.answer(damaged("cut off again"))
    assert desk.statuses() == [Status.EDIT_FAILED, Status.OK]
    assert desk.matrix.edits[0].reason == "damaged twice: cut off again"
    assert desk.work.is_finished


@pytest.mark.parametrize("shade", [None, 77], ids=["the same picture", "another picture"])
def test_all_judgements_of_a_damaged_picture_come_to_an_end(tmp_path: Path, shade: int | None) -> None:
    """One was made before the damage was found, one while it was being found, one waited in the queue."""
    desk = Desk(tmp_path, small_matrix(1, repeats=4))
    desk.fill()
    desk.make()
    desk.answer(GOOD)
    under_way = desk.begin()
    desk.answer(damaged())
    assert desk.matrix.edits[0].status is Status.PENDING
    desk.answer()  # the fourth: it could start before, and now there is nothing to look at
    assert desk.requests == []
    desk.finish(under_way, "Score: 3.0")
    assert all(line["key"] for line in desk.lines("replies")), "an answer without a picture is about nothing"
    desk.make(shade)
    desk.finish_all()
    assert desk.statuses() == [Status.OK] * 4
    assert [j.score for j in desk.matrix.judgements()] == [8.0, 8.0 if shade else 3.0, 8.0, 8.0]
    again = small_matrix(1, repeats=4)
    load_run_journals(again, RunDirectory.open_existing(desk.directory.path))
    assert list(again.judgements()) == list(desk.matrix.judgements()), "as the records have it"


def test_two_judges_that_find_the_same_damage_have_it_made_again_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path, small_matrix(1, repeats=2))
    desk.fill()
    desk.make()
    first, second = desk.begin(), desk.begin()
    desk.finish(first, damaged())
    desk.finish(second, damaged())
    desk.make()
    assert not any(map(is_edit, desk.ready))
    desk.finish_all()
    assert desk.statuses() == [Status.OK] * 2


def test_two_judges_that_find_it_damaged_twice_end_the_run(tmp_path: Path) -> None:
    desk = Desk(tmp_path, small_matrix(1, repeats=2))
    desk.fill()
    desk.make()
    desk.finish(desk.begin(), damaged())
    desk.answer()
    desk.make()
    first, second = desk.begin(), desk.begin()
    desk.finish(first, damaged())
    desk.finish(second, damaged())
    assert desk.statuses() == [Status.EDIT_FAILED] * 2
    assert desk.work.is_finished, "nothing waits for an edit that will not come"


def test_a_batch_waits_for_a_member_that_is_made_again_although_the_others_failed(tmp_path: Path) -> None:
    """Judge `a` finds the first picture damaged while the second, which the batch of `b` waits for, fails."""
    desk = Desk(tmp_path, small_matrix(2, judges=("a", "b")))
    fill_work(desk.work, desk.matrix, {"a": [0, 1], "b": [0, 0]})
    desk.make()
    desk.answer(damaged())
    assert desk.fail().units == (1,)
    desk.finish_all()
    assert desk.said() == ["ok", "edit_failed"] * 2


def test_a_second_finding_of_the_same_damage_is_no_second_damage(tmp_path: Path) -> None:
    """It was told after the picture had been made again."""
    desk = Desk(tmp_path, small_matrix(1, repeats=2))
    desk.fill()
    desk.make()
    first, second = desk.begin(), desk.begin()
    desk.finish(first, damaged())
    desk.make()
    desk.finish(second, damaged())
    desk.finish_all()
    assert desk.said() == ["ok", "ok"]


@pytest.mark.parametrize("shade", [None, 77], ids=["the same picture", "another picture"])
def test_an_answer_about_a_picture_that_was_made_again_meanwhile_counts_if_it_is_the_same(
    tmp_path: Path, shade: int | None
) -> None:
    desk = Desk(tmp_path, small_matrix(1, repeats=2))
    desk.fill()
    desk.make()
    under_way = desk.begin()
    desk.answer(damaged())
    desk.make(shade)
    desk.finish(under_way, "Score: 3.0")
    desk.finish_all()
    scores = [judgement.score for judgement in desk.matrix.judgements()]
    assert scores == ([8.0, 8.0] if shade else [3.0, 8.0])
    assert len({line["key"] for line in desk.lines("replies")}) == (3 if shade else 2)


# What cannot be read is tried again, later each time, and is left in the end.


def task(unit: int) -> Task:
    return Task(unit, "edit:m", (unit,))


def test_a_task_waits_longer_each_time_and_is_left_after_a_minute() -> None:
    again, now, tickets = ReadRetries(), 0.0, []
    while (ticket := again.schedule_retry(task(1), now)) is not None:
        tickets.append(ticket)
        assert again.is_waiting
        seconds = AGAIN_AFTER[len(tickets) - 1]
        assert again.due(now + seconds - 0.01) == []
        now += seconds
        assert again.due(now) == [ticket]
        assert again.due(now) == [], "once"
        assert not again.is_waiting
    assert tickets[0] == FIRST_TICKET
    assert len(set(tickets)) == len(AGAIN_AFTER)
    assert max(tickets) < 0, "no edit has such a number"
    assert now == 60


def test_tasks_wait_each_for_itself_and_all_are_counted_at_the_end() -> None:
    again = ReadRetries()
    first, second = again.schedule_retry(task(1), 0.0), again.schedule_retry(task(2), 0.5)
    assert again.due(1.2) == [first]
    assert again.due(9.0) == [second]
    again.lost += ["a", "b", "c", "c"]
    assert again.loss_summary == "a, and 2 more pictures"


def test_controls_that_are_read_again_are_still_controls() -> None:
    """That they fail then, all of them, ends no run."""
    work, engine = Work(), Engine.__new__(Engine)
    ready: list[Task] = []
    work.on_ready = ready.append
    engine._again, engine._now, engine._work, engine._policy = ReadRetries(), 0.0, work, Mock()
    engine._do, engine._watch = Mock(), Mock()
    engine._read_again(Mock(), Task(1, "judge:m", (1,), by_the_way=True), "a.png: gone")
    work.settle(FIRST_TICKET)
    assert [task.by_the_way for task in ready] == [True]
