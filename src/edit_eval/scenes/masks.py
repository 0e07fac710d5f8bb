"""Masks: L pictures of the scene's size that say where something is, 255 where it is wholly."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from PIL import Image, ImageChops

from edit_eval.scenes.camera import HORIZON


def scaled(mask: Image.Image, factor: float) -> Image.Image:
    return mask.point([round(value * factor) for value in range(256)])


def binary(mask: Image.Image, above: int = 96) -> Image.Image:
    return mask.point([255 if value > above else 0 for value in range(256)])


def minus(mask: Image.Image, other: Image.Image) -> Image.Image:
    return ImageChops.darker(mask, ImageChops.invert(other))


def union(size: tuple[int, int], masks: Iterable[Image.Image]) -> Image.Image:
    return reduce(ImageChops.lighter, masks, Image.new("L", size, 0))


def beyond_horizon(size: tuple[int, int], *, sky: bool) -> Image.Image:
    """What lies above the horizon, the sky, or else what lies below it, the land."""
    width, height = size
    row = round(height * HORIZON)
    mask = Image.new("L", size, 0)
    mask.paste(255, (0, 0, width, row) if sky else (0, row, width, height))
    return mask
