"""What lies behind the things: the sky with sun, moon, stars and clouds, and the far end of the land."""

from __future__ import annotations

import math
import random

from PIL import Image, ImageChops, ImageDraw, ImageFilter

from edit_eval.scenes.camera import HORIZON
from edit_eval.scenes.masks import scaled
from edit_eval.scenes.palette import Colour, Light, between, mix, shade, times
from edit_eval.scenes.scene import Scene

FINE = 2
"""Oversampling of the backdrop."""


def vertical(size: tuple[int, int], stops: list[tuple[float, Colour]]) -> Image.Image:
    """An RGB gradient from above (0) to below (1); `size` in pixels."""
    rows = 96
    column = Image.new("RGB", (1, rows))
    for row in range(rows):
        column.putpixel((0, row), between(stops, row / (rows - 1)))
    return column.resize(size, Image.Resampling.BICUBIC)


def halo(size: int, power: float = 2.0) -> Image.Image:
    """A round spot of light of that diameter: 255 in the middle, 0 at the rim."""
    spot = Image.radial_gradient("L")
    # Pillow's gradient is 255 in the corners, so 180 at the middle of each edge.
    spot = spot.point([round(255 * max(0.0, 1.0 - v / 179) ** power) for v in range(256)])
    return spot.resize((max(1, size), max(1, size)), Image.Resampling.BILINEAR)


def body_place(scene: Scene) -> tuple[float, float]:
    """Where the sun or moon stands, in fractions of the picture."""
    x = 0.16 if scene.sun == "left" else 0.84
    return x, {"day": 0.13, "sunset": 0.335, "night": 0.14}[scene.time]


def sky(scene: Scene, light: Light) -> Image.Image:
    """The whole picture as sky."""
    width, height = scene.width, scene.height
    stops = [(0.0, light.top), (HORIZON * 0.55, light.middle), (HORIZON * 1.02, light.low), (1.0, light.low)]
    image = vertical((width, height), stops)
    if scene.weather == "clear":
        if scene.time == "night":
            _stars(image, scene)
        _body(image, scene)
    if scene.weather != "fog":
        _clouds(image, scene, light)
    return image


def _stars(image: Image.Image, scene: Scene) -> None:
    chance = random.Random(f"{scene.seed} stars")
    sheet = Image.new("L", (scene.width * FINE, round(scene.height * HORIZON) * FINE), 0)
    pen = ImageDraw.Draw(sheet)
    for _ in range(90):
        x, y = chance.random() * sheet.width, chance.random() ** 1.3 * sheet.height
        radius = chance.choice((0.7, 0.8, 1.0, 1.5)) * scene.height / 384
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=chance.randrange(120, 256))
    mask = sheet.reduce(FINE)
    image.paste((236, 240, 255), (0, 0), mask)


