"""`technical_metrics`: technical damage to a picture: blur, JPEG blocks, shape, size, displacement.

| value          | what it is                                                                                        |
|----------------|---------------------------------------------------------------------------------------------------|
| `blur_added`   | blur of the edit minus that of the source, each 0 (sharp) to 1 (Crete et al., SPIE 6492, 2007, as  |
|                | scikit-image has it), both at the smaller one's size; below 0 where the edit is sharper           |
| `blocking`     | how much larger steps between neighbours are where blocks of 8 pixels meet than within them, of   |
|                | both together: 0 to 1, by the edit's own pixels; what a strong JPEG leaves behind                 |
| `aspect`       | abs(log2) of the edit's width to height against the source's: 0 the same shape, 1 twice as wide   |
| `pixels`       | log2 of the edit's number of pixels against the source's: 0 as many, -2 a quarter                 |
| `zoom`         | abs(log2) of the scale at which the edit fits the source best, in percent of a doubling, in steps |
|                | of 1.6                                                                                            |
| `shift`        | how far it is moved then, in percent of the longer side                                            |

`zoom` and `shift` are found by aligning the outlines of both, for scales from 0.8 to 1.25. If nothing fits (the edit is
another picture, or has no outlines) they are undefined. The instruction is ignored: an edit that is meant to blur the
background has added blur.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PIL import Image

from edit_eval.judges.contract import JudgeRequest, MeasuredValue
from edit_eval.plugins.metrics.in_worker.picture_metrics import target_of
from edit_eval.pretrained.loading import library_versions
from edit_eval.records import Reply

BLOCK = 8
"""Side of a JPEG's block, in pixels."""
SIDE = 256
"""Longer side, in pixels, at which pictures are aligned."""
SCALES = tuple(2 ** (step / 62) for step in range(-20, 21))
"""Scales that are tried: 0.8 to 1.25, by 1.1 percent."""
ALIKE = 0.3
"""The correlation of two pictures' outlines below which they do not fit anywhere."""
_OPEN: MeasuredValue = {"lowest": 0.0, "highest": None, "higher_is_better": False, "needs": ["source", "edit"]}


class TechnicalMetrics:
    """Measures added blur, JPEG blocks, change of shape and size, zoom and shift of an edit; needs no weights."""

    @dataclass
    class Parameters:
        """No number can be changed: one by this name is the same number everywhere."""

    def __init__(self, parameters: Parameters) -> None:
        pass

    @staticmethod
    def measures(parameters: Parameters) -> dict[str, MeasuredValue]:
        """Returns scale and needs of every value; the first is the headline."""
        return {
            "blur_added": {**_OPEN, "lowest": -1.0, "highest": 1.0},
            "blocking": {**_OPEN, "highest": 1.0, "needs": ["edit"]},
            "aspect": _OPEN,
            "pixels": {**_OPEN, "lowest": None, "higher_is_better": True},
            "zoom": _OPEN,
            "shift": _OPEN,
        }

    def prepare(self) -> None:
        """Imports the libraries."""
        import numpy  # noqa: F401
        import skimage.measure  # noqa: F401

    def load(self, devices: Sequence[str]) -> None:
        """Does nothing: there is nothing to load, and the CPU computes."""
        self.prepare()

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Reply]:
        """Returns the values of each request; the text says why a value is left out."""
        return [_measure_edit(request) for request in requests]

    def about(self) -> dict[str, str]:
        """Returns versions."""
        return library_versions("scikit-image", "scipy", "numpy", "pillow")


def _measure_edit(request: JudgeRequest) -> Reply:
    target_of(request, "technical_metrics")
    source, edit = (request.pictures[name].convert("RGB") for name in ("source", "edit"))
    values, words = {"blocking": _measure_blocking(edit)}, []
    if all(len(set(picture.convert("L").tobytes())) > 1 for picture in (source, edit)):
        from skimage.measure import blur_effect

        size = min(source.size, edit.size, key=math.prod)
        before, after = (
            float(blur_effect(_grey(picture.resize(size, Image.Resampling.LANCZOS)))) for picture in (source, edit)
        )
        values["blur_added"] = after - before
    else:
        words.append("blur_added: a picture of one colour is neither sharp nor blurred")
    ratio = (edit.width / edit.height) / (source.width / source.height)
    values["aspect"] = abs(math.log2(ratio))
    values["pixels"] = math.log2(edit.width * edit.height / (source.width * source.height))
    fitted, alike = _align_edit(source, edit)
    if fitted:
        values["zoom"], values["shift"] = fitted
    else:
        words.append(f"zoom, shift: the outlines fit nowhere (correlation {alike:.2f})")
    return Reply(text="; ".join(words), values=values)


