"""Two tables: pipelines against their classes, published weights against both; and what keys know of it."""

from __future__ import annotations

import dataclasses
import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from edit_eval.config.identity import identity
from edit_eval.config.loading import load_configuration
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.diffusers.in_worker.diffusers import PARTS, DiffusersModel
from edit_eval.plugins.diffusers.in_worker.preset_table import PIPELINE, PIPELINES
from edit_eval.plugins.diffusers.in_worker.presets import PROMPTS, settle, size_for
from edit_eval.plugins.diffusers.in_worker.release_table import RELEASES

Parameters = DiffusersModel.Parameters
JOY = "jdopensource/JoyAI-Image-Edit-Diffusers"


class TestTable:
    """A new diffusers that renames an argument fails here, and not at a user's."""

    @pytest.mark.real_models
    @pytest.mark.parametrize("row", PIPELINES, ids=lambda row: row.name)
    def test_each_row_fits_its_class(self, row: Any) -> None:
        diffusers = pytest.importorskip("diffusers")
        pipeline_class = getattr(diffusers, row.name)
        if row.modular:
            blocks = pipeline_class().blocks
            assert not row.rewriting or row.rewriting in blocks.sub_blocks
            arguments = {
                argument.name: argument
                for argument in blocks.get_workflow(f"image_conditioned{'_inpainting' * bool(row.mask)}").inputs
                if argument.name
            }
            arguments |= {row.rewriting: None} if row.rewriting else {}
            parts = set(pipeline_class().component_names)
        else:
            arguments = inspect.signature(pipeline_class.__call__).parameters
            parts = set(inspect.signature(pipeline_class.__init__).parameters)
        passed = {row.source, "prompt", "generator", "output_type", "num_inference_steps", *row.guidance, *row.call}
        passed |= {row.negative_argument} if row.negative is not None or row.without_negative else set()
        passed |= {"height", "width"} if row.sized else set()
        passed |= {row.rewriting} if row.rewriting else set()
        passed |= {row.mask} if row.mask else set()
        lever = row.canvas.lever
        passed |= set(row.with_size)
        passed |= {lever} if lever and lever != "calculate_dimensions" else set()
        assert passed <= set(arguments)
        assert row.sized == ({"height", "width"} <= set(arguments))
        assert not row.negative_argument or row.negative_argument in arguments
        assert row.negative_argument or "negative_prompt" not in arguments
        if "signature" in row.figures or row.modular:
            assert row.steps == arguments["num_inference_steps"].default
            assert dict(row.guidance) == {name: arguments[name].default for name in row.guidance}
        # No weight of the class's own is left out: it would be a default that nobody records.
        weights = {name for name in arguments if name.endswith(("guidance_scale", "cfg_scale"))}
        unused = {name for name in weights - set(row.guidance) if arguments[name].default is not None}
        assert not unused
        assert set(row.load) <= parts
        if lever == "calculate_dimensions":
            assert hasattr(inspect.getmodule(pipeline_class), lever)
        assert row.prompt in PROMPTS

    def test_each_release_fits_its_row(self) -> None:
        for release in RELEASES:
            row = PIPELINE[release.pipeline]
            allowed = {"num_inference_steps", "negative_prompt", "area", *row.guidance}
            assert set(release.settings) <= allowed, release.name
            assert set(release.parts) <= set(PARTS)
            assert release.figures
            card = DiffusersModel.card(Parameters(release.name))
            assert card["licence"]
            assert card["terms"]

    def test_what_is_meant_depends_on_the_weights(self) -> None:
        def effective(name: str, **more: Any) -> dict[str, Any]:
            return DiffusersModel.effective(Parameters(name, **more))

        distilled = effective("black-forest-labs/FLUX.2-klein-4B")
        base = effective("black-forest-labs/FLUX.2-klein-base-4B")
        assert (distilled["num_inference_steps"], distilled["guidance"]["guidance_scale"]) == (4, 1.0)
        assert (base["num_inference_steps"], base["guidance"]["guidance_scale"]) == (50, 4.0)
        assert effective("black-forest-labs/FLUX.2-klein-4B", num_inference_steps=8)["num_inference_steps"] == 8
        kontext = effective("black-forest-labs/FLUX.1-Kontext-dev")
        assert kontext["negative_prompt"] is None
        more = effective("black-forest-labs/FLUX.1-Kontext-dev", guidance={"true_cfg_scale": 3.0})
        assert more["negative_prompt"] == " ", "without one the weight does nothing, in silence"
        lora = {"name": "someone/lora", "num_inference_steps": 4, "guidance": {"true_cfg_scale": 1.0}}
        (given,) = TypeAdapter(Parameters).validate_python({"model_name": "x/y", "loras": [lora]}).loras
        fast = effective("Qwen/Qwen-Image-Edit-2511", loras=[given])
        assert (fast["num_inference_steps"], fast["guidance"]["true_cfg_scale"]) == (4, 1.0)

    def test_a_variant_is_read_off_the_models_own_index(self) -> None:
        row = PIPELINE["Flux2KleinPipeline"]
        assert settle({"is_distilled": True}, row, None, {}).steps == 4
        assert settle({"is_distilled": False}, row, None, {}).steps == 50

    def test_sizes(self) -> None:
        kontext, glm = PIPELINE["FluxKontextPipeline"].canvas, PIPELINE["GlmImagePipeline"].canvas
        assert size_for(kontext, kontext.area, (1500, 1000)) == (1248, 832)
        assert size_for(glm, None, (1000, 750)) == (992, 736)
        assert size_for(PIPELINE["Flux2Pipeline"].canvas, None, (1000, 750)) is None

    def test_prompts(self) -> None:
        assert PROMPTS["tags"]("add a hat", 2) == "<img><|image_1|></img> <img><|image_2|></img> add a hat"
        assert PROMPTS["tags"]("put <img><|image_1|></img> here", 1) == "put <img><|image_1|></img> here"
        assert json.loads(PROMPTS["json"]("add a hat", 1)) == {"edit_instruction": "add a hat"}
        own = '{"edit_instruction": "add a hat", "style": "oil"}'
        assert PROMPTS["json"](own, 1) == own


