"""Lists and yes or no out of a judge's words: what is read, and what is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edit_eval.judges.answers import NoAnswer
from edit_eval.protocols.contract import Question
from edit_eval.protocols.replies import read_list, read_number, read_values, read_yes_or_no
from edit_eval.records import Reading, Reply, Status

PAIR = Question(name="SC", gives=("a", "b"), form="json")


def read(text: str) -> Reading:
    def numbers(body):
        entries, words = read_list(body, "score", 2)
        return [read_number(entry, 0, 10) for entry in entries], words

    return read_values(PAIR, Reply(text=text), numbers)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"reasoning": "Firm.", "score": [8, 9.5]}', "Firm."),
        ('{"score": [8, 9.5], "reasoning": "Firm."}', "Firm."),
        ('{"score": ["8", " 9.5 "]}', ""),
        ("[8, 9.5]", ""),
        ('```json\n{"score": [8, 9.5]}\n```', ""),
        ('<think>Is it {"score": [1, 2]}?</think>\n{"score": [8, 9.5]}', ""),
        ('Here you are: {"score": [8, 9.5], "reasoning": "Firm."} I hope this helps.', "Firm."),
        ('||V^=^V||\n{"score": [8, 9.5]}\n||V^=^V||', ""),
        ('{"reasoning": "A line\nand another.", "score": [8, 9.5]}', "A line\nand another."),
        ('{"score": [8, 9.5]}\n{"score": [8.0, 9.5]}', ""),
        ('[{"score": [8, 9.5]}]', ""),
    ],
)
def test_a_list_of_two(text, words):
    assert read(text) == Reading(values={"a": 8.0, "b": 9.5}, reason=words)


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("", Status.UNPARSEABLE, "the answer is empty"),
        ("8 and 9", Status.UNPARSEABLE, "the answer has no JSON object: `8 and 9`"),
        ("8", Status.UNPARSEABLE, "`score` is not a list of 2: `8`"),
        ('{"score": [8]}', Status.UNPARSEABLE, "is not a list of 2"),
        ('{"score": [8, 9, 7]}', Status.UNPARSEABLE, "is not a list of 2"),
        ('{"score": 8}', Status.UNPARSEABLE, "is not a list of 2"),
        ('{"score": {"a": 8, "b": 9}}', Status.UNPARSEABLE, "is not a number"),
        ('{"score": [8, null]}', Status.UNPARSEABLE, "`None` is not a number"),
        ('{"score": [8, true]}', Status.UNPARSEABLE, "`True` is not a number"),
        ('{"score": [8, "9/10"]}', Status.UNPARSEABLE, "is not a number"),
        ('{"score": [8, NaN]}', Status.UNPARSEABLE, "braces without a complete JSON object"),
        ('{"scores": [8, 9]}', Status.UNPARSEABLE, "a JSON object without `score`"),
        ('{"score": [8, 9]', Status.UNPARSEABLE, "braces without a complete JSON object"),
        ('{"reasoning": "a "big" hat", "score": [8, 9]}', Status.UNPARSEABLE, "braces without a complete JSON"),
        ('{"score": [8, 9]} {"score": [9, 9]}', Status.UNPARSEABLE, "different lists in one answer"),
        ('{"score": [8, 9], "score": [9, 9]}', Status.UNPARSEABLE, "different lists in one answer"),
        ('Scores: [7, 9]\n{"score": [8, 9]}', Status.UNPARSEABLE, "there is another list beside the JSON object"),
        ("[7, 9] [8, 9]", Status.UNPARSEABLE, "the answer has no JSON object"),
        ('<think>{"score": [8, 9]}', Status.UNPARSEABLE, "a <think> block is not closed"),
        ('{"score": [8, 11]}', Status.OUT_OF_RANGE, "11 is outside 0 to 10"),
        ('{"score": [-1, 9]}', Status.OUT_OF_RANGE, "-1 is outside 0 to 10"),
        ('{"score": [1e999, 9]}', Status.OUT_OF_RANGE, "inf is outside 0 to 10"),
        ("I'm sorry, I can't assist with that.", Status.REFUSED, "the judge declined: "),
    ],
)
def test_what_is_no_list_of_two(text, status, reason):
    reading = read(text)
    assert (reading.status, reading.values) == (status, {})
    assert reason in reading.reason


def test_hostile_texts_take_little_time_and_never_raise():
    for text in ("{" * 90_000, '{"score":' * 30_000, "[" * 90_000, '{"score": [1, 2]}' * 5_000, "[1" * 40_000):
        assert read(text).status in (Status.OK, Status.UNPARSEABLE)


PIECES = st.sampled_from(['{"score": ', "[8, 9]", "[1e999, -3]", "{", "}", "[", "]", '"', ",", "8", "<think>", "```"])


@given(st.one_of(st.text(max_size=60), st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=9).map("".join)))
def test_junk_never_raises_and_never_gives_values_out_of_range(text):
    reading = read(text)
    assert (reading.status is Status.OK) == (set(reading.values) == {"a", "b"})
    assert all(0 <= value <= 10 for value in reading.values.values())


@pytest.mark.parametrize(
    ("said", "value"),
    [("yes", 1), ("Yes.", 1), ("**NO**", 0), ('"no"', 0), ("是", 1), ("是的。", 1), ("否", 0), ("不是", 0), (True, 1)],
)
def test_a_yes_or_a_no(said, value):
    assert read_yes_or_no(said) == value


@pytest.mark.parametrize("said", ["", "yes and no", "Yes, it is.", "不", "n", 1.0, None, [True]])
def test_neither_yes_nor_no(said):
    with pytest.raises(NoAnswer, match="neither yes nor no"):
        read_yes_or_no(said)
