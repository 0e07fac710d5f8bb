"""What the viewer's guard lets pass besides: its own pages, links to them, votes, and a token in an address."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlencode

from edit_eval.plugins.web.guard import Guard, Refusal, Scope, answer
from edit_eval.text import Text

COOKIE = "edit-eval-token"
LONGEST_ADDRESS = 2_000
LONGEST_BODY = 16_384
_VOTE = re.compile(r"/run/[0-9a-f]{12}/votes")
"""The only address that accepts a body."""


class PageGuard(Guard):
    """A guard of pages: they may ask their own server, and a link on another site may lead to them."""

    no_token = Refusal(
        401, Text("open the address that `edit-eval view` printed, including its token"), {"WWW-Authenticate": "Bearer"}
    )

    def check_browser(self, scope: Scope, headers: Mapping[str, str]) -> Refusal | None:
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

    def check_request(self, scope: Scope, headers: Mapping[str, str]) -> Refusal | None:
        return _check_method(scope, headers)

    def tokens(self, scope: Scope, headers: Mapping[str, str]) -> Iterable[str]:
        return [
            *super().tokens(scope, headers),
            _cookie(headers.get("cookie", "")),
            *_parse_query(scope).get("token", ()),
        ]

    async def forward_request(self, scope: Scope, receive: Any, send: Any) -> None:
        if where := self._redirect_address(scope):
            cookie = f"{COOKIE}={self.token}; HttpOnly; SameSite=Strict; Path=/"
            await answer(send, 303, b"", {"Location": where, "Set-Cookie": cookie})
        else:
            await super().forward_request(scope, receive, send)

    def _redirect_address(self, scope: Scope) -> str:
        """Returns the redirect for a page opened with the token in its address, so it is not passed on; else empty."""
        asked = _parse_query(scope)
        if not self.token or "token" not in asked or scope["method"] != "GET":
            return ""
        del asked["token"]
        rest = urlencode(asked, doseq=True)
        path: str = scope["path"] if _is_plain(scope["path"]) else "/"
        return f"{path}?{rest}" if rest else path


def _is_plain(path: str) -> bool:
    return re.fullmatch(r"/[A-Za-z0-9/_-]*", path) is not None and not path.startswith("//")


def _check_method(scope: Scope, headers: Mapping[str, str]) -> Refusal | None:
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


def _parse_query(scope: Scope) -> dict[str, list[str]]:
    try:
        return parse_qs(scope["query_string"].decode("ascii"), keep_blank_values=True, max_num_fields=50)
    except ValueError:
        return {}


def _cookie(header: str) -> str:
    try:
        cookie = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return cookie.value if cookie else ""
