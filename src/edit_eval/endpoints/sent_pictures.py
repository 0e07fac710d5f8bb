"""Pictures as they are sent to a server."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image


def scaled(picture: Image, max_pixels: int | None) -> Image:
    """The picture as RGB; one of a larger area than `max_pixels` scaled down to it, by Lanczos' filter."""
    from PIL import Image as Images

    rgb = picture.convert("RGB")
    if max_pixels is None or rgb.width * rgb.height <= max_pixels:
        return rgb
    factor = math.sqrt(max_pixels / (rgb.width * rgb.height))
    size = (max(1, int(rgb.width * factor)), max(1, int(rgb.height * factor)))
    return rgb.resize(size, Images.Resampling.LANCZOS)


def png(picture: Image) -> bytes:
    """The picture as a PNG: without loss, without metadata."""
    clean = picture.copy()
    clean.info = {}
    file = io.BytesIO()
    clean.save(file, "PNG", compress_level=1, compress_type=3)  # see `edit_eval.pictures.write_png`
    return file.getvalue()
