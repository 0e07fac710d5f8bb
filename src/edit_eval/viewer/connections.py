"""Connections on which no request has come: they have little time, and never keep those out that ask for something."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

WITHIN = 10.0
"""Seconds in which a request must have come, a vote's body with it."""
MOST_WAITING = 256
"""Connections that may wait at once: with one more the oldest is closed. Half of the server's limit of connections."""


class Connection(H11Protocol):
    """uvicorn's own, which is closed where half a request is all that comes.

    uvicorn bounds connections and has no such time: whoever opens enough of them, and needs no token for that, would
    have everybody else answered with 503. Of h11, whose headers have a limit: httptools, which uvicorn takes where it
    is installed, reads one that never ends.
    """

    def connection_made(self, transport: Any) -> None:
        """Begins to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Waits no more once a request is there as a whole."""
        super().data_received(data)
        if self._is_asked():
            self._wait_no_more()
        elif self not in self._waiting:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends."""
        self._wait_no_more()
        super().connection_lost(exc)

    def _is_asked(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body

    @property
    def _waiting(self) -> dict[Connection, Any]:
        """All of this server that wait, the oldest first, with what ends their time."""
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
