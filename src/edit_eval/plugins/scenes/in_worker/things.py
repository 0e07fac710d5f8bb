"""How each kind of thing is drawn: balls and boxes, benches and lamps, houses, plants, people and snowmen."""

from __future__ import annotations

import math
import random
import zlib
from collections.abc import Callable

from PIL import Image, ImageChops

from edit_eval.plugins.scenes.in_worker.pen import COLOURS, Colour, Pen, gradient_colour, mix, round_mask, shade
from edit_eval.plugins.scenes.in_worker.scene import Scene, Thing

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
        strip.putpixel((0, row), gradient_colour(stops, row / 63))
    face = strip.resize((size, size), Image.Resampling.BILINEAR)
    rim = Image.radial_gradient("L").resize((size, size), Image.Resampling.BILINEAR)
    rim = rim.point([255 if v < 150 else round(255 - (v - 150) * 1.25) for v in range(256)])
    face = ImageChops.multiply(face, Image.merge("RGB", (rim, rim, rim)))
    x, y = pen.pixel_of((0.0, 0.5))
    pen.stamp(face, x - size / 2, y - size / 2, round_mask(size))
    pen.ellipse(0.17 * pen.side, 0.78, 0.10, 0.06, (255, 255, 255))


def box(pen: Pen, thing: Thing, scene: Scene) -> None:
    colour = COLOURS[thing.colour]
    turn = 0.55 if thing.state == "tipped" else 0.0
    sine, cosine = math.sin(turn), math.cos(turn)

    def rotate_point(u: float, w: float) -> tuple[float, float]:
        return u * cosine - w * sine, u * sine + w * cosine

    corners = [rotate_point(u, w) for u, w in rectangle(-0.55, 0.55, -0.5, 0.5)]
    if "metal" in thing.features:
        colour = (168, 178, 190)
    if "wood" in thing.features:
        colour = PLANK
    pen.prism(corners, 0.0, 1.0, colour)

    def front(u: float, v: float) -> tuple[float, float, float]:
        point = rotate_point(u, -0.5)
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
        _draw_flying_flag(pen, colour, top, away)
    else:
        _draw_hanging_flag(pen, colour, top)
    pen.model(0.14)


def _draw_flying_flag(pen: Pen, colour: Colour, top: float, away: float) -> None:
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


def _draw_hanging_flag(pen: Pen, colour: Colour, top: float) -> None:
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


ROOFS: dict[str, Colour] = {
    "white": (186, 86, 66),
    "yellow": (158, 82, 66),
    "red": (92, 88, 98),
    "blue": (88, 94, 112),
    "green": (134, 82, 66),
    "pink": (104, 92, 108),
    "grey": (156, 82, 68),
    "brown": (98, 86, 84),
    "orange": (96, 90, 100),
    "purple": (92, 86, 108),
    "black": (150, 80, 66),
}
HALF, NEAR, FAR, WALL, RIDGE, PLINTH = 2.8, -2.0, 2.0, 2.75, 4.5, 0.36


def house(pen: Pen, thing: Thing, scene: Scene) -> None:
    wall = mix(COLOURS[thing.colour], (246, 238, 222), 0.42)
    roof = ROOFS[thing.colour]
    if "smoke" in thing.features:
        smoke(pen, 1.55, 5.2, 7.2, lee(scene))
    pen.prism(rectangle(-HALF - 0.06, HALF + 0.06, NEAR - 0.06, FAR), 0.0, PLINTH, (150, 146, 142))
    pen.prism(rectangle(-HALF, HALF, NEAR, FAR), PLINTH, WALL, wall)
    _gable(pen, wall)
    _roof(pen, roof, scene)
    _front(pen, scene, wall)
    if "lanterns" in thing.features:
        _lanterns(pen, scene)
    if "ramp" in thing.features:
        _ramp(pen)
    else:
        _steps(pen)


def _gable(pen: Pen, wall: Colour) -> None:
    """The triangle under the roof, on the side that the camera sees."""
    for u in (-HALF, HALF):
        if (u < 0 and pen.x + u > 0) or (u > 0 and pen.x + u < 0):
            fill = shade(wall, pen.lit(1.0 if u > 0 else -1.0, 0.0))
            pen.polygon([(u, PLINTH, NEAR), (u, PLINTH, FAR), (u, WALL, FAR), (u, RIDGE, 0.0), (u, WALL, NEAR)], fill)


