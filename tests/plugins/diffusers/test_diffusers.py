"""Any pipeline of diffusers: the real classes with tiny weights edit a photograph; two tables against the classes."""

from __future__ import annotations

import dataclasses
import io
import json
import shutil
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image
from pydantic import TypeAdapter

from edit_eval import evaluate
from edit_eval.errors import ConfigurationError, LoadError, PictureError
from edit_eval.pictures import pixel_digest
from edit_eval.plugins.diffusers.in_worker.diffusers import PARTS, DiffusersModel
from edit_eval.plugins.diffusers.in_worker.preset_lookup import guess_row
from edit_eval.plugins.diffusers.in_worker.preset_table import PIPELINE
from edit_eval.plugins.diffusers.in_worker.release_table import RELEASE
from edit_eval.pretrained.folders import list_parts, locate
from edit_requests import no_step
from tiny_presets import EDITING, SETTINGS, TinyFolder, asked, loaded, photograph

Parameters = DiffusersModel.Parameters


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyFolder:
    pytest.importorskip("diffusers")
    return TinyFolder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def model(tiny: TinyFolder) -> Callable[[str], DiffusersModel]:
    kept: dict[str, DiffusersModel] = {}

    def get(name: str) -> DiffusersModel:
        if name not in kept:
            kept[name] = loaded(tiny / name)
        return kept[name]

    return get


def pixels(model: DiffusersModel, *seeds: int, **pictures: Image.Image) -> list[str]:
    return [pixel_digest(model.edit(asked(seed, **pictures), no_step)) for seed in seeds or (7,)]


SHOWN = ("QwenImage21TurboModularPipeline", "StableDiffusionXLInstructPix2PixPipeline")


