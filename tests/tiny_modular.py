"""Modular editing pipelines of diffusers with tiny random weights: the real classes, built offline in seconds.

`build(folder)` makes a folder for each, named after its class, with a `modular_model_index.json`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tiny_models import _model, _qwen3_vl, _reproducible, _save_video_settings, qwen_image_edit_parts
from tiny_parts import flow, qwen3_vl_processor
from tiny_pipelines import BUILDERS as STANDARD
from tiny_tokenizer import tiny_tokenizer
from written_weights import HEAD_WIDTH, WIDTH

LAYERS = (0, 1)
"""Layers of the text encoder of `Flux3DistilledModularPipeline`, which has fewer than its call takes by default."""


def build(folder: Path | str, names: Sequence[str] | None = None) -> dict[str, Path]:
    """Builds the pipelines of these classes (all of them by default) under `folder`; returns each one's folder."""
    import diffusers

    built = {}
    for name in names or tuple(BUILDERS):
        target = built[name] = Path(folder) / name
        with _reproducible():
            parts = BUILDERS[name]()
            pipeline = getattr(diffusers, name)()
            for component in parts.values():
                if hasattr(component, "eval"):
                    component.eval()
            pipeline.update_components(**parts)
            pipeline.save_pretrained(str(target), overwrite_modular_index=True)
        for part, processor in parts.items():
            if hasattr(getattr(processor, "image_processor", None), "merge_size"):
                _save_video_settings(target / part, processor)
    return built


def _qwen_image_21_turbo() -> dict[str, Any]:
    parts, _ = STANDARD["QwenImage21Pipeline"]()
    return {**parts, "scheduler": flow()}


def _qwen_image_edit() -> dict[str, Any]:
    return {name: part for name, part in qwen_image_edit_parts().items() if name != "tokenizer"}


def _flux_3_distilled() -> dict[str, Any]:
    import diffusers

    tokenizer = tiny_tokenizer()
    klein, _ = STANDARD["Flux2KleinPipeline"]()
    transformer = diffusers.Flux3Transformer2DModel(
        in_channels=16,
        cond_in_channels=16,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=len(LAYERS) * WIDTH,
        timestep_channels=16,
        axes_dims_rope=(4, 4, 4, 4),
        flow_map=True,
    )
    return {
        "transformer": transformer,
        "vae": klein["vae"],
        "text_encoder": _qwen3_vl(tokenizer, experts=False),
        "tokenizer": qwen3_vl_processor(tokenizer),
        "prompt_upsampler": _qwen3_5(tokenizer),
        "prompt_upsampler_processor": qwen3_vl_processor(tokenizer),
    }


def _qwen3_5(tokenizer: Any) -> Any:
    rope = {"rope_type": "default", "mrope_section": [4, 2, 2], "mrope_interleaved": True, "rope_theta": 5e6}
    text = {"head_dim": HEAD_WIDTH, "rope_parameters": rope, "layer_types": ["full_attention"] * 2}
    text |= {"partial_rotary_factor": 1.0}
    vision = {"depth": 1, "patch_size": 16, "num_position_embeddings": 64}
    return _model("Qwen3_5", tokenizer, text, vision)


BUILDERS: dict[str, Callable[[], dict[str, Any]]] = {
    "QwenImage21TurboModularPipeline": _qwen_image_21_turbo,
    "Flux3DistilledModularPipeline": _flux_3_distilled,
    "QwenImageEditModularPipeline": _qwen_image_edit,
}
