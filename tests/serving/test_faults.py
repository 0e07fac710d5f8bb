"""What happens to a service: it is killed, begins anew, is asked to end; its port is taken; its clients are slow."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path

import pytest

import service_process
from edit_eval.errors import ExitCode
from edit_eval.run import Run
from service_at_work import Serve, configured, pair
from service_process import ready, until

STARTED: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def none_is_left() -> Iterator[None]:
    """Every process is ended, and its pipe closed."""
    yield
    while STARTED:
        service_process.end(STARTED.pop())


def start(folder: Path, port: int, *flags: str) -> subprocess.Popen[str]:
    STARTED.append(service_process.start(folder, port, *flags))
    return STARTED[-1]


def test_a_service_that_is_killed_begins_anew_on_its_ledger_and_one_that_is_asked_ends_in_order(tmp_path: Path) -> None:
    configured(tmp_path, batch_size=2)
    first = ready(start(tmp_path, 0))
    port = first.served.port
    assert [one["status"] for one in first.served.score(pair(250, id="a"), pair(10, id="b"))] == ["ok", "ok"]

    with socket.create_connection(("127.0.0.1", port)) as endless:
        endless.sendall(b"POST /v1/score HTTP/1.1\r\nX: ")
        with contextlib.suppress(OSError):  # it has been refused under way
            for _ in range(64):
                endless.sendall(b"a" * 2**16)
        with contextlib.suppress(ConnectionError):
            assert endless.recv(12) in (b"HTTP/1.1 400", b"")

    other = start(tmp_path, port)  # a second one on this port
    assert other.wait(120) == 2
    assert other.stderr is not None
    (line,) = other.stderr.read().splitlines()
    assert str(port) in line

    with ThreadPoolExecutor(4) as clients:
        lost = clients.submit(first.served.score, *(pair(n, "slow 60", id=f"lost {n}") for n in range(4)))
        until(lambda: len(Run(tmp_path / "ledger" / "0001").results.samples) == 6)
        os.kill(first.process.pid, signal.SIGKILL)
        first.process.wait(60)
        with pytest.raises((OSError, HTTPException)):
            lost.result()

        second = ready(start(tmp_path, port, "--grace", "60"))
        assert second.served.score(pair(250, id="a"))[0]["status"] == "ok"
        slow = clients.submit(second.served.score, *(pair(n, "slow 0.3") for n in range(5)))
        until(lambda: second.waiting() == 5)
        second.process.terminate()
        assert [one["status"] for one in slow.result()] == ["ok"] * 5
    assert second.process.wait(60) == 0
    with pytest.raises(OSError, match="refused"):
        second.served.get("/health")

    before, after = (Run(tmp_path / "ledger" / name).results for name in ("0001", "0002"))
    assert {one.sample_id: one.status.value for one in before.judgements} == {
        **dict.fromkeys("ab", "ok"),
        **{f"lost {n}": "pending" for n in range(4)},
    }
    assert {one.status.value for one in after.judgements} == {"ok"}
    assert len(after.judgements) == 6


LOADED_ONCE = """
import os
from pathlib import Path
class LoadedOnce:
    def __init__(self, parameters): pass
    def load(self, devices):
        if Path("loaded").exists():
            os._exit(0)
        Path("loaded").touch()
    def judge(self, requests):
        os._exit(1)
"""


def test_a_service_whose_judge_cannot_be_loaded_any_more_says_so_and_ends(tmp_path: Path) -> None:
    configured(tmp_path, second=True)
    written = json.loads((tmp_path / "judge.yaml").read_text())
    (tmp_path / "once.py").write_text(LOADED_ONCE.replace('"loaded"', repr(str(tmp_path / "loaded"))))
    written["judges"]["even"]["class_path"] = f"{tmp_path}/once.py:LoadedOnce"
    (tmp_path / "judge.yaml").write_text(json.dumps(written))
    one = ready(start(tmp_path, 0))
    assert one.served.post("/v1/score", json.dumps({"pairs": [pair(1)]}).encode()).status == 503
    assert one.process.wait(100) == ExitCode.STOPPED
    assert one.process.stderr is not None
    assert "judge even" in one.process.stderr.read().splitlines()[-1]


def test_a_grace_that_is_over_ends_the_service_though_a_judge_does_not(tmp_path: Path) -> None:
    configured(tmp_path, batch_size=1)
    one = ready(start(tmp_path, 0, "--grace", "0"))
    with ThreadPoolExecutor(1) as clients:
        stuck = clients.submit(one.served.post, "/v1/score", json.dumps({"pairs": [pair(1, "slow 600")]}).encode())
        until(lambda: one.waiting() == 1)
        one.process.terminate()
        one.process.wait(100)
        try:
            assert stuck.result().status == 503
        except (OSError, HTTPException):
            pass  # the connection may end before the answer


def test_a_client_that_sends_too_slowly_is_given_up(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    served = serve()
    monkeypatch.setattr("edit_eval.web.bodies.BODY_SECONDS", 0.2)
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as slow:
        slow.sendall(b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        assert slow.recv(100).startswith(b"HTTP/1.1 408 ")
    figures = served.get("/metrics").body.decode()
    assert 'edit_eval_requests_total{door="native",outcome="refused"} 1.0' in figures


def test_what_is_announced_takes_no_room(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what has come takes room; and of those that would wait for room, who has been read longest goes on."""
    monkeypatch.setattr("edit_eval.serving.application.MOST_BYTES", 1)
    served = serve()
    with contextlib.ExitStack() as held:
        for _ in range(3):
            one = held.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=60))
            one.sendall(b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500000000\r\n\r\n")
        assert served.score(pair(255))[0]["status"] == "ok"
