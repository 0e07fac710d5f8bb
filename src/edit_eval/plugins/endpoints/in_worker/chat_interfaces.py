"""How a chat is put to a server, and what its answer means: one row an interface.

Most servers speak OpenAI's chat protocol. Anthropic and Google offer layers of it, too, which lose what a judge must
know (why an answer ended, a schema that holds, tokens of thoughts), so their own interfaces are spoken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edit_eval.json_values import JsonObject
from edit_eval.plugins.endpoints.in_worker.chat_servers import (
    DECISIONS,
    LOGPROBS,
    SCHEMAS,
    SLOT,
    THINKING,
    THINKING_BUDGETS,
    Decision,
    Way,
)
from edit_eval.plugins.endpoints.in_worker.vocabulary import AnswerEnding, Ended, read_ending
from edit_eval.records import Status

Document = Any
"""An answer, parsed."""


@dataclass(frozen=True, kw_only=True)
class Chat:
    """One question, before it takes an interface's form."""

    model: str
    system: str = ""
    user: str
    pictures: Sequence[str] = ()
    """PNGs as data URLs."""
    limit: int | None = None
    """Most tokens of the answer, thoughts included."""
    limited_by: str = ""
    """The field for it, where it is not the interface's usual one."""
    temperature: float | None = None
    seed: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further fields, as the interface names them."""
    call: Mapping[str, Any] = field(default_factory=dict)
    """The user's own, which count before all others."""

    @property
    def base64(self) -> list[str]:
        """The pictures in base64."""
        return [url.partition(",")[2] for url in self.pictures]


@dataclass(frozen=True, kw_only=True)
class Completion:
    """An answer, whichever interface it came by."""

    document: Mapping[str, Any]
    text: str = ""
    """Without thoughts."""
    thought: str = ""
    refusal: str = ""
    """The server's words, if it withheld the answer."""
    ending: AnswerEnding
    """Why it ended."""
    error: Any = None
    """What is said of an error beside the answer."""
    tokens: tuple[int, int] = (0, 0)
    """Read and written, thoughts included; zeros if the server does not say."""
    entries: Sequence[Any] = ()
    """The most probable first tokens, or those requested: `token` and `logprob` each."""

    @property
    def reply_status(self) -> Status:
        """`ok`, `cut_off` and `refused` as for `records.Reply`; an answer that has `failed` is none."""
        return {Ended.CUT_OFF: Status.CUT_OFF, Ended.REFUSED: Status.REFUSED}.get(self.ending.meaning, Status.OK)


@dataclass(frozen=True, kw_only=True)
class ChatInterface:
    """One interface."""

    name: str
    """Part of keys, unless it is OpenAI's."""
    path: str
    """`{model}` is the model's name."""
    header: tuple[str, str] | None = None
    """Name and form of the header for the key; None: OpenAI's."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further ones."""
    body: Callable[[Chat], JsonObject]
    read: Callable[[Mapping[str, Any]], Completion | None]
    """None: it is no answer of this interface."""
    taken: tuple[str, ...]
    """Fields that `call` cannot set."""
    says: Mapping[str, str]
    """What an answer says of its model, by the name in the records."""
    limited: bool = False
    """True if a request without a limit is refused."""
    schemas: Mapping[str, Way]
    thinking: Mapping[str, Way] = field(default_factory=dict)
    budgets: Mapping[str, Way] = field(default_factory=dict)
    logprobs: Mapping[str, Way] = field(default_factory=dict)
    decisions: Mapping[str, Mapping[str, Decision]] = field(default_factory=dict)
    """What a server may offer, and is tried: see `chat_servers`."""
    tokenizes: bool = False
    """True if a server may have a path that shows a text's tokens."""
    source: str


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _words(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(*values: object) -> int:
    return sum(value for value in values if type(value) is int and value > 0)


# -- OpenAI's chat protocol --

THOUGHTS = ("reasoning_content", "reasoning")
"""Where servers put thoughts: SGLang, transformers, llama.cpp and older vLLM; vLLM 0.33."""
KEYWORDS = set(
    "audio frequency_penalty logit_bias logprobs max_completion_tokens max_tokens metadata modalities moderation n "  # noqa: SIM905
    "parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention "
    "reasoning_effort response_format safety_identifier seed service_tier stop store temperature top_logprobs top_p "
    "user verbosity web_search_options extra_query extra_body".split()
)
"""What `call` may have (openai 3.57.0 resources/chat/completions); what a server alone knows is in `extra_body`."""
TEXT_PARTS = (None, "text", "output_text")
"""Types of the parts of a content that are the answer: OpenAI's, Mistral's; those of its Responses. Others are thoughts
(`thinking`, `reasoning`), or no text."""


def _chat_body(chat: Chat) -> JsonObject:
    shown: list[JsonObject] = [{"type": "image_url", "image_url": {"url": url}} for url in chat.pictures]
    messages: list[JsonObject] = [{"role": "user", "content": [*shown, {"type": "text", "text": chat.user}]}]
    if chat.system:
        messages.insert(0, {"role": "system", "content": chat.system})
    call = {name: value for name, value in chat.call.items() if name not in ("extra_body", "extra_query")}
    body: JsonObject = {} if chat.seed is None else {"seed": chat.seed}
    body |= {"model": chat.model, "messages": messages, **chat.settings, **call}
    if chat.limit is not None:
        body = {chat.limited_by or "max_tokens": chat.limit, **body}
    if chat.temperature is not None:
        body["temperature"] = chat.temperature
    return {**body, **chat.call.get("extra_body", {})}


def _chat_read(document: Mapping[str, Any]) -> Completion | None:
    choices = _list(document.get("choices"))
    choice = _mapping(choices[0]) if choices else {}
    message = choice.get("message")
    if not isinstance(message, Mapping):
        return None
    content = message.get("content")
    if isinstance(content, list):  # text may also come in parts, beside thoughts
        parts = [part for part in map(_mapping, content) if part.get("type") in TEXT_PARTS]
        content = "".join(str(part.get("text", "")) for part in parts)
    refusal = "" if message.get("content") else str(message.get("refusal") or "")
    usage = _mapping(document.get("usage"))
    first = _list(_mapping(choice.get("logprobs")).get("content"))[:1]
    error = choice.get("error") or message.get("error")
    reasons = (choice.get("finish_reason"), choice.get("native_finish_reason"))
    return Completion(
        document=document,
        text=str(content or ""),
        thought=next((str(thought) for name in THOUGHTS if (thought := message.get(name))), ""),
        refusal=refusal,
        ending=read_ending("refusal") if refusal else read_ending(*reasons, error=error, may_be_silent=True),
        error=error,
        tokens=(_count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))),
        entries=_list(_mapping(first[0] if first else None).get("top_logprobs")),
    )


