"""The viewer's server and its addresses."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

from edit_eval.errors import ConfigurationError, EditEvalError
from edit_eval.json_values import JsonObject
from edit_eval.plugins.viewer.pages import comparison_page, plain_page, run_page, selection_page
from edit_eval.plugins.viewer.pictures import Thumbnails, kind_of, read_edit, read_source
from edit_eval.plugins.viewer.runs import Runs, Watched, WatchedRun
from edit_eval.plugins.viewer.voting import NotAVote, Voting, count_pairs, find_obstacle
from edit_eval.plugins.web.server import Guard, Refusal, RequestRefused, Scope, answer, is_loopback, read_body
from edit_eval.reporting.language import translate
from edit_eval.reporting.repetition import shell_command
from edit_eval.reporting.terminal_text import one_line
from edit_eval.store.votes import votes_version
from edit_eval.text import Text

# -- what the viewer's guard lets pass besides: its own pages, links to them, votes, and a token in an address --

COOKIE = "edit-eval-token"
LONGEST_ADDRESS = 2_000
LONGEST_BODY = 16_384
_VOTE = re.compile(r"/run/[0-9a-f]{12}/votes")
"""The only address that accepts a body."""


class PageGuard(Guard):
    """A guard of pages: they may ask their own server, and a link on another site may lead to them."""

    no_token = Refusal(
        401, Text("open the address that `edit-eval view` printed, including its token"), {"WWW-Authenticate": "Bearer"}
    )

    def check_browser(self, scope: Scope, headers: Mapping[str, str]) -> Refusal | None:
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (
            f"http://{headers['host']}".lower(),
            f"https://{headers['host']}".lower(),
        ):
            return Refusal(403, Text("the request comes from another site's page"))
        visits = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "document")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not (
            visits and scope["method"] == "GET"
        ):
            return Refusal(403, Text("the request comes from another site's page"))
        return None

    def check_request(self, scope: Scope, headers: Mapping[str, str]) -> Refusal | None:
        return _check_method(scope, headers)

    def tokens(self, scope: Scope, headers: Mapping[str, str]) -> Iterable[str]:
        return [
            *super().tokens(scope, headers),
            _cookie(headers.get("cookie", "")),
            *_parse_query(scope).get("token", ()),
        ]

    async def forward_request(self, scope: Scope, receive: Any, send: Any) -> None:
        if where := self._redirect_address(scope):
            cookie = f"{COOKIE}={self.token}; HttpOnly; SameSite=Strict; Path=/"
            await answer(send, 303, b"", {"Location": where, "Set-Cookie": cookie})
        else:
            await super().forward_request(scope, receive, send)

    def _redirect_address(self, scope: Scope) -> str:
        """Returns the redirect for a page opened with the token in its address, so it is not passed on; else empty."""
        asked = _parse_query(scope)
        if not self.token or "token" not in asked or scope["method"] != "GET":
            return ""
        del asked["token"]
        rest = urlencode(asked, doseq=True)
        path: str = scope["path"] if _is_plain(scope["path"]) else "/"
        return f"{path}?{rest}" if rest else path


def _is_plain(path: str) -> bool:
    return re.fullmatch(r"/[A-Za-z0-9/_-]*", path) is not None and not path.startswith("//")


def _check_method(scope: Scope, headers: Mapping[str, str]) -> Refusal | None:
    method, path = scope["method"], scope["path"]
    if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > LONGEST_ADDRESS:
        return Refusal(414, Text("the address is too long"))
    if not _is_plain(path) or b"%" in (scope.get("raw_path") or b""):
        return Refusal(404, Text("there is no such page"))
    sends = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
    if method in ("GET", "HEAD"):
        return Refusal(400, Text("nothing can be sent here")) if sends else None
    if method != "POST" or not _VOTE.fullmatch(path):
        return Refusal(405, Text("this can only be read"), {"Allow": "GET, HEAD"})
    if headers.get("content-type", "").lower() not in ("application/json", "application/json; charset=utf-8"):
        return Refusal(415, Text("a vote is sent as application/json"))
    length = headers.get("content-length", "")
    if "transfer-encoding" in headers or not re.fullmatch(r"\d{1,9}", length):
        return Refusal(411, Text("its length is missing"))
    if int(length) > LONGEST_BODY:
        return Refusal(413, Text("too long for a vote"))
    if "origin" not in headers and headers.get("sec-fetch-site") != "same-origin":
        return Refusal(403, Text("a vote is sent by this server's own page"))
    return None


def _parse_query(scope: Scope) -> dict[str, list[str]]:
    try:
        return parse_qs(scope["query_string"].decode("ascii"), keep_blank_values=True, max_num_fields=50)
    except ValueError:
        return {}


def _cookie(header: str) -> str:
    try:
        cookie = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return cookie.value if cookie else ""


PORT = 7860
MOST_COMPARED = 8
FRESH_FOR = 2.0
"""Seconds for which the page of a run at work is reused: later changes are pushed to it."""
VOTE_SCRIPTS = ("follow.js", "ballot.js", "vote.js")
PICTURES_LIVE = "private, max-age=86400, immutable"
"""Pictures may be cached, because their addresses identify their pixels."""

try:
    from fastapi import FastAPI, Request
    from fastapi.responses import (
        FileResponse,
        HTMLResponse,
        JSONResponse,
        PlainTextResponse,
        Response,
        StreamingResponse,
    )
    from starlette.background import BackgroundTask
    from starlette.exceptions import HTTPException

    from edit_eval.plugins.web.server import WebServer, address_of, listen, raise_descriptor_limit, token_for
except ImportError as missing:
    raise ConfigurationError(
        Text("`view` needs {}, which is not installed; `pip install 'edit-eval[viewer]'` brings it", missing.name)
    ) from missing


class Pages:
    """The latest page of each run, compressed."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[str, float, bytes]] = {}
        self._making = threading.Lock()

    def render_page(self, watched: WatchedRun) -> bytes:
        """Returns the page of a run as it is now, or was a moment ago."""
        with self._making:
            seen, at, page = self._made.get(watched.base, ("", 0.0, b""))
            votes = votes_version(watched.path)
            boot = seen.partition(".")[0]
            fresh = watched.state.kind == "working" and time.monotonic() - at < FRESH_FOR
            if page and boot == watched.boot and (seen == f"{watched.page_version} {votes}" or fresh):
                return page
            with watched.lock:
                seen, made = f"{watched.page_version} {votes}", run_page(watched)
            page = gzip.compress(made.encode("utf-8", "backslashreplace"), 3)
            while len(self._made) > 4:
                del self._made[next(iter(self._made))]
            self._made[watched.base] = seen, time.monotonic(), page
            return page


