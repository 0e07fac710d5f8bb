"""The connection to a server: no redirect is followed, and no answer exceeds its bound.

A redirect could send pictures and prompts to an unintended host, or come back as the answer to a bare GET and be taken
for a score. An answer's bytes are counted both as they arrive and as they unfold, so that neither an endless body nor a
small one that unfolds into gigabytes takes more memory than the bound.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import math
import os
import ssl
import time
import zlib
from collections.abc import AsyncIterable, Mapping, Sequence
from functools import cache
from typing import Any
from urllib.parse import urlencode
from urllib.request import getproxies, proxy_bypass

from edit_eval.errors import LoadError

LONGEST = 8 * 2**20
"""Most bytes of an answer, unpacked; a judge's longest takes a thousandth of that."""

UNPACKED = {"gzip": 47, "x-gzip": 47, "deflate": 47}
"""Encodings accepted although none was asked for, and zlib's `wbits` for them: 47 is either header."""


class Unacceptable(Exception):
    """An answer that is rejected; the text says why, with the answer as its implied subject."""


class Unreached(Exception):
    """No whole answer came; the cause says why."""


class Posting:
    """Asks a server by aiohttp.

    A judge is asked thousands of times. With `openai`'s client a request takes three times the processor time, as
    `bench/judging.py` shows, and importing that library as much as a thousand requests; nothing of it is needed.
    """

    def __init__(
        self, base_url: str, headers: Mapping[str, str], longest: int = LONGEST, *, direct: bool = False
    ) -> None:
        """`headers` include the key; `longest`: the most bytes of an answer; `direct`: no proxy, even if the
        environment names one."""
        self._base_url, self._longest, self._direct = base_url.rstrip("/"), longest, direct
        self._headers = {**headers, "accept-encoding": "identity"}
        self._known: dict[tuple[str, bool], Any] = {}
        self._find_proxy = cache(find_proxy)  # it goes through the environment several times
        self._session: Any = None

    def _address(self, path: str, above: bool, query: Mapping[str, Any] | None) -> Any:
        from yarl import URL

        if not query and (known := self._known.get((path, above))) is not None:
            return known
        url = URL(join_url(self._base_url, path, _as_query(query) if query else "", above=above), encoded=True)
        if not query:
            self._known[path, above] = url
        return url

    def _open_session(self, url: Any) -> Any:
        """Returns the session, which belongs to the loop that uses it first."""
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=certificates() if url.scheme == "https" else True),
                timeout=aiohttp.ClientTimeout(total=None),  # the caller bounds it
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    async def __call__(
        self, path: str, body: object, *, above: bool = False, query: Mapping[str, Any] | None = None
    ) -> tuple[int, Any, str]:
        """Returns status, headers and text of a path's answer; `above`: the path is not below the address's `/v1`.

        Raises `Unreached` if there is no whole answer.
        """
        import pydantic_core

        url = self._address(path, above, query)
        # A megabyte of pictures in half the time of the standard library.
        response, answer = await self._sent("POST", url, pydantic_core.to_json(body), self._headers)
        return response.status, response.headers, _text(response, answer)

    async def form(
        self, path: str, fields: Mapping[str, str], files: Sequence[tuple[str, str, bytes]]
    ) -> tuple[int, Any, str]:
        """Posts a form of fields and files (field, file name, bytes: JSON lines or a PNG, by the name), in this order;
        returns and raises the same."""
        import aiohttp

        form = aiohttp.FormData()
        for name, value in fields.items():
            form.add_field(name, value)
        for field, name, data in files:
            kind = "application/jsonl" if name.endswith(".jsonl") else "image/png"
            form.add_field(field, data, filename=name, content_type=kind)
        own = {name: value for name, value in self._headers.items() if name.lower() != "content-type"}
        response, answer = await self._sent("POST", self._address(path, False, None), form, own)
        return response.status, response.headers, _text(response, answer)

    async def post_bytes(self, address: str, data: bytes, headers: Mapping[str, str]) -> tuple[int, Any, str]:
        """Posts bytes to an address, with the key and `headers`; returns and raises the same."""
        from yarl import URL

        response, answer = await self._sent("POST", URL(address, encoded=True), data, {**self._headers, **headers})
        return response.status, response.headers, _text(response, answer)

    async def get(self, address: str, *, key: bool) -> tuple[int, Any, bytes]:
        """Fetches an address, with the key or without; returns status, headers and body. Raises `Unreached`."""
        from yarl import URL

        own = {name: value for name, value in self._headers.items() if name.lower() != "content-type"}
        bare = {"accept-encoding": "identity"}
        response, answer = await self._sent("GET", URL(address, encoded=True), None, own if key else bare)
        return response.status, response.headers, answer

    async def _sent(self, method: str, url: Any, data: Any, headers: Mapping[str, str]) -> tuple[Any, bytes]:
        proxy = None if self._direct else self._find_proxy(url.scheme, url.host, url.port)
        try:
            session = self._open_session(url)
            sent = session.request(method, url, data=data, headers=headers, proxy=proxy, allow_redirects=False)
            async with sent as response:
                return response, await whole_body(response.headers, response.content.iter_any(), self._longest)
        except Exception as error:
            raise Unreached from error

    @property
    def is_closed(self) -> bool:
        """True if no connection is open."""
        return self._session is None or bool(self._session.closed)

    async def close(self) -> None:
        """Closes its connections."""
        if self._session is not None:
            await self._session.close()


