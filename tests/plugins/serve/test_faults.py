"""What happens to a service: it is killed, begins anew, is asked to end; its port is taken; its clients are slow."""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest
from PIL import Image

from edit_eval.errors import ConfigurationError, ExitCode, RunDirectoryError
from edit_eval.plugins.serve.ledger import name_of
from edit_eval.plugins.serve.server import serve
from edit_eval.plugins.serve.service import Service
from edit_eval.plugins.serve.submissions import Submission
from edit_eval.plugins.web.connections import MOST_PIPELINED, IdleTimeout
from edit_eval.reporting.language import translate
from edit_eval.run import Run
from plugins.serve import service_process
from plugins.serve.service_at_work import Serve, Served, configured, pair, text
from plugins.serve.service_process import ready, until

STARTED: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def none_is_left() -> Iterator[None]:
    """Every process is ended, and its pipe closed."""
    yield
    while STARTED:
        service_process.end(STARTED.pop())


def start(folder: Path, port: int, *flags: str, limits: Mapping[int, int] | None = None) -> subprocess.Popen[str]:
    STARTED.append(service_process.start(folder, port, *flags, limits=limits))
    return STARTED[-1]


def test_a_service_that_is_killed_begins_anew_on_its_ledger_and_one_that_is_asked_ends_in_order(tmp_path: Path) -> None:
    configured(tmp_path, batch_size=2)
    first = ready(start(tmp_path, 0))
    port = first.served.port
    assert [answer["status"] for answer in first.served.score(pair(250, id="a"), pair(10, id="b"))] == ["ok", "ok"]

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
        assert [answer["status"] for answer in slow.result()] == ["ok"] * 5
    assert second.process.wait(60) == 0
    with pytest.raises(OSError, match="refused"):
        second.served.get("/health")

    before, after = (Run(tmp_path / "ledger" / name).results for name in ("0001", "0002"))
    assert {judgement.sample_id: judgement.status.value for judgement in before.judgements} == {
        **{name_of(n, name): "ok" for n, name in enumerate("ab")},
        **{name_of(n + 2, f"lost {n}"): "pending" for n in range(4)},
    }
    assert {judgement.status.value for judgement in after.judgements} == {"ok"}
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


@pytest.mark.check
def test_a_service_whose_judge_cannot_be_loaded_any_more_says_so_and_ends(tmp_path: Path) -> None:
    configured(tmp_path, second=True)
    written = json.loads((tmp_path / "judge.yaml").read_text())
    (tmp_path / "once.py").write_text(LOADED_ONCE.replace('"loaded"', repr(str(tmp_path / "loaded"))))
    written["judges"]["even"]["class_path"] = f"{tmp_path}/once.py:LoadedOnce"
    (tmp_path / "judge.yaml").write_text(json.dumps(written))
    service = ready(start(tmp_path, 0))
    assert service.served.post("/v1/score", json.dumps({"pairs": [pair(1)]}).encode()).status == 503
    assert service.process.wait(100) == ExitCode.STOPPED
    assert service.process.stderr is not None
    assert "judge even" in service.process.stderr.read().splitlines()[-1]


@pytest.mark.check
def test_a_grace_that_is_over_ends_the_service_though_a_judge_does_not(tmp_path: Path) -> None:
    configured(tmp_path, batch_size=1)
    service = ready(start(tmp_path, 0, "--grace", "0"))
    with ThreadPoolExecutor(1) as clients:
        stuck = clients.submit(service.served.post, "/v1/score", json.dumps({"pairs": [pair(1, "slow 600")]}).encode())
        until(lambda: service.waiting() == 1)
        service.process.terminate()
        service.process.wait(100)
        try:
            assert stuck.result().status == 503
        except (OSError, HTTPException):
            pass  # the connection may end before the answer


