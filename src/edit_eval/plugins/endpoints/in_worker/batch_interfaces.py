"""The makers' batch interfaces: how questions are handed in together, and what is said of them. One row a maker.

A word that no row lists is never good: a batch in such a state is left alone, an answer that ended so is none.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from edit_eval.json_values import JsonObject
from edit_eval.plugins.endpoints.in_worker.client import Client, WholeAnswer, plain
from edit_eval.plugins.endpoints.in_worker.vocabulary import (
    CANCELLED,
    ERROR_STATUSES,
    BatchOutcome,
    BatchStage,
    read_outcome,
    read_stage,
)

HOSTS = ("*.googleapis.com",)
"""Where Google may have files sent."""
CLOCKS_DIFFER = 600
"""Seconds by which a server's clock may be behind ours."""
PAGE = 100
"""Batches listed at once."""


class HandedBatch(NamedTuple):
    """A batch as it is handed in."""

    model: str
    token: str
    """What it is known by before it has an id; the names of its questions begin with it."""
    questions: int
    data: bytes
    """All its questions, in the maker's form."""


class BatchState(NamedTuple):
    """What is said of a batch."""

    stage: BatchStage
    word: str
    """The maker's own."""
    files: Sequence[str] = ()
    """Paths of the results, one a line."""
    errors: Sequence[tuple[int | None, Any]] = ()
    """Why it has failed: the line, counted from 1, if it is one's fault, and what is said."""


class BatchResult(NamedTuple):
    """What has become of one question."""

    name: str
    outcome: BatchOutcome
    document: Any = None
    """The answer, or the error."""
    status: int = 0
    """Of an error."""
    word: str = ""
    """Why it was not asked, or how it has ended."""


@dataclass(frozen=True, kw_only=True)
class BatchInterface:
    """How one maker takes batches."""

    questions: int
    """Most in a batch."""
    size: int
    """Most bytes of a batch."""
    share: float = 0.5
    """What a question costs, of its usual price."""
    line: Callable[[str, JsonObject], JsonObject]
    """A question of this name, with the body of its request."""
    join: Callable[[Sequence[bytes]], bytes] = b"\n".join
    """All lines, each in JSON, as they are handed in."""
    upload: Callable[[Client, HandedBatch], Awaitable[str]]
    """Sends the questions, where that comes first; returns the name of their file. It may be done again."""
    create: Callable[[Client, HandedBatch, str], Awaitable[str]]
    """Buys the batch; returns its id."""
    find: Callable[[Client, HandedBatch], Awaitable[Sequence[str]]]
    """The ids of batches that may be this one, and were made no earlier than its token."""
    exact: bool = True
    """True if what is found is the batch; else its results show."""
    look: Callable[[Client, str], Awaitable[BatchState]]
    read: Callable[[Mapping[str, Any]], BatchResult]
    source: str


async def _read(client: Client, answer: WholeAnswer) -> Mapping[str, Any]:
    """Returns the document of an answer. Raises `Failure`."""
    if not 200 <= answer.status < 300:
        raise client.read_failure(answer.status, answer.text, answer.headers)
    document = plain(answer.text)
    if not isinstance(document, dict):
        raise client.explain_unexpected(document, answer.text, "a document about a batch")
    return document


async def _get(client: Client, path: str) -> Mapping[str, Any]:
    return await _read(client, WholeAnswer(200, {}, await client.get(path)))


def _name(client: Client, document: Mapping[str, Any], field: str) -> str:
    name = document.get(field)
    if not isinstance(name, str) or not name:
        raise client.explain_unexpected(document, str(document), "the id of a batch")
    return name


