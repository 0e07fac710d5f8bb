"""What servers say in words of their own: each word, what it means, and where it is from. All clients read it here.

A word that no table lists is never good: an ending is then a failure, an error is the request's own until the engine
knows more (`edit_eval.execution.engine.blame`).
"""

from __future__ import annotations

import email.utils
import json
import math
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar

# -- how an answer ended --


class Ended(str, Enum):
    """What an ending means."""

    WHOLE = "whole"
    CUT_OFF = "cut off"
    REFUSED = "refused"
    FAILED = "failed"
    """The server gave up, or did something else than it was asked for; so is a word that is not known."""
    UNDER_WAY = "under way"
    """It has not ended."""


Meaning = TypeVar("Meaning")


@dataclass(frozen=True)
class Saying(Generic[Meaning]):
    """What others say in one of these ways, and mean one thing by."""

    words: str
    """In lower case, separated by spaces; `_` stands for a space, a hyphen and a lower line. Of an error: a pattern,
    searched in what its body says, without regard to case."""
    meaning: Meaning
    source: str
    statuses: tuple[int, ...] = ()
    """Of an error, the only statuses with which it means that; empty: any."""


ENDINGS: tuple[Saying[Ended], ...] = (
    Saying("stop", Ended.WHOLE, "openai 3.57.0 types/chat/chat_completion.py; google-genai 3.6.1 FinishReason"),
    Saying("eos eos_token", Ended.WHOLE, "text-generation-inference FinishReason; togethercomputer/together-python"),
    Saying("end_turn stop_sequence", Ended.WHOLE, "anthropic 2.14.0 types/stop_reason.py"),
    Saying("complete completed", Ended.WHOLE, "Cohere's finish_reason; openai 3.57.0 types/responses status"),
    Saying("ready succeeded", Ended.WHOLE, "docs.bfl.ai: get_result; replicate 1.0.7 prediction.status"),
    Saying("length", Ended.CUT_OFF, "openai 3.57.0 types/chat/chat_completion.py"),
    Saying("max_tokens model_context_window_exceeded", Ended.CUT_OFF, "anthropic 2.14.0 types/stop_reason.py"),
    Saying("continuation", Ended.CUT_OFF, "google-genai 3.6.1 FinishReason"),
    Saying("max_output_tokens incomplete", Ended.CUT_OFF, "openai 3.57.0 types/responses; BerriAI/litellm#37710"),
    Saying("model_length", Ended.CUT_OFF, "mistralai FinishReason: the model's own limit"),
    Saying("max_length token_limit", Ended.CUT_OFF, "ibm watsonx stop_reason; AI21's finish_reason"),
    Saying("abort aborted", Ended.CUT_OFF, "vllm 0.33.0 FinishReason; sgl-project/sglang#2956: what it had by then"),
    Saying("content_filter", Ended.REFUSED, "openai 3.57.0 types/chat/chat_completion.py; Azure"),
    Saying("refusal", Ended.REFUSED, "anthropic 2.14.0 types/stop_reason.py"),
    Saying("sensitive", Ended.REFUSED, "docs.z.ai: chat completion; langgenius/dify#7559, promptfoo/promptfoo#9905"),
    Saying("error_toxic", Ended.REFUSED, "Cohere's finish_reason"),
    Saying("guardrail_intervened content_filtered", Ended.REFUSED, "Amazon Bedrock Converse StopReason"),
    Saying(
        "safety recitation language blocklist prohibited_content spii image_safety image_prohibited_content "
        "image_recitation escalation model_armor",
        Ended.REFUSED,
        "google-genai 3.6.1 FinishReason",
    ),
    Saying("jailbreak", Ended.REFUSED, "google-genai 3.6.1 BlockedReason"),
    Saying("request_moderated content_moderated", Ended.REFUSED, "docs.bfl.ai: get_result, a task's status"),
    Saying("has_nsfw_concepts nsfw_content_detected", Ended.REFUSED, "fal-client 1.0.3; diffusers' pipelines"),
    Saying("respect_moderation", Ended.REFUSED, "xai-sdk 1.21.0: false for a picture kept back; vercel/ai#19168"),
    Saying("error", Ended.FAILED, "openrouter.ai: errors; togethercomputer/together-python#153"),
    Saying("network_error", Ended.FAILED, "docs.z.ai: chat completion; anomalyco/opencode#44358"),
    Saying("insufficient_system_resource", Ended.FAILED, "api-docs.deepseek.com: create-chat-completion"),
    Saying("other unknown", Ended.FAILED, "google-genai 3.6.1 FinishReason; apache/maka#2297"),
    Saying("timeout cancelled canceled failed", Ended.FAILED, "Cohere; openai 3.57.0 types/responses; replicate 1.0.7"),
    Saying("tool_calls function_call", Ended.FAILED, "openai 3.57.0 types/chat/chat_completion.py: no text"),
    Saying("tool_use pause_turn", Ended.FAILED, "anthropic 2.14.0 types/stop_reason.py: to be gone on with"),
    Saying("compaction", Ended.FAILED, "anthropic 2.14.0 types/beta/beta_stop_reason.py"),
    Saying(
        "finish_reason_unspecified malformed_function_call unexpected_tool_call too_many_tool_calls "
        "missing_thought_signature malformed_response pup_limited_disabled",
        Ended.FAILED,
        "google-genai 3.6.1 FinishReason; NousResearch/hermes-agent#83886",
    ),
    Saying("blocked_reason_unspecified", Ended.REFUSED, "google-genai 3.6.1 BlockedReason: blocked all the same"),
    Saying("no_image image_other", Ended.FAILED, "google-genai 3.6.1 FinishReason: worth one more attempt"),
    Saying("pending queued processing", Ended.UNDER_WAY, "docs.bfl.ai: get_result; fal-client 1.0.3"),
    Saying("task_not_found", Ended.UNDER_WAY, "docs.bfl.ai: get_result; so soon after it was taken: not there yet"),
    Saying("starting", Ended.UNDER_WAY, "replicate 1.0.7 prediction.status"),
    Saying("running in_queue in_progress", Ended.UNDER_WAY, "dashscope 2.0.2 TaskStatus; fal-client 1.0.3 status"),
)

