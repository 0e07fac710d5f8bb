"""Judges that their makers run, each asked in its own words: defaults that work, endings, schemas, thoughts, costs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image

from closed_providers import JUDGES, Providers
from edit_eval.errors import LoadError, ModelError, RequestError
from edit_eval.judges.contract import AnswerForm, JudgeRequest
from edit_eval.plugins.endpoints.in_worker.chat_endpoint import ChatEndpoint
from edit_eval.plugins.endpoints.in_worker.closed_judges import MAKERS, ClosedJudge, judge_of
from edit_eval.plugins.endpoints.in_worker.closed_models import FILE, rows_of
from edit_eval.protocols.replies import object_schema
from edit_eval.records import Reply, Status
from late_imports import needs

needs("aiohttp")

PRESENT = [
    ("openai", "gpt-6.1-sol"),
    ("openai", "gpt-6-luna"),
    ("openai", "gpt-5.4-mini"),
    ("gemini", "gemini-4-hydrogen"),
    ("gemini", "gemini-3.8-flash"),
    ("gemini", "gemini-3.5-flash-lite"),
    ("gemini", "gemini-3.1-pro-preview"),
    ("gemini", "gemini-2.5-flash"),
    ("anthropic", "claude-opus-5-5"),
    ("anthropic", "claude-opus-5"),
    ("anthropic", "claude-opus-4-8"),
    ("anthropic", "claude-opus-4-6"),
    ("anthropic", "claude-sonnet-5-5"),
    ("anthropic", "claude-sonnet-5"),
    ("anthropic", "claude-haiku-5-5"),
    ("anthropic", "claude-haiku-4-5"),
]
EACH = [("openai", "gpt-6-luna"), ("gemini", "gemini-3.8-flash"), ("anthropic", "claude-opus-5-5")]
"""One a maker; two of them always think."""
SCORE = {"type": "number", "minimum": 0, "maximum": 10}


@pytest.fixture(scope="module")
def providers() -> Iterator[Providers]:
    with Providers() as running:
        yield running


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, maker in MAKERS.items():
        monkeypatch.setenv(maker.key, f"key-of-{name}")


def judge(providers: Providers, api: Any, model: str, **more: Any) -> ChatEndpoint:
    address = providers.address(api)
    return ChatEndpoint(ChatEndpoint.Parameters(api=api, model=model, base_url=address, **{"retries": 0, **more}))


def question(words: str = "Score it.", **more: Any) -> JudgeRequest:
    pictures = {"source": Image.new("RGB", (8, 8)), "edit": Image.new("RGB", (8, 8), (1, 2, 3))}
    return JudgeRequest(system="You judge.", user=words, pictures=pictures, **{"form": "score", "seed": 1, **more})


def answered(asked: ChatEndpoint, *requests: JudgeRequest, forms: tuple[AnswerForm, ...] = ()) -> list[Reply]:
    asked.load(["cpu"], forms=forms)
    try:
        replies = asked.judge(requests)
    finally:
        asked.close()
    assert all(isinstance(reply, Reply) for reply in replies)
    return [reply for reply in replies if isinstance(reply, Reply)]


@pytest.mark.parametrize(("api", "model"), PRESENT)
def test_the_defaults_give_a_score(api: str, model: str, providers: Providers) -> None:
    asked = judge(providers, api, model)
    (reply,) = answered(asked, question())
    assert (reply.text, reply.ended) == ("Score: 7", Status.OK)
    usual = judge_of(api, model).usual
    assert asked.about()["thinking"] == (f"sent: {json.dumps(dict(usual))}" if usual else "nothing sent")


@pytest.mark.parametrize(("api", "model"), PRESENT)
def test_thinking_on_and_off_are_what_the_model_takes(api: str, model: str, providers: Providers) -> None:
    for switch in ("on", "off") if judge_of(api, model).off is not None else ("on",):
        (reply,) = answered(judge(providers, api, model, thinking=switch), question())
        assert (reply.text, reply.ended) == ("Score: 7", Status.OK)
        assert (reply.tokens[1] > 300) is (switch == "on")  # thoughts are counted as written


@pytest.mark.parametrize(("api", "model"), EACH)
def test_what_was_withheld_is_refused_and_what_was_cut_is_cut(api: str, model: str, providers: Providers) -> None:
    """Also where a score stands in what came before."""
    asked = judge(providers, api, model)
    refused, blocked, cut = answered(asked, question("REFUSE"), question("BLOCK"), question("LIMIT"))
    assert (refused.ended, blocked.ended, cut.ended) == (Status.REFUSED, Status.REFUSED, Status.CUT_OFF)
    assert refused.tokens[0] == blocked.tokens[0] == 1500


@pytest.mark.parametrize(("api", "model"), EACH[1:])
def test_an_ending_of_another_kind_is_a_failure(api: str, model: str, providers: Providers) -> None:
    asked = judge(providers, api, model)
    with pytest.raises(ModelError, match="it ended with"):
        answered(asked, question("STOPS"))


@pytest.mark.parametrize(("api", "model"), PRESENT)
def test_an_answer_is_held_to_its_schema(api: str, model: str, providers: Providers) -> None:
    schema = object_schema({"minimum": SCORE, "why": {"type": "string"}})
    asked = judge(providers, api, model)
    (reply,) = answered(asked, question(form="json", schema=schema), forms=(AnswerForm("json", (), schema),))
    assert json.loads(reply.text) == {"minimum": 7, "why": "fine"}
    assert "not held" not in asked.about()["schema"]


@pytest.mark.parametrize("word", ["WAIT", "BODY"])
@pytest.mark.parametrize(("api", "model"), EACH)
def test_a_429_is_waited_for_and_costs_nothing(api: str, model: str, word: str, providers: Providers) -> None:
    asked = judge(providers, api, model)
    before = providers.spent("judge")
    asked.load(["cpu"])
    try:
        loading = providers.spent("judge") - before
        with providers.lock:
            providers.times[api, word] = 0
        (reply,) = asked.judge([question(word)])
        lost = asked.collect_costs()["lost"]
    finally:
        asked.close()
    assert isinstance(reply, Reply)
    assert (reply.text, lost) == ("Score: 7", 0)
    assert loading > 0


@pytest.mark.parametrize(("api", "model"), PRESENT)
def test_the_cost_by_our_table_is_the_bill(api: str, model: str, providers: Providers) -> None:
    asked = judge(providers, api, model)
    price = ChatEndpoint.prices(asked.parameters)
    assert price is not None
    assert (price["read"], price["written"]) == next(rates for name, rates in JUDGES.items() if model.startswith(name))
    asked.load(["cpu"])
    before = providers.spent("judge")
    try:
        replies = asked.judge([question(), question("REFUSE"), question("LIMIT")])
    finally:
        asked.close()
    tokens = [reply.tokens for reply in replies if isinstance(reply, Reply)]
    cost = sum((read * price["read"] + written * price["written"]) / 1e6 for read, written in tokens)
    assert cost == pytest.approx(providers.spent("judge") - before)
    assert all(written <= price["longest"] for _, written in tokens)


@pytest.mark.parametrize(("api", "model"), EACH)
def test_an_account_without_credit_is_no_fault_of_the_question(api: str, model: str, providers: Providers) -> None:
    asked = judge(providers, api, model)
    with pytest.raises(RequestError) as failed:
        answered(asked, question("BROKE"))
    assert failed.value.says in ("account", "day")


@pytest.mark.parametrize(("api", "model"), EACH)
def test_what_the_user_gives_counts_before_the_table(api: str, model: str, providers: Providers) -> None:
    own = {
        "openai": {"reasoning_effort": "low", "extra_body": {"service_tier": "flex"}},
        "gemini": {"thinkingConfig": {"thinkingLevel": "MEDIUM"}, "topK": 3, "safetySettings": []},
        "anthropic": {"output_config": {"effort": "medium"}, "top_k": 3},
    }[api]
    asked = judge(providers, api, model, call=own)
    body = asked._body(question(), {"output_config": {"format": {}}} if api == "anthropic" else {})
    if api == "openai":
        assert (body["reasoning_effort"], body["service_tier"]) == ("low", "flex")
    elif api == "gemini":
        assert body["generationConfig"]["thinkingConfig"] == {"thinkingLevel": "MEDIUM"}
        assert (body["generationConfig"]["topK"], body["safetySettings"]) == (3, [])
    else:
        assert body["output_config"] == {"effort": "medium", "format": {}}
        assert body["top_k"] == 3


def test_the_key_goes_where_the_maker_wants_it_and_nowhere_else(providers: Providers) -> None:
    for api, model in EACH:
        answered(judge(providers, api, model), question())
        for request in [sent for sent in providers.asked if sent.provider == api]:
            names = {name for name, value in request.headers.items() if f"key-of-{api}" in value}
            assert names == {{"openai": "authorization", "gemini": "x-goog-api-key", "anthropic": "x-api-key"}[api]}


def test_a_temperature_is_sent_where_it_is_taken(providers: Providers) -> None:
    taken = {
        model: "temperature" in str(judge(providers, api, model, thinking=thinking)._body(question(), {}))
        for api, model, thinking in (
            ("openai", "gpt-6-luna", None),
            ("openai", "gpt-5.4-mini", "on"),
            ("gemini", "gemini-2.5-flash", None),
            ("gemini", "gemini-3.8-flash", None),
            ("anthropic", "claude-opus-4-6", None),
            ("anthropic", "claude-sonnet-4-6", "on"),
            ("anthropic", "claude-haiku-5-5", None),
        )
    }
    assert [model for model, sent in taken.items() if sent] == ["gpt-6-luna", "gemini-2.5-flash", "claude-opus-4-6"]


def test_a_judge_that_always_thinks_gives_no_probabilities(providers: Providers) -> None:
    asked = judge(providers, "gemini", "gemini-3.8-flash")
    with pytest.raises(LoadError, match="let the judge write its answer"):
        answered(asked, forms=(AnswerForm("probabilities", ("A", "B")),))


def test_keys_know_the_maker_and_no_price() -> None:
    plain = ChatEndpoint.Parameters(model="m")
    mine = ChatEndpoint.Parameters(api="gemini", model="gemini-3.8-flash")
    assert mine.api_key_env == "GEMINI_API_KEY"
    assert ChatEndpoint.revision(plain) == ""
    assert ChatEndpoint.revision(mine)
    own = ChatEndpoint.Parameters(api="gemini", model="gemini-3.8-flash", price=[1.0, 2.0])
    assert ChatEndpoint.revision(mine) == ChatEndpoint.revision(own)
    other = ChatEndpoint.Parameters(api="gemini", model="gemini-3.5-flash-lite")
    assert ChatEndpoint.revision(mine) != ChatEndpoint.revision(other)


def test_what_cannot_be_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="no switch"):
        ChatEndpoint.Parameters(api="anthropic", model="claude-opus-5-5", thinking="off")
    with pytest.raises(ValueError, match="takes 1024 or more"):
        ChatEndpoint.Parameters(api="anthropic", model="claude-haiku-4-5", thinking="on", thinking_tokens=1000)
    with pytest.raises(ValueError, match="without a limit"):
        ChatEndpoint.Parameters(api="anthropic", model="claude-opus-5-5", max_tokens=None)
    with pytest.raises(ValueError, match="contents cannot be set"):
        ChatEndpoint.Parameters(api="gemini", model="gemini-3.8-flash", call={"contents": []})
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    unknown = ChatEndpoint(ChatEndpoint.Parameters(api="anthropic", model="claude-opus-5-5"))
    with pytest.raises(LoadError, match="ANTHROPIC_API_KEY is not set: it takes Anthropic's key"):
        unknown.load(["cpu"])
    assert "ANTHROPIC_API_KEY" not in os.environ


def test_every_row_says_where_it_is_from() -> None:
    for maker in MAKERS:
        assert judge_of(maker, "a name that nobody has").model == f"{maker}/*"
    for said in rows_of("judges", FILE):
        row = ClosedJudge(**said)
        assert len(row.source) > 10
        assert row.off is not None or row.room  # who always thinks is given room
