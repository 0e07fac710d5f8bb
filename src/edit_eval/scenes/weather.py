"""What falls from the sky and hangs in the air."""

from __future__ import annotations

import math
import random

from PIL import Image, ImageDraw, ImageFilter

from edit_eval.scenes.backdrop import FINE
from edit_eval.scenes.camera import EYE, Camera
from edit_eval.scenes.palette import Light
from edit_eval.scenes.scene import Scene


def veil_at(scene: Scene, light: Light, distance: float) -> float:
    """Share of haze before something at that distance (metres), from 0 to 1."""
    return light.haze * (1.0 - math.exp(-distance / (20.0 if scene.weather == "fog" else 45.0)))


def veil(scene: Scene, light: Light) -> Image.Image:
    """The share of haze before every row of the ground (L, of the picture's size)."""
    camera = Camera.of(scene)
    column = Image.new("L", (1, scene.height), 0)
    for row in range(scene.height):
        below = row + 0.5 - camera.horizon
        distance = camera.focal * EYE / below if below > 1 else 1e4
        column.putpixel((0, row), round(255 * veil_at(scene, light, distance)))
    return column.resize((scene.width, scene.height))


def falling(image: Image.Image, scene: Scene) -> None:
    """Draws rain or snow on the picture."""
    if scene.weather == "rain":
        _rain(image, scene)
    elif scene.weather == "snow":
        _snow(image, scene)


def _rain(image: Image.Image, scene: Scene) -> None:
    chance = random.Random(f"{scene.seed} rain")
    width, height = scene.width * FINE, scene.height * FINE
    unit = height / 768
    slant = {"left": 0.42, "right": -0.42}.get(scene.wind, 0.14)
    night = scene.time == "night"
    for count, long, thick, opaque in ((260, 26, 1, 74), (120, 46, 2, 104)):
        sheet = Image.new("L", (width, height), 0)
        pen = ImageDraw.Draw(sheet)
        for _ in range(count):
            x, y = chance.uniform(-0.1, 1.1) * width, chance.uniform(-0.05, 1.0) * height
            length = long * unit * chance.uniform(0.7, 1.3)
            pen.line([(x, y), (x + slant * length, y + length)], fill=opaque, width=max(1, round(thick * unit)))
        image.paste((150, 166, 196) if night else (238, 243, 247), (0, 0), sheet.reduce(FINE))
    sheet = Image.new("L", (width, height), 0)
    pen = ImageDraw.Draw(sheet)
    camera = Camera(width, height)
    for _ in range(70):
        depth = 0.2 + 0.8 * chance.random()
        x, y, size = chance.random() * width, camera.ground_y(depth), camera.scale(depth) * 0.07
        pen.arc(
            [x - size * 1.6, y - size * 0.6, x + size * 1.6, y + size * 0.6],
            0,
            360,
            fill=130,
            width=max(1, round(unit)),
        )
    image.paste((150, 166, 196) if night else (232, 238, 243), (0, 0), sheet.reduce(FINE))


def _snow(image: Image.Image, scene: Scene) -> None:
    chance = random.Random(f"{scene.seed} flakes")
    width, height = scene.width * FINE, scene.height * FINE
    unit = height / 768
    night = scene.time == "night"
    for count, low, high, opaque, blur in (
        (330, 1.4, 2.2, 190, 0.0),
        (120, 2.6, 4.0, 225, 0.6),
        (26, 5.0, 8.0, 190, 2.0),
    ):
        sheet = Image.new("L", (width, height), 0)
        pen = ImageDraw.Draw(sheet)
        for _ in range(count):
            x, y, r = chance.random() * width, chance.random() * height, chance.uniform(low, high) * unit
            pen.ellipse((x - r, y - r, x + r, y + r), fill=opaque)
        mask = sheet.reduce(FINE)
        if blur:
            mask = mask.filter(ImageFilter.GaussianBlur(blur * unit))
        image.paste((190, 202, 228) if night else (255, 255, 255), (0, 0), mask)