_ENDINGS = {word: row.meaning for row in ENDINGS for word in row.words.split()}


class AnswerEnding(NamedTuple):
    """How an answer ended."""

    meaning: Ended
    word: str
    """The server's own; empty if it gave none."""
    known: bool

    @property
    def failure(self) -> str:
        """Why the answer is none; empty if it is one, or was cut off or refused."""
        if self.meaning not in (Ended.FAILED, Ended.UNDER_WAY):
            return ""
        if not self.word:
            return "it does not say how it ended"
        if self.word.lower() in ("tool_calls", "function_call", "tool_use"):
            return f"it is a call of a tool ({self.word}), no text"
        return f"it ended with {self.word}{'' if self.known else ', a word that is not known'}"


def read_ending(
    word: object, *others: object, blocked: object = "", error: object = None, may_be_silent: bool = False
) -> AnswerEnding:
    """Reads why an answer ended.

    Of `others` (a second reason beside it, such as OpenRouter's of the host) one that is known, and worse, counts. One
    that is not known decides nothing: it is the host's own name for what the first, known word already says.
    `blocked`: why a question was not let in, if so: a refusal in any word.
    `error`: what a server says of an error beside its answer; with one no answer is whole, or merely cut off.
    `may_be_silent`: no reason is a whole answer, where servers of that protocol leave it out.
    """
    if blocked:
        return AnswerEnding(Ended.REFUSED, str(blocked), _normal(str(blocked)) in _ENDINGS)
    said = str(word or "").strip()
    meaning = _ENDINGS.get(_normal(said)) if said else Ended.WHOLE if may_be_silent else Ended.FAILED
    ending = AnswerEnding(meaning or Ended.FAILED, said, bool(said) and meaning is not None)
    for other in map(str, filter(None, others)):
        worse = _ENDINGS.get(_normal(other), Ended.WHOLE)
        if ending.meaning is Ended.WHOLE and worse is not Ended.WHOLE:
            ending = AnswerEnding(worse, other, True)
    if error and ending.meaning in (Ended.WHOLE, Ended.CUT_OFF):
        return AnswerEnding(Ended.FAILED, said or "an error", True)
    return ending


