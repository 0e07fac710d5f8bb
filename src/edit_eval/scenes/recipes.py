"""A recipe: what an edit of the ladder is drawn from. It travels as a text entry of a picture of one pixel.

Whoever draws it needs neither the instruction nor the ladder, so an edit can be shown with another instruction, or
beside another source, than those that it was made for.
"""

from __future__ import annotations

import io
import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from PIL import Image, PngImagePlugin

from edit_eval.errors import ModelError
from edit_eval.scenes.drawing import draw
from edit_eval.scenes.scene import Scene
from edit_eval.scenes.writing import written

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def png(recipe: Recipe, name: str) -> bytes:
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


def drawn(recipe: Recipe) -> Image.Image:
    """The picture (RGB)."""
    if recipe.blank:
        return Image.new("RGB", (recipe.scene.width, recipe.scene.height), GREY)
    image = _unfinished(recipe.scene, recipe.shadows_of, frozenset(recipe.hidden), frozenset(recipe.unmoved)).copy()
    if recipe.over is not None:
        image = Image.blend(image, draw(recipe.over).image, recipe.share)
    return _finished(image, recipe)


@lru_cache(maxsize=8)
def _unfinished(scene: Scene, shadows_of: Scene | None, hidden: frozenset[str], unmoved: frozenset[str]) -> Image.Image:
    """Kept, for four in five recipes of a ladder show what another one shows."""
    return draw(scene, shadows_of, hidden, unmoved).image


def _finished(image: Image.Image, recipe: Recipe) -> Image.Image:
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
        image = written(image, recipe.text)
    return image
