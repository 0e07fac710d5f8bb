"""The ground under the things: grass, sand, paving or snow, and the water that lies on it."""

from __future__ import annotations

import math
import random

from PIL import Image, ImageChops, ImageDraw, ImageFilter

from edit_eval.scenes.backdrop import FINE, vertical
from edit_eval.scenes.camera import Camera
from edit_eval.scenes.palette import Colour, mix, shade
from edit_eval.scenes.scene import Scene

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
    camera = Camera.of(scene)
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
    camera = Camera.of(scene)
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
