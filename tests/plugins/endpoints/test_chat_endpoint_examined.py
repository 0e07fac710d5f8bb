"""A judge behind a server, asked by `edit-eval doctor`: what is wrong, and where."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PIL import Image

from edit_eval.errors import LoadError
from edit_eval.judges.contract import JudgeRequest
from edit_eval.plugins.endpoints.in_worker.chat_endpoint import ChatEndpoint
from judge_server import JudgeServer, Reply
from late_imports import needs

needs("aiohttp")

KEY = "sk-CANARY-4f1b09d2"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as running:
        yield running


def request() -> JudgeRequest:
    picture = Image.new("RGB", (6, 4))
    return JudgeRequest(system="Be strict.", user="rate it", pictures={"source": picture, "edit": picture})


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            Reply.error(401, f"no such key: {KEY}"),
            r"401 Unauthorized: no such key: <OPENAI_API_KEY> .*; does api_key_env",
        ),
        (Reply.error(404, "The model `m` does not exist"), r"404 .*; is `model` its name .*\? \(it has judge\)$"),
        (Reply.error(400, "At most 1 image(s)"), r"400 Bad Request: At most 1 image"),
        (Reply.error(503, "loading"), r"503 Service Unavailable: loading \(2 attempts"),
        (Reply.html(), r"did not answer with a chat completion: Welcome to the proxy"),
        (Reply(manner="hang"), r"did not finish its answer in time"),
    ],
)
def test_doctors_question_says_what_is_wrong_and_where(server: JudgeServer, answer: Reply, said: str) -> None:
    server.answer = answer
    wait = 1.0 if answer.manner == "hang" else 30.0
    judge = ChatEndpoint(ChatEndpoint.Parameters(model="m", base_url=server.base_url, attempt_timeout=wait))
    with pytest.raises(LoadError, match=said) as failed:
        judge.examine(request())
    assert server.base_url in str(failed.value)
    assert KEY not in str(failed.value)
    assert len(server.judged) <= 2
    assert judge.client.is_closed


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("/v1", ""), r"404 Not Found: .*; the base_url of most servers ends in /v1$"),
        (("http:", "https:"), r"; this server uses http there, not https$"),
    ],
)
def test_doctors_question_at_a_wrong_address(server: JudgeServer, change: tuple[str, str], said: str) -> None:
    url = server.base_url.replace(*change)
    with pytest.raises(LoadError, match=said):
        ChatEndpoint(ChatEndpoint.Parameters(model="m", base_url=url)).examine(request())


def test_doctors_question_comes_first_and_then_what_the_server_can_do(server: JudgeServer) -> None:
    judge = ChatEndpoint(ChatEndpoint.Parameters(model="m", base_url=server.base_url))
    assert judge.examine(request()) == "Score: 5.000"
    assert [asked.is_canary for asked in server.asked].count(False) == 1
    assert not server.asked[0].is_canary
    assert judge.about()["schema"] == "not held"
    assert judge.about()["probabilities"] == "none"
    assert judge.about()["server"] == server.base_url
    judge.load(["cpu"])
    assert judge.judge([request()]) == ["Score: 5.000"], "it can be loaded afterwards"
    judge.close()
