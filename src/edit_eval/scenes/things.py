"""How balls, boxes, cones, benches, flags, lamps, balloons, fires and bus stops are drawn."""

from __future__ import annotations

import math

from PIL import Image, ImageChops

from edit_eval.scenes.palette import COLOURS, Colour, between, mix, shade
from edit_eval.scenes.pen import Pen, round_mask
from edit_eval.scenes.scene import Scene, Thing

STEEL: Colour = (96, 104, 116)
PLANK: Colour = (164, 116, 76)
LIGHT: Colour = (255, 226, 150)


def lee(scene: Scene) -> float:
    """Where the wind blows to: -1 to the left, 1 to the right, 0 in still air."""
    return {"left": 1.0, "right": -1.0}.get(scene.wind, 0.0)


def rectangle(left: float, right: float, near: float, far: float) -> list[tuple[float, float]]:
    """A foot for `Pen.prism`, counterclockwise seen from above."""
    return [(left, near), (right, near), (right, far), (left, far)]


def ball(pen: Pen, thing: Thing, scene: Scene) -> None:
    colour = COLOURS[thing.colour]
    if "metal" in thing.features:
        _chrome(pen)
        return
    pen.sphere(0.0, 0.5, 0.5, colour)
    if "wood" in thing.features:
        for v, half in ((0.30, 0.44), (0.50, 0.485), (0.70, 0.44)):
            pen.line([(-half, v), (0.0, v - 0.05), (half, v)], 0.025, shade(colour, 0.6))
    light = 0.16 * pen.side
    pen.ellipse(light, 0.74, 0.085, 0.06, mix(colour, (255, 255, 255), 0.72))


def _chrome(pen: Pen) -> None:
    """A mirror ball: sky above, a dark horizon, the ground below."""
    size = max(4, round(pen.pixels))
    strip = Image.new("RGB", (1, 64))
    stops: list[tuple[float, Colour]] = [
        (0.0, (240, 246, 252)),
        (0.30, (176, 196, 216)),
        (0.47, (110, 126, 146)),
        (0.50, (40, 46, 58)),
        (0.62, (92, 98, 104)),
        (1.0, (196, 198, 196)),
    ]
    for row in range(64):
        strip.putpixel((0, row), between(stops, row / 63))
    face = strip.resize((size, size), Image.Resampling.BILINEAR)
    rim = Image.radial_gradient("L").resize((size, size), Image.Resampling.BILINEAR)
    rim = rim.point([255 if v < 150 else round(255 - (v - 150) * 1.25) for v in range(256)])
    face = ImageChops.multiply(face, Image.merge("RGB", (rim, rim, rim)))
    x, y = pen.at((0.0, 0.5))
    pen.stamp(face, x - size / 2, y - size / 2, round_mask(size))
    pen.ellipse(0.17 * pen.side, 0.78, 0.10, 0.06, (255, 255, 255))


def box(pen: Pen, thing: Thing, scene: Scene) -> None:
    colour = COLOURS[thing.colour]
    turn = 0.55 if thing.state == "tipped" else 0.0
    sine, cosine = math.sin(turn), math.cos(turn)

    def turned(u: float, w: float) -> tuple[float, float]:
        return u * cosine - w * sine, u * sine + w * cosine

    corners = [turned(u, w) for u, w in rectangle(-0.55, 0.55, -0.5, 0.5)]
    if "metal" in thing.features:
        colour = (168, 178, 190)
    if "wood" in thing.features:
        colour = PLANK
    pen.prism(corners, 0.0, 1.0, colour)

    def front(u: float, v: float) -> tuple[float, float, float]:
        point = turned(u, -0.5)
        return point[0], v, point[1]

    if "metal" in thing.features:
        sheen = shade(colour, 1.45)
        pen.polygon([front(-0.35, 0.0), front(-0.05, 0.0), front(0.30, 1.0), front(0.0, 1.0)], sheen)
        for u in (-0.47, 0.47):
            for v in (0.08, 0.92):
                pen.line([front(u, v), front(u, v + 0.001)], 0.06, shade(colour, 0.55))
    elif "wood" in thing.features:
        for v in (0.2, 0.4, 0.6, 0.8):
            pen.line([front(-0.54, v), front(0.54, v)], 0.03, shade(colour, 0.5))
        for k, v in enumerate((0.1, 0.3, 0.5, 0.7, 0.9)):
            pen.line([front(-0.4 + 0.13 * k, v), front(-0.1 + 0.13 * k, v + 0.02)], 0.02, shade(colour, 0.65))
    else:
        inner = shade(colour, pen.lit(0.0, -1.0) - 0.13)
        pen.polygon([front(-0.44, 0.11), front(0.44, 0.11), front(0.44, 0.89), front(-0.44, 0.89)], inner)
        pen.line([front(-0.44, 0.11), front(0.44, 0.89)], 0.1, shade(colour, pen.lit(0.0, -1.0)))


