"""Between the engine and the records: orders, what is kept of results, and pictures that do not stay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edit_eval.execution.recorder import Recorder, digest_of, is_edit
from edit_eval.records import Edit, Judgement, Sample, Status
from edit_eval.scheduling.tasks import Task, Work
from edit_eval.store.matrix import Matrix
from edit_eval.store.run_directory import RunDirectory
from small_matrix import made_edit, small_matrix, small_samples

GOOD = "Score: 8.0"


class Desk:
    """A recorder, the work that can start, and the audience."""

    def __init__(self, folder: Path, matrix: Matrix) -> None:
        self.matrix = matrix
        self.directory = RunDirectory(folder / "run")
        self.directory.begin()
        self.ready: list[Task] = []
        self.work = Work()
        self.work.on_ready = self.ready.append
        self.edits: list[Edit] = []
        self.judgements: list[Judgement] = []
        self.recorder = Recorder(matrix, self.directory, self.work, self, 7)

    def edit(self, edit: Edit) -> None:
        self.edits.append(edit)

    def judgement(self, judgement: Judgement) -> None:
        self.judgements.append(judgement)

    def add(self, judge: str = "judge:critic", batch: int = 1) -> None:
        """All edits, and batches of `batch` judgements that wait for theirs."""
        for number in range(len(self.matrix.edits)):
            self.work.add("edit:painter", [number])
        units = [
            unit
            for unit in range(len(self.matrix.answers))
            if f"judge:{self.matrix.judges[self.matrix.place(unit).judge].name}" == judge
        ]
        for first in range(0, len(units), batch):
            members = units[first : first + batch]
            self.work.add(judge, members, after=[self.matrix.place(unit).edit for unit in members])

    def take(self, *, editing: bool) -> Task:
        """The next task of that kind that can start."""
        task = next(task for task in self.ready if is_edit(task) is editing)
        self.ready.remove(task)
        return task

    def make(self, shade: int | None = None) -> int:
        """Does the next edit; returns its number."""
        task = self.take(editing=True)
        self.recorder.order(task)
        edit = made_edit(self.matrix, task.units[0], self.directory, shade)
        result = {name: getattr(edit, name) for name in ("pixels", "width", "height", "file_bytes")}
        self.recorder.done(task, {"results": [{**result, "flags": ["other_aspect_ratio"]}], "seconds": 2.0}, "cpu:0")
        self.work.finish(task)
        return task.units[0]

    def answer(self, *results: str | dict[str, Any]) -> Task:
        """Does the next batch: a text is an answer."""
        return self.finish(self.begin(), *results)

    def begin(self) -> Task:
        task = self.take(editing=False)
        self.orders = self.recorder.order(task)
        return task

    def finish(self, task: Task, *results: str | dict[str, Any]) -> Task:
        given = [{"text": r} if isinstance(r, str) else r for r in results]
        self.recorder.done(task, {"results": given, "seconds": 0.6}, "cpu:1")
        self.work.finish(task)
        return task

    def finish_all(self) -> None:
        """Does whatever is left, well."""
        while self.ready:
            if any(map(is_edit, self.ready)):
                self.make()
            else:
                task = self.begin()
                self.finish(task, *[GOOD] * len(self.orders["requests"]))
        assert self.work.finished

    def lines(self, journal: str) -> list[dict[str, Any]]:
        return list(RunDirectory.existing(self.directory.path).read(journal))

    def statuses(self) -> list[Status]:
        return [judgement.status for judgement in self.matrix.judgements()]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    (tmp_path / "run" / "config").mkdir(parents=True)
    made = Desk(tmp_path, small_matrix(2))
    yield made
    made.directory.end()


def another(tmp_path: Path, matrix: Matrix) -> Desk:
    (tmp_path / "run" / "config").mkdir(parents=True)
    return Desk(tmp_path, matrix)


# -- orders --


def test_an_edit_is_ordered_with_all_that_a_worker_needs(desk: Desk) -> None:
    desk.add()
    order = desk.recorder.order(desk.take(editing=True))
    edit = desk.matrix.edits[0]
    output = desk.directory.path / "images" / "painter" / f"s0-{edit.key[:12]}.png"
    files = {"source": "/sources/0.png", "digest": "", "output": str(output)}
    about = {"instruction": "do 0", "seed": 0, "sample": "s0"}
    assert order == {"do": "run", "task": 0, "kind": "edit", **files, **about}
    assert output.parent.is_dir(), "the worker only writes"


def test_a_worker_compares_the_source_with_its_digest_where_that_is_one() -> None:
    sample = Sample("s", 0, "physical", "/sources/0.png", "ab" * 32, "do")
    assert digest_of(sample) == "ab" * 32
    assert digest_of(replace(sample, source_digest="a word of the benchmark's own")) == ""


def test_an_edit_that_is_left_for_another_start_takes_its_judgements_with_it(desk: Desk) -> None:
    desk.add()
    before = desk.work.left("judge:critic")
    desk.recorder.leave(desk.take(editing=True))
    assert desk.work.left("judge:critic") == before - 1
    assert desk.matrix.edits[0].status is Status.PENDING
    assert desk.matrix.judgement(0).status is Status.PENDING


def test_a_judgement_is_ordered_with_the_pictures_and_what_they_were(desk: Desk) -> None:
    desk.add()
    desk.make()
    task = desk.begin()
    edit, prompt = desk.matrix.edits[0], desk.matrix.prompt(0)
    assert {key: desk.orders[key] for key in ("do", "task", "kind")} == {
        "do": "run",
        "task": task.number,
        "kind": "judge",
    }
    assert desk.orders["requests"] == [
        {
            "system": prompt.system,
            "user": prompt.user,
            "source": "/sources/0.png",
            "digest": "",
            "edited": str(desk.directory.path / edit.image),
            "pixels": edit.pixels,
            "sample": "s0",
            "edit_model": "painter",
            "instruction": "do 0",
            "category": "physical",
            "form": "score",
        }
    ]


def test_who_a_task_is_about(desk: Desk) -> None:
    desk.add(batch=2)
    assert desk.recorder.about(desk.take(editing=True)) == "s0"
    assert desk.recorder.about(Task(9, "judge:critic", (0, 1))) == "s0, s1"


# -- results --


def test_an_edit_is_in_the_journal_before_anybody_hears_of_it(desk: Desk) -> None:
    seen: list[tuple[str, int]] = []
    desk.edit = lambda edit: seen.append((edit.status.value, len(desk.lines("edits"))))  # type: ignore[method-assign]
    desk.work.on_ready = lambda task: seen.append((task.model, len(desk.lines("edits"))))
    desk.add()
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
    desk.add(batch=2)
    desk.make()
    desk.make()
    desk.judgement = lambda made: seen.append((made.status.value, len(desk.lines("judgements"))))  # type: ignore[method-assign]
    desk.work.on_ready = lambda task: seen.append((task.model, len(desk.lines("judgements"))))
    desk.answer(GOOD, "no idea")
    assert seen == [("ok", 1), ("judge:critic", 2)]


def test_an_answer_is_kept_as_it_came_with_what_it_amounts_to(desk: Desk) -> None:
    desk.add(batch=2)
    desk.make()
    desk.make()
    desk.answer({"text": "Score:  7.50 ", "halved_to": 1}, "no idea")
    first, second = desk.lines("judgements")
    assert first["text"] == "Score:  7.50 "
    assert (first["status"], first["score"], first["ask"], first["parser"]) == ("ok", 7.5, 0, 7)
    assert (first["batch"], first["halved_to"], first["seconds"], first["device"]) == (2, 1, 0.3, "cpu:1")
    assert [first[n] for n in ("sample", "edit_model", "edit_seed", "judge", "repeat")] == [
        "s0",
        "painter",
        0,
        "critic",
        0,
    ]
    assert (second["status"], second["score"], "halved_to" in second) == ("pending", None, False)
    assert [j.score for j in desk.judgements] == [7.5], "what is to be asked again is no result yet"


def test_what_cannot_be_read_is_asked_again_alone_and_with_a_line_more(desk: Desk) -> None:
    desk.add(batch=2)
    desk.make()
    desk.make()
    desk.answer(GOOD, "no idea")
    for ask in (1, 2):
        task = desk.begin()
        assert task.units == (1,)
        assert desk.orders["requests"][0]["user"] == desk.matrix.protocol.ask_again(desk.matrix.prompt(1)).user
        desk.finish(task, "still no idea")
        assert desk.lines("judgements")[-1]["ask"] == ask
    assert desk.statuses() == [Status.OK, Status.UNPARSEABLE]
    assert [j.status for j in desk.judgements] == [Status.OK, Status.UNPARSEABLE]
    assert desk.work.finished


def test_what_was_cut_off_is_kept_so_and_asked_again_with_a_line_more(desk: Desk) -> None:
    desk.add()
    desk.make()
    desk.answer({"text": "Score: 1", "ended": "cut_off"})
    (first,) = desk.lines("judgements")
    assert (first["text"], first["ended"], first["status"], first["score"]) == ("Score: 1", "cut_off", "pending", None)
    task = desk.begin()
    assert desk.orders["requests"][0]["user"] == desk.matrix.protocol.ask_again(desk.matrix.prompt(0)).user
    desk.finish(task, {"text": "so long", "ended": "cut_off", "length": 9_000_000})
    assert desk.lines("judgements")[-1]["length"] == 9_000_000
    desk.answer("Score: 10.000")
    assert desk.statuses()[0] is Status.OK
    (judgement,) = desk.judgements
    assert (judgement.score, judgement.answers) == (10.0, 3)


def test_who_only_kept_company_is_not_judged_twice(desk: Desk) -> None:
    desk.add(batch=2)
    desk.make()
    desk.make()
    again = desk.work.add("judge:critic", [0, 1])
    desk.answer(GOOD, GOOD)
    desk.ready = [again]
    desk.answer("Score: 1", "Score: 1")
    assert len(desk.lines("judgements")) == 2
    assert [j.score for j in desk.matrix.judgements()] == [8.0, 8.0]


def test_a_member_without_an_edit_leaves_its_place_empty(desk: Desk) -> None:
    desk.add(batch=2)
    desk.make()
    task = desk.take(editing=True)
    desk.recorder.failed(task, "black image", "cpu:0")
    desk.work.finish(task)
    desk.answer(GOOD)
    assert len(desk.orders["requests"]) == 1
    assert desk.statuses() == [Status.OK, Status.EDIT_FAILED]
    assert [j.reason for j in desk.matrix.judgements()][1] == "black image"
    assert desk.lines("judgements")[0]["batch"] == 2
    assert desk.work.finished


def test_a_batch_without_any_edit_is_over_without_a_word(desk: Desk) -> None:
    desk.add(batch=2)
    for _ in range(2):
        task = desk.take(editing=True)
        desk.recorder.failed(task, "black image", "cpu:0")
        desk.work.finish(task)
    assert not desk.ready
    assert desk.work.finished


def test_an_attempt_is_a_line_and_no_result(desk: Desk) -> None:
    desk.add()
    desk.recorder.attempt(desk.take(editing=True), "killed by SIGKILL")
    line = desk.lines("edits")[0]
    assert (line["status"], line["reason"], line["image"]) == ("pending", "killed by SIGKILL", "")
    assert desk.edits == []
    assert desk.matrix.edits[0].status is Status.PENDING


def test_a_judge_that_is_given_up_has_no_answer_whatever_retries_are_left(desk: Desk) -> None:
    desk.add(batch=2)
    desk.make()
    desk.make()
    task = desk.begin()
    desk.recorder.failed(task, "failed 2 times; the last time: killed by SIGKILL", "cpu:1")
    desk.work.finish(task)
    assert desk.statuses() == [Status.JUDGE_ERROR] * 2
    line = desk.lines("judgements")[0]
    assert (line["text"], line["final"], line["score"]) == ("", True, None)
    assert "SIGKILL" in line["error"]
    assert desk.work.finished


def test_times_and_events_are_a_line_each(desk: Desk) -> None:
    desk.recorder.activity("cpu:0", "loading", "edit:painter", 0.123456, 2.0, "")
    desk.recorder.event("devices", devices=["cpu:0"])
    desk.recorder.sync()
    first, second = desk.lines("events")
    about = {"device": "cpu:0", "kind": "loading", "model": "painter", "begin": 0.1235, "end": 2.0, "what": ""}
    assert first == {"event": "activity", "start": desk.directory.number, **about, "role": "edit"}
    assert second == {"event": "devices", "start": desk.directory.number, "devices": ["cpu:0"]}


# -- pictures that did not stay what they were --


def damaged(why: str = "cut off") -> dict[str, Any]:
    return {"damaged": why}


def test_a_damaged_picture_is_made_again_and_judged(desk: Desk) -> None:
    desk.add(batch=2)
    desk.make()
    desk.make()
    desk.answer(damaged(), GOOD)
    assert desk.matrix.edits[0].status is Status.PENDING
    assert desk.lines("edits")[-1]["reason"] == "cut off"
    assert desk.make() == 0
    desk.answer(GOOD)
    assert desk.statuses() == [Status.OK, Status.OK]
    assert desk.work.finished


def test_one_that_is_damaged_twice_is_a_failed_edit(desk: Desk) -> None:
    desk.add(batch=2)
    desk.make()
    desk.make()
    desk.answer(damaged(), GOOD)
    desk.make()
    desk.answer(damaged("cut off again"))
    assert desk.statuses() == [Status.EDIT_FAILED, Status.OK]
    assert desk.matrix.edits[0].reason == "damaged twice: cut off again"
    assert desk.work.finished


TWO_REPEATS = {"repeats": 2}


@pytest.mark.parametrize("shade", [None, 77], ids=["the same picture", "another picture"])
def test_all_judgements_of_a_damaged_picture_come_to_an_end(tmp_path: Path, shade: int | None) -> None:
    """One was made before the damage was found, one while it was being found, one waited in the queue."""
    desk = another(tmp_path, small_matrix(1, repeats=4))
    desk.add()
    desk.make()
    desk.answer(GOOD)
    under_way = desk.begin()
    desk.answer(damaged())
    assert desk.matrix.edits[0].status is Status.PENDING
    desk.answer()  # the fourth: it could start before, and now there is nothing to look at
    assert desk.orders["requests"] == []
    desk.finish(under_way, "Score: 3.0")
    assert all(line["key"] for line in desk.lines("judgements")), "an answer without a picture is about nothing"
    desk.make(shade)
    desk.finish_all()
    assert desk.statuses() == [Status.OK] * 4
    assert [j.score for j in desk.matrix.judgements()] == [8.0] * 4
    again = small_matrix(1, repeats=4)
    again.recall(desk.lines("edits"), desk.lines("judgements"), desk.directory.path, lambda status: False)
    assert list(again.judgements()) == list(desk.matrix.judgements()), "as the records have it"


def test_two_judges_that_find_the_same_damage_have_it_made_again_once(tmp_path: Path) -> None:
    desk = another(tmp_path, small_matrix(1, repeats=2))
    desk.add()
    desk.make()
    first, second = desk.begin(), desk.begin()
    desk.finish(first, damaged())
    desk.finish(second, damaged())
    desk.make()
    assert not any(map(is_edit, desk.ready))
    desk.finish_all()
    assert desk.statuses() == [Status.OK] * 2


def test_two_judges_that_find_it_damaged_twice_end_the_run(tmp_path: Path) -> None:
    desk = another(tmp_path, small_matrix(1, repeats=2))
    desk.add()
    desk.make()
    desk.finish(desk.begin(), damaged())
    desk.answer()
    desk.make()
    first, second = desk.begin(), desk.begin()
    desk.finish(first, damaged())
    desk.finish(second, damaged())
    assert desk.statuses() == [Status.EDIT_FAILED] * 2
    assert desk.work.finished, "nothing waits for an edit that will not come"


def test_a_batch_waits_for_a_member_that_is_made_again_although_the_others_failed(tmp_path: Path) -> None:
    """Judge `a` finds the first picture damaged while the second, which the batch of `b` waits for, fails."""
    desk = another(tmp_path, small_matrix(small_samples(2), judges=("a", "b")))
    desk.add("judge:a")
    units = [desk.matrix.judgement_number(edit, 1, 0) for edit in (0, 1)]
    desk.work.add("judge:b", units, after=[0, 1])
    desk.make()
    desk.answer(damaged())
    task = desk.take(editing=True)
    assert task.units == (1,)
    desk.recorder.failed(task, "black image", "cpu:0")
    desk.work.finish(task)
    desk.finish_all()
    assert desk.statuses() == [Status.OK, Status.EDIT_FAILED] * 2
