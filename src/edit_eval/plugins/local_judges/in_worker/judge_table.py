"""What edit-eval has to know about transformers' image-text-to-text models to judge with them: data.

`FAMILIES` has a row for each `model_type` of a `config.json`; a test checks each against the installed one. A model
without a row is used as the library has it; `NOT_KNOWN` and `NO_JUDGES` have the rest of its types. Standard library
only: `doctor`, reports and documents read it, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

TORCHVISION = "torchvision, built for its torch: transformers scales its pictures with nothing else"


@dataclass(frozen=True, kw_only=True)
class Family:
    """How pictures are passed to one architecture, and how its thinking is switched."""

    model_type: str
    models: str
    """Display name."""
    lineage: str
    """The family its weights descend from, as `edit_models` names the encoders of edit models."""
    model: str
    """The class."""
    processor: str
    images: str = ""
    """The image processor that scales with Pillow; empty: there is none."""
    frames: int = 0
    """Its pictures are limited by area in pixels, times so many frames per picture; 0: by something else."""
    settings: tuple[str, ...] = ()
    """The image processor's settings that determine the number of tokens per picture."""
    tokens: str
    """The number of tokens per picture."""
    nested: bool = False
    """Pictures are passed by request, not in one row."""
    thinking: str = ""
    """The variable that switches thinking in the published chat templates; empty: they have none."""
    thinks: bool = False
    """True if it thinks by default."""
    opens: str = "<think>"
    closes: str = "</think>"
    frame: tuple[str, ...] = ()
    """Marks before and after an answer that are not part of it."""
    openings: tuple[str, ...] = ()
    """What else may precede an answer though it does not think."""
    kernels: tuple[str, ...] = ()
    """Packages, by import name (`KERNELS`), without which it computes slowly, though correctly."""
    environment: str = ""
    """Requirements besides `edit-eval[diffusers]`."""
    figures: str

    def as_row(self) -> dict[str, str]:
        """Returns the row as `describe` prints it."""
        itself = "on by itself" if self.thinks else "off by itself"
        always = "always" if self.thinks else "never"
        faster = f"faster with {', '.join(KERNELS[name] for name in self.kernels)}" if self.kernels else ""
        return {
            "model_name": self.model_type,
            "family": self.models,
            "tokens": self.tokens,
            "thinking": itself if self.thinking else always,
            "environment": "; ".join(filter(None, (self.environment, faster))),
        }


_SOURCE = "transformers 5.23.0"
_QWEN_TEMPLATE = "thinking: Qwen's model cards, vLLM's documentation of reasoning outputs"
_GLM_FRAME = ("<|begin_of_box|>", "<|end_of_box|>")
KERNELS = {"fla": "flash-linear-attention", "causal_conv1d": "causal-conv1d"}
"""Import name -> package name."""
_LINEAR_ATTENTION = tuple(KERNELS)
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