@pytest.mark.real_models
class TestEdits:
    @pytest.mark.one_in(2)
    @pytest.mark.parametrize(
        "name", [name if name in SHOWN else pytest.param(name, marks=pytest.mark.models) for name in EDITING]
    )
    def test_a_photograph_is_edited_twice_alike(self, name: str, model: Callable[[str], DiffusersModel]) -> None:
        steps: list[tuple[int, int]] = []
        edit = model(name).edit(asked(), lambda step, of: steps.append((step, of)))
        assert steps == [(1, 2), (2, 2)]
        assert min(edit.size) >= 32
        other, again = pixels(model(name), 8, 7)
        assert again == pixel_digest(edit) != other
        about = model(name).about()
        assert about["pipeline"] == name
        assert all(isinstance(value, str) for value in about.values())

    @pytest.mark.check
    def test_what_there_is_to_be_guarded_against(self, model: Callable[[str], DiffusersModel]) -> None:
        """Sizes: where a pipeline left to itself makes a square or a wide picture, the source's shape is kept."""
        for name in ("FluxKontextPipeline", "ChronoEditPipeline", "StableDiffusionXLInstructPix2PixPipeline"):
            wide, tall = (
                model(name).edit(asked(source=photograph(size=size)), no_step).size for size in ((96, 48), (48, 96))
            )
            assert wide[0] > wide[1], name
            assert tall[0] < tall[1], name
        assert model("QwenImage21Pipeline").edit(asked(), no_step).mode == "RGBA"
        for name in ("StableDiffusionInstructPix2PixPipeline", "Flux2KleinPipeline", "DreamLitePipeline"):
            assert model(name).edit(asked(), no_step).size == (96, 64)

    def test_a_size_that_is_asked_for_is_the_edits(self, tiny: TinyFolder) -> None:
        call = {"_auto_resize": False, "max_sequence_length": 32}
        kontext = loaded(tiny / "FluxKontextPipeline", canvas=None, size=[96, 32], call=call)
        assert kontext.edit(asked(), no_step).size == (96, 32), "its own area would overrule it"
        given = DiffusersModel.effective(Parameters("Shitao/OmniGen-v1-diffusers", size=[96, 32]))["call"]
        assert given["use_input_image_size_as_output"] is False

    def test_several_pictures_are_no_edit(self) -> None:
        torch = pytest.importorskip("torch")
        from edit_eval.plugins.diffusers.in_worker.diffusers import _numbers

        row = guess_row("LayersPipeline", {"image": 0, "prompt": 0})
        for layers in (torch.zeros(2, 3, 8, 8), [[torch.zeros(3, 8, 8), torch.zeros(3, 8, 8)]]):
            with pytest.raises(PictureError, match="LayersPipeline returned"):
                _numbers(SimpleNamespace(images=layers), row)
        assert _numbers(SimpleNamespace(images=[torch.zeros(3, 8, 8)]), row).shape == (1, 3, 8, 8)

    @pytest.mark.one_in(3)
    @pytest.mark.parametrize(
        "name",
        [
            "QwenImageEditPlusPipeline",
            "Flux2KleinPipeline",
            "JoyImageEditPlusPipeline",
            "ZImageOmniPipeline",
            "QwenImage21TurboModularPipeline",
            "Flux3DistilledModularPipeline",
        ],
    )
    def test_several_sources_in_their_order(self, name: str, model: Callable[[str], DiffusersModel]) -> None:
        first, other = photograph(), photograph("chelsea")
        both = pixels(model(name), source=first, source_2=other)
        assert both == pixels(model(name), source=first, source_2=other)
        assert len({*both, *pixels(model(name), source=other, source_2=first), *pixels(model(name), source=first)}) == 3

    def test_a_second_source_is_refused_by_a_pipeline_of_one(self, model: Callable[[str], DiffusersModel]) -> None:
        with pytest.raises(PictureError, match="2 sources, but LongCatImageEditPipeline takes 1 at most"):
            model("LongCatImageEditPipeline").edit(asked(source=photograph(), source_2=photograph()), no_step)

    def test_the_processs_own_random_numbers_are_seeded_for_each_edit_and_left_as_they_were(
        self, model: Callable[[str], DiffusersModel]
    ) -> None:
        import torch

        drawn: list[float] = []
        edit = model("LongCatImageEditPipeline").edit
        for seed in (7, 8, 7):
            torch.manual_seed(len(drawn))
            before = torch.get_rng_state()
            edit(asked(seed), lambda step, of: drawn.append(float(torch.rand(()))))
            assert bool((torch.get_rng_state() == before).all())
        assert drawn[0:2] == drawn[4:6]
        assert drawn[0:2] != drawn[2:4]

    def test_what_on_step_raises_ends_the_edit_also_where_there_is_no_callback(
        self, model: Callable[[str], DiffusersModel]
    ) -> None:
        def stop(step: int, steps: int) -> None:
            raise InterruptedError(f"at step {step}")

        before = pixels(model("DreamLiteMobilePipeline"))
        with pytest.raises(InterruptedError, match="at step 1"):
            model("DreamLiteMobilePipeline").edit(asked(), stop)
        assert pixels(model("DreamLiteMobilePipeline")) == before

    def test_nan_is_no_picture(self, model: Callable[[str], DiffusersModel], monkeypatch: pytest.MonkeyPatch) -> None:
        mobile = model("DreamLiteMobilePipeline")
        weight = mobile._pipeline.unet.conv_out.weight
        kept = weight.detach().clone()
        try:
            weight.data.fill_(float("nan"))
            with pytest.raises(PictureError, match="returned NaN"):
                mobile.edit(asked(), no_step)
        finally:
            weight.data.copy_(kept)

    def test_edits_are_those_of_diffusers_own_call(
        self, model: Callable[[str], DiffusersModel], tiny: TinyFolder
    ) -> None:
        import torch
        from diffusers import DiffusionPipeline

        name = "StableDiffusionInstructPix2PixPipeline"
        stock = DiffusionPipeline.from_pretrained(tiny / name)
        stock.set_progress_bar_config(disable=True)
        torch.manual_seed(7)
        theirs = stock(
            image=photograph(),
            prompt="make the sky red",
            num_inference_steps=2,
            guidance_scale=7.5,
            image_guidance_scale=1.5,
            generator=torch.Generator("cpu").manual_seed(7),
        ).images[0]
        assert pixel_digest(theirs) == pixels(model(name))[0]

    def test_glm_image_cannot_edit_with_this_pair_of_libraries(self, tiny: TinyFolder) -> None:
        """Its note says so; where this fails, the libraries were mended, and the note has to go."""
        assert "transformers 5.23" in RELEASE["zai-org/GLM-Image"].environment
        with pytest.raises(RuntimeError, match="expected input"):
            loaded(tiny / "GlmImagePipeline").edit(asked(), no_step)

    @pytest.mark.one_in(6)
    @pytest.mark.parametrize("name", EDITING)
    def test_every_network_may_have_keywords_of_its_own(
        self, name: str, model: Callable[[str], DiffusersModel]
    ) -> None:
        import torch

        components = model(name)._pipeline.components
        networks = {part for part, component in components.items() if isinstance(component, torch.nn.Module)}
        assert networks <= set(PARTS)

    def test_offload(self, tiny: TinyFolder, model: Callable[[str], DiffusersModel]) -> None:
        for offload in ("model", "group"):
            offloaded = loaded(tiny / "LongCatImageEditPipeline", offload=offload)
            assert offloaded.about()["offload"] == offload
            assert min(offloaded.edit(asked(), no_step).size) >= 32


