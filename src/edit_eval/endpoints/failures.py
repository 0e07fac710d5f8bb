"""Why a server gave no answer, in one line, and what such a line mostly means."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

HINTS = (
    (r"answered 404.*\bmodel\b", "is `model` its name as this server knows it?"),
    (r"answered 40[45](?!.*/v\d+\)$)", "the base_url of most servers ends in /v1"),
    (r"answered 40[13](?!.* is not set\))", "does api_key_env name the variable with this server's key?"),
    (r"answered 400.*HTTP request.*HTTPS|UNEXPECTED_EOF|EOF occurred", "is it https in base_url, or http?"),
    (r"WRONG_VERSION_NUMBER|record layer failure", "this server uses http there, not https"),
    (r"CERTIFICATE_VERIFY_FAILED", "set SSL_CERT_FILE to a certificate authority's file that Python should trust"),
)
"""Words of a final failure, and what they mostly mean. The first that fits is said."""


class Failure(Exception):
    """Why an attempt, or at last a request, has no answer: one line."""

    def __init__(
        self, text: str, *, again: bool = True, once: bool = False, busy: bool = False, wait: float | None = None
    ) -> None:
        super().__init__(text)
        self.again = again
        """Whether another attempt may end better."""
        self.once = once
        """Whether a second such end is one too many: the server has done its work, for nothing."""
        self.busy = busy
        """Whether the server has only asked for less (429)."""
        self.wait = wait
        """Seconds that the server asks to be left alone."""
        self.alive = True
        """Whether the server answered a canary afterwards."""


def with_hint(text: str) -> str:
    """The line with what it mostly means, where that is known."""
    return next((f"{text}; {hint}" for words, hint in HINTS if re.search(words, text)), text)


def plain(text: str) -> Any:
    """A text as the JSON that it is, or as it is."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text.strip()


def said_in(body: object) -> str:
    """The reason in an error's body, in whatever form it comes."""
    for key in ("error", "message", "detail"):
        if isinstance(body, dict) and key in body:
            body = body[key]
    return body if isinstance(body, str) else json.dumps(body, default=str) if body else ""


def address_of(url: str, *, path: bool = True) -> str:
    """Where a server is, without user, password and query; empty for what names no server."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme or 'http'}://{host}{port}{parts.path.rstrip('/') * path}" if host else ""
