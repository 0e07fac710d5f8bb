"""One client for all models behind servers. What is sent, and what an answer looks like, is up to each model class.

How a server's responses are handled:

* what an error says is read from the tables of `vocabulary`, and nowhere else.
* busy or away (429, 502, 503, 529, words like theirs, no connection once it has answered): asked again, after the wait
  that it asks for or a growing pause with jitter, until `deadline` or, but for a 429, for `AWAY_SECONDS`. It halves the
  number of concurrent requests, too; answers let it grow again, by one a round.
* another 5xx, 408, 409, 425, no whole answer in time, half an answer, an answer of another kind (a proxy's page, an
  error with status 200): the same, but at most `retries` times. An answer that came to nothing (`Failure.once`) is
  asked for once more.
* any other 4xx: final, and so is a redirect, which is never followed, and an answer beyond the bound
  (`transport`).
* a request that has failed for good is followed by a *canary*: a small request of the model class's, always the same.
  A healthy `/health` proves nothing, so it is not asked for. `RequestError` says what is known: what the server said,
  and what became of the canary. Whose fault it is, the engine decides (`edit_eval.execution.engine.blame`).

The key is read from the environment and goes only into the request: errors and answers that repeat it are masked,
before anything is cut.
"""

from __future__ import annotations

import asyncio
import contextlib
import http
import json
import math
import os
import random
import re
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from typing import Any, ClassVar, NamedTuple, TypeVar
from urllib.parse import urljoin, urlsplit

from edit_eval.endpoints.engines import Route
from edit_eval.endpoints.serving import Serve, ServerEnvironment
from edit_eval.errors import CanaryFound, LoadError, RequestError
from edit_eval.json_values import Unchecked
from edit_eval.plugins.endpoints.in_worker.server import Server, server_devices
from edit_eval.plugins.endpoints.in_worker.transport import (
    LONGEST,
    Posting,
    Throttle,
    Unacceptable,
    Unreached,
    find_proxy,
    join_url,
)
from edit_eval.plugins.endpoints.in_worker.vocabulary import (
    FREE,
    OF_THE_ACCOUNT,
    Says,
    read_error,
    read_reason,
    with_hint,
)
from edit_eval.privacy import Secrets

T = TypeVar("T")
Ask = Callable[["Client"], Awaitable[T]]
"""One attempt: given the open client, sends a request and returns its whole answer. Raises `Failure`."""

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 20.0
"""Seconds of the first pause between attempts, and of the longest; in between it doubles."""
AWAY_SECONDS = 180.0
"""How long a server is waited for that is away, or overloaded, if `deadline` is no shorter; a 429 is waited for until
then."""
CANARY_SECONDS = 30.0
"""How long a canary may take after a failure."""
EXAMINED_SECONDS = 60.0
"""The longest that `edit-eval doctor` waits for an answer."""

OPENAI = "https://api.openai.com/v1"
"""Where a server is that has no address."""

_PORTS = {"http": 80, "https": 443}

NOT_IN_THE_KEY: dict[str, bool] = {"in_key": False}
"""Metadata of a field that affects where and how often requests are sent, and so no answer."""


