"""The scenarios: a stage on which things are put, what happens on it, and the list of the benchmark's samples."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from edit_eval.benchmarks.contract import CATEGORIES
from edit_eval.plugins.scenes.in_worker.edits import Edit, Reference, refer
from edit_eval.plugins.scenes.in_worker.scene import FORMS, Scene, Thing


@dataclass(frozen=True)
class PlannedScene:
    """One sample before it is drawn."""

    scene: Scene
    edit: Edit
    difficulty: str
    """`easy`, `medium` or `hard`."""
    tags: tuple[str, ...]


class Stage:
    """Places things one by one; half of all stages are mirrored, sides in words included."""

    def __init__(self, chance: random.Random, width: int, height: int) -> None:
        """`width`, `height`: of the picture, in pixels."""
        self.chance = chance
        self.mirrored = chance.random() < 0.5
        self.scene = Scene(width, height, chance.randrange(1_000_000), "meadow")
        self._counts: dict[str, int] = {}

    def pick(self, *options: str) -> str:
        return self.chance.choice(options)

    def colours(self, count: int, *options: str) -> list[str]:
        """So many different colours out of the options."""
        return self.chance.sample(options or ("red", "yellow", "green", "blue", "purple", "orange"), count)

    def side(self, side: str) -> str:
        """A side as it is on this stage."""
        return {"left": "right", "right": "left"}[side] if self.mirrored else side

    def add_thing(self, kind: str, x: float, depth: float, **attributes: Any) -> Thing:
        """Adds a thing; `x` and `depth` as in `Thing`, moved a little by chance."""
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        if "on" not in attributes:
            x += self.chance.uniform(-0.010, 0.010)
            depth += self.chance.uniform(-0.006, 0.006)
        if self.mirrored:
            x = 1.0 - x
        attributes.setdefault("facing", self.chance.choice(("left", "right")))
        attributes["facing"] = self.side(attributes["facing"])
        attributes.setdefault("state", FORMS[kind].states[0])
        thing = Thing(f"{kind}-{count}", kind, round(x, 4), round(depth, 4), **attributes)
        self.scene = self.scene.with_thing(thing)
        return thing

    def add_on_top(self, kind: str, below: Thing, **attributes: Any) -> Thing:
        """Adds a thing on another one."""
        thing = self.add_thing(kind, 0.5, below.depth, on=below.name, **attributes)
        thing = replace(thing, x=below.x, depth=below.depth)
        self.scene = self.scene.with_thing(thing)
        return thing

    def trees(self, *places: float, depth: float = 0.27) -> None:
        """Trees and pines at the back."""
        for place in places:
            self.add_thing(self.chance.choice(("tree", "pine")), place, depth + self.chance.uniform(-0.03, 0.03))

    def set(self, **attributes: Any) -> None:
        """Sets attributes of the scene: setting, time, weather, ..."""
        self.scene = replace(self.scene, **attributes)

    def plan(self, action: str, difficulty: str, *tags: str, **fields: Any) -> PlannedScene:
        """The plan of an edit with these fields, once all things are placed; a thing is named as briefly as can be."""
        said: dict[str, Any] = {
            name: refer(self.scene, it) if isinstance(it, Thing) else it for name, it in fields.items()
        }
        return PlannedScene(self.scene, Edit(action, **said), difficulty, (action, *tags))


Scenario = Callable[[Stage], PlannedScene]


# -- physical: gravity and support, light and shadow, perspective, material --

GRASS = ("meadow", "park")


def add_ball(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick(*GRASS), sun=stage.pick("left", "right"))
    bench = stage.add_thing("bench", 0.46, 0.56)
    stage.add_thing("lamp", 0.78, 0.40)
    stage.add_thing("house", 0.20, 0.31, colour=stage.pick("white", "yellow", "blue"))
    stage.trees(0.93)
    side, (colour,) = stage.side("right"), stage.colours(1)
    return stage.plan("add", "easy", "shadow", "placement", relation=side, anchor=bench, kind="ball", colour=colour)


def remove_support(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("square", "beach", "meadow"), sun=stage.pick("left", "right"))
    first, second = stage.colours(2)
    box = stage.add_thing("box", 0.44, 0.66, colour=first, size=1.1)
    stage.add_on_top("ball", box, colour=second)
    stage.add_thing("cone", 0.72, 0.70, colour="orange")
    stage.add_thing("person", 0.24, 0.56, colour=stage.pick("green", "purple", "grey"))
    stage.add_thing("lamp", 0.86, 0.42)
    support = Reference("box", relation="under", anchor=Reference("ball"))
    return stage.plan("remove", "hard", "gravity", "support", "shadow", target=support)


def remove_tree(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick(*GRASS), time=stage.pick("sunset", "sunset", "day"), sun=stage.side("left"))
    tree = stage.add_thing("tree", 0.40, 0.44)
    stage.add_thing("bench", 0.72, 0.60)
    stage.add_thing("ball", 0.20, 0.72, colour=stage.pick("red", "blue", "yellow"))
    stage.add_thing("flag", 0.88, 0.36, colour=stage.pick("red", "blue", "green"))
    return stage.plan("remove", "medium", "shadow", "inpainting", target=tree)


def change_material(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("meadow", "beach", "square"), sun=stage.pick("left", "right"))
    first, second = stage.colours(2)
    kind = stage.pick("ball", "box")
    thing = stage.add_thing(kind, 0.44, 0.68, colour=first, size=1.25)
    stage.add_thing("cone", 0.72, 0.62, colour="orange")
    stage.add_thing("balloon", 0.24, 0.54, colour=second)
    stage.add_thing("flag", 0.88, 0.36, colour=stage.pick("red", "yellow"))
    target = Reference(thing.kind, thing.colour)
    return stage.plan("material", "easy", "material", target=target, value=stage.pick("metal", "wood"))


def move_ball(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("meadow", "beach"), sun=stage.pick("left", "right"))
    first, second = stage.colours(2)
    ball = stage.add_thing("ball", 0.22, 0.74, colour=first)
    box = stage.add_thing("box", 0.62, 0.58, colour=second)
    stage.add_thing("pine", 0.86, 0.34)
    stage.add_thing("bench", 0.40, 0.42)
    return stage.plan("move", "medium", "shadow", "perspective", target=ball, relation=stage.side("right"), anchor=box)


def turn_the_sun(stage: Stage) -> PlannedScene:
    old = stage.side("left")
    stage.set(setting=stage.pick("meadow", "beach", "square"), sun=old, time=stage.pick("day", "sunset"))
    first, second = stage.colours(2)
    stage.add_thing("tree" if stage.scene.setting != "beach" else "flag", 0.66, 0.38, colour=stage.pick("red", "green"))
    stage.add_thing("ball", 0.36, 0.70, colour=first)
    stage.add_thing("box", 0.60, 0.66, colour=second)
    stage.add_thing("person", 0.20, 0.56, colour=stage.pick("purple", "blue"))
    stage.add_thing("cone", 0.84, 0.72, colour="orange")
    return stage.plan("sun", "hard", "light", "shadow", value={"left": "right", "right": "left"}[old])


def resize(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick(*GRASS), sun=stage.pick("left", "right"))
    first, second = stage.colours(2)
    larger = stage.chance.random() < 0.5
    ball = stage.add_thing("ball", 0.38, 0.64, colour=first, size=1.0 if larger else 1.7)
    stage.add_thing("box", 0.70, 0.60, colour=second)
    stage.add_thing("person", 0.16, 0.52, colour=stage.pick("grey", "green"))
    stage.add_thing("tree", 0.86, 0.32)
    return stage.plan("resize", "medium", "perspective", "shadow", target=ball, value="larger" if larger else "smaller")


def add_cone_under_clouds(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("square", "park"), weather="cloudy")
    bench = stage.add_thing("bench", 0.52, 0.48)
    stage.add_thing("house", 0.22, 0.31, colour=stage.pick("white", "pink", "grey"))
    stage.add_thing("person", 0.76, 0.62, colour=stage.pick("red", "green"))
    stage.trees(0.90)
    return stage.plan("add", "easy", "placement", "soft light", relation="front", anchor=bench, kind="cone")


def move_onto_box(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("square", "park"), sun=stage.pick("left", "right"))
    first, second = stage.colours(2)
    ball = stage.add_thing("ball", 0.24, 0.74, colour=first, size=0.9)
    box = stage.add_thing("box", 0.58, 0.64, colour=second)
    stage.add_thing("bench", 0.80, 0.50)
    stage.add_thing("lamp", 0.38, 0.38)
    stage.trees(0.10)
    return stage.plan("move", "medium", "support", "shadow", target=ball, relation="on", anchor=box)


def pull_from_the_stack(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("meadow", "square", "beach"), sun=stage.pick("left", "right"))
    low, middle, high = stage.colours(3)
    first = stage.add_thing("box", 0.52, 0.60, colour=low)
    second = stage.add_on_top("box", first, colour=middle)
    stage.add_on_top("box", second, colour=high, size=0.75)
    stage.add_thing("ball", 0.26, 0.72, colour=stage.pick("pink", "grey"))
    stage.add_thing("tree", 0.84, 0.32)
    stage.add_thing("person", 0.72, 0.66, colour=stage.pick("grey", "brown"))
    return stage.plan("remove", "hard", "gravity", "support", "shadow", target=Reference("box", middle))


# -- environmental: light and time of day, weather, season --


def _village(stage: Stage, lamp: str = "off") -> None:
    """A house, a lamp and a few things before them."""
    stage.add_thing("house", 0.27, 0.34, colour=stage.pick("white", "yellow", "blue", "pink"))
    stage.add_thing("lamp", 0.62, 0.44, state=lamp)
    stage.add_thing("tree", 0.84, 0.36)
    stage.add_thing("bench", 0.72, 0.62)
    stage.add_thing("ball", 0.40, 0.72, colour=stage.pick("red", "yellow", "blue"))


def _people(stage: Stage) -> None:
    """Two people and a few things on open ground."""
    first, second = stage.colours(2)
    stage.add_thing("person", 0.30, 0.60, colour=first)
    stage.add_thing("person", 0.52, 0.70, colour=second)
    stage.add_thing("cone", 0.74, 0.66, colour="orange")
    stage.add_thing("flag", 0.84, 0.36, colour=stage.pick("red", "green", "blue"))
    stage.add_thing("pine", 0.14, 0.33)


def night(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("meadow", "park"), sun=stage.pick("left", "right"))
    _village(stage)
    return stage.plan("time", "medium", "time of day", "lit windows", "shadow", value="night")


def rain(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("square", "park"), sun=stage.pick("left", "right"))
    _village(stage)
    return stage.plan("weather", "medium", "weather", "reflection", value="rain")


def autumn(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("meadow", "park"), sun=stage.pick("left", "right"))
    stage.add_thing("tree", 0.24, 0.40)
    stage.add_thing("tree", 0.56, 0.33)
    stage.add_thing("pine", 0.86, 0.38)
    stage.add_thing("bench", 0.42, 0.58)
    stage.add_thing("person", 0.68, 0.66, colour=stage.pick("blue", "grey"))
    return stage.plan("season", "easy", "season", value="autumn")


def snow(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("meadow", "park"), weather=stage.pick("cloudy", "clear"))
    _village(stage)
    return stage.plan("weather", "medium", "weather", "snow cover", value="snow")


def day(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("meadow", "square"), time="night", sun=stage.pick("left", "right"))
    _village(stage, lamp="on")
    stage.add_thing("lamp", 0.12, 0.56, state="on")
    return stage.plan("time", "hard", "time of day", "shadow", value="day")


def fog(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("square", "meadow"), weather=stage.pick("cloudy", "clear"))
    _people(stage)
    return stage.plan("weather", "easy", "weather", "depth", value="fog")


def sunset(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("beach", "meadow"), sun=stage.pick("left", "right"))
    _people(stage)
    return stage.plan("time", "easy", "time of day", "shadow", value="sunset")


def winter(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("meadow", "park"), season=stage.pick("summer", "autumn"))
    _village(stage)
    return stage.plan("season", "medium", "season", "snow cover", value="winter")


def clear_up(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("square", "park"), weather="rain", sun=stage.pick("left", "right"))
    _people(stage)
    return stage.plan("weather", "hard", "weather", "shadow", "puddles", value="clear")


def evening_fire(stage: Stage) -> PlannedScene:
    stage.set(setting="beach", time="sunset", sun=stage.pick("left", "right"))
    stage.add_thing("campfire", 0.52, 0.66, state="burning")
    first, second = stage.colours(2)
    stage.add_thing("person", 0.30, 0.62, colour=first)
    stage.add_thing("person", 0.74, 0.64, colour=second)
    stage.add_thing("box", 0.88, 0.78, colour=stage.pick("brown", "grey"))
    return stage.plan("time", "hard", "time of day", "glow", value="night")


# -- social: people and what is proper among them --

COATS = ("red", "yellow", "green", "blue", "purple", "orange", "grey")


def wave(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("park", "square"), sun=stage.pick("left", "right"))
    first, second, third = stage.colours(3, *COATS)
    one = stage.add_thing("person", 0.32, 0.66, colour=first, size=1.1, facing="left")
    other = stage.add_thing("person", 0.68, 0.64, colour=second, size=1.1)
    stage.add_thing("person", 0.84, 0.48, colour=third)
    stage.add_thing("bench", 0.50, 0.46)
    stage.trees(0.12, 0.92)
    return stage.plan("wave", "easy", "greeting", "people", target=one, anchor=other)


def queue(stage: Stage) -> PlannedScene:
    stage.set(setting="square", weather=stage.pick("clear", "cloudy"), sun=stage.pick("left", "right"))
    first, second, third = stage.colours(3, *COATS)
    stop = stage.add_thing("stop", 0.86, 0.50)
    stage.add_thing("person", 0.64, 0.80, colour=first)
    stage.add_thing("person", 0.38, 0.66, colour=second)
    stage.add_thing("person", 0.14, 0.74, colour=third)
    stage.add_thing("bench", 0.36, 0.40)
    return stage.plan("queue", "hard", "queue", "people", "shadow", anchor=stop)


def lanterns(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("meadow", "square"), season=stage.pick("winter", "summer"))
    house = stage.add_thing("house", 0.42, 0.40, colour=stage.pick("white", "yellow", "grey"))
    first, second = stage.colours(2, *COATS)
    stage.add_thing("person", 0.74, 0.62, colour=first)
    stage.add_thing("person", 0.86, 0.66, colour=second)
    stage.add_thing("pine", 0.80, 0.32)
    return stage.plan("lanterns", "easy", "festival", "decoration", target=house)


def half_mast(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("square", "park"), weather=stage.pick("clear", "cloudy"))
    flag = stage.add_thing("flag", 0.42, 0.44, colour=stage.pick("red", "blue", "green"))
    first, second = stage.colours(2, "grey", "black", "blue")
    stage.add_thing("person", 0.62, 0.62, colour=first)
    stage.add_thing("person", 0.76, 0.60, colour=second)
    stage.add_thing("bench", 0.18, 0.56)
    if stage.chance.random() < 0.5:
        stage.set(wind=stage.pick("left", "right"))
    return stage.plan("half_mast", "medium", "mourning", "flag", target=flag)


def ramp(stage: Stage) -> PlannedScene:
    stage.set(
        setting=stage.pick("square", "park"), weather=stage.pick("clear", "cloudy"), sun=stage.pick("left", "right")
    )
    house = stage.add_thing("house", 0.40, 0.46, colour=stage.pick("white", "yellow", "blue"))
    coat, other = stage.colours(2, *COATS)
    stage.add_thing("person", 0.80, 0.72, colour=coat, state="wheelchair", facing="left")
    stage.add_thing("person", 0.08, 0.66, colour=other)
    stage.trees(0.90)
    return stage.plan("ramp", "medium", "accessibility", "wheelchair", target=house)


def dress(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("park", "meadow", "beach"), sun=stage.pick("left", "right"))
    one, two, new = stage.colours(3, *COATS)
    stage.add_thing("person", 0.30, 0.64, colour=one, size=1.15)
    second = stage.add_thing("person", 0.52, 0.66, colour=two, size=1.15)
    stage.add_thing("balloon", 0.72, 0.60, colour=stage.pick("pink", "white"))
    stage.add_thing("flag", 0.88, 0.36, colour=stage.pick("red", "blue"))
    return stage.plan("dress", "easy", "clothing", "people", target=second, value=new)


def seat(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("park", "square"), sun=stage.pick("left", "right"))
    first, second = stage.colours(2, *COATS)
    guest = stage.add_thing("person", 0.22, 0.74, colour=first)
    stage.add_thing("person", 0.80, 0.70, colour=second)
    bench = stage.add_thing("bench", 0.54, 0.56)
    stage.add_thing("lamp", 0.38, 0.38)
    stage.trees(0.86)
    return stage.plan("sit", "hard", "courtesy", "people", "shadow", target=guest, anchor=bench)


def umbrella(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("square", "park"), weather="rain")
    first, second = stage.colours(2, "red", "green", "blue", "purple")
    one = stage.add_thing("person", 0.44, 0.70, colour=first, size=1.1)
    stage.add_thing("person", 0.74, 0.62, colour=second, features=("umbrella",))
    stage.add_thing("stop", 0.20, 0.54)
    stage.add_thing("lamp", 0.88, 0.40)
    return stage.plan("umbrella", "medium", "care", "people", target=one)


def bow(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("square", "park"), sun=stage.pick("left", "right"))
    first, second, third = stage.colours(3, *COATS)
    one = stage.add_thing("person", 0.36, 0.66, colour=first, size=1.1, facing="right")
    other = stage.add_thing("person", 0.60, 0.64, colour=second, size=1.1, facing="left")
    stage.add_thing("person", 0.80, 0.56, colour=third, state="wheelchair")
    stage.add_thing("house", 0.18, 0.30, colour=stage.pick("white", "yellow"))
    return stage.plan("bow", "medium", "greeting", "people", "shadow", target=one, anchor=other)


def lanterns_at_night(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("meadow", "park"), season="winter", time=stage.pick("night", "sunset"))
    first, second = stage.colours(2, "white", "yellow", "blue", "pink")
    house = stage.add_thing("house", 0.28, 0.38, colour=first)
    stage.add_thing("house", 0.78, 0.33, colour=second)
    stage.add_thing("snowman", 0.56, 0.64, colour=stage.pick("red", "green"))
    return stage.plan("lanterns", "hard", "festival", "decoration", "glow", target=Reference("house", house.colour))


# -- causal: something happens, and the rest of the scene answers --


def switch_on_lamp(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("park", "square"), time="night", sun=stage.pick("left", "right"))
    lamp = stage.add_thing("lamp", 0.48, 0.52)
    stage.add_thing("bench", 0.66, 0.58)
    stage.add_thing("person", 0.32, 0.62, colour=stage.pick("red", "yellow", "white"))
    stage.add_thing("tree", 0.86, 0.40)
    return stage.plan("switch_on", "medium", "light", "night", target=lamp)


def topple(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("meadow", "square", "beach"), sun=stage.pick("left", "right"))
    ball_colour, low, middle, high = stage.colours(4)
    ball = stage.add_thing("ball", 0.16, 0.66, colour=ball_colour, size=1.1)
    first = stage.add_thing("box", 0.46, 0.60, colour=low)
    second = stage.add_on_top("box", first, colour=middle)
    stage.add_on_top("box", second, colour=high)
    stage.add_thing("flag", 0.90, 0.33, colour=stage.pick("red", "green"))
    stage.add_thing("person", 0.30, 0.46, colour=stage.pick("grey", "brown"))
    return stage.plan("topple", "hard", "collision", "gravity", target=ball)


def release(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("park", "meadow", "beach"), weather=stage.pick("clear", "cloudy"))
    first, second = stage.colours(2)
    stage.add_thing("balloon", 0.40, 0.60, colour=first)
    stage.add_thing("balloon", 0.62, 0.66, colour=second)
    stage.add_thing("person", 0.22, 0.62, colour=stage.pick("grey", "brown"))
    stage.add_thing("bench", 0.80, 0.46)
    return stage.plan("release", "easy", "buoyancy", target=Reference("balloon", first))


def wind(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("meadow", "beach"), sun=stage.pick("left", "right"))
    stage.add_thing("flag", 0.42, 0.38, colour=stage.pick("red", "blue", "yellow"))
    stage.add_thing("campfire", 0.56, 0.70, state="burning")
    stage.add_thing("balloon", 0.28, 0.62, colour=stage.pick("purple", "pink", "orange"))
    if stage.scene.setting == "meadow":
        stage.add_thing("house", 0.18, 0.31, colour="white", features=("smoke",))
    stage.add_thing("tree", 0.80, 0.38)
    return stage.plan("wind", "hard", "wind", "chain of effects", value=stage.pick("left", "right"))


def melt(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("meadow", "park"), season="winter", sun=stage.pick("left", "right"))
    snowman = stage.add_thing("snowman", 0.48, 0.64, colour=stage.pick("red", "blue", "green"))
    stage.add_thing("pine", 0.22, 0.36)
    stage.add_thing("bench", 0.74, 0.54)
    stage.add_thing("person", 0.30, 0.66, colour=stage.pick("purple", "orange"))
    return stage.plan("melt", "medium", "heat", "change of state", target=snowman)


def fire(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("beach", "meadow"), time="night", sun=stage.pick("left", "right"))
    campfire = stage.add_thing("campfire", 0.50, 0.66)
    first, second = stage.colours(2)
    stage.add_thing("person", 0.30, 0.62, colour=first)
    stage.add_thing("person", 0.70, 0.64, colour=second)
    stage.add_thing("pine", 0.88, 0.38)
    return stage.plan("kindle", "hard", "fire", "light", "night", target=campfire)


def water(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("meadow", "park"), sun=stage.pick("left", "right"))
    first, second = stage.colours(2, "red", "yellow", "pink", "purple")
    dry = stage.add_thing("flower", 0.40, 0.72, colour=first, state="withered", size=1.4)
    stage.add_thing("flower", 0.66, 0.66, colour=second, size=1.4)
    stage.add_thing("house", 0.22, 0.31, colour=stage.pick("white", "blue"))
    stage.add_thing("person", 0.82, 0.58, colour=stage.pick("green", "grey"))
    return stage.plan("water", "easy", "growth", target=Reference("flower", dry.colour))


def shower(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("square", "park"), weather=stage.pick("clear", "cloudy"))
    first, second = stage.colours(2)
    stage.add_thing("box", 0.60, 0.60, colour=first)
    stage.add_thing("ball", 0.30, 0.66, colour=second)
    stage.add_thing("lamp", 0.76, 0.44)
    stage.add_thing("house", 0.24, 0.32, colour=stage.pick("yellow", "white", "pink"))
    return stage.plan("soak", "medium", "water", "reflection")


def switch_off_lamp(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("square", "meadow"), time="night", sun=stage.pick("left", "right"))
    lamp = stage.add_thing("lamp", 0.56, 0.54, state="on")
    first, second = stage.colours(2)
    stage.add_thing("ball", 0.70, 0.66, colour=first)
    stage.add_thing("box", 0.36, 0.64, colour=second)
    stage.add_thing("house", 0.20, 0.31, colour=stage.pick("white", "pink"))
    return stage.plan("switch_off", "medium", "light", "night", target=lamp)


def storm(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("meadow", "park"), weather=stage.pick("cloudy", "clear"))
    tree = stage.add_thing("tree", 0.46, 0.46)
    stage.add_thing("flag", 0.20, 0.36, colour=stage.pick("red", "blue"))
    stage.add_thing("pine", 0.88, 0.34)
    stage.add_thing("cone", 0.26, 0.70, colour="orange")
    return stage.plan("fell", "hard", "wind", "gravity", "shadow", target=tree, value=stage.pick("left", "right"))


# -- referential: several alike things, and an instruction that means one of them --


def count_from_the_side(stage: Stage) -> PlannedScene:
    """A row of balls of one colour."""
    stage.set(setting=stage.pick("meadow", "beach", "park"), sun=stage.pick("left", "right"))
    old, new = stage.colours(2)
    for k in range(4):
        stage.add_thing("ball", 0.16 + 0.21 * k, 0.64 + 0.05 * (k % 2), colour=old)
    stage.add_thing("bench", 0.52, 0.42)
    stage.add_thing("pine", 0.86, 0.32)
    rank = stage.chance.choice((2, 3))
    target = Reference("ball", old, ranking=stage.pick("left", "right"), rank=rank)
    return stage.plan("recolour", "easy", "ordinal", "spatial", target=target, value=new)


def small_red_box(stage: Stage) -> PlannedScene:
    """Size and colour decide together."""
    stage.set(setting=stage.pick("square", "meadow"), sun=stage.pick("left", "right"))
    one, two = stage.colours(2)
    small = stage.add_thing("box", 0.34, 0.72, colour=one, size=0.65)
    stage.add_thing("box", 0.56, 0.62, colour=one, size=1.5)
    stage.add_thing("box", 0.80, 0.74, colour=two, size=0.65)
    stage.add_thing("box", 0.16, 0.56, colour=two, size=1.5)
    stage.add_thing("lamp", 0.72, 0.38)
    return stage.plan("remove", "medium", "attribute", "size", small.colour, target=Reference("box", one, "small"))


def the_largest(stage: Stage) -> PlannedScene:
    """The largest ball stands behind a smaller one, and is seen largest all the same: nobody can take it otherwise."""
    stage.set(setting=stage.pick("meadow", "beach", "square"), sun=stage.pick("left", "right"))
    old, new = stage.colours(2)
    stage.add_thing("ball", 0.26, 0.58, colour=old, size=1.75)
    stage.add_thing("ball", 0.54, 0.78, colour=old, size=0.9)
    stage.add_thing("ball", 0.80, 0.64, colour=old, size=0.75)
    stage.add_thing("person", 0.42, 0.42, colour=stage.pick("grey", "brown"))
    stage.add_thing("flag", 0.66, 0.34, colour=stage.pick("red", "blue"))
    target = Reference("ball", old, ranking="largest")
    return stage.plan("recolour", "medium", "comparison", "perspective", target=target, value=new)


def third_cone(stage: Stage) -> PlannedScene:
    stage.set(setting="square", weather=stage.pick("clear", "cloudy"), sun=stage.pick("left", "right"))
    for k in range(5):
        stage.add_thing("cone", 0.14 + 0.18 * k, 0.60 + 0.04 * (k % 3), colour="orange")
    stage.add_thing("house", 0.28, 0.30, colour=stage.pick("white", "yellow"))
    stage.add_thing("lamp", 0.76, 0.38)
    target = Reference("cone", ranking=stage.pick("left", "right"), rank=stage.chance.choice((2, 3, 4)))
    (colour,) = stage.colours(1)
    return stage.plan("replace", "medium", "ordinal", "replacement", target=target, kind="ball", colour=colour)


def recolour_front_ball(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("meadow", "park"), sun=stage.pick("left", "right"))
    stage.add_thing("house", 0.34, 0.33, colour=stage.pick("white", "yellow", "blue"))
    old, new = stage.colours(2)
    stage.add_thing("ball", 0.34, 0.58, colour=old)
    stage.add_thing("ball", 0.64, 0.60, colour=old)
    stage.add_thing("ball", 0.82, 0.72, colour=old)
    stage.add_thing("tree", 0.80, 0.34)
    target = Reference("ball", old, relation="front", anchor=Reference("house"))
    return stage.plan("recolour", "medium", "spatial", "relation", target=target, value=new)


def farthest_tree(stage: Stage) -> PlannedScene:
    """Three trees of different size; distance is not height in the picture."""
    stage.set(setting=stage.pick("meadow", "park"), weather=stage.pick("clear", "cloudy"))
    stage.add_thing("tree", 0.20, 0.36, size=1.25)
    stage.add_thing("tree", 0.52, 0.30, size=0.75)
    stage.add_thing("tree", 0.80, 0.46, size=0.62)
    stage.add_thing("bench", 0.40, 0.60)
    stage.add_thing("ball", 0.66, 0.74, colour=stage.pick("red", "yellow"))
    target = Reference("tree", ranking=stage.pick("farthest", "nearest"))
    return stage.plan("remove", "hard", "distance", "shadow", target=target)


def next_to_the_lamp(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("park", "square"), sun=stage.pick("left", "right"))
    old, new = stage.colours(2, "red", "yellow", "green", "blue", "purple")
    stage.add_thing("lamp", 0.40, 0.52)
    stage.add_thing("person", 0.47, 0.56, colour=old)
    stage.add_thing("person", 0.70, 0.66, colour=old)
    stage.add_thing("person", 0.20, 0.68, colour=old)
    stage.add_thing("bench", 0.82, 0.48)
    target = Reference("person", relation="next", anchor=Reference("lamp"))
    return stage.plan("dress", "medium", "relation", "people", target=target, value=new)


def overlapping_boxes(stage: Stage) -> PlannedScene:
    """A small box stands before a large one and hides its edge; middles and edges come in the same order."""
    stage.set(setting=stage.pick("meadow", "square"), sun=stage.pick("left", "right"))
    old, new = stage.colours(2)
    stage.add_thing("box", 0.16, 0.58, colour=old, size=0.8)
    stage.add_thing("box", 0.53, 0.56, colour=old, size=1.8)
    stage.add_thing("box", 0.42, 0.82, colour=old, size=0.7)
    stage.add_thing("box", 0.80, 0.66, colour=old, size=0.9)
    stage.add_thing("pine", 0.90, 0.32)
    target = Reference("box", old, ranking=stage.side("left"), rank=2)
    return stage.plan("recolour", "hard", "ordinal", "overlap", target=target, value=new)


def recolour_middle_ball(stage: Stage) -> PlannedScene:
    stage.set(setting=stage.pick("beach", "meadow", "square"), sun=stage.pick("left", "right"))
    old, new, box = stage.colours(3)
    stage.add_thing("box", 0.30, 0.60, colour=box)
    stage.add_thing("box", 0.62, 0.64, colour=box)
    stage.add_thing("ball", 0.46, 0.63, colour=old)
    stage.add_thing("ball", 0.14, 0.72, colour=old)
    stage.add_thing("ball", 0.82, 0.68, colour=old)
    target = Reference("ball", relation="between", anchor=Reference("box"))
    return stage.plan("recolour", "medium", "spatial", "relation", target=target, value=new)


def second_lamp(stage: Stage) -> PlannedScene:
    """At night, where the lamps' colours say nothing."""
    stage.set(setting=stage.pick("square", "park"), time="night", sun=stage.pick("left", "right"))
    for k in range(4):
        stage.add_thing("lamp", 0.14 + 0.24 * k, 0.50 + 0.05 * (k % 2))
    stage.add_thing("bench", 0.50, 0.66)
    target = Reference("lamp", ranking=stage.pick("left", "right"), rank=stage.chance.choice((2, 3)))
    return stage.plan("switch_on", "hard", "ordinal", "light", "night", target=target)


