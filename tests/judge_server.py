"""A judge's server for tests: it speaks the OpenAI chat protocol on loopback, and misbehaves exactly as it is told.

    with JudgeServer("Score: 7.500") as server:
        server.script += [Reply.error(429, retry_after=0.2), Reply(manner="half")]
        ...  # base_url: server.base_url
        assert server.most_at_once <= 4

Standard library only.
"""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scripted_server import Reply, ScriptedServer

__all__ = ["Asked", "JudgeServer", "Reply"]


@dataclass(frozen=True)
class Asked:
    """One chat request, as the server got it."""

    body: Mapping[str, Any]
    headers: Mapping[str, str]
    """Names in lower case."""
    at: float
    """Seconds, monotonic."""

    @property
    def is_canary(self) -> bool:
        """Whether it is only asked for as a sign of life, or to find out what the server can do."""
        *_, last = self._parts()
        return bool(last.get("text", "").startswith("Answer with one "))

    @property
    def text(self) -> str:
        """All text of all messages."""
        return "\n".join(part["text"] for part in self._parts() if part.get("type") == "text")

    @property
    def images(self) -> list[bytes]:
        """The files of all pictures. Raises `ValueError` for one that is no data URL: nothing is ever fetched."""
        files = []
        for part in self._parts():
            if part.get("type") == "image_url":
                head, comma, data = part["image_url"]["url"].partition(",")
                if not (head.startswith("data:image/") and head.endswith(";base64") and comma):
                    raise ValueError(f"not a data URL: {head[:60]!r}")
                try:
                    files.append(base64.b64decode(data, validate=True))
                except binascii.Error as error:
                    raise ValueError(f"not base64: {error}") from error
        return files

    def _parts(self) -> Iterable[dict[str, Any]]:
        for message in self.body["messages"]:
            content = message["content"]
            yield from [{"type": "text", "text": content}] if isinstance(content, str) else content


Answer = str | Reply | Callable[[Asked], str | Reply]
"""A text, a `Reply`, or a function that makes either of what was asked."""


class JudgeServer(ScriptedServer[Asked]):
    """The server, in threads of this process; `close` (or leaving its `with` block) ends it at once."""

    route = "/v1/chat/completions"

    def __init__(self, answer: Answer = "Score: 5.000", script: Iterable[Reply] = (), *, port: int = 0) -> None:
        """Listens at once; port 0 is any free one."""
        super().__init__(answer, script, port=port, models=["judge"])
        self.usage = (0, 0)
        """Tokens read and written that each answer says it took."""

    @property
    def judged(self) -> list[Asked]:
        """The requests that were no canaries."""
        return [asked for asked in self.asked if not asked.is_canary]

    def read(self, data: bytes, headers: Mapping[str, str]) -> Asked:
        """A chat request."""
        return Asked(json.loads(data), headers, time.monotonic())

    def said(self, reply: Reply, asked: Asked) -> bytes:
        """A chat completion."""
        message = {"role": "assistant", "content": reply.text}
        completion = {
            "id": "chatcmpl-0",
            "object": "chat.completion",
            "created": 0,
            "model": asked.body.get("model", ""),
            "system_fingerprint": "judge-server",
            "choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}],
            "usage": dict(zip(("prompt_tokens", "completion_tokens"), self.usage, strict=True)),
        }
        return json.dumps(completion).encode()
