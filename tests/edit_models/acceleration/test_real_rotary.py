"""Rotary positions in real numbers against complex ones: the same to the last bit, and all of a block is compiled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edit_eval.edit_models.acceleration.real_rotary import FUNCTION, use_real_rotary
from edit_eval.edit_models.acceleration.regional_compile import compile_blocks
from edit_models.tiny_edits import PIPELINES, PLAIN, all_edits, edited, loaded

pytestmark = [pytest.mark.real_models, pytest.mark.models]


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    module = pytest.importorskip("diffusers.models.transformers.transformer_qwenimage")
    dynamo = pytest.importorskip("torch._dynamo")
    stock = getattr(module, FUNCTION)
    dynamo.reset()
    yield
    setattr(module, FUNCTION, stock)
    dynamo.reset()


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_edits_are_the_same_to_the_last_bit(dtype: str, name: str, tiny_models: Path) -> None:
    expected = all_edits(loaded(tiny_models / name, dtype=dtype, **PLAIN))
    model = loaded(tiny_models / name, dtype=dtype, **PLAIN)
    assert use_real_rotary(model._pipeline.transformer)
    assert all_edits(model) == expected
    assert all_edits(loaded(tiny_models / name, dtype=dtype, **PLAIN)) == expected  # beside it, with complex numbers


def complex_steps(model: Any) -> list[str]:
    """What a compiled block computes with complex numbers."""
    import torch

    found: list[str] = []

    def look(graph: Any, inputs: Any) -> Any:
        for node in graph.graph.nodes:
            value = node.meta.get("example_value")
            if isinstance(value, torch.Tensor) and value.is_complex():
                found.append(f"{node.op} {node.target}")
        return graph.forward

    compile_blocks(model._pipeline.transformer, look)
    edited(model)
    return found


def test_nothing_in_a_compiled_block_is_complex(tiny_models: Path) -> None:
    folder = tiny_models / "qwen-image-edit"
    stock = loaded(folder)
    assert any("view_as_complex" in step for step in complex_steps(stock))  # what this is there for
    model = loaded(folder)
    assert use_real_rotary(model._pipeline.transformer)
    assert complex_steps(model) == []


def test_a_diffusers_that_turns_otherwise_is_left_alone(tiny_models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from diffusers.models.transformers import transformer_qwenimage

    model = loaded(tiny_models / "qwen-image-edit")
    monkeypatch.delattr(transformer_qwenimage, FUNCTION)
    assert not use_real_rotary(model._pipeline.transformer)
