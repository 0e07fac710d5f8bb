"""Words of servers, as they were reported, put to every client of the house: each must read them alike."""

from __future__ import annotations

import base64
import io
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import pytest
from PIL import Image

from edit_eval.edit_models.contract import EditRequest
from edit_eval.errors import Refused, RequestError
from edit_eval.judges.contract import JudgeRequest
from edit_eval.plugins.closed_models.in_worker.editing import Api
from edit_eval.plugins.closed_models.in_worker.providers import PROVIDERS
from edit_eval.plugins.endpoints.in_worker.chat_endpoint import ChatEndpoint
from edit_eval.plugins.endpoints.in_worker.image_endpoint import ImageEndpoint
from edit_eval.plugins.endpoints.in_worker.vocabulary import ENDINGS, Ended, Says, read_ending, read_error
from edit_eval.records import Reply, Status

REFUSED, ACCOUNT, KEY, DENIED, DAY, BUSY, OTHER = Says
PATIENCE = 300.0
"""Seconds for an answer, on a machine that is busy with other things."""


class Error(NamedTuple):
    status: int
    body: Any
    means: Says
    source: str
    headers: Mapping[str, str] = {}
    wait: float | None = None


def said(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


ERRORS = [
    # what a policy forbids
    Error(
        400,
        said("The response was filtered", code="content_filter", innererror={"code": "ResponsibleAIPolicyViolation"}),
        REFUSED,
        "tatsu-lab/alpaca_eval#227",
    ),
    Error(
        400,
        said("The response was filtered due to the prompt triggering Azure OpenAI's content management policy."),
        REFUSED,
        "compl-ai/compl-ai#20",
    ),
    Error(
        400,
        said("litellm.BadRequestError: litellm.ContentPolicyViolationError: AzureException", code="400"),
        REFUSED,
        "BerriAI/litellm#16231",
    ),
    Error(
        400,
        {
            "code": "InternalError.Algo.DataInspectionFailed",
            "message": "<400> Input text data may contain inappropriate content.",
        },
        REFUSED,
        "QwenLM/qwen-code#3145",
    ),
    Error(
        400,
        said("Output data may contain inappropriate content.", code="data_inspection_failed"),
        REFUSED,
        "dashscope's compatible mode",
    ),
    Error(
        403,
        said("Input was flagged by moderation", code=403, metadata={"reasons": ["violence"], "flagged_input": "..."}),
        REFUSED,
        "openrouter.ai: errors",
    ),
    Error(
        500,
        said("input new_sensitive, messages[13]'s content[2] image is sensitive, please check your input (1026)"),
        REFUSED,
        "MiniMax-AI/MiniMax-M3#11",
    ),
    Error(
        422,
        {"detail": [{"loc": ["body", "prompt"], "msg": "flagged", "type": "content_policy_violation", "input": "..."}]},
        REFUSED,
        "fal.ai/docs/errors",
    ),
    Error(400, said("Blocked", code="content_safety_violation"), REFUSED, "microsoft/PyRIT#1890"),
    Error(
        400,
        said("Request contains an invalid argument.", details=[{"reason": "PUBLIC_ERROR_UNSAFE_GENERATION"}]),
        REFUSED,
        "ffroliva/gflow-cli#342",
    ),
    Error(
        400,
        said("The response is blocked, as it may violate our policies. Error Code: 58061214"),
        REFUSED,
        "epam/ai-dial-adapter-vertexai#48",
    ),
    Error(
        400,
        said("The request failed", code="InputImageSensitiveContentDetected.PrivacyInformation"),
        REFUSED,
        "openstory-so/openstory#1680",
    ),
    Error(
        500,
        said("Qwen Image Edit generation failed: All generated images contained NSFW content"),
        REFUSED,
        "pollinations/pollinations#11809",
    ),
    Error(
        400,
        said("The input or output was flagged as sensitive. Please try again with different inputs. (E005)"),
        REFUSED,
        "pollinations/pollinations#10801",
    ),
    Error(400, said("Image did not respect moderation rules; base64 is not available."), REFUSED, "vercel/ai#19168"),
    Error(400, said("safety", code="moderation_blocked"), REFUSED, "openai 3.54.0: image edits"),
    # the account
    Error(
        403,
        said(
            "Your resource has been temporarily blocked because we detected behavior that may violate our policy.",
            code="Forbidden",
        ),
        ACCOUNT,
        "pollinations/pollinations#9707",
    ),
    Error(
        403,
        {"detail": "User is locked. Reason: Exhausted balance. Top up your balance at fal.ai/dashboard/billing."},
        ACCOUNT,
        "fal-ai/fal#1147",
    ),
    Error(403, {"detail": "User is locked. Reason: Admin lock."}, ACCOUNT, "fal-ai/fal#1168"),
    Error(
        403,
        said("user quota is not enough (request id: 1)", type="v_api_error", code="insufficient_user_quota"),
        ACCOUNT,
        "songquanpeng/one-api#1270",
    ),
    Error(
        400,
        {"code": "Arrearage", "message": "Access denied, please make sure your account is in good standing."},
        ACCOUNT,
        "HKUDS/nanobot#4048",
    ),
    Error(
        400, said("Your credit balance is too low", type="invalid_request_error"), ACCOUNT, "docs.anthropic.com: errors"
    ),
    Error(
        400,
        said("API key not valid", status="INVALID_ARGUMENT", details=[{"reason": "API_KEY_INVALID"}]),
        KEY,
        "ai.google.dev: troubleshooting",
    ),
    Error(
        429,
        said("You exceeded your current quota, please check your plan", code="insufficient_quota"),
        ACCOUNT,
        "OpenAI: error codes",
    ),
    Error(
        429,
        said("Quota exceeded for metric: free_tier_requests, limit: 0", status="RESOURCE_EXHAUSTED"),
        ACCOUNT,
        "UKGovernmentBEIS/inspect_ai#3215",
    ),
    Error(
        403, said("The account has an overdue balance", code="AccountOverdueError"), ACCOUNT, "ModelArk: error codes"
    ),
    Error(402, {"detail": "You have insufficient credit"}, ACCOUNT, "replicate.com: billing"),
    Error(401, said("No auth credentials found", code=401), DENIED, "RooCodeInc/Roo-Code#6459"),
    Error(403, "<html><title>403 Forbidden</title></html>", DENIED, "logancyang/obsidian-copilot#1616"),
    # the day's quota
    Error(
        429,
        said(
            "Rate limit reached on tokens per day (TPD): Limit 100000, Used 97050. Please try again in 9m38.016s.",
            code="rate_limit_exceeded",
        ),
        DAY,
        "continuedev/continue#10920",
        wait=578.016,
    ),
    Error(
        429,
        said("Rate limit reached for gpt-image per day (RPD): Limit 100, Used 100. Please try again in 14m24s."),
        DAY,
        "OpenAI",
        wait=864,
    ),
    Error(
        429,
        said("request reached organization TPD rate limit, current: 1508351, limit: 1500000"),
        DAY,
        "farion1231/cc-switch#240",
    ),
    Error(
        429,
        said(
            "You exceeded your current quota",
            status="RESOURCE_EXHAUSTED",
            details=[
                {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},
                {"retryDelay": "28s"},
            ],
        ),
        DAY,
        "google-gemini/gemini-cli#8437",
    ),
    Error(
        429,
        said("Quota exceeded", details=[{"violations": [{"quotaMetric": "generate_requests_per_model_per_day"}]}]),
        DAY,
        "langgenius/dify#19838",
    ),
    Error(429, said("Rate limit exceeded: free-models-per-day", code=429), DAY, "openrouter.ai: limits"),
    # busy or away
    Error(
        429,
        said("You exceeded your current quota (type=insufficient_quota)", code="Throttling.AllocationQuota"),
        BUSY,
        "can1357/oh-my-pi#8476",
    ),
    Error(
        529,
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        BUSY,
        "anthropics/anthropic-sdk-typescript#616",
    ),
    Error(
        500,
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        BUSY,
        "Wei-Shaw/sub2api#5563",
    ),
    Error(503, said("Loading model", code=503, type="unavailable_error"), BUSY, "mostlygeek/llama-swap#146"),
    Error(
        503, said("当前分组 default 下对于模型  无可用渠道", type="one_api_error"), BUSY, "songquanpeng/one-api#2340"
    ),
    Error(503, "503 server is overloaded.", BUSY, "cline/cline#440"),
    Error(530, "error code: 1033", BUSY, "pollinations/pollinations#8201"),
    Error(502, "<html><title>502 Bad Gateway</title></html>", BUSY, "nginx"),
    Error(
        429,
        said("have exceeded the token rate limit of your current S0 pricing tier. Please retry after 45 seconds."),
        BUSY,
        "icereed/paperless-gpt#814",
        wait=45,
    ),
    Error(
        429,
        said("Rate limit reached on tokens per minute (TPM). Please try again in 50.597142857s."),
        BUSY,
        "danielmiessler/Fabric#364",
        wait=50.597142857,
    ),
    Error(
        429,
        said("Rate limit exceeded, please try again after 1 seconds", type="rate_limit_reached_error"),
        BUSY,
        "CherryHQ/cherry-studio#2959",
        wait=1,
    ),
    Error(
        429, said("Request was throttled. Your rate limit resets in ~30s."), BUSY, "replicate.com: rate limits", wait=30
    ),
    Error(429, said("slow down"), BUSY, "microsoft/kernel-memory#795", {"x-ms-retry-after-ms": "7000"}, 7),
    Error(
        429,
        said("Resource has been exhausted (e.g. check quota).", status="RESOURCE_EXHAUSTED"),
        BUSY,
        "googleapis/python-genai#2065",
    ),
    Error(
        500,
        said("Service is currently unavailable due to high demand. Please try again later. (E003)"),
        BUSY,
        "replicate.com: errors",
    ),
    # none of these
    Error(400, said("Invalid size", code="invalid_size"), OTHER, "openai 3.54.0"),
    Error(
        422,
        {"detail": [{"msg": "too small", "type": "image_too_small", "input": "content_policy_violation per day"}]},
        OTHER,
        "fal.ai/docs/errors: it repeats the request",
    ),
    Error(500, said("Internal error encountered.", status="INTERNAL"), OTHER, "ai.google.dev: troubleshooting"),
]
"""Errors as they came, what each means, and who had it."""

REPORTED = [
    ("STOP", Ended.WHOLE, "QwenLM/qwen-code#9884"),
    ("FinishReason.STOP", Ended.WHOLE, "BeehiveInnovations/pal-mcp-server#251"),
    ("MAX_TOKENS", Ended.CUT_OFF, "QwenLM/qwen-code#9884"),
    ("max-output-tokens", Ended.CUT_OFF, "MAXeaglet/commandcode-proxy#39"),
    ("network-error", Ended.FAILED, "MAXeaglet/commandcode-proxy#39"),
    ("partial", Ended.FAILED, "a word of nobody's"),
]
"""Endings as gateways write them."""
WORDS = [*((word, row.meaning, row.source) for row in ENDINGS for word in row.words.split()), *REPORTED]


def png(size: tuple[int, int] = (96, 64)) -> str:
    file = io.BytesIO()
    Image.effect_noise(size, 90).convert("RGB").save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


PNG = png()
CHAT = {"choices": [{"message": {"content": "Score: 1"}, "finish_reason": "stop"}]}
PICTURE_AT = {
    "openai": {"data": [{"b64_json": PNG}]},
    "openrouter": {
        "choices": [
            {"message": {"images": [{"image_url": {"url": f"data:image/png;base64,{PNG}"}}]}, "finish_reason": "stop"}
        ]
    },
    "dashscope": {
        "output": {
            "choices": [{"message": {"content": [{"image": f"data:image/png;base64,{PNG}"}]}, "finish_reason": "stop"}]
        }
    },
    "gemini": {"candidates": [{"content": {"parts": [{"inlineData": {"data": PNG}}]}, "finishReason": "STOP"}]},
}
ANSWERS = {
    "chat": CHAT,
    "messages": {"content": [{"type": "text", "text": "Score: 1"}], "stop_reason": "end_turn"},
    "generateContent": {"candidates": [{"content": {"parts": [{"text": "Score: 1"}]}, "finishReason": "STOP"}]},
    "images": {"data": [{"b64_json": PNG}], "finish_reason": "stop"},
    **{f"api {name}": PICTURE_AT[name] for name in ("openrouter", "dashscope", "gemini")},
}
"""A whole answer to each client that is told how it ended, with the word `stop` in its place."""
MODELS = {"fal": "fal/fal-ai/nano-banana-2/edit", "openrouter": "openrouter/google/gemini-3-pro-image"}
CLIENTS = ["chat", "messages", "generateContent", "images", *(f"api {name}" for name in PROVIDERS)]


class Scripted(ThreadingHTTPServer):
    """Well until it is told what to answer to whatever is posted."""

    daemon_threads = True
    error: Error | None = None
    answer: Any = None
    told: Callable[[], None] = lambda: None
    """Called before each answer to what is posted."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a body that follows its head would wait 40 ms
    server: Scripted

    def log_message(self, *_: Any) -> None: ...

    def send(self, status: int, body: Any, headers: Mapping[str, str]) -> None:
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self.send(200, {"data": [{"id": "m"}]}, {})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.told()
        if (error := self.server.error) is not None:
            return self.send(error.status, error.body, error.headers)
        self.send(200, self.server.answer, {})


@pytest.fixture(scope="module")
def server() -> Iterator[Scripted]:
    with Scripted(("127.0.0.1", 0), Handler) as listening:
        threading.Thread(target=listening.serve_forever, args=(0.02,), daemon=True).start()
        yield listening
        listening.shutdown()


class Client:
    """One client of the house, loaded."""

    def __init__(self, name: str, server: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
        self.server = server
        server.error, server.answer, server.told = None, ANSWERS.get(name, {}), lambda: None
        hurried = {"base_url": f"{server.url}/v1", "retries": 0, "deadline": PATIENCE, "attempt_timeout": PATIENCE}
        if self_edits := name.startswith(("images", "api")):
            if name == "images":
                self.model: Any = ImageEndpoint(ImageEndpoint.Parameters(model="m", probe=False, **hurried))
            else:
                provider = name.removeprefix("api ")
                monkeypatch.setenv(PROVIDERS[provider].key, "key")
                self.model = Api(Api.Parameters(model=MODELS.get(provider, f"{provider}/m"), **hurried))
        else:
            api = {"messages": "anthropic", "generateContent": "gemini"}.get(name)
            monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
            monkeypatch.setenv("GEMINI_API_KEY", "key")
            self.model = ChatEndpoint(ChatEndpoint.Parameters(model="m", api=api, **hurried))
        self.edits = self_edits
        self.model.load(["cpu"])
        self.served = self.model.client.served

    def end(self) -> None:
        self.served.deadline = 0.0

    def outcome(self) -> Any:
        """What it makes of one request: `Ended`, or the `RequestError`. With the answer its time is over."""
        self.served.deadline, self.server.told = PATIENCE, self.end
        source = Image.new("RGB", (96, 64), (200, 10, 10))
        try:
            if self.edits:
                self.model.edit(EditRequest(pictures={"source": source}, instruction="x", seed=1), lambda *_: None)
                return Ended.WHOLE
            pictures = {"source": source, "edit": source}
            asked = JudgeRequest(system="Be strict.", user="rate it", pictures=pictures, form="score", sample_id="s")
            (answer,) = self.model.judge([asked])
            ended = answer.ended if isinstance(answer, Reply) else Status.OK
            return {Status.OK: Ended.WHOLE, Status.CUT_OFF: Ended.CUT_OFF, Status.REFUSED: Ended.REFUSED}[ended]
        except Refused:
            return Ended.REFUSED
        except RequestError as error:
            return error


@pytest.fixture
def client(name: str, server: Scripted, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    made = Client(name, server, monkeypatch)
    yield made
    made.model.close()


@pytest.mark.parametrize("name", CLIENTS)
def test_every_client_reads_every_error_as_it_was_meant(name: str, client: Client, server: Scripted) -> None:
    wrong = []
    for row in ERRORS:
        server.error = row
        found = client.outcome()
        means = REFUSED if found is Ended.REFUSED else Says(found.says) if isinstance(found, RequestError) else found
        waits = row.wait is None or f"asks for a wait of {row.wait:g} s" in str(found)
        if means is not row.means or not waits:
            wrong.append((row.source, row.means, str(found)))
    assert not wrong


def with_ending(name: str, word: str | None, error: Any = None) -> Any:
    """The answer to a client that ended so."""
    text = json.dumps(ANSWERS[name])
    for usual in ('"stop"', '"STOP"', '"end_turn"'):
        text = text.replace(usual, json.dumps(word))
    document = json.loads(text)
    if error is not None:
        (document["choices"][0] if "choices" in document else document)["error"] = error
    return document


@pytest.mark.parametrize("name", ANSWERS)
def test_every_client_reads_every_ending_alike(name: str, client: Client, server: Scripted) -> None:
    """A picture has come whole or not at all: cut off it is none. What is under way is none without a task."""
    wrong = []
    for word, meaning, source in WORDS:
        server.answer = with_ending(name, word)
        found = client.outcome()
        ended = Ended.FAILED if isinstance(found, RequestError) else found
        expected = (
            Ended.FAILED if meaning is Ended.UNDER_WAY or (client.edits and meaning is Ended.CUT_OFF) else meaning
        )
        if ended is not expected:
            wrong.append((word, expected, found, source))
    assert not wrong


@pytest.mark.parametrize("name", [name for name in ANSWERS if name != "api dashscope"])
def test_beside_an_error_no_answer_is_whole(name: str, client: Client, server: Scripted) -> None:
    for error in ({"code": 502, "message": "Upstream idle timeout exceeded"}, {"message": "broken off"}, "broken off"):
        for word in ("stop", "error", "STOP"):
            server.answer = with_ending(name, word, error)
            found = client.outcome()
            assert isinstance(found, RequestError), (word, error, found)


@pytest.mark.parametrize("name", ["chat"])
def test_no_reason_at_all_is_whole_where_servers_leave_it_out_and_is_noted(
    name: str, client: Client, server: Scripted
) -> None:
    for word in (None, ""):
        server.answer = with_ending(name, word)
        assert client.outcome() is Ended.WHOLE
    client.served.deadline, server.told = PATIENCE, lambda: None
    client.model.load(["cpu"])
    assert "does not say" in client.model.about()["ending"]


def test_what_nobody_lists_is_never_good() -> None:
    assert read_ending("brand_new_word").meaning is Ended.FAILED
    assert "not known" in read_ending("brand_new_word").failure
    assert read_ending("", may_be_silent=False).meaning is Ended.FAILED
    assert read_ending("stop", "SAFETY").meaning is Ended.REFUSED, "a second reason that is worse counts"
    assert read_ending("stop", "a_hosts_own_word").meaning is Ended.WHOLE
    assert read_ending("", blocked="A_NEW_REASON").meaning is Ended.REFUSED, "whatever blocks a question"
    assert read_error(418, said("brand new words")).meaning is OTHER


def test_no_word_has_two_meanings() -> None:
    words = [word for row in ENDINGS for word in row.words.split()]
    assert len(words) == len(set(words))
    assert all(row.source for row in ENDINGS)
