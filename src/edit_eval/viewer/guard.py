"""Access control: a request that is not clearly from this user's own page gets a 4xx before anything is looked up.

By default the server listens on this machine only. That keeps out other machines, but neither web pages open in this
user's browser (which can send requests to any address and, with a domain that resolves to 127.0.0.1, even read the
answers) nor other users of a shared machine. So the `Host` must be a name of this machine, the `Origin` the same, and
the browser must not report another site as the sender; if the server listens for others, or is asked to, nothing is
answered without a token.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlencode

from edit_eval.reporting.language import said
from edit_eval.text import Text

Scope = dict[str, Any]

COOKIE = "edit-eval-token"
LONGEST_ADDRESS = 2_000
LONGEST_BODY = 16_384
_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)(?P<port>:\d{1,5})?")
_VOTE = re.compile(r"/run/[0-9a-f]{12}/votes")
"""The only address that accepts a body."""

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
    headers: Mapping[str, str] = ()  # type: ignore[assignment]


def is_loopback(host: str) -> bool:
    """True if a server that listens there can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.rstrip(".").lower() == "localhost"


class Guard:
    """Refuses requests, or passes them on, before any handler sees them (ASGI)."""

    def __init__(self, app: Any, *, token: str = "", anywhere: bool = False) -> None:
        self._app, self._token, self._anywhere = app, token, anywhere
        if anywhere and not token:
            raise ValueError(Text("a server that others can reach needs a token"))

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Handles one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await receive()
            await send({"type": "websocket.close", "code": 1008})  # before it is accepted: a 403
        elif refusal := self.refusal(scope):
            await _answer(send, refusal.status, refusal.why, dict(refusal.headers))
        elif where := self._without_token(scope):
            cookie = f"{COOKIE}={self._token}; HttpOnly; SameSite=Strict; Path=/"
            await _answer(send, 303, "", {"Location": where, "Set-Cookie": cookie})
        else:
            await self._app(scope, _limited(receive), _with_headers(send))

    def refusal(self, scope: Scope) -> Refusal | None:
        """Returns why a request is refused; None if it is passed on."""
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        if any(len(headers.get(name, ())) > 1 for name in ("host", "origin", "content-length", "content-type")):
            return Refusal(400, Text("a header is given twice"))
        one = {name: values[0] for name, values in headers.items()}
        return self._of_host(one) or self._of_origin(scope, one) or _of_method(scope, one) or self._of_token(scope, one)

    def _of_host(self, headers: Mapping[str, str]) -> Refusal | None:
        host = _HOST.fullmatch(headers.get("host", ""))
        if host is None:
            return Refusal(400, Text("the Host header is missing or unreadable"))
        if not self._anywhere and not is_loopback(host["name"]):
            return Refusal(
                403, Text("this server only answers on localhost; forward its port, or start it with --host")
            )
        return None

    def _of_origin(self, scope: Scope, headers: Mapping[str, str]) -> Refusal | None:
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (
            f"http://{headers['host']}".lower(),
            f"https://{headers['host']}".lower(),
        ):
            return Refusal(403, Text("the request comes from another site's page"))
        visits = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "document")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not (
            visits and scope["method"] == "GET"
        ):
            return Refusal(403, Text("the request comes from another site's page"))
        return None

    def _of_token(self, scope: Scope, headers: Mapping[str, str]) -> Refusal | None:
        if not self._token:
            return None
        kind, _, sent = headers.get("authorization", "").partition(" ")
        told = [sent.strip()] if kind.lower() == "bearer" else []
        told += [_cookie(headers.get("cookie", "")), *_asked(scope).get("token", ())]
        if any(hmac.compare_digest(one.encode("utf-8", "replace"), self._token.encode()) for one in told if one):
            return None
        return Refusal(
            401,
            Text("open the address that `edit-eval view` printed, including its token"),
            {"WWW-Authenticate": "Bearer"},
        )

    def _without_token(self, scope: Scope) -> str:
        """Returns the redirect for a page opened with the token in its address, so it is not passed on; else empty."""
        asked = _asked(scope)
        if not self._token or "token" not in asked or scope["method"] != "GET":
            return ""
        del asked["token"]
        rest = urlencode(asked, doseq=True)
        path: str = scope["path"] if _is_plain(scope["path"]) else "/"
        return f"{path}?{rest}" if rest else path


def _is_plain(path: str) -> bool:
    return re.fullmatch(r"/[A-Za-z0-9/_-]*", path) is not None and not path.startswith("//")


def _of_method(scope: Scope, headers: Mapping[str, str]) -> Refusal | None:
    method, path = scope["method"], scope["path"]
    if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > LONGEST_ADDRESS:
        return Refusal(414, Text("the address is too long"))
    if not _is_plain(path) or b"%" in (scope.get("raw_path") or b""):
        return Refusal(404, Text("there is no such page"))
    sends = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
    if method in ("GET", "HEAD"):
        return Refusal(400, Text("nothing can be sent here")) if sends else None
    if method != "POST" or not _VOTE.fullmatch(path):
        return Refusal(405, Text("this can only be read"), {"Allow": "GET, HEAD"})
    if headers.get("content-type", "").lower() not in ("application/json", "application/json; charset=utf-8"):
        return Refusal(415, Text("a vote is sent as application/json"))
    length = headers.get("content-length", "")
    if "transfer-encoding" in headers or not re.fullmatch(r"\d{1,9}", length):
        return Refusal(411, Text("its length is missing"))
    if int(length) > LONGEST_BODY:
        return Refusal(413, Text("too long for a vote"))
    if "origin" not in headers and headers.get("sec-fetch-site") != "same-origin":
        return Refusal(403, Text("a vote is sent by this server's own page"))
    return None


def _asked(scope: Scope) -> dict[str, list[str]]:
    try:
        return parse_qs(scope["query_string"].decode("ascii"), keep_blank_values=True, max_num_fields=50)
    except ValueError:
        return {}


def _cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


async def _answer(send: Any, status: int, why: str, headers: Mapping[str, str]) -> None:
    body = f"{said(why)}\n".encode() if why else b""
    shown = {**HEADERS, "Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body)), **headers}
    if status >= 400:
        shown["Connection"] = "close"  # its body is not read
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in shown.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def _with_headers(send: Any) -> Any:
    async def sending(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            given = {name.decode("latin-1").lower() for name, _ in message["headers"]}
            more = [(n.lower().encode(), v.encode()) for n, v in HEADERS.items() if n.lower() not in given]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return sending


def _limited(receive: Any) -> Any:
    """Reads no more of a body than a vote may have, whatever length it declares."""
    so_far = 0

    async def receiving() -> dict[str, Any]:
        nonlocal so_far
        message: dict[str, Any] = await receive()
        so_far += len(message.get("body", b""))
        if so_far > LONGEST_BODY:
            return {"type": "http.disconnect"}
        return message

    return receiving
