"""The judge's norms in one kernel each: the same answers, and numbers equal up to rounding."""

from __future__ import annotations

from pathlib import Path

import pytest

from edit_eval.errors import LoadError
from edit_eval.judges.fused_norms import fuse_norms
from judges.local_judges import JUDGES, loaded, request

pytestmark = pytest.mark.real_models


@pytest.mark.parametrize("name", JUDGES)
def test_the_same_answers_and_nearly_the_same_numbers(name: str, tiny_models: Path) -> None:
    import torch

    requests = [request(number) for number in range(4)]
    plain, fused = loaded(tiny_models / name), loaded(tiny_models / name, fused_norms=True)
    assert plain.about()["norms"] == ""
    norms = [
        layer
        for layer in fused._model.modules()
        if type(layer).__name__.endswith("RMSNorm") and "forward" in vars(layer)
    ]
    assert fused.about()["norms"] == f"{len(norms)} in one kernel each"
    assert len(norms) > 4
    assert fused.judge(requests) == plain.judge(requests)
    for layer in norms:
        numbers = torch.randn(3, 5, layer.weight.numel(), generator=torch.Generator().manual_seed(1))
        torch.testing.assert_close(layer(numbers), type(layer).forward(layer, numbers))


def test_what_is_no_such_norm_is_found_out(tiny_models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers.models.qwen3_vl import modeling_qwen3_vl

    norm = modeling_qwen3_vl.Qwen3VLTextRMSNorm
    stock = norm.forward
    # As Gemma's, whose weight counts from 1.
    monkeypatch.setattr(norm, "forward", lambda self, numbers: stock(self, numbers) + numbers)
    with pytest.raises(LoadError, match=r"fused_norms: Qwen3VLTextRMSNorm .* not the usual .* differs by"):
        loaded(tiny_models / "qwen3-vl", fused_norms=True)


def test_norms_whose_weights_move_are_left_alone(tiny_models: Path) -> None:
    from accelerate import cpu_offload

    model = loaded(tiny_models / "qwen3-vl")._model
    cpu_offload(model, execution_device="cpu")
    assert fuse_norms(model) == 0
