from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from edit_eval.errors import LoadError
from edit_eval.pretrained.processors import check_processor, image_backend, load_processor

pytestmark = pytest.mark.real_models


@pytest.fixture
def folder(tiny_models: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_models / "qwen3-vl", tmp_path / "copy"))


def image_settings(folder: Path, **changes: Any) -> None:
    file = folder / "processor_config.json"
    content = json.loads(file.read_text())
    content["image_processor"] |= changes
    file.write_text(json.dumps(content))


def test_pictures_and_text_become_what_the_model_takes(folder: Path) -> None:
    processor = load_processor(str(folder), "Qwen3VLProcessor", {})
    inputs = processor(
        text=["<|vision_start|><|image_pad|><|vision_end|>Rate."],
        images=[Image.new("RGB", (128, 64))],
        return_tensors="pt",
    )
    assert inputs["image_grid_thw"].tolist() == [[1, 4, 8]]
    pictures = (inputs["input_ids"] == processor.image_token_id).sum()
    assert int(pictures) == int(inputs["mm_token_type_ids"].sum()) == 8
    assert type(processor).__name__ == "Qwen3VLProcessor"
    assert not hasattr(processor, "video_processor")


@pytest.mark.parametrize(
    ("settings", "pixels", "expected"),
    [
        ({"size": {"shortest_edge": 65536, "longest_edge": 16777216}}, {}, (65536, 16777216)),
        ({"min_pixels": 3136, "max_pixels": 12845056}, {}, (3136, 12845056)),
        ({}, {"max_pixels": 5000}, (4096, 5000)),
        ({"min_pixels": 3136, "max_pixels": 12845056}, {"min_pixels": 100, "max_pixels": 5000}, (100, 5000)),
    ],
)
def test_sizes_are_the_files_or_the_ones_asked_for(
    folder: Path, settings: dict[str, Any], pixels: dict[str, int], expected: tuple[int, int]
) -> None:
    image_settings(folder, **settings)
    images = load_processor(str(folder), "Qwen3VLProcessor", pixels).image_processor
    assert (images.size["shortest_edge"], images.size["longest_edge"]) == expected


def test_what_it_saves_bears_the_name_of_the_librarys_own_class(folder: Path, tmp_path: Path) -> None:
    load_processor(str(folder), "Qwen3VLProcessor", {}).save_pretrained(tmp_path / "saved")
    saved = json.loads((tmp_path / "saved" / "processor_config.json").read_text())
    assert saved["processor_class"] == "Qwen3VLProcessor"
    assert saved["image_processor"]["image_processor_type"] == "Qwen2VLImageProcessor"


def test_the_pictures_are_scaled_with_pillow_whatever_else_is_there(folder: Path) -> None:
    images = load_processor(str(folder), "Qwen3VLProcessor", {}).image_processor
    assert not type(images).__module__.endswith(("_fast", "image_processing_qwen2_vl"))


def test_a_bare_tokenizer_is_no_processor(folder: Path) -> None:
    from transformers import AutoTokenizer

    with pytest.raises(LoadError, match="a/model: transformers finds no image processor for it, only a Qwen2Tokenizer"):
        check_processor(AutoTokenizer.from_pretrained(folder), "a/model")


def test_what_scales_is_told_by_its_kind_and_not_by_its_name() -> None:
    """In transformers 4 a `Qwen2VLImageProcessor` scales with Pillow, and in 5 with torchvision."""
    base = type("BaseImageProcessor", (), {})
    fast, torchvision = (type(name, (base,), {}) for name in ("BaseImageProcessorFast", "TorchvisionBackend"))
    fours = type("Qwen2VLImageProcessor", (base,), {}), type("Qwen2VLImageProcessorFast", (fast,), {})
    fives = type("Qwen2VLImageProcessorPil", (base,), {}), type("Qwen2VLImageProcessor", (torchvision,), {})
    assert [image_backend(kind()) for kind in (*fours, *fives)] == [
        "pil (Qwen2VLImageProcessor)",
        "torchvision (Qwen2VLImageProcessorFast)",
        "pil (Qwen2VLImageProcessorPil)",
        "torchvision (Qwen2VLImageProcessor)",
    ]
