"""A protocol of two questions, of which the second is put only where the first was answered well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from edit_eval.judges.answers import read_answer
from edit_eval.protocols.contract import Question, Score, View
from edit_eval.records import Reading, Reply, Sample, Scale

SCALE = Scale(lowest=0, highest=10)
GOOD_ENOUGH = 5.0


def was_followed(values: Mapping[str, float]) -> bool:
    return values["followed"] >= GOOD_ENOUGH


class Followed:
    """Was it followed? And where it was: is the rest as it was? The headline is the mean of what was asked."""

    @dataclass
    class Parameters:
        __pydantic_config__: ClassVar = {"extra": "forbid"}

    scores: ClassVar = {
        "overall": Score(scale=SCALE),
        "followed": Score(scale=SCALE, needs=("followed",)),
        "rest": Score(scale=SCALE, needs=("rest",)),
    }
    headline = "overall"

    def __init__(self, parameters: Parameters) -> None:
        pass

    def questions(self, sample: Sample) -> Sequence[Question]:
        first = Question(
            name="followed",
            gives=("followed",),
            user=f"Was it followed? {sample.instruction}",
            shows=(View(picture="edit"),),
            form="score",
            again="AGAIN",
        )
        rest = {"name": "rest", "gives": ("rest",), "user": f"And the rest? {sample.instruction}"}
        return [first, replace(first, **rest, after=("followed",), when=was_followed)]

    def read(self, question: Question, reply: Reply) -> Reading:
        reading = read_answer(reply.text)
        return replace(reading, values={question.name: reading.values["score"]}) if reading.values else reading
