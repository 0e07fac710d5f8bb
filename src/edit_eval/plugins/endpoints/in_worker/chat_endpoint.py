"""A server as a judge: any that speaks the OpenAI chat protocol (vLLM, SGLang, llama.cpp, Ollama, OpenAI, ...), and
with `api` OpenAI's own, Anthropic's and Google's, each in its own words (`chat_interfaces`).

How errors of a server are handled: `client`. The canary is a request for one token about a picture
of one colour, also sent once at the start. What the server supports beyond the protocol (constraining an answer to a
schema, probabilities, switching thinking) is found out then, too: `chat_probe`.

Requests are built so that a server can reuse shared computation: the rubric (`system`) first, then the pictures, the
source before the edit, and the text about them last.
"""

from __future__ import annotations

import base64
import contextlib
import copy
import hashlib
import json
import math
import re
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from edit_eval.endpoints.serving import ServerEnvironment
from edit_eval.errors import CanaryFound, LoadError
from edit_eval.json_values import JsonObject
from edit_eval.judges.answers import default_token_limit
from edit_eval.judges.contract import (
    PROBABILITIES,
    AnswerForm,
    AnswerPrice,
    DeferredQuestion,
    JudgeRequest,
    MakersJudge,
    seed_of,
)
from edit_eval.pictures import get_kept_file, pixel_digest, png, scale_picture
from edit_eval.plugins.endpoints.in_worker.batch_interfaces import BATCH_INTERFACES
from edit_eval.plugins.endpoints.in_worker.batches import LONGEST_RESULTS, SECONDS_FOR_ALL, Batches, make_reader
from edit_eval.plugins.endpoints.in_worker.chat_interfaces import CHAT_COMPLETIONS, KEYWORDS, Chat, Completion
from edit_eval.plugins.endpoints.in_worker.chat_probe import LOGPROBS_ROAD, ONE_WORD, Fields, Probe, WayOfAsking
from edit_eval.plugins.endpoints.in_worker.chat_servers import Decision, wording
from edit_eval.plugins.endpoints.in_worker.client import (
    NOT_IN_THE_KEY,
    Ask,
    Client,
    Failure,
    ServerParameters,
    host_elsewhere,
    plain,
)
from edit_eval.plugins.endpoints.in_worker.closed_judges import (
    MAKERS,
    address_of_maker,
    cards_of_makers,
    judge_of,
    way_of,
)
from edit_eval.plugins.endpoints.in_worker.vocabulary import Says
from edit_eval.pretrained import folders
from edit_eval.records import Reply, Status

if TYPE_CHECKING:
    from PIL.Image import Image


LONGEST_ANSWER = 512
"""Most tokens that `max_tokens: auto` allows."""
PROBES, PROBE_TOKENS = 8, (1500, 16)
"""Most requests that are tried out when a judge is loaded, and the most tokens that one reads and writes."""
PROBE_ROOM = 1024
"""Most tokens of a thought about such a request."""

_SPECIAL_TOKEN = re.compile(r"<\|(?=[^|<>]{1,40}\|>)")