def cone(pen: Pen, thing: Thing, scene: Scene) -> None:
    colour = COLOURS[thing.colour]
    pen.prism(rectangle(-0.4, 0.4, -0.4, 0.4), 0.0, 0.07, shade(colour, 0.8))

    def band(low: float, high: float, fill: Colour) -> None:
        half = [0.28 * (1 - v / 1.02) + 0.025 for v in (low, high)]
        pen.polygon([(-half[0], low), (half[0], low), (half[1], high), (-half[1], high)], fill)
        pen.ellipse(0.0, low, half[0], half[0] * 0.28, fill)

    band(0.07, 0.98, colour)
    band(0.62, 0.76, (248, 246, 240))
    band(0.76, 0.98, colour)
    band(0.30, 0.48, (248, 246, 240))
    band(0.48, 0.62, colour)
    pen.model(0.32)


def bench(pen: Pen, thing: Thing, scene: Scene) -> None:
    wood = COLOURS[thing.colour] if thing.colour else PLANK
    for u in (-0.9, 0.9):
        pen.prism(rectangle(u - 0.05, u + 0.05, 0.2, 0.3), 0.0, 0.95, STEEL)
        pen.prism(rectangle(u - 0.05, u + 0.05, -0.3, -0.2), 0.0, 0.42, STEEL)
    for low in (0.55, 0.75):
        pen.prism(rectangle(-1.1, 1.1, 0.2, 0.25), low, low + 0.16, wood)
    pen.prism(rectangle(-1.1, 1.1, -0.3, 0.22), 0.42, 0.49, wood)
    pen.line([(-1.1, 0.49, -0.05), (1.1, 0.49, -0.05)], 0.025, shade(wood, 0.7))


def flag(pen: Pen, thing: Thing, scene: Scene) -> None:
    colour = COLOURS[thing.colour]
    pen.prism(rectangle(-0.25, 0.25, -0.25, 0.25), 0.0, 0.16, (176, 172, 166))
    pen.line([(0.0, 0.1), (0.0, 5.5)], 0.09, (214, 216, 220))
    pen.ellipse(0.0, 5.55, 0.11, 0.11, (226, 184, 84))
    top = 5.35 if thing.state != "half_mast" else 3.55
    away = lee(scene)
    if away:
        _flying(pen, colour, top, away)
    else:
        _hanging(pen, colour, top)
    pen.model(0.14)


def _flying(pen: Pen, colour: Colour, top: float, away: float) -> None:
    length, height, strips = 2.5, 1.5, 24

    def wave(t: float) -> float:
        return 0.17 * t * math.sin(t * 7.5) - 0.22 * t

    for k in range(strips):
        a, b = k / strips, (k + 1) / strips
        slope = math.cos(a * 7.5)
        fill = shade(colour, 0.94 + 0.16 * slope)
        points = [
            (away * (0.05 + length * a), top + wave(a)),
            (away * (0.06 + length * b), top + wave(b)),
            (away * (0.06 + length * b), top + wave(b) - height),
            (away * (0.05 + length * a), top + wave(a) - height),
        ]
        pen.polygon(points, fill)


