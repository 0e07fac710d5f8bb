"""Computes the transformer's last layer for the noise only, since its output for text and source is not used.

Of the last layer's output, the pipelines keep only the noise tokens, fewer than half of all. The others are needed as
keys and values of its attention, but neither as queries nor after it: that saves half of the layer's arithmetic, 1.7 of
198 TFLOP a forward of Qwen-Image's 60 layers (0.85 %; counted, not measured on a GPU). The remaining arithmetic is the
same in blocks of other sizes, so pixels are equal up to rounding.
"""

from __future__ import annotations

import sys
from math import prod
from typing import Any

from acceleration.trials import check_near, trial

TOKENS = 16
"""Tokens of each kind in the trial."""
FURTHEST = 0.03
"""Largest difference allowed from the stock layer's output, relative to its largest number: bfloat16 has 8 bits."""


def use_last_layer_for_noise(transformer: Any) -> None:
    """Makes the last layer of a Qwen-Image transformer compute only what the pipelines keep, after a trial.

    Call it before measures that take parts out of the layers. Raises `LoadError` if this version of diffusers computes
    the layer differently than this module.
    """
    with trial(
        "short_last_layer: this version of diffusers has layers that edit-eval does not know", "set it to false"
    ):
        _try(transformer)
    layers = transformer.transformer_blocks
    layers[-1] = _class()(layers[-1])

    def count(module: Any, arguments: Any, keywords: dict[str, Any]) -> None:
        layers[-1].noise_tokens = prod(keywords["img_shapes"][0][0])

    transformer.register_forward_pre_hook(count, with_kwargs=True)


def _class() -> Any:
    import torch

    class LastLayer(torch.nn.Module):
        """Replaces the last layer, and returns only the noise tokens, which come first.

        Only the layer inside is compiled: it sees the number of tokens as a shape, which may vary.
        """

        def __init__(self, layer: Any) -> None:
            super().__init__()
            self.layer = layer
            self.noise_tokens = 0
            layer.forward = lambda **given: _noise(layer, **given)

        def forward(self, hidden_states: Any, encoder_hidden_states: Any, **given: Any) -> tuple[Any, Any]:
            noise, rest = hidden_states[:, : self.noise_tokens], hidden_states[:, self.noise_tokens :]
            return encoder_hidden_states, self.layer(noise=noise, rest=rest, text=encoder_hidden_states, **given)

    return LastLayer


def _noise(
    layer: Any,
    *,
    noise: Any,
    rest: Any,
    text: Any,
    encoder_hidden_states_mask: Any,
    temb: Any,
    image_rotary_emb: Any,
    joint_attention_kwargs: Any = None,
    modulate_index: Any = None,
) -> Any:
    """Computes the layer for the noise. `noise`, `rest`, `text` and the result are (batch, tokens, width)."""
    import torch
    from diffusers.models.attention_dispatch import dispatch_attention_fn

    attention = layer.attn
    turn = sys.modules[type(layer).__module__].apply_rotary_emb_qwen
    width = attention.inner_dim // attention.heads
    tokens = noise.shape[1]

    def heads(projected: Any) -> Any:
        return projected.unflatten(-1, (-1, width))

    first, second = layer.img_mod(temb).chunk(2, dim=-1)
    for_text = layer.txt_mod(temb.chunk(2, dim=0)[0] if layer.zero_cond_t else temb).chunk(2, dim=-1)[0]
    pictures, gate = layer._modulate(layer.img_norm1(torch.cat([noise, rest], dim=1)), first, modulate_index)
    texts, _ = layer._modulate(layer.txt_norm1(text), for_text)
    query = attention.norm_q(heads(attention.to_q(pictures[:, :tokens])))
    keys = [
        attention.norm_added_k(heads(attention.add_k_proj(texts))),
        attention.norm_k(heads(attention.to_k(pictures))),
    ]
    values = [heads(attention.add_v_proj(texts)), heads(attention.to_v(pictures))]
    if image_rotary_emb is not None:
        for_pictures, for_texts = image_rotary_emb
        query = turn(query, for_pictures[:tokens], use_real=False)
        keys = [turn(keys[0], for_texts, use_real=False), turn(keys[1], for_pictures, use_real=False)]
    mask = encoder_hidden_states_mask
    if mask is not None:  # a batch of texts of different lengths
        mask = torch.cat([mask, mask.new_ones(pictures.shape[:2])], dim=1)[:, None, None, :]
    attended = dispatch_attention_fn(
        query,
        torch.cat(keys, dim=1),
        torch.cat(values, dim=1),
        attn_mask=mask,
        backend=attention.processor._attention_backend,
    )
    noise = noise + gate[:, :tokens] * attention.to_out[0](attended.flatten(2, 3).to(query.dtype))
    index = None if modulate_index is None else modulate_index[:, :tokens]
    modulated, gate = layer._modulate(layer.img_norm2(noise), second, index)
    made = noise + gate * layer.img_mlp(modulated)
    return made.clip(-65504, 65504) if made.dtype == torch.float16 else made


def _try(transformer: Any) -> None:
    """Raises what the layer raises, or `ValueError` if the stock layer's result differs from `_noise`."""
    import torch

    layer = transformer.transformer_blocks[-1]
    weight = layer.attn.to_q.weight
    size = layer.attn.inner_dim
    kind = {"device": weight.device, "dtype": transformer.dtype}

    def numbers(tokens: int) -> Any:
        return torch.linspace(-1, 1, tokens * size, **kind).view(1, tokens, size).sin()

    pictures, text = numbers(2 * TOKENS), numbers(TOKENS).flip(1)
    index = torch.tensor([[0] * TOKENS + [1] * TOKENS], device=weight.device) if layer.zero_cond_t else None
    time = torch.cat([numbers(1)[0], numbers(1)[0].flip(1)]) if layer.zero_cond_t else numbers(1)[0]
    half = TOKENS // 4
    rotary = transformer.pos_embed([[(1, 4, half), (1, 4, half)]], max_txt_seq_len=TOKENS, device=weight.device)
    same = {"encoder_hidden_states_mask": None, "temb": time, "image_rotary_emb": rotary, "modulate_index": index}
    with torch.no_grad():
        _, stock = layer(hidden_states=pictures, encoder_hidden_states=text, **same)
        ours = _noise(layer, noise=pictures[:, :TOKENS], rest=pictures[:, TOKENS:], text=text, **same)
    check_near(ours, stock[:, :TOKENS], FURTHEST)
