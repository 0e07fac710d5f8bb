"""GELUs within the products before them: the same layers under the same names, tried before an edit depends on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edit_eval.edit_models.acceleration import fused_gelu
from edit_eval.edit_models.acceleration.fused_gelu import fuse_gelu
from edit_eval.errors import LoadError
from edit_models.tiny_edits import EDITS, edited, levels_apart, loaded, picture

pytestmark = [pytest.mark.real_models, pytest.mark.models]


def as_on_a_gpu(bias: Any, rows: Any, weight: Any, use_gelu: bool) -> Any:
    """What cuBLASLt computes: a CPU takes the other formula of GELU."""
    import torch

    assert use_gelu
    return torch.nn.functional.gelu(torch.addmm(bias, rows, weight), approximate="tanh")


def test_edits_are_the_same(tiny_models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch, "_addmm_activation", as_on_a_gpu)
    stock, ours = loaded(tiny_models / "qwen-image-edit"), loaded(tiny_models / "qwen-image-edit")
    names = list(ours._pipeline.transformer.state_dict())
    assert fused_gelu._fuse(ours._pipeline.transformer, "cpu") == 4  # two layers, each for pictures and text
    assert list(ours._pipeline.transformer.state_dict()) == names
    for prompt, seed, size in EDITS:
        pair = [edited(model, prompt, seed, picture(*size)) for model in (stock, ours)]
        assert levels_apart(*pair) <= 1


def test_torchs_own_function_is_called_as_it_wants_to_be(tiny_models: Path) -> None:
    """Its formula on a CPU is another one, which is 5e-4 apart."""
    stock, ours = loaded(tiny_models / "qwen-image-edit"), loaded(tiny_models / "qwen-image-edit")
    fused_gelu._fuse(ours._pipeline.transformer, "cpu")
    assert levels_apart(edited(ours), edited(stock)) <= 2


def test_they_are_compiled_with_the_block_and_once(tiny_models: Path) -> None:
    from torch import _dynamo
    from torch._dynamo.utils import counters

    from edit_eval.edit_models.acceleration.regional_compile import compile_blocks

    _dynamo.reset()
    counters.clear()
    model = loaded(tiny_models / "qwen-image-edit")
    fused_gelu._fuse(model._pipeline.transformer, "cpu")
    seen: list[str] = []

    def look(graph: Any, inputs: Any) -> Any:
        seen.append(" ".join(str(node.target) for node in graph.graph.nodes))
        return graph.forward

    compile_blocks(model._pipeline.transformer, look)
    for prompt, seed, size in EDITS:
        edited(model, prompt, seed, picture(*size))
    assert [text.count("_addmm_activation") for text in seen] == [2, 2]  # pictures and text, first layer and others
    _dynamo.reset()


def test_a_cpu_is_left_alone(tiny_models: Path) -> None:
    model = loaded(tiny_models / "qwen-image-edit", fused_gelu=True)
    assert model.about()["gelu"] == ""
    assert fuse_gelu(model._pipeline.transformer, "cpu") == 0


def test_other_layers_are_left_alone() -> None:
    torch = pytest.importorskip("torch")
    from diffusers.models.activations import GELU

    class Quantised(torch.nn.Linear):  # type: ignore[misc]
        """Stands for a layer whose weights are no plain numbers."""

    layers = torch.nn.Sequential(GELU(4, 8), GELU(4, 8, "tanh", bias=False), GELU(4, 8, "tanh"))
    layers[2].proj = Quantised(4, 8)
    assert fused_gelu._fuse(layers, "cpu") == 0
    layers.append(GELU(4, 8, "tanh"))
    assert fused_gelu._fuse(layers, "cpu") == 1


def test_a_gpu_that_computes_something_else_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from diffusers.models.activations import GELU

    layers = torch.nn.Sequential(GELU(16, 64, "tanh"))
    for wrong, said in (
        (lambda *a, **k: as_on_a_gpu(*a, **k) * 1.1, r"its output differs by \S+ from the stock layer's"),
        (lambda *a, **k: as_on_a_gpu(*a, **k) * float("nan"), "its output differs by nan"),
        (lambda *a, **k: as_on_a_gpu(*a, use_gelu=False), "assert False"),
    ):
        monkeypatch.setattr(torch, "_addmm_activation", wrong)
        with pytest.raises(LoadError, match=f"fused_gelu: it cannot be used here: {said}.*; set it to false"):
            fused_gelu._fuse(layers, "cpu")
    assert type(layers[0]) is GELU


def test_on_a_gpu() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    from diffusers.models.activations import GELU

    layer = GELU(3072, 12288, "tanh").to("cuda", torch.bfloat16)
    layers = torch.nn.Sequential(layer)
    numbers = torch.randn(1, 1000, 3072, device="cuda", dtype=torch.bfloat16)
    assert fuse_gelu(layers, "cuda:0") == 1
    with torch.no_grad():
        torch.testing.assert_close(layers(numbers), layer(numbers), rtol=2e-2, atol=2e-2)
