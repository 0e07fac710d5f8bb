"""Qwen-Image-Edit with the real pipelines of diffusers and tiny weights, against diffusers itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from pydantic import ValidationError

from edit_eval.errors import ConfigurationError, LoadError, PictureError
from edit_eval.plugins.diffusers.in_worker.diffusers import DiffusersModel
from edit_eval.plugins.diffusers.in_worker.qwen_image_edit import QwenImageEdit
from edit_requests import no_step, picture, request
from own_components import adapter_of
from tiny_edits import edited, levels_apart, loaded, pixels

Parameters = QwenImageEdit.Parameters


@pytest.fixture(scope="module")
def model(tiny_models: Path) -> QwenImageEdit:
    return loaded(tiny_models / "qwen-image-edit")


@pytest.fixture(scope="module")
def plus(tiny_models: Path) -> QwenImageEdit:
    return loaded(tiny_models / "qwen-image-edit-plus")


@pytest.fixture
def copy(tiny_models: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_models / "qwen-image-edit", tmp_path / "copy"))


class TestParameters:
    def test_defaults_and_unknown_keys(self) -> None:
        adapter = adapter_of(QwenImageEdit)
        given = adapter.validate_python({"model_name": "some/model"})
        assert (given.num_inference_steps, given.true_cfg_scale, given.negative_prompt) == (50, 4.0, " ")
        assert (given.dtype, given.canvas, given.load, given.call) == ("bfloat16", None, {}, {})
        with pytest.raises(ValidationError, match="num_steps"):
            adapter.validate_python({"num_steps": 3})

    @pytest.mark.parametrize(
        ("wrong", "text"),
        [
            ({"dtype": "bf16"}, "'bf16' is none of bfloat16"),
            ({"num_inference_steps": 0}, "at least 1 step"),
            ({"canvas": 100}, "at least 1024"),
            ({"call": {"generator": 1}}, "call: generator cannot be given there"),
            ({"load": {"vae": "fp32"}}, "load.vae: 'fp32' is not a mapping"),
            ({"load": {"vae": {"dtype": "fp32"}}}, "'fp32' is none of bfloat16"),
            ({"load": {"device_map": "auto"}}, "load: device_map cannot be set there"),
        ],
    )
    def test_wrong_values_are_refused_before_anything_is_loaded(self, wrong: dict[str, Any], text: str) -> None:
        with pytest.raises(ValidationError, match=text):
            adapter_of(QwenImageEdit).validate_python(wrong)
        with pytest.raises(ValueError, match=text):
            Parameters(**wrong)


@pytest.mark.real_models
class TestEdit:
    def test_steps_are_reported_and_the_picture_has_the_canvas_and_the_shape_of_the_source(
        self, model: QwenImageEdit
    ) -> None:
        steps: list[tuple[int, int]] = []
        edit = model.edit(request(picture(200, 100)), lambda step, of: steps.append((step, of)))
        assert steps == [(1, 2), (2, 2)]
        assert (edit.mode, edit.size) == ("RGB", (96, 32))

    def test_the_seed_decides_and_nothing_before_it(self, model: QwenImageEdit) -> None:
        first = pixels(model, seed=7)
        others = [pixels(model, seed=8), pixels(model, prompt="remove the dog"), pixels(model, source=picture(64, 64))]
        assert pixels(model, seed=7) == first
        assert len({first, *others}) == 4

    @pytest.mark.check
    def test_another_replica_gives_the_same_pixels(self, model: QwenImageEdit, tiny_models: Path) -> None:
        assert pixels(loaded(tiny_models / "qwen-image-edit")) == pixels(model)

    @pytest.mark.one_in(2)
    @pytest.mark.parametrize("name", ["qwen-image-edit", "qwen-image-edit-plus"])
    @pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
    def test_equal_to_diffusers_own_call_bit_for_bit(
        self, name: str, dtype: str, tiny_models: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ours = loaded(tiny_models / name, dtype=dtype).edit(request(picture()), no_step)
        stock = stock_pipeline(tiny_models / name, dtype)
        shrink(stock, monkeypatch)
        given_token_types(stock)
        import torch

        theirs = stock(
            image=picture(),
            prompt="make the sky red",
            negative_prompt=" ",
            true_cfg_scale=4.0,
            num_inference_steps=2,
            generator=torch.Generator("cpu").manual_seed(7),
        ).images[0]
        assert ours.tobytes() == theirs.tobytes()

    def test_on_its_own_canvas_the_pipeline_is_called_as_it_is(
        self, tiny_models: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from edit_eval.plugins.diffusers.in_worker.diffusers_pipeline import call_on_canvas

        stock = stock_pipeline(tiny_models / "qwen-image-edit", "float32")
        assert call_on_canvas(type(stock), None) is type(stock).__call__
        model = loaded(tiny_models / "qwen-image-edit", canvas=None)
        sizes: list[tuple[int, int]] = []

        def look(*, image: Image.Image, **_: Any) -> None:  # a whole edit would take long
            sizes.append(image.size)
            raise InterruptedError

        monkeypatch.setattr(model._pipeline, "encode_prompt", look)
        with pytest.raises(InterruptedError):
            model.edit(request(picture(150, 100)), no_step)
        assert sizes == [(1248, 832)]

    @pytest.mark.check
    def test_a_canvas_leaves_diffusers_as_it_was(self, tiny_models: Path) -> None:
        from diffusers.pipelines.qwenimage import pipeline_qwenimage_edit as module

        before = (module.calculate_dimensions, module.QwenImageEditPipeline.__call__)
        small, large = (loaded(tiny_models / "qwen-image-edit", canvas=canvas) for canvas in (1024, 16384))
        sizes = [model.edit(request(picture(64, 64), "x", 7), no_step).size for model in (small, large, small)]
        assert sizes == [(32, 32), (128, 128), (32, 32)]
        assert (module.calculate_dimensions, module.QwenImageEditPipeline.__call__) == before

    @pytest.mark.check
    def test_a_negative_prompt_is_always_passed(self, tiny_models: Path, model: QwenImageEdit) -> None:
        folder = tiny_models / "qwen-image-edit"
        guided = pixels(model)
        weaker = pixels(loaded(folder, true_cfg_scale=2.0))
        unguided = pixels(loaded(folder, true_cfg_scale=1.0))
        empty = pixels(loaded(folder, negative_prompt=""))
        other = pixels(loaded(folder, negative_prompt="a blurred photo of a dog"))
        assert len({guided, weaker, unguided, empty, other}) == 5

    @pytest.mark.check
    def test_modes_and_odd_sizes(self, model: QwenImageEdit) -> None:
        plain = picture(51, 37)
        expected = pixels(model, source=plain)
        with_alpha = plain.convert("RGBA")
        assert pixels(model, source=with_alpha) == expected
        grey = plain.convert("L")
        assert pixels(model, source=grey) == pixels(model, source=grey.convert("RGB"))
        assert pixels(model, source=grey) != expected

    @pytest.mark.check
    @pytest.mark.parametrize("size", [(2000, 40), (40, 2000), (1, 1), (3, 150)])
    def test_long_and_small_pictures(self, model: QwenImageEdit, plus: QwenImageEdit, size: tuple[int, int]) -> None:
        for edit_model in (model, plus):
            assert min(edit_model.edit(request(picture(*size)), no_step).size) >= 32

    def test_a_picture_too_long_for_the_text_encoder_is_refused(self, model: QwenImageEdit) -> None:
        with pytest.raises(PictureError, match=r"2010 x 10 pixels.*longer than 200 times"):
            model.edit(request(picture(2010, 10)), no_step)

    def test_what_on_step_raises_ends_the_edit(self, model: QwenImageEdit) -> None:
        def stop(step: int, steps: int) -> None:
            raise InterruptedError(f"at step {step}")

        before = pixels(model)
        with pytest.raises(InterruptedError, match="at step 1"):
            model.edit(request(picture()), stop)
        assert pixels(model) == before

    def test_call_reaches_the_pipeline(self, tiny_models: Path) -> None:
        model = loaded(tiny_models / "qwen-image-edit", call={"sigmas": [1.0, 0.7, 0.4]})
        steps: list[tuple[int, int]] = []
        model.edit(request(picture()), lambda step, of: steps.append((step, of)))
        assert steps == [(1, 3), (2, 3), (3, 3)]

    def test_not_loaded(self) -> None:
        with pytest.raises(LoadError, match="not loaded"):
            QwenImageEdit(Parameters()).edit(request(picture(), "x", 0), no_step)


@pytest.mark.real_models
class TestTokenTypes:
    """diffusers issue 14194: without mm_token_type_ids the picture's tokens lose their rows and columns."""

    def positions(self, model: QwenImageEdit) -> list[Any]:
        seen: list[Any] = []

        def look(module: Any, arguments: Any, keywords: dict[str, Any]) -> None:
            given = keywords.get("position_ids")
            seen.append(None if given is None else given.clone())

        looking = model._pipeline.text_encoder.model.language_model.register_forward_pre_hook(look, with_kwargs=True)
        pixels(model)
        looking.remove()
        return seen

    @pytest.mark.check
    @pytest.mark.one_in(2)
    @pytest.mark.parametrize("name", ["qwen-image-edit", "qwen-image-edit-plus"])
    def test_positions_have_rows_and_columns(self, name: str, tiny_models: Path) -> None:
        model = loaded(tiny_models / name)
        seen = self.positions(model)
        assert len(seen) == 2  # the instruction, and the negative prompt
        for given in seen:
            assert given is not None
            assert given.shape[:2] == (3, 1)
            assert not (given[1] == given[2]).all()
        repaired = pixels(model)
        assert "14194" in model.about()["repairs"]
        # The test of the test: without the repair the positions are gone, in silence, and the pixels are others.
        model._pipeline.text_encoder._forward_pre_hooks.clear()
        assert self.positions(model) == [None, None]
        assert pixels(model) != repaired


