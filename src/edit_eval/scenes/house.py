"""How a house is drawn: walls, roof, windows, and what may be fixed to it."""

from __future__ import annotations

from edit_eval.scenes.palette import COLOURS, Colour, mix, shade
from edit_eval.scenes.pen import Pen
from edit_eval.scenes.scene import Scene, Thing
from edit_eval.scenes.things import LIGHT, lee, rectangle, smoke

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
