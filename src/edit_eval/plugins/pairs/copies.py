"""Pictures that are those of another set, or near copies: scaled, compressed again, a little brighter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from edit_eval.errors import ConfigurationError, PictureError
from edit_eval.pictures import formats, open_picture
from edit_eval.records import Sample
from edit_eval.text import Text

SIDE = 16
NEAR = 26
"""Of the 256 bits of a print, as many as two may differ in: a tenth. Unlike pictures differ in about half; JPEG at
quality 30, half the size, or a tenth brighter change at most a twelfth (tests/plugins/pairs)."""
_ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".gif", ".heic")


def print_of(path: Path) -> np.ndarray:
    """Returns a picture's print: 256 bits, whether each of 16 x 16 spots is brighter than the one to its left.

    Raises `PictureError` if it cannot be opened.
    """
    small = open_picture(path).convert("L").resize((SIDE + 1, SIDE), Image.Resampling.BOX)
    values = np.asarray(small, dtype=np.int16)
    bits: np.ndarray = (values[:, 1:] > values[:, :-1]).ravel()
    return bits


def pictures_of(place: Path) -> list[Path]:
    """Returns the pictures of another set: the files of a folder. Raises `ConfigurationError` if there are none."""
    formats()
    pictures = sorted(path for path in place.rglob("*") if path.suffix.lower() in _ENDINGS and path.is_file())
    if not pictures:
        raise ConfigurationError(Text("--leave-out {}: has no pictures; name a run or a folder of pictures", place))
    return pictures


def find_copies(samples: Iterable[Sample], others: Iterable[Path]) -> Iterator[str]:
    """Yields the ids of samples with a source that is one of the other pictures, or nearly so.

    A picture that cannot be opened is like none.
    """
    known = [bits for path in others if (bits := _print(path)) is not None]
    if not known:
        return
    table = np.array(known)
    seen: dict[str, bool] = {}
    for sample in samples:
        if not sample.source:
            continue
        if sample.source not in seen:
            bits = _print(Path(sample.source))
            seen[sample.source] = bits is not None and bool(((table != bits).sum(1) <= NEAR).any())
        if seen[sample.source]:
            yield sample.id


def _print(path: Path) -> np.ndarray | None:
    try:
        return print_of(path)
    except PictureError:
        return None
