"""`scenes`: the embedded benchmark. Procedural scenes whose right edit is known; nothing to download."""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import PIL
from PIL import Image, PngImagePlugin

from edit_eval.benchmarks.source_cache import FULL
from edit_eval.errors import ConfigurationError, PictureError, Stopped
from edit_eval.files.durable import write_durably
from edit_eval.files.user_cache import cache_folder
from edit_eval.pictures import read_picture
from edit_eval.plugins.scenes.in_worker.drawing import draw
from edit_eval.plugins.scenes.in_worker.language import LANGUAGES, describe, rationale, write
from edit_eval.plugins.scenes.in_worker.scenarios import category_of, plan
from edit_eval.plugins.scenes.in_worker.scene import TEXT_KEY, Scene
from edit_eval.records import Picture, Sample

EXAMPLE = (512, 384)
"""Pixels of the scene that a judge is tried with before a run."""
DRAWN_BY = {
    "11.0.0": "1ca282ce2a45",
    "11.1.0": "e4bfbb863562",
    "11.2.1": "082fa673d7e6",
    "11.3.0": "3cb76bbb0829",
    "12.0.0": "1a50a137d197",
    "12.1.0": "855b80ec814e",
    "12.1.1": "463660c03caa",
    "12.2.0": "86af61b1e918",
    "12.3.0": "e47113e8eff2",
    "13.0.0": "b80cccdbd155",
}
"""Version of Pillow -> what `drawing_digest` was while it was made of the text of the code that draws. The code may be
written otherwise since: `tests/plugins/scenes/test_frozen_drawing.py` has what it must draw, to the pixel."""
DRAWING = "b80cccdbd155"
"""Stands for what is drawn. Drawn otherwise, it needs another value, and `DRAWN_BY` no row."""


class DrawnParameters:
    """What parameters of drawn scenes have in common."""

    language: str
    size: int
    cache_dir: str | None

    def check_scenes(self) -> None:
        """Raises `ValueError` for a language or a size that there is not."""
        if self.language not in LANGUAGES:
            raise ValueError(f"language is one of {', '.join(LANGUAGES)}, not {self.language!r}")
        if not 128 <= self.size <= 2048:
            raise ValueError(f"size must be from 128 to 2048 pixels, not {self.size}")

    @property
    def folder(self) -> Path:
        """Where what is drawn is kept."""
        return cache_folder() if self.cache_dir is None else Path(self.cache_dir).expanduser().absolute()


class Scenes:
    """Drawn scenes over the five categories whose right edit is known; nothing to download.

    The categories take turns; sources are drawn once and kept in the user's cache.
    """

    @dataclass(frozen=True)
    class Parameters(DrawnParameters):
        """What can be set."""

        language: str = "en"
        """Of the instructions: `en` or `zh`."""
        count: int = 50
        """How many samples. From the 51st on the scenarios come again, as other scenes."""
        size: int = 512
        """Width of the pictures in pixels; they are three quarters as high."""
        seed: int = 0
        """Another seed gives other scenes for the same scenarios."""
        cache_dir: str | None = None
        """Where the drawn sources lie; null: the user's cache."""

        def __post_init__(self) -> None:
            self.check_scenes()
            if not 1 <= self.count <= 100_000:
                raise ValueError(f"count must be from 1 to 100000, not {self.count}")

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters

    @property
    def directory(self) -> Path:
        """Where the sources lie: named by all that decides their bytes."""
        width, height = self._size
        return self._parameters.folder / "scenes" / f"{width}x{height}-seed{self._parameters.seed}-{drawing_digest()}"

    @property
    def _size(self) -> tuple[int, int]:
        return self._parameters.size, round(self._parameters.size * 3 / 4)

    def samples(self) -> Iterator[Sample]:
        """All samples in order, each as soon as its source is drawn.

        Raises `ConfigurationError` where the cache cannot be written, `Stopped` where the disk is full.
        """
        directory = self.directory
        language = self._parameters.language
        for index in range(self._parameters.count):
            category = category_of(index)
            planned = plan(index, self._parameters.seed, *self._size)
            name = f"scene-{index:03d}-{category}"
            path = directory / f"{name}.png"
            instructions = {each: write(planned.edit, each, index // 5) for each in LANGUAGES}
            yield Sample(
                id=name,
                index=index,
                category=category,
                pictures={"source": Picture(path=str(path), digest=ensure_scene_file(path, planned.scene))},
                instruction=instructions[language],
                description=describe(planned.scene, language),
                language=language,
                difficulty=planned.difficulty,
                tags=planned.tags,
                instructions=instructions,
                rationale=rationale(planned.edit, language),
            )

    @staticmethod
    def example_sample(language: str) -> Sample:
        """What is asked of the first scene, in `en` or `zh`, before anything is edited. It has no file."""
        planned = plan(0, 0, *EXAMPLE)
        return Sample(
            id="example",
            index=0,
            category=category_of(0),
            pictures={"source": Picture(path="")},
            instruction=write(planned.edit, language, 0),
            description=describe(planned.scene, language),
            language=language,
        )


def picture_of(scene: Scene) -> Image.Image:
    """The scene's picture (RGB), carrying the scene in `info` as it does when its file is opened."""
    image = draw(scene).image
    image.info[TEXT_KEY] = scene.to_json()
    return image


def png(scene: Scene) -> bytes:
    """The scene's picture as the bytes of a PNG file that carries the scene; the same each time."""
    notes = PngImagePlugin.PngInfo()
    notes.add_text(TEXT_KEY, scene.to_json())
    buffer = io.BytesIO()
    draw(scene).image.save(buffer, format="PNG", pnginfo=notes, compress_level=6)
    return buffer.getvalue()


def drawing_digest() -> str:
    """Twelve hexadecimal digits that stand for what is drawn, and for Pillow's version."""
    of_both = hashlib.sha256(f"{PIL.__version__}\n{DRAWING}".encode()).hexdigest()[:12]
    return DRAWN_BY.get(PIL.__version__, of_both)


def ensure_scene_file(path: Path, scene: Scene) -> str:
    """Sees to it that the file is there and whole; returns the SHA-256 of its bytes."""
    with tell_unwritable(path.parent):
        data = path.read_bytes() if path.is_file() else b""
        if not _holds(data, scene):
            data = png(scene)
            write_durably(data, path)
    return hashlib.sha256(data).hexdigest()


@contextlib.contextmanager
def tell_unwritable(folder: Path) -> Iterator[None]:
    """Raises `Stopped` for a full disk, and `ConfigurationError` for a cache that cannot be written."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise Stopped(f"no space left for the scenes in {folder}; free about 50 MB, then run again") from error
        raise ConfigurationError(
            f"the scenes cannot be written to {folder} ({error.strerror or error}); set benchmark.cache_dir"
        ) from error


def _holds(data: bytes, scene: Scene) -> bool:
    """Whether the bytes are a whole picture of this scene."""
    try:
        image, _ = read_picture(io.BytesIO(data), "a drawn scene")
    except PictureError:
        return False
    return image.info.get(TEXT_KEY) == scene.to_json() and image.size == (scene.width, scene.height)
