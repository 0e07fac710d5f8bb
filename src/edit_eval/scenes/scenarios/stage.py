"""The stage on which a scenario puts its things, and the plan that it hands back."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from edit_eval.scenes.edits import Edit
from edit_eval.scenes.references import refer
from edit_eval.scenes.scene import FORMS, Scene, Thing


@dataclass(frozen=True)
class Plan:
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

    def put(self, kind: str, x: float, depth: float, **attributes: Any) -> Thing:
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

    def put_on(self, kind: str, below: Thing, **attributes: Any) -> Thing:
        """Adds a thing on another one."""
        thing = self.put(kind, 0.5, below.depth, on=below.name, **attributes)
        thing = replace(thing, x=below.x, depth=below.depth)
        self.scene = self.scene.with_thing(thing)
        return thing

    def trees(self, *places: float, depth: float = 0.27) -> None:
        """Trees and pines at the back."""
        for place in places:
            self.put(self.chance.choice(("tree", "pine")), place, depth + self.chance.uniform(-0.03, 0.03))

    def set(self, **attributes: Any) -> None:
        """Sets attributes of the scene: setting, time, weather, ..."""
        self.scene = replace(self.scene, **attributes)

    def plan(self, action: str, difficulty: str, *tags: str, **fields: Any) -> Plan:
        """The plan of an edit with these fields, once all things are placed; a thing is named as briefly as can be."""
        said: dict[str, Any] = {
            name: refer(self.scene, it) if isinstance(it, Thing) else it for name, it in fields.items()
        }
        return Plan(self.scene, Edit(action, **said), difficulty, (action, *tags))


Scenario = Callable[[Stage], Plan]
