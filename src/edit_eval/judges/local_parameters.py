"""The parameters that all judges have which run through transformers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from edit_eval.pretrained.loading import DTYPES, check_call, check_value

TAKEN_BY_LOAD = ("dtype", "torch_dtype", "device_map", "revision", "attn_implementation", "output_loading_info")
TAKEN_BY_CALL = ("input_ids", "inputs", "attention_mask", "pixel_values", "max_new_tokens", "generation_config")
TAKEN_BY_TEMPERATURE = ("do_sample", "temperature", "top_k", "top_p", "min_p", "num_beams")

EXPERTS = ("grouped_mm", "batched_mm", "eager")


@dataclass
class LocalParameters:
    """What every judge has that runs through transformers."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    model_name: str
    """A folder, or a name on the Hugging Face Hub."""
    revision: str | None = None
    """Branch, tag or commit on the Hub."""
    dtype: str = "bfloat16"
    """bfloat16, float16, float32, or auto: as the weights are stored."""
    max_new_tokens: int | None = None
    """At most so many tokens an answer; one that is longer is cut off, and no score. null: 128 for a bare score,
    512 for reasons before it."""
    temperature: float = 0.0
    """0: greedy. Above: answers are drawn, each from a generator of its own, so that no batch changes it."""
    max_pixels: int | None = None
    """A larger picture is scaled down to this area for the judge; null: as the model's own files say."""
    min_pixels: int | None = None
    """A smaller picture is scaled up to this area."""
    attn_implementation: str = "sdpa"
    """`sdpa`, `eager`, or a kernel of transformers that is installed, as `flash_attention_2`."""
    stop_at_score: bool = True
    """Ends an answer whose first line is a score of three decimals and nothing else; nobody waits for the rest."""
    experts_implementation: str | None = None
    """Kernel of a mixture's experts for prompt and answer (`grouped_mm`, `batched_mm`, `eager`). null: as transformers
    chooses; with batches of 16 or more try `grouped_mm`, which copies no weights while it answers."""
    load: dict[str, Any] = field(default_factory=dict)
    """Further keywords of the model's `from_pretrained`."""
    call: dict[str, Any] = field(default_factory=dict)
    """Further keywords of `generate`. The settings in the model's files do not count."""

    def __post_init__(self) -> None:
        check_value("dtype", self.dtype, (*DTYPES, "auto"))
        check_call(self.call, (*TAKEN_BY_CALL, *(TAKEN_BY_TEMPERATURE if self.temperature else ())))
        if clash := sorted(set(self.load) & set(TAKEN_BY_LOAD)):
            raise ValueError(f"load: {', '.join(clash)} cannot be set there")
        if self.experts_implementation is not None:
            check_value("experts_implementation", self.experts_implementation, EXPERTS)
        if not 0 <= self.temperature < math.inf:
            raise ValueError(f"temperature: {self.temperature} is neither 0 nor above")
        if self.max_new_tokens is not None and self.max_new_tokens < 1:
            raise ValueError(f"max_new_tokens: {self.max_new_tokens}, but an answer needs at least 1")
        for name in ("min_pixels", "max_pixels"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise ValueError(f"{name}: {value} must be a positive number of pixels")
        if self.min_pixels and self.max_pixels and self.min_pixels > self.max_pixels:
            raise ValueError(f"min_pixels: {self.min_pixels} is more than max_pixels ({self.max_pixels})")
