"""Services in this process, over real HTTP on loopback."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from edit_eval.plugins.serve.doors import choose_doors
from edit_eval.plugins.serve.service import Service
from plugins.serve.service_at_work import Serve, Served, configured, encoded

if TYPE_CHECKING:
    from edit_eval.plugins.web.server import WebServer


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Starts services, and ends them with the module's last test."""
    # Imported by who runs these tests, not by all who collect them.
    from edit_eval.plugins.serve.application import make_app
    from edit_eval.plugins.serve.server import configuration_for
    from edit_eval.plugins.web.connections import fast_connection
    from edit_eval.plugins.web.server import WebServer, listen

    running: list[tuple[Service, WebServer, list[threading.Thread]]] = []

    def start(
        *,
        doors: tuple[str, ...] = (),
        batch_size: int = 4,
        devices: int = 1,
        ledger: dict[str, Any] | None = None,
        judge: str = "",
        two: bool = False,
        **app: Any,
    ) -> Served:
        folder = tmp_path_factory.mktemp("service")
        app.setdefault("window", 0)  # no canaries among what tests count
        made = configured(folder, batch_size, devices, second=two or "second" in (ledger or {}))
        made = configuration_for(judge) if judge else made
        service = Service(made, folder / "ledger", tell=print, **(ledger or {}))
        socket = listen("127.0.0.1", 0)
        served = make_app(service, doors=choose_doors(doors), **app)
        server = WebServer(served, connection=fast_connection(), grace=1)
        threads = [
            threading.Thread(target=server.run, kwargs={"sockets": [socket]}, daemon=True),
            threading.Thread(target=service.run, daemon=True),
        ]
        for thread in threads:
            thread.start()
        running.append((service, server, threads))
        assert service.ready.wait(120)
        return Served(service, socket.getsockname()[1])

    yield start
    for service, server, threads in running:
        service.close()
        threads[1].join(60)
        server.should_exit = True
        threads[0].join(60)


@pytest.fixture(scope="module")
def served(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> Served:
    """One without a token, with all doors."""
    root = tmp_path_factory.mktemp("root")
    (root / "edit.jpg").write_bytes(encoded(255))
    os.mkfifo(root / "pipe")
    return serve(doors=("flow_grpo", "edit_r1", "editscore", "verl_omni", "unirl", "flow_factory"), root=root)
