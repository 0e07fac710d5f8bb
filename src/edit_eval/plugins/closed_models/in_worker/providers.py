"""How editors that cannot be downloaded are asked, by their makers' own interfaces: one row a provider.

Facts are from the pages named in each row, read on its date. What a page does not say is not sent, and `notes` says so.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edit_eval.errors import ConfigurationError
from edit_eval.json_values import JsonObject
from edit_eval.plugins.endpoints.in_worker.closed_models import find_row, rows_of
from edit_eval.plugins.endpoints.in_worker.image_servers import Dialect, MaskForm
from edit_eval.plugins.endpoints.in_worker.vocabulary import AnswerEnding, read_ending
from edit_eval.text import Text

Document = Any
"""An answer, parsed."""
WITHOUT_WORDS = read_ending("", may_be_silent=True)
"""The ending of an answer whose provider has no words for one."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What one edit is asked for, before it takes a provider's form."""

    model: str
    instruction: str
    pictures: Sequence[bytes]
    """PNGs, the source first."""
    seed: int | None
    shape: str
    """`3:2` or `1216x832`, as the provider takes shapes; empty: it is not told."""
    resolution: str
    """`1K`, `2K`, ...; empty: the provider's own."""
    mask: bytes = b""
    """A PNG in the form that the provider takes; empty: none."""

    @property
    def urls(self) -> list[str]:
        """The pictures as data URLs."""
        return [f"data:image/png;base64,{picture}" for picture in self.base64]

    @property
    def base64(self) -> list[str]:
        """The pictures in base64."""
        return [base64.b64encode(picture).decode("ascii") for picture in self.pictures]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height that are asked for."""
        width, height = self.shape.split("x")
        return int(width), int(height)


def find_value(document: Document, *path: str | int) -> Any:
    """Returns what is at a path of keys and places; None if there is nothing."""
    for step in path:
        try:
            document = document[step]
        except (KeyError, IndexError, TypeError):
            return None
    return document


def find_text(document: Document, *path: str | int) -> str:
    """The same as text; empty if there is none."""
    value = find_value(document, *path)
    return value if isinstance(value, str) else ""


def find_number(document: Document, *path: str | int) -> float | None:
    """The same as a number that is 0 or more; None if there is none."""
    value = find_value(document, *path)
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf")
    return float(value) if fits else None


@dataclass(frozen=True, kw_only=True)
class Provider:
    """One provider: how it is asked, and what its answers mean."""

    company: str
    """Who gets pictures and instructions."""
    hosts_others: bool = False
    """True if it passes them on to the maker of each model, a second company."""
    address: str
    key: str
    """Environment variable with the key."""
    header: tuple[str, str] = ("Authorization", "Bearer {}")
    path: str
    """`{model}` is the model's name."""
    body: Callable[[Asked], JsonObject]
    form: bool = False
    """True if the body is a form, whose pictures are the field `image[]`."""
    extra: tuple[str, ...] = ()
    """Where in the body `call` goes."""
    seed: bool = False
    pictures: int | None = None
    """Most pictures of an edit; None: it depends on the model."""
    mask: MaskForm | None = None
    """In which form a mask is sent, a file `mask` of the form; None: it takes none, as far as its pages say."""
    shape: Dialect | None = None
    """Shapes that it can be asked for; None: it follows the source by itself."""
    resolutions: tuple[str, ...] = ()
    """Names of sizes it takes; the first is asked for by default. Empty: it takes none."""
    pictures_in: Callable[[Document], Sequence[str]]
    """The pictures in an answer: base64, data URLs or addresses. No drafts, where these are marked."""
    ending: Callable[[Document], AnswerEnding] = lambda document: WITHOUT_WORDS
    """How an answer ended, or how a task stands."""
    poll: Callable[[Document], str] | None = None
    """The address at which a task that was taken is asked for; None: the answer is the picture."""
    task_hosts: tuple[str, ...] = ()
    """Where a task may be asked for with the key, beside the provider's address."""
    hosts: tuple[str, ...] = ()
    """Where its pictures are fetched, without the key."""
    cost: Callable[[Document], float | None] = lambda document: None
    """US dollars, where the answer tells them."""
    tokens: Callable[[Document], tuple[float, float, float, float] | None] = lambda document: None
    """Tokens of text and pictures read, and of text and pictures written, where the answer counts them."""
    account: str = ""
    """A path that costs nothing and shows that key and address are right; empty if none is documented."""
    notes: tuple[str, ...] = ()
    """What cannot be switched off, or is not known."""
    training: str = ""
    """Keys whose requests may be trained on."""
    revision: str = "1"
    """Part of every key; it changes with what is sent."""
    source: str
    date: str = "2026-11-24"


