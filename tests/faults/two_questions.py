"""A protocol of two questions, of which the second has the reply to the first in it. Loaded by its path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from edit_eval.protocols.contract import Question, Score
from edit_eval.records import Reading, Reply, Sample, Scale, Status

TEN = Scale(lowest=0.0, highest=10.0)


class TwoQuestions:
    """Two numbers, and their mean."""

    scores: ClassVar = {
        "both": Score(scale=TEN),
        "followed": Score(scale=TEN, needs=("followed",)),
        "kept": Score(scale=TEN, needs=("kept",)),
    }
    headline = "both"

    def __init__(self, parameters: Any) -> None: ...

    def questions(self, sample: Sample) -> Sequence[Question]:
        """How well it was followed, then what else changed."""
        return [
            Question(name="followed", gives=("followed",), user=f"Was it followed: {sample.instruction}?"),
            Question(name="kept", gives=("kept",), user="You said {followed}. Is the rest kept?", after=("followed",)),
        ]

    def read(self, question: Question, reply: Reply) -> Reading:
        """The whole reply is the number."""
        try:
            return Reading(values={question.name: float(reply.text)})
        except ValueError:
            return Reading(status=Status.UNPARSEABLE, reason="no number")
