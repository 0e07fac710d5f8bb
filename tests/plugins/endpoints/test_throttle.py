"""How many requests may be under way at once."""

from __future__ import annotations

from edit_eval.plugins.endpoints.in_worker.transport import Throttle
from plugins.endpoints.own_loop import run_apart


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
