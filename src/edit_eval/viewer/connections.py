"""Connections waiting for a request: they get little time, and never keep out those that have sent one."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

WITHIN = 10.0
"""Seconds in which a whole request must arrive, including a vote's body."""
MOST_WAITING = 256
"""Connections that may wait at once: one more closes the oldest. Half of the server's limit of connections."""


class Connection(H11Protocol):
    """uvicorn's connection, closed if only part of a request arrives.

    uvicorn limits connections but has no such timeout: opening enough of them, which needs no token, would get all
    others a 503. Uses h11, which limits headers: httptools, uvicorn's choice where installed, would read one that never
    ends.
    """

    def connection_made(self, transport: Any) -> None:
        """Starts to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Stops waiting once a whole request has arrived."""
        super().data_received(data)
        if self._is_asked():
            self._wait_no_more()
        elif self not in self._waiting:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops waiting."""
        self._wait_no_more()
        super().connection_lost(exc)

    def _is_asked(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body

    @property
    def _waiting(self) -> dict[Connection, Any]:
        """This server's waiting connections, oldest first, with their timers."""
        found: dict[Connection, Any] = self.server_state.__dict__.setdefault("waiting", {})
        return found

    def _wait(self) -> None:
        waiting = self._waiting
        waiting[self] = self.loop.call_later(WITHIN, self._close)
        if len(waiting) > MOST_WAITING:
            next(iter(waiting))._close()

    def _wait_no_more(self) -> None:
        if timer := self._waiting.pop(self, None):
            timer.cancel()

    def _close(self) -> None:
        self._wait_no_more()
        if not self.transport.is_closing():
            self.transport.abort()
