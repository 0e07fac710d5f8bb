"""Masks: which part of a picture may change, in every form in which people keep one.

Standard library and Pillow only: workers in foreign environments import this file.
"""

from __future__ import annotations

import io
import math
import os
from typing import cast

from PIL import Image

from edit_eval.errors import PictureError
from edit_eval.pictures import HEIC, have_same_shape, look_at_picture, open_picture, turn_upright
from edit_eval.text import Text

NO_MASK = "no_mask"
"""In `info` of a mask: why it is none."""


def open_mask(path: str | os.PathLike[str], *, digest: str = "") -> Image.Image:
    """Opens a mask's file: RGB, white where something may change, black elsewhere. Raises like `open_picture`.

    One that does not say what it masks is black, with the reason as `NO_MASK` in its `info` (`mask_of`).
    """
    opened = open_picture(path, digest=digest)  # checked, in the words that all pictures have
    with open(path, "rb") as file:
        mask, problem = look_at_picture(file, os.fspath(path), mask_of)
    mask.info = {NO_MASK: problem} if problem else {}
    return mask if mask.size == opened.size else mask.resize(opened.size, Image.Resampling.NEAREST)


def mask_problem(data: bytes) -> str:
    """Returns why a picture's file says nothing as a mask; empty if it does. Raises like `read_picture`."""
    return look_at_picture(io.BytesIO(data), "mask", mask_of)[1]


def find_mask_fault(mask: Image.Image, size: tuple[int, int]) -> str:
    """Returns why an opened mask does not say where a picture of that size may change; empty if it does."""
    if why := mask.info.get(NO_MASK):
        return str(why)
    (width, height), (wide, high) = mask.size, size
    if min(abs(width * high / height - wide), abs(height * wide / width - high)) > max(
        1.0, wide / width, high / height
    ):
        return f"the mask has another shape ({width}x{height}) than the source ({wide}x{high})"
    return ""


def fit_mask(mask: Image.Image, size: tuple[int, int], *, edited: bool = False) -> Image.Image:
    """Returns an opened mask for a picture of that size, in mode `L`. Raises `PictureError` if it says nothing of it.

    `edited`: the picture is an edit of what the mask was made for, which may have been stretched a little.
    """
    stretched = edited and have_same_shape(mask.size, size) and NO_MASK not in mask.info
    if not stretched and (fault := find_mask_fault(mask, size)):
        raise PictureError(fault)
    return mask.convert("L").resize(size, Image.Resampling.NEAREST)


_FEW, _THIRD = 4, 0.001
"""Where a mask has so few values, one that is neither the lowest nor the highest has a meaning of its own, from this
share on: a label, what to ignore, what is not known. More values are smoothed edges, or no mask."""
_BETWEEN = 0.05
"""The share of a mask that may lie between its two values: edges that are smoothed, and what compression makes."""
_LEAST_CONTRAST = 64
"""Least difference, of 255, between the two values of a mask whose format loses detail."""
_LOSSY = ("JPEG", "MPO", "WEBP", "AVIF", "JPEG2000", HEIC)


def mask_of(picture: Image.Image) -> tuple[Image.Image, str]:
    """Returns a mask from a picture as Pillow has decoded it (RGB, white and black), and why it is none, if so.

    People keep masks as two values of anything: the higher one is the mask, be it white, 1, or the red of a palette. A
    picture with a transparent hole, as OpenAI's servers take it, masks the hole; white with transparency could mean
    either. Edges may be smoothed, and what is compressed noisy; but a third value, a photograph, and one value alone
    (unless it is all white) say nothing of what may change.
    """
    grey, problem = _grey_mask(turn_upright(picture))
    there = [value for value, count in enumerate(grey.histogram()) if count]
    lowest, highest = there[0], there[-1]
    if not problem and lowest == highest:
        problem = "" if lowest == 255 else Text("the mask is empty: it has one value everywhere")
    elif not problem:
        problem = _no_two_values(grey, lossy=(picture.format or "") in _LOSSY)
    if problem:
        return Image.new("RGB", grey.size), problem
    middle = (lowest + highest) / 2
    return grey.point(lambda value: 255 if value > middle or lowest == highest else 0).convert("RGB"), ""


def _grey_mask(picture: Image.Image) -> tuple[Image.Image, str]:
    """Returns a mask in 8 bit grey, its values stretched if it has more bits; and why it is none, if so."""
    if picture.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in picture.info:
        coloured = (picture.convert("LA") if picture.mode == "La" else picture).convert("RGBA")
        alpha = coloured.getchannel("A")
        if len(set(alpha.getextrema())) > 1:
            opaque = alpha.point(lambda value: 255 if value >= 128 else 0)
            shown = coloured.convert("RGB").convert("L").histogram(opaque)
            if sum(shown) == sum(shown[128:]) and max(shown) >= 0.99 * sum(shown):
                return alpha, Text("the mask is white with transparent parts, and either could be meant")
            return alpha.point(lambda value: 255 - value), ""
        picture = coloured.convert("RGB")
    if picture.mode.startswith(("I", "F")):
        wide = picture.convert("F")
        lowest, highest = cast("tuple[float, float]", wide.getextrema())
        if not (math.isfinite(lowest) and math.isfinite(highest)):
            return Image.new("L", picture.size), Text("the mask has NaN or infinity in it")
        if lowest == highest:
            full = (1.0, 255.0, 65535.0) if picture.mode == "F" else (255.0, 65535.0)
            return Image.new("L", picture.size, 255 if lowest in full else 0), ""
        factor = 255 / (highest - lowest)
        return wide.point(lambda value: value * factor - lowest * factor).convert("L"), ""
    return picture.convert("RGB").convert("L"), ""


def _no_two_values(grey: Image.Image, *, lossy: bool) -> str:
    """Returns why a picture does not consist of two values; empty if it does."""
    counts, pixels = grey.histogram(), grey.width * grey.height
    there = [value for value, count in enumerate(counts) if count]
    lowest, highest, reach = there[0], there[-1], (there[-1] - there[0]) // 8
    if lossy and highest - lowest < _LEAST_CONTRAST:
        return Text("the mask is empty: it has one value everywhere")
    between = counts[lowest + 1 + reach : highest - reach]
    third = 0 if lossy or len(there) > _FEW else max(counts[lowest + 1 : highest], default=0)
    if sum(between) > _BETWEEN * pixels or third > _THIRD * pixels:
        return Text(
            "the mask has {} values where two are needed: white for what may change, black for the rest", len(there)
        )
    return ""
