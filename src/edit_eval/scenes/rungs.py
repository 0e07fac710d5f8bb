"""The rungs of a ladder: edits of one scene whose worth is known, from the right one down to a grey picture."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from PIL import Image, ImageChops, ImageStat

from edit_eval.scenes.edits import Edit, apply, twins
from edit_eval.scenes.language import read, write
from edit_eval.scenes.recipes import Recipe, drawn
from edit_eval.scenes.references import Reference, alike, refer, resolve
from edit_eval.scenes.scene import WORDS, Scene, Thing

DOSES = (0.25, 0.5, 0.75)
"""How much of the change is done, between the source (0) and the right edit (1)."""
VISIBLE = 0.004
"""The share of pixels that has to differ for a change to count as one that can be seen."""
GLANCE = (160, 120)
"""The size in which that is looked at; what a scene shows does not depend on its size."""
WHOLE = ("time", "weather", "season", "sun", "wind", "soak")
"""Actions that change the whole picture."""
COLOURED = ("ball", "box", "balloon", "flower")
"""Kinds of which an unasked change, or another instruction, may change the colour."""
COLOURS = ("red", "yellow", "green", "blue", "purple", "orange")
LIKE = {
    ("season", "winter"): ("weather", "snow"),
    ("weather", "snow"): ("season", "winter"),
    ("soak", ""): ("weather", "rain"),
}
"""Changes that look alike, so that one of them is no wrong answer to the other."""


@dataclass(frozen=True)
class Rung:
    """One edit of known worth."""

    name: str
    """`right`; `extra`, right and something else changed, too; `no_consequence`, done without what has to follow from
    it (its shadow, its light, a fall, a turn of the head); `dose_25`, `dose_50`, `dose_75`, so much of it done;
    `wrong_target`, done to another thing of the kind; `other`, what another instruction asks for; `copy`, the source;
    `shuffled`, the right edit of another scene; `blank`, grey."""
    recipe: Recipe
    axis: str = ""
    """Of a dose: `hue`, `place`, `size`, `count` or `light`."""
    disputed: bool = False
    """People could put it elsewhere in the order."""


@dataclass(frozen=True)
class Climb:
    """A scene, what is asked of it, and what else could have been."""

    scene: Scene
    edit: Edit
    other: Edit
    """Another instruction for the same scene."""
    rungs: tuple[Rung, ...]


def climb(scene: Scene, edit: Edit, foreign: Scene, chance: random.Random) -> Climb:
    """All rungs of a scene. `foreign` is the right edit of another one.

    Raises `ValueError` where the edit makes no sense in the scene, or there is no other instruction for it.
    """
    right = apply(scene, edit)
    other = _another_instruction(scene, edit, chance)
    found = [Rung("right", Recipe(right)), Rung("extra", Recipe(_with_more(scene, edit, right, chance)))]
    without = _without_consequence(scene, edit, right)
    if without is not None:
        found.append(Rung("no_consequence", without))
    found += _doses(scene, edit, right)
    wrong = _wrong_target(scene, edit, right)
    if wrong is not None:
        # Which is the largest can be said of what is seen, or of what is there.
        disputed = edit.target is not None and edit.target.ranking in ("largest", "smallest")
        found.append(Rung("wrong_target", Recipe(wrong), disputed=disputed))
    found.append(Rung("other", Recipe(apply(scene, other))))
    found += [Rung("copy", Recipe(scene)), Rung("shuffled", Recipe(foreign)), Rung("blank", Recipe(scene, blank=True))]
    return Climb(scene, edit, other, tuple(found))


def another_world(scene: Scene) -> Scene:
    """The same things, on other ground under another sky: the instruction means the same, and no pixel is as it was."""
    settings = WORDS["setting"]
    setting = settings[(settings.index(scene.setting) + 1) % len(settings)]
    return replace(scene, setting=setting, seed=scene.seed + 1)


# -- what can be seen --


@lru_cache(maxsize=64)
def _glance(recipe: Recipe) -> Image.Image:
    scenes = {name: getattr(recipe, name) for name in ("scene", "over", "shadows_of")}
    small = {name: one and replace(one, width=GLANCE[0], height=GLANCE[1]) for name, one in scenes.items()}
    return drawn(replace(recipe, **small))


def seen_between(first: Scene | Recipe, second: Scene | Recipe) -> float:
    """The share of pixels that differ visibly between the two, 0 to 1."""
    one, other = (_glance(it if isinstance(it, Recipe) else Recipe(it)) for it in (first, second))
    grey = ImageChops.difference(one, other).convert("L")
    return ImageStat.Stat(grey.point([255 if v > 10 else 0 for v in range(256)])).mean[0] / 255


# -- who is concerned --


def _involved(scene: Scene, edit: Edit) -> set[str]:
    """The names of all things that the edit changes, or that its words speak of."""
    right = apply(scene, edit)
    before, after = ({thing.name: thing for thing in one.things} for one in (scene, right))
    names = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    references = [edit.target, edit.anchor]
    while references:
        reference = references.pop()
        if reference is not None:
            names |= {thing.name for thing in alike(scene, Reference(reference.kind, reference.colour))}
            references.append(reference.anchor)
    return names


def _free(scene: Scene, edit: Edit) -> list[Thing]:
    """The things of the scene that nobody speaks of, and on which nothing stands."""
    involved = _involved(scene, edit)
    bearing = {thing.on for thing in scene.things}
    return [thing for thing in scene.things if thing.name not in involved and thing.name not in bearing]


def _other_colour(thing: Thing, chance: random.Random) -> str:
    return chance.choice([colour for colour in COLOURS if colour != thing.colour])


# -- the rungs --


def _another_instruction(scene: Scene, edit: Edit, chance: random.Random) -> Edit:
    """Something else that could have been asked: as large as what is asked, and of other things.

    Raises `ValueError` where there is nothing.
    """
    tries = list(_whole(scene, edit)) if edit.action in WHOLE else list(_of_things(scene, edit, chance))
    chance.shuffle(tries)
    for one in [*tries, *_whole(scene, edit)]:
        try:
            if read(write(one, "en")) != one or read(write(one, "zh")) != one:
                continue
            after = apply(scene, one)
        except ValueError:
            continue
        if seen_between(scene, after) >= VISIBLE and seen_between(apply(scene, edit), after) >= VISIBLE:
            return one
    raise ValueError("there is nothing else to ask of this scene")


def _whole(scene: Scene, edit: Edit) -> Iterator[Edit]:
    for action in ("time", "season", "weather"):
        for value in WORDS[action]:
            if action == edit.action or getattr(scene, action) == value:
                continue
            if LIKE.get((edit.action, edit.value)) != (action, value) and value != "cloudy":
                yield Edit(action, value=value)


def _of_things(scene: Scene, edit: Edit, chance: random.Random) -> Iterator[Edit]:
    for thing in _free(scene, edit):
        reference = refer(scene, thing)
        if edit.action != "remove" or thing.kind not in COLOURED:
            yield Edit("remove", target=reference)
        if thing.kind in COLOURED:
            yield Edit("recolour", target=reference, value=_other_colour(thing, chance))
        if thing.kind == "person":
            yield Edit("dress", target=reference, value=_other_colour(thing, chance))


def _with_more(scene: Scene, edit: Edit, right: Scene, chance: random.Random) -> Scene:
    """The right edit, and something that nobody asked for."""
    tries: list[Scene] = []
    for thing in _free(scene, edit):
        if thing.name not in right.names():
            continue
        tries.append(right.without(thing.name))
        if thing.kind in COLOURED:
            tries.append(right.with_thing(replace(right.thing(thing.name), colour=_other_colour(thing, chance))))
    seen = sorted(tries, key=lambda one: -seen_between(right, one))[:3]
    seen = [one for one in seen if seen_between(right, one) >= 2 * VISIBLE]
    if seen:
        return chance.choice(seen)
    guest = Thing("guest", "balloon", 0.5, 0.86, 1.2, _other_colour(right.things[0], chance))
    return right.with_thing(guest)


def _wrong_target(scene: Scene, edit: Edit, right: Scene) -> Scene | None:
    """The edit, done to another thing of the kind; None where no such thing would show it."""
    for twin in twins(scene, edit):
        try:
            wrong = apply(scene, edit, twin)
        except ValueError:
            continue
        if seen_between(wrong, scene) >= VISIBLE and seen_between(wrong, right) >= VISIBLE:
            return wrong
    return None


def _without_consequence(scene: Scene, edit: Edit, right: Scene) -> Recipe | None:
    """The edit, with something left out that has to follow from it by physics, cause or custom; None where nothing
    follows that could be seen to be missing."""
    target = None if edit.target is None else resolve(scene, edit.target)
    tries: list[Recipe] = []
    if target is not None and edit.action == "remove" and any(thing.on == target.name for thing in scene.things):
        tries.append(Recipe(scene, hidden=(target.name,)))  # what stood on it hangs in the air
    if target is not None and edit.action in ("wave", "bow"):
        # The greeting goes away from the one who is greeted.
        done = right.thing(target.name)
        away = {"left": "right", "right": "left"}[done.facing]
        tries.append(Recipe(right.with_thing(replace(done, facing=away))))
    if target is not None and edit.action == "topple":
        tries.append(Recipe(scene.with_thing(right.thing(target.name))))  # the ball is there, and the stack unmoved
    if edit.action in ("wind", "fell"):
        felled = "" if target is None else target.name
        others = tuple(thing.name for thing in right.things if thing.kind != "flag" or felled)
        tries.append(Recipe(right, shadows_of=scene, unmoved=tuple(name for name in others if name != felled)))
    tries.append(Recipe(right, shadows_of=scene))  # shadows and light on the ground are those of before
    for recipe in tries:
        if seen_between(recipe, right) >= VISIBLE and seen_between(recipe, scene) >= VISIBLE / 2:
            return recipe
    return None


def _doses(scene: Scene, edit: Edit, right: Scene) -> list[Rung]:
    """The edit done in part, where a part of it is an edit that somebody could make."""
    found: list[Rung] = []
    for share in DOSES:
        axis, recipe = _dose(scene, edit, right, share)
        if recipe is not None and recipe not in [rung.recipe for rung in found]:
            found.append(Rung(f"dose_{round(100 * share)}", recipe, axis))
    return found


def _dose(scene: Scene, edit: Edit, right: Scene, share: float) -> tuple[str, Recipe | None]:
    """The axis, and what is drawn; no axis where the edit is done or not done."""
    if edit.action in ("recolour", "dress"):  # nothing moves, so a mixture of both pictures is a mixture of colours
        return "hue", Recipe(scene, over=right, share=share)
    if edit.action in ("time", "weather", "season", "switch_on", "switch_off"):
        return "light", Recipe(scene, over=right, share=share)
    if edit.action in ("move", "resize") and edit.target is not None:
        old = resolve(scene, edit.target)
        new = right.thing(old.name)
        if edit.action == "resize":
            part = replace(old, size=old.size * (new.size / old.size) ** share)
            return "size", Recipe(scene.with_thing(part))
        beside = resolve(scene, edit.anchor).x if edit.anchor is not None else new.x
        crosses = min(old.x, new.x) < beside < max(old.x, new.x) and edit.relation != "front"
        if old.on or new.on or edit.relation == "behind" or crosses:  # on its way it is hidden, or hides the other
            return "", None
        x, depth = (round(a + (b - a) * share, 4) for a, b in ((old.x, new.x), (old.depth, new.depth)))
        return "place", Recipe(scene.with_thing(replace(new, x=x, depth=depth)))
    if edit.action in ("remove_all", "queue"):
        before, after = ({thing.name: thing for thing in one.things} for one in (scene, right))
        changed = [name for name in before if before[name] != after.get(name)]
        done = changed[: round(share * len(changed))]
        if len(changed) < 3 or not done or len(done) == len(changed):
            return ("count", None) if len(changed) >= 3 else ("", None)
        for name in done:
            scene = scene.with_thing(after[name]) if name in after else scene.without(name)
        return "count", Recipe(scene)
    return "", None
