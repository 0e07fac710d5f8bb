"""Qwen-Image-Edit and Qwen-Image-Edit-Plus (2509, 2511), under the name and parameters of the original scripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from edit_eval.json_values import JsonObject
from edit_eval.plugins.diffusers.in_worker.diffusers import DiffusersModel, PipelineParameters, estimate_qwen_image
from edit_eval.plugins.diffusers.in_worker.diffusers_pipeline import Lora
from edit_eval.plugins.diffusers.in_worker.preset_lookup import index_of, settings_of


class QwenImageEdit(DiffusersModel):
    """Qwen-Image-Edit, and -Plus (2509, 2511), through diffusers' pipelines.

    The model's `model_index.json` decides between the two pipelines. `diffusers` is the same with more parameters.
    """

    @dataclass
    class Parameters(PipelineParameters):
        """What decides the pixels."""

        model_name: str = "Qwen/Qwen-Image-Edit"
        """A folder, or a name on the Hugging Face Hub."""
        num_inference_steps: int | None = 50
        """Steps of denoising; null: what is recommended."""
        negative_prompt: str | None = " "
        """Always passed: without one diffusers silently drops the guidance."""
        true_cfg_scale: float = 4.0
        """Weight of the instruction against the negative prompt; 1 and below is none, in half the time."""
        only: ClassVar[tuple[str, ...]] = ("QwenImageEditPipeline", "QwenImageEditPlusPipeline")
        # The further parameters of `diffusers`, at their defaults.
        pipeline: ClassVar[str | None] = None
        size: ClassVar[list[int] | None] = None
        loras: ClassVar[list[Lora]] = []
        loras_in_part: ClassVar[bool] = False

        @property
        def guidance(self) -> dict[str, float]:
            """By the names that the pipelines' calls have for them."""
            return {"true_cfg_scale": self.true_cfg_scale}

    @staticmethod
    def effective(parameters: Any) -> JsonObject:
        """Like `diffusers`, without the pipeline.

        For an unknown name on the Hub that is known only once the model is there, and must not change a key.
        """
        effective = DiffusersModel.effective(parameters)
        del effective["pipeline"]
        return effective

    @staticmethod
    def duration(parameters: Any) -> tuple[float, float, str] | None:
        """Returns the seconds of a load and of an edit as measured by others; for weights of any name."""
        settings = settings_of(parameters, index_of(parameters))
        return estimate_qwen_image(settings.steps or 0, settings.guidance["true_cfg_scale"])
