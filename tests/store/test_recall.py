"""From the lines of the journals to what a matrix knows: what counts, and what is made or asked anew."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from edit_eval.config.identity import Identity
from edit_eval.errors import RunDirectoryError
from edit_eval.records import Edit, Reply, Status
from edit_eval.store.journal import Record, seal
from edit_eval.store.matrix import Matrix
from edit_eval.store.recall import ReplyLine, edit_record, is_there, load_journals, load_run_journals, refuse_to_resume
from edit_eval.store.run_directory import RunDirectory
from edit_eval.store.run_folders import reuse
from edit_eval.store.votes import carry_votes
from small_matrix import (
    Asking,
    ask,
    give_reply,
    imagined_edit,
    made_edit,
    recalled,
    reply_line,
    small_experiment,
    small_matrix,
    small_samples,
)

ALL: dict[str, Any] = {"models": ("a", "b"), "judges": ("x", "y", "z"), "edit_seeds": 2, "repeats": 2, "controls": 2}
GOOD = Reply(text="Score: 8.0", seconds=0.5, device="cpu:1")
HM = Reply(text="hm")
KILLED = Reply(text="killed by SIGKILL", ended=Status.JUDGE_ERROR, final=True)


@pytest.fixture
def directory(tmp_path: Any) -> RunDirectory:
    return RunDirectory(tmp_path / "run")


def done(
    matrix: Matrix, directory: RunDirectory, replies: Sequence[Reply] = (GOOD,)
) -> tuple[list[Record], list[Record]]:
    """Makes every edit and gives every cell these replies; returns the journals' lines."""
    edits, lines = [], []
    for number in range(len(matrix.edits)):
        if matrix.edits[number].status is Status.PENDING:
            matrix.set_edit(number, made_edit(matrix, number, directory, number % 200))
        edits.append(edit_record(matrix.edits[number]))
    for cell, (again, reply) in itertools.product(range(len(matrix.cells)), enumerate(replies)):
        if matrix.can_be_asked(cell):
            if len(matrix.replies(cell)) == again:  # else a cell with its key has it
                give_reply(matrix, cell, reply)
            lines.append(reply_line(matrix, cell, reply, again))
    return edits, lines


def statuses(matrix: Matrix) -> list[str]:
    return [judgement.status.value for judgement in matrix.judgements()]


def everything(matrix: Matrix) -> list[object]:
    return [*matrix.judgements(), *matrix.rows("control")]


# -- lines --


def test_a_line_of_the_journal_is_the_edit(directory: RunDirectory) -> None:
    matrix = small_matrix(1)
    for edit in (matrix.edits[0], replace(made_edit(matrix, 0, directory), flags=("identical_to_source", "x"))):
        assert msgspec.convert(edit_record(edit), Edit) == edit


def test_a_line_of_the_journal_is_the_reply(directory: RunDirectory) -> None:
    matrix = small_matrix(1)
    matrix.set_edit(0, made_edit(matrix, 0, directory))
    long = Reply(text="so", ended=Status.CUT_OFF, length=9_000_000, values={"yes": 0.25}, final=True, device="cpu:0")
    for reply in (GOOD, KILLED, long):
        line = msgspec.convert(reply_line(matrix, 0, reply), ReplyLine)
        assert (line.reply, line.address) == (reply, matrix.address(0))


# -- edits --


def test_what_was_done_is_recalled(directory: RunDirectory) -> None:
    before = small_matrix(3, **ALL)
    edits, replies = done(before, directory)
    after = small_matrix(3, **ALL)
    assert recalled(after, directory, edits, replies) == []
    assert after.edits == before.edits
    assert everything(after) == everything(before)
    assert after.pending == 0


