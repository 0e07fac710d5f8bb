"""The scripted judge's server does what it is told: nothing here goes through the official client."""

from __future__ import annotations

import http.client
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from judge_server import Asked, JudgeServer, Reply

ONE_PIXEL = "data:image/png;base64,iVBORw0KGgo="


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as running:
        yield running


def ask(server: JudgeServer, text: str = "hello", *, max_tokens: int = 9, images: tuple[str, ...] = ()) -> Any:
    parts: list[dict[str, Any]] = [{"type": "image_url", "image_url": {"url": url}} for url in images]
    message = {"role": "user", "content": [*parts, {"type": "text", "text": text}]}
    body = {"model": "m", "max_tokens": max_tokens, "messages": [{"role": "system", "content": "be kind"}, message]}
    data = json.dumps(body).encode()
    sent = urllib.request.Request(f"{server.base_url}/chat/completions", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(sent, timeout=60) as response:
        return json.load(response)


def test_it_answers_as_a_chat_completion(server: JudgeServer) -> None:
    answer = ask(server)
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": "Score: 5.000"}
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["model"] == "m"


def test_it_keeps_what_it_was_asked(server: JudgeServer) -> None:
    ask(server, "look", images=(ONE_PIXEL,))
    (asked,) = server.asked
    assert asked.text == "be kind\nlook"
    assert asked.images == [b"\x89PNG\r\n\x1a\n"]
    assert asked.headers["content-type"] == "application/json"


@pytest.mark.parametrize("url", ["http://127.0.0.1/secret.png", "file:///etc/passwd", "data:image/png;base64,!!!!"])
def test_what_is_no_data_url_is_an_error_of_the_test(server: JudgeServer, url: str) -> None:
    ask(server, images=(url,))
    with pytest.raises(ValueError, match="not "):
        _ = server.asked[0].images


def test_the_script_comes_first_then_the_answer(server: JudgeServer) -> None:
    server.script += [Reply("one"), Reply.error(429, retry_after=3)]
    server.answer = lambda asked: asked.text.upper()
    assert ask(server)["choices"][0]["message"]["content"] == "one"
    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(server)
    assert refused.value.code == 429
    assert refused.value.headers["Retry-After"] == "3"
    assert json.load(refused.value)["error"]["message"] == "on purpose"
    assert ask(server)["choices"][0]["message"]["content"] == "BE KIND\nHELLO"


def test_a_canary_takes_nothing_from_the_script(server: JudgeServer) -> None:
    server.script.append(Reply("one"))
    assert ask(server, "Answer with one word.")["choices"][0]["message"]["content"] == "ok"
    assert ask(server)["choices"][0]["message"]["content"] == "one"
    assert [asked.is_canary for asked in server.asked] == [True, False]
    assert len(server.judged) == 1


@pytest.mark.parametrize("manner", ["half", "nothing"])
def test_a_connection_that_breaks_off(server: JudgeServer, manner: str) -> None:
    server.answer = Reply(manner=manner)
    with pytest.raises((http.client.HTTPException, urllib.error.URLError, OSError)):
        ask(server)


@pytest.mark.parametrize("manner", ["hang", "hang_after_headers"])
def test_a_hanging_request_ends_with_the_server(manner: str) -> None:
    with JudgeServer(Reply(manner=manner)) as server:
        ended: list[BaseException] = []

        def client() -> None:
            try:
                ask(server)
            except BaseException as error:
                ended.append(error)

        thread = threading.Thread(target=client)
        thread.start()
        while server.under_way == 0:
            assert thread.is_alive()
            time.sleep(0.005)
        thread.join(0.2)
        assert not ended
    thread.join(60)
    assert ended


def test_bytes_that_drip(server: JudgeServer) -> None:
    server.answer = Reply(body=b"[123456789]", manner="drip", seconds_a_byte=0.05)
    begin = time.monotonic()
    assert ask(server) == [123456789]
    assert time.monotonic() - begin >= 0.4


def test_it_thinks_as_long_as_it_is_told_and_counts_who_is_there(server: JudgeServer) -> None:
    meeting = threading.Barrier(5, timeout=60)

    def answer(asked: Asked) -> Reply:
        meeting.wait()
        return Reply(seconds=0.3)

    server.answer = answer
    begin = time.monotonic()
    with ThreadPoolExecutor(5) as threads:
        assert len(list(threads.map(ask, [server] * 5))) == 5
    assert time.monotonic() - begin >= 0.3
    assert server.most_at_once == 5
    assert server.under_way == 0


def test_its_health_proves_nothing(server: JudgeServer) -> None:
    server.answer = server.canary = Reply(manner="hang")
    root = server.base_url.removesuffix("/v1")
    for page in ("/health", "/v1/models"):
        with urllib.request.urlopen(root + page, timeout=60) as response:
            assert response.status == 200


def test_a_manner_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="no such manner: 'rude'"):
        Reply(manner="rude")


def test_it_can_come_back_on_its_port() -> None:
    with JudgeServer("one") as server:
        port = server.port
        ask(server)
    with pytest.raises(urllib.error.URLError):
        ask(server)
    with JudgeServer("two", port=port) as server:
        assert ask(server)["choices"][0]["message"]["content"] == "two"
