"""From replies to readings, from readings to scores: the same for every protocol."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edit_eval.protocols.contract import Missing, Question, Score, View, fault, scoring_of
from edit_eval.protocols.judging import add_reminder, fill_question, read, score
from edit_eval.records import Reading, Reply, Sample, Scale, Status
from protocols.judged import sample

TEN = Scale(lowest=0, highest=10)


class Two:
    """Asks for a list in words, and then for two values and another one."""

    scores: Mapping[str, Score] = {
        "mean": Score(scale=TEN),
        "a": Score(scale=TEN, needs=("a",)),
        "ratio": Score(scale=Scale(), needs=("a", "b"), of=lambda s, values: values["a"] / values["b"]),
        "log": Score(
            scale=Scale(), needs=("c",), of=lambda s, values: math.log(values["c"]) if values["c"] else -math.inf
        ),
        "strict": Score(scale=TEN, needs=("c",), of=lambda s, values: _refuse(values["c"])),
        "other": Score(scale=TEN, needs=("z",)),
    }
    headline = "a"

    def questions(self, sample: Sample) -> Sequence[Question]:
        return QUESTIONS

    def read(self, question: Question, reply: Reply) -> Reading:
        if reply.text == "trap":
            raise RuntimeError("not so")
        numbers = [float(number) for number in reply.text.split(",") if number.strip()] if question.gives else []
        return Reading(values=dict(zip(question.gives, numbers, strict=False)), reason="words")


def _refuse(value: float) -> float:
    if value == 0:
        raise Missing(Status.UNDEFINED, "there is nothing to compare")
    return value


QUESTIONS = (
    Question(name="list", user="What differs in {it}?"),
    Question(name="both", gives=("a", "b"), user="Seen: {list} Rate {it}.", after=("list",), again="Two numbers."),
    Question(name="one", gives=("c",), form="score"),
)
LIST, BOTH, ONE = QUESTIONS


def both(*replies: Reply | str, retries: int = 2) -> Reading:
    return read(Two(), BOTH, [Reply(text=reply) if isinstance(reply, str) else reply for reply in replies], retries)


class TestRead:
    def test_nothing_asked_yet(self):
        assert both() == Reading(status=Status.PENDING, reason="not asked yet")

    def test_the_first_readable_reply_decides(self):
        reading = both("?", "7,8", "1,2")
        assert (reading.status, reading.asked) == (Status.OK, 2)
        assert (reading.values, reading.text, reading.reason) == ({"a": 7, "b": 8}, "7,8", "words")

    def test_is_pending_while_the_judge_may_be_asked_again_and_then_what_the_last_reply_is(self):
        for replies in (["1"], ["1", "2"]):
            reading = both(*replies)
            assert (reading.status, reading.values, reading.asked) == (Status.PENDING, {}, len(replies))
            assert reading.reason == "its protocol read a, not a, b"
        assert both("1", "2", "3").status is Status.UNPARSEABLE
        assert both("1", retries=0).status is Status.UNPARSEABLE

    def test_a_protocol_that_raises_makes_a_reply_unreadable(self):
        reading = both("trap", retries=0)
        assert reading.status is Status.UNPARSEABLE
        assert reading.reason == "its protocol cannot read it (RuntimeError: not so)"

    def test_a_value_that_is_no_number_is_none(self):
        assert both("nan,1", retries=0).reason == "one of its values is not a finite number"
        assert both("inf,1", retries=0).status is Status.UNPARSEABLE

    @pytest.mark.parametrize(
        ("reply", "status", "reason"),
        [
            (Reply(text="timed out", ended=Status.JUDGE_ERROR), Status.JUDGE_ERROR, "timed out"),
            (Reply(ended=Status.REFUSED), Status.REFUSED, "the judge's server withheld the answer, without a word"),
            (Reply(text="No,\nno.", ended=Status.REFUSED), Status.REFUSED, "withheld the answer: No, no."),
            (Reply(text="7,8", ended=Status.CUT_OFF), Status.CUT_OFF, "the limit on its length"),
            (Reply(text="7,8", ended=Status.CUT_OFF, length=50_000_000), Status.CUT_OFF, "50,000,000 characters"),
        ],
    )
    def test_what_no_protocol_has_to_see_to(self, reply, status, reason):
        reading = both(reply, retries=0)
        assert (reading.status, reading.values) == (status, {})
        assert reason in reading.reason

    def test_errors_and_what_was_cut_off_are_asked_again(self):
        for ended in (Status.JUDGE_ERROR, Status.CUT_OFF):
            broken = Reply(text="7,8", ended=ended)
            assert both(broken).status is Status.PENDING
            assert both(broken, "7,8").status is Status.OK

    def test_what_was_withheld_or_is_final_is_not_asked_again(self):
        assert both("?", Reply(text="7,8", ended=Status.REFUSED)).status is Status.REFUSED
        assert both(Reply(text="1", final=True)).status is Status.UNPARSEABLE

    def test_a_bare_score_that_was_whole_before_the_cut_is_read(self):
        for text in ("8.500\nThe light", "<think>Hm.</think>\n8.500\nThe"):
            reading = read(Two(), ONE, [Reply(text=text, ended=Status.CUT_OFF)], 2)
            assert (reading.status, reading.values, reading.text) == (Status.OK, {"c": 8.5}, text)
        for asked, text in ((ONE, "8.500"), (ONE, "8.5\nThe"), (replace(ONE, form="text"), "8.500\nThe light")):
            assert read(Two(), asked, [Reply(text=text, ended=Status.CUT_OFF)], 0).status is Status.CUT_OFF

    def test_of_measured_values_some_may_lack(self):
        measured = replace(BOTH, form="measured")
        assert read(Two(), measured, [Reply(text="1")], 0).values == {"a": 1}
        assert read(Two(), BOTH, [Reply(text="1")], 0).status is Status.UNPARSEABLE

    ENDED = st.sampled_from([Status.OK, Status.CUT_OFF, Status.REFUSED, Status.JUDGE_ERROR])

    @given(st.lists(st.builds(Reply, text=st.sampled_from(["1,2", "1", "trap"]), ended=ENDED), max_size=5))
    def test_values_exactly_where_it_is_ok(self, replies):
        reading = both(*replies, retries=3)
        assert (reading.status is Status.OK) == (set(reading.values) == {"a", "b"})
        assert reading.asked <= len(replies)
        assert len(replies) <= 3 or reading.status is not Status.PENDING


class TestQuestions:
    def test_an_earlier_reply_is_filled_in_once_and_its_own_braces_stay(self):
        made = fill_question(BOTH, {"list": Reading(text="A {list} and {it}.")})
        assert made.user == "Seen: A {list} and {it}. Rate {it}."
        assert fill_question(LIST, {}) is LIST

    @pytest.mark.parametrize(
        ("reply", "told"),
        [
            ("<think>{it} may be a 3.</think>\n\nA hat.", "A hat."),
            ("It may be a 3.</think>A hat.", "A hat."),
            ("A hat. <think>3?</think> A shoe.", "A hat. \n A shoe."),
            (" A hat.\n", " A hat.\n"),
            ("<think>It may be a 3, or", ""),
            ("<think>A 3.</think>", ""),
        ],
    )
    def test_what_the_judge_thought_is_not_quoted(self, reply, told):
        assert fill_question(BOTH, {"list": Reading(text=reply)}).user == f"Seen: {told} Rate {{it}}."

    def test_the_line_for_asking_again_comes_last(self):
        assert add_reminder(BOTH).user == f"{BOTH.user}\n\nTwo numbers."
        assert add_reminder(LIST) == LIST


class TestScore:
    def readings(self, first: str, second: str) -> Mapping[str, Reading]:
        replies = {"list": "words", "both": first, "one": second}
        return {question.name: read(Two(), question, [Reply(text=replies[question.name])], 0) for question in QUESTIONS}

    def test_each_score_by_hand_and_one_that_does_not_apply_is_nowhere(self):
        scored = score(Two(), sample(), QUESTIONS, [self.readings("6,3", "9")])
        assert scored.scores == {"mean": 6, "a": 6, "ratio": 2, "log": math.log(9), "strict": 9}
        assert scored.missing == {}

    def test_the_mean_over_the_readings_is_of_scores_not_of_values(self):
        scored = score(Two(), sample(), QUESTIONS, [self.readings("6,3", "9"), self.readings("1,4", "1")])
        assert scored.scores["ratio"] == (2 + 1 / 4) / 2
        assert scored.scores["a"] == 3.5

    def test_one_missing_reading_leaves_the_score_missing_and_others_there(self):
        scored = score(Two(), sample(), QUESTIONS, [self.readings("6,3", "9"), self.readings("6", "9")])
        assert set(scored.scores) == {"log", "strict"}
        assert scored.missing["a"] == (Status.UNPARSEABLE, "its protocol read a, not a, b")

    def test_a_formula_without_a_number_is_undefined(self):
        scored = score(Two(), sample(), QUESTIONS, [self.readings("6,0", "0")])
        assert scored.missing == {
            "ratio": (Status.UNDEFINED, "ZeroDivisionError: float division by zero"),
            "log": (Status.UNDEFINED, "the formula gives -inf"),
            "strict": (Status.UNDEFINED, "there is nothing to compare"),
        }

    def test_a_measured_value_that_lacks_is_undefined_for_the_reason_that_was_given(self):
        lacking = {**self.readings("6,3", "9"), "one": Reading(reason="the pictures are identical", asked=1)}
        scored = score(Two(), sample(), QUESTIONS, [lacking])
        assert scored.missing["log"] == (Status.UNDEFINED, "the pictures are identical")


class Asking(Two):
    def __init__(self, *questions: Question) -> None:
        self._questions = questions

    def questions(self, sample: Sample) -> Sequence[Question]:
        return self._questions


class Lacking(Two):
    def questions(self, sample: Sample) -> Sequence[Question]:
        raise LookupError(f"no rubric for {sample.category}") if sample.category else KeyError("category")


A = Question(name="q", gives=("a",))


@pytest.mark.parametrize(
    ("protocol", "said"),
    [
        (Two(), ""),
        (Lacking(), "no rubric for add"),
        (Asking(replace(A, shows=(View(picture="mask"),))), "it has no picture `mask`"),
        (Asking(replace(A, shows=(View(picture="edit", steps=(("like", "mask"),)),))), "it has no picture `mask`"),
        (Asking(A, replace(A, gives=("b",))), "its protocol has two questions named `q`"),
        (Asking(A, replace(A, name="r")), "its protocol has two values named `a`"),
        (Asking(replace(A, after=("r",))), "its question `q` comes after `r`, which is not asked before it"),
        (Asking(replace(A, shows=(View(picture="edit"),) * 2)), "its question `q` shows `edit` twice; give one of the"),
        (Asking(replace(A, gives=("b",))), "none of its questions gives the score `a`"),
        (Asking(), "none of its questions gives the score `a`"),
    ],
)
def test_what_a_sample_lacks_is_its_fault(protocol, said):
    problem = fault(protocol, sample())
    assert problem.startswith(said)
    assert bool(problem) == bool(said)


def test_a_follower_has_a_source_and_a_key_that_lacks_is_named():
    follower = Sample(id="b", index=1, pictures={}, instruction="And blue.", follows="a")
    assert fault(Two(), follower) == ""
    assert fault(Two(), replace(follower, follows="")) == "it has no picture `source`"
    assert fault(Lacking(), replace(follower, category="")) == "it has no 'category'"


def test_scales_are_in_the_protocols_order():
    made = scoring_of("two", Two())
    assert (made.protocol, made.headline, made.scale) == ("two", "a", TEN)
    assert list(made.scales) == list(Two.scores)
