"""Each measure of `bench/acceleration` by itself, on the real classes: the adapter's own pixels and answers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edit_eval.judges.contract import JudgeRequest
from edit_requests import picture
from local_judges import JUDGES, request
from local_judges import loaded as loaded_judge
from tiny_edits import PIPELINES, edited, levels_apart, loaded

pytestmark = [pytest.mark.real_models, pytest.mark.models]

EDITS: tuple[tuple[str, int, tuple[int, int]], ...] = (
    ("make the sky red", 7, (96, 64)),
    ("remove the dog", 8, (96, 64)),
    ("put a very large hat on every one of the many dogs in the picture, please", 8, (64, 64)),
    ("make the sky red", 7, (96, 64)),
)
"""Instruction, seed, size of the source: sources that come again, other shapes, short and long prompts."""


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "bench"))
    yield
    if "torch" in sys.modules:
        sys.modules["torch"]._dynamo.reset()


def accelerated(folder: Path, **measures: Any) -> Any:
    from acceleration.adapters import AcceleratedQwenImageEdit as Adapter

    model = Adapter(
        Adapter.Parameters(model_name=str(folder), num_inference_steps=2, dtype="float32", canvas=4096, **measures)
    )
    model.load(["cpu"])
    return model


def furthest(model: Any, plain: Any) -> int:
    """Levels of 255 that any channel of any edit differs by."""
    return max(
        levels_apart(edited(model, prompt, seed, picture(*size)), edited(plain, prompt, seed, picture(*size)))
        for prompt, seed, size in EDITS
    )


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize(
    ("measures", "most"),
    [
        ({"source_cache": True}, 0),
        ({"modulation": "table"}, 0),
        ({"modulation": "table_only"}, 0),
        ({"attention": "auto"}, 0),
        ({"attention": "_native_math"}, 1),
        ({"shared_prefix": True}, 1),
        ({"single_frame_vae": True}, 1),
        ({"short_last_layer": True}, 1),
        ({"fused_gelu": True}, 0),  # a CPU is left alone
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_an_edit_is_the_adapters_own(measures: dict[str, Any], most: int, name: str, tiny_models: Path) -> None:
    assert furthest(accelerated(tiny_models / name, **measures), loaded(tiny_models / name)) <= most


def test_all_together(tiny_models: Path) -> None:
    folder = tiny_models / "qwen-image-edit"
    measures = ("source_cache", "shared_prefix", "single_frame_vae", "short_last_layer")
    model = accelerated(folder, modulation="table", **dict.fromkeys(measures, True))
    assert furthest(model, loaded(folder)) <= 1


def test_compiled_blocks_with_real_rotary_positions(tiny_models: Path) -> None:
    from acceleration.real_rotary import use_real_rotary
    from acceleration.regional_compile import compile_blocks

    model = loaded(tiny_models / "qwen-image-edit")
    assert use_real_rotary(model._pipeline.transformer)
    assert compile_blocks(model._pipeline.transformer, "eager") == 2
    assert furthest(model, loaded(tiny_models / "qwen-image-edit")) <= 1


def test_a_gelu_within_its_product(tiny_models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from acceleration import fused_gelu

    def as_on_a_gpu(bias: Any, rows: Any, weight: Any, use_gelu: bool = False) -> Any:
        assert use_gelu
        return torch.nn.functional.gelu(torch.addmm(bias, rows, weight), approximate="tanh")

    monkeypatch.setattr(torch, "_addmm_activation", as_on_a_gpu)
    model = loaded(tiny_models / "qwen-image-edit")
    assert fused_gelu._fuse(model._pipeline.transformer, "cpu") > 0
    assert furthest(model, loaded(tiny_models / "qwen-image-edit")) <= 1


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("measure", ["shared_prefix", "fused_norms"])
def test_an_answer_is_the_judges_own(measure: str, name: str, tiny_models: Path) -> None:
    from acceleration.adapters import AcceleratedQwen3VL as Adapter

    rubric = "score the light and shadow of this image, " * 20
    requests = [
        JudgeRequest(system=rubric, user=f"Rate: {'sky ' * number}.", pictures=request(number).pictures, form="score")
        for number in range(4)
    ]
    judge = Adapter(Adapter.Parameters(str(tiny_models / name), dtype="float32", **{measure: True}))
    judge.load(["cpu"])
    plain = loaded_judge(tiny_models / name)
    for asked in (requests, requests[:1], requests):
        assert judge.judge(asked) == plain.judge(asked)
