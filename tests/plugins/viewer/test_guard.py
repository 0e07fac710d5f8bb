"""Hostile requests: each gets a 4xx and nothing else. And what a reader's own browser asks gets its answer."""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from edit_eval.plugins.web import server
from edit_eval.plugins.web.server import is_loopback
from plugins.viewer.served import Viewer

JSON = {"Content-Type": "application/json"}
VOTE = "/run/{run}/votes"
OURS = "{address}"

PATHS = [
    "/../../etc/passwd",
    "/run/../../../etc/passwd",
    "/run/{run}/../../../../etc/passwd",
    "/run/%2e%2e/%2e%2e/etc/passwd",
    "/run/{run}%2f..%2f..%2fetc%2fpasswd",
    "/run/{run}/edit/..%2f..%2fconfig%2f0001.yaml",
    "/run/{run}/edit/../../config/0001.yaml",
    "/run/{run}/source//etc/passwd",
    "/run/{run}/source/%2fetc%2fpasswd",
    "/run/{run}/edit/%00",
    "/run/{run}/edit/..\\..\\config\\0001.yaml",
    "/run/{run}/edit/0000000000000000000000000000000000000000000000000000000000000000",
    "/run/{run}/source/0000000000000000000000000000000000000000000000000000000000000000/small",
    "/run/{run}/logs/worker",
    "/run/{run}/config/0001",
    "/run/000000000000",
    "/run/{run}x",
    "/run/{run}/live.json",
    "/run/{run}/events/more/still",
    "/compare/{run}",
    "/compare/{run}/000000000000",
    "/compare/{run}/..",
    "//evil.example/",
    "/~root/",
    "/docs",
    "/openapi.json",
    "/.git/config",
    "/file:///etc/passwd",
    "/run/{run};jsessionid=1",
    "/http://169.254.169.254/latest",
]

HOSTS = [
    "evil.example",
    "evil.example:{port}",
    "127.0.0.1.evil.example",
    "localhost.evil.example:{port}",
    "169.254.169.254",
    "0.0.0.0:{port}",
    "192.168.0.7:{port}",
    "[2001:db8::1]:{port}",
    "localhost:{port}:80",
    "user@localhost",
    "localhost/..",
]

ORIGINS = [
    "http://evil.example",
    "https://evil.example:{port}",
    "null",
    "http://localhost:1",
    "http://127.0.0.1",
    "http://127.0.0.1:{port}.evil.example",
    "file://",
]

METHODS = ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"]
FRAMED = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}

SELECTIONS = [
    "",
    "?samples=",
    "?samples=../../etc/passwd",
    "?samples=999999",
    "?samples=0-9999999",
    "?samples=3-1",
    "?samples=-1",
    "?samples=0,,1",
    "?samples=1e3",
    "?samples=%D9%A1",  # a digit, but none of ours
    "?samples=0%00",
    "?samples=0&samples=%0a",
    "?places=0",
    "?samples=" + "0," * 2400 + "x",
]

