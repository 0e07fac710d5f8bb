"""A pen that draws one thing in metres on a transparent, supersampled sheet of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageOps

from edit_eval.scenes.camera import EYE, Camera
from edit_eval.scenes.palette import Colour, shade
from edit_eval.scenes.scene import Scene, Thing

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
        camera = Camera.of(scene)
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

    def at(self, point: Point) -> tuple[float, float]:
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
        pixels = [self.at(point) for point in points]
        for pen, ink in self._pens(fill):
            pen.polygon(pixels, fill=ink)

    def line(self, points: Sequence[Point], width: float, fill: Colour) -> None:
        """A line with round joints and ends; `width` in metres."""
        pixels = [self.at(point) for point in points]
        thick = max(1.0, width * self.pixels)
        radius = thick / 2
        for pen, ink in self._pens(fill):
            pen.line(pixels, fill=ink, width=round(thick))
            if radius >= 1.5:
                for x, y in pixels:
                    pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=ink)

    def ellipse(self, u: float, v: float, ru: float, rv: float, fill: Colour, w: float = 0.0) -> None:
        """An ellipse upright in the picture; radii in metres."""
        x, y = self.at((u, v, w))
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
        x, y = self.at((u, v))
        r = radius * self.pixels
        size = max(2, round(2 * r))
        gradient = Image.radial_gradient("L").resize((2 * size, 2 * size), Image.Resampling.BILINEAR)
        # The middle of the gradient moves a third of the radius towards the light and up.
        dx, dy = round(size * (0.5 - 0.20 * self.side)), round(size * 0.70)
        window = gradient.crop((dx, dy, dx + size, dy + size))
        face = ImageOps.colorize(
            window,
            black=shade(colour, 1.0 + gloss),
            mid=colour,
            white=shade(colour, 0.42),
            midpoint=92,
            whitepoint=235,
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
            x, y = self.at((u, v))
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
