"""What the engine and a worker say to each other arrives whole, however the pipe cuts it."""

from __future__ import annotations

import itertools
import json
import os
import threading
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edit_eval.errors import ModelError
from edit_eval.records import Reply, Status
from edit_eval.workers.messages import MessageStream, encode, write_all
from edit_eval.workers.process import KEPT, LONGEST_NAME, LONGEST_REPLY, MOST_VALUES, as_results

TEXTS = [
    "",
    "Score: 8.5\n评分：8.5\r\n",
    "\u2028 and \x85 are line ends to some",
    "\ud800 alone",
    '"}\\',
    "\x00",
    "x" * 1_000_000,
]


def received(data: bytes, cuts: list[int]) -> list[dict[str, Any]]:
    lines, messages = MessageStream(), []
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    for begin, end in itertools.pairwise(places):
        messages += list(lines.feed(data[begin:end]))
    return messages


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_any_text_is_one_line_of_ascii_and_comes_back_as_it_was(text: str) -> None:
    line = encode({"text": text, text[:10]: [1, None, True, 0.1]})
    assert line.isascii()
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert list(MessageStream().feed(line)) == [{"text": text, text[:10]: [1, None, True, 0.1]}]


@settings(max_examples=60)
@given(st.lists(st.text(max_size=40), max_size=5), st.lists(st.integers(0, 10_000), max_size=20))
def test_messages_do_not_depend_on_where_the_stream_is_cut(texts: list[str], cuts: list[int]) -> None:
    messages = [{"event": "done", "text": text} for text in texts]
    assert received(b"".join(map(encode, messages)), cuts) == messages


def test_what_is_not_finished_is_kept_back() -> None:
    lines = MessageStream()
    data = encode({"a": 1}) + encode({"b": 2})
    assert list(lines.feed(data[:-1])) == [{"a": 1}]
    assert list(lines.feed(b"")) == []
    assert list(lines.feed(b"\n")) == [{"b": 2}]


@pytest.mark.parametrize("line", [b"Loading weights: 100%\n", b"[1]\n", b"3\n", b"null\n", b"\n", b"\xff\xfe\n"])
def test_a_line_that_is_no_message_is_an_error(line: bytes) -> None:
    with pytest.raises(ValueError, match="not a message"):
        list(MessageStream().feed(line))


def test_messages_before_a_bad_line_are_not_lost() -> None:
    stream = MessageStream().feed(encode({"a": 1}) + b"oops\n")
    assert next(stream) == {"a": 1}
    with pytest.raises(ValueError, match="not a message"):
        next(stream)


def test_more_than_a_pipe_holds_is_written_whole() -> None:
    out, into = os.pipe()
    message = {"text": "x" * 3_000_000}
    got = bytearray()

    def read() -> None:
        while data := os.read(out, 1 << 16):
            got.extend(data)

    reader = threading.Thread(target=read)
    reader.start()
    write_all(into, encode(message))
    os.close(into)
    reader.join(60)
    os.close(out)
    assert json.loads(got) == message


def test_without_a_reader_writing_is_an_error() -> None:
    out, into = os.pipe()
    os.close(out)
    with pytest.raises(BrokenPipeError):
        write_all(into, encode({"a": 1}))
    os.close(into)


# What a judge returned, as results: of what is too long the beginning, and never more than was asked for.


def test_texts_and_replies_in_their_order() -> None:
    replies = [
        "8",
        Reply(text="9"),
        Reply(text="1", ended=Status.CUT_OFF),
        Reply(text="no", ended=Status.REFUSED),
        Reply(text="there is no row for it", ended=Status.JUDGE_ERROR, final=True),
        Reply(values={"ssim": 0.5, "l1": 1}),
    ]
    assert as_results(replies, 6) == [
        {"text": "8"},
        {"text": "9"},
        {"text": "1", "ended": "cut_off"},
        {"text": "no", "ended": "refused"},
        {"text": "there is no row for it", "ended": "judge_error", "final": True},
        {"text": "", "values": {"ssim": 0.5, "l1": 1.0}},
    ]


def test_the_longest_is_whole_and_a_longer_one_is_cut_off_whatever_it_says_of_itself() -> None:
    (whole,) = as_results(["x" * LONGEST_REPLY], 1)
    assert whole == {"text": "x" * LONGEST_REPLY}
    for reply in ("x" * (LONGEST_REPLY + 1), Reply(text="x" * (LONGEST_REPLY + 1), ended=Status.REFUSED)):
        assert as_results([reply], 1) == [{"text": "x" * KEPT, "ended": "cut_off", "length": LONGEST_REPLY + 1}]


@pytest.mark.parametrize("replies", ["8", None, ["8", "8"], [], [8], [Reply(text=8)]])
def test_what_is_no_answer_is_never_taken_for_one(replies: object) -> None:
    with pytest.raises(ModelError):
        as_results(replies, 1)


def test_numbers_of_other_kinds_are_numbers() -> None:
    import numpy

    values = {"a": numpy.float32(0.5), "b": numpy.int64(3), "c": Fraction(1, 4), "d": True + 0}
    (result,) = as_results([Reply(values=values)], 1)
    assert result["values"] == {"a": 0.5, "b": 3.0, "c": 0.25, "d": 1.0}
    assert {type(value) for value in result["values"].values()} == {float}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"psnr": float("inf")}, "the judge's value `psnr` is inf; leave out undefined values"),
        ({"psnr": 10**400}, "the judge's value `psnr` is inf"),
        ({"psnr": float("nan")}, "the judge's value `psnr` is nan"),
        ({"psnr": "30"}, "the judge's value `psnr` is str, not a number"),
        ({"psnr": None}, "the judge's value `psnr` is NoneType, not a number"),
        ({"psnr": True}, "the judge's value `psnr` is bool, not a number"),
        ({"psnr": Decimal(30)}, "the judge's value `psnr` is Decimal, not a number"),
        ({7: 30.0}, "a value of the judge is named 7, not by a text"),
        ({"": 30.0}, "a value of the judge is named '', not by a text"),
        ({"x" * (LONGEST_NAME + 1): 30.0}, "not by a text of 1 to 200 characters"),
        ([("psnr", 30.0)], "the values of an answer of the judge are list, not numbers by name"),
        (
            {str(number): 0.0 for number in range(MOST_VALUES + 1)},
            "an answer of the judge has 1001 values; at most 1000",
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_values_that_are_no_finite_numbers_by_name_are_refused(values: object, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        as_results([Reply(values=values)], 1)
