"""Judges that their makers run: the defaults work for the present models, and what is sent is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image

from closed_providers import Providers
from edit_eval.errors import LoadError
from edit_eval.judges.chat_endpoint import ChatEndpoint
from edit_eval.judges.closed_judges import MAKERS, judge_of
from edit_eval.judges.contract import JudgeRequest
from edit_eval.records import Reply
from late_imports import needs

needs("openai")

PRESENT = [
    ("gemini", "gemini-3.8-flash"),
    ("gemini", "gemini-3.1-pro-preview"),
    ("gemini", "gemini-2.5-flash"),
    ("anthropic", "claude-opus-5-5"),
    ("anthropic", "claude-opus-5"),
    ("anthropic", "claude-opus-4-8"),
    ("anthropic", "claude-opus-4-6"),
    ("anthropic", "claude-sonnet-5"),
]


@pytest.fixture(scope="module")
def providers() -> Iterator[Providers]:
    with Providers() as running:
        yield running


def judge(providers: Providers, api: Any, model: str, **more: Any) -> ChatEndpoint:
    address = providers.address(api) + ("/openai" if api == "gemini" else "")
    return ChatEndpoint(ChatEndpoint.Parameters(api=api, model=model, base_url=address, retries=0, **more))


def question() -> JudgeRequest:
    pictures = {"source": Image.new("RGB", (8, 8)), "edit": Image.new("RGB", (8, 8), (1, 2, 3))}
    return JudgeRequest(system="", user="Score it.", pictures=pictures, form="score", seed=1)


@pytest.mark.parametrize(("api", "model"), PRESENT)
def test_the_defaults_give_a_score(api: str, model: str, providers: Providers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MAKERS[api].key, f"key-of-{api}")
    asked = judge(providers, api, model)
    asked.load(["cpu"])
    try:
        (reply,) = asked.judge([question()])
        about = asked.about()
    finally:
        asked.close()
    assert isinstance(reply, Reply)
    assert (reply.text, reply.ended.value) == ("Score: 7", "ok")
    assert about["thinking"] == f"sent: {dict(judge_of(api, model).usual)}"


def test_without_the_row_these_defaults_fail(providers: Providers, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the table is for."""
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-anthropic")
    parameters = ChatEndpoint.Parameters(model="claude-opus-4-8", base_url=providers.address("anthropic"), retries=0)
    with pytest.raises(LoadError, match="temperature"):
        ChatEndpoint(parameters).load(["cpu"])


def test_keys_know_the_maker_and_no_price() -> None:
    plain = ChatEndpoint.Parameters(model="m")
    mine = ChatEndpoint.Parameters(api="gemini", model="gemini-3.8-flash")
    assert mine.api_key_env == "GEMINI_API_KEY"
    assert ChatEndpoint.revision(plain) == ""
    assert ChatEndpoint.revision(mine)
    prices = ChatEndpoint.prices(mine)
    assert prices is not None
    assert (prices["read"], prices["written"]) == (0.75, 3.75)
    own = ChatEndpoint.Parameters(api="gemini", model="gemini-3.8-flash", price=[1.0, 2.0])
    assert ChatEndpoint.revision(mine) == ChatEndpoint.revision(own)


def test_what_cannot_be_switched_off_is_said() -> None:
    with pytest.raises(ValueError, match="no switch"):
        ChatEndpoint.Parameters(api="anthropic", model="claude-opus-5-5", thinking="off")