CHAT_COMPLETIONS = ChatInterface(
    name="chat completions",
    path="/chat/completions",
    body=_chat_body,
    read=_chat_read,
    taken=("model", "messages", "max_tokens", "temperature", "stream", "n", "timeout", "extra_headers"),
    says={"model": "model", "system_fingerprint": "system_fingerprint"},
    schemas=SCHEMAS,
    thinking=THINKING,
    budgets=THINKING_BUDGETS,
    logprobs=LOGPROBS,
    decisions=DECISIONS,
    tokenizes=True,
    source="openai 3.54.0 types/chat; vllm, sglang, llama.cpp and Ollama by their documentation",
)
OPENAI = ChatInterface(
    name="chat completions",
    path="/chat/completions",
    body=_chat_body,
    read=_chat_read,
    taken=CHAT_COMPLETIONS.taken,
    says=CHAT_COMPLETIONS.says,
    schemas={"response_format": SCHEMAS["response_format"]},
    logprobs={"top_logprobs": LOGPROBS["top_logprobs"]},
    source="openai 3.54.0 types/chat",
)
"""OpenAI's own service, without what only servers of one's own have."""


# -- Anthropic's Messages --


def _messages_body(chat: Chat) -> JsonObject:
    shown: list[JsonObject] = [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": picture}}
        for picture in chat.base64
    ]
    content: list[JsonObject] = [*shown, {"type": "text", "text": chat.user}]
    body: JsonObject = {"model": chat.model, "max_tokens": chat.limit}
    if chat.system:
        body["system"] = chat.system
    if chat.temperature is not None:
        body["temperature"] = chat.temperature
    body |= {"messages": [{"role": "user", "content": content}], **chat.settings, **chat.call}
    # Effort and schema are two settings in one field.
    config = {**_mapping(chat.settings.get("output_config")), **_mapping(chat.call.get("output_config"))}
    return {**body, "output_config": config} if config else body


def _messages_read(document: Mapping[str, Any]) -> Completion | None:
    content = document.get("content")
    if not isinstance(content, list) or "stop_reason" not in document:
        return None
    blocks = [_mapping(block) for block in content]
    usage, details = _mapping(document.get("usage")), _mapping(document.get("stop_details"))
    ending = read_ending(document["stop_reason"], error=document.get("error"))
    said = [_words(details.get(name)) for name in ("category", "explanation")]
    read = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return Completion(
        document=document,
        text="".join(_words(block.get("text")) for block in blocks if block.get("type") == "text"),
        thought="".join(_words(block.get("thinking")) for block in blocks if block.get("type") == "thinking"),
        refusal=": ".join(filter(None, (ending.word, *said))) if ending.meaning is Ended.REFUSED else "",
        ending=ending,
        error=document.get("error"),
        tokens=(_count(*map(usage.get, read)), _count(usage.get("output_tokens"))),
    )


