"""What a model behind a server is asked about before a run: a picture, what it is to become, and that in words."""

from __future__ import annotations

from PIL import Image, ImageDraw

from edit_eval.records import Picture, Sample

SIZE = (512, 384)
WORDS = {
    "en": ("Make the ball blue.", "A red ball on a grey table, before a white wall."),
    "zh": ("把球变成蓝色。", "白墙前的灰色桌子上有一个红色的球。"),
}
"""By language: the instruction, and what the source shows."""


def example_sample(language: str) -> Sample:
    """Returns what is asked about it, in `en` or `zh`. It has no file."""
    instruction, description = WORDS[language]
    return Sample(
        id="example",
        index=0,
        category="physical",
        pictures={"source": Picture(path="")},
        instruction=instruction,
        description=description,
        language=language,
    )


def example_pictures() -> dict[str, Image.Image]:
    """Returns its `source`, and what it is to become, `edit`: RGB."""
    return {"source": _ball("#c62828"), "edit": _ball("#1e5fb4")}


def _ball(colour: str) -> Image.Image:
    width, height = SIZE
    image = Image.new("RGB", SIZE, "#f4f2ec")
    drawing = ImageDraw.Draw(image)
    drawing.rectangle((0, height * 0.7, width, height), fill="#8c8c8c")
    drawing.ellipse((width * 0.38, height * 0.45, width * 0.62, height * 0.77), fill=colour)
    return image
