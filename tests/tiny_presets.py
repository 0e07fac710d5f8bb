"""Edits by tiny pipelines of every kind, for tests: a small photograph, and what keeps an edit small."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import tiny_models
from edit_eval.edit_models.contract import EditRequest
from edit_eval.plugins.diffusers.in_worker.diffusers import DiffusersModel

sys.path.append(str(Path(__file__).parents[1]))  # workers are given this file alone

import tiny_modular
import tiny_pipelines

SETTINGS: dict[str, dict[str, Any]] = {
    "QwenImageEditPipeline": {"canvas": 4096},
    "QwenImageEditPlusPipeline": {"canvas": 4096},
    "QwenImageEditInpaintPipeline": {"canvas": 4096},
    "QwenImage21Pipeline": {"canvas": 4096},
    "QwenImage21TurboModularPipeline": {"canvas": 4096},
    "Flux3DistilledModularPipeline": {"call": {"text_encoder_out_layers": tiny_modular.LAYERS}},
    "FluxKontextPipeline": {"canvas": 4096, "call": {"_auto_resize": False, "max_sequence_length": 32}},
    "FluxKontextInpaintPipeline": {"canvas": 4096, "call": {"_auto_resize": False, "max_sequence_length": 32}},
    "Flux2KleinInpaintPipeline": {"call": {"max_sequence_length": 48, "strength": 1.0}},
    "Flux2KleinPipeline": {"call": {"max_sequence_length": 48}},
    "Flux2KleinKVPipeline": {"call": {"max_sequence_length": 48}},
    "ZImageOmniPipeline": {"call": {"max_sequence_length": 48}},
    "LongCatImageEditPipeline": {"canvas": 4096},
    "BriaFibo2Pipeline": {"size": [64, 64]},
    "BriaFiboEditPipeline": {"size": [64, 64], "negative_prompt": "blurred"},
    "ChronoEditPipeline": {"canvas": 4096, "call": {"max_sequence_length": 32}},
    "StableDiffusionXLInstructPix2PixPipeline": {"canvas": 4096},
}
OLDER = {
    "QwenImageEditPipeline": "qwen-image-edit",
    "QwenImageEditInpaintPipeline": "qwen-image-edit-inpaint",
    "QwenImageEditPlusPipeline": "qwen-image-edit-plus",
}
"""Those that the tiny models of every test have already."""
EDITING = tuple(sorted({*OLDER, *tiny_pipelines.BUILDERS, *tiny_modular.BUILDERS} - {"GlmImagePipeline"}))
"""The classes that edit with the libraries of this environment."""


@functools.cache
def photograph(name: str = "astronaut", size: tuple[int, int] = (96, 64)) -> Image.Image:
    """A real photograph, small."""
    data = pytest.importorskip("skimage.data")
    with Image.open(Path(data.__file__).parent / f"{name}.png") as picture:
        return picture.convert("RGB").resize(size, Image.Resampling.LANCZOS)


@dataclass(frozen=True)
class TinyFolder:
    """A folder with the tiny weights of every class, each under its name, made when it is first asked for."""

    folder: Path

    def __truediv__(self, name: str) -> Path:
        if not (self.folder / name).is_dir():
            if name in OLDER:
                tiny_models.build(self.folder, [OLDER[name]])[OLDER[name]].rename(self.folder / name)
            else:
                (tiny_modular if name in tiny_modular.BUILDERS else tiny_pipelines).build(self.folder, [name])
        return self.folder / name


def loaded(folder: Path, name: str = "", offload: str = "none", **parameters: Any) -> DiffusersModel:
    """A model of the class that the folder is called after (or of `name`), ready for small edits of two steps."""
    settings = {"num_inference_steps": 2, "dtype": "float32", **SETTINGS.get(name or folder.name, {}), **parameters}
    model = DiffusersModel(DiffusersModel.Parameters(model_name=str(folder), **settings))
    model.load(["cpu"], offload)
    tiny_pipelines.shrink(model._pipeline)
    return model


def asked(seed: int = 7, instruction: str = "make the sky red", **pictures: Image.Image) -> EditRequest:
    return EditRequest(pictures=pictures or {"source": photograph()}, instruction=instruction, seed=seed)


class EveryPipeline:
    """All of them as one edit model of a user's own: a sample's instruction names the class."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.folder = TinyFolder(Path(parameters["folder"]))
        self.models: dict[str, DiffusersModel] = {}

    def load(self, devices: list[str]) -> None:
        """Each is loaded when it is needed: a worker meets about half of them."""

    def edit(self, request: EditRequest, on_step: Any) -> Image.Image:
        name = request.instruction
        if name not in self.models:
            self.models[name] = loaded(self.folder / name)
        return self.models[name].edit(request, on_step)