@pytest.mark.real_models
class TestPlus:
    def test_recognised_by_its_index(self, plus: QwenImageEdit, model: QwenImageEdit) -> None:
        assert plus.about()["pipeline"] == "QwenImageEditPlusPipeline"
        assert model.about()["pipeline"] == "QwenImageEditPipeline"
        assert plus.edit(request(picture()), no_step).size == (64, 64)
        assert pixels(plus) == pixels(plus)
        assert pixels(plus) != pixels(model)


@pytest.mark.real_models
class TestLoading:
    @pytest.mark.parametrize("offload", ["model", "group"])
    def test_offload_changes_no_more_than_rounding(self, offload: str, model: QwenImageEdit, tiny_models: Path) -> None:
        offloaded = loaded(tiny_models / "qwen-image-edit", offload)
        assert levels_apart(edited(model), edited(offloaded)) <= 1
        assert offloaded.about()["offload"] == offload
        assert (len(getattr(offloaded._pipeline, "_all_hooks", [])) > 0) == (offload == "model")

    @pytest.mark.parametrize(("offload", "spent"), [("none", False), ("model", False), ("group", True)])
    def test_an_edit_that_runs_out_of_memory_leaves_no_network_on_the_device(
        self, offload: str, spent: bool, tiny_models: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What accelerate would move is counted, since the device is the CPU here."""
        import accelerate.hooks
        import torch

        there: list[str] = []
        moved, taken_off = accelerate.hooks.CpuOffload.pre_forward, torch.nn.Module.to

        def bring(self: Any, module: Any, *given: Any, **named: Any) -> Any:
            there.append(type(module).__name__)
            return moved(self, module, *given, **named)

        def to(self: Any, *given: Any, **named: Any) -> Any:
            if type(self).__name__ in there and "cpu" in map(str, given):
                there[:] = [name for name in there if name != type(self).__name__]
            return taken_off(self, *given, **named)

        model = loaded(tiny_models / "qwen-image-edit", offload)
        before = pixels(model)
        monkeypatch.setattr(accelerate.hooks.CpuOffload, "pre_forward", bring)
        monkeypatch.setattr(torch.nn.Module, "to", to)
        steps = 0

        def run_out(step: int, of: int) -> None:
            nonlocal steps
            steps += 1
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9.00 GiB.")

        with pytest.raises(torch.OutOfMemoryError):
            model.edit(request(picture()), run_out)
        assert steps == 1
        assert there == []
        assert model.spent == spent
        if not spent:
            assert pixels(model) == before

    def test_about(self, model: QwenImageEdit) -> None:
        about = model.about()
        assert about["dtype"] == "float32"
        assert about["image_backend"].startswith("pil")
        assert {"torch", "diffusers", "transformers", "attention", "commit", "pillow"} <= set(about)
        assert all(isinstance(value, str) for value in about.values())

    def test_dtypes_are_the_parts_own_where_they_are_given(self, tiny_models: Path) -> None:
        import torch

        model = loaded(tiny_models / "qwen-image-edit", dtype="bfloat16", load={"vae": {"dtype": "float32"}})
        parts = (model._pipeline.transformer, model._pipeline.text_encoder, model._pipeline.vae)
        assert [part.dtype for part in parts] == [torch.bfloat16, torch.bfloat16, torch.float32]

    def test_the_progress_bar_is_silent(self, model: QwenImageEdit, capfd: pytest.CaptureFixture[str]) -> None:
        pixels(model)
        assert capfd.readouterr() == ("", "")

    def test_a_gpu_that_is_not_there(self, tiny_models: Path) -> None:
        import torch

        if torch.cuda.is_available():
            pytest.skip("there is a GPU")
        model = QwenImageEdit(Parameters(model_name=str(tiny_models / "qwen-image-edit")))
        with pytest.raises(LoadError, match="sees no GPU"):
            model.load(["cuda:0"])

    def test_want_of_memory_passes_as_it_is(self, tiny_models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        import torch
        from diffusers import QwenImageTransformer2DModel

        def full(*args: Any, **keywords: Any) -> Any:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

        monkeypatch.setattr(QwenImageTransformer2DModel, "from_pretrained", full)
        with pytest.raises(torch.OutOfMemoryError):
            loaded(tiny_models / "qwen-image-edit")

    def test_one_step_is_refused_where_the_schedule_makes_nan_of_it(self, copy: Path) -> None:
        with pytest.raises(LoadError, match="use at least 2"):
            loaded(copy, num_inference_steps=1)
        scheduler = copy / "scheduler" / "scheduler_config.json"
        scheduler.write_text(json.dumps(json.loads(scheduler.read_text()) | {"shift_terminal": None}))
        assert pixels(loaded(copy, num_inference_steps=1))

    def test_another_pipeline_is_refused(self, copy: Path) -> None:
        index = json.loads((copy / "model_index.json").read_text())
        (copy / "model_index.json").write_text(json.dumps(index | {"_class_name": "FluxKontextPipeline"}))
        with pytest.raises(ConfigurationError, match="is a FluxKontextPipeline, not one of QwenImageEditPipeline, "):
            loaded(copy)
        with pytest.raises(ConfigurationError, match="is a FluxKontextPipeline"):  # before anything is loaded
            QwenImageEdit.effective(Parameters(model_name=str(copy)))

    @pytest.mark.parametrize(
        ("part", "file", "weight"),
        [
            ("transformer", "diffusion_pytorch_model.safetensors", "transformer_blocks.0.attn.to_q.weight"),
            ("text_encoder", "model.safetensors", "model.layers.0.self_attn.q_proj.weight"),
            ("vae", "diffusion_pytorch_model.safetensors", "decoder.conv_in.weight"),
        ],
    )
    def test_a_weight_that_is_missing_is_named(self, part: str, file: str, weight: str, copy: Path) -> None:
        def remove(tensors: dict[str, Any]) -> None:
            del tensors[next(name for name in tensors if name.endswith(weight))]

        change(copy / part / file, remove)
        with pytest.raises(LoadError, match="weights are missing from the files of"):
            loaded(copy)

    def test_a_text_encoder_saved_without_its_head_is_whole(self, copy: Path, model: QwenImageEdit) -> None:
        def remove(tensors: dict[str, Any]) -> None:
            del tensors["lm_head.weight"]

        change(copy / "text_encoder" / "model.safetensors", remove)
        assert pixels(loaded(copy)) == pixels(model)

    def test_a_truncated_file_is_one_line(self, copy: Path) -> None:
        weights = copy / "transformer" / "diffusion_pytorch_model.safetensors"
        weights.write_bytes(weights.read_bytes()[:5000])
        with pytest.raises(LoadError, match="cannot be loaded") as caught:
            loaded(copy)
        assert "\n" not in str(caught.value)

    def test_revision_changes_with_a_weight(self, copy: Path, tiny_models: Path) -> None:
        def nudge(tensors: dict[str, Any]) -> None:
            tensors["proj_out.weight"][0, 0] += 1e-3

        before = QwenImageEdit.revision(Parameters(model_name=str(copy)))
        assert before == QwenImageEdit.revision(Parameters(model_name=str(tiny_models / "qwen-image-edit")))
        change(copy / "transformer" / "diffusion_pytorch_model.safetensors", nudge)
        assert QwenImageEdit.revision(Parameters(model_name=str(copy))) != before
        assert QwenImageEdit.revision(Parameters(revision="abc")) == "abc"

    def test_without_a_network_a_name_is_one_line(self) -> None:
        with pytest.raises(LoadError, match="hf download no-one/no-model"):
            QwenImageEdit(Parameters(model_name="no-one/no-model")).load(["cpu"])


@pytest.mark.real_models
class TestNumbers:
    """A picture of NaN would be black, or anything: it is no picture."""

    def broken(self, copy: Path, part: str, weight: str, value: float) -> QwenImageEdit:
        def spoil(tensors: dict[str, Any]) -> None:
            tensors[weight].fill_(value)

        change(copy / part / "diffusion_pytorch_model.safetensors", spoil)
        return loaded(copy)

    @pytest.mark.parametrize("value", [float("nan"), float("inf")])
    def test_nan_in_the_transformer(self, copy: Path, value: float) -> None:
        with pytest.raises(PictureError, match=r"the edit model returned NaN \(pixels\)"):
            pixels(self.broken(copy, "transformer", "proj_out.weight", value))

    def test_nan_in_the_vae(self, copy: Path) -> None:
        with pytest.raises(PictureError, match=r"the edit model returned NaN \(pixels\)"):
            pixels(self.broken(copy, "vae", "decoder.conv_in.weight", float("nan")))


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from edit_eval.plugins.diffusers.in_worker.qwen_image_edit import QwenImageEdit
from tiny_edits import loaded, pixels
folder = Path(sys.argv[1])
QwenImageEdit(QwenImageEdit.Parameters(model_name=str(folder))).prepare()
from diffusers.models import modeling_utils
assert modeling_utils.HF_ENABLE_PARALLEL_LOADING
print("pixels", pixels(loaded(folder)))
"""


def pixels_elsewhere(folder: Path, **environment: str) -> str:
    """The pixels that another process makes with the defaults, prepared as a worker does."""
    command = [sys.executable, "-c", SCRIPT, str(folder), str(Path(__file__).parents[1])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, env=os.environ | environment)
    assert "pixels " in done.stdout, done.stderr
    return done.stdout.split()[-1]


@pytest.mark.real_models
@pytest.mark.models
def test_the_same_pixels_in_another_process_prepared_first_with_weights_read_by_several_threads(
    model: QwenImageEdit, copy: Path
) -> None:
    from diffusers import QwenImageTransformer2DModel

    transformer = QwenImageTransformer2DModel.from_pretrained(copy / "transformer")
    (copy / "transformer" / "diffusion_pytorch_model.safetensors").unlink()
    transformer.save_pretrained(copy / "transformer", max_shard_size="500KB")
    assert len(list((copy / "transformer").glob("*.safetensors"))) > 2
    assert pixels_elsewhere(copy, OMP_NUM_THREADS="2") == pixels(model)


class TestRow:
    """It is `diffusers` under the name and with the parameters of the base system."""

    def test_what_is_passed_is_what_diffusers_passes(self) -> None:
        ours = QwenImageEdit.effective(
            Parameters(num_inference_steps=15, true_cfg_scale=2.0, negative_prompt="blurred")
        )
        theirs = DiffusersModel.effective(
            DiffusersModel.Parameters(
                "Qwen/Qwen-Image-Edit",
                num_inference_steps=15,
                guidance={"true_cfg_scale": 2.0},
                negative_prompt="blurred",
            )
        )
        assert {**ours, "pipeline": "QwenImageEditPipeline"} == theirs

    def test_the_defaults_are_the_base_systems_for_plus_too(self) -> None:
        for name in ("Qwen/Qwen-Image-Edit", "Qwen/Qwen-Image-Edit-2511"):
            passed = QwenImageEdit.effective(Parameters(model_name=name))
            assert (passed["num_inference_steps"], passed["guidance"]) == (50, {"true_cfg_scale": 4.0})
            assert passed["negative_prompt"] == " "

    def test_a_name_on_the_hub_that_is_in_no_table_has_one_key_before_and_after_its_download(
        self, plus_index: str
    ) -> None:
        unknown = Parameters(model_name="someone/distilled")
        assert QwenImageEdit.effective(unknown) == QwenImageEdit.effective(Parameters(model_name=plus_index))
        assert QwenImageEdit.duration(unknown) == QwenImageEdit.duration(Parameters())

    def test_plus_takes_several_sources(self, plus_index: str) -> None:
        assert QwenImageEdit.sources(Parameters(model_name=plus_index)) is None
        assert QwenImageEdit.sources(Parameters()) == 1

    @pytest.mark.real_models
    @pytest.mark.parametrize("name", ["qwen-image-edit", "qwen-image-edit-plus"])
    def test_pixels_are_those_of_diffusers(self, name: str, tiny_models: Path) -> None:
        row = DiffusersModel(
            DiffusersModel.Parameters(
                str(tiny_models / name),
                num_inference_steps=2,
                dtype="float32",
                canvas=4096,
                guidance={"true_cfg_scale": 4.0},
            )
        )
        row.load(["cpu"])
        assert row.edit(request(picture()), no_step).tobytes() == edited(loaded(tiny_models / name)).tobytes()

    @pytest.mark.real_models
    @pytest.mark.models
    def test_no_variable_of_the_environment_changes_the_kernel_of_attention(
        self, copy: Path, model: QwenImageEdit
    ) -> None:
        assert model.about()["attention"].startswith("native;")
        assert pixels_elsewhere(copy, DIFFUSERS_ATTN_BACKEND="_native_math") == pixels(model)


@pytest.fixture
def plus_index(tmp_path: Path) -> str:
    """A folder that says that it is a -Plus."""
    (tmp_path / "plus").mkdir()
    (tmp_path / "plus" / "model_index.json").write_text('{"_class_name": "QwenImageEditPlusPipeline"}')
    return str(tmp_path / "plus")


def change(file: Path, how: Callable[[dict[str, Any]], None]) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(file)
    how(tensors)
    save_file(tensors, file, metadata={"format": "pt"})


def stock_pipeline(folder: Path, dtype: str) -> Any:
    """The pipeline as diffusers loads it; only the processor is ours, for want of torchvision."""
    import torch
    from diffusers import DiffusionPipeline

    from edit_eval.pretrained.processors import image_only

    processor = image_only("Qwen2VLProcessor").from_pretrained(folder / "processor")
    pipeline = DiffusionPipeline.from_pretrained(folder, processor=processor, dtype=getattr(torch, dtype))
    pipeline.set_progress_bar_config(disable=True)
    return pipeline


def shrink(pipeline: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another way to a canvas of 4096 pixels: the module's own names."""
    module = sys.modules[type(pipeline).__module__]
    sizes = module.calculate_dimensions
    monkeypatch.setattr(module, "calculate_dimensions", lambda area, ratio: sizes(area / 256, ratio))


def given_token_types(pipeline: Any) -> None:
    """Another way to the token types: as the processor makes them, beside what the pipeline passes on."""
    made: list[Any] = []
    processor, encoder = pipeline.processor, pipeline.text_encoder

    class Watched(type(processor)):
        def __call__(self, *args: Any, **keywords: Any) -> Any:
            inputs = super().__call__(*args, **keywords)
            made.append(inputs["mm_token_type_ids"])
            return inputs

    processor.__class__ = Watched
    encoder.register_forward_pre_hook(
        lambda _, args, keywords: (args, {**keywords, "mm_token_type_ids": made[-1]}), with_kwargs=True
    )
