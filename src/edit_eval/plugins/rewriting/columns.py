"""`rewrite`: every edit model once more for each judge below the key, told what it makes of an instruction."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field

from edit_eval.config.schema import ColumnsSection
from edit_eval.experiment import Experiment
from edit_eval.judges.answers import quote_reply
from edit_eval.protocols.contract import Question, Score, View
from edit_eval.records import CONTROL, Language, Reading, Refinement, Reply, Sample, Scale, Status
from edit_eval.store.subjects.contract import InputPicture, Kind, MatrixState, Subject

# -- rewritings: what a judge makes of an instruction, before there is an edit; columns are told it (`Refinement`) --

REWRITE = f"{CONTROL}rewrite"
"""What stands for the edit model in records."""


class Rewritings(Kind):
    """A sample before there is an edit: what judges make of its instruction.

    Each good sample once, and in no number. One shares a batch only with the samples that its edit would: the edit
    waits for it.
    """

    name = "rewriting"
    counts = False
    repeated = False
    before_edits = True

    def unfold(self, experiment: Experiment) -> Iterable[Subject]:
        judges = tuple(place for place, judge in enumerate(experiment.judges) if judge.before_edits)
        for number in experiment.independent_samples if judges else ():
            yield Subject(self.name, number, judges=judges)

    def pictures(self, matrix: MatrixState, number: int) -> dict[str, InputPicture]:
        return matrix.context_pictures(number)

    def column_names(self, matrix: MatrixState, number: int) -> tuple[str, str]:
        return REWRITE, ""

    def batch_group(self, matrix: MatrixState, number: int, batch_of: Sequence[int]) -> Hashable:
        return batch_of[matrix.sample_of(number).index]


# -- a judge rewrites a sample's instruction before there is an edit: `rewrite: {NAME: ...}` --

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


class RewriteSection(ColumnsSection):
    """Judges, by your names for them, that rewrite the instructions before the first edit."""

    protocol = "rewriting"

    rewriters: Annotated[tuple[str, ...], Field(exclude=True)]

    @classmethod
    def from_judges(cls, names: tuple[str, ...]) -> Self:
        """Returns the section with these judges."""
        return cls(rewriters=names)

    @property
    def judges(self) -> tuple[str, ...]:
        """All of them stand below the key."""
        return self.rewriters

    @property
    def speakers(self) -> tuple[str, ...]:
        """All of them."""
        return self.rewriters

    def columns(self, column: str, edit_model: str) -> Iterator[tuple[str, Refinement]]:
        """Yields `MODEL+NAME` for each judge."""
        for judge in self.rewriters:
            yield f"{column}+{judge}", Refinement(edit_model=edit_model, judge=judge)
