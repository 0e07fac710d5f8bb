"""Validates what workers and machines say against what they were told: the one place where messages are doubted.

A worker runs a stranger's code. It may write into any descriptor, fork, or repeat itself; a message from its pipe is
trusted only if it has every field it should have (`EVENTS`) and was asked for. The same goes for messages from another
machine about its workers (`FROM_AFAR`) or itself (`MACHINE`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from edit_eval.records import CUT_SHORT
from edit_eval.workers.messages import Message

Check = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _whole(value: Any) -> bool:
    return type(value) is int and abs(value) < 1 << 63


def _seconds(value: Any) -> bool:
    return (_count(value) or isinstance(value, float)) and 0 <= value < math.inf


def _number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max  # an integer may be larger than any float


def _perhaps(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _each(key: Check, value: Check) -> Check:
    return lambda mapping: isinstance(mapping, dict) and all(key(k) and value(v) for k, v in mapping.items())


def _row(*checks: Check) -> Check:
    return lambda value: (
        isinstance(value, list)
        and len(value) == len(checks)
        and all(check(part) for check, part in zip(checks, value, strict=True))
    )


def _list(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _has(fields: Mapping[str, Check], value: Any) -> bool:
    return isinstance(value, dict) and all(check(value.get(name)) for name, check in fields.items())


def _charge(value: Any) -> bool:
    """What a task cost: of an edit dollars and attempts, of a judge the attempts that came to nothing."""
    edited = _has({"usd": _seconds, "told": _flag, "attempts": _count}, value)
    return edited or _has({"lost": _count}, value)


def _facts(value: Any) -> bool:
    """What is known of a request to a server that came to nothing."""
    checks = {"says": _text, "status": _count, "canary": _text, "seconds": _seconds, "ours": _flag, "bought": _flag}
    return _has(checks, value)


EDITED: Mapping[str, Check] = {
    "pixels": _text,
    "width": _count,
    "height": _count,
    "file_bytes": _count,
    "file_digest": _perhaps(_text),
    "flags": _list(_text),
    "own_size": _perhaps(lambda value: isinstance(value, list) and len(value) == 2 and all(map(_count, value))),
}
ANSWERED: Mapping[str, Check] = {
    "text": _text,
    "values": _perhaps(_each(_text, _number)),
    "normalised": _perhaps(_flag),
    "ended": _perhaps(lambda value: value in CUT_SHORT),
    "final": _perhaps(_flag),
    "length": _perhaps(_count),
    "tokens": _perhaps(lambda value: isinstance(value, list) and len(value) == 2 and all(map(_count, value))),
    "halved_to": _perhaps(_count),
}
DAMAGED: Mapping[str, Check] = {"damaged": _text}
_MEMORY = _each(_text, _count)
EVENTS: Mapping[str, Mapping[str, Check]] = {
    "prepared": {},
    "loaded": {
        "capacity": lambda value: _count(value) and value > 0,
        "seconds": _seconds,
        "about": _each(_text, _text),
        "memory": _MEMORY,
    },
    "broken": {"error": _text, "trace": _text, "kind": _text, "lacks": _perhaps(_text), "pip": _perhaps(_flag)},
    "started": {"task": _count},
    "step": {"task": _count, "step": _whole, "steps": _whole},
    "submitted": {"task": _count, "provider": _text, "id": _text, "usd": _perhaps(_seconds), "token": _perhaps(_text)},
    "done": {
        "task": _count,
        "results": lambda value: isinstance(value, list),
        "seconds": _seconds,
        "memory": _MEMORY,
        "charged": _perhaps(_charge),
    },
    "failed": {
        "task": _count,
        "error": _text,
        "trace": _text,
        "kind": _text,
        "memory": _MEMORY,
        "charged": _perhaps(_charge),
        "facts": _perhaps(_facts),
    },
    "ended": {"memory": _MEMORY},
}
"""Fields that each message of a worker must have; it may have others."""
FROM_AFAR: Mapping[str, Mapping[str, Check]] = {**EVENTS, "died": {"reason": _text, "log": _perhaps(_text)}}
"""The same for a worker on another machine, where the agent reports what a dead process cannot."""
GPU: Mapping[str, Check] = {
    "name": _text,
    "title": _text,
    "uuid": _text,
    "memory": _perhaps(_count),
    "free": _perhaps(_count),
    "utilisation": _perhaps(_count),
    "capability": _perhaps(_row(_count, _count)),
}
ABOUT: Mapping[str, Check] = {
    "python": _text,
    "platform": _text,
    "processors": _perhaps(_count),
    "libraries": _each(_text, _text),
}
MACHINE: Mapping[str, Mapping[str, Check]] = {
    "hello": {
        "gpus": _list(lambda value: _has(GPU, value)),
        "about": lambda value: _has(ABOUT, value),
        "layers": _text,
        "time": _number,
        "memory": _perhaps(_count),
    },
    "meters": {"meters": _each(_text, _row(_perhaps(_count), _perhaps(_count), _perhaps(_number)))},
    "want": {"names": _list(_row(_text, _text))},
    "lacking": {"texts": _list(_text)},
    "shared": {"shared": _flag},
}
"""Messages of another machine's agent about it: what it is, what its GPUs do, which pictures it lacks, what is wrong
with the weights there, and whether it sees the run directory."""
ANSWER = {"prepare": "prepared", "load": "loaded"}
"""Events that answer an order, once."""


def event_of(message: Any, events: Mapping[str, Mapping[str, Check]]) -> str:
    """Returns the name of the message's event. Raises `ValueError` if it is unknown or lacks a field."""
    event = message.get("event") if isinstance(message, dict) else None
    if not isinstance(event, str) or event not in events:
        raise ValueError(f"not a message: {str(message)[:80]}")
    for name, check in events[event].items():
        if not check(message.get(name)):
            raise ValueError(f"`{event}` without a proper `{name}`")
    return event


class Conversation:
    """The exchange with one worker. `told` notes what it was asked for; `heard` refuses anything else."""

    def __init__(self, events: Mapping[str, Mapping[str, Check]] = EVENTS) -> None:
        self._events = events
        self._awaited: set[str] = set()
        self._tasks: dict[int, tuple[Sequence[Mapping[str, Check]], int]] = {}  # kinds of each result, and how many

    def record_order(self, order: Message) -> None:
        """Notes an order sent to the worker."""
        if order["do"] == "run":
            edit = order["kind"] == "edit"
            self._tasks[order["task"]] = ((EDITED,), 1) if edit else ((ANSWERED, DAMAGED), len(order["requests"]))
        elif order["do"] in ANSWER:
            self._awaited.add(ANSWER[order["do"]])

    def accept_message(self, message: Message) -> bool:
        """True if the message is news. Raises `ValueError` for one that no worker of ours would send.

        A step of a finished task is not news: a thread that the model left behind may go on counting.
        """
        event = event_of(message, self._events)
        if event in ANSWER.values():
            if event not in self._awaited:
                raise ValueError(f"`{event}`, which nobody waits for")
            self._awaited.remove(event)
        if "task" not in self._events[event]:
            return True
        if message["task"] not in self._tasks:
            if event == "step":
                return False
            raise ValueError(f"`{event}` of a task that it does not have")
        if event in ("done", "failed"):
            kinds, count = self._tasks.pop(message["task"])
            results = message.get("results", [])
            if event == "done" and not (
                len(results) == count and all(any(_has(kind, result) for kind in kinds) for result in results)
            ):
                raise ValueError("`done` with other results than were asked for")
        return True
