"""What the ladder has besides the benchmark's scenarios: changes that can be done by half."""

from __future__ import annotations

from edit_eval.scenes.scenarios.stage import Plan, Stage

SETTINGS = ("meadow", "park", "beach", "square")
COUNTED = 4


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
    """A ball or box crosses the picture to a bench."""
    stage.set(setting=stage.pick(*SETTINGS), sun=stage.pick("left", "right"))
    kind, (colour, other) = stage.pick("ball", "box", "cone"), stage.colours(2)
    thing = stage.put(kind, 0.14, 0.72, colour="orange" if kind == "cone" else colour)
    bench = stage.put("bench", 0.66, 0.60)
    stage.put("balloon", 0.34, 0.50, colour=other)
    stage.put("person", 0.90, 0.58, colour=stage.pick("grey", "brown", "white"))
    stage.trees(0.24)
    return stage.plan("move", "easy", "place", target=thing, relation=stage.side("left"), anchor=bench)


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
