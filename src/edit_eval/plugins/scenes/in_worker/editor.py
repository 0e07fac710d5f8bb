"""`scene_editor`: an edit model for the benchmark `scenes` that needs no weights, and has honest weaknesses.

It reads the instruction with the scenes' grammar and paints on the source's pixels as a retoucher would who works
flat, thing by thing:

* It finds things by how they look: by their outline in the picture, not by where they stand. Of twins that overlap
  or stand at different distances it may take the wrong one.
* It repaints a thing within its own outline and knows nothing of shadows, pools of light or what stands on it.
* It moves a thing as it is seen, without perspective.
* It recolours by tinting, which bleeds over everything in the tinted patch.
* It changes hour, weather and season as a filter over the land, under a newly painted sky.
* Of several consequences it knows the first: a lamp shines, but on nothing; in the wind only flags fly.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from PIL import Image as Pictures
from PIL import ImageChops, ImageFilter, ImageStat

from edit_eval.errors import ModelError
from edit_eval.plugins.scenes.in_worker.backdrop import draw_precipitation, puddles
from edit_eval.plugins.scenes.in_worker.drawing import Drawing, draw
from edit_eval.plugins.scenes.in_worker.edits import Edit, Reference, apply
from edit_eval.plugins.scenes.in_worker.language import read
from edit_eval.plugins.scenes.in_worker.pen import COLOURS, Camera, horizon_mask, light_of, minus, mix, union
from edit_eval.plugins.scenes.in_worker.scene import Scene, Thing, scene_of
from edit_eval.text import Text

if TYPE_CHECKING:
    from PIL.Image import Image

    from edit_eval.edit_models.contract import EditRequest, OnStep

NAME = "scene_editor"
COARSE = 8.0
"""Blur before the first step, in pixels; every step halves it."""
GRAIN = 3
"""Levels (of 255) by which the seed's grain moves what is painted, up or down."""


@dataclass(frozen=True)
class Paint:
    """What is to be laid on the source, and where."""

    picture: Image
    """RGB."""
    mask: Image
    """L; 255 where the picture covers the source."""


class SceneEditor:
    """Edits pictures of the benchmark `scenes`; the more steps, the finer the paint."""

    @dataclass(frozen=True)
    class Parameters:
        """What can be set."""

        steps: int = 4
        """Passes from coarse to fine; below 4 the paint stays visibly blurred."""
        seconds: float = 0.0
        """How long an edit takes at least, in seconds, spread over its steps; for trying out schedules."""

        def __post_init__(self) -> None:
            if self.steps < 1 or self.seconds < 0:
                raise ValueError("steps must be 1 or more, seconds 0 or more")

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters

    @staticmethod
    def duration_anywhere(parameters: Parameters) -> tuple[float, float, str]:
        """Returns what a plan assumes."""
        return 0.5, 0.2 + parameters.seconds, Text("the built-in models on one CPU core")

    def load(self, devices: Sequence[str]) -> None:
        """Nothing to load; any device will do."""

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """The edited picture, of the source's size.

        Raises `ModelError` for a picture that is not of the benchmark, and for a sentence that its grammar lacks.
        """
        image = request.source
        scene = scene_of(image, NAME)
        source = image.convert("RGB")
        if source.size != (scene.width, scene.height):
            source = source.resize((scene.width, scene.height), Pictures.Resampling.LANCZOS)
        try:
            edit = read(request.instruction)
            paint = _Retoucher(source, scene).paint(edit)
        except ValueError as error:
            raise ModelError(f"{NAME} cannot carry out this instruction: {error}") from error
        result = source
        for step in range(1, self._parameters.steps + 1):
            begin = time.monotonic()
            if step == self._parameters.steps:  # each pass begins at the source, so no other is seen
                result = _apply_paint(source, paint, COARSE / 2**step, request.seed)
            left = self._parameters.seconds / self._parameters.steps - (time.monotonic() - begin)
            if left > 0:
                time.sleep(left)
            on_step(step, self._parameters.steps)
        if result.size != image.size:
            result = result.resize(image.size, Pictures.Resampling.LANCZOS)
        result.info = {}
        return result


