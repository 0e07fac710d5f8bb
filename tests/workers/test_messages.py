"""What the engine and a worker say to each other arrives whole, however the pipe cuts it."""

from __future__ import annotations

import itertools
import json
import os
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edit_eval.workers.messages import MessageStream, encode, write_all

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
    lines, found = MessageStream(), []
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    for begin, end in itertools.pairwise(places):
        found += list(lines.feed(data[begin:end]))
    return found


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