def _measure_blocking(picture: Image.Image) -> float:
    """Returns the mean over both directions."""
    import numpy

    grey = _grey(picture)
    contrasts = []
    for steps in (numpy.abs(numpy.diff(grey, axis=1)), numpy.abs(numpy.diff(grey, axis=0)).T):
        at_edge = numpy.arange(steps.shape[1]) % BLOCK == BLOCK - 1
        if not at_edge.any() or at_edge.all():
            continue
        edges, within = float(steps[:, at_edge].mean()), float(steps[:, ~at_edge].mean())
        contrasts.append(max(0.0, (edges - within) / (edges + within)) if edges + within else 0.0)
    return math.fsum(contrasts) / len(contrasts) if contrasts else 0.0


def _align_edit(source: Image.Image, edit: Image.Image) -> tuple[tuple[float, float] | None, float]:
    """Returns zoom and shift in percent, None if the outlines do not fit, and how well they do."""
    _, near, _ = _best(source, edit, SIDE // 4, SCALES)
    place = SCALES.index(near)
    alike, scale, shift = _best(source, edit, SIDE, SCALES[max(0, place - 3) : place + 4])
    return ((100 * abs(math.log2(scale)), 100 * shift) if alike >= ALIKE else None), alike


def _best(source: Image.Image, edit: Image.Image, side: int, scales: Sequence[float]) -> tuple[float, float, float]:
    """Returns the best correlation of outlines at `side` pixels, its scale, and its shift over the longer side."""
    import numpy

    factor = side / max(source.size)
    width, height = (max(8, round(length * factor)) for length in source.size)
    still = _outlines(source, (width, height))
    there = numpy.fft.rfft2(still)
    edit = edit.resize((2 * width, 2 * height), Image.Resampling.LANCZOS)
    best = (-1.0, 1.0, 0.0)
    for scale in scales:
        moved = _outlines(_zoom_picture(edit, scale), (width, height))
        norm = float(numpy.linalg.norm(still) * numpy.linalg.norm(moved))
        if not norm:
            continue
        correlations = numpy.fft.irfft2(there * numpy.conj(numpy.fft.rfft2(moved)), still.shape) / norm
        place = numpy.unravel_index(int(numpy.argmax(correlations)), correlations.shape)
        steps = [min(int(at), length - int(at)) for at, length in zip(place, correlations.shape, strict=True)]
        best = max(best, (float(correlations[place]), scale, math.hypot(*steps) / side))
    return best


def _zoom_picture(picture: Image.Image, scale: float) -> Image.Image:
    """Enlarges the middle of the picture (`scale` above 1), or shrinks it within a frame of its outermost pixels."""
    width, height = picture.size
    part = (width / scale, height / scale)
    box = ((width - part[0]) / 2, (height - part[1]) / 2, (width + part[0]) / 2, (height + part[1]) / 2)
    return picture.transform(picture.size, Image.Transform.EXTENT, box, Image.Resampling.BILINEAR)


def _outlines(picture: Image.Image, size: tuple[int, int]) -> Any:
    """Returns the gradient's length minus its mean, faded out towards the frame: (height, width), float64."""
    import numpy

    grey = _grey(picture.resize(size, Image.Resampling.LANCZOS))
    down, right = numpy.gradient(grey)
    length = numpy.hypot(down, right)
    window = numpy.outer(*(numpy.hanning(side) for side in length.shape))
    return (length - length.mean()) * window


def _grey(picture: Image.Image) -> Any:
    """Returns the luminance in [0, 1]: (height, width), float64."""
    import numpy

    return numpy.asarray(picture.convert("L"), dtype=numpy.float64) / 255
