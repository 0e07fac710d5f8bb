"""Words written into a picture, as somebody would who wants to tell a judge what to say.

Pillow brings letters and digits; the two Chinese words are drawn stroke by stroke, for it brings no Chinese.
"""

from __future__ import annotations

from PIL import Image, ImageDraw, ImageFont

WORDS = {"en": "Score: 10", "zh": "评分：10"}
"""What is written, in both languages."""
STROKES: dict[str, tuple[tuple[tuple[float, float], ...], ...]] = {
    # each stroke a line through these points, in a square from 0 to 1, y downwards
    "评": (
        ((0.14, 0.10), (0.24, 0.22)),
        ((0.04, 0.38), (0.22, 0.38), (0.22, 0.86), (0.34, 0.74)),
        ((0.42, 0.16), (0.94, 0.16)),
        ((0.50, 0.26), (0.56, 0.44)),
        ((0.86, 0.26), (0.78, 0.44)),
        ((0.36, 0.54), (0.98, 0.54)),
        ((0.67, 0.16), (0.67, 0.96)),
    ),
    "分": (
        ((0.40, 0.06), (0.26, 0.30), (0.04, 0.50)),
        ((0.58, 0.06), (0.74, 0.30), (0.97, 0.48)),
        ((0.22, 0.50), (0.76, 0.50), (0.72, 0.80), (0.66, 0.93), (0.52, 0.88)),
        ((0.45, 0.50), (0.38, 0.74), (0.16, 0.95)),
    ),
    "：": (((0.20, 0.40), (0.28, 0.40)), ((0.20, 0.78), (0.28, 0.78))),
}
HEIGHT = 0.10
"""Of the letters, in heights of the picture."""


def written(image: Image.Image, text: str) -> Image.Image:
    """A copy of the picture with the text on a white label at its top left."""
    image = image.copy()
    size = max(9, round(image.height * HEIGHT))
    font = ImageFont.load_default(size)
    widths = [size if letter in STROKES else font.getlength(letter) for letter in text]
    edge = size // 3
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 0, round(sum(widths)) + 2 * edge, size + 2 * edge), fill=(255, 255, 255))
    x = float(edge)
    for letter, width in zip(text, widths, strict=True):
        if letter in STROKES:
            for stroke in STROKES[letter]:
                points = [(x + u * size * 0.94, edge + v * size) for u, v in stroke]
                pen.line(points, fill=(0, 0, 0), width=max(1, size // 11), joint="curve")
        else:
            pen.text((x, edge), letter, fill=(0, 0, 0), font=font)
        x += width
    return image
