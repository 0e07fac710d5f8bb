"""The VAE's convolutions over space and time as convolutions over space, for a single picture.

Qwen-Image's VAE is one for video: each causal convolution sees two frames of zeros before the picture, so of its
weights over time only the last takes part. What it should save (counted for 1024 x 1024): 7.0 to 2.5 TFLOP of
encoding, 11.3 to 4.3 TFLOP of decoding; on a CPU 2.2 to 3 times the time; on a GPU it is not measured. It also keeps
clear of the three-dimensional convolution that torch 2.9 computes 10 to 20 times slower in bfloat16 (pytorch issue
166122). The arithmetic is the same and the sums are made in another order, so the numbers are equal up to rounding
(1e-6 in float32, of pixels from -1 to 1).
"""

from __future__ import annotations

from functools import partial
from typing import Any

CAUSAL_CONVOLUTION = "QwenImageCausalConv3d"


def use_single_frame_convolutions(vae: Any) -> int:
    """Replaces the causal convolutions that a single picture passes through; returns how many there are.

    Their weights over time are dropped: afterwards the VAE takes one frame and raises `ValueError` for more.
    """
    import torch

    layers = [layer for layer in vae.modules() if type(layer).__name__ == CAUSAL_CONVOLUTION]
    for layer in layers:
        if layer.stride[0] == 1:  # the others join frames and are passed by for the first of a video
            with torch.no_grad():
                last = layer.weight[:, :, -1:].clone(memory_format=torch.contiguous_format)
            layer.weight = torch.nn.Parameter(last, requires_grad=layer.weight.requires_grad)
        layer.forward = partial(_single_frame, layer)
    return len(layers)


def _single_frame(layer: Any, pictures: Any, cache_x: Any = None) -> Any:
    """`pictures` is (batch, channels, 1, height, width), and so is what comes back."""
    import torch

    if pictures.shape[2] != 1 or cache_x is not None or layer.stride[0] != 1:
        raise ValueError("single_frame_vae: this VAE was set up for single pictures and was given a video")
    left, right, top, bottom = layer._padding[:4]
    padding = (top, left)
    if (left, top) != (right, bottom):
        pictures, padding = torch.nn.functional.pad(pictures, (left, right, top, bottom)), (0, 0)
    flat = torch.nn.functional.conv2d(
        pictures[:, :, 0], layer.weight[:, :, 0], layer.bias, layer.stride[1:], padding, layer.dilation[1:]
    )
    return flat.unsqueeze(2)
