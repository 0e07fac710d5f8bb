"""What a mask masks, in every form in which people keep one; and what is none."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
from PIL import Image

from edit_eval.errors import PictureError
from edit_eval.masks import NO_MASK, fit_mask, open_mask

HOLE = numpy.zeros((60, 80), bool)
HOLE[20:40, 10:50] = True
GREY = Image.fromarray((HOLE * 255).astype(numpy.uint8))
PHOTO = numpy.random.default_rng(3).integers(0, 255, (60, 80, 3), dtype=numpy.uint8)


def with_alpha(colour: object, alpha: object) -> Image.Image:
    colours = numpy.broadcast_to(numpy.asarray(colour, numpy.uint8), (60, 80, 3))
    return Image.fromarray(numpy.dstack([colours, numpy.asarray(alpha, numpy.uint8)]))


def palette(*colours: int) -> Image.Image:
    picture = Image.fromarray(HOLE.astype(numpy.uint8), "P") if hasattr(Image, "fromarray") else GREY
    picture.putpalette(colours)
    return picture


def smooth() -> Image.Image:
    return GREY.resize((320, 240), Image.Resampling.NEAREST).resize((160, 120), Image.Resampling.LANCZOS)


FORMS: dict[str, tuple[Callable[[], Image.Image], str]] = {
    "white": (lambda: GREY, "png"),
    "one bit": (lambda: GREY.convert("1"), "png"),
    "16 bit": (lambda: Image.fromarray((HOLE * 65535).astype(numpy.uint16)), "png"),
    "255 in 16 bit": (lambda: Image.fromarray((HOLE * 255).astype(numpy.uint16)), "png"),
    "1 in 16 bit": (lambda: Image.fromarray(HOLE.astype(numpy.uint16)), "png"),
    "32 bit": (lambda: Image.fromarray((HOLE * 255).astype(numpy.int32)), "tif"),
    "floats": (lambda: Image.fromarray(HOLE.astype(numpy.float32)), "tif"),
    "0 and 1": (lambda: Image.fromarray(HOLE.astype(numpy.uint8)), "png"),
    "a palette's red": (lambda: palette(0, 0, 0, 128, 0, 0), "png"),
    "red on black": (
        lambda: Image.fromarray(numpy.dstack([HOLE * 255, HOLE * 0, HOLE * 0]).astype(numpy.uint8)),
        "png",
    ),
    "a photo with a hole": (lambda: with_alpha(PHOTO, 255 - HOLE * 255), "png"),
    "black with a hole": (lambda: with_alpha((0, 0, 0), 255 - HOLE * 255), "png"),
    "opaque everywhere": (lambda: GREY.convert("RGBA"), "png"),
    "smoothed edges": (smooth, "png"),
    "compressed": (lambda: GREY, "jpg"),
    "WebP": (lambda: GREY, "webp"),
}
NONE: dict[str, tuple[Callable[[], Image.Image], str, str]] = {
    "black": (lambda: Image.new("L", (80, 60)), "png", "the mask is empty"),
    "black with noise": (lambda: Image.fromarray(PHOTO[..., 0] // 64), "jpg", "the mask is empty"),
    "grey": (lambda: Image.new("L", (80, 60), 7), "png", "the mask is empty"),
    "black in 16 bit": (lambda: Image.fromarray(numpy.zeros((60, 80), numpy.uint16)), "png", "the mask is empty"),
    "a photo": (lambda: Image.fromarray(PHOTO), "png", "values where two are needed"),
    "a ramp": (lambda: Image.linear_gradient("L"), "png", "the mask has 256 values where two are needed"),
    "labels": (
        lambda: Image.fromarray((HOLE * 1 + numpy.roll(HOLE, 25, 0) * 2).astype(numpy.uint8)),
        "png",
        "values where two are needed",
    ),
    "0, 1 and 255 to be ignored": (
        lambda: Image.fromarray(numpy.where(numpy.roll(HOLE, 22, 0), 255, HOLE).astype(numpy.uint8)),
        "png",
        "the mask has 3 values",
    ),
    "white strokes on nothing": (lambda: with_alpha((255, 255, 255), HOLE * 255), "png", "either could be meant"),
}


def opened(picture: Image.Image, suffix: str, folder: Path) -> Image.Image:
    path = folder / f"mask.{suffix}"
    picture.save(path, **({"quality": 80} if suffix in ("jpg", "webp") else {}))
    return open_mask(path)


@pytest.mark.parametrize("name", FORMS)
def test_every_form_masks_the_same(name: str, tmp_path: Path) -> None:
    make, suffix = FORMS[name]
    mask = opened(make(), suffix, tmp_path)
    assert mask.mode == "RGB"
    assert NO_MASK not in mask.info
    values = numpy.asarray(mask.resize((80, 60), Image.Resampling.NEAREST))
    assert set(numpy.unique(values)) == {0, 255}
    assert (values[..., 0] > 0).sum() == pytest.approx(HOLE.sum(), rel=0.05)
    assert numpy.logical_and(values[..., 0] > 0, HOLE).sum() >= 0.95 * HOLE.sum()


@pytest.mark.parametrize("name", NONE)
def test_what_is_none_says_why(name: str, tmp_path: Path) -> None:
    make, suffix, words = NONE[name]
    assert words in opened(make(), suffix, tmp_path).info[NO_MASK]


def test_all_white_masks_all(tmp_path: Path) -> None:
    mask = opened(Image.new("L", (8, 6), 255), "png", tmp_path)
    assert mask.getextrema() == ((255, 255),) * 3
    assert NO_MASK not in mask.info


def test_a_mask_is_turned_like_its_photo(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    buffer = io.BytesIO()
    GREY.save(buffer, "PNG", exif=exif)
    (tmp_path / "mask.png").write_bytes(buffer.getvalue())
    assert open_mask(tmp_path / "mask.png").size == (60, 80)


def test_a_mask_is_fitted_to_its_picture_and_loosely_to_an_edit_of_it(tmp_path: Path) -> None:
    mask = opened(GREY, "png", tmp_path)
    fitted = fit_mask(mask, (40, 30))
    assert (fitted.mode, fitted.size, fitted.getbbox()) == ("L", (40, 30), (5, 10, 25, 20))
    with pytest.raises(PictureError, match=r"another shape \(80x60\) than the source \(80x62\)"):
        fit_mask(mask, (80, 62))
    assert fit_mask(mask, (80, 62), edited=True).size == (80, 62)
    with pytest.raises(PictureError, match="another shape"):
        fit_mask(mask, (80, 66), edited=True)
    with pytest.raises(PictureError, match="the mask is empty"):
        fit_mask(opened(Image.new("L", (80, 60)), "png", tmp_path), (80, 60), edited=True)
