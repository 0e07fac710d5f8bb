"""`editreward_bench`: EditReward-Bench's rows with two candidates (TIGER-AI-Lab/EditReward).

Facts: TIGER-AI-Lab/EditReward@edb027e, EditReward/evaluate/inference_2pair_hf.py (hub data set, columns, `ranking`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from edit_eval.benchmarks.people_choices import TIE, A, B, ChoiceParameters, ParquetChoices

REGISTERED = {"editreward_bench": "EditRewardBench"}


class EditRewardBench(ParquetChoices):
    """EditReward-Bench's pairs: two candidates and which of them people prefer.

    Its rows with three and four candidates are left to its own scripts.
    """

    @dataclass
    class Parameters(ChoiceParameters):
        data_path: str
        """The Parquet file with the rows of two candidates, or the folder in which it lies."""

    protocol = "pairwise"
    columns: ClassVar[Mapping[str, str]] = {
        "id": "id",
        "source": "source_image",
        "A": "candidate_1",
        "B": "candidate_2",
        "instruction": "instruction",
        "choice": "ranking",
    }
    choices: ClassVar[Mapping[str, str]] = {"A>B": A, "B>A": B, "A=B": TIE}
    about: ClassVar[Mapping[str, str]] = {
        "source": "github TIGER-AI-Lab/EditReward; hub TIGER-Lab/EditReward-Bench",
        "formula": "share of the answers that are the ranking; in one order",
        "defects": "an answer is looked for with seven patterns, and the first that fits counts",
    }
