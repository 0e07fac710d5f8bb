"""From a scene to its picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache

from PIL import Image, ImageChops, ImageDraw, ImageEnhance, ImageFilter

from edit_eval.scenes import figures, house, plants, things
from edit_eval.scenes.backdrop import far_land, sky
from edit_eval.scenes.camera import Camera
from edit_eval.scenes.ground import ground, puddles
from edit_eval.scenes.light import cast, contact, light_map, light_on
from edit_eval.scenes.masks import scaled
from edit_eval.scenes.palette import Light, light_of, mix, times
from edit_eval.scenes.pen import Pen, Sprite
from edit_eval.scenes.scene import Scene, Thing
from edit_eval.scenes.weather import falling, veil, veil_at

Painter = Callable[[Pen, Thing, Scene], None]
PAINTERS: dict[str, Painter] = {
    "ball": things.ball,
    "box": things.box,
    "cone": things.cone,
    "tree": plants.tree,
    "pine": plants.pine,
    "house": house.house,
    "person": figures.person,
    "flag": things.flag,
    "lamp": things.lamp,
    "snowman": figures.snowman,
    "bench": things.bench,
    "balloon": things.balloon,
    "campfire": things.campfire,
    "stop": things.stop,
    "flower": plants.flower,
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
    image = _behind(replace(scene, things=())).copy()
    shadows = _lay_ground(image, scene, light, sprites, shadows_of)
    silhouettes = _stand_things(image, scene, light, sprites)
    falling(image, scene)
    return Drawing(scene, image, silhouettes, shadows)


@lru_cache(maxsize=4)
def _behind(scene: Scene) -> Image.Image:
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
        rim = scaled(contact(other, thing), 0.42)
        touch = ImageChops.lighter(touch, rim)
        shadows[thing.name] = rim
        if light.shadow:
            hard = cast(other, light, thing, sprites[thing.name])
            fall = hard.filter(ImageFilter.GaussianBlur(other.height / 260))
            direct = ImageChops.lighter(direct, fall)
            shadows[thing.name] = ImageChops.lighter(rim, fall)
    dark = ImageChops.screen(scaled(direct, light.shadow), touch)
    lit = ImageChops.multiply(land, light_map(other, light))
    tone = times((44, 52, 92), light.ambient) if other.time != "sunset" else (70, 44, 70)
    lit.paste(tone, (0, 0), dark)
    own = light_of(scene)
    if scene.wet or scene.weather == "rain":
        _wet(lit, scene, own, sprites)
    lit.paste(own.low, (0, 0), veil(scene, own))
    image.paste(lit, (0, 0), mask)
    if scene.setting == "beach":
        _foam(image, mask, own)
    return shadows


def _foam(image: Image.Image, mask: Image.Image, light: Light) -> None:
    """A white line where the sea meets the sand."""
    size = 5 if image.height < 700 else 9
    edge = ImageChops.subtract(mask.filter(ImageFilter.MaxFilter(size)), mask)
    edge = scaled(edge.filter(ImageFilter.GaussianBlur(image.height / 480)), 0.8)
    image.paste(mix(times((250, 252, 250), light.ambient), light.low, light.haze * 0.5), (0, 0), edge)


def _wet(lit: Image.Image, scene: Scene, light: Light, sprites: dict[str, Sprite]) -> None:
    """Lets the ground shine: the things mirrored faintly everywhere, clearly in the puddles."""
    camera = Camera.of(scene)
    mirror = Image.new("RGB", lit.size, mix(light.low, light.middle, 0.45))
    sheen = 0.14 if scene.setting != "square" else 0.24
    water = Image.new("L", lit.size, round(255 * sheen))
    if scene.wet:
        water = ImageChops.lighter(water, scaled(puddles(scene), 0.80))
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
    camera = Camera.of(scene)
    silhouettes: dict[str, Image.Image] = {}
    for thing, sprite in back_to_front(scene, sprites):
        place = (sprite.left, sprite.top)
        alpha = sprite.image.getchannel("A")
        if thing.on in silhouettes:
            _touch_support(image, scene, thing, silhouettes[thing.on])
        face = _lit(sprite.image, scene, light, thing)
        haze = veil_at(scene, light, camera.distance(thing.depth))
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
    glass = Image.new("RGB", face.size, times((255, 255, 255), light_on(scene, light, thing)))
    return ImageChops.multiply(face.convert("RGB"), glass)


def _touch_support(image: Image.Image, scene: Scene, thing: Thing, support: Image.Image) -> None:
    """Darkens the top of what a thing stands on, right under it."""
    camera = Camera.of(scene)
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
    alpha = scaled(glow.getchannel("A"), 1 - 0.6 * haze)
    image.paste(glow.convert("RGB"), place, alpha)
    layer = Image.new("RGB", image.size, (0, 0, 0))
    layer.paste(glow.convert("RGB"), place, alpha)
    wide = layer.filter(ImageFilter.GaussianBlur(unit * 0.62)).point(
        [round(min(255, v * 1.5 * strength)) for v in range(256)] * 3
    )
    image.paste(ImageChops.screen(image, wide))