def _body(image: Image.Image, scene: Scene) -> None:
    fx, fy = body_place(scene)
    x, y = fx * scene.width, fy * scene.height
    colour, glow, radius, wide = {
        "day": ((255, 247, 214), (255, 240, 190), 0.042, 0.62),
        "sunset": ((255, 226, 150), (255, 176, 92), 0.058, 1.15),
        "night": ((240, 240, 226), (150, 170, 214), 0.045, 0.42),
    }[scene.time]
    size = round(wide * 1.5 * scene.height)
    spot = scaled(halo(size, 2.4), 0.72)
    image.paste(glow, (round(x - size / 2), round(y - size / 2)), spot)
    r = radius * scene.height
    disc = Image.new("L", (scene.width * FINE, scene.height * FINE // 2), 0)
    pen = ImageDraw.Draw(disc)
    box = [(x - r) * FINE, (y - r) * FINE, (x + r) * FINE, (y + r) * FINE]
    pen.ellipse(box, fill=255)
    if scene.time == "night":
        cut = r * FINE * (0.62 if scene.sun == "left" else -0.62)
        pen.ellipse([box[0] + cut, box[1] - 0.2 * r, box[2] + cut, box[3] - 0.5 * r], fill=0)
    image.paste(colour, (0, 0), disc.reduce(FINE))


def _clouds(image: Image.Image, scene: Scene, light: Light) -> None:
    chance = random.Random(f"{scene.seed} clouds")
    width, high = scene.width, round(scene.height * HORIZON)
    heavy = scene.weather != "clear"
    count = 9 if heavy else 3
    for k in range(count):
        # A clear sky keeps its clouds off both places where the sun may stand.
        spread = (k + chance.uniform(0.2, 0.8)) / count
        middle = (spread if heavy else 0.26 + 0.48 * spread) * width
        level = chance.uniform(0.14, 0.62) * high
        long = chance.uniform(0.12, 0.2) * width * (1.5 if heavy else 1.0)
        puffs = [
            (
                middle + t * long / 2,
                level - (1 - t * t) * long * 0.10,
                long * (0.10 + 0.10 * (1 - t * t)) * chance.uniform(0.8, 1.2),
            )
            for t in (-1.0, -0.66, -0.33, 0.0, 0.33, 0.66, 1.0)
        ]
        sheet = Image.new("L", (width, high), 0)
        pen = ImageDraw.Draw(sheet)
        for x, y, r in puffs:
            pen.ellipse((x - r, y - r, x + r, y + r), fill=255)
        pen.rectangle((0, level + long * 0.055, width, high), fill=0)
        mask = sheet.filter(ImageFilter.GaussianBlur(scene.height / 170))
        shift = Image.new("L", (width, high), 0)
        shift.paste(mask, (0, -round(long * 0.055)))
        if scene.time == "night":
            body, belly, opaque = mix(light.middle, (150, 164, 204), 0.35), light.middle, 0.5
        elif scene.time == "sunset":
            body, belly, opaque = mix(light.low, (255, 226, 190), 0.4), mix(light.middle, (150, 84, 110), 0.45), 0.8
        else:
            body = mix((255, 255, 255), light.low, 0.15) if not heavy else mix(light.low, (255, 255, 255), 0.25)
            belly, opaque = mix(light.low, light.top, 0.22 if not heavy else 0.45), 0.88
        image.paste(belly, (0, 0), scaled(mask, opaque))
        image.paste(body, (0, 0), scaled(ImageChops.darker(mask, shift), opaque))


def far_land(image: Image.Image, scene: Scene, light: Light) -> None:
    """Draws hills, trees, sea or houses at the horizon on the picture."""
    {"meadow": _hills, "park": _grove, "beach": _sea, "square": _row_of_houses}[scene.setting](image, scene, light)


def _far(colour: Colour, light: Light, haze: float) -> Colour:
    """A far colour under the light, in the haze."""
    return mix(times(colour, light.ambient), light.low, min(0.96, haze + light.haze * 0.75))


def _layer(image: Image.Image, scene: Scene, points: list[tuple[float, float]], colour: Colour) -> None:
    sheet = Image.new("L", (scene.width * FINE, scene.height * FINE), 0)
    base = (scene.height * HORIZON + 2) * FINE
    outline = [(x * FINE, y * FINE) for x, y in points]
    ImageDraw.Draw(sheet).polygon([(outline[0][0], base), *outline, (outline[-1][0], base)], fill=255)
    image.paste(colour, (0, 0), sheet.reduce(FINE))


def _ridge(scene: Scene, name: str, high: float, waves: float) -> list[tuple[float, float]]:
    """A rolling outline `high` (fraction of the picture's height) above the horizon."""
    chance = random.Random(f"{scene.seed} {name}")
    phases = [chance.uniform(0, 2 * math.pi) for _ in range(3)]
    points = []
    for k in range(97):
        t = k / 96
        roll = sum(
            math.sin(t * waves * (1 + 0.9 * n) * math.pi + phase) / (1 + 1.1 * n) for n, phase in enumerate(phases)
        )
        points.append((t * scene.width, scene.height * (HORIZON - high * (0.55 + 0.26 * roll))))
    return points


def _hills(image: Image.Image, scene: Scene, light: Light) -> None:
    colours: dict[str, tuple[Colour, Colour, Colour]] = {
        "summer": ((128, 160, 172), (112, 158, 122), (104, 156, 92)),
        "autumn": ((146, 150, 164), (186, 144, 92), (176, 152, 84)),
        "winter": ((186, 198, 214), (214, 224, 236), (228, 235, 244)),
    }
    far, middle, near = colours["winter" if scene.snowy else scene.season]
    _layer(image, scene, _ridge(scene, "far", 0.17, 1.7), _far(far, light, 0.42))
    _layer(image, scene, _ridge(scene, "middle", 0.105, 2.6), _far(middle, light, 0.26))
    _layer(image, scene, _ridge(scene, "near", 0.045, 3.3), _far(near, light, 0.12))


def _grove(image: Image.Image, scene: Scene, light: Light) -> None:
    greens: dict[str, tuple[Colour, ...]] = {
        "summer": ((88, 138, 106), (74, 128, 84), (92, 146, 84)),
        "autumn": ((198, 122, 64), (212, 154, 70), (170, 104, 62)),
        "winter": ((176, 186, 200), (198, 208, 222), (214, 222, 234)),
    }
    palette = greens["winter" if scene.snowy else scene.season]
    chance = random.Random(f"{scene.seed} grove")
    width, height = scene.width, scene.height
    for row, (count, high, haze) in enumerate(((15, 0.088, 0.34), (19, 0.052, 0.16))):
        sheet = Image.new("RGBA", (width * FINE, height * FINE), (0, 0, 0, 0))
        pen = ImageDraw.Draw(sheet)
        for k in range(count + 1):
            x = (k + chance.uniform(-0.35, 0.35)) / count * width
            r = height * high * chance.uniform(0.75, 1.25)
            y = height * HORIZON - r * chance.uniform(0.35, 0.75)
            colour = _far(palette[(k + row) % 3], light, haze)
            pen.ellipse(
                [(x - r * 0.95) * FINE, (y - r * 0.85) * FINE, (x + r * 0.95) * FINE, (y + r) * FINE], fill=colour
            )
            lit = mix(colour, light.low, 0.10)
            pen.ellipse(
                [(x - r * 0.6) * FINE, (y - r * 0.7) * FINE, (x + r * 0.35) * FINE, (y + r * 0.1) * FINE], fill=lit
            )
        pen.rectangle([0, (height * HORIZON + 2) * FINE, width * FINE, height * FINE], fill=(0, 0, 0, 0))
        small = sheet.reduce(FINE)
        image.paste(small.convert("RGB"), (0, 0), small.getchannel("A"))


def _sea(image: Image.Image, scene: Scene, light: Light) -> None:
    width, height = scene.width, scene.height
    island = _ridge(scene, "island", 0.07, 1.2)
    half = [(x, y) for x, y in island if 0.52 < x / width < 0.95]
    half = [
        (x, height * HORIZON - (height * HORIZON - y) * math.sin((x / width - 0.52) / 0.43 * math.pi)) for x, y in half
    ]
    _layer(image, scene, half, _far((122, 152, 140), light, 0.40))
    top = round(height * HORIZON) - 2
    deep = round(height * 0.105) + 2
    sea = vertical((width, deep), [(0.0, _far((70, 140, 186), light, 0.30)), (1.0, _far((66, 168, 182), light, 0.06))])
    pen = ImageDraw.Draw(sea)
    chance = random.Random(f"{scene.seed} sea")
    for _ in range(70):
        x, t = chance.random() * width, chance.random()
        long = (4 + 22 * t) * width / 512
        pen.line([(x, t * deep), (x + long, t * deep)], fill=_far((208, 234, 238), light, 0.1), width=1)
    image.paste(sea, (0, top))
    fx, _ = body_place(scene)
    if scene.weather == "clear":
        pen = ImageDraw.Draw(image)
        shine = {"day": (240, 248, 250), "sunset": (255, 214, 150), "night": (190, 204, 232)}[scene.time]
        for k in range(26):
            y = top + 2 + k * (deep - 3) / 26
            half_wide = (3 + k * 0.8) * chance.uniform(0.3, 1.0) * width / 512
            x = fx * width + chance.uniform(-1, 1) * (2 + k * 0.6)
            pen.line([(x - half_wide, y), (x + half_wide, y)], fill=shine, width=1)


def _row_of_houses(image: Image.Image, scene: Scene, light: Light) -> None:
    chance = random.Random(f"{scene.seed} houses")
    walls: tuple[Colour, ...] = (
        (214, 178, 146),
        (196, 158, 140),
        (222, 202, 164),
        (178, 178, 182),
        (204, 168, 156),
        (188, 192, 176),
    )
    width, height = scene.width, scene.height
    sheet = image.resize((width * FINE, height * FINE), Image.Resampling.BILINEAR)
    pen = ImageDraw.Draw(sheet)
    base = height * HORIZON + 2
    unit = height / 384
    x = -8.0
    while x < width:
        wide = chance.uniform(34, 58) * unit
        tall = chance.uniform(40, 74) * unit
        wall = _far(chance.choice(walls), light, 0.22)
        roof = _far(
            (232, 238, 246) if scene.snowy else chance.choice(((150, 98, 84), (112, 108, 118), (136, 92, 82))),
            light,
            0.22,
        )
        peak = chance.choice((0.0, 10.0, 14.0)) * unit
        pen.rectangle([x * FINE, (base - tall) * FINE, (x + wide) * FINE, base * FINE], fill=wall)
        if peak:
            ridge = [
                ((x - 1) * FINE, (base - tall) * FINE),
                ((x + wide / 2) * FINE, (base - tall - peak) * FINE),
                ((x + wide + 1) * FINE, (base - tall) * FINE),
            ]
            pen.polygon(ridge, fill=roof)
        else:
            pen.rectangle(
                [(x - 1) * FINE, (base - tall - 3 * unit) * FINE, (x + wide + 1) * FINE, (base - tall) * FINE],
                fill=roof,
            )
        columns, rows = max(2, int(wide / (13 * unit))), max(2, int(tall / (17 * unit)))
        for column in range(columns):
            for row in range(rows):
                u = x + (column + 0.5) / columns * wide
                v = base - tall + (row + 0.55) / rows * tall
                home = chance.random() < 0.45
                glass = (236, 196, 120) if home and scene.time == "night" else shade(wall, 0.70)
                if home and scene.time == "night":
                    glass = mix(glass, light.low, light.haze * 0.5)
                pen.rectangle(
                    [(u - 2.4 * unit) * FINE, (v - 4 * unit) * FINE, (u + 2.4 * unit) * FINE, (v + 3.4 * unit) * FINE],
                    fill=glass,
                )
        x += wide + chance.choice((0.0, 0.0, 5.0)) * unit
    image.paste(sheet.reduce(FINE))
