"""Questions that come after others, samples that follow others, and controls, from the order to the records."""

from __future__ import annotations

from pathlib import Path

import pytest

from edit_eval.execution.engine.recorder import is_edit
from edit_eval.records import Status
from edit_eval.store.matrix import Matrix
from edit_eval.store.recall import load_run_journals
from edit_eval.store.run_directory import RunDirectory
from execution.engine.desk import Desk, damaged
from small_matrix import Asking, ask, small_matrix, small_samples

STEPS = Asking([ask("a"), ask("b", user="After {a}.", after=("a",)), ask("c", user="After {b}.", after=("b",))])


def told(desk: Desk) -> list[str]:
    """What each request says that was ordered last."""
    return [request["user"] for request in desk.requests]


def again(desk: Desk, matrix: Matrix) -> Matrix:
    """What a matrix makes of the records so far."""
    load_run_journals(matrix, RunDirectory.open_existing(desk.directory.path))
    return matrix


# -- questions that come after others --


def test_questions_are_put_one_after_the_other_with_the_replies(tmp_path: Path) -> None:
    desk = Desk(tmp_path, small_matrix(2, protocol=STEPS))
    desk.fill(2)
    desk.make()
    assert not desk.ready[1:], "a batch waits for all its pictures"
    desk.make()
    desk.answer("1", "2")
    assert told(desk) == ["a: do 0", "a: do 1"]
    assert not desk.judgements
    desk.answer("3", "4")
    assert told(desk) == ["After 1.", "After 2."]
    desk.answer("5", "6")
    assert told(desk) == ["After 3.", "After 4."]
    assert [judgement.scores["mean"] for judgement in desk.judgements] == [3.0, 4.0]
    assert desk.work.is_finished


def test_one_that_could_not_be_read_holds_up_its_own_only(tmp_path: Path) -> None:
    desk = Desk(tmp_path, small_matrix(2, protocol=STEPS))
    desk.fill()
    desk.make()
    desk.make()
    desk.answer("hm")
    desk.answer("2")
    waiting = [task for task in desk.ready if not is_edit(task)]
    assert [desk.matrix.address(task.units[0])[::5] for task in waiting] == [("s0", "a"), ("s1", "b")]
    desk.finish_all(lambda request: "5")
    assert desk.said() == ["ok", "ok"]


def test_a_batch_leaves_out_those_whose_earlier_question_has_no_answer(tmp_path: Path) -> None:
    desk = Desk(tmp_path, small_matrix(2, protocol=STEPS, retries=0))
    desk.fill(2)
    desk.make()
    desk.make()
    desk.answer("hm", "2")
    assert [(j.sample_id, j.status) for j in desk.judgements] == [("s0", Status.UNPARSEABLE)]
    desk.answer("4")
    assert told(desk) == ["After 2."]
    desk.answer("6")
    assert desk.said() == ["unparseable", "ok"]
    assert desk.work.is_finished
    assert len(desk.lines("replies")) == 4


def test_where_no_earlier_question_has_an_answer_nothing_is_put(tmp_path: Path) -> None:
    desk = Desk(tmp_path, small_matrix(2, protocol=STEPS, retries=0))
    desk.fill(2)
    desk.make()
    desk.make()
    desk.answer("hm", {"text": "no", "ended": "refused"})
    assert desk.work.is_finished
    assert desk.said() == ["unparseable", "refused"]
    assert [j.status.value for j in desk.judgements] == ["unparseable", "refused"]


def test_a_judge_that_is_given_up_settles_what_came_after(tmp_path: Path) -> None:
    desk = Desk(tmp_path, small_matrix(2, protocol=STEPS))
    desk.fill(2)
    desk.make()
    desk.make()
    desk.fail("killed by SIGKILL", editing=False)
    assert desk.said() == ["judge_error"] * 2
    assert desk.work.is_finished


def test_an_edit_that_fails_settles_all_its_questions(tmp_path: Path) -> None:
    desk = Desk(tmp_path, small_matrix(2, protocol=STEPS))
    desk.fill()
    desk.fail()
    desk.make()
    desk.finish_all(lambda request: "5")
    assert desk.said() == ["edit_failed", "ok"]


def test_what_waits_for_a_question_that_is_left_is_left_with_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path, small_matrix(2, protocol=STEPS))
    desk.fill()
    desk.make()
    desk.make()
    desk.leave(editing=False)
    desk.finish_all(lambda request: "5")
    assert desk.said() == ["pending", "ok"]
    assert desk.work.is_finished, "nobody waits for what does not come in this start"
    later = Desk(tmp_path / "later", again(desk, small_matrix(2, protocol=STEPS)))
    later.fill()
    later.finish_all(lambda request: "5")
    assert later.said() == ["ok", "ok"]


