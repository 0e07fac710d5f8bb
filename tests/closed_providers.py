"""Providers of closed models for tests, all on one port of loopback: `http://127.0.0.1:PORT/gemini/v1beta`, ...

Each answers in the form that its pages document; what happens is decided by a word of the instruction:

    REFUSE    it declines to make the edit          BLOCK     it declines to read the instruction
    ALONE     words and no picture                  DRAFT     a draft of 64 x 64 comes before the picture
    WAIT      a 429 with the wait in a header       BODY      a 429 with the wait in its body
    GONE      the first address has expired         HALF      the first answer is cut off in the middle
    BUSY      the first answer is a 503             BROKE     the account has no credit
    LIMIT     a judge's answer is cut off           STOPS     a judge's answer ends for another reason
    LOST      a task is not found at first (404)

Anything else is a picture of 1024 pixels a side, in the shape asked for. Providers with tasks let each be asked for
once before it is done. `bill` has what each answer cost, `asked` what came in. Standard library and Pillow only.
"""

from __future__ import annotations

import base64
import email.parser
import email.policy
import io
import json
import re
import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from PIL import Image

ADDRESSES = {
    "openai": "/openai/v1",
    "gemini": "/gemini/v1beta",
    "openrouter": "/openrouter/api/v1",
    "fal": "/fal",
    "bfl": "/bfl/v1",
    "ark": "/ark/api/v3",
    "dashscope": "/dashscope/api/v1",
    "xai": "/xai/v1",
    "replicate": "/replicate/v1",
    "anthropic": "/anthropic/v1",
}
COSTS = {"openrouter": 0.0387, "bfl": 0.045}
"""What those that tell it say, in dollars."""
SPENT = {
    "openai": 0.031914,
    "gemini": 0.142,
    "xai": 0.022,
    "ark": 0.045,
    "dashscope": 0.03,
    "fal": 0.08,
    "replicate": 0.04,
}
"""What an edit by the others really costs."""
JUDGES = {
    "gemini-4": (1.5, 7.5),
    "gemini-3.8-flash": (0.75, 3.75),
    "gemini-3.5-flash-lite": (0.3, 2.5),
    "gemini-3.1-pro": (2.0, 12.0),
    "gemini-2.5-flash": (0.3, 2.5),
    "claude-opus-5-5": (4.0, 20.0),
    "claude-opus": (5.0, 25.0),
    "claude-sonnet": (2.0, 10.0),
    "claude-haiku-5": (0.1, 0.5),
    "claude-haiku-4": (1.0, 5.0),
    "gpt-6.1-sol": (2.0, 10.0),
    "gpt-6-luna": (0.1, 0.5),
    "gpt-5.4-mini": (0.75, 4.5),
    "gpt": (2.0, 10.0),
}
"""What a million tokens cost that judges read and write, by the beginning of their names."""
JUDGE = (2.0, 10.0)
"""What a million tokens cost that the judge at `openai` reads and writes."""


