"""What makes the judge `qwen3_vl` faster than the library's own road, on the real classes: the answers stay."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from edit_eval.errors import LoadError
from edit_eval.judges.answers import read_answer
from edit_eval.plugins.local_judges.in_worker import transformers as transformers_judge
from edit_eval.plugins.local_judges.in_worker.qwen3_vl import Qwen3VL
from edit_eval.plugins.preparation.fitting import ANSWER_WORK
from edit_eval.pretrained.loading import BESIDE_OTHERS
from edit_eval.records import Status
from local_judges import JUDGES, loaded, picture, request, rewrite


@pytest.fixture(params=JUDGES)
def copy(request: pytest.FixtureRequest, tiny_models: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_models / request.param, tmp_path / "copy"))


@pytest.mark.real_models
class TestSpeed:
    """What is faster than the library's own road gives the same."""

    @pytest.mark.parametrize("name", JUDGES)
    def test_patches_are_the_librarys_own(self, name: str, tiny_models: Path) -> None:
        import torch

        from edit_eval.plugins.local_judges.in_worker.judge_table import family_of_type
        from edit_eval.plugins.local_judges.in_worker.processing import patches
        from edit_eval.pretrained.processors import load_processor

        folder = tiny_models / name
        judge = loaded(folder)
        kind = json.loads((folder / "config.json").read_text())["model_type"]
        stock = load_processor(str(folder), family_of_type(kind).processor, {})
        every_level = Image.frombytes("RGB", (256, 64), bytes(range(256)) * 3 * 64)
        pictures = [every_level, *(picture(n, size) for n, size in enumerate([(64, 64), (300, 200), (31, 99)]))]
        text = "<|vision_start|><|image_pad|><|vision_end|>" * len(pictures)
        theirs = stock(text=[text], images=pictures, return_tensors="pt")
        ours = judge._processor(text=[text], images=pictures, return_tensors="pt")
        assert torch.equal(ours["input_ids"], theirs["input_ids"])
        assert torch.equal(ours["image_grid_thw"], theirs["image_grid_thw"])
        assert ours["pixel_values"].dtype == torch.uint8
        made = patches(ours, judge._processor.image_processor, judge._numbers)
        assert torch.equal(made, theirs["pixel_values"])
        assert len(theirs["pixel_values"].unique()) >= 256

    def test_a_step_left_out_in_the_models_files_is_left_to_the_library(self, copy: Path) -> None:
        rewrite(copy / "processor_config.json", image_processor={**image_settings(copy), "do_normalize": False})
        judge = loaded(copy)
        assert judge._numbers is None
        assert read_answer(judge.judge([request(0)])[0]).status is Status.OK

    @pytest.mark.check
    def test_one_kernel_of_the_experts_for_prompt_and_answer(
        self, tiny_models: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        requests = [request(number) for number in range(4)]
        answers = []
        for kernel in ("grouped_mm", "batched_mm", "eager", None):
            judge = loaded(tiny_models / "qwen3-vl-moe", experts_implementation=kernel)
            seen = set()
            forward = judge._model.model.language_model.forward

            def look(*args: Any, **keywords: Any) -> Any:
                seen.add(judge._model.model.language_model.config._experts_implementation)  # noqa: B023
                return forward(*args, **keywords)  # noqa: B023

            with monkeypatch.context() as patch:
                patch.setattr(judge._model.model.language_model, "forward", look)
                # As on a GPU, where transformers changes the kernel when the answer begins.
                patch.setattr(type(judge._model), "_optimize_model_for_decode", _changes_kernel)
                answers.append(judge.judge(requests))
            assert seen == ({kernel} if kernel else {"grouped_mm", "batched_mm"})
        assert answers == [answers[0]] * 4
        assert Qwen3VL.Parameters("x").experts_implementation is None, "what is not measured is left to the library"

    def test_a_load_of_fused_experts_takes_at_most_one_of_their_tensors_beside_the_weights(
        self, tiny_models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As published files have them, transposed; which `fitting.ANSWER_WORK` has room for."""
        import torch
        from safetensors.torch import load_file, save_file
        from transformers import core_model_loading as loading

        folder = Path(shutil.copytree(tiny_models / "qwen3-vl-moe", tmp_path / "copy"))
        text = json.loads((folder / "config.json").read_text())["text_config"]
        rewrite(folder / "config.json", text_config={**text, "moe_intermediate_size": 48})
        weights = folder / "model.safetensors"
        shapes = {"experts.gate_up_proj": (4, 64, 96), "experts.down_proj": (4, 48, 64)}
        stored = {
            name: next((torch.randn(shape) for end, shape in shapes.items() if name.endswith(end)), tensor)
            for name, tensor in load_file(weights).items()
        }
        save_file(stored, weights, {"format": "pt"})
        alive, sizes, lock = dict[int, int](), list[int](), threading.Lock()

        def seen(tensor: Any) -> Any:
            storage = tensor.untyped_storage()
            with lock:
                if storage._cdata not in alive:
                    weakref.finalize(storage, alive.pop, storage._cdata)
                    alive[storage._cdata] = storage.nbytes()
                    sizes.append(sum(alive.values()))
            return tensor

        read, transpose = loading._materialize_copy, loading.Transpose.convert
        monkeypatch.setattr(loading, "_materialize_copy", lambda *given, **named: seen(read(*given, **named)))
        monkeypatch.setattr(
            loading.Transpose,
            "convert",
            lambda *given, **named: {name: seen(made) for name, made in transpose(*given, **named).items()},
        )
        judge = loaded(folder)
        assert max(sizes) - sum(alive.values()) <= 4 * 64 * 96 * 4, "which of the others are there by then is by chance"
        assert sum(alive.values()) == sum(tensor.nbytes for tensor in judge._model.parameters())
        assert ANSWER_WORK > 128 * 2048 * 2 * 768 * 2

    @pytest.mark.parametrize("name", JUDGES)
    def test_the_weights_are_read_ahead_before_a_device_is_free(
        self, name: str, tiny_models: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = []
        monkeypatch.setattr(transformers_judge, "read_ahead", lambda *about: asked.append(about))
        Qwen3VL(Qwen3VL.Parameters(str(tiny_models / name))).prepare()
        assert asked == [(str(tiny_models / name), None, BESIDE_OTHERS)]

    @pytest.mark.parametrize("name", JUDGES)
    def test_inputs_made_before_give_the_same_answers(self, name: str, tiny_models: Path) -> None:
        import torch

        judge = loaded(tiny_models / name)
        requests = [request(number) for number in range(4)]
        inputs = judge.make_inputs(requests)
        before = {key: tensor.clone() for key, tensor in inputs.items()}
        plain = judge.judge(requests)
        assert judge.judge(requests, inputs) == plain
        assert all(torch.equal(inputs[key], before[key]) for key in before)  # for a second attempt
        assert judge.judge(requests, inputs) == plain
        prompt = judge._text(requests[0])
        assert judge._processor.tokenizer.decode(inputs["input_ids"][0]).endswith(prompt[-20:])

    @pytest.mark.models
    def test_prepare_imports_what_loading_needs(self, tiny_models: Path) -> None:
        code = (
            "import sys; from edit_eval.plugins.local_judges.in_worker.qwen3_vl import Qwen3VL\n"
            "judge = Qwen3VL(Qwen3VL.Parameters(model_name=sys.argv[1]))\n"
            "assert 'torch' not in sys.modules\n"
            "judge.prepare()\n"
            "before = set(sys.modules)\n"
            "judge.load(['cpu'])\n"
            "late = [m for m in set(sys.modules) - before if m.startswith('transformers.models.qwen3')]\n"
            "print(late, 'transformers.models.qwen3_vl.modeling_qwen3_vl' in before)"
        )
        command = [sys.executable, "-c", code, str(tiny_models / "qwen3-vl")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr[-500:]
        assert done.stdout.split("]")[1].strip() == "True"
        with pytest.raises(LoadError, match="there is no folder"):
            Qwen3VL(Qwen3VL.Parameters(model_name=str(tiny_models / "nothing"))).prepare()


@contextmanager
def _changes_kernel(model: Any) -> Iterator[None]:
    before = model.get_experts_implementation()
    changed = {name: "batched_mm" if kernel == "grouped_mm" else kernel for name, kernel in before.items()}
    model.set_experts_implementation(changed)
    yield
    model.set_experts_implementation(before)


def image_settings(folder: Path) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads((folder / "processor_config.json").read_text())["image_processor"]
    return settings