RATIOS = ((1, 1), (2, 3), (3, 2), (3, 4), (4, 3), (4, 5), (5, 4), (9, 16), (16, 9), (21, 9))
_NAMED = Dialect(fields={}, size="{}:{}", sizes=RATIOS, source="Gemini's guide to image generation: aspectRatio")


def _gemini_body(asked: Asked) -> JsonObject:
    shown = [{"inlineData": {"mimeType": "image/png", "data": picture}} for picture in asked.base64]
    image = {"aspectRatio": asked.shape, "imageSize": asked.resolution}
    settings: JsonObject = {
        "responseModalities": ["TEXT", "IMAGE"],
        "imageConfig": {name: value for name, value in image.items() if value},
    }
    if asked.seed is not None:
        settings["seed"] = asked.seed
    return {
        "contents": [{"role": "user", "parts": [*shown, {"text": asked.instruction}]}],
        "generationConfig": settings,
    }


def find_texts(document: Document, many: Sequence[str | int], *path: str | int) -> list[str]:
    """Returns the texts that the parts of a list have at a path."""
    parts = find_value(document, *many)
    return [found for part in (parts if isinstance(parts, list) else []) if (found := find_text(part, *path))]


def _gemini_pictures(document: Document) -> list[str]:
    """Returns the pictures that are no thoughts: those are drafts."""
    parts = find_value(document, "candidates", 0, "content", "parts")
    final = [part for part in (parts if isinstance(parts, list) else []) if find_value(part, "thought") is not True]
    return find_texts(final, (), "inlineData", "data")


def _gemini_ending(document: Document) -> AnswerEnding:
    said = find_text(document, "candidates", 0, "finishReason")
    return read_ending(said, blocked=find_text(document, "promptFeedback", "blockReason"), may_be_silent=True)


def _gemini_tokens(document: Document) -> tuple[float, float, float, float] | None:
    """Returns the counts; what is written and is no picture are thoughts and text."""
    said = find_value(document, "usageMetadata")
    read, total = find_number(said, "promptTokenCount"), find_number(said, "totalTokenCount")
    details = find_value(said, "candidatesTokensDetails")
    kinds = details if isinstance(details, list) else []
    shown = math.fsum(
        find_number(kind, "tokenCount") or 0.0 for kind in kinds if find_text(kind, "modality") == "IMAGE"
    )
    return None if read is None or total is None else (read, 0.0, max(0.0, total - read - shown), shown)


def _openai_form(asked: Asked) -> JsonObject:
    fields: JsonObject = {"model": asked.model, "prompt": asked.instruction, "n": "1", "output_format": "png"}
    return {**fields, "size": asked.shape} if asked.shape else fields


def _openai_tokens(document: Document) -> tuple[float, float, float, float] | None:
    usage = find_value(document, "usage")
    written = find_number(usage, "output_tokens")
    details = find_value(usage, "input_tokens_details")
    text, shown = find_number(details, "text_tokens"), find_number(details, "image_tokens")
    return None if written is None or text is None or shown is None else (text, shown, 0.0, written)


def _data(document: Document) -> list[str]:
    """Returns the pictures of `data`, in base64 or at addresses."""
    data = find_value(document, "data")
    items = data if isinstance(data, list) else []
    return [found for item in items if (found := find_text(item, "b64_json") or find_text(item, "url"))]


def _openrouter_body(asked: Asked) -> JsonObject:
    shown: list[JsonObject] = [{"type": "image_url", "image_url": {"url": url}} for url in asked.urls]
    image = {"aspect_ratio": asked.shape, "image_size": asked.resolution}
    body: JsonObject = {
        "model": asked.model,
        "modalities": ["image", "text"],
        "messages": [{"role": "user", "content": [*shown, {"type": "text", "text": asked.instruction}]}],
        "image_config": {name: value for name, value in image.items() if value},
        "usage": {"include": True},
    }
    return body if asked.seed is None else {**body, "seed": asked.seed}


def _openrouter_ending(document: Document) -> AnswerEnding:
    choice = find_value(document, "choices", 0)
    native = find_text(choice, "native_finish_reason")
    return read_ending(
        find_text(choice, "finish_reason"), native, error=find_value(choice, "error"), may_be_silent=True
    )


