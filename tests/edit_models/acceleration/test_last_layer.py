"""The last layer only for the noise against the whole one: the same up to rounding, with half of the arithmetic."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from edit_eval.edit_models.acceleration.last_layer import use_last_layer_for_noise
from edit_eval.edit_models.acceleration.modulation_tables import use_modulation_tables
from edit_eval.edit_models.qwen_image_edit import QwenImageEdit
from edit_eval.errors import LoadError
from edit_models.tiny_edits import EDITS, PIPELINES, PLAIN, edited, levels_apart, loaded, picture, pixels

pytestmark = [pytest.mark.real_models, pytest.mark.models]


def most_apart(one: QwenImageEdit, other: QwenImageEdit) -> int:
    """The largest difference over all edits, of 255."""
    return max(
        levels_apart(*(edited(model, prompt, seed, picture(*size)) for model in (one, other)))
        for prompt, seed, size in EDITS
    )


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("modulation", ["live", "table", "table_only"])
def test_edits_are_the_same_up_to_rounding(modulation: str, name: str, tiny_models: Path) -> None:
    settings: dict[str, Any] = {**PLAIN, "modulation": modulation, "num_inference_steps": 3}
    short = loaded(tiny_models / name, short_last_layer=True, **settings)
    assert short.about()["last_layer"] == "only for the noise"
    whole = loaded(tiny_models / name, **settings)
    assert whole.about()["last_layer"] == ""
    assert most_apart(short, whole) <= 1


def test_a_model_whose_reference_has_the_time_0(tiny_models: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_models / "qwen-image-edit-plus", tmp_path / "copy"))
    config = folder / "transformer" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"zero_cond_t": True}))
    assert most_apart(loaded(folder, short_last_layer=True), loaded(folder)) <= 1


def forward(transformer: Any, texts: int = 1) -> Any:
    """The transformer's outcome for a noise of 4 x 6 and a source of 4 x 4 tokens."""
    import torch

    torch.manual_seed(3)
    mask = torch.ones(texts, 9, dtype=torch.bool)
    mask[0, 5:] = texts == 1
    with torch.no_grad():
        return transformer(
            hidden_states=torch.randn(texts, 40, 64),
            timestep=torch.full((texts,), 0.5),
            encoder_hidden_states=torch.randn(texts, 9, transformer.config.joint_attention_dim),
            encoder_hidden_states_mask=mask if texts > 1 else None,
            img_shapes=[[(1, 4, 6), (1, 4, 4)]] * texts,
        ).sample


@pytest.mark.parametrize("texts", [1, 2])
def test_only_the_noise_comes_out_and_half_of_the_layer_is_computed(texts: int, tiny_models: Path) -> None:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    transformer = loaded(tiny_models / "qwen-image-edit", **PLAIN)._pipeline.transformer
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as before:
        whole = forward(transformer, texts)
    use_last_layer_for_noise(transformer)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as after:
        noise = forward(transformer, texts)
    assert noise.shape == (texts, 24, 64)
    torch.testing.assert_close(noise, whole[:, :24], rtol=1e-4, atol=1e-5)
    config = transformer.config
    width, tokens, keys = config.num_attention_heads * config.attention_head_dim, 40, 49
    linear = 2 * 10 * width**2 * (keys - 24)  # queries, output and MLP of what is not noise; keys and values stay
    behind = 2 * (width * config.in_channels) * (tokens - 24)  # the projection behind the last layer
    attention = 4 * (keys - 24) * keys * width
    assert before.get_total_flops() - after.get_total_flops() == texts * (linear + behind + attention)


def test_with_rotary_positions_in_real_numbers_all_is_compiled_once(
    tiny_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from diffusers.models.transformers import transformer_qwenimage
    from torch import _dynamo
    from torch._dynamo.utils import counters

    from edit_eval.edit_models.acceleration.real_rotary import FUNCTION, use_real_rotary
    from edit_eval.edit_models.acceleration.regional_compile import compile_blocks

    monkeypatch.setattr(transformer_qwenimage, FUNCTION, getattr(transformer_qwenimage, FUNCTION))  # put back
    _dynamo.reset()
    counters.clear()
    model = loaded(tiny_models / "qwen-image-edit", short_last_layer=True)
    use_real_rotary(model._pipeline.transformer)
    assert compile_blocks(model._pipeline.transformer, "eager") == 2
    assert most_apart(model, loaded(tiny_models / "qwen-image-edit")) <= 1
    assert counters["stats"]["unique_graphs"] == 2  # the first layer and the last
    _dynamo.reset()


@pytest.mark.parametrize("offload", ["model", "group"])
def test_with_offload(offload: str, tiny_models: Path) -> None:
    model = loaded(tiny_models / "qwen-image-edit", offload, short_last_layer=True)
    assert model.about()["last_layer"] == ("only for the noise" if offload == "model" else "")
    assert levels_apart(edited(model), edited(loaded(tiny_models / "qwen-image-edit", offload))) <= 1


def test_layers_that_compute_something_else_are_found_out(tiny_models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from diffusers.models.transformers import transformer_qwenimage

    block = transformer_qwenimage.QwenImageTransformerBlock
    stock = block.forward

    def newer(self: Any, hidden_states: Any, **given: Any) -> Any:
        text, made = stock(self, hidden_states, **given)
        return text, made * 1.1

    monkeypatch.setattr(block, "forward", newer)
    said = r"short_last_layer: this version of diffusers has layers .* from the stock layer's; set it to false"
    with pytest.raises(LoadError, match=said):
        loaded(tiny_models / "qwen-image-edit", short_last_layer=True)
    monkeypatch.setattr(block, "forward", stock)
    monkeypatch.delattr(block, "_modulate")
    with pytest.raises(LoadError, match=r"short_last_layer: this version of diffusers has layers .* '_modulate'"):
        loaded(tiny_models / "qwen-image-edit", short_last_layer=True)


def test_modulation_tables_hold_the_last_layer_too(tiny_models: Path) -> None:
    model = loaded(tiny_models / "qwen-image-edit", **PLAIN, short_last_layer=True)
    before = sum(p.numel() for p in model._pipeline.transformer.parameters())
    tables = use_modulation_tables(model._pipeline, "table")
    assert tables is not None
    assert tables.bytes == 4 * (before - sum(p.numel() for p in model._pipeline.transformer.parameters()))
    assert pixels(model) == pixels(loaded(tiny_models / "qwen-image-edit", **PLAIN, short_last_layer=True))