_NO_JUDGES = (
    "blip blip-2 cosmos3_edge deepseek_ocr2 evolla florence2 git glm_ocr got_ocr2 granite_docling instructblip "
    "instructblipvideo kosmos-2 kosmos-2.5 lighton_ocr minicpm_ocr paddleocr_vl paligemma pi0 pix2struct "
    "pp_chart2table pp_formulanet qianfan_ocr shieldgemma2 t5gemma2 udop unlimited_ocr vision-encoder-decoder"
)
NO_JUDGES = frozenset(_NO_JUDGES.split())
"""Further types that transformers 5.24.0 has for pictures and texts: for captions, documents, robots or filters. They
hold no conversation about two pictures."""
NOT_KNOWN: Mapping[str, tuple[str, str]] = {
    "apertus1p5": ("Apertus1p5ForConditionalGeneration", ""),
    "aria": ("AriaForConditionalGeneration", ""),
    "aya_vision": ("AyaVisionForConditionalGeneration", ""),
    "chameleon": ("ChameleonForConditionalGeneration", ""),
    "cohere2_vision": ("Cohere2VisionForConditionalGeneration", ""),
    "cohere_compass": ("CohereCompassForConditionalGeneration", ""),
    "cosmos3_omni": ("Cosmos3OmniForConditionalGeneration", ""),
    "deepseek_vl": ("DeepseekVLForConditionalGeneration", "DeepSeek-VL"),
    "deepseek_vl_hybrid": ("DeepseekVLHybridForConditionalGeneration", "DeepSeek-VL"),
    "diffusion_gemma": ("DiffusionGemmaForBlockDiffusion", ""),
    "dots3_note": ("Dots3NoteForConditionalGeneration", ""),
    "emu3": ("Emu3ForConditionalGeneration", ""),
    "ernie4_5_vl_moe": ("Ernie4_5_VLMoeForConditionalGeneration", "ERNIE 4.5-VL"),
    "exaone4_5": ("Exaone4_5_ForConditionalGeneration", "EXAONE 4.5"),
    "fast_vlm": ("FastVlmForConditionalGeneration", ""),
    "fuyu": ("FuyuForCausalLM", ""),
    "gemma3n": ("Gemma3nForConditionalGeneration", "Gemma 3n"),
    "gemma4_unified": ("Gemma4UnifiedForConditionalGeneration", "Gemma 4"),
    "glmga": ("Glm46VForConditionalGeneration", ""),
    "granite4_vision": ("Granite4VisionForConditionalGeneration", ""),
    "hunyuan_vl": ("HunYuanVLForConditionalGeneration", "Hunyuan-VL"),
    "hy_v4_vl": ("HYV4VLForConditionalGeneration", "Hunyuan-VL"),
    "hyperclovax_vision_v2": ("HyperCLOVAXVisionV2ForConditionalGeneration", ""),
    "idefics": ("IdeficsForVisionText2Text", ""),
    "idefics2": ("Idefics2ForConditionalGeneration", ""),
    "idefics3": ("Idefics3ForConditionalGeneration", ""),
    "inkling2": ("Inkling2ForConditionalGeneration", ""),
    "inkling2_loop": ("Inkling2LoopForConditionalGeneration", ""),
    "inkling_mm_model": ("InklingForConditionalGeneration", ""),
    "janus": ("JanusForConditionalGeneration", ""),
    "lfm2_vl": ("Lfm2VlForConditionalGeneration", "LFM-VL"),
    "lfm3_vl": ("Lfm3VlForConditionalGeneration", "LFM-VL"),
    "llama4": ("Llama4ForConditionalGeneration", "Llama 4"),
    "llava": ("LlavaForConditionalGeneration", ""),
    "llava_next": ("LlavaNextForConditionalGeneration", ""),
    "llava_next_video": ("LlavaNextVideoForConditionalGeneration", ""),
    "llava_onevision": ("LlavaOnevisionForConditionalGeneration", ""),
    "minimax_m3_vl": ("MiniMaxM3SparseForConditionalGeneration", "MiniMax-M3"),
    "mistral4": ("Mistral4ForCausalLM", "Mistral 4"),
    "mistral_large4": ("MistralLarge4ForConditionalGeneration", "Mistral 4"),
    "mllama": ("MllamaForConditionalGeneration", "Llama 3.2"),
    "molmo2": ("Molmo2ForConditionalGeneration", "Molmo 2"),
    "muse_glimmer": ("MuseGlimmerForConditionalGeneration", "Muse"),
    "muse_spark": ("MuseSparkForConditionalGeneration", "Muse"),
    "nemotron_h_omni": ("NemotronH_Omni_Reasoning_V3", "Nemotron"),
    "ovis2": ("Ovis2ForConditionalGeneration", "Ovis 2"),
    "perception_lm": ("PerceptionLMForConditionalGeneration", ""),
    "qwen2_5_omni_thinker": ("Qwen2_5OmniThinkerForConditionalGeneration", "Qwen2.5-Omni"),
    "qwen3_omni_moe_thinker": ("Qwen3OmniMoeThinkerForConditionalGeneration", "Qwen3-Omni"),
    "qwen4_exp": ("Qwen4ExpForConditionalGeneration", "Qwen4"),
    "smolvlm": ("SmolVLMForConditionalGeneration", ""),
    "step3p7": ("Step3p7ForConditionalGeneration", "Step 3"),
    "video_llama_3": ("VideoLlama3ForConditionalGeneration", ""),
    "video_llava": ("VideoLlavaForConditionalGeneration", ""),
    "vipllava": ("VipLlavaForConditionalGeneration", ""),
}
"""The rest of them: type -> class, and the family where the type's name says it. They may judge, as the library has
them; how they think, and how many tokens a picture takes, is not known."""


def family_of_type(model_type: str) -> Family | None:
    """Returns the row for a `model_type` of a `config.json`; None if there is none."""
    return _BY_TYPE.get(model_type)


def card_of_unknown(model_type: str) -> dict[str, str]:
    """Returns what may be said of weights of a type without a row."""
    if model_type in NO_JUDGES:
        return {"note": f"{model_type} is no type that is known to hold a conversation about pictures"}
    unknown = {"pictures": "not known", "thinking": "not known"}
    return {"pipeline": NOT_KNOWN[model_type][0], **unknown} if model_type in NOT_KNOWN else {}


