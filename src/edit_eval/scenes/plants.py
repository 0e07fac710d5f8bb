"""How trees, pines and flowers are drawn, in every season."""

from __future__ import annotations

import math
import random

from edit_eval.scenes.palette import COLOURS, Colour, mix, shade
from edit_eval.scenes.pen import Pen
from edit_eval.scenes.scene import Scene, Thing
from edit_eval.scenes.things import lee, rectangle

BARK: Colour = (112, 82, 62)
LEAVES: dict[str, tuple[Colour, ...]] = {
    "summer": ((72, 138, 74), (86, 150, 72), (60, 126, 82)),
    "autumn": ((222, 122, 44), (206, 82, 46), (228, 168, 56)),
}


def _chance(scene: Scene, thing: Thing) -> random.Random:
    return random.Random(f"{scene.seed} {thing.name}")


def tree(pen: Pen, thing: Thing, scene: Scene) -> None:
    chance = _chance(scene, thing)
    if thing.state == "fallen":
        pen.tilt = 1.42 * (lee(scene) or 1.0)
    bend = 0.5 * lee(scene) if not pen.tilt else 0.0
    if scene.season == "winter":
        _bare(pen, chance, bend)
        return

    def swayed(u: float, v: float) -> tuple[float, float]:
        return u + bend * max(0.0, (v - 1.2) / 3.4) ** 1.4 * 1.5, v

    base = chance.choice(LEAVES[scene.season])
    trunk = [(-0.24, 0.0), (-0.15, 0.9), swayed(-0.12, 2.6), swayed(0.12, 2.6), (0.15, 0.9), (0.26, 0.0)]
    pen.polygon(trunk, BARK)
    for u in (-0.7, 0.65):
        pen.line([swayed(0.0, 1.7), swayed(u, 2.7)], 0.13, BARK)
    crown: list[tuple[float, float, float]] = []
    for ring, (count, radius, size) in enumerate(((7, 1.15, 0.62), (5, 0.62, 0.72), (1, 0.0, 0.85))):
        for k in range(count):
            angle = 2 * math.pi * (k + 0.5 * ring) / count + chance.uniform(-0.2, 0.2)
            crown.append(
                (radius * math.cos(angle), 3.55 + 0.95 * radius * math.sin(angle), size * chance.uniform(0.88, 1.12))
            )
    away = -pen.side
    for u, v, r in crown:
        x, y = swayed(u + 0.12 * away, v - 0.16)
        pen.ellipse(x, y, r * 1.02, r * 0.98, shade(base, 0.70))
    for u, v, r in crown:
        x, y = swayed(u, v)
        pen.ellipse(x, y, r * 0.9, r * 0.86, shade(base, 0.92))
    for u, v, r in crown:
        x, y = swayed(u - 0.2 * away, v + 0.22)
        pen.ellipse(x, y, r * 0.62, r * 0.56, mix(base, (255, 240, 150), 0.16))
    for _ in range(70):
        angle, far = chance.uniform(0, 2 * math.pi), math.sqrt(chance.random()) * 1.5
        x, y = swayed(far * math.cos(angle), 3.55 + 0.95 * far * math.sin(angle))
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
