"""What a judge returned for a batch, as the results that are sent to the engine: looked at, and bounded."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

from edit_eval.errors import ModelError
from edit_eval.records import Reply, Status
from edit_eval.workers.messages import Message

LONGEST_REPLY = 500_000
"""Characters; no answer, with all its thoughts, is longer. A model that did not stop may say any number of them."""
KEPT = 10_000
"""Characters of the beginning that are kept of a longer one: enough to see what went wrong."""
MOST_VALUES = 1000
LONGEST_NAME = 200  # characters of a value's name


def as_results(replies: Any, count: int) -> list[Message]:
    """A result a reply, in order: `text`, and what there is of the other fields of a `Reply` that a judge may fill.

    `length` is the whole text's where only its beginning is kept. Raises `ModelError` where `replies` are not `count`
    texts or `Reply`s, or have values that are no finite numbers.
    """
    if not isinstance(replies, (list, tuple)):  # a text is a sequence, too: of characters that may be digits
        raise ModelError(f"the judge returned {type(replies).__name__}, not a list with one text per request")
    if len(replies) != count:
        raise ModelError(f"the judge gave {len(replies)} answers to {count} requests")
    return [_result(reply) for reply in replies]


def _result(said: object) -> Message:
    reply = said if isinstance(said, Reply) else Reply(text=said)  # type: ignore[arg-type]
    text = reply.text
    if not isinstance(text, str):
        raise ModelError(f"an answer of the judge is {type(text).__name__}, not text")
    if len(text) > LONGEST_REPLY:
        return {"text": text[:KEPT], "ended": str(Status.CUT_OFF), "length": len(text)}
    result: Message = {"text": text}
    if reply.values:
        result["values"] = _values(reply.values)
        if reply.normalised:
            result["normalised"] = True
    if reply.ended is not Status.OK:
        result["ended"] = str(reply.ended)
    if any(reply.tokens):
        result["tokens"] = list(reply.tokens)
    return {**result, "final": True} if reply.final else result


def _values(values: Mapping[Any, Any]) -> dict[str, float]:
    if not isinstance(values, Mapping):
        raise ModelError(f"the values of an answer of the judge are {type(values).__name__}, not numbers by name")
    if len(values) > MOST_VALUES:
        raise ModelError(f"an answer of the judge has {len(values)} values; at most {MOST_VALUES} are kept")
    return {_name(name): _number(name, value) for name, value in values.items()}


def _name(name: object) -> str:
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        raise ModelError(
            f"a value of the judge is named {repr(name)[:60]}, not by a text of 1 to {LONGEST_NAME} characters"
        )
    return name


def _number(name: str, value: object) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise ModelError(f"the judge's value `{name}` is {type(value).__name__}, not a number")
    try:
        number = float(value)
    except OverflowError:  # an integer or a fraction
        number = math.inf
    if not math.isfinite(number):
        raise ModelError(f"the judge's value `{name}` is {number}; leave out undefined values")
    return number
