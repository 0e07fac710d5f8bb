"""The kernel of the attention: chosen by name, tried before anything depends on it, and recorded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from edit_eval.edit_models.acceleration.attention_backend import BACKENDS, active_backend, check_attention
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
    check_attention("_native_cudnn")
    with pytest.raises(ValueError, match="attention: 'sage' is none of native, _native_cudnn"):
        check_attention("sage")


@pytest.mark.real_models
@pytest.mark.parametrize("name", PIPELINES)
def test_another_kernel_is_recorded_and_equal_up_to_rounding(name: str, tiny_models: Path) -> None:
    native = loaded(tiny_models / name)
    expected = edited(native)
    assert native.about()["attention"].startswith("native,")
    other = loaded(tiny_models / name, attention="_native_math")
    assert other.about()["attention"].startswith("_native_math,")
    assert {p._attention_backend.value for p in other._pipeline.transformer.attn_processors.values()} == {
        "_native_math"
    }
    assert levels_apart(edited(other), expected) <= 1


@pytest.mark.real_models
def test_the_environment_does_not_decide(tiny_models: Path) -> None:
    from diffusers.models import attention_dispatch

    expected = pixels(loaded(tiny_models / "qwen-image-edit"))
    registry = attention_dispatch._AttentionBackendRegistry
    registry.set_active_backend(attention_dispatch.AttentionBackendName("_native_math"))  # DIFFUSERS_ATTN_BACKEND
    model = loaded(tiny_models / "qwen-image-edit")
    assert active_backend() == "native"
    assert pixels(model) == expected


@pytest.mark.real_models
@pytest.mark.parametrize("name", ["flash", "_native_cudnn"])
def test_a_kernel_that_is_missing_or_does_not_work_is_one_line_before_the_first_edit(
    name: str, tiny_models: Path
) -> None:
    with pytest.raises(LoadError, match=rf"attention: {name} cannot be used here: .*`attention: native`") as caught:
        loaded(tiny_models / "qwen-image-edit", attention=name)
    assert "\n" not in str(caught.value)
