"""`genai_bench`: the edits of GenAI-Bench (TIGER-AI-Lab), pairs from an arena with one person's vote each.

Facts: TIGER-AI-Lab/GenAI-Bench@f0b0334, inference.py (hub data set, configuration, split, `vote_type` and what it
means), inference_configs.json (columns).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from edit_eval.benchmarks.people_choices import TIE, A, B, ChoiceParameters, ParquetChoices

REGISTERED = {"genai_bench": "GenAIBench"}


class GenAIBench(ParquetChoices):
    """GenAI-Bench's pairs of edits (`image_edition`, split `test_v1`); two that are equally good, or bad, are a tie."""

    @dataclass
    class Parameters(ChoiceParameters):
        data_path: str
        """The Parquet file of the configuration `image_edition`, or the folder in which it lies."""

    protocol = "pairwise"
    columns: ClassVar[Mapping[str, str]] = {
        "source": "source_image",
        "A": "left_output_image",
        "B": "right_output_image",
        "instruction": "instruct_prompt",
        "choice": "vote_type",
    }
    choices: ClassVar[Mapping[str, str]] = {"leftvote": A, "rightvote": B, "tievote": TIE, "bothbad_vote": TIE}
    about: ClassVar[Mapping[str, str]] = {
        "source": "github TIGER-AI-Lab/GenAI-Bench; hub TIGER-Lab/GenAI-Bench",
        "licence": "MIT",
        "formula": "share of the answers that are the vote, ties apart by kind; in one order",
        "defects": "an answer without a verdict counts as wrong",
    }