MESSAGES = ChatInterface(
    name="messages",
    path="/messages",
    header=("x-api-key", "{}"),
    headers={"anthropic-version": "2023-06-01"},
    body=_messages_body,
    read=_messages_read,
    taken=("model", "messages", "system", "max_tokens", "temperature", "stream"),
    says={"model": "model"},
    limited=True,
    schemas={
        "output_config": Way(
            fields={"output_config": {"format": {"type": "json_schema", "schema": SLOT}}},
            without=(
                *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
                *("minLength", "maxLength", "minItems", "maxItems", "uniqueItems"),
            ),
            source="anthropic 2.14.0 types/json_output_format_param.py; platform.claude.com: structured outputs. "
            "Bounds of numbers, texts and lists are refused; answers are checked for them here",
        )
    },
    source="anthropic 2.14.0 types/message_create_params.py, stop_reason.py, refusal_stop_details.py, usage.py",
)


# -- Google's generateContent --

_BESIDE = ("safetySettings", "tools", "toolConfig", "cachedContent", "labels", "serviceTier")
"""Fields of a request that are no `generationConfig`."""


def _generate_body(chat: Chat) -> JsonObject:
    shown = [{"inlineData": {"mimeType": "image/png", "data": picture}} for picture in chat.base64]
    given: JsonObject = {"maxOutputTokens": chat.limit, "temperature": chat.temperature, "seed": chat.seed}
    settings = {name: value for name, value in given.items() if value is not None}
    settings |= {**chat.settings, **{name: value for name, value in chat.call.items() if name not in _BESIDE}}
    body: JsonObject = {"contents": [{"role": "user", "parts": [*shown, {"text": chat.user}]}]}
    if chat.system:
        body["systemInstruction"] = {"parts": [{"text": chat.system}]}
    beside = {name: value for name, value in chat.call.items() if name in _BESIDE}
    return {**body, "generationConfig": settings, **beside}


def _generate_read(document: Mapping[str, Any]) -> Completion | None:
    feedback, candidates = document.get("promptFeedback"), _list(document.get("candidates"))
    if not candidates and "usageMetadata" not in document and feedback is None:
        return None
    candidate = _mapping(candidates[0]) if candidates else {}
    parts = [_mapping(part) for part in _list(_mapping(candidate.get("content")).get("parts"))]
    blocked = _words(_mapping(feedback).get("blockReason"))
    ending = read_ending(candidate.get("finishReason"), blocked=blocked, error=document.get("error"))
    usage = _mapping(document.get("usageMetadata"))
    refusal = ""
    if ending.meaning is Ended.REFUSED:
        words = _mapping(feedback).get("blockReasonMessage") if blocked else candidate.get("finishMessage")
        refusal = ": ".join(filter(None, (f"blocked, {blocked}" if blocked else ending.word, _words(words))))
    first = _list(_mapping(candidate.get("logprobsResult")).get("topCandidates"))[:1]
    entries = _list(_mapping(first[0] if first else None).get("candidates"))
    return Completion(
        document=document,
        text="".join(_words(part.get("text")) for part in parts if part.get("thought") is not True),
        thought="".join(_words(part.get("text")) for part in parts if part.get("thought") is True),
        refusal=refusal,
        ending=ending,
        error=document.get("error"),
        tokens=(
            _count(usage.get("promptTokenCount")),
            _count(usage.get("candidatesTokenCount"), usage.get("thoughtsTokenCount")),
        ),
        entries=[
            {"token": token.get("token"), "logprob": token.get("logProbability")} for token in map(_mapping, entries)
        ],
    )


GENERATE_CONTENT = ChatInterface(
    name="generateContent",
    path="/models/{model}:generateContent",
    header=("x-goog-api-key", "{}"),
    body=_generate_body,
    read=_generate_read,
    taken=("model", "contents", "systemInstruction", "maxOutputTokens", "temperature", "candidateCount"),
    says={"model": "modelVersion"},
    schemas={
        "responseJsonSchema": Way(
            fields={"responseMimeType": "application/json", "responseJsonSchema": SLOT},
            source="google-genai 3.6.1 types.GenerateContentConfig.response_json_schema",
        )
    },
    logprobs={
        "responseLogprobs": Way(
            fields={"responseLogprobs": True, "logprobs": 20},
            source="google-genai 3.6.1 types.GenerateContentConfig.logprobs: the most probable tokens, at most 20",
        )
    },
    source="google-genai 3.6.1 types.FinishReason, BlockedReason, GenerateContentResponseUsageMetadata",
)
