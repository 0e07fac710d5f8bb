"""A server as a judge: whatever speaks the OpenAI chat protocol (vLLM, SGLang, llama.cpp, Ollama, OpenAI, ...).

What a server may do to a request, and what is made of it:

* 408, 409, 429, 5xx, no connection, no whole answer in time, half an answer, an answer that is no chat completion (a
  proxy's page, an error with status 200): asked again, after `Retry-After` or a growing pause with jitter, at most
  `retries` times and never beyond `deadline`. A 429 only counts against the deadline: the server is well, and busy.
* any other 4xx: final, and so is a redirect, which is never followed, and an answer beyond the bound
  (`edit_eval.endpoints.transport`).
* a 429 also halves the number of requests under way at once; every answer lets it grow again, one for each round.
* a request that has failed for good is followed by a *canary*: a request for one token about a picture of one colour,
  the same that was asked once at the start. A healthy `/health` proves nothing, so it is not asked for. Where the
  canary is answered the request is to blame, and has failed. Where it is not, the server is, and `LoadError` says so:
  the worker is replaced, nobody is asked again before a canary comes back, and no sample pays for it.

The key is read from the environment and goes nowhere but into the request: errors and answers that repeat it are
mended, before anything is cut.
"""

from __future__ import annotations

import asyncio
import base64
import http
import io
import json
import math
import os
import random
import re
import threading
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar
from urllib.parse import urlsplit

from edit_eval.endpoints.failures import Failure, address_of, said_in, with_hint
from edit_eval.endpoints.gate import Gate, retry_after
from edit_eval.endpoints.transport import Unacceptable, http_client
from edit_eval.errors import LoadError, ModelError
from edit_eval.judges.answers import tokens_given
from edit_eval.judges.contract import JudgeRequest
from edit_eval.judges.sampling import seed_of
from edit_eval.privacy import Secrets
from edit_eval.records import Reply, Status

if TYPE_CHECKING:
    from PIL.Image import Image

REGISTERED = {"chat_endpoint": "ChatEndpoint"}

T = TypeVar("T")
Message = dict[str, Any]

TAKEN_BY_CALL = ("model", "messages", "max_tokens", "temperature", "stream", "n", "timeout", "extra_headers")
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 20.0
"""Seconds between the first two attempts, and at most; in between it doubles."""
CANARY_SECONDS = 30.0
"""How long a canary may take that is sent after a failure."""

ENDINGS = {
    "length": Status.CUT_OFF,  # OpenAI, and all that speak its protocol
    "model_length": Status.CUT_OFF,  # Mistral: the model's own limit
    "abort": Status.CUT_OFF,  # vLLM and SGLang: the request was given up in the server, with what there was so far
    "content_filter": Status.REFUSED,  # OpenAI, Azure: withheld, wholly or from some place on
}
"""`finish_reason` -> how an answer ended that did not end by itself."""
EXAMINED_SECONDS = 60.0
"""How long `edit-eval doctor` waits for an answer, at most."""

_CONTROL_TOKEN = re.compile(r"<\|(?=[^|<>]{1,40}\|>)")
_SPENT = "insufficient_quota"  # OpenAI's code of a 429 for which waiting is no help

NOT_IN_THE_KEY: dict[str, bool] = {"in_key": False}
"""Metadata of a field that says where and how often is asked, and so decides no answer."""


