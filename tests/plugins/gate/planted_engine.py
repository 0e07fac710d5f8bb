"""An engine with every part that may break, and with noise of known size. It says of itself what it was asked for, as a
server does; what it really does is its `fault`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from PIL import Image


def pattern(seed: object, size: tuple[int, int], mode: str = "RGB") -> Image.Image:
    small = Image.frombytes("RGB", (6, 4), random.Random(str(seed)).randbytes(72))
    return small.resize(size, Image.Resampling.BICUBIC).convert(mode)


class Engine:
    @dataclass
    class Parameters:
        num_inference_steps: int = 8
        true_cfg_scale: float = 4.0
        loras: list[str] = field(default_factory=lambda: ["style"])
        fault: str = ""
        noise: int = 0
        """Levels, in every channel of every pixel."""
        loads: str = ""
        """A file that counts loads: each draws other noise, the same in each run of a test."""
        shift: int = 0
        """Levels by which one corner is another."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def load(self, devices: Sequence[str]) -> None:
        self.draw = 0
        if self.parameters.loads:
            with open(self.parameters.loads, "a") as counted:
                self.draw = counted.tell()
                counted.write("x")

    def about(self) -> dict[str, str]:
        p = self.parameters
        scheduler = "Heun" if p.fault == "scheduler" else "Euler"
        return {"num_inference_steps": str(p.num_inference_steps), "scheduler": scheduler, "loras": str(p.loras)}

    def edit(self, request: Any, on_step: Any) -> Image.Image:
        p, size = self.parameters, request.source.size
        if p.fault == "black":
            return Image.new("RGB", size)
        if p.fault == "copy":
            return request.source
        seed = {"seed": 0, "random": random.SystemRandom().random()}.get(p.fault, request.seed + (p.fault == "noise"))
        made = Image.blend(pattern(seed, size), pattern(request.instruction, size), 0.4)
        if p.true_cfg_scale > 1 and p.fault != "guidance":
            made = Image.blend(made, pattern(f"guided {request.instruction}", size), 0.4)
        if p.loras and p.fault != "lora":
            made = Image.blend(made, pattern(p.loras, size), 0.3)
        steps = p.num_inference_steps - (p.fault == "steps")
        made = Image.blend(made, pattern(f"unfinished {seed}", size), 1 / (1 + steps))
        if p.fault == "scheduler":
            made = Image.blend(made, pattern(f"Heun {seed}", size), 0.1)
        if p.fault == "gamma":
            made = made.point(lambda level: round(255 * (level / 255) ** 2.2))
        if p.fault == "channels":
            made = Image.merge("RGB", made.split()[::-1])
        if p.fault == "contrast":
            made = made.point(lambda level: round(0.7 * level + 30))
        if p.fault == "size":
            made = made.resize((size[0] * 2, size[1]))
        if p.shift:
            corner = made.crop((0, 0, 4, 4)).point(lambda level: (level + p.shift) % 256)
            made.paste(corner, (0, 0))
        if p.noise:
            chance = random.Random(f"{self.draw} {request.seed}")
            levels = bytes(min(255, max(0, level + chance.randint(-p.noise, p.noise))) for level in made.tobytes())
            made = Image.frombytes("RGB", made.size, levels)
        return made
