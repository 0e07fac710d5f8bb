"""Edits that come with people's choices between two: one side of each pair of such a data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from edit_eval.edit_models.contract import Finished, SampleNames
from edit_eval.edit_models.existing_edits import ExistingEdits, edits_of_rows
from edit_eval.files.matching import match, normalise_name, whole
from edit_eval.plugins.people.in_worker.people_choices import MMRB2, EditRewardBench, GenAIBench
from edit_eval.text import Text

_DATA: Mapping[str, Any] = {"mmrb2": MMRB2, "genai_bench": GenAIBench, "editreward_bench": EditRewardBench}
"""Data sets by name: the registry of benchmarks is not available in an environment of its own."""


class EditOfPair(ExistingEdits):
    """One side of the pairs of a data set of people's choices: `A` is the first edit of each, `B` the second."""

    @dataclass
    class Parameters:
        """The YAML's `params`."""

        data: Literal["mmrb2", "genai_bench", "editreward_bench"]
        """Which data set: the benchmark's type."""
        data_path: str
        """As the benchmark has it."""
        side: Literal["A", "B"]
        """Which edit of each pair."""

    @staticmethod
    def match_edits(parameters: EditOfPair.Parameters, asked: SampleNames) -> Finished:
        """Returns each pair's edit on that side. Raises `ConfigurationError` like the benchmark."""
        data = _DATA[parameters.data]
        rows = data(data.Parameters(data_path=parameters.data_path, edits=parameters.side))
        edits = {f"row {row} ({edit.id})": (edit.id, edit) for row, edit in enumerate(rows.samples(), 1)}
        found = match(whole(asked.ids), {of: {normalise_name(called): 0} for of, (called, _) in edits.items()})
        return edits_of_rows(asked, found, edits, Text("side {} of {}", parameters.side, parameters.data_path))
