"""Edits by the tiny Qwen-Image-Edit, for tests."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from PIL import Image

from edit_eval.edit_models.contract import EditRequest
from edit_eval.edit_models.qwen_image_edit import QwenImageEdit

PIPELINES = ("qwen-image-edit", "qwen-image-edit-plus")


def picture(width: int = 96, height: int = 64) -> Image.Image:
    """A picture with something in it, the same at every call."""
    tile = Image.frombytes("RGB", (4, 4), bytes((37 * i * i + 11 * i) % 256 for i in range(48)))
    return tile.resize((width, height), Image.Resampling.BICUBIC)


def no_step(step: int, steps: int) -> None:
    pass


def request(source: Image.Image, instruction: str = "make the sky red", seed: int = 7, **more: Any) -> EditRequest:
    return EditRequest(pictures={"source": source}, instruction=instruction, seed=seed, **more)


def loaded(folder: Path, offload: str = "none", **parameters: Any) -> QwenImageEdit:
    settings = {"num_inference_steps": 2, "dtype": "float32", "canvas": 4096} | parameters
    model = QwenImageEdit(QwenImageEdit.Parameters(model_name=str(folder), **settings))
    model.load(["cpu"], offload)
    return model


def edited(
    model: QwenImageEdit, prompt: str = "make the sky red", seed: int = 7, source: Image.Image | None = None
) -> Image.Image:
    return model.edit(request(source or picture(), prompt, seed), no_step)


def pixels(
    model: QwenImageEdit, seed: int = 7, source: Image.Image | None = None, prompt: str = "make the sky red"
) -> str:
    return hashlib.sha256(edited(model, prompt, seed, source).tobytes()).hexdigest()


def levels_apart(first: Image.Image, second: Image.Image) -> int:
    """The largest difference of any channel of any pixel, of 255 levels."""
    import numpy

    return int(abs(numpy.asarray(first).astype(int) - numpy.asarray(second).astype(int)).max())