def _roof(pen: Pen, roof: Colour, scene: Scene) -> None:
    out, eave = 0.32, WALL - 0.18
    snowy = scene.snowy
    base = (210, 222, 238) if snowy else roof
    pen.prism(rectangle(1.3, 1.8, -0.9, -0.4), 3.4, 5.1, (168, 104, 84))
    slope = [
        (-HALF - out, eave, NEAR - out),
        (HALF + out, eave, NEAR - out),
        (HALF + out, RIDGE, 0.0),
        (-HALF - out, RIDGE, 0.0),
    ]
    pen.polygon(slope, base)
    rows = 7
    for k in range(1, rows):
        t = k / rows
        v, w = eave + (RIDGE - eave) * t, (NEAR - out) * (1 - t)
        pen.line([(-HALF - out, v, w), (HALF + out, v, w)], 0.035, shade(base, 0.965 if snowy else 0.80))
    edge = shade(roof, 0.7)
    pen.line([slope[0], slope[1]], 0.1, edge)
    if snowy:
        pen.line([slope[0], slope[3]], 0.07, edge)
        pen.line([slope[1], slope[2]], 0.07, edge)
        pen.line([(u, v + 0.06, w) for u, v, w in slope[:2]], 0.13, (246, 250, 255))
    pen.line([slope[3], slope[2]], 0.09, shade(base, 0.9))
    # The chimney stands on the slope: its upper part once more, before the roof's colour.
    pen.prism(rectangle(1.3, 1.8, -0.9, -0.5), 3.95, 5.1, (168, 104, 84))
    pen.prism(rectangle(1.24, 1.86, -0.95, -0.4), 5.0, 5.16, (150, 92, 76) if not snowy else (246, 250, 255))


def _front(pen: Pen, scene: Scene, wall: Colour) -> None:
    near = NEAR - 0.01
    frame: Colour = (250, 246, 238)

    def pane(left: float, low: float, right: float, high: float, fill: Colour) -> None:
        pen.polygon([(left, low, near), (right, low, near), (right, high, near), (left, high, near)], fill)

    lit = scene.time == "night"
    pane(-HALF, WALL - 0.34, HALF, WALL - 0.05, shade(wall, 0.66))
    for middle in (-1.75, 1.75):
        pane(middle - 0.62, 1.0, middle + 0.62, 2.2, frame)
        pen.shining = lit
        glass = LIGHT if lit else (128, 168, 196)
        pane(middle - 0.53, 1.09, middle + 0.53, 2.11, glass)
        pen.shining = False
        if not lit:
            shine = [(-0.45, 1.09), (-0.1, 1.09), (0.35, 2.11), (0.0, 2.11)]
            pen.polygon([(middle + u, v, near) for u, v in shine], (166, 200, 220))
        pane(middle - 0.035, 1.05, middle + 0.035, 2.15, frame)
        pane(middle - 0.55, 1.56, middle + 0.55, 1.63, frame)
        pane(middle - 0.72, 0.90, middle + 0.72, 1.01, shade(frame, 0.9))
    pane(-0.58, PLINTH, 0.58, 2.35, frame)
    pane(-0.48, PLINTH, 0.48, 2.26, (126, 78, 56))
    pane(-0.36, 0.55, 0.36, 1.15, (108, 66, 48))
    pane(-0.36, 1.32, 0.36, 2.05, (108, 66, 48))
    pen.ellipse(0.38, 1.25, 0.05, 0.05, (232, 196, 100), w=near)


def _steps(pen: Pen) -> None:
    for k in range(2):
        front = NEAR - 0.55 + 0.28 * k
        pen.prism(rectangle(-0.75, 0.75, front, NEAR), 0.0, PLINTH / 2 * (k + 1), (196, 190, 182))


