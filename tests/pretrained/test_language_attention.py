"""A language model's attention without cuDNN's kernels; what else the process computes keeps torch's own choice."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from edit_eval.pretrained.loading import WITHOUT_CUDNN, disable_cudnn


def allowed() -> tuple[bool, bool]:
    """Whether cuDNN's kernels may be taken, and FlashAttention's."""
    import torch

    return torch.backends.cuda.cudnn_sdp_enabled(), torch.backends.cuda.flash_sdp_enabled()


def test_only_within_and_also_after_an_error() -> None:
    torch = pytest.importorskip("torch")
    seen: list[tuple[bool, bool]] = []

    class Model(torch.nn.Module):  # type: ignore[name-defined]
        def forward(self, numbers: Any, fail: bool = False) -> Any:
            """Computes nothing."""
            seen.append(allowed())
            if fail:
                raise ValueError("no")
            return numbers + 1

    model = Model()
    disable_cudnn(model)
    assert list(inspect.signature(model.forward).parameters) == ["numbers", "fail"]
    before = allowed()
    assert before == (True, True)
    assert int(model(torch.tensor(1))) == 2
    with pytest.raises(ValueError, match="no"):
        model(torch.tensor(1), fail=True)
    assert seen == [(False, True)] * 2
    assert allowed() == before


@pytest.mark.check
@pytest.mark.real_models
def test_judge_and_text_encoder_read_without_pictures_are_looked_at_with(
    tiny_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from local_judges import loaded as loaded_judge
    from local_judges import request
    from tiny_edits import edited
    from tiny_edits import loaded as loaded_editor

    attend = torch.nn.functional.scaled_dot_product_attention
    seen: set[tuple[bool, bool]] = set()

    def look(*arguments: Any, **keywords: Any) -> Any:
        seen.add((bool(keywords.get("is_causal")) or keywords.get("attn_mask") is not None, allowed()[0]))
        return attend(*arguments, **keywords)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", look)
    judge = loaded_judge(tiny_models / "qwen3-vl-moe")
    judge.judge([request(number) for number in range(3)])
    assert judge.about()["attention"].endswith(WITHOUT_CUDNN)
    editor = loaded_editor(tiny_models / "qwen-image-edit")
    edited(editor)
    assert (True, False) in seen  # language: causal or masked, without cuDNN
    assert (False, True) in seen  # pictures, and the transformer: as torch chooses
    assert (True, True) not in seen
