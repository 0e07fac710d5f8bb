"""A benchmark small enough for tests: a JSON file with drawn pictures, in the five-dimension format."""

from __future__ import annotations

import base64
import io
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

if TYPE_CHECKING:
    from edit_eval.statistics.summary import ScoreNumbers, Summary

SUBSETS = ("物理", "环境", "社会")


def write_benchmark(folder: Path, count: int = 9, size: tuple[int, int] = (24, 16)) -> Path:
    """Writes `count` items of three categories in turn, each with a picture of its own; returns the file's path."""
    items = []
    for number in range(count):
        picture = Image.frombytes("RGB", size, random.Random(number).randbytes(3 * size[0] * size[1]))
        data = io.BytesIO()
        picture.save(data, "PNG")
        subset = SUBSETS[number % len(SUBSETS)]
        items.append(
            {
                "subset": subset,
                "original_image_path": f"images/{number:05d}_{subset}_easy.png",
                "original_description": f"第{number}张图",
                "original_description_en": f"picture {number}",
                "edit_instruction": f"把它变成{number}",
                "edit_instruction_en": f"turn it into {number}",
                "src_img_b64": base64.b64encode(data.getvalue()).decode(),
                "tags": ["even" if number % 2 == 0 else "odd"],
                "difficulty": "easy",
            }
        )
    path = folder / "benchmark.json"
    path.write_text(json.dumps(items, ensure_ascii=False), "utf-8")
    return path


def numbers(summary: Summary, pair: int = 0) -> ScoreNumbers:
    """What a summary says of the headline of one of its pairs of edit model and judge."""
    return summary.results[pair].headline_numbers


def sample_id(number: int) -> str:
    """The id of the benchmark's item with that number."""
    return f"{number:05d}_{SUBSETS[number % len(SUBSETS)]}_easy"


def configuration(
    folder: Path, *, edit: dict[str, Any] | None = None, judge: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """A configuration with the testing models and no controls; `edit` and `judge` are their `params`."""
    path = folder / "benchmark.json"
    if not path.exists():
        write_benchmark(folder)
    return {
        "benchmark": {"data_path": str(path), "cache_dir": str(folder / "cache"), **more.pop("benchmark", {})},
        "diffusion_model": {"type": "testing", "params": {"device_ids": "cpu:2", **(edit or {})}},
        "reward_model": {"type": "testing", "params": {"device_ids": "cpu:2", **(judge or {})}},
        "evaluation": {"controls": 0, **more.pop("evaluation", {})},
        **more,
    }
