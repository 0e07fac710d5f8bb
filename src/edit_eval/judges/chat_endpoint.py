"""A server as a judge: whatever speaks the OpenAI chat protocol (vLLM, SGLang, llama.cpp, Ollama, OpenAI, ...).

What a server may do to a request, and what is made of it: `edit_eval.endpoints.client`. The canary is a request for one
token about a picture of one colour, which is also asked once at the start.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from edit_eval.endpoints.client import Ask, Client, Served
from edit_eval.endpoints.sent_pictures import png, scaled
from edit_eval.endpoints.serving import ServerEnvironment
from edit_eval.judges.answers import tokens_given
from edit_eval.judges.contract import JudgeRequest
from edit_eval.judges.sampling import seed_of
from edit_eval.pretrained import folders
from edit_eval.records import Reply, Status

if TYPE_CHECKING:
    from PIL.Image import Image

REGISTERED = {"chat_endpoint": "ChatEndpoint"}

Message = dict[str, Any]

TAKEN_BY_CALL = ("model", "messages", "max_tokens", "temperature", "stream", "n", "timeout", "extra_headers")

ENDINGS = {
    "length": Status.CUT_OFF,  # OpenAI, and all that speak its protocol
    "model_length": Status.CUT_OFF,  # Mistral: the model's own limit
    "abort": Status.CUT_OFF,  # vLLM and SGLang: the request was given up in the server, with what there was so far
    "content_filter": Status.REFUSED,  # OpenAI, Azure: withheld, wholly or from some place on
}
"""`finish_reason` -> how an answer ended that did not end by itself."""

_CONTROL_TOKEN = re.compile(r"<\|(?=[^|<>]{1,40}\|>)")


class ChatEndpoint:
    """A server that speaks the OpenAI chat protocol: vLLM, SGLang, llama.cpp, Ollama, OpenAI, ...

    It is asked about several edits at once.

    It needs no GPU: with `device_ids: cpu:1` it judges while the GPUs still edit.
    """

    @dataclass(kw_only=True)
    class Parameters(Served):
        """What decides the answers, and how the server is reached."""

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

        def __post_init__(self) -> None:
            if clash := sorted(set(self.call) & set(TAKEN_BY_CALL)):
                raise ValueError(f"call: {', '.join(clash)} cannot be given there")
            super().__post_init__()

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.capacity = parameters.concurrency
        self.client = Client(parameters, "judge", lambda: self._asked(self._canary()))
        self._about: dict[str, str] = {}

    @staticmethod
    def revision(parameters: Parameters) -> str:
        """A digest of the folder of weights that a server of ours loads; nothing of all other servers is known."""
        return folders.digest_if_local(parameters.model) if parameters.serve else ""

    def prepare(self) -> None:
        """Imports the client. Raises `ImportError` where it is missing."""
        import openai  # noqa: F401

    def load(self, devices: Sequence[str], server: ServerEnvironment | None = None) -> None:
        """Connects, and asks a canary, with all retries. Raises `LoadError` when none comes back.

        A server of ours (`serve`) is started before, on the GPUs among `devices`.
        """
        self.client.serve(devices, server)
        self._know(*self.client.first(self._asked(self._canary())))

    def examine(self, request: JudgeRequest) -> str | Reply:
        """Asks once, and soon gives up: the answer as it came. Raises `LoadError` with the reason why there is none."""
        answer = self.client.once(self._asked(self._body(request)))
        self._know(answer)
        return self._reply(answer)

    def _know(self, answer: Completion) -> None:
        names = ("model", "system_fingerprint")
        said = {name: self.client.clean(str(answer.document.get(name) or "")) for name in names}
        self._about = {**self.client.about(), **said}

    def close(self) -> None:
        """Ends the connections; a request that is under way is cancelled."""
        self.client.close()

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
        return [self._reply(answer) for answer in self.client.answers([self._asked(body) for body in bodies])]

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

    # -- what comes back --

    def _asked(self, body: Message) -> Ask[Completion]:
        async def ask(client: Any) -> Completion:
            response = await client.chat.completions.with_raw_response.create(**body)
            return self._completion(response.http_response.text)

        return ask

    def _completion(self, text: str) -> Completion:
        """What a server sent with a status of success. The library itself would take it for whatever it resembles."""
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            document = None
        if isinstance(document, dict) and isinstance(choices := document.get("choices"), list) and choices:
            choice = choices[0] if isinstance(choices[0], dict) else {}
            if isinstance(message := choice.get("message"), dict):
                return Completion(document, message, str(choice.get("finish_reason")))
        raise self.client.of_another_kind(document, text, "chat completion")

    def _reply(self, completion: Completion) -> str | Reply:
        content = completion.message.get("content")
        refusal = "" if content else completion.message.get("refusal") or ""
        if isinstance(content, list):  # text in parts, as it is also sent
            content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
        text = self.client.clean(str(content or refusal))
        ended = Status.REFUSED if refusal else ENDINGS.get(completion.finish_reason, Status.OK)
        return text if ended is Status.OK else Reply(text=text, ended=ended)


@dataclass(frozen=True)
class Completion:
    """What a server answered, as plain data."""

    document: Message
    message: Message
    """Of the first choice."""
    finish_reason: str


def data_url(picture: Image, max_pixels: int | None = None) -> str:
    """A picture as the PNG in a data URL: nothing that a server would fetch."""
    return "data:image/png;base64," + base64.b64encode(png(scaled(picture, max_pixels))).decode("ascii")


def _plain(text: str) -> str:
    """Takes control tokens apart (`<|im_end|>`): a server's chat template would let a text forge a turn with them."""
    return _CONTROL_TOKEN.sub("< |", text)
