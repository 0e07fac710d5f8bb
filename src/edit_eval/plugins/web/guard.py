"""Access control: a request that is not clearly from whom a server is for gets a 4xx before anything is looked up.

By default a server of ours listens on this machine only. That keeps out other machines, but neither web pages open in
this user's browser (which can send requests to any address and, with a domain that resolves to 127.0.0.1, even read the
answers) nor other users of a shared machine. So the `Host` must be a name of this machine, a browser must not report
another site as the sender; and if the server listens for others, or is asked to, nothing is answered without a token.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from edit_eval.reporting.language import translate
from edit_eval.text import Text

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
