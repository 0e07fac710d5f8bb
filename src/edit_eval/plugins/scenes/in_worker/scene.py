"""A scene: the one structure that draws the source, writes both instructions and draws the right edit.

Lengths are in metres where they belong to a thing, and in fractions of the picture where they place it. Standard
library only; a scene travels as JSON in a text entry of its picture's file.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from edit_eval.errors import ModelError

if TYPE_CHECKING:
    from PIL.Image import Image

TEXT_KEY = "scene"
"""Under which `image.info` holds a picture's scene."""

WORDS = {
    "setting": ("meadow", "beach", "square", "park"),
    "time": ("day", "sunset", "night"),
    "weather": ("clear", "cloudy", "rain", "snow", "fog"),
    "season": ("summer", "autumn", "winter"),
    "sun": ("left", "right"),
    "wind": ("", "left", "right"),
}
"""What a scene's attributes can be."""


@dataclass(frozen=True)
class Form:
    """How large a kind of thing is at size 1, in metres, and in which states it can be (the first one is usual)."""

    width: float
    height: float
    depth: float
    states: tuple[str, ...] = ("",)


FORMS = {
    "ball": Form(1.0, 1.0, 1.0),
    "box": Form(1.1, 1.0, 1.0, ("", "tipped")),
    "cone": Form(0.8, 1.0, 0.8),
    "tree": Form(3.2, 5.2, 2.0, ("", "fallen")),
    "pine": Form(2.6, 5.4, 2.0, ("", "fallen")),
    "house": Form(5.6, 4.6, 4.0),
    "person": Form(0.8, 1.85, 0.5, ("", "waving", "bowing", "sitting", "wheelchair")),
    "flag": Form(0.5, 5.6, 0.5, ("", "half_mast")),
    "lamp": Form(0.7, 4.3, 0.5, ("off", "on")),
    "snowman": Form(1.5, 2.4, 1.2, ("", "melted")),
    "bench": Form(2.2, 0.95, 0.6),
    "balloon": Form(0.9, 2.7, 0.8, ("", "released")),
    "campfire": Form(1.3, 0.7, 1.2, ("out", "burning")),
    "stop": Form(0.8, 2.9, 0.4),
    "flower": Form(0.7, 1.25, 0.6, ("", "withered")),
}

MOST_PIXELS = 4096
"""In either direction; a scene comes out of a file, and a file may say anything."""
SMALL, LARGE = 0.75, 1.3
"""Up to which size a thing is called small, and from which large."""


@dataclass(frozen=True)
class Thing:
    """One thing that stands in the scene."""

    name: str
    """Unique in its scene, for instance `ball-2`."""
    kind: str
    x: float
    """Where its base stands, as a fraction of the picture's width."""
    depth: float
    """How far down from the horizon its base stands: 0 is the horizon, 1 the lower edge of the picture."""
    size: float = 1.0
    colour: str = ""
    state: str = ""
    features: tuple[str, ...] = ()
    """`metal`, `wood` (ball, box); `lanterns`, `ramp` (house); `umbrella` (person)."""
    on: str = ""
    """The name of the thing that it stands on; empty for the ground."""
    facing: str = "left"

    @property
    def form(self) -> Form:
        return FORMS[self.kind]

    @property
    def size_word(self) -> str:
        """`small`, `large`, or nothing."""
        return "small" if self.size <= SMALL else "large" if self.size >= LARGE else ""

    @property
    def width(self) -> float:
        """In metres."""
        return self.form.width * self.size

    @property
    def height(self) -> float:
        """In metres."""
        return self.form.height * self.size


@dataclass(frozen=True)
class Scene:
    """A whole picture before it is drawn."""

    width: int
    """Pixels."""
    height: int
    """Pixels."""
    seed: int
    """Decides what has no meaning: clouds, blades of grass, the shape of the hills."""
    setting: str
    time: str = "day"
    weather: str = "clear"
    season: str = "summer"
    sun: str = "left"
    """On which side of the sky the sun or the moon stands. Shadows fall to the other side and towards us."""
    wind: str = ""
    """From which side a strong wind blows; empty for still air."""
    wet: bool = False
    """Whether puddles lie on the ground."""
    things: tuple[Thing, ...] = ()

    @property
    def snowy(self) -> bool:
        """Whether snow lies."""
        return self.season == "winter" or self.weather == "snow"

    def thing(self, name: str) -> Thing:
        """The thing of that name. Raises `KeyError`."""
        for thing in self.things:
            if thing.name == name:
                return thing
        raise KeyError(name)

    def names(self) -> frozenset[str]:
        return frozenset(thing.name for thing in self.things)

    def with_thing(self, thing: Thing) -> Scene:
        """The scene with one thing more, or with another version of the thing of that name."""
        if thing.name in self.names():
            things = tuple(thing if old.name == thing.name else old for old in self.things)
        else:
            things = (*self.things, thing)
        return replace(self, things=things)

    def remove_thing(self, name: str) -> Scene:
        """The scene without that thing. What stood on it hangs in the air."""
        return replace(self, things=tuple(thing for thing in self.things if thing.name != name))

    def lift(self, thing: Thing) -> float:
        """How high above the ground a thing's base is, in metres."""
        height = 0.0
        below = thing.on
        while below and below in self.names():
            support = self.thing(below)
            height += support.height
            below = support.on
        return height

    def to_json(self) -> str:
        """One line of ASCII; equal scenes give equal text."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> Scene:
        """Raises `ValueError` for a text that is no scene."""
        try:
            data: dict[str, Any] = json.loads(text)
            things = tuple(Thing(**{**thing, "features": tuple(thing["features"])}) for thing in data.pop("things"))
            scene = Scene(**data, things=things)
            unknown = [thing.kind for thing in things if thing.kind not in FORMS]
            unknown += [str(getattr(scene, name)) for name, words in WORDS.items() if getattr(scene, name) not in words]
            if unknown:
                raise ValueError(f"unknown words in a scene: {', '.join(unknown)}")
            if not (16 <= scene.width <= MOST_PIXELS and 16 <= scene.height <= MOST_PIXELS):
                raise ValueError(f"a scene of {scene.width} x {scene.height} pixels is not drawn")
            return scene
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a scene: {error}") from error


def scene_of(image: Image, reader: str) -> Scene:
    """The scene that a picture of this benchmark carries. `reader` names who asks, for the error's sake.

    Raises `ModelError` for a picture without one.
    """
    text = image.info.get(TEXT_KEY)
    if not isinstance(text, str):
        raise ModelError(f"{reader} works only on pictures of the benchmark `scenes`; this one carries no scene")
    try:
        return Scene.from_json(text)
    except ValueError as error:
        raise ModelError(f"{reader} cannot read the scene that this picture carries: {error}") from error
