"""From a scene to its picture, with the shadows and pools of light on the ground."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from PIL import Image, ImageChops, ImageDraw, ImageEnhance, ImageFilter

from edit_eval.plugins.scenes.in_worker import things
from edit_eval.plugins.scenes.in_worker.backdrop import (
    draw_haze,
    draw_precipitation,
    far_land,
    ground,
    halo,
    haze_share,
    puddles,
    sky,
)
from edit_eval.plugins.scenes.in_worker.pen import EYE, Camera, Light, Pen, Sprite, light_of, mix, scale_mask, times
from edit_eval.plugins.scenes.in_worker.scene import Scene, Thing

Painter = Callable[[Pen, Thing, Scene], None]
PAINTERS: dict[str, Painter] = {
    "ball": things.ball,
    "box": things.box,
    "cone": things.cone,
    "tree": things.tree,
    "pine": things.pine,
    "house": things.house,
    "person": things.person,
    "flag": things.flag,
    "lamp": things.lamp,
    "snowman": things.snowman,
    "bench": things.bench,
    "balloon": things.balloon,
    "campfire": things.campfire,
    "stop": things.stop,
    "flower": things.flower,
}


@dataclass(frozen=True)
class Drawing:
    """A drawn scene: its picture, and what of it is what. Masks are L, of the picture's size, 255 where it is."""

    scene: Scene
    image: Image.Image
    """RGB."""
    silhouettes: dict[str, Image.Image] = field(default_factory=dict)
    """What is seen of each thing, by name; what stands before it is taken off."""
    shadows: dict[str, Image.Image] = field(default_factory=dict)
    """The shadow of each thing on the ground, by name, soft rim of contact included."""


def sprite_of(scene: Scene, thing: Thing) -> Sprite:
    """One thing as it is seen in the scene, in its own colours, before the light of the hour."""
    pen = Pen(scene, thing, things.reach_of(thing))
    if scene.weather == "clear":
        pen.side = -1.0 if scene.sun == "left" else 1.0
    PAINTERS[thing.kind](pen, thing, scene)
    return pen.sprite()


def back_to_front(scene: Scene, sprites: dict[str, Sprite]) -> list[tuple[Thing, Sprite]]:
    """The things that have a sprite, in the order in which they are painted."""
    things = sorted(scene.things, key=lambda thing: (thing.depth, scene.lift(thing)))
    return [(thing, sprites[thing.name]) for thing in things if thing.name in sprites]


def draw(
    scene: Scene,
    shadows_of: Scene | None = None,
    hidden: frozenset[str] = frozenset(),
    unmoved: frozenset[str] = frozenset(),
) -> Drawing:
    """Draws a scene.

    `shadows_of`: another scene whose shadows and pools of light lie on the ground instead. `hidden`: names of things
    that are not painted, though what stands on them stays up. `unmoved`: names of things that the wind of `shadows_of`
    blows on, and not that of this scene.
    """
    light = light_of(scene)
    still = shadows_of or scene
    sprites = {
        thing.name: sprite_of(replace(scene, wind=still.wind) if thing.name in unmoved else scene, thing)
        for thing in scene.things
        if thing.name not in hidden
    }
    image = _draw_background(replace(scene, things=())).copy()
    shadows = _lay_ground(image, scene, light, sprites, shadows_of)
    silhouettes = _stand_things(image, scene, light, sprites)
    draw_precipitation(image, scene)
    return Drawing(scene, image, silhouettes, shadows)


@lru_cache(maxsize=4)
def _draw_background(scene: Scene) -> Image.Image:
    """Sky and far land of a scene without things; kept, for source and edits of a scene share it."""
    light = light_of(scene)
    image = sky(scene, light)
    far_land(image, scene, light)
    return image


@lru_cache(maxsize=4)
def _land(scene: Scene) -> tuple[Image.Image, Image.Image]:
    """The ground of a scene without things, and where it lies; kept as well."""
    return ground(scene)