def _apply_paint(source: Image, paint: Paint, blur: float, seed: int) -> Image:
    """The source with the paint on it, blurred by so many pixels, in the grain of the seed."""
    picture = paint.picture.filter(ImageFilter.GaussianBlur(blur)) if blur > 0.3 else paint.picture
    noise = random.Random(f"grain {seed}").randbytes(source.width * source.height)
    grain = Pictures.frombytes("L", source.size, noise).point([value * 2 * GRAIN // 255 for value in range(256)])
    rough = ImageChops.add(picture, Pictures.merge("RGB", (grain, grain, grain)), scale=1.0, offset=-GRAIN)
    return Pictures.composite(rough, source, paint.mask)


@lru_cache(maxsize=4)
def _empty(scene: Scene) -> Image:
    """A scene without its things; kept, for one edit looks at it more than once."""
    return draw(replace(scene, things=())).image


class _Retoucher:
    """One picture on the easel."""

    def __init__(self, source: Image, scene: Scene) -> None:
        self.source = source
        self.scene = scene
        self.seen: Drawing = draw(scene)

    def paint(self, edit: Edit) -> Paint:
        """What to lay on for an edit. Raises `ValueError` where it does not see what is meant."""
        whole: dict[str, Callable[[Scene], Paint]] = {
            "time": self._hour_or_weather,
            "weather": self._hour_or_weather,
            "season": self._season,
            "sun": self._sky_only,
            "wind": self._flags_only,
            "soak": self._puddles,
        }
        if edit.action in whole:
            return whole[edit.action](apply(self.scene, edit))
        if edit.action == "add":
            more = apply(self.scene, edit)
            return self._repaint(more, more.names() - self.scene.names())
        if edit.action == "queue":
            people = {thing.name for thing in self.scene.things if thing.kind == "person"}
            return self._flat_move(apply(self.scene, edit), people)
        if edit.target is None:
            raise ValueError(f"{edit.action} without a thing to do it to")
        target = self.find(edit.target)
        if edit.action == "remove":
            plate = draw(self.scene, shadows_of=self.scene, hidden=frozenset({target.name}))
            return Paint(plate.image, self._outline(target.name, ()))
        if edit.action in ("recolour", "dress"):
            return self._tint(target, edit)
        after = apply(self.scene, edit, target)
        if edit.action == "replace":
            return self._repaint(after, {target.name} | (after.names() - self.scene.names()))
        return self._flat_move(after, {target.name})

    # Seeing -----------------------------------------------------------------------------------------------------

    def _box(self, thing: Thing) -> tuple[int, int, int, int]:
        """Where a thing is seen; an empty box for one that is hidden."""
        return self.seen.silhouettes[thing.name].getbbox() or (0, 0, 0, 0)

    def find(self, reference: Reference) -> Thing:
        """The thing that looks most as if it were meant. Raises `ValueError` where none of the kind is seen."""
        kind = [thing for thing in self.scene.things if thing.kind == reference.kind and self._box(thing)[2]]
        found = self._match_colour(kind, reference.colour) if reference.colour else kind
        if reference.size and found:
            areas = {thing.name: self._area(thing) for thing in found}
            middle = sum(areas.values()) / len(areas)
            found = [thing for thing in found if (areas[thing.name] < middle) == (reference.size == "small")] or found
        if reference.relation and reference.anchor is not None and found:
            found = self._near(found, reference.relation, reference.anchor)
        if len(found) < reference.rank:
            raise ValueError(f"{NAME} sees no such thing: {reference.kind} {reference.colour}".rstrip())
        return sorted(found, key=lambda thing: self._order(thing, reference.ranking))[reference.rank - 1]

    def _area(self, thing: Thing) -> int:
        left, top, right, bottom = self._box(thing)
        return (right - left) * (bottom - top)

    def _order(self, thing: Thing, ranking: str) -> float:
        """By the box in which it is seen: its left or right edge, its area; what looks large counts as near."""
        left, _, right, _ = self._box(thing)
        area = self._area(thing)
        return {"left": left, "right": -right, "smallest": area, "farthest": area}.get(ranking, -area)

    def _match_colour(self, things: list[Thing], colour: str) -> list[Thing]:
        """Those whose pixels come nearest to the colour."""
        far = {}
        for thing in things:
            left, top, right, bottom = self._box(thing)
            if thing.kind == "person":
                top += (bottom - top) * 3 // 10
                bottom -= (bottom - top) * 4 // 10
            box = (left, top, max(right, left + 1), max(bottom, top + 1))
            mask = self.seen.silhouettes[thing.name].crop(box)
            mean = ImageStat.Stat(self.source.crop(box), mask.point([0] * 128 + [255] * 128)).mean
            far[thing.name] = math.dist(mean, COLOURS[colour])
        nearest = min(far.values(), default=0.0)
        return [thing for thing in things if far[thing.name] <= nearest * 1.25 + 12]

    def _near(self, things: list[Thing], relation: str, anchor: Reference) -> list[Thing]:
        """The one that is seen nearest to the anchor, on the side of it that the words name."""
        if relation == "between":
            two = [thing for thing in self.scene.things if thing.kind == anchor.kind]
            two = self._match_colour(two, anchor.colour) if anchor.colour else two
            low, high = min(self._box(t)[0] for t in two), max(self._box(t)[2] for t in two)
            return [thing for thing in things if low < sum(self._box(thing)[::2]) / 2 < high] or things
        left, top, right, bottom = self._box(self.find(anchor))
        x, y = (left + right) / 2, (top + bottom) / 2

        def middle(thing: Thing) -> tuple[float, float]:
            box = self._box(thing)
            return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2

        sides: dict[str, Callable[[Thing], bool]] = {
            "left": lambda thing: middle(thing)[0] < x,
            "right": lambda thing: middle(thing)[0] > x,
            "front": lambda thing: self._box(thing)[3] > bottom,
            "under": lambda thing: middle(thing)[1] > y,
            "behind": lambda thing: self._box(thing)[3] < bottom,
            "on": lambda thing: middle(thing)[1] < y,
        }
        there = [thing for thing in things if relation not in sides or sides[relation](thing)] or things
        return sorted(there, key=lambda thing: (middle(thing)[0] - x) ** 2 + (middle(thing)[1] - y) ** 2)[:1]

    # Painting things --------------------------------------------------------------------------------------------

    def _outline(self, name: str, drawings: Sequence[Drawing]) -> Image:
        """Where a thing is seen in the source and in the drawings, a little wider."""
        seen = [d.silhouettes[name] for d in (self.seen, *drawings) if name in d.silhouettes]
        return union(self.source.size, seen).filter(ImageFilter.MaxFilter(3)).filter(ImageFilter.GaussianBlur(0.8))

    def _repaint(self, after: Scene, names: frozenset[str] | set[str]) -> Paint:
        """The named things as they are afterwards, on a ground whose light and shadows stay as they were."""
        drawing = draw(after, shadows_of=self.scene)
        return Paint(drawing.image, union(self.source.size, (self._outline(name, (drawing,)) for name in names)))

    def _flat_move(self, after: Scene, names: set[str]) -> Paint:
        """Nothing but the named things, whatever else would follow; as large in the picture as they were before."""
        camera, flat = Camera.from_scene(self.scene), self.scene
        for name in names:
            thing = after.thing(name)
            size = thing.size * camera.scale(self.scene.thing(name).depth) / camera.scale(thing.depth)
            flat = flat.with_thing(replace(thing, size=size))
        return self._repaint(flat, names)

    def _tint(self, target: Thing, edit: Edit) -> Paint:
        """The thing's patch in shades of the colour; of a person the part below the head, hands and all."""
        mask = self.seen.silhouettes[target.name].filter(ImageFilter.MaxFilter(3))
        _, top, _, bottom = self._box(target)
        if edit.action == "dress":
            band = Pictures.new("L", mask.size, 0)
            height = bottom - top
            band.paste(255, (0, top + height * 24 // 100, mask.width, top + height * 70 // 100))
            mask = ImageChops.darker(mask, band)
        grey = self.source.convert("L")
        mean = max(1.0, ImageStat.Stat(grey, mask.point([0] * 128 + [255] * 128)).mean[0])
        ambient = light_of(self.scene).ambient
        bands = [
            grey.point([min(255, round(part * light * (0.25 + 0.75 * v / mean))) for v in range(256)])
            for part, light in zip(COLOURS[edit.value], ambient, strict=True)
        ]
        return Paint(Pictures.merge("RGB", bands), mask.filter(ImageFilter.GaussianBlur(1.0)))

    # Painting the whole picture ---------------------------------------------------------------------------------

    def _bare(self, *, sky: bool) -> Image:
        """Where it sees sky, or else land: nothing stands before it."""
        size = self.source.size
        return minus(horizon_mask(size, sky=sky), union(size, self.seen.silhouettes.values()))

    def _everywhere(self) -> Image:
        return Pictures.new("L", self.source.size, 255)

    def _replace_sky(self, picture: Image, after: Scene) -> Image:
        """The picture under the sky of another scene; things are left out of that sky."""
        return Pictures.composite(_empty(after), picture, self._bare(sky=True))

    def _lit(self, factors: Iterable[float]) -> Image:
        """The source, its red, green and blue multiplied by these factors."""
        bands = zip(self.source.split(), factors, strict=True)
        return Pictures.merge(
            "RGB", [b.point([min(255, round(v * factor)) for v in range(256)]) for b, factor in bands]
        )

    def _hour_or_weather(self, after: Scene) -> Paint:
        """All surfaces filtered from the old light to the new; rain and snow over everything, fog like a veil."""
        old, new = light_of(self.scene), light_of(after)
        picture = self._lit(later / before for before, later in zip(old.ambient, new.ambient, strict=True))
        if after.weather == "snow":
            white = Pictures.new("RGB", picture.size, mix((246, 249, 253), new.low, 0.3))
            picture = Pictures.composite(Pictures.blend(picture, white, 0.7), picture, self._bare(sky=False))
        if after.weather == "fog":
            picture = Pictures.blend(picture, Pictures.new("RGB", picture.size, new.low), 0.55)
        picture = self._replace_sky(picture, after)
        if after.weather != self.scene.weather:
            draw_precipitation(picture, after)
        return Paint(picture, self._everywhere())

    def _season(self, after: Scene) -> Paint:
        """Trees in their new dress, the land in its new mean colour; nothing lies on roofs or under trees."""
        old, new = map(_empty, (self.scene, after))
        land = self._bare(sky=False)
        means = zip(ImageStat.Stat(old, land).mean, ImageStat.Stat(new, land).mean, strict=True)
        lit = self._lit(later / max(1.0, before) for before, later in means)
        picture = self._replace_sky(Pictures.composite(lit, self.source, land), after)
        drawing = draw(after, shadows_of=self.scene)
        for thing in self.scene.things:
            if thing.kind in ("tree", "pine"):
                picture = Pictures.composite(drawing.image, picture, drawing.silhouettes[thing.name])
        return Paint(picture, self._everywhere())

    def _sky_only(self, after: Scene) -> Paint:
        return Paint(self._replace_sky(self.source, after), self._bare(sky=True))

    def _flags_only(self, after: Scene) -> Paint:
        return self._repaint(after, {thing.name for thing in after.things if thing.kind == "flag"})

    def _puddles(self, after: Scene) -> Paint:
        """Water of the sky's colour, in which nothing is mirrored."""
        light = light_of(after)
        water = Pictures.new("RGB", self.source.size, mix(light.low, light.middle, 0.45))
        return Paint(Pictures.blend(self.source, water, 0.8), ImageChops.darker(puddles(after), self._bare(sky=False)))
