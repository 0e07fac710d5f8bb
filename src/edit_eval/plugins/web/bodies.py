"""Bodies of requests: bounded in size, and in the time that their sender may take."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

BODY_SECONDS = 20.0
"""Time that a client may be waited for, in all, beside what `LEAST_BYTES_A_SECOND` allows for what it has sent."""
LEAST_BYTES_A_SECOND = 1 << 20
CLIENT_GONE = 499
"""Status of a request whose client has hung up: nobody reads it."""


class RequestRefused(Exception):
    """A request refused with an HTTP status."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


async def read_body(
    headers: Mapping[str, str],
    receive: Callable[[], Awaitable[Any]],
    *,
    most: int,
    until: float = math.inf,
    take: Callable[[int], Awaitable[None]] | None = None,
) -> bytearray:
    """Reads a request's body; `take` is awaited with the size of each part that has come, before the next is read.

    Only time spent waiting for the client counts against it, so one that is kept waiting by `take` is not blamed.
    `until` is by `time.monotonic`. Raises `RequestRefused`: 413 for more than `most` bytes, announced or sent, 408
    for a client that is too slow, and `CLIENT_GONE`.
    """
    announced = headers.get("content-length", "0")
    if announced.isdigit() and int(announced) > most:
        raise RequestRefused(413, f"{int(announced):,} bytes, and {most:,} is the most")
    body = bytearray()
    waited, more = 0.0, True
    while more:
        limit = BODY_SECONDS + len(body) / LEAST_BYTES_A_SECOND - waited
        began = time.monotonic()
        try:
            async with asyncio.timeout(min(limit, until - began)):
                message = await receive()
        except TimeoutError:
            raise RequestRefused(408, f"{len(body):,} bytes of the body have come in {waited + limit:.0f} s") from None
        waited += time.monotonic() - began
        if message["type"] == "http.disconnect":
            raise RequestRefused(CLIENT_GONE, "the client is gone")
        part, more = message.get("body", b""), message.get("more_body", False)
        if len(body) + len(part) > most:
            raise RequestRefused(413, f"more than {most:,} bytes")
        if part:
            body += part
            if take is not None:
                await take(len(part))
    return body
