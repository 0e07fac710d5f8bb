"""The gate on the tiny Qwen-Image-Edit of diffusers: against itself, and as engines make it faster."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from edit_eval.plugins.gate.same_editor import hold_same_editor
from small_benchmark import write_benchmark

pytestmark = [pytest.mark.real_models, pytest.mark.check]
ENGINES = Path(__file__).with_name("tiny_engines.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_benchmark(tmp_path_factory.mktemp("tiny"), 4, (48, 32)).parent


def settings(folder: Path, tiny_models: Path, engine: str = "", **params: Any) -> dict[str, Any]:
    chosen = {"class_path": f"{ENGINES}:{engine}"} if engine else {"type": "qwen_image_edit"}
    weights = {"model_name": str(tiny_models / "qwen-image-edit"), "canvas": 4096, "dtype": "float32"}
    params = {"device_ids": "cpu:1", "num_inference_steps": 4, **weights, **params}
    return {
        "benchmark": {"data_path": str(folder / "benchmark.json"), "cache_dir": str(folder / "cache")},
        "edit_models": {"editor": {**chosen, "params": params}},
        "judges": {},
        "execution": {"pilot": False, "progress": "none"},
    }


@pytest.mark.parametrize(
    ("candidate", "named", "levels"),
    [
        ({}, [], 0),
        ({"dtype": "bfloat16"}, [], 60),
        ({"engine": "EightBits"}, [], 60),
        ({"engine": "Cached"}, [], 60),
        ({"num_inference_steps": 3}, ["steps"], 255),
        ({"true_cfg_scale": 1.0}, ["guidance"], 255),
        ({"engine": "OtherSeed"}, ["noise"], 255),
    ],
    ids=["itself", "bf16", "int8", "cache", "a step fewer", "no guidance", "other seed"],
)
def test_engines(folder: Path, tiny_models: Path, candidate: dict[str, Any], named: list[str], levels: float) -> None:
    shutil.rmtree(folder / "gate/candidate", ignore_errors=True)
    both = [settings(folder, tiny_models, **each) for each in ({}, candidate)]
    answer = hold_same_editor(*both, folder=folder / "gate")
    assert answer.ending == ("unknown" if candidate else "bit_equal"), "four pictures show nothing else"
    assert [breakage.kind for breakage in answer.findings] == named
    if candidate:
        assert answer.noise_kind == "none"
        assert any("pictures would do" in reason or "more pictures" in reason for reason in answer.reasons)
        (largest,) = [row for row in answer.rows if row.distance.name == "largest"]
        assert 0 < largest.values.max() <= levels