def _hanging(pen: Pen, colour: Colour, top: float) -> None:
    folds = [(0.44, 0.86, 1.78, 0.80), (0.28, 0.64, 2.05, 1.0), (0.03, 0.40, 2.3, 0.88)]
    for left, right, length, factor in folds:
        low = top - length
        points = [
            (left, top - 0.3 * left),
            (right * 0.7, top - 0.75 * right),
            (right, top - 1.1 - 0.3 * right),
            (right * 0.92, low + 0.16),
            ((left + right) / 2, low + 0.02),
            (left + 0.03, low + 0.1),
        ]
        pen.polygon(points, shade(colour, factor))
    pen.line([(0.07, top), (0.07, top - 2.2)], 0.08, shade(colour, 1.06))


def lamp(pen: Pen, thing: Thing, scene: Scene) -> None:
    iron: Colour = (58, 66, 78)
    pen.prism(rectangle(-0.2, 0.2, -0.2, 0.2), 0.0, 0.18, iron)
    pen.line([(0.0, 0.1), (0.0, 3.5)], 0.12, iron)
    pen.line([(0.0, 0.2), (0.0, 0.9)], 0.2, iron)
    pen.line([(-0.2, 3.42), (0.2, 3.42)], 0.09, iron)
    burning = thing.state == "on"
    pen.shining = burning
    glass = LIGHT if burning else (178, 192, 204)
    pen.polygon([(-0.19, 3.5), (0.19, 3.5), (0.31, 4.0), (-0.31, 4.0)], glass)
    if burning:
        pen.ellipse(0.0, 3.73, 0.12, 0.17, (255, 250, 226))
    pen.shining = False
    pen.line([(0.0, 3.5), (0.0, 4.0)], 0.035, iron)
    pen.line([(-0.19, 3.5), (-0.31, 4.0)], 0.04, iron)
    pen.line([(0.19, 3.5), (0.31, 4.0)], 0.04, iron)
    pen.polygon([(-0.38, 4.0), (0.38, 4.0), (0.0, 4.28)], iron)
    pen.ellipse(0.0, 4.3, 0.05, 0.06, iron)


def balloon(pen: Pen, thing: Thing, scene: Scene) -> None:
    colour = COLOURS[thing.colour]
    away = 0.55 * lee(scene)
    free = thing.state == "released"
    foot = 3.3 if free else 0.15
    drift = 0.5 if free else 0.0
    string = [
        (drift + away * t**2 + 0.05 * math.sin(9 * t) * t * (1 - t), foot + (1.45 - 0.1 * abs(away)) * t)
        for t in (k / 14 for k in range(15))
    ]
    pen.line(string, 0.025, (236, 234, 226))
    u, v = string[-1][0], string[-1][1] + 0.52
    pen.polygon([(u - 0.07, v - 0.6), (u + 0.07, v - 0.6), (u, v - 0.5)], shade(colour, 0.75))
    pen.ellipse(u, v, 0.43, 0.53, shade(colour, 0.80))
    pen.ellipse(u + 0.03 * pen.side, v + 0.02, 0.40, 0.50, colour)
    pen.ellipse(u + 0.13 * pen.side, v + 0.16, 0.21, 0.27, mix(colour, (255, 255, 255), 0.16))
    pen.ellipse(u + 0.16 * pen.side, v + 0.26, 0.07, 0.10, mix(colour, (255, 255, 255), 0.62))
    if not free:
        pen.prism(rectangle(-0.17, 0.17, -0.17, 0.17), 0.0, 0.2, (120, 122, 130))


