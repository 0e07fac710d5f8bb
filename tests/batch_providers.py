"""The batch interfaces of OpenAI, Anthropic and Google for tests, beside what `closed_providers` answers at once.

    with BatchProviders() as providers:
        providers.plans += ["expired", "strange_state"]   # what becomes of the next batches; others succeed
        providers.held.clear()                            # no batch is done until it is set again

A question in a batch is answered as it would be at once, at half the price (`bill`, as `batch`). Plans:

    succeeded        all answers                      shuffled      in another order
    duplicates       each result twice                strangers     results of questions that nobody asked, too
    missing          one question has no result       strange_end   one ends in a word that nobody lists
    errors           one was refused with a 400       overloaded    one met a server without room
    half             one result is no whole JSON      expired, cancelled   the second half was not asked
    failed           it was not taken                 failed_line   for its second line (OpenAI)
    full             not now (OpenAI)                 strange_state a state that nobody lists
    gone             there is no such batch           unauthorized  the key is none any more
    lost             it is taken, and nobody is told  refused       it is refused with a 400
    busy             it is refused with a 429 once

Standard library only.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
import uuid
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from closed_providers import JUDGES, ProviderHandler, Providers, Request, read_form

WORDS = ("REFUSE", "BLOCK", "LIMIT", "STOPS")
STATES = {
    "openai": ("in_progress", "completed", "expired", "cancelled", "failed"),
    "anthropic": ("in_progress", "ended", "ended", "ended", "ended"),
    "gemini": tuple(f"BATCH_STATE_{word}" for word in ("RUNNING", "SUCCEEDED", "EXPIRED", "CANCELLED", "FAILED")),
}
NOT_ASKED = ("expired", "cancelled")


@dataclass
class Made:
    """One batch."""

    provider: str
    id: str
    token: str
    plan: str
    questions: list[tuple[str, Any]]
    """Name and body of each, in order."""
    model: str = ""
    made: float = field(default_factory=time.time)
    failed: bool = False
    """True if it has failed while others are not done."""
    lines: list[str] | None = None
    """Its results."""


@dataclass
class BatchProviders(Providers):
    """The servers, in threads of this process; leaving the `with` block ends them."""

    plans: deque[str] = field(default_factory=deque)
    made: list[Made] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    away: int = 0
    """How many looks at a batch meet a server that is down."""
    looks: int = 0

    def named(self) -> list[str]:
        """Text of every question in every batch, as often as it was bought."""
        return [re.sub(r"[\w+/]{99,}", "", json.dumps(body)) for made in self.made for _, body in made.questions]


class _Handler(ProviderHandler):
    owner: BatchProviders

    def do_POST(self) -> None:
        if not re.search(r"/(files|batches)$|:batchGenerateContent$|/upload-of/", self.path):
            return super().do_POST()
        data = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        provider = self.path.split("/")[1]
        if not any("key-of" in value for value in headers.values()):
            return self.give({"error": {"message": "invalid key", "code": "invalid_api_key"}}, 401)
        if "/upload-of/" in self.path:
            assert headers["x-goog-upload-command"] == "upload, finalize"
            assert headers["x-goog-upload-offset"] == "0"
            name = self.path.rpartition("/")[2]
            self.owner.files[name] = data
            return self.give({"file": {"name": f"files/{name}", "state": "ACTIVE"}})
        if self.path.startswith("/gemini/upload/v1beta/"):
            assert headers["x-goog-upload-command"] == "start"
            assert int(headers["x-goog-upload-header-content-length"]) > 0
            where = f"http://127.0.0.1:{self.owner.port}/gemini/upload-of/{uuid.uuid4().hex}"
            return self.give({}, X_Goog_Upload_URL=where)
        if self.path.endswith("/files"):
            form = read_form(data, self.headers)
            assert form["purpose"] == "batch"
            ((_, content),) = form["files"]
            name = f"file-{uuid.uuid4().hex[:8]}"
            self.owner.files[name] = content
            return self.give({"id": name, "object": "file", "purpose": "batch"})
        return self.make(provider, json.loads(data), headers)

    def make(self, provider: str, body: Any, headers: dict[str, str]) -> None:
        with self.owner.lock:
            self.owner.asked.append(Request(provider, self.path, body, headers))
            plan = self.owner.plans.popleft() if self.owner.plans else "succeeded"
        if plan == "refused":
            return self.give({"error": {"message": "this model takes no batches", "type": "invalid"}}, 400)
        if plan == "busy":
            return self.give({"error": {"message": "rate", "code": "rate_limit"}}, 429, Retry_After="0.1")
        number, token, model = len(self.owner.made), "", ""
        if provider == "openai":
            assert (body["endpoint"], body["completion_window"]) == ("/v1/chat/completions", "24h")
            rows = [json.loads(line) for line in self.owner.files[body["input_file_id"]].splitlines()]
            assert all((row["method"], row["url"]) == ("POST", body["endpoint"]) for row in rows)
            questions, token = [(row["custom_id"], row["body"]) for row in rows], body["metadata"]["edit_eval"]
            name = f"batch_{number}"
        elif provider == "anthropic":
            questions = [(row["custom_id"], row["params"]) for row in body["requests"]]
            name = f"msgbatch_{number}"
        else:
            model = self.path.rpartition("/")[2].partition(":")[0]
            file = body["batch"]["inputConfig"]["fileName"].removeprefix("files/")
            rows = [json.loads(line) for line in self.owner.files[file].splitlines()]
            questions, token = [(row["key"], row["request"]) for row in rows], body["batch"]["displayName"]
            name = f"batches/{number}"
        assert len({name for name, _ in questions}) == len(questions)
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name, _ in questions)
        made = Made(provider, name, token, plan, questions, model)
        with self.owner.lock:
            self.owner.made.append(made)
        if plan == "lost":
            self.close_connection = True
            return None
        return self.give(self.describe(made))

    # -- what is asked of it later --

    def do_GET(self) -> None:
        path, _, _ = self.path.partition("?")
        provider = path.split("/")[1]
        if not re.search(r"/batches|/files/|:download$", path) or path.startswith("/files/"):
            return super().do_GET()
        headers = {name.lower(): value for name, value in self.headers.items()}
        with self.owner.lock:
            self.owner.asked.append(Request(provider, self.path, None, headers))
        if re.search(r"/batches$", path):
            return self.list_batches(provider)
        if found := re.search(r"results-of-(\d+)|/batches/msgbatch_(\d+)/results", path):
            return self.raw(self.results(self.owner.made[int(found[1] or found[2])]), "application/jsonl")
        with self.owner.lock:
            self.owner.looks += 1
            away, self.owner.away = self.owner.away > 0, max(0, self.owner.away - 1)
        if away:
            return self.give({"error": {"message": "no healthy upstream"}}, 500)
        made = next((made for made in self.owner.made if path.endswith(f"/{made.id}")), None)
        if made is None or made.plan == "gone":
            return self.give({"error": {"message": "No batch found with that id", "code": "not_found"}}, 404)
        if made.plan == "unauthorized" and self.owner.held.is_set():
            return self.give({"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}, 401)
        return self.give(self.describe(made))

    def list_batches(self, provider: str) -> None:
        listed = [self.describe(made) for made in reversed(self.owner.made) if made.provider == provider]
        self.give({"operations" if provider == "gemini" else "data": listed, "has_more": False})

    def describe(self, made: Made) -> dict[str, Any]:
        """What is said of a batch."""
        provider, plan, number = made.provider, made.plan, self.owner.made.index(made)
        states = STATES[provider]
        over, failed = self.owner.held.is_set() or made.failed, plan in ("failed", "failed_line", "full")
        word = states[0] if not over else states[2] if plan == "expired" else states[3] if plan == "cancelled" else ""
        word = word or (states[4] if failed else "BATCH_STATE_DREAMING" if plan == "strange_state" else states[1])
        at = datetime.fromtimestamp(made.made, UTC).isoformat()
        file = f"results-of-{number}" if over and not failed else None
        error = {"message": "The file is not what it should be", "code": 3}
        if provider == "openai":
            errors = [{"code": "invalid_request", "message": "not as it should be", "line": 2, "param": None}]
            if plan == "full":
                message = (
                    "Enqueued token limit reached for gpt. Please try again once some batches have been completed."
                )
                errors = [{"code": "token_limit_exceeded", "message": message, "line": None, "param": None}]
            if plan == "failed":
                errors[0]["line"] = None
            return {
                "id": made.id,
                "object": "batch",
                "status": word,
                "created_at": int(made.made),
                "metadata": {"edit_eval": made.token},
                "output_file_id": file,
                "error_file_id": None,
                "errors": {"object": "list", "data": errors} if over and failed else None,
            }
        if provider == "anthropic":
            return {
                "id": made.id,
                "type": "message_batch",
                "processing_status": word,
                "created_at": at,
                "request_counts": {"processing": len(made.questions), "succeeded": 0},
                "results_url": f"https://elsewhere.example/{made.id}" if over else None,
            }
        output = {"responsesFile": f"files/{file}"} if file else {}
        said = {"state": word, "displayName": made.token, "createTime": at}
        document: dict[str, Any] = {"name": made.id, "metadata": {**said, "output": output}, "done": over}
        return {**document, "error": error} if over and failed else document

    # -- what became of the questions --

    def results(self, made: Made) -> bytes:
        with self.owner.lock:
            lines = made.lines
        if lines is None:
            lines = made.lines = self.answer_all(made)
        return "\n".join(lines).encode()

    def answer_all(self, made: Made) -> list[str]:
        asked = made.questions[: (len(made.questions) + 1) // 2] if made.plan in NOT_ASKED else made.questions
        rows = [self.row(made.provider, name, *self.answer(made, body)) for name, body in asked]
        for name, _ in made.questions[len(asked) :]:
            rows.append(self.unasked(made.provider, name, made.plan))
        name = made.questions[0][0]
        if made.plan == "missing":
            del rows[0]
        elif made.plan == "strange_end":
            rows[0] = self.strange(made.provider, name)
        elif made.plan == "errors":
            rows[0] = self.row(made.provider, name, 400, _error(made.provider, "this picture is too small", 400))
        elif made.plan == "overloaded":
            rows[0] = self.row(made.provider, name, 503, _error(made.provider, "the model is overloaded", 503))
        elif made.plan == "duplicates":
            rows += [self.strange(made.provider, name) for name, _ in made.questions]
        elif made.plan == "strangers":
            rows.insert(0, self.row(made.provider, "nobody-asked-this", 200, {"choices": []}))
        elif made.plan == "shuffled":
            rows.reverse()
        lines = [json.dumps(row) for row in rows]
        if made.plan == "half":
            lines[0] = lines[0][: len(lines[0]) // 2]
        return lines

    def answer(self, made: Made, body: Any) -> tuple[int, Any]:
        """What a question would be answered at once, at half the price."""
        said: list[tuple[int, Any]] = []
        words = json.dumps({**body, "files": []})
        word = next((word for word in WORDS if word in re.sub(r"[\w+/]{99,}", "", words)), "")
        handler = object.__new__(type(self))
        handler.headers, handler.path = self.headers, f"/{made.provider}/models/{made.model}:generateContent"
        if made.provider == "openai":
            handler.path = "/openai/v1/chat/completions"
        handler.give = lambda document, status=200, **_: said.append((status, document))
        handler.judged = lambda model, thought: self.judge_in_batch(model, thought)
        getattr(handler, made.provider)(body, word, False)
        return said[0]

    def judge_in_batch(self, model: str, thought: int) -> int:
        read, written = next(prices for name, prices in JUDGES.items() if model.startswith(name))
        with self.owner.lock:
            self.owner.bill.append(("batch", (1500 * read + (4 + thought) * written) / 2e6))
        return 4 + thought

    def row(self, provider: str, name: str, status: int, document: Any) -> dict[str, Any]:
        if provider == "openai":
            return {"id": "r", "custom_id": name, "response": {"status_code": status, "body": document}, "error": None}
        if provider == "anthropic":
            kind, field = ("succeeded", "message") if status == 200 else ("errored", "error")
            return {"custom_id": name, "result": {"type": kind, field: document}}
        return {"key": name, "response": document} if status == 200 else {"key": name, "error": document["error"]}

    def unasked(self, provider: str, name: str, plan: str) -> dict[str, Any]:
        if provider == "openai":
            return {"custom_id": name, "response": None, "error": {"code": f"batch_{plan}", "message": "too late"}}
        if provider == "anthropic":
            return {"custom_id": name, "result": {"type": "canceled" if plan == "cancelled" else "expired"}}
        return {"key": name, "error": {"code": 1, "message": plan}}

    def strange(self, provider: str, name: str) -> dict[str, Any]:
        if provider == "openai":
            return {"custom_id": name, "response": None, "error": {"code": "batch_dreamt", "message": "of sheep"}}
        if provider == "anthropic":
            return {"custom_id": name, "result": {"type": "dreamt"}}
        return {"key": name, "dreamt": {}}


BatchProviders.handler = _Handler


def _error(provider: str, message: str, status: int) -> Any:
    if provider == "anthropic":
        kind = "overloaded_error" if status == 503 else "invalid_request_error"
        return {"type": "error", "error": {"type": kind, "message": message}}
    return {"error": {"message": message, "code": {503: 14}.get(status, 3) if provider == "gemini" else None}}


if __name__ == "__main__":
    with BatchProviders(port=int(sys.argv[1])):
        threading.Event().wait()
