"""FLOPs and bytes of the models' computations, from their configurations.

An addition and a multiplication count as two. Formulas: a linear layer of n by m takes 2 n m per token; attention over
S tokens of width d takes 4 S^2 d (queries by keys, weights by values), half of that if causal. Norms, activations and
the rotary tables are left out (well below 1 %).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edit_eval.plugins.rehearse.stand_ins import CONFIGURATIONS

Settings = Mapping[str, Any]

BFLOAT16_BYTES = 2

# Counted once by torch's FlopCounterMode at 1024 x 1024, as diffusers runs them (three frames deep, two of them zeros).
VAE_ENCODE_FLOPS_PER_PIXEL = 7.0e12 / 1024**2
VAE_DECODE_FLOPS_PER_PIXEL = 11.3e12 / 1024**2
VAE_WIDTH = 96  # `base_dim` of the network counted


EDIT_MODEL, JUDGE = "Qwen/Qwen-Image-Edit", "Qwen/Qwen3-VL-30B-A3B-Instruct"
MEGAPIXEL = 1024 * 1024
INSTRUCTION_TOKENS, ENCODER_TEMPLATE_TOKENS = 30, 75
RUBRIC_TOKENS, QUESTION_TOKENS, ANSWER_TOKENS = 800, 60, 5
"""The packaged rubrics have 720 to 840 with Qwen's tokenizer; an answer is `7.500`."""


def edit_floor(steps: int, tflops: float) -> float:
    """Returns the seconds that an edit of a megapixel by Qwen-Image-Edit takes at best, at so many TFLOP/s."""
    parts = {name: settings for name, (_, _, settings) in CONFIGURATIONS[EDIT_MODEL]["parts"].items()}
    patches = MEGAPIXEL // 14**2
    forward = edit_forward(parts["transformer"], picture_tokens(MEGAPIXEL), patches // 4 + INSTRUCTION_TOKENS)
    prompts = 2 * encode_prompt(parts["text_encoder"], patches, INSTRUCTION_TOKENS + ENCODER_TEMPLATE_TOKENS)
    return (2 * steps * forward + prompts + sum(vae(parts["vae"], MEGAPIXEL))) / (tflops * 1e12)


def pair_floor(rows: int, tflops: float, bandwidth: float) -> float:
    """Returns the seconds that a pair takes at best among `rows` at once: FLOPs of the prompt, bytes of the answer."""
    judge = CONFIGURATIONS[JUDGE]["config"]
    prompt = judgement(judge, 2, MEGAPIXEL // 16**2, RUBRIC_TOKENS + QUESTION_TOKENS) / (tflops * 1e12)
    return prompt + ANSWER_TOKENS * mixture_step_bytes(judge["text_config"], rows) / (bandwidth * 1e12) / rows


def edit_forward(transformer: Settings, picture_tokens: int, text_tokens: int) -> float:
    """Returns FLOPs of a forward of Qwen-Image's transformer: 12 d^2 weights a token per stream, attention over both.

    `picture_tokens` includes the noise and the source.
    """
    width = transformer["num_attention_heads"] * transformer["attention_head_dim"]
    tokens = picture_tokens + text_tokens
    return float(transformer["num_layers"] * (2 * 12 * width**2 * tokens + 4 * tokens**2 * width))


def picture_tokens(canvas: int) -> int:
    """Returns the tokens of noise and source: the VAE divides each side by 8, the patches by 2."""
    return 2 * (canvas // 256)


def dense_decoder(text: Settings, tokens: int) -> float:
    """Returns FLOPs of reading a prompt with a dense language model, without its output head."""
    width = text["hidden_size"]
    head = text.get("head_dim") or width // text["num_attention_heads"]
    queries, keys = text["num_attention_heads"] * head, text["num_key_value_heads"] * head
    weights = 2 * width * queries + 2 * width * keys + 3 * width * text["intermediate_size"]
    return float(text["num_hidden_layers"] * (2 * weights * tokens + 2 * tokens**2 * queries))


def mixture_decoder(text: Settings, tokens: int) -> float:
    """Returns FLOPs of reading a prompt with a mixture of experts; each token uses `num_experts_per_tok` of them."""
    width, queries = text["hidden_size"], text["num_attention_heads"] * text["head_dim"]
    expert = 3 * width * text["moe_intermediate_size"]
    weights = attention_weights(text) + text["num_experts_per_tok"] * expert + width * text["num_experts"]
    return float(text["num_hidden_layers"] * (2 * weights * tokens + 2 * tokens**2 * queries))


def attention_weights(text: Settings) -> int:
    """Returns the weights of one layer's attention: queries, keys, values, output."""
    width, head = text["hidden_size"], text["head_dim"]
    return int(2 * width * head * (text["num_attention_heads"] + text["num_key_value_heads"]))


def mixture_step_bytes(text: Settings, rows: int) -> float:
    """Returns the bytes of weights read per step of the answer, for the experts met by `rows` tokens on average."""
    experts, chosen = text["num_experts"], text["num_experts_per_tok"]
    met = experts * (1 - (1 - chosen / experts) ** rows)
    layer = attention_weights(text) + met * 3 * text["hidden_size"] * text["moe_intermediate_size"]
    return float(BFLOAT16_BYTES * (text["num_hidden_layers"] * layer + text["hidden_size"] * text["vocab_size"]))


def vision_tower(vision: Settings, patches: int, gated: bool, window: int = 0) -> float:
    """Returns FLOPs of a vision tower for one picture. `window` is the patches per window in windowed layers."""
    width, depth = vision["hidden_size"], vision["depth"]
    weights = 4 * width**2 + (3 if gated else 2) * width * vision["intermediate_size"]
    whole = len(vision["fullatt_block_indexes"]) if window else depth
    seen = whole * patches**2 + (depth - whole) * patches * window
    return float(2 * depth * weights * patches + 4 * width * seen)


def encode_prompt(encoder: Settings, patches: int, text_tokens: int) -> float:
    """Returns FLOPs of Qwen2.5-VL reading one picture and one instruction."""
    vision = encoder["vision_config"]
    patch = vision.get("patch_size", 14)
    window = (vision["window_size"] // patch) ** 2
    return vision_tower(vision, patches, True, window) + dense_decoder(
        encoder["text_config"], patches // 4 + text_tokens
    )


def judgement(judge: Settings, pictures: int, patches: int, text_tokens: int) -> float:
    """Returns FLOPs of reading one request: each picture, then all tokens, without the answer's few tokens."""
    tokens = text_tokens + pictures * (patches // 4)
    return pictures * vision_tower(judge["vision_config"], patches, False) + mixture_decoder(
        judge["text_config"], tokens
    )


def vae(settings: Settings, canvas: int) -> tuple[float, float]:
    """Returns FLOPs of encoding and decoding one picture. Raises `ValueError` for a network that was not counted."""
    if settings["base_dim"] != VAE_WIDTH:
        raise ValueError(f"a VAE of {settings['base_dim']} channels was not counted")
    return VAE_ENCODE_FLOPS_PER_PIXEL * canvas, VAE_DECODE_FLOPS_PER_PIXEL * canvas