def campfire(pen: Pen, thing: Thing, scene: Scene) -> None:
    burning = thing.state == "burning"
    away = lee(scene)
    if burning:
        smoke(pen, 0.0, 1.1, 4.6, away)
    for k in range(6):
        angle = k / 6 * math.pi
        pen.ellipse(0.62 * math.cos(angle), 0.10, 0.15, 0.12, shade((150, 150, 154), 0.8), w=0.45 * math.sin(angle))
    char = (70, 50, 42) if not burning else (104, 66, 44)
    for left, right in (((-0.5, 0.08), (0.32, 0.42)), ((0.5, 0.08), (-0.32, 0.42)), ((-0.1, 0.05), (0.08, 0.5))):
        pen.line([left, right], 0.14, char)
    if burning:
        pen.shining = True
        flames: list[tuple[float, float, float, Colour]] = [
            (0.42, 1.45, 0.0, (236, 96, 40)),
            (0.30, 1.10, 0.02, (248, 164, 52)),
            (0.17, 0.72, 0.0, (255, 232, 140)),
        ]
        for half, high, shift, colour in flames:
            lean = 0.5 * away * high
            tongue = [
                (-half, 0.28),
                (-half * 0.9 + lean * 0.3, 0.28 + high * 0.35),
                (-half * 0.35 + lean * 0.6, 0.28 + high * 0.52),
                (shift + lean, 0.2 + high),
                (half * 0.35 + lean * 0.5, 0.28 + high * 0.45),
                (half * 0.85 + lean * 0.35, 0.28 + high * 0.55),
                (half, 0.28),
                (half * 0.5, 0.12),
                (-half * 0.5, 0.12),
            ]
            pen.polygon(tongue, colour)
        pen.shining = False
    for k in range(6):
        angle = math.pi + (k + 0.5) / 6 * math.pi
        pen.ellipse(0.64 * math.cos(angle), 0.10, 0.16, 0.13, (164, 164, 166), w=0.45 * math.sin(angle))


def smoke(pen: Pen, u: float, low: float, high: float, away: float) -> None:
    """A column of smoke from (u, low) up to `high` metres, bent by the wind."""
    spots = []
    for k in range(11):
        t = k / 10
        climb = (high - low) * t * (0.45 if away else 1.0)
        drift = away * 4.2 * t**1.15 + 0.16 * math.sin(4.0 * t + 1.0)
        spots.append((u + drift, low + climb, 0.16 + 0.38 * t, 0.8 * (1 - 0.8 * t)))
    pen.soft(spots, (224, 224, 226), 0.13)


def stop(pen: Pen, thing: Thing, scene: Scene) -> None:
    pen.prism(rectangle(-0.2, 0.2, -0.2, 0.2), 0.0, 0.1, (150, 150, 152))
    pen.line([(0.0, 0.05), (0.0, 2.7)], 0.09, STEEL)
    sheet: Colour = (240, 240, 236)
    pen.polygon([(-0.2, 1.15), (0.2, 1.15), (0.2, 1.72), (-0.2, 1.72)], sheet)
    for k in range(4):
        pen.line([(-0.13, 1.25 + 0.12 * k), (0.13, 1.25 + 0.12 * k)], 0.03, (140, 150, 162))
    pen.ellipse(0.0, 2.45, 0.43, 0.43, (248, 248, 244))
    pen.ellipse(0.0, 2.45, 0.38, 0.38, (36, 98, 170))
    white: Colour = (250, 250, 246)
    pen.polygon([(-0.22, 2.34), (0.22, 2.34), (0.22, 2.62), (-0.22, 2.62)], white)
    for u in (-0.12, 0.05):
        pen.polygon([(u - 0.05, 2.46), (u + 0.08, 2.46), (u + 0.08, 2.57), (u - 0.05, 2.57)], (36, 98, 170))
    for u in (-0.12, 0.12):
        pen.ellipse(u, 2.33, 0.055, 0.055, white)


def reach_of(thing: Thing) -> tuple[float, float, float, float]:
    """How far a thing's picture may go left, right, up and down from its base, in metres at size 1."""
    around, up, down = {
        "flag": (2.9, 6.0, 0.6),
        "balloon": (1.6, 7.4 if thing.state == "released" else 3.2, 0.6),
        "campfire": (5.2, 5.6, 0.9) if thing.state == "burning" else (1.2, 1.2, 0.9),
        "house": (6.6, 7.4, 1.6),
        "tree": (6.4, 6.6, 1.2),
        "pine": (6.4, 6.6, 1.2),
        "person": (1.3, 2.8, 0.5),
        "snowman": (1.9, 2.9, 0.7),
    }.get(thing.kind, (thing.form.width / 2 + 0.4, thing.form.height + 0.4, 0.9))
    return around, around, up, down
