"""The transformer's blocks compiled: the same pictures, and nothing compiled anew for another prompt or shape."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edit_eval.edit_models.acceleration.regional_compile import compile_blocks
from edit_eval.edit_models.qwen_image_edit import QwenImageEdit
from edit_eval.errors import LoadError
from edit_models.tiny_edits import EDITS, PLAIN, edited, levels_apart, loaded, picture

pytestmark = [pytest.mark.real_models, pytest.mark.models]


@pytest.fixture(autouse=True)
def _nothing_compiled() -> Iterator[None]:
    dynamo = pytest.importorskip("torch._dynamo")
    dynamo.reset()
    dynamo.utils.counters.clear()
    yield
    dynamo.reset()


def graphs() -> int:
    from torch._dynamo.utils import counters

    return int(counters["stats"]["unique_graphs"])


def changed(folder: Path, to: Path, **config: Any) -> Path:
    """A copy of a tiny model whose transformer has another configuration."""
    copy = Path(shutil.copytree(folder, to / "changed"))
    file = copy / "transformer" / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | config))
    return copy


def check(model: QwenImageEdit, expected: QwenImageEdit, most: int, layers: int = 2) -> None:
    """Compiles with the first edit alone, and edits up to `most` levels of 255 apart from `expected`."""
    compiled = []
    for prompt, seed, size in EDITS:
        ours = edited(model, prompt, seed, picture(*size))
        assert levels_apart(ours, edited(expected, prompt, seed, picture(*size))) <= most
        compiled.append(graphs())
    # Two: what enters the first layer is a view of another tensor, what enters all others is not.
    assert compiled == [min(layers, 2)] * len(EDITS)


def test_no_recompilation_from_prompt_to_prompt_and_shape_to_shape(tiny_models: Path) -> None:
    folder = tiny_models / "qwen-image-edit"
    model = loaded(folder)
    assert compile_blocks(model._pipeline.transformer, "eager") == 2
    check(model, loaded(folder, **PLAIN), most=0)


def test_another_kernel_of_attention_is_part_of_the_one_graph(tiny_models: Path) -> None:
    from diffusers.models import attention_dispatch

    registry = attention_dispatch._AttentionBackendRegistry
    before = registry._active_backend
    try:
        folder = tiny_models / "qwen-image-edit"
        model = loaded(folder, attention="_native_math")  # chosen, as cuDNN's is, by a context within the block
        compile_blocks(model._pipeline.transformer, "eager")
        edited(model)
        edited(model, "a longer prompt, of another shape")
        assert graphs() == 2
    finally:
        registry._active_backend = before


def test_no_recompilation_where_modulation_is_computed_and_the_reference_has_the_time_0(
    tiny_models: Path, tmp_path: Path
) -> None:
    folder = changed(tiny_models / "qwen-image-edit-plus", tmp_path, zero_cond_t=True)
    model = loaded(folder, modulation="live")
    compile_blocks(model._pipeline.transformer, "eager")
    check(model, loaded(folder, **PLAIN), most=0)


def test_twelve_layers_are_compiled_as_two(tiny_models: Path) -> None:
    import torch
    from diffusers import QwenImageTransformer2DModel

    small: Any = loaded(tiny_models / "qwen-image-edit")._pipeline.transformer.config
    transformer = QwenImageTransformer2DModel.from_config({**small, "num_layers": 12}).eval()
    assert compile_blocks(transformer, "eager") == 12
    with torch.no_grad():
        transformer(
            hidden_states=torch.ones(1, 32, 64),
            timestep=torch.tensor([0.5]),
            encoder_hidden_states=torch.ones(1, 36, small.joint_attention_dim),
            img_shapes=[[(1, 4, 4), (1, 4, 4)]],
            attention_kwargs={},
        )
    assert graphs() == 2


def test_the_switch_compiles_with_inductor(tiny_models: Path, tmp_path: Path) -> None:
    from torch._inductor import cpp_builder, exc

    try:
        cpp_builder.get_cpp_compiler()
    except exc.InvalidCxxCompiler:
        pytest.skip("on a CPU torch's own compiler needs a C++ compiler, and there is none")
    folder = changed(tiny_models / "qwen-image-edit", tmp_path, num_layers=1)  # it takes a while
    model = loaded(folder, compile=True)
    assert model.about()["compile"] == "the transformer's blocks, dynamic shapes, real rotary positions"
    check(model, loaded(folder, **PLAIN), most=1, layers=1)


def test_weights_that_move_cannot_be_compiled(tiny_models: Path) -> None:
    with pytest.raises(LoadError, match="compile: a model whose weights move between devices"):
        loaded(tiny_models / "qwen-image-edit", "group", compile=True)


def test_a_model_without_repeated_blocks_is_refused(tiny_models: Path) -> None:
    vae = loaded(tiny_models / "qwen-image-edit")._pipeline.vae
    with pytest.raises(LoadError, match="names no repeated blocks of AutoencoderKLQwenImage"):
        compile_blocks(vae)