def _fal_body(asked: Asked) -> JsonObject:
    body: JsonObject = {
        "prompt": asked.instruction,
        "image_urls": asked.urls,
        "num_images": 1,
        "sync_mode": True,
        "output_format": "png",
    }
    if ":" in asked.shape:
        body |= {"aspect_ratio": asked.shape}
    elif asked.shape:
        width, height = asked.size
        body |= {"image_size": {"width": width, "height": height}}
    if asked.resolution:
        body |= {"resolution": asked.resolution}
    return body if asked.seed is None else {**body, "seed": asked.seed}


def _fal_ending(document: Document) -> AnswerEnding:
    flagged = find_value(document, "has_nsfw_concepts")  # what comes then is black
    return read_ending("has_nsfw_concepts" if isinstance(flagged, list) and True in flagged else "", may_be_silent=True)


def _flux_body(asked: Asked) -> JsonObject:
    shown = {
        f"input_image{'' if place == 1 else f'_{place}'}": picture
        for place, picture in enumerate(asked.base64, start=1)
    }
    body: JsonObject = {"prompt": asked.instruction, **shown, "output_format": "png"}
    if ":" in asked.shape:
        body |= {"aspect_ratio": asked.shape}
    elif asked.shape:
        body["width"], body["height"] = asked.size
    if "kontext" in asked.model or "flex" in asked.model:  # the others have no such switch
        body["prompt_upsampling"] = False
    return body if asked.seed is None else {**body, "seed": asked.seed}


def _cents(document: Document) -> float | None:
    cents = find_number(document, "cost")
    return None if cents is None else cents / 100


def _ark_body(asked: Asked) -> JsonObject:
    urls = asked.urls
    return {
        "model": asked.model,
        "prompt": asked.instruction,
        "image": urls if len(urls) > 1 else urls[0],
        "size": asked.shape or asked.resolution,
        "response_format": "b64_json",
        "watermark": False,
        "sequential_image_generation": "disabled",
    }


def _dashscope_body(asked: Asked) -> JsonObject:
    shown = [{"image": url} for url in asked.urls]
    settings: JsonObject = {"n": 1, "prompt_extend": False, "watermark": False}
    if asked.shape:
        settings["size"] = asked.shape.replace("x", "*")
    if asked.seed is not None:
        settings["seed"] = asked.seed % 2**31
    return {
        "model": asked.model,
        "input": {"messages": [{"role": "user", "content": [*shown, {"text": asked.instruction}]}]},
        "parameters": settings,
    }


def _dashscope_ending(document: Document) -> AnswerEnding:
    choice = find_text(document, "output", "choices", 0, "finish_reason")
    return read_ending(find_text(document, "code") or choice.replace("null", ""), may_be_silent=True)


def _xai_body(asked: Asked) -> JsonObject:
    shown = [{"url": url, "type": "image_url"} for url in asked.urls]
    body: JsonObject = {"model": asked.model, "prompt": asked.instruction, "n": 1, "response_format": "b64_json"}
    body |= {"image": shown[0]} if len(shown) == 1 else {"images": shown}
    if asked.shape:
        body["aspect_ratio"] = asked.shape
    return {**body, "resolution": asked.resolution} if asked.resolution else body


REPLICATE_PICTURES = (("nano-banana", "image_input"), ("kontext", "input_image"), ("flux-2", "input_images"))
"""What models call their pictures (pages of their input schemas); all others: `image`."""


def _replicate_body(asked: Asked) -> JsonObject:
    name = next((name for part, name in REPLICATE_PICTURES if part in asked.model), "image")
    urls: Any = asked.urls
    if name == "input_image" or (name == "image" and len(urls) == 1 and "edit-plus" not in asked.model):
        urls = urls[0]
    given: JsonObject = {"prompt": asked.instruction, name: urls, "output_format": "png"}
    given["aspect_ratio"] = "match_input_image"
    if asked.resolution:
        given["resolution"] = asked.resolution
    return {"input": given if asked.seed is None else {**given, "seed": asked.seed % 2**31}}


def _replicate_pictures(document: Document) -> list[str]:
    output = find_value(document, "output")
    return [output] if isinstance(output, str) else find_texts(document, ("output",))