class TestParameters:
    @pytest.mark.parametrize(
        ("wrong", "text"),
        [
            ({"dtype": "bf16"}, "'bf16' is none of bfloat16"),
            ({"num_inference_steps": 0}, "at least 1 step"),
            ({"size": [64]}, r"takes \[width, height\]"),
            ({"size": [64, 64], "canvas": 4096}, "it is given together with `canvas`"),
            ({"call": {"generator": 1}}, "call: generator cannot be given there"),
            ({"load": {"unet": "fp32"}}, "load.unet: 'fp32' is not a mapping"),
            ({"loras": [{"name": "x/y", "weigth": 1}]}, "weigth"),
        ],
    )
    def test_wrong_values(self, wrong: dict[str, Any], text: str) -> None:
        with pytest.raises(ValidationError, match=text):
            TypeAdapter(Parameters).validate_python({"model_name": "x/y", **wrong})

    @pytest.mark.parametrize(
        ("name", "more", "text"),
        [
            ("meituan-longcat/LongCat-Image-Edit", {"size": [64, 64]}, "size: LongCatImageEditPipeline takes none"),
            (JOY, {"size": [64, 64]}, "size: JoyImageEditPipeline takes none"),
            ("black-forest-labs/FLUX.2-dev", {"negative_prompt": "x"}, "negative_prompt: Flux2Pipeline takes none"),
            ("black-forest-labs/FLUX.2-dev", {"canvas": 4096}, "canvas: Flux2Pipeline has none of its own"),
            ("Qwen/Qwen-Image-2.1", {"guidance": {"guidance_scale": 2.0}}, "has no guidance_scale; it has true_cfg"),
            ("carlofkl/DreamLite-mobile", {"guidance": {"guidance_scale": 2.0}}, "has none; leave it out"),
        ],
    )
    def test_what_a_class_does_not_take_is_refused_before_anything_is_loaded(
        self, name: str, more: dict[str, Any], text: str
    ) -> None:
        with pytest.raises(ConfigurationError, match=text):
            DiffusersModel.effective(Parameters(name, **more))


def configured(name: str, benchmark: dict[str, Any] | None = None, **more: Any) -> Any:
    return load_configuration(
        {
            "benchmark": benchmark or {"type": "scenes"},
            "diffusion_model": {"type": "diffusers", "params": {"model_name": name, "device_ids": "cpu:1", **more}},
            "reward_model": {"type": "scene_judge"},
        }
    )


class TestKeys:
    def key(self, name: str, **more: Any) -> str:
        (section,) = configured(name, **more).edit_models.values()
        return identity(section, Path.cwd(), "edit_model").digest

    def test_what_is_effective_is_in_the_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        name = "Qwen/Qwen-Image-Edit-2511"
        before = self.key(name)
        assert self.key(name, num_inference_steps=40) == before, "what is the default anyway"
        assert self.key(name, guidance={"true_cfg_scale": 4.0}) == before
        others = [
            self.key(name, num_inference_steps=8),
            self.key(name, guidance={"true_cfg_scale": 1.0}),
            self.key(name, size=[512, 512]),
            self.key(name, loras=[{"name": "someone/lora"}]),
            self.key(name, loras=[{"name": "someone/lora", "scheduler": {"shift": 3.0}}]),
            self.key("Qwen/Qwen-Image-2.1", call={"use_kv_cache": False}),
            self.key("Qwen/Qwen-Image-2.1"),
        ]
        assert len({before, *others}) == len(others) + 1
        row = dataclasses.replace(PIPELINE["QwenImageEditPlusPipeline"], steps=41)
        monkeypatch.setitem(PIPELINE, row.name, row)
        assert self.key(name) != before, "a preset that changes makes edits anew"
        assert self.key(name, num_inference_steps=40) == before

    def test_the_file_of_an_adapter_is_in_the_revision(self, tmp_path: Path) -> None:
        file = tmp_path / "lora.safetensors"
        file.write_bytes(b"one")
        parameters = TypeAdapter(Parameters).validate_python(
            {"model_name": "Qwen/Qwen-Image-Edit-2511", "loras": [{"name": str(file)}]}
        )
        before = DiffusersModel.revision(parameters)
        file.write_bytes(b"two")
        assert DiffusersModel.revision(parameters) != before
        file.unlink()
        with pytest.raises(ConfigurationError, match="loras: there is no folder"):
            DiffusersModel.revision(parameters)
