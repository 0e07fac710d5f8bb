"""Computes each of the judge's norms in one kernel of torch instead of transformers' eight.

transformers writes intermediate values to memory and reads them again, mostly in 32 bits: 18 times the bytes of the
input, where one kernel moves 2 times. For Qwen3-VL-30B-A3B (norms of width 2048 twice, 4096 and 512 in each of 48
layers) that is 39 GB more for a pair of 2,900 tokens, 9 ms of about a hundred at 4.3 TB/s (less is saved where torch's
kernel is slow for the short rows of queries and keys), and 1,300 more kernels to start for each token of an answer;
counted, not measured on a GPU. The weight is multiplied before rounding to 16 bits, not after, so results are equal up
to rounding.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from acceleration.trials import check_near, trial

TOKENS = 8
"""Length of the trial's input for each kind of norm."""
FURTHEST = 0.02
"""Largest difference allowed from the stock norm's output, relative to its largest number: bfloat16 has 8 bits."""


def fuse_norms(model: Any) -> int:
    """Fuses each RMS norm of a transformers model into one kernel; returns how many.

    Leaves out those whose weights move between devices. Raises `LoadError` if a norm of the model is not the one its
    name says.
    """
    norms = [
        layer
        for layer in model.modules()
        if type(layer).__name__.endswith("RMSNorm")
        and hasattr(layer, "variance_epsilon")
        and getattr(layer, "weight", None) is not None
        and not hasattr(layer, "_hf_hook")
    ]
    for layer in {type(layer): layer for layer in norms}.values():
        _try(layer)
    for layer in norms:
        layer.forward = partial(_norm, layer)
    return len(norms)


def _norm(layer: Any, hidden_states: Any) -> Any:
    """Maps (..., width) to the same shape."""
    import torch

    return torch.nn.functional.rms_norm(hidden_states, layer.weight.shape, layer.weight, layer.variance_epsilon)


def _try(layer: Any) -> None:
    import torch

    weight = layer.weight
    numbers = torch.linspace(-3, 3, TOKENS * weight.numel(), device=weight.device).to(weight.dtype)
    numbers = numbers.view(TOKENS, weight.numel())
    kind = type(layer).__name__
    with (
        trial(f"fused_norms: {kind} of this model is not the usual norm of that name", "set it to false"),
        torch.no_grad(),
    ):
        check_near(_norm(layer, numbers), layer(numbers), FURTHEST)