# -- for the ladder alone: changes that can be done by half --

SETTINGS = ("meadow", "park", "beach", "square")
COUNTED = 4
SIZES = {"small": 0.65, "large": 1.3}


def count(stage: Stage) -> PlannedScene:
    """Four alike balls or boxes go, one of another colour stays."""
    stage.set(setting=stage.pick(*SETTINGS), sun=stage.pick("left", "right"))
    kind, (colour, other) = stage.pick("ball", "box"), stage.colours(2)
    for k in range(COUNTED):
        stage.add_thing(kind, 0.14 + 0.20 * k, (0.60, 0.74, 0.64, 0.78)[k], colour=colour)
    stage.add_thing(kind, 0.90, 0.62, colour=other)
    stage.add_thing("house", 0.30, 0.31, colour=stage.pick("white", "yellow", "blue"))
    stage.add_thing("lamp", 0.66, 0.40)
    return stage.plan("remove_all", "medium", "count", kind=kind, colour=colour)


def place(stage: Stage) -> PlannedScene:
    """A ball, box or cone crosses the picture. Half-way it is in front of nothing: half of this is not the whole."""
    stage.set(setting=stage.pick(*SETTINGS), sun=stage.pick("left", "right"))
    kind, (colour, other) = stage.pick("ball", "box", "cone"), stage.colours(2)
    thing = stage.add_thing(kind, 0.12, 0.78, colour="orange" if kind == "cone" else colour)
    goal = stage.pick("bench", "house", "lamp")
    colours = {"colour": stage.pick("white", "yellow", "blue")} if goal == "house" else {}
    anchor = stage.add_thing(goal, 0.70, 0.36 if goal == "house" else 0.54, **colours)
    stage.add_thing("balloon", 0.36, 0.44, colour=other)
    stage.add_thing("person", 0.92, 0.62, colour=stage.pick("grey", "brown", "white"))
    stage.trees(0.22)
    return stage.plan("move", "easy", "place", target=thing, relation="front", anchor=anchor)


