"""Connections to a server of ours: how many there may be, and how long one may keep silent.

A stranger needs no token to open connections. So there are never more than `most_connections`, and what comes above
waits to be accepted (`server.py`), as honest clients can; to make room, the connection that has been silent for longest
is closed, be it one that never sent a whole head, or one whose last answer lies back. The head of a request must come
in `WITHIN` seconds; its body is `bodies.py`'s; and who takes nothing of an answer for `TAKEN_WITHIN` seconds is given
up, as is who sends more than `MOST_PIPELINED` requests without waiting for answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import time
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

WITHIN = 10.0
"""Seconds in which the whole head of a request must arrive."""
TAKEN_WITHIN = 30.0
"""Seconds in which some of an answer that waits to be taken must be."""
SILENT_SECONDS = 1.0
"""Seconds after which a silent connection may be closed to make room for another."""
MOST_CONNECTIONS = 4096
RESERVE = 256
"""Descriptors that no connection may take: journals, pictures and pipes need them."""
MOST_DESCRIPTORS = 65_536
MOST_HEAD = 1 << 20
"""Most bytes of a request's head."""
MOST_PIPELINED = 4
"""Most requests of one connection that may wait behind another: else a few connections could keep everybody waiting."""


def raise_descriptor_limit() -> None:
    """Lets this process have as many descriptors as the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def most_connections() -> int:
    """Returns how many connections this process may have, for the descriptors that it may have."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return min(MOST_CONNECTIONS, max(soft - RESERVE, soft // 2))


class State(ServerState):
    """What the connections of one server know of each other."""

    def __init__(self) -> None:
        super().__init__()
        self.silent: dict[IdleTimeout, float] = {}
        """Connections without a request under way, and since when; the one silent for longest first."""

    def close_idlest(self) -> bool:
        """Closes the connection that has been silent for longest; False if none has been for `SILENT_SECONDS`."""
        connection, since = next(iter(self.silent.items()), (None, 0.0))
        if connection is None or time.monotonic() - since < SILENT_SECONDS:
            return False
        connection.abort_connection()
        return True


class IdleTimeout(asyncio.Protocol):
    """Mixed into uvicorn's connections, which know no time-out but that between two requests."""

    server_state: Any
    loop: asyncio.AbstractEventLoop
    transport: Any
    cycle: Any
    timeout_keep_alive: Any
    _timer: asyncio.TimerHandle | None = None
    _idle = False
    """True if it is silent between two requests."""
    _taking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Starts to wait for a head."""
        super().connection_made(transport)
        self._start_timer(WITHIN)

    def data_received(self, data: bytes) -> None:
        """Stops waiting once a whole head has arrived."""
        begins = self._timer is None or self._idle
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_timer()
        elif begins:
            self._start_timer(WITHIN)

    def on_response_complete(self) -> None:
        """Starts to wait for the next request."""
        super().on_response_complete()  # type: ignore[misc]
        if self.cycle is None or self.cycle.response_complete:
            self._start_timer(self.timeout_keep_alive, idle=True)

    def pause_writing(self) -> None:
        """Starts to wait for the client to take what is written."""
        super().pause_writing()
        self._check_later(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Stops waiting for it."""
        self._cancel_check()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops waiting."""
        self._stop_timer()
        self._cancel_check()
        super().connection_lost(exc)

    def _check_later(self, left: int) -> None:
        self._taking = self.loop.call_later(TAKEN_WITHIN, self._check_progress, left)

    def _check_progress(self, before: int) -> None:
        if (left := self.transport.get_write_buffer_size()) < before:
            self._check_later(left)
        else:
            self.abort_connection()

    def _cancel_check(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None

    def _start_timer(self, seconds: float, idle: bool = False) -> None:
        self._stop_timer()
        self.server_state.silent[self] = time.monotonic()
        self._timer, self._idle = self.loop.call_later(seconds, self.abort_connection), idle

    def _stop_timer(self) -> None:
        self.server_state.silent.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def abort_connection(self) -> None:
        """Closes the connection at once."""
        self._stop_timer()
        self.transport.abort()


class Connection(IdleTimeout, H11Protocol):
    """uvicorn's own, which bounds a head by itself."""


def fast_connection() -> type[asyncio.Protocol]:
    """Returns a connection that takes half of h11's time. Raises `ImportError` without httptools."""
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class FastConnection(IdleTimeout, HttpToolsProtocol):
        """httptools alone would read an endless head."""

        _head = 0
        _in_head = True

        def data_received(self, data: bytes) -> None:
            if self._in_head:
                self._head += len(data)
                if self._head > MOST_HEAD:
                    self.send_400_response("Too long a header.")
                    return
            super().data_received(data)

        def on_headers_complete(self) -> None:
            self._head, self._in_head = 0, False
            if len(self.pipeline) >= MOST_PIPELINED:
                raise ValueError("too many requests at once")  # the parser ends the connection
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self._in_head = True
            super().on_message_complete()

    return FastConnection
