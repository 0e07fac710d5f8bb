"""Edit models that edit nothing: what any measure of editing has to tell from an edit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edit_eval.pictures import blank

if TYPE_CHECKING:
    from PIL.Image import Image

    from edit_eval.edit_models.contract import EditRequest, OnStep

REGISTERED = {"copy_source": "CopySource", "blank": "Blank"}


class _Control:
    @dataclass(frozen=True)
    class Parameters:
        """Nothing can be set."""

        __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012

    def __init__(self, parameters: Parameters) -> None:
        """`parameters` has nothing in it."""

    def load(self, devices: Sequence[str]) -> None:
        """Nothing to load; any device will do."""


class CopySource(_Control):
    """A control: the edit is the source as it is."""

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """The pixels of the source, without the entries of its file."""
        copy = request.source.convert("RGB").copy()
        copy.info = {}
        on_step(1, 1)
        return copy


class Blank(_Control):
    """A control: the edit is grey all over, in the source's size."""

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """Middle grey, for black counts as a failed edit."""
        on_step(1, 1)
        return blank(request.source.size)
