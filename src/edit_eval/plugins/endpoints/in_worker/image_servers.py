"""Tables of what servers of `POST /v1/images/edits` accept and return: one row per dialect, with its source."""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal

from edit_eval.errors import PictureError
from edit_eval.pictures import SEVERAL, pixel_digest, read_picture
from edit_eval.plugins.endpoints.in_worker.vocabulary import AnswerEnding, read_ending

if TYPE_CHECKING:
    from PIL.Image import Image


MaskForm = Literal["alpha", "white"]
"""`alpha`: a PNG that is transparent where the picture may change. `white`: one that is white there, else black."""


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """The form fields sent to a server of one kind, and the sizes it supports."""

    fields: Mapping[str, str]
    """Sent with each edit."""
    seed: bool = True
    """True if `seed` is sent."""
    tiny: Mapping[str, str] = field(default_factory=dict)
    """Sent with the edits of the probe to make them quick."""
    size: str = "{}x{}"
    """Format of width and height."""
    multiple: int = 16
    """Both sides are multiples of this many pixels."""
    sizes: tuple[tuple[int, int], ...] = ()
    """The only supported sizes; empty: any."""
    fewest: int = 0
    """Fewest pixels of a picture."""
    most: float = math.inf
    """Most pixels of a picture."""
    longest: float = math.inf
    """Most pixels of a side."""
    ratio: float = math.inf
    """Highest ratio of the longer side to the shorter one."""
    mask: MaskForm | None = None
    """In which form a mask is sent; None: the server takes none, or does nothing with it."""
    own: bool = False
    """True if its list of models is what is loaded, so that another name means another model."""
    source: str

    @property
    def revision(self) -> str:
        """Represents the row in keys, since it determines what is sent, and so the pixels."""
        row = {name: value for name, value in asdict(self).items() if name not in ("tiny", "mask", "own", "source")}
        return hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()[:16]

    def nearest(self, width: int, height: int) -> tuple[int, int]:
        """Returns the supported size nearest to this one; its shape counts first."""
        shape = min(max(width / height, 1 / self.ratio), self.ratio)
        if self.sizes:
            return min(self.sizes, key=lambda size: abs(math.log(size[0] / size[1] / shape)))
        area = min(max(width * height, self.fewest), self.most)
        wide = min(math.sqrt(area * shape), self.longest, self.longest * shape)
        sides = [wide, wide / shape]
        for rounded in (round, math.ceil, math.floor):  # as near as possible, else within the bounds
            across, down = (max(1, rounded(side / self.multiple)) * self.multiple for side in sides)
            while max(across, down) > self.ratio * min(across, down):
                across, down = (side - self.multiple * (side == max(across, down)) for side in (across, down))
            if self.fewest <= across * down <= self.most and max(across, down) <= self.longest:
                break
        return across, down


DIALECTS: Mapping[str, Dialect] = {
    "open": Dialect(
        fields={"response_format": "b64_json", "output_format": "png", "generator_device": "cpu"},
        tiny={"num_inference_steps": "4"},
        own=True,
        source="vllm-omni 0.30.0 entrypoints/openai/api_server.py (edit_images); "
        "sglang 0.5.23 multimodal_gen/runtime/entrypoints/openai/image_api.py (edits). Both drop fields that they do "
        "not know, without a word; both draw the noise on the GPU unless generator_device says otherwise. Neither "
        "edits in a mask: sglang@0230ddc takes one and does nothing with it",
    ),
    "xinference": Dialect(
        fields={"response_format": "b64_json"},
        size="{}*{}",
        mask="white",
        own=True,
        source="xinference 4.1.0 api/restful_api.py: a model of another name is taken in silence; the answer is a URL "
        "unless response_format says otherwise; no seed in the signature, so it is sent, and the probe tells. A mask "
        "goes to the pipeline as it is, for models that can be asked to inpaint",
    ),
    "openai": Dialect(
        fields={"output_format": "png"},
        seed=False,
        mask="alpha",
        fewest=655_360,
        most=8_294_400,
        longest=3840,
        ratio=3.0,
        source="openai 3.54.0 types/image_edit_params.py: multiples of 16, 1:3 to 3:1, 3840x2160; pixels and edge as "
        "in OpenAI's guide to image generation. Fields that it does not know are refused; it has no seed. Where "
        "`mask` is transparent the first picture may change; a PNG of its size",
    ),
    "litellm_gemini": Dialect(
        fields={},
        seed=False,
        sizes=((1024, 1024), (1280, 896), (896, 1280), (1792, 1024), (1024, 1792)),
        source="litellm's proxy before Gemini, 1.106.2, and llms/gemini/image_edit/transformation.py@03c9fa4: takes "
        "size alone, and asks for a square at any other size; response_format is refused, a seed dropped, both tried",
    ),
    "litellm_openrouter": Dialect(
        fields={},
        seed=False,
        sizes=((1024, 1024), (1536, 1024), (1024, 1536), (1792, 1024), (1024, 1792)),
        source="litellm's proxy before OpenRouter, 1.106.2, and llms/openrouter/image_edit/transformation.py@1168d3d: "
        "takes size, quality and n, and asks for a square at any other size; a seed is dropped, tried",
    ),
    "openai_fixed": Dialect(
        fields={"output_format": "png"},
        seed=False,
        mask="alpha",
        sizes=((1024, 1024), (1536, 1024), (1024, 1536)),
        source="openai 3.54.0 types/image_edit_params.py: the standard sizes, for gpt-image-1.5 and gpt-image-1-mini",
    ),
}

