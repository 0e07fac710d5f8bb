"""The HTTP application of a service: `/v1/score`, `/v1/identity`, `/health`, `/metrics`, and the open doors."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, Field

from edit_eval import __version__
from edit_eval.config.identity import digest
from edit_eval.errors import ConfigurationError, EditEvalError
from edit_eval.plugins.serve.doors import FIRST_JUDGE, BadRequest, Door, Given, Reward, with_group_means
from edit_eval.plugins.serve.openers import NoOpener, OpeningTimeout
from edit_eval.plugins.serve.opening import NATIVE, ScoreRequest
from edit_eval.plugins.serve.service import Closing, QueuedPair, Service
from edit_eval.plugins.serve.submissions import Submission
from edit_eval.plugins.serve.watch import WINDOW, Watch
from edit_eval.plugins.web.server import CLIENT_GONE, Guard, Refusal, RequestRefused, Scope, answer, read_body
from edit_eval.records import ExaminedJudge, Judgement, Scale, Status
from edit_eval.reporting.documents import plain
from edit_eval.text import Text

try:
    from fastapi import FastAPI, Request
    from fastapi.responses import JSONResponse, Response
    from prometheus_client import CollectorRegistry, Histogram, generate_latest
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
except ImportError as missing:
    raise ConfigurationError(
        Text("`serve` needs {}, which is not installed; `pip install 'edit-eval[serve]'` brings it", missing.name)
    ) from missing

MOST_PAIRS = 8192
"""Most pairs admitted at once; further requests wait."""
MOST_BODY = 512 << 20
MOST_BYTES = 1 << 30
"""Most bytes of all requests at once; only the one that is read for longest may exceed it."""
NATIVE_SECONDS = 600.0
SHARE = 0.9
"""Share of a client's timeout that may be used: an answer after it would be wasted."""
AGAIN_AFTER = 2
"""Seconds, in `Retry-After`."""
LOGGED_EVERY = 10.0
"""Seconds between two lines about refused requests of one door."""
HOLD_EVERY = 2.0
"""Seconds between two attempts at a pair without a score (`hold`)."""

OnUnscored = Literal["error", "hold", "group_mean"]


class JudgedScore(BaseModel):
    """One judge's score of one edit."""

    status: str
    reason: str
    score: float | None
    reward: float | None = Field(description="The score from 0 (worst) to 1 (best); null where the scale is open.")
    error: float | None = Field(description="The standard error over the readings, in points; null for one reading.")
    scores: dict[str, float]
    missing: dict[str, str]


class PictureEncoding(BaseModel):
    """How a picture was encoded, which affects what a judge sees."""

    format: str
    quality: int | None
    width: int
    height: int


class JudgedPair(JudgedScore):
    """The result of one pair: the first judge's, and each judge's."""

    id: str
    form: PictureEncoding | None = Field(description="Of the edit; null for what is no picture.")
    judges: dict[str, JudgedScore]


class Answer(BaseModel):
    """The results, in the order of the request."""

    results: list[JudgedPair]
    identity: str = Field(
        description="The digest of `/v1/identity`: two answers with the same are of one judge, asked in one way."
    )
    passports: dict[str, str]


class Busy(Exception):
    """There was no room before the client's timeout."""