def _ramp(pen: Pen) -> None:
    """A landing before the door and a slope down to the right, with a handrail."""
    stone: Colour = (214, 204, 190)
    near, far = NEAR - 1.1, NEAR - 0.02
    pen.prism(rectangle(-0.8, 0.7, near, far), 0.0, PLINTH, stone)
    pen.polygon([(0.7, PLINTH, far), (0.7, PLINTH, near), (3.5, 0.02, near), (3.5, 0.02, far)], shade(stone, 1.1))
    pen.polygon([(0.7, PLINTH, near), (3.5, 0.02, near), (0.7, 0.0, near)], shade(stone, 0.8))
    rail: Colour = (58, 108, 158)
    pen.line([(-0.7, 1.2, near), (0.7, 1.2, near), (3.4, 0.88, near)], 0.07, rail)
    for u, v in ((-0.7, PLINTH), (0.7, PLINTH), (2.05, 0.19), (3.4, 0.02)):
        top = 1.2 if u < 1 else 1.2 - 0.32 * (u - 0.7) / 2.7
        pen.line([(u, v, near), (u, top, near)], 0.06, rail)


def _lanterns(pen: Pen, scene: Scene) -> None:
    near = NEAR - 0.36
    gold: Colour = (246, 202, 92)
    lit = scene.time != "day"
    for u in (-2.45, -0.88, 0.88, 2.45):
        pen.line([(u, WALL - 0.2, near), (u, 2.3, near)], 0.03, gold)
        pen.shining = lit
        pen.ellipse(u, 1.98, 0.36, 0.30, (206, 36, 36), w=near)
        pen.ellipse(u, 1.98, 0.20, 0.29, (232, 66, 48), w=near)
        pen.ellipse(u, 1.98, 0.07, 0.28, (246, 112, 72), w=near)
        pen.shining = False
        for v in (2.28, 1.68):
            pen.line([(u - 0.12, v, near), (u + 0.12, v, near)], 0.07, gold)
        for du in (-0.07, 0.0, 0.07):
            pen.line([(u + du, 1.66, near), (u + du, 1.34, near)], 0.03, gold)


BARK: Colour = (112, 82, 62)
LEAVES: dict[str, tuple[Colour, ...]] = {
    "summer": ((72, 138, 74), (86, 150, 72), (60, 126, 82)),
    "autumn": ((222, 122, 44), (206, 82, 46), (228, 168, 56)),
}


def tree(pen: Pen, thing: Thing, scene: Scene) -> None:
    chance = random.Random(f"{scene.seed} {thing.name}")
    if thing.state == "fallen":
        pen.tilt = 1.42 * (lee(scene) or 1.0)
    bend = 0.5 * lee(scene) if not pen.tilt else 0.0
    if scene.season == "winter":
        _bare(pen, chance, bend)
        return

    def sway_point(u: float, v: float) -> tuple[float, float]:
        return u + bend * max(0.0, (v - 1.2) / 3.4) ** 1.4 * 1.5, v

    base = chance.choice(LEAVES[scene.season])
    trunk = [(-0.24, 0.0), (-0.15, 0.9), sway_point(-0.12, 2.6), sway_point(0.12, 2.6), (0.15, 0.9), (0.26, 0.0)]
    pen.polygon(trunk, BARK)
    for u in (-0.7, 0.65):
        pen.line([sway_point(0.0, 1.7), sway_point(u, 2.7)], 0.13, BARK)
    crown: list[tuple[float, float, float]] = []
    for ring, (count, radius, size) in enumerate(((7, 1.15, 0.62), (5, 0.62, 0.72), (1, 0.0, 0.85))):
        for k in range(count):
            angle = 2 * math.pi * (k + 0.5 * ring) / count + chance.uniform(-0.2, 0.2)
            crown.append(
                (radius * math.cos(angle), 3.55 + 0.95 * radius * math.sin(angle), size * chance.uniform(0.88, 1.12))
            )
    away = -pen.side
    for u, v, r in crown:
        x, y = sway_point(u + 0.12 * away, v - 0.16)
        pen.ellipse(x, y, r * 1.02, r * 0.98, shade(base, 0.70))
    for u, v, r in crown:
        x, y = sway_point(u, v)
        pen.ellipse(x, y, r * 0.9, r * 0.86, shade(base, 0.92))
    for u, v, r in crown:
        x, y = sway_point(u - 0.2 * away, v + 0.22)
        pen.ellipse(x, y, r * 0.62, r * 0.56, mix(base, (255, 240, 150), 0.16))
    for _ in range(70):
        angle, far = chance.uniform(0, 2 * math.pi), math.sqrt(chance.random()) * 1.5
        x, y = sway_point(far * math.cos(angle), 3.55 + 0.95 * far * math.sin(angle))
        lighter = chance.random() < 0.35 + 0.3 * math.sin(angle)
        pen.ellipse(x, y, 0.06, 0.045, mix(base, (255, 244, 160), 0.24) if lighter else shade(base, 0.86))
    pen.model(0.16)
    if scene.weather == "snow":
        pen.snow_cap(0.2)


