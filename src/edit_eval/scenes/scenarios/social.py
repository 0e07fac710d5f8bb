"""People and what is proper among them: greeting, queueing, mourning, celebrating, making room for everybody."""

from __future__ import annotations

from edit_eval.scenes.references import Reference
from edit_eval.scenes.scenarios.stage import Plan, Stage

COATS = ("red", "yellow", "green", "blue", "purple", "orange", "grey")


def wave(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("park", "square"), sun=stage.pick("left", "right"))
    first, second, third = stage.colours(3, *COATS)
    one = stage.put("person", 0.32, 0.66, colour=first, size=1.1, facing="left")
    other = stage.put("person", 0.68, 0.64, colour=second, size=1.1)
    stage.put("person", 0.84, 0.48, colour=third)
    stage.put("bench", 0.50, 0.46)
    stage.trees(0.12, 0.92)
    return stage.plan("wave", "easy", "greeting", "people", target=one, anchor=other)


def queue(stage: Stage) -> Plan:
    stage.set(setting="square", weather=stage.pick("clear", "cloudy"), sun=stage.pick("left", "right"))
    first, second, third = stage.colours(3, *COATS)
    stop = stage.put("stop", 0.86, 0.50)
    stage.put("person", 0.64, 0.80, colour=first)
    stage.put("person", 0.38, 0.66, colour=second)
    stage.put("person", 0.14, 0.74, colour=third)
    stage.put("bench", 0.36, 0.40)
    return stage.plan("queue", "hard", "queue", "people", "shadow", anchor=stop)


def lanterns(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("meadow", "square"), season=stage.pick("winter", "summer"))
    house = stage.put("house", 0.42, 0.40, colour=stage.pick("white", "yellow", "grey"))
    first, second = stage.colours(2, *COATS)
    stage.put("person", 0.74, 0.62, colour=first)
    stage.put("person", 0.86, 0.66, colour=second)
    stage.put("pine", 0.80, 0.32)
    return stage.plan("lanterns", "easy", "festival", "decoration", target=house)


def half_mast(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("square", "park"), weather=stage.pick("clear", "cloudy"))
    flag = stage.put("flag", 0.42, 0.44, colour=stage.pick("red", "blue", "green"))
    first, second = stage.colours(2, "grey", "black", "blue")
    stage.put("person", 0.62, 0.62, colour=first)
    stage.put("person", 0.76, 0.60, colour=second)
    stage.put("bench", 0.18, 0.56)
    if stage.chance.random() < 0.5:
        stage.set(wind=stage.pick("left", "right"))
    return stage.plan("half_mast", "medium", "mourning", "flag", target=flag)


def ramp(stage: Stage) -> Plan:
    stage.set(
        setting=stage.pick("square", "park"), weather=stage.pick("clear", "cloudy"), sun=stage.pick("left", "right")
    )
    house = stage.put("house", 0.40, 0.46, colour=stage.pick("white", "yellow", "blue"))
    coat, other = stage.colours(2, *COATS)
    stage.put("person", 0.80, 0.72, colour=coat, state="wheelchair", facing="left")
    stage.put("person", 0.08, 0.66, colour=other)
    stage.trees(0.90)
    return stage.plan("ramp", "medium", "accessibility", "wheelchair", target=house)


def dress(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("park", "meadow", "beach"), sun=stage.pick("left", "right"))
    one, two, new = stage.colours(3, *COATS)
    stage.put("person", 0.30, 0.64, colour=one, size=1.15)
    second = stage.put("person", 0.52, 0.66, colour=two, size=1.15)
    stage.put("balloon", 0.72, 0.60, colour=stage.pick("pink", "white"))
    stage.put("flag", 0.88, 0.36, colour=stage.pick("red", "blue"))
    return stage.plan("dress", "easy", "clothing", "people", target=second, value=new)


def seat(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("park", "square"), sun=stage.pick("left", "right"))
    first, second = stage.colours(2, *COATS)
    guest = stage.put("person", 0.22, 0.74, colour=first)
    stage.put("person", 0.80, 0.70, colour=second)
    bench = stage.put("bench", 0.54, 0.56)
    stage.put("lamp", 0.38, 0.38)
    stage.trees(0.86)
    return stage.plan("sit", "hard", "courtesy", "people", "shadow", target=guest, anchor=bench)


def umbrella(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("square", "park"), weather="rain")
    first, second = stage.colours(2, "red", "green", "blue", "purple")
    one = stage.put("person", 0.44, 0.70, colour=first, size=1.1)
    stage.put("person", 0.74, 0.62, colour=second, features=("umbrella",))
    stage.put("stop", 0.20, 0.54)
    stage.put("lamp", 0.88, 0.40)
    return stage.plan("umbrella", "medium", "care", "people", target=one)


def bow(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("square", "park"), sun=stage.pick("left", "right"))
    first, second, third = stage.colours(3, *COATS)
    one = stage.put("person", 0.36, 0.66, colour=first, size=1.1, facing="right")
    other = stage.put("person", 0.60, 0.64, colour=second, size=1.1, facing="left")
    stage.put("person", 0.80, 0.56, colour=third, state="wheelchair")
    stage.put("house", 0.18, 0.30, colour=stage.pick("white", "yellow"))
    return stage.plan("bow", "medium", "greeting", "people", "shadow", target=one, anchor=other)


def lanterns_at_night(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("meadow", "park"), season="winter", time=stage.pick("night", "sunset"))
    first, second = stage.colours(2, "white", "yellow", "blue", "pink")
    house = stage.put("house", 0.28, 0.38, colour=first)
    stage.put("house", 0.78, 0.33, colour=second)
    stage.put("snowman", 0.56, 0.64, colour=stage.pick("red", "green"))
    return stage.plan("lanterns", "hard", "festival", "decoration", "glow", target=Reference("house", house.colour))
