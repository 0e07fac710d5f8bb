"""What an answer may be before anybody looks into it: from the server that was asked, and no longer than the bound."""

from __future__ import annotations

import gzip
import resource
import shutil
import socketserver
import ssl
import subprocess
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from edit_eval.errors import LoadError, ModelError
from edit_eval.plugins.endpoints.in_worker.chat_endpoint import ChatEndpoint
from edit_eval.plugins.endpoints.in_worker.transport import (
    LONGEST,
    Posting,
    Unacceptable,
    Unreached,
    find_proxy,
    join_url,
    needs_no_proxy,
)
from judge_server import JudgeServer, Reply
from late_imports import needs
from plugins.endpoints.own_loop import run_apart

needs("aiohttp")

Answer = Callable[[Any], None]
KEY = "sk-CANARY-4f1b09d2"


@contextmanager
def raw_server(answer: Answer, certificate: tuple[str, str] | None = None) -> Iterator[tuple[str, list[bytes]]]:
    """An address where `answer` writes what it likes; and the first line of each request that came there.

    `certificate`: the files of one and of its key, for `https`.
    """
    seen: list[bytes] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            length = 0
            seen.append(self.rfile.readline())
            while (line := self.rfile.readline()) not in (b"\r\n", b""):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            self.rfile.read(length)
            try:
                answer(self.wfile)
            except OSError:
                pass  # the client has heard enough

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        if certificate:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(*certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http{'s' if certificate else ''}://127.0.0.1:{server.server_address[1]}", seen
        server.shutdown()
        thread.join()


def whole(body: bytes, *headers: str, status: str = "200 OK") -> Answer:
    head = "\r\n".join((f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers, "", ""))
    return lambda out: out.write(head.encode() + body)


def endless(*headers: str, piece: bytes = b" " * 65536) -> Answer:
    def write(out: Any) -> None:
        out.write("\r\n".join(("HTTP/1.1 200 OK", "Connection: close", *headers, "", "")).encode())
        while True:
            out.write(piece)

    return write


def bomb(size: int) -> bytes:
    """`size` bytes of nothing, packed by a thousand."""
    packer = zlib.compressobj(9, wbits=31)
    pieces = [packer.compress(bytes(1 << 20)) for _ in range(size >> 20)]
    return b"".join((*pieces, packer.flush()))


def get(url: str, **options: Any) -> str:
    try:
        return posted(url, **options)[1]
    except Unreached as unreached:
        raise unreached.__cause__ or unreached from None


@pytest.mark.parametrize(
    ("packed", "headers"),
    [
        (b'{"a": 1}', ()),
        (gzip.compress(b'{"a": 1}'), ("Content-Encoding: gzip",)),
        (zlib.compress(b'{"a": 1}'), ("Content-Encoding: deflate",)),
        (b'{"a": 1}', ("Content-Encoding: identity",)),
    ],
    ids=["as it is", "gzip", "deflate", "identity"],
)
def test_an_answer_is_read_however_it_is_packed(packed: bytes, headers: tuple[str, ...]) -> None:
    with raw_server(whole(packed, *headers)) as (url, _):
        assert get(url) == '{"a": 1}'


def test_the_bound_itself_is_no_fault() -> None:
    with raw_server(whole(b"x" * 1000)) as (url, _):
        assert len(get(url, longest=1000)) == 1000
        with pytest.raises(Unacceptable, match=r"is longer than 0\.000952\d* MiB"):
            get(url, longest=999)


@pytest.mark.parametrize(
    "answer",
    [
        lambda: whole(b" " * (LONGEST + 1)),
        lambda: endless(),
        lambda: endless("Transfer-Encoding: chunked", piece=b"10000\r\n" + b" " * 65536 + b"\r\n"),
        lambda: whole(bomb(256 << 20), "Content-Encoding: gzip"),
        lambda: endless("Content-Encoding: gzip", piece=b"\0\0\0\xff\xff"),
    ],
    ids=["too long", "endless", "endless in chunks", "a bomb", "packed, and no gzip"],
)
def test_what_is_too_long_ends_at_the_bound_and_takes_no_more_memory(answer: Callable[[], Answer]) -> None:
    answering = answer()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with raw_server(answering) as (url, _), pytest.raises(Unacceptable, match=r"longer than 8 MiB|to be compressed"):
        get(url)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024, "kB; the bound is 8 MiB"


def test_what_unfolds_to_nothing_is_bounded_as_it_comes() -> None:
    head = gzip.compress(b"")[:10]

    def write(out: Any) -> None:
        out.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n" + head)
        while True:
            out.write(b"\0\0\0\xff\xff" * 10_000)  # stored blocks of no bytes

    with raw_server(write) as (url, _), pytest.raises(Unacceptable, match="is longer than 8 MiB"):
        get(url)


def test_a_packing_that_was_not_asked_for_is_named() -> None:
    with (
        raw_server(whole(b"??", "Content-Encoding: br")) as (url, _),
        pytest.raises(Unacceptable, match=r"is compressed \(`br`\)"),
    ):
        get(url)


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
def test_no_redirect_is_followed(status: str) -> None:
    completion = b'{"choices": [{"message": {"role": "assistant", "content": "Score: 9.000"}}]}'
    with raw_server(whole(completion)) as (elsewhere, seen):
        to = f"Location: {elsewhere}/v1/chat/completions?api_key={KEY}"
        with raw_server(whole(b"", to, status=status)) as (url, asked):
            judge = ChatEndpoint(ChatEndpoint.Parameters(model="m", base_url=f"{url}/v1", retries=3))
            with pytest.raises(LoadError) as failed:
                judge.load(["cpu"])
        assert seen == [], "nothing went there"
        assert len(asked) == 1, "and it is not asked again"
    said = str(failed.value)
    assert f"answered {status[:3]} " in said
    assert f"redirects to {elsewhere}: redirects are not followed; give the final address as base_url" in said
    assert KEY not in said


def test_a_redirect_within_the_server_says_so_without_its_path() -> None:
    with raw_server(whole(b"", f"Location: /{KEY}/", status="307 Temporary Redirect")) as (url, _):
        judge = ChatEndpoint(ChatEndpoint.Parameters(model="m", base_url=f"{url}/v1"))
        with pytest.raises(LoadError, match="another path of its own: redirects are not followed") as failed:
            judge.load(["cpu"])
    assert KEY not in str(failed.value)


def test_a_judge_whose_answer_is_too_long_has_no_answer_and_is_asked_once() -> None:
    from PIL import Image

    from edit_eval.judges.contract import JudgeRequest

    picture = Image.new("RGB", (4, 4))
    with JudgeServer(Reply("x" * (LONGEST + 1))) as server:
        judge = ChatEndpoint(ChatEndpoint.Parameters(model="m", base_url=server.base_url))
        judge.load(["cpu"])
        try:
            with pytest.raises(ModelError, match="the answer of the judge's server is longer than 8 MiB") as failed:
                judge.judge([JudgeRequest(user="rate it", pictures={"source": picture, "edit": picture})])
        finally:
            judge.close()
        assert not isinstance(failed.value, LoadError), "the server is well"
        assert len(server.judged) == 1


def test_an_endless_answer_that_stays_below_the_bound_ends_with_the_attempt() -> None:
    def drip(out: Any) -> None:
        out.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        while True:
            out.write(b" ")
            out.flush()
            time.sleep(0.05)

    with raw_server(drip) as (url, _):
        judge = ChatEndpoint(
            ChatEndpoint.Parameters(model="m", base_url=f"{url}/v1", attempt_timeout=0.5, deadline=1.0)
        )
        with pytest.raises(LoadError, match="did not finish its answer in time"):
            judge.load(["cpu"])


# -- the way there --


def posted(base_url: str, **options: Any) -> tuple[int, str]:
    async def ask() -> tuple[int, str]:
        post = Posting(base_url, {"authorization": f"Bearer {KEY}"}, **options)
        try:
            status, _, text = await post("/chat/completions", {"a": 1})
            return status, text
        finally:
            await post.close()

    return run_apart(ask())


def test_the_environments_proxy_is_asked_but_for_our_own_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with raw_server(whole(b"{}")) as (proxy, seen):
        monkeypatch.setenv("http_proxy", proxy.removeprefix("http://"))
        assert posted("http://judge.invalid/v1") == (200, "{}")
        assert seen == [b"POST http://judge.invalid/v1/chat/completions HTTP/1.1\r\n"]
        with pytest.raises(Unreached):
            posted("http://judge.invalid/v1", direct=True)
        monkeypatch.setenv("no_proxy", "judge.invalid")
        with pytest.raises(Unreached):
            posted("http://judge.invalid/v1")
        assert len(seen) == 1


@pytest.mark.parametrize(
    ("host", "port", "exceptions", "needs_none"),
    [
        ("127.0.0.1", 80, "127.0.0.0/8", True),
        ("10.1.2.3", 443, "localhost, 10.0.0.0/8", True),
        ("11.1.2.3", 443, "10.0.0.0/8", False),
        ("judge.corp", 80, ".corp", True),
        ("judge.corp", 80, "*.corp", True),
        ("judge.corp", 80, "corp", True),
        ("judge.corp.evil", 80, "corp", False),
        ("notcorp", 80, "corp", False),
        ("judge", 8000, "judge:8000", True),
        ("judge", 8001, "judge:8000", False),
        ("::1", 8000, "[::1]", True),
        ("::1", 8000, "[::1]:8000", True),
        ("fd00::7", 8000, "fd00::/8", True),
        ("JUDGE", 80, "other , judge ", True),
        ("anything", 80, "*", True),
        ("anything", 80, "", False),
        ("anything", 80, ",,", False),
    ],
)
def test_no_proxy_in_its_usual_forms(host: str, port: int, exceptions: str, needs_none: bool) -> None:
    assert needs_no_proxy(host, port, exceptions) is needs_none


@pytest.mark.parametrize("kind", ["socks5", "socks5h", "socks4"])
def test_a_proxy_that_is_not_spoken_to_is_refused_by_name_where_it_is_needed(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("no_proxy", "NO_PROXY", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("all_proxy", f"{kind}://127.0.0.1:1080")
    with pytest.raises(
        LoadError, match=f"judge.invalid that speaks {kind}.*HTTP_PROXY, or name judge.invalid in NO_PROXY"
    ):
        find_proxy("http", "judge.invalid")
    monkeypatch.setenv("no_proxy", "judge.invalid")
    assert find_proxy("http", "judge.invalid") is None


def test_a_servers_own_query_stays_behind_the_path() -> None:
    base = "https://x.azure.com/openai/v1/?api-version=2026-01-01"
    assert (
        join_url(base, "/chat/completions") == "https://x.azure.com/openai/v1/chat/completions?api-version=2026-01-01"
    )
    assert (
        join_url(base, "/tokenize", "a=1", above=True)
        == "https://x.azure.com/openai/tokenize?api-version=2026-01-01&a=1"
    )
    assert join_url("http://h/v1", "/models") == "http://h/v1/models"


def test_a_certificate_of_ones_own_is_trusted_where_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    openssl = shutil.which("openssl") or pytest.skip("needs openssl, to make a certificate")
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=judge -addext subjectAltName=IP:127.0.0.1"
    files = {name: str(tmp_path / f"{name}.pem") for name in ("keyout", "out")}
    more = [word for name, file in files.items() for word in (f"-{name}", file)]
    subprocess.run([openssl, *words.split(), *more], check=True, capture_output=True)
    with raw_server(whole(b"{}"), certificate=(files["out"], files["keyout"])) as (url, _):
        with pytest.raises(Unreached) as failed:
            posted(url)
        assert "certificate" in str(failed.value.__cause__)
        monkeypatch.setenv("SSL_CERT_FILE", files["out"])
        assert posted(url) == (200, "{}")