def _bare(pen: Pen, chance: random.Random, bend: float) -> None:
    """A leafless tree: each bough splits until it is a twig."""

    def bough(u: float, v: float, angle: float, length: float, width: float, left: int) -> None:
        u2, v2 = u + length * math.sin(angle), v + length * math.cos(angle)
        pen.line([(u, v), (u2, v2)], width, BARK)
        if left:
            for turn in (-0.48, 0.06, 0.5) if left > 2 else (-0.42, 0.42):
                lean = angle + turn + chance.uniform(-0.14, 0.14) + 0.10 * bend
                bough(u2, v2, lean, length * chance.uniform(0.64, 0.76), width * 0.62, left - 1)

    pen.polygon([(-0.26, 0.0), (-0.14, 0.6), (0.14, 0.6), (0.26, 0.0)], BARK)
    bough(0.0, 0.1, 0.06 * bend, 1.6, 0.28, 4)
    pen.model(0.16)
    pen.snow_cap(0.07)


def pine(pen: Pen, thing: Thing, scene: Scene) -> None:
    if thing.state == "fallen":
        pen.tilt = 1.42 * (lee(scene) or 1.0)
    bend = 0.34 * lee(scene) if not pen.tilt else 0.0
    base: Colour = (44, 104, 84)
    pen.polygon([(-0.17, 0.0), (-0.13, 1.0), (0.13, 1.0), (0.17, 0.0)], BARK)
    for k, (low, high, half) in enumerate(((0.75, 2.7, 1.3), (1.75, 3.7, 1.05), (2.75, 4.7, 0.8), (3.7, 5.4, 0.52))):
        lean = bend * ((low + high) / 2 / 3.0) ** 1.5

        def jag(side: int, half: float = half, low: float = low, lean: float = lean) -> list[tuple[float, float]]:
            steps = [(1.0, 0.0), (0.72, 0.14), (0.48, -0.03), (0.24, 0.1)]
            return [(side * half * a + lean * 0.6, low + b) for a, b in steps]

        points = [*jag(-1), *reversed(jag(1)), (lean, high)]
        pen.polygon(points, shade(base, 0.86 + 0.06 * k))
        lit = [(-0.08 * pen.side + lean, high), *jag(1 if pen.side > 0 else -1)[:3], (lean * 0.6, low + 0.5)]
        if pen.side:
            pen.polygon(lit, shade(base, 1.06 + 0.03 * k))
    if scene.snowy:
        pen.snow_cap(0.26)
    pen.model(0.12)


def flower(pen: Pen, thing: Thing, scene: Scene) -> None:
    colour = COLOURS[thing.colour]
    pot: Colour = (190, 104, 72)
    dry = thing.state == "withered"
    stem: Colour = (150, 128, 70) if dry else (74, 140, 72)
    tips = [(-0.46, 0.62), (0.45, 0.55), (0.16, 0.74)] if dry else [(-0.26, 0.98), (0.27, 0.94), (0.0, 1.18)]
    for u, v in tips:
        knee = (u * 0.7, v + 0.24) if dry else (u * 0.45, 0.72)
        pen.line([(0.0, 0.42), knee, (u, v)], 0.045, stem)
    for u, v, turn in ((-0.17, 0.56, 1), (0.18, 0.6, -1)):
        drop = 0.18 if dry else 0.0
        pen.polygon(
            [(0.0, 0.45), (u * 1.5, v - drop + 0.1), (u * 2.0, v - drop), (u * 1.1, v - drop - 0.06 * turn)], stem
        )
    for u, v in tips:
        if dry:
            pen.ellipse(u, v, 0.10, 0.12, mix(colour, (128, 104, 74), 0.78))
            continue
        for k in range(6):
            angle = k / 6 * 2 * math.pi
            pen.ellipse(u + 0.105 * math.cos(angle), v + 0.105 * math.sin(angle), 0.085, 0.085, shade(colour, 0.95))
        pen.ellipse(u, v, 0.13, 0.13, colour)
        pen.ellipse(u, v, 0.07, 0.07, (250, 214, 92) if thing.colour != "yellow" else (150, 96, 52))
    pen.polygon([(-0.22, 0.0), (0.22, 0.0), (0.30, 0.38), (-0.30, 0.38)], pot)
    pen.prism(rectangle(-0.33, 0.33, -0.3, 0.3), 0.36, 0.46, shade(pot, 1.1))
    pen.model(0.2)


