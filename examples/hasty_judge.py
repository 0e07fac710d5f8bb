"""A judge that errs: it scores like `judge.py`, give or take two points that differ each time it is asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from PIL import Image, ImageChops, ImageStat

from edit_eval.judges.contract import JudgeRequest


class HastyJudge:
    """Looks at the disc's colour in a hurry; a stand-in for a cheap vision-language model."""

    @dataclass
    class Parameters:
        """What can be set under `params:`; all of it is part of the key of an answer."""

        error: float = 2.0
        """Standard deviation of its errors, in points."""

    reads: ClassVar = ("instruction",)
    """What it wants to know besides the question; it is then part of the key of an answer."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def load(self, devices: Sequence[str]) -> None:
        """Nothing to load."""

    def judge(self, requests: Sequence[JudgeRequest]) -> list[str]:
        """Returns a score from 0 to 10 for each request."""
        return [f"{self._score(request):.3f}" for request in requests]

    def _score(self, request: JudgeRequest) -> float:
        edit = request.pictures["edit"].crop((44, 28, 52, 36))
        wanted = Image.new("RGB", edit.size, request.instruction.split()[-1].rstrip("."))
        share = 1 - sum(ImageStat.Stat(ImageChops.difference(wanted, edit)).mean) / 765
        error = Random(f"{edit.tobytes().hex()} {request.seed}").gauss(0, self.parameters.error)
        return min(10.0, max(0.0, 10 * share + error))
