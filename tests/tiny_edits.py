"""Edits by the tiny Qwen-Image-Edit, for tests."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from PIL import Image

from edit_eval.plugins.diffusers.in_worker.qwen_image_edit import QwenImageEdit
from edit_requests import no_step, picture, request

PIPELINES = ("qwen-image-edit", "qwen-image-edit-plus")


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
