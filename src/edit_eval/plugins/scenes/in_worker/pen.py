"""What scenes are drawn with: a camera, colours and the light of the hour, masks, and a pen for one thing at a time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageOps

from edit_eval.plugins.scenes.in_worker.scene import Scene, Thing

EYE = 3.0
"""Height of the camera above the ground, in metres."""
HORIZON = 0.42
"""Height of the horizon, as a fraction of the picture from above."""
FOCAL = 1.35
"""Focal length, in picture heights."""


@dataclass(frozen=True)
class Camera:
    """Maps metres to pixels: x to the right, h up, z away from the camera."""

    width: int
    height: int

    @staticmethod
    def from_scene(scene: Scene) -> Camera:
        return Camera(scene.width, scene.height)

    @property
    def horizon(self) -> float:
        """In pixels from above."""
        return self.height * HORIZON

    @property
    def focal(self) -> float:
        """In pixels."""
        return self.height * FOCAL

    def ground_y(self, depth: float) -> float:
        """The row of the ground at a depth from 0 (horizon) to 1 (lower edge)."""
        return self.horizon + depth * (self.height - self.horizon)

    def distance(self, depth: float) -> float:
        """How far away the ground at that depth is, in metres."""
        return self.focal * EYE / max(1e-6, self.ground_y(depth) - self.horizon)

    def scale(self, depth: float) -> float:
        """Pixels a metre at that depth."""
        return self.focal / self.distance(depth)

    def place(self, thing: Thing) -> tuple[float, float]:
        """Where a thing's base stands on the ground: x and z in metres."""
        z = self.distance(thing.depth)
        return (thing.x - 0.5) * self.width * z / self.focal, z

    def project(self, x: float, h: float, z: float) -> tuple[float, float]:
        """The pixel at which a point is seen."""
        z = max(z, 0.5)
        return self.width / 2 + x * self.focal / z, self.horizon + (EYE - h) * self.focal / z

    def fraction(self, metres: float, depth: float) -> float:
        """What a length at that depth takes of the picture's width."""
        return metres * self.scale(depth) / self.width


Colour = tuple[int, int, int]

COLOURS: dict[str, Colour] = {
    "red": (212, 66, 54),
    "orange": (236, 137, 52),
    "yellow": (244, 197, 66),
    "green": (74, 150, 90),
    "blue": (52, 112, 194),
    "purple": (130, 86, 176),
    "pink": (233, 138, 168),
    "white": (245, 241, 232),
    "grey": (139, 147, 158),
    "brown": (143, 98, 66),
    "black": (52, 56, 68),
}


