"""Servers of ours: uvicorn, which accepts no more connections than it can hold; those above that wait."""

from __future__ import annotations

import asyncio
import secrets
import socket
from typing import Any

import uvicorn

from edit_eval.errors import ConfigurationError
from edit_eval.plugins.web.connections import Connection, State, most_connections
from edit_eval.plugins.web.guard import is_loopback
from edit_eval.text import Text

BACKLOG = 2048
"""Connections that wait to be accepted; the kernel may allow fewer."""
PAUSE = 0.05
"""Seconds until it is looked again whether a connection can be accepted."""


class WebServer(uvicorn.Server):
    """uvicorn's server but for how it accepts connections: with asyncio's, one above a limit would get a 503."""

    def __init__(
        self, app: Any, *, connection: type[asyncio.Protocol] = Connection, keep_alive: int = 75, grace: int = 5
    ) -> None:
        """`keep_alive` and `grace` are in seconds: between two requests, and for those under way at the end."""
        super().__init__(
            uvicorn.Config(
                app,
                log_level="error",  # a stranger's nonsense is no line in the log
                access_log=False,
                ws="none",
                server_header=False,
                timeout_graceful_shutdown=grace,
                timeout_keep_alive=keep_alive,
                http=connection,
            )
        )
        self.server_state: State = State()
        self._most = most_connections()
        self._accepting: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts to accept connections."""
        await super().startup(sockets=[])
        self._accepting = [asyncio.create_task(self._accept(listener)) for listener in sockets or []]

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accepts no more, and ends as uvicorn does."""
        for task in self._accepting:
            task.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        await super().shutdown(sockets)

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        listening.setblocking(False)

        def protocol() -> Any:
            http: Any = self.config.http_protocol_class
            return http(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

        while True:
            while len(self.server_state.connections) >= self._most:
                await asyncio.sleep(0 if self.server_state.close_idlest() else PAUSE)
            try:
                accepted, _ = await loop.sock_accept(listening)
            except OSError:  # out of descriptors, here or on the whole machine; or it has gone already
                self.server_state.close_idlest()
                await asyncio.sleep(PAUSE)
                continue
            try:
                await loop.connect_accepted_socket(protocol, accepted)
            except OSError:
                accepted.close()


def token_for(host: str, token: str) -> str:
    """Returns the token for a server on `host`: a new one for `auto`, and where others could reach it without.

    Raises `ConfigurationError` for one that an address could not hold.
    """
    if token == "auto" or (not is_loopback(host) and not token):
        return secrets.token_urlsafe(18)
    if token and not token.replace("-", "").replace("_", "").isalnum():
        raise ConfigurationError(Text("--token: letters, digits, - and _ only, or `auto`"))
    return token


def listen(host: str, port: int) -> socket.socket:
    """Returns a listening socket. Raises `ConfigurationError` if it cannot listen there."""
    try:
        family, kind, _, _, where = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        opened = socket.socket(family, kind)
        try:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened.bind(where)
            opened.listen(BACKLOG)  # a request right after the address is announced waits instead of being refused
        except BaseException:
            opened.close()
            raise
        return opened
    except (OSError, OverflowError) as error:
        raise ConfigurationError(
            Text(
                "--host {} --port {}: cannot listen there ({}); `--port 0` takes a free port",
                host,
                port,
                getattr(error, "strerror", None) or error,
            )
        ) from error


def address_of(host: str, port: int) -> str:
    """Returns the address by which others reach it."""
    name = host.strip("[]")
    if name in ("0.0.0.0", "::"):
        name = socket.gethostname()
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"
