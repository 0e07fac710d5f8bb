"""An edit model that improves its own work when it is criticised."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from PIL import Image, ImageDraw

from edit_eval.edit_models.contract import EditRequest, OnStep


class Retoucher:
    """Paints the disc in the colour named by the instruction, badly at first."""

    @dataclass
    class Parameters:
        """What can be set under `params:`; all of it is part of the key of an edit."""

        skill: float = 0.4
        """How much of the right colour its first try takes, 0 to 1."""
        careful: float = 0.2
        """How much more, where it is told to be even."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def load(self, devices: Sequence[str]) -> None:
        """Nothing to load."""

    def edit(self, request: EditRequest, on_step: OnStep) -> Image.Image:
        """Returns the edited picture: the same pixels for the same request and seed, in every process."""
        named = re.search(r"disc (\w+)", request.instruction)
        wanted = Image.new("RGB", request.source.size, named[1] if named else "grey")
        if "criticised" in request.instruction:  # corrects half of the error in the given picture
            there, share = request.source, 0.5
        else:
            there = Image.new("RGB", wanted.size, tuple(Random(request.seed).randbytes(3)))
            share = self.parameters.skill + self.parameters.careful * ("evenly" in request.instruction)
        colour = Image.blend(there, wanted, share).getpixel((48, 32))
        edit = request.source.copy()
        ImageDraw.Draw(edit).ellipse((32, 16, 64, 48), fill=colour)
        on_step(1, 1)
        return edit