def mix(first: Colour, second: Colour, share: float) -> Colour:
    """`share` of the second colour in the first, from 0 to 1."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(first, second, strict=True))
    return red, green, blue


def gradient_colour(stops: Sequence[tuple[float, Colour]], place: float) -> Colour:
    """The colour of a gradient at `place` (0 to 1); the stops are in order, the last colour goes on behind its stop."""
    for (first, colour), (second, following) in itertools.pairwise(stops):
        if place <= second:
            return mix(colour, following, (place - first) / (second - first))
    return stops[-1][1]


def shade(colour: Colour, factor: float) -> Colour:
    """Darker below 1; above 1 lighter, towards white."""
    if factor > 1.0:
        return mix(colour, (255, 252, 244), min(1.0, factor - 1.0))
    return mix((18, 22, 40), colour, factor)


def times(colour: Colour, light: tuple[float, float, float]) -> Colour:
    """The colour under that light."""
    red, green, blue = (max(0, min(255, round(c * part))) for c, part in zip(colour, light, strict=True))
    return red, green, blue


@dataclass(frozen=True)
class Light:
    """What the sky looks like and how it lights the ground."""

    top: Colour
    middle: Colour
    low: Colour
    """The sky from the zenith to the horizon; `low` is also the colour of haze and fog."""
    ambient: tuple[float, float, float]
    """By what every surface is multiplied."""
    shadow: float
    """How dark cast shadows are, from 0 to 1; 0 where the light comes from everywhere."""
    reach: tuple[float, float]
    """How far a shadow goes for each metre of height: sideways, and towards us."""
    haze: float
    """Share of haze over the farthest ground."""


_CLEAR = {
    "day": Light((84, 156, 222), (146, 199, 236), (222, 239, 244), (1.0, 1.0, 1.0), 0.46, (1.0, 0.42), 0.18),
    "sunset": Light((66, 72, 132), (226, 128, 108), (253, 205, 140), (1.0, 0.80, 0.70), 0.42, (1.9, 0.62), 0.24),
    "night": Light((13, 20, 50), (28, 42, 86), (62, 82, 128), (0.34, 0.41, 0.62), 0.30, (0.8, 0.38), 0.16),
}

_WEATHER: dict[str, tuple[Colour, Colour, float, tuple[float, float, float], float]] = {
    # colours that the day's sky turns to, the share of them, what the ambient light is multiplied by, the haze
    "cloudy": ((150, 163, 178), (206, 214, 220), 0.86, (0.90, 0.92, 0.95), 0.22),
    "rain": ((104, 118, 134), (168, 180, 190), 0.94, (0.72, 0.76, 0.82), 0.42),
    "snow": ((158, 170, 186), (218, 225, 232), 0.94, (0.90, 0.93, 0.98), 0.46),
    "fog": ((196, 203, 208), (218, 223, 225), 0.97, (0.93, 0.94, 0.95), 0.97),
}


def light_of(scene: Scene) -> Light:
    """The light of the scene's time and weather."""
    clear = _CLEAR[scene.time]
    if scene.weather == "clear":
        return clear
    high, low, share, factor, haze = _WEATHER[scene.weather]
    dim = clear.ambient if scene.time != "day" else (1.0, 1.0, 1.0)
    high, low = times(high, dim), times(low, dim)
    red, green, blue = (a * b for a, b in zip(clear.ambient, factor, strict=True))
    return Light(
        mix(clear.top, high, share),
        mix(clear.middle, mix(high, low, 0.5), share),
        mix(clear.low, low, share),
        (red, green, blue),
        0.0,
        clear.reach,
        haze,
    )


def scale_mask(mask: Image.Image, factor: float) -> Image.Image:
    return mask.point([round(value * factor) for value in range(256)])


def binary(mask: Image.Image, above: int = 96) -> Image.Image:
    return mask.point([255 if value > above else 0 for value in range(256)])


def minus(mask: Image.Image, other: Image.Image) -> Image.Image:
    return ImageChops.darker(mask, ImageChops.invert(other))


def union(size: tuple[int, int], masks: Iterable[Image.Image]) -> Image.Image:
    return reduce(ImageChops.lighter, masks, Image.new("L", size, 0))


def horizon_mask(size: tuple[int, int], *, sky: bool) -> Image.Image:
    """What lies above the horizon, the sky, or else what lies below it, the land."""
    width, height = size
    row = round(height * HORIZON)
    mask = Image.new("L", size, 0)
    mask.paste(255, (0, 0, width, row) if sky else (0, row, width, height))
    return mask


OVERSAMPLING = 3
"""A sheet has so many pixels for each pixel of the picture, in both directions."""

Point = tuple[float, ...]
"""(u, v) or (u, v, w): metres to the right, up and away from the middle of a thing's base."""


@dataclass(frozen=True)
class Sprite:
    """One thing as it is seen, at the picture's own resolution."""

    image: Image.Image
    """RGBA; its alpha is the thing's silhouette."""
    glow: Image.Image | None
    """RGBA: what shines by itself, whatever the light; None where nothing does."""
    left: int
    top: int