@pytest.mark.parametrize("trouble", ["gone", "of another size", "of other pixels", "named elsewhere"])
def test_a_picture_that_is_not_as_recorded_is_made_again(directory: RunDirectory, trouble: str) -> None:
    edits, replies = done(small_matrix(2), directory)
    path = directory.path / edits[1]["image"]
    if trouble == "gone":
        path.unlink()
    elif trouble == "of another size":
        path.write_bytes(path.read_bytes() + b"\0")
    elif trouble == "of other pixels":
        path.write_bytes((directory.path / edits[0]["image"]).read_bytes())
        edits[1]["file_bytes"] = path.stat().st_size
    else:
        edits[1]["image"] = "images/../images/" + edits[1]["image"].removeprefix("images/")
    after = small_matrix(2)
    noticed = recalled(after, directory, edits, replies, verify=True)
    assert statuses(after) == ["ok", "pending"]
    assert len(noticed) == 1
    assert noticed[0].startswith("1 picture is ")
    assert noticed[0].endswith(": made again")
    if trouble == "of other pixels":
        plain = small_matrix(2)
        assert recalled(plain, directory, edits, replies) == []
        assert statuses(plain) == ["ok", "ok"], "without `verify` nobody looks"


@pytest.mark.parametrize("image", ["/etc/hosts", "../other/images/x.png", "images/../../x.png", "report/x.png", ""])
def test_a_path_that_leads_elsewhere_is_no_picture(directory: RunDirectory, image: str) -> None:
    matrix = small_matrix(1)
    edit = made_edit(matrix, 0, directory)
    assert is_there(edit, directory.path)
    target = directory.path / image if image else directory.path
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((directory.path / edit.image).read_bytes())
    size = target.stat().st_size
    recorded = msgspec.convert({**edit_record(edit), "image": image or "x", "file_bytes": size}, Edit)
    assert not is_there(recorded, directory.path)


def test_the_last_line_of_an_edit_counts(directory: RunDirectory) -> None:
    matrix = small_matrix(1)
    edit = made_edit(matrix, 0, directory)
    pending = edit_record(matrix.edits[0])
    good, failed = edit_record(edit), {**pending, "status": "edit_failed", "reason": "black"}
    for lines, status in (
        ([pending, good], "ok"),
        ([good, pending], "pending"),  # its picture was found damaged, and nobody has made it again
        ([failed, good], "ok"),
        ([good, failed], "edit_failed"),
        ([failed, {**failed, "status": "edit_refused"}], "edit_refused"),
    ):
        after = small_matrix(1)
        recalled(after, directory, lines, [])
        assert after.edits[0].status.value == status


def test_what_another_configuration_made_is_left_alone(directory: RunDirectory) -> None:
    edits, replies = done(small_matrix(2, seed=5), directory)
    after = small_matrix(2)
    assert recalled(after, directory, edits, replies) == []
    assert statuses(after) == ["pending"] * 2


def test_another_judge_takes_the_edits_and_no_replies(directory: RunDirectory) -> None:
    edits, replies = done(small_matrix(2), directory)
    after = small_matrix(2, judges=("another",))
    recalled(after, directory, edits, replies)
    assert [e.status for e in after.edits] == [Status.OK] * 2
    assert statuses(after) == ["pending"] * 2


def test_a_skipped_sample_is_skipped_whatever_was_done_for_it_before(directory: RunDirectory) -> None:
    edits, replies = done(small_matrix(2), directory)
    after = small_matrix(small_samples(2, bad=(0,)))
    recalled(after, directory, edits, replies)
    assert statuses(after) == ["skipped", "ok"]


@pytest.mark.parametrize("status", ["edit_failed", "edit_refused"])
def test_what_follows_an_edit_that_is_not_made_is_not_made_without_a_line_of_its_own(
    directory: RunDirectory, status: str
) -> None:
    samples = small_samples(4, follows={0: 1, 2: 0})
    edits, replies = done(small_matrix(samples), directory)
    edits[1] = {**edits[1], "status": status, "reason": "black", "image": ""}
    after = small_matrix(samples)
    recalled(after, directory, [edits[1], edits[3]], replies)
    assert statuses(after) == [status, status, status, "ok"]
    again = small_matrix(samples)
    recalled(again, directory, [edits[1], edits[3]], replies, lambda ended: ended.value == status)
    assert statuses(again) == ["pending", "pending", "pending", "ok"]
    made = small_matrix(samples)
    recalled(made, directory, edits, replies)
    assert [e.status.value for e in made.edits] == ["ok", status, "ok", "ok"], "it was made before"
    assert statuses(made) == [status, status, "ok", "ok"], "and its source cannot be shown any more"


