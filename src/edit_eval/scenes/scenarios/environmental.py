"""Light and time of day, weather, season."""

from __future__ import annotations

from edit_eval.scenes.scenarios.stage import Plan, Stage


def _village(stage: Stage, lamp: str = "off") -> None:
    """A house, a lamp and a few things before them."""
    stage.put("house", 0.27, 0.34, colour=stage.pick("white", "yellow", "blue", "pink"))
    stage.put("lamp", 0.62, 0.44, state=lamp)
    stage.put("tree", 0.84, 0.36)
    stage.put("bench", 0.72, 0.62)
    stage.put("ball", 0.40, 0.72, colour=stage.pick("red", "yellow", "blue"))


def _people(stage: Stage) -> None:
    """Two people and a few things on open ground."""
    first, second = stage.colours(2)
    stage.put("person", 0.30, 0.60, colour=first)
    stage.put("person", 0.52, 0.70, colour=second)
    stage.put("cone", 0.74, 0.66, colour="orange")
    stage.put("flag", 0.84, 0.36, colour=stage.pick("red", "green", "blue"))
    stage.put("pine", 0.14, 0.33)


def night(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("meadow", "park"), sun=stage.pick("left", "right"))
    _village(stage)
    return stage.plan("time", "medium", "time of day", "lit windows", "shadow", value="night")


def rain(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("square", "park"), sun=stage.pick("left", "right"))
    _village(stage)
    return stage.plan("weather", "medium", "weather", "reflection", value="rain")


def autumn(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("meadow", "park"), sun=stage.pick("left", "right"))
    stage.put("tree", 0.24, 0.40)
    stage.put("tree", 0.56, 0.33)
    stage.put("pine", 0.86, 0.38)
    stage.put("bench", 0.42, 0.58)
    stage.put("person", 0.68, 0.66, colour=stage.pick("blue", "grey"))
    return stage.plan("season", "easy", "season", value="autumn")


def snow(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("meadow", "park"), weather=stage.pick("cloudy", "clear"))
    _village(stage)
    return stage.plan("weather", "medium", "weather", "snow cover", value="snow")


def day(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("meadow", "square"), time="night", sun=stage.pick("left", "right"))
    _village(stage, lamp="on")
    stage.put("lamp", 0.12, 0.56, state="on")
    return stage.plan("time", "hard", "time of day", "shadow", value="day")


def fog(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("square", "meadow"), weather=stage.pick("cloudy", "clear"))
    _people(stage)
    return stage.plan("weather", "easy", "weather", "depth", value="fog")


def sunset(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("beach", "meadow"), sun=stage.pick("left", "right"))
    _people(stage)
    return stage.plan("time", "easy", "time of day", "shadow", value="sunset")


def winter(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("meadow", "park"), season=stage.pick("summer", "autumn"))
    _village(stage)
    return stage.plan("season", "medium", "season", "snow cover", value="winter")


def clear_up(stage: Stage) -> Plan:
    stage.set(setting=stage.pick("square", "park"), weather="rain", sun=stage.pick("left", "right"))
    _people(stage)
    return stage.plan("weather", "hard", "weather", "shadow", "puddles", value="clear")


def evening_fire(stage: Stage) -> Plan:
    stage.set(setting="beach", time="sunset", sun=stage.pick("left", "right"))
    stage.put("campfire", 0.52, 0.66, state="burning")
    first, second = stage.colours(2)
    stage.put("person", 0.30, 0.62, colour=first)
    stage.put("person", 0.74, 0.64, colour=second)
    stage.put("box", 0.88, 0.78, colour=stage.pick("brown", "grey"))
    return stage.plan("time", "hard", "time of day", "glow", value="night")
