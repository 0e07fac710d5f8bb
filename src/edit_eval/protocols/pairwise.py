"""`pairwise`: two edits of one sample side by side; which is the better one?

Each question is put in both orders. By the form of the answer:

`json`            the judge writes reasons, and then `A`, `B`, or `C` for a tie;
`label`           it writes that alone;
`probabilities`   nothing is written: the share of each edit is its probability, and half of a tie's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from edit_eval.config.identity import Identity
from edit_eval.errors import ConfigurationError
from edit_eval.judges.contract import PROBABILITIES
from edit_eval.protocols.battles import (
    FEWEST_TO_EXTEND,
    Design,
    Places,
    both_orders,
    met,
    preference,
    rounds_of_cycles,
    values_in,
)
from edit_eval.protocols.contract import Question, Score, View
from edit_eval.protocols.objects import WORDS, Entry, object_schema, one_of, read_object
from edit_eval.protocols.replies import advice_on_limits, read_values
from edit_eval.records import Judgement, Reading, Reply, Sample
from edit_eval.rubrics import loading
from edit_eval.text import Text

REGISTERED = {"pairwise": "Pairwise"}

RUBRIC = "pairwise.v1"
BETTER = "better"
SHARES = {"A": 1.0, "B": 0.0, "C": 0.5}
"""Label -> what the picture shown first gets."""

Aspect = Literal["overall", "instruction", "restraint", "quality"]


class Pairwise:
    """Asks which of two edits of a sample is the better one, in both orders.

    By one question or several, each of which is a score: the share that the first edit gets, 0 to 1. The first of them
    is the headline.
    """

    @dataclass(frozen=True)
    class Parameters:
        __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

        asks: list[Aspect] = field(default_factory=lambda: ["overall"])
        """Which edit is better altogether, which does more of what was asked, which leaves the rest alone, which is the
        better picture: a question each."""
        answer: Literal["json", "label", "probabilities"] = "json"
        """How the judge answers: with reasons and a label (JSON), with the label alone, or by its probabilities."""
        ties: bool = True
        """Whether it may say that the two are equally good."""
        pairs: Design = "all"
        """Which edits meet: `all`, every two; `cycles`, of each sample a random cycle through the edit models, which
        takes far fewer; `anchor`, each edit model against one; `extended`, cycles, of which the next round is asked
        only while some edit models cannot be told apart."""
        rounds: int = 1
        """How many `cycles` a sample has, or with `extended` may have at most. More of them later ask only what is
        new."""
        anchor: str = ""
        """With `pairs: anchor`: the name of that edit model."""
        seed: int = 0
        """Of the random cycles."""
        language: Literal["en", "zh"] = "en"
        """Of the wording; by default the benchmark's."""

        def __post_init__(self) -> None:
            if not self.asks or len({*self.asks}) != len(self.asks):
                raise ValueError("asks: name one of overall, instruction, restraint and quality, or several, each once")
            if self.rounds < 1:
                raise ValueError(f"rounds: {self.rounds} is not 1 or more")
            if self.pairs == "extended" and self.rounds < 2:
                raise ValueError("rounds: with `pairs: extended` how many may be asked at most, 2 or more")
            if bool(self.anchor) != (self.pairs == "anchor"):
                raise ValueError("anchor: names the edit model that all others meet with `pairs: anchor`")

    @staticmethod
    def texts(parameters: Parameters) -> dict[str, Any]:
        """The wording in the language of the parameters."""
        return dict(loading.packaged(RUBRIC, parameters.language))

    def __init__(self, parameters: Parameters, texts: Mapping[str, Any]) -> None:
        self._parameters, self._texts = parameters, texts
        self.headline = parameters.asks[0]
        self.looks = parameters.rounds if parameters.pairs == "extended" else 1
        self.scores: Mapping[str, Score] = {name: preference(name) for name in parameters.asks}
        self._labels = tuple(SHARES) if parameters.ties else ("A", "B")
        reasons: dict[str, Entry] = {texts["reasons"]: WORDS} if parameters.answer == "json" else {}
        self._schema = object_schema({**reasons, BETTER: one_of(*self._labels)})

    def battles(self, sample: Sample, models: Sequence[Identity]) -> Sequence[Places]:
        """The pairs of the design, of all its rounds."""
        ours = self._parameters
        return met(ours.pairs, sample, models, anchor=ours.anchor, rounds=ours.rounds, seed=ours.seed)

    def rounds(self, sample: Sample, models: Sequence[Identity]) -> Sequence[Sequence[Places]]:
        """The same, where the design is extended, by round."""
        if len(models) < FEWEST_TO_EXTEND:
            raise ConfigurationError(
                Text(
                    "protocol.pairs: `extended` takes {} edit models or more; of {} every two meet in the first "
                    "round: write `all`",
                    FEWEST_TO_EXTEND,
                    len(models),
                )
            )
        return rounds_of_cycles(sample, models, self._parameters.rounds, self._parameters.seed)

    def questions(self, sample: Sample) -> Sequence[Question]:
        """Two for each of `asks`: one an order."""
        return [one for aspect in self._parameters.asks for one in both_orders(self._question(aspect, sample), aspect)]

    def _question(self, aspect: Aspect, sample: Sample) -> Question:
        texts, form = self._texts, self._parameters.answer
        sources = () if aspect == "quality" else tuple(name for name in sample.pictures if name.startswith("source"))
        instruction = {"edit_instruction": sample.instruction}
        ties = "ties" if self._parameters.ties else "no_ties"
        shown = texts["shown"]["edits" if aspect == "quality" else "sources"]
        answer, again = (
            texts[what].get(form, "").replace("{labels}", texts["labels"][ties]) for what in ("answer", "ask_again")
        )
        system = "\n\n".join((shown, texts["asks"][aspect], texts[ties], texts["quotation"], answer))
        about: dict[str, Any] = {"form": "labels" if form == "label" else form}
        about |= {"labels": self._labels} if form == PROBABILITIES else {"schema": self._schema}
        return Question(
            name=aspect,
            system=system,
            user=loading.fill(texts["user"]["edits" if aspect == "quality" else "sources"], instruction),
            shows=(
                *(View(picture=name) for name in sources),
                View(picture="edit", label="A"),
                View(picture="other", label="B"),
            ),
            again=again,
            **about,
        )

    def read(self, question: Question, reply: Reply) -> Reading:
        """The share of the first edit: a label that is not exactly one of the legal ones is none."""
        if question.form == PROBABILITIES:
            tie = reply.values.get("C", 0.0)
            return Reading(values=values_in(question, reply.values["A"] + tie / 2, tie))

        def numbers(body: str) -> tuple[Sequence[float], str]:
            said, words = read_object(body, question.schema)
            label = str(said[BETTER])
            values = values_in(question, SHARES[label], float(label == "C"))
            return [values[name] for name in question.gives], words

        return read_values(question, reply, numbers)

    def advice(self, failed: Sequence[Judgement]) -> str:
        """What to write into the configuration where answers were cut off."""
        return advice_on_limits(failed)
