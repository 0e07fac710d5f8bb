"""What a judge returned for a batch, as the results that are sent to the engine: looked at, and bounded."""

from __future__ import annotations

from typing import Any

from edit_eval.errors import ModelError
from edit_eval.records import Reply, Status
from edit_eval.workers.messages import Message

LONGEST_REPLY = 500_000
"""Characters; no answer, with all its thoughts, is longer. A model that did not stop may say any number of them."""
KEPT = 10_000
"""Characters of the beginning that are kept of a longer one: enough to see what went wrong."""


def as_results(replies: Any, count: int) -> list[Message]:
    """A result a reply, in order: its `text`, `ended` where not by itself, `length` where only its beginning is kept.

    Raises `ModelError` where `replies` are not `count` texts or `Reply`s.
    """
    if not isinstance(replies, (list, tuple)):  # a text is a sequence, too: of characters that may be digits
        raise ModelError(f"the judge returned {type(replies).__name__}, not a list with one text a request")
    if len(replies) != count:
        raise ModelError(f"the judge gave {len(replies)} answers to {count} requests")
    return [_result(reply) for reply in replies]


def _result(reply: object) -> Message:
    if isinstance(reply, Reply):
        text, ended = reply.text, reply.ended
    else:
        text, ended = reply, Status.OK  # type: ignore[assignment]
    if not isinstance(text, str):
        raise ModelError(f"an answer of the judge is {type(text).__name__}, not text")
    if len(text) > LONGEST_REPLY:
        return {"text": text[:KEPT], "ended": str(Status.CUT_OFF), "length": len(text)}
    return {"text": text} if ended is Status.OK else {"text": text, "ended": str(ended)}
