"""What an instruction asks for, which thing it means, and the scene once it is done rightly, consequences included."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from edit_eval.plugins.scenes.in_worker.pen import EYE, Camera
from edit_eval.plugins.scenes.in_worker.scene import FORMS, Scene, Thing


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


def rank_things(scene: Scene, things: list[Thing], ranking: str) -> list[Thing]:
    """The things in the order of a ranking."""
    camera = Camera.from_scene(scene)
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
        found = _filter_by_relation(scene, found, reference.relation, reference.anchor)
    if reference.ranking:
        line = rank_things(scene, found, reference.ranking)
        if len(line) < reference.rank:
            raise ValueError(f"there are only {len(line)} such things: {reference}")
        return line[reference.rank - 1]
    if len(found) != 1:
        raise ValueError(f"{len(found)} things of the scene fit: {reference}")
    return found[0]


def _filter_by_relation(scene: Scene, found: list[Thing], relation: str, anchor: Reference) -> list[Thing]:
    """Those of the things that stand in the relation to the anchor; where nearness decides, only the nearest."""
    camera = Camera.from_scene(scene)
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
    return replace(plain, ranking="left", rank=rank_things(scene, same, "left").index(thing) + 1)


@dataclass(frozen=True)
class Edit:
    """One instruction, taken apart. Which fields an action uses is told by its function below."""

    action: str
    target: Reference | None = None
    """The thing that the action is done to."""
    relation: str = ""
    """Where something is put: `left`, `right`, `front`, `behind`, `on` ..."""
    anchor: Reference | None = None
    """... of what; or the other person."""
    kind: str = ""
    """What is added or put in the target's place, with `colour` and `size`."""
    colour: str = ""
    size: str = ""
    value: str = ""
    """The colour, time, weather, season, side or material that something is to have."""


def apply(scene: Scene, edit: Edit, target: Thing | None = None) -> Scene:
    """The scene after the edit. `target`: another thing than the one meant, for a wrong edit.

    Raises `ValueError` where the edit makes no sense in this scene.
    """
    if edit.action in TO_SCENE:
        return TO_SCENE[edit.action](scene, edit)
    if edit.action not in ACTIONS:
        raise ValueError(f"unknown action: {edit.action}")
    if edit.target is None:
        raise ValueError(f"{edit.action} needs a thing to be done to")
    thing = target or resolve(scene, edit.target)
    if edit.action in STATES:
        return scene.with_thing(replace(thing, state=STATES[edit.action]))
    if edit.action in FEATURES:
        return scene.with_thing(replace(thing, features=(*thing.features, edit.action)))
    return TO_THING[edit.action](scene, edit, thing)


def twins(scene: Scene, edit: Edit) -> list[Thing]:
    """The things that the edit could be done to by mistake: of the same kind as the one that is meant."""
    if edit.target is None:
        return []
    meant = resolve(scene, edit.target)
    return [thing for thing in alike(scene, Reference(meant.kind)) if thing.name != meant.name]


def place(scene: Scene, thing: Thing, relation: str, anchor: Thing) -> Thing:
    """The thing, put where the relation to the anchor asks."""
    if relation == "on":
        return replace(thing, x=anchor.x, depth=anchor.depth, on=anchor.name)
    camera = Camera.from_scene(scene)
    x, z = camera.place(anchor)
    gap = 0.35
    if anchor.kind == "house":
        # Beside a house means beside its front.
        z -= anchor.form.depth / 2 * anchor.size
    if relation == "front":
        z -= (anchor.form.depth * anchor.size * (anchor.kind != "house") + thing.form.depth * thing.size) / 2 + gap
    elif relation == "behind":
        z += (anchor.form.depth * anchor.size + thing.form.depth * thing.size) / 2 + gap
    else:
        wide = (anchor.width + thing.width) / 2 + gap
        x += wide if relation == "right" else -wide
    depth = camera.focal * EYE / z / (camera.height - camera.horizon)
    return replace(thing, x=round(0.5 + x * camera.focal / z / camera.width, 4), depth=round(depth, 4), on="")