def _as_query(query: Mapping[str, Any]) -> str:
    return urlencode({name: said if isinstance(said, str) else json.dumps(said) for name, said in query.items()})


def _text(response: Any, answer: bytes) -> str:
    try:
        return answer.decode(response.charset or "utf-8", "replace")
    except LookupError:  # an unknown encoding
        return answer.decode("utf-8", "replace")


def certificates() -> ssl.SSLContext:
    """Returns the trusted certificates: the system's, or `SSL_CERT_FILE` and `SSL_CERT_DIR`; else also certifi's."""
    context = ssl.create_default_context()
    if not any(os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR")):
        with contextlib.suppress(ImportError):
            import certifi

            context.load_verify_locations(certifi.where())
    return context


def find_proxy(scheme: str, host: str, port: int | None = None) -> str | None:
    """Returns the environment's proxy for a server (`HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`, ...), or None.

    Raises `LoadError` for one of a kind that is not spoken (SOCKS).
    """
    named = getproxies()
    proxy = named.get(scheme) or named.get("all")
    if not proxy or needs_no_proxy(host, port, named.get("no", "")) or proxy_bypass(host):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    kind = proxy.partition("://")[0].lower()
    if kind not in ("http", "https"):
        raise LoadError(
            f"the environment names a proxy for {host} that speaks {kind}, which is not supported: give an HTTP proxy "
            f"in {scheme.upper()}_PROXY, or name {host} in NO_PROXY",
            final=True,
        )
    return proxy


def needs_no_proxy(host: str, port: int | None, exceptions: str) -> bool:
    """True if `NO_PROXY` names a server, in any of its usual forms: `*`, `host`, `.domain`, `*.domain`, `host:port`, an
    address, `[::1]`, or a network such as `10.0.0.0/8`."""
    host = host.lower().strip("[]").rstrip(".")
    for entry in exceptions.lower().split(","):
        name, _, number = entry.strip().rpartition(":")
        if not (name and number.isdigit() and ("]" in name or ":" not in name)):
            name, number = entry.strip(), ""
        name = name.strip("[]")
        if number and int(number) != port:
            continue
        with contextlib.suppress(ValueError):
            if ipaddress.ip_address(host) in ipaddress.ip_network(name, strict=False):
                return True
        bare = name.removeprefix("*").lstrip(".").rstrip(".")
        if name == "*" or (bare and (host == bare or host.endswith(f".{bare}"))):
            return True
    return False


async def whole_body(headers: Mapping[str, str], pieces: AsyncIterable[bytes], longest: int) -> bytes:
    """Returns a response's body from its `pieces` as they arrive, unpacked. Raises `Unacceptable`."""
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", *UNPACKED):
        raise Unacceptable(f"is compressed (`{encoding[:40]}`), although uncompressed was requested")
    unpack = zlib.decompressobj(UNPACKED[encoding]) if encoding in UNPACKED else None
    body, came = bytearray(), 0
    async for piece in pieces:
        came += len(piece)
        try:
            body += piece if unpack is None else unpack.decompress(piece, longest + 1 - len(body))
        except zlib.error as error:
            raise Unacceptable(f"claims to be compressed ({encoding}) and is not ({error})") from None
        if max(came, len(body)) > longest:
            raise Unacceptable(f"is longer than {longest / 2**20:g} MiB")
    if unpack is not None and not unpack.eof:
        raise ConnectionError("the compressed answer was cut off")
    return bytes(body)


def join_url(base_url: str, path: str, query: str = "", *, above: bool = False) -> str:
    """Returns the address of a path below a server's, whose own query (`?api-version=...`) stays; `above`: not below
    its `/v1`."""
    base, _, own = base_url.partition("?")
    base = base.rstrip("/").removesuffix("/v1") if above else base.rstrip("/")
    asked = "&".join(filter(None, (own, query)))
    return base + path + (f"?{asked}" if asked else "")


class Throttle:
    """Limits the number of concurrent requests: halved by a 429, grown by one for each round of answers."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.width = float(most)
        """The present limit; its whole part counts."""
        self._under_way = 0
        self._closed_until = 0.0
        self._narrowed = -math.inf
        self._changed: asyncio.Condition | None = None  # belongs to the loop that uses it first

    async def __aenter__(self) -> float:
        """Waits for a turn; returns its time (seconds, monotonic)."""
        if self._changed is None:
            self._changed = asyncio.Condition()
        while True:
            if (pause := self._closed_until - time.monotonic()) > 0:
                await asyncio.sleep(pause)
            async with self._changed:
                await self._changed.wait_for(lambda: self._under_way < int(self.width))
                if self._closed_until <= time.monotonic():
                    self._under_way += 1
                    return time.monotonic()

    async def __aexit__(self, *exception: object) -> None:
        assert self._changed is not None
        async with self._changed:
            self._under_way -= 1
            self._changed.notify_all()

    def slower(self, sent: float, wait: float) -> None:
        """Reacts to a 429 for a request sent at `sent`: half as many requests, and none for `wait` seconds."""
        now = time.monotonic()
        self._closed_until = max(self._closed_until, now + wait)
        if sent >= self._narrowed:  # requests under way together are refused together, and count once
            self._narrowed = now
            self.width = max(1.0, self.width // 2)

    def faster(self) -> None:
        """Reacts to an answer of the server."""
        self.width = min(float(self.most), self.width + 1.0 / self.width)