def test_two_names_for_the_same_model_share_what_one_has_made(directory: RunDirectory) -> None:
    def twins(names: Sequence[str]) -> Matrix:
        models = tuple(Identity(name, "editor", "", {"steps": 4}) for name in names)
        return Matrix(replace(small_experiment(1), edit_models=models))

    before = twins(["first"])
    edits, replies = done(before, directory)
    after = twins(["first", "second"])
    recalled(after, directory, edits, replies)
    assert [(e.edit_model, e.image, e.status) for e in after.edits] == [
        ("first", edits[0]["image"], Status.OK),
        ("second", edits[0]["image"], Status.OK),
    ]
    assert [(j.edit_model, j.score) for j in after.judgements()] == [("first", 8.0), ("second", 8.0)]


# -- replies --


@pytest.mark.parametrize("retried", [(), ("unparseable",), ("edit_failed",), ("edit_failed", "unparseable", "ok")])
def test_only_failures_that_are_to_be_retried_are_forgotten(directory: RunDirectory, retried: tuple[str, ...]) -> None:
    before = small_matrix(3)
    edits, replies = done(before, directory)
    edits[0] = {**edits[0], "status": "edit_failed", "reason": "black", "image": ""}
    replies[1:2] = [{**replies[1], "text": "hm", "ask": ask} for ask in range(3)]
    after = small_matrix(3)
    recalled(after, directory, edits, replies, lambda status: status.value in retried)
    assert statuses(after) == [
        "pending" if "edit_failed" in retried else "edit_failed",
        "pending" if "unparseable" in retried else "unparseable",
        "ok",
    ]


def test_a_retry_asks_the_failed_questions_only(directory: RunDirectory) -> None:
    protocol = Asking([ask("a"), ask("b"), ask("c", user="{b}", after=("b",))])
    before = small_matrix(1, protocol=protocol, retries=0)
    edits, _ = done(before, directory, ())
    for cell, text in enumerate(["1", "hm"]):
        give_reply(before, cell, Reply(text=text))
    replies = [reply_line(before, cell, before.replies(cell)[0]) for cell in range(2)]
    after = small_matrix(1, protocol=protocol, retries=0)
    recalled(after, directory, edits, replies, {Status.UNPARSEABLE}.__contains__)
    assert [after.reading(cell).status.value for cell in range(3)] == ["ok", "pending", "pending"]
    assert statuses(after) == ["pending"]


def test_a_retry_that_succeeded_counts_after_all_that_was_given_up(directory: RunDirectory) -> None:
    before = small_matrix(1)
    edits, replies = done(before, directory, (KILLED,))
    after = small_matrix(1)
    recalled(after, directory, edits, [*replies, reply_line(before, 0, GOOD)])
    assert [(j.score, j.answers) for j in after.judgements()] == [(8.0, 1)], "asked anew, and once"


def test_a_retry_that_was_interrupted_goes_on(directory: RunDirectory) -> None:
    edits, replies = done(small_matrix(1), directory, (HM,) * 3)
    after = small_matrix(1)
    recalled(after, directory, edits, replies)
    assert statuses(after) == ["unparseable"]
    retried = small_matrix(1)
    recalled(retried, directory, edits, [*replies, replies[0]])
    assert statuses(retried) == ["pending"], "the retry was asked once, and is asked again"


def test_how_a_reply_ended_and_how_often_was_asked_is_recalled(directory: RunDirectory) -> None:
    cut, long = Reply(text="Score: 1", ended=Status.CUT_OFF), Reply(text="so", ended=Status.CUT_OFF, length=9_000_000)
    edits, replies = done(small_matrix(1), directory, (cut, long, GOOD))
    after = small_matrix(1)
    recalled(after, directory, edits, replies)
    assert after.replies(0) == [cut, long, GOOD]
    assert [(j.score, j.answers) for j in after.judgements()] == [(8.0, 3)]
    again = small_matrix(1)
    recalled(again, directory, edits, replies[:2])
    assert statuses(again) == ["pending"]
    give_reply(again, 0, cut)
    assert statuses(again) == ["cut_off"]