def size(stage: Stage) -> PlannedScene:
    """A ball or box grows to twice its size, or shrinks to half."""
    stage.set(setting=stage.pick(*SETTINGS), sun=stage.pick("left", "right"))
    kind, (colour, other) = stage.pick("ball", "box"), stage.colours(2)
    value = stage.pick("larger", "smaller")
    thing = stage.add_thing(kind, 0.42, 0.70, colour=colour, size=1.0 if value == "larger" else 1.6)
    stage.add_thing("cone", 0.76, 0.64, colour="orange")
    stage.add_thing("flag", 0.16, 0.36, colour=other)
    stage.add_thing("bench", 0.70, 0.44)
    return stage.plan("resize", "easy", "size", target=thing, value=value)


def hue(stage: Stage) -> PlannedScene:
    """One of three things takes another colour."""
    stage.set(setting=stage.pick(*SETTINGS), sun=stage.pick("left", "right"))
    kind, (colour, other, value) = stage.pick("ball", "box"), stage.colours(3)
    thing = stage.add_thing(kind, 0.36, 0.70, colour=colour, size=1.2)
    stage.add_thing(kind, 0.70, 0.62, colour=other, size=1.2)
    stage.add_thing("person", 0.14, 0.58, colour=stage.pick("grey", "brown", "white"))
    stage.add_thing("lamp", 0.88, 0.40)
    return stage.plan("recolour", "easy", "colour", target=thing, value=value)


