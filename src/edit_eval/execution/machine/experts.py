"""What a mixture of experts takes on top of its weights: transformers 4 has every expert compute every token."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from edit_eval.config.schema import ModelSection
from edit_eval.errors import ConfigurationError, LoadError
from edit_eval.execution.machine.environments import interpreter, uv_folder, uv_is_made
from edit_eval.execution.machine.weights import Weights
from edit_eval.pretrained.folders import read_index

THROUGH_TRANSFORMERS = ("qwen3_vl", "transformers")
"""Types of judges."""
PUBLISHED_SHAPES = {"Qwen/Qwen3-VL-30B-A3B-Instruct": (128, 2048, 768)}
"""Experts of a layer, its width, and theirs, as in the models' `config.json`."""


def expert_bytes(section: ModelSection, weights: Weights) -> int:
    """Bytes a token of a batch for which all experts of a layer compute; 0 for a judge that computes those chosen.

    Three copies of its width and two of an expert's for each of them, in 16 bits: 1.97 MB of Qwen3-VL-30B-A3B, as
    counted in transformers 4.57.6 (`Qwen3VLMoeTextExperts.forward` outside training).
    """
    if section.type not in THROUGH_TRANSFORMERS or section.served:
        return 0
    shape = _shape(weights) if transformers_version(section) == 4 else None
    if shape is None:
        return 0
    experts, width, inner = shape
    return 2 * experts * (3 * width + 2 * inner)


def transformers_version(section: ModelSection) -> int | None:
    """The major version of transformers in a model's environment, which is not started for it; None where unknown."""
    requirements = section.placement.uv
    try:
        if requirements and not uv_is_made(uv_folder(requirements)):
            return None
        python = interpreter(section)
    except (ConfigurationError, OSError):
        return None
    if not python or python == sys.executable:
        try:
            return _major(metadata.version("transformers"))
        except metadata.PackageNotFoundError:
            return None
    # Not resolved: the interpreter of a virtual environment is a link to another one.
    lib = Path(os.path.abspath(python)).parent.parent / "lib"
    found = sorted(lib.glob("python3*/site-packages/transformers-*.dist-info"))
    return _major(found[-1].name.removeprefix("transformers-")) if found else None


def _major(version: str) -> int | None:
    match = re.match(r"\d+", version)
    return int(match[0]) if match else None


def _shape(weights: Weights) -> tuple[int, int, int] | None:
    """Experts of a layer, its width, and theirs; None for a model without experts, and where that is unknown."""
    index: Mapping[str, Any] = {}
    if weights.folder is not None:
        with contextlib.suppress(OSError, LoadError):  # what is wrong with it, loading will say
            index = read_index(weights.folder / "config.json")
    text = index.get("text_config")
    text = text if isinstance(text, Mapping) else index
    found = [text.get(name) for name in ("num_experts", "hidden_size", "moe_intermediate_size")]
    if all(isinstance(one, int) and one > 0 for one in found):
        return found[0], found[1], found[2]  # type: ignore[return-value]
    return PUBLISHED_SHAPES.get(weights.name) if weights.folder is None else None
