"""An edit model's server for tests: `POST /v1/images/edits` on loopback, which misbehaves exactly as it is told.

    with ImageServer() as server:
        server.script += [Reply.error(429, retry_after=0.2), refused(), picture(drawn((64, 48), 7), "WEBP")]
        ...  # base_url: server.base_url
        assert [asked.fields["seed"] for asked in server.edited] == ["7", "7", "8"]

An edit that nobody has scripted is drawn from its size, its seed and its sources. Standard library and Pillow only.
"""

from __future__ import annotations

import base64
import io
import random
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edit_eval.plugins.endpoints.in_worker.image_endpoint import TINY_INSTRUCTION
from scripted_server import Reply, ScriptedServer

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["AskedEdit", "ImageServer", "Reply", "at", "black", "drawn", "encoded", "finished", "picture", "refused"]


@dataclass(frozen=True)
class AskedEdit:
    """One edit that is wanted, as the server got it."""

    fields: Mapping[str, str]
    """The form's, but for its files."""
    files: tuple[tuple[str, bytes], ...]
    """(name of the field, contents), in their order."""
    headers: Mapping[str, str]
    """Names in lower case."""
    at: float
    """Seconds, monotonic."""

    @property
    def is_canary(self) -> bool:
        """Whether it is a tiny edit: of the probe, or a sign of life."""
        return self.fields["prompt"] == TINY_INSTRUCTION

    @property
    def size(self) -> tuple[int, int]:
        """What was asked for; 64 x 64 where that was left to the server."""
        match = re.fullmatch(r"(\d+)[x*](\d+)", self.fields.get("size", ""))
        return (int(match[1]), int(match[2])) if match else (64, 64)

    @property
    def seed(self) -> int:
        """0 where there is none."""
        return int(self.fields.get("seed", "0"))


class ImageServer(ScriptedServer[AskedEdit]):
    """The server, in threads of this process; `close` (or leaving its `with` block) ends it at once."""

    route = "/v1/images/edits"

    def __init__(
        self,
        answer: Reply | Callable[[AskedEdit], Reply] | None = None,
        script: Iterable[Reply] = (),
        *,
        port: int = 0,
        models: Iterable[str] = ("editor",),
    ) -> None:
        """Listens at once; port 0 is any free one. Without an `answer` each edit is drawn."""
        super().__init__(answer or Reply(), script, port=port, models=models)
        self.canary = Reply()
        self.draw: Callable[[AskedEdit], Image] = lambda asked: drawn(asked.size, asked.seed)
        """What the server makes where it is not told what to say."""

    @property
    def edited(self) -> list[AskedEdit]:
        """The requests that were no canaries."""
        return [asked for asked in self.asked if not asked.is_canary]

    def read(self, data: bytes, headers: Mapping[str, str]) -> AskedEdit:
        """A multipart form."""
        boundary = headers["content-type"].partition("boundary=")[2].strip('"').encode()
        fields: dict[str, str] = {}
        files: list[tuple[str, bytes]] = []
        for part in data.split(b"--" + boundary)[1:-1]:
            head, _, content = part.partition(b"\r\n\r\n")
            name = re.search(rb'; name="([^"]*)"', head)
            assert name is not None
            if b"; filename=" in head:
                files.append((name[1].decode(), content[:-2]))
            else:
                fields[name[1].decode()] = content[:-2].decode()
        return AskedEdit(fields, tuple(files), headers, time.monotonic())

    def said(self, reply: Reply, asked: AskedEdit) -> bytes:
        """The picture that was asked for."""
        return picture(self.draw(asked)).body or b""


def drawn(size: tuple[int, int], seed: int) -> Image:
    """A picture that is another one for each seed."""
    from PIL import Image as Images

    noise = Images.frombytes("RGB", (8, 8), random.Random(seed).randbytes(192))
    return noise.resize(size, Images.Resampling.NEAREST)


def encoded(image: Image, kind: str = "PNG") -> bytes:
    """A file of that kind (`PNG`, `WEBP`, `JPEG`)."""
    file = io.BytesIO()
    image.save(file, kind)
    return file.getvalue()


def picture(image: Image | bytes, kind: str = "PNG", **more: object) -> Reply:
    """A picture in an answer; `image` may be a file already. `more` are further fields of the document."""
    file = image if isinstance(image, bytes) else encoded(image, kind)
    return Reply.json({"created": 0, "data": [{"b64_json": base64.b64encode(file).decode()}], **more})


def at(url: str) -> Reply:
    """The address of a picture."""
    return Reply.json({"created": 0, "data": [{"url": url}]})


def refused(violations: Iterable[str] = ("violence",), message: str = "rejected by the safety system") -> Reply:
    """A refusal as OpenAI words it."""
    return Reply.error(400, message, code="moderation_blocked", safety_violations=list(violations))


def finished(reason: str) -> Reply:
    """Status 200, no picture, and why, as Gemini does it behind a proxy."""
    return Reply.json({"created": 0, "data": [], "candidates": [{"finishReason": reason}]})


def black(size: tuple[int, int] = (64, 64), *, flagged: bool = True) -> Reply:
    """A black picture, flagged or not."""
    from PIL import Image as Images

    return picture(Images.new("RGB", size), has_nsfw_concepts=[flagged])
