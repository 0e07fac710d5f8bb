"""What a server can do beyond the chat protocol: found out at the start, and the same readings whatever the way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image

from edit_eval import records
from edit_eval.errors import LoadError, ModelError
from edit_eval.judges.contract import AnswerForm, JudgeRequest
from edit_eval.plugins.endpoints.in_worker import client
from edit_eval.plugins.endpoints.in_worker.chat_endpoint import ChatEndpoint
from edit_eval.protocols.judging import read
from edit_eval.records import Status
from judge_server import Asked, Reply
from late_imports import needs
from level_of_edit import LevelOfEdit
from played_servers import KINDS, TOKENS, Kind, PlayedServer
from small_matrix import small_sample

needs("aiohttp")

LABELS = ("A", "B", "C")
ASKED = AnswerForm("probabilities", LABELS)
FIRST = {"A": 0.5, "B": 0.25, "C": 0.125, "The": 0.1, "I": 0.025}
SCHEMA = json.dumps({"type": "object", "properties": {"kept": {"type": "integer"}}, "required": ["kept"]})

MADE: list[Any] = []


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.01)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-CANARY-4f1b09d2")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    yield
    while MADE:
        MADE.pop().close()


def played(kind: Kind, first: dict[str, float] | None = None, **more: Any) -> PlayedServer:
    MADE.append(server := PlayedServer(kind, first or FIRST, **more))
    return server


def judge_at(server: PlayedServer, *forms: AnswerForm, **parameters: Any) -> ChatEndpoint:
    judge = ChatEndpoint(ChatEndpoint.Parameters(model="judge", base_url=server.base_url, retries=1, **parameters))
    judge.load(["cpu"], forms=forms)
    MADE.append(judge)
    return judge


def request(form: AnswerForm = ASKED, user: str = "Which?") -> JudgeRequest:
    picture = Image.new("RGB", (8, 8), (200, 10, 10))
    pictures = {"source": picture, "edit": picture.rotate(90)}
    return JudgeRequest(
        system="Be strict.", user=user, pictures=pictures, form=form.form, labels=form.labels, schema=form.schema
    )


def reply_of(judge: ChatEndpoint, form: AnswerForm = ASKED) -> records.Reply:
    (reply,) = judge.judge([request(form)])
    assert isinstance(reply, records.Reply)
    return reply


# -- probabilities --

WAYS = {
    "vLLM": (KINDS["vllm"], "logprob_token_ids, mass kept"),
    "vLLM without the ids": (KINDS["vllm"].without("logprob_token_ids"), "top_logprobs, mass kept"),
    "vLLM without a tokeniser": (KINDS["vllm"].without("/tokenize"), "top_logprobs, mass kept"),
    "SGLang": (KINDS["sglang"], "top_logprobs, mass kept"),
    "OpenAI": (KINDS["openai"], "top_logprobs, mass kept"),
    "one that allows five": (Kind(KINDS["openai"].fields, strict=True, most=5), "top_logprobs of 5, mass kept"),
}


@pytest.mark.parametrize("name", WAYS)
def test_the_same_probabilities_come_on_every_way_of_the_chat_protocol(name: str) -> None:
    kind, way = WAYS[name]
    server = played(kind)
    judge = judge_at(server, ASKED, temperature=0.7)
    assert judge.about()["probabilities"] == way
    reply = reply_of(judge)
    assert reply.values == pytest.approx({label: FIRST[label] for label in LABELS})
    assert not reply.normalised
    (asked,) = server.judged
    assert asked.body["max_tokens"] == 1
    assert asked.body["temperature"] == 0.0, "some servers divide by it first"
    assert "seed" not in asked.body
    assert ("chat_template_kwargs" in asked.body) == ("chat_template_kwargs" in kind.fields)


@pytest.mark.parametrize(
    ("kind", "road", "said", "mass"),
    [
        (KINDS["vllm"], "systemone", "systemone, mass kept", 0.875),
        (KINDS["sglang"], "systemone", "systemone, mass kept", 0.875),
        (KINDS["sglang"], "decisions", "decisions, mass kept", 0.875),
        (KINDS["transformers"], "systemone", "systemone of transformers, mass unknown", 1.0),
    ],
)
def test_in_the_server_s_own_words_the_mass_is_kept_where_it_is_told(
    kind: Kind, road: Any, said: str, mass: float
) -> None:
    judge = judge_at(played(kind), ASKED, probabilities=road)
    assert judge.about()["probabilities"] == said
    reply = reply_of(judge)
    assert sum(reply.values.values()) == pytest.approx(mass)
    assert reply.values == pytest.approx({label: FIRST[label] * mass / 0.875 for label in LABELS})
    assert reply.normalised == (mass == 1.0)


@pytest.mark.parametrize(
    ("kind", "road", "remedy"),
    [
        (KINDS["transformers"], "logprobs", "write `probabilities: systemone`"),
        (KINDS["sglang"].without("logprobs"), "logprobs", "write `probabilities: decisions`"),
        (KINDS["openai"], "systemone", "write `probabilities: logprobs`"),
        (KINDS["openai"].without("logprobs"), "logprobs", "let the judge write its answer"),
    ],
)
def test_a_server_that_gives_none_that_way_is_refused_at_the_start(kind: Kind, road: Any, remedy: str) -> None:
    server = played(kind)
    with pytest.raises(LoadError, match=f"gives no probabilities through {road} .*; {remedy}$"):
        judge_at(server, ASKED, probabilities=road)
    assert not server.judged


def test_in_which_words_is_asked_is_in_the_key() -> None:
    revisions = {
        ChatEndpoint.revision(ChatEndpoint.Parameters(model="judge", probabilities=road))
        for road in ("logprobs", "decisions", "systemone")
    }
    assert len(revisions) == 3


def test_a_label_of_several_tokens_is_refused_at_the_start() -> None:
    words = ("yes", "probably")
    with pytest.raises(LoadError, match=r"the label `probably` is 8 tokens of this model; give labels of one token"):
        judge_at(played(KINDS["vllm"]), AnswerForm("probabilities", words))
    with pytest.raises(LoadError, match=r"the label `probably` is 8 tokens"):
        judge_at(played(KINDS["sglang"]), AnswerForm("probabilities", words))


def test_labels_that_share_a_first_token_are_read_rightly_or_refused() -> None:
    """`10` is one token of this model, so `1` is not its beginning; where it is two, and where nobody knows, no."""
    both, first = AnswerForm("probabilities", ("1", "10")), {"1": 0.25, "10": 0.5, "The": 0.25}
    for kind in (KINDS["vllm"], KINDS["sglang"]):
        assert reply_of(judge_at(played(kind, first), both), both).values == pytest.approx({"1": 0.25, "10": 0.5})
    server = played(KINDS["vllm"], first)
    server.words = [token for token in TOKENS if "10" not in token]
    with pytest.raises(LoadError, match="the label `10` is 2 tokens"):
        judge_at(server, both)
    with pytest.raises(LoadError, match="the labels `1` and `10` begin the same way, and the server does not show"):
        judge_at(played(KINDS["openai"], first), both)


def test_a_label_with_a_space_before_it_is_the_same_label() -> None:
    first = {"A": 0.5, " A": 0.25, "B": 0.125, " B": 0.0625, "C": 0.03125, "The": 0.03125}
    for kind in (KINDS["vllm"], KINDS["openai"]):
        values = reply_of(judge_at(played(kind, first), ASKED)).values
        assert values == pytest.approx({"A": 0.75, "B": 0.1875, "C": 0.03125}), kind


def test_what_is_not_among_the_most_probable_tokens_is_nothing_or_not_known() -> None:
    words = [chr(code) for code in range(ord("a"), ord("a") + 18)]
    rare = {"A": 0.9, "C": 0.05, **dict.fromkeys(words, 0.04999 / 18), "B": 0.00001}
    common = {"A": 0.3, "C": 0.1, **dict.fromkeys(words, 0.03), "B": 0.02, "?": 0.02, "!": 0.02}
    protocol = LevelOfEdit(LevelOfEdit.Parameters())
    (question,) = protocol.questions(small_sample(0))
    for kind in (KINDS["sglang"], KINDS["openai"]):
        assert reply_of(judge_at(played(kind, rare), ASKED)).values == pytest.approx({"A": 0.9, "B": 0.0, "C": 0.05})
        reply = reply_of(judge_at(played(kind, common), ASKED))
        assert reply.values == pytest.approx({"A": 0.3, "C": 0.1})
        reading = read(protocol, question, [reply], 0)
        assert (reading.status, reading.reason) == (Status.UNPARSEABLE, "the probability of `B` is not known")
    assert reply_of(judge_at(played(KINDS["vllm"], common), ASKED)).values["B"] == pytest.approx(0.02)


def test_a_longer_label_whose_beginning_is_written_as_a_token_of_its_own_is_not_known() -> None:
    words, first = AnswerForm("probabilities", ("yes", "perhaps")), {"yes": 0.75, "per": 0.25}
    assert reply_of(judge_at(played(KINDS["openai"], first), words), words).values == pytest.approx({"yes": 0.75})
    first = {"yes": 0.9999, "per": 0.0001}
    assert set(reply_of(judge_at(played(KINDS["openai"], first), words), words).values) == {"yes", "perhaps"}


def test_answers_without_probabilities_refusals_and_nonsense() -> None:
    server = played(KINDS["openai"])
    judge = judge_at(server, ASKED)
    bare = {"choices": [{"message": {"content": "A"}, "finish_reason": "length"}]}
    refusal = {"choices": [{"message": {"content": None, "refusal": "I will not."}, "finish_reason": "stop"}]}
    server.script += [Reply.json(bare), Reply.json(refusal)]
    assert reply_of(judge) == records.Reply(text="A")
    assert reply_of(judge) == records.Reply(text="I will not.", ended=Status.REFUSED)
    entry: dict[str, Any] = {"token": "A", "logprob": "high", "top_logprobs": [{"token": "A", "logprob": "high"}]}
    odd = {"choices": [{**bare["choices"][0], "logprobs": {"content": [entry]}}]}
    server.answer = Reply.json(odd)
    with pytest.raises(ModelError, match="sent invalid probabilities: high is not a log probability"):
        judge.judge([request()])
    assert len(server.judged) == 4, "nonsense is asked for once more"


# -- a schema --

HELD = {
    "vLLM": (KINDS["vllm"], "response_format"),
    "vLLM of old": (KINDS["vllm"].without("response_format"), "structured_outputs"),
    "SGLang": (KINDS["sglang"], "response_format"),
    "OpenAI": (KINDS["openai"], "response_format"),
    "OpenAI without it": (KINDS["openai"].without("response_format"), "not held"),
    "one that drops it": (KINDS["transformers"], "not held"),
}


@pytest.mark.parametrize("name", HELD)
def test_an_answer_is_held_to_the_schema_where_the_server_does_so_indeed(name: str) -> None:
    kind, way = HELD[name]
    server = played(kind, answer='{"kept": 1}')
    form = AnswerForm("json", schema=SCHEMA)
    judge = judge_at(server, form)
    assert judge.about()["schema"] == way
    assert judge.judge([request(form)]) == ['{"kept": 1}']
    (asked,) = server.judged
    sent = {name: asked.body.get(name) for name in ("response_format", "structured_outputs") if name in asked.body}
    if way == "not held":
        assert not sent
    elif way == "response_format":
        assert sent["response_format"]["json_schema"]["schema"] == json.loads(SCHEMA)
    else:
        assert sent == {"structured_outputs": {"json": json.loads(SCHEMA)}}


def test_a_schema_that_the_server_does_not_take_is_not_sent_to_it() -> None:
    form = AnswerForm("json", schema=SCHEMA)
    server = played(KINDS["openai"])
    server.canary = lambda asked: (
        Reply.error(400, "Invalid schema")
        if "kept" in json.dumps(asked.body.get("response_format", ""))
        else Reply("ok")
    )
    judge = judge_at(server, form)
    assert judge.about()["schema"] == "response_format, but not all of this protocol's"
    judge.judge([request(form)])
    assert "response_format" not in server.judged[0].body


def test_what_the_user_asks_for_wins() -> None:
    form = AnswerForm("json", schema=SCHEMA)
    server = played(KINDS["vllm"])
    judge = judge_at(server, form, call={"response_format": {"type": "json_object"}, "extra_body": {"top_k": 1}})
    judge.judge([request(form)])
    assert server.judged[0].body["response_format"] == {"type": "json_object"}
    assert server.judged[0].body["top_k"] == 1


def test_json_that_stops_in_half_is_cut_off_only_where_the_server_cut_it() -> None:
    form = AnswerForm("json", schema=SCHEMA)
    server = played(KINDS["vllm"])
    judge = judge_at(server, form)
    server.script += [Reply('{"kept": ', finish_reason="length"), Reply('{"kept": ', finish_reason="stop")]
    assert judge.judge([request(form)]) == [records.Reply(text='{"kept": ', ended=Status.CUT_OFF)]
    assert judge.judge([request(form)]) == ['{"kept": ']


# -- thinking --


@pytest.mark.parametrize(
    ("kind", "on", "sent"),
    [
        ("vllm", False, {"chat_template_kwargs": {"enable_thinking": False}}),
        ("vllm", True, {"chat_template_kwargs": {"enable_thinking": True}, "thinking_token_budget": 100}),
        ("sglang", True, {"chat_template_kwargs": {"enable_thinking": True}}),
        ("openai", False, {"reasoning_effort": "none"}),
        ("openai", True, {"reasoning_effort": "medium"}),
    ],
)
def test_thinking_is_switched_as_the_server_takes_it(kind: str, on: bool, sent: dict[str, Any]) -> None:
    strict = Kind(KINDS[kind].fields, strict=True)
    server = played(strict)
    judge = judge_at(server, AnswerForm("score"), thinking="on" if on else "off", thinking_tokens=100)
    judge.judge([request(AnswerForm("score"))])
    body = server.judged[0].body
    names = {"chat_template_kwargs", "thinking_token_budget", "reasoning_effort"}
    assert {name: body[name] for name in names & {*body}} == sent
    assert body["max_tokens"] == 128 + 100 * on


def test_a_server_without_a_switch() -> None:
    bare = Kind(frozenset(), strict=True)
    judge = judge_at(played(bare), AnswerForm("score"), thinking="off")
    assert judge.about()["thinking"] == "no switch"
    assert judge.judge([request(AnswerForm("score"))]) == ["Score: 5.000"]
    with pytest.raises(LoadError, match="thinking: this server has no switch"):
        judge_at(played(bare), AnswerForm("score"), thinking="on")


@pytest.mark.parametrize("kind", ["vllm", "sglang"])
def test_thoughts_are_never_an_answer(kind: str) -> None:
    server = played(KINDS[kind])
    server.thought = "Score: 9.000 would be too much, so"
    judge = judge_at(server, AnswerForm("score"), thinking="on")
    assert judge.judge([request(AnswerForm("score"))]) == ["Score: 5.000"]
    server.answer = Reply("", finish_reason="length")
    cut = records.Reply(text=f"<think>{server.thought}", ended=Status.CUT_OFF)
    assert judge.judge([request(AnswerForm("score"))]) == [cut], "thinking that never ends"
    server.answer = Reply("")
    assert judge.judge([request(AnswerForm("score"))]) == [f"<think>{server.thought}"], "nor one that ends in nothing"


def test_probabilities_are_read_without_thinking_and_the_mass_says_where_it_cannot_be_switched_off() -> None:
    server = played(KINDS["vllm"])
    server.thought = "Hm."
    judge = judge_at(server, ASKED, thinking="on")
    assert sum(reply_of(judge).values.values()) == pytest.approx(0.875)
    server = played(KINDS["sglang"].without("chat_template_kwargs", "reasoning_effort"))
    server.thought = "Hm."
    assert sum(reply_of(judge_at(server, ASKED)).values.values()) == 0.0


# -- when it is asked --


def test_what_nobody_needs_is_not_asked_for() -> None:
    server = played(KINDS["vllm"])
    judge_at(server, AnswerForm("score"), AnswerForm("reason_then_score"))
    assert len(server.asked) == 1, "the canary"


def test_a_form_that_was_not_named_at_the_start_is_found_out_when_it_comes() -> None:
    assert sum(reply_of(judge_at(played(KINDS["vllm"]))).values.values()) == pytest.approx(0.875)


@pytest.mark.parametrize("road", ["logprobs", "systemone"])
def test_a_judge_that_is_not_loaded_says_so(road: Any) -> None:
    with pytest.raises(LoadError, match="not loaded"):
        ChatEndpoint(ChatEndpoint.Parameters(model="judge", probabilities=road)).judge([request()])


def test_a_server_that_dies_while_it_is_found_out_is_not_one_that_cannot() -> None:
    server = played(KINDS["vllm"])

    def dies(asked: Asked) -> Reply:
        return Reply.error(500, "the engine has died") if len(server.asked) > 1 else Reply("ok")

    server.canary = dies
    with pytest.raises(LoadError, match="the engine has died"):
        judge_at(server, ASKED)


@pytest.mark.parametrize(
    ("kind", "abilities"),
    [
        ("vllm", ("response_format", "logprobs, systemone", "chat_template_kwargs")),
        ("sglang", ("response_format", "logprobs, decisions, systemone", "chat_template_kwargs")),
        ("openai", ("response_format", "logprobs", "reasoning_effort")),
        ("transformers", ("not held", "systemone", "chat_template_kwargs")),
    ],
)
def test_doctor_is_told_all_that_the_server_can_do(kind: str, abilities: tuple[str, ...]) -> None:
    judge = ChatEndpoint(ChatEndpoint.Parameters(model="judge", base_url=played(KINDS[kind]).base_url))
    assert judge.examine(request(AnswerForm("score"))) == "Score: 5.000"
    assert tuple(judge.about()[name] for name in ("schema", "probabilities", "thinking")) == abilities
