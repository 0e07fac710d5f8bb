"""Pipelines that edit in a mask: the real classes with tiny weights, and a table that decides every class with one."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy
import pytest
from PIL import Image

from edit_eval.edit_models.contract import EditRequest
from edit_eval.errors import ConfigurationError, PictureError
from edit_eval.pictures import pixel_digest
from edit_eval.plugins.diffusers.in_worker.diffusers import DiffusersModel
from edit_eval.plugins.diffusers.in_worker.preset_table import FILLING, NO_EDITORS, PIPELINES
from edit_requests import no_step
from tiny_presets import SETTINGS, TinyFolder, asked, loaded, photograph

pytestmark = pytest.mark.real_models

BOX = (32, 16, 64, 48)
"""Of the photograph's 96 x 64."""
QWEN = "QwenImageEditInpaintPipeline"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyFolder:
    pytest.importorskip("diffusers")
    return TinyFolder(tmp_path_factory.mktemp("tiny"))


def masked(seed: int = 7, box: tuple[int, int, int, int] = BOX) -> EditRequest:
    mask = Image.new("L", photograph().size)
    mask.paste(255, box)
    return dataclasses.replace(asked(seed), mask=mask)


def difference(one: Image.Image, other: Image.Image) -> tuple[float, float]:
    """The mean difference of two edits inside the mask, and the largest of those outside."""
    inside = numpy.asarray(masked().mask.resize(one.size, Image.Resampling.NEAREST)) > 0
    values = numpy.abs(numpy.asarray(one, dtype=float) - numpy.asarray(other, dtype=float)).max(2)
    return float(values[inside].mean()), float(values[~inside].max())


def test_every_installed_class_with_a_picture_a_prompt_and_a_mask_is_decided() -> None:
    """Rows with a mask, classes that fill one, and such as are not run: a new diffusers fails here, not at a user's."""
    diffusers = pytest.importorskip("diffusers")
    with_mask = set()
    for name in dir(diffusers):
        if name.endswith("Pipeline") and isinstance(kind := getattr(diffusers, name, None), type):
            if "ModularPipeline" in name:
                continue
            taken = inspect.signature(kind.__call__).parameters.keys()
            with_mask |= {name} if taken & {"mask", "mask_image"} and {"image", "prompt"} <= taken else set()
    rows = {row.name for row in PIPELINES if row.mask and not row.modular}
    assert with_mask == {*rows, *FILLING, *NO_EDITORS}
    assert not rows & {*FILLING, *NO_EDITORS}


def test_every_modular_pipeline_that_inpaints_by_instruction_has_a_row() -> None:
    diffusers = pytest.importorskip("diffusers")
    with_mask = set()
    for name in dir(diffusers):
        if re.fullmatch(r"\w+Edit\w*ModularPipeline", name):
            inputs = {given.name for given in getattr(diffusers, name)().blocks.inputs}
            with_mask |= {name} if "mask_image" in inputs else set()
    assert with_mask == {row.name for row in PIPELINES if row.mask and row.modular}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", [row.name for row in PIPELINES if row.mask])
def test_a_mask_decides_pixels_and_a_sample_without_one_is_edited_everywhere(name: str, tiny: TinyFolder) -> None:
    model = loaded(tiny / name)
    edits = [model.edit(request, no_step) for request in (masked(), masked(), masked(box=(0, 0, 96, 32)), asked())]
    digests = [pixel_digest(edit) for edit in edits]
    assert digests[0] == digests[1]
    assert len({*digests[1:]}) == 3


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("folder", "name"), [("QwenImageEditPipeline", QWEN), ("Flux2KleinPipeline", "Flux2KleinInpaintPipeline")]
)
def test_outside_the_mask_pixels_hold_where_the_pipeline_pastes(folder: str, name: str, tiny: TinyFolder) -> None:
    """On the weights of the class without a mask. `padding_mask_crop`: what is outside is the source, pixel by pixel;
    without it the pipeline keeps latents, which its VAE makes into pixels of its own."""
    call = {**SETTINGS[name].get("call", {}), "padding_mask_crop": 8}
    model = loaded(tiny / folder, name, pipeline=name, call=call)
    assert model.about()["pipeline"] == name
    one, other = (model.edit(masked(seed), no_step) for seed in (7, 8))
    source = photograph().resize(one.size, Image.Resampling.LANCZOS)
    inside, outside = difference(one, source)
    assert inside > 20
    assert outside == 0
    assert difference(one, other)[0] > 5
    kept = loaded(tiny / folder, name, pipeline=name)
    inside, outside = difference(kept.edit(masked(7), no_step), kept.edit(masked(8), no_step))
    assert inside > 5


