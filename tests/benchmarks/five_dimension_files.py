"""Benchmarks in the five-dimension format, as the tests need them."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

from PIL import Image

from edit_eval.plugins.five_dimensions.benchmark import FiveDimensions
from edit_eval.records import Sample


def picture(colour: int = 0, kind: str = "PNG", size: tuple[int, int] = (16, 12)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, (colour % 256, 100, 50)).save(buffer, kind)
    return buffer.getvalue()


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def item(number: int = 0, **changes: Any) -> dict[str, Any]:
    """A good item; a change to `None` takes the field away."""
    whole = {
        "subset": "物理",
        "original_description": "一只猫。",
        "original_description_en": "A cat.",
        "edit_instruction": "让它变红。",
        "edit_instruction_en": "Make it red.",
        "src_img_b64": encoded(picture(number)),
        "original_image_path": f"images/{number:05d}_物理_hard.png",
        "rationale_short": "颜色。",
        "rationale_short_en": "Colour.",
        "tags": ["cat", "colour"],
        "difficulty": "hard",
        "seed": 42,
    } | changes
    return {name: value for name, value in whole.items() if value is not None}


class Place:
    """A folder with a benchmark's file and a cache beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "data" / "benchmark.json"
        self.path.parent.mkdir()
        self.cache = folder / "cache"

    def write(self, content: object) -> None:
        text = content if isinstance(content, (str, bytes)) else json.dumps(content, ensure_ascii=False)
        self.path.write_bytes(text.encode() if isinstance(text, str) else text)

    def benchmark(self, **parameters: Any) -> FiveDimensions:
        return FiveDimensions(
            FiveDimensions.Parameters(str(self.path), **({"cache_dir": str(self.cache)} | parameters))
        )

    def samples(self, content: object = None, **parameters: Any) -> list[Sample]:
        if content is not None:
            self.write(content)
        return list(self.benchmark(**parameters).samples())

    def fault(self, *items: dict[str, Any], **parameters: Any) -> str:
        """The fault of the last of these items."""
        return self.samples(list(items), **parameters)[-1].fault
