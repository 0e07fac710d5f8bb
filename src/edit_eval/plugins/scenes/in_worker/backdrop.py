"""What is around the things: the sky, the far end of the land, the ground under them, and the weather before them."""

from __future__ import annotations

import math
import random

from PIL import Image, ImageChops, ImageDraw, ImageFilter

from edit_eval.plugins.scenes.in_worker.pen import (
    EYE,
    HORIZON,
    Camera,
    Colour,
    Light,
    gradient_colour,
    mix,
    scale_mask,
    shade,
    times,
)
from edit_eval.plugins.scenes.in_worker.scene import Scene

FINE = 2
"""Oversampling of the backdrop."""


def vertical(size: tuple[int, int], stops: list[tuple[float, Colour]]) -> Image.Image:
    """An RGB gradient from above (0) to below (1); `size` in pixels."""
    rows = 96
    column = Image.new("RGB", (1, rows))
    for row in range(rows):
        column.putpixel((0, row), gradient_colour(stops, row / (rows - 1)))
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
    spot = scale_mask(halo(size, 2.4), 0.72)
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
        image.paste(belly, (0, 0), scale_mask(mask, opaque))
        image.paste(body, (0, 0), scale_mask(ImageChops.darker(mask, shift), opaque))


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
        roll = 0.0
        for n, phase in enumerate(phases):  # by steps, so that a scene has the same pixels in every Python
            roll += math.sin(t * waves * (1 + 0.9 * n) * math.pi + phase) / (1 + 1.1 * n)
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


FAR_AND_NEAR: dict[str, tuple[Colour, Colour]] = {
    "meadow": ((164, 196, 112), (98, 160, 74)),
    "park": ((148, 190, 112), (90, 152, 80)),
    "beach": ((238, 218, 172), (222, 190, 136)),
    "square": ((206, 198, 188), (176, 168, 160)),
    "autumn": ((206, 184, 112), (170, 146, 74)),
    "snow": ((238, 243, 250), (222, 231, 243)),
}
SHORE = 0.19
"""Depth at which the beach begins."""


def ground(scene: Scene) -> tuple[Image.Image, Image.Image]:
    """The ground's own colours (RGB) and where it lies (L), both of the picture's size."""
    camera = Camera.from_scene(scene)
    width, height = scene.width, scene.height
    top = math.floor(camera.horizon) - 1
    autumnal = scene.season == "autumn" and scene.setting in ("meadow", "park")
    far, near = FAR_AND_NEAR["snow" if scene.snowy else "autumn" if autumnal else scene.setting]
    size = (width * FINE, (height - top) * FINE)
    land = vertical(size, [(0.0, far), (0.5, mix(far, near, 0.7)), (1.0, near)])
    pen = ImageDraw.Draw(land)
    camera2 = Camera(width * FINE, height * FINE)
    if scene.setting == "square":
        _paving(pen, scene, camera2, top * FINE)
    _patches(land, scene)
    pen = ImageDraw.Draw(land)
    if not scene.snowy:
        if scene.setting in ("meadow", "park"):
            _grass(pen, scene, size)
        elif scene.setting == "beach":
            _pebbles(pen, scene, size)
    if scene.setting == "park":
        _path(pen, scene, camera2, top * FINE)
    if scene.season == "autumn" and not scene.snowy:
        _leaves(pen, scene, size)
    picture = Image.new("RGB", (width, height))
    picture.paste(land.reduce(FINE), (0, top))
    if scene.setting == "beach":
        return picture, _shore(scene, camera)
    mask = Image.new("L", (width, height), 0)
    mask.paste(255, (0, top + 1, width, height))
    return picture, mask


def _shore(scene: Scene, camera: Camera) -> Image.Image:
    sheet = Image.new("L", (scene.width * FINE, scene.height * FINE), 0)
    edge = []
    for k in range(65):
        t = k / 64
        wave = 0.028 * math.sin(5.2 * t + scene.seed % 7) + 0.012 * math.sin(13 * t)
        edge.append((t * scene.width * FINE, camera.ground_y(SHORE + wave) * FINE))
    outline = [(0.0, scene.height * FINE), *edge, (scene.width * FINE, scene.height * FINE)]
    ImageDraw.Draw(sheet).polygon(outline, fill=255)
    return sheet.reduce(FINE).filter(ImageFilter.GaussianBlur(scene.height / 500))