class RequestHandler:
    """Connects HTTP requests to the service: admits them, lets them wait, and cancels those whose client is gone."""

    def __init__(self, service: Service, *, most_pairs: int = MOST_PAIRS, root: Path | None = None) -> None:
        self.service, self._most_pairs = service, most_pairs
        self.root = root
        """The folder whose files a request may name."""
        self._bytes = 0
        self._coming: dict[object, None] = {}
        """Bodies being read, that which is read for longest first."""
        self._turn = asyncio.Lock()
        self.openers = service.openers
        self.counts: Counter[tuple[str, str]] = Counter()  # (door, outcome)
        self._logged_at: dict[str, float] = {}
        self.registry = CollectorRegistry()
        self.seconds = Histogram(
            "edit_eval_request_seconds",
            "From the last byte of a request to its answer.",
            ["door"],
            registry=self.registry,
        )
        self.registry.register(_Figures(self))

    # -- one request --

    def tell_refusal(self, door: str, reason: str) -> None:
        """Prints why a request was refused: most trainers' clients do not read it. Not every one of many."""
        if time.monotonic() > self._logged_at.get(door, -math.inf) + LOGGED_EVERY:
            self._logged_at[door] = time.monotonic()
            said = "".join(character if character.isprintable() else " " for character in reason[:300])
            self.service.tell(Text("{}: a request was refused: {}", door, said))

    @contextlib.asynccontextmanager
    async def open_request(
        self, request: Request, doors: Sequence[Door], until: float
    ) -> AsyncIterator[tuple[str, Given]]:
        """Reads a body and has it opened: the door it is for, and its pairs. Its room is given back at the end.

        Room is taken for what has come, never for what is announced. Raises `RequestRefused`, `BadRequest` and `Busy`.
        """
        taken, turn = 0, object()
        self._coming[turn] = None

        async def take(size: int) -> None:
            nonlocal taken
            while self._bytes and self._bytes + size > MOST_BYTES and next(iter(self._coming)) is not turn:
                self._refuse_if_late(until)
                await asyncio.sleep(0.02)
            self._bytes += size
            taken += size

        try:
            try:
                body = await read_body(request.headers, request.receive, most=MOST_BODY, until=until, take=take)
            finally:
                del self._coming[turn]
            client = request.client.host if request.client else ""
            opening = self.openers.read(body, doors, self.root, until, client)
            yield await asyncio.wrap_future(opening)
        except (OpeningTimeout, NoOpener) as error:
            raise Busy from error
        finally:
            self._bytes -= taken

    def _refuse_if_late(self, until: float) -> None:
        """Raises `Busy` if there is no use in waiting any longer."""
        if self.service.is_closing or time.monotonic() > until:
            raise Busy

    async def _wait_for_room(self, there_is_room: Callable[[], bool], until: float) -> None:
        """Waits for room, in the order of requests."""
        async with self._turn:
            while not there_is_room():
                self._refuse_if_late(until)
                await asyncio.sleep(0.02)

    async def judge_pairs(
        self, request: Request, pairs: Sequence[Submission | str], until: float, on_unscored: OnUnscored = "error"
    ) -> list[dict[str, Judgement] | str]:
        """Returns each pair's judgements, or why it is invalid; cancels if the client is gone. Raises `Busy`."""
        good = [pair for pair in pairs if isinstance(pair, Submission)]
        service = self.service
        service.turned_away += len(pairs) - len(good)
        await self._wait_for_room(
            lambda: not service.n_waiting or service.n_waiting + len(good) <= self._most_pairs, until
        )
        gone = asyncio.ensure_future(_await_disconnect(request))
        try:
            answers = await self._answers(good, gone, until)
            while on_unscored == "hold" and time.monotonic() + HOLD_EVERY < until:
                again = [
                    n
                    for n, judgements in enumerate(answers)
                    if not isinstance(judgements, str) and any_is_missing(judgements)
                ]
                if not again:
                    break
                await asyncio.sleep(HOLD_EVERY)
                for place, judgements in zip(
                    again, await self._answers([good[n] for n in again], gone, until), strict=True
                ):
                    answers[place] = judgements
        finally:
            gone.cancel()
        rest = iter(answers)
        return [next(rest) if isinstance(pair, Submission) else pair for pair in pairs]

    async def _answers(
        self, pairs: Sequence[Submission], gone: asyncio.Future[None], until: float
    ) -> list[dict[str, Judgement] | str]:
        try:
            tickets: list[QueuedPair] = self.service.submit(pairs)
        except Closing:
            raise Busy from None
        every = _all_answered(tickets)
        try:
            limit = max(0.1, until - time.monotonic())
            await asyncio.wait({every, gone}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if every.done():
                return [ticket.answer.result() for ticket in tickets]
            raise RequestRefused(CLIENT_GONE, "the client is gone") if gone.done() else Busy
        finally:
            if not every.done():
                self.service.cancel(tickets)

    # -- answers --

    def encode_judgement(self, judgement: Judgement) -> JudgedScore:
        """Returns a judgement for the answer."""
        spread, readings = judgement.spread.get(judgement.headline), len(judgement.readings)
        return JudgedScore(
            status=judgement.status.value,
            reason=judgement.reason,
            score=judgement.score,
            reward=scale_to_unit(judgement.score, self.scale(judgement)),
            error=None if spread is None else spread / math.sqrt(readings),
            scores=dict(judgement.scores),
            missing={name: status.value for name, (status, _) in judgement.missing.items()},
        )

    def scale(self, judgement: Judgement) -> Scale:
        """Returns the scale of a judgement's score."""
        judge = next(judge for judge in self.service.judges if judge.name == judgement.judge)
        return judge.scoring.scales[judgement.headline]

    def result(self, name: str, pair: Submission | str, judgements: dict[str, Judgement] | str) -> JudgedPair:
        """Returns one entry of the answer; `name` is the client's for the pair."""
        if isinstance(judgements, str) or isinstance(pair, str):
            nothing = JudgedScore(
                status=Status.SKIPPED.value,
                reason=str(judgements),
                score=None,
                reward=None,
                error=None,
                scores={},
                missing={},
            )
            judges, form = {judge.name: nothing for judge in self.service.main_judges}, None
        else:
            judges = {name: self.encode_judgement(judgement) for name, judgement in judgements.items()}
            form = PictureEncoding.model_validate(pair.edit.form)
        first = judges[self.service.judges[0].name]
        return JudgedPair(**first.model_dump(), id=name, form=form, judges=judges)

    @property
    def reward_names(self) -> list[str]:
        """Names of the rewards that a client may ask for: each judge's that has one from 0 to 1, and the first's."""
        closed = [judge.name for judge in self.service.main_judges if judge.scoring.scale.span is not None]
        return list(dict.fromkeys([*closed, FIRST_JUDGE]))

    def outcome(self, judgements: dict[str, Judgement] | str) -> Reward:
        """Returns the outcome for a door: the first judge's score, from 0 to 1, and each judge's by name."""
        if isinstance(judgements, str):
            return Reward(None, judgements, {})
        judges = {name: self._reward(judgement) for name, judgement in judgements.items()}
        return judges[self.service.judges[0].name]._replace(judges=judges)

    def _reward(self, judgement: Judgement) -> Reward:
        reward = scale_to_unit(judgement.score, self.scale(judgement))
        reason = judgement.reason if reward is not None else f"{judgement.status.value}: {judgement.reason}"
        return Reward(reward, reason, judgement.scores, judgement.score)

    # -- identity --

    def identity(self) -> ServiceIdentity:
        service, known = self.service, self.service.load_examinations()
        judges: dict[str, Mapping[str, object]] = {}
        for judge in service.judges:
            judges[judge.name] = {
                "model": {**asdict(judge.model)},
                "protocol": judge.protocol_name,
                "parameters": judge.question_parameters(),
                "texts": digest(dict(judge.texts)),
                "headline": judge.scoring.headline,
                "scales": {name: asdict(scale) for name, scale in judge.scoring.scales.items()},
            }
        readings, language = service.configuration.evaluation.readings, service.configuration.benchmark.language
        return ServiceIdentity(
            judges=judges,
            readings=readings,
            language=language,
            digest=digest({"judges": judges, "readings": readings, "language": language}),
            passports={name: examination.document for name, examination in known.items()},
            edit_eval=__version__,
            ledger=str(service.ledger.directory.path),
        )


class ServiceIdentity(NamedTuple):
    """Which judges answer, how they are asked, and their passports."""

    judges: Mapping[str, Mapping[str, object]]
    readings: int
    language: str
    digest: str
    """Of all before it."""
    passports: dict[str, ExaminedJudge]
    edit_eval: str
    ledger: str
    """The folder that is written to."""


class _Figures:
    """The figures of `/metrics`, collected on request."""

    def __init__(self, desk: RequestHandler) -> None:
        self._desk = desk

    def collect(self) -> Iterable[Metric]:
        service = self._desk.service
        statuses = CounterMetricFamily("edit_eval_judgements", "Judgements by status.", labels=["judge", "status"])
        for (judge, status), count in service.count_by_status().items():
            statuses.add_metric([judge, status], count)
        yield statuses
        requests = CounterMetricFamily(
            "edit_eval_requests", "Requests by door and outcome.", labels=["door", "outcome"]
        )
        for (door, outcome), count in list(self._desk.counts.items()):
            requests.add_metric([door, outcome], count)
        yield requests
        yield CounterMetricFamily("edit_eval_cancelled", "Pairs whose client was gone.", value=service.cancelled)
        yield GaugeMetricFamily("edit_eval_waiting", "Pairs without an answer.", value=service.n_waiting)
        replicas = GaugeMetricFamily("edit_eval_replicas", "Judges on devices by state.", labels=["judge", "state"])
        for (judge, state), count in Counter((replica.judge, replica.state) for replica in service.replicas()).items():
            replicas.add_metric([judge, state], count)
        yield replicas
        if service.watch is None:
            return
        yield CounterMetricFamily("edit_eval_alarms", "Alarms of the watch.", value=len(service.watch.alarms))
        if service.watch.windows:
            last = service.watch.windows[-1]
            yield GaugeMetricFamily("edit_eval_near_copies", "Their share in the last window.", value=last.share)
            canaries = GaugeMetricFamily("edit_eval_canary_reward", "Mean reward of canaries.", labels=["kind"])
            for kind, mean in last.canary_rewards().items():
                canaries.add_metric([kind], mean)
            yield canaries


def scale_to_unit(score: float | None, scale: Scale) -> float | None:
    """Scales a score to 0 (the scale's worst end) to 1; None without a score, or on an open scale."""
    if score is None or scale.worst is None or scale.best is None or scale.best == scale.worst:
        return None
    return min(1.0, max(0.0, (score - scale.worst) / (scale.best - scale.worst)))


def any_is_missing(judgements: Mapping[str, Judgement]) -> bool:
    """True if some judge has given no score."""
    return any(judgement.score is None for judgement in judgements.values())


def _all_answered(tickets: Sequence[QueuedPair]) -> asyncio.Future[None]:
    """Returns a future that is done when all tickets are: it wakes the loop once, not a thousand times."""
    loop = asyncio.get_running_loop()
    every: asyncio.Future[None] = loop.create_future()
    left = deque(tickets)

    def all_are() -> None:
        if not every.done():
            every.set_result(None)

    def one_is(_: object) -> None:  # in any thread
        left.pop()
        if not left:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(all_are)

    for ticket in tickets:
        ticket.answer.add_done_callback(one_is)
    if not tickets:
        all_are()
    return every


async def _await_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


class _Routes:
    """What the addresses of a service answer."""

    def __init__(self, service: Service, desk: RequestHandler, on_unscored: OnUnscored) -> None:
        self._service, self._desk, self._on_unscored = service, desk, on_unscored
        self._identity: ServiceIdentity | None = None

    async def _current_identity(self) -> ServiceIdentity:
        if self._identity is None or not self._service.ready.is_set():  # a server reports its model only once loaded
            self._identity = await asyncio.to_thread(self._desk.identity)
        return self._identity

    async def get_identity(self) -> Response:
        """Returns which judges answer, how they are asked, and what an audit found."""
        identity = await self._current_identity()
        return JSONResponse(plain({**identity._asdict(), "ledger": str(self._service.ledger.directory.path)}))

    async def health(self) -> Response:
        """Tells whether all judges are loaded; `rewards` is for UniRL."""
        service = self._service
        ok = service.ready.is_set() and not service.is_closing
        body = {
            "status": "ok" if ok else "closing" if service.is_closing else "loading",
            "rewards": {name: ["score"] for name in self._desk.reward_names},
            "waiting": service.n_waiting,
            "replicas": [replica._asdict() for replica in service.replicas()],
            "alarms": [str(line) for line in (service.watch.alarms[-5:] if service.watch else [])],
        }
        return JSONResponse(body, 200 if ok else 503, headers={} if ok else {"Retry-After": str(AGAIN_AFTER)})

    async def metrics(self) -> Response:
        """Returns figures for Prometheus."""
        return Response(generate_latest(self._desk.registry), media_type="text/plain; version=0.0.4")

    async def ping(self) -> dict[str, str]:
        return {"status": "ok"}

    async def post_score(self, request: Request) -> Response:
        """Judges pairs; each has its own status."""
        desk = self._desk

        async def answer_request(door: str, given: Given, until: float) -> Response:
            judged = await desk.judge_pairs(request, given.pairs, until)
            examined = await self._current_identity()

            def encode_answer() -> str:
                results = [desk.result(*three) for three in zip(given.meta, given.pairs, judged, strict=True)]
                lines = {name: passport.line for name, passport in examined.passports.items()}
                return Answer(results=results, identity=examined.digest, passports=lines).model_dump_json()

            return Response(await asyncio.to_thread(encode_answer), media_type="application/json")

        def refuse_request(status: int, reason: str) -> Response:
            return JSONResponse({"error": reason}, status)

        return await _handle_request(desk, request, (), NATIVE_SECONDS, answer_request, refuse_request)

    def door_handler(self, here: Sequence[Door]) -> Callable[[Request], Awaitable[Response]]:
        """Returns what answers at an address at which there are these doors."""
        desk, shortest = self._desk, min(door.seconds for door in here)

        async def post(request: Request) -> Response:
            async def answer_request(name: str, given: Given, until: float) -> Response:
                door = next(door for door in here if door.name == name)
                until += SHARE * (door.seconds - shortest)
                judged = await desk.judge_pairs(request, given.pairs, until, self._on_unscored)
                outcomes = [desk.outcome(judgements) for judgements in judged]
                headers = {"X-Edit-Eval-Identity": (await self._current_identity()).digest}
                if (without := sum(outcome.reward is None for outcome in outcomes)) and not door.names_failures:
                    headers["X-Edit-Eval-Unscored"] = str(without)
                    desk.counts[door.name, "unscored_pairs"] += without
                    if self._on_unscored == "group_mean":
                        outcomes, filled = with_group_means(given.pairs, outcomes)
                        desk.counts[door.name, "group_mean_pairs"] += filled
                    why = next((outcome.reason for outcome in outcomes if outcome.reward is None), None)
                    if why is not None:
                        raise BadRequest(f"{without} of {len(outcomes)} edits have no score: {why}")
                return Response(door.encode(door.write(given, outcomes)), media_type=door.media, headers=headers)

            def refuse_request(status: int, reason: str) -> Response:
                # A full service is asked again.
                if here[0].reads_errors_of and (status != 503 or self._service.is_closing):
                    status = here[0].reads_errors_of
                return Response(here[0].encode({"error": reason}), status, media_type=here[0].media)

            return await _handle_request(desk, request, here, shortest, answer_request, refuse_request)

        return post


def make_app(
    service: Service,
    *,
    doors: Sequence[Door] = (),
    on_unscored: OnUnscored = "error",
    token: str = "",
    anywhere: bool = False,
    root: Path | None = None,
    most_pairs: int = MOST_PAIRS,
    window: int = WINDOW,
) -> Any:
    """Builds the guarded ASGI application; its watch examines `window` pairs at a time (0: no watch).

    Raises `ConfigurationError` for doors if the first judge's scale is open.
    """
    if doors and service.judges[0].scoring.scale.span is None:
        raise ConfigurationError(
            Text("--door: rewards are from 0 to 1, and the scale of {} has an open end", service.judges[0].name)
        )
    # FastAPI's documentation page would load scripts from other hosts; `/openapi.json` stays.
    app = FastAPI(title="edit-eval serve", version=__version__, redirect_slashes=False, docs_url=None, redoc_url=None)
    desk = RequestHandler(service, most_pairs=most_pairs, root=root)
    routes = _Routes(service, desk, on_unscored)
    app.get("/v1/identity")(routes.get_identity)
    app.get("/health")(routes.health)
    app.get("/metrics")(routes.metrics)
    app.get("/ping")(routes.ping)
    body = {"required": True, "content": {"application/json": {"schema": ScoreRequest.model_json_schema()}}}
    app.post("/v1/score", response_model=Answer, openapi_extra={"requestBody": body})(routes.post_score)
    for path in dict.fromkeys(door.path for door in doors):
        post = routes.door_handler([door for door in doors if door.path == path])
        app.add_api_route(path, post, methods=["POST"], response_model=None, include_in_schema=False)
    app.state.desk = desk
    if window:
        service.watch = _make_watch(service, desk, window)
    return ServiceGuard(app, token=token, anywhere=anywhere)


def _make_watch(service: Service, desk: RequestHandler, window: int) -> Watch:
    def reward(judgement: Judgement) -> float | None:
        return scale_to_unit(judgement.score, desk.scale(judgement))

    def submit(pairs: Sequence[Submission]) -> None:
        with contextlib.suppress(Closing):
            service.submit(pairs)

    language, small = service.configuration.benchmark.language, service.openers.decode_small
    return Watch(submit, service.tell, reward, window=window, language=language, small=small)


async def _handle_request(
    desk: RequestHandler,
    request: Request,
    doors: Sequence[Door],
    seconds: float,
    answered: Callable[[str, Given, float], Awaitable[Response]],
    refused: Callable[[int, str], Response],
) -> Response:
    """Handles one request from its first byte to its answer, errors included.

    In the figures it is its door's; one that no door has recognised is its address's.
    """
    began = time.monotonic()
    until = began + SHARE * seconds
    door = doors[0].name if len(doors) == 1 else doors[0].path if doors else NATIVE
    outcome = "ok"

    def later(reason: str) -> Response:
        response = refused(503, reason)
        response.headers["Retry-After"] = str(AGAIN_AFTER)
        return response

    try:
        async with desk.open_request(request, doors, until) as (door, given):
            return await answered(door, given, until)
    except Busy:
        outcome = "busy"
        return later("the service is full, or coming to its end")
    except RequestRefused as refusal:
        outcome = "gone" if refusal.status == CLIENT_GONE else "refused"
        if outcome == "refused":
            desk.tell_refusal(door, str(refusal))
        return refused(refusal.status, str(refusal))
    except BadRequest as error:
        outcome = "refused"
        desk.tell_refusal(door, str(error))
        return refused(400, str(error))
    except EditEvalError as error:  # the service ended meanwhile
        outcome = "failed"
        return later(str(error))
    finally:
        desk.counts[door, outcome] += 1
        desk.seconds.labels(door).observe(time.monotonic() - began)


class ServiceGuard(Guard):
    """A guard that also takes the token from a header of its own, and as the first part of the path: some clients can
    be told nothing but an address. No browser's page may ask."""

    @property
    def state(self) -> Any:
        """State of the application."""
        return self.app.state

    def tokens(self, scope: Scope, headers: Mapping[str, str]) -> Iterable[str]:
        first = scope["path"].removeprefix("/").partition("/")[0]
        return [*super().tokens(scope, headers), headers.get("x-edit-eval-token", ""), first]

    async def forward_request(self, scope: Scope, receive: Any, send: Any) -> None:
        first, _, rest = scope["path"].removeprefix("/").partition("/")
        if self.token and self.is_token(first):
            scope["path"] = f"/{rest}"
            scope["raw_path"] = scope["path"].encode()
        await super().forward_request(scope, receive, send)

    async def refuse(self, send: Any, refusal: Refusal) -> None:
        # The connection stays: one that ended would take the reason with it while a large body is on its way.
        headers = {"Content-Type": "application/json", "Connection": "keep-alive", **refusal.headers}
        await answer(send, refusal.status, json.dumps({"error": refusal.why}).encode(), headers)
