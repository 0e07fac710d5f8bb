"""Configurations of published models, which are data, and what of a model stays when it is cut to few layers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from edit_eval.json_values import Json

CONFIGURATIONS: Mapping[str, Mapping[str, Any]] = yaml.load(
    Path(__file__).with_name("in_worker").joinpath("configurations.yaml").read_text("utf-8"),
    getattr(yaml, "CSafeLoader", yaml.SafeLoader),
)
"""By their names on the Hub, each in the form of its `config.json` files."""

SMALL: Mapping[str, int] = {"canvas": 4096, "num_inference_steps": 2, "max_new_tokens": 8, "thinking_tokens": 8}
"""The most of what is asked of a model that is cut to few layers, on a CPU: what ends."""
SMALL_CALLS: Mapping[str, Mapping[str, Json]] = {
    name: {"_auto_resize": False} for name in ("FluxKontextPipeline", "FluxKontextInpaintPipeline")
}
"""By pipeline, what a small picture needs of its call: its table of shapes has nothing below a megapixel."""
MEGAPIXEL_TOKENS = 2 * 1024 * 1024 // 16**2
"""Of a source and an edit of a megapixel, of 16 x 16 pixels each, as most pipelines have them."""

LEAST_LAYERS: Mapping[str, Mapping[str, int]] = {
    "Flux2Pipeline": {"text_encoder": 31},
    "Flux2KleinPipeline": {"text_encoder": 28},
    "Flux2KleinInpaintPipeline": {"text_encoder": 28},
    "Flux2KleinKVPipeline": {"text_encoder": 28},
    "BriaFibo2Pipeline": {"text_encoder": 36},
}
"""By pipeline and part: layers that must stay when others are cut, as the pipeline takes the numbers of a layer in the
middle (the signatures in diffusers 0.42.1: 10, 20 and 30; 9, 18 and 27; up to 35)."""
