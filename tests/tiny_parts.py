"""Networks, tokenizers and processors with tiny random weights, which several tiny pipelines are made of."""

from __future__ import annotations

from typing import Any

from tiny_models import _processor, _text_settings
from tiny_tokenizer import CHAT_TEMPLATE, tiny_tokenizer


def flow(**settings: Any) -> Any:
    import diffusers

    return diffusers.FlowMatchEulerDiscreteScheduler(**settings)


def vae(channels: int, levels: int = 2, **settings: Any) -> Any:
    """A VAE of the usual kind that halves the sides `levels - 1` times."""
    import diffusers

    return diffusers.AutoencoderKL(
        block_out_channels=(8,) * levels,
        down_block_types=("DownEncoderBlock2D",) * levels,
        up_block_types=("UpDecoderBlock2D",) * levels,
        layers_per_block=1,
        latent_channels=channels,
        norm_num_groups=4,
        **settings,
    )


def flux_vae(channels: int = 16, levels: int = 2) -> Any:
    return vae(channels, levels, use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.1, scaling_factor=0.4)


def flux_2_vae() -> Any:
    import diffusers

    return diffusers.AutoencoderKLFlux2(
        block_out_channels=(8, 8),
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        layers_per_block=1,
        latent_channels=4,
        norm_num_groups=4,
    )


def wan_vae(**settings: Any) -> Any:
    import diffusers

    return diffusers.AutoencoderKLWan(
        base_dim=4,
        z_dim=16,
        dim_mult=[1, 1, 1, 1],
        num_res_blocks=1,
        temperal_downsample=[False, True, True],
        **settings,
    )


def chatting_tokenizer() -> Any:
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def clip_tokenizer() -> Any:
    from transformers import CLIPTokenizer

    letters = [letter + end for letter in "abcdefghijklmnopqrstuvwxyz" for end in ("", "</w>")]
    tokens = ["<|startoftext|>", "<|endoftext|>", *letters]
    return CLIPTokenizer(vocab={token: n for n, token in enumerate(tokens)}, merges=[], model_max_length=77)


def clip_text(class_name: str = "CLIPTextModel") -> Any:
    import transformers

    config = transformers.CLIPTextConfig(
        vocab_size=len(clip_tokenizer()),
        hidden_size=32,
        intermediate_size=32,
        num_attention_heads=4,
        num_hidden_layers=2,
        projection_dim=32,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
    )
    return getattr(transformers, class_name)(config)


def t5_text(tokenizer: Any, class_name: str = "T5") -> Any:
    import transformers

    config = getattr(transformers, f"{class_name}Config")(
        vocab_size=len(tokenizer), d_model=32, d_kv=8, d_ff=32, num_layers=1, num_heads=4, pad_token_id=0
    )
    return getattr(transformers, f"{class_name}EncoderModel")(config)


def qwen3_text(tokenizer: Any, class_name: str, layers: int) -> Any:
    import transformers

    settings = _text_settings(tokenizer) | {"num_hidden_layers": layers, "head_dim": 16}
    return getattr(transformers, class_name)(transformers.Qwen3Config(**settings))


def qwen3_vl_processor(tokenizer: Any) -> Any:
    half = [0.5, 0.5, 0.5]
    size = {"shortest_edge": 64 * 64, "longest_edge": 128 * 128}
    return _processor("Qwen3VLProcessor", tokenizer, size=size, patch_size=16, image_mean=half, image_std=half)


def qwen2_vl_processor(tokenizer: Any, class_name: str = "Qwen2VLProcessor") -> Any:
    return _processor(class_name, tokenizer, size={"shortest_edge": 56 * 56, "longest_edge": 112 * 112})