REQUESTS: list[tuple[str, str, dict[str, str], bytes]] = [
    *(("GET", path, {}, b"") for path in PATHS),
    *(("GET", "/", {"Host": host}, b"") for host in HOSTS),
    *(("GET", "/run/{run}", {"Origin": origin}, b"") for origin in ORIGINS),
    *((method, "/run/{run}", {}, b"") for method in METHODS),
    *(("POST", path, {"Origin": OURS, **JSON}, b"{}") for path in ("/", "/events", "/run/{run}/edit", "/compare/a/b")),
    *(("GET", f"/run/{{run}}/selection{query}", {}, b"") for query in SELECTIONS),
    ("GET", "/run/{run}/selection?samples=0", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, b""),
    ("GET", "/run/{run}/selection?samples=0", {"Origin": "http://evil.example"}, b""),
    ("POST", "/run/{run}/selection?samples=0", {"Origin": OURS, **JSON}, b"{}"),
    ("GET", "/", {"Content-Length": "2"}, b"{}"),
    ("GET", "/", {"Transfer-Encoding": "chunked"}, b"0\r\n\r\n"),
    ("GET", "/" + "a" * 5000, {}, b""),
    ("GET", "/?" + "a" * 5000, {}, b""),
    ("GET", "/run/{run}/edit/x", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, b""),
    ("GET", "/run/{run}", {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, b""),
    ("GET", "/run/{run}", FRAMED, b""),
    ("POST", VOTE, JSON, b'{"rater": "a"}'),
    ("POST", VOTE, {"Origin": "http://evil.example", **JSON}, b'{"rater": "a"}'),
    ("POST", VOTE, {"Origin": OURS, "Content-Type": "text/plain"}, b'{"rater": "a"}'),
    ("POST", VOTE, {"Origin": OURS, "Content-Type": "application/x-www-form-urlencoded"}, b"rater=a"),
    ("POST", VOTE, {"Origin": OURS, **JSON, "Content-Length": "99999"}, b""),
    ("POST", VOTE, {"Origin": OURS, **JSON, "Content-Length": "-1"}, b""),
    ("POST", VOTE, {"Origin": OURS, **JSON, "Transfer-Encoding": "chunked"}, b"5\r\nhello\r\n0\r\n\r\n"),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(REQUESTS)))
def test_a_hostile_request_is_refused(place: int, viewer: Viewer) -> None:
    method, path, headers, body = REQUESTS[place]
    run = viewer.id_of("run")

    def filled(text: str) -> str:
        return text.replace("{run}", run).replace("{port}", str(viewer.port)).replace(OURS, viewer.address)

    own = {name: filled(value) for name, value in headers.items()}
    if body and not {"Content-Length", "Transfer-Encoding"} & own.keys():
        own["Content-Length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in {"Host": viewer.host, **own}.items())
    status = viewer.say(f"{method} {filled(path)} HTTP/1.1\r\n{head}\r\n".encode() + body)
    assert 400 <= status < 500, (method, path, headers)


def test_there_are_sixty_of_them() -> None:
    assert len(REQUESTS) >= 60


RAW = {
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
    "no HTTP": b"GET\r\n\r\n",
    "binary": bytes(range(256)) * 4 + b"\r\n\r\n",
    "an address of another": b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "a folded header": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\r\n\x00b\r\n\r\n",
    "an endless header": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 200_000 + b"\r\n\r\n",
    "an upgrade": b"GET /events HTTP/1.1\r\nHost: evil.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
}


@pytest.mark.parametrize("name", RAW)
def test_what_is_hardly_a_request_is_refused(name: str, viewer: Viewer) -> None:
    assert 400 <= viewer.say(RAW[name]) < 500


def test_refusals_name_nothing_of_a_run(viewer: Viewer) -> None:
    answer = viewer.ask("GET", "/run/000000000000")
    assert (answer.status, answer.body) == (404, b"there is no such run\n")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9000", "127.0.0.1:1", "[::1]:7860", "127.8.9.1"])
def test_this_machine_by_any_of_its_names_and_ports(host: str, viewer: Viewer) -> None:
    """A port that is forwarded has another number at the other end."""
    assert viewer.ask("GET", "/", {"Host": host, "Origin": f"http://{host}"}).status == 200


def test_a_link_on_another_site_may_lead_here(viewer: Viewer) -> None:
    visit = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert viewer.ask("GET", "/", visit).status == 200


TOKEN = "a-long-Token_1"
WRONG = [
    {},
    {"Authorization": "Bearer a-long-Token_2"},
    {"Authorization": f"Basic {TOKEN}"},
    {"Authorization": "Bearer"},
    {"Cookie": "edit-eval-token="},
    {"Cookie": f"edit-eval-token={TOKEN}x"},
    {"Cookie": f"other={TOKEN}"},
    {"Cookie": "edit-eval-token=\xe4"},
]


@pytest.fixture(scope="module")
def guarded(finished: Path) -> Viewer:
    with Viewer([finished], token=TOKEN, anywhere=True) as started:
        yield started


@pytest.mark.parametrize("headers", WRONG)
@pytest.mark.parametrize("path", ["/", "/events", "/run/{run}", "/run/{run}/events"])
def test_without_the_token_nothing_is_answered(path: str, headers: dict[str, str], guarded: Viewer) -> None:
    path = path.replace("{run}", guarded.id_of("run"))
    assert guarded.ask("GET", path, headers).status == 401
    assert guarded.ask("GET", f"{path}?token=wrong", headers).status == 401


def test_the_token_in_an_address_becomes_a_cookie(guarded: Viewer) -> None:
    answer = guarded.ask("GET", f"/run/x?token={TOKEN}&since=1")
    assert (answer.status, answer.headers["location"]) == (303, "/run/x?since=1")
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=Strict" in answer.headers["set-cookie"]
    cookie = {"Cookie": answer.headers["set-cookie"].partition(";")[0], "Host": "gpu-7.example:80"}
    assert guarded.ask("GET", "/", cookie).status == 200
    assert guarded.ask("GET", "/", {"Authorization": f"Bearer {TOKEN}"}).status == 200
    assert guarded.ask("GET", "/", {**cookie, "Origin": "http://evil.example"}).status == 403


def test_the_token_does_not_lead_elsewhere(guarded: Viewer) -> None:
    answer = guarded.ask("GET", f"//evil.example/?token={TOKEN}")
    assert answer.status in (303, 404)
    assert not answer.headers.get("location", "/").startswith("//")


def test_loopback_is_known() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "::1", "[::1]", "localhost", "127.1.2.3")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "example.org", "")))


