"""The matrix: what becomes of edits, replies and judgements while a run goes on."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from edit_eval.protocols.contract import Missing, Score
from edit_eval.records import Edit, Judgement, Reading, Reply, Sample, Scale, Status
from edit_eval.store.matrix import Matrix
from edit_eval.store.table import JudgementTable, describe_remaining_work
from small_matrix import Asking, ask, asked_judge, give_reply, imagined_edit, small_matrix, small_sample, small_samples

GOOD = Reply(text="Score: 8.0", seconds=0.5, device="cpu:1")
HM = Reply(text="hm")
GONE = Reply(text="the server is gone", ended=Status.JUDGE_ERROR)
KILLED = Reply(text="killed by SIGKILL", ended=Status.JUDGE_ERROR, final=True)
SCALE = Scale(lowest=0.0, highest=10.0)


def statuses(matrix: Matrix) -> list[str]:
    return [judgement.status.value for judgement in matrix.judgements()]


def made(matrix: Matrix, *numbers: int) -> Matrix:
    for number in numbers or range(matrix.cells.edits):
        matrix.set_edit(number, imagined_edit(matrix, number))
    return matrix


def failed(matrix: Matrix, number: int, reason: str = "black") -> Edit:
    return replace(matrix.edits[number], status=Status.EDIT_FAILED, reason=reason)


def test_judgements_come_in_the_order_of_results() -> None:
    matrix = small_matrix(3, models=("a", "b"), judges=("x", "y", "z"), edit_seeds=2, repeats=2)
    addresses = [(j.edit_model, j.edit_seed, j.judge, j.repeat, j.sample_id) for j in matrix.judgements()]
    assert addresses == list(itertools.product("ab", range(2), "xyz", range(2), ("s0", "s1", "s2")))


def test_every_cell_has_an_address_of_its_own() -> None:
    protocol = Asking([ask("first"), ask("second")])
    matrix = small_matrix(3, models=("a", "b"), edit_seeds=2, repeats=2, readings=2, protocol=protocol, controls=2)
    addresses = [matrix.address(cell) for cell in range(len(matrix.cells))]
    assert len({*addresses}) == len(addresses)
    assert addresses[3] == ("s0", "a", 0, "critic", 0, "second", 1, "")
    assert {name for _, name, *_ in addresses} == {"a", "b", "control:source", "control:blank", "control:shuffled"}


# -- what becomes of a judgement --


def test_the_judge_s_words_beside_its_score_are_the_judgement_s() -> None:
    matrix = made(small_matrix(1, judges=(asked_judge("critic", answer="reason_then_score"),)))
    give_reply(matrix, 0, Reply(text='{"reasoning": "The sky is right.", "score": 8}'))
    assert (matrix.judgement(0).score, matrix.judgement(0).reason) == (8.0, "The sky is right.")


@pytest.mark.parametrize(
    ("replies", "status", "score", "reason"),
    [
        ([], "pending", None, "not asked yet"),
        ([GOOD], "ok", 8.0, ""),
        ([HM], "pending", None, None),
        ([HM, GOOD], "ok", 8.0, ""),
        ([HM] * 3, "unparseable", None, None),
        ([HM, HM, Reply(text="Score: 11")], "out_of_range", None, None),
        ([GONE], "pending", None, None),
        ([GONE] * 3, "judge_error", None, "the server is gone"),
        ([KILLED], "judge_error", None, "killed by SIGKILL"),
        ([HM, KILLED], "judge_error", None, "killed by SIGKILL"),
    ],
)
def test_all_replies_so_far_make_a_judgement(
    replies: list[Reply], status: str, score: float | None, reason: str | None
) -> None:
    matrix = made(small_matrix(1))
    for reply in replies:
        give_reply(matrix, 0, reply)
    judgement = matrix.judgement(0)
    assert (judgement.status.value, judgement.score) == (status, score)
    if status != "pending":
        assert judgement.answers == len(replies)
        assert judgement.seconds == pytest.approx(sum(reply.seconds for reply in replies))
    if reason is not None:
        assert judgement.reason == reason
    assert matrix.judgement(0) == judgement


def test_without_an_edit_there_is_no_judgement() -> None:
    matrix = small_matrix(small_samples(2, bad=(0,)))
    matrix.set_edit(1, failed(matrix, 1))
    assert [(j.status.value, j.reason, j.score, j.scores, j.missing) for j in matrix.judgements()] == [
        ("skipped", "cut off", None, {}, {}),
        ("edit_failed", "black", None, {}, {"score": (Status.EDIT_FAILED, "black")}),
    ]


def answered(matrix: Matrix, *texts: str) -> Judgement:
    for cell, text in enumerate(texts):
        give_reply(matrix, cell, Reply(text=text))
    return matrix.judgement(0)


def test_a_judgement_has_the_scores_that_could_be_read_and_says_why_the_others_are_missing() -> None:
    matrix = made(small_matrix(1, protocol=Asking([ask("a"), ask("b")], headline="a"), retries=0))
    judgement = answered(matrix, "7", "so so")
    assert (judgement.status, judgement.scores) == (Status.OK, {"a": 7.0})
    assert {name: status for name, (status, _) in judgement.missing.items()} == dict.fromkeys(
        ("mean", "b"), Status.UNPARSEABLE
    )
    assert judgement.outcome("b") == (Status.UNPARSEABLE, "'so so' is not a number")
    other = made(small_matrix(1, protocol=Asking([ask("a"), ask("b")], headline="b"), retries=0))
    judgement = answered(other, "7", "so so")
    assert (judgement.status, judgement.reason, judgement.score, judgement.scores) == (
        Status.UNPARSEABLE,
        "'so so' is not a number",
        None,
        {"a": 7.0},
    )


def test_a_judgement_is_pending_until_all_its_questions_are_answered() -> None:
    matrix = made(small_matrix(1, protocol=Asking([ask("a"), ask("b")]), readings=2))
    for cell in range(4):
        assert matrix.judgement(0).status is Status.PENDING
        assert matrix.is_pending(0)
        give_reply(matrix, cell, Reply(text=str(cell)))
    assert matrix.judgement(0).scores == {"mean": 1.5, "a": 1.0, "b": 2.0}
    assert [{name: answer.text for name, answer in reading.items()} for reading in matrix.judgement(0).readings] == [
        {"a": "0", "b": "1"},
        {"a": "2", "b": "3"},
    ]


def test_a_reading_that_is_missing_leaves_the_score_missing() -> None:
    matrix = made(small_matrix(1, protocol=Asking([ask("a"), ask("b")]), readings=2, retries=0))
    judgement = answered(matrix, "1", "2", "3", "hm")
    assert judgement.scores == {"a": 2.0}
    assert {*judgement.missing} == {"mean", "b"}


def test_a_score_is_the_mean_of_its_readings_and_what_lies_between_them_is_kept() -> None:
    matrix = made(small_matrix(1, protocol=Asking([ask("a"), ask("b")]), readings=3, retries=0))
    judgement = answered(matrix, "1", "5", "2", "5", "6", "hm")
    assert judgement.scores == {"a": 3.0}
    assert judgement.spread == {"a": pytest.approx(7**0.5)}, "the standard deviation of 1, 2, 6, with n - 1"
    assert answered(made(small_matrix(1, protocol=Asking([ask("a")]))), "4").spread == {}


def test_each_reading_has_its_own_key() -> None:
    matrix = made(small_matrix(1, protocol=Asking([ask("a")]), readings=4))
    assert len({matrix.question(cell).user for cell in range(4)}) == 1
    assert len({matrix.key(cell) for cell in range(4)}) == 4


def test_a_score_does_not_apply_where_nothing_gives_what_it_needs() -> None:
    samples = [small_sample(0), small_sample(1)]

    def not_second(sample: Sample, name: str) -> bool:
        return name == "a" or sample.index == 0

    matrix = made(small_matrix(samples, protocol=Asking([ask("a"), ask("b")], not_second)))
    for cell in range(len(matrix.cells)):
        give_reply(matrix, cell, Reply(text="4"))
    first, second = matrix.judgements()
    assert (first.scores, second.scores) == ({"mean": 4.0, "a": 4.0, "b": 4.0}, {"mean": 4.0, "a": 4.0})
    assert (second.missing, second.outcome("b")) == ({}, None)


@pytest.mark.parametrize(
    ("formula", "status", "reason"),
    [
        (lambda sample, values: 1 / (values["a"] - 4), "undefined", "ZeroDivisionError: float division by zero"),
        (lambda sample, values: float("inf"), "undefined", "the formula gives inf"),
        ("missing", "refused", "not today"),
    ],
)
def test_a_formula_that_has_no_number_leaves_its_score_missing(formula: Any, status: str, reason: str) -> None:
    def refuses(sample: Sample, values: object) -> float:
        raise Missing(Status.REFUSED, "not today")

    scores = {"odd": Score(scale=SCALE, of=refuses if formula == "missing" else formula), "a": Score(scale=SCALE)}
    judgement = answered(made(small_matrix(1, protocol=Asking([ask("a")], scores=scores, headline="odd"))), "4")
    assert (judgement.status.value, judgement.reason, judgement.scores) == (status, reason, {"a": 4.0})


def test_what_a_judge_says_besides_its_score_is_the_reason() -> None:
    matrix = made(small_matrix(1))
    give_reply(matrix, 0, Reply(text='{"score": 6.5, "reason": "the shadow is wrong"}'))
    judgement = matrix.judgement(0)
    assert (judgement.status, judgement.score) == (Status.OK, 6.5)
    assert judgement.answer == '{"score": 6.5, "reason": "the shadow is wrong"}'


# -- questions that come after others --

STEPS = Asking([ask("a"), ask("b", user="after {a}: {x}", after=("a",)), ask("c", user="after {b}", after=("b",))])


def test_a_question_that_comes_after_another_is_put_with_its_reply() -> None:
    matrix = made(small_matrix(1, protocol=STEPS))
    assert [matrix.can_be_asked(cell) for cell in range(3)] == [True, False, False]
    give_reply(matrix, 0, Reply(text="hm"))
    assert [matrix.can_be_asked(cell) for cell in range(3)] == [True, False, False]
    give_reply(matrix, 0, Reply(text=" 7 "))
    assert [matrix.can_be_asked(cell) for cell in range(3)] == [True, True, False]
    assert matrix.question(1).user == "after  7 : {x}"
    give_reply(matrix, 1, Reply(text="8"))
    assert matrix.question(2).user == "after 8"
    assert matrix.judgement(0).status is Status.PENDING
    give_reply(matrix, 2, Reply(text="9"))
    assert matrix.judgement(0).scores == {"mean": 8.0, "a": 7.0, "b": 8.0, "c": 9.0}


def test_where_the_earlier_one_has_no_answer_there_is_nothing_to_ask() -> None:
    matrix = made(small_matrix(1, protocol=STEPS, retries=1))
    give_reply(matrix, 0, HM)
    assert matrix.reading(1).status is Status.PENDING
    give_reply(matrix, 0, HM)
    assert matrix.reading(2) == Reading(status=Status.UNPARSEABLE, reason="'hm' is not a number", text="hm")
    judgement = matrix.judgement(0)
    assert (judgement.status, judgement.scores) == (Status.UNPARSEABLE, {})
    assert [answer.asked for answer in judgement.readings[0].values()] == [2, 0, 0]


def test_what_is_forgotten_takes_all_that_came_after_it_along() -> None:
    matrix = made(small_matrix(1, protocol=STEPS, retries=0))
    give_reply(matrix, 0, HM)
    assert matrix.judgement(0).status is Status.UNPARSEABLE
    matrix.forget_replies(0)
    assert [matrix.reading(cell).status for cell in range(3)] == [Status.PENDING] * 3
    assert matrix.judgement(0).status is Status.PENDING


# -- pictures --


def test_replies_about_another_picture_do_not_count_and_those_about_the_same_do() -> None:
    matrix = small_matrix(1, repeats=2)
    matrix.set_edit(0, imagined_edit(matrix, 0, "a"))
    give_reply(matrix, 0, GOOD)
    give_reply(matrix, 1, HM)
    empty = replace(matrix.edits[0], status=Status.PENDING, image="", pixels="")
    assert matrix.set_edit(0, empty) == []
    assert statuses(matrix) == ["pending", "pending"]
    assert matrix.set_edit(0, imagined_edit(matrix, 0, "b")) == []
    assert statuses(matrix) == ["pending", "pending"]
    matrix.set_edit(0, empty)
    settled = matrix.set_edit(0, imagined_edit(matrix, 0, "a"))
    assert [(j.repeat, j.score) for j in settled] == [(0, 8.0)]
    assert statuses(matrix) == ["ok", "pending"]


@pytest.mark.parametrize("pixels", ["a", "b"])
def test_a_chain_of_questions_comes_back_with_the_same_picture_only(pixels: str) -> None:
    matrix = small_matrix(1, protocol=STEPS)
    matrix.set_edit(0, imagined_edit(matrix, 0, "a"))
    answered(matrix, "1", "2", "3")
    matrix.set_edit(0, replace(matrix.edits[0], status=Status.PENDING, image="", pixels=""))
    settled = matrix.set_edit(0, imagined_edit(matrix, 0, pixels))
    assert [judgement.scores["mean"] for judgement in settled] == ([2.0] if pixels == "a" else [])
    assert [len(matrix.replies(cell)) for cell in range(len(matrix.cells))] == [int(pixels == "a")] * 3


def test_an_edit_that_fails_settles_its_judgements_and_nobody_is_told_of_answers() -> None:
    matrix = small_matrix(1)
    assert matrix.set_edit(0, failed(matrix, 0)) == []
    assert statuses(matrix) == ["edit_failed"]


# -- samples that follow others --


def test_the_source_of_a_follower_is_the_edit_before() -> None:
    samples = small_samples(3, follows={1: 0, 2: 1})
    matrix = small_matrix(samples, models=("a", "b"))
    assert [matrix.origins.predecessor(number) for number in range(6)] == [None, 0, 1, None, 3, 4]
    assert {sample.cluster for sample in samples} == {"digest-0"}
    matrix.set_edit(3, imagined_edit(matrix, 3))
    source = matrix.sources(4)["source"]
    assert (source.path, source.pixels, source.digest) == ("3.png", "pixels-3", "")
    assert {name: shown.key_part for name, shown in matrix.pictures(4).items()} == {"source": "pixels-3"}
    matrix.set_edit(4, imagined_edit(matrix, 4))
    assert list(matrix.pictures(4)) == ["source", "edit"]


@pytest.mark.parametrize(("status", "was"), [(Status.EDIT_FAILED, "failed"), (Status.EDIT_REFUSED, "was refused")])
def test_what_follows_an_edit_that_is_not_made_is_not_made_and_says_so(status: Status, was: str) -> None:
    matrix = small_matrix(small_samples(4, follows={1: 0, 2: 1, 3: 0}))
    matrix.set_edit(0, replace(failed(matrix, 0), status=status))
    assert sorted(matrix.origins.fail_dependents(0)) == [1, 2, 3]
    assert [(j.status, j.reason) for j in matrix.judgements()][1:] == [
        (status, f"the edit that it follows {was}: black")
    ] * 3
    assert small_matrix(2).origins.fail_dependents(0) == []


def test_a_follower_of_a_sample_with_a_fault_has_one() -> None:
    samples = small_samples(4, bad=(0,), follows={1: 0, 2: 1})
    assert [bool(sample.fault) for sample in samples] == [True, True, True, False]
    assert "cannot be used" in samples[1].fault
    assert statuses(small_matrix(samples)) == ["skipped"] * 3 + ["pending"]
    circle = small_samples(2, follows={0: 1, 1: 0})
    assert all("which follows it" in sample.fault for sample in circle)
    lost = small_samples(2, follows={1: 7})
    assert "not among the selected samples" in lost[1].fault


def test_another_picture_of_the_edit_before_has_its_followers_judged_anew() -> None:
    matrix = made(small_matrix(small_samples(2, follows={1: 0})))
    for cell in range(2):
        give_reply(matrix, cell, GOOD)
    empty = replace(matrix.edits[0], status=Status.PENDING, image="", pixels="")
    matrix.set_edit(0, empty)
    assert statuses(matrix) == ["pending", "pending"], "its source cannot be shown"
    assert matrix.edits[1].status is Status.OK
    assert {j.sample_id for j in matrix.set_edit(0, imagined_edit(matrix, 0))} == {"s0", "s1"}
    matrix.set_edit(0, empty)
    assert matrix.set_edit(0, imagined_edit(matrix, 0, "another")) == []
    assert statuses(matrix) == ["pending", "pending"]


# -- controls --


def test_controls_are_judged_beside_everything_else() -> None:
    matrix = made(small_matrix(3, controls=1))
    first = matrix.cells.edits
    assert [matrix.names_of(first + n)[0] for n in range(3)] == ["control:source", "control:blank", "control:shuffled"]
    shown = [matrix.pictures(first + n)["edit"] for n in range(3)]
    assert [(picture.path, picture.blank, picture.pixels) for picture in shown] == [
        ("/sources/0.png", False, ""),
        ("/sources/0.png", True, ""),
        ("1.png", False, "pixels-1"),
    ]
    for cell in matrix.cells.cells_of_subject(first + 2):
        give_reply(matrix, cell, GOOD)
    controls = list(matrix.rows("control"))
    assert [(j.edit_model, j.sample_id, j.status.value) for j in controls] == [
        ("control:source", "s0", "pending"),
        ("control:blank", "s0", "pending"),
        ("control:shuffled", "s0", "ok"),
    ]
    assert statuses(matrix) == ["pending"] * 3
    assert matrix.pending == 5


def test_only_a_control_that_shows_an_edit_needs_one() -> None:
    matrix = small_matrix(2, controls=1)
    first = matrix.cells.edits
    assert [matrix.what_lacks(first + n) is None for n in range(3)] == [True, True, False]
    matrix.set_edit(0, failed(matrix, 0))
    assert [matrix.what_lacks(first + n) is None for n in range(3)] == [True, True, False]
    matrix.set_edit(1, failed(matrix, 1, "blank"))
    assert [j.status.value for j in matrix.rows("control")] == ["pending", "pending", "edit_failed"]


# -- words --


def test_what_is_left_is_one_line() -> None:
    matrix = small_matrix(2, controls=1)
    assert describe_remaining_work(JudgementTable(matrix)) == "to do: 2 edits, 5 judgements"
    made(matrix)
    give_reply(matrix, 0, GOOD)
    assert (
        describe_remaining_work(JudgementTable(matrix))
        == "2 of 2 edits and 1 of 5 judgements are kept; to do: 0 edits, 4 judgements"
    )
    for cell in range(1, len(matrix.cells)):
        give_reply(matrix, cell, GOOD)
    assert describe_remaining_work(JudgementTable(matrix)) == "Nothing to do: 2 edits and 5 judgements already complete"


def test_a_judge_may_ask_what_another_does_not() -> None:
    judges = [asked_judge("plain"), asked_judge("steps", STEPS)]
    matrix = made(small_matrix(1, judges=judges))
    assert [matrix.address(cell)[3:6:2] for cell in range(4)] == [
        ("plain", "score"),
        ("steps", "a"),
        ("steps", "b"),
        ("steps", "c"),
    ]
