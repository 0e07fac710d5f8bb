"""How long edits take by what others have measured, for `plan`; nothing here was measured by us."""

from __future__ import annotations

FORWARD_SECONDS = 0.50
"""One forward of Qwen-Image-Edit's transformer at 1 megapixel with stock diffusers: an image of 50 steps with CFG,
which is 100 forwards, takes 51.5 s in vLLM-Omni's documentation."""
AROUND_SECONDS = 1.2
"""Both prompt encodings, VAE, post-processing: 1.05 s + 0.11 s on an H100 (published by SGLang and LightX2V)."""
QWEN_IMAGE_BYTES = 57.7e9
"""Qwen-Image-Edit in bfloat16: 20.43 + 8.29 + 0.13 billion parameters."""
LOAD_BYTES_A_SECOND = 1.0e9
"""From a disk that was not read before, imports included."""


def of_qwen_image(steps: int, weight: float) -> tuple[float, float, str]:
    """Seconds of a load and of an edit of 1 megapixel by a model of Qwen-Image's architecture, and who says so."""
    forwards = steps * (2 if weight > 1 else 1)
    source = f"{forwards} forward{'s' * (forwards != 1)} at {FORWARD_SECONDS:g} s, published for an H100"
    return QWEN_IMAGE_BYTES / LOAD_BYTES_A_SECOND, forwards * FORWARD_SECONDS + AROUND_SECONDS, source