def _new(scene: Scene, edit: Edit) -> Thing:
    form = FORMS[edit.kind]
    size = {"small": 0.6, "large": 1.5}.get(edit.size, 1.0)
    colour = edit.colour or {"cone": "orange"}.get(edit.kind, "")
    return Thing(f"{edit.kind}-new", edit.kind, 0.5, 0.5, size, colour, form.states[0])


def _anchor(scene: Scene, edit: Edit) -> Thing:
    if edit.anchor is None:
        raise ValueError(f"{edit.action} needs a second thing")
    return resolve(scene, edit.anchor)


def _add(scene: Scene, edit: Edit) -> Scene:
    return scene.with_thing(place(scene, _new(scene, edit), edit.relation, _anchor(scene, edit)))


def _clear_support(scene: Scene, support: Thing, below: str) -> Scene:
    """The scene with what stands on the support put on what is `below`; empty for the ground."""
    for thing in scene.things:
        if thing.on == support.name:
            scene = scene.with_thing(replace(thing, on=below))
    return scene


def _remove(scene: Scene, edit: Edit, target: Thing) -> Scene:
    return _clear_support(scene, target, target.on).remove_thing(target.name)


def _remove_all(scene: Scene, edit: Edit) -> Scene:
    """Without all things of the edit's kind, colour and size. Raises `ValueError` where there is none."""
    found = alike(scene, Reference(edit.kind, edit.colour, edit.size))
    if not found:
        raise ValueError(f"there is no such thing: {edit}")
    for thing in found:
        scene = _clear_support(scene, thing, thing.on).remove_thing(thing.name)
    return scene


def _move(scene: Scene, edit: Edit, target: Thing) -> Scene:
    anchor = _anchor(scene, edit)
    if anchor.name == target.name:
        raise ValueError("a thing cannot be put beside itself")
    return _clear_support(scene, target, target.on).with_thing(place(scene, target, edit.relation, anchor))


def _recolour(scene: Scene, edit: Edit, target: Thing) -> Scene:
    return scene.with_thing(replace(target, colour=edit.value))


def _resize(scene: Scene, edit: Edit, target: Thing) -> Scene:
    factor = 2.0 if edit.value == "larger" else 0.5
    return scene.with_thing(replace(target, size=target.size * factor))


def _material(scene: Scene, edit: Edit, target: Thing) -> Scene:
    kept = tuple(feature for feature in target.features if feature not in ("metal", "wood"))
    return scene.with_thing(replace(target, features=(*kept, edit.value)))


def _replace(scene: Scene, edit: Edit, target: Thing) -> Scene:
    new = replace(_new(scene, edit), x=target.x, depth=target.depth, on=target.on)
    return _clear_support(scene, target, "").remove_thing(target.name).with_thing(new)


def _greet(scene: Scene, edit: Edit, target: Thing) -> Scene:
    """A pose towards somebody."""
    other = _anchor(scene, edit)
    pose = {"wave": "waving", "bow": "bowing"}[edit.action]
    return scene.with_thing(replace(target, state=pose, facing="right" if other.x > target.x else "left"))


def _sit(scene: Scene, edit: Edit, target: Thing) -> Scene:
    bench = _anchor(scene, edit)
    return scene.with_thing(replace(target, x=bench.x, depth=round(bench.depth + 0.004, 4), state="sitting", on=""))


