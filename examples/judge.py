"""A judge of your own, with `load` and `judge`. The protocol's question decides what it is told and shown."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from PIL import Image, ImageChops, ImageStat

from edit_eval.judges.contract import JudgeRequest
from edit_eval.records import Reply


class ColourJudge:
    """Looks at the disc's colour and the ground around it; a stand-in for a vision-language model."""

    @dataclass
    class Parameters:
        """What can be set under `params:`; all of it is part of the key of an answer."""

    probabilities: ClassVar = True
    """It can be asked for the probability of labels."""
    reads: ClassVar = ("instruction",)
    """What it wants to know besides the question; it is then part of the key of an answer."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def load(self, devices: Sequence[str]) -> None:
        """Loads the weights onto `devices`; import torch here, not above."""

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Reply]:
        """Returns one reply per request, in order: a text, or numbers, or both."""
        return [self._reply(request) for request in requests]

    def _reply(self, request: JudgeRequest) -> Reply:
        if "B" in request.pictures:  # two edits, in the order shown
            a, b = (self._off(request, request.pictures[name]) for name in "AB")
            better = "C" if abs(a - b) < 10 else "A" if a < b else "B"
            return Reply(text=json.dumps({"better": better}))
        edit = request.pictures["edit"]
        if "photograph" in request.user:
            return Reply(values={"yes": 0.1, "no": 0.8})
        if "percent" in request.user:
            source = request.pictures["source"]
            kept = 255 - ImageStat.Stat(ImageChops.difference(source, edit).crop((0, 0, 96, 12))).mean[0]
            return Reply(text=f"{100 * kept / 255:.0f}")
        share = 1 - self._off(request, edit) / 765
        return Reply(text=f"{1 + round(4 * share)}" if "1 (no)" in request.user else f"{10 * share:.3f}")

    def _off(self, request: JudgeRequest, edit: Image.Image) -> float:
        """Returns the distance of the disc from the requested colour, 0 to 765."""
        wanted = Image.new("RGB", (8, 8), request.instruction.split()[-1].rstrip("."))
        return sum(ImageStat.Stat(ImageChops.difference(wanted, edit.crop((44, 28, 52, 36)))).mean)
