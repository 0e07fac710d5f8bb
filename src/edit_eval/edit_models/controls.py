"""Edit models that edit nothing: what any measure of editing has to tell from an edit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PIL import Image as Pictures

if TYPE_CHECKING:
    from PIL.Image import Image

    from edit_eval.edit_models.contract import OnStep

GREY = (128, 128, 128)


class CopySource:
    """A control: the edit is the source as it is."""

    @dataclass(frozen=True)
    class Parameters:
        """Nothing can be set."""

        __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012

    def __init__(self, parameters: Parameters) -> None:
        """`parameters` has nothing in it."""

    def load(self, devices: Sequence[str]) -> None:
        """Nothing to load; any device will do."""

    def edit(self, image: Image, instruction: str, seed: int, on_step: OnStep) -> Image:
        """The pixels of `image`, without the entries of its file."""
        copy = image.convert("RGB").copy()
        copy.info = {}
        on_step(1, 1)
        return copy


class Blank:
    """A control: the edit is grey all over, in the source's size."""

    @dataclass(frozen=True)
    class Parameters:
        """Nothing can be set."""

        __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012

    def __init__(self, parameters: Parameters) -> None:
        """`parameters` has nothing in it."""

    def load(self, devices: Sequence[str]) -> None:
        """Nothing to load; any device will do."""

    def edit(self, image: Image, instruction: str, seed: int, on_step: OnStep) -> Image:
        """Middle grey, for black counts as a failed edit."""
        blank = Pictures.new("RGB", image.size, GREY)
        on_step(1, 1)
        return blank
