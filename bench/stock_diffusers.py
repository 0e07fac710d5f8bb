"""diffusers' own loop, as its documentation shows it: what edit-eval's adapter is measured beside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PIL.Image import Image

from edit_eval.edit_models.contract import EditRequest, OnStep
from edit_eval.plugins.diffusers.in_worker.diffusers_pipeline import call_on_canvas
from edit_eval.plugins.diffusers.in_worker.qwen_image_edit import QwenImageEdit
from edit_eval.pretrained.loading import dtype_named, prepare_devices, runs_on_cpu
from edit_eval.pretrained.processors import load_processor


class StockQwenImageEdit(QwenImageEdit):
    """Qwen-Image-Edit without what edit-eval does about loading, prompts, attention and pixels."""

    parameters: QwenImageEdit.Parameters

    def load(self, devices: Sequence[str], offload: str = "none") -> None:
        """Loads the pipeline in one line. A folder is wanted, as a rehearsal makes one."""
        import diffusers

        prepare_devices(devices, offload)
        folder, device = self.parameters.model_name, "cpu" if runs_on_cpu(devices) else devices[0]
        # The library's own processor needs a matching torchvision; its work runs on the CPU, once a picture.
        processor = load_processor(folder, "Qwen2VLProcessor", {}, subfolder="processor")
        pipeline = diffusers.QwenImageEditPipeline.from_pretrained(
            folder,
            processor=processor,
            torch_dtype=dtype_named(self.parameters.dtype),
            device_map=device.partition(":")[0],
        )
        pipeline.set_progress_bar_config(disable=True)
        self._pipeline = pipeline
        self._call = call_on_canvas(type(pipeline), self.parameters.canvas)

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """Returns the edited picture."""
        import torch

        steps = self.parameters.num_inference_steps or 50
        assert self._call is not None

        def told(pipeline: Any, number: int, time: Any, kept: dict[str, Any]) -> dict[str, Any]:
            on_step(number + 1, steps)
            return kept

        made: Image = self._call(
            self._pipeline,
            image=request.pictures["source"].convert("RGB"),
            prompt=request.instruction,
            negative_prompt=self.parameters.negative_prompt,
            true_cfg_scale=self.parameters.true_cfg_scale,
            num_inference_steps=steps,
            generator=torch.Generator("cpu").manual_seed(request.seed),
            callback_on_step_end=told,
        ).images[0]
        return made
