"""The way to a server: no redirect is followed, and no answer is longer than it may be.

A redirect would send pictures and prompts where nobody meant them to go, or come back as a bare GET's answer that was
taken for a score. An answer's bytes are counted as they come and as they unfold, so that neither an endless body nor a
small one that unfolds into gigabytes takes more memory than the bound.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

LONGEST = 8 * 2**20
"""Bytes that an answer may have, unpacked; a judge's longest takes a thousandth of that."""

UNPACKED = {"gzip": 47, "x-gzip": 47, "deflate": 47}
"""Encodings that are read though none was asked for, and `wbits` of zlib for them: 47 is either header."""


class Unacceptable(Exception):
    """An answer that is not taken; the text says why, with the answer as its subject left out."""


class Unreached(Exception):
    """No whole answer came; its cause says why."""


def http_client(longest: int = LONGEST, *, direct: bool = False) -> Any:
    """A client for `openai.AsyncOpenAI(http_client=...)`: proxies and certificates by the environment, as its own.

    `direct`: not even where the environment says so does a proxy come between.
    """
    import openai

    class Client(openai.DefaultAsyncHttpxClient):
        async def answered(self, request: Any, **options: Any) -> tuple[Any, bytes]:
            """The response, whose body is read here and not in it."""
            response = await super().send(request, **{**options, "stream": True, "follow_redirects": False})
            try:
                return response, await whole_body(response, longest)
            finally:
                await response.aclose()

        async def send(self, request: Any, **options: Any) -> Any:
            response, body = await self.answered(request, **options)
            told = ("content-encoding", "content-length", "transfer-encoding")  # of the body as it came
            headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in told]
            return type(response)(response.status_code, headers=headers, content=body, request=request)

    return Client(headers={"Accept-Encoding": "identity"}, trust_env=not direct)


class Posting:
    """Posts JSON by an `http_client`, with the headers and the address of an `openai.AsyncOpenAI`.

    What that library does beside it (options as models, headers about itself, answers made objects) takes as long as
    all else of a request, and a judge wants nothing of it.
    """

    def __init__(self, http: Any, openai: Any) -> None:
        self._http, self._openai = http, openai
        blank = http.build_request("POST", openai.base_url)
        self._request = type(blank)
        own = {name.lower(): value for name, value in {**openai.default_headers, **openai.auth_headers}.items()}
        ours = {name: value for name, value in own.items() if isinstance(value, str) and not name.startswith("x-stai")}
        headers = {**dict(blank.headers), **ours}
        for name in ("host", "content-length"):
            headers.pop(name, None)
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        self._url = type(http.base_url)
        self._known: dict[tuple[str, bool], Any] = {}

    def _address(self, path: str, above: bool, query: Mapping[str, Any] | None) -> Any:
        if not query and (known := self._known.get((path, above))) is not None:
            return known
        base = str(self._openai.base_url).rstrip("/")
        base = base.removesuffix("/v1") if above else base
        asked = {**self._openai.default_query, **(query or {})}
        url = self._url(base + path + (f"?{self._openai.qs.stringify(asked)}" if asked else ""))
        if not query:
            self._known[path, above] = url
        return url

    async def __call__(
        self, path: str, body: object, *, above: bool = False, query: Mapping[str, Any] | None = None
    ) -> tuple[int, Any, str]:
        """Status, headers and text of what a path answers; `above`: of one that is not below the address's `/v1`.

        Raises `Unreached` where there is no whole answer.
        """
        import pydantic_core

        url = self._address(path, above, query)
        content = pydantic_core.to_json(body)  # a megabyte of pictures in half the time
        request = self._request("POST", url, headers=self._headers, content=content)
        try:
            response, answer = await self._http.answered(request)
        except Exception as error:
            raise Unreached from error
        return response.status_code, response.headers, answer.decode(response.charset_encoding or "utf-8", "replace")


async def whole_body(response: Any, longest: int) -> bytes:
    """The body of a response that was not read yet, unpacked. Raises `Unacceptable`."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", *UNPACKED):
        raise Unacceptable(f"is compressed (`{encoding[:40]}`), although uncompressed was requested")
    unpack = zlib.decompressobj(UNPACKED[encoding]) if encoding in UNPACKED else None
    body, came = bytearray(), 0
    async for piece in response.aiter_raw():
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
