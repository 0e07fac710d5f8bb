"""How far two pictures are from each other: by their pixels, and by whatever else measures two pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageChops

from edit_eval.config.components import import_class, locate
from edit_eval.config.schema import ModelSection
from edit_eval.errors import ConfigurationError, EditEvalError
from edit_eval.judges.contract import JudgeRequest
from edit_eval.pictures import open_picture, write_png
from edit_eval.text import Text
from edit_eval.workers.model_class import make_parameters

INVISIBLE = 2.3
"""CIELAB difference of two colours that is just noticed: Mahy, Van Eycken, Oosterlinck, Evaluation of uniform color
spaces, Color Research and Application 19(2), 1994. Taken of the single pixel that differs most, which is stricter: the
eye was shown patches."""
_MATRIX = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
)
"""Linear sRGB to XYZ (IEC 61966-2-1); its rows add up to the white D65."""
_SRGB = np.arange(256) / 255
_LINEAR = np.where(_SRGB <= 0.04045, _SRGB / 12.92, ((_SRGB + 0.055) / 1.055) ** 2.4).astype(np.float32)

Levels = np.ndarray[Any, np.dtype[np.uint8]]
"""A picture: (height, width, 3)."""


class Distance(NamedTuple):
    """One way of saying how far two pictures are apart."""

    name: str
    words: Text
    sign: int = 1
    """-1 if a higher value is nearer. All that is computed is in `sign` times the value, of which more is further."""
    equal: float = 0.0
    """That of equal pictures, times the sign."""


PIXELS = (
    Distance("delta_e", Text("largest colour difference (ΔE)")),
    Distance("largest", Text("largest difference (levels)")),
    Distance("mean", Text("mean difference (levels)")),
    Distance("psnr", Text("PSNR (dB)"), -1, -math.inf),
)
"""What any two pictures have; levels are of 255."""
_AGAIN = ("l1", "l2", "psnr", "l1_bicubic", "l2_bicubic")
"""Values of the judges that measure, of which one of `PIXELS` says the same."""


def levels(path: Path | str) -> Levels:
    """Returns a picture's file as levels of 255."""
    return np.asarray(open_picture(path).convert("RGB"))


def measure_pixels(one: Levels, other: Levels) -> dict[str, float]:
    """Returns the distances of `PIXELS`, times their signs. Infinite for pictures of two sizes: they have no pixels in
    common."""
    if one.shape != other.shape:
        return {distance.name: math.inf for distance in PIXELS}
    difference = np.abs(one.astype(np.int16) - other)
    squared = float(np.square(difference, dtype=np.float64).mean()) / 255**2
    return {
        "delta_e": float(np.sqrt(np.square(_lab(one) - _lab(other)).sum(2).max())),
        "largest": float(difference.max()),
        "mean": float(difference.mean()),
        "psnr": 10 * math.log10(squared) if squared else -math.inf,
    }