STEPS = Asking([ask("a"), ask("b", user="after {a}", after=("a",)), ask("c", user="after {b}", after=("b",))])


def test_replies_to_questions_that_depend_on_each_other_are_recalled_in_any_order(directory: RunDirectory) -> None:
    before = small_matrix(2, protocol=STEPS, readings=2)
    edits, replies = done(before, directory, (Reply(text="7"),))
    assert len(replies) == 12
    for order in (replies, replies[::-1]):
        after = small_matrix(2, protocol=STEPS, readings=2)
        recalled(after, directory, edits, order)
        assert list(after.judgements()) == list(before.judgements())


def test_where_the_earlier_reply_is_another_one_the_later_is_asked_anew(directory: RunDirectory) -> None:
    before = small_matrix(1, protocol=STEPS)
    edits, replies = done(before, directory, (Reply(text="7"),))
    after = small_matrix(1, protocol=STEPS)
    recalled(after, directory, edits, [*replies, {**replies[0], "text": "8"}])
    assert [after.reading(cell).status.value for cell in range(3)] == ["ok", "pending", "pending"]
    give_reply(after, 1, Reply(text="7"))
    assert after.question(2).user == "after 7"


def test_each_of_two_equal_cells_keeps_its_own_replies(directory: RunDirectory) -> None:
    """Two models whose edits are equal: a judge that is not deterministic has answered each for itself."""
    matrix = small_matrix(1, models=("a", "b"))
    edits = []
    for number in range(2):
        matrix.set_edit(number, made_edit(matrix, number, directory, 9))
        edits.append(edit_record(matrix.edits[number]))
    assert matrix.key(0) == matrix.key(1)
    replies = [reply_line(matrix, 0, Reply(text="Score: 3")), reply_line(matrix, 1, Reply(text="Score: 4"))]

    def scores(lines: list[Record]) -> list[float | None]:
        after = small_matrix(1, models=("a", "b"))
        recalled(after, directory, edits, lines)
        return [j.score for j in after.judgements()]

    assert scores(replies) == [3.0, 4.0]
    assert scores(replies[1:]) == [4.0, 4.0], "and for want of its own, its equal's"


def test_replies_about_a_picture_that_is_gone_count_when_it_is_made_again(directory: RunDirectory) -> None:
    edits, replies = done(small_matrix(2, protocol=STEPS), directory, (Reply(text="7"),))
    path = directory.path / edits[1]["image"]
    picture = path.read_bytes()
    path.unlink()
    after = small_matrix(2, protocol=STEPS)
    recalled(after, directory, edits, replies)
    assert statuses(after) == ["ok", "pending"]
    path.write_bytes(picture)
    assert [j.sample_id for j in after.set_edit(1, msgspec.convert(edits[1], Edit))] == ["s1"]
    assert statuses(after) == ["ok", "ok"]


@pytest.mark.parametrize("looked_at", [False, True])
def test_a_journal_says_the_same_as_its_lines_one_by_one(directory: RunDirectory, looked_at: bool) -> None:
    """Also for a matrix whose edits somebody has looked at before."""
    samples = small_samples(5, bad=(3,))
    edits, replies = done(small_matrix(samples, **ALL), directory)
    edits[2] = {**edits[2], "status": "edit_failed", "image": "", "reason": "it is black"}
    edits[4] = {**edits[4], "file_bytes": edits[4]["file_bytes"] + 1}
    written = {"edits": edits, "replies": [*replies, {**replies[0], "text": "Score: 9.9"}]}
    for journal, lines in written.items():
        (directory.path / journal).mkdir()
        (directory.path / journal / "0001.jsonl").write_bytes(b"".join(map(seal, lines)))
    matrix, other = small_matrix(samples, **ALL), small_matrix(samples, **ALL)
    if looked_at:
        assert matrix.edits[3].status is Status.SKIPPED
    read = [directory.read(journal) for journal in ("edits", "replies")]
    noticed = load_journals(matrix, read[0], read[1], directory.path, lambda status: False)
    assert noticed == recalled(other, directory, *written.values())
    assert matrix.edits == other.edits
    assert [*map(matrix.replies, range(len(matrix.cells)))] == [*map(other.replies, range(len(other.cells)))]
    assert everything(matrix) == everything(other)
    assert {"ok", "skipped", "edit_failed", "pending"} == set(statuses(matrix))