SKIN: tuple[Colour, ...] = ((241, 205, 176), (206, 154, 116), (132, 90, 66), (228, 182, 146), (170, 118, 84))
HAIR: tuple[Colour, ...] = ((52, 42, 42), (104, 68, 46), (188, 146, 86), (34, 34, 42), (142, 142, 148))
TROUSERS: tuple[Colour, ...] = ((66, 74, 96), (92, 84, 78), (56, 62, 72))

Turn = Callable[[float, float], tuple[float, float]]


def person(pen: Pen, thing: Thing, scene: Scene) -> None:
    face = 1.0 if thing.facing == "right" else -1.0
    draw = {"wheelchair": _draw_wheelchair, "sitting": _draw_sitting}.get(thing.state, _draw_standing)
    draw(pen, thing, face)
    pen.model(0.14)


def _look(thing: Thing) -> tuple[Colour, Colour, Colour, Colour]:
    """Skin, hair, coat and trousers: by the person's name, so that nobody changes with the scene."""
    number = zlib.crc32(thing.name.encode())
    return SKIN[number % 5], HAIR[number // 5 % 5], COLOURS[thing.colour], TROUSERS[number // 25 % 3]


def _draw_standing(pen: Pen, thing: Thing, face: float) -> None:
    _, _, coat, trousers = _look(thing)
    for u in (-0.11, 0.11):
        pen.line([(u, 0.08), (u * 0.95, 0.78)], 0.17, trousers)
        pen.ellipse(u + 0.05 * face, 0.055, 0.13, 0.055, (54, 46, 46))
    turn = _bend(0.0, 0.80, 0.95 * face) if thing.state == "bowing" else _upright
    _upper(pen, thing, turn, face, 0.0)
    if "umbrella" in thing.features:
        _umbrella(pen, coat, face)


def _upright(u: float, v: float) -> tuple[float, float]:
    return u, v


def _bend(u0: float, v0: float, angle: float) -> Turn:
    """Turns points about (u0, v0), to the right where the angle is positive."""
    sine, cosine = math.sin(angle), math.cos(angle)

    def turn(u: float, v: float) -> tuple[float, float]:
        return u0 + (u - u0) * cosine + (v - v0) * sine, v0 + (v - v0) * cosine - (u - u0) * sine

    return turn


def _upper(pen: Pen, thing: Thing, turn: Turn, face: float, drop: float) -> None:
    """Coat, arms and head; `drop` metres lower than when standing."""
    skin, _, coat, _ = _look(thing)
    dark = shade(coat, 0.80)

    def bend_point(u: float, v: float) -> tuple[float, float]:
        return turn(u, v - drop)

    def arm(points: list[tuple[float, float]]) -> None:
        pen.line([bend_point(u, v) for u, v in points], 0.14, dark)
        pen.ellipse(*bend_point(*points[-1]), 0.075, 0.075, skin)

    arm([(-0.25 * face, 1.32), (-0.33 * face, 1.08), (-0.34 * face, 0.84)])
    hem = 0.66 + (0.1 if drop else 0.0)
    body = [
        (-0.21, 1.40),
        (-0.28, 1.30),
        (-0.27, 1.0),
        (-0.31, hem),
        (0.31, hem),
        (0.27, 1.0),
        (0.28, 1.30),
        (0.21, 1.40),
    ]
    pen.polygon([bend_point(u, v) for u, v in body], coat)
    pen.line([bend_point(-0.18, 1.34), bend_point(0.18, 1.34)], 0.14, coat)
    pen.line([bend_point(0.03 * face, 1.36), bend_point(0.03 * face, hem + 0.02)], 0.022, dark)
    for v in (1.2, 1.02, 0.84):
        pen.ellipse(*bend_point(0.075 * face, v), 0.02, 0.02, dark)
    if thing.state == "waving":
        arm([(0.25 * face, 1.32), (0.46 * face, 1.46), (0.50 * face, 1.86)])
    elif "umbrella" in thing.features:
        arm([(0.25 * face, 1.32), (0.36 * face, 1.12), (0.34 * face, 1.36)])
    else:
        arm([(0.25 * face, 1.32), (0.33 * face, 1.08), (0.34 * face, 0.84)])
    _head(pen, thing, bend_point, face)


def _head(pen: Pen, thing: Thing, at: Turn, face: float) -> None:
    skin, hair, coat, _ = _look(thing)
    long = zlib.crc32(thing.name.encode()) // 75 % 2 == 0
    pen.line([at(0.0, 1.36), at(0.0, 1.48)], 0.13, shade(skin, 0.86))
    if long:
        pen.line([at(-0.10 * face, 1.62), at(-0.13 * face, 1.40)], 0.22, shade(hair, 0.9))
    pen.ellipse(*at(-0.025 * face, 1.67), 0.205, 0.20, hair)
    pen.ellipse(*at(0.02 * face, 1.605), 0.19, 0.195, skin)
    fringe = [(-0.20, 1.62), (-0.16, 1.72), (0.02, 1.73), (0.19, 1.69), (0.15, 1.79), (0.0, 1.85), (-0.16, 1.80)]
    pen.polygon([at(u * face, v) for u, v in fringe], hair)
    for u in (0.0, 0.11):
        pen.ellipse(*at(u * face + 0.02 * face, 1.60), 0.019, 0.024, (48, 40, 40))
    pen.ellipse(*at(0.075 * face, 1.545), 0.03, 0.014, shade(skin, 0.75))
    pen.line([at(-0.12, 1.405), at(0.12, 1.405)], 0.075, shade(coat, 1.22))


def _umbrella(pen: Pen, coat: Colour, face: float) -> None:
    cloth = COLOURS["yellow"] if coat != COLOURS["yellow"] else COLOURS["red"]
    u = 0.34 * face
    pen.line([(u, 1.25), (u, 2.32)], 0.035, (70, 62, 60))
    rim = 1.98
    arch = [(u + 0.82 * math.cos(a / 20 * math.pi), rim + 0.48 * math.sin(a / 20 * math.pi)) for a in range(21)]
    pen.polygon(arch, cloth)
    for k in range(4):
        left, right = u - 0.82 + 0.41 * k, u - 0.82 + 0.41 * (k + 1)
        points = [(u, rim + 0.48), (left, rim), ((left + right) / 2, rim - 0.05), (right, rim)]
        pen.polygon(points, shade(cloth, 0.86 if k % 2 else 1.06))
    pen.ellipse(u, rim + 0.5, 0.03, 0.06, (70, 62, 60))


def _draw_sitting(pen: Pen, thing: Thing, face: float) -> None:
    """On a bench, seen from the front."""
    _, _, _, trousers = _look(thing)
    for u in (-0.13, 0.13):
        pen.line([(u, 0.07, -0.42), (u, 0.48, -0.40), (u * 0.9, 0.54, -0.1)], 0.17, trousers)
        pen.ellipse(u, 0.05, 0.085, 0.06, (54, 46, 46), w=-0.5)
    _upper(pen, thing, _upright, face, 0.29)
    for u in (-0.12, 0.12):
        pen.line([(u, 0.55, -0.1), (u, 0.50, -0.42)], 0.18, shade(trousers, 1.1))


def _draw_wheelchair(pen: Pen, thing: Thing, face: float) -> None:
    """In a wheelchair, seen from the side."""
    _, _, _, trousers = _look(thing)
    frame: Colour = (74, 82, 96)
    pen.line([(-0.36 * face, 1.08), (-0.30 * face, 0.5), (0.34 * face, 0.46), (0.46 * face, 0.12)], 0.06, frame)
    pen.line([(-0.36 * face, 1.06), (-0.50 * face, 1.08)], 0.05, frame)
    pen.line([(0.40 * face, 0.12), (0.60 * face, 0.12)], 0.05, frame)
    _upper(pen, thing, _upright, face, 0.26)
    pen.line([(-0.12 * face, 0.56), (0.33 * face, 0.58), (0.43 * face, 0.2)], 0.18, trousers)
    pen.ellipse(0.50 * face, 0.15, 0.12, 0.055, (54, 46, 46))
    pen.ellipse(0.36 * face, 0.09, 0.09, 0.09, frame)
    u, v = -0.14 * face, 0.34
    rim = [(u + 0.33 * math.cos(a / 18 * math.pi), v + 0.33 * math.sin(a / 18 * math.pi)) for a in range(37)]
    for a in range(4):
        x, y = 0.32 * math.cos(a / 4 * math.pi), 0.32 * math.sin(a / 4 * math.pi)
        pen.line([(u - x, v - y), (u + x, v + y)], 0.02, (190, 196, 204))
    pen.line(rim, 0.055, (44, 48, 58))
    pen.ellipse(u, v, 0.05, 0.05, frame)


def snowman(pen: Pen, thing: Thing, scene: Scene) -> None:
    colour = COLOURS[thing.colour]
    snow: Colour = (240, 244, 250)
    twig: Colour = (104, 76, 58)
    hat: Colour = (52, 54, 66)
    if thing.state == "melted":
        _draw_melted_snowman(pen, colour, twig, hat)
        return
    for side in (-1.0, 1.0):
        pen.line([(side * 0.5, 1.36), (side * 1.02, 1.72)], 0.05, twig)
        pen.line([(side * 0.86, 1.60), (side * 0.98, 1.52)], 0.035, twig)
    for v, r in ((0.66, 0.72), (1.42, 0.50), (2.0, 0.34)):
        pen.sphere(0.0, v, r, mix(snow, (206, 218, 236), 0.25), gloss=0.9)
    pen.line([(-0.30, 1.72), (0.30, 1.72)], 0.17, colour)
    drift = 0.45 * lee(scene)
    pen.line([(0.22, 1.70), (0.28 + drift, 1.28 + abs(drift) * 0.5)], 0.15, shade(colour, 0.85))
    for v in (1.22, 1.44):
        pen.ellipse(0.0, v, 0.045, 0.045, hat)
    for u in (-0.12, 0.12):
        pen.ellipse(u, 2.08, 0.04, 0.045, hat)
    nose = -0.36 if thing.facing == "left" else 0.36
    pen.polygon([(0.0, 2.03), (0.0, 1.93), (nose, 1.95)], (238, 132, 52))
    pen.line([(-0.38, 2.24), (0.38, 2.24)], 0.07, hat)
    pen.polygon([(-0.25, 2.24), (0.25, 2.24), (0.23, 2.62), (-0.23, 2.62)], hat)
    pen.line([(-0.24, 2.32), (0.24, 2.32)], 0.08, colour)


def _draw_melted_snowman(pen: Pen, colour: Colour, twig: Colour, hat: Colour) -> None:
    pen.disc(0.0, 0.0, 1.35, (150, 186, 216))
    pen.disc(0.1, 0.05, 1.12, (176, 208, 232))
    pen.disc(-0.2, 0.1, 0.6, (206, 226, 242))
    mound = [(-0.62, 0.0), (-0.52, 0.16), (-0.30, 0.30), (-0.06, 0.34), (0.16, 0.26), (0.34, 0.10), (0.46, -0.02)]
    pen.polygon([*mound, (0.2, -0.10), (-0.36, -0.10)], (240, 244, 250))
    pen.polygon([(0.16, 0.26), (0.34, 0.10), (0.46, -0.02), (0.2, -0.10), (0.05, 0.02)], (214, 226, 240))
    pen.line([(-1.0, 0.02), (-0.50, 0.12)], 0.05, twig)
    pen.line([(0.55, -0.04), (1.05, 0.10)], 0.05, twig)
    pen.line([(-0.50, 0.10), (-0.20, 0.20), (0.10, 0.16), (0.38, -0.08)], 0.13, colour)
    pen.polygon([(0.62, 0.12), (0.60, 0.03), (0.92, 0.02)], (238, 132, 52))
    pen.polygon([(-0.34, 0.36), (0.10, 0.30), (0.16, 0.62), (-0.26, 0.70)], hat)
    pen.line([(-0.46, 0.36), (0.20, 0.27)], 0.07, hat)
