"""What one worker was told, and what it may say: the one place where messages of workers are doubted.

A worker holds a stranger's code. It may write into any descriptor, fork, or repeat itself; what comes through the pipe
is believed when it has every field that it should have (`EVENTS`), and when it was asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

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
    return type(value) in (int, float) and math.isfinite(value)


def _perhaps(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _each(key: Check, value: Check) -> Check:
    return lambda found: isinstance(found, dict) and all(key(k) and value(v) for k, v in found.items())


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_text, value))


def _has(fields: Mapping[str, Check], found: Any) -> bool:
    return isinstance(found, dict) and all(check(found.get(name)) for name, check in fields.items())


EDITED: Mapping[str, Check] = {
    "pixels": _text,
    "width": _count,
    "height": _count,
    "file_bytes": _count,
    "flags": _texts,
}
ANSWERED: Mapping[str, Check] = {
    "text": _text,
    "values": _perhaps(_each(_text, _number)),
    "normalised": _perhaps(lambda value: isinstance(value, bool)),
    "ended": _perhaps(lambda value: value in ("cut_off", "refused", "judge_error")),
    "final": _perhaps(lambda value: isinstance(value, bool)),
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
    "broken": {
        "error": _text,
        "trace": _text,
        "kind": _text,
        "lacks": _perhaps(_text),
        "pip": _perhaps(lambda value: isinstance(value, bool)),
    },
    "started": {"task": _count},
    "step": {"task": _count, "step": _whole, "steps": _whole},
    "done": {"task": _count, "results": lambda value: isinstance(value, list), "seconds": _seconds, "memory": _MEMORY},
    "failed": {"task": _count, "error": _text, "trace": _text, "kind": _text, "memory": _MEMORY},
    "ended": {"memory": _MEMORY},
}
"""What each message of a worker must have; further fields may come along."""
ANSWER = {"prepare": "prepared", "load": "loaded"}
"""What is said once, after an order."""


class Conversation:
    """With one worker. `told` keeps what it was asked for, `heard` sees that it says nothing else."""

    def __init__(self) -> None:
        self._awaited: set[str] = set()
        self._tasks: dict[int, tuple[Sequence[Mapping[str, Check]], int]] = {}  # what each result is, and how many

    def told(self, order: Message) -> None:
        """The worker was sent an order."""
        if order["do"] == "run":
            edit = order["kind"] == "edit"
            self._tasks[order["task"]] = ((EDITED,), 1) if edit else ((ANSWERED, DAMAGED), len(order["requests"]))
        elif order["do"] in ANSWER:
            self._awaited.add(ANSWER[order["do"]])

    def heard(self, message: Message) -> bool:
        """Whether the message is news. Raises `ValueError` for one that no worker of ours would send.

        A step of a task that is over is no news: a thread that the model left behind may go on counting.
        """
        event = message.get("event")
        if not isinstance(event, str) or event not in EVENTS:
            raise ValueError(f"not a message: {str(message)[:80]}")
        for name, check in EVENTS[event].items():
            if not check(message.get(name)):
                raise ValueError(f"`{event}` without a proper `{name}`")
        if event in ANSWER.values():
            if event not in self._awaited:
                raise ValueError(f"`{event}`, which nobody waits for")
            self._awaited.remove(event)
        if "task" not in EVENTS[event]:
            return True
        if message["task"] not in self._tasks:
            if event == "step":
                return False
            raise ValueError(f"`{event}` of a task that it does not have")
        if event in ("done", "failed"):
            kinds, count = self._tasks.pop(message["task"])
            results = message.get("results", [])
            if event == "done" and not (
                len(results) == count and all(any(_has(kind, one) for kind in kinds) for one in results)
            ):
                raise ValueError("`done` with other results than were asked for")
        return True
