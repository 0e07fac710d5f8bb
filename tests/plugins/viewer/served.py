"""A viewer in a thread of this process, and requests exactly as they are written."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edit_eval.plugins.viewer.runs import Runs
from edit_eval.plugins.viewer.server import make_app
from edit_eval.plugins.web.server import WebServer


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


class Viewer:
    """One that listens on this machine, on a free port where none is given."""

    def __init__(self, places: list[Path], *, token: str = "", anywhere: bool = False, port: int = 0) -> None:
        self.runs = Runs(places)
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port = self._socket.getsockname()[1]
        self.host = f"127.0.0.1:{self.port}"
        self.address = f"http://{self.host}"
        app = make_app(self.runs, token=token, anywhere=anywhere)
        self._server = WebServer(app, grace=1)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)

    def id_of(self, name: str) -> str:
        """The id of the run of that name."""
        return next(card.id for card in self.runs.cards.values() if card.name == name)

    def ask(self, method: str, path: str, headers: dict[str, str] | None = None, body: bytes = b"") -> Answer:
        """One request, with these headers and no other but the `Host` where none is given."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in {"Host": self.host, **(headers or {})}.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.endheaders(body or None)
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def say(self, raw: bytes) -> int:
        """Sends these bytes as they are; returns the status, 0 where the connection was closed without any."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall(raw)
            with contextlib.suppress(ConnectionError):
                begin = connection.recv(64)
                if begin.startswith(b"HTTP/"):
                    return int(begin.split()[1])
        return 0

    def events(self, run: str, since: str = "") -> Iterator[tuple[str, str]]:
        """(name, data) of what is pushed about a run, without end."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            connection.request("GET", f"/run/{run}/events?since={since}")
            name = ""
            for raw in connection.getresponse():
                line = raw.decode().rstrip("\n")
                if line.startswith("event: "):
                    name = line[7:]
                elif line.startswith("data: "):
                    yield name, line[6:]

    def close(self) -> None:
        """Stops it."""
        self._server.should_exit = True
        self._thread.join(10)
        self._socket.close()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()