def test_a_client_that_sends_too_slowly_is_given_up(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    served = serve()
    monkeypatch.setattr("edit_eval.plugins.web.bodies.BODY_SECONDS", 0.2)
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as slow:
        slow.sendall(b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        assert slow.recv(100).startswith(b"HTTP/1.1 408 ")
    figures = served.get("/metrics").body.decode()
    assert 'edit_eval_requests_total{door="native",outcome="refused"} 1.0' in figures


def test_what_is_announced_takes_no_room(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what has come takes room; and of those that would wait for room, who has been read longest goes on."""
    monkeypatch.setattr("edit_eval.plugins.serve.application.MOST_BYTES", 1)
    served = serve()
    with contextlib.ExitStack() as held:
        for _ in range(3):
            connection = held.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=60))
            connection.sendall(b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500000000\r\n\r\n")
        assert served.score(pair(255))[0]["status"] == "ok"


def test_silent_strangers_keep_nobody_out(tmp_path: Path) -> None:
    """More than there are descriptors for, and none of them has the token: who has it is answered all the same."""
    configured(tmp_path)
    service = ready(start(tmp_path, 0, "--token", "sesame", limits={resource.RLIMIT_NOFILE: 256}), "sesame")
    with contextlib.ExitStack() as held:
        for n in range(300):
            silent = held.enter_context(socket.create_connection(("127.0.0.1", service.served.port), timeout=60))
            with contextlib.suppress(OSError):  # it has made room for another
                silent.sendall(b"GET /health HTTP/1.1\r\n"[: n % 3 * 10])
        body = json.dumps({"pairs": [pair(250)]}).encode()
        for _ in range(3):
            heard = service.served.post("/sesame/v1/score", body)
            assert heard.document["results"][0]["status"] == "ok"
    service.process.terminate()
    assert service.process.wait(60) == 0


def test_a_ledger_that_can_no_longer_be_written_is_no_answer_and_the_end(tmp_path: Path) -> None:
    """Those that wait are told to come again: a service may have been started anew by then."""
    configured(tmp_path, batch_size=1)
    service = ready(start(tmp_path, 0, limits={resource.RLIMIT_FSIZE: 102_400}))
    assert service.served.score(pair(250))[0]["status"] == "ok"
    data = io.BytesIO()
    Image.frombytes("RGB", (300, 300), os.urandom(270_000)).save(data, "PNG")
    body = json.dumps({"pairs": [{**pair(1), "edit": text(data.getvalue())}]}).encode()
    heard = service.served.post("/v1/score", body)
    assert (heard.status, {name.title() for name in heard.headers} >= {"Retry-After"}) == (503, True)
    assert service.process.wait(100) == ExitCode.STOPPED


def test_out_of_descriptors_pairs_wait(serve: Serve) -> None:
    served = serve()
    body = json.dumps({"pairs": [pair(250)]})
    client = HTTPConnection("127.0.0.1", served.port, timeout=120)
    client.request("POST", "/v1/score", body)
    assert client.getresponse().read()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    spare: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 4, hard))
    try:
        with contextlib.suppress(OSError):
            while True:
                spare.append(os.dup(0))
        client.request("POST", "/v1/score", body)
        until(lambda: served.service.n_waiting == 1)
        assert not served.service.ended.wait(0.5)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in spare:
            os.close(descriptor)
    assert json.loads(client.getresponse().read())["results"][0]["status"] == "ok"
    client.close()


def test_a_pair_that_cannot_be_admitted_has_that_as_its_status(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    served = serve()
    add = served.service.ledger.add

    def stumbling(submission: Submission) -> int:
        if submission.id == "strange":
            raise KeyError("MPO")
        return add(submission)

    monkeypatch.setattr(served.service.ledger, "add", stumbling)
    answers = served.score(pair(250, id="a"), pair(250, id="strange"), pair(250, id="b"))
    assert [answer["status"] for answer in answers] == ["ok", "skipped", "ok"]
    assert "MPO" in answers[1]["reason"]
    assert served.score(pair(250))[0]["status"] == "ok"


def test_whoever_hangs_up_or_sends_nonsense_leaves_no_trace(serve: Serve, capfd: pytest.CaptureFixture[str]) -> None:
    served = serve()
    whole = b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500000\r\n\r\n{"
    star = b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for sent in (b"", b"POST /v1/sc", whole[:-5], whole, b"\x16\x03\x01\x02\x00\x01\x00\x01", b"GET\r\n\r\n", star):
        with socket.create_connection(("127.0.0.1", served.port)) as gone:
            gone.sendall(sent)
    until(lambda: 'outcome="gone"' in served.get("/metrics").body.decode())
    assert served.score(pair(250))[0]["status"] == "ok"
    assert capfd.readouterr().err == ""


def test_a_half_sent_head_is_given_up(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edit_eval.plugins.web.connections.WITHIN", 0.2)
    served = serve()
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as half:
        half.sendall(b"POST /v1/score HTTP/1.1\r\nHost: ")
        with contextlib.suppress(ConnectionResetError):
            assert half.recv(1) == b"", "closed, without an answer"


def test_requests_that_wait_behind_another_are_few(served: Served) -> None:
    """So that no connection keeps all others waiting; clients send the next request when they have an answer."""
    request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for count, answered in ((MOST_PIPELINED, MOST_PIPELINED), (2000, MOST_PIPELINED + 1)):
        with socket.create_connection(("127.0.0.1", served.port), timeout=60) as client:
            with contextlib.suppress(ConnectionError):
                client.sendall(request * count + request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            heard = b""
            with contextlib.suppress(ConnectionError):
                while part := client.recv(1 << 16):
                    heard += part
        assert heard.count(b"HTTP/1.1 200 ") in ((count + 1,) if count == answered else range(answered + 1))


def test_who_takes_nothing_of_an_answer_is_given_up(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else whoever never reads would keep a connection for ever, of which there are only so many."""
    given_up, give_up = threading.Event(), IdleTimeout.abort_connection

    def noted(connection: IdleTimeout) -> None:
        if connection._taking is not None:
            given_up.set()
        give_up(connection)

    monkeypatch.setattr("edit_eval.plugins.web.connections.TAKEN_WITHIN", 0.2)
    monkeypatch.setattr(IdleTimeout, "abort_connection", noted)
    served = serve()
    blank = {"source": "", "instruction": " ", "edit": "", "id": "\u4e2d" * 200}
    # Its answer exceeds the system's buffers.
    unread = json.dumps({"pairs": [blank] * 8000}, ensure_ascii=False).encode()
    head = f"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(unread)}\r\n\r\n"
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(60)
        client.connect(("127.0.0.1", served.port))
        client.sendall(head.encode() + unread)
        assert given_up.wait(120)
    assert served.score(pair(255))[0]["status"] == "ok"


def test_a_ledger_that_cannot_be_begun_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunDirectoryError, match=r"file.+: cannot be written \("):
        Service(configured(tmp_path), tmp_path / "file" / "ledger", tell=print)


def test_what_is_known_of_its_judges_is_said_in_the_readers_language(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as error:
        serve(configured(tmp_path), ledger=tmp_path / "ledger", tell=print, examined=True)
    assert "audited" not in translate(error.value.args[0], "zh").replace("edit-eval audit", "")
    assert "not audited; " in str(error.value)


STRANGERS = {
    "another's name": {"Host": "evil.example"},
    "a rebound name": {"Host": "127.0.0.1.evil.example"},
    "a bad name": {"Host": "a b"},
    "an origin": {"Origin": "http://127.0.0.1"},
    "a page elsewhere": {"Sec-Fetch-Site": "cross-site"},
    "a page of this machine": {"Sec-Fetch-Site": "same-site"},
}


@pytest.mark.parametrize("who", STRANGERS)
@pytest.mark.parametrize("path", ["/health", "/v1/identity", "/metrics"])
def test_what_a_browser_may_send_is_not_answered(served: Served, who: str, path: str) -> None:
    heard = served.get(path, STRANGERS[who])
    assert heard.status in (400, 403)
    assert heard.document.keys() == {"error"}