class _Routes:
    """What the addresses of the viewer answer."""

    def __init__(self, runs: Runs, pages: Pages) -> None:
        self._runs, self._pages, self._thumbnails = runs, pages, Thumbnails()
        self._voting: dict[str, Voting] = {}
        self._one_at_a_time, self._selecting = threading.Lock(), threading.Lock()

    def open_watched(self, run: str) -> WatchedRun:
        try:
            return self._runs.open(run)
        except KeyError:
            raise HTTPException(404, Text("there is no such run")) from None

    def list_page(self) -> Response:
        self._runs.find_again()
        cards = [card.plain() for card in self._runs.cards.values()]
        return html(plain_page(Text("Runs"), ("follow.js", "list.js"), {"runs": cards}))

    def events(self, request: Request) -> Response:
        return stream(self._runs, request.query_params.get("since", ""))

    def one_page(self, run: str, request: Request) -> Response:
        watched = self.open_watched(run)
        try:
            packed = self._pages.render_page(watched)
        except Exception as error:  # a run may be damaged in any way
            why = str(error) if isinstance(error, EditEvalError) else f"{type(error).__name__}: {error}"
            live = watched.state_data()
            return unreadable(watched.path.name, {**live, "reason": live["reason"] or why}, f"{watched.base}/events")
        if "gzip" in request.headers.get("accept-encoding", ""):
            return html(packed, {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"})
        return html(gzip.decompress(packed))

    async def run_events(self, run: str, request: Request) -> Response:
        watched = await asyncio.to_thread(self.open_watched, run)
        return stream(watched, request.query_params.get("since", ""))

    def picture(self, run: str, kind: str, name: str) -> Response:
        read = {"edit": read_edit, "source": read_source}.get(kind)
        watched = self.open_watched(run)
        with watched.lock:
            data = read(watched.following, name) if read else None
        return image(data)

    def thumbnail(self, run: str, kind: str, name: str) -> Response:
        watched = self.open_watched(run)
        return image(
            self._thumbnails.read_thumbnail(watched.following, kind, name) if kind in ("edit", "source") else None
        )

    def glance(self, run: str, place: int) -> Response:
        card = self._runs.cards.get(run)
        there = card is not None and place < len(card.pictures)
        return image(self._thumbnails.read_file_thumbnail(card.path, *card.pictures[place]) if card and there else None)

    def comparison(self, runs: str) -> Response:
        ids = list(dict.fromkeys(runs.split("/")))
        if not 2 <= len(ids) <= MOST_COMPARED:
            raise HTTPException(404, Text("name 2 to {} runs", MOST_COMPARED))
        compared = [self.open_watched(run) for run in ids]
        try:
            return html(comparison_page(compared))
        except EditEvalError as error:
            names = ", ".join(watched.path.name for watched in compared)
            return unreadable(names, {"kind": "incomparable", "reason": str(error)}, "")

    def selection(self, run: str, request: Request) -> Response:
        if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            # An export takes a while, so a link on another site must not start it.
            raise HTTPException(403, Text("the request comes from another site's page"))
        watched = self.open_watched(run)
        folder = Path(tempfile.mkdtemp(prefix="edit-eval-"))
        forget = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
        try:
            with self._selecting:
                file = folder / "selection.html"
                name = selection_page(watched, request.query_params.get("samples", ""), file)
        except Exception as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, EditEvalError):
                raise HTTPException(400, str(error)) from error
            raise
        return FileResponse(file, media_type="text/html", filename=name, background=forget)

    def vote_page(self, run: str) -> Response:
        watched = self.open_watched(run)
        with watched.lock:
            if obstacle := find_obstacle(watched):
                return unreadable(watched.path.name, {"kind": "incomparable", "reason": obstacle}, "")
            assert watched.following.table is not None
            language, pairs = watched.following.table.experiment.language, count_pairs(watched.following)
        here, path = str(Path.cwd()), one_line(watched.path)
        then = {verb: shell_command(here, ["edit-eval", verb, path]) for verb in ("votes", "report")}
        data = {"run": run, "language": language, "pairs": pairs, "then": {"page": watched.base, **then}}
        return html(plain_page(Text("Which edit is better?"), VOTE_SCRIPTS, data, language=language))

    def voting_of(self, run: str) -> Voting:
        self.open_watched(run)
        with self._one_at_a_time:
            if run not in self._voting:
                self._voting[run] = Voting(lambda: self.open_watched(run))
            return self._voting[run]

    def next_pair(self, run: str, request: Request) -> Response:
        return voting_response(lambda: self.voting_of(run).next(request.query_params.get("rater", "")))

    async def vote(self, run: str, request: Request) -> Response:
        try:
            body = await read_body(request.headers, request.receive, most=LONGEST_BODY)
        except RequestRefused as refusal:
            return PlainTextResponse(f"{refusal}\n", refusal.status, headers={"Connection": "close"})
        return await asyncio.to_thread(voting_response, lambda: self.voting_of(run).add(bytes(body)))


def make_app(runs: Runs, *, token: str = "", anywhere: bool = False, pages: Pages | None = None) -> Any:
    """Returns the guarded ASGI application; `pages` may have been made before."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    routes = _Routes(runs, pages or Pages())

    def show(path: str, function: Callable[..., Any]) -> None:
        app.add_api_route(path, function, methods=["GET", "HEAD"], response_model=None)

    show("/run/{run}/vote", routes.vote_page)
    show("/run/{run}/next", routes.next_pair)
    app.add_api_route("/run/{run}/votes", routes.vote, methods=["POST"], response_model=None)
    show("/", routes.list_page)
    show("/compare/{runs:path}", routes.comparison)
    show("/events", routes.events)
    show("/run/{run}", routes.one_page)
    show("/run/{run}/events", routes.run_events)
    show("/run/{run}/glance/{place:int}", routes.glance)
    app.add_api_route("/run/{run}/selection", routes.selection, methods=["GET"], response_model=None)
    show("/run/{run}/{kind}/{name}", routes.picture)
    show("/run/{run}/{kind}/{name}/small", routes.thumbnail)

    @app.exception_handler(HTTPException)
    async def handle_refusal(request: Request, error: HTTPException) -> Response:
        return PlainTextResponse(f"{translate(error.detail)}\n", error.status_code)

    return PageGuard(app, token=token, anywhere=anywhere)


def voting_response(answer: Callable[[], dict[str, object]]) -> Response:
    """Returns the answer of a voting, or why there is none."""
    try:
        return JSONResponse(answer())
    except NotAVote as refused:
        return JSONResponse({"error": str(refused)}, refused.status)
    except OSError as error:
        return JSONResponse({"error": Text("the vote could not be kept ({})", error.strerror or error)}, 507)


def html(page: str | bytes, headers: dict[str, str] | None = None) -> Response:
    """Returns a page; the policy in its head allows its scripts by their digests."""
    policy = "frame-ancestors 'none'"
    return HTMLResponse(page, headers={"Content-Security-Policy": policy, **(headers or {})})


def unreadable(name: str, state: JsonObject, events: str) -> Response:
    """Returns a page that says why there is nothing to show; it reloads when that may have changed."""
    return html(
        plain_page(Text("Runs"), ("follow.js", "unreadable.js"), {"live": state, "name": name, "events": events})
    )


def image(data: bytes | None) -> Response:
    """Returns a picture; 404 for none."""
    if data is None:
        return PlainTextResponse(Text("there is no such picture\n"), 404)
    return Response(data, media_type=kind_of(data), headers={"Cache-Control": PICTURES_LIVE})


def stream(watched: Watched, seen: Any) -> Response:
    """Returns server-sent events, without end."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(watched.messages(seen), media_type="text/event-stream", headers=headers)


def serve(
    places: Sequence[Path],
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    token: str = "",
    tell: Callable[[str], None] = print,
) -> None:
    """Serves the runs in these places until interrupted. `tell` is called with the address.

    Listens on loopback unless `host` is another address; then, or with a `token`, nothing is answered without the token
    (`auto` makes one). Raises `ConfigurationError` for a missing place, or an address it cannot listen on.
    """
    raise_descriptor_limit()
    token = token_for(host, token)
    runs = Runs(places)
    opened = listen(host, port)
    address = address_of(host, opened.getsockname()[1])
    only = next(iter(runs.cards)) if len(runs.cards) == 1 else ""
    page = f"{address}/run/{only}" if only else f"{address}/"
    tell(f"{page}?token={token}" if token else page)
    pages = Pages()
    threading.Thread(target=_prepare, args=(runs, only, pages), daemon=True).start()
    app = make_app(runs, token=token, anywhere=not is_loopback(host), pages=pages)
    try:
        WebServer(app, keep_alive=30, grace=1).run(sockets=[opened])
    except KeyboardInterrupt:
        pass
    finally:
        opened.close()


def _prepare(runs: Runs, only: str, pages: Pages) -> None:
    """Makes the page that will be opened first; errors are shown when it is opened."""
    with contextlib.suppress(Exception):
        if only:
            pages.render_page(runs.open(only))