@pytest.mark.parametrize("shade", [None, 77], ids=["the same picture", "another picture"])
@pytest.mark.parametrize("asked", [1, 2, 3])
def test_a_damaged_picture_takes_its_questions_along(tmp_path: Path, asked: int, shade: int | None) -> None:
    """It is found when the question `asked` is put, counted from 0."""
    desk = Desk(tmp_path, small_matrix(1, protocol=STEPS, repeats=2))
    desk.fill()
    desk.make()
    for text in ("1", "2", "3")[:asked]:
        task = next(task for task in desk.ready if desk.matrix.address(task.units[0])[4] == 0)
        desk.ready.remove(task)
        desk.requests = desk.recorder.order(task)["requests"]
        desk.finish(task, text)
    desk.answer(damaged())
    desk.make(shade)
    desk.finish_all(lambda request: "9" if "After" in request["user"] else "1")
    assert desk.said() == ["ok", "ok"]
    recalled = again(desk, small_matrix(1, protocol=STEPS, repeats=2))
    assert [j.scores for j in recalled.judgements()] == [j.scores for j in desk.matrix.judgements()]
    assert len({line["key"] for line in desk.lines("replies")}) >= 6


@pytest.mark.parametrize("count", range(7))
def test_a_run_that_was_killed_after_any_answer_goes_on(tmp_path: Path, count: int) -> None:
    desk = Desk(tmp_path, small_matrix(2, protocol=STEPS, retries=1))
    desk.fill(2)
    desk.make()
    desk.make()
    replies = {"a: do 0": "hm", "a: do 1": "2", "After 2.": "4", "After 4.": "hm"}
    desk.finish_all(lambda request: replies.get(request["user"], "5"))
    lines, edits = desk.lines("replies"), desk.lines("edits")
    assert len(lines) == 6
    later = Desk(tmp_path / "later", small_matrix(2, protocol=STEPS, retries=1))
    for line in edits:
        picture = desk.directory.path / line["image"]
        (later.directory.path / line["image"]).parent.mkdir(parents=True, exist_ok=True)
        (later.directory.path / line["image"]).write_bytes(picture.read_bytes())
        later.directory.append("edits", line)
    for line in lines[:count]:
        later.directory.append("replies", line)
    again(later, later.matrix)
    later.fill(2)
    later.finish_all(lambda request: replies.get(request["user"], "5"))
    assert [j.scores for j in later.matrix.judgements()] == [j.scores for j in desk.matrix.judgements()]
    assert len(later.lines("replies")) == 6, "nothing is asked twice"


# -- samples that follow others --


def turns(count: int = 3) -> Matrix:
    return small_matrix(small_samples(count, follows={1: 0, 2: 1}))


def test_the_source_is_the_edit_before(tmp_path: Path) -> None:
    desk = Desk(tmp_path, turns())
    desk.fill()
    assert len(desk.ready) == 1
    desk.make()
    desk.make()
    first = desk.matrix.edits[0]
    assert desk.order["pictures"] == [
        {"name": "source", "path": str(desk.directory.path / first.image), "pixels": first.pixels}
    ]
    desk.make()
    desk.finish_all()
    shown = [{view["name"]: view.get("pixels") for view in desk.requests[0]["pictures"]}]
    assert shown == [{"source": desk.matrix.edits[1].pixels, "edit": desk.matrix.edits[2].pixels}]
    assert desk.said() == ["ok"] * 3


def test_what_follows_an_edit_that_failed_is_told_and_needs_no_line(tmp_path: Path) -> None:
    desk = Desk(tmp_path, turns(4))
    desk.fill()
    desk.fail()
    assert [(edit.sample_id, edit.reason) for edit in desk.edits] == [
        ("s0", "black image"),
        ("s1", "the edit that it follows failed: black image"),
        ("s2", "the edit that it follows failed: black image"),
    ]
    assert len(desk.lines("edits")) == 1
    desk.finish_all()
    assert desk.said() == ["edit_failed"] * 3 + ["ok"]
    assert again(desk, turns(4)).edits == desk.matrix.edits


def test_what_follows_an_edit_that_is_left_is_left_with_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path, turns(4))
    desk.fill()
    desk.leave()
    desk.finish_all()
    assert desk.said() == ["pending"] * 3 + ["ok"]
    assert again(desk, turns(4)).pending == 3


@pytest.mark.parametrize("shade", [None, 77], ids=["the same picture", "another picture"])
def test_a_damaged_source_is_made_again_and_its_follower_judged_beside_it(tmp_path: Path, shade: int | None) -> None:
    desk = Desk(tmp_path, turns(2))
    desk.fill()
    desk.make()
    desk.make()
    desk.answer("Score: 3")  # the first
    path = desk.directory.path / desk.matrix.edits[0].image
    desk.answer(damaged(f"{path}: cut off"))  # found while the second was judged
    assert [edit.status.value for edit in desk.matrix.edits] == ["pending", "ok"], "the follower's own is whole"
    desk.make(shade)
    desk.finish_all()
    assert desk.said() == ["ok", "ok"]
    assert [j.score for j in desk.matrix.judgements()] == [8.0 if shade else 3.0, 8.0]
    assert next(again(desk, turns(2)).judgements()).scores == next(desk.matrix.judgements()).scores


