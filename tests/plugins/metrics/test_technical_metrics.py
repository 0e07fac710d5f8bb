"""Pictures that were damaged in known ways, and what is measured of it."""

from __future__ import annotations

import io

import pytest
from PIL import Image, ImageDraw, ImageFilter

from edit_eval.judges.contract import JudgeRequest
from edit_eval.plugins.metrics.in_worker.technical_metrics import TechnicalMetrics

numpy = pytest.importorskip("numpy")
pytest.importorskip("skimage.measure")


def photograph(seed: int = 0, side: int = 256) -> Image.Image:
    """Soft ground, sharp things: outlines, and areas without any."""
    draw_from = numpy.random.default_rng(seed)
    ground = Image.fromarray(draw_from.integers(60, 200, (8, 8, 3), dtype=numpy.uint8)).resize((side, side))
    pen = ImageDraw.Draw(ground)
    for x, y, size, *colour in draw_from.integers(
        (0, 0, 8, 0, 0, 0), (side, side, 50, 255, 255, 255), (40, 6)
    ).tolist():
        pen.ellipse((x, y, x + size, y + size // 2), fill=tuple(colour), outline=(20, 20, 20))
    return ground


def jpeg(picture: Image.Image, quality: int) -> Image.Image:
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=quality)
    return Image.open(file).convert("RGB")


def measured(edit: Image.Image, source: Image.Image | None = None) -> dict[str, float]:
    judge = TechnicalMetrics(TechnicalMetrics.Parameters())
    judge.load(["cpu"])
    (reply,) = judge.judge([JudgeRequest(user="", pictures={"source": source or photograph(), "edit": edit})])
    scales = judge.measures(TechnicalMetrics.Parameters())
    assert all(name in reply.values or name in reply.text for name in scales)
    for name, value in reply.values.items():
        lowest, highest = scales[name]["lowest"], scales[name]["highest"]
        assert (lowest is None or lowest <= value) and (highest is None or value <= highest)  # noqa: PT018
    return reply.values


def test_an_unchanged_picture_has_lost_nothing() -> None:
    measures = measured(photograph())
    assert measures.pop("blocking") < 0.05
    assert measures == {"blur_added": 0, "aspect": 0, "pixels": 0, "zoom": 0, "shift": 0}


@pytest.mark.check
def test_blur_and_blocks_grow_with_their_dose() -> None:
    blurred = [measured(photograph().filter(ImageFilter.GaussianBlur(by)))["blur_added"] for by in (0.5, 1, 2)]
    assert 0 < blurred[0] < blurred[1] < blurred[2]
    assert measured(photograph().filter(ImageFilter.SHARPEN))["blur_added"] < 0
    blocks = [measured(jpeg(photograph(), quality))["blocking"] for quality in (90, 50, 5)]
    assert blocks[0] < blocks[1] < blocks[2]
    assert blocks[2] > 0.2


@pytest.mark.parametrize("keep", [0.96, 0.9])
def test_a_crop_is_a_zoom(keep: float) -> None:
    source, edge = photograph(), round(256 * (1 - keep) / 2)
    crop = source.crop((edge, edge, 256 - edge, 256 - edge)).resize(source.size, Image.Resampling.LANCZOS)
    measures = measured(crop)
    assert measures["zoom"] == pytest.approx(100 * numpy.log2(256 / (256 - 2 * edge)), abs=1.7)
    assert measures["shift"] < 1


def test_a_shift_and_another_size() -> None:
    source = photograph()
    moved = source.transform(source.size, Image.Transform.AFFINE, (1, 0, -12, 0, 1, -5))
    measures = measured(moved)
    assert measures["shift"] == pytest.approx(100 * 13 / 256, abs=0.6)
    assert measures["zoom"] == 0
    wide = measured(source.resize((512, 256)))
    assert (wide["aspect"], wide["pixels"]) == (1, 1)
    assert wide["zoom"] == 0


def test_another_picture_fits_nowhere() -> None:
    assert not {"zoom", "shift"} & {*measured(photograph(7))}
    assert {*measured(Image.new("RGB", (256, 256), (90, 90, 90)))} == {"blocking", "aspect", "pixels"}
