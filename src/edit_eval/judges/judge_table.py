"""What has to be known of an image-text-to-text model of transformers to judge with it: data.

`FAMILIES` has a row for each `model_type` of a `config.json`; a test holds each against transformers 5.23.0. A model
of no row is judged with as the library has it. Standard library only: `doctor`, reports and documents read it, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

TORCHVISION = "torchvision, built for its torch: transformers scales its pictures with nothing else"


@dataclass(frozen=True, kw_only=True)
class Family:
    """How one architecture is shown pictures, and told to think or not to."""

    model_type: str
    models: str
    """What people call them."""
    lineage: str
    """Whose weights they grew from, as `edit_models` names the encoders of edit models."""
    model: str
    """The class."""
    processor: str
    images: str = ""
    """The image processor that scales with Pillow; empty: there is none."""
    frames: int = 0
    """An area in pixels limits its pictures, counted in so many frames of a picture; 0: something else does."""
    settings: tuple[str, ...] = ()
    """The image processor's settings that decide how many tokens a picture has."""
    tokens: str
    """How many these are."""
    nested: bool = False
    """Pictures are handed over by request, not in one row."""
    thinking: str = ""
    """The variable of the published chat templates that switches thinking; empty: they have none."""
    thinks: bool = False
    """Whether it thinks where nobody says anything."""
    opens: str = "<think>"
    closes: str = "</think>"
    frame: tuple[str, ...] = ()
    """Marks around an answer that are no part of it: in front of it, and behind."""
    openings: tuple[str, ...] = ()
    """What else may stand in front of an answer though it does not think."""
    shared_prefix: bool = False
    """Whether `shared_prefix` is known to work."""
    kernels: tuple[str, ...] = ()
    """Packages without which it computes slowly, though rightly."""
    environment: str = ""
    """What it needs besides `edit-eval[diffusers]`."""
    figures: str


_SOURCE = "transformers 5.23.0"
_QWEN_TEMPLATE = "thinking: Qwen's model cards, vLLM's documentation of reasoning outputs"
_GLM_FRAME = ("<|begin_of_box|>", "<|end_of_box|>")
_LINEAR_ATTENTION = ("fla", "causal_conv1d")
_5_23 = "transformers 5.23 (older ones have not been looked at)"