class ChatEndpoint:
    """A server that speaks the OpenAI chat protocol: vLLM, SGLang, llama.cpp, Ollama, OpenAI, ...

    It is asked about several edits at once.

    It needs no GPU: with `device_ids: cpu:1` it judges while the GPUs still edit.
    """

    @dataclass
    class Parameters:
        """What decides the answers, and how the server is reached."""

        __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

        model: str
        """The model's name, as the server knows it."""
        revision: str = ""
        """A word of yours: change it when the server has other weights under the same name, and all is judged anew."""
        max_pixels: int | None = None
        """A larger picture is scaled down to this area before it is sent."""
        max_tokens: int | Literal["auto"] | None = "auto"
        """Of an answer; one that is longer is cut off, and no score. auto: 128 for a bare score, 512 for all else. null
        sends no limit, for servers that want another one in `call`."""
        temperature: float | None = 0.0
        """Above 0 answers are drawn, and a `seed` of its own goes along with each request. null sends none, for models
        that accept none."""
        call: dict[str, Any] = field(default_factory=dict)
        """Further keywords of the request: `seed`, `response_format`, `max_completion_tokens`, `extra_body`, ..."""
        base_url: str = field(default="", metadata=NOT_IN_THE_KEY)
        """`http://host:8000/v1`; empty: what `OPENAI_BASE_URL` says, or else OpenAI's own. Not part of a key."""
        api_key_env: str = field(default="OPENAI_API_KEY", metadata=NOT_IN_THE_KEY)
        """NAME of the environment variable that holds the key; it need not be set for a server without. Not part of
        a key."""
        concurrency: int = field(default=8, metadata=NOT_IN_THE_KEY)
        """Requests under way at once, at most. Not part of a key."""
        attempt_timeout: float = field(default=120.0, metadata=NOT_IN_THE_KEY)
        """Seconds in which one attempt must have given its whole answer. Not part of a key."""
        deadline: float = field(default=300.0, metadata=NOT_IN_THE_KEY)
        """Seconds for a request with all its attempts and pauses; less than the model's `timeout`. Not part of a
        key."""
        retries: int = field(default=5, metadata=NOT_IN_THE_KEY)
        """Further attempts at a request that failed. Not part of a key."""

        def __post_init__(self) -> None:
            if clash := sorted(set(self.call) & set(TAKEN_BY_CALL)):
                raise ValueError(f"call: {', '.join(clash)} cannot be given there")
            if self.base_url and urlsplit(self.base_url).scheme not in ("http", "https"):
                raise ValueError("base_url: it begins with http:// or https://")  # not repeated: it may be a key
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.api_key_env):
                raise ValueError("api_key_env: it takes the NAME of an environment variable, not a key")
            for name in ("max_pixels", "max_tokens", "concurrency"):
                if isinstance(value := getattr(self, name), int) and value < 1:
                    raise ValueError(f"{name}: {value} is too few")
            for name in ("attempt_timeout", "deadline"):
                if not (math.isfinite(value := getattr(self, name)) and value > 0):
                    raise ValueError(f"{name}: {value} is no time in seconds")
            if self.retries < 0:
                raise ValueError(f"retries: {self.retries} is too few")

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.capacity = parameters.concurrency
        self._key = os.environ.get(parameters.api_key_env, "").strip()
        self._clean = Secrets({parameters.api_key_env: self._key}).hidden
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._client: Any = None
        self._gate = Gate(parameters.concurrency)
        self._alive: asyncio.Task[bool] | None = None
        self._address = ""
        self._about: dict[str, str] = {}

    def prepare(self) -> None:
        """Imports the client. Raises `ImportError` where it is missing."""
        import openai  # noqa: F401

    def load(self, devices: Sequence[str]) -> None:
        """Connects, and asks a canary, with all retries. Raises `LoadError` when none comes back."""
        self._connect()
        try:
            self._know(self._wait_for(self._ask(self._canary())))
        except Failure as failure:
            self.close()
            raise LoadError(str(failure)) from None

    def examine(self, request: JudgeRequest) -> str | Reply:
        """Asks once, and soon gives up: the answer as it came. Raises `LoadError` with the reason why there is none."""
        p = self.parameters
        seconds = {"attempt_timeout": p.attempt_timeout, "deadline": p.deadline}
        soon: dict[str, Any] = {name: min(value, EXAMINED_SECONDS) for name, value in seconds.items()}
        self.parameters = replace(p, retries=min(p.retries, 1), **soon)
        self._connect()
        try:
            answer = self._wait_for(self._ask(self._body(request)))
            self._know(answer)
            return self._reply(answer)
        except Failure as failure:
            raise LoadError(f"{failure} {self._wait_for(self._models(failure))}".rstrip()) from None
        finally:
            self.parameters = p
            self.close()

    def _connect(self) -> None:
        import openai

        self._client = openai.AsyncOpenAI(
            api_key=self._key or "none",  # a server without keys wants something all the same
            base_url=self.parameters.base_url or None,
            max_retries=0,  # the retries are ours: the client's own know no total deadline
            timeout=self.parameters.attempt_timeout,
            http_client=http_client(),
        )
        self._address = address_of(str(self._client.base_url))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def _know(self, answer: Completion) -> None:
        import openai

        self._about = {
            "server": self._address,
            **{name: self._clean(str(answer.document.get(name) or "")) for name in ("model", "system_fingerprint")},
            "openai": openai.__version__,
        }

    def close(self) -> None:
        """Ends the connections and the thread behind them; a request that is under way is cancelled.

        For programs that use the class themselves: a worker's process ends as a whole.
        """
        if self._loop is None or self._thread is None:
            return
        loop, self._loop = self._loop, None
        asyncio.run_coroutine_threadsafe(self._end(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join()
        loop.close()

    def about(self) -> dict[str, str]:
        """The server's address, what it calls its model, and the client's version."""
        return dict(self._about)

    def judge(self, requests: Sequence[JudgeRequest]) -> list[str | Reply]:
        """Answers a batch; its members are asked about at the same time, each in a request of its own.

        One that the server ended (`ENDINGS`) is a `Reply` that says so.

        May be called from several threads at once. Raises `ModelError` for a request that failed for good, and
        `LoadError` when the server itself is not answering any more.
        """
        bodies = [self._body(request) for request in requests]
        try:
            return self._wait_for(self._answers(bodies))
        except Failure as failure:
            # From None: the client's own exceptions carry the request, and so the key.
            raise (ModelError if failure.alive else LoadError)(str(failure)) from None

    def _wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            work.close()
            raise LoadError("the judge is not loaded: call load(devices) first")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    # -- what is sent --

    def _body(self, request: JudgeRequest) -> Message:
        p = self.parameters
        limit = tokens_given(request.form) if p.max_tokens == "auto" else p.max_tokens
        body = self._chat(request.system, request.user, list(request.pictures.values()), limit)
        return {"seed": seed_of(request), **body} if p.temperature else body

    def _canary(self) -> Message:
        from PIL import Image as Images

        picture = Images.new("RGB", (64, 64), (96, 160, 96))
        return self._chat("", "Answer with one word: is this a picture?", [picture], self.parameters.max_tokens and 1)

    def _chat(self, system: str, user: str, pictures: Sequence[Image], max_tokens: int | None) -> Message:
        parts: list[Message] = [
            {"type": "image_url", "image_url": {"url": data_url(picture, self.parameters.max_pixels)}}
            for picture in pictures
        ]
        parts.append({"type": "text", "text": _plain(user)})
        messages: list[Message] = [{"role": "user", "content": parts}]
        if system:
            messages.insert(0, {"role": "system", "content": _plain(system)})
        body: Message = {"model": self.parameters.model, "messages": messages, **self.parameters.call}
        if max_tokens is not None:
            body["max_tokens"] = max_tokens
        if self.parameters.temperature is not None:
            body["temperature"] = self.parameters.temperature
        return body

    # -- in the thread of the loop --

    async def _end(self) -> None:
        under_way = asyncio.all_tasks() - {asyncio.current_task()}
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        await self._client.close()

    async def _answers(self, bodies: Sequence[Message]) -> list[str | Reply]:
        return list(await asyncio.gather(*(self._answer(body) for body in bodies)))

    async def _answer(self, body: Message) -> str | Reply:
        try:
            return self._reply(await self._ask(body))
        except Failure as failure:
            failure.alive = await self._server_answers()
            raise

    async def _server_answers(self) -> bool:
        """Sends a canary, one for all requests that failed at the same time."""
        if self._alive is None or self._alive.done():
            self._alive = asyncio.ensure_future(self._canary_comes_back())
        return await self._alive

    async def _canary_comes_back(self) -> bool:
        try:
            await self._attempt(self._canary(), min(CANARY_SECONDS, self.parameters.attempt_timeout))
        except Failure:
            return False
        return True

    async def _ask(self, body: Message) -> Completion:
        """A request with all its attempts. Raises `Failure`."""
        clock, attempts, counted = time.monotonic, 0, 0
        begin, failure = math.inf, Failure("")
        while True:
            async with self._gate as sent:
                begin = min(begin, sent)  # the first wait for a turn is not the server's
                left = begin + self.parameters.deadline - clock()
                if left > 0:
                    attempts += 1
                    try:
                        answer = await self._attempt(body, min(self.parameters.attempt_timeout, left))
                    except Failure as error:
                        failure = error
                        counted += not failure.busy
                        if failure.busy:
                            wait = failure.wait or 0.0
                            self._gate.slower(sent, wait if wait < self.parameters.deadline else 0.0)
                    else:
                        self._gate.faster()
                        return answer
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(attempts - 1, 10)) * random.uniform(0.5, 1.0)
            pause = pause if failure.wait is None else failure.wait
            over = clock() + pause >= begin + self.parameters.deadline
            if not failure.again or counted > self.parameters.retries or over:
                wants = f"; it asks to wait {failure.wait:g} s" if failure.wait and over else ""
                times = f"{attempts} attempts" if attempts > 1 else "1 attempt"
                text = f"{failure}{wants} ({times} in {clock() - begin:.1f} s, {self._address})"
                raise Failure(with_hint(text), again=False) from None
            await asyncio.sleep(pause)

    async def _attempt(self, body: Message, seconds: float) -> Completion:
        """One request: a whole chat completion, or `Failure`."""
        import openai

        create = self._client.chat.completions.with_raw_response.create
        try:
            response = await asyncio.wait_for(create(**body), seconds)
            text = response.http_response.text
        except (asyncio.TimeoutError, openai.APITimeoutError):
            raise Failure(f"the judge's server gave no whole answer in time: {seconds:.3g} s") from None
        except openai.APIStatusError as error:
            raise self._status(error.status_code, error.code, said_in(error.body), error.response.headers) from None
        except Exception as error:  # from None: what a client raises may hold the request, and so the key
            raise self._broken(error) from None
        return self._completion(text)

    def _broken(self, error: Exception) -> Failure:
        """Why there is no answer at all."""
        import openai

        cause = error.__cause__ or error
        if isinstance(cause, Unacceptable):
            return Failure(f"the answer of the judge's server {cause}", again=False)
        said = self._excerpt(str(cause))
        if isinstance(error, openai.APIConnectionError):
            return Failure(f"the judge's server cannot be reached, or broke off: {said}")
        if isinstance(error, TypeError):  # a keyword of `call` that the client does not know
            return Failure(f"the request cannot be made: {said}", again=False)
        return Failure(f"the request failed: {type(error).__name__}: {said}")

    async def _models(self, failure: Failure) -> str:
        """What the server knows by name, where it does not know the model."""
        if "answered 404" not in str(failure):
            return ""
        try:
            listed = await asyncio.wait_for(self._client.models.list(), self.parameters.attempt_timeout)
            names = [str(model.id) for model in listed.data]
        except Exception:  # a server need not have such a list
            return ""
        return self._excerpt(f"(it has {', '.join(names[:5])}{', ...' * (len(names) > 5)})") if names else ""

    def _completion(self, text: str) -> Completion:
        """What a server sent with a status of success. The client itself would take it for whatever it resembles."""
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            document = None
        if isinstance(document, dict):
            if isinstance(choices := document.get("choices"), list) and choices:
                choice = choices[0] if isinstance(choices[0], dict) else {}
                if isinstance(message := choice.get("message"), dict):
                    return Completion(document, message, str(choice.get("finish_reason")))
            if error := document.get("error"):
                code = error.get("code") if isinstance(error, dict) else None
                raise self._status(code if isinstance(code, int) else 500, None, said_in(document), {})
        shown = self._excerpt(text) or "nothing"
        raise Failure(f"the judge's server answered what is no chat completion: {shown}")

    def _status(self, code: int, kind: str | None, said: str, headers: Any) -> Failure:
        phrase = f" {http.HTTPStatus(code).phrase}" if code in http.HTTPStatus._value2member_map_ else ""
        if 300 <= code < 400:
            where = address_of(str(headers.get("location", "")), path=False)
            text = f"the judge's server answered {code}{phrase}, and points to {where or 'another path of its own'}"
            return Failure(f"{text}: no redirect is followed; give the final address as base_url", again=False)
        text = f"the judge's server answered {code}{phrase}: {self._excerpt(said) or 'no reason given'}"
        if code in (401, 403) and not self._key:
            text += f" (the environment variable {self.parameters.api_key_env} is not set)"
        busy = code == 429 and kind != _SPENT
        again = busy or code in (408, 409) or code >= 500
        return Failure(text, again=again, busy=busy, wait=retry_after(headers) if again else None)

    def _reply(self, completion: Completion) -> str | Reply:
        content = completion.message.get("content")
        refusal = "" if content else completion.message.get("refusal") or ""
        if isinstance(content, list):  # text in parts, as it is also sent
            content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
        text = self._clean(str(content or refusal))
        ended = Status.REFUSED if refusal else ENDINGS.get(completion.finish_reason, Status.OK)
        return text if ended is Status.OK else Reply(text=text, ended=ended)

    def _excerpt(self, text: str) -> str:
        """The beginning of what a server or the client said, without markup, line ends and the key."""
        markup = rf"<(?!{self.parameters.api_key_env}>)[^<>]{{0,200}}>"
        return " ".join(re.sub(markup, " ", self._clean(text)).split())[:300]


@dataclass(frozen=True)
class Completion:
    """What a server answered, as plain data."""

    document: Message
    message: Message
    """Of the first choice."""
    finish_reason: str


def data_url(picture: Image, max_pixels: int | None = None) -> str:
    """A picture as the PNG in a data URL: without loss, without metadata, and nothing that a server would fetch."""
    from PIL import Image as Images

    rgb = picture.convert("RGB")
    if max_pixels is not None and rgb.width * rgb.height > max_pixels:
        factor = math.sqrt(max_pixels / (rgb.width * rgb.height))
        size = (max(1, int(rgb.width * factor)), max(1, int(rgb.height * factor)))
        rgb = rgb.resize(size, Images.Resampling.LANCZOS)
    rgb.info = {}
    file = io.BytesIO()
    rgb.save(file, "PNG", compress_level=1)
    return "data:image/png;base64," + base64.b64encode(file.getbuffer()).decode("ascii")


def _plain(text: str) -> str:
    """Takes control tokens apart (`<|im_end|>`): a server's chat template would let a text forge a turn with them."""
    return _CONTROL_TOKEN.sub("< |", text)
