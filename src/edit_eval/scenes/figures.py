"""How people and snowmen are drawn."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable

from edit_eval.scenes.palette import COLOURS, Colour, mix, shade
from edit_eval.scenes.pen import Pen
from edit_eval.scenes.scene import Scene, Thing
from edit_eval.scenes.things import lee

SKIN: tuple[Colour, ...] = ((241, 205, 176), (206, 154, 116), (132, 90, 66), (228, 182, 146), (170, 118, 84))
HAIR: tuple[Colour, ...] = ((52, 42, 42), (104, 68, 46), (188, 146, 86), (34, 34, 42), (142, 142, 148))
TROUSERS: tuple[Colour, ...] = ((66, 74, 96), (92, 84, 78), (56, 62, 72))

Turn = Callable[[float, float], tuple[float, float]]


def person(pen: Pen, thing: Thing, scene: Scene) -> None:
    face = 1.0 if thing.facing == "right" else -1.0
    draw = {"wheelchair": _rolling, "sitting": _sitting}.get(thing.state, _standing)
    draw(pen, thing, face)
    pen.model(0.14)


def _look(thing: Thing) -> tuple[Colour, Colour, Colour, Colour]:
    """Skin, hair, coat and trousers: by the person's name, so that nobody changes with the scene."""
    number = zlib.crc32(thing.name.encode())
    return SKIN[number % 5], HAIR[number // 5 % 5], COLOURS[thing.colour], TROUSERS[number // 25 % 3]


def _standing(pen: Pen, thing: Thing, face: float) -> None:
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

    def at(u: float, v: float) -> tuple[float, float]:
        return turn(u, v - drop)

    def arm(points: list[tuple[float, float]]) -> None:
        pen.line([at(u, v) for u, v in points], 0.14, dark)
        pen.ellipse(*at(*points[-1]), 0.075, 0.075, skin)

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
    pen.polygon([at(u, v) for u, v in body], coat)
    pen.line([at(-0.18, 1.34), at(0.18, 1.34)], 0.14, coat)
    pen.line([at(0.03 * face, 1.36), at(0.03 * face, hem + 0.02)], 0.022, dark)
    for v in (1.2, 1.02, 0.84):
        pen.ellipse(*at(0.075 * face, v), 0.02, 0.02, dark)
    if thing.state == "waving":
        arm([(0.25 * face, 1.32), (0.46 * face, 1.46), (0.50 * face, 1.86)])
    elif "umbrella" in thing.features:
        arm([(0.25 * face, 1.32), (0.36 * face, 1.12), (0.34 * face, 1.36)])
    else:
        arm([(0.25 * face, 1.32), (0.33 * face, 1.08), (0.34 * face, 0.84)])
    _head(pen, thing, at, face)


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


def _sitting(pen: Pen, thing: Thing, face: float) -> None:
    """On a bench, seen from the front."""
    _, _, _, trousers = _look(thing)
    for u in (-0.13, 0.13):
        pen.line([(u, 0.07, -0.42), (u, 0.48, -0.40), (u * 0.9, 0.54, -0.1)], 0.17, trousers)
        pen.ellipse(u, 0.05, 0.085, 0.06, (54, 46, 46), w=-0.5)
    _upper(pen, thing, _upright, face, 0.29)
    for u in (-0.12, 0.12):
        pen.line([(u, 0.55, -0.1), (u, 0.50, -0.42)], 0.18, shade(trousers, 1.1))


def _rolling(pen: Pen, thing: Thing, face: float) -> None:
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
        _melted(pen, colour, twig, hat)
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


def _melted(pen: Pen, colour: Colour, twig: Colour, hat: Colour) -> None:
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