def drawn(size: tuple[int, int], colour: tuple[int, int, int] = (10, 120, 200)) -> bytes:
    """A PNG of one colour with a corner of another."""
    picture = Image.new("RGB", size, colour)
    picture.paste((250, 250, 10), (0, 0, size[0] // 4, size[1] // 4))
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


@dataclass
class Request:
    """One request as it came."""

    provider: str
    path: str
    body: Any
    """JSON, or a form's fields with the pictures' bytes under `files`."""
    headers: dict[str, str]
    """Names in lower case."""


@dataclass
class Providers:
    """The servers, in threads of this process; leaving the `with` block ends them."""

    port: int = 0
    asked: list[Request] = field(default_factory=list)
    bill: list[tuple[str, float]] = field(default_factory=list)
    """(provider, dollars) for each answer that cost something."""
    fetched: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """Paths of pictures, with the headers of whoever fetched them."""
    seconds: float = 0.0
    """How long an edit takes."""

    held: threading.Event = field(default_factory=threading.Event)
    """While it is not set, no task is done."""
    handler: ClassVar[Any]

    def __post_init__(self) -> None:
        self.held.set()
        self.lock = threading.Lock()
        self.times: Counter[tuple[str, str]] = Counter()
        handler = type("Handler", (self.handler,), {"owner": self})
        self._server = _Listener(("127.0.0.1", self.port), handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def __enter__(self) -> Providers:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def address(self, provider: str) -> str:
        """What `base_url` is given."""
        return f"http://127.0.0.1:{self.port}{ADDRESSES[provider]}"

    def spent(self, provider: str = "") -> float:
        """Dollars so far."""
        with self.lock:
            return sum(dollars for name, dollars in self.bill if provider in ("", name))

    def edits(self, provider: str) -> list[Request]:
        """The edits that were asked of one."""
        with self.lock:
            return [request for request in self.asked if request.provider == provider and request.body is not None]


class _Listener(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of clients that hang up; tells all else."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class ProviderHandler(BaseHTTPRequestHandler):
    """What they say."""

    owner: Providers
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a body that follows its head would wait 40 ms

    def log_message(self, format: str, *arguments: Any) -> None:
        """Says nothing."""

    # -- what is sent back --

    def give(self, document: Any, status: int = 200, *, half: bool = False, **headers: str) -> None:
        self.raw(json.dumps(document).encode(), "application/json", status, half=half, **headers)

    def raw(self, body: bytes, kind: str, status: int = 200, *, half: bool = False, **headers: str) -> None:
        self.send_response(status)
        told = {"Content-Type": kind, "Content-Length": str(len(body)), **headers}
        for name, value in told.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if half else body)
        if half:
            self.close_connection = True

    # -- what comes in --

    def do_GET(self) -> None:
        path = self.path
        headers = {name.lower(): value for name, value in self.headers.items()}
        if path.startswith("/files/"):
            with self.owner.lock:
                self.owner.fetched.append((path, headers))
            if "gone" in path:
                return self.raw(b"expired", "text/plain", 403)
            return self.raw(drawn((1216, 832)), "image/png")
        provider = path.split("/")[1]
        with self.owner.lock:
            self.owner.asked.append(Request(provider, path, None, headers))
        if not any("key-of" in value for value in headers.values()):
            return self.give({"error": {"message": "invalid key", "code": "invalid_api_key"}}, 401)
        if "/get_result" in path or "/predictions/" in path:
            return self.task(provider, re.split(r"[=/]", path)[-1])
        return self.give({"data": [], "id": "model"})

    def task(self, provider: str, name: str) -> None:
        """A task of Black Forest Labs or Replicate: at first it is not done."""
        with self.owner.lock:
            self.owner.times["task", name] += 1
            early = self.owner.times["task", name] == 1 or not self.owner.held.is_set()
        if early and name.startswith("LOST"):
            return self.give({"detail": "Not found."}, 404)
        host = f"http://127.0.0.1:{self.owner.port}"
        file = f"{host}/files/{'gone' if name.startswith('GONE') else 'fine'}.png"
        if provider == "bfl":
            if early:
                return self.give({"id": name, "status": "Pending", "result": None})
            if name.startswith(("REFUSE", "BLOCK")):
                words = "Request Moderated" if name.startswith("BLOCK") else "Content Moderated"
                return self.give({"id": name, "status": words, "result": None})
            if name.startswith("ALONE"):
                return self.give({"id": name, "status": "Error", "result": None})
            return self.give({"id": name, "status": "Ready", "result": {"sample": file, "seed": 5}})
        urls = {"get": f"{host}/replicate/v1/predictions/{name}"}
        if early:
            return self.give({"id": name, "status": "processing", "output": None, "urls": urls})
        if name.startswith(("REFUSE", "BLOCK")):
            error = "The input or output was flagged as sensitive. Please try again with different inputs. (E005)"
            return self.give({"id": name, "status": "failed", "error": error, "output": None, "urls": urls})
        if name.startswith("ALONE"):
            return self.give({"id": name, "status": "failed", "error": "CUDA error", "output": None, "urls": urls})
        return self.give({"id": name, "status": "succeeded", "error": None, "output": [file], "urls": urls})

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = read_form(data, self.headers) if "multipart" in headers.get("content-type", "") else json.loads(data)
        provider = self.path.split("/")[1]
        plain = {**body, "files": []} if isinstance(body, dict) and "files" in body else body
        text = re.sub(r"[\w+/]{99,}", "", json.dumps(plain))  # a picture's base64 may spell any word
        word = next((word for word in _WORDS if word in text), "")
        with self.owner.lock:
            self.owner.asked.append(Request(provider, self.path, body, headers))
            self.owner.times[provider, word] += 1
            first = self.owner.times[provider, word] == 1
        if not any("key-of" in value for value in headers.values()):
            return self.give({"error": {"message": "invalid key", "code": "invalid_api_key"}}, 401)
        if self.owner.seconds:
            threading.Event().wait(self.owner.seconds)
        if word == "BROKE":
            return self.broke(provider)
        if word in ("WAIT", "BODY") and first:
            return self.later(provider, word)
        if word == "BUSY" and first:
            return self.give({"error": {"message": "overloaded"}}, 503)
        getattr(self, provider)(body, word, first)

    def charge(self, provider: str) -> None:
        with self.owner.lock:
            self.owner.bill.append((provider, COSTS.get(provider) or SPENT[provider]))

    def broke(self, provider: str) -> None:
        if provider == "openai":
            error = {"message": "You exceeded your current quota", "code": "insufficient_quota", "type": "x"}
            return self.give({"error": error}, 429)
        if provider == "anthropic":
            message = "Your credit balance is too low to access the Anthropic API."
            return self.give({"type": "error", "error": {"type": "invalid_request_error", "message": message}}, 400)
        if provider == "gemini":
            details = [{"@type": "QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]}]
            error = {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": details}
            return self.give({"error": error}, 429)
        self.give({"error": {"message": "no credit", "code": 402}, "detail": "no credit"}, 402)

    def later(self, provider: str, word: str) -> None:
        if provider == "gemini" and word == "BODY":
            details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.3s"}]
            error = {"code": 429, "message": "exhausted", "status": "RESOURCE_EXHAUSTED", "details": details}
            return self.give({"error": error}, 429)
        if provider == "replicate" and word == "BODY":
            return self.give({"detail": "Request was throttled. Your rate limit resets in ~0.3s."}, 429)
        if word == "BODY":
            return self.give({"error": {"message": "Please try again in 0.3s", "code": "rate_limit"}}, 429)
        self.give({"error": {"message": "rate", "code": "rate_limit"}}, 429, Retry_After="0.3")

    # -- one a provider --

    def openai(self, body: Any, word: str, first: bool) -> None:
        if self.path.endswith("/chat/completions"):
            return self.openai_judge(body, word, first)
        if word in ("REFUSE", "BLOCK"):
            error = {"message": "Your request was rejected by the safety system req_7", "code": "moderation_blocked"}
            return self.give({"error": error}, 400)
        self.charge("openai")
        usage = {"output_tokens": 1056, "input_tokens_details": {"text_tokens": 42, "image_tokens": 3}}
        if word == "ALONE":
            return self.give({"created": 1, "data": [], "usage": usage})
        width, height = map(int, body.get("size", "1024x1024").split("x"))
        drafts = [{"b64_json": _packed((64, 64))}] * (word == "DRAFT")
        document = {"created": 1, "data": [*drafts, {"b64_json": _packed((width, height))}], "usage": usage}
        self.give(document, half=word == "HALF" and first)

    def openai_judge(self, body: Any, word: str, first: bool) -> None:
        """Chat completions."""
        model, effort = body["model"], body.get("reasoning_effort", "none")
        refused = ""
        if "max_tokens" in body and model != "gpt":
            refused = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
        if "temperature" in body and effort != "none":
            refused = "Unsupported value: 'temperature' does not support 0 with this model."
        if effort == "none" and model.startswith("gpt-6.1-sol"):
            refused = "Unsupported value: 'reasoning_effort' does not support 'none' with this model."
        if refused:
            return self.give({"error": {"message": refused, "code": "unsupported_value"}}, 400)
        message: dict[str, Any] = {"role": "assistant", "content": "Score: 7"}
        form, why = (body.get("response_format") or {}).get("json_schema"), "stop"
        if form:
            message["content"] = json.dumps(_instance(form["schema"]))
        limit, thinks = body.get("max_completion_tokens") or body.get("max_tokens") or 9999, effort != "none"
        if word == "REFUSE":
            message |= {"content": None, "refusal": "I cannot judge it."}
        elif word == "BLOCK":
            message, why = {"role": "assistant", "content": "Score: 9"}, "content_filter"
        elif word == "LIMIT" or (thinks and limit <= 300):
            message, why = {"role": "assistant", "content": "Score: 1" if word == "LIMIT" else ""}, "length"
        usage = {"prompt_tokens": 1500, "completion_tokens": self.judged(model, 300 * thinks)}
        choices = [{"finish_reason": why, "message": message}]
        self.give({"choices": choices, "usage": usage, "model": model}, half=word == "HALF" and first)

    def judged(self, model: str, thought: int) -> int:
        """Writes what a question costs on the bill; returns the tokens written, thoughts included."""
        read, written = next(prices for name, prices in JUDGES.items() if model.startswith(name))
        with self.owner.lock:
            self.owner.bill.append(("judge", (1500 * read + (4 + thought) * written) / 1e6))
        return 4 + thought

    def anthropic(self, body: Any, word: str, first: bool) -> None:
        """Messages."""
        model, kind = body["model"], (body.get("thinking") or {}).get("type")
        known = {"model", "messages", "system", "max_tokens", "temperature", "thinking", "output_config"}
        refused = next((f"{name}: Extra inputs are not permitted" for name in body if name not in known), "")
        if self.headers.get("anthropic-version") != "2023-06-01" or "max_tokens" not in body:
            refused = "anthropic-version: header is required"
        if "temperature" in body and re.search(r"opus-(4-[78]|5)|(sonnet|haiku)-5", model):
            refused = "`temperature` is deprecated for this model."
        if kind == "disabled" and re.search(r"opus-5-5|sonnet-5-5", model):
            refused = '"thinking.type.disabled" is not supported for this model.'
        if kind == "enabled" and re.search(r"opus-(4-[78]|5)|(sonnet|haiku)-5", model):
            refused = '"thinking.type.enabled" is not supported for this model.'
        if kind == "enabled" and not 1024 <= body["thinking"]["budget_tokens"] < body["max_tokens"]:
            refused = "`max_tokens` must be greater than `thinking.budget_tokens`"
        if kind == "adaptive" and "4-5" in model:
            refused = "adaptive thinking is not supported on this model"
        if kind in ("enabled", "adaptive") and "temperature" in body:
            refused = "`temperature` may only be set to 1 when thinking is enabled"
        form = (body.get("output_config") or {}).get("format")
        if form and re.search(r'"(minimum|maximum|minItems|maxItems)": \d', json.dumps(form)):
            refused = "output_config.format.schema: for 'number' type, properties maximum, minimum are not supported"
        if refused:
            return self.give({"type": "error", "error": {"type": "invalid_request_error", "message": refused}}, 400)
        thinks = kind in ("adaptive", "enabled") or (
            kind is None and re.search(r"(opus|sonnet|haiku)-5", model) is not None
        )
        content: list[dict[str, Any]] = [{"type": "thinking", "thinking": "", "signature": "s"}] * thinks
        text = json.dumps(_instance(form["schema"])) if form else "Score: 7"
        ended: dict[str, Any] = {"stop_reason": "end_turn", "stop_details": None}
        if word in ("REFUSE", "BLOCK"):  # what was written before it is sent along
            details = {"type": "refusal", "category": "general_harms", "explanation": "Not this one."}
            ended, text = {"stop_reason": "refusal", "stop_details": details}, "Score: 9" if word == "REFUSE" else ""
        elif word == "STOPS":
            ended = {"stop_reason": "pause_turn"}
        elif word == "LIMIT" or (thinks and body["max_tokens"] <= 300):
            ended, text = {"stop_reason": "max_tokens"}, "Score: 1" if word == "LIMIT" else ""
        content += [{"type": "text", "text": text}] * bool(text)
        usage = {"input_tokens": 1000, "cache_read_input_tokens": 500, "cache_creation_input_tokens": 0}
        usage["output_tokens"] = self.judged(model, 300 * thinks)
        document = {"type": "message", "model": model, "content": content, "usage": usage, **ended}
        self.give(document, half=word == "HALF" and first)

    def gemini_judge(self, body: Any, word: str, first: bool) -> None:
        """generateContent, for words."""
        model, settings = self.path.rpartition("/")[2].partition(":")[0], body["generationConfig"]
        thinking = settings.get("thinkingConfig") or {}
        known = {"maxOutputTokens", "temperature", "seed", "thinkingConfig", "responseMimeType", "responseJsonSchema"}
        refused = next((f"Unknown name {name}: Cannot find field." for name in settings if name not in known), "")
        refused = next(
            (f"Unknown name {name}" for name in body if not re.match("contents|system|generation", name)), refused
        )
        if thinking.get("thinkingLevel") == "MINIMAL" and re.match("gemini-(3.[178]-(pro|flash$)|4)", model):
            refused = "Thinking level MINIMAL is not supported for this model."
        if "thinkingBudget" in thinking and not model.startswith("gemini-2"):
            refused = "Please use thinking_level."
        if "thinkingLevel" in thinking and model.startswith("gemini-2"):
            refused = "Thinking level is not supported for this model."
        if refused:
            return self.give({"error": {"code": 400, "message": refused, "status": "INVALID_ARGUMENT"}}, 400)
        usage: dict[str, Any] = {"promptTokenCount": 1500}
        if word == "BLOCK":
            self.judged(model, -4)
            return self.give({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": usage})
        thinks = thinking.get("thinkingBudget", 1) != 0 and thinking.get("thinkingLevel") != "MINIMAL"
        schema = settings.get("responseJsonSchema")
        text, why = json.dumps(_instance(schema)) if schema else "Score: 7", "STOP"
        if word == "REFUSE":
            text, why = "Score: 9", "SAFETY"
        elif word == "STOPS":
            why = "OTHER"
        elif word == "LIMIT" or (thinks and settings.get("maxOutputTokens", 9999) <= 300):
            text, why = "Score: 1" if word == "LIMIT" else "", "MAX_TOKENS"
        parts = [{"text": "Let me see. Score: 3", "thought": True}] * thinks + [{"text": text}] * bool(text)
        usage |= {"candidatesTokenCount": 4, "thoughtsTokenCount": self.judged(model, 300 * thinks) - 4}
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": why}
        document = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": f"{model}-001"}
        self.give(document, half=word == "HALF" and first)

    def gemini(self, body: Any, word: str, first: bool) -> None:
        if "responseModalities" not in body["generationConfig"]:
            return self.gemini_judge(body, word, first)
        usage: dict[str, Any] = {"promptTokenCount": 300, "totalTokenCount": 300}
        if word == "BLOCK":
            return self.give({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": usage})
        if word == "REFUSE":
            said = {"content": {"role": "model"}, "finishReason": "IMAGE_SAFETY", "finishMessage": "Unable to show it."}
            return self.give({"candidates": [said], "usageMetadata": usage})
        if word == "ALONE":
            with self.owner.lock:
                self.owner.bill.append(("gemini", 0.0006))
            said = {"content": {"parts": [{"text": "I can only describe it."}]}, "finishReason": "STOP"}
            return self.give({"candidates": [said], "usageMetadata": usage})
        self.charge("gemini")
        across, down = map(int, body["generationConfig"]["imageConfig"]["aspectRatio"].split(":"))
        size = (1024, round(1024 * down / across))
        draft = {"thought": True, "inlineData": {"mimeType": "image/png", "data": _packed((64, 64), (255, 0, 0))}}
        parts = [*([draft] * (word == "DRAFT")), {"text": "Here."}, {"inlineData": {"data": _packed(size)}}]
        usage = {
            "promptTokenCount": 300,
            "totalTokenCount": 2020,
            "candidatesTokensDetails": [{"modality": "IMAGE", "tokenCount": 1120}],
        }
        document = {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}], "usageMetadata": usage}
        self.give(document, half=word == "HALF" and first)

    def openrouter(self, body: Any, word: str, first: bool) -> None:
        self.charge("openrouter")
        usage = {"cost": COSTS["openrouter"]}
        if word in ("REFUSE", "BLOCK"):
            choice = {"finish_reason": "content_filter", "native_finish_reason": "IMAGE_SAFETY", "message": {}}
            return self.give({"choices": [choice], "usage": usage})
        message: dict[str, Any] = {"role": "assistant", "content": "Here."}
        drafts = [(64, 64)] * (word == "DRAFT")
        if word != "ALONE":
            urls = [f"data:image/png;base64,{_packed(size)}" for size in (*drafts, (1216, 832))]
            message["images"] = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
        self.give(
            {"choices": [{"finish_reason": "stop", "message": message}], "usage": usage}, half=word == "HALF" and first
        )

    def fal(self, body: Any, word: str, first: bool) -> None:
        if word in ("REFUSE", "BLOCK"):
            detail = [{"loc": ["body"], "msg": "flagged by a content checker", "type": "content_policy_violation"}]
            return self.give({"detail": detail}, 422, X_Fal_Retryable="false")
        self.charge("fal")
        if word == "ALONE":
            return self.give({"images": [], "description": "no picture"})
        drafts = [{"url": f"data:image/png;base64,{_packed((64, 64))}"}] * (word == "DRAFT")
        there = f"http://127.0.0.1:{self.owner.port}/files/{'gone' if word == 'GONE' and first else 'fine'}.png"
        url = there if word == "GONE" else f"data:image/png;base64,{_packed((1216, 832))}"
        self.give({"images": [*drafts, {"url": url}], "has_nsfw_concepts": [False]}, half=word == "HALF" and first)

    def bfl(self, body: Any, word: str, first: bool) -> None:
        self.charge("bfl")
        # At the second attempt, what went wrong at the first is over.
        name = f"{word if first or word in ('REFUSE', 'BLOCK', 'ALONE') else ''}x{len(self.owner.asked)}"
        there = f"http://127.0.0.1:{self.owner.port}/bfl/v1/get_result?id={name}"
        self.give({"id": name, "polling_url": there, "cost": 4.5}, half=word == "HALF" and first)

    def replicate(self, body: Any, word: str, first: bool) -> None:
        self.charge("replicate")
        name = f"{word if first or word in ('REFUSE', 'BLOCK', 'ALONE') else ''}x{len(self.owner.asked)}"
        urls = {"get": f"http://127.0.0.1:{self.owner.port}/replicate/v1/predictions/{name}"}
        document = {"id": name, "status": "starting", "output": None, "urls": urls}
        self.give(document, 201, half=word == "HALF" and first)

    def ark(self, body: Any, word: str, first: bool) -> None:
        if word in ("REFUSE", "BLOCK"):
            code = f"{'Input' if word == 'BLOCK' else 'Output'}ImageSensitiveContentDetected"
            return self.give({"error": {"code": code, "message": "may contain sensitive information"}}, 400)
        self._data("ark", word, first)

    def xai(self, body: Any, word: str, first: bool) -> None:
        if word in ("REFUSE", "BLOCK"):
            return self.give({"code": "400", "error": "rejected by content moderation"}, 400)
        self._data("xai", word, first)

    def _data(self, provider: str, word: str, first: bool) -> None:
        self.charge(provider)
        drafts = [{"b64_json": _packed((64, 64))}] * (word == "DRAFT")
        items = [] if word == "ALONE" else [*drafts, {"b64_json": _packed((1216, 832))}]
        if word == "GONE":
            name = "gone" if first else "fine"
            items = [{"url": f"http://127.0.0.1:{self.owner.port}/files/{name}.png"}]
        self.give({"data": items}, half=word == "HALF" and first)

    def dashscope(self, body: Any, word: str, first: bool) -> None:
        if word in ("REFUSE", "BLOCK"):
            return self.give({"code": "DataInspectionFailed", "message": "inappropriate content"}, 400)
        self.charge("dashscope")
        name = "gone" if word == "GONE" and first else "fine"
        file = {"image": f"http://127.0.0.1:{self.owner.port}/files/{name}.png"}
        content = [{"text": "no"}] if word == "ALONE" else [file]
        choice = {"finish_reason": "stop", "message": {"role": "assistant", "content": content}}
        self.give({"output": {"choices": [choice]}}, half=word == "HALF" and first)


_WORDS = (
    "REFUSE",
    "BLOCK",
    "ALONE",
    "DRAFT",
    "WAIT",
    "BODY",
    "GONE",
    "HALF",
    "BUSY",
    "BROKE",
    "LIMIT",
    *("STOPS", "LOST"),
)


def _instance(schema: Any) -> Any:
    """Something that fits a JSON schema."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "object":
        return {name: _instance(part) for name, part in schema["properties"].items()}
    if schema.get("type") == "array":
        return [_instance(schema["items"])]
    return {"string": "fine", "boolean": True}.get(schema.get("type"), 7)


def _packed(size: tuple[int, int], colour: tuple[int, int, int] = (10, 120, 200)) -> str:
    return base64.b64encode(drawn(size, colour)).decode()


Providers.handler = ProviderHandler


def read_form(data: bytes, headers: Any) -> dict[str, Any]:
    kind = f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode()
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(kind + data)
    fields: dict[str, Any] = {"files": []}
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if part.get_filename():
            fields["files"].append((name, content))
        else:
            fields[str(name)] = content.decode()
    return fields


if __name__ == "__main__":
    with Providers(port=int(sys.argv[1])):
        threading.Event().wait()
