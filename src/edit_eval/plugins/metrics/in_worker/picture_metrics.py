"""`picture_metrics`: the distance of an edit's pixels from another picture's, overall and outside the mask.

Pictures are RGB in [0, 1]. For the pixels and channels x of the target and y of the edit:

| value   | what it is                                                                                               |
|---------|----------------------------------------------------------------------------------------------------------|
| `l1`    | mean of abs(x - y), 0 to 1                                                                               |
| `l2`    | mean of (x - y)^2, the mean squared error, 0 to 1                                                        |
| `psnr`  | -10 log10(l2), in dB; at least 0, as `l2` is at most 1; undefined for two identical pictures             |
| `ssim`  | structural similarity, -1 to 1: Gaussian window of 11 x 11 pixels, sigma 1.5, K1 = 0.01, K2 = 0.03, mean |
|         | of the channels (Wang et al., IEEE Transactions on Image Processing 13(4), 2004, equation 13)            |

L1 and L2 are those of MagicBrush (OSU-NLP-Group/MagicBrush@44745b5, evaluation/image_eval.py, `eval_distance`) if edit
and target have the same size; otherwise MagicBrush scales with the bicubic filter, we with LANCZOS. `bicubic: true`
adds `l1_bicubic` and `l2_bicubic`, which are MagicBrush's for any size.

The target is the sample's `reference`, else its `source`. `l1_outside` and its like compare with the source, if
a sample has a mask (`masks.mask_of` says of what forms): did everything else stay the same? They are means of
the maps of the whole pictures over the pixels whose window of 11 x 11 touches nothing masked: they include neither the
edited area nor a constant painted over it. (Filling the mask with a constant before comparing everything makes
unrelated pictures similar: SSIM 0.01, 0.25, 0.50 and 0.76 as it covers 0, 25, 50 and 75 % of them.)

An edit of another size is scaled to the size of the other picture (LANCZOS), and so is a mask (nearest pixel); the
reply notes it, and the reach of that filter is not outside the mask either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from PIL import Image

from edit_eval.errors import ModelError
from edit_eval.judges.contract import JudgeRequest, MeasuredValue
from edit_eval.masks import find_mask_fault
from edit_eval.pretrained.loading import library_versions
from edit_eval.records import Reply

RADIUS = 5
"""Radius of SSIM's window, in pixels."""
LANCZOS = 3
"""Reach of its filter, in pixels."""
WHITE = 128
"""The grey from which on a mask counts as white."""

SCALES: dict[str, MeasuredValue] = {
    "l1": {"lowest": 0.0, "highest": 1.0, "higher_is_better": False},
    "l2": {"lowest": 0.0, "highest": 1.0, "higher_is_better": False},
    "psnr": {"lowest": 0.0, "highest": None, "higher_is_better": True},
    "ssim": {"lowest": -1.0, "highest": 1.0, "higher_is_better": True},
}


class PictureMetrics:
    """Measures L1, L2, PSNR and SSIM between edit and reference (or source), and outside the mask."""

    @dataclass
    class Parameters:
        """No number can be changed: one by this name is the same number everywhere."""

        bicubic: bool = False
        """Gives L1 and L2 as MagicBrush has them, too: `l1_bicubic` and `l2_bicubic`."""

    def __init__(self, parameters: Parameters) -> None:
        self._bicubic = parameters.bicubic

    @staticmethod
    def measures(parameters: Parameters) -> dict[str, MeasuredValue]:
        """Returns scale and needs of every value; the first is the headline."""
        whole: dict[str, MeasuredValue] = {name: {**scale, "needs": ["edit"]} for name, scale in SCALES.items()}
        needs = ["source", "edit", "mask"]
        outside: dict[str, MeasuredValue] = {
            f"{name}_outside": {**scale, "needs": needs} for name, scale in SCALES.items()
        }
        return (
            whole | outside | ({f"{name}_bicubic": whole[name] for name in ("l1", "l2")} if parameters.bicubic else {})
        )

    def prepare(self) -> None:
        """Imports the libraries."""
        import scipy.ndimage  # noqa: F401
        import skimage.metrics  # noqa: F401

    def load(self, devices: Sequence[str]) -> None:
        """Does nothing: there is nothing to load, and the CPU computes."""
        self.prepare()

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Reply]:
        """Returns the values of each request; the text says what was compared, and why a value is left out."""
        return [_measure_edit(request, self._bicubic) for request in requests]

    def about(self) -> dict[str, str]:
        """Returns versions, and how it is measured."""
        return {
            "ssim": "Gaussian window of 11 x 11 pixels, sigma 1.5",
            "scaling": "LANCZOS",
            **library_versions("scikit-image", "scipy", "numpy", "pillow"),
        }


class _Maps(NamedTuple):
    """One number per pixel, the mean of its channels: (height, width), float64."""

    absolute: Any
    squared: Any
    similarity: Any
    """None if the picture is smaller than the window."""