class ChatEndpoint:
    """A server that speaks the OpenAI chat protocol: vLLM, SGLang, llama.cpp, Ollama, OpenAI, ...

    It is asked about several edits at once, and needs no GPU: with `device_ids: cpu:1` it judges while the GPUs still
    edit.
    """

    probabilities = True
    holds_device = False
    requires = ("aiohttp", "pydantic_core")  # not torch, which modules shared with local judges import only when needed
    only_looks = True
    sends_files = True

    @dataclass(kw_only=True)
    class Parameters(ServerParameters):
        """What decides the answers, and how the server is reached."""

        max_pixels: int | None = None
        """A larger picture is scaled down to this area before it is sent."""
        max_tokens: int | Literal["auto"] | None = "auto"
        """Tokens of an answer; a longer one is cut off and gives no score. auto: 128 for a bare score, 512 for all
        else. null sends no limit, for servers that want another one in `call`."""
        temperature: float | None = 0.0
        """Above 0 answers are drawn, and a `seed` of its own goes along with each request. null sends none, for models
        that accept none."""
        call: dict[str, Any] = field(default_factory=dict)
        """Further keywords of the request: `seed`, `response_format`, `max_completion_tokens`, `extra_body`, ...; with
        `api: anthropic` or `gemini` fields as the maker names them."""
        thinking: Literal["on", "off"] | None = None
        """Whether the model thinks before it answers; null: as the server has it. Where probabilities are read it does
        not."""
        thinking_tokens: int = 8192
        """With `thinking: on`, at most this many tokens per thought, besides those of the answer; a longer one is cut
        off and gives no score."""
        probabilities: Literal["logprobs", "decisions", "systemone"] = "logprobs"
        """How probabilities are asked for: `logprobs` of the answer's first token, in the protocol's own words; or in
        the server's, by SGLang's `/v1/decisions` or the `/v1/systemone` of vLLM, SGLang and transformers."""

        api: Literal["openai", "gemini", "anthropic"] | None = field(default=None, metadata={"in_key": "if given"})
        """The maker's own service, in its own words: its address and key's variable, the fields that its present models
        take, and the least thinking there is, unless `thinking` says otherwise."""
        price: list[float] | None = field(default=None, metadata=NOT_IN_THE_KEY)
        """What a million tokens cost, `[READ, WRITTEN]` (`[0.2, 0.8]`): `status`, `plan --from` and the report then say
        the cost beside the tokens. Not part of a key."""
        batch_interface: bool = field(default=False, metadata=NOT_IN_THE_KEY)
        """With `api`: questions are asked in batches, at half the price; their answers come within a day. Not part of a
        key."""
        batch_seconds: float = field(default=60.0, metadata=NOT_IN_THE_KEY)
        """A batch is handed in when no question has come for so long, and looked after as often. Not part of a key."""

        def __post_init__(self) -> None:
            if self.price is not None and not (
                len(self.price) == 2 and all(math.isfinite(number) and number >= 0 for number in self.price)
            ):
                raise ValueError("price: it takes two numbers, for a million tokens read and for a million written")
            interface = MAKERS[self.api].interface if self.api else CHAT_COMPLETIONS
            if self.api is not None:
                maker = MAKERS[self.api]
                if self.serve is not None:
                    raise ValueError("serve: the maker serves the model; leave out one of the two")
                self.base_url = self.base_url or address_of_maker(self.api)
                if self.api_key_env == "OPENAI_API_KEY":
                    self.api_key_env = maker.key
                if self.thinking == "off" and judge_of(self.api, self.model).off is None:
                    raise ValueError(f"thinking: {self.model} has no switch that turns it off; leave this out")
                fewest = judge_of(self.api, self.model).fewest
                if self.thinking == "on" and self.thinking_tokens < fewest:
                    raise ValueError(
                        f"thinking_tokens: {self.model} takes {fewest} or more, not {self.thinking_tokens}"
                    )
            if self.thinking_tokens < 1:
                raise ValueError(f"thinking_tokens: {self.thinking_tokens} is too few")
            if self.batch_interface and self.api is None:
                raise ValueError("batch_interface: only makers' own services have one; give api: openai, gemini, ...")
            if not (math.isfinite(self.batch_seconds) and self.batch_seconds > 0):
                raise ValueError(f"batch_seconds: {self.batch_seconds} is not a time in seconds")
            if clash := sorted(set(self.call) & set(interface.taken)):
                raise ValueError(f"call: {', '.join(clash)} cannot be set there")
            if self.max_tokens is None and interface.limited:
                raise ValueError("max_tokens: this maker takes no question without a limit")
            super().__post_init__()

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self._row = judge_of(parameters.api, parameters.model) if parameters.api else None
        self._maker = MAKERS[parameters.api] if parameters.api else None
        self.capacity = parameters.concurrency
        self._interface = self._maker.interface if self._maker else CHAT_COMPLETIONS
        self.client = Client(
            parameters, "judge", lambda: self._alive, header=self._interface.header, headers=self._interface.headers
        )
        self._probe = Probe(
            self.client,
            lambda text, tokens, fields: self._prepare_chat(self._canary(text, tokens, fields)),
            lambda row, labels: self._prepare_decision(row, ONE_WORD, [_one_colour()], labels),
            # Where a thought comes first, the first token is not the answer's.
            interface=replace(self._interface, logprobs={}) if self._row and self._row.off is None else self._interface,
            road=parameters.probabilities,
            thinking=None if parameters.thinking is None or self._row else parameters.thinking == "on",
            thinking_tokens=parameters.thinking_tokens,
        )
        self._urls = DataUrls(parameters.max_pixels)
        self._batches = self._make_batches() if parameters.api else None
        self._about: dict[str, str] = {}

    @staticmethod
    def revision(parameters: Parameters) -> str:
        """Returns a digest of the weights' folder that our own server loads; nothing is known about other servers.

        If probabilities are asked for in the server's own words, includes our part of them.
        """
        digest = folders.digest_if_local(parameters.model) if parameters.serve else ""
        asked = "" if parameters.probabilities == LOGPROBS_ROAD else wording(parameters.probabilities)
        way = way_of(parameters.api, parameters.model) if parameters.api else ""
        return f"{digest} {asked} {way}".strip()

    @staticmethod
    def duration_anywhere(parameters: Parameters) -> tuple[float, float, str] | None:
        """Returns what a plan assumes of a maker's own service; nothing is known of other servers."""
        batches = ", at once; its batches come within a day, which the plan leaves out" * parameters.batch_interface
        return (5.0, 4.0, f"assumed for an answer by a maker's service{batches}") if parameters.api else None

    @staticmethod
    def card(parameters: Parameters) -> dict[str, str]:
        """Returns who gets what, unless it stays on this machine."""
        host = host_elsewhere(parameters)
        if not parameters.api:
            return {"leaves": f"pictures and questions, for {host}"} if host else {}
        maker, row = MAKERS[parameters.api], judge_of(parameters.api, parameters.model)
        notes = [f"pictures and questions, for {maker.company} ({host})"] * bool(host)
        notes += [maker.training] * bool(maker.training)
        unpriced = "" if parameters.price or row.price else "price: [READ, WRITTEN], for a million tokens"
        known = {"ends": row.ends, "seen": row.seen, "unpriced": unpriced}
        return {"leaves": "; ".join(notes), "source": f"{row.source} ({row.seen})", **known}

    @staticmethod
    def presets() -> list[dict[str, str]]:
        """Returns a card for each family of the makers' models."""
        return cards_of_makers()

    @staticmethod
    def prices(parameters: Parameters) -> AnswerPrice | None:
        """Returns what a million tokens cost, and how many an answer has at most; None without a price."""
        row = judge_of(parameters.api, parameters.model) if parameters.api else None
        price = parameters.price or (row.price if row is not None else None)
        if price is None:
            return None
        limit = parameters.max_tokens if isinstance(parameters.max_tokens, int) else LONGEST_ANSWER
        thought = 0 if parameters.thinking == "off" else parameters.thinking_tokens
        if row is not None and parameters.thinking is None:
            thought = row.room
        read, written = price
        tried = PROBE_TOKENS[1] + (min(thought, PROBE_ROOM) if row is not None else 0)
        return {
            "read": read,
            "written": written,
            "longest": limit + thought,
            "attempts": parameters.retries + 1,
            "batch": BATCH_INTERFACES[parameters.api].share if parameters.api else 1.0,
            "load": PROBES * (PROBE_TOKENS[0] * read + tried * written) / 1e6,
            "date": "" if parameters.price or row is None else row.seen,
            "source": "price" if parameters.price or row is None else row.source,
        }

    @staticmethod
    def defers(parameters: Parameters) -> bool:
        """Returns True if its questions go through the maker's batch interface."""
        return parameters.batch_interface

    @staticmethod
    def find_judge(name: str) -> MakersJudge | None:
        """Returns the judge that `MAKER/NAME` means; None if this is no maker's."""
        maker, _, model = name.replace(":", "/", 1).partition("/")
        if maker not in MAKERS or not model:
            return None
        price = judge_of(maker, model).price
        return {"params": {"api": maker, "model": model}, "key": MAKERS[maker].key, "price": price}

    @staticmethod
    def list_makers(model: str) -> list[str]:
        """Returns the makers that have a model of this name."""
        return [api for api in MAKERS if judge_of(api, model).model != f"{api}/*"]

    @staticmethod
    def find_address(maker: str) -> str:
        """Returns where a maker's judges are asked; empty for no maker."""
        return MAKERS[maker].address if maker in MAKERS else ""

    def collect_costs(self) -> dict[str, int]:
        """Returns how many requests since the last call came to nothing, and may have been charged."""
        return {"lost": self.client.take_lost_count()}

    def prepare(self) -> None:
        """Imports what asks. Raises `ImportError` if it is missing."""
        import aiohttp  # noqa: F401
        import pydantic_core  # noqa: F401

    def load(
        self, devices: Sequence[str], server: ServerEnvironment | None = None, forms: Sequence[AnswerForm] = ()
    ) -> None:
        """Connects, sends a canary, with all retries, and finds out how to ask questions of these forms.

        Raises `LoadError` if no answer comes, or the server does not support one of the forms. With `serve`, first
        starts our own server on the GPUs among `devices`.
        """
        if self._interface.header is None and (unknown := min(self.parameters.call.keys() - KEYWORDS, default="")):
            raise LoadError(f"call: there is no keyword {unknown!r}; put what only your server knows into extra_body")
        if self._maker and not self.client.has_key and self.parameters.base_url == self._maker.address:
            variable = self.parameters.api_key_env
            raise LoadError(f"{variable} is not set: it takes {self._maker.company}'s key", final=True)
        self.client.serve(devices, server)
        (answer,) = self.client.first(self._small(1))
        self._probe.forget()
        try:
            for form in forms:
                self._probe.plan(form)
        except BaseException:
            self.client.close()
            raise
        self._know(answer)
        serves = "" if self._row else self.client.serves()
        if serves:
            self._about["serves"] = serves

    def examine(self, request: JudgeRequest) -> str | Reply:
        """Asks once with a short timeout, finds out what the server supports, and returns the answer as it came.

        Raises `LoadError` with the reason why a run would get none.
        """
        self._probe.forget()
        with self.client.briefly():
            answer = self.client.require_answer(self._question(request))
            with contextlib.suppress(LoadError):  # the question was answered; other abilities then stay unknown
                self._probe.all(_form(request))
            self._know(None)
        return answer

    def _know(self, answer: Completion | None) -> None:
        names = self._interface.says.items() if answer else ()
        said = {name: self.client.clean(str(answer.document.get(key) or "")) for name, key in names} if answer else {}
        self._about = {**self.client.about(), **said, **self._probe.findings}
        if answer and not answer.ending.word:
            self._about["ending"] = "this server does not say how an answer ended; none is known to be cut off"
        if self._row is not None:
            switch = self._row.switch(self.parameters.thinking, self.parameters.thinking_tokens)
            self._about["interface"] = self._interface.name
            self._about["thinking"] = f"sent: {json.dumps(switch)}" if switch else "nothing sent"

    def close(self) -> None:
        """Closes the connections; cancels a request in progress. Batches go on."""
        if self._batches is not None:
            self._batches.close()
        self.client.close()

    def about(self) -> dict[str, str]:
        """Returns the server's address, what it says of its model, and the probe's findings."""
        return dict(self._about)

    def judge(self, requests: Sequence[JudgeRequest]) -> list[str | Reply]:
        """Answers a batch, with one request per question, all at the same time.

        An answer that the server withheld or cut off is a `Reply` that says so.

        May be called from several threads at once. Raises `RequestError` for a request that failed for good.
        """
        return self.client.answers([self._question(request) for request in requests])

    def defer(self, question: DeferredQuestion) -> None:
        """Takes a question to be asked in a batch. May be called from several threads at once."""
        assert self._batches is not None
        request = question.request
        plan = self._probe.plan(_form(request))
        read = make_reader(self._reader(request, plan), self.client.clean)
        self._batches.add(question, lambda: self._body(request, plan.fields), read)

    def _make_batches(self) -> Batches:
        assert self._maker is not None
        assert self.parameters.api is not None
        served = copy.copy(self.parameters)
        served.attempt_timeout = served.deadline = SECONDS_FOR_ALL
        client = Client(
            served,
            "judge",
            lambda: self._alive,
            LONGEST_RESULTS,
            header=self._interface.header,
            headers=self._interface.headers,
        )
        row = BATCH_INTERFACES[self.parameters.api]
        return Batches(row, client, self._maker.company, self.parameters)

    # -- requests --

    def _question(self, request: JudgeRequest) -> Ask[str | Reply]:
        plan = self._probe.plan(_form(request))
        if plan.decision is not None:
            return self._prepare_decision_reply(plan.decision, request)
        posted, read = self._post_chat(self._body(request, plan.fields)), self._reader(request, plan)

        async def ask(client: Any) -> str | Reply:
            return read(await posted(client))

        return self._catch_refusals(ask)

    def _reader(self, request: JudgeRequest, plan: WayOfAsking) -> Callable[[str], str | Reply]:
        """Returns what makes a reply of an answer's text, or raises `Failure`. It keeps no picture."""
        request = replace(request, pictures={})

        def read(text: str) -> str | Reply:
            answer = self._completion(text)
            return self._distribution(answer, plan, request) if request.form == PROBABILITIES else self._reply(answer)

        return read

    def _catch_refusals(self, ask: Ask[str | Reply]) -> Ask[str | Reply]:
        """Returns the same, with an error of the server's that is a refusal as the answer that it is."""

        async def ask_server(client: Any) -> str | Reply:
            try:
                return await ask(client)
            except Failure as failure:
                if failure.says is not Says.REFUSED:
                    raise
                return Reply(text=self.client.clean(failure.said), ended=Status.REFUSED)

        return ask_server

    def _body(self, request: JudgeRequest, more: Fields) -> JsonObject:
        p, pictures = self.parameters, list(request.pictures.values())
        if request.form == PROBABILITIES:  # nothing is sampled, and some servers would scale by the temperature first
            temperature = p.temperature and 0.0
            return self._chat(request.system, request.user, pictures, p.max_tokens and 1, more, temperature, "off")
        limit = default_token_limit(request.form) if p.max_tokens == "auto" else p.max_tokens
        if limit is not None and p.thinking == "on":
            limit += p.thinking_tokens
        seed = seed_of(request) if p.temperature else None
        return self._chat(request.system, request.user, pictures, limit, more, p.temperature, p.thinking, seed)

    def _canary(self, text: str, tokens: int, more: Fields) -> JsonObject:
        p = self.parameters
        pictures, thinking = [_one_colour()], None if p.thinking == "on" else p.thinking  # there is nothing to think of
        return self._chat("", text, pictures, p.max_tokens and tokens, more, p.temperature, thinking, room=PROBE_ROOM)

    def _chat(
        self,
        system: str,
        user: str,
        pictures: Sequence[Image],
        limit: int | None,
        more: Fields,
        temperature: float | None,
        thinking: str | None,
        seed: int | None = None,
        room: int | None = None,
    ) -> JsonObject:
        call = self.parameters.call
        chat = Chat(
            model=self.parameters.model,
            system=_plain(system),
            user=_plain(user),
            pictures=[self._urls.url_of(picture) for picture in pictures],
            limit=limit,
            temperature=temperature,
            seed=seed,
            settings=more,
            call=call,
        )
        if self._row is not None:
            chat = self._row.adapt_chat(chat, thinking, self.parameters.thinking_tokens, room)
        return self._interface.body(chat)

    def _prepare_decision(self, row: Decision, text: str, pictures: Sequence[Image], labels: Sequence[str]) -> Ask[Any]:
        urls = [self._urls.url_of(picture) for picture in pictures]
        body = {"model": self.parameters.model, **row.body(_plain(text), urls, labels)}
        posted = self.client.prepare_post(row.path, body)

        async def ask(client: Any) -> Any:
            return plain(await posted(client))

        return ask

    def _small(self, tokens: int) -> Ask[Completion]:
        return self._prepare_chat(self._canary(ONE_WORD, tokens, {}))

    async def _alive(self, client: Any) -> CanaryFound:
        """The canary: an `Ask`."""
        await self._small(1)(client)
        return "answered"

    # -- replies --

    def _post_chat(self, body: JsonObject) -> Ask[str]:
        path = self._interface.path.format(model=self.parameters.model)
        return self.client.prepare_post(path, body, query=self.parameters.call.get("extra_query"))

    def _prepare_chat(self, body: JsonObject) -> Ask[Completion]:
        posted = self._post_chat(body)

        async def ask(client: Any) -> Completion:
            return self._completion(await posted(client))

        return ask

    def _completion(self, text: str) -> Completion:
        """Parses what a server sent with a status of success."""
        document = plain(text)
        completion = self._interface.read(document) if isinstance(document, dict) else None
        if completion is None:
            raise self.client.explain_unexpected(document, text, "a chat completion")
        if why := completion.ending.failure:
            if completion.error:
                raise self.client.explain_unexpected({"error": completion.error}, text, "a chat completion")
            raise Failure(f"the judge's server gave no answer: {self.client.excerpt(why)}")
        return completion

    def _reply(self, completion: Completion) -> str | Reply:
        text = self.client.clean(completion.text or completion.refusal)
        if not text and completion.thought:
            # Everything that came, as a model would write it without such a server: none of it is taken for an answer.
            text = f"<think>{self.client.clean(completion.thought)}"
        ended, tokens = completion.reply_status, completion.tokens
        return text if ended is Status.OK and not any(tokens) else Reply(text=text, ended=ended, tokens=tokens)

    def _distribution(self, completion: Completion, plan: WayOfAsking, request: JudgeRequest) -> Reply:
        """Returns the probabilities of the labels; the answer itself, a token, is only kept."""
        said = self._reply(completion)
        text, ended = (said, Status.OK) if isinstance(said, str) else (said.text, said.ended)
        if ended is Status.REFUSED:
            return Reply(text=text, ended=ended, tokens=completion.tokens)
        try:
            values = plan.values(completion.entries, request.labels) if completion.entries else {}
        except (ValueError, KeyError, TypeError) as error:
            raise Failure(f"the judge's server sent invalid probabilities: {error}", once=True) from None
        return Reply(text=text, values=values, tokens=completion.tokens)

    def _prepare_decision_reply(self, row: Decision, request: JudgeRequest) -> Ask[str | Reply]:
        prompt = "\n\n".join(filter(None, (request.system, request.user)))
        asked = self._prepare_decision(row, prompt, list(request.pictures.values()), request.labels)

        async def ask(client: Any) -> Reply:
            document = await asked(client)
            try:
                values, normalised = row.read(document, request.labels)
            except ValueError as error:
                raise Failure(f"the judge's server did not answer with a decision: {error}", once=True) from None
            return Reply(values=values, normalised=normalised)

        return self._catch_refusals(ask)