class Pen:
    """Draws in a thing's own metres; what is farther away gets smaller as the camera sees it."""

    def __init__(self, scene: Scene, thing: Thing, reach: tuple[float, float, float, float]) -> None:
        """`reach`: how many metres the sheet goes left, right, up and down from the base, at the thing's size."""
        camera = Camera.from_scene(scene)
        self.camera = camera
        self.x, self.z = camera.place(thing)
        self.lift = scene.lift(thing)
        self.size = thing.size
        pixels = camera.scale(thing.depth)
        left, right, up, down = (pixels * length * thing.size for length in reach)
        x, y = camera.project(self.x, self.lift, self.z)
        self.left, self.top = math.floor(x - left), math.floor(y - up)
        self.width = max(4, math.ceil(x + right) - self.left)
        self.height = max(4, math.ceil(y + down) - self.top)
        size = (self.width * OVERSAMPLING, self.height * OVERSAMPLING)
        self.image = Image.new("RGBA", size, (0, 0, 0, 0))
        self.draw = ImageDraw.Draw(self.image)
        self.glow: Image.Image | None = None
        self.pixels = pixels * thing.size * OVERSAMPLING
        """Pixels of the sheet for each metre at the thing's base."""
        self.side = 0.0
        """From where the light comes: -1 left, 1 right, 0 from everywhere."""
        self.shining = False
        """While true, all that is drawn shines as well."""
        self.tilt = 0.0
        """By how many radians all that is drawn leans to the right, about the base."""

    def pixel_of(self, point: Point) -> tuple[float, float]:
        """The sheet's pixel of a point."""
        u, v = point[0] * self.size, point[1] * self.size
        if self.tilt:
            sine, cosine = math.sin(self.tilt), math.cos(self.tilt)
            u, v = u * cosine + v * sine, v * cosine - u * sine
        w = point[2] * self.size if len(point) > 2 else 0.0
        x, y = self.camera.project(self.x + u, self.lift + v, self.z + w)
        return (x - self.left) * OVERSAMPLING, (y - self.top) * OVERSAMPLING

    def _pens(self, fill: Colour) -> list[tuple[ImageDraw.ImageDraw, tuple[int, ...]]]:
        """On what to draw, and in which colour: what does not shine hides what shines behind it."""
        if self.glow is None:
            if not self.shining:
                return [(self.draw, fill)]
            self.glow = Image.new("RGBA", self.image.size, (0, 0, 0, 0))
        shine = (*fill, 255) if self.shining else (0, 0, 0, 0)
        return [(self.draw, fill), (ImageDraw.Draw(self.glow), shine)]

    def polygon(self, points: Sequence[Point], fill: Colour) -> None:
        pixels = [self.pixel_of(point) for point in points]
        for pen, ink in self._pens(fill):
            pen.polygon(pixels, fill=ink)

    def line(self, points: Sequence[Point], width: float, fill: Colour) -> None:
        """A line with round joints and ends; `width` in metres."""
        pixels = [self.pixel_of(point) for point in points]
        thick = max(1.0, width * self.pixels)
        radius = thick / 2
        for pen, ink in self._pens(fill):
            pen.line(pixels, fill=ink, width=round(thick))
            if radius >= 1.5:
                for x, y in pixels:
                    pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=ink)

    def ellipse(self, u: float, v: float, ru: float, rv: float, fill: Colour, w: float = 0.0) -> None:
        """An ellipse upright in the picture; radii in metres."""
        x, y = self.pixel_of((u, v, w))
        a, b = ru * self.pixels, rv * self.pixels
        for pen, ink in self._pens(fill):
            pen.ellipse((x - a, y - b, x + a, y + b), fill=ink)

    def disc(self, u: float, w: float, radius: float, fill: Colour, v: float = 0.0) -> None:
        """A round spot lying flat at height `v`; radius in metres."""
        points = [
            (u + radius * math.cos(a / 16 * math.pi), v, w + radius * math.sin(a / 16 * math.pi)) for a in range(32)
        ]
        self.polygon(points, fill)

    def prism(self, foot: Sequence[tuple[float, float]], low: float, high: float, colour: Colour) -> None:
        """A solid with an upright wall on each edge of its convex foot, which runs counterclockwise seen from above."""
        count = len(foot)
        for k in range(count):
            (u, w), (u2, w2) = foot[k], foot[(k + 1) % count]
            nu, nw = w2 - w, u - u2  # outwards
            length = math.hypot(nu, nw) or 1.0
            to_camera = nu * -(self.x + u * self.size) + nw * -(self.z + w * self.size)
            if to_camera > 0:
                wall = [(u, low, w), (u2, low, w2), (u2, high, w2), (u, high, w)]
                self.polygon(wall, shade(colour, self.lit(nu / length, nw / length)))
        if self.lift + high * self.size < EYE:
            self.polygon([(u, high, w) for u, w in foot], shade(colour, 1.14))

    def lit(self, nu: float, nw: float) -> float:
        """How light a wall is that faces that way; (0, -1) faces the camera."""
        return 0.82 + 0.20 * self.side * nu - 0.08 * nw

    def sphere(self, u: float, v: float, radius: float, colour: Colour, gloss: float = 0.35) -> None:
        """A shaded ball; its lightest point is turned to the light."""
        x, y = self.pixel_of((u, v))
        r = radius * self.pixels
        size = max(2, round(2 * r))
        gradient = Image.radial_gradient("L").resize((2 * size, 2 * size), Image.Resampling.BILINEAR)
        # The middle of the gradient moves a third of the radius towards the light and up.
        dx, dy = round(size * (0.5 - 0.20 * self.side)), round(size * 0.70)
        window = gradient.crop((dx, dy, dx + size, dy + size))
        face = ImageOps.colorize(
            window, black=shade(colour, 1.0 + gloss), mid=colour, white=shade(colour, 0.42), midpoint=92, whitepoint=235
        )
        self.stamp(face, x - size / 2, y - size / 2, round_mask(size))

    def stamp(self, face: Image.Image, x: float, y: float, mask: Image.Image) -> None:
        """Lays an RGB picture on the sheet at a pixel of the sheet, through a mask."""
        self.image.paste(face, (round(x), round(y)), mask)

    def soft(self, spots: Sequence[tuple[float, float, float, float]], fill: Colour, blur: float) -> None:
        """Blurred round spots (u, v, radius, opacity 0 to 1), for smoke; `blur` in metres."""
        veil = Image.new("L", self.image.size, 0)
        pen = ImageDraw.Draw(veil)
        for u, v, radius, opacity in spots:
            x, y = self.pixel_of((u, v))
            r = radius * self.pixels
            pen.ellipse((x - r, y - r, x + r, y + r), fill=round(255 * opacity))
        veil = veil.filter(ImageFilter.GaussianBlur(blur * self.pixels))
        layer = Image.new("RGBA", self.image.size, (*fill, 0))
        layer.putalpha(veil)
        self.image.alpha_composite(layer)

    def model(self, strength: float = 0.2) -> None:
        """Darkens the side that is turned away from the light, over all that is drawn so far."""
        box = self.image.getbbox()
        if box is None or self.side == 0.0:
            return
        ramp = Image.linear_gradient("L").rotate(90 if self.side < 0 else 270)
        ramp = ramp.resize((box[2] - box[0], box[3] - box[1]), Image.Resampling.BILINEAR)
        ramp = ramp.point([round(255 - strength * value) for value in range(256)])
        part = self.image.crop(box)
        dark = ImageChops.multiply(part.convert("RGB"), Image.merge("RGB", (ramp, ramp, ramp)))
        dark.putalpha(part.getchannel("A"))
        self.image.paste(dark, box)

    def snow_cap(self, thickness: float, colour: Colour = (244, 248, 253)) -> None:
        """Lays snow on every upper edge; thickness in metres."""
        alpha = self.image.getchannel("A")
        shift = max(2, round(thickness * self.pixels))
        below = Image.new("L", alpha.size, 0)
        below.paste(alpha, (0, shift))
        cap = ImageChops.subtract(alpha, below).filter(ImageFilter.GaussianBlur(shift / 6))
        cap = ImageChops.multiply(cap.point([min(255, round(v * 1.3)) for v in range(256)]), alpha)
        self.image.paste(Image.new("RGBA", alpha.size, (*colour, 255)), (0, 0), cap)
        self.image.putalpha(alpha)

    def sprite(self) -> Sprite:
        """The sheet at the picture's resolution, cut to what is drawn."""
        image = self.image.reduce(OVERSAMPLING)
        box = image.getbbox() or (0, 0, 1, 1)
        glow = self.glow.reduce(OVERSAMPLING).crop(box) if self.glow is not None else None
        return Sprite(image.crop(box), glow, self.left + box[0], self.top + box[1])


def round_mask(size: int) -> Image.Image:
    """A filled circle of that diameter, in pixels."""
    mask = Image.new("L", (size, size), 0)
    ImageDraw.Draw(mask).ellipse((0, 0, size - 1, size - 1), fill=255)
    return mask
