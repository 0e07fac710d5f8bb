"""The real encoder classes with tiny random weights, each in a folder as `save_pretrained` writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

WIDTHS = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
PATCHES = {**WIDTHS, "image_size": 32, "patch_size": 8}


def build(folder: Path) -> Path:
    """`clip`, `dinov2` and `dino`, whose files have no pooler, under `folder`, which is returned."""
    import torch
    import transformers as library

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        models = {
            "clip": _clip(library),
            "dinov2": library.Dinov2Model(library.Dinov2Config(**PATCHES)),
            "dino": library.ViTModel(library.ViTConfig(**PATCHES), add_pooling_layer=False),
        }
        for name, model in models.items():
            for parameter in model.parameters():
                if parameter.ndim > 1:  # as they begin, all pictures look the same
                    torch.nn.init.normal_(parameter, std=0.3)
            model.eval().save_pretrained(folder / name)
    crop = {"size": {"shortest_edge": 40}, "crop_size": {"height": 32, "width": 32}}
    library.CLIPImageProcessorPil(**crop).save_pretrained(folder / "clip")
    library.BitImageProcessorPil(**crop).save_pretrained(folder / "dinov2")
    library.ViTImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder / "dino")
    _tokenizer(library).save_pretrained(folder / "clip")
    return folder


def _tokenizer(library: Any) -> Any:
    letters = [letter + end for letter in "abcdefghijklmnopqrstuvwxyz" for end in ("", "</w>")]
    tokens = ["<|startoftext|>", "<|endoftext|>", *letters]
    return library.CLIPTokenizer(vocab={token: place for place, token in enumerate(tokens)}, merges=[])


def _clip(library: Any) -> Any:
    ends = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
    text = {**WIDTHS, "vocab_size": 54, "max_position_embeddings": 16, **ends}
    return library.CLIPModel(library.CLIPConfig(text_config=text, vision_config=PATCHES, projection_dim=24))
