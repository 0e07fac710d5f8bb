"""The way to a server: no redirect is followed, and no answer is longer than it may be.

A redirect would send pictures and prompts where nobody meant them to go, or come back as a bare GET's answer that was
taken for a score. An answer's bytes are counted as they come and as they unfold, so that neither an endless body nor a
small one that unfolds into gigabytes takes more memory than the bound.
"""

from __future__ import annotations

import zlib
from typing import Any

LONGEST = 8 * 2**20
"""Bytes that an answer may have, unpacked; a judge's longest takes a thousandth of that."""

UNPACKED = {"gzip": 47, "x-gzip": 47, "deflate": 47}
"""Encodings that are read though none was asked for, and `wbits` of zlib for them: 47 is either header."""


class Unacceptable(Exception):
    """An answer that is not taken; the text says why, with the answer as its subject left out."""


def http_client(longest: int = LONGEST, *, direct: bool = False) -> Any:
    """A client for `openai.AsyncOpenAI(http_client=...)`: proxies and certificates by the environment, as its own.

    `direct`: not even where the environment says so does a proxy come between.
    """
    import openai

    class Client(openai.DefaultAsyncHttpxClient):
        async def send(self, request: Any, **options: Any) -> Any:
            response = await super().send(request, **{**options, "stream": True, "follow_redirects": False})
            try:
                body = await whole_body(response, longest)
            finally:
                await response.aclose()
            told = ("content-encoding", "content-length", "transfer-encoding")  # of the body as it came
            headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in told]
            return type(response)(response.status_code, headers=headers, content=body, request=request)

    return Client(headers={"Accept-Encoding": "identity"}, trust_env=not direct)


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
