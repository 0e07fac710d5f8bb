"""How many requests may be under way at a server, and how long it wants to be left alone."""

from __future__ import annotations

import asyncio
import email.utils
import math
import time
from typing import Any


class Throttle:
    """Lets a number of requests be under way at once: halved by a 429, grown by one for each round of answers."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.width = float(most)
        """How many may be under way at present; its whole part counts."""
        self._under_way = 0
        self._closed_until = 0.0
        self._narrowed = -math.inf
        self._changed: asyncio.Condition | None = None  # belongs to the loop that uses it first

    async def __aenter__(self) -> float:
        """Waits for a turn; returns when it came (seconds, monotonic)."""
        if self._changed is None:
            self._changed = asyncio.Condition()
        while True:
            if (pause := self._closed_until - time.monotonic()) > 0:
                await asyncio.sleep(pause)
            async with self._changed:
                await self._changed.wait_for(lambda: self._under_way < int(self.width))
                if self._closed_until <= time.monotonic():
                    self._under_way += 1
                    return time.monotonic()

    async def __aexit__(self, *exception: object) -> None:
        assert self._changed is not None
        async with self._changed:
            self._under_way -= 1
            self._changed.notify_all()

    def slower(self, sent: float, wait: float) -> None:
        """The server has answered 429 to a request sent at `sent`: half as many, and none for `wait` seconds."""
        now = time.monotonic()
        self._closed_until = max(self._closed_until, now + wait)
        if sent >= self._narrowed:  # those that were under way together say it together, and mean it once
            self._narrowed = now
            self.width = max(1.0, self.width // 2)

    def faster(self) -> None:
        """The server has answered."""
        self.width = min(float(self.most), self.width + 1.0 / self.width)


def retry_after(headers: Any) -> float | None:
    """Seconds that a response asks to wait (`retry-after-ms`, or `Retry-After` in seconds or as a date), or None."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name) or "") / unit
        except ValueError:
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    until = _timestamp(headers.get("retry-after"))
    if until is None:
        return None
    # By the server's own clock where it tells, so that it does not matter what time this machine believes it is.
    now = _timestamp(headers.get("date"))
    return max(0.0, until - (time.time() if now is None else now))


def _timestamp(date: str | None) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(date or "").timestamp()
    except (TypeError, ValueError):
        return None
