"""The tiny Qwen-Image-Edit as engines make it faster: quantised to eight bits, with a cache, with other noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from edit_eval.plugins.diffusers.in_worker.qwen_image_edit import QwenImageEdit

if TYPE_CHECKING:
    from PIL.Image import Image

    from edit_eval.edit_models.contract import EditRequest


class EightBits(QwenImageEdit):
    """Its transformer's linear layers in int8, activations quantised as they come."""

    def load(self, devices: Sequence[str], offload: str = "none") -> None:
        import torch
        from torch.ao.quantization import quantize_dynamic

        super().load(devices, offload)
        linear = {torch.nn.Linear}
        self._pipeline.transformer = quantize_dynamic(self._pipeline.transformer, linear, dtype=torch.qint8)


class Cached(QwenImageEdit):
    """The blocks of a step are skipped if the first says that little has changed: a cache of diffusers itself."""

    def load(self, devices: Sequence[str], offload: str = "none") -> None:
        from diffusers import FirstBlockCacheConfig

        super().load(devices, offload)
        self._pipeline.transformer.enable_cache(FirstBlockCacheConfig(threshold=0.9))


class OtherSeed(QwenImageEdit):
    """Draws its noise from another seed than it is given."""

    def edit(self, request: EditRequest, on_step: Any) -> Image:
        return super().edit(replace(request, seed=request.seed + 1), on_step)