@pytest.mark.real_models
@pytest.mark.models
def test_two_workers_make_the_pixels_of_this_process(
    tiny: TinyFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Callable[[str], DiffusersModel]
) -> None:
    """All classes in each of two further processes, each with about half of the samples."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))  # tiny_models, which the class imports
    data = io.BytesIO()
    photograph().save(data, "PNG")
    items = [
        {
            "subset": "物理",
            "original_image_path": f"images/{name}.png",
            "original_description_en": name,
            "edit_instruction_en": name,
            "src_img_b64": b64encode(data.getvalue()).decode(),
        }
        for name in EDITING
    ]
    (tmp_path / "benchmark.json").write_text(json.dumps(items), "utf-8")
    run = evaluate(
        {
            "benchmark": {"data_path": str(tmp_path / "benchmark.json"), "cache_dir": str(tmp_path / "cache")},
            "diffusion_model": {
                "class_path": f"{Path(__file__).parent / 'tiny_presets.py'}:EveryPipeline",
                "params": {"device_ids": "cpu:2", "folder": str(tiny.folder)},
            },
            "reward_model": {"type": "testing", "params": {"device_ids": "cpu:1"}},
            "evaluation": {"controls": 0},
            "execution": {"schedule": "round_robin", "pilot": False},
        },
        run_dir=tmp_path / "run",
        report=False,
    )
    made = {edit.sample_id: edit.pixels for edit in run.results.edits}
    seeds = {edit.sample_id: edit.seed for edit in run.results.edits}
    assert {edit.device for edit in run.results.edits} == {"cpu:0", "cpu:1"}
    assert made == {
        name: pixel_digest(model(name).edit(dataclasses.replace(asked(seeds[name]), instruction=name), no_step))
        for name in EDITING
    }


class TestUnknown:
    def test_a_class_in_no_table_is_guessed(self) -> None:
        single = guess_row("NewPipeline", {"image": 0, "prompt": 0, "height": 0, "width": 0})
        assert (single.source, single.most_sources, single.sized, single.negative_argument) == ("image", 1, True, "")
        several = guess_row("NewPipeline", {"images": 0, "prompt": 0, "negative_prompt": 0})
        assert (several.source, several.most_sources, several.sized) == ("images", None, False)
        assert "NewPipeline is not in the table" in several.notes[0]
        with pytest.raises(LoadError, match="does not take a picture with a prompt"):
            guess_row("TextPipeline", {"prompt": 0})

    @pytest.mark.real_models
    def test_it_edits_and_says_what_was_guessed(
        self, tiny: TinyFolder, model: Callable[[str], DiffusersModel], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        name = "StableDiffusionInstructPix2PixPipeline"
        known = pixels(model(name))
        monkeypatch.delitem(PIPELINE, name)
        unknown = loaded(tiny / name, guidance={"guidance_scale": 7.5})
        assert pixels(unknown) == known  # what was not given, the class has by itself
        assert "it is assumed that `image` takes the source" in unknown.about()["note"]

    def test_a_name_that_nobody_knows_needs_its_class(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
        with pytest.raises(ConfigurationError, match="give `pipeline`"):
            DiffusersModel.effective(Parameters("someone/new-model"))
        given = DiffusersModel.effective(Parameters("someone/new-model", pipeline="Flux2KleinPipeline"))
        assert given["num_inference_steps"] == 50
        snapshot = tmp_path / "models--someone--new-model" / "snapshots" / "abc"
        snapshot.mkdir(parents=True)
        (snapshot.parents[1] / "refs").mkdir()
        (snapshot.parents[1] / "refs" / "main").write_text("abc")
        index = {"_class_name": "Flux2KleinPipeline", "is_distilled": True}
        (snapshot / "model_index.json").write_text(json.dumps(index))
        again = DiffusersModel.effective(Parameters("someone/new-model", pipeline="Flux2KleinPipeline"))
        assert again == given, "the key stays, once the weights are here"
        assert DiffusersModel.effective(Parameters("someone/new-model"))["num_inference_steps"] == 4
        with pytest.raises(ConfigurationError, match="there is no folder"):
            DiffusersModel.effective(Parameters("./not/here"))
        with pytest.raises(ConfigurationError, match=r"has no model_index\.json"):
            DiffusersModel.effective(Parameters(str(tmp_path)))
        (tmp_path / "modular_model_index.json").write_text("{}")
        with pytest.raises(ConfigurationError, match=r"is a modular pipeline \(of no class\), of which only Q"):
            DiffusersModel.effective(Parameters(str(tmp_path)))


@pytest.mark.real_models
class TestLoading:
    def test_a_text_encoder_keeps_what_the_pipeline_drops(self, model: Callable[[str], DiffusersModel]) -> None:
        seen: list[Any] = []
        longcat = model("LongCatImageEditPipeline")
        looking = longcat._pipeline.text_encoder.model.language_model.register_forward_pre_hook(
            lambda module, given, keywords: seen.append(keywords.get("position_ids")), with_kwargs=True
        )
        try:
            pixels(longcat)
        finally:
            looking.remove()
        assert all(given is not None and given.shape[0] == 3 for given in seen)
        assert "mm_token_type_ids" in longcat.about()["repairs"]

    def test_over_several_devices_the_large_networks_are_spread_and_keywords_reach_their_part(
        self, tiny: TinyFolder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        name, asked_for = "ChronoEditPipeline", {}

        def note(location: Any, part: str, dtype: str, devices: Any, offload: str, keywords: Any) -> None:
            asked_for[part] = (list(devices), keywords)

        monkeypatch.setattr("edit_eval.plugins.diffusers.in_worker.diffusers.load_part", note)
        config = {"load_in_4bit": True}
        load = {"transformer": {"quantization_config": config}, "vae": {"dtype": "bfloat16"}, "variant": "fp16"}
        model = DiffusersModel(Parameters(str(tiny / name), load=load))
        location = locate(str(tiny / name), None, "model_index.json", "")
        locations = {part: (location, {}) for part, _, _ in list_parts(location.index)}
        model._parts(locations, PIPELINE[name], ["cuda:0", "cuda:1"], "none")
        assert asked_for == {
            "transformer": (["cuda:0", "cuda:1"], {"variant": "fp16", "quantization_config": config}),
            "text_encoder": (["cuda:0", "cuda:1"], {"variant": "fp16"}),
            "image_encoder": (["cuda:0"], {"variant": "fp16", "dtype": "float32"}),
            "vae": (["cuda:0"], {"variant": "fp16", "dtype": "bfloat16"}),
        }

    def test_a_weight_that_is_missing_is_named(self, tiny: TinyFolder, tmp_path: Path) -> None:
        from safetensors.torch import load_file, save_file

        folder = Path(shutil.copytree(tiny / "DreamLiteMobilePipeline", tmp_path / "copy"))
        file = folder / "unet" / "diffusion_pytorch_model.safetensors"
        tensors = load_file(file)
        del tensors["conv_out.weight"]
        save_file(tensors, file, metadata={"format": "pt"})
        with pytest.raises(LoadError, match="weights are missing from the files of"):
            loaded(folder)

    def test_an_argument_that_the_call_does_not_take(self, tiny: TinyFolder) -> None:
        with pytest.raises(LoadError, match="call: the call of DreamLitePipeline takes no `layers`"):
            loaded(tiny / "DreamLitePipeline", call={"layers": 4})

    def test_another_class_than_the_one_that_was_named(self, tiny: TinyFolder) -> None:
        with pytest.raises(LoadError, match="GlmImagePipeline was expected"):
            loaded(tiny / "DreamLitePipeline", pipeline="GlmImagePipeline")

    def test_a_class_that_this_diffusers_does_not_have(self, tiny: TinyFolder, tmp_path: Path) -> None:
        folder = Path(shutil.copytree(tiny / "DreamLitePipeline", tmp_path / "copy"))
        index = json.loads((folder / "model_index.json").read_text())
        (folder / "model_index.json").write_text(json.dumps(index | {"_class_name": "NewerPipeline"}))
        with pytest.raises(LoadError, match=r"is a NewerPipeline, which diffusers \d+\.\d+\.\d+ does not have"):
            loaded(folder)

    def test_adapters_change_the_pixels_and_the_schedule(
        self, tiny: TinyFolder, tmp_path: Path, model: Callable[[str], DiffusersModel]
    ) -> None:
        pytest.importorskip("peft")
        import torch
        from safetensors.torch import load_file, save_file

        name = "FluxKontextPipeline"
        plain = model(name)
        layer = plain._pipeline.transformer.transformer_blocks[0].attn.to_q
        torch.manual_seed(0)
        key = "transformer.transformer_blocks.0.attn.to_q"
        save_file(
            {
                f"{key}.lora_A.weight": torch.randn(2, layer.in_features),
                f"{key}.lora_B.weight": torch.randn(layer.out_features, 2),
            },
            tmp_path / "lora.safetensors",
        )
        lora = {"name": str(tmp_path / "lora.safetensors"), "num_inference_steps": 3}

        def adapted(**more: Any) -> DiffusersModel:
            given = TypeAdapter(Parameters).validate_python({"model_name": "x", "loras": [{**lora, **more}]}).loras
            return loaded(tiny / name, loras=given, num_inference_steps=None)

        steps: list[tuple[int, int]] = []
        full = adapted()
        full.edit(asked(), lambda step, of: steps.append((step, of)))
        assert steps[-1] == (3, 3)
        nothing = adapted(weight=0.0)
        assert pixels(nothing) == pixels(loaded(tiny / name, num_inference_steps=3))
        assert pixels(full) != pixels(nothing)
        shifted = adapted(scheduler={"use_dynamic_shifting": False, "shift": 5.0})
        assert shifted._pipeline.scheduler.config.shift == 5.0
        assert pixels(shifted) != pixels(full)
        tensors = load_file(tmp_path / "lora.safetensors")
        deeper = {name.replace("blocks.0", "blocks.59"): tensor.clone() for name, tensor in tensors.items()}
        save_file(tensors | deeper, tmp_path / "lora.safetensors")
        with pytest.raises(LoadError, match=r"lora.safetensors fits FluxKontextPipeline in part: 2 of 4 tensors"):
            adapted()
        given = full.parameters.loras
        part = loaded(tiny / name, loras=given, loras_in_part=True, num_inference_steps=None)
        assert part.about()["loras"].endswith("lora.safetensors 1 (2 of 4 tensors)")
        assert part.about()["note"] == f"LoRA {tmp_path}/lora.safetensors: 2 of 4 tensors applied"
        assert "(" not in full.about()["loras"] + full.about()["note"]
        assert pixels(part) == pixels(full)
        with pytest.raises(LoadError, match="loras: DreamLitePipeline takes none"):
            loaded(tiny / "DreamLitePipeline", loras=full.parameters.loras)


def test_small_settings_are_for_classes_that_are_tried() -> None:
    assert set(SETTINGS) <= set(EDITING)
    assert len(EDITING) >= 12