def _form(request: JudgeRequest) -> AnswerForm:
    return AnswerForm(request.form, tuple(request.labels), request.schema)


def _one_colour() -> Image:
    from PIL import Image as Images

    return Images.new("RGB", (64, 64), (96, 160, 96))


def _plain(text: str) -> str:
    """Breaks up control tokens (`<|im_end|>`), with which a text could forge a turn in a server's chat template."""
    return _SPECIAL_TOKEN.sub("< |", text)


MOST_KEPT = 64 * 2**20
"""Characters of data URLs kept for further questions: some 30 pairs of 1024 x 1024."""


class DataUrls:
    """Encodes pictures as PNGs in data URLs, so that a server fetches nothing. Thread-safe.

    The most recent ones are cached by their pixels: encoding a picture takes ten times as long as recognising it, and
    every question about a pair, in every reading, shows the same two.
    """

    def __init__(self, max_pixels: int | None = None) -> None:
        """Pictures of a larger area than `max_pixels` are scaled down to it."""
        self._max_pixels = max_pixels
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Future[str]] = OrderedDict()
        self._length = 0
        self._digests: dict[int, tuple[weakref.ref[Image], Any, str]] = {}
        """By the id of a read-only picture: a reference to it, its content, and its digest."""

    def url_of(self, picture: Image) -> str:
        """Returns the picture's data URL; waits if another thread is already encoding it."""
        key = self._digest(picture)
        with self._lock:
            if (future := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
            else:
                mine = self._kept[key] = Future()
        if future is not None:
            return future.result()
        try:
            data = base64.b64encode(png(scale_picture(picture, self._max_pixels)))
        except BaseException as error:
            with self._lock:
                del self._kept[key]
            mine.set_exception(error)
            raise
        mine.set_result(url := "data:image/png;base64," + data.decode("ascii"))
        with self._lock:
            self._length += len(url)
            while self._length > MOST_KEPT and (oldest := next(iter(self._kept.values()))).done():
                self._length -= len(oldest.result())
                self._kept.popitem(last=False)
        return url

    def _digest(self, picture: Image) -> str:
        """Returns the digest of a picture's file, if that is kept, else of its pixels; cached for read-only pictures.

        The cache holds as long as the pixel buffer is the same: painting on the picture with Pillow replaces it.
        """
        if not picture.readonly:
            return pixel_digest(picture)
        place, kept = id(picture), get_kept_file(picture)
        content, known = picture.im if kept is None else kept, self._digests.get(place)
        if known is not None and known[0]() is picture and known[1] is content:
            return known[2]
        digest = pixel_digest(picture) if kept is None else hashlib.sha256(kept).hexdigest()
        gone = weakref.ref(picture, lambda _: self._digests.pop(place, None))
        self._digests[place] = gone, content, digest
        return digest
