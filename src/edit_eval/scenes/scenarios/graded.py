"""What the ladder has besides the benchmark's scenarios: changes that can be done by half."""

from __future__ import annotations

from edit_eval.scenes.references import Reference
from edit_eval.scenes.scenarios.stage import Plan, Stage

SETTINGS = ("meadow", "park", "beach", "square")
COUNTED = 4
SIZES = {"small": 0.65, "large": 1.3}


def count(stage: Stage) -> Plan:
    """Four alike balls or boxes go, one of another colour stays."""
    stage.set(setting=stage.pick(*SETTINGS), sun=stage.pick("left", "right"))
    kind, (colour, other) = stage.pick("ball", "box"), stage.colours(2)
    for k in range(COUNTED):
        stage.put(kind, 0.14 + 0.20 * k, (0.60, 0.74, 0.64, 0.78)[k], colour=colour)
    stage.put(kind, 0.90, 0.62, colour=other)
    stage.put("house", 0.30, 0.31, colour=stage.pick("white", "yellow", "blue"))
    stage.put("lamp", 0.66, 0.40)
    return stage.plan("remove_all", "medium", "count", kind=kind, colour=colour)


def place(stage: Stage) -> Plan:
    """A ball, box or cone crosses the picture. Half-way it is in front of nothing: half of this is not the whole."""
    stage.set(setting=stage.pick(*SETTINGS), sun=stage.pick("left", "right"))
    kind, (colour, other) = stage.pick("ball", "box", "cone"), stage.colours(2)
    thing = stage.put(kind, 0.12, 0.78, colour="orange" if kind == "cone" else colour)
    goal = stage.pick("bench", "house", "lamp")
    colours = {"colour": stage.pick("white", "yellow", "blue")} if goal == "house" else {}
    anchor = stage.put(goal, 0.70, 0.36 if goal == "house" else 0.54, **colours)
    stage.put("balloon", 0.36, 0.44, colour=other)
    stage.put("person", 0.92, 0.62, colour=stage.pick("grey", "brown", "white"))
    stage.trees(0.22)
    return stage.plan("move", "easy", "place", target=thing, relation="front", anchor=anchor)


def size(stage: Stage) -> Plan:
    """A ball or box grows to twice its size, or shrinks to half."""
    stage.set(setting=stage.pick(*SETTINGS), sun=stage.pick("left", "right"))
    kind, (colour, other) = stage.pick("ball", "box"), stage.colours(2)
    value = stage.pick("larger", "smaller")
    thing = stage.put(kind, 0.42, 0.70, colour=colour, size=1.0 if value == "larger" else 1.6)
    stage.put("cone", 0.76, 0.64, colour="orange")
    stage.put("flag", 0.16, 0.36, colour=other)
    stage.put("bench", 0.70, 0.44)
    return stage.plan("resize", "easy", "size", target=thing, value=value)


def hue(stage: Stage) -> Plan:
    """One of three things takes another colour."""
    stage.set(setting=stage.pick(*SETTINGS), sun=stage.pick("left", "right"))
    kind, (colour, other, value) = stage.pick("ball", "box"), stage.colours(3)
    thing = stage.put(kind, 0.36, 0.70, colour=colour, size=1.2)
    stage.put(kind, 0.70, 0.62, colour=other, size=1.2)
    stage.put("person", 0.14, 0.58, colour=stage.pick("grey", "brown", "white"))
    stage.put("lamp", 0.88, 0.40)
    return stage.plan("recolour", "easy", "colour", target=thing, value=value)


# -- the same where several things are alike, and the words mean one or some of them --


def _one_of_three(stage: Stage, kind: str, colour: str) -> Reference:
    return Reference(kind, colour, ranking=stage.pick("left", "right"), rank=stage.chance.choice((1, 2, 3)))


def count_of_some(stage: Stage) -> Plan:
    """In a row of balls or boxes those of one size and colour go; one of another size, one of another colour stay."""
    stage.set(setting=stage.pick(*SETTINGS), sun=stage.pick("left", "right"))
    kind, (colour, other) = stage.pick("ball", "box"), stage.colours(2)
    meant, not_meant = stage.chance.sample(("small", "large"), 2)
    row = [(colour, meant)] * COUNTED + [(colour, not_meant), (other, meant)]
    stage.chance.shuffle(row)
    for k, (coloured, size) in enumerate(row):
        stage.put(kind, 0.08 + 0.17 * k, 0.58 + 0.14 * (k % 2), colour=coloured, size=SIZES[size])
    stage.put("house", 0.34, 0.28, colour=stage.pick("white", "yellow", "blue"))
    stage.put("lamp", 0.66, 0.36)
    return stage.plan("remove_all", "medium", "count", "attribute", kind=kind, colour=colour, size=meant)


def place_of_one(stage: Stage) -> Plan:
    """One of three alike things comes to stand before the bench; on its way it hides none of the others."""
    stage.set(setting=stage.pick(*SETTINGS), sun=stage.pick("left", "right"))
    kind, (colour, other) = stage.pick("ball", "box"), stage.colours(2)
    for x, depth in ((0.10, 0.68), (0.25, 0.92), (0.42, 0.40)):
        stage.put(kind, x, depth, colour=colour, size=0.85)
    bench = stage.put("bench", 0.74, 0.60)
    stage.put("balloon", 0.92, 0.52, colour=other)
    stage.put("house", 0.20, 0.29, colour=stage.pick("white", "yellow", "blue"))
    target = _one_of_three(stage, kind, colour)
    return stage.plan("move", "medium", "place", "ordinal", target=target, relation="front", anchor=bench)


def size_of_one(stage: Stage) -> Plan:
    """One of three alike things grows, or shrinks."""
    stage.set(setting=stage.pick(*SETTINGS), sun=stage.pick("left", "right"))
    kind, (colour, other) = stage.pick("ball", "box"), stage.colours(2)
    value = stage.pick("larger", "smaller")
    for x, depth in ((0.16, 0.70), (0.48, 0.76), (0.80, 0.70)):
        stage.put(kind, x, depth, colour=colour, size=0.9 if value == "larger" else 1.5)
    stage.put("flag", 0.30, 0.36, colour=other)
    stage.put("bench", 0.64, 0.42)
    target = _one_of_three(stage, kind, colour)
    return stage.plan("resize", "medium", "size", "ordinal", target=target, value=value)
