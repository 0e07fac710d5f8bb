"""The VAE in two dimensions against diffusers' own in three."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from edit_eval.edit_models.acceleration.single_frame_vae import use_single_frame_convolutions
from edit_models.tiny_edits import PIPELINES, PLAIN, edited, levels_apart, loaded

pytestmark = [pytest.mark.real_models, pytest.mark.models]


@pytest.fixture
def vae(tiny_models: Path) -> Any:
    return loaded(tiny_models / "qwen-image-edit", **PLAIN)._pipeline.vae


@pytest.mark.parametrize(("dtype", "most"), [("float64", 1e-12), ("float32", 1e-5)])
def test_encoding_and_decoding_are_equal_up_to_rounding(dtype: str, most: float, vae: Any) -> None:
    """The tiny decoder amplifies: its latents of 0.1 become pixels of 0.4; the real one's bound is 1e-6."""
    import torch

    vae = vae.to(getattr(torch, dtype))
    flat = copy.deepcopy(vae)
    assert use_single_frame_convolutions(flat) > 20
    picture = torch.linspace(-1, 1, 3 * 48 * 64, dtype=vae.dtype).view(1, 3, 1, 48, 64).sin()
    with torch.no_grad():
        latents = vae.encode(picture).latent_dist.mode()
        assert torch.allclose(flat.encode(picture).latent_dist.mode(), latents, rtol=0, atol=most)
        decoded = vae.decode(latents).sample
        assert torch.allclose(flat.decode(latents).sample, decoded, rtol=0, atol=most)
    assert decoded.std() > 0.1, "a picture of one colour would prove nothing"


def test_the_weights_over_time_are_gone_and_a_video_is_refused(vae: Any) -> None:
    import torch

    before = sum(p.numel() for p in vae.parameters())
    use_single_frame_convolutions(vae)
    assert sum(p.numel() for p in vae.parameters()) < before / 2
    with pytest.raises(ValueError, match="single_frame_vae: this VAE was set up for single pictures"):
        vae.encode(torch.zeros(1, 3, 5, 32, 32))


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_edits_are_equal_up_to_rounding(name: str, dtype: str, tiny_models: Path) -> None:
    plain = loaded(tiny_models / name, dtype=dtype, **PLAIN)
    flat = loaded(tiny_models / name, dtype=dtype, single_frame_vae=True)
    apart = levels_apart(edited(plain), edited(flat))
    assert apart <= (1 if dtype == "float32" else 4)
    assert levels_apart(edited(plain), edited(flat, "remove the dog", seed=8)) > 8, "the test of the test"


@pytest.mark.parametrize("offload", ["model", "group"])
def test_with_offload(offload: str, tiny_models: Path) -> None:
    flat = loaded(tiny_models / "qwen-image-edit", offload, single_frame_vae=True)
    assert levels_apart(edited(flat), edited(loaded(tiny_models / "qwen-image-edit"))) <= 1
