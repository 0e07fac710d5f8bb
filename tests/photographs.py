"""A newcomer's folder: twenty photographs, and the edits of two models that were made elsewhere."""

from __future__ import annotations

import io
import random
from pathlib import Path

from PIL import Image, ImageDraw, ImageOps, ImageStat

from judge_server import Asked

COUNT = 20


def name(number: int) -> str:
    """Of a photograph, without its ending."""
    return f"IMG_{number:04d}"


def photograph(number: int, size: tuple[int, int] = (96, 72)) -> Image.Image:
    """A hill before a sky, never the same twice."""
    drawn = random.Random(number)
    picture = Image.new("RGB", size, tuple(drawn.randrange(90, 256) for _ in range(3)))
    pencil = ImageDraw.Draw(picture)
    hill = [
        (0, 72),
        (0, drawn.randrange(30, 60)),
        (48, drawn.randrange(10, 40)),
        (96, drawn.randrange(30, 60)),
        (96, 72),
    ]
    pencil.polygon(hill, fill=tuple(drawn.randrange(90) for _ in range(3)))
    return picture


def draw(folder: Path, count: int = COUNT) -> None:
    """`photos/`, `edits_a/` (mirrored) and `edits_b/` (grey), in a folder."""
    for made in ("photos", "edits_a", "edits_b"):
        (folder / made).mkdir()
    for number in range(count):
        picture = photograph(number)
        picture.save(folder / "photos" / f"{name(number)}.jpg")
        ImageOps.mirror(picture).save(folder / "edits_a" / f"{name(number)}.png")
        picture.convert("L").convert("RGB").save(folder / "edits_b" / f"{name(number)}.jpg")


def opinion(asked: Asked) -> str:
    """Of a judge that wants colours: 2 to 3 for a grey picture, 7 to 8 for all others."""
    with Image.open(io.BytesIO(asked.images[-1])) as picture:
        colours = ImageStat.Stat(picture.convert("HSV")).mean
    return f"Score: {(7 if colours[1] > 8 else 2) + colours[2] % 10 / 10:.3f}"
