"""The rungs of a ladder: edits of one scene whose worth is known, from the right one down to a grey picture.

A recipe is what an edit of the ladder is drawn from. It travels as a text entry of a picture of one pixel. Whoever
draws it needs neither the instruction nor the ladder, so an edit can be shown with another instruction, or beside
another source, than those that it was made for.
"""

from __future__ import annotations

import io
import json
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

from PIL import Image, ImageChops, ImageDraw, ImageFont, ImageStat, PngImagePlugin

from edit_eval.errors import ModelError
from edit_eval.plugins.scenes.in_worker.drawing import draw
from edit_eval.plugins.scenes.in_worker.edits import Edit, Reference, alike, apply, refer, resolve, twins
from edit_eval.plugins.scenes.in_worker.language import read, write
from edit_eval.plugins.scenes.in_worker.scene import WORDS, Scene, Thing

RECIPE_KEY = "recipe"
"""Under which `image.info` holds it."""
GREY = (128, 128, 128)
JPEG_QUALITY = 95
SMALLER = 0.875
"""What the sides of an edit are multiplied by that is shown in another size."""
FINISHES = ("", "jpeg", "level", "size", "words")


@dataclass(frozen=True)
class Recipe:
    """One picture to be drawn."""

    scene: Scene
    """What it shows; of a blank one, its size."""
    blank: bool = False
    """Nothing but grey."""
    over: Scene | None = None
    """A second scene, which is laid over the first."""
    share: float = 0.0
    """How much of the second is seen, 0 to 1."""
    finish: str = ""
    """What is done to the picture at last: `jpeg` (encoded with quality 95 and decoded again), `level` (one level of
    one channel of one pixel), `size` (seven eighths of each side), `words` (`text` is written into it)."""
    text: str = ""
    shadows_of: Scene | None = None
    """A scene whose shadows and light lie on the ground instead of the scene's own."""
    hidden: tuple[str, ...] = ()
    """Names of things that are not painted; what stands on them hangs in the air."""
    unmoved: tuple[str, ...] = ()
    """Names of things on which the wind of `shadows_of` blows."""

    def to_json(self) -> str:
        """One line of ASCII; equal recipes give equal text."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Recipe:
        """Raises `ValueError` for a text that is no recipe."""
        try:
            plain: dict[str, Any] = json.loads(text)
            scenes = {
                name: None if plain[name] is None else Scene.from_json(json.dumps(plain[name]))
                for name in ("scene", "over", "shadows_of")
            }
            names = {name: tuple(map(str, plain[name])) for name in ("hidden", "unmoved")}
            found = cls(**{**plain, **scenes, **names})
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a recipe: {error}") from error
        if found.scene is None or found.finish not in FINISHES or not 0.0 <= found.share <= 1.0:
            raise ValueError("not a recipe")
        return found


def recipe_png(recipe: Recipe, name: str) -> bytes:
    """The recipe as the bytes of a PNG file of one pixel; `name` makes it one of its own."""
    notes = PngImagePlugin.PngInfo()
    notes.add_text(RECIPE_KEY, recipe.to_json())
    notes.add_text("name", name)
    buffer = io.BytesIO()
    Image.new("RGB", (1, 1), GREY).save(buffer, format="PNG", pnginfo=notes)
    return buffer.getvalue()


def recipe_of(pictures: Mapping[str, Image.Image], reader: str) -> Recipe:
    """The recipe that one of the pictures carries; `reader` names who asks. Raises `ModelError` where none does."""
    for picture in pictures.values():
        text = picture.info.get(RECIPE_KEY)
        if isinstance(text, str):
            try:
                return Recipe.from_json(text)
            except ValueError as error:
                raise ModelError(f"{reader} cannot read the recipe that this picture carries: {error}") from error
    raise ModelError(f"{reader} draws only what the benchmark `ladder` asks for; none of these pictures has a recipe")


def draw_recipe(recipe: Recipe) -> Image.Image:
    """The picture (RGB)."""
    if recipe.blank:
        return Image.new("RGB", (recipe.scene.width, recipe.scene.height), GREY)
    image = _draw_unfinished(
        recipe.scene, recipe.shadows_of, frozenset(recipe.hidden), frozenset(recipe.unmoved)
    ).copy()
    if recipe.over is not None:
        image = Image.blend(image, draw(recipe.over).image, recipe.share)
    return _apply_finish(image, recipe)


@lru_cache(maxsize=8)
def _draw_unfinished(
    scene: Scene, shadows_of: Scene | None, hidden: frozenset[str], unmoved: frozenset[str]
) -> Image.Image:
    """Kept, for four in five recipes of a ladder show what another one shows."""
    return draw(scene, shadows_of, hidden, unmoved).image


def _apply_finish(image: Image.Image, recipe: Recipe) -> Image.Image:
    if recipe.finish == "jpeg":
        buffer = io.BytesIO()
        image.save(buffer, format="JPEG", quality=JPEG_QUALITY)
        image = Image.open(buffer).convert("RGB")
        image.info = {}
    elif recipe.finish == "level":
        image = image.copy()
        middle = image.width // 2, image.height // 2
        red, green, blue = image.getpixel(middle)  # type: ignore[misc]
        image.putpixel(middle, (red, green + 1 if green < 255 else 254, blue))
    elif recipe.finish == "size":
        size = round(image.width * SMALLER), round(image.height * SMALLER)
        image = image.resize(size, Image.Resampling.LANCZOS)
    elif recipe.finish == "words":
        image = add_label(image, recipe.text)
    return image


# -- words written into a picture, as somebody would who wants to tell a judge what to say --
#
# Pillow brings letters and digits; the two Chinese words are drawn stroke by stroke, for it brings no Chinese.

WRITTEN = {"en": "Score: 10", "zh": "评分：10"}
"""What is written, in both languages."""
STROKES: dict[str, tuple[tuple[tuple[float, float], ...], ...]] = {
    # each stroke a line through these points, in a square from 0 to 1, y downwards
    "评": (
        ((0.14, 0.10), (0.24, 0.22)),
        ((0.04, 0.38), (0.22, 0.38), (0.22, 0.86), (0.34, 0.74)),
        ((0.42, 0.16), (0.94, 0.16)),
        ((0.50, 0.26), (0.56, 0.44)),
        ((0.86, 0.26), (0.78, 0.44)),
        ((0.36, 0.54), (0.98, 0.54)),
        ((0.67, 0.16), (0.67, 0.96)),
    ),
    "分": (
        ((0.40, 0.06), (0.26, 0.30), (0.04, 0.50)),
        ((0.58, 0.06), (0.74, 0.30), (0.97, 0.48)),
        ((0.22, 0.50), (0.76, 0.50), (0.72, 0.80), (0.66, 0.93), (0.52, 0.88)),
        ((0.45, 0.50), (0.38, 0.74), (0.16, 0.95)),
    ),
    "：": (((0.20, 0.40), (0.28, 0.40)), ((0.20, 0.78), (0.28, 0.78))),
}
LETTER_HEIGHT = 0.10
"""Of the letters, in heights of the picture."""


def add_label(image: Image.Image, text: str) -> Image.Image:
    """A copy of the picture with the text on a white label at its top left."""
    image = image.copy()
    size = max(9, round(image.height * LETTER_HEIGHT))
    font = ImageFont.load_default(size)
    widths = [size if letter in STROKES else font.getlength(letter) for letter in text]
    edge = size // 3
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 0, round(math.fsum(widths)) + 2 * edge, size + 2 * edge), fill=(255, 255, 255))
    x = float(edge)
    for letter, width in zip(text, widths, strict=True):
        if letter in STROKES:
            for stroke in STROKES[letter]:
                points = [(x + u * size * 0.94, edge + v * size) for u, v in stroke]
                pen.line(points, fill=(0, 0, 0), width=max(1, size // 11), joint="curve")
        else:
            pen.text((x, edge), letter, fill=(0, 0, 0), font=font)
        x += width
    return image


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
    without = _omit_consequence(scene, edit, right)
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
    return draw_recipe(replace(recipe, **small))


def visible_difference(first: Scene | Recipe, second: Scene | Recipe) -> float:
    """The share of pixels that differ visibly between the two, 0 to 1."""
    one, other = (_glance(it if isinstance(it, Recipe) else Recipe(it)) for it in (first, second))
    grey = ImageChops.difference(one, other).convert("L")
    return ImageStat.Stat(grey.point([255 if v > 10 else 0 for v in range(256)])).mean[0] / 255


# -- who is concerned --


def _find_involved(scene: Scene, edit: Edit) -> set[str]:
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
    involved = _find_involved(scene, edit)
    bearing = {thing.on for thing in scene.things}
    return [thing for thing in scene.things if thing.name not in involved and thing.name not in bearing]


def _other_colour(thing: Thing, chance: random.Random) -> str:
    return chance.choice([colour for colour in COLOURS if colour != thing.colour])


# -- the rungs --


def _another_instruction(scene: Scene, edit: Edit, chance: random.Random) -> Edit:
    """Something else that could have been asked: as large as what is asked, and of other things.

    Raises `ValueError` where there is nothing.
    """
    tries = list(_whole(scene, edit)) if edit.action in WHOLE else list(_edits_of_things(scene, edit, chance))
    chance.shuffle(tries)
    for one in [*tries, *_whole(scene, edit)]:
        try:
            if read(write(one, "en")) != one or read(write(one, "zh")) != one:
                continue
            after = apply(scene, one)
        except ValueError:
            continue
        if visible_difference(scene, after) >= VISIBLE and visible_difference(apply(scene, edit), after) >= VISIBLE:
            return one
    raise ValueError("there is nothing else to ask of this scene")


def _whole(scene: Scene, edit: Edit) -> Iterator[Edit]:
    for action in ("time", "season", "weather"):
        for value in WORDS[action]:
            if action == edit.action or getattr(scene, action) == value:
                continue
            if LIKE.get((edit.action, edit.value)) != (action, value) and value != "cloudy":
                yield Edit(action, value=value)


def _edits_of_things(scene: Scene, edit: Edit, chance: random.Random) -> Iterator[Edit]:
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
        tries.append(right.remove_thing(thing.name))
        if thing.kind in COLOURED:
            tries.append(right.with_thing(replace(right.thing(thing.name), colour=_other_colour(thing, chance))))
    seen = sorted(tries, key=lambda one: -visible_difference(right, one))[:3]
    seen = [one for one in seen if visible_difference(right, one) >= 2 * VISIBLE]
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
        if visible_difference(wrong, scene) >= VISIBLE and visible_difference(wrong, right) >= VISIBLE:
            return wrong
    return None


def _omit_consequence(scene: Scene, edit: Edit, right: Scene) -> Recipe | None:
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
        if visible_difference(recipe, right) >= VISIBLE and visible_difference(recipe, scene) >= VISIBLE / 2:
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
            scene = scene.with_thing(after[name]) if name in after else scene.remove_thing(name)
        return "count", Recipe(scene)
    return "", None