def card_of(family: Family) -> dict[str, str]:
    """Returns what is known about a family's judges before loading, for people."""
    switched = f"`{family.thinking}` of its chat template, {'on' if family.thinks else 'off'} by itself"
    always = "its weights decide, and there is no switch" if family.thinks else "none that could be switched"
    notes = [f"faster with {' and '.join(KERNELS[name] for name in family.kernels)}"] if family.kernels else []
    return {
        "pipeline": f"{family.models} ({family.model})",
        "pictures": f"{family.tokens} (`{'`, `'.join(family.settings) or 'its own files'}`)",
        "thinking": switched if family.thinking else always,
        "environment": family.environment,
        "notes": "; ".join(notes),
    }


@dataclass(frozen=True)
class Published:
    """Published weights, and how often they agree with people about edits."""

    name: str
    """Name on the Hub."""
    model_type: str
    billions: float
    """10^9 parameters, as in the name."""
    agreement: float
    """Share of pairs on which a judge and people agree, without thinking, 0 to 1.

    EditReward-Compass (bxhsort/Edit-Compass-and-EditReward-Compass at 6ee6caa, assets/Reward_Model.jpg; arXiv
    2605.13062): 2,251 pairs of edits that people compared, ties among them, each edit scored by itself."""
    thinking: float | None = None
    """The same with thinking."""


PUBLISHED = (
    Published("Qwen/Qwen2.5-VL-7B-Instruct", "qwen2_5_vl", 8.3, 0.362),
    Published("Qwen/Qwen3-VL-4B-Instruct", "qwen3_vl", 4, 0.432),
    Published("Qwen/Qwen3-VL-8B-Instruct", "qwen3_vl", 8.8, 0.465),
    Published("Qwen/Qwen3-VL-30B-A3B-Instruct", "qwen3_vl_moe", 31, 0.479),
    Published("Qwen/Qwen3-VL-32B-Instruct", "qwen3_vl", 32, 0.579),
    Published("Qwen/Qwen3.5-9B", "qwen3_5", 9, 0.602, 0.668),
    Published("Qwen/Qwen3.5-27B", "qwen3_5", 27, 0.669, 0.700),
    Published("Qwen/Qwen3.5-35B-A3B", "qwen3_5_moe", 35, 0.632, 0.709),
    Published("Qwen/Qwen3.6-27B", "qwen3_5", 27, 0.633, 0.718),
    Published("Qwen/Qwen3.6-35B-A3B", "qwen3_5_moe", 35, 0.600, 0.705),
    Published("google/gemma-4-26B-A4B-it", "gemma4", 26, 0.596),
    Published("google/gemma-4-31B-it", "gemma4", 31, 0.671),
)
_PUBLISHED: Mapping[str, Published] = {judge.name: judge for judge in PUBLISHED}


def find_published_row(name: str) -> Published | None:
    """Returns the row for weights by their name on the Hub."""
    return _PUBLISHED.get(name)


@dataclass(frozen=True)
class Lineage:
    """The weights a model descends from, by its name: nothing else is known of a judge behind a server."""

    name: str
    """A regular expression, searched in the model's name in lower case."""
    lineage: str
    figures: str


_BY_NAME = "its name"
_REWARD_TABLE = "what it is a fine-tune of: arXiv 2605.13062 and the authors' repositories"
LINEAGES = (
    Lineage(r"qwen-?2[._]5-?vl", "Qwen2.5-VL", _BY_NAME),
    Lineage(r"qwen-?2-?vl", "Qwen2-VL", _BY_NAME),
    Lineage(r"qwen-?3-?vl", "Qwen3-VL", _BY_NAME),
    Lineage(r"qwen-?3[._][56]", "Qwen3.5", _BY_NAME),
    Lineage(r"qwen-?4", "Qwen4", _BY_NAME),
    Lineage(r"gemma-?3n", "", "another architecture than Gemma 3"),
    Lineage(r"gemma-?3", "Gemma 3", _BY_NAME),
    Lineage(r"gemma-?4", "Gemma 4", _BY_NAME),
    Lineage(r"internvl", "InternVL", _BY_NAME),
    Lineage(r"glm-?(?:4\.\d+v|5\.3)", "GLM-V", _BY_NAME),
    Lineage(r"minicpm-v", "MiniCPM-V", _BY_NAME),
    Lineage(r"mistral-small-3\.[12]|ministral-3", "Mistral 3", _BY_NAME),
    Lineage(r"kimi-(?:k2\.[56]|vl)", "Kimi-VL", _BY_NAME),
    Lineage(r"rationalrewards|pvc-?judge", "Qwen3-VL", _REWARD_TABLE),
    Lineage(r"editscore|imgedit[-_]?judge", "Qwen2.5-VL", _REWARD_TABLE),
)
"""The first match counts."""


def lineage_of_name(name: str) -> str:
    """Returns the family of a model by its name, a repository's or a server's; empty if unknown."""
    lineages = (row.lineage for row in LINEAGES if re.search(row.name, name.lower()))
    return next(lineages, "")
