"""`imgedit`: ImgEdit-Bench's scores of 1 to 5, three for each edit type, one for edits without a type.

Facts: PKU-YuanGroup/ImgEdit@547185d, Benchmark/: Basic/prompts.json, Basic/step1_get_avgscore.py, step2_typescore.py,
UGE/get_average_score.py. No script makes the overall number: nine of the twelve rows of the authors' table are the mean
of their nine types (the other three are none of the means that could be meant).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from edit_eval.benchmarks.authors_files import AUTHORS_FILES
from edit_eval.benchmarks.imgedit import TYPES, WHOLE
from edit_eval.errors import ConfigurationError
from edit_eval.protocols.contract import Missing, Score
from edit_eval.protocols.criteria import CriteriaProtocol, Official, settled
from edit_eval.records import Judgement, Sample, Scale, Status
from edit_eval.text import Text

REGISTERED = {"imgedit": "ImgEdit"}

_LINES: dict[str, tuple[str, str, str]] = {
    "replace": ("Prompt Compliance", "Visual Naturalness", "Physical & Detail Integrity"),
    "add": ("Prompt Compliance", "Visual Naturalness", "Physical & Detail Coherence"),
    "adjust": ("Prompt Compliance", "Visual Seamlessness", "Physical & Detail Fidelity"),
    "remove": ("Prompt Compliance", "Visual Naturalness", "Physical & Detail Integrity"),
    "style": ("Style Fidelity", "Content Preservation", "Rendering Quality"),
    "action": ("Action Fidelity", "Identity Preservation", "Visual & Anatomical Coherence"),
    "extract": ("Object Identity", "Mask Precision", "Visual Quality"),
    "background": ("Instruction Compliance", "Visual Seamlessness", "Physical Consistency"),
    "compose": ("Instruction Compliance", "Visual Naturalness", "Physical Consistency & Fine Detail"),
}
"""The names behind which the authors' prompts have a judge write its three numbers."""


class ImgEdit(CriteriaProtocol):
    """Asks one question an edit, by its type: three whole numbers from 1 to 5, or one where edits have no type.

    The score is their mean; its mean is over the categories (Basic's nine types).

    `published` has the authors' `Overall`: each edit's mean and each type's are rounded to two decimals, then the
    types' mean is taken. With their prompts a reply is read as they read it: lines of `NAME: NUMBER` count, all
    others are left out, and an edit without such a line is left out, too; with ours, an edit whose reply cannot be read
    is left out. Their script stops where an edit or a reply is missing: then there is no such number.
    """

    rubric = "imgedit"
    official_file = AUTHORS_FILES["imgedit"]
    official: ClassVar[Mapping[str, Official]] = {name: Official(name, _LINES[name]) for name in TYPES}
    slots: ClassVar[Mapping[str, str]] = {"<edit_prompt>": "edit_instruction"}
    headline = "score"
    scores: ClassVar[Mapping[str, Score]] = {"score": Score(scale=Scale(lowest=1, highest=5, mean_over="categories"))}

    def _asked(self, sample: Sample) -> Sequence[str]:
        asked = super()._asked(sample)
        if self.is_official and WHOLE in asked:
            raise ConfigurationError(
                Text(
                    "protocol.prompts: `official` has the prompts of the suite `basic` "
                    "alone; leave it out for the others"
                )
            )
        return asked

    def __init__(self, parameters: Any, texts: Mapping[str, Any]) -> None:
        super().__init__(parameters, texts)
        self.published: Mapping[str, Callable[[Sequence[Judgement]], float]] = {
            "Overall": partial(_overall, self.is_official)
        }


def _overall(official: bool, judgements: Sequence[Judgement]) -> float:
    types: dict[str, list[float]] = {}
    for one in settled(judgements):
        reading = next(iter(one.readings[0].values())) if one.readings else None
        if reading is None or not reading.text:
            raise Missing(one.status, f"the authors' script stops at `{one.sample_id}`: {one.reason}")
        if WHOLE in one.readings[0] and one.category != "uge":
            raise Missing(Status.UNDEFINED, "the authors let people judge edits of several turns")
        numbers = authors_numbers(reading.text) if official else [*reading.values.values()]
        if numbers:
            types.setdefault(one.category, []).append(round(sum(numbers) / len(numbers), 2))
    if not types:
        raise Missing(Status.UNDEFINED, "no reply can be read")
    means = [round(sum(scores) / len(scores), 2) for scores in types.values()]
    return math.fsum(means) / len(means)


def authors_numbers(text: str) -> list[int]:
    """The numbers that the authors find in a reply."""
    parts = [line.strip().split(": ") for line in text.splitlines()]
    return [int(part[1]) for part in parts if len(part) == 2 and part[1].isdecimal()]