@dataclass(kw_only=True)
class ServerParameters:
    """Which model is asked, and how its server is reached: what the parameters of all such classes begin with."""

    route: ClassVar[Route] = "chat"
    """What the server is asked for."""

    model: str
    """The model's name, as the server knows it; with `serve` a folder, or a name on the Hugging Face Hub."""
    revision: str = ""
    """A word you choose: change it when the server has other weights under the same name, and all is made again."""
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
    serve: Serve | None = field(default=None, metadata={"in_key": "if given"})
    """The server is started and ended by edit-eval, one a replica, on the model's devices: `{engine, args, command,
    memory, batch_invariant}`. `engine`: vllm, sglang, vllm-omni, transformers, or `command` with your own command
    line; `args`: further arguments of the engine; `memory`: the share of each GPU's memory that it may take;
    `batch_invariant`: answers do not depend on what is computed beside them (vllm, sglang). `python`, `conda_env` and
    `uv` then name the engine's environment. Part of the key, but for `memory`."""

    def __post_init__(self) -> None:
        if self.serve is not None:
            self.serve.find_engine(self.route)
            if self.base_url:
                raise ValueError("base_url: edit-eval starts the server itself (`serve`); leave this out")
        if self.base_url and urlsplit(self.base_url).scheme not in ("http", "https"):
            raise ValueError("base_url: it begins with http:// or https://")  # not repeated: it may be a key
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.api_key_env):
            raise ValueError("api_key_env: it takes the NAME of an environment variable, not a key")
        for name in ("max_pixels", "max_tokens", "concurrency"):
            if isinstance(value := getattr(self, name, None), int) and value < 1:
                raise ValueError(f"{name}: {value} is too few")
        for name in ("attempt_timeout", "deadline"):
            if not (math.isfinite(value := getattr(self, name)) and value > 0):
                raise ValueError(f"{name}: {value} is not a time in seconds")
        if self.retries < 0:
            raise ValueError(f"retries: {self.retries} is too few")


def host_elsewhere(served: ServerParameters) -> str:
    """Returns the host that is sent pictures and texts; empty if it is this machine, or the server is ours."""
    said = served.base_url or os.environ.get("OPENAI_BASE_URL", "") or OPENAI
    host = "" if served.serve is not None else urlsplit(said).hostname or ""
    return "" if host in ("localhost", "::1") or host.startswith("127.") else host


