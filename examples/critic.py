"""A judge that tells an edit model what to do: it criticises edits, or rewrites instructions before the first edit."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from PIL import Image, ImageChops, ImageStat

from edit_eval.judges.contract import JudgeRequest


class Critic:
    """Says how far the disc is from the requested colour, give or take a point."""

    @dataclass
    class Parameters:
        """What can be set under `params:`; all of it is part of the key of an answer."""

        error: float = 1.0
        """Standard deviation of its errors, in points."""

    reads: ClassVar = ("instruction",)
    """What it wants to know besides the question; it is then part of the key of an answer."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def load(self, devices: Sequence[str]) -> None:
        """Nothing to load."""

    def judge(self, requests: Sequence[JudgeRequest]) -> list[str]:
        """Returns a text for each request: a critique and a score, or a new instruction."""
        return [self._criticise(request) if "edit" in request.pictures else _rewrite(request) for request in requests]

    def _criticise(self, request: JudgeRequest) -> str:
        edit = request.pictures["edit"].crop((44, 28, 52, 36))
        wanted = Image.new("RGB", edit.size, _colour(request))
        share = 1 - sum(ImageStat.Stat(ImageChops.difference(wanted, edit)).mean) / 765
        error = Random(f"{edit.tobytes().hex()} {request.seed}").gauss(0, self.parameters.error)
        return f"The disc is not {_colour(request)} enough.\nScore: {min(10.0, max(0.0, 10 * share + error)):.3f}"


def _colour(request: JudgeRequest) -> str:
    return request.instruction.split()[-1].rstrip(".")


def _rewrite(request: JudgeRequest) -> str:
    return f"Paint the disc {_colour(request)}. Cover all of it, evenly, and leave the ground as it is."
