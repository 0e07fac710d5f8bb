"""How many requests may be under way at once, and how long a server wants to be left alone."""

from __future__ import annotations

import email.utils
import time

from edit_eval.endpoints.transport import Throttle, retry_after
from endpoints.own_loop import run_apart


def test_the_gate_halves_once_for_those_that_were_under_way_together() -> None:
    async def scene() -> None:
        gate = Throttle(16)
        sent = [await gate.__aenter__() for _ in range(16)]
        for moment in sent:
            gate.slower(moment, 0.0)
            await gate.__aexit__()
        assert gate.width == 8
        for _ in range(6):
            gate.slower(await gate.__aenter__(), 0.0)
            await gate.__aexit__()
        assert gate.width == 1
        for _ in range(500):
            gate.faster()
        assert gate.width == 16

    run_apart(scene())


def test_seconds_and_dates_of_retry_after() -> None:
    now = email.utils.formatdate(time.time() - 5000, usegmt=True)
    later = email.utils.formatdate(time.time() - 4990, usegmt=True)
    assert retry_after({"retry-after": "2.5"}) == 2.5
    assert retry_after({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    assert retry_after({"retry-after": later, "date": now}) == 10, "by the server's clock, whatever ours says"
    assert retry_after({"retry-after": now}) == 0
    assert [retry_after({"retry-after": text}) for text in ("", "soon", "-1", "nan", "inf")] == [None] * 5
    assert retry_after({"llm_provider-retry-after": "7"}) == 7, "behind litellm's proxy"
    assert retry_after({}) is None
