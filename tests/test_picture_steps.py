"""Pictures as a view shows them: scaled, cut, encoded, in the order that was asked for."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from PIL import Image, ImageChops

from edit_eval.errors import PictureError
from edit_eval.pictures import GREY, blank, check_edit, with_steps


def coloured(width: int = 32, height: int = 24) -> Image.Image:
    """A picture in which no two rows and no two columns are alike."""
    picture = Image.new("RGB", (width, height))
    picture.putdata([(8 * x % 256, 10 * y % 256, 3 * (x + y) % 256) for y in range(height) for x in range(width)])
    return picture


def test_without_steps_it_is_the_picture_itself() -> None:
    picture = coloured()
    assert with_steps(picture, ()) is picture


@pytest.mark.parametrize(
    ("size", "side", "becomes"),
    [
        ((32, 24), 16, (16, 12)),
        ((24, 32), 16, (12, 16)),
        ((32, 24), 10, (10, 8)),
        ((32, 24), 32, (32, 24)),
        ((32, 24), 64, (32, 24)),
        ((300, 1), 10, (10, 1)),
    ],
)
def test_the_longest_side_is_scaled_down_and_never_up(
    size: tuple[int, int], side: int, becomes: tuple[int, int]
) -> None:
    assert with_steps(coloured(*size), [("longest", side)]).size == becomes


def test_fit_scales_up_too_and_clip_takes_what_there_is() -> None:
    picture = coloured(32, 24)
    assert with_steps(picture, [("fit", 64)]).size == (64, 48)
    assert with_steps(picture, [("fit", 16)]).tobytes() == with_steps(picture, [("longest", 16)]).tobytes()
    assert with_steps(picture, [("clip", 0, 20, 100, 100)]).tobytes() == picture.crop((0, 20, 32, 24)).tobytes()
    with pytest.raises(PictureError, match="does not lie within"):
        with_steps(picture, [("clip", 40, 0, 50, 10)])


@pytest.mark.parametrize("side", [7, 16, 31, 32, 99])
def test_a_thumbnail_is_pillows(side: int) -> None:
    picture = coloured(32, 24)
    expected = picture.copy()
    expected.thumbnail((side, side))
    shown = with_steps(picture, [("thumbnail", side)])
    assert (shown.size, shown.tobytes()) == (expected.size, expected.tobytes())
    assert (picture.size, max(shown.size)) == ((32, 24), min(side, 32))


@pytest.mark.parametrize(
    ("size", "scaled", "box"),
    [
        ((16, 12), (16, 12), (0, 0, 16, 12)),
        ((16, 16), (21, 16), (2, 0, 18, 16)),
        ((48, 12), (48, 36), (0, 12, 48, 24)),
        ((5, 9), (12, 9), (3, 0, 8, 9)),
    ],
)
def test_cover_scales_to_the_size_or_more_and_cuts_around_the_middle(
    size: tuple[int, int], scaled: tuple[int, int], box: tuple[int, int, int, int]
) -> None:
    picture = coloured(32, 24)
    expected = picture.resize(scaled, Image.Resampling.LANCZOS).crop(box)
    shown = with_steps(picture, [("cover", *size)])
    assert (shown.size, shown.tobytes()) == (size, expected.tobytes())


def test_of_several_sizes_the_nearest_in_shape_is_covered() -> None:
    sizes = (10, 20, 16, 16, 20, 10)
    for size, becomes in (((7, 21), (10, 20)), ((30, 29), (16, 16)), ((12, 16), (10, 20)), ((24, 16), (16, 16))):
        assert with_steps(coloured(*size), [("cover", *sizes)]).size == becomes, size
    assert with_steps(coloured(40, 10), [("cover", *sizes)]).size == (20, 10)


def test_like_gives_the_size_by_lanczos_filter_whatever_the_shape() -> None:
    picture = coloured()
    shown = with_steps(picture, [("like", 50, 10)])
    assert shown.tobytes() == picture.resize((50, 10), Image.Resampling.LANCZOS).tobytes()
    assert with_steps(picture, [("like", 32, 24)]) is picture


def test_a_crop_is_that_part_and_steps_are_taken_in_order() -> None:
    picture = coloured()
    part = with_steps(picture, [("crop", 3, 4, 8, 10)])
    assert part.size == (5, 6)
    assert part.getpixel((0, 0)) == picture.getpixel((3, 4))
    assert with_steps(picture, [("crop", 0, 0, 32, 24)]).tobytes() == picture.tobytes()
    halved = with_steps(picture, [("longest", 16), ("crop", 0, 0, 16, 12), ("longest", 8)])
    assert halved.size == (8, 6)


@pytest.mark.parametrize(
    "box", [(0, 0, 33, 24), (0, 0, 32, 25), (-1, 0, 5, 5), (0, -1, 5, 5), (5, 5, 5, 9), (9, 5, 5, 9), (40, 40, 50, 50)]
)
def test_a_crop_that_is_empty_or_outside_is_an_error(box: tuple[int, ...]) -> None:
    with pytest.raises(PictureError, match=re.escape("does not lie within the picture (32 x 24 pixels)")):
        with_steps(coloured(), [("crop", *box)])


def test_a_jpeg_is_encoded_and_decoded() -> None:
    picture = coloured()
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=30)
    shown = with_steps(picture, [("jpeg", 30)])
    assert shown.tobytes() == Image.open(buffer).convert("RGB").tobytes()
    better = with_steps(picture, [("jpeg", 95)])
    worst, least = (ImageChops.difference(encoded, picture).convert("L").getextrema()[1] for encoded in (shown, better))
    assert worst > least


@pytest.mark.parametrize(
    "steps", [[], [("longest", 8)], [("like", 9, 9)], [("crop", 0, 0, 5, 5)], [("cover", 9, 9)], [("jpeg", 90)]]
)
def test_the_entries_of_its_file_stay_and_the_picture_does(steps: list[tuple[Any, ...]]) -> None:
    picture = coloured()
    picture.info = {"scene": "{}"}
    before = picture.tobytes()
    assert with_steps(picture, steps).info == {"scene": "{}"}
    assert (picture.tobytes(), picture.info) == (before, {"scene": "{}"})


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (
            ("blur", 3),
            "'blur' is not a step of a view; there are longest, fit, thumbnail, like, crop, clip, cover, jpeg",
        ),
        (("jpeg", 0), "a JPEG has a quality from 1 to 95, not 0"),
        (("jpeg", 100), "not 100"),
        (("thumbnail", 0), "the longest side of a view"),
        (("cover", 10, 0), "sizes to cover are pairs of 1 pixel or more, not 10, 0"),
        (("cover", 10), "sizes to cover are pairs"),
        (("cover", 40_000, 40_000), "scaled until it covers 40000 x 40000: 53333 x 40000 pixels, above the limit"),
        (("longest", 0), "the longest side of a view is 1 pixel or more, not 0"),
    ],
)
def test_what_is_no_step_is_an_error(step: tuple[Any, ...], said: str) -> None:
    with pytest.raises(PictureError, match=said):
        with_steps(coloured(), [step])


def test_a_blank_is_grey_and_counts_as_an_edit() -> None:
    assert blank((4, 3)).getcolors() == [(12, GREY)]
    assert check_edit(blank((32, 24)), coloured()) == ()