def _lay_ground(
    image: Image.Image, scene: Scene, light: Light, sprites: dict[str, Sprite], shadows_of: Scene | None
) -> dict[str, Image.Image]:
    # Of all that the scene says, hour and sun do not change the ground's own colours.
    land, mask = _land(replace(scene, things=(), time="day", sun="left", wind="", wet=False))
    if scene.weather == "rain" or scene.wet:
        land = ImageEnhance.Brightness(land).enhance(0.84)
    other = shadows_of or scene
    if shadows_of is not None:
        light = light_of(other)
        sprites = {thing.name: sprite_of(other, thing) for thing in other.things}
    shadows, direct, touch = {}, Image.new("L", image.size, 0), Image.new("L", image.size, 0)
    for thing in other.things:
        if thing.name not in sprites:
            continue
        rim = scale_mask(contact(other, thing), 0.42)
        touch = ImageChops.lighter(touch, rim)
        shadows[thing.name] = rim
        if light.shadow:
            hard = cast(other, light, thing, sprites[thing.name])
            fall = hard.filter(ImageFilter.GaussianBlur(other.height / 260))
            direct = ImageChops.lighter(direct, fall)
            shadows[thing.name] = ImageChops.lighter(rim, fall)
    dark = ImageChops.screen(scale_mask(direct, light.shadow), touch)
    lit = ImageChops.multiply(land, light_map(other, light))
    tone = times((44, 52, 92), light.ambient) if other.time != "sunset" else (70, 44, 70)
    lit.paste(tone, (0, 0), dark)
    own = light_of(scene)
    if scene.wet or scene.weather == "rain":
        _wet(lit, scene, own, sprites)
    lit.paste(own.low, (0, 0), draw_haze(scene, own))
    image.paste(lit, (0, 0), mask)
    if scene.setting == "beach":
        _foam(image, mask, own)
    return shadows


def _foam(image: Image.Image, mask: Image.Image, light: Light) -> None:
    """A white line where the sea meets the sand."""
    size = 5 if image.height < 700 else 9
    edge = ImageChops.subtract(mask.filter(ImageFilter.MaxFilter(size)), mask)
    edge = scale_mask(edge.filter(ImageFilter.GaussianBlur(image.height / 480)), 0.8)
    image.paste(mix(times((250, 252, 250), light.ambient), light.low, light.haze * 0.5), (0, 0), edge)


def _wet(lit: Image.Image, scene: Scene, light: Light, sprites: dict[str, Sprite]) -> None:
    """Lets the ground shine: the things mirrored faintly everywhere, clearly in the puddles."""
    camera = Camera.from_scene(scene)
    mirror = Image.new("RGB", lit.size, mix(light.low, light.middle, 0.45))
    sheen = 0.14 if scene.setting != "square" else 0.24
    water = Image.new("L", lit.size, round(255 * sheen))
    if scene.wet:
        water = ImageChops.lighter(water, scale_mask(puddles(scene), 0.80))
    for thing, sprite in back_to_front(scene, sprites):
        base = camera.ground_y(thing.depth)
        upside = sprite.image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
        top = round(2 * base - (sprite.top + sprite.image.height))
        mirror.paste(_lit(upside, scene, light, thing), (sprite.left, top), upside.getchannel("A"))
        if sprite.glow is not None:
            shine = sprite.glow.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
            mirror.paste(shine.convert("RGB"), (sprite.left, top), shine.getchannel("A"))
    lit.paste(mirror.filter(ImageFilter.GaussianBlur(scene.height / 300)), (0, 0), water)


