"""The colours of the scenes, and the light of every time and weather."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from edit_eval.scenes.scene import Scene

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


def between(stops: Sequence[tuple[float, Colour]], place: float) -> Colour:
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