def _normal(word: str) -> str:
    return re.sub(r"[\s-]+", "_", word.strip().rpartition(".")[2].lower())


# -- what becomes of a batch --


class BatchStage(Enum):
    """Where a batch is."""

    WAITS = "waits"
    DONE = "done"
    SHORT = "ended before its end"
    FAILED = "not taken"
    UNKNOWN = "unknown"
    """A word that is not known: it is never taken for an end."""


class BatchOutcome(Enum):
    """What has become of a question in a batch."""

    ANSWER = "answer"
    ERROR = "error"
    UNASKED = "not asked"
    UNKNOWN = "unknown"
    """A word that is not known: never an answer."""


BATCH_STATES: tuple[Saying[BatchStage], ...] = (
    Saying("validating in_progress finalizing cancelling", BatchStage.WAITS, "openai 3.57.0 types/batch.py"),
    Saying("completed", BatchStage.DONE, "openai 3.57.0 types/batch.py"),
    Saying("expired cancelled", BatchStage.SHORT, "openai 3.57.0 types/batch.py: with what was done by then"),
    Saying("failed", BatchStage.FAILED, "openai 3.57.0 types/batch.py; google-genai 3.6.1 JobState"),
    Saying("canceling", BatchStage.WAITS, "anthropic 2.14.0 types/messages/message_batch.py"),
    Saying("ended", BatchStage.DONE, "anthropic 2.14.0 types/messages/message_batch.py: each result says how"),
    Saying("queued pending running paused updating", BatchStage.WAITS, "google-genai 3.6.1 JobState"),
    Saying("succeeded partially_succeeded", BatchStage.DONE, "google-genai 3.6.1 JobState"),
)
BATCH_RESULTS: tuple[Saying[BatchOutcome], ...] = (
    Saying("succeeded", BatchOutcome.ANSWER, "anthropic 2.14.0 types/messages/message_batch_result.py"),
    Saying("errored", BatchOutcome.ERROR, "anthropic 2.14.0 types/messages/message_batch_result.py"),
    Saying("canceled expired", BatchOutcome.UNASKED, "anthropic 2.14.0 types/messages/message_batch_result.py"),
    Saying("batch_expired batch_cancelled", BatchOutcome.UNASKED, "OpenAI: platform.openai.com/docs/guides/batch"),
)
_STAGES = {word: row.meaning for row in BATCH_STATES for word in row.words.split()}
_OUTCOMES = {word: row.meaning for row in BATCH_RESULTS for word in row.words.split()}


def read_stage(word: str) -> BatchStage:
    """Reads where a batch is; Google's words have `BATCH_STATE_` or `JOB_STATE_` before them."""
    return _STAGES.get(_normal(word.rpartition("_STATE_")[2]), BatchStage.UNKNOWN)


def read_outcome(word: str) -> BatchOutcome:
    """Reads what has become of a question in a batch."""
    return _OUTCOMES.get(_normal(word), BatchOutcome.UNKNOWN)


