"""Copy and blank: the two edits that are none."""

from __future__ import annotations

import pytest
from PIL import Image
from pydantic import ValidationError

from edit_eval.edit_models.controls import Blank, CopySource
from edit_eval.pictures import check_edit
from edit_requests import request
from own_components import adapter_of


def source() -> Image.Image:
    picture = Image.linear_gradient("L").resize((40, 30)).convert("RGB")
    picture.info = {"scene": "{}"}
    return picture


def test_the_copy_has_the_sources_pixels_and_nothing_else_of_it() -> None:
    picture, steps = source(), []
    model = CopySource(CopySource.Parameters())
    model.load(["cpu"])
    copy = model.edit(request(picture), lambda step, count: steps.append((step, count)))
    assert copy is not picture
    assert copy.tobytes() == picture.tobytes()
    assert copy.info == {}
    assert picture.info == {"scene": "{}"}
    assert steps == [(1, 1)]
    assert check_edit(copy, picture) == ("identical_to_source",)


def test_the_blank_is_uniform_grey_of_the_same_size_and_counts_as_an_edit() -> None:
    picture, steps = source(), []
    model = Blank(Blank.Parameters())
    model.load([])
    blank = model.edit(request(picture), lambda step, count: steps.append((step, count)))
    assert blank.size == picture.size
    assert blank.getcolors() == [(40 * 30, (128, 128, 128))]
    assert steps == [(1, 1)]
    assert check_edit(blank, picture) == ()


@pytest.mark.parametrize("model", [CopySource, Blank])
def test_there_is_nothing_to_set(model: type[CopySource | Blank]) -> None:
    with pytest.raises(ValidationError):
        adapter_of(model).validate_python({"steps": 4})
