"""A benchmark of your own: anything that yields samples. This one draws its sources."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw

from edit_eval.records import Picture, Sample

COLOURS = {"red": (200, 30, 30), "green": (30, 160, 60), "blue": (40, 70, 200), "yellow": (230, 200, 40)}


class Discs:
    """A grey disc on a coloured ground, to be painted in one of four colours."""

    @dataclass
    class Parameters:
        """What can be set under `benchmark:`."""

        folder: str
        """Where the sources are drawn."""
        count: int = 8

    protocol = "rubric"  # or the name of your own, or a mapping with its parameters

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def samples(self) -> Iterator[Sample]:
        """Yields every sample, always in the same order: a sample's seed depends on its index."""
        Path(self.parameters.folder).mkdir(parents=True, exist_ok=True)
        for index in range(self.parameters.count):
            colour = list(COLOURS)[index % len(COLOURS)]
            path = Path(self.parameters.folder) / f"{index}.png"
            picture = Image.new("RGB", (96, 64), (40 + 20 * (index % 11), 90 + 10 * (index // 11), 120))
            ImageDraw.Draw(picture).ellipse((32, 16, 64, 48), fill=(128, 128, 128))
            picture.save(path)
            yield Sample(
                id=f"disc-{index}",
                index=index,
                category="warm" if colour in ("red", "yellow") else "cold",
                pictures={"source": Picture(path=str(path), digest=hashlib.sha256(path.read_bytes()).hexdigest())},
                instruction=f"Paint the disc {colour}.",
                facts={"colour": colour},  # read by some protocols only
            )
