"""Which thing is meant: the second red ball from the left, the box under the ball, the person next to the lamp."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from edit_eval.scenes.camera import Camera
from edit_eval.scenes.scene import Scene, Thing


@dataclass(frozen=True)
class Reference:
    """A noun phrase that means one thing of a scene."""

    kind: str
    colour: str = ""
    size: str = ""
    """`small` or `large`; by the thing's own size, not by how large it is seen."""
    ranking: str = ""
    """By what the alike things are put in order, `left`, `right`, `largest`, `smallest`, `nearest` or `farthest`."""
    rank: int = 1
    """Which of that order is meant, from 1."""
    relation: str = ""
    """How it stands to `anchor`: `left`, `right`, `front`, `behind`, `next`, `on`, `under` or `between`."""
    anchor: Reference | None = None
    """The thing by which it is found; for `between` the description of both."""


def alike(scene: Scene, reference: Reference) -> list[Thing]:
    """The things of the reference's kind, colour and size: those among which the rest of it decides."""
    found = []
    for thing in scene.things:
        if thing.kind != reference.kind or (reference.colour and thing.colour != reference.colour):
            continue
        if not reference.size or thing.size_word == reference.size:
            found.append(thing)
    return found


def ordered(scene: Scene, things: list[Thing], ranking: str) -> list[Thing]:
    """The things in the order of a ranking."""
    camera = Camera.of(scene)
    keys = {
        "left": lambda thing: thing.x,
        "right": lambda thing: -thing.x,
        "largest": lambda thing: -thing.size,
        "smallest": lambda thing: thing.size,
        "nearest": lambda thing: camera.distance(thing.depth),
        "farthest": lambda thing: -camera.distance(thing.depth),
    }
    return sorted(things, key=keys[ranking])


def resolve(scene: Scene, reference: Reference) -> Thing:
    """The one thing that is meant. Raises `ValueError` where there is none, or where two would do."""
    found = alike(scene, reference)
    if reference.relation and reference.anchor is not None:
        found = _related(scene, found, reference.relation, reference.anchor)
    if reference.ranking:
        line = ordered(scene, found, reference.ranking)
        if len(line) < reference.rank:
            raise ValueError(f"there are only {len(line)} such things: {reference}")
        return line[reference.rank - 1]
    if len(found) != 1:
        raise ValueError(f"{len(found)} things of the scene fit: {reference}")
    return found[0]


def _related(scene: Scene, found: list[Thing], relation: str, anchor: Reference) -> list[Thing]:
    """Those of the things that stand in the relation to the anchor; where nearness decides, only the nearest."""
    camera = Camera.of(scene)
    if relation == "between":
        two = alike(scene, anchor)
        if len(two) != 2:
            raise ValueError(f"`between` needs two things, {len(two)} fit: {anchor}")
        left, right = sorted(thing.x for thing in two)
        return [thing for thing in found if left < thing.x < right and thing not in two]
    other = resolve(scene, anchor)
    others = [thing for thing in found if thing.name != other.name]
    x, z = camera.place(other)
    wide = camera.fraction((other.width + 1.2) / 2, other.depth)
    stands: dict[str, Callable[[Thing], bool]] = {
        "on": lambda thing: thing.on == other.name,
        "under": lambda thing: other.on == thing.name,
        "front": lambda thing: thing.depth > other.depth and abs(thing.x - other.x) < wide,
        "behind": lambda thing: thing.depth < other.depth and abs(thing.x - other.x) < wide,
        "left": lambda thing: thing.x < other.x,
        "right": lambda thing: thing.x > other.x,
        "next": lambda thing: True,
    }
    so = [thing for thing in others if stands[relation](thing)]
    return so if relation in ("on", "under") else sorted(so, key=lambda it: math.dist(camera.place(it), (x, z)))[:1]


def refer(scene: Scene, thing: Thing) -> Reference:
    """The shortest phrase that means this thing and no other."""
    plain = Reference(thing.kind)
    coloured = replace(plain, colour=thing.colour)
    tries = [plain, coloured, replace(plain, size=thing.size_word), replace(coloured, size=thing.size_word)]
    if thing.colour and thing.kind in ("person", "ball"):  # of people and balls the colour is always said
        tries = [coloured] if thing.kind == "person" else tries[1:]
    for reference in tries:
        if len(alike(scene, reference)) == 1:
            return reference
    same = alike(scene, plain)
    return replace(plain, ranking="left", rank=ordered(scene, same, "left").index(thing) + 1)
