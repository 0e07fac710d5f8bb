"""The transformer's GELU computed within the matrix product before it.

Between the two halves of each MLP lie numbers of four times the width, which are written, read, bent and written again:
472 MB a layer for 1 megapixel in bfloat16, 28 GB a forward of Qwen-Image. cuBLASLt bends them before it writes them at
all (`torch._addmm_activation`), by the same formula (tanh). It should save 6.6 ms of some 310 ms a forward (counted at
4.3 TB/s); SGLang measured 12.36 against 12.05 s for 50 steps of Qwen-Image on an H200 (its pull request 33536), and a
loss on Blackwell's consumer GPUs (34350). Not measured here. What is bent was not rounded before: equal up to rounding.
"""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import Any

from acceleration.trials import check_near, trial

TOKENS = 64
"""Length of the input that is tried."""
FURTHEST = 0.03
"""How far the outcome may be from the stock layer's, relative to its largest number: bfloat16 has 8 bits."""


def fuse_gelu(transformer: Any, device: Any) -> int:
    """Has the GELUs of a diffusers transformer computed within the products before them; returns how many.

    None on a CPU, whose product knows another formula, and none of quantised layers. Raises `LoadError` where the GPU
    computes something else than the stock layer.
    """
    return _fuse(transformer, device) if str(device).startswith("cuda") else 0


def _fuse(transformer: Any, device: Any) -> int:
    import torch
    from diffusers.models.activations import GELU

    found = [
        (parent, name, layer)
        for parent in list(transformer.modules())
        for name, layer in parent.named_children()
        if type(layer) is GELU
        and layer.approximate == "tanh"
        and type(layer.proj) is torch.nn.Linear
        and layer.proj.bias is not None
    ]
    if found:
        _try(found[0][2], device)
    for parent, name, layer in found:
        setattr(parent, name, fused(layer))
    return len(found)


def fused(layer: Any) -> Any:
    """A module in the place of diffusers' `GELU`: the same weights under the same names."""
    return _class()(layer.proj)


@lru_cache(maxsize=1)  # one class: layers of different classes would be compiled one by one
def _class() -> Any:
    import torch

    class FusedGELU(torch.nn.Module):  # type: ignore[misc]
        """A linear layer and the GELU behind it; its weights have the names that they had."""

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
    """On `device`, wherever the weights are."""
    import torch

    layer = copy.deepcopy(layer).to(device)
    weight = layer.proj.weight
    numbers = torch.linspace(-3, 3, TOKENS * weight.shape[1], device=weight.device).sin().to(weight.dtype)
    numbers = numbers.view(1, TOKENS, weight.shape[1])
    with trial("fused_gelu: it cannot be used here", "set it to false"), torch.no_grad():
        check_near(fused(layer)(numbers), layer(numbers), FURTHEST)
