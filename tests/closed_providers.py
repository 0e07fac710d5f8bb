"""Providers of closed models for tests, all on one port of loopback: `http://127.0.0.1:PORT/gemini/v1beta`, ...

Each answers in the form that its pages document; what happens is decided by a word of the instruction:

    REFUSE    it declines to make the edit          BLOCK     it declines to read the instruction
    ALONE     words and no picture                  DRAFT     a draft of 64 x 64 comes before the picture
    WAIT      a 429 with the wait in a header       BODY      a 429 with the wait in its body
    GONE      the first address has expired         HALF      the first answer is cut off in the middle
    BUSY      the first answer is a 503             BROKE     the account has no credit

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
from typing import Any

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

    def __post_init__(self) -> None:
        self.lock = threading.Lock()
        self.times: Counter[tuple[str, str]] = Counter()
        handler = type("Handler", (_Handler,), {"owner": self})
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
            return [one for one in self.asked if one.provider == provider and one.body is not None]


class _Listener(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of clients that hang up; tells all else."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    owner: Providers
    protocol_version = "HTTP/1.1"

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
            early = self.owner.times["task", name] == 1
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
        body = _form(data, self.headers) if "multipart" in headers.get("content-type", "") else json.loads(data)
        provider = self.path.split("/")[1]
        plain = {**body, "files": []} if isinstance(body, dict) and "files" in body else body
        text = json.dumps(plain)
        word = next((one for one in _WORDS if one in text), "")
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
            usage = {"prompt_tokens": 1500, "completion_tokens": 4}
            with self.owner.lock:
                self.owner.bill.append(("judge", (1500 * JUDGE[0] + 4 * JUDGE[1]) / 1e6))
            message = {"role": "assistant", "content": "Score: 7"}
            return self.give({"choices": [{"finish_reason": "stop", "message": message}], "usage": usage})
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

    def layer(self, provider: str, body: Any) -> None:
        """A judge behind a layer of the chat protocol; thoughts take 300 tokens of the limit, where there are any."""
        model, limit = body["model"], body.get("max_tokens") or body.get("max_completion_tokens") or 10_000
        refused = ""
        if provider == "gemini":
            known = {"model", "messages", "max_tokens", "temperature", "seed", "reasoning_effort", "response_format"}
            refused = next((f"Unknown name {name}: Cannot find field." for name in body if name not in known), "")
            thinks = body.get("reasoning_effort") != "none"
            if body.get("reasoning_effort") == "none" and model.startswith("gemini-3"):
                refused = "reasoning_effort none is not supported"
        else:
            kind = (body.get("thinking") or {}).get("type")
            if "temperature" in body and re.search(r"opus-(4-[78]|5)|sonnet-5", model):
                refused = "`temperature` is deprecated for this model."
            if kind == "disabled" and "opus-5-5" in model:
                refused = '"thinking.type.disabled" is not supported for this model.'
            thinks = kind == "adaptive" or (kind is None and re.search(r"(opus|sonnet)-5", model) is not None)
        if refused:
            return self.give([{"error": {"code": 400, "message": refused}}], 400)
        message: dict[str, Any] = {"role": "assistant", "content": "Score: 7"}
        ended = {"finish_reason": "stop", "message": message}
        if thinks and limit <= 300:
            ended = {"finish_reason": "length", "message": {"role": "assistant"}}
        usage = {"prompt_tokens": 1500, "completion_tokens": 304 if thinks else 4}
        self.give({"choices": [ended], "usage": usage, "model": model})

    def anthropic(self, body: Any, word: str, first: bool) -> None:
        self.layer("anthropic", body)

    def gemini(self, body: Any, word: str, first: bool) -> None:
        if self.path.endswith("/chat/completions"):
            return self.layer("gemini", body)
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


_WORDS = ("REFUSE", "BLOCK", "ALONE", "DRAFT", "WAIT", "BODY", "GONE", "HALF", "BUSY", "BROKE")


def _packed(size: tuple[int, int], colour: tuple[int, int, int] = (10, 120, 200)) -> str:
    return base64.b64encode(drawn(size, colour)).decode()


def _form(data: bytes, headers: Any) -> dict[str, Any]:
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
