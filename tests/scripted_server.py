"""A server for tests: it answers on loopback, and misbehaves exactly as it is told.

Scripted replies come first, one a request, in order; then `answer` answers. `/health` and `/v1/models` are always well,
as those of a real server are whose engine has died. What it is asked and what it says is its subclass's: `JudgeServer`,
`ImageServer`. Standard library only.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Generic, Protocol, TypeVar

MANNERS = ("whole", "half", "nothing", "hang", "hang_after_headers", "drip")


@dataclass(frozen=True)
class Reply:
    """What the server does with one request."""

    text: str = "Score: 5.000"
    """Of a chat completion."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """Sent instead of what the server would say; its type is JSON unless `headers` say otherwise."""
    manner: str = "whole"
    """`whole`; `half` of the bytes, then the end; `nothing`, the connection is closed; `hang`, for ever; the same
    after the headers (`hang_after_headers`); `drip`, a byte every `seconds_a_byte`."""
    seconds: float = 0.0
    """How long the server thinks first, in seconds."""
    seconds_a_byte: float = 1.0
    finish_reason: str = "stop"
    """Of a chat completion."""

    def __post_init__(self) -> None:
        if self.manner not in MANNERS:
            raise ValueError(f"no such manner: {self.manner!r}; there are {', '.join(MANNERS)}")

    @classmethod
    def json(cls, document: object, status: int = 200) -> Reply:
        """A document."""
        return cls(status=status, body=json.dumps(document).encode())

    @classmethod
    def error(
        cls,
        status: int,
        message: str = "on purpose",
        retry_after: float | str | None = None,
        code: str | None = None,
        **more: object,
    ) -> Reply:
        """An error as OpenAI-compatible servers word it; `retry_after` in seconds, or a date."""
        body = json.dumps({"error": {"message": message, "type": "server_error", "code": code, **more}}).encode()
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        return cls(status=status, headers=headers, body=body)

    @classmethod
    def html(cls, status: int = 200, text: str = "<html><body><h1>Welcome to the proxy</h1></body></html>") -> Reply:
        """The page of a proxy that stands in front of a server."""
        return cls(status=status, headers={"Content-Type": "text/html"}, body=text.encode())


class Request(Protocol):
    """What is asked, as the server got it."""

    @property
    def at(self) -> float:
        """Seconds, monotonic."""

    @property
    def is_canary(self) -> bool:
        """Whether it is only a sign of life that is asked for."""


A = TypeVar("A", bound=Request)
S = TypeVar("S", bound="ScriptedServer[Any]")


class ScriptedServer(Generic[A]):
    """The server, in threads of this process; `close` (or leaving its `with` block) ends it at once."""

    route: ClassVar[str]
    """The path of what it is asked."""

    def __init__(
        self,
        answer: str | Reply | Callable[[A], str | Reply],
        script: Iterable[Reply] = (),
        *,
        port: int = 0,
        models: Iterable[str] = ("model",),
    ) -> None:
        """Listens at once; port 0 is any free one."""
        self.answer = answer
        """What every request gets for which nothing is scripted: a text, a `Reply`, or a function that makes either of
        what was asked."""
        self.script: deque[Reply] = deque(script)
        """What happens to the next requests, before `answer` has its turn. Canaries are not among them."""
        self.canary: str | Reply | Callable[[A], str | Reply] = "ok"
        """What a canary gets."""
        self.models = tuple(models)
        """The names that it lists."""
        self.facts: dict[str, Any] = {}
        """What it says of each of them, beside its name and the time of the request."""
        self.files: dict[str, bytes] = {}
        """What it has at other paths (`/files/1.png`), for whoever asks."""
        self.paths: dict[str, Callable[[Any], Reply]] = {}
        """What it does at other paths with a document that is posted there. None of it counts as asked."""
        self.fetched: list[tuple[str, Mapping[str, str]]] = []
        """Every path of a file that was asked for, with the headers, names in lower case."""
        self.asked: list[A] = []
        """Every request so far, canaries included, in the order of their arrival."""
        self.most_at_once = 0
        """The largest number of requests, canaries apart, that were under way at the same time."""
        self.under_way = 0
        """The requests, canaries apart, that are under way now."""
        self._lock = threading.Lock()
        self._closing = threading.Event()
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = _Listener(("127.0.0.1", port), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def read(self, data: bytes, headers: Mapping[str, str]) -> A:
        """What is asked; names of headers are in lower case."""
        raise NotImplementedError

    def said(self, reply: Reply, asked: A) -> bytes:
        """The body of a reply that has none of its own."""
        raise NotImplementedError

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        return int(self._server.server_address[1])

    @property
    def base_url(self) -> str:
        """What a client is given."""
        return f"http://127.0.0.1:{self.port}/v1"

    def close(self) -> None:
        """Ends the server and whatever hangs in it."""
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # -- called by the handlers' threads --

    def reply_to(self, asked: A) -> Reply:
        """What becomes of a request."""
        with self._lock:
            self.asked.append(asked)
            chosen = self.canary if asked.is_canary else self.script.popleft() if self.script else self.answer
        if not isinstance(chosen, (str, Reply)):
            chosen = chosen(asked)
        return chosen if isinstance(chosen, Reply) else Reply(str(chosen))

    def count(self, change: int) -> None:
        """A request that is no canary has come or gone."""
        with self._lock:
            self.under_way += change
            self.most_at_once = max(self.most_at_once, self.under_way)

    def wait(self, seconds: float) -> bool:
        """Waits, but not longer than the server lives; tells whether it still does."""
        return not self._closing.wait(seconds)


class _Listener(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of clients that hang up, which those of a server that misbehaves do; tells all else."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    owner: ScriptedServer[Any]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a body that follows its head would wait 40 ms
    _counted = 0

    def log_message(self, format: str, *arguments: Any) -> None:
        """Says nothing: a test's output is its own."""

    def do_GET(self) -> None:
        if self.path == "/health":
            self._send(200, b"{}")
        elif self.path == "/v1/models":
            told = {"object": "model", "created": time.time_ns(), **self.owner.facts}
            listed = [{"id": name, **told} for name in self.owner.models]
            self._send(200, json.dumps({"object": "list", "data": listed}).encode())
        elif self.path in self.owner.files:
            self.owner.fetched.append((self.path, self._headers()))
            self._send(200, self.owner.files[self.path])
        else:
            self._send(404, b'{"error": {"message": "no such page"}}')

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path in self.owner.paths:
            self._do(self.owner.paths[self.path](json.loads(data)), None)
            return
        if self.path != self.owner.route:
            self._send(404, b'{"error": {"message": "no such page"}}')
            return
        asked = self.owner.read(data, self._headers())
        self._counted = 0 if asked.is_canary else 1
        self.owner.count(self._counted)
        try:
            self._do(self.owner.reply_to(asked), asked)
        except OSError:
            self.close_connection = True  # the client has given up
        finally:
            self._over()

    def _headers(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items()}

    def _over(self) -> None:
        self.owner.count(-self._counted)
        self._counted = 0

    def _do(self, reply: Reply, asked: Any) -> None:
        self.owner.wait(reply.seconds)
        body = reply.body if reply.body is not None else self.owner.said(reply, asked)
        if reply.manner in ("nothing", "hang"):
            self.close_connection = True
            if reply.manner == "hang":
                self.owner.wait(1e6)
            return
        if reply.manner == "whole":
            self._over()  # first: a client that has its answer may ask the next before this thread goes on
            self._send_head(reply.status, len(body), reply.headers)
            self.wfile.write(body)
            return
        self._send_head(reply.status, len(body), reply.headers)
        self.close_connection = True
        if reply.manner == "half":
            self.wfile.write(body[: len(body) // 2])
        elif reply.manner == "hang_after_headers":
            self.wfile.flush()
            self.owner.wait(1e6)
        else:
            for byte in body:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                if not self.owner.wait(reply.seconds_a_byte):
                    return

    def _send(self, status: int, body: bytes) -> None:
        self._send_head(status, len(body), {})
        self.wfile.write(body)

    def _send_head(self, status: int, length: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(length), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
