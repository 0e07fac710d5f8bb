"""edit-eval's adapters with speed measures not yet proven on a GPU. Those that help move into the adapters themselves.

Each measure is a parameter, off by default, and needs the whole model on one device.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acceleration.attention_backend import AUTO, BACKENDS, use_attention
from acceleration.fused_gelu import fuse_gelu
from acceleration.fused_norms import fuse_norms
from acceleration.last_layer import use_last_layer_for_noise
from acceleration.modulation_tables import MODES, use_modulation_tables
from acceleration.real_rotary import use_real_rotary
from acceleration.regional_compile import compile_blocks
from acceleration.shared_prefix import SharedPrefix, name_of_cache
from acceleration.single_frame_vae import use_single_frame_convolutions
from acceleration.source_cache import remember_sources
from edit_eval.plugins.diffusers.in_worker.qwen_image_edit import QwenImageEdit
from edit_eval.plugins.local_judges.in_worker.qwen3_vl import Qwen3VL
from edit_eval.pretrained.loading import check_value, load_errors

SHORTEST_PREFIX = 32
"""Least number of shared tokens worth reading separately."""
PER_TOKEN = ("input_ids", "attention_mask", "mm_token_type_ids")


class AcceleratedQwenImageEdit(QwenImageEdit):
    """Qwen-Image-Edit with the measures turned on by its parameters."""

    @dataclass
    class Parameters(QwenImageEdit.Parameters):
        """The adapter's own, and the measures."""

        source_cache: bool = False
        """Compute once what consecutive edits of one source share; bitwise equal."""
        modulation: str = "live"
        """`table`: once a schedule, bitwise equal; `table_only`: its 13.6 GB lie in host memory; `live`: each step."""
        attention: str = "native"
        """Kernel of the transformer's attention, by diffusers' name, or `auto`."""
        compile: bool = False
        """Compile the transformer's blocks."""
        shared_prefix: bool = False
        """Read what both prompts share once."""
        single_frame_vae: bool = False
        """The VAE's convolutions in two dimensions."""
        short_last_layer: bool = False
        """The last layer only for the noise."""
        fused_gelu: bool = False
        """On a GPU, the GELUs within the products before them."""

        def __post_init__(self) -> None:
            super().__post_init__()
            check_value("attention", self.attention, (AUTO, *BACKENDS))
            check_value("modulation", self.modulation, MODES)

    parameters: Parameters

    def load(self, devices: Sequence[str], offload: str = "none") -> None:
        """Loads as the adapter does, then applies the measures in a compatible order."""
        super().load(devices, offload)
        parameters, pipeline, device = self.parameters, self._pipeline, devices[0]
        with load_errors(parameters.model_name):
            attention = use_attention(pipeline.transformer, parameters.attention, device)
            if parameters.single_frame_vae:
                use_single_frame_convolutions(pipeline.vae)
            if parameters.shared_prefix:
                SharedPrefix(pipeline.text_encoder)
            if parameters.source_cache:
                remember_sources(pipeline)
            if parameters.short_last_layer:
                use_last_layer_for_noise(pipeline.transformer)
            fused = fuse_gelu(pipeline.transformer, device) if parameters.fused_gelu else 0
            use_modulation_tables(pipeline, parameters.modulation)
            compiled = ""
            if parameters.compile:
                rotary = "real" if use_real_rotary(pipeline.transformer) else "complex"
                compile_blocks(pipeline.transformer)
                compiled = f"the transformer's blocks, dynamic shapes, {rotary} rotary positions"
        self._about |= {"attention": attention, "gelu": f"{fused} fused" if fused else "", "compile": compiled}


class AcceleratedQwen3VL(Qwen3VL):
    """The judge with the measures turned on by its parameters."""

    @dataclass
    class Parameters(Qwen3VL.Parameters):
        """The adapter's own, and the measures."""

        shared_prefix: bool = False
        """Read what the prompts of a batch begin with (the rubric) once; equal up to rounding."""
        fused_norms: bool = False
        """Compute each norm in one kernel; equal up to rounding."""

    parameters: Parameters

    def load(self, devices: Sequence[str], offload: str = "none", forms: Sequence[Any] = ()) -> None:
        """Loads as the adapter does, then applies the measures."""
        super().load(devices, offload, forms)
        if self.parameters.fused_norms:
            fuse_norms(self._model)

    def _write(self, requests: Sequence[Any], inputs: Any, on_step: Any) -> list[Any]:
        if self.parameters.shared_prefix:
            inputs.update(self._with_prefix_read(inputs))
        return super()._write(requests, inputs, on_step)

    def _with_prefix_read(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Reads the common prefix of all rows once, in one row; returns the changed arguments of `generate`.

        Each row's padding moves from before the prefix to after it, so that the prefix has the same positions in all
        rows. Nothing changes for a single row, or if the prefix is short.
        """
        import torch

        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        rows, width = ids.shape
        padding = width - mask.sum(1)
        place = torch.arange(width, device=ids.device)
        unpadded = ids.gather(1, (place + padding[:, None]) % width)
        text = unpadded[0] != self._model.config.image_token_id
        same = ((unpadded == unpadded[:1]).all(0) & text).long().cumprod(0)
        shared = min(int(same.sum()), int(mask.sum(1).min()) - 1)
        if rows < 2 or shared < SHORTEST_PREFIX:
            return {}
        behind = torch.where(place < shared + padding[:, None], place - shared, place)
        order = torch.where(place < shared, place + padding[:, None], behind)
        self._model.model.rope_deltas = None  # from the previous batch; `generate` would continue from them
        read = self._model(input_ids=unpadded[:1, :shared], use_cache=True, logits_to_keep=1)
        cache = name_of_cache(read)
        read[cache].batch_repeat_interleave(rows)
        self._model.model.rope_deltas = None
        moved = {name: inputs[name].gather(1, order) for name in PER_TOKEN if name in inputs}
        return {**moved, cache: read[cache]}
