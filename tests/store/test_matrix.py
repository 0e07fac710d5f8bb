"""The matrix: which edits and judgements a run is to have, and what the records say has become of each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from edit_eval.records import Answer, Edit, Judgement, Status
from edit_eval.store.journal import Record, seal
from edit_eval.store.keys import Identity
from edit_eval.store.matrix import EDIT_SEED_STRIDE, Matrix, answer_of, edit_record, is_there
from edit_eval.store.run_directory import RunDirectory
from small_matrix import made_edit, small_matrix, small_samples

ALL: dict[str, Any] = {"models": ("a", "b"), "judges": ("x", "y", "z"), "edit_seeds": 2, "repeats": 2}
GOOD = Answer("Score: 8.0", "", 0.5, "cpu:1")


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    return RunDirectory(tmp_path / "run")


def line(matrix: Matrix, number: int, answer: Answer = GOOD, ask: int = 0) -> Record:
    """An answer as the journal has it."""
    names = ("sample", "edit_model", "edit_seed", "judge", "repeat")
    about = dict(zip(names, matrix.address(number), strict=True))
    kept = {name: getattr(answer, name) for name in ("text", "error", "seconds", "device", "final", "ended", "length")}
    return {"key": matrix.judgement_key(number), **about, **kept, "ended": answer.ended.value, "ask": ask}


def done(
    matrix: Matrix, directory: RunDirectory, answers: Sequence[Answer] = (GOOD,)
) -> tuple[list[Record], list[Record]]:
    """Makes every edit and gives every judgement these answers; returns the journals' lines."""
    edits, judgements = [], []
    for number in range(len(matrix.edits)):
        matrix.set_edit(number, made_edit(matrix, number, directory, number % 200))
        edits.append(edit_record(matrix.edits[number]))
    for number, (ask, answer) in itertools.product(range(len(matrix.answers)), enumerate(answers)):
        matrix.add_answer(number, answer)
        judgements.append(line(matrix, number, answer, ask))
    return edits, judgements


def recalled(
    matrix: Matrix,
    directory: RunDirectory,
    edits: Sequence[Record],
    answers: Sequence[Record],
    retry: Callable[[Status], bool] = lambda status: False,
    **more: bool,
) -> list[str]:
    return matrix.recall(edits, answers, directory.path, retry, **more)


def statuses(matrix: Matrix) -> list[str]:
    return [judgement.status.value for judgement in matrix.judgements()]


# -- numbers and keys --


def test_numbers_name_each_edit_and_judgement_once() -> None:
    matrix = small_matrix(4, **ALL)
    assert len(matrix.edits) == 4 * 2 * 2
    assert len(matrix.answers) == 4 * 2 * 2 * 3 * 2
    places = [matrix.place(n) for n in range(len(matrix.answers))]
    assert len(set(places)) == len(places)
    assert [matrix.judgement_number(*place) for place in places] == list(range(len(places)))
    assert len({matrix.address(n) for n in range(len(places))}) == len(places)
    for edit in range(len(matrix.edits)):
        assert {matrix.place(n).edit for n in matrix.judgements_of(edit)} == {edit}
    for model, seed, sample in itertools.product(range(2), range(2), range(4)):
        edit = matrix.edits[matrix.edit_number(model, seed, sample)]
        assert (edit.edit_model, edit.edit_seed, edit.sample_id) == ("ab"[model], seed, f"s{sample}")
        assert matrix.sample_of(matrix.edit_number(model, seed, sample)).index == sample


def test_judgements_come_in_the_order_of_results() -> None:
    matrix = small_matrix(3, **ALL)
    found = [(j.edit_model, j.edit_seed, j.judge, j.repeat, j.sample_id) for j in matrix.judgements()]
    assert found == list(itertools.product("ab", range(2), "xyz", range(2), ("s0", "s1", "s2")))


def test_a_seed_is_the_sample_s_whatever_the_filter() -> None:
    whole = small_matrix(9, seed=40, edit_seeds=2)
    part = small_matrix(small_samples(9)[4:6], seed=40, edit_seeds=2)
    assert [e.seed for e in part.edits] == [44, 45, 44 + EDIT_SEED_STRIDE, 45 + EDIT_SEED_STRIDE]
    assert {e.key for e in part.edits} <= {e.key for e in whole.edits}