class Client:
    """Queries one server, from any number of threads, until it is closed."""

    def __init__(
        self,
        served: ServerParameters,
        whose: str,
        canary: Callable[[], Ask[CanaryFound]],
        longest: int = LONGEST,
        canary_seconds: float = CANARY_SECONDS,
        *,
        address: str = "",
        header: tuple[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        paid: bool = False,
    ) -> None:
        """`whose`: `judge` or `edit model`, for errors; `canary`: a small request, and what its answer shows;
        `longest`: the most bytes that an answer may have.

        `address`: where it is without a `base_url`; `header`: the name of the header for the key, and its form, where
        they are not OpenAI's, and `headers` further ones beside it; `paid`: an attempt that may have been charged is
        followed by one more at most.
        """
        self._canary_seconds = canary_seconds
        self._address, self._header, self._headers, self._paid = address, header, headers or {}, paid
        self.served, self.whose, self._canary, self._longest = served, whose, canary, longest
        self.gate = Throttle(served.concurrency)
        self.address = ""
        """Address of the server, once the client is open."""
        self.base_url = ""
        """What its paths are below, once the client is open."""
        self._key = os.environ.get(served.api_key_env, "").strip()
        self.clean = Secrets({served.api_key_env: self._key}).hide_in_text
        """Removes the key from a text."""
        self._lost = self._answered = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._post: Posting | None = None
        self._alive: asyncio.Task[CanaryFound] | None = None
        self._met = False  # it has answered, so its address is right
        self._away_since = math.inf  # seconds, monotonic, for all requests
        self._patient = True  # it is waited for while it is busy or away
        self._ours: Server | None = None

    def serve(self, devices: Sequence[str], environment: ServerEnvironment | None) -> None:
        """Starts the server, if the parameters ask for one, and waits for it. Raises `LoadError`."""
        served = self.served
        if served.serve is not None:
            count = server_devices(devices)
            server = Server(served.serve, served.route, served.model, count, environment or ServerEnvironment())
            server.start()
            self._ours, self._key = server, ""  # it has no key, and must not be sent one

    def take_lost_count(self) -> int:
        """Returns how many requests since the last call came to nothing and may have been charged; canaries count."""
        lost, self._lost = self._lost, 0
        return lost

    def take_answer_count(self) -> int:
        """Returns how many requests since the last call had an answer."""
        answered, self._answered = self._answered, 0
        return answered

    @property
    def has_key(self) -> bool:
        """True if there is a key to send."""
        return bool(self._key)

    def open(self) -> None:
        """Starts the thread that sends requests. Nothing is sent yet."""
        said = self.served.base_url or self._address or os.environ.get("OPENAI_BASE_URL", "").strip() or OPENAI
        self.base_url = self._ours.base_url if self._ours else said
        self._proxy()  # one that is not supported is refused by name
        headers = {"content-type": "application/json", "accept": "application/json", "user-agent": "edit-eval"}
        if self._header is not None:
            name, form = self._header
            headers |= {name: form.format(self._key)} if self._key else {}
        else:
            headers["authorization"] = f"Bearer {self._key or 'none'}"
            variables = {"openai-organization": "OPENAI_ORG_ID", "openai-project": "OPENAI_PROJECT_ID"}
            headers |= {name: value for name, variable in variables.items() if (value := os.environ.get(variable))}
        self._post = Posting(self.base_url, {**headers, **self._headers}, self._longest, direct=self._ours is not None)
        self.address = address_of(self.base_url.rstrip("/") + "/")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    @property
    def is_closed(self) -> bool:
        """True if no connection is open, and none can be opened."""
        return self._loop is None and (self._post is None or self._post.is_closed)

    def close(self) -> None:
        """Closes the connections, their thread, and a server of ours; a request under way is cancelled."""
        server, self._ours = self._ours, None
        loop, self._loop = self._loop, None
        if server is not None:
            server.end()
        if loop is None or self._thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._end(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join()
        loop.close()

    def first(self, *asks: Ask[T]) -> list[T]:
        """Opens, and sends the first requests one after the other, with all retries, to show that the server is there.

        If one fails, closes and raises `LoadError`.
        """
        self.open()
        try:
            return [self._wait_for(self._ask(ask)) for ask in asks]
        except Failure as failure:
            self.close()
            raise self._make_load_error(failure) from None

    def once(self, ask: Ask[T]) -> T:
        """Opens, asks once with few retries, and closes. Raises `LoadError` with the reason if there is no answer."""
        with self.briefly():
            return self.require_answer(ask)

    @contextlib.contextmanager
    def briefly(self) -> Iterator[None]:
        """Opens, with few retries and short deadlines within its block, and closes."""
        kept, self._patient = self.served, False
        self.served = replace(
            kept,
            retries=min(kept.retries, 1),
            attempt_timeout=min(kept.attempt_timeout, EXAMINED_SECONDS),
            deadline=min(kept.deadline, EXAMINED_SECONDS),
        )
        self.open()
        try:
            yield
        finally:
            self.served, self._patient = kept, True
            self.close()

    def require_answer(self, ask: Ask[T]) -> T:
        """Returns one answer. Raises `LoadError` with the reason, and with the server's models if that may help."""
        try:
            return self._wait_for(self._ask(ask))
        except Failure as failure:
            raise self._make_load_error(failure, self._wait_for(self._models(failure))) from None

    def answer(self, ask: Ask[T], retries: int | None = None) -> T:
        """Returns the answer to a request, with all its attempts. Raises `Failure`, and no canary is sent."""
        return self._wait_for(self._ask(ask, retries))

    def try_answer(self, ask: Ask[T]) -> T | Failure:
        """Returns the answer to something that a server need not support, or why there is none. Raises `LoadError` if
        the server itself does not answer."""
        try:
            return self._wait_for(self._answer(ask, retries=min(self.served.retries, 1)))
        except Failure as failure:
            if failure.canary not in ("failed", "denied") and failure.says in (Says.OTHER, Says.REFUSED, Says.DENIED):
                return failure
            raise self._make_load_error(failure) from None

    def prepare_post(
        self, path: str, body: object, *, above: bool = False, query: Mapping[str, Any] | None = None
    ) -> Ask[str]:
        """Returns a path's answer to a JSON body, as text; `above`: the path is not below the `/v1`."""

        async def ask(_: Any) -> str:
            assert self._post is not None
            status, headers, text = await self._post(path, body, above=above, query=query)
            if 200 <= status < 300:
                return text
            raise self.read_failure(status, text, headers)

        return ask

    async def get(self, path: str, hosts: Sequence[str] = ()) -> str:
        """Returns what is at a path below the address, asked with the key. Raises `Failure`.

        A whole address must be the server's own, or by https on one of `hosts`.
        """
        assert self._post is not None
        status, headers, body = await self._post.get(self._find_address(path, hosts), key=True)
        if 200 <= status < 300:
            return body.decode("utf-8", "replace")
        raise self.read_failure(status, body.decode("utf-8", "replace"), headers)

    def _find_address(self, path: str, hosts: Sequence[str]) -> str:
        if not path.startswith(("http://", "https://")):
            return join_url(self.base_url, path)
        if not self._is_allowed_host(path, hosts):
            text = f"{self._server} sends us on to {self.excerpt(urlsplit(path).netloc)}, which does not get the key"
            raise Failure(text, again=False)
        return path

    async def check_presence(self, path: str) -> CanaryFound:
        """Asks at the door of the work, with a bare GET that costs nothing: any answer shows that the server is up.

        Raises `Failure` if there is none, or a gateway's own (5xx).
        """
        assert self._post is not None
        status, headers, body = await self._post.get(join_url(self.base_url, path), key=False)
        if status >= 500 and status not in (501, 505):
            raise self.read_failure(status, body.decode("utf-8", "replace"), headers)
        return "up"

    def _is_allowed_host(self, url: str, hosts: Sequence[str]) -> bool:
        """True if an address is the server's own host and port, or on one of `hosts` by https."""
        parts, own = urlsplit(url), urlsplit(self.base_url)
        if (parts.scheme, parts.hostname, parts.port) == (own.scheme, own.hostname, own.port):
            return True
        return parts.scheme == "https" and any(fnmatch(parts.hostname or "", host) for host in hosts)

    async def form(self, path: str, fields: Mapping[str, str], files: Sequence[tuple[str, str, bytes]]) -> WholeAnswer:
        """Posts a form; returns the whole answer, whatever its status."""
        assert self._post is not None
        return WholeAnswer(*await self._post.form(path, fields, files))

    async def post_bytes(
        self, path: str, data: bytes, headers: Mapping[str, str], hosts: Sequence[str] = ()
    ) -> WholeAnswer:
        """Posts bytes with these headers; returns the whole answer, whatever its status. A whole address: as `get`."""
        assert self._post is not None
        return WholeAnswer(*await self._post.post_bytes(self._find_address(path, hosts), data, headers))

    async def post(self, path: str, body: object) -> WholeAnswer:
        """Posts JSON; returns the whole answer, whatever its status."""
        assert self._post is not None
        return WholeAnswer(*await self._post(path, body))

    async def fetch(self, url: str, hosts: Sequence[str]) -> bytes:
        """Fetches a picture that a provider has put elsewhere: without the key, by https, from these hosts alone.

        `hosts` are names, with `*.` for any below; the provider's own host and port count as well. Raises `Failure`.
        """
        assert self._post is not None
        there = urljoin(f"{self.base_url.rstrip('/')}/", url)
        try:
            allowed, parts = self._is_allowed_host(there, hosts), urlsplit(there)
        except ValueError:
            raise Failure(f"{self._server} gave an invalid address: {self.excerpt(url)}", again=False) from None
        if not allowed:
            text = f"{self._server} put the picture at {self.excerpt(parts.netloc)}, which is not an allowed host"
            raise Failure(f"{text}; if it may be asked, add {parts.hostname} to allowed_hosts", again=False)
        status, headers, body = await self._post.get(there, key=False)
        if status == 200:
            return body
        raise self._no_picture(status, parts.hostname, headers)

    def _no_picture(self, status: int, host: str | None, headers: Any) -> Failure:
        failure = self.read_failure(status, f"no picture at {host}", headers)
        failure.says = Says.BUSY if failure.says is Says.BUSY else Says.OTHER  # of that address alone
        return failure

    def answers(self, asks: Sequence[Ask[T]]) -> list[T]:
        """Returns the answers to all requests, which are sent at the same time.

        Raises `RequestError` if one failed for good.
        """
        try:
            return self._wait_for(self._answers(asks))
        except Failure as failure:
            # From None: the library's own exceptions carry the request, and so the key.
            raise RequestError(
                str(failure),
                says=failure.says.value,
                status=failure.status,
                canary=failure.canary,
                seconds=failure.seconds,
                ours=self.served.serve is not None,
            ) from None

    def models(self) -> list[str]:
        """Returns the names of the server's models; empty if it has no such list, which is optional."""
        return self._wait_for(self._list_served_models())

    def serves(self) -> str:
        """Returns what a server that is not ours reports about its model, as far as that is stable while the model is;
        empty if it reports nothing."""
        return "" if self._ours else self.clean(self._wait_for(self._describe_served_model()))

    def about(self) -> dict[str, str]:
        """Returns the server's address, and engine and interpreter of ours."""
        return {"server": self.address, **(self._ours.about() if self._ours else {})}

    def excerpt(self, text: str) -> str:
        """Returns the beginning of a text from the server or the library, without markup, line ends and the key."""
        markup = rf"<(?!{self.served.api_key_env}>)[^<>]{{0,200}}>"
        return " ".join(re.sub(markup, " ", self.clean(text)).split())[:300]

    def read_failure(self, status: int, body: object, headers: Any) -> Failure:
        """Returns the failure that an error is, by its status, its body as it came or parsed, and its headers."""
        document = plain(body) if isinstance(body, str) else body
        document = document[0] if isinstance(document, list) and document else document  # Gemini's compatibility layer
        phrase = f" {http.HTTPStatus(status).phrase}" if status in http.HTTPStatus._value2member_map_ else ""
        if 300 <= status < 400:
            where = address_of(str(headers.get("location", "")), path=False)
            text = f"{self._server} answered {status}{phrase}, and redirects to {where or 'another path of its own'}"
            return Failure(f"{text}: redirects are not followed; give the final address as base_url", again=False)
        complaint = read_error(status, document, headers)
        words = self.excerpt(read_reason(document))
        text = f"{self._server} answered {status}{phrase}: {words or 'no reason given'}"
        if status in (401, 403) and complaint.meaning is not Says.REFUSED and not self._key:
            text += f" (the environment variable {self.served.api_key_env} is not set)"
        failure = Failure(text, again=complaint.again, says=complaint.meaning, wait=complaint.wait)
        failure.free, failure.status, failure.word = status in FREE, status, complaint.word
        failure.said = words or f"{status}{phrase}"
        return failure

    def explain_unexpected(self, document: object, text: str, kind: str) -> Failure:
        """Returns why a successful response is not `kind`, the answer that was asked for, with its article."""
        if isinstance(document, dict) and (error := document.get("error")):
            code = str(error.get("code")) if isinstance(error, dict) else ""
            return self.read_failure(int(code) if code.isdecimal() else 500, document, {})
        return Failure(f"{self._server} did not answer with {kind}: {self.excerpt(text) or 'nothing'}")

    async def download(self, url: str, allowed_hosts: Sequence[str]) -> bytes:
        """Downloads from an address that the server has named, on its own host and port, or on one of `allowed_hosts`.

        Those are names, with or without a port. The key goes only to the server. Raises `Failure`.
        """
        parts, own = urlsplit(urljoin(f"{self.base_url.rstrip('/')}/", url)), urlsplit(self.base_url)
        try:
            host = f"{parts.hostname}:{parts.port or _PORTS[parts.scheme]}"
            here = host == f"{own.hostname}:{own.port or _PORTS[own.scheme]}"
        except (KeyError, ValueError):
            raise Failure(f"{self._server} gave an invalid address: {self.excerpt(url)}", again=False) from None
        if not here and not {host, parts.hostname} & set(allowed_hosts):
            text = f"{self._server} put the picture at {host}, which is not an allowed host"
            raise Failure(f"{text}; if it may be asked, add {parts.hostname} to allowed_hosts", again=False)
        assert self._post is not None
        with_key = bool(here and parts.scheme == own.scheme and self._key)
        status, headers, body = await self._post.get(parts.geturl(), key=with_key)
        if status != 200:
            raise self._no_picture(status, host, headers)
        return body

    def _make_load_error(self, failure: Failure, more: str = "") -> LoadError:
        """Wraps a failure; final if someone else's server refuses whatever becomes of the account, while ours may be
        started again."""
        passes = failure.again or failure.says in (Says.ACCOUNT, Says.DAY) or self.served.serve is not None
        return LoadError(f"{failure} {more}".rstrip(), final=not passes)

    @property
    def _server(self) -> str:
        return f"the {self.whose}'s server"

    def _wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            work.close()
            raise LoadError(f"the {self.whose} is not loaded: call load(devices) first")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    # -- in the loop's thread --

    async def _end(self) -> None:
        under_way = asyncio.all_tasks() - {asyncio.current_task()}
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        if self._post is not None:
            await self._post.close()

    async def _answers(self, asks: Sequence[Ask[T]]) -> list[T]:
        if len(asks) == 1:
            return [await self._answer(asks[0])]
        return list(await asyncio.gather(*map(self._answer, asks)))

    async def _answer(self, ask: Ask[T], retries: int | None = None) -> T:
        try:
            return await self._ask(ask, retries)
        except Failure as failure:
            if failure.says not in (Says.REFUSED, *OF_THE_ACCOUNT):
                failure.canary = await self._canary_of_all()
            raise

    async def _canary_of_all(self) -> CanaryFound:
        """Sends a canary, one for all requests that failed at the same time."""
        if self._alive is None or self._alive.done():
            self._alive = asyncio.ensure_future(self._canary_found())
        return await self._alive

    async def _canary_found(self) -> CanaryFound:
        self._lost += 1
        try:
            return await self._attempt(self._canary(), min(self._canary_seconds, self.served.attempt_timeout))
        except Failure as failure:
            if failure.says is Says.REFUSED:
                return "up"
            return "denied" if failure.says in (Says.DENIED, *OF_THE_ACCOUNT) else "failed"

    async def _ask(self, ask: Ask[T], retries: int | None = None) -> T:
        """Sends a request with all its attempts. Raises `Failure`."""
        most = self.served.retries if retries is None else retries
        clock, attempts, counted, in_vain = time.monotonic, 0, 0, 0
        begin, failure = math.inf, Failure("")
        while True:
            async with self.gate as sent:
                begin = min(begin, sent)  # the first wait for a turn is not the server's fault
                left = begin + self.served.deadline - clock()
                if left > 0:
                    attempts += 1
                    try:
                        answer = await self._attempt(ask, min(self.served.attempt_timeout, left))
                    except Failure as error:
                        failure = self._find_server_failure() or error
                        self._met |= bool(failure.status)
                        self._lost += not failure.free
                        waits = failure.busy and self._patient and (self._met or not failure.unreached)
                        counted += not waits
                        is_away = failure.busy and failure.status != 429
                        self._away_since = min(self._away_since, clock()) if is_away else math.inf
                        in_vain += failure.once or (self._paid and not failure.free)
                        if failure.busy and failure.status:
                            wait = failure.wait or 0.0
                            self.gate.slower(sent, wait if wait < self.served.deadline else 0.0)
                    else:
                        self.gate.faster()
                        self._met, self._away_since = True, math.inf
                        self._answered += 1
                        return answer
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(attempts - 1, 10)) * random.uniform(0.5, 1.0)
            pause = pause if failure.wait is None else failure.wait
            over = clock() + pause >= min(begin + self.served.deadline, self._away_since + AWAY_SECONDS)
            if not failure.again or in_vain > 1 or counted > most or over:
                wants = f"; it asks for a wait of {failure.wait:g} s" if failure.wait and over else ""
                times = f"{attempts} attempts" if attempts > 1 else "1 attempt"
                took = clock() - begin
                text = with_hint(f"{failure}{wants} ({times} in {took:.1f} s, {self.address})")
                last = Failure(text, again=failure.again, says=failure.says)
                last.status, last.word, last.said, last.seconds = failure.status, failure.word, failure.said, took
                raise last from None
            await asyncio.sleep(pause)

    def _find_server_failure(self) -> Failure | None:
        """Returns a failure if a server of ours has ended: it will not come back, so there is no point in waiting."""
        why = self._ours.explain_end() if self._ours else ""
        return Failure(why, again=False) if why else None

    async def _attempt(self, ask: Ask[T], seconds: float) -> T:
        """Sends one request; returns a whole answer, or raises `Failure`."""
        try:
            return await asyncio.wait_for(ask(self), seconds)
        except Failure:
            raise
        except (asyncio.TimeoutError, TimeoutError):  # one from Python 3.11 on
            raise Failure(f"{self._server} did not finish its answer in time: {seconds:.3g} s") from None
        except Exception as error:  # from None: the library's exception may hold the request, and so the key
            raise self.broken(error) from None

    def broken(self, error: Exception) -> Failure:
        """Returns why there is no answer at all; a failure is returned as it is."""
        if isinstance(error, Failure):
            return error
        cause = error.__cause__ or error
        if isinstance(cause, Unacceptable):
            return Failure(f"the answer of {self._server} {cause}", again=False)
        said = self.excerpt(str(cause)).rstrip(" :")
        if isinstance(error, Unreached):
            lost, via = getattr(cause, "os_error", cause), self._proxy()
            never = _was_never_sent(cause)
            proxy = f" through the proxy {address_of(via)} (HTTP_PROXY, ALL_PROXY, NO_PROXY)" if via else ""
            text = f"{self._server} cannot be reached{proxy}, or dropped the connection: {_reason(cause) or said}"
            failure = Failure(text, says=Says.BUSY if never else Says.OTHER)
            failure.unreached, failure.free = never, never or isinstance(lost, ConnectionRefusedError)
            return failure
        return Failure(f"the request failed: {type(error).__name__}: {said}")

    def _proxy(self) -> str:
        parts = urlsplit(self.base_url)
        return "" if self._ours else find_proxy(parts.scheme, parts.hostname or "", parts.port) or ""

    async def _models(self, failure: Failure) -> str:
        """Lists the server's models if it does not know the one asked for."""
        if "answered 404" not in str(failure):
            return ""
        names = await self._list_served_models()
        return self.excerpt(f"(it has {', '.join(names[:5])}{', ...' * (len(names) > 5)})") if names else ""

    async def _describe_served_model(self) -> str:
        seconds = min(self.served.attempt_timeout, EXAMINED_SECONDS)
        with contextlib.suppress(Exception):  # such a list is optional
            return await asyncio.wait_for(describe_model(self, self.served.model), seconds)
        return ""

    async def _list_served_models(self) -> list[str]:
        try:
            if self._header is not None:
                return _names(plain(await asyncio.wait_for(self.get("/models"), self.served.attempt_timeout)))
            return await asyncio.wait_for(list_model_names(self), self.served.attempt_timeout)
        except Exception:
            return []


def _names(listed: Any) -> list[str]:
    """Returns the names in Anthropic's or Google's list of models."""
    entries = (listed.get("data") or listed.get("models") or []) if isinstance(listed, dict) else []
    named = [entry.get("id") or entry.get("name") for entry in entries if isinstance(entry, dict)]
    return [name.removeprefix("models/") for name in named if isinstance(name, str)]


def _was_never_sent(error: BaseException) -> bool:
    """True if there was no connection at all, so that the server has seen nothing of the request."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & {"ClientConnectorError", "ClientProxyConnectionError", "ClientHttpProxyError", "ConnectError"})


def _reason(error: BaseException) -> str:
    """Returns why there is no connection, in the system's words: the library's name its own calls."""
    said = getattr(error, "os_error", error)
    if not isinstance(said, OSError) or isinstance(said, ssl.SSLError) or not said.errno:
        return ""
    return os.strerror(said.errno) if said.errno > 0 else str(said.strerror)  # below 0: a name without an address


class Failure(Exception):
    """Why an attempt, or in the end a request, has no answer, in one line."""

    def __init__(
        self, text: str, *, again: bool = True, once: bool = False, says: Says = Says.OTHER, wait: float | None = None
    ) -> None:
        super().__init__(text)
        self.again = again
        """True if another attempt may succeed."""
        self.once = once
        """True if a second such end is one too many: the server has done its work, for nothing."""
        self.says = says
        """What the server says that it is about."""
        self.wait = wait
        """Seconds that the server asks to be left alone."""
        self.canary: CanaryFound = "not made"
        """What became of a canary afterwards."""
        self.unreached = False
        """True if there was no connection."""
        self.free = says is Says.BUSY
        """True if the provider cannot have charged anything for it."""
        self.status = 0
        """Status of the answer, if one came."""
        self.word = ""
        """The words by which `says` is known."""
        self.said = text
        """The server's own words, where it has any."""
        self.seconds = 0.0
        """How long it was tried for."""

    @property
    def busy(self) -> bool:
        """True if the server is busy or away, and may be asked again."""
        return self.says is Says.BUSY or (self.says is Says.DAY and self.again)


class WholeAnswer(NamedTuple):
    """A whole answer."""

    status: int
    headers: Any
    text: str


def plain(text: str) -> Any:
    """Returns the text parsed as JSON, or as it is."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text.strip()


def address_of(url: str, *, path: bool = True) -> str:
    """Returns a server's address, without user, password and query; empty if there is none."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme or 'http'}://{host}{port}{parts.path.rstrip('/') * path}" if host else ""


LASTING, OF_ITS_FILE = ("root", "parent", "revision"), ("n_params", "n_vocab", "n_embd", "size")
"""Fields of a server's entry for a model that stay while the model does. `created` does not: vLLM, SGLang and llama.cpp
put the request's time there. Nor do `permission` (drawn anew), `max_model_len` and `owned_by`: flags and engine."""

_LONGEST_ENTRY = 300
"""Most characters of each."""


async def describe_model(client: Client, name: str) -> str:
    """Returns what the server's list of models says of one: where it was loaded from (`root`), what it was made of
    (`parent`), its `revision`, and from llama.cpp's `meta` the model's size; as `root /models/a, revision b`. Empty if
    the list has no such model, or none of these."""
    for entry in _entries(plain(await client.get("/models"))):
        if entry.get("id") == name:
            meta = entry.get("meta")
            said = {key: entry.get(key) for key in LASTING}
            said |= {key: meta.get(key) for key in OF_ITS_FILE} if isinstance(meta, dict) else {}
            named = {
                key: str(value)[:_LONGEST_ENTRY]
                for key, value in said.items()
                if isinstance(value, str | int) and value
            }
            return ", ".join(f"{key} {value}" for key, value in named.items())
    return ""


async def list_model_names(client: Client) -> list[str]:
    """An `Ask` for the names of the server's models; none if the server has no such list."""
    try:
        listed = await client.get("/models")
    except Failure as failure:
        if failure.status in (404, 405, 501):
            return []
        raise
    return [str(entry["id"]) for entry in _entries(plain(listed)) if "id" in entry]


def _entries(listed: Any) -> list[Unchecked]:
    data = listed.get("data") if isinstance(listed, dict) else None
    return [model for model in data if isinstance(model, dict)] if isinstance(data, list) else []