def _xai_ending(document: Document) -> AnswerEnding:
    kept_back = any(find_value(item, "respect_moderation") is False for item in find_value(document, "data") or ())
    return read_ending("respect_moderation" if kept_back else "", may_be_silent=True)


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(
        company="OpenAI",
        address="https://api.openai.com/v1",
        key="OPENAI_API_KEY",
        path="/images/edits",
        form=True,
        body=_openai_form,
        pictures=16,
        mask="alpha",
        shape=Dialect(
            fields={},
            fewest=655_360,
            most=1_572_864,
            longest=3840,
            ratio=3.0,
            source="OpenAI's guide to image generation: multiples of 16, 655,360 to 8,294,400 pixels, 1:3 to 3:1. Up "
            "to 1536 x 1024 is asked for: beyond it a picture costs more",
        ),
        pictures_in=_data,
        tokens=_openai_tokens,
        account="/models/{model}",
        source="developers.openai.com: images/edits, models; openai 3.54.0",
    ),
    "gemini": Provider(
        company="Google",
        address="https://generativelanguage.googleapis.com/v1beta",
        key="GEMINI_API_KEY",
        header=("x-goog-api-key", "{}"),
        path="/models/{model}:generateContent",
        body=_gemini_body,
        extra=("generationConfig",),
        seed=True,
        pictures=14,
        shape=_NAMED,
        resolutions=("1K", "2K", "4K", "512"),
        pictures_in=_gemini_pictures,
        ending=_gemini_ending,
        tokens=_gemini_tokens,
        account="/models/{model}",
        notes=("the watermark SynthID cannot be switched off", "its seed is a best effort"),
        training="requests with a free key may be used for training",
        source="ai.google.dev: image generation, pricing; google-genai 3.4.0",
    ),
    "openrouter": Provider(
        company="OpenRouter",
        hosts_others=True,
        address="https://openrouter.ai/api/v1",
        key="OPENROUTER_API_KEY",
        path="/chat/completions",
        body=_openrouter_body,
        seed=False,
        shape=_NAMED,
        resolutions=("1K", "2K", "4K"),
        pictures_in=lambda document: find_texts(document, ("choices", 0, "message", "images"), "image_url", "url"),
        ending=_openrouter_ending,
        cost=lambda document: find_number(document, "usage", "cost"),
        account="/key",
        notes=("which host makes an edit is OpenRouter's choice",),
        training="free models may be trained on what is sent",
        source="openrouter.ai: image generation, usage accounting",
    ),
    "fal": Provider(
        company="fal",
        hosts_others=True,
        address="https://fal.run",
        key="FAL_KEY",
        header=("Authorization", "Key {}"),
        path="/{model}",
        body=_fal_body,
        seed=True,
        shape=_NAMED,
        pictures_in=lambda document: (
            find_texts(document, ("images",), "url") or find_texts([document], (), "image", "url")
        ),
        ending=_fal_ending,
        hosts=("fal.media", "*.fal.media"),
        source="fal.ai: nano-banana-2/edit and flux-2-pro/edit, errors; fal-client 1.0.3",
    ),
    "bfl": Provider(
        company="Black Forest Labs",
        address="https://api.bfl.ai/v1",
        key="BFL_API_KEY",
        header=("x-key", "{}"),
        path="/{model}",
        body=_flux_body,
        seed=True,
        pictures=8,
        shape=Dialect(
            fields={}, fewest=64 * 64, most=4_194_304, longest=4096, source="docs.bfl.ai: multiples of 16, up to 4 MP"
        ),
        pictures_in=lambda document: find_texts([document], (), "result", "sample"),
        ending=lambda document: read_ending(find_text(document, "status")),
        poll=lambda document: find_text(document, "polling_url"),
        task_hosts=("*.bfl.ai",),
        hosts=("*.bfl.ai", "*.bfl.ml", "*.blob.core.windows.net"),
        cost=_cents,
        account="/credits",
        notes=("whether FLUX.2 [pro] and [max] rewrite the instruction is not documented",),
        source="docs.bfl.ai: flux-2-pro, get_result, errors",
    ),
    "ark": Provider(
        company="ByteDance",
        address="https://ark.ap-southeast.bytepluses.com/api/v3",
        key="ARK_API_KEY",
        path="/images/generations",
        body=_ark_body,
        pictures=10,
        shape=Dialect(
            fields={},
            fewest=3_686_400,
            most=4_194_304,
            longest=4096,
            ratio=16.0,
            source="ModelArk: 3,686,400 to 16,777,216 pixels from Seedream 4.5 on, 1:16 to 16:1; up to 2K is asked for",
        ),
        pictures_in=_data,
        hosts=("*.volces.com", "*.bytepluses.com", "*.byteimg.com"),
        source="docs.byteplus.com/ModelArk: image generation; error codes second-hand",
    ),
    "dashscope": Provider(
        company="Alibaba Cloud",
        address="https://dashscope-intl.aliyuncs.com/api/v1",
        key="DASHSCOPE_API_KEY",
        path="/services/aigc/multimodal-generation/generation",
        body=_dashscope_body,
        extra=("parameters",),
        seed=True,
        pictures=3,
        shape=Dialect(
            fields={}, fewest=512 * 512, most=2048 * 2048, longest=2048, source="Model Studio: 512 to 2048 a side"
        ),
        pictures_in=lambda document: find_texts(document, ("output", "choices", 0, "message", "content"), "image"),
        ending=_dashscope_ending,
        hosts=("*.aliyuncs.com",),
        source="alibabacloud.com/help/model-studio: qwen-image-edit; dashscope 2.0.2",
    ),
    "xai": Provider(
        company="xAI",
        address="https://api.x.ai/v1",
        key="XAI_API_KEY",
        path="/images/edits",
        body=_xai_body,
        pictures=3,
        shape=_NAMED,
        resolutions=("1k", "2k"),
        pictures_in=_data,
        ending=_xai_ending,
        hosts=("*.x.ai",),
        account="/models",
        notes=("it takes no seed",),
        source="docs.x.ai: image editing (JSON, up to 3 pictures); xai-sdk 1.21.0; the refusal's code is second-hand",
    ),
    "replicate": Provider(
        company="Replicate",
        hosts_others=True,
        address="https://api.replicate.com/v1",
        key="REPLICATE_API_TOKEN",
        path="/models/{model}/predictions",
        body=_replicate_body,
        extra=("input",),
        seed=True,
        pictures_in=_replicate_pictures,
        ending=lambda document: read_ending(find_text(document, "status")),
        poll=lambda document: find_text(document, "urls", "get"),
        hosts=("replicate.delivery", "*.replicate.delivery"),
        account="/account",
        source="replicate.com/docs: predictions, rate limits; input schemas of each model",
    ),
}


