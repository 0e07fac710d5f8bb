"""Chooses the kernel of the transformer's attention, a third of an edit's arithmetic.

`native` is torch's own choice, the same in every worker with one torch and one kind of GPU, and recorded. On a Hopper
GPU it was FlashAttention 2; since 2.9 it is cuDNN's kernel, where cuDNN is new enough (torch pull request 162073).
cuDNN's is reported 1.7 to 2.3 times as fast there (transformers pull request 48163; 631 against 329 TFLOP/s for 24
heads and 4608 tokens, torch issue 142132), which makes a whole edit 1.15 to 1.2 times as fast; on Ampere it is reported
slower. Not measured here. Kernels add in different orders, so pixels are equal up to rounding only: the name is part of
the key.

`auto` follows a rule instead of timing kernels: the choice depends on the kind of GPU and the installed packages, so it
is the same in every worker on every day, as pixels have to be for one kind of GPU and one set of versions. Timing would
choose at random between kernels of similar speed.
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
"""diffusers' names of the full-precision kernels; quantised ones (`sage`) change the pictures."""

AUTO = "auto"
HOPPER = (9, 0)
"""Compute capability of the H100 and the H200."""

TOKENS = 128
"""Sequence length of the trial."""
FURTHEST = 0.02
"""Largest difference allowed from the 32-bit result, for inputs from -1 to 1: bfloat16 has 8 bits."""


def reported_fastest(device: Any) -> str:
    """Returns the kernel for `auto`: the one reported fastest on this kind of GPU with the installed packages."""
    import torch

    if not str(device).startswith("cuda") or torch.cuda.get_device_capability(device) != HOPPER:
        return "native"
    if find_spec("flash_attn_interface"):  # FlashAttention 3, built for Hopper only: if installed, it is wanted
        return "_flash_3"
    # The same kernel under either name, but under its own name diffusers copies inputs and outputs.
    return "native" if torchs_choice(device) == "CUDNN_ATTENTION" else "_native_cudnn"


def torchs_choice(device: Any, heads: int = 24, width: int = 128) -> str:
    """Returns torch's name of the kernel that `native` uses on a GPU; empty if this torch does not tell."""
    import torch

    numbers = torch.zeros(1, heads, TOKENS, width, dtype=torch.bfloat16, device=device)
    try:
        return str(torch.nn.attention.SDPBackend(torch._fused_sdp_choice(numbers, numbers, numbers)).name)
    except (AttributeError, TypeError, ValueError):
        return ""


def active_backend() -> str:
    """Returns the kernel that diffusers uses for attention in this process."""
    from diffusers.models import attention_dispatch

    return str(attention_dispatch._AttentionBackendRegistry.get_active_backend()[0].value)


def use_attention(transformer: Any, name: str, device: Any) -> str:
    """Makes `transformer` use the attention kernel `name`, after a trial on `device`; returns its name.

    Overrides `DIFFUSERS_ATTN_BACKEND`, since the environment must not change pixels. Raises `LoadError` if the kernel
    is missing or does not work; it never falls back to another one, which would change pixels.
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
    """Computes a small attention of the transformer's width; raises what the kernel raises, or `ValueError` for NaN or
    wrong numbers."""
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