def test_what_decides_the_pixels_is_in_the_key_and_names_are_not() -> None:
    def key(**changed: Any) -> str:
        sample = small_samples(1)[0]
        identity = Identity("painter", "editor", "rev", {"steps": 4}, 7)
        sample = replace(
            sample, **{k: v for k, v in changed.items() if k in ("source_digest", "instruction", "id", "category")}
        )
        identity = replace(
            identity, **{k: v for k, v in changed.items() if k in ("name", "type", "revision", "parameters", "seed")}
        )
        return Matrix([sample], [identity], [], small_matrix(1).protocol).edits[0].key

    first = key()
    for same in ({"name": "other"}, {"id": "other"}, {"category": "social"}):
        assert key(**same) == first, same
    different = [
        {"type": "other"},
        {"revision": "rev2"},
        {"parameters": {"steps": 5}},
        {"seed": 8},
        {"source_digest": "x"},
        {"instruction": "x"},
    ]
    assert len({first, *(key(**change) for change in different)}) == 7


def test_a_judgement_s_key_is_about_pixels_prompts_judge_and_repeat(directory: RunDirectory) -> None:
    matrix = small_matrix(2, judges=("x", "y"), repeats=2)
    for number in range(2):
        matrix.set_edit(number, made_edit(matrix, number, directory, 5))
    keys = [matrix.judgement_key(n) for n in range(8)]
    assert len(set(keys)) == 8, "equal pixels, but the samples' prompts differ"
    matrix.set_edit(0, made_edit(matrix, 0, directory, 6))
    assert matrix.judgement_key(0) != keys[0]
    matrix.set_edit(0, made_edit(matrix, 0, directory, 5))
    assert matrix.judgement_key(0) == keys[0]


# -- what becomes of a judgement --


@pytest.mark.parametrize(
    ("answers", "status", "score", "reason"),
    [
        ([], "pending", None, ""),
        ([GOOD], "ok", 8.0, ""),
        ([Answer("hm")], "pending", None, None),
        ([Answer("hm"), GOOD], "ok", 8.0, ""),
        ([Answer("hm")] * 3, "unparseable", None, None),
        ([Answer("hm"), Answer("hm"), Answer("Score: 11")], "out_of_range", None, None),
        ([Answer("", "the server is gone")], "pending", None, None),
        ([Answer("", "the server is gone")] * 3, "judge_error", None, "the server is gone"),
        ([Answer("", "killed by SIGKILL", final=True)], "judge_error", None, "killed by SIGKILL"),
        ([Answer("hm"), Answer("", "killed by SIGKILL", final=True)], "judge_error", None, "killed by SIGKILL"),
    ],
)
def test_all_answers_so_far_make_a_judgement(
    directory: RunDirectory, answers: list[Answer], status: str, score: float | None, reason: str | None
) -> None:
    matrix = small_matrix(1)
    matrix.set_edit(0, made_edit(matrix, 0, directory))
    found = matrix.judgement(0)
    for answer in answers:
        found = matrix.add_answer(0, answer)
    assert (found.status.value, found.score, found.answers) == (status, score, len(answers))
    if reason is not None:
        assert found.reason == reason
    assert found.seconds == pytest.approx(sum(a.seconds for a in answers))
    assert matrix.judgement(0) == found


def test_without_an_edit_there_is_no_judgement() -> None:
    matrix = small_matrix(small_samples(2, bad=(0,)))
    matrix.set_edit(1, replace(matrix.edits[1], status=Status.EDIT_FAILED, reason="black"))
    found = list(matrix.judgements())
    assert [(j.status.value, j.reason, j.score, j.key) for j in found] == [
        ("skipped", "cut off", None, ""),
        ("edit_failed", "black", None, ""),
    ]


def test_answers_about_another_picture_do_not_count_and_those_about_the_same_do(directory: RunDirectory) -> None:
    matrix = small_matrix(1, repeats=2)
    matrix.set_edit(0, made_edit(matrix, 0, directory, 5))
    matrix.add_answer(0, GOOD)
    matrix.add_answer(1, Answer("hm"))
    empty = replace(matrix.edits[0], status=Status.PENDING, image="", pixels="")
    assert matrix.set_edit(0, empty) == []
    assert statuses(matrix) == ["pending", "pending"]
    assert matrix.set_edit(0, made_edit(matrix, 0, directory, 6)) == []
    assert statuses(matrix) == ["pending", "pending"]
    matrix.set_edit(0, empty)
    settled = matrix.set_edit(0, made_edit(matrix, 0, directory, 5))
    assert [(j.repeat, j.score) for j in settled] == [(0, 8.0)]
    assert statuses(matrix) == ["ok", "pending"]


