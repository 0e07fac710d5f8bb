"""Edit models that edit nothing, which any measure of editing must tell from real edits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edit_eval.pictures import blank
from edit_eval.text import Text

if TYPE_CHECKING:
    from PIL.Image import Image

    from edit_eval.edit_models.contract import EditRequest, OnStep


class _Control:
    @dataclass(frozen=True)
    class Parameters:
        """Nothing can be set."""

    def __init__(self, parameters: Parameters) -> None:
        """`parameters` is empty."""

    @staticmethod
    def duration_anywhere(parameters: Parameters) -> tuple[float, float, str]:
        """Returns what a plan assumes."""
        return 0.3, 0.05, Text("it only writes a picture")

    def load(self, devices: Sequence[str]) -> None:
        """Does nothing: there is nothing to load."""


class CopySource(_Control):
    """A control: the edit is the source as it is."""

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """Returns the pixels of the source, without the entries of its file."""
        copy = request.source.convert("RGB").copy()
        copy.info = {}
        on_step(1, 1)
        return copy


class Blank(_Control):
    """A control: the edit is grey all over, in the source's size."""

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """Returns middle grey, since black counts as a failed edit."""
        on_step(1, 1)
        return blank(request.source.size)
