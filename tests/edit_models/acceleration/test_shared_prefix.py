"""Prompts read in two parts against prompts read whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edit_eval.edit_models.acceleration.shared_prefix import SharedPrefix
from edit_models.tiny_edits import PIPELINES, PLAIN, edited, levels_apart, loaded, picture, pixels

pytestmark = [pytest.mark.real_models, pytest.mark.models]

PROMPTS = ("make the sky red", " ", "", "put a very large hat on every one of the many dogs", "把天空变成红色")


def encoded(pipeline: Any, prompt: str, *sizes: tuple[int, int]) -> Any:
    import torch

    pictures = [picture(*size) for size in sizes or ((96, 64),)]
    with torch.no_grad():
        return pipeline.encode_prompt(prompt=prompt, image=pictures)[0]


@pytest.mark.parametrize("name", PIPELINES)
def test_hidden_states_are_equal_up_to_rounding_and_the_prefix_is_read_once(name: str, tiny_models: Path) -> None:
    import torch

    whole = loaded(tiny_models / name, **PLAIN)._pipeline
    parted = loaded(tiny_models / name, **PLAIN)._pipeline
    prefix = SharedPrefix(parted.text_encoder)
    for prompt in PROMPTS:
        expected = encoded(whole, prompt)
        assert torch.allclose(encoded(parted, prompt), expected, rtol=0, atol=1e-5)
        assert expected.std() > 0.1
    assert prefix.reused == len(PROMPTS) - 1
    assert not torch.allclose(encoded(whole, PROMPTS[0]), encoded(whole, PROMPTS[0], (64, 96)), atol=1e-2)
    assert torch.allclose(
        encoded(parted, PROMPTS[0], (64, 96)), encoded(whole, PROMPTS[0], (64, 96)), rtol=0, atol=1e-5
    )
    assert prefix.reused == len(PROMPTS) - 1


def test_several_pictures_and_none(tiny_models: Path) -> None:
    import torch

    whole = loaded(tiny_models / "qwen-image-edit-plus", **PLAIN)._pipeline
    parted = loaded(tiny_models / "qwen-image-edit-plus", **PLAIN)._pipeline
    prefix = SharedPrefix(parted.text_encoder)
    both = ((96, 64), (64, 96))
    for prompt in PROMPTS[:2]:
        assert torch.allclose(encoded(parted, prompt, *both), encoded(whole, prompt, *both), rtol=0, atol=1e-5)
    assert prefix.reused == 1
    with torch.no_grad():
        alone = [pipeline.encode_prompt(prompt="a dog", image=None)[0] for pipeline in (parted, whole)]
    assert torch.equal(*alone)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_what_came_before_decides_nothing(dtype: str, tiny_models: Path) -> None:
    """The same bits whether the source's prefix was kept from another prompt, or other sources came between."""
    folder = tiny_models / "qwen-image-edit"
    alone = pixels(loaded(folder, dtype=dtype, shared_prefix=True))
    model = loaded(folder, dtype=dtype, shared_prefix=True)
    edited(model, "remove the dog")
    assert pixels(model) == alone
    edited(model, source=picture(64, 64))
    assert pixels(model) == alone
    uncached = loaded(folder, dtype=dtype, shared_prefix=True, source_cache=False)
    edited(uncached, "put a very large hat on every one of the many dogs")
    assert pixels(uncached) == alone


@pytest.mark.parametrize("name", PIPELINES)
def test_edits_are_equal_up_to_rounding(name: str, tiny_models: Path) -> None:
    parted = loaded(tiny_models / name, shared_prefix=True)
    assert levels_apart(edited(parted), edited(loaded(tiny_models / name, **PLAIN))) <= 1


def test_the_token_types_repair_holds(tiny_models: Path) -> None:
    """Rows and columns of the picture's tokens reach both parts."""
    model = loaded(tiny_models / "qwen-image-edit", shared_prefix=True)
    assert "14194" in model.about()["repairs"]
    repaired = pixels(model)
    broken = loaded(tiny_models / "qwen-image-edit", shared_prefix=True, source_cache=False)
    hooks = broken._pipeline.text_encoder._forward_pre_hooks
    del hooks[next(iter(hooks))]
    assert pixels(broken) != repaired


@pytest.mark.parametrize("offload", ["model", "group"])
def test_with_offload(offload: str, tiny_models: Path) -> None:
    model = loaded(tiny_models / "qwen-image-edit", offload, shared_prefix=True)
    assert levels_apart(edited(model), edited(loaded(tiny_models / "qwen-image-edit"))) <= 1
    forward = model._pipeline.text_encoder.model.language_model.forward
    assert (getattr(forward, "__func__", None) is SharedPrefix._read) == (offload == "model")
