"""Qwen3-VL (dense and mixture of experts) and Qwen2.5-VL as judges, under the name that the base system uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edit_eval.plugins.local_judges.in_worker.transformers import LocalParameters, TransformersJudge
from edit_eval.pretrained.folders import Keywords


class Qwen3VL(TransformersJudge):
    """Qwen3-VL or Qwen2.5-VL through transformers, with greedy answers, or drawn ones.

    Each call is one padded batch. The CPU computes with one thread. `transformers` is the same judge with more
    parameters.
    """

    @dataclass
    class Parameters(LocalParameters):
        model_name: str = "Qwen/Qwen3-VL-30B-A3B-Instruct"
        """A folder, or a name on the Hugging Face Hub."""
        # The further parameters of `transformers`, at their defaults.
        thinking: ClassVar[str | None] = None
        thinking_tokens: ClassVar[int] = 8192
        image_settings: ClassVar[Keywords] = {}
        enforce_schema: ClassVar[bool] = True

    @staticmethod
    def presets() -> list[dict[str, str]]:
        """Returns none: its name says its families."""
        return []
