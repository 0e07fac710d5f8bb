"""What a worker says is believed when it is whole and was asked for; anything else is one error, and never another."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edit_eval.execution.engine.conversation import ABOUT, EVENTS, FROM_AFAR, GPU, MACHINE, Conversation, event_of
from edit_eval.workers import messages
from edit_eval.workers.messages import Message, MessageStream, encode
from examples_of import examples

EDITED = {"pixels": "ab", "width": 4, "height": 3, "file_bytes": 90, "flags": ["identical_to_source"]}
GOOD: dict[str, Message] = {
    "prepared": {},
    "loaded": {"capacity": 1, "seconds": 0.5, "about": {"python": "3.11"}, "memory": {"host": 1}},
    "broken": {"error": "no", "trace": "", "kind": "exception"},
    "started": {"task": 7},
    "step": {"task": 7, "step": 1, "steps": 4},
    "submitted": {"task": 7, "provider": "Black Forest Labs", "id": "https://api.bfl.ai/v1/get_result?id=1"},
    "done": {"task": 7, "results": [EDITED], "seconds": 0.5, "memory": {}},
    "failed": {"task": 7, "error": "no", "trace": "", "kind": "exception", "memory": {}},
    "ended": {"memory": {"host": 1}},
}
JUDGED = {**GOOD["done"], "task": 8, "results": [{"text": "Score: 5"}, {"damaged": "gone"}]}
MEASURED = {"text": "", "values": {"psnr": 31.5, "l1": 0}, "ended": "judge_error", "final": True, "length": 9}


def asked() -> Conversation:
    """A worker that was told all there is to tell: to edit (task 7), and to judge two (task 8)."""
    made = Conversation()
    orders = [{"do": "prepare"}, {"do": "load"}, {"do": "run", "task": 7, "kind": "edit"}]
    for order in [*orders, {"do": "run", "task": 8, "kind": "judge", "requests": [{}, {}]}, {"do": "stop"}]:
        made.record_order(order)
    return made


@pytest.mark.parametrize("event", GOOD)
def test_what_was_asked_for_is_news(event: str) -> None:
    assert set(GOOD) == set(EVENTS)
    assert asked().accept_message({"event": event, **GOOD[event]})
    assert asked().accept_message({"event": "done", **JUDGED})
    assert asked().accept_message({"event": "done", **JUDGED, "results": [MEASURED, MEASURED]})
    assert asked().accept_message({"event": event, **GOOD[event], "more": [1]})


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("started", {"task": 9}),
    ("done", {"task": 9}),
    ("failed", {"task": 9}),
    ("done", {"results": []}),
    ("done", {"results": [EDITED, EDITED]}),
    ("done", {"results": [{"text": "8"}]}),
    ("done", {"results": [{**EDITED, "width": "4"}]}),
    ("done", {"results": 5}),
    ("done", {"task": 8}),
    ("done", {"task": 8, "results": [{"text": "8"}]}),
    ("done", {"task": 8, "results": [{"text": "8"}, {"text": 8}]}),
    *(
        ("done", {"task": 8, "results": [{"text": "8"}, {**MEASURED, **wrong}]})
        for wrong in (
            {"values": {"psnr": float("nan")}},
            {"values": {"psnr": True}},
            {"values": {"psnr": "31.5"}},
            {"values": [31.5]},
            {"ended": "pending"},
            {"final": 1},
        )
    ),
    ("done", {"task": [7]}),
    ("done", {"task": True}),
    ("done", {"seconds": float("nan")}),
    ("done", {"seconds": float("inf")}),
    ("done", {"seconds": -1}),
    ("done", {"seconds": "5"}),
    ("done", {"seconds": 10**400}),
    ("done", {"memory": {"host": 10**400}}),
    ("step", {"step": None}),
    ("loaded", {"capacity": 0}),
    ("loaded", {"about": {"python": {}}}),
    ("died", {"reason": "said by itself"}),
    ("", {}),
]


@pytest.mark.parametrize(("event", "wrong"), WRONG)
def test_what_is_not_whole_or_was_not_asked_for_is_an_error(event: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"not a message|without a proper|that it does not have|than were asked for"):
        asked().accept_message({"event": event, **GOOD.get(event, {}), **wrong})


@pytest.mark.parametrize(("event", "field"), [(event, field) for event in GOOD for field in GOOD[event]])
def test_every_field_is_needed(event: str, field: str) -> None:
    message = {name: value for name, value in GOOD[event].items() if name != field}
    with pytest.raises(ValueError, match=field):
        asked().accept_message({"event": event, **message})


def test_nothing_is_said_twice_nor_before_it_is_asked_for() -> None:
    talk = asked()
    for event in ("prepared", "loaded", "done"):
        assert talk.accept_message({"event": event, **GOOD[event]})
        with pytest.raises(ValueError, match=r"nobody waits for|does not have"):
            talk.accept_message({"event": event, **GOOD[event]})
    with pytest.raises(ValueError, match="nobody waits for"):
        Conversation().accept_message({"event": "prepared"})


def test_a_step_of_a_task_that_is_over_is_no_news() -> None:
    """From a thread that the model left behind: no sign of life of what runs now."""
    talk = asked()
    talk.accept_message({"event": "done", **GOOD["done"]})
    assert not talk.accept_message({"event": "step", **GOOD["step"]})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def refusal(data: bytes) -> str:
    """Why what comes through the pipe is not believed; empty where it is."""
    talk = asked()
    try:
        for message in MessageStream().feed(data):
            talk.accept_message(message)
    except ValueError as error:
        return str(error)
    return ""


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(sorted(GOOD)), st.data())
def test_whatever_stands_in_a_message_there_is_one_kind_of_error(event: str, data: st.DataObject) -> None:
    changed = data.draw(st.dictionaries(st.sampled_from([*GOOD[event], "event", "else"]), JSON, max_size=3))
    assert "\n" not in refusal(encode({"event": event, **GOOD[event], **changed}))


@settings(max_examples=examples(100), deadline=None)
@given(st.binary(max_size=200))
def test_whatever_bytes_come_there_is_one_kind_of_error(data: bytes) -> None:
    assert "\n" not in refusal(data + b"\n")


@pytest.mark.parametrize("line", [b"[" * 60_000, b'{"a":' * 60_000, b'{"a":' + b"9" * 10_000 + b"}"])
def test_what_json_chokes_on_is_no_message(line: bytes) -> None:
    with pytest.raises(ValueError, match="not a message"):
        list(MessageStream().feed(line + b"\n"))


def test_a_long_message_takes_a_time_that_grows_with_its_length_alone() -> None:
    """As many parts as a pipe makes of it; put together anew for each part they would take minutes."""
    data = encode({"text": "x" * 40_000_000})
    lines, received = MessageStream(), []
    began = time.process_time()
    for start in range(0, len(data), 1 << 14):
        received += lines.feed(data[start : start + (1 << 14)])
    assert received == [json.loads(data)]
    assert time.process_time() - began < 20


def test_a_message_without_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "LONGEST_LINE", 1 << 20)
    lines = MessageStream()
    for _ in range(10):
        assert not list(lines.feed(b"x" * 100_000))
    with pytest.raises(ValueError, match="a message of more than 1 MiB"):
        list(lines.feed(b"x" * 100_000))


DEVICE: dict[str, Any] = dict.fromkeys(GPU) | {"name": "cuda:0", "title": "", "uuid": "u", "capability": [9, 0]}
HOST: dict[str, Any] = dict.fromkeys(ABOUT) | {"python": "3.11", "platform": "", "libraries": {"torch": "2"}}
SAID: dict[str, dict[str, Any]] = {
    "hello": {"gpus": [DEVICE], "about": HOST, "layers": "", "time": 1.5, "memory": None},
    "meters": {"meters": {"cuda:0": [1, 2, 0.5], "cuda:1": [None, None, None]}},
    "want": {"names": [["/a.png", "digest"]]},
    "lacking": {"texts": []},
    "shared": {"shared": False},
}
"""What a machine says of itself."""


def test_what_a_machine_says_is_believed_when_it_is_whole() -> None:
    assert set(SAID) == set(MACHINE)
    assert [event_of({"event": event, **said, "more": 1}, MACHINE) for event, said in SAID.items()] == list(SAID)


@pytest.mark.parametrize(
    ("event", "wrong"),
    [
        *((event, {field: wrong}) for event in SAID for field in SAID[event] for wrong in ([[]], b"")),
        *(("hello", {"gpus": [{**DEVICE, field: {}}]}) for field in DEVICE),
        *(("hello", {"about": {**HOST, field: []}}) for field in HOST),
        ("hello", {"gpus": [{**DEVICE, "memory": -1}]}),
        ("hello", {"gpus": [{**DEVICE, "capability": [9]}]}),
        ("hello", {"time": float("nan")}),
        ("hello", {"time": 10**400}),
        ("meters", {"meters": {"cuda:0": [1, 2]}}),
        ("meters", {"meters": {"cuda:0": [True, 2, 0.5]}}),
        ("meters", {"meters": {"cuda:0": [1, 2, float("inf")]}}),
        ("want", {"names": [["/a.png"]]}),
        ("want", {"names": [["/a.png", None]]}),
        ("shared", {"shared": 1}),
        ("done", {}),
    ],
)
def test_what_of_it_is_not_whole_is_an_error(event: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"not a message|without a proper"):
        event_of({"event": event, **SAID.get(event, {}), **wrong}, MACHINE)


def test_only_from_afar_may_a_worker_be_said_to_have_died() -> None:
    assert Conversation(FROM_AFAR).accept_message({"event": "died", "reason": "no more", "log": None})
    for wrong in ({"reason": 1}, {"reason": "no more", "log": b""}, {}):
        with pytest.raises(ValueError, match="without a proper"):
            Conversation(FROM_AFAR).accept_message({"event": "died", **wrong})
