"""Pictures measured against each other, and against values worked out by hand."""

from __future__ import annotations

import math

import pytest
from PIL import Image, ImageDraw

from edit_eval.errors import ModelError
from edit_eval.judges.contract import JudgeRequest
from edit_eval.masks import NO_MASK
from edit_eval.plugins.metrics.in_worker.picture_metrics import RADIUS, SCALES, PictureMetrics
from edit_eval.records import Reply

numpy = pytest.importorskip("numpy")
metrics = pytest.importorskip("skimage.metrics")

SIDE = 96


def noise(seed: int, size: tuple[int, int] = (SIDE, SIDE)) -> Image.Image:
    rng = numpy.random.default_rng(seed)
    return Image.fromarray(rng.integers(0, 256, (size[1], size[0], 3), dtype=numpy.uint8))


def mask(box: tuple[int, int, int, int] | None, size: tuple[int, int] = (SIDE, SIDE)) -> Image.Image:
    picture = Image.new("RGB", size)
    if box:
        ImageDraw.Draw(picture).rectangle((box[0], box[1], box[2] - 1, box[3] - 1), fill="white")
    return picture


def measured(**pictures: Image.Image) -> Reply:
    judge = PictureMetrics(PictureMetrics.Parameters())
    judge.prepare()
    judge.load(["cpu"])
    (reply,) = judge.judge([JudgeRequest(user="", pictures=pictures, form="measured")])
    declared = judge.measures(PictureMetrics.Parameters())
    for name, value in reply.values.items():
        lowest, highest = declared[name]["lowest"], declared[name]["highest"]
        assert lowest <= value <= (math.inf if highest is None else highest)
    return reply


class TestWholePicture:
    def test_by_hand(self) -> None:
        """One channel of a quarter of the pixels is off by 51 of 255: 0.2."""
        source = Image.new("RGB", (40, 40), (100, 100, 100))
        edit = source.copy()
        edit.paste((151, 100, 100), (0, 0, 20, 20))
        values = measured(source=source, edit=edit).values
        assert values["l1"] == pytest.approx(0.2 / 12)
        assert values["l2"] == pytest.approx(0.04 / 12)
        assert values["psnr"] == pytest.approx(-10 * math.log10(0.04 / 12))
        assert 0 < values["ssim"] < 1

    def test_ssim_by_the_formula(self) -> None:
        """Two even pictures: no variance, so only the means are compared (K1 = 0.01)."""
        edit = Image.new("RGB", (40, 40), (102, 102, 102))
        values = measured(source=Image.new("RGB", (40, 40), (204, 204, 204)), edit=edit).values
        assert values["ssim"] == pytest.approx((2 * 0.8 * 0.4 + 1e-4) / (0.8**2 + 0.4**2 + 1e-4))

    def test_ssim_and_psnr_are_the_librarys_own(self) -> None:
        source, edit = noise(0), Image.blend(noise(0), noise(1), 0.3)
        x, y = (numpy.asarray(picture) / 255 for picture in (source, edit))
        gaussian = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}
        values = measured(source=source, edit=edit).values
        ssim = metrics.structural_similarity(x, y, data_range=1.0, channel_axis=2, **gaussian)
        assert values["ssim"] == pytest.approx(ssim)
        assert values["psnr"] == pytest.approx(metrics.peak_signal_noise_ratio(x, y, data_range=1.0))

    def test_identical_pictures_have_no_psnr(self) -> None:
        reply = measured(source=noise(0), edit=noise(0))
        assert reply.values == {"l1": 0, "l2": 0, "ssim": pytest.approx(1)}
        assert reply.text == "against the source; psnr: the pictures are identical"

    def test_black_against_white_is_the_worst(self) -> None:
        values = measured(source=Image.new("RGB", (20, 20)), edit=Image.new("RGB", (20, 20), "white")).values
        assert (values["l1"], values["l2"], values["psnr"]) == (1, 1, 0)
        assert str(values["psnr"]) == "0.0"

    def test_a_reference_is_the_target(self) -> None:
        reply = measured(source=noise(0), reference=noise(1), edit=noise(1))
        assert reply.values["l2"] == 0
        assert reply.text.startswith("against the reference")

    def test_an_edit_of_another_size_is_scaled(self) -> None:
        source = Image.linear_gradient("L").convert("RGB")
        reply = measured(source=source, edit=source.resize((128, 64), Image.Resampling.LANCZOS))
        assert "the edit was scaled from 128x64 to 256x256" in reply.text
        assert reply.values["l1"] < 0.01

    def test_a_picture_smaller_than_the_window_has_no_ssim(self) -> None:
        reply = measured(source=noise(0, (10, 30)), edit=noise(1, (10, 30)))
        assert {*reply.values} == {"l1", "l2", "psnr"}
        assert "ssim: no window of 11 pixels fits" in reply.text

    def test_the_two_must_be_there(self) -> None:
        for lacking, pictures in {"edit": {"source": noise(0)}, "source": {"edit": noise(0)}}.items():
            with pytest.raises(ModelError, match=f"was not given the picture `{lacking}`"):
                measured(**pictures)