def target_of(request: JudgeRequest, judge: str) -> str:
    """Returns which picture the edit is compared with. Raises `ModelError` if either was not shown to `judge`."""
    target = "reference" if "reference" in request.pictures else "source"
    if lacking := next((name for name in (target, "edit") if name not in request.pictures), ""):
        raise ModelError(f"{judge} compares pictures; it was not given the picture `{lacking}`")
    return target


def _measure_edit(request: JudgeRequest, bicubic: bool) -> Reply:
    import numpy

    pictures, target = request.pictures, target_of(request, "picture_metrics")
    maps, words = _compare_pixels(pictures[target], pictures["edit"])
    values, reasons = _values(maps, numpy.ones(maps.absolute.shape, dtype=bool))
    words = [f"against the {target}", *words, *reasons]
    if bicubic:
        edit = pictures["edit"].convert("RGB").resize(pictures[target].size, Image.Resampling.BICUBIC)
        x, y = (
            numpy.asarray(picture.convert("RGB"), dtype=numpy.float64) / 255 for picture in (pictures[target], edit)
        )
        values |= {"l1_bicubic": float(numpy.abs(x - y).mean()), "l2_bicubic": float(numpy.square(x - y).mean())}
    if "mask" in pictures and "source" in pictures:
        if target != "source":
            maps, more = _compare_pixels(pictures["source"], pictures["edit"])
            words += ["outside the mask against the source", *more]
        if why := find_mask_fault(pictures["mask"], pictures["source"].size):
            words.append(f"nothing is measured outside the mask: {why}")
        else:
            outside, more = _outside(pictures["mask"], pictures["source"].size, pictures["edit"].size)
            outside_values, reasons = _values(maps, outside, "_outside")
            values |= outside_values
            words += [*more, *reasons]
    return Reply(text="; ".join(dict.fromkeys(words)), values=values)


def _compare_pixels(target: Image.Image, edit: Image.Image) -> tuple[_Maps, list[str]]:
    import numpy
    from skimage.metrics import structural_similarity

    edit, words = _scale_picture("edit", edit, target.size, Image.Resampling.LANCZOS)
    x, y = (numpy.asarray(picture.convert("RGB"), dtype=numpy.float64) / 255 for picture in (target, edit))
    similarity = None
    if min(target.size) > 2 * RADIUS:
        _, similarity = structural_similarity(
            x,
            y,
            data_range=1.0,
            channel_axis=2,
            full=True,
            gaussian_weights=True,
            sigma=1.5,
            use_sample_covariance=False,
        )
        similarity = similarity.mean(2)
    return _Maps(numpy.abs(x - y).mean(2), numpy.square(x - y).mean(2), similarity), words


def _scale_picture(
    name: str, picture: Image.Image, size: tuple[int, int], filter: Image.Resampling
) -> tuple[Image.Image, list[str]]:
    if picture.size == size:
        return picture, []
    words = f"the {name} was scaled from {picture.width}x{picture.height} to {size[0]}x{size[1]}"
    return picture.resize(size, filter), [words]


def _outside(mask: Image.Image, size: tuple[int, int], before: tuple[int, int]) -> tuple[Any, list[str]]:
    """Returns where no window touches the mask: bool (height, width). `before`: the edit's size before scaling."""
    import numpy
    from scipy.ndimage import maximum_filter

    mask, words = _scale_picture("mask", mask.convert("L"), size, Image.Resampling.NEAREST)
    margins = [RADIUS + (_reach(now, then) if size != before else 0) for now, then in zip(size, before, strict=True)]
    return maximum_filter(numpy.asarray(mask), size=[2 * margin + 1 for margin in reversed(margins)]) < WHITE, words


def _reach(now: int, then: int) -> int:
    """Returns how many pixels of the result a pixel affects when LANCZOS scales from `then` to `now` pixels."""
    return math.ceil(LANCZOS * max(1.0, now / then))


def _values(maps: _Maps, where: Any, suffix: str = "") -> tuple[dict[str, float], list[str]]:
    """Returns the values over the pixels `where` (bool, any value needs at least one), and why others are missing."""
    if not where.any():
        return {}, ["the mask, and a window's radius around it, leave nothing outside"]
    values = {"l1": float(maps.absolute[where].mean()), "l2": float(maps.squared[where].mean())}
    reasons = []
    if values["l2"] > 0:
        values["psnr"] = max(0.0, -10 * math.log10(values["l2"]))
    else:
        reasons.append(f"psnr{suffix}: the pictures are identical{' there' if suffix else ''}")
    inner = where[RADIUS:-RADIUS, RADIUS:-RADIUS]  # as usual, the window must not extend over the picture's edge
    if maps.similarity is not None and inner.any():
        similarity = float(maps.similarity[RADIUS:-RADIUS, RADIUS:-RADIUS][inner].mean())
        values["ssim"] = min(1.0, max(-1.0, similarity))
    else:
        reasons.append(f"ssim{suffix}: no window of {2 * RADIUS + 1} pixels fits")
    return {f"{name}{suffix}": value for name, value in values.items()}, reasons