def _queue(scene: Scene, edit: Edit) -> Scene:
    """All who stand, one behind the other at the stop, in the order in which they are nearest to it."""
    camera, stop = Camera.from_scene(scene), _anchor(scene, edit)
    people = [thing for thing in scene.things if thing.kind == "person"]
    side = -1 if stop.x > 0.5 else 1
    line = sorted(people, key=lambda thing: -side * thing.x)
    depth = round(stop.depth + 0.03, 4)
    for k, person in enumerate(line):
        x = stop.x + side * camera.fraction(0.95 + 1.05 * k, depth)
        facing = "right" if side < 0 else "left"
        scene = scene.with_thing(replace(person, x=round(x, 4), depth=depth, facing=facing))
    return scene


def bottom_of_stack(scene: Scene) -> Thing:
    """The lowest box of the scene's one stack. Raises `ValueError` where there is none."""
    for thing in scene.things:
        if thing.kind == "box" and not thing.on and any(other.on == thing.name for other in scene.things):
            return thing
    raise ValueError("there is no stack of boxes in this scene")


def _topple(scene: Scene, edit: Edit, target: Thing) -> Scene:
    """The ball comes to rest where the stack stood; its boxes lie on the ground beyond."""
    camera = Camera.from_scene(scene)
    bottom = bottom_of_stack(scene)
    away = 1 if bottom.x > target.x else -1
    stack = [bottom]
    while above := [thing for thing in scene.things if thing.on == stack[-1].name]:
        stack.append(above[0])
    for k, part in enumerate(stack):
        x = bottom.x + away * camera.fraction(0.9 + 1.45 * k, bottom.depth)
        depth = bottom.depth + (0.0, 0.075, -0.05)[k % 3]
        state = "tipped" if part.kind == "box" else part.state
        scene = scene.with_thing(replace(part, x=round(x, 4), depth=round(depth, 4), on="", state=state))
    x = bottom.x - away * camera.fraction(0.35, bottom.depth)
    return scene.with_thing(replace(target, x=round(x, 4), depth=round(bottom.depth + 0.01, 4)))


def _fell(scene: Scene, edit: Edit, target: Thing) -> Scene:
    return replace(scene.with_thing(replace(target, state="fallen")), wind=edit.value)


def _time(scene: Scene, edit: Edit) -> Scene:
    """At night the street lamps burn, by day they do not."""
    for thing in scene.things:
        if thing.kind == "lamp":
            scene = scene.with_thing(replace(thing, state="on" if edit.value == "night" else "off"))
    return replace(scene, time=edit.value)


def _weather(scene: Scene, edit: Edit) -> Scene:
    """When the rain stops, its puddles stay."""
    return replace(scene, weather=edit.value, wet=scene.wet or (scene.weather == "rain" and edit.value == "clear"))


STATES = {
    "switch_on": "on",
    "switch_off": "off",
    "kindle": "burning",
    "extinguish": "out",
    "half_mast": "half_mast",
    "melt": "melted",
    "release": "released",
    "water": "",
}
"""The state in which each of these actions leaves its target."""
FEATURES = ("umbrella", "lanterns", "ramp")
"""The actions that give their target the feature of the same name."""
TO_SCENE: dict[str, Callable[[Scene, Edit], Scene]] = {
    "add": _add,
    "remove_all": _remove_all,
    "queue": _queue,
    "sun": lambda scene, edit: replace(scene, sun=edit.value),
    "time": _time,
    "weather": _weather,
    "season": lambda scene, edit: replace(scene, season=edit.value),
    "wind": lambda scene, edit: replace(scene, wind=edit.value),
    "soak": lambda scene, edit: replace(scene, wet=True),
}
TO_THING: dict[str, Callable[[Scene, Edit, Thing], Scene]] = {
    # the scene before, the edit, and the thing that `edit.target` means
    "remove": _remove,
    "move": _move,
    "recolour": _recolour,
    "dress": _recolour,
    "resize": _resize,
    "material": _material,
    "replace": _replace,
    "wave": _greet,
    "bow": _greet,
    "sit": _sit,
    "topple": _topple,
    "fell": _fell,
}
ACTIONS = frozenset((*TO_SCENE, *STATES, *FEATURES, *TO_THING))
