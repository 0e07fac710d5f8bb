"""A distribution over legal answers: what of it a protocol is handed, and when it is no answer."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from edit_eval.judges.contract import PROBABILITIES
from edit_eval.protocols.asked import question_digest
from edit_eval.protocols.contract import Question, Score, fault
from edit_eval.protocols.judging import read
from edit_eval.records import Reading, Reply, Sample, Scale, Status
from protocols.judged import sample

QUESTION = Question(name="level", gives=("level",), form=PROBABILITIES, labels=("0", "1", "2"))


class Levels:
    """The expected level."""

    scores: Mapping[str, Score] = {"level": Score(scale=Scale(lowest=0, highest=2))}
    headline = "level"

    def questions(self, sample: Sample) -> Sequence[Question]:
        return [QUESTION]

    def read(self, question: Question, reply: Reply) -> Reading:
        assert sum(reply.values.values()) == pytest.approx(1)
        return Reading(values={"level": sum(int(label) * share for label, share in reply.values.items())})


def reading(values: Mapping[str, float], *, normalised: bool = False) -> Reading:
    return read(Levels(), QUESTION, [Reply(values=values, normalised=normalised, final=True)], 0)


def test_the_mass_is_kept_and_the_expected_value_is_of_what_is_legal():
    answer = reading({"0": 0.2, "1": 0.2, "2": 0.4})
    assert answer.status is Status.OK
    assert answer.values == {"level": pytest.approx((0.2 + 0.8) / 0.8)}
    assert answer.mass == pytest.approx(0.8)


def test_a_server_that_divided_by_the_sum_leaves_the_mass_unknown():
    answer = reading({"0": 0.5, "1": 0.25, "2": 0.25}, normalised=True)
    assert answer.values == {"level": pytest.approx(0.75)}
    assert answer.mass == "unknown"


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({}, "gave no probabilities"),
        ({"0": 0.5, "1": 0.5}, "`2` is not known"),
        ({"0": 0.5, "1": 0.2, "2": 0.1, "3": 0.2}, "`3` is not asked for"),
        ({"0": 0.0, "1": 0.0, "2": 0.0}, "add up to 0"),
        ({"0": -0.1, "1": 0.6, "2": 0.4}, "are invalid"),
        ({"0": 0.5, "1": 0.6, "2": 0.4}, "add up to 1.5"),
    ],
)
def test_what_is_no_distribution_is_no_answer(values, why):
    answer = reading(values)
    assert (answer.status, answer.values, answer.mass) == (Status.UNPARSEABLE, {}, None)
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(answer.reason)


def test_below_the_floor_there_is_no_answer_and_the_mass_is_kept():
    answer = reading({"0": 0.1, "1": 0.2, "2": 0.1})
    assert (answer.status, answer.values) == (Status.UNPARSEABLE, {})
    assert answer.mass == pytest.approx(0.4)
    assert "rather say something else: the allowed answers have 0.4 " in answer.reason
    assert reading({"0": 0.1, "1": 0.2, "2": 0.2}).status is Status.OK, "the floor itself is enough"


@pytest.mark.parametrize("labels", [(), ("1",), ("1", "1"), ("1", "")])
def test_two_answers_are_the_least_that_can_be_told_apart(labels):
    class Bad(Levels):
        def questions(self, sample: Sample) -> Sequence[Question]:
            return [replace(QUESTION, labels=labels)]

    assert "has fewer than two `labels`" in fault(Bad(), sample())


def test_labels_and_schema_are_in_the_key_and_a_question_without_them_is_as_before():
    digests = {
        question_digest(question, {"source": "a", "edit": "b"})
        for question in (QUESTION, replace(QUESTION, labels=("0", "1")), replace(QUESTION, schema="{}"))
    }
    assert len(digests) == 3
