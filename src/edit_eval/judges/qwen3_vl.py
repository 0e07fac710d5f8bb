"""Qwen3-VL (dense and mixture of experts) and Qwen2.5-VL as judges, by the name that the base system knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from edit_eval.judges.transformers import LocalParameters, TransformersJudge

REGISTERED = {"qwen3_vl": "Qwen3VL"}


class Qwen3VL(TransformersJudge):
    """Qwen3-VL or Qwen2.5-VL through transformers, with greedy answers, or drawn ones.

    One padded batch a call. On the CPU one thread computes. `transformers` is the same judge with further parameters.
    """

    @dataclass
    class Parameters(LocalParameters):
        model_name: str = "Qwen/Qwen3-VL-30B-A3B-Instruct"
        """A folder, or a name on the Hugging Face Hub."""
        # What `transformers` has besides, as it is there where nobody says anything.
        thinking: ClassVar[str | None] = None
        thinking_tokens: ClassVar[int] = 8192
        image_settings: ClassVar[dict[str, Any]] = {}
        enforce_schema: ClassVar[bool] = True

    @staticmethod
    def presets() -> list[dict[str, str]]:
        """None: its families are in its name."""
        return []