def _of(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def make_token(random: str) -> str:
    """Returns what a batch is known by, now and for ever."""
    return f"ee{int(time.time())}-{random}"


async def _upload_nothing(client: Client, batch: HandedBatch) -> str:
    return ""


# -- OpenAI --


async def _upload_openai(client: Client, batch: HandedBatch) -> str:
    files = [("file", f"{batch.token}.jsonl", batch.data)]
    return _name(client, await _read(client, await client.form("/files", {"purpose": "batch"}, files)), "id")


async def _create_openai(client: Client, batch: HandedBatch, file: str) -> str:
    body = {"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    answer = await client.post("/batches", {**body, "metadata": {"edit_eval": batch.token}})
    return _name(client, await _read(client, answer), "id")


async def _find_openai(client: Client, batch: HandedBatch) -> Sequence[str]:
    after = ""
    while True:
        listed = await _get(client, f"/batches?limit={PAGE}{after and f'&after={after}'}")
        batches = [_of(of) for of in _list(listed.get("data"))]
        if found := [of["id"] for of in batches if _of(of.get("metadata")).get("edit_eval") == batch.token]:
            return found
        if not batches or not listed.get("has_more") or _precedes(batches[-1].get("created_at"), batch.token):
            return []
        after = batches[-1]["id"]


async def _look_openai(client: Client, batch: str) -> BatchState:
    said = await _get(client, f"/batches/{batch}")
    word = str(said.get("status") or "")
    files = [f"/files/{said[name]}/content" for name in ("output_file_id", "error_file_id") if said.get(name)]
    errors = [(_of(of).get("line"), of) for of in _list(_of(said.get("errors")).get("data"))]
    return BatchState(read_stage(word), word, files, errors)


def _read_openai(line: Mapping[str, Any]) -> BatchResult:
    name, response, error = str(line.get("custom_id") or ""), _of(line.get("response")), _of(line.get("error"))
    status, body = response.get("status_code"), response.get("body")
    if error:
        word = str(error.get("code") or error.get("message") or "an error")
        unasked = read_outcome(word) is BatchOutcome.UNASKED
        return BatchResult(name, BatchOutcome.UNASKED if unasked else BatchOutcome.UNKNOWN, word=word)
    if not isinstance(status, int):
        return BatchResult(name, BatchOutcome.UNKNOWN, word="nothing")
    return BatchResult(name, BatchOutcome.ANSWER if 200 <= status < 300 else BatchOutcome.ERROR, body, status)


# -- Anthropic --


async def _create_anthropic(client: Client, batch: HandedBatch, file: str) -> str:
    answer = await client.post_bytes("/messages/batches", batch.data, {})
    return _name(client, await _read(client, answer), "id")


async def _find_anthropic(client: Client, batch: HandedBatch) -> Sequence[str]:
    found, after = list[str](), ""
    while True:
        listed = await _get(client, f"/messages/batches?limit={PAGE}{after and f'&after_id={after}'}")
        batches = [_of(of) for of in _list(listed.get("data"))]
        for of in batches:
            count = sum(number for number in _of(of.get("request_counts")).values() if isinstance(number, int))
            if count >= batch.questions and not _precedes(of.get("created_at"), batch.token):
                found.append(str(of.get("id")))
        if not batches or not listed.get("has_more") or _precedes(batches[-1].get("created_at"), batch.token):
            return found
        after = batches[-1]["id"]


async def _look_anthropic(client: Client, batch: str) -> BatchState:
    word = str((await _get(client, f"/messages/batches/{batch}")).get("processing_status") or "")
    return BatchState(read_stage(word), word, [f"/messages/batches/{batch}/results"])


def _read_anthropic(line: Mapping[str, Any]) -> BatchResult:
    name, result = str(line.get("custom_id") or ""), _of(line.get("result"))
    word = str(result.get("type") or "nothing")
    outcome, error = read_outcome(word), result.get("error")
    kind = _of(_of(error).get("error")).get("type") or _of(error).get("type")
    return BatchResult(name, outcome, error or result.get("message"), ERROR_STATUSES.get(kind, 400), word)


# -- Google --


async def _upload_google(client: Client, batch: HandedBatch) -> str:
    """Sends a file in Google's resumable way, in one piece."""
    base = urlsplit(client.base_url)
    start = {
        "X-Goog-Upload-Protocol": "resumable",
        "X-Goog-Upload-Command": "start",
        "X-Goog-Upload-Header-Content-Length": str(len(batch.data)),
        "X-Goog-Upload-Header-Content-Type": "application/jsonl",
    }
    version = base.path.rstrip("/").rpartition("/")
    path = f"{base.scheme}://{base.netloc}{version[0]}/upload/{version[2]}/files"
    named = b'{"file": {"display_name": "%s"}}' % batch.token.encode()
    begun = await client.post_bytes(path, named, start)
    if not 200 <= begun.status < 300:
        raise client.read_failure(begun.status, begun.text, begun.headers)
    where = begun.headers.get("X-Goog-Upload-URL", "")
    whole = {"X-Goog-Upload-Command": "upload, finalize", "X-Goog-Upload-Offset": "0"}
    whole["content-type"] = "application/jsonl"
    said = await _read(client, await client.post_bytes(where or "/", batch.data, whole, HOSTS))
    return _name(client, _of(said.get("file")), "name")


async def _create_google(client: Client, batch: HandedBatch, file: str) -> str:
    body = {"batch": {"displayName": batch.token, "inputConfig": {"fileName": file}}}
    answer = await client.post(f"/models/{batch.model}:batchGenerateContent", body)
    return _name(client, await _read(client, answer), "name")


async def _find_google(client: Client, batch: HandedBatch) -> Sequence[str]:
    page = ""
    while True:
        listed = await _get(client, f"/batches?pageSize={PAGE}{page and f'&pageToken={page}'}")
        batches = [_of(of) for of in _list(listed.get("operations"))]
        if found := [of["name"] for of in batches if _of(of.get("metadata")).get("displayName") == batch.token]:
            return found
        page = str(listed.get("nextPageToken") or "")
        if not page or not batches or _precedes(_of(batches[-1].get("metadata")).get("createTime"), batch.token):
            return []


async def _look_google(client: Client, batch: str) -> BatchState:
    said = await _get(client, f"/{batch}")
    metadata = _of(said.get("metadata"))
    word = str(metadata.get("state") or "")
    output = {**_of(metadata.get("output")), **_of(said.get("response"))}
    file = output.get("responsesFile")
    errors = [(None, _with_status(said["error"]))] if said.get("error") else []
    return BatchState(read_stage(word), word, [f"/{file}:download?alt=media"] if isinstance(file, str) else [], errors)


def _with_status(error: object) -> Mapping[str, Any]:
    code = _of(error).get("code")
    return {**_of(error), "code": ERROR_STATUSES.get(code, code) if isinstance(code, int) else 500}


def _read_google(line: Mapping[str, Any]) -> BatchResult:
    name = str(line.get("key") or "")
    if isinstance(line.get("response"), Mapping):
        return BatchResult(name, BatchOutcome.ANSWER, line["response"])
    if error := _of(line.get("error")):
        said = _with_status(error)
        outcome = BatchOutcome.UNASKED if error.get("code") == CANCELLED else BatchOutcome.ERROR
        return BatchResult(name, outcome, {"error": said}, said["code"], str(error.get("message") or "not done"))
    return BatchResult(name, BatchOutcome.UNKNOWN, word="nothing")


def _precedes(moment: object, token: str) -> bool:
    """True if a server's time, in seconds or RFC 3339, is before that of a token."""
    try:
        if isinstance(moment, str):
            at = datetime.fromisoformat(moment.split(".")[0].rstrip("Z")[:19]).replace(tzinfo=timezone.utc)
            moment = at.timestamp()
    except ValueError:
        return False
    return isinstance(moment, int | float) and moment < int(token[2:].partition("-")[0]) - CLOCKS_DIFFER


MIB = 2**20
BATCH_INTERFACES: Mapping[str, BatchInterface] = {
    "openai": BatchInterface(
        questions=50_000,
        size=190 * MIB,
        line=lambda name, body: {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body},
        upload=_upload_openai,
        create=_create_openai,
        find=_find_openai,
        look=_look_openai,
        read=_read_openai,
        source="openai 3.57.0 types/batch.py, batch_create_params.py (50,000 requests, 200 MB), batch_error.py; "
        "help.openai.com/en/articles/9197833-batch-api-faq: half the price, what was done is charged (2026-11-30)",
    ),
    "anthropic": BatchInterface(
        questions=100_000,
        size=243 * MIB,
        line=lambda name, body: {"custom_id": name, "params": body},
        join=lambda lines: b'{"requests":[' + b",".join(lines) + b"]}",
        upload=_upload_nothing,
        create=_create_anthropic,
        find=_find_anthropic,
        exact=False,
        look=_look_anthropic,
        read=_read_anthropic,
        source="anthropic 2.14.0 types/messages/message_batch*.py; platform.claude.com/docs/en/build-with-claude/"
        "batch-processing: 100,000 requests or 256 MB, half the price, results for 29 days (2026-11-30)",
    ),
    "gemini": BatchInterface(
        questions=50_000,
        size=1900 * MIB,
        line=lambda name, body: {"key": name, "request": body},
        upload=_upload_google,
        create=_create_google,
        find=_find_google,
        look=_look_google,
        read=_read_google,
        source="google-genai 3.6.1 batches.py, types.JobState, _extra_utils.py (upload), files.py (download); "
        "ai.google.dev/gemini-api/docs/batch-api: files of up to 2 GB, half the price (2026-11-30); no number of "
        "requests is documented, OpenAI's is taken",
    ),
}
"""By `api`. A megabyte is taken for 10^6 bytes where a maker's page does not say, and a little is left free."""