ERROR_STATUSES: Mapping[object, int] = {
    **{"invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403},
    **{"not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "api_error": 500},
    **{"timeout_error": 504, "overloaded_error": 529},
    **{1: 499, 3: 400, 4: 504, 5: 404, 7: 403, 8: 429, 9: 400, 11: 400, 13: 500, 14: 503, 16: 401},
}
"""The status of an error that comes without one, as in the results of a batch: by Anthropic's types (anthropic 2.14.0
types/shared; platform.claude.com: errors), and by google.rpc.Code (googleapis google/rpc/code.proto)."""
CANCELLED = 1
"""The google.rpc.Code of what was not done."""

# -- what an error says --


class Says(str, Enum):
    """What an error is about."""

    REFUSED = "refused"
    """A policy forbids this request: an answer, and final."""
    ACCOUNT = "account"
    """The account's credit or rights: every request would end so."""
    KEY = "key"
    """The key is none of theirs: so would every request."""
    DENIED = "denied"
    """The account, or this request alone."""
    DAY = "day"
    """The quota of the day, or of longer."""
    BUSY = "busy"
    """Busy or away: it asks to wait."""
    OTHER = "other"
    """Not known to be any of these."""


ERRORS: tuple[Saying[Says], ...] = (
    # Words that others further down would take for something else.
    Saying(r"AllocationQuota\.FreeTierOnly", Says.ACCOUNT, "alibabacloud.com/help/model-studio: error codes"),
    Saying(r"\bThrottling\b", Says.BUSY, "Model Studio: error codes; can1357/oh-my-pi#8476: its insufficient_quota"),
    Saying(r"resource has been temporarily blocked", Says.ACCOUNT, "Azure: pollinations/pollinations#9707"),
    Saying(r"\blimit: 0\b", Says.ACCOUNT, "Gemini: UKGovernmentBEIS/inspect_ai#3215", (429,)),
    # The quota of the day.
    Saying(
        r"PerDay|_per_day|free-models-per-day", Says.DAY, "google-gemini/gemini-cli#8437; langgenius/dify#19838", (429,)
    ),
    Saying(r"\bper day\b|\b[RT]PD\b", Says.DAY, "OpenAI; continuedev/continue#10920; farion1231/cc-switch#240", (429,)),
    Saying(r"\bdaily\b.{0,20}\b(?:limit|quota)\b|daily_\w*limit", Says.DAY, "screenpipe/screenpipe#4594", (403, 429)),
    # What a policy forbids.
    Saying(r"\bmoderation_blocked\b", Says.REFUSED, "OpenAI's image models: 400"),
    Saying(r"\bcontent_policy_violation\b", Says.REFUSED, "OpenAI, Azure; fal.ai/docs/errors: 422"),
    Saying(r"ContentPolicyViolation\w*", Says.REFUSED, "litellm's proxy: BerriAI/litellm#16231, #11113"),
    Saying(r"\bcontent_filter\b|ResponsibleAIPolicyViolation", Says.REFUSED, "Azure: tatsu-lab/alpaca_eval#227"),
    Saying(r"content management policy", Says.REFUSED, "Azure: compl-ai/compl-ai#20"),
    Saying(r"\bcontent_safety_violation\b", Says.REFUSED, "MAI's image models: microsoft/PyRIT#1890"),
    Saying(
        r"\b(?:bio_policy|misalignment_policy_violation)\b", Says.REFUSED, "openai 3.57.0 responses/response_error.py"
    ),
    Saying(r"data_?inspection_?failed", Says.REFUSED, "DashScope: QwenLM/qwen-code#3145"),
    Saying(r"\w*SensitiveContentDetected", Says.REFUSED, "Ark: openstory-so/openstory#1680"),
    Saying(r"\bnew_sensitive\b|is sensitive, please check", Says.REFUSED, "MiniMax: MiniMax-AI/MiniMax-M3#11, a 500"),
    Saying(
        r"flagged by (?:moderation|a content checker)", Says.REFUSED, "OpenRouter: errors, a 403; fal.ai/docs/errors"
    ),
    Saying(r"flagged as sensitive|\bE005\b", Says.REFUSED, "Replicate: pollinations/pollinations#10801"),
    Saying(r"\bNSFW content\b", Says.REFUSED, "Replicate: pollinations/pollinations#11809"),
    Saying(r"content[ _-]moderation", Says.REFUSED, "xAI; docs.bfl.ai: a task's status", (400, 403, 422)),
    Saying(r"did not respect moderation", Says.REFUSED, "xai-sdk 1.21.0; vercel/ai#19168"),
    Saying(r"PUBLIC_ERROR_UNSAFE_\w+", Says.REFUSED, "Google's Flow: ffroliva/gflow-cli#342"),
    Saying(r"is blocked, as it may violate our policies", Says.REFUSED, "Imagen: epam/ai-dial-adapter-vertexai#48"),
    Saying(
        r"\b(?:IMAGE_SAFETY|PROHIBITED_CONTENT|IMAGE_PROHIBITED_CONTENT|IMAGE_RECITATION|BLOCKLIST|SPII)\b",
        Says.REFUSED,
        "google-genai 3.6.1 FinishReason, passed on as an error by proxies",
    ),
    # The account.
    Saying(r"\binsufficient_quota\b", Says.ACCOUNT, "OpenAI: a 429 that waiting does not cure"),
    Saying(r"\binsufficient_user_quota\b|quota is not enough", Says.ACCOUNT, "songquanpeng/one-api#1270: a 403"),
    Saying(r"\bexceeded_current_quota_error\b", Says.ACCOUNT, "platform.moonshot.ai: errors"),
    Saying(r"\bAPI_KEY_INVALID\b|\binvalid_api_key\b|Incorrect API key", Says.KEY, "Gemini: a 400; OpenAI"),
    Saying(r"\bInvalidApiKey\b", Says.KEY, "DashScope: HKUDS/nanobot#4048"),
    Saying(r"\bArrearage\b", Says.ACCOUNT, "DashScope: HKUDS/nanobot#4048"),
    Saying(r"\bAccountOverdueError\b", Says.ACCOUNT, "docs.byteplus.com/ModelArk: error codes"),
    Saying(
        r"credit balance is too low|\bbilling_error\b", Says.ACCOUNT, "Anthropic: a 400; anthropic 2.14.0 ErrorType"
    ),
    Saying(r"\bauthentication_error\b", Says.KEY, "anthropic 2.14.0 ErrorType"),
    Saying(r"spend_limit_reached|organization_on_hold", Says.ACCOUNT, "anthropic 2.14.0 types/shared/error_details.py"),
    Saying(r"billing_(?:hard_limit_reached|not_active)|account_deactivated", Says.ACCOUNT, "OpenAI: error codes"),
    Saying(r"User is locked", Says.ACCOUNT, "fal-ai/fal#1147, #1168: a 403"),
    Saying(r"Key limit exceeded|Insufficient credits?\b", Says.ACCOUNT, "OpenRouter: errors; Replicate: billing"),
    Saying(r"\bpermission_error\b", Says.DENIED, "anthropic 2.14.0 ErrorType: the key, or this model"),
    # What asks to wait.
    Saying(r"\boverloaded_error\b|\bengine_overloaded", Says.BUSY, "anthropic 2.14.0 ErrorType; Wei-Shaw/sub2api#5563"),
    Saying(r"\brate_limit(?:_\w+)?\b", Says.BUSY, "openai 3.57.0; anthropic 2.14.0 ErrorType; Moonshot"),
    Saying(r"\bRESOURCE_EXHAUSTED\b|\bUNAVAILABLE\b", Says.BUSY, "Gemini: googleapis/python-genai#2065"),
    Saying(r"\bRateLimitExceeded|\bServerOverloaded\b", Says.BUSY, "docs.byteplus.com/ModelArk: error codes"),
    Saying(r"\bunavailable_error\b", Says.BUSY, "llama.cpp while it loads: mostlygeek/llama-swap#146"),
    Saying(r"(?:model|server|engine) is (?:currently )?(?:overloaded|busy)", Says.BUSY, "Gemini; cline/cline#440"),
    Saying(r"due to high demand", Says.BUSY, "Replicate's E003"),
    Saying(r"\btoken_limit_exceeded\b", Says.BUSY, "OpenAI's batches: openai/openai-python#2084"),
)


class StatusWords(NamedTuple):
    """What a status says by itself."""

    statuses: tuple[int, ...]
    meaning: Says
    source: str
    again: bool = False
    """True if another attempt may succeed."""


STATUSES: tuple[StatusWords, ...] = (
    StatusWords((402,), Says.ACCOUNT, "RFC 9110: payment required; OpenRouter, BFL, Replicate"),
    StatusWords((401, 403), Says.DENIED, "RFC 9110; RooCodeInc/Roo-Code#6459: at times of one request alone"),
    StatusWords((429,), Says.BUSY, "RFC 6585", again=True),
    StatusWords((502, 503), Says.BUSY, "RFC 9110: a gateway without its server, a server under load", again=True),
    StatusWords((529,), Says.BUSY, "Anthropic: anthropics/anthropic-sdk-typescript#616", again=True),
    StatusWords((521, 522, 523, 530), Says.BUSY, "Cloudflare: pollinations/pollinations#8201", again=True),
    StatusWords((408, 409, 425), Says.OTHER, "openai 3.57.0 _base_client.py, 425 by RFC 8470", again=True),
)
"""Any other below 500 is final, any other from there on is worth another attempt."""

OF_THE_ACCOUNT = (Says.ACCOUNT, Says.KEY, Says.DAY)
"""What no other request would change."""

FREE = (400, 401, 402, 403, 404, 405, 413, 415, 422, 429, 503, 521, 522, 523, 529, 530)
"""Statuses with which nothing is charged, since no work was done."""


class Complaint(NamedTuple):
    """What an error says."""

    meaning: Says
    word: str
    """The words by which it is known; empty if it is its status alone."""
    wait: float | None
    """Seconds that it asks to wait."""
    again: bool
    """True if another attempt may succeed."""


def read_error(status: int, body: object, headers: Mapping[str, str] | None = None) -> Complaint:
    """Reads an error: its status, its body as it came (a text, or parsed), and its headers."""
    texts = [*_find_texts(_parse_body(body))]
    row = next((row for row in STATUSES if status in row.statuses), None)
    meaning, again = (row.meaning, row.again) if row else (Says.OTHER, status >= 500)
    word = ""
    for words in ERRORS:
        if words.statuses and status not in words.statuses:
            continue
        found = next((match for text in texts if (match := re.search(words.words, text, re.I))), None)
        if found is not None:
            meaning, word = words.meaning, found[0]
            again = meaning is Says.BUSY or (meaning is Says.OTHER and again)
            break
    wait = read_wait(
        headers or {}, texts if meaning is Says.DAY else [*texts, json.dumps(_parse_body(body), default=str)]
    )
    if meaning is Says.DAY:  # a quota that comes back bit by bit, as OpenAI's does, is waited for if that is told
        again = wait is not None
    return Complaint(meaning, word, wait if again else None, again)


def read_reason(body: object) -> str:
    """Returns the reason in an error's body, in any of its forms."""
    for key in ("error", "message", "detail"):
        if isinstance(body, dict) and key in body:
            body = body[key]
    return body if isinstance(body, str) else json.dumps(body, default=str) if body else ""


_CODES = ("code", "type", "status", "reason", "reasons", "quotaId", "quotaMetric", "error_type", "error_code")
_TEXTS = ("error", "message", "msg", "detail", "details", "error_message", "error_msg", "description", "raw", "title")
_DEPTH = 8


def _find_texts(document: object, depth: int = _DEPTH) -> Iterator[str]:
    """Yields what an error's body says, without what it repeats of the request (`input`, `flagged_input`, ...)."""
    if isinstance(document, str):
        yield document
    elif isinstance(document, list) and depth:
        for part in document:
            yield from _find_texts(part, depth - 1)
    elif isinstance(document, Mapping) and depth:
        for name, value in document.items():
            if isinstance(value, str):
                if name in _CODES or name in _TEXTS:
                    inner = _parse_body(value)
                    yield from [value] if isinstance(inner, str) else _find_texts(inner, depth - 1)
            elif name not in ("input", "flagged_input", "prompt", "messages"):
                yield from _find_texts(value, depth - 1) if isinstance(value, (Mapping, list)) else ()


def _parse_body(body: object) -> Any:
    if isinstance(body, (bytes, bytearray)):
        body = bytes(body).decode("utf-8", "replace")
    if not isinstance(body, str) or body.lstrip()[:1] not in ("{", "["):
        return body
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body


# -- how long to wait --


class WaitWords(NamedTuple):
    """Where a wait stands."""

    place: str
    """A header's name, or what stands before the time in a text."""
    source: str


WAIT_HEADERS: tuple[WaitWords, ...] = (
    WaitWords("retry-after-ms", "openai 3.57.0 _base_client.py"),
    WaitWords("x-ms-retry-after-ms", "Azure: microsoft/kernel-memory#795"),
    WaitWords("retry-after", "RFC 9110: a number of seconds, or a date"),
    WaitWords("llm_provider-retry-after", "litellm's proxy 1.106.2: what the server behind it said"),
)
WAIT_TEXTS: tuple[WaitWords, ...] = (
    WaitWords(r'"retryDelay":\s*"', "google.rpc.RetryInfo, in the details of Gemini's 429"),
    WaitWords(r'"retry_after(?:_seconds)?":\s*', "OpenRouter's metadata of a 429"),
    WaitWords(r"resets in ~?", "Replicate's 429"),
    WaitWords(
        r"(?:try again|retry) (?:in|after) ~?",
        "OpenAI; continuedev/continue#10920: 9m38.016s; Azure: icereed/paperless-gpt#814; CherryHQ/cherry-studio#2959",
    ),
)
UNITS: Mapping[str, float] = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_UNIT = (
    r"(?:(?P<ms>ms|milliseconds?)|(?P<s>s|secs?|seconds?)|(?P<m>m|mins?|minutes?)|(?P<h>h|hrs?|hours?)|(?P<d>d|days?))"
)
_SPAN = rf"\s*(?P<number>\d+(?:\.\d+)?) ?{_UNIT}(?![a-z])"


def read_wait(headers: Mapping[str, str], texts: list[str]) -> float | None:
    """Returns the seconds that an answer asks to wait, by its headers, else in its words; None if it does not say."""
    for row in WAIT_HEADERS:
        try:
            seconds = float(headers.get(row.place) or "") * UNITS["ms" if row.place.endswith("-ms") else "s"]
        except ValueError:
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    if (until := _timestamp(headers.get("retry-after"))) is not None:
        # By the server's own clock, if it sends one, so that this machine's clock does not matter.
        now = _timestamp(headers.get("date"))
        return max(0.0, until - (time.time() if now is None else now))
    for row in WAIT_TEXTS:
        for text in texts:
            if (begin := re.search(row.place, text, re.I)) and (wait := _span(text, begin.end())) is not None:
                return wait
    return None


def _span(text: str, place: int) -> float | None:
    """Returns the seconds that a time such as `1h2m3.5s` takes; a number without a unit is one of seconds."""
    seconds, pattern = None, re.compile(_SPAN, re.I)
    while (part := pattern.match(text, place)) is not None:
        unit = next(name for name in UNITS if part[name])
        seconds = (seconds or 0.0) + float(part["number"]) * UNITS[unit]
        place = part.end()
    if seconds is None and (bare := re.match(r"(\d+(?:\.\d+)?)(?=\s*[,}\]]|\s*$)", text[place:])):
        return float(bare[1])
    return seconds


def _timestamp(date: str | None) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(date or "").timestamp()
    except (TypeError, ValueError):
        return None


# -- what usually helps --

HINTS: tuple[tuple[str, str, str], ...] = (
    (r"answered 404.*\bmodel\b", "is `model` its name as this server knows it?", "OpenAI, vLLM, Ollama"),
    (r"answered 40[45](?!.*/v\d+\)$)", "the base_url of most servers ends in /v1", "all servers of OpenAI's protocol"),
    (r"Unexpected endpoint or method", "the base_url of most servers ends in /v1", "LM Studio: a 200"),
    (r"answered 40[13](?!.* is not set\))", "does api_key_env name the variable with this server's key?", "RFC 9110"),
    (r"answered 413|too large|Payload Too Large", "set max_pixels, or raise the server's limit of a body", "nginx"),
    (r"[Aa]t most \d+ image", "raise the server's limit of pictures (`--limit-mm-per-prompt`)", "vLLM 0.33.0"),
    (
        r"maximum (?:model|context) length|context[_ ](?:length|window|size)",
        "set max_pixels: smaller pictures take fewer tokens; or raise the server's limit (`--max-model-len`)",
        "vLLM 0.33.0, llama.cpp, OpenAI",
    ),
    (r"answered 400.*HTTP request.*HTTPS|UNEXPECTED_EOF|EOF occurred", "is it https in base_url, or http?", "nginx"),
    (r"WRONG_VERSION_NUMBER|record layer failure", "this server uses http there, not https", "OpenSSL"),
    (
        r"CERTIFICATE_VERIFY_FAILED",
        "set SSL_CERT_FILE to a certificate authority's file that Python should trust",
        "OpenSSL",
    ),
)
"""Words of a final failure, what they usually mean, and who says them. The first that fits is given."""


def with_hint(text: str) -> str:
    """Returns the line with its usual meaning, if known."""
    return next((f"{text}; {hint}" for words, hint, _ in HINTS if re.search(words, text)), text)
