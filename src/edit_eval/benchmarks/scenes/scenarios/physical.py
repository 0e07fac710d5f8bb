"""Gravity and support, light and shadow, perspective, material."""

from __future__ import annotations

from edit_eval.benchmarks.scenes.edits import Edit
from edit_eval.benchmarks.scenes.references import Reference
from edit_eval.benchmarks.scenes.scenarios.stage import Plan, Scenario, Stage

GRASS = ("meadow", "park")


def add_ball(stage: Stage) -> Plan:
    stage.set(setting=stage.pick(*GRASS), sun=stage.pick("left", "right"))
    bench = stage.put("bench", 0.46, 0.56)
    stage.put("lamp", 0.78, 0.40)
    stage.put("house", 0.20, 0.31, colour=stage.pick("white", "yellow", "blue"))
    stage.trees(0.93)
    (colour,) = stage.colours(1)
    edit = Edit("add", relation=stage.side("right"), anchor=stage.refer(bench), kind="ball", colour=colour)
    return stage.plan(edit, "easy", "shadow", "placement")


def remove_tree(stage: Stage) -> Plan:
    stage.set(setting=stage.pick(*GRASS), time=stage.pick("sunset", "sunset", "day"), sun=stage.side("left"))
    tree = stage.put("tree", 0.40, 0.44)
    stage.put("bench", 0.72, 0.60)
    stage.put("ball", 0.20, 0.72, colour=stage.pick("red", "blue", "yellow"))
    stage.put("flag", 0.88, 0.36, colour=stage.pick("red", "blue", "green"))
    return stage.plan(Edit("remove", target=stage.refer(tree)), "medium", "shadow", "inpainting")


def remove_support(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("square", "beach", "meadow"), sun=stage.pick("left", "right"))
    first, second = stage.colours(2)
    box = stage.put("box", 0.44, 0.66, colour=first, size=1.1)
    stage.put_on("ball", box, colour=second)
    stage.put("cone", 0.72, 0.70, colour="orange")
    stage.put("person", 0.24, 0.56, colour=stage.pick("green", "purple", "grey"))
    stage.put("lamp", 0.86, 0.42)
    edit = Edit("remove", target=Reference("box", relation="under", anchor=Reference("ball")))
    return stage.plan(edit, "hard", "gravity", "support", "shadow")


def move_ball(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("meadow", "beach"), sun=stage.pick("left", "right"))
    first, second = stage.colours(2)
    ball = stage.put("ball", 0.22, 0.74, colour=first)
    box = stage.put("box", 0.62, 0.58, colour=second)
    stage.put("pine", 0.86, 0.34)
    stage.put("bench", 0.40, 0.42)
    edit = Edit("move", target=stage.refer(ball), relation=stage.side("right"), anchor=stage.refer(box))
    return stage.plan(edit, "medium", "shadow", "perspective")


def resize(stage: Stage) -> Plan:
    stage.set(setting=stage.pick(*GRASS), sun=stage.pick("left", "right"))
    first, second = stage.colours(2)
    larger = stage.chance.random() < 0.5
    ball = stage.put("ball", 0.38, 0.64, colour=first, size=1.0 if larger else 1.7)
    stage.put("box", 0.70, 0.60, colour=second)
    stage.put("person", 0.16, 0.52, colour=stage.pick("grey", "green"))
    stage.put("tree", 0.86, 0.32)
    edit = Edit("resize", target=stage.refer(ball), value="larger" if larger else "smaller")
    return stage.plan(edit, "medium", "perspective", "shadow")


def turn_the_sun(stage: Stage) -> Plan:
    old = stage.side("left")
    stage.set(setting=stage.pick("meadow", "beach", "square"), sun=old, time=stage.pick("day", "sunset"))
    first, second = stage.colours(2)
    stage.put("tree" if stage.scene.setting != "beach" else "flag", 0.66, 0.38, colour=stage.pick("red", "green"))
    stage.put("ball", 0.36, 0.70, colour=first)
    stage.put("box", 0.60, 0.66, colour=second)
    stage.put("person", 0.20, 0.56, colour=stage.pick("purple", "blue"))
    stage.put("cone", 0.84, 0.72, colour="orange")
    return stage.plan(Edit("sun", value={"left": "right", "right": "left"}[old]), "hard", "light", "shadow")


def put_on_the_box(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("square", "park"), sun=stage.pick("left", "right"))
    first, second = stage.colours(2)
    ball = stage.put("ball", 0.24, 0.74, colour=first, size=0.9)
    box = stage.put("box", 0.58, 0.64, colour=second)
    stage.put("bench", 0.80, 0.50)
    stage.put("lamp", 0.38, 0.38)
    stage.trees(0.10)
    edit = Edit("move", target=stage.refer(ball), relation="on", anchor=stage.refer(box))
    return stage.plan(edit, "medium", "support", "shadow")


def change_material(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("meadow", "beach", "square"), sun=stage.pick("left", "right"))
    first, second = stage.colours(2)
    kind = stage.pick("ball", "box")
    thing = stage.put(kind, 0.44, 0.68, colour=first, size=1.25)
    stage.put("cone", 0.72, 0.62, colour="orange")
    stage.put("balloon", 0.24, 0.54, colour=second)
    stage.put("flag", 0.88, 0.36, colour=stage.pick("red", "yellow"))
    edit = Edit("material", target=Reference(thing.kind, thing.colour), value=stage.pick("metal", "wood"))
    return stage.plan(edit, "easy", "material")


def add_cone_under_clouds(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("square", "park"), weather="cloudy")
    bench = stage.put("bench", 0.52, 0.48)
    stage.put("house", 0.22, 0.31, colour=stage.pick("white", "pink", "grey"))
    stage.put("person", 0.76, 0.62, colour=stage.pick("red", "green"))
    stage.trees(0.90)
    edit = Edit("add", relation="front", anchor=stage.refer(bench), kind="cone")
    return stage.plan(edit, "easy", "placement", "soft light")


def pull_from_the_stack(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("meadow", "square", "beach"), sun=stage.pick("left", "right"))
    low, middle, high = stage.colours(3)
    first = stage.put("box", 0.52, 0.60, colour=low)
    second = stage.put_on("box", first, colour=middle)
    stage.put_on("box", second, colour=high, size=0.75)
    stage.put("ball", 0.26, 0.72, colour=stage.pick("pink", "grey"))
    stage.put("tree", 0.84, 0.32)
    stage.put("person", 0.72, 0.66, colour=stage.pick("grey", "brown"))
    return stage.plan(Edit("remove", target=Reference("box", middle)), "hard", "gravity", "support", "shadow")


SCENARIOS: tuple[Scenario, ...] = (
    add_ball,
    remove_support,
    remove_tree,
    change_material,
    move_ball,
    turn_the_sun,
    resize,
    add_cone_under_clouds,
    put_on_the_box,
    pull_from_the_stack,
)