@dataclass(frozen=True, kw_only=True)
class ClosedModel:
    """A model of a provider: what it costs, and where it differs from the provider's row."""

    model: str
    """`openai/gpt-image-2`; `*` stands for anything."""
    usd: Mapping[str, float] = field(default_factory=dict)
    """Dollars of an edit, by resolution; `""` for any."""
    most: float | None = None
    """The most that one edit can cost, if that is above `usd`."""
    tokens: Sequence[float] | None = None
    """Dollars of a million tokens: of text and pictures read, of text and pictures written."""
    seed: bool | None = None
    pictures: int | None = None
    shape: Dialect | None = None
    resolutions: Sequence[str] | None = None
    ends: str = ""
    """The day on which it is switched off."""
    note: str = ""
    source: str
    seen: str
    """The day on which the source was read."""


SHAPES: Mapping[str, Dialect] = {
    "standard_sizes": Dialect(
        fields={}, sizes=((1024, 1024), (1536, 1024), (1024, 1536)), source="openai 3.54.0: the standard sizes"
    ),
    "kontext_ratios": Dialect(
        fields={}, size="{}:{}", sizes=RATIOS[:-1], source="docs.bfl.ai: aspect_ratio from 3:7 to 7:3"
    ),
    "flux_on_fal": Dialect(fields={}, fewest=512 * 512, most=1_048_576, longest=2048, source="fal.ai: image_size"),
    "old_seedream": Dialect(
        fields={}, fewest=921_600, most=4_194_304, longest=4096, ratio=16.0, source="ModelArk: 4.0"
    ),
}
"""Sizes that models take otherwise than their provider's row says, by the names that `closed.yaml` of the plug-in
`endpoints` has."""


def list_closed_editors() -> list[ClosedModel]:
    """Returns all rows, of the user's own file first. Raises `ConfigurationError` for what a row cannot say."""
    return [_make_closed_model(said) for said in rows_of("editors")]


def find_closed_editor(model: str) -> ClosedModel | None:
    """Returns what is known of a model; None if there is nothing: its price is then what `edit_price` says."""
    said = find_row("editors", model)
    return _make_closed_model(said) if said else None


def _make_closed_model(said: Mapping[str, Any]) -> ClosedModel:
    shape = said.get("shape")
    if shape is not None and shape not in SHAPES:
        raise ConfigurationError(Text("closed.yaml: {}: shape: it is none of {}", said["model"], list(SHAPES)))
    return ClosedModel(**{**said, "shape": SHAPES[shape] if shape else None})
