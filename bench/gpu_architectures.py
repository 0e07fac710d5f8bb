"""Qwen-Image-Edit's and Qwen3-VL-30B-A3B's sizes, layer by layer."""

from __future__ import annotations

import json
from typing import Any

# From the models' published configurations; `tiny` has the same classes in the smallest size that works.
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "full": {
        "transformer": {
            "patch_size": 2,
            "in_channels": 64,
            "out_channels": 16,
            "num_layers": 60,
            "attention_head_dim": 128,
            "num_attention_heads": 24,
            "joint_attention_dim": 3584,
            "guidance_embeds": False,
            "axes_dims_rope": [16, 56, 56],
        },
        "vae": {
            "base_dim": 96,
            "z_dim": 16,
            "dim_mult": [1, 2, 4, 4],
            "num_res_blocks": 2,
            "attn_scales": [],
            "temperal_downsample": [False, True, True],
        },
        "encoder": {
            "text": {
                "hidden_size": 3584,
                "intermediate_size": 18944,
                "num_hidden_layers": 28,
                "num_attention_heads": 28,
                "num_key_value_heads": 4,
                "max_position_embeddings": 128000,
                "rms_norm_eps": 1e-6,
                "vocab_size": 152064,
                "rope_parameters": {"rope_type": "default", "mrope_section": [16, 24, 24], "rope_theta": 1e6},
            },
            "vision": {
                "depth": 32,
                "hidden_size": 1280,
                "intermediate_size": 3420,
                "num_heads": 16,
                "patch_size": 14,
                "out_hidden_size": 3584,
                "window_size": 112,
                "fullatt_block_indexes": [7, 15, 23, 31],
            },
            "pixels": {"shortest_edge": 3136, "longest_edge": 12845056},
        },
        "judge": {
            "text": {
                "hidden_size": 2048,
                "intermediate_size": 6144,
                "num_hidden_layers": 48,
                "num_attention_heads": 32,
                "num_key_value_heads": 4,
                "head_dim": 128,
                "moe_intermediate_size": 768,
                "num_experts": 128,
                "num_experts_per_tok": 8,
                "norm_topk_prob": True,
                "max_position_embeddings": 262144,
                "rms_norm_eps": 1e-6,
                "vocab_size": 151936,
                "rope_parameters": {
                    "rope_type": "default",
                    "mrope_interleaved": True,
                    "mrope_section": [24, 20, 20],
                    "rope_theta": 5e6,
                },
            },
            "vision": {
                "depth": 27,
                "hidden_size": 1152,
                "intermediate_size": 4304,
                "num_heads": 16,
                "patch_size": 16,
                "out_hidden_size": 2048,
                "num_position_embeddings": 2304,
                "deepstack_visual_indexes": [8, 16, 24],
            },
            "pixels": {"shortest_edge": 65536, "longest_edge": 16777216},
        },
    },
    "tiny": {
        "transformer": {
            "patch_size": 2,
            "in_channels": 64,
            "out_channels": 16,
            "num_layers": 2,
            "attention_head_dim": 16,
            "num_attention_heads": 4,
            "joint_attention_dim": 64,
            "guidance_embeds": False,
            "axes_dims_rope": [4, 6, 6],
        },
        "vae": {
            "base_dim": 8,
            "z_dim": 16,
            "dim_mult": [1, 1, 1, 1],
            "num_res_blocks": 1,
            "attn_scales": [],
            "temperal_downsample": [False, True, True],
        },
        "encoder": {
            "text": {
                "hidden_size": 64,
                "intermediate_size": 128,
                "num_hidden_layers": 2,
                "num_attention_heads": 4,
                "num_key_value_heads": 2,
                "vocab_size": 1024,
                "rope_parameters": {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 1e6},
            },
            "vision": {
                "depth": 2,
                "hidden_size": 32,
                "intermediate_size": 64,
                "num_heads": 2,
                "out_hidden_size": 64,
                "window_size": 56,
                "fullatt_block_indexes": [1],
            },
            "pixels": {"shortest_edge": 3136, "longest_edge": 12544},
        },
        "judge": {
            "text": {
                "hidden_size": 64,
                "intermediate_size": 128,
                "num_hidden_layers": 2,
                "num_attention_heads": 4,
                "num_key_value_heads": 2,
                "head_dim": 16,
                "moe_intermediate_size": 32,
                "num_experts": 4,
                "num_experts_per_tok": 2,
                "norm_topk_prob": True,
                "vocab_size": 1024,
                "rope_parameters": {
                    "rope_type": "default",
                    "mrope_interleaved": True,
                    "mrope_section": [4, 2, 2],
                    "rope_theta": 5e6,
                },
            },
            "vision": {
                "depth": 3,
                "hidden_size": 32,
                "intermediate_size": 64,
                "num_heads": 2,
                "patch_size": 16,
                "out_hidden_size": 64,
                "num_position_embeddings": 64,
                "deepstack_visual_indexes": [0, 1],
            },
            "pixels": {"shortest_edge": 4096, "longest_edge": 16384},
        },
    },
}


def architecture(size: str, layers: int | None = None) -> dict[str, Any]:
    """Returns the models' settings; with `layers`, each stack is cut to that many layers, at full width."""
    made: dict[str, Any] = json.loads(json.dumps(ARCHITECTURES[size]))
    if layers:
        made["transformer"]["num_layers"] = layers
        for model in ("encoder", "judge"):
            made[model]["text"]["num_hidden_layers"] = layers
        made["encoder"]["vision"].update(depth=layers, fullatt_block_indexes=[layers - 1])
        depth = max(layers, 2)
        made["judge"]["vision"].update(depth=depth, deepstack_visual_indexes=list(range(min(depth, 3))))
    return made
