"""A judge rewrites a sample's instruction before there is an edit: `rewrite: {NAME: ...}`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from edit_eval.judges.answers import quote_reply
from edit_eval.protocols.contract import Question, Score, View
from edit_eval.records import Language, Reading, Reply, Sample, Scale, Status

PROMPTS = {
    "en": (
        "You write instructions for a model that edits pictures. Rewrite the instruction below so that the model "
        "understands what the edited picture is to show: name what changes, what it looks like afterwards, what else "
        "changes as a consequence, and that all else stays as it is. Do not ask for more than was asked for. Answer "
        "with the new instruction alone.\n\nInstruction: {instruction}"
    ),
    "zh": (
        "你为图像编辑模型撰写指令。请改写下面的指令，让模型明白编辑后的图像应当是什么样子：写明改变什么、改变之后的样子、"
        "由此引起的其他变化，并说明其余部分保持不变。不要增加原指令没有的要求。只回答新的指令。\n\n指令：{instruction}"
    ),
}


class Rewriting:
    """Asks for a better instruction. Its score, the words of the new one, is in no number of a run."""

    @dataclass(frozen=True)
    class Parameters:
        """What the YAML can say."""

        __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 (pydantic reads it)

        language: Language = "en"
        """Of our wording; by default the benchmark's."""
        images: Literal["source", "none"] = "source"
        """What the judge is shown."""
        prompt: str = ""
        """What it is told, with `{instruction}`; empty: our own words."""

    before_edits = True
    headline = "words"
    scores = {"words": Score(scale=Scale(lowest=0))}  # noqa: RUF012 (never modified)

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters

    def questions(self, sample: Sample) -> list[Question]:
        """Returns one question: for the new instruction."""
        prompt = self._parameters.prompt or PROMPTS[self._parameters.language]
        shows = (View("source"),) if self._parameters.images == "source" else ()
        user = prompt.replace("{instruction}", sample.instruction)
        return [Question(name="instruction", gives=("words",), user=user, shows=shows)]

    def read(self, question: Question, reply: Reply) -> Reading:
        """Reads the instruction, without the judge's thoughts."""
        instruction = quote_reply(reply.text).strip()
        if not instruction:
            return Reading(status=Status.UNPARSEABLE, reason="the judge has written no instruction")
        return Reading(values={"words": float(len(instruction.split()))}, reason=instruction)