def test_a_large_photograph_is_pasted_on_the_pipelines_own_canvas(tiny: TinyFolder) -> None:
    model = loaded(tiny / QWEN, call={"padding_mask_crop": 8})
    large = photograph(size=(300, 200))
    mask = Image.new("L", large.size)
    mask.paste(255, (100, 50, 200, 150))
    edit = model.edit(EditRequest(pictures={"source": large}, mask=mask, instruction="paint", seed=7), no_step)
    there = numpy.asarray(mask.resize(edit.size, Image.Resampling.NEAREST)) == 0
    scaled = numpy.asarray(large.resize(edit.size, Image.Resampling.LANCZOS))
    assert (numpy.asarray(edit)[there] == scaled[there]).all()


def test_nan_is_found_before_anything_is_pasted_over_it(tiny: TinyFolder) -> None:
    import torch

    model = loaded(tiny / QWEN, call={"padding_mask_crop": 8})
    with torch.no_grad():
        model._pipeline.vae.decoder.conv_out.bias.fill_(float("nan"))
    with pytest.raises(PictureError, match="NaN"):
        model.edit(masked(), no_step)
    assert "postprocess" not in vars(model._pipeline.image_processor)


def test_a_class_that_fills_masks_is_run_by_a_guess(tiny: TinyFolder, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny / "FluxKontextPipeline", tmp_path / "FluxInpaintPipeline"))
    index = json.loads((folder / "model_index.json").read_text())
    index["_class_name"] = "FluxInpaintPipeline"
    (folder / "model_index.json").write_text(json.dumps(index))
    parameters = DiffusersModel.Parameters(str(folder))
    assert DiffusersModel.takes_mask(parameters)
    assert "an instruction is taken for a description" in DiffusersModel.card(parameters)["note"]
    model = loaded(folder, "FluxInpaintPipeline", canvas=4096, call={"max_sequence_length": 32})
    edits = [model.edit(request, no_step) for request in (masked(), asked())]
    assert pixel_digest(edits[0]) != pixel_digest(edits[1])
    wide, high = edits[0].size
    assert wide > high, "the source's shape"


class TestBeforeLoading:
    @pytest.mark.parametrize(
        ("name", "pipeline", "words"),
        [
            ("Qwen/Qwen-Image-Edit", "QwenImageEditPlusPipeline", f"whose weights {QWEN} takes, too"),
            ("Qwen/Qwen-Image-Edit-2511", QWEN, "is a QwenImageEditPlusPipeline; leave it out"),
            ("Qwen/Qwen-Image-Edit", "NoSuchPipeline", "pipeline: Qwen/Qwen-Image-Edit is a QwenImageEditPipeline"),
            ("x/y", "FluxControlInpaintPipeline", "it needs a control picture"),
        ],
    )
    def test_a_pipeline_that_is_not_run_is_refused(self, name: str, pipeline: str, words: str) -> None:
        with pytest.raises(ConfigurationError, match=words):
            DiffusersModel.effective(DiffusersModel.Parameters(name, pipeline=pipeline))

    def test_another_class_on_a_releases_weights_is_another_model(self) -> None:
        plain: Any = DiffusersModel.Parameters("Qwen/Qwen-Image-Edit")
        in_mask = dataclasses.replace(plain, pipeline=QWEN)
        assert [DiffusersModel.takes_mask(each) for each in (plain, in_mask)] == [False, True]
        assert DiffusersModel.effective(in_mask)["pipeline"] == QWEN
        assert DiffusersModel.card(plain)["mask"] == f"`pipeline: {QWEN}`"
        assert DiffusersModel.card(in_mask)["mask"] == "`mask_image`"
        same = dataclasses.replace(plain, pipeline="QwenImageEditPipeline")
        assert DiffusersModel.effective(same) == DiffusersModel.effective(plain)
