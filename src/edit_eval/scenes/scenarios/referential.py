"""Several alike things, and an instruction that means one of them."""

from __future__ import annotations

from edit_eval.scenes.references import Reference
from edit_eval.scenes.scenarios.stage import Plan, Stage


def count_from_the_side(stage: Stage) -> Plan:
    """A row of balls of one colour."""
    stage.set(setting=stage.pick("meadow", "beach", "park"), sun=stage.pick("left", "right"))
    old, new = stage.colours(2)
    for k in range(4):
        stage.put("ball", 0.16 + 0.21 * k, 0.64 + 0.05 * (k % 2), colour=old)
    stage.put("bench", 0.52, 0.42)
    stage.put("pine", 0.86, 0.32)
    rank = stage.chance.choice((2, 3))
    target = Reference("ball", old, ranking=stage.pick("left", "right"), rank=rank)
    return stage.plan("recolour", "easy", "ordinal", "spatial", target=target, value=new)


def small_red_box(stage: Stage) -> Plan:
    """Size and colour decide together."""
    stage.set(setting=stage.pick("square", "meadow"), sun=stage.pick("left", "right"))
    one, two = stage.colours(2)
    small = stage.put("box", 0.34, 0.72, colour=one, size=0.65)
    stage.put("box", 0.56, 0.62, colour=one, size=1.5)
    stage.put("box", 0.80, 0.74, colour=two, size=0.65)
    stage.put("box", 0.16, 0.56, colour=two, size=1.5)
    stage.put("lamp", 0.72, 0.38)
    return stage.plan("remove", "medium", "attribute", "size", small.colour, target=Reference("box", one, "small"))


def the_largest(stage: Stage) -> Plan:
    """The largest ball stands behind a smaller one, and is seen largest all the same: nobody can take it otherwise."""
    stage.set(setting=stage.pick("meadow", "beach", "square"), sun=stage.pick("left", "right"))
    old, new = stage.colours(2)
    stage.put("ball", 0.26, 0.58, colour=old, size=1.75)
    stage.put("ball", 0.54, 0.78, colour=old, size=0.9)
    stage.put("ball", 0.80, 0.64, colour=old, size=0.75)
    stage.put("person", 0.42, 0.42, colour=stage.pick("grey", "brown"))
    stage.put("flag", 0.66, 0.34, colour=stage.pick("red", "blue"))
    target = Reference("ball", old, ranking="largest")
    return stage.plan("recolour", "medium", "comparison", "perspective", target=target, value=new)


def third_cone(stage: Stage) -> Plan:
    stage.set(setting="square", weather=stage.pick("clear", "cloudy"), sun=stage.pick("left", "right"))
    for k in range(5):
        stage.put("cone", 0.14 + 0.18 * k, 0.60 + 0.04 * (k % 3), colour="orange")
    stage.put("house", 0.28, 0.30, colour=stage.pick("white", "yellow"))
    stage.put("lamp", 0.76, 0.38)
    target = Reference("cone", ranking=stage.pick("left", "right"), rank=stage.chance.choice((2, 3, 4)))
    (colour,) = stage.colours(1)
    return stage.plan("replace", "medium", "ordinal", "replacement", target=target, kind="ball", colour=colour)


def in_front_of_the_house(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("meadow", "park"), sun=stage.pick("left", "right"))
    stage.put("house", 0.34, 0.33, colour=stage.pick("white", "yellow", "blue"))
    old, new = stage.colours(2)
    stage.put("ball", 0.34, 0.58, colour=old)
    stage.put("ball", 0.64, 0.60, colour=old)
    stage.put("ball", 0.82, 0.72, colour=old)
    stage.put("tree", 0.80, 0.34)
    target = Reference("ball", old, relation="front", anchor=Reference("house"))
    return stage.plan("recolour", "medium", "spatial", "relation", target=target, value=new)


def farthest_tree(stage: Stage) -> Plan:
    """Three trees of different size; distance is not height in the picture."""
    stage.set(setting=stage.pick("meadow", "park"), weather=stage.pick("clear", "cloudy"))
    stage.put("tree", 0.20, 0.36, size=1.25)
    stage.put("tree", 0.52, 0.30, size=0.75)
    stage.put("tree", 0.80, 0.46, size=0.62)
    stage.put("bench", 0.40, 0.60)
    stage.put("ball", 0.66, 0.74, colour=stage.pick("red", "yellow"))
    target = Reference("tree", ranking=stage.pick("farthest", "nearest"))
    return stage.plan("remove", "hard", "distance", "shadow", target=target)


def next_to_the_lamp(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("park", "square"), sun=stage.pick("left", "right"))
    old, new = stage.colours(2, "red", "yellow", "green", "blue", "purple")
    stage.put("lamp", 0.40, 0.52)
    stage.put("person", 0.47, 0.56, colour=old)
    stage.put("person", 0.70, 0.66, colour=old)
    stage.put("person", 0.20, 0.68, colour=old)
    stage.put("bench", 0.82, 0.48)
    target = Reference("person", relation="next", anchor=Reference("lamp"))
    return stage.plan("dress", "medium", "relation", "people", target=target, value=new)


def overlapping_boxes(stage: Stage) -> Plan:
    """A small box stands before a large one and hides its edge; middles and edges come in the same order."""
    stage.set(setting=stage.pick("meadow", "square"), sun=stage.pick("left", "right"))
    old, new = stage.colours(2)
    stage.put("box", 0.16, 0.58, colour=old, size=0.8)
    stage.put("box", 0.53, 0.56, colour=old, size=1.8)
    stage.put("box", 0.42, 0.82, colour=old, size=0.7)
    stage.put("box", 0.80, 0.66, colour=old, size=0.9)
    stage.put("pine", 0.90, 0.32)
    target = Reference("box", old, ranking=stage.side("left"), rank=2)
    return stage.plan("recolour", "hard", "ordinal", "overlap", target=target, value=new)


def between_two_boxes(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("beach", "meadow", "square"), sun=stage.pick("left", "right"))
    old, new, box = stage.colours(3)
    stage.put("box", 0.30, 0.60, colour=box)
    stage.put("box", 0.62, 0.64, colour=box)
    stage.put("ball", 0.46, 0.63, colour=old)
    stage.put("ball", 0.14, 0.72, colour=old)
    stage.put("ball", 0.82, 0.68, colour=old)
    target = Reference("ball", relation="between", anchor=Reference("box"))
    return stage.plan("recolour", "medium", "spatial", "relation", target=target, value=new)


def second_lamp(stage: Stage) -> Plan:
    """At night, where the lamps' colours say nothing."""
    stage.set(setting=stage.pick("square", "park"), time="night", sun=stage.pick("left", "right"))
    for k in range(4):
        stage.put("lamp", 0.14 + 0.24 * k, 0.50 + 0.05 * (k % 2))
    stage.put("bench", 0.50, 0.66)
    target = Reference("lamp", ranking=stage.pick("left", "right"), rank=stage.chance.choice((2, 3)))
    return stage.plan("switch_on", "hard", "ordinal", "light", "night", target=target)
