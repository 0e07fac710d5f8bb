"""Servers of ours: who may ask, how many connections there may be, and for how long a client is waited for.

Access: a request that is not clearly from whom a server is for gets a 4xx before anything is looked up. By default a
server of ours listens on this machine only. That keeps out other machines, but neither web pages open in this user's
browser (which can send requests to any address and, with a domain that resolves to 127.0.0.1, even read the answers)
nor other users of a shared machine. So the `Host` must be a name of this machine, a browser must not report another
site as the sender; and if the server listens for others, or is asked to, nothing is answered without a token.

Connections: a stranger needs no token to open them. So there are never more than `most_connections`, and what comes
above waits to be accepted, as honest clients can; to make room, the connection that has been silent for longest is
closed, be it one that never sent a whole head, or one whose last answer lies back. The head of a request must come in
`WITHIN` seconds, its body in what `read_body` allows; and who takes nothing of an answer for `TAKEN_WITHIN` seconds is
given up, as is who sends more than `MOST_PIPELINED` requests without waiting for answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import math
import re
import resource
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from edit_eval.errors import ConfigurationError
from edit_eval.reporting.language import translate
from edit_eval.text import Text

# -- access --


Scope = dict[str, Any]

_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)(?P<port>:\d{1,5})?")

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
"""Headers of every answer, unless it has its own."""


@dataclass(frozen=True)
class Refusal:
    """Why a request is refused."""

    status: int
    why: str
    headers: Mapping[str, str] = field(default_factory=dict)


def is_loopback(host: str) -> bool:
    """True if a server that listens there can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.rstrip(".").lower() == "localhost"


class Guard:
    """Refuses requests, or passes them on, before any handler sees them (ASGI)."""

    def __init__(self, app: Any, *, token: str = "", anywhere: bool = False) -> None:
        self.app, self.token, self._anywhere = app, token, anywhere
        if anywhere and not token:
            raise ValueError(Text("a server that others can reach needs a token"))

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] != "http":
            await receive()
            await send({"type": "websocket.close", "code": 1008})  # before it is accepted: a 403
        elif refusal := self.refusal(scope):
            await self.refuse(send, refusal)
        else:
            await self.forward_request(scope, receive, _with_headers(send))

    def refusal(self, scope: Scope) -> Refusal | None:
        """Returns why a request is refused; None if it is passed on."""
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        if any(len(headers.get(name, ())) > 1 for name in ("host", "origin", "content-length", "content-type")):
            return Refusal(400, Text("a header is given twice"))
        value_by_name = {name: values[0] for name, values in headers.items()}
        return (
            self._check_host(value_by_name)
            or self.check_browser(scope, value_by_name)
            or self.check_request(scope, value_by_name)
            or self._check_token(scope, value_by_name)
        )

    def check_browser(self, scope: Scope, headers: Mapping[str, str]) -> Refusal | None:
        """Refuses what a browser sends by itself: any page open in one can make it send requests to this machine."""
        if "origin" in headers or headers.get("sec-fetch-site", "none") != "none":
            return Refusal(403, Text("no browser's page may ask"))
        return None

    def check_request(self, scope: Scope, headers: Mapping[str, str]) -> Refusal | None:
        """Refuses methods, addresses and bodies that the server has not; nothing here."""
        return None

    def tokens(self, scope: Scope, headers: Mapping[str, str]) -> Iterable[str]:
        """Returns what a request gives as the token."""
        kind, _, sent = headers.get("authorization", "").partition(" ")
        return [sent.strip()] if kind.lower() == "bearer" else []

    no_token = Refusal(401, Text("the token is missing, or another one"), {"WWW-Authenticate": "Bearer"})

    def is_token(self, given: str) -> bool:
        """True of the token."""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())

    async def forward_request(self, scope: Scope, receive: Any, send: Any) -> None:
        """Hands on a request that is not refused."""
        await self.app(scope, receive, send)

    async def refuse(self, send: Any, refusal: Refusal) -> None:
        """Answers a request that is refused."""
        await answer(send, refusal.status, f"{translate(refusal.why)}\n".encode(), refusal.headers)

    def _check_host(self, headers: Mapping[str, str]) -> Refusal | None:
        host = _HOST.fullmatch(headers.get("host", ""))
        if host is None:
            return Refusal(400, Text("the Host header is missing or unreadable"))
        if not self._anywhere and not is_loopback(host["name"]):
            return Refusal(
                403, Text("this server only answers on localhost; forward its port, or start it with --host")
            )
        return None

    def _check_token(self, scope: Scope, headers: Mapping[str, str]) -> Refusal | None:
        if not self.token or any(self.is_token(token) for token in self.tokens(scope, headers) if token):
            return None
        return self.no_token


async def answer(send: Any, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    """Sends a whole answer. After an error the connection ends, unless `headers` keep it: the body is not read."""
    shown = {**HEADERS, "Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body))}
    shown |= {"Connection": "close"} if status >= 400 else {}
    shown |= headers
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in shown.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def _with_headers(send: Any) -> Any:
    async def send_with_headers(message: Scope) -> None:
        if message["type"] == "http.response.start":
            given = {name.decode("latin-1").lower() for name, _ in message["headers"]}
            more = [(n.lower().encode(), v.encode()) for n, v in HEADERS.items() if n.lower() not in given]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return send_with_headers


# -- bodies of requests --


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


# -- connections --


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


# -- servers --


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