def _patches(land: Image.Image, scene: Scene) -> None:
    """Large soft patches, wide and flat as the camera sees them."""
    chance = random.Random(f"{scene.seed} patches")
    noise = Image.frombytes("L", (14, 22), chance.randbytes(14 * 22))
    soft = noise.resize(land.size, Image.Resampling.BICUBIC)
    deep = 14 if scene.snowy else 22
    soft = soft.point([round(255 - deep + deep * v / 255) for v in range(256)])
    grain = Image.frombytes(
        "L", (land.width // 2, land.height // 2), chance.randbytes(land.width // 2 * (land.height // 2))
    )
    grain = grain.resize(land.size, Image.Resampling.NEAREST).point([244 + v * 11 // 255 for v in range(256)])
    veil = ImageChops.multiply(soft, grain)
    land.paste(ImageChops.multiply(land, Image.merge("RGB", (veil, veil, veil))))


def _spots(
    scene: Scene, name: str, count: int, size: tuple[int, int]
) -> list[tuple[float, float, float, random.Random]]:
    """Places spread evenly over the real ground: x, y and how large a thing of 1 m is there, in pixels."""
    chance = random.Random(f"{scene.seed} {name}")
    spots = []
    for _ in range(count):
        depth = 0.06 + 0.94 * chance.random() ** 0.8
        if scene.setting == "beach" and depth < SHORE + 0.06:
            depth = SHORE + 0.06 + 0.7 * chance.random()
        spots.append((chance.random() * size[0], depth * size[1], depth * size[1] / 3.0, chance))
    return spots


def _grass(pen: ImageDraw.ImageDraw, scene: Scene, size: tuple[int, int]) -> None:
    far, near = FAR_AND_NEAR["autumn" if scene.season == "autumn" else scene.setting]
    for x, y, unit, chance in _spots(scene, "grass", 620, size):
        colour = mix(far, near, min(1.0, y / size[1] * 1.3))
        colour = shade(colour, chance.choice((0.86, 0.90, 1.10, 1.16)))
        tall = unit * chance.uniform(0.07, 0.13)
        for lean in (-0.5, 0.0, 0.5):
            pen.line(
                [(x + lean * tall * 0.5, y), (x + lean * tall * 1.3, y - tall)],
                fill=colour,
                width=max(1, round(unit * 0.014)),
            )
    if scene.season != "summer" or scene.setting != "meadow":
        return
    for x, y, unit, chance in _spots(scene, "daisies", 95, size):
        colour = chance.choice(((250, 246, 236), (250, 222, 110), (240, 170, 190), (250, 246, 236)))
        radius = max(0.8, unit * 0.032)
        pen.ellipse((x - radius, y - radius * 0.8, x + radius, y + radius * 0.8), fill=colour)


def _leaves(pen: ImageDraw.ImageDraw, scene: Scene, size: tuple[int, int]) -> None:
    for x, y, unit, chance in _spots(scene, "leaves", 240, size):
        colour = chance.choice(((206, 92, 46), (226, 150, 52), (178, 76, 50), (232, 184, 84)))
        radius = max(1.0, unit * chance.uniform(0.04, 0.07))
        pen.ellipse((x - radius, y - radius * 0.45, x + radius, y + radius * 0.45), fill=colour)


def _pebbles(pen: ImageDraw.ImageDraw, scene: Scene, size: tuple[int, int]) -> None:
    for x, y, unit, chance in _spots(scene, "pebbles", 190, size):
        colour = chance.choice(((204, 174, 128), (246, 230, 196), (214, 186, 146), (236, 214, 170)))
        radius = max(0.8, unit * chance.uniform(0.02, 0.05))
        pen.ellipse((x - radius, y - radius * 0.5, x + radius, y + radius * 0.5), fill=colour)
    for x, y, unit, chance in _spots(scene, "ripples", 46, size):
        long = unit * chance.uniform(0.5, 1.1)
        arc = [(x + long * (t / 6 - 0.5), y + 0.06 * long * math.sin(t / 6 * math.pi)) for t in range(7)]
        pen.line(arc, fill=(212, 182, 132), width=max(1, round(unit * 0.02)))


def _paving(pen: ImageDraw.ImageDraw, scene: Scene, camera: Camera, top: float) -> None:
    """Slabs of 1.6 m by 1.2 m, each row shifted by half a slab."""
    stone = (190, 182, 174) if not scene.snowy else (210, 219, 232)
    joint = shade(stone, 0.84)
    for k in range(4, 70):
        z, following = 1.2 * k, 1.2 * (k + 1)
        _, y = camera.project(0.0, 0.0, z)
        if y - top < 0:
            break
        pen.line([(0, y - top), (camera.width, y - top)], fill=joint, width=max(1, round(9 / z * FINE)))
        # As many to each side as the picture is wide there; far away the joints are too fine to be seen.
        count = math.ceil(camera.width / 2 * following / camera.focal / 1.6) if z < 40 else -1
        for column in range(-count - 1, count + 1):
            u = (column + (0.5 if k % 2 else 0.0)) * 1.6
            (x, y), (far_x, far_y) = camera.project(u, 0.0, z), camera.project(u, 0.0, following)
            pen.line([(x, y - top), (far_x, far_y - top)], fill=joint, width=max(1, round(8 / z * FINE)))


def _path(pen: ImageDraw.ImageDraw, scene: Scene, camera: Camera, top: float) -> None:
    colour = (218, 202, 168) if not scene.snowy else (210, 216, 224)
    bend = 1 if scene.seed % 2 else -1
    left: list[tuple[float, float]] = []
    right: list[tuple[float, float]] = []
    for k in range(25):
        depth = 0.02 + 1.06 * k / 24
        z = camera.distance(depth)
        middle = 0.5 + bend * (0.16 * math.sin(2.6 * depth + 0.4) - 0.05)
        x = (middle - 0.5) * camera.width * z / camera.focal
        for edge, side in ((left, -1.25), (right, 1.25)):
            px, py = camera.project(x + side, 0.0, z)
            edge.append((px, py - top))
    pen.polygon([*left, *reversed(right)], fill=shade(colour, 0.9))
    inner = [(x + (u - x) * 0.07, y) for (x, y), (u, _) in zip(left, right, strict=True)]
    outer = [(u - (u - x) * 0.07, y) for (x, y), (u, _) in zip(left, right, strict=True)]
    pen.polygon([*inner, *reversed(outer)], fill=colour)


def puddles(scene: Scene) -> Image.Image:
    """Where water lies on the ground (L, of the picture's size)."""
    camera = Camera.from_scene(scene)
    chance = random.Random(f"{scene.seed} puddles")
    sheet = Image.new("L", (scene.width * FINE, scene.height * FINE), 0)
    pen = ImageDraw.Draw(sheet)
    for k in range(8):
        depth = 0.24 + 0.72 * (k + chance.uniform(0.1, 0.9)) / 8
        x = ((k * 0.382 + chance.uniform(-0.07, 0.07)) % 1.0) * scene.width
        y, unit = camera.ground_y(depth), camera.scale(depth)
        wide = unit * chance.uniform(0.8, 1.5)
        flat = wide * (0.16 + 0.12 * depth)
        for dx, dy, part in ((0.0, 0.0, 1.0), (0.6, 0.35, 0.6), (-0.65, -0.25, 0.55)):
            cx, cy = x + dx * wide, y + dy * flat
            box = [cx - wide * part, cy - flat * part, cx + wide * part, cy + flat * part]
            pen.ellipse([v * FINE for v in box], fill=255)
    return sheet.reduce(FINE).filter(ImageFilter.GaussianBlur(scene.height / 480))


def haze_share(scene: Scene, light: Light, distance: float) -> float:
    """Share of haze before something at that distance (metres), from 0 to 1."""
    return light.haze * (1.0 - math.exp(-distance / (20.0 if scene.weather == "fog" else 45.0)))


def draw_haze(scene: Scene, light: Light) -> Image.Image:
    """The share of haze before every row of the ground (L, of the picture's size)."""
    camera = Camera.from_scene(scene)
    column = Image.new("L", (1, scene.height), 0)
    for row in range(scene.height):
        below = row + 0.5 - camera.horizon
        distance = camera.focal * EYE / below if below > 1 else 1e4
        column.putpixel((0, row), round(255 * haze_share(scene, light, distance)))
    return column.resize((scene.width, scene.height))


def draw_precipitation(image: Image.Image, scene: Scene) -> None:
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
