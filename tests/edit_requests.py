"""A picture, and a request to edit it."""

from __future__ import annotations

from typing import Any

from PIL import Image

from edit_eval.edit_models.contract import EditRequest


def picture(width: int = 96, height: int = 64) -> Image.Image:
    """A picture with something in it, the same at every call."""
    tile = Image.frombytes("RGB", (4, 4), bytes((37 * i * i + 11 * i) % 256 for i in range(48)))
    return tile.resize((width, height), Image.Resampling.BICUBIC)


def no_step(step: int, steps: int) -> None:
    pass


def request(source: Image.Image, instruction: str = "make the sky red", seed: int = 7, **more: Any) -> EditRequest:
    return EditRequest(pictures={"source": source}, instruction=instruction, seed=seed, **more)