def test_a_cell_that_went_on_from_its_equal_s_replies_does_so_again(directory: RunDirectory) -> None:
    """It was asked for the second time only, since an equal cell had been asked for the first time."""
    matrix = small_matrix(1, models=("a", "b"))
    edits = []
    for number in range(2):
        matrix.set_edit(number, made_edit(matrix, number, directory, 9))
        edits.append(edit_record(matrix.edits[number]))
    replies = [reply_line(matrix, 0, HM), reply_line(matrix, 1, HM, 1), reply_line(matrix, 1, GOOD, 2)]
    for models in (("a", "b"), ("b",)):
        after = small_matrix(1, models=("a", "b"))
        after.edit_models = tuple(model for model in after.edit_models if model.name in models)
        after = Matrix(replace(after.experiment, edit_models=after.edit_models))
        recalled(after, directory, edits, replies)
        assert [reply.text for reply in after.replies(-1)] == ["hm", "hm", "Score: 8.0"]


# -- keys that several cells have --


def equal_pair() -> Matrix:
    """Two columns of one sample with equal pixels, whose judge is asked twice."""
    matrix = small_matrix(1, models=("a", "b"), repeats=2)
    for number in range(2):
        edit = imagined_edit(matrix, number, "equal")
        matrix.set_edit(number, replace(edit, image=f"images/{edit.image}"))
    return matrix


def scores(matrix: Matrix) -> list[float | None]:
    return [judgement.score for judgement in matrix.judgements()]


def test_the_last_asking_of_a_key_counts_for_all_that_have_it() -> None:
    matrix = equal_pair()
    for again, text in ((0, "hm"), (1, "Score: 3"), (0, "hm"), (1, "Score: 4")):
        matrix.record_reply(matrix.lookup(0), again, Reply(text=text, seconds=2.0))
    assert scores(matrix)[::2] == [4.0, 4.0]
    assert [(judgement.n_asked, judgement.seconds) for judgement in matrix.judgements()][::2] == [(2, 4.0), (0, 0.0)]
    matrix.forget_replies(2)
    assert matrix.pending == 4
    matrix.set_edit(0, imagined_edit(matrix, 0, "another"))
    matrix.record_reply(matrix.lookup(2), 0, Reply(text="Score: 7", seconds=1.0))
    assert scores(matrix)[::2] == [None, 7.0]
    assert [*matrix.judgements()][2].seconds == 1.0, "it is nobody else's by now"


@pytest.mark.parametrize("unlike", [True, False])
def test_what_was_asked_for_each_cell_is_read_so_and_not_gone_on_with(directory: RunDirectory, unlike: bool) -> None:
    before = equal_pair()
    edits = [edit_record(edit) for edit in before.edits]
    texts = ("Score: 1", "Score: 2") if unlike else ("Score: 1", "Score: 1")
    lines = [reply_line(before, cell, Reply(text=text)) for cell, text in zip((0, 2), texts, strict=True)]
    directory.begin()
    for name, records in (("edits", edits), ("replies", lines)):
        for record in records:
            directory.append(name, record)
    for edit in before.edits:
        path = directory.path / edit.image
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    directory.end()
    after = small_matrix(1, models=("a", "b"), repeats=2)
    load_run_journals(after, RunDirectory(directory.path))
    assert scores(after) == ([1.0, None, 2.0, None] if unlike else [1.0, None, 1.0, None])
    if unlike:
        with pytest.raises(RunDirectoryError, match="it can be read, but not be gone on with"):
            refuse_to_resume(after, directory.path)
    else:
        refuse_to_resume(after, directory.path)
    fresh = small_matrix(1, models=("a", "b"), repeats=2)
    mine = RunDirectory(directory.path.with_name("mine"))
    mine.begin()
    assert "2 edits and 2 judgements are reused" in reuse(RunDirectory(directory.path), mine, fresh, carry_votes)
    mine.end()
    assert len(set(scores(fresh))) == 2, "the same for both, and nothing for the second repeat"
