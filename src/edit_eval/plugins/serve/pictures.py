"""Pictures sent by clients: their headers are checked, their bytes kept unchanged, and nothing is decoded here."""

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
from edit_eval.json_values import JsonObject
from edit_eval.pictures import begin_picture, is_slow, too_many_scans

MOST_PIXELS = 16_777_216
"""Most pixels (width times height): larger pictures are no training edits, and would exhaust a decoder's memory."""
MOST_BYTES = 64 << 20
"""Most bytes of a picture's file; an uncompressed one has three per pixel."""
SUFFIXES = {"JPEG": "jpg", "PNG": "png", "WEBP": "webp", "BMP": "bmp", "PPM": "ppm"}
"""Accepted formats, with the suffixes of their files."""
_STANDARD = 3688
"""Sum of the luminance table in the JPEG standard, which encoders scale by quality."""


@dataclass(frozen=True)
class Sent:
    """A picture: its bytes, and the facts in its header."""

    data: bytes
    digest: str
    """SHA-256 of the bytes."""
    format: str
    width: int
    height: int
    quality: int | None
    """For a JPEG, the quality from 1 to 100, estimated from its tables."""

    @property
    def form(self) -> JsonObject:
        """How it was encoded, which affects what a judge sees."""
        return {"format": self.format, "quality": self.quality, "width": self.width, "height": self.height}

    @property
    def suffix(self) -> str:
        """Suffix of its file."""
        return SUFFIXES[self.format]


def check_picture(data: bytes, name: str) -> Sent:
    """Checks a picture's header and end; `name` is used in errors.

    Raises `PictureError` if it is not a picture, is of another format, too large or truncated. Damage in the middle is
    found only when it is decoded.
    """
    if len(data) > MOST_BYTES:
        raise PictureError(f"{name}: {len(data):,} bytes, and {MOST_BYTES:,} is the most")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            picture, kind = begin_picture(io.BytesIO(data), name, [*SUFFIXES])
    except UnidentifiedImageError as error:
        raise PictureError(f"{name}: not a picture in a format that is taken ({', '.join(SUFFIXES)})") from error
    except Exception as error:  # Pillow raises nearly anything for damaged data
        raise PictureError(f"{name}: not a picture ({type(error).__name__})") from error
    width, height = picture.size
    if not 0 < width * height <= MOST_PIXELS:
        raise PictureError(f"{name}: {width} x {height} pixels, and {MOST_PIXELS:,} is the most")
    if is_slow(picture):
        raise PictureError(f"{name}: a {kind} of a kind that takes long to decode; send a PNG or a JPEG")
    ends = {"JPEG": b"\xff\xd9", "PNG": b"IEND"}.get(kind, b"")
    if ends not in data[-64:]:
        raise PictureError(f"{name}: truncated (the end of the {kind} is missing)")
    if kind == "JPEG" and (scans := too_many_scans(data, width * height)):
        raise PictureError(f"{name}: a JPEG of {scans:,} scans, too many for {width} x {height} pixels")
    quality = _quality(picture) if kind == "JPEG" else None
    return Sent(data, hashlib.sha256(data).hexdigest(), kind, width, height, quality)


def _quality(picture: Any) -> int | None:
    table = (getattr(picture, "quantization", None) or {}).get(0)
    if not table:
        return None
    share: float = 100 * sum(table) / _STANDARD
    return max(1, min(100, round((200 - share) / 2 if share <= 100 else 5000 / share)))


def decode_data_url(text: str, name: str) -> bytes:
    """Decodes a data URL, or bare base64. Raises `PictureError`."""
    head, comma, rest = text.partition(",") if text.startswith("data:") else ("", "", text)
    if comma and not head.endswith(";base64"):
        raise PictureError(f"{name}: a data URL must be in base64")
    try:
        return base64.b64decode(rest, validate=True)
    except (binascii.Error, ValueError) as error:
        raise PictureError(f"{name}: neither a data URL nor base64") from error


def small_rgb(data: bytes, side: int, draft: int) -> bytes:
    """Decodes a picture; returns it as `side` x `side` RGB pixels. A JPEG is decoded at down to an eighth of its size,
    but no smaller than `draft`. Raises what Pillow raises."""
    picture, _ = begin_picture(io.BytesIO(data), "a picture", [*SUFFIXES])
    picture.draft("RGB", (draft, draft))
    return picture.convert("RGB").resize((side, side), Image.Resampling.BOX).tobytes()


def thumbnail(data: bytes, side: int) -> bytes:
    """Decodes a picture; returns it as a JPEG of at most `side` pixels. Raises what Pillow raises."""
    picture, _ = begin_picture(io.BytesIO(data), "a picture", [*SUFFIXES])
    picture.draft("RGB", (side, side))
    small = picture.convert("RGB")
    small.thumbnail((side, side))
    made = io.BytesIO()
    small.save(made, "JPEG", quality=80)
    return made.getvalue()