# -- the same where several things are alike, and the words mean one or some of them --


def _one_of_three(stage: Stage, kind: str, colour: str) -> Reference:
    return Reference(kind, colour, ranking=stage.pick("left", "right"), rank=stage.chance.choice((1, 2, 3)))


def count_of_some(stage: Stage) -> PlannedScene:
    """In a row of balls or boxes those of one size and colour go; one of another size, one of another colour stay."""
    stage.set(setting=stage.pick(*SETTINGS), sun=stage.pick("left", "right"))
    kind, (colour, other) = stage.pick("ball", "box"), stage.colours(2)
    meant, not_meant = stage.chance.sample(("small", "large"), 2)
    row = [(colour, meant)] * COUNTED + [(colour, not_meant), (other, meant)]
    stage.chance.shuffle(row)
    for k, (coloured, size) in enumerate(row):
        stage.add_thing(kind, 0.08 + 0.17 * k, 0.58 + 0.14 * (k % 2), colour=coloured, size=SIZES[size])
    stage.add_thing("house", 0.34, 0.28, colour=stage.pick("white", "yellow", "blue"))
    stage.add_thing("lamp", 0.66, 0.36)
    return stage.plan("remove_all", "medium", "count", "attribute", kind=kind, colour=colour, size=meant)


def place_of_one(stage: Stage) -> PlannedScene:
    """One of three alike things comes to stand before the bench; on its way it hides none of the others."""
    stage.set(setting=stage.pick(*SETTINGS), sun=stage.pick("left", "right"))
    kind, (colour, other) = stage.pick("ball", "box"), stage.colours(2)
    for x, depth in ((0.10, 0.68), (0.25, 0.92), (0.42, 0.40)):
        stage.add_thing(kind, x, depth, colour=colour, size=0.85)
    bench = stage.add_thing("bench", 0.74, 0.60)
    stage.add_thing("balloon", 0.92, 0.52, colour=other)
    stage.add_thing("house", 0.20, 0.29, colour=stage.pick("white", "yellow", "blue"))
    target = _one_of_three(stage, kind, colour)
    return stage.plan("move", "medium", "place", "ordinal", target=target, relation="front", anchor=bench)