def test_a_follower_that_is_to_be_made_while_its_source_is_made_again_waits(tmp_path: Path) -> None:
    desk = Desk(tmp_path, turns(2))
    desk.fill()
    desk.make()
    follower = desk.take(editing=True)
    desk.answer(damaged())
    was = desk.recorder.order(follower)["pictures"][0]
    assert was["pixels"], "its worker finds that it cannot be read, and tries again"
    desk.make()
    assert desk.recorder.order(follower)["pictures"][0] == was
    desk.made(follower)
    desk.finish_all()
    assert desk.said() == ["ok", "ok"]


def test_a_source_that_only_its_follower_finds_damaged_is_made_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, turns(2))
    desk.fill()
    desk.make()
    desk.answer("Score: 3")
    path = desk.directory.path / desk.matrix.edits[0].image
    path.write_bytes(bytes(path.stat().st_size))
    desk.leave()  # after a minute of attempts to read it
    desk.finish_all()
    assert desk.said() == ["ok", "ok"]
    path.write_bytes(bytes(path.stat().st_size))
    other = Desk(tmp_path / "other", turns(2))
    other.fill()
    other.make()
    other.leave()
    assert other.matrix.edits[1].status is Status.PENDING, "one that is whole is not made again"
    assert other.matrix.edits[0].status is Status.OK


# -- controls --


def controlled(count: int = 3, controls: int = 1) -> Matrix:
    return small_matrix(count, controls=controls)


def test_controls_are_judged_with_what_they_are_made_of(tmp_path: Path) -> None:
    desk = Desk(tmp_path, controlled())
    desk.fill()
    seen: dict[str, object] = {}
    while desk.ready:
        if any(map(is_edit, desk.ready)):
            desk.make()
            continue
        task = desk.begin()
        (request,), column = desk.requests, desk.matrix.address(task.units[0])[1]
        seen[column] = request["pictures"][1]
        desk.finish(task, "Score: 2" if column.startswith("control:") else "Score: 8")
    source = {"path": "/sources/0.png", "digest": ""}
    other = desk.matrix.edits[1]
    assert seen["control:source"] == {"name": "edit", "steps": [], **source}
    assert seen["control:blank"] == {"name": "edit", "steps": [], "blank_like": source}
    assert seen["control:shuffled"] == {
        "name": "edit",
        "steps": [],
        "path": str(desk.directory.path / other.image),
        "pixels": other.pixels,
    }
    assert desk.work.is_finished
    assert [j.score for j in desk.matrix.judgements()] == [8.0] * 3
    assert [j.score for j in desk.matrix.rows("control")] == [2.0] * 3
    recalled = again(desk, controlled())
    assert list(recalled.rows("control")) == list(desk.matrix.rows("control"))
    assert again(desk, controlled(controls=0)).pending == 0, "without them all else is as it was"


def test_shuffled_waits_for_the_other_s_edit_and_ends_with_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path, controlled(2))
    desk.fill()
    desk.make()
    kinds = [desk.matrix.address(task.units[0])[1] for task in desk.ready if not is_edit(task)]
    assert kinds == ["painter", "control:source", "control:blank"]
    desk.fail()
    desk.finish_all()
    assert [(j.edit_model, j.status.value) for j in desk.matrix.rows("control")] == [
        ("control:source", "ok"),
        ("control:blank", "ok"),
        ("control:shuffled", "edit_failed"),
    ]


def test_controls_do_not_come_where_the_edit_beside_them_failed_sooner_than_elsewhere(tmp_path: Path) -> None:
    """They stand beside an edit, so that no judge is loaded for them alone; whether it failed is no matter."""
    desk = Desk(tmp_path, controlled(2))
    desk.fill()
    assert all(map(is_edit, desk.ready))
    desk.fail()
    kinds = [desk.matrix.address(task.units[0])[1] for task in desk.ready if not is_edit(task)]
    assert kinds == ["control:source", "control:blank"]
    desk.finish_all()
    assert [j.status.value for j in desk.matrix.rows("control")] == ["ok"] * 3


def test_a_damaged_picture_takes_the_control_along_that_shows_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path, controlled(2))
    desk.fill()
    desk.make()
    desk.make()
    shuffled = next(t for t in desk.ready if desk.matrix.address(t.units[0])[1] == "control:shuffled")
    desk.ready.remove(shuffled)
    desk.requests = desk.recorder.order(shuffled)["requests"]
    desk.finish(shuffled, damaged())
    assert [edit.status.value for edit in desk.matrix.edits] == ["ok", "pending"]
    desk.make()
    desk.finish_all()
    assert desk.said() == ["ok", "ok"]
    assert [j.status.value for j in desk.matrix.rows("control")] == ["ok"] * 3
