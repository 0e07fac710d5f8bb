"""`pairwise`: two edits of one sample side by side; which is the better one?

Each question is put in both orders. By the form of the answer:

`json`            the judge writes reasons, and then `A`, `B`, or `C` for a tie;
`label`           it writes that alone;
`probabilities`   nothing is written: the share of each edit is its probability, and half of a tie's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from edit_eval.judges.contract import PROBABILITIES
from edit_eval.protocols.battles import Meeting, Meetings, both_orders, preference, values_in
from edit_eval.protocols.contract import Question, Score, View
from edit_eval.protocols.replies import WORDS, Entry, advice_on_limits, object_schema, one_of, read_object, read_values
from edit_eval.records import Judgement, Reading, Reply, Sample
from edit_eval.rubrics import loading

REGISTERED = {"pairwise": "Pairwise"}

RUBRIC = "pairwise.v1"
BETTER = "better"
SHARES = {"A": 1.0, "B": 0.0, "C": 0.5}
"""Label -> what the picture shown first gets."""

Aspect = Literal["overall", "instruction", "restraint", "quality"]
Answer = Literal["json", "label", "probabilities"]


class Comparing(Meeting):
    """Which of two edits is the better one, by one question or several in our wording, each in both orders."""

    def __init__(
        self,
        meetings: Meetings,
        texts: Mapping[str, Any],
        aspects: Mapping[str, Aspect],
        *,
        answer: Answer = "json",
        ties: bool = True,
    ) -> None:
        """`aspects` has for each score what is asked, the headline first."""
        super().__init__(meetings)
        self._texts, self._aspects, self._answer, self._ties = texts, aspects, answer, ties
        self.headline = next(iter(aspects))
        self.scores: Mapping[str, Score] = {name: preference(name) for name in aspects}
        self._labels = tuple(SHARES) if ties else ("A", "B")
        reasons: dict[str, Entry] = {texts["reasons"]: WORDS} if answer == "json" else {}
        self._schema = object_schema({**reasons, BETTER: one_of(*self._labels)})

    def questions(self, sample: Sample) -> Sequence[Question]:
        """Two for each score: one an order."""
        return [one for score in self._aspects for one in both_orders(self._question(score, sample), score)]

    def _shows(self, score: str, sample: Sample) -> tuple[View, ...]:
        sources = [name for name in sample.pictures if name.startswith("source")]
        return (
            *(View(picture=name) for name in sources if self._aspects[score] != "quality"),
            View(picture="edit", label="A"),
            View(picture="other", label="B"),
        )

    def _question(self, score: str, sample: Sample) -> Question:
        texts, form, aspect = self._texts, self._answer, self._aspects[score]
        instruction = {"edit_instruction": sample.instruction}
        ties = "ties" if self._ties else "no_ties"
        shown = texts["shown"]["edits" if aspect == "quality" else "sources"]
        answer, again = (
            texts[what].get(form, "").replace("{labels}", texts["labels"][ties]) for what in ("answer", "ask_again")
        )
        system = "\n\n".join((shown, texts["asks"][aspect], texts[ties], texts["quotation"], answer))
        about: dict[str, Any] = {"form": "labels" if form == "label" else form}
        about |= {"labels": self._labels} if form == PROBABILITIES else {"schema": self._schema}
        return Question(
            name=score,
            system=system,
            user=loading.fill(texts["user"]["edits" if aspect == "quality" else "sources"], instruction),
            shows=self._shows(score, sample),
            again=again,
            **about,
        )

    def read(self, question: Question, reply: Reply) -> Reading:
        """The share of the first edit: a label that is not exactly one of the legal ones is none."""
        if question.form == PROBABILITIES:
            tie = reply.values.get("C", 0.0)
            return Reading(values=values_in(question, reply.values["A"] + tie / 2, tie))

        def numbers(body: str) -> tuple[Sequence[float], str]:
            share, words = self._said(question, body)
            values = values_in(question, share, float(share == SHARES["C"]))
            return [values[name] for name in question.gives], words

        return read_values(question, reply, numbers)

    def _said(self, question: Question, body: str) -> tuple[float, str]:
        """The share of what is shown first, and the judge's words. Raises `NoAnswer`."""
        said, words = read_object(body, question.schema)
        return SHARES[str(said[BETTER])], words

    def advice(self, failed: Sequence[Judgement]) -> str:
        """What to write into the configuration where answers were cut off."""
        return advice_on_limits(failed)


class Pairwise(Comparing):
    """Asks which of two edits of a sample is the better one, in both orders.

    By one question or several, each of which is a score: the share that the first edit gets, 0 to 1. The first of them
    is the headline.
    """

    @dataclass(frozen=True)
    class Parameters(Meetings):
        asks: list[Aspect] = field(default_factory=lambda: ["overall"])
        """Which edit is better altogether, which does more of what was asked, which leaves the rest alone, which is the
        better picture: a question each."""
        answer: Answer = "json"
        """How the judge answers: with reasons and a label (JSON), with the label alone, or by its probabilities."""
        ties: bool = True
        """Whether it may say that the two are equally good."""
        language: Literal["en", "zh"] = "en"
        """Of the wording; by default the benchmark's."""

        def __post_init__(self) -> None:
            if not self.asks or len({*self.asks}) != len(self.asks):
                raise ValueError("asks: name one of overall, instruction, restraint and quality, or several, each once")
            super().__post_init__()

    @staticmethod
    def texts(parameters: Parameters) -> dict[str, Any]:
        """The wording in the language of the parameters."""
        return dict(loading.packaged(RUBRIC, parameters.language))

    def __init__(self, parameters: Parameters, texts: Mapping[str, Any]) -> None:
        aspects: dict[str, Aspect] = {aspect: aspect for aspect in parameters.asks}
        super().__init__(parameters, texts, aspects, answer=parameters.answer, ties=parameters.ties)
