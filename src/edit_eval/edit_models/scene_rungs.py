"""`scene_rungs`: draws the edits of known worth that an audit shows to a judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edit_eval.benchmarks.scenes.benchmark import drawing_digest
from edit_eval.benchmarks.scenes.recipes import drawn, recipe_of

if TYPE_CHECKING:
    from PIL.Image import Image

    from edit_eval.edit_models.contract import EditRequest, OnStep

REGISTERED = {"scene_rungs": "SceneRungs"}

NAME = "scene_rungs"


class SceneRungs:
    """Draws what the benchmark `ladder` asks for, right or wrong; of no use for anything else."""

    @dataclass(frozen=True)
    class Parameters:
        """There is nothing to set."""

        __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012

    def __init__(self, parameters: Parameters) -> None:
        pass

    @staticmethod
    def revision(parameters: Parameters) -> str:
        """Of the code that draws."""
        return drawing_digest()

    def load(self, devices: Sequence[str]) -> None:
        """Nothing to load; any device will do."""

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """The picture that the recipe among the sources describes. Raises `ModelError` where there is none."""
        image = drawn(recipe_of(request.pictures, NAME))
        on_step(1, 1)
        return image
