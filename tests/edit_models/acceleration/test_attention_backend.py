"""The kernel of the attention: chosen by name, tried before anything depends on it, and recorded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from edit_eval.edit_models.acceleration import attention_backend
from edit_eval.edit_models.acceleration.attention_backend import (
    BACKENDS,
    active_backend,
    reported_fastest,
    torchs_choice,
)
from edit_eval.errors import LoadError
from edit_models.tiny_edits import PIPELINES, edited, levels_apart, loaded, pixels


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    """diffusers keeps the kernel for the whole process."""
    dispatch = pytest.importorskip("diffusers.models.attention_dispatch")
    before = dispatch._AttentionBackendRegistry._active_backend
    yield
    dispatch._AttentionBackendRegistry._active_backend = before


def test_every_name_is_one_of_diffusers() -> None:
    from diffusers.models.attention_dispatch import AttentionBackendName

    assert set(BACKENDS) <= {name.value for name in AttentionBackendName}


@pytest.mark.real_models
@pytest.mark.models
@pytest.mark.parametrize("name", PIPELINES)
def test_another_kernel_is_recorded_and_equal_up_to_rounding(name: str, tiny_models: Path) -> None:
    native = loaded(tiny_models / name)
    expected = edited(native)
    assert native.about()["attention"].startswith("native;")
    other = loaded(tiny_models / name, attention="_native_math")
    assert other.about()["attention"].startswith("_native_math;")
    assert {p._attention_backend.value for p in other._pipeline.transformer.attn_processors.values()} == {
        "_native_math"
    }
    assert levels_apart(edited(other), expected) <= 1


@pytest.mark.real_models
@pytest.mark.models
def test_the_environment_does_not_decide(tiny_models: Path) -> None:
    from diffusers.models import attention_dispatch

    expected = pixels(loaded(tiny_models / "qwen-image-edit"))
    registry = attention_dispatch._AttentionBackendRegistry
    registry.set_active_backend(attention_dispatch.AttentionBackendName("_native_math"))  # DIFFUSERS_ATTN_BACKEND
    model = loaded(tiny_models / "qwen-image-edit")
    assert active_backend() == "native"
    assert pixels(model) == expected


@pytest.mark.real_models
@pytest.mark.models
@pytest.mark.parametrize("name", ["flash", "_native_cudnn"])
def test_a_kernel_that_is_missing_or_does_not_work_is_one_line_before_the_first_edit(
    name: str, tiny_models: Path
) -> None:
    with pytest.raises(LoadError, match=rf"attention: {name} cannot be used here: .*`attention: native`") as caught:
        loaded(tiny_models / "qwen-image-edit", attention=name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("capability", "flash_3", "choice", "name"),
    [
        ((9, 0), False, "FLASH_ATTENTION", "_native_cudnn"),
        ((9, 0), False, "", "_native_cudnn"),
        ((9, 0), False, "CUDNN_ATTENTION", "native"),
        ((9, 0), True, "CUDNN_ATTENTION", "_flash_3"),
        ((8, 0), True, "FLASH_ATTENTION", "native"),
        ((12, 0), True, "FLASH_ATTENTION", "native"),
    ],
)
def test_auto_follows_from_the_kind_of_gpu_and_what_is_installed(
    capability: tuple[int, int], flash_3: bool, choice: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(attention_backend, "find_spec", lambda package: object() if flash_3 else None)
    monkeypatch.setattr(attention_backend, "torchs_choice", lambda device: choice)
    assert reported_fastest("cuda:1") == name
    assert reported_fastest("cpu") == "native"


def test_torchs_own_choice_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    assert torchs_choice("cpu") in torch.nn.attention.SDPBackend.__members__
    monkeypatch.setattr(torch, "_fused_sdp_choice", lambda *numbers: 3)
    assert torchs_choice("cpu") == "CUDNN_ATTENTION"
    monkeypatch.delattr(torch, "_fused_sdp_choice")
    assert torchs_choice("cpu") == ""


@pytest.mark.real_models
@pytest.mark.models
def test_auto_is_recorded_by_the_name_of_what_was_taken(tiny_models: Path) -> None:
    model = loaded(tiny_models / "qwen-image-edit", attention="auto")
    assert model.about()["attention"].startswith("native;")
    assert pixels(model) == pixels(loaded(tiny_models / "qwen-image-edit"))


@pytest.mark.real_models
@pytest.mark.models
def test_auto_never_falls_back_where_what_it_takes_does_not_work(
    tiny_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention_backend, "reported_fastest", lambda device: "_native_cudnn")
    with pytest.raises(LoadError, match="attention: _native_cudnn cannot be used here"):
        loaded(tiny_models / "qwen-image-edit", attention="auto")


@pytest.mark.real_models
@pytest.mark.models
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_kernel_that_computes_something_else_is_found_out(
    dtype: str, tiny_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from diffusers.models import attention_dispatch

    attend = attention_dispatch.dispatch_attention_fn
    for wrong in (
        lambda numbers: numbers * 1.1,
        lambda numbers: numbers * float("nan"),
        lambda numbers: numbers[:, :1],
    ):
        monkeypatch.setattr(attention_dispatch, "dispatch_attention_fn", lambda *q, wrong=wrong: wrong(attend(*q)))
        with pytest.raises(LoadError, match=r"it computes \S+ beside what attention is"):
            loaded(tiny_models / "qwen-image-edit", attention="_native_math", dtype=dtype)
