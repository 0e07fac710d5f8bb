"""A protocol of your own: three questions, each with its own scale, one without the source, and their mean."""

from dataclasses import dataclass
from typing import ClassVar

from edit_eval.protocols.contract import Question, Score, View
from edit_eval.records import Reading, Reply, Sample, Scale, Status

HIGHEST = {"followed": 5, "kept": 100}
EDIT = (View(picture="edit"),)


class ThreeQuestions:
    """Was the instruction followed (1 to 5), how much else was kept (percent), does it look real (a probability)?"""

    @dataclass
    class Parameters:
        """What can be set under `protocol:`."""

        strict: bool = False
        """Ask whether it was followed exactly."""

    scores: ClassVar = {
        "overall": Score(
            scale=Scale(lowest=0, highest=1, mean_over="categories"),
            of=lambda sample, v: ((v["followed"] - 1) / 4 + v["kept"] / 100 + v["yes"]) / 3,
        ),
        "followed": Score(scale=Scale(lowest=1, highest=5), needs=("followed",)),
        "kept": Score(scale=Scale(lowest=0, highest=100), needs=("kept",)),
        "looks_real": Score(scale=Scale(lowest=0, highest=1), needs=("yes",)),
    }
    headline = "overall"

    def __init__(self, parameters: Parameters) -> None:
        self.exactly = " exactly" if parameters.strict else ""

    def questions(self, sample: Sample) -> list[Question]:
        """Returns the questions about one edit. A `KeyError` or `LookupError` would make the sample a bad one."""
        task = f"The instruction was: {sample.instruction}"
        followed = f"{task}\nWas it{self.exactly} followed? Answer with one number from 1 (no) to 5 (yes)."
        kept = f"{task}\nHow many percent of all else were kept? Answer with one number from 0 to 100."
        real = "Is this a photograph? Answer yes or no."
        return [
            Question(name="followed", gives=("followed",), user=followed, again="Answer with one number only."),
            Question(name="kept", gives=("kept",), user=kept, again="Answer with one number only."),
            Question(name="real", gives=("yes",), user=real, shows=EDIT, form="probabilities", labels=("yes", "no")),
        ]

    def read(self, question: Question, reply: Reply) -> Reading:
        """Reads a reply: returns its values, or why there are none."""
        if question.form == "probabilities":  # one value per label; they sum to 1
            return Reading(values={"yes": reply.values["yes"]})
        if not reply.text.strip().isdigit():
            return Reading(status=Status.UNPARSEABLE, reason="the answer is not one number")
        if (value := float(reply.text)) > HIGHEST[question.name]:
            return Reading(status=Status.OUT_OF_RANGE, reason=f"{value:g} is above {HIGHEST[question.name]}")
        return Reading(values={question.name: value})
