"""Edits that come with people's choices between two: one side of each pair of such a data set."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from edit_eval.benchmarks.editreward import EditRewardBench
from edit_eval.benchmarks.genai_bench import GenAIBench
from edit_eval.benchmarks.mmrb2 import MMRB2
from edit_eval.edit_models.contract import EditRequest, OnStep
from edit_eval.errors import ConfigurationError, LoadError, ModelError, Stopped
from edit_eval.pictures import open_picture
from edit_eval.records import Sample

if TYPE_CHECKING:
    from PIL.Image import Image

REGISTERED = {"edit_of_pair": "EditOfPair"}

_DATA: Mapping[str, Any] = {"mmrb2": MMRB2, "genai_bench": GenAIBench, "editreward_bench": EditRewardBench}


class EditOfPair:
    """One side of the pairs of a data set of people's choices: `A` is the first edit of each, `B` the second."""

    holds_device = False

    @dataclass
    class Parameters:
        """The YAML's `params`."""

        __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

        data: Literal["mmrb2", "genai_bench", "editreward_bench"]
        """Which data set: the benchmark's type."""
        data_path: str
        """As the benchmark has it."""
        side: Literal["A", "B"]
        """Which edit of each pair."""

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._edits: Mapping[str, Sample] = {}

    def load(self, devices: Sequence[str]) -> None:
        """Reads the rows; needs no device. Raises `LoadError` if there are none."""
        try:
            self._edits = _edits(self._parameters)
        except (ConfigurationError, Stopped) as error:
            raise LoadError(str(error)) from error

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """Returns the pair's picture as it is, RGB. Raises `ModelError` if there is none, with its reason."""
        edit = self._edits.get(request.sample_id)
        if edit is None or edit.fault:
            why = edit.fault if edit else f"{self._parameters.data_path} has no pair of that id"
            raise ModelError(f"no edit {self._parameters.side} of {request.sample_id!r}: {why}")
        picture = edit.pictures["source"]
        edited = open_picture(picture.path, digest=picture.digest)
        on_step(1, 1)
        return edited

    @staticmethod
    def revision(parameters: EditOfPair.Parameters) -> str:
        """SHA-256 over the ids and the contents of the pictures. Raises `ConfigurationError` like the benchmark."""
        digest = hashlib.sha256()
        for name, edit in _edits(parameters).items():
            digest.update(f"{name}\0{edit.source_digest}\n".encode())
        return digest.hexdigest()


def _edits(parameters: EditOfPair.Parameters) -> dict[str, Sample]:
    cls = _DATA[parameters.data]
    rows = cls(cls.Parameters(data_path=parameters.data_path, edits=parameters.side))
    return {edit.id: edit for edit in rows.samples()}