# -- records --


def test_a_line_of_the_journal_is_the_edit(directory: RunDirectory) -> None:
    matrix = small_matrix(1)
    for edit in (matrix.edits[0], replace(made_edit(matrix, 0, directory), flags=("identical_to_source", "x"))):
        assert msgspec.convert(edit_record(edit), Edit) == edit
    assert answer_of({"sample": "s", **line_of(GOOD)}) == GOOD


def line_of(answer: Answer) -> Record:
    return {name: getattr(answer, name) for name in ("text", "error", "seconds", "device", "final")}


def test_what_was_done_is_recalled(directory: RunDirectory) -> None:
    before = small_matrix(3, **ALL)
    edits, answers = done(before, directory)
    after = small_matrix(3, **ALL)
    assert recalled(after, directory, edits, answers) == []
    assert after.edits == before.edits
    assert list(after.judgements()) == list(before.judgements())


@pytest.mark.parametrize("trouble", ["gone", "of another size", "of other pixels", "named elsewhere"])
def test_a_picture_that_is_not_as_recorded_is_made_again(directory: RunDirectory, trouble: str) -> None:
    edits, answers = done(small_matrix(2), directory)
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
    noticed = recalled(after, directory, edits, answers, verify=True)
    assert statuses(after) == ["ok", "pending"]
    assert len(noticed) == 1
    assert noticed[0].startswith("1 picture is ")
    assert noticed[0].endswith(": made again")
    if trouble == "of other pixels":
        plain = small_matrix(2)
        assert recalled(plain, directory, edits, answers) == []
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
    found = msgspec.convert({**edit_record(edit), "image": image or "x", "file_bytes": size}, Edit)
    assert not is_there(found, directory.path)


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
    ):
        after = small_matrix(1)
        recalled(after, directory, lines, [])
        assert after.edits[0].status.value == status


def test_what_another_configuration_made_is_left_alone(directory: RunDirectory) -> None:
    edits, answers = done(small_matrix(2, seed=5), directory)
    after = small_matrix(2)
    assert recalled(after, directory, edits, answers) == []
    assert statuses(after) == ["pending"] * 2


def test_another_judge_takes_the_edits_and_no_answers(directory: RunDirectory) -> None:
    edits, answers = done(small_matrix(2), directory)
    after = small_matrix(2, judges=("another",))
    recalled(after, directory, edits, answers)
    assert [e.status for e in after.edits] == [Status.OK] * 2
    assert statuses(after) == ["pending"] * 2


@pytest.mark.parametrize("retried", [(), ("unparseable",), ("edit_failed",), ("edit_failed", "unparseable", "ok")])
def test_only_failures_that_are_to_be_retried_are_forgotten(directory: RunDirectory, retried: tuple[str, ...]) -> None:
    before = small_matrix(3)
    edits, answers = done(before, directory)
    edits[0] = {**edits[0], "status": "edit_failed", "reason": "black", "image": ""}
    answers[1:2] = [{**answers[1], "text": "hm", "ask": ask} for ask in range(3)]
    after = small_matrix(3)
    recalled(after, directory, edits, answers, lambda status: status.value in retried)
    assert statuses(after) == [
        "pending" if "edit_failed" in retried else "edit_failed",
        "pending" if "unparseable" in retried else "unparseable",
        "ok",
    ]


def test_a_retry_that_succeeded_counts_after_all_that_was_given_up(directory: RunDirectory) -> None:
    before = small_matrix(1)
    edits, answers = done(before, directory, (Answer("", "killed by SIGKILL", final=True),))
    after = small_matrix(1)
    recalled(after, directory, edits, [*answers, line(before, 0)])
    assert [(j.score, j.answers) for j in after.judgements()] == [(8.0, 1)], "asked anew, and once"


def test_how_an_answer_ended_and_how_often_was_asked_is_recalled(directory: RunDirectory) -> None:
    cut, long = Answer("Score: 1", ended=Status.CUT_OFF), Answer("so", ended=Status.CUT_OFF, length=9_000_000)
    edits, answers = done(small_matrix(1), directory, (cut, long, GOOD))
    after = small_matrix(1)
    recalled(after, directory, edits, answers)
    assert after.answers == [[cut, long, GOOD]]
    assert [(j.score, j.answers) for j in after.judgements()] == [(8.0, 3)]
    again = small_matrix(1)
    recalled(again, directory, edits, answers[:2])
    assert statuses(again) == ["pending"]
    again.add_answer(0, cut)
    assert statuses(again) == ["cut_off"]