def _lab(picture: Levels) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Returns CIELAB (CIE 15, D65) of sRGB levels."""
    relative = _LINEAR[picture] @ (_MATRIX / _MATRIX.sum(1, keepdims=True)).T.astype(np.float32)
    f = np.where(relative > (6 / 29) ** 3, np.cbrt(relative), relative / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1)


class Measures:
    """All distances of two pictures that can be had here: of pixels, and of the judges that measure (structural
    similarity, LPIPS, embeddings): those of the configuration, and `picture_metrics`, which needs no weights."""

    def __init__(self, judges: Iterable[ModelSection], folder: Path) -> None:
        self.distances = list(PIXELS)
        self._judges: list[Any] = []
        sections = [(each.class_path, each.parameters) for each in judges]
        if (path := locate("judge", "picture_metrics")) is not None:
            sections.insert(0, (path, {}))
        for class_path, given in sections:
            try:
                judge_class = import_class("judge", class_path, folder)
                if not hasattr(judge_class, "measures"):
                    continue
                parameters = make_parameters(judge_class, given)
                new = []
                for name, value in judge_class.measures(parameters).items():
                    if value.get("needs") == ["edit"] and name not in {*_AGAIN, *(d.name for d in self.distances)}:
                        nearer = value.get("higher_is_better")  # such values are 1 of equal pictures
                        new.append(Distance(name, Text("{}", name), -1 if nearer else 1, -1.0 if nearer else 0.0))
                judge = judge_class(parameters)
                if new:
                    judge.load(["cpu"])
            except (EditEvalError, ImportError):
                continue  # what it needs is not installed: it stands in no table
            if new:
                self._judges.append(judge)
                self.distances += new

    def limits(self, within: float | Mapping[str, float] | None) -> dict[str, float]:
        """Returns for each distance that decides the greatest that is within D, times its sign.

        A number alone is of ΔE. Raises `ConfigurationError` for a distance that there is not.
        """
        given = within if isinstance(within, Mapping) else {"delta_e": INVISIBLE if within is None else within}
        known = {distance.name: distance for distance in self.distances}
        if unknown := [name for name in given if name not in known]:
            raise ConfigurationError(
                Text("--within {}: no such distance here; there are {}", unknown[0], sorted(known))
            )
        if not given or not all(map(math.isfinite, given.values())):
            raise ConfigurationError(Text("--within: it takes a number, or NAME=NUMBER"))
        return {name: known[name].sign * limit for name, limit in given.items()}

    def measure(self, one: Levels, other: Levels) -> dict[str, float]:
        """Returns every distance by name, times its sign; one that these pictures do not have is infinite."""
        if one.shape == other.shape and (one == other).all():
            return {distance.name: distance.equal for distance in self.distances}
        found = measure_pixels(one, other)
        if one.shape == other.shape and self._judges:
            pictures = {"reference": Image.fromarray(one), "edit": Image.fromarray(other)}
            measured: dict[str, float] = {}
            for judge in self._judges:
                measured |= judge.judge([JudgeRequest(user="", pictures=pictures)])[0].values
            for distance in self.distances[len(PIXELS) :]:
                if distance.name in measured:
                    found[distance.name] = distance.sign * measured[distance.name]
        return {distance.name: found.get(distance.name, math.inf) for distance in self.distances}


def read_limits(text: str | None) -> float | dict[str, float] | None:
    """Reads `--within`: `2.3`, or `psnr=40,mean=0.5`. Raises `ConfigurationError`."""
    if text is None:
        return None
    try:
        pairs = [part.partition("=") for part in text.split(",")]
        if len(pairs) == 1 and not pairs[0][1]:
            return float(text)
        return {name.strip(): float(value) for name, _, value in pairs}
    except ValueError:
        raise ConfigurationError(Text("--within: it takes a number, or NAME=NUMBER")) from None


# -- what there is to see --

SIDE = 256
"""Width of each picture on the sheet of the worst."""


def draw_worst(pairs: Sequence[tuple[Path, Path]], to: Path) -> Path:
    """Writes one picture: a row for each pair, with the reference, the candidate, and how they differ, stretched to the
    whole range of levels."""
    rows = []
    for paths in pairs:
        one, other = (open_picture(path).convert("RGB") for path in paths)
        shown = [
            picture.resize((SIDE, max(1, round(SIDE * picture.height / picture.width)))) for picture in (one, other)
        ]
        apart = ImageChops.difference(one, other.resize(one.size))
        stretch = 255 / (int(np.asarray(apart).max()) or 1)
        rows.append([*shown, apart.point(lambda level, by=stretch: level * by).resize(shown[0].size)])
    heights = [max(picture.height for picture in row) for row in rows]
    sheet = Image.new("RGB", (3 * SIDE, sum(heights)), "white")
    for number, row in enumerate(rows):
        for place, picture in enumerate(row):
            sheet.paste(picture, (place * SIDE, sum(heights[:number])))
    write_png(sheet, to)
    return to
