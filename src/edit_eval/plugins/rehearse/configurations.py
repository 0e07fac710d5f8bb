"""Configurations of published models, for a rehearsal before anything of them is downloaded: data.

Each entry is in the form of the model's `config.json` files: its networks, the schedule's settings, and what its
processor does to pictures. They were not copied from those files, which could not be reached: what decides the number
of parameters is checked by counting them (`tests/plugins/rehearse/test_shipped.py`), the rest is not. Where the files
are on disk they come first. Of every other model the files themselves are needed, which are a few MB:
`hf download NAME --include "*.json" "*.txt" "*.jinja" "*.model"`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edit_eval.json_values import Json, JsonObject

HALF = [0.5, 0.5, 0.5]

# Qwen/Qwen-Image-Edit: transformer/config.json, vae/config.json, text_encoder/config.json (Qwen2.5-VL-7B), and its
# scheduler. Counted, they are the 20.43, 0.127 and 8.29 billion of `edit_models/release_table.py`.
_QWEN_TRANSFORMER: JsonObject = {
    "patch_size": 2,
    "in_channels": 64,
    "out_channels": 16,
    "num_layers": 60,
    "attention_head_dim": 128,
    "num_attention_heads": 24,
    "joint_attention_dim": 3584,
    "guidance_embeds": False,
    "axes_dims_rope": [16, 56, 56],
}
_QWEN_VAE: JsonObject = {
    "base_dim": 96,
    "z_dim": 16,
    "dim_mult": [1, 2, 4, 4],
    "num_res_blocks": 2,
    "attn_scales": [],
    "temperal_downsample": [False, True, True],
}
_QWEN_2_5_VL_7B: JsonObject = {
    "model_type": "qwen2_5_vl",
    "architectures": ["Qwen2_5_VLForConditionalGeneration"],
    "tie_word_embeddings": False,
    "text_config": {
        "model_type": "qwen2_5_vl_text",
        "hidden_size": 3584,
        "intermediate_size": 18944,
        "num_hidden_layers": 28,
        "num_attention_heads": 28,
        "num_key_value_heads": 4,
        "max_position_embeddings": 128000,
        "rms_norm_eps": 1e-6,
        "vocab_size": 152064,
        "tie_word_embeddings": False,
        "rope_parameters": {"rope_type": "default", "mrope_section": [16, 24, 24], "rope_theta": 1e6},
    },
    "vision_config": {
        "depth": 32,
        "hidden_size": 1280,
        "intermediate_size": 3420,
        "num_heads": 16,
        "patch_size": 14,
        "out_hidden_size": 3584,
        "window_size": 112,
        "tokens_per_second": 2,
        "fullatt_block_indexes": [7, 15, 23, 31],
    },
}
_QWEN_SCHEDULE: JsonObject = {
    "base_image_seq_len": 256,
    "base_shift": 0.5,
    "max_image_seq_len": 8192,
    "max_shift": 0.9,
    "num_train_timesteps": 1000,
    "shift": 1.0,
    "shift_terminal": 0.02,
    "time_shift_type": "exponential",
    "use_dynamic_shifting": True,
}


def _qwen_image_edit(pipeline: str, **transformer: Json) -> JsonObject:
    return {
        "pipeline": pipeline,
        "parts": {
            "transformer": ("diffusers", "QwenImageTransformer2DModel", {**_QWEN_TRANSFORMER, **transformer}),
            "text_encoder": ("transformers", "Qwen2_5_VLForConditionalGeneration", _QWEN_2_5_VL_7B),
            "vae": ("diffusers", "AutoencoderKLQwenImage", _QWEN_VAE),
            "scheduler": ("diffusers", "FlowMatchEulerDiscreteScheduler", _QWEN_SCHEDULE),
            "tokenizer": ("transformers", "Qwen2Tokenizer", {"model_max_length": 131072}),
            "processor": (
                "transformers",
                "Qwen2VLProcessor",
                {"size": {"shortest_edge": 3136, "longest_edge": 12845056}},
            ),
        },
    }


# black-forest-labs/FLUX.1-Kontext-dev: the networks of FLUX.1 dev; its encoders are CLIP L's and T5 v1.1 XXL's. The two
# tokenizers are one of our own here, which the encoders' lengths (77 and 512, always filled up) make no difference to.
_FLUX_KONTEXT: JsonObject = {
    "pipeline": "FluxKontextPipeline",
    "parts": {
        "transformer": (
            "diffusers",
            "FluxTransformer2DModel",
            {
                "patch_size": 1,
                "in_channels": 64,
                "num_layers": 19,
                "num_single_layers": 38,
                "attention_head_dim": 128,
                "num_attention_heads": 24,
                "joint_attention_dim": 4096,
                "pooled_projection_dim": 768,
                "guidance_embeds": True,
                "axes_dims_rope": [16, 56, 56],
            },
        ),
        "text_encoder": (
            "transformers",
            "CLIPTextModel",
            {
                "model_type": "clip_text_model",
                "architectures": ["CLIPTextModel"],
                "vocab_size": 49408,
                "hidden_size": 768,
                "intermediate_size": 3072,
                "projection_dim": 768,
                "num_hidden_layers": 12,
                "num_attention_heads": 12,
                "max_position_embeddings": 77,
                "hidden_act": "quick_gelu",
                "bos_token_id": 0,
                "eos_token_id": 2,
                "pad_token_id": 1,
            },
        ),
        "text_encoder_2": (
            "transformers",
            "T5EncoderModel",
            {
                "model_type": "t5",
                "architectures": ["T5EncoderModel"],
                "vocab_size": 32128,
                "d_model": 4096,
                "d_kv": 64,
                "d_ff": 10240,
                "num_layers": 24,
                "num_heads": 64,
                "feed_forward_proj": "gated-gelu",
                "relative_attention_num_buckets": 32,
                "tie_word_embeddings": False,
                "is_encoder_decoder": True,
                "pad_token_id": 0,
                "eos_token_id": 1,
            },
        ),
        "vae": (
            "diffusers",
            "AutoencoderKL",
            {
                "block_out_channels": [128, 256, 512, 512],
                "down_block_types": ["DownEncoderBlock2D"] * 4,
                "up_block_types": ["UpDecoderBlock2D"] * 4,
                "layers_per_block": 2,
                "latent_channels": 16,
                "norm_num_groups": 32,
                "sample_size": 1024,
                "scaling_factor": 0.3611,
                "shift_factor": 0.1159,
                "use_quant_conv": False,
                "use_post_quant_conv": False,
            },
        ),
        "scheduler": (
            "diffusers",
            "FlowMatchEulerDiscreteScheduler",
            {
                "base_image_seq_len": 256,
                "base_shift": 0.5,
                "max_image_seq_len": 4096,
                "max_shift": 1.15,
                "num_train_timesteps": 1000,
                "shift": 3.0,
                "use_dynamic_shifting": True,
            },
        ),
        "tokenizer": ("transformers", "Qwen2Tokenizer", {"model_max_length": 77}),
        "tokenizer_2": ("transformers", "Qwen2Tokenizer", {"model_max_length": 512}),
    },
}

_QWEN_3_PICTURES: JsonObject = {
    "size": {"shortest_edge": 65536, "longest_edge": 16777216},
    "patch_size": 16,
    "image_mean": HALF,
    "image_std": HALF,
}
_QWEN_3_VISION: JsonObject = {
    "depth": 27,
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_heads": 16,
    "patch_size": 16,
    "num_position_embeddings": 2304,
}


def _qwen_3_vl(model_type: str, wide: int, text: Mapping[str, Json]) -> JsonObject:
    """Qwen3-VL, by its `config.json`."""
    return {
        "processor": "Qwen3VLProcessor",
        "pictures": _QWEN_3_PICTURES,
        "config": {
            "model_type": model_type,
            "tie_word_embeddings": False,
            "text_config": {
                "model_type": f"{model_type}_text",
                "hidden_size": wide,
                "head_dim": 128,
                "max_position_embeddings": 262144,
                "rms_norm_eps": 1e-6,
                "vocab_size": 151936,
                "tie_word_embeddings": False,
                "rope_parameters": {
                    "rope_type": "default",
                    "mrope_interleaved": True,
                    "mrope_section": [24, 20, 20],
                    "rope_theta": 5e6,
                },
                **text,
            },
            "vision_config": {
                "model_type": model_type,
                **_QWEN_3_VISION,
                "out_hidden_size": wide,
                "deepstack_visual_indexes": [8, 16, 24],
            },
        },
    }


def _qwen_3_5(wide: int, inner: int, layers: int, heads: int, value_heads: int) -> JsonObject:
    """Qwen3.5 and Qwen3.6, dense: every fourth layer attends to all tokens, the others are linear.

    The 9B is what transformers 5.23 has as the default of `Qwen3_5TextConfig`. The text network of the 27B, which
    Qwen3.6-27B repeats, agrees with public code; its pictures' network was not looked up. The counts are checked.
    """
    return {
        "processor": "Qwen3VLProcessor",
        "pictures": _QWEN_3_PICTURES,
        "thinks": True,
        "config": {
            "model_type": "qwen3_5",
            "tie_word_embeddings": False,
            "text_config": {
                "model_type": "qwen3_5_text",
                "hidden_size": wide,
                "intermediate_size": inner,
                "num_hidden_layers": layers,
                "num_attention_heads": heads,
                "num_key_value_heads": 4,
                "head_dim": 256,
                "linear_conv_kernel_dim": 4,
                "linear_key_head_dim": 128,
                "linear_value_head_dim": 128,
                "linear_num_key_heads": 16,
                "linear_num_value_heads": value_heads,
                "layer_types": [*["linear_attention"] * 3, "full_attention"] * (layers // 4),
                "max_position_embeddings": 262144,
                "rms_norm_eps": 1e-6,
                "vocab_size": 248320,
                "tie_word_embeddings": False,
                "rope_parameters": {
                    "rope_type": "default",
                    "mrope_interleaved": True,
                    "mrope_section": [11, 11, 10],
                    "partial_rotary_factor": 0.25,
                    "rope_theta": 1e7,
                },
            },
            "vision_config": {"model_type": "qwen3_5_vision", **_QWEN_3_VISION, "out_hidden_size": wide},
        },
    }


_27B = _qwen_3_5(5120, 17408, 64, 24, 48)

CONFIGURATIONS: Mapping[str, Mapping[str, Any]] = {
    "Qwen/Qwen-Image-Edit": _qwen_image_edit("QwenImageEditPipeline"),
    "Qwen/Qwen-Image-Edit-2509": _qwen_image_edit("QwenImageEditPlusPipeline"),
    "Qwen/Qwen-Image-Edit-2511": _qwen_image_edit("QwenImageEditPlusPipeline", zero_cond_t=True),
    "black-forest-labs/FLUX.1-Kontext-dev": _FLUX_KONTEXT,
    "Qwen/Qwen2.5-VL-7B-Instruct": {
        "processor": "Qwen2_5_VLProcessor",
        "pictures": {"size": {"shortest_edge": 3136, "longest_edge": 12845056}},
        "config": _QWEN_2_5_VL_7B,
    },
    "Qwen/Qwen3-VL-8B-Instruct": _qwen_3_vl(
        "qwen3_vl",
        4096,
        {"intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8},
    ),
    "Qwen/Qwen3-VL-30B-A3B-Instruct": _qwen_3_vl(
        "qwen3_vl_moe",
        2048,
        {
            "intermediate_size": 6144,
            "num_hidden_layers": 48,
            "num_attention_heads": 32,
            "num_key_value_heads": 4,
            "moe_intermediate_size": 768,
            "num_experts": 128,
            "num_experts_per_tok": 8,
            "norm_topk_prob": True,
            "decoder_sparse_step": 1,
        },
    ),
    "Qwen/Qwen3.5-9B": _qwen_3_5(4096, 12288, 32, 16, 32),
    "Qwen/Qwen3.5-27B": _27B,
    "Qwen/Qwen3.6-27B": _27B,
}
"""By their names on the Hub."""

SMALL: Mapping[str, int] = {"canvas": 4096, "num_inference_steps": 2, "max_new_tokens": 8, "thinking_tokens": 8}
"""The most of what is asked of a model that is cut to few layers, on a CPU: what ends."""
SMALL_CALLS: Mapping[str, Mapping[str, Json]] = {"FluxKontextPipeline": {"_auto_resize": False}}
"""By pipeline, what a small picture needs of its call: its table of shapes has nothing below a megapixel."""
MEGAPIXEL_TOKENS = 2 * 1024 * 1024 // 16**2
"""Of a source and an edit of a megapixel, of 16 x 16 pixels each, as most pipelines have them."""

LEAST_LAYERS: Mapping[str, Mapping[str, int]] = {
    "Flux2Pipeline": {"text_encoder": 31},
    "Flux2KleinPipeline": {"text_encoder": 28},
    "Flux2KleinKVPipeline": {"text_encoder": 28},
    "BriaFibo2Pipeline": {"text_encoder": 36},
}
"""By pipeline and part: layers that must stay when others are cut, as the pipeline takes the numbers of a layer in the
middle (the signatures in diffusers 0.42.1: 10, 20 and 30; 9, 18 and 27; up to 35)."""
