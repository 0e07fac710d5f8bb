"""Something happens, and the rest of the scene answers."""

from __future__ import annotations

from edit_eval.scenes.references import Reference
from edit_eval.scenes.scenarios.stage import Plan, Stage


def lamp_on(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("park", "square"), time="night", sun=stage.pick("left", "right"))
    lamp = stage.put("lamp", 0.48, 0.52)
    stage.put("bench", 0.66, 0.58)
    stage.put("person", 0.32, 0.62, colour=stage.pick("red", "yellow", "white"))
    stage.put("tree", 0.86, 0.40)
    return stage.plan("switch_on", "medium", "light", "night", target=lamp)


def topple(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("meadow", "square", "beach"), sun=stage.pick("left", "right"))
    ball_colour, low, middle, high = stage.colours(4)
    ball = stage.put("ball", 0.16, 0.66, colour=ball_colour, size=1.1)
    first = stage.put("box", 0.46, 0.60, colour=low)
    second = stage.put_on("box", first, colour=middle)
    stage.put_on("box", second, colour=high)
    stage.put("flag", 0.90, 0.33, colour=stage.pick("red", "green"))
    stage.put("person", 0.30, 0.46, colour=stage.pick("grey", "brown"))
    return stage.plan("topple", "hard", "collision", "gravity", target=ball)


def release(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("park", "meadow", "beach"), weather=stage.pick("clear", "cloudy"))
    first, second = stage.colours(2)
    stage.put("balloon", 0.40, 0.60, colour=first)
    stage.put("balloon", 0.62, 0.66, colour=second)
    stage.put("person", 0.22, 0.62, colour=stage.pick("grey", "brown"))
    stage.put("bench", 0.80, 0.46)
    return stage.plan("release", "easy", "buoyancy", target=Reference("balloon", first))


def wind(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("meadow", "beach"), sun=stage.pick("left", "right"))
    stage.put("flag", 0.42, 0.38, colour=stage.pick("red", "blue", "yellow"))
    stage.put("campfire", 0.56, 0.70, state="burning")
    stage.put("balloon", 0.28, 0.62, colour=stage.pick("purple", "pink", "orange"))
    if stage.scene.setting == "meadow":
        stage.put("house", 0.18, 0.31, colour="white", features=("smoke",))
    stage.put("tree", 0.80, 0.38)
    return stage.plan("wind", "hard", "wind", "chain of effects", value=stage.pick("left", "right"))


def melt(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("meadow", "park"), season="winter", sun=stage.pick("left", "right"))
    snowman = stage.put("snowman", 0.48, 0.64, colour=stage.pick("red", "blue", "green"))
    stage.put("pine", 0.22, 0.36)
    stage.put("bench", 0.74, 0.54)
    stage.put("person", 0.30, 0.66, colour=stage.pick("purple", "orange"))
    return stage.plan("melt", "medium", "heat", "change of state", target=snowman)


def fire(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("beach", "meadow"), time="night", sun=stage.pick("left", "right"))
    campfire = stage.put("campfire", 0.50, 0.66)
    first, second = stage.colours(2)
    stage.put("person", 0.30, 0.62, colour=first)
    stage.put("person", 0.70, 0.64, colour=second)
    stage.put("pine", 0.88, 0.38)
    return stage.plan("kindle", "hard", "fire", "light", "night", target=campfire)


def water(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("meadow", "park"), sun=stage.pick("left", "right"))
    first, second = stage.colours(2, "red", "yellow", "pink", "purple")
    dry = stage.put("flower", 0.40, 0.72, colour=first, state="withered", size=1.4)
    stage.put("flower", 0.66, 0.66, colour=second, size=1.4)
    stage.put("house", 0.22, 0.31, colour=stage.pick("white", "blue"))
    stage.put("person", 0.82, 0.58, colour=stage.pick("green", "grey"))
    return stage.plan("water", "easy", "growth", target=Reference("flower", dry.colour))


def shower(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("square", "park"), weather=stage.pick("clear", "cloudy"))
    first, second = stage.colours(2)
    stage.put("box", 0.60, 0.60, colour=first)
    stage.put("ball", 0.30, 0.66, colour=second)
    stage.put("lamp", 0.76, 0.44)
    stage.put("house", 0.24, 0.32, colour=stage.pick("yellow", "white", "pink"))
    return stage.plan("soak", "medium", "water", "reflection")


def lamp_off(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("square", "meadow"), time="night", sun=stage.pick("left", "right"))
    lamp = stage.put("lamp", 0.56, 0.54, state="on")
    first, second = stage.colours(2)
    stage.put("ball", 0.70, 0.66, colour=first)
    stage.put("box", 0.36, 0.64, colour=second)
    stage.put("house", 0.20, 0.31, colour=stage.pick("white", "pink"))
    return stage.plan("switch_off", "medium", "light", "night", target=lamp)


def storm(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("meadow", "park"), weather=stage.pick("cloudy", "clear"))
    tree = stage.put("tree", 0.46, 0.46)
    stage.put("flag", 0.20, 0.36, colour=stage.pick("red", "blue"))
    stage.put("pine", 0.88, 0.34)
    stage.put("cone", 0.26, 0.70, colour="orange")
    return stage.plan("fell", "hard", "wind", "gravity", "shadow", target=tree, value=stage.pick("left", "right"))
