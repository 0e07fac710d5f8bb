"""Gravity and support, light and shadow, perspective, material."""

from __future__ import annotations

from edit_eval.scenes.references import Reference
from edit_eval.scenes.scenarios.stage import Plan, Stage

GRASS = ("meadow", "park")


def add_ball(stage: Stage) -> Plan:
    stage.set(setting=stage.pick(*GRASS), sun=stage.pick("left", "right"))
    bench = stage.put("bench", 0.46, 0.56)
    stage.put("lamp", 0.78, 0.40)
    stage.put("house", 0.20, 0.31, colour=stage.pick("white", "yellow", "blue"))
    stage.trees(0.93)
    side, (colour,) = stage.side("right"), stage.colours(1)
    return stage.plan("add", "easy", "shadow", "placement", relation=side, anchor=bench, kind="ball", colour=colour)


def remove_support(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("square", "beach", "meadow"), sun=stage.pick("left", "right"))
    first, second = stage.colours(2)
    box = stage.put("box", 0.44, 0.66, colour=first, size=1.1)
    stage.put_on("ball", box, colour=second)
    stage.put("cone", 0.72, 0.70, colour="orange")
    stage.put("person", 0.24, 0.56, colour=stage.pick("green", "purple", "grey"))
    stage.put("lamp", 0.86, 0.42)
    support = Reference("box", relation="under", anchor=Reference("ball"))
    return stage.plan("remove", "hard", "gravity", "support", "shadow", target=support)


def remove_tree(stage: Stage) -> Plan:
    stage.set(setting=stage.pick(*GRASS), time=stage.pick("sunset", "sunset", "day"), sun=stage.side("left"))
    tree = stage.put("tree", 0.40, 0.44)
    stage.put("bench", 0.72, 0.60)
    stage.put("ball", 0.20, 0.72, colour=stage.pick("red", "blue", "yellow"))
    stage.put("flag", 0.88, 0.36, colour=stage.pick("red", "blue", "green"))
    return stage.plan("remove", "medium", "shadow", "inpainting", target=tree)


def change_material(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("meadow", "beach", "square"), sun=stage.pick("left", "right"))
    first, second = stage.colours(2)
    kind = stage.pick("ball", "box")
    thing = stage.put(kind, 0.44, 0.68, colour=first, size=1.25)
    stage.put("cone", 0.72, 0.62, colour="orange")
    stage.put("balloon", 0.24, 0.54, colour=second)
    stage.put("flag", 0.88, 0.36, colour=stage.pick("red", "yellow"))
    target = Reference(thing.kind, thing.colour)
    return stage.plan("material", "easy", "material", target=target, value=stage.pick("metal", "wood"))


def move_ball(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("meadow", "beach"), sun=stage.pick("left", "right"))
    first, second = stage.colours(2)
    ball = stage.put("ball", 0.22, 0.74, colour=first)
    box = stage.put("box", 0.62, 0.58, colour=second)
    stage.put("pine", 0.86, 0.34)
    stage.put("bench", 0.40, 0.42)
    return stage.plan("move", "medium", "shadow", "perspective", target=ball, relation=stage.side("right"), anchor=box)


def turn_the_sun(stage: Stage) -> Plan:
    old = stage.side("left")
    stage.set(setting=stage.pick("meadow", "beach", "square"), sun=old, time=stage.pick("day", "sunset"))
    first, second = stage.colours(2)
    stage.put("tree" if stage.scene.setting != "beach" else "flag", 0.66, 0.38, colour=stage.pick("red", "green"))
    stage.put("ball", 0.36, 0.70, colour=first)
    stage.put("box", 0.60, 0.66, colour=second)
    stage.put("person", 0.20, 0.56, colour=stage.pick("purple", "blue"))
    stage.put("cone", 0.84, 0.72, colour="orange")
    return stage.plan("sun", "hard", "light", "shadow", value={"left": "right", "right": "left"}[old])


def resize(stage: Stage) -> Plan:
    stage.set(setting=stage.pick(*GRASS), sun=stage.pick("left", "right"))
    first, second = stage.colours(2)
    larger = stage.chance.random() < 0.5
    ball = stage.put("ball", 0.38, 0.64, colour=first, size=1.0 if larger else 1.7)
    stage.put("box", 0.70, 0.60, colour=second)
    stage.put("person", 0.16, 0.52, colour=stage.pick("grey", "green"))
    stage.put("tree", 0.86, 0.32)
    return stage.plan("resize", "medium", "perspective", "shadow", target=ball, value="larger" if larger else "smaller")


def add_cone_under_clouds(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("square", "park"), weather="cloudy")
    bench = stage.put("bench", 0.52, 0.48)
    stage.put("house", 0.22, 0.31, colour=stage.pick("white", "pink", "grey"))
    stage.put("person", 0.76, 0.62, colour=stage.pick("red", "green"))
    stage.trees(0.90)
    return stage.plan("add", "easy", "placement", "soft light", relation="front", anchor=bench, kind="cone")


def put_on_the_box(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("square", "park"), sun=stage.pick("left", "right"))
    first, second = stage.colours(2)
    ball = stage.put("ball", 0.24, 0.74, colour=first, size=0.9)
    box = stage.put("box", 0.58, 0.64, colour=second)
    stage.put("bench", 0.80, 0.50)
    stage.put("lamp", 0.38, 0.38)
    stage.trees(0.10)
    return stage.plan("move", "medium", "support", "shadow", target=ball, relation="on", anchor=box)


def pull_from_the_stack(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("meadow", "square", "beach"), sun=stage.pick("left", "right"))
    low, middle, high = stage.colours(3)
    first = stage.put("box", 0.52, 0.60, colour=low)
    second = stage.put_on("box", first, colour=middle)
    stage.put_on("box", second, colour=high, size=0.75)
    stage.put("ball", 0.26, 0.72, colour=stage.pick("pink", "grey"))
    stage.put("tree", 0.84, 0.32)
    stage.put("person", 0.72, 0.66, colour=stage.pick("grey", "brown"))
    return stage.plan("remove", "hard", "gravity", "support", "shadow", target=Reference("box", middle))
