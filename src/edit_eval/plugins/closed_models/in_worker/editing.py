"""`api`: an edit model that nobody can download, asked by its maker's own interface.

What is sent and what answers mean is in `providers`, one row a provider; errors are handled as in
`edit_eval.plugins.endpoints.in_worker.client`. Here is what is the same for all:

* A refusal is final and `Refused`. A draft is never the edit.
* An attempt that may have been charged (a timeout, a cut connection, an answer without a picture) is followed by one
  more at most. A task that was taken is asked for again, not submitted again, by a later start as well
  (`EditRequest.submitted`); so is the address of a picture.
* The picture is scaled to the source's size (Lanczos) if its shape is within 5 % of the source's. If not, it keeps its
  shape, is scaled to the source's area, and the edit is flagged `other_aspect_ratio`. The size in which it came is
  recorded.
* Nothing is tried out at the start. The canary knocks at the door of the work, with a request that costs nothing; and
  it asks whether the key is known, where the provider says that for nothing (`account`).
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from edit_eval.edit_models.contract import Charged, EditPrice, EditRequest, OnStep
from edit_eval.errors import CanaryFound, LoadError, PictureError, Refused
from edit_eval.json_values import Json, JsonObject
from edit_eval.pictures import OWN_SIZE, have_same_shape, png, scale_picture
from edit_eval.plugins.closed_models.in_worker.providers import (
    PROVIDERS,
    Asked,
    ClosedModel,
    Provider,
    find_closed_editor,
    list_closed_editors,
)
from edit_eval.plugins.endpoints.in_worker.client import (
    NOT_IN_THE_KEY,
    Ask,
    Client,
    Failure,
    ServerParameters,
    WholeAnswer,
    plain,
)
from edit_eval.plugins.endpoints.in_worker.image_servers import choose_picture, decode_picture, pack_mask
from edit_eval.plugins.endpoints.in_worker.vocabulary import Ended, Says, read_error, read_reason

if TYPE_CHECKING:
    from PIL.Image import Image

LONGEST_ANSWER = 96 * 2**20
"""Most bytes of an answer: a PNG of 4096 x 4096 pixels takes up to 67 million in base64."""
ATTEMPTS = 2
"""Attempts at an edit that may be charged, at most."""
FIRST_LOOK, LONGEST_LOOK = 0.5, 5.0
"""Seconds before a task is first asked for, and the longest pause; in between it grows by half."""
CHECKED: Mapping[CanaryFound, str] = {
    "known": "the key is known",
    "up": "the server is up; key and model are not checked before the first edit",
}
"""What a canary found -> what is known by it."""
_IDS = re.compile(r"\b(?:req|gen|chatcmpl)[-_]\w+")  # they differ each time, but equal reasons must be equal texts


class Api:
    """An edit model by name behind its maker's interface: OpenAI, Gemini, OpenRouter, fal, FLUX, Seedream, Qwen, ...

    It is asked for several edits at once, and needs no GPU here: `device_ids: cpu:1`. Newer prices and ends go into
    `~/.config/edit-eval/closed.yaml` (or where XDG_CONFIG_HOME says), a row a model, above the table below:
    `editors: [{model: PROVIDER/MODEL, usd: {"": 0.04}, ends: 2027-01-31, seen: 2026-11-30, source: ...}]`.
    """

    holds_device = False
    only_looks = True
    requires = ("aiohttp", "pydantic_core")

    @dataclass(kw_only=True)
    class Parameters(ServerParameters):
        """What decides the pixels, and how the provider is reached."""

        model: str
        """`PROVIDER/MODEL`, as `gemini/gemini-3-pro-image`: openai, gemini, openrouter, fal, bfl, ark, dashscope, xai,
        replicate, and the name of the model there."""
        base_url: str = field(default="", metadata=NOT_IN_THE_KEY)
        """Another address of the provider: a proxy's, or a region's. Empty: what `GEMINI_BASE_URL` (or another
        provider's) says, or else its own. Not part of a key."""
        api_key_env: str = field(default="", metadata=NOT_IN_THE_KEY)
        """NAME of the environment variable that holds the key. Empty: the provider's usual one. Not part of a key."""
        concurrency: int = field(default=4, metadata=NOT_IN_THE_KEY)
        """Edits under way at once, at most. Not part of a key."""
        attempt_timeout: float = field(default=300.0, metadata=NOT_IN_THE_KEY)
        """Seconds in which one attempt must have given its picture. Not part of a key."""
        deadline: float = field(default=570.0, metadata=NOT_IN_THE_KEY)
        """Seconds for an edit with all its attempts and pauses; less than the model's `timeout`. Not part of a key."""
        size: str | None = None
        """A size the provider has a name for (`1K`, `2K`, `4K`), or `WIDTHxHEIGHT` where it takes pixels. null: the
        source's shape, in the smallest usual size."""
        max_pixels: int | None = None
        """A larger source is scaled down to this area before it is sent."""
        call: dict[str, Any] = field(default_factory=dict)
        """Further fields of the request: `quality`, `safety_tolerance`, ...; null leaves one out that would be sent."""
        allowed_hosts: list[str] = field(default_factory=list, metadata=NOT_IN_THE_KEY)
        """Hosts beside the provider's own from which a picture may be fetched. Not part of a key."""
        edit_price: float | None = field(default=None, metadata=NOT_IN_THE_KEY)
        """What an edit costs at most, in US dollars, where our table has no price, or another. Not part of a key."""

        def __post_init__(self) -> None:
            provider, row = row_of(self.model)
            self.api_key_env = self.api_key_env or provider.key
            if self.serve is not None:
                raise ValueError("serve: the provider serves the model; leave this out")
            if self.size is not None and not re.fullmatch(r"[1-9]\d*x[1-9]\d*", self.size):
                names = provider.resolutions if row is None or row.resolutions is None else row.resolutions
                if self.size not in names:
                    raise ValueError(f"size: {self.size!r} is none of {', '.join([*names, 'WIDTHxHEIGHT'])}")
            elif self.size is not None and ("x" not in _shape_form(self.model) or not _shape_form(self.model)):
                raise ValueError(f"size: {provider.company} takes a shape and a named size, no pixels, for this model")
            if self.edit_price is not None and not (math.isfinite(self.edit_price) and self.edit_price >= 0):
                raise ValueError("edit_price: it takes a number of US dollars, 0 or more")
            super().__post_init__()

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.capacity = parameters.concurrency
        self._name = parameters.model.partition("/")[2]
        self._provider, self._row = row_of(parameters.model)
        self.client = Client(
            parameters,
            "edit model",
            lambda: self._canary,
            LONGEST_ANSWER,
            address=_address(parameters.model),
            header=self._provider.header,
            paid=True,
        )
        self._bills: dict[int, Bill] = {}
        self._found: CanaryFound = "not made"

    # -- what is known before it is loaded --

    @staticmethod
    def revision(parameters: Api.Parameters) -> str:
        """Returns the provider's name and the revision of its row, which decide what is sent."""
        provider, _ = row_of(parameters.model)
        return f"{parameters.model.partition('/')[0]} {provider.revision}"

    @staticmethod
    def sources(parameters: Api.Parameters) -> int | None:
        """Returns how many pictures the model takes."""
        provider, row = row_of(parameters.model)
        return provider.pictures if row is None or row.pictures is None else row.pictures

    @staticmethod
    def takes_mask(parameters: Api.Parameters) -> bool:
        """True if the provider takes a mask."""
        return row_of(parameters.model)[0].mask is not None

    @staticmethod
    def card(parameters: Api.Parameters) -> dict[str, str]:
        """Returns who gets what, from where pictures come, and what cannot be switched off."""
        provider, row = row_of(parameters.model)
        model = parameters.model.partition("/")[2]
        second = f", and {provider.company} passes them on to the maker of {model}" if provider.hosts_others else ""
        host = re.sub(r"^https?://([^/]+).*", r"\1", parameters.base_url or _address(parameters.model))
        facts = [f"pictures and instructions, for {provider.company} ({host}){second}"]
        if provider.hosts:
            facts.append(f"the edits are fetched from {', '.join(provider.hosts)}, without the key")
        facts += [provider.training] * bool(provider.training)
        facts += provider.notes
        if not _takes_seed(provider, row):
            facts.append("no seed: another run gives other pictures")
        if row is not None:
            facts += [row.note] * bool(row.note)
        unpriced = "edit_price" if _price(parameters, row) is None else ""
        known = {"ends": row.ends if row else "", "seen": row.seen if row else provider.date, "unpriced": unpriced}
        return {"leaves": "; ".join(facts), "source": f"{provider.source} ({provider.date})", **known}

    @staticmethod
    def duration_anywhere(parameters: Api.Parameters) -> tuple[float, float, str]:
        """Returns what a plan assumes: nobody has measured it here."""
        return 1.0, 30.0, "assumed for an edit by a provider"

    @staticmethod
    def find_model(written: str) -> JsonObject | None:
        """Returns the parameters of a model that is asked for by this name, and words for `init`; None for others."""
        name, _, rest = written.partition("/")
        provider = PROVIDERS.get(name)
        if provider is None or not rest or (provider.hosts_others and "/" not in rest):
            return None
        price = Api.prices(parameters := Api.Parameters(model=written))
        cost = "price unknown: give edit_price"
        if price["usual"] is not None:
            cost = f"about {price['usual']:g} USD an edit ({price['date']}); try it with --limit 2 first"
        return {
            "params": {"model": written},
            "words": f"{provider.company}; its key goes into ${parameters.api_key_env}; {cost}",
        }

    @staticmethod
    def prices(parameters: Api.Parameters) -> EditPrice:
        """Returns what an edit costs in US dollars: see `edit_models.contract`."""
        provider, row = row_of(parameters.model)
        usual = _price(parameters, row)
        return {
            "usual": usual,
            "most": None if usual is None else _dearest(parameters, row) * ATTEMPTS,
            "told": "told" if provider.cost({"usage": {"cost": 1}, "cost": 1}) is not None else "computed",
            "date": "" if parameters.edit_price is not None or row is None else row.seen,
            "source": "edit_price" if parameters.edit_price is not None else "" if row is None else row.source,
        }

    @staticmethod
    def presets() -> list[dict[str, str]]:
        """Returns a card for each model of the table."""
        return [
            {
                "model_name": model.model,
                "edit_price": ", ".join(
                    f"{price:g}{f' ({size})' if size else ''}" for size, price in model.usd.items()
                ),
                "mask": "`mask`" if Api.takes_mask(Api.Parameters(model=model.model)) else "",
                "ends": model.ends,
                "source": f"{model.source} ({model.seen})",
            }
            for model in list_closed_editors()
        ]

    # -- at work --

    def prepare(self) -> None:
        """Imports what asks. Raises `ImportError` if it is missing."""
        import aiohttp  # noqa: F401
        import pydantic_core  # noqa: F401

    def load(self, devices: Sequence[str]) -> None:
        """Checks that the key is there and, where that costs nothing, that provider and model know it.

        Raises `LoadError`.
        """
        moved = self.parameters.base_url or _address(self.parameters.model) != self._provider.address
        if not self.client.has_key and not moved:
            variable = self.parameters.api_key_env
            raise LoadError(f"{variable} is not set: it takes {self._provider.company}'s key", final=True)
        (self._found,) = self.client.first(self._canary)

    def examine(self, request: EditRequest) -> None:
        """Checks the key and the address, without an edit. Raises `LoadError`."""
        self._found = self.client.once(self._canary)

    def close(self) -> None:
        """Closes the connections; cancels an edit in progress."""
        self.client.close()

    def about(self) -> dict[str, str]:
        """Returns the provider's address, what is sent as seed and shape, and what a reader should know."""
        p, seed = self.parameters, _takes_seed(self._provider, self._row)
        notes = [f"{p.model}: no seed: another run gives other pictures"] * (not seed)
        notes += [f"{p.model}: {CHECKED['up']}"] * (self._found == "up")
        form = _shape_form(p.model)
        return {
            **self.client.about(),
            "checked": CHECKED.get(self._found, ""),
            "provider": self._provider.company,
            "seed": "sent; no provider promises the same picture for it" if seed else "not sent",
            "shape": "the provider's own" if not form else f"the source's, as {form.format('W', 'H')}",
            "scaled": "to the source's size; beyond 5 % of its shape to its area, in its own shape",
            **({"note": "; ".join(notes)} if notes else {}),
        }

    def collect_costs(self) -> Charged:
        """Returns what the edits that this thread has asked for since it was last called have cost."""
        return self._bills.pop(threading.get_ident(), Bill(0.0)).as_charged()

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """Has an edit made. May be called from several threads at once.

        Raises `Refused`, and `RequestError` for an edit that failed for good.
        """
        bill = self._bills[threading.get_ident()] = Bill(_dearest(self.parameters, self._row))
        (made,) = self.client.answers([Attempts(self, request, bill).ask])
        if isinstance(made, Refused):
            raise made
        on_step(1, 1)
        return fit_picture(made, request.source.size)

    async def _canary(self, _: Any) -> CanaryFound:
        """The canary: an `Ask` that costs nothing."""
        up = await self.client.check_presence(self._provider.path.format(model=self._name))
        if not self._provider.account:
            return up
        await self.client.get(self._provider.account.format(model=self._name))
        return "known"


class Attempts:
    """All attempts at one edit. What an earlier one has reached is not asked for, or paid, again."""

    def __init__(self, model: Api, request: EditRequest, bill: Bill) -> None:
        self._model, self._client, self._provider, self._bill = model, model.client, model._provider, bill
        parameters = model.parameters
        pictures = [scale_picture(picture, parameters.max_pixels) for picture in request.pictures.values()]
        seed, form = request.seed if _takes_seed(model._provider, model._row) else None, model._provider.mask
        self._asked = Asked(
            model=model._name,
            instruction=request.instruction,
            pictures=[png(picture) for picture in pictures],
            seed=seed,
            mask=pack_mask(request.mask, pictures[0].size, form) if request.mask and form else b"",
            **_size(parameters, pictures[0].size),
        )
        self._names = [f"{name}.png" for name in request.pictures]
        self._request = request
        self._task = request.submitted["id"] if request.submitted else ""
        """Address of a task that was taken, perhaps in an earlier start."""
        self._addresses: Sequence[str] = ()
        """Addresses of its pictures."""
        self._paid_before = bool(self._task)
        if self._task:  # the start that bought it has counted it
            bill.open()
            bill.add(0.0)

    ask: Ask[Any]

    async def ask(self, _: Any) -> Image | Refused:  # type: ignore[no-redef]
        """One attempt."""
        if not self._addresses and not self._task:
            self._bill.open()
            self._paid_before = False
            if self._provider.poll:
                self._note("")
            sent = await self._send_request()
            document = plain(sent.text)
            if not 200 <= sent.status < 300:
                return self._read_error(sent, document)
            self._task = self._provider.poll(document) if self._provider.poll else ""
            if not self._task or not self._stands(document):
                self._task = ""
                return await self._read_answer(document, sent.text)
            self._bill.add(self._provider.cost(document))
            self._note(self._task)
        if not self._addresses:
            return await self._await_task()
        return await self._fetch_pictures()

    def _note(self, address: str) -> None:
        """Has it written down that a task is about to be submitted, or was, at this address."""
        company, parameters = self._provider.company, self._model.parameters
        usd = _price(parameters, self._model._row)
        self._request.on_submitted({"provider": company, "id": address, "usd": usd})

    def _stands(self, document: Any) -> bool:
        """True while a task is not done, and in a state that is not known, for which nothing is bought again."""
        ending = self._provider.ending(document)
        return ending.meaning is Ended.UNDER_WAY or not ending.known

    async def _send_request(self) -> WholeAnswer:
        path = self._provider.path.format(model=self._asked.model)
        body = _with_call(self._provider, self._provider.body(self._asked), self._model.parameters.call)
        try:
            if not self._provider.form:
                return await self._client.post(path, body)
            field = "image[]" if len(self._names) > 1 else "image"
            files = [(field, name, data) for name, data in zip(self._names, self._asked.pictures, strict=True)]
            files += [("mask", "mask.png", self._asked.mask)] if self._asked.mask else []
            fields = {name: value if isinstance(value, str) else json.dumps(value) for name, value in body.items()}
            return await self._client.form(path, fields, files)
        except Exception as error:
            failure = self._client.broken(error)
            if failure.free:
                self._bill.free()
            raise failure from None

    async def _await_task(self) -> Image | Refused:
        """Asks for a task until it is done. Another attempt goes on where this one ended."""
        pause = FIRST_LOOK
        while True:
            try:
                text = await self._client.get(self._task, self._provider.task_hosts)
            except Exception as error:
                failure = self._client.broken(error)
                failure.free = True  # it costs nothing to ask again
                failure.again |= failure.says is Says.OTHER  # a 404 so soon after is no loss
                raise failure from None
            document = plain(text)
            if not self._stands(document):
                self._task = ""
                return await self._read_answer(document, text)
            await asyncio.sleep(pause)
            pause = min(LONGEST_LOOK, pause * 1.5)

    async def _read_answer(self, document: Any, text: str) -> Image | Refused:
        """Returns the picture of a finished answer, or the refusal that it is."""
        if not self._paid_before:
            self._count(document)
        ending = self._provider.ending(document)
        complaint = read_error(200, document)
        if ending.meaning is Ended.REFUSED:
            return self._make_refusal(ending.word, read_reason(document) if _has_error(document) else "")
        if complaint.meaning is Says.REFUSED and _has_error(document):
            return self._make_refusal(complaint.word, read_reason(document))
        if _has_error(document):
            raise self._client.explain_unexpected(document, text, "an edited picture")
        pictures = self._provider.pictures_in(document)
        if ending.meaning is not Ended.WHOLE or not pictures:
            why = ending.failure or ending.word
            more = f" ({self._client.excerpt(why)})" if why else ""
            without = "an edit that is not whole" if pictures else "answered without a picture"
            raise Failure(f"the edit model's server {'sent ' * bool(pictures)}{without}{more}", once=True)
        if any(picture.startswith(("http://", "https://")) for picture in pictures):
            self._addresses = pictures
            return await self._fetch_pictures()
        return await self._decode_pictures([decode_picture(picture) for picture in pictures])

    def _count(self, document: Any) -> None:
        """Puts on the bill what a finished answer cost."""
        self._bill.add(self._provider.cost(document))
        row, counted = self._model._row, self._provider.tokens(document)
        if row is not None and row.tokens is not None and counted is not None:
            self._bill.set_computed_cost(math.fsum(map(_dollars, counted, row.tokens)))
        elif row is not None or self._model.parameters.edit_price is not None:
            self._bill.set_computed_cost(_price(self._model.parameters, row))

    async def _fetch_pictures(self) -> Image | Refused:
        """Fetches the pictures from their addresses; one that is gone is ordered once more."""
        hosts = [*self._provider.hosts, *self._model.parameters.allowed_hosts]
        try:
            files = [await self._client.fetch(address, hosts) for address in self._addresses]
        except Exception as error:
            failure = self._client.broken(error)
            failure.free = True
            if failure.status in (401, 403, 404, 410):
                self._addresses = ()
                failure = Failure(f"{failure}; the address has expired", once=True)
            raise failure from None
        self._addresses = ()
        return await self._decode_pictures(files)

    async def _decode_pictures(self, files: Sequence[bytes]) -> Image:
        try:
            return await asyncio.to_thread(choose_picture, files, self._request.source.size)
        except PictureError as error:
            said = self._client.excerpt(str(error))
            raise Failure(f"the edit model's server sent an unreadable picture: {said}", once=True) from None

    def _read_error(self, sent: WholeAnswer, document: Any) -> Refused:
        """Returns the refusal that an error is. Raises `Failure` for any other."""
        failure = self._client.read_failure(sent.status, sent.text, sent.headers)
        if failure.says is Says.REFUSED:
            return self._make_refusal(failure.word, read_reason(document))
        if failure.free:
            self._bill.free()
        raise failure

    def _make_refusal(self, code: str, said: str) -> Refused:
        words = _IDS.sub("...", said) if said != code else ""
        return Refused(self._client.excerpt(f"refused ({code}): {words}".rstrip(": ")))


class Bill:
    """What the attempts at one edit have cost: each that may have been charged counts, as told, computed, or feared."""

    def __init__(self, dearest: float) -> None:
        self._dearest = dearest
        self._costs: list[tuple[float, bool]] = []
        """Of each attempt, dollars, and whether the provider told them."""

    def open(self) -> None:
        """An attempt begins: until more is known it counts as the dearest."""
        self._costs.append((self._dearest, False))

    def free(self) -> None:
        """The last attempt cost nothing."""
        self._costs.pop()

    def add(self, dollars: float | None) -> None:
        """The last attempt's cost, from its answer."""
        if dollars is not None:
            self._costs[-1] = (dollars, True)

    def set_computed_cost(self, dollars: float | None) -> None:
        """The last attempt's cost by the table of prices, unless it was told."""
        if dollars is not None and not self._costs[-1][1]:
            self._costs[-1] = (dollars, False)

    def as_charged(self) -> Charged:
        """Returns dollars, whether all of them were told, and the number of attempts."""
        return {
            "usd": math.fsum(dollars for dollars, _ in self._costs),
            "told": bool(self._costs) and all(stated for _, stated in self._costs),
            "attempts": len(self._costs),
        }


def _has_error(document: Any) -> bool:
    return isinstance(document, dict) and bool(document.get("error") or document.get("code"))


def row_of(model: str) -> tuple[Provider, ClosedModel | None]:
    """Returns a model's provider and what is known of it. Raises `ValueError` for a provider that has no row."""
    name, _, rest = model.partition("/")
    if name not in PROVIDERS or not rest:
        raise ValueError(f"model: {model!r} is not PROVIDER/MODEL with one of {', '.join(PROVIDERS)}")
    return PROVIDERS[name], find_closed_editor(model)


def _address(model: str) -> str:
    """Returns the provider's address, or the one that the environment has in its place."""
    name = model.partition("/")[0]
    return os.environ.get(f"{name.upper()}_BASE_URL", "") or PROVIDERS[name].address


def fit_picture(picture: Image, size: tuple[int, int]) -> Image:
    """Returns the picture in the source's size, or, in another shape, in its area; `info` has the size it came in."""
    from PIL import Image as Images

    came = picture.size
    if not have_same_shape(came, size):
        factor = math.sqrt(size[0] * size[1] / (picture.width * picture.height))
        size = (max(1, round(picture.width * factor)), max(1, round(picture.height * factor)))
    made = picture if came == size else picture.resize(size, Images.Resampling.LANCZOS)
    made.info = {**picture.info, OWN_SIZE: came}
    return made


def _takes_seed(provider: Provider, row: ClosedModel | None) -> bool:
    return provider.seed if row is None or row.seed is None else row.seed


def _shape_form(model: str) -> str:
    """Returns how the model is told a shape: `{}x{}`, `{}:{}`; empty if it is not told any."""
    provider, row = row_of(model)
    shape = provider.shape if row is None or row.shape is None else row.shape
    return "" if shape is None else shape.size


def _size(parameters: Api.Parameters, source: tuple[int, int]) -> dict[str, str]:
    """Returns the shape and the named size to ask for."""
    provider, row = row_of(parameters.model)
    shape = provider.shape if row is None or row.shape is None else row.shape
    names = provider.resolutions if row is None or row.resolutions is None else row.resolutions
    if parameters.size is not None and "x" in parameters.size:
        return {"shape": parameters.size, "resolution": ""}
    asked = "" if shape is None else shape.size.format(*shape.nearest(*source))
    return {"shape": asked, "resolution": parameters.size or (names[0] if names else "")}


def _price(parameters: Api.Parameters, row: ClosedModel | None) -> float | None:
    """Returns what an edit usually costs; None if that is not known."""
    if parameters.edit_price is not None:
        return parameters.edit_price
    if row is None or not row.usd:
        return None
    resolution = _size(parameters, (1024, 1024))["resolution"]
    return row.usd.get(resolution, max(row.usd.values()))


def _dearest(parameters: Api.Parameters, row: ClosedModel | None) -> float:
    """Returns the most that one attempt can cost, as far as is known; 0 without any price."""
    usual = _price(parameters, row) or 0.0
    most = row.most if row is not None and parameters.edit_price is None else None
    return max(usual, most or 0.0)


def _dollars(tokens: float, price: float) -> float:
    return tokens * price / 1e6


def _with_call(provider: Provider, body: JsonObject, call: Mapping[str, Json]) -> JsonObject:
    """Returns the body with the user's fields in their place; null leaves one out."""
    if not call:
        return body
    if not provider.extra:
        return {name: value for name, value in {**body, **call}.items() if value is not None}
    (place,) = provider.extra
    within = body[place]
    assert isinstance(within, dict)
    return {**body, place: {name: value for name, value in {**within, **call}.items() if value is not None}}