def size_of_one(stage: Stage) -> PlannedScene:
    """One of three alike things grows, or shrinks."""
    stage.set(setting=stage.pick(*SETTINGS), sun=stage.pick("left", "right"))
    kind, (colour, other) = stage.pick("ball", "box"), stage.colours(2)
    value = stage.pick("larger", "smaller")
    for x, depth in ((0.16, 0.70), (0.48, 0.76), (0.80, 0.70)):
        stage.add_thing(kind, x, depth, colour=colour, size=0.9 if value == "larger" else 1.5)
    stage.add_thing("flag", 0.30, 0.36, colour=other)
    stage.add_thing("bench", 0.64, 0.42)
    target = _one_of_three(stage, kind, colour)
    return stage.plan("resize", "medium", "size", "ordinal", target=target, value=value)


# -- which scenario comes where, under which chance; the order is that of the benchmark --

SCENARIOS: dict[str, tuple[Scenario, ...]] = {
    "physical": (
        add_ball,
        remove_support,
        remove_tree,
        change_material,
        move_ball,
        turn_the_sun,
        resize,
        add_cone_under_clouds,
        move_onto_box,
        pull_from_the_stack,
    ),
    "environmental": (night, rain, autumn, snow, day, fog, sunset, winter, clear_up, evening_fire),
    "social": (wave, queue, lanterns, half_mast, ramp, dress, seat, umbrella, bow, lanterns_at_night),
    "causal": (switch_on_lamp, topple, release, wind, melt, fire, water, shower, switch_off_lamp, storm),
    "referential": (
        count_from_the_side,
        small_red_box,
        the_largest,
        third_cone,
        recolour_front_ball,
        farthest_tree,
        next_to_the_lamp,
        overlapping_boxes,
        recolour_middle_ball,
        second_lamp,
    ),
}


def category_of(index: int) -> str:
    """The categories take turns, so that any number of samples is balanced."""
    return CATEGORIES[index % len(CATEGORIES)]


def plan(index: int, seed: int, width: int, height: int) -> PlannedScene:
    """The sample at that place of the benchmark; the same for the same four numbers, whatever the others are."""
    scenarios = SCENARIOS[category_of(index)]
    stage = Stage(random.Random(f"scenes {seed} {index}"), width, height)
    return scenarios[index // len(CATEGORIES) % len(scenarios)](stage)
