"""Cast shadows on the ground, and the pools of light that lamps and fires throw on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from PIL import Image, ImageChops, ImageDraw, ImageFilter

from edit_eval.scenes.backdrop import halo
from edit_eval.scenes.camera import EYE, Camera
from edit_eval.scenes.masks import scaled
from edit_eval.scenes.palette import Light
from edit_eval.scenes.pen import Sprite
from edit_eval.scenes.scene import Scene, Thing

Solid = list[tuple[float, float, float]]


def _ring(radius: float, v: float) -> Solid:
    return [(radius * math.cos(k / 12 * math.pi), v, radius * math.sin(k / 12 * math.pi)) for k in range(24)]


def _globe(radius: float, v: float) -> Solid:
    levels = [k / 8 * math.pi for k in range(-3, 4)]
    return [point for a in levels for point in _ring(radius * math.cos(a), v + radius * math.sin(a))]


def _block(u: float, w: float, low: float, high: float, turn: float = 0.0) -> Solid:
    sine, cosine = math.sin(turn), math.cos(turn)
    corners = [(-u, -w), (u, -w), (u, w), (-u, w)]
    return [(x * cosine - y * sine, v, x * sine + y * cosine) for x, y in corners for v in (low, high)]


SOLIDS: dict[str, Callable[[Thing], list[Solid]]] = {
    "ball": lambda thing: [_globe(0.5, 0.5)],
    "box": lambda thing: [_block(0.55, 0.5, 0.0, 1.0, 0.55 if thing.state == "tipped" else 0.0)],
    "cone": lambda thing: [[*_ring(0.28, 0.05), (0.0, 1.0, 0.0)], _block(0.4, 0.4, 0.0, 0.07)],
    "house": lambda thing: [
        [*_block(2.8, 2.0, 0.0, 2.75), (-3.1, 4.5, 0.0), (3.1, 4.5, 0.0)],
        [(u, v, w) for u in (1.3, 1.8) for v in (3.4, 5.1) for w in (-0.9, -0.4)],
    ],
    "snowman": lambda thing: (
        [_globe(0.72, 0.66), _globe(0.5, 1.42), _globe(0.36, 2.05), _block(0.25, 0.25, 2.2, 2.62)]
        if thing.state != "melted"
        else [_globe(0.4, 0.1)]
    ),
}


def hull(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The convex outline of a cloud of points (Andrew's monotone chain)."""
    ordered = sorted(set(points))
    if len(ordered) < 3:
        return ordered

    def chain(line: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
        kept: list[tuple[float, float]] = []
        for x, y in line:
            while len(kept) > 1:
                (x1, y1), (x2, y2) = kept[-2], kept[-1]
                if (x2 - x1) * (y - y1) - (y2 - y1) * (x - x1) > 0:
                    break
                kept.pop()
            kept.append((x, y))
        return kept[:-1]

    return chain(ordered) + chain(ordered[::-1])


def cast(scene: Scene, light: Light, thing: Thing, sprite: Sprite) -> Image.Image:
    """The shadow that the sun or moon makes of one thing on the ground (L, hard edges, of the picture's size)."""
    camera = Camera.of(scene)
    side = 1.0 if scene.sun == "left" else -1.0
    across, towards = light.reach[0] * side, light.reach[1]
    shadow = Image.new("L", (scene.width, scene.height), 0)
    if thing.kind in SOLIDS:
        x, z = camera.place(thing)
        lift = scene.lift(thing)
        pen = ImageDraw.Draw(shadow)
        for solid in SOLIDS[thing.kind](thing):
            spots = []
            for u, v, w in solid:
                high = lift + v * thing.size
                spots.append(
                    camera.project(x + u * thing.size + across * high, 0.0, z + w * thing.size - towards * high)
                )
            pen.polygon(hull(spots), fill=255)
        return shadow
    _project(camera, camera.place(thing)[1], sprite, across, towards, shadow)
    return shadow


def _project(camera: Camera, z: float, sprite: Sprite, across: float, towards: float, shadow: Image.Image) -> None:
    """Lays a flat thing's silhouette on the ground: the plane upright at z, seen from the light.

    A ground point (row t below the horizon) is reached by the ray through height h = (z t - f E) / (towards t) of the
    upright plane; putting this into the pinhole equations gives a projective map from ground pixels to the sprite's.
    """
    focal, horizon, middle = camera.focal, camera.horizon, camera.width / 2
    k = focal / z
    # Numerators over t = y - horizon, as (x, y, 1) coefficients; the sprite's corner is taken off.
    x_t = middle - k * across * z / towards - sprite.left
    x_1 = k * (across * focal * EYE / towards)
    row_x = (k * EYE, x_t, x_1 - k * EYE * middle - x_t * horizon)
    y_t = horizon + k * (EYE - z / towards) - sprite.top
    row_y = (0.0, y_t, k * focal * EYE / towards - y_t * horizon)
    norm = -1.0 / horizon
    data = (*(v * norm for v in row_x), *(v * norm for v in row_y), 0.0, norm)
    alpha = sprite.image.getchannel("A")
    laid = alpha.transform(shadow.size, Image.Transform.PERSPECTIVE, data, Image.Resampling.BILINEAR)
    # Above the horizon the map is not of this world.
    laid.paste(0, (0, 0, camera.width, math.ceil(horizon) + 1))
    shadow.paste(ImageChops.lighter(shadow, laid))


def contact(scene: Scene, thing: Thing) -> Image.Image:
    """The soft dark rim where a thing touches the ground (L); it is there in every weather."""
    camera = Camera.of(scene)
    mask = Image.new("L", (scene.width, scene.height), 0)
    if scene.lift(thing) > 0 or thing.state == "released":
        return mask
    x, y = thing.x * scene.width, camera.ground_y(thing.depth)
    unit = camera.scale(thing.depth)
    narrow = {"tree": 0.5, "pine": 0.45, "lamp": 0.26, "flag": 0.3, "stop": 0.25, "person": 0.42, "balloon": 0.2}
    half = narrow.get(thing.kind, thing.form.width / 2) * thing.size * unit * 1.12
    flat = half * min(0.5, 0.18 + 0.28 * thing.depth)
    if thing.kind in ("box", "house", "bench"):
        z = camera.distance(thing.depth)
        near = z - thing.form.depth / 2 * thing.size
        y = camera.project(0.0, 0.0, near)[1] - flat * 0.2
    blur = max(0.8, unit * 0.07)
    rim = math.ceil(3 * blur)
    left, top = math.floor(x - half) - rim, math.floor(y - flat) - rim
    patch = Image.new("L", (math.ceil(2 * half) + 2 * rim + 1, math.ceil(2 * flat) + 2 * rim + 1), 0)
    ImageDraw.Draw(patch).ellipse((x - half - left, y - flat - top, x + half - left, y + flat - top), fill=255)
    mask.paste(patch.filter(ImageFilter.GaussianBlur(blur)), (left, top))
    return mask


WARM = (1.0, 0.70, 0.30)


def sources(scene: Scene) -> list[tuple[Thing, float, float]]:
    """What is seen to give light: the thing, its strength (0 to 1), how far it reaches, in metres; by day nothing."""
    found: list[tuple[Thing, float, float]] = []
    if scene.time == "day":
        return found
    dim = 1.0 if scene.time == "night" else 0.22
    for thing in scene.things:
        if thing.kind == "lamp" and thing.state == "on":
            found.append((thing, dim * 0.72, 5.2 * thing.size))
        elif thing.kind == "campfire" and thing.state == "burning":
            found.append((thing, dim * 0.68, 4.2 * thing.size))
        elif thing.kind == "house" and scene.time == "night":
            found.append((thing, dim * 0.34, 5.0 * thing.size))
    return found


def light_map(scene: Scene, light: Light) -> Image.Image:
    """By what each pixel of the ground is multiplied (RGB, 255 is 1)."""
    red, green, blue = (round(min(1.0, part) * 255) for part in light.ambient)
    picture = Image.new("RGB", (scene.width, scene.height), (red, green, blue))
    camera = Camera.of(scene)
    for thing, strength, reach in sources(scene):
        x, z = camera.place(thing)
        if thing.kind == "house":
            z -= 3.2 * thing.size
        left, _ = camera.project(x - reach, 0.0, z)
        right, _ = camera.project(x + reach, 0.0, z)
        _, far = camera.project(x, 0.0, z + reach)
        _, near = camera.project(x, 0.0, max(2.5, z - reach))
        box = (round(left), round(far), round(right), round(near))
        spot = halo(256, 1.25).resize((max(1, box[2] - box[0]), max(1, box[3] - box[1])), Image.Resampling.BILINEAR)
        pool = Image.new("L", picture.size, 0)
        pool.paste(spot, (box[0], box[1]))
        bands = [scaled(pool, part * strength) for part in WARM]
        picture = ImageChops.add(picture, Image.merge("RGB", bands))
    return picture


def light_on(scene: Scene, light: Light, thing: Thing) -> tuple[float, float, float]:
    """By what the colours of a thing are multiplied: the light of the sky and of the lamps near it."""
    red, green, blue = light.ambient
    camera = Camera.of(scene)
    x, z = camera.place(thing)
    for lamp, strength, reach in sources(scene):
        if lamp.name == thing.name and thing.kind == "house":
            continue
        lx, lz = camera.place(lamp)
        far = math.hypot(x - lx, z - lz) / (reach * 1.15)
        gain = strength * max(0.0, 1.0 - far) ** 1.4 * (0.5 if lamp.name == thing.name else 1.1)
        red, green, blue = red + gain * WARM[0], green + gain * WARM[1], blue + gain * WARM[2]
    return min(1.0, red), min(1.0, green), min(1.0, blue)