# -- what lies outside of a run --


@pytest.mark.parametrize("what", ["the picture", "its folder", "all pictures", "a pipe"])
def test_no_link_is_followed_out_of_a_run(what: str, folder: Path, tmp_path: Path) -> None:
    """Also where it appears after the run has been read."""
    secret = tmp_path / "secret"
    secret.mkdir()
    run = folder / "first"
    with Viewer([folder]) as viewer:
        opened = viewer.runs.open(viewer.id_of("first"))
        edit = opened.following.table.edits[0]
        address = f"/run/{viewer.id_of('first')}/edit/{edit.key}"
        assert viewer.ask("GET", address).status == 200
        place = run / edit.image
        target = {"the picture": place, "its folder": place.parent, "all pictures": run / "images", "a pipe": place}[
            what
        ]
        data = place.read_bytes()
        target.rename(secret / "moved")
        if what == "a pipe":
            os.mkfifo(target)
        else:
            target.symlink_to(secret / "moved")
        assert (secret / "moved").exists()
        assert data
        assert viewer.ask("GET", address).status == 404
        assert viewer.ask("GET", f"{address}/small").status == 404


def test_a_run_that_leads_elsewhere_is_not_shown(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (folder / "first" / "logs").exists() and (folder / "first" / "logs").rename(tmp_path / "logs")
    (folder / "first" / "logs").symlink_to(tmp_path / "elsewhere")
    with Viewer([folder]) as viewer:
        answer = viewer.ask("GET", f"/run/{viewer.id_of('first')}")
        assert answer.status == 200
        assert b"must contain only its own files and folders" in answer.body
        assert b"Move the cup" not in answer.body


@pytest.mark.parametrize("image", ["/etc/passwd", "../../secret.png", "images/../../secret.png", "config/0001.yaml"])
def test_a_record_cannot_name_a_file_elsewhere(image: str, folder: Path) -> None:
    from edit_eval.store.journal import seal

    (folder / "secret.png").write_bytes(b"\x89PNG secret")
    journal = folder / "first" / "edits" / "0001.jsonl"
    lines = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
    key = lines[0]["key"]
    lines[0] |= {"image": image, "file_bytes": 11}
    for line in lines:
        line.pop("crc")
    journal.write_bytes(b"".join(map(seal, lines)))
    with Viewer([folder]) as viewer:
        assert viewer.ask("GET", f"/run/{viewer.id_of('first')}/edit/{key}").status == 404


def test_a_source_is_one_that_the_cache_knows(folder: Path, cache: Path) -> None:
    """The path in a record is a stranger's word: only the digest counts, and the file must have it."""
    with Viewer([folder]) as viewer:
        run = viewer.id_of("first")
        sample = viewer.runs.open(run).following.table.samples[0]
        address = f"/run/{run}/source/{sample.source_digest}"
        assert viewer.ask("GET", address).status == 200
        # As many as there are benchmarks of this room's own that have it.
        known = {
            link: os.readlink(link)
            for link in (cache / "edit-eval/sources/elsewhere").glob(f"{sample.source_digest}.*")
        }
        for link in known:
            link.unlink()
        try:
            assert viewer.ask("GET", address).status == 404
        finally:
            for link, place in known.items():
                link.symlink_to(place)


def test_a_name_that_is_no_text_is_no_error(folder: Path, tmp_path: Path) -> None:
    os.rename(folder / "first", os.fsencode(folder) + b"/caf\xe9")
    with Viewer([folder]) as viewer:
        run = next(iter(viewer.runs.cards))
        for page in ("", "/selection?samples=0", "/vote"):
            answer = viewer.ask("GET", f"/run/{run}{page}")
            assert answer.status == 200, page


def test_half_sent_requests_keep_nobody_out(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "most_connections", lambda: 12)
    monkeypatch.setattr(server, "WITHIN", 3600.0)
    with Viewer([finished]) as viewer, ExitStack() as held:
        half = [held.enter_context(socket.create_connection(("127.0.0.1", viewer.port), 60)) for _ in range(30)]
        for connection in half:
            with suppress(ConnectionError):
                connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        assert viewer.ask("GET", "/").status == 200


def test_above_the_limit_of_connections_one_waits(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are being answered are not closed for it; those that say nothing are."""
    monkeypatch.setattr(server, "most_connections", lambda: 4)
    with Viewer([finished]) as viewer, ExitStack() as held:
        followers = [held.enter_context(socket.create_connection(("127.0.0.1", viewer.port), 60)) for _ in range(4)]
        for follower in followers:
            follower.sendall(f"GET /events HTTP/1.1\r\nHost: {viewer.host}\r\n\r\n".encode())
            assert b"200" in follower.recv(64)
        waiting = held.enter_context(socket.create_connection(("127.0.0.1", viewer.port), 60))
        waiting.sendall(f"GET / HTTP/1.1\r\nHost: {viewer.host}\r\nConnection: close\r\n\r\n".encode())
        waiting.settimeout(1.5)
        with pytest.raises(TimeoutError):
            waiting.recv(12)
        followers[0].close()
        waiting.settimeout(60)
        assert waiting.recv(12) == b"HTTP/1.1 200"


def test_half_a_request_has_its_time(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "WITHIN", 0.1)
    with Viewer([finished]) as viewer, socket.create_connection(("127.0.0.1", viewer.port), 60) as half:
        half.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        with suppress(ConnectionResetError):
            assert half.recv(1) == b"", "closed, without an answer"


def test_half_a_vote_has_its_time(
    finished: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(server, "BODY_SECONDS", 0.1)
    with Viewer([finished]) as viewer, socket.create_connection(("127.0.0.1", viewer.port), 60) as half:
        where = VOTE.format(run=viewer.id_of(finished.name))
        head = (f"POST {where} HTTP/1.1", f"Host: {viewer.host}", f"Origin: {viewer.address}")
        head += ("Content-Type: application/json", "Content-Length: 900", "", "{")
        half.sendall("\r\n".join(head).encode())
        assert half.recv(12) == b"HTTP/1.1 408"
    assert "Traceback" not in capfd.readouterr().err, "and without a traceback in the viewer's terminal"


def test_what_takes_long_to_answer_is_not_half_a_request(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "WITHIN", 0.1)
    with Viewer([finished]) as viewer, socket.create_connection(("127.0.0.1", viewer.port), 60) as follower:
        where = f"/run/{viewer.id_of(finished.name)}/events"
        follower.sendall(f"GET {where} HTTP/1.1\r\nHost: {viewer.host}\r\n\r\n".encode())
        assert b"200" in follower.recv(64)
        time.sleep(0.5)
        follower.setblocking(False)
        with suppress(BlockingIOError):  # all was read, and it is open
            while True:
                assert follower.recv(4096), "closed"
