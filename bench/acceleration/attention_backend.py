"""Which kernel computes the transformer's attention, a third of an edit's arithmetic.

`native` is torch's own choice, the same in every worker with one torch and one kind of GPU, and recorded. On a Hopper
GPU it was FlashAttention 2; since 2.9 it is cuDNN's kernel, where cuDNN is new enough (torch pull request 162073).
cuDNN's is reported 1.7 to 2.3 times as fast there (transformers pull request 48163; 631 against 329 TFLOP/s for 24
heads and 4608 tokens, torch issue 142132), which makes a whole edit 1.15 to 1.2 times as fast; on Ampere it is reported
slower. Not measured here. Kernels add in different orders, so pixels are equal up to rounding only: the name is part of
the key.

`auto` is a rule and no race: what is chosen follows from the kind of GPU and the packages that are installed, so it is
the same in every worker and on every day, as the pixels of one kind of GPU with one set of versions have to be. Two
kernels timed against each other would be told apart by chance where they are near each other.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from acceleration.trials import trial

BACKENDS = (
    "native",
    "_native_cudnn",
    "_native_flash",
    "_native_efficient",
    "_native_math",
    "flash",
    "flash_hub",
    "_flash_3",
    "_flash_3_hub",
    "flash_4_hub",
    "xformers",
)
"""diffusers' names of the kernels that compute in full precision; the quantised ones (`sage`) make other pictures."""

AUTO = "auto"
HOPPER = (9, 0)
"""Compute capability of the H100 and the H200."""

TOKENS = 128
"""Length of the attention that is tried."""
FURTHEST = 0.02
"""How far the numbers tried, which lie between -1 and 1, may be from those of 32 bits: bfloat16 has 8 bits."""


def reported_fastest(device: Any) -> str:
    """The kernel that `auto` stands for: the one reported fastest on this kind of GPU with what is installed."""
    import torch

    if not str(device).startswith("cuda") or torch.cuda.get_device_capability(device) != HOPPER:
        return "native"
    if find_spec("flash_attn_interface"):  # FlashAttention 3, built from source for Hopper alone: who has it wants it
        return "_flash_3"
    # The same kernel under either name; under its own diffusers copies what goes in and what comes out.
    return "native" if torchs_choice(device) == "CUDNN_ATTENTION" else "_native_cudnn"


def torchs_choice(device: Any, heads: int = 24, width: int = 128) -> str:
    """The kernel that `native` is on a GPU, by torch's name for it; empty where this torch does not say."""
    import torch

    numbers = torch.zeros(1, heads, TOKENS, width, dtype=torch.bfloat16, device=device)
    try:
        return str(torch.nn.attention.SDPBackend(torch._fused_sdp_choice(numbers, numbers, numbers)).name)
    except (AttributeError, TypeError, ValueError):
        return ""


def active_backend() -> str:
    """The kernel that diffusers computes attention with in this process."""
    from diffusers.models import attention_dispatch

    return str(attention_dispatch._AttentionBackendRegistry.get_active_backend()[0].value)


def use_attention(transformer: Any, name: str, device: Any) -> str:
    """Has `transformer` compute attention with the kernel `name`, once it has been tried on `device`; returns its name.

    Whatever `DIFFUSERS_ATTN_BACKEND` says: the environment must not change pixels. Raises `LoadError` where the kernel
    is missing or does not work there: it never falls back to another one, which would make other pixels.
    """
    if name == AUTO:
        name = reported_fastest(device)
    with trial(f"attention: {name} cannot be used here", "`attention: native` works everywhere"):
        if active_backend() != name:
            transformer.set_attention_backend(name)
        if name != "native":
            _try(transformer, device)
    active = active_backend()
    if active == "native" and str(device).startswith("cuda") and (choice := torchs_choice(device)):
        return f"{active} ({choice})"
    return active


def _try(transformer: Any, device: Any) -> None:
    """One small attention of the transformer's own width; raises what the kernel raises, or `ValueError` for NaN and
    for other numbers than attention has."""
    import torch
    from diffusers.models.attention_dispatch import dispatch_attention_fn

    heads, width = transformer.config.num_attention_heads, transformer.config.attention_head_dim
    numbers = torch.linspace(-1, 1, TOKENS * heads * width, device=device).to(transformer.dtype)
    numbers = numbers.view(1, TOKENS, heads, width)
    with torch.no_grad():
        attended = dispatch_attention_fn(numbers, numbers, numbers)
        exact = numbers.float().transpose(1, 2)
        weights = torch.softmax(exact @ exact.transpose(2, 3) / width**0.5, dim=-1)
        furthest = float((attended.float() - (weights @ exact).transpose(1, 2)).abs().max())
    if not furthest <= FURTHEST:  # nor NaN
        raise ValueError(f"it computes {furthest:.3g} beside what attention is")