FAMILIES = (
    *(
        Family(
            model_type=f"qwen{version}_vl",
            models=f"Qwen{title}-VL",
            lineage=f"Qwen{title}-VL",
            model=f"Qwen{version}{'VL' if version == '2' else '_VL'}ForConditionalGeneration",
            processor=f"Qwen{version}{'VL' if version == '2' else '_VL'}Processor",
            images="Qwen2VLImageProcessorPil",
            frames=1,
            settings=("size",),
            tokens="one for 28 x 28 pixels",
            shared_prefix=True,
            figures=_SOURCE,
        )
        for version, title in (("2", "2"), ("2_5", "2.5"))
    ),
    *(
        Family(
            model_type=f"qwen3_vl{suffix}",
            models=f"Qwen3-VL{' (mixture of experts)' if suffix else ''}",
            lineage="Qwen3-VL",
            model=f"Qwen3VL{'Moe' if suffix else ''}ForConditionalGeneration",
            processor="Qwen3VLProcessor",
            images="Qwen2VLImageProcessorPil",
            frames=1,
            settings=("size",),
            tokens="one for 32 x 32 pixels",
            shared_prefix=True,
            figures=f"{_SOURCE}; the Thinking weights are another model, which has no switch",
        )
        for suffix in ("", "_moe")
    ),
    *(
        Family(
            model_type=f"qwen3_5{suffix}",
            models=f"Qwen3.5, Qwen3.6{' (mixture of experts)' if suffix else ''}",
            lineage="Qwen3.5",
            model=f"Qwen3_5{'Moe' if suffix else ''}ForConditionalGeneration",
            processor="Qwen3VLProcessor",
            images="Qwen2VLImageProcessorPil",
            frames=1,
            settings=("size",),
            tokens="one for 32 x 32 pixels",
            thinking="enable_thinking",
            thinks=True,
            kernels=_LINEAR_ATTENTION,
            environment=_5_23,
            figures=f"{_SOURCE}; {_QWEN_TEMPLATE}",
        )
        for suffix in ("", "_moe")
    ),
    Family(
        model_type="gemma3",
        models="Gemma 3",
        lineage="Gemma 3",
        model="Gemma3ForConditionalGeneration",
        processor="Gemma3Processor",
        images="Gemma3ImageProcessorPil",
        settings=("do_pan_and_scan",),
        tokens="256 a picture, which is squeezed to 896 x 896",
        nested=True,
        figures=_SOURCE,
    ),
    Family(
        model_type="gemma4",
        models="Gemma 4",
        lineage="Gemma 4",
        model="Gemma4ForConditionalGeneration",
        processor="Gemma4Processor",
        images="Gemma4ImageProcessorPil",
        settings=("max_soft_tokens",),
        tokens="at most 280 a picture (`max_soft_tokens`: 70, 140, 280, 560 or 1120), one for 48 x 48 pixels",
        nested=True,
        thinking="enable_thinking",
        opens="<|channel>thought",
        closes="<channel|>",
        openings=("<|channel>thought\n<channel|>",),
        environment=_5_23,
        figures=f"{_SOURCE}; thinking: ai.google.dev, Gemma 4 prompt formatting (the large ones may open an empty "
        "thought where it is off); vLLM's documentation",
    ),
    Family(
        model_type="internvl",
        models="InternVL 3, 3.5 (the `-HF` weights)",
        lineage="InternVL",
        model="InternVLForConditionalGeneration",
        processor="InternVLProcessor",
        images="GotOcr2ImageProcessorPil",
        settings=("max_patches", "min_patches", "crop_to_patches"),
        tokens="256 for each of up to 12 tiles of 448 x 448 pixels, and for the whole",
        figures=f"{_SOURCE}; it thinks where a system prompt tells it to, and has no switch",
    ),
    *(
        Family(
            model_type=kind,
            models=models,
            lineage="GLM-V",
            model=f"{name}ForConditionalGeneration",
            processor=f"{processor}Processor",
            images=f"{processor}ImageProcessorPil",
            frames=2,
            settings=("size",),
            tokens="one for 28 x 28 pixels",
            thinking=thinking,
            thinks=True,
            frame=_GLM_FRAME,
            figures=f"{_SOURCE}; thinking: zai-org's model cards, vLLM's blog on GLM-4.5V",
        )
        for kind, models, name, processor, thinking in (
            ("glm4v", "GLM-4.1V-Thinking", "Glm4v", "Glm4v", ""),
            ("glm4v_moe", "GLM-4.5V", "Glm4vMoe", "Glm4v", "enable_thinking"),
            ("glm46v", "GLM-4.6V", "Glm46V", "Glm46V", "enable_thinking"),
        )
    ),
    Family(
        model_type="glm5_next",
        models="GLM-5.3",
        lineage="GLM-V",
        model="Glm5NextForConditionalGeneration",
        processor="Glm5NextProcessor",
        images="Glm5NextImageProcessorPil",
        settings=("min_image_tokens", "max_image_tokens"),
        tokens="one for 28 x 28 pixels, at most 8000",
        thinking="enable_thinking",
        thinks=True,
        frame=_GLM_FRAME,
        kernels=_LINEAR_ATTENTION,
        environment=_5_23,
        figures=f"{_SOURCE}; its switch is taken from GLM-4.6V's template, and looked for in its own",
    ),
    *(
        Family(
            model_type=f"minicpmv4_{minor}",
            models=f"MiniCPM-V 4.{minor}",
            lineage="MiniCPM-V",
            model=f"MiniCPMV4_{minor}ForConditionalGeneration",
            processor=f"MiniCPMV4_{minor}Processor",
            images="MiniCPMV4_6ImageProcessorPil",
            settings=("max_slice_nums", "scale_resolution", "downsample_mode"),
            tokens="64 for the whole and for each of up to 9 slices of about 448 x 448 pixels",
            kernels=_LINEAR_ATTENTION,
            environment=environment,
            figures=f"{_SOURCE}; thinking: weights of their own (OpenSQZ/MiniCPM-V-CookBook, vLLM guide of 4.6)",
        )
        for minor, environment in ((6, "transformers 5.7 or newer"), (7, _5_23))
    ),
    Family(
        model_type="mistral3",
        models="Mistral Small 3.1, 3.2, Ministral 3",
        lineage="Mistral 3",
        model="Mistral3ForConditionalGeneration",
        processor="PixtralProcessor",
        images="PixtralImageProcessorPil",
        settings=("size",),
        tokens="one for 28 x 28 pixels of a picture whose longer side is at most `size: {longest_edge: 1540}`",
        nested=True,
        figures=_SOURCE,
    ),
    Family(
        model_type="kimi_k25",
        models="Kimi K2.5, K2.6",
        lineage="Kimi-VL",
        model="Kimi_K25ForConditionalGeneration",
        processor="Kimi_K25Processor",
        tokens="one for 28 x 28 pixels",
        thinking="thinking",
        thinks=True,
        environment=TORCHVISION,
        figures=f"{_SOURCE}; thinking: Moonshot's model card",
    ),
)
_BY_TYPE: Mapping[str, Family] = {family.model_type: family for family in FAMILIES}


def family_of_type(model_type: str) -> Family | None:
    """The row for a `model_type` of a `config.json`; None for one that nobody has looked at."""
    return _BY_TYPE.get(model_type)
