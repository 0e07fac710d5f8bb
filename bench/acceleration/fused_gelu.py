"""Computes the transformer's GELU inside the preceding matrix product.

The hidden numbers of each MLP, four times the width, are written, read, put through the GELU and written again: 472 MB
a layer for 1 megapixel in bfloat16, 28 GB a forward of Qwen-Image. cuBLASLt applies the GELU before writing them at all
(`torch._addmm_activation`), by the same formula (tanh). It should save 6.6 ms of some 310 ms a forward (counted at
4.3 TB/s); SGLang measured 12.36 against 12.05 s for 50 steps of Qwen-Image on an H200 (its pull request 33536), and a
loss on Blackwell's consumer GPUs (34350). Not measured here. The input of the GELU is not rounded first, so results are
equal up to rounding.
"""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import Any

from acceleration.trials import check_near, trial

TOKENS = 64
"""Length of the trial's input."""
FURTHEST = 0.03
"""Largest difference allowed from the stock layer's output, relative to its largest number: bfloat16 has 8 bits."""


def fuse_gelu(transformer: Any, device: Any) -> int:
    """Fuses the GELUs of a diffusers transformer into the preceding products; returns how many.

    Fuses none on a CPU, whose product uses another formula, nor in quantised layers. Raises `LoadError` if the GPU's
    result differs from the stock layer's.
    """
    return _fuse(transformer, device) if str(device).startswith("cuda") else 0


def _fuse(transformer: Any, device: Any) -> int:
    import torch
    from diffusers.models.activations import GELU

    layers = [
        (parent, name, layer)
        for parent in list(transformer.modules())
        for name, layer in parent.named_children()
        if type(layer) is GELU
        and layer.approximate == "tanh"
        and type(layer.proj) is torch.nn.Linear
        and layer.proj.bias is not None
    ]
    if layers:
        _try(layers[0][2], device)
    for parent, name, layer in layers:
        setattr(parent, name, fused(layer))
    return len(layers)


def fused(layer: Any) -> Any:
    """Returns a replacement for diffusers' `GELU` with the same weights under the same names."""
    return _class()(layer.proj)


@lru_cache(maxsize=1)  # one class only, since each class of layers is compiled separately
def _class() -> Any:
    import torch

    class FusedGELU(torch.nn.Module):
        """A linear layer with its GELU; its weights keep their names."""

        def __init__(self, proj: Any) -> None:
            super().__init__()
            self.proj = proj

        def forward(self, hidden_states: Any) -> Any:
            """(..., width) to (..., inner width)."""
            rows = hidden_states.reshape(-1, hidden_states.shape[-1])
            bent = torch._addmm_activation(self.proj.bias, rows, self.proj.weight.t(), use_gelu=True)
            return bent.view(*hidden_states.shape[:-1], bent.shape[-1])

    return FusedGELU


def _try(layer: Any, device: Any) -> None:
    """Compares the fused layer with the stock one on `device`, wherever the weights are."""
    import torch

    layer = copy.deepcopy(layer).to(device)
    weight = layer.proj.weight
    numbers = torch.linspace(-3, 3, TOKENS * weight.shape[1], device=weight.device).sin().to(weight.dtype)
    numbers = numbers.view(1, TOKENS, weight.shape[1])
    with trial("fused_gelu: it cannot be used here", "set it to false"), torch.no_grad():
        check_near(fused(layer)(numbers), layer(numbers), FURTHEST)
