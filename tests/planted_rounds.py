"""An editor that writes a quality into its edit, and a judge that reads it with an error of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

from PIL import Image

from edit_eval.records import Reply


def quality(picture: Image.Image) -> float:
    """What the editor wrote into the first pixel, 0 to 10."""
    red, green, _ = picture.convert("RGB").getpixel((0, 0))
    return (256 * red + green) / 5000


class Editor:
    """Writes the quality of its edit into the picture; a critique makes it better by .8."""

    @dataclass
    class Parameters:
        quality: float = 5.0

    def __init__(self, parameters: Parameters) -> None:
        self._quality = parameters.quality

    def load(self, devices: Any) -> None: ...

    def edit(self, request: Any, on_step: Any) -> Image.Image:
        made = self._quality + Random(f"{request.sample_id} {request.seed} {self._quality}").gauss(0, 0.7)
        if "Better" in request.instruction:
            made = quality(request.source) + 0.8
        level = int(min(10, max(0, made)) * 5000)
        picture = request.source.convert("RGB").copy()
        picture.putpixel((0, 0), (level // 256, level % 256, 0))
        on_step(1, 1)
        return picture


class Judge:
    """Reads the quality with an error of its own, and can be silent about some samples."""

    @dataclass
    class Parameters:
        name: str = ""
        silent: list[str] = field(default_factory=list)

    reads = ("sample_id", "repeat")

    def __init__(self, parameters: Parameters) -> None:
        self._given = parameters

    def load(self, devices: Any) -> None: ...

    def judge(self, requests: Any) -> list[Reply]:
        return [self._one(request) for request in requests]

    def _one(self, request: Any) -> Reply:
        if request.sample_id in self._given.silent:
            return Reply(text="hm")
        seen = {name: self._sees(picture, request) for name, picture in request.pictures.items()}
        if "A" in seen:
            return Reply(text=json.dumps({"reasons": "seen", "better": "A" if seen["A"] > seen["B"] else "B"}))
        score = seen["edit"]
        return Reply(text=f"Better, please.\nScore: {score:.3f}" if self._given.name == "critic" else f"{score:.3f}")

    def _sees(self, picture: Image.Image, request: Any) -> float:
        error = Random(f"{self._given.name} {quality(picture)} {request.repeat}").gauss(0, 0.4)
        return min(10.0, max(0.0, quality(picture) + error))
