"""An edit model of your own, with `load` and `edit`. It runs in a separate process on each of its devices."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from PIL import Image, ImageDraw

from edit_eval.edit_models.contract import EditRequest, OnStep


class Painter:
    """Paints the disc in the colour named by the instruction, more or less well."""

    @dataclass
    class Parameters:
        """What can be set under `params:`; all of it is part of the key of an edit."""

        skill: float = 0.8
        """How much of the right colour it takes, 0 to 1."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def load(self, devices: Sequence[str]) -> None:
        """Loads the weights onto `devices`; import torch here, not above."""

    def edit(self, request: EditRequest, on_step: OnStep) -> Image.Image:
        """Returns the edited picture: the same pixels for the same request and seed, in every process."""
        name = request.instruction.split()[-1].rstrip(".")
        wanted = Image.new("RGB", request.source.size, name)
        noise = tuple(Random(request.seed).randbytes(3))
        colour = Image.blend(Image.new("RGB", wanted.size, noise), wanted, self.parameters.skill).getpixel((0, 0))
        edit = request.source.copy()
        ImageDraw.Draw(edit).ellipse((32, 16, 64, 48), fill=colour)
        on_step(1, 1)
        return edit