NAMES: tuple[tuple[str, str], ...] = (
    (r"(?:.*/)?(?:gpt-image-1(?:\b|[.-]).*|chatgpt-image-.*)", "openai_fixed"),
    (r"(?:.*/)?gpt-image-.*", "openai"),
    (r".*", "open"),
)
"""For `dialect: auto`: names of models, and the dialect of their servers; the first match counts. For
`chatgpt-image-latest` only the standard sizes are documented."""


def dialect_of(name: str, model: str) -> tuple[str, Dialect]:
    """Returns the dialect of that name; for `auto` the one that follows from the model's name."""
    if name == "auto":
        name = next(dialect for pattern, dialect in NAMES if re.fullmatch(pattern, model))
    return name, DIALECTS[name]


# -- what an answer means --

FINISH_FIELDS = ("finish_reason", "finishReason", "block_reason", "blockReason")
PROXY = "x-litellm-"
"""How headers of litellm's proxy begin. Where a picture is withheld it passes on `data: []` and no reason (1.106.2)."""
COST = "x-litellm-response-cost"
"""The header in which it says what an answer has cost, in US dollars; 0 or `None` where it does not know (1.110.2)."""
FLAGS = ("has_nsfw_concepts", "nsfw_content_detected")
"""Fields that flag a picture which comes back black (fal-client 1.0.3; the pipelines of diffusers)."""

_DEPTH = 8


def values(document: object, names: tuple[str, ...], depth: int = _DEPTH) -> Iterator[object]:
    """Yields the plain values under these names in a JSON document, at any depth; those of a list one by one."""
    if depth and isinstance(document, (dict, list)):
        inner = document.items() if isinstance(document, dict) else ((None, value) for value in document)
        for name, value in inner:
            if name in names:
                yield from value if isinstance(value, list) else [value]
            else:
                yield from values(value, names, depth - 1)


def read_cost(headers: Mapping[str, str]) -> float | None:
    """Returns the US dollars that litellm's proxy says an answer has cost; None if it does not say."""
    try:
        dollars = float(headers.get(COST) or "")
    except ValueError:
        return None
    return dollars if math.isfinite(dollars) and dollars > 0 else None


def ending_of(document: object) -> AnswerEnding:
    """Returns how an answer ended, as far as it says: of several reasons the worst."""
    kept_back = ["respect_moderation" for kept in values(document, ("respect_moderation",)) if kept is False]
    first, *others = [*(str(value) for value in values(document, FINISH_FIELDS) if value), *kept_back] or [""]
    error = document.get("error") if isinstance(document, Mapping) else None
    return read_ending(first, *others, error=error, may_be_silent=True)


# -- the pictures in it --


def pack_mask(mask: Image, size: tuple[int, int], form: MaskForm) -> bytes:
    """Returns a request's mask as a PNG for a picture of that size."""
    from PIL import Image as Images
    from PIL import ImageOps

    shown = mask.resize(size, Images.Resampling.NEAREST)
    if form == "alpha":
        transparent = Images.new("RGBA", size)
        transparent.putalpha(ImageOps.invert(shown))
        shown = transparent
    data = io.BytesIO()
    shown.save(data, "PNG")
    return data.getvalue()


LEAST_SHARE = 1 / 25
"""The least area of a picture that may be an edit, as a share of the source's: below it, it is a draft, or nothing."""


def decode_picture(packed: str) -> bytes:
    """Returns a picture's file from base64, bare or as a data URL. Raises `PictureError`."""
    try:
        return base64.b64decode(packed.partition(",")[2] if packed.startswith("data:") else packed, validate=True)
    except (binascii.Error, ValueError) as error:
        raise PictureError(str(error)) from None


def choose_picture(files: Sequence[bytes], source: tuple[int, int]) -> Image:
    """Returns the edit among the pictures of an answer: the largest, since servers send drafts beside it; of several
    the last, and its `info` says so. Raises `PictureError` if one cannot be decoded, and if all are too small."""
    pictures = [read_picture(io.BytesIO(file), "the picture", keep_file=True)[0] for file in files]
    largest = max(picture.width * picture.height for picture in pictures)
    *others, chosen = [picture for picture in pictures if picture.width * picture.height == largest]
    if largest < LEAST_SHARE * source[0] * source[1]:
        raise PictureError(
            f"it has {chosen.width} x {chosen.height} pixels, of a source of {source[0]} x {source[1]}: a draft"
        )
    if any(pixel_digest(other) != pixel_digest(chosen) for other in others):
        chosen.info[SEVERAL] = True
    return chosen
