"""Which thing is meant: the second red ball from the left, the box under the ball, the person next to the lamp."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from edit_eval.benchmarks.scenes.camera import Camera
from edit_eval.benchmarks.scenes.scene import LARGE, SMALL, Scene, Thing


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
        if (reference.size == "small" and thing.size > SMALL) or (reference.size == "large" and thing.size < LARGE):
            continue
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
    if relation == "on":
        return [thing for thing in others if thing.on == other.name]
    if relation == "under":
        return [thing for thing in others if other.on == thing.name]
    if relation == "front":
        near = [thing for thing in others if thing.depth > other.depth and abs(thing.x - other.x) < wide]
    elif relation == "behind":
        near = [thing for thing in others if thing.depth < other.depth and abs(thing.x - other.x) < wide]
    elif relation == "left":
        near = [thing for thing in others if thing.x < other.x]
    elif relation == "right":
        near = [thing for thing in others if thing.x > other.x]
    else:
        near = others

    def distance(thing: Thing) -> float:
        u, w = camera.place(thing)
        return math.hypot(u - x, w - z)

    return sorted(near, key=distance)[:1]


def refer(scene: Scene, thing: Thing) -> Reference:
    """The shortest phrase that means this thing and no other."""
    sized = "small" if thing.size <= SMALL else "large" if thing.size >= LARGE else ""
    plain = Reference(thing.kind)
    tries = [plain, replace(plain, colour=thing.colour), replace(plain, size=sized)]
    tries.append(replace(plain, colour=thing.colour, size=sized))
    if thing.kind == "person" and thing.colour:
        tries = [replace(plain, colour=thing.colour)]
    if thing.kind == "ball" and thing.colour:
        tries = tries[1:2] + tries[2:]
    for reference in tries:
        if len(alike(scene, reference)) == 1:
            return reference
    same = alike(scene, plain)
    return replace(plain, ranking="left", rank=ordered(scene, same, "left").index(thing) + 1)