def test_a_retry_that_was_interrupted_goes_on(directory: RunDirectory) -> None:
    edits, answers = done(small_matrix(1), directory, (Answer("hm"),) * 3)
    after = small_matrix(1)
    recalled(after, directory, edits, answers)
    assert statuses(after) == ["unparseable"]
    retried = small_matrix(1)
    recalled(retried, directory, edits, [*answers, answers[0]])
    assert statuses(retried) == ["pending"], "the retry was asked once, and is asked again"


def test_a_skipped_sample_is_skipped_whatever_was_done_for_it_before(directory: RunDirectory) -> None:
    edits, answers = done(small_matrix(2), directory)
    after = small_matrix(small_samples(2, bad=(0,)))
    recalled(after, directory, edits, answers)
    assert statuses(after) == ["skipped", "ok"]


@pytest.mark.parametrize("looked_at", [False, True])
def test_a_journal_says_the_same_as_its_lines_one_by_one(directory: RunDirectory, looked_at: bool) -> None:
    """Also for a matrix whose edits somebody has looked at before."""
    samples = small_samples(5, bad=(3,))
    edits, judgements = done(small_matrix(samples, **ALL), directory)
    edits[2] = {**edits[2], "status": "edit_failed", "image": "", "reason": "it is black"}
    edits[4] = {**edits[4], "file_bytes": edits[4]["file_bytes"] + 1}
    written = {"edits": edits, "judgements": [*judgements, {**judgements[0], "text": "Score: 9.9"}]}
    for journal, lines in written.items():
        (directory.path / journal).mkdir()
        (directory.path / journal / "0001.jsonl").write_bytes(b"".join(map(seal, lines)))
    matrix, other = small_matrix(samples, **ALL), small_matrix(samples, **ALL)
    if looked_at:
        assert matrix.edits[3].status is Status.SKIPPED
    lines = [directory.read(journal) for journal in written]
    assert matrix.recall(*lines, directory.path, lambda status: False) == recalled(other, directory, *written.values())
    assert matrix.edits == other.edits
    assert matrix.answers == other.answers
    assert list(matrix.judgements()) == list(other.judgements())
    assert {"ok", "skipped", "edit_failed", "pending"} == set(statuses(matrix))


def test_two_names_for_the_same_model_share_what_one_has_made(directory: RunDirectory) -> None:
    def twins(names: Sequence[str]) -> Matrix:
        identities = [Identity(name, "editor", "", {"steps": 4}) for name in names]
        judges = [Identity("critic", "judge", "")]
        return Matrix(small_samples(1), identities, judges, small_matrix(1).protocol)

    before = twins(["first"])
    edits, answers = done(before, directory)
    after = twins(["first", "second"])
    recalled(after, directory, edits, answers)
    assert [(e.edit_model, e.image, e.status) for e in after.edits] == [
        ("first", edits[0]["image"], Status.OK),
        ("second", edits[0]["image"], Status.OK),
    ]
    assert [(j.edit_model, j.score) for j in after.judgements()] == [("first", 8.0), ("second", 8.0)]


def test_each_of_two_equal_judgements_keeps_its_own_answers(directory: RunDirectory) -> None:
    """Two models whose edits are equal: a judge that is not deterministic has answered each for itself."""
    matrix = small_matrix(1, models=("a", "b"))
    edits = []
    for number in range(2):
        matrix.set_edit(number, made_edit(matrix, number, directory, 9))
        edits.append(edit_record(matrix.edits[number]))
    assert matrix.judgement_key(0) == matrix.judgement_key(1)
    answers = [line(matrix, 0, Answer("Score: 3")), line(matrix, 1, Answer("Score: 4"))]

    def scores(lines: list[Record]) -> list[float | None]:
        after = small_matrix(1, models=("a", "b"))
        recalled(after, directory, edits, lines)
        return [j.score for j in after.judgements()]

    assert scores(answers) == [3.0, 4.0]
    assert scores(answers[1:]) == [4.0, 4.0], "and for want of its own, its equal's"


def test_a_judgement_and_its_reason_cannot_contradict_each_other() -> None:
    with pytest.raises(ValueError, match="score exactly when"):
        Judgement("k", "s", "c", "m", "j", 0, 0, Status.UNPARSEABLE, 5.0)
