"""A server as an edit model: any with `POST {base_url}/images/edits` (vLLM-Omni, SGLang, Xinference, OpenAI, ...).

How errors of a server are handled is in `client`. An answer is one of these:

* a picture, in the answer (`b64_json`) or at an address (`url`), which is followed only on the server's own host or one
  of `allowed_hosts`. Any size is accepted;
* a refusal: an error with such a code, an answer without a picture and with such a finish reason or from a proxy that
  gives none, a black picture that is flagged (the tables are in `image_servers`). It is final, and `Refused`;
* an answer without a picture, or with one that cannot be decoded: the edit is requested once more, then it has failed.

If a seed is sent, one edit in a hundred is requested twice, to detect a server that sometimes ignores it.

The canary is a tiny edit; with `probe: false`, to avoid any cost, the list of the server's models.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from edit_eval.edit_models.contract import Charged, EditPrice, EditRequest, OnStep
from edit_eval.endpoints.engines import Route
from edit_eval.endpoints.serving import ServerEnvironment
from edit_eval.errors import CanaryFound, LoadError, ModelError, PictureError, Refused
from edit_eval.json_values import JsonObject
from edit_eval.pictures import UNREPEATABLE, pixel_digest, png, scale_picture
from edit_eval.plugins.endpoints.in_worker.client import (
    NOT_IN_THE_KEY,
    Ask,
    Client,
    Failure,
    ServerParameters,
    host_elsewhere,
    list_model_names,
    plain,
)
from edit_eval.plugins.endpoints.in_worker.image_servers import (
    FLAGS,
    PROXY,
    choose_picture,
    decode_picture,
    dialect_of,
    ending_of,
    pack_mask,
    read_cost,
    values,
)
from edit_eval.plugins.endpoints.in_worker.vocabulary import AnswerEnding, Ended, Says, read_error, read_reason
from edit_eval.pretrained import folders

if TYPE_CHECKING:
    from PIL.Image import Image


TAKEN_BY_CALL = ("model", "prompt", "image", "image[]", "mask", "url", "url[]", "n", "size", "seed", "stream")
LONGEST_PICTURE = 64 * 2**20
"""Most bytes of an answer: a PNG of 3840 x 2160 pixels of noise takes 33 million in base64."""
TINY = 256
"""Side, in pixels, of the picture that the probe has edited."""
REPEATED = range(9, 10**9, 100)
"""Which edits of a worker are requested once more, counted from 0: one in a hundred, from the tenth on."""
TINY_INSTRUCTION = "Make the picture a little brighter."
TINY_NEGATIVE_PROMPT = "bright, colourful, sharp, many details"
"""Negative prompt for the edit that detects guidance: as unlike the usual ones as possible."""

_SAME = "the same picture"
_REQUEST_ID = re.compile(r"\breq_\w+")  # it differs each time, but equal reasons must be equal texts


class ImageEndpoint:
    """A server with `POST /v1/images/edits`: vLLM-Omni, SGLang, Xinference, OpenAI, a litellm proxy, ...

    It is asked for several edits at once, and needs no GPU here: `device_ids: cpu:1`.
    """

    holds_device = False
    only_looks = True
    requires = ("aiohttp",)

    @dataclass(kw_only=True)
    class Parameters(ServerParameters):
        """What decides the pixels, and how the server is reached."""

        route: ClassVar[Route] = "images"

        concurrency: int = field(default=4, metadata=NOT_IN_THE_KEY)
        """Edits under way at once, at most. Not part of a key."""
        attempt_timeout: float = field(default=300.0, metadata=NOT_IN_THE_KEY)
        """Seconds in which one attempt must have given its whole answer. Not part of a key."""
        deadline: float = field(default=570.0, metadata=NOT_IN_THE_KEY)
        """Seconds for an edit with all its attempts and pauses; less than the model's `timeout`. Not part of a key."""
        dialect: Literal[
            "auto", "open", "xinference", "openai", "openai_fixed", "litellm_gemini", "litellm_openrouter"
        ] = "auto"
        """Which form fields the server is sent. auto: `openai` or `openai_fixed` for the names of OpenAI's models, else
        `open` (vLLM-Omni, SGLang, and all that take their fields or drop what they do not know). `litellm_gemini` and
        `litellm_openrouter`: litellm's proxy before these two. `openai`, `openai_fixed`, `xinference` send a mask.
        """
        size: str | None = "source"
        """Of the edit. source: the source's own, as near as the server can be asked for it; `WIDTHxHEIGHT`; `auto`, as
        the server understands it; null sends none."""
        max_pixels: int | None = None
        """A larger source is scaled down to this area before it is sent."""
        call: dict[str, Any] = field(default_factory=dict)
        """Further form fields: `num_inference_steps`, `guidance_scale`, `negative_prompt`, `quality`, ...; null leaves
        one out that the dialect sends."""
        allowed_hosts: list[str] = field(default_factory=list, metadata=NOT_IN_THE_KEY)
        """Hosts (`name` or `name:port`) beside the server's own from which a picture may be fetched. Not part of a
        key."""
        probe: bool = field(default=True, metadata=NOT_IN_THE_KEY)
        """Has three tiny edits made at the start, which tell what becomes of a seed and a size (and a fourth where
        `call` has a negative prompt, which tells whether that changes anything), and one edit in a hundred made twice.
        Not part of a key."""

        edit_price: float | None = field(default=None, metadata=NOT_IN_THE_KEY)
        """What a request for an edit costs, in US dollars: the run then shows and counts what it spends, the probe's
        edits included. Where litellm's proxy tells what each has cost, that counts. Not part of a key."""

        def __post_init__(self) -> None:
            if self.edit_price is not None and not (math.isfinite(self.edit_price) and self.edit_price >= 0):
                raise ValueError("edit_price: it takes a number of US dollars, 0 or more")
            if clash := sorted(set(self.call) & set(TAKEN_BY_CALL)):
                raise ValueError(f"call: {', '.join(clash)} cannot be set there")
            if self.size not in ("source", "auto", None) and not re.fullmatch(r"[1-9]\d*x[1-9]\d*", self.size):
                raise ValueError(f"size: {self.size!r} is none of source, auto, null, and WIDTHxHEIGHT")
            super().__post_init__()

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.capacity = parameters.concurrency
        self._dialect_name, self._dialect = dialect_of(parameters.dialect, parameters.model)
        self.client = Client(
            parameters, "edit model", lambda: self._canary, LONGEST_PICTURE, canary_seconds=parameters.attempt_timeout
        )
        self._about: dict[str, str] = {}
        self._costs: list[float] = []
        """What a proxy said that each answer since the last call of `charged` has cost, in US dollars."""
        self._edits = itertools.count()

    @staticmethod
    def revision(parameters: ImageEndpoint.Parameters) -> str:
        """Returns what the dialect sends besides the parameters, and a digest of our own server's folder."""
        name, dialect = dialect_of(parameters.dialect, parameters.model)
        digest = folders.digest_if_local(parameters.model) if parameters.serve else ""
        return f"{name} {dialect.revision} {digest}".rstrip()

    @staticmethod
    def card(parameters: ImageEndpoint.Parameters) -> dict[str, str]:
        """Returns who gets what, unless it stays on this machine."""
        host = host_elsewhere(parameters)
        return {"leaves": f"pictures and instructions, for {host}"} if host else {}

    @staticmethod
    def takes_mask(parameters: ImageEndpoint.Parameters) -> bool:
        """True if servers of its dialect edit in a mask."""
        return dialect_of(parameters.dialect, parameters.model)[1].mask is not None

    @staticmethod
    def prices(parameters: ImageEndpoint.Parameters) -> EditPrice | None:
        """Returns what an edit costs (see `edit_models.contract`); None without a price."""
        price = parameters.edit_price
        if price is None:
            return None
        # With all attempts and a canary; with a probe also the four edits at the start, and one that is repeated.
        most = price * (parameters.retries + 2 + (4 + parameters.retries + 2) * parameters.probe)
        return {"usual": price, "most": most, "told": "computed", "source": "edit_price"}

    def collect_costs(self) -> Charged:
        """Returns what the requests since the last call have cost: as the proxy told it, else at `edit_price`."""
        attempts = self.client.take_answer_count() + self.client.take_lost_count()
        costs, self._costs = self._costs, []
        rest = max(0, attempts - len(costs))
        usd = math.fsum(costs) + rest * (self.parameters.edit_price or 0.0)
        return {"usd": usd, "told": bool(costs) and not rest, "attempts": attempts}

    def prepare(self) -> None:
        """Imports the client. Raises `ImportError` if it is missing."""
        import aiohttp  # noqa: F401

    def load(self, devices: Sequence[str], server: ServerEnvironment | None = None) -> None:
        """Connects, and requests the same tiny edit twice with one seed, and once with another.

        With `probe: false` only requests the list of models. Raises `LoadError` if no answer comes, or another model is
        known to be served.
        """
        self.client.serve(devices, server)
        made: list[Image | Refused] = []
        guided: list[Image | Refused] = []
        if self.parameters.probe:
            seeds = (0, 0, 1) if self._dialect.seed else (0, 0)
            asks = [self._probe(seed) for seed in seeds]
            if self.parameters.call.get("negative_prompt") is not None:
                asks.append(self._prepare_edit(tiny_edit(), tiny=True, negative_prompt=TINY_NEGATIVE_PROMPT))
            edits = self.client.first(*asks)
            made, guided = edits[: len(seeds)], edits[len(seeds) :]
            names = self.client.models()
        else:
            (names,) = self.client.first(list_model_names)
            self.client.take_answer_count()  # a list costs nothing
        self._know(made, names, guided)
        if self._dialect.own and names and self.parameters.model not in names:
            self.client.close()
            there = self.client.excerpt(", ".join(names[:5]))
            text = f"another model is served: {self.client.address} has {there}, not {self.parameters.model}"
            raise LoadError(text, final=self.parameters.serve is None)

    def examine(self, request: EditRequest) -> Image | None:
        """Requests one edit with a short timeout; with `probe: false` requests the list of models, and returns None.

        Raises `LoadError` with the reason why there is no answer, and `Refused`.
        """
        if not self.parameters.probe:
            self._know([], self.client.once(list_model_names))
            return None
        made = self.client.once(self._prepare_edit(request, tiny=True))
        self._know([made], [])
        return _require_picture(made)

    def close(self) -> None:
        """Closes the connections; cancels an edit in progress."""
        self.client.close()

    def about(self) -> dict[str, str]:
        """Returns the server's address, its dialect, and the findings of the probe: effect of a seed, size of edits."""
        return dict(self._about)

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """Has the server make an edit. May be called from several threads at once.

        Raises `Refused`, and `RequestError` for an edit that failed for good.
        """
        (made,) = self.client.answers([self._prepare_edit(request)])
        edited = _require_picture(made)
        holds = self._dialect.seed and self._about.get("same_seed") == _SAME  # as far as the probe could tell
        if next(self._edits) in REPEATED and holds:
            edited.info[UNREPEATABLE] = self._differs(request, edited)
        on_step(1, 1)
        return edited

    def _differs(self, request: EditRequest, edited: Image) -> bool:
        """True if the same request now gives another picture; False if it gives none."""
        with contextlib.suppress(ModelError):
            (again,) = self.client.answers([self._prepare_edit(request)])
            return pixel_digest(_require_picture(again)) != pixel_digest(edited)
        return False

    # -- requests --

    def _prepare_edit(self, request: EditRequest, *, tiny: bool = False, **instead: str) -> Ask[Image | Refused]:
        pictures = [scale_picture(picture, self.parameters.max_pixels) for picture in request.pictures.values()]
        field = "image[]" if len(pictures) > 1 else "image"
        files = [(field, f"{name}.png", png(shown)) for name, shown in zip(request.pictures, pictures, strict=True)]
        if request.mask is not None and self._dialect.mask is not None:
            files.append(("mask", "mask.png", pack_mask(request.mask, pictures[0].size, self._dialect.mask)))
        fields = {"prompt": request.instruction, "model": self.parameters.model}
        fields |= {**self._fields(pictures[0].size, request.seed, tiny=tiny), **instead}

        async def ask(client: Client) -> Image | Refused:
            status, headers, text = await client.form("/images/edits", fields, files)
            if 200 <= status < 300:
                return await self._read_answer(text, headers, pictures[0].size)
            failure = client.read_failure(status, text, headers)
            if failure.says is not Says.REFUSED:
                raise failure
            return self._make_refusal(failure.word, failure.said, plain(text))

        return ask

    def _fields(self, size: tuple[int, int], seed: int, *, tiny: bool) -> dict[str, str]:
        p, dialect = self.parameters, self._dialect
        fields: JsonObject = {**dialect.fields}
        if dialect.seed:
            fields["seed"] = seed
        if p.size == "auto":
            fields["size"] = "auto"
        elif p.size is not None:
            asked = dialect.nearest(*size) if p.size == "source" or tiny else map(int, p.size.split("x"))
            fields["size"] = dialect.size.format(*asked)
        fields |= p.call
        if tiny:
            fields |= {name: value for name, value in dialect.tiny.items() if name not in p.call or p.call[name]}
        return {name: _as_text(value) for name, value in fields.items() if value is not None}

    def _probe(self, seed: int = 0) -> Ask[Image | Refused]:
        return self._prepare_edit(tiny_edit(seed), tiny=True)

    async def _canary(self, client: Any) -> CanaryFound:
        await (self._probe() if self.parameters.probe else list_model_names)(client)
        return "answered" if self.parameters.probe else "known" if client.has_key else "up"

    # -- replies --

    async def _read_answer(self, text: str, headers: Mapping[str, str], source: tuple[int, int]) -> Image | Refused:
        """Returns the picture in an answer, or at the address that it names."""
        if (cost := read_cost(headers)) is not None:
            self._costs.append(cost)
        document = plain(text)
        data = document.get("data") if isinstance(document, dict) else None
        items = [item for item in (data if isinstance(data, list) else []) if isinstance(item, dict)]
        found = [str(item.get("b64_json") or item.get("url") or "") for item in items]
        ending = ending_of(document)
        if not any(found) or ending.meaning is not Ended.WHOLE:
            return self._read_refusal(document, text, headers, ending)
        try:
            files = [await self._file(item) for item in items if item.get("b64_json") or item.get("url")]
            picture = await asyncio.to_thread(choose_picture, files, source)
        except (PictureError, TypeError) as error:
            said = self.client.excerpt(str(error))
            raise Failure(f"the edit model's server sent an unreadable picture: {said}", once=True) from None
        if any(value is True for value in values(document, FLAGS)) and picture.getbbox() is None:
            return self._make_refusal("flagged", "the picture is flagged, and came back black", document)
        return picture

    async def _file(self, item: JsonObject) -> bytes:
        packed, url = item.get("b64_json"), str(item.get("url") or "")
        if packed or url.startswith("data:"):
            return decode_picture(str(packed or url))
        return await self.client.download(url, self.parameters.allowed_hosts)

    def _read_refusal(self, document: object, text: str, headers: Mapping[str, str], ending: AnswerEnding) -> Refused:
        """Returns the refusal in an answer without a picture. Raises `Failure` if it is not one."""
        said = read_reason(document) if _says_why(document) else ""
        if ending.meaning is Ended.REFUSED:
            return self._make_refusal(ending.word, said, document)
        if said and (complaint := read_error(200, document)).meaning is Says.REFUSED:
            return self._make_refusal(complaint.word, said, document)
        if isinstance(document, dict) and isinstance(document.get("data"), list) and not document.get("error"):
            if not ending.word and any(name.lower().startswith(PROXY) for name in headers):
                return self._make_refusal("no picture", "litellm's proxy passes on none and no reason", document)
            why = f" ({self.client.excerpt(ending.word or ending.failure)})" if ending.failure else ""
            raise Failure(f"the edit model's server answered without a picture{why}", once=True)
        raise self.client.explain_unexpected(document, text, "an edited picture")

    def _make_refusal(self, code: str, said: str, body: object) -> Refused:
        violations = ", ".join(str(value) for value in values({"": body}, ("safety_violations",)))
        more = f" (safety_violations: {violations})" if violations and violations not in said else ""
        words = _REQUEST_ID.sub("req_...", said)
        return Refused(self.client.excerpt(f"refused ({code}): {words}{more}".rstrip(": ")))

    def _know(
        self, made: Sequence[Image | Refused], names: Sequence[str], guided: Sequence[Image | Refused] = ()
    ) -> None:
        self._about = {**self.client.about(), "dialect": self._dialect_name, **self._describe_probe(made)}
        if guided and "same_seed" in self._about:
            self._about |= self._guidance(made[0], guided[0])
        if names:
            self._about["model_is_listed"] = "yes" if self.parameters.model in names else "no"

    def _guidance(self, first: Image | Refused, other: Image | Refused) -> dict[str, str]:
        """Finds out if another negative prompt, with all else equal, gives another picture."""
        if isinstance(first, Refused) or isinstance(other, Refused):
            return {"guidance": "unknown: the probe was refused"}
        if self._about["same_seed"] != _SAME:
            return {"guidance": "unknown: the same seed does not give the same picture"}
        if pixel_digest(first) != pixel_digest(other):
            return {"guidance": "on"}
        note = f"{self.parameters.model}: another negative prompt gives the same picture there; guidance is off"
        return {"guidance": "off", "note": "; ".join(filter(None, (self._about.get("note"), note)))}

    def _describe_probe(self, made: Sequence[Image | Refused]) -> dict[str, str]:
        """Returns what the probe's edits tell: the first two are the same, the third has another seed."""
        pictures = [edit for edit in made if not isinstance(edit, Refused)]
        if not made or len(pictures) < len(made):
            return {"probe": str(made[0]) if made else "none"}
        asked = self._fields((TINY, TINY), 0, tiny=True).get("size", "none")
        facts = {"size": f"asked for {asked}, got {'x'.join(map(str, pictures[0].size))}"}
        if len(pictures) == 1:
            return facts
        first, again, *other = map(pixel_digest, pictures)
        facts["same_seed"] = _SAME if first == again else "another picture"
        facts["other_seed"] = "not sent"
        if other:
            facts["other_seed"] = _SAME if other[0] == first else "another picture"
        if first != again:
            facts["note"] = f"{self.parameters.model}: the same seed does not give the same picture there" + (
                "" if other else " (it takes none)"
            )
        elif other and other[0] == first:
            facts["note"] = f"{self.parameters.model}: another seed gives the same picture there; it is not honoured"
        return facts


def tiny_edit(seed: int = 0) -> EditRequest:
    """Returns the request of the probe and the canary."""
    from PIL import Image as Images

    grey = Images.linear_gradient("L").resize((TINY, TINY))
    picture = Images.merge("RGB", (grey, grey.transpose(Images.Transpose.ROTATE_90), grey.point(lambda v: 255 - v)))
    return EditRequest(pictures={"source": picture}, instruction=TINY_INSTRUCTION, seed=seed)


def _require_picture(made: Image | Refused) -> Image:
    if isinstance(made, Refused):
        raise made
    return made


def _as_text(value: object) -> str:
    """Converts a value to a form field: JSON, except for strings."""
    return value if isinstance(value, str) else json.dumps(value)


def _says_why(document: object) -> bool:
    return isinstance(document, Mapping) and any(name in document for name in ("error", "message", "detail"))
