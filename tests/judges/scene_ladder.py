"""Edits of one scene in a known order, from the right one down to a blank picture: what a judge is tried with."""

from __future__ import annotations

from dataclasses import dataclass

from PIL import Image, ImageChops, ImageStat

from edit_eval.plugins.scenes.in_worker.drawing import Drawing, draw, sources
from edit_eval.plugins.scenes.in_worker.edits import Edit, apply, twins
from edit_eval.plugins.scenes.in_worker.scene import Scene


@dataclass(frozen=True)
class Rung:
    """One edit of known worth."""

    name: str
    """`right`, `without_shadow`, `half_done`, `wrong_twin`, `copy` or `blank`."""
    level: int
    """Better than every rung of a smaller level; rungs of one level are not in order."""
    image: Image.Image


def _differ(first: Image.Image, second: Image.Image, share: float) -> bool:
    """Whether more than a share of the pixels differ visibly."""
    grey = ImageChops.difference(first, second).convert("L").point([255 if v > 10 else 0 for v in range(256)])
    return ImageStat.Stat(grey).mean[0] / 255 > share


def _same_light(before: Scene, after: Scene) -> bool:
    """Whether nothing but what casts the shadows changes: not the hour, the weather, a lamp."""

    def light(scene: Scene) -> tuple[object, ...]:
        lamps = [thing.name for thing, _, _ in sources(scene)]
        return scene.time, scene.weather, scene.season, scene.wet, lamps

    return light(before) == light(after)


def ladder(scene: Scene, edit: Edit) -> list[Rung]:
    """The rungs from the best to the worst. A rung that would look like its neighbour is left out.

    Raises `ValueError` where the edit makes no sense in the scene.
    """
    source, right = draw(scene), draw(apply(scene, edit))
    rungs = [Rung("right", 4, right.image)]
    if _same_light(scene, right.scene):
        bare = draw(right.scene, shadows_of=scene)
        if _differ(bare.image, right.image, 0.002) and _differ(bare.image, source.image, 0.002):
            rungs.append(Rung("without_shadow", 3, bare.image))
    rungs.append(Rung("half_done", 2, Image.blend(source.image, right.image, 0.5)))
    wrong = _wrong_twin(scene, edit, source)
    if wrong is not None:
        rungs.append(Rung("wrong_twin", 2, wrong))
    rungs.append(Rung("copy", 1, source.image))
    rungs.append(Rung("blank", 0, Image.new("RGB", source.image.size, (128, 128, 128))))
    return rungs


def _wrong_twin(scene: Scene, edit: Edit, source: Drawing) -> Image.Image | None:
    """The edit, done to another thing of the kind; None where no such thing would show it.

    Only where the instruction has to choose by place, order or size: there it is half of what was asked.
    """
    if edit.target is None or not (edit.target.ranking or edit.target.relation or edit.target.size):
        return None
    for twin in twins(scene, edit):
        try:
            picture = draw(apply(scene, edit, twin)).image
        except ValueError:
            continue
        if _differ(picture, source.image, 0.002):
            return picture
    return None