def _stand_things(image: Image.Image, scene: Scene, light: Light, sprites: dict[str, Sprite]) -> dict[str, Image.Image]:
    camera = Camera.from_scene(scene)
    silhouettes: dict[str, Image.Image] = {}
    for thing, sprite in back_to_front(scene, sprites):
        place = (sprite.left, sprite.top)
        alpha = sprite.image.getchannel("A")
        if thing.on in silhouettes:
            _touch_support(image, scene, thing, silhouettes[thing.on])
        face = _lit(sprite.image, scene, light, thing)
        haze = haze_share(scene, light, camera.distance(thing.depth))
        face = Image.blend(face, Image.new("RGB", alpha.size, light.low), haze)
        image.paste(face, place, alpha)
        if sprite.glow is not None:
            _shine(image, scene, sprite.glow, place, camera.scale(thing.depth), haze)
        mask = Image.new("L", image.size, 0)
        mask.paste(alpha, place)
        hidden = ImageChops.invert(mask)
        for name, earlier in silhouettes.items():
            silhouettes[name] = ImageChops.multiply(earlier, hidden)
        silhouettes[thing.name] = mask
    return silhouettes


def _lit(face: Image.Image, scene: Scene, light: Light, thing: Thing) -> Image.Image:
    """A thing's face (RGB) under the light that falls on it."""
    glass = Image.new("RGB", face.size, times((255, 255, 255), light_factors(scene, light, thing)))
    return ImageChops.multiply(face.convert("RGB"), glass)


def _touch_support(image: Image.Image, scene: Scene, thing: Thing, support: Image.Image) -> None:
    """Darkens the top of what a thing stands on, right under it."""
    camera = Camera.from_scene(scene)
    x, z = camera.place(thing)
    px, py = camera.project(x, scene.lift(thing), z)
    unit = camera.scale(thing.depth) * thing.size
    mask = Image.new("L", image.size, 0)
    half, flat = 0.42 * unit * thing.form.width, 0.13 * unit
    ImageDraw.Draw(mask).ellipse((px - half, py - flat, px + half, py + flat), fill=120)
    mask = ImageChops.multiply(mask.filter(ImageFilter.GaussianBlur(max(0.6, unit * 0.05))), support)
    image.paste((40, 44, 60), (0, 0), mask)


def _shine(
    image: Image.Image, scene: Scene, glow: Image.Image, place: tuple[int, int], unit: float, haze: float
) -> None:
    """Lays what shines by itself over the picture, with a halo that is strong in the dark."""
    strength = {"day": 0.18, "sunset": 0.5, "night": 0.95}[scene.time]
    alpha = scale_mask(glow.getchannel("A"), 1 - 0.6 * haze)
    image.paste(glow.convert("RGB"), place, alpha)
    layer = Image.new("RGB", image.size, (0, 0, 0))
    layer.paste(glow.convert("RGB"), place, alpha)
    wide = layer.filter(ImageFilter.GaussianBlur(unit * 0.62)).point(
        [round(min(255, v * 1.5 * strength)) for v in range(256)] * 3
    )
    image.paste(ImageChops.screen(image, wide))


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
    camera = Camera.from_scene(scene)
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
    camera = Camera.from_scene(scene)
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
    camera = Camera.from_scene(scene)
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
        bands = [scale_mask(pool, part * strength) for part in WARM]
        picture = ImageChops.add(picture, Image.merge("RGB", bands))
    return picture


def light_factors(scene: Scene, light: Light, thing: Thing) -> tuple[float, float, float]:
    """By what the colours of a thing are multiplied: the light of the sky and of the lamps near it."""
    red, green, blue = light.ambient
    camera = Camera.from_scene(scene)
    x, z = camera.place(thing)
    for lamp, strength, reach in sources(scene):
        if lamp.name == thing.name and thing.kind == "house":
            continue
        lx, lz = camera.place(lamp)
        far = math.hypot(x - lx, z - lz) / (reach * 1.15)
        gain = strength * max(0.0, 1.0 - far) ** 1.4 * (0.5 if lamp.name == thing.name else 1.1)
        red, green, blue = red + gain * WARM[0], green + gain * WARM[1], blue + gain * WARM[2]
    return min(1.0, red), min(1.0, green), min(1.0, blue)
