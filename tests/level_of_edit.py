"""A protocol that asks for the probabilities of three levels, or for one under a schema. Loaded by its path."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from edit_eval.protocols.contract import Question, Score
from edit_eval.records import Reading, Reply, Sample, Scale, Status

RUBRIC = " ".join(f"rule{number}" for number in range(40))
LEVELS = ("A", "B", "C")
SCHEMA = json.dumps({"type": "object", "properties": {"level": {"type": "integer"}}, "required": ["level"]})


class LevelOfEdit:
    """The level that is to be expected, from 0 to 2."""

    @dataclass(frozen=True)
    class Parameters:
        __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

        labels: tuple[str, ...] = LEVELS
        written: bool = False

    scores: ClassVar = {"level": Score(scale=Scale(lowest=0.0, highest=2.0))}
    headline = "level"

    def __init__(self, parameters: Any) -> None:
        self._parameters = parameters

    def questions(self, sample: Sample) -> Sequence[Question]:
        """The one question."""
        p = self._parameters
        answer: dict[str, Any] = {"form": "json", "schema": SCHEMA} if p.written else {}
        answer = answer or {"form": "probabilities", "labels": tuple(p.labels)}
        return [Question(name="level", gives=("level",), system=RUBRIC, user=sample.instruction, **answer)]

    def read(self, question: Question, reply: Reply) -> Reading:
        """The expected level, or the one that is written."""
        if question.form == "probabilities":
            levels = (level * reply.values[label] for level, label in enumerate(question.labels))
            return Reading(values={"level": sum(levels)})
        try:
            return Reading(values={"level": float(json.loads(reply.text)["level"])})
        except ValueError:
            return Reading(status=Status.UNPARSEABLE, reason="no JSON")