class TestBicubic:
    def measured(self, **pictures: Image.Image) -> Reply:
        request = JudgeRequest(user="", pictures=pictures, form="measured", sample_id="s")
        (reply,) = PictureMetrics(PictureMetrics.Parameters(bicubic=True)).judge([request])
        return reply

    def test_it_is_magicbrushs_for_any_size(self) -> None:
        target, edit = noise(1), noise(2, (SIDE // 2, SIDE))
        x, y = (
            numpy.asarray(picture, dtype=float) / 255 for picture in (target, edit.resize(target.size))
        )  # as the authors do
        values = self.measured(source=target, edit=edit).values
        assert values["l1_bicubic"] == pytest.approx(numpy.abs(x - y).mean())
        assert values["l2_bicubic"] == pytest.approx(((x - y) ** 2).mean())
        assert values["l1_bicubic"] != pytest.approx(values["l1"])

    def test_of_one_size_it_is_the_other(self) -> None:
        values = self.measured(source=noise(1), edit=noise(2)).values
        assert (values["l1_bicubic"], values["l2_bicubic"]) == pytest.approx((values["l1"], values["l2"]))


class TestOutside:
    def test_what_is_edited_is_not_in_it(self) -> None:
        """An edit that keeps to its mask leaves no trace outside, for any measure."""
        edit = noise(0)
        edit.paste(noise(1).crop((0, 0, 30, 40)), (30, 20))
        reply = measured(source=noise(0), edit=edit, mask=mask((30, 20, 60, 60)))
        assert reply.values["l1"] > 0
        assert reply.values["l1_outside"] == reply.values["l2_outside"] == 0
        assert reply.values["ssim_outside"] == pytest.approx(1, abs=1e-12)
        assert "psnr_outside: the pictures are identical there" in reply.text

    @pytest.mark.parametrize("covered", [0, 24, 48, 72])
    def test_unrelated_pictures_are_unrelated_whatever_the_mask(self, covered: int) -> None:
        replies = [
            measured(source=noise(seed), edit=noise(seed + 50), mask=mask((0, 0, covered, SIDE) if covered else None))
            for seed in range(5)
        ]
        mean = sum(reply.values["ssim_outside"] for reply in replies) / len(replies)
        assert abs(mean) < 0.03
        assert all(abs(reply.values["l1_outside"] - 1 / 3) < 0.02 for reply in replies)

    def test_a_mask_that_covers_nothing_changes_nothing(self) -> None:
        values = measured(source=noise(0), edit=noise(1), mask=mask(None)).values
        for name in SCALES:
            assert values[f"{name}_outside"] == pytest.approx(values[name])

    @pytest.mark.parametrize("box", [(0, 0, SIDE, SIDE), (RADIUS, RADIUS, SIDE - RADIUS, SIDE - RADIUS)])
    def test_a_mask_that_covers_everything_leaves_no_outside(self, box: tuple[int, int, int, int]) -> None:
        reply = measured(source=noise(0), edit=noise(1), mask=mask(box))
        assert {*reply.values} == {*SCALES}
        assert reply.text.endswith("; the mask, and a window's radius around it, leave nothing outside")

    def test_a_narrow_border_has_pixels_but_no_window(self) -> None:
        edge = RADIUS + 1
        reply = measured(source=noise(0), edit=noise(1), mask=mask((edge, edge, SIDE, SIDE)))
        assert {*reply.values} - {*SCALES} == {"l1_outside", "l2_outside", "psnr_outside"}
        assert "ssim_outside: no window" in reply.text

    def test_it_is_measured_against_the_source(self) -> None:
        reply = measured(source=noise(0), reference=noise(1), edit=noise(0), mask=mask((0, 0, 20, 20)))
        assert reply.values["l1"] > 0.3
        assert reply.values["l1_outside"] == 0
        assert "outside the mask against the source" in reply.text

    def test_what_compression_left_in_a_mask_does_not_count(self) -> None:
        grey = mask((20, 20, 40, 40)).point(lambda level: 250 if level else 6)
        values = measured(source=noise(0), edit=noise(1), mask=grey).values
        assert values == measured(source=noise(0), edit=noise(1), mask=mask((20, 20, 40, 40))).values

    def test_a_mask_of_another_shape_or_of_none_measures_nothing_outside(self) -> None:
        source = Image.new("RGB", (192, 96))
        turned = mask((40, 10, 60, 15), (96, 192))
        none = mask((0, 0, 1, 1), (192, 96))
        none.info[NO_MASK] = "the mask is empty: it has one value everywhere"
        for given, words in ((turned, "the mask has another shape (96x192) than"), (none, "the mask is empty")):
            reply = measured(source=source, edit=Image.new("RGB", (192, 96), "red"), mask=given)
            assert words in reply.text
            assert "l1" in reply.values
            assert not any(name.endswith("_outside") for name in reply.values)

    def test_nor_does_scaling_carry_anything_out(self) -> None:
        """What is edited, in white on black, reaches further once it is scaled; the mask's margin reaches as far."""
        source = Image.new("RGB", (192, 192))
        small = Image.new("RGB", (96, 24))
        small.paste("white", (40, 10, 60, 15))
        reply = measured(source=source, edit=small, mask=mask((40, 40, 60, 60), (96, 96)))
        assert "the mask was scaled from 96x96 to 192x192" in reply.text
        assert reply.values["l1"] > 0
        assert reply.values["l1_outside"] == 0


def test_a_batch_is_each_alone() -> None:
    judge = PictureMetrics(PictureMetrics.Parameters())
    requests = [JudgeRequest(user="", pictures={"source": noise(seed), "edit": noise(seed + 1)}) for seed in range(3)]
    assert judge.judge(requests) == [judge.judge([request])[0] for request in requests]
    assert judge.judge([]) == []
    assert judge.about()["scikit-image"]
