"""A picture as a client sent it: looked at, never decoded here, and kept as it came."""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import warnings
from dataclasses import dataclass
from typing import Any

from PIL import Image, UnidentifiedImageError

from edit_eval.errors import PictureError
from edit_eval.pictures import formats

MOST_PIXELS = 16_777_216
"""Width times height: what is larger is no edit of a training, and would take a decoder's memory."""
MOST_BYTES = 64 << 20
"""Of one picture's file: one that is not compressed at all has three a pixel."""
SUFFIXES = {"JPEG": "jpg", "PNG": "png", "WEBP": "webp", "BMP": "bmp", "PPM": "ppm"}
"""The formats that are taken, and how their files are called."""
_STANDARD = 3688
"""The sum of the luminance table that the JPEG standard prints, of which encoders take multiples by quality."""


@dataclass(frozen=True)
class Sent:
    """One picture: its bytes, and what its header says."""

    data: bytes
    digest: str
    """SHA-256 of the bytes."""
    format: str
    width: int
    height: int
    quality: int | None
    """Of a JPEG, as near as its tables tell: 1 to 100."""

    @property
    def form(self) -> dict[str, Any]:
        """How it was encoded: what a judge sees of an edit depends on it."""
        return {"format": self.format, "quality": self.quality, "width": self.width, "height": self.height}

    @property
    def suffix(self) -> str:
        """Of its file."""
        return SUFFIXES[self.format]


def sent(data: bytes, name: str) -> Sent:
    """Looks at a picture's header and end; `name` is what errors call it.

    Raises `PictureError` for what is no picture, one in a format that is not taken, too large or cut short. What is
    damaged in its middle shows only to whoever decodes it.
    """
    if len(data) > MOST_BYTES:
        raise PictureError(f"{name}: {len(data):,} bytes, and {MOST_BYTES:,} is the most")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            picture = Image.open(io.BytesIO(data), formats=[kind for kind in formats() if kind in SUFFIXES])
    except UnidentifiedImageError as error:
        raise PictureError(f"{name}: not a picture in a format that is taken ({', '.join(SUFFIXES)})") from error
    except Exception as error:  # Pillow raises nearly anything for damaged data
        raise PictureError(f"{name}: not a picture ({type(error).__name__})") from error
    width, height, kind = *picture.size, str(picture.format)
    if not 0 < width * height <= MOST_PIXELS:
        raise PictureError(f"{name}: {width} x {height} pixels, and {MOST_PIXELS:,} is the most")
    ends = {"JPEG": b"\xff\xd9", "PNG": b"IEND"}.get(kind, b"")
    if ends not in data[-64:]:
        raise PictureError(f"{name}: truncated (the end of the {kind} is missing)")
    quality = _quality(picture) if kind == "JPEG" else None
    return Sent(data, hashlib.sha256(data).hexdigest(), kind, width, height, quality)


def _quality(picture: Any) -> int | None:
    table = (getattr(picture, "quantization", None) or {}).get(0)
    if not table:
        return None
    share: float = 100 * sum(table) / _STANDARD
    return max(1, min(100, round((200 - share) / 2 if share <= 100 else 5000 / share)))


def decoded_text(text: str, name: str) -> bytes:
    """The bytes of a data URL, or of bare base64. Raises `PictureError`."""
    head, comma, rest = text.partition(",") if text.startswith("data:") else ("", "", text)
    if comma and not head.endswith(";base64"):
        raise PictureError(f"{name}: a data URL must be in base64")
    try:
        return base64.b64decode(rest, validate=True)
    except (binascii.Error, ValueError) as error:
        raise PictureError(f"{name}: neither a data URL nor base64") from error
