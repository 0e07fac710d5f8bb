"""`pairwise`: two edits of one sample side by side; which is the better one?

Each question is put in both orders. By the form of the answer:

`json`            the judge writes reasons, and then `A`, `B`, or `C` for a tie;
`label`           it writes that alone;
`probabilities`   nothing is written: the share of each edit is its probability, and half of a tie's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, ClassVar, Literal

from edit_eval.config.identity import Identity, digest_of_text
from edit_eval.errors import ConfigurationError
from edit_eval.judges.contract import PROBABILITIES
from edit_eval.protocols.contract import Question, Score, Texts, View
from edit_eval.protocols.replies import WORDS, Entry, advice_on_limits, object_schema, one_of, read_object, read_values
from edit_eval.records import Judgement, Reading, Reply, Sample, Scale
from edit_eval.rubrics import loading
from edit_eval.statistics.votes import BACKWARD, FORWARD, value_names
from edit_eval.text import Text

# -- shared by protocols about two edits: which edits meet (a design), and a question in both orders --
#
# Designs depend on the edit models' identities, not on their names or places, and on a seed that is kept with the run:
# a resumed run asks the same, and a further model leaves most of what was asked unchanged.

Design = Literal["all", "cycles", "extended"]
"""Every pair; for each sample random cycles through the models; cycles, with each further round asked only while some
models cannot be told apart."""
FEWEST_TO_EXTEND = 4
"""Edit models: with fewer, every pair has met in the first round."""
Places = tuple[int, int]

_EXCHANGED = {"edit": "other", "other": "edit"}
_SCALE = Scale(lowest=0.0, highest=1.0)


@dataclass(frozen=True)
class Meetings:
    """Which edits meet."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    pairs: Design = "all"
    """Which edits meet: `all`, every two; `cycles`, of each sample a random cycle through the edit models, which
    takes far fewer; `extended`, cycles, of which the next round is asked only while some edit models cannot be told
    apart."""
    rounds: int = 1
    """How many `cycles` a sample has, or with `extended` may have at most. More of them later ask only what is
    new."""
    seed: int = 0
    """Of the random choices."""

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise ValueError(f"rounds: {self.rounds} is not 1 or more")
        if self.pairs == "extended" and self.rounds < 2:
            raise ValueError("rounds: with `pairs: extended` how many may be asked at most, 2 or more")


class Meeting:
    """Base of protocols about two edits: which edits they compare, by their parameters."""

    def __init__(self, meetings: Meetings) -> None:
        self._meetings = meetings
        self.looks = meetings.rounds if meetings.pairs == "extended" else 1

    def battles(self, sample: Sample, models: Sequence[Identity]) -> Sequence[Places]:
        """Returns the pairs of the design, in all its rounds."""
        ours = self._meetings
        return choose_pairs(ours.pairs, sample, models, rounds=ours.rounds, seed=ours.seed)

    def rounds(self, sample: Sample, models: Sequence[Identity]) -> Sequence[Sequence[Places]]:
        """Returns the pairs by round, if the design is extended."""
        if len(models) < FEWEST_TO_EXTEND:
            raise ConfigurationError(
                Text(
                    "protocol.pairs: `extended` takes {} edit models or more; of {} every two meet in the first "
                    "round: write `all`",
                    FEWEST_TO_EXTEND,
                    len(models),
                )
            )
        return rounds_of_cycles(sample, models, self._meetings.rounds, self._meetings.seed)


def choose_pairs(
    design: Design, sample: Sample, models: Sequence[Identity], *, rounds: int = 1, seed: int = 0
) -> list[Places]:
    """Returns which two edit models' edits of a sample meet, as indices into `models`.

    `cycles`: `rounds` of them (see `rounds_of_cycles`).
    """
    if design == "all":
        return list(combinations(range(len(models)), 2))
    return [two for its in rounds_of_cycles(sample, models, rounds, seed) for two in its]


def rounds_of_cycles(sample: Sample, models: Sequence[Identity], rounds: int, seed: int) -> list[list[Places]]:
    """Returns each round's battles that no earlier round has: a cycle through the models in a random order of its own.

    A cycle has as many battles as there are models, and links all of them.
    """
    turn_of_battle: dict[Places, int] = {}
    for turn in range(rounds):

        def random_key(place: int, turn: int = turn) -> str:
            return digest_of_text(f"{seed}\n{turn}\n{sample.id}\n{models[place].digest}\n{models[place].seed}")

        order = sorted(range(len(models)), key=random_key)
        for a, b in zip(order, [*order[1:], order[0]], strict=True):
            if a != b:
                turn_of_battle.setdefault((min(a, b), max(a, b)), turn)
    return [[two for two, its in turn_of_battle.items() if its == turn] for turn in range(rounds)]


def both_orders(question: Question, score: str) -> tuple[Question, Question]:
    """Returns the question as written, with `edit` before `other`, and with the two swapped.

    Views keep their labels: `A` is always shown first. The two are named `NAME.forward` and `NAME.backward`, and give
    the values that `preference(score)` needs.
    """
    turned = tuple(
        View(
            _EXCHANGED.get(view.picture, view.picture),
            tuple(tuple(_EXCHANGED.get(str(part), part) for part in step) for step in view.steps),
            view.name,
        )
        for view in question.shows
    )
    return tuple(
        replace(question, name=f"{question.name}.{order}", gives=value_names(score, order), shows=shows)
        for order, shows in ((FORWARD, question.shows), (BACKWARD, turned))
    )  # type: ignore[return-value]


def preference(score: str) -> Score:
    """Returns the score of the first edit's share, the mean over both orders: missing if either has no answer."""
    return Score(scale=_SCALE, needs=tuple(value_names(score, order)[0] for order in (FORWARD, BACKWARD)))


def order_values(question: Question, first: float, tie: float) -> dict[str, float]:
    """Returns the values of a question of `both_orders`.

    `first` is the share of the picture shown first, with ties counted half, and `tie` the share of ties.
    """
    share, tied = question.gives
    return {share: 1 - first if question.name.endswith(f".{BACKWARD}") else first, tied: tie}


RUBRIC = "pairwise.v1"
BETTER = "better"
SHARES = {"A": 1.0, "B": 0.0, "C": 0.5}
"""Label -> the share of the picture shown first."""

Aspect = Literal["overall", "instruction", "restraint", "quality"]
Answer = Literal["json", "label", "probabilities"]


class Comparing(Meeting):
    """Compares two edits by one or more questions in our wording, each in both orders."""

    def __init__(
        self,
        meetings: Meetings,
        texts: Mapping[str, Any],
        aspects: Mapping[str, Aspect],
        *,
        answer: Answer = "json",
        ties: bool = True,
    ) -> None:
        """`aspects` maps each score to what is asked, the headline first."""
        super().__init__(meetings)
        self._texts, self._aspects, self._answer, self._ties = texts, aspects, answer, ties
        self.headline = next(iter(aspects))
        self.scores: Mapping[str, Score] = {name: preference(name) for name in aspects}
        self._labels = tuple(SHARES) if ties else ("A", "B")
        reasons: dict[str, Entry] = {texts["reasons"]: WORDS} if answer == "json" else {}
        self._schema = object_schema({**reasons, BETTER: one_of(*self._labels)})

    def questions(self, sample: Sample) -> Sequence[Question]:
        """Returns two questions per score: one in each order."""
        return [order for score in self._aspects for order in both_orders(self._question(score, sample), score)]

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
        return Question(
            name=score,
            system=system,
            user=loading.fill(texts["user"]["edits" if aspect == "quality" else "sources"], instruction),
            shows=self._shows(score, sample),
            again=again,
            form="labels" if form == "label" else form,
            labels=self._labels if form == PROBABILITIES else (),
            schema="" if form == PROBABILITIES else self._schema,
        )

    def read(self, question: Question, reply: Reply) -> Reading:
        """Reads the share of the first edit; a label must match a legal one exactly."""
        if question.form == PROBABILITIES:
            tie = reply.values.get("C", 0.0)
            return Reading(values=order_values(question, reply.values["A"] + tie / 2, tie))

        def numbers(body: str) -> tuple[Sequence[float], str]:
            share, words = self._read_preference(question, body)
            values = order_values(question, share, float(share == SHARES["C"]))
            return [values[name] for name in question.gives], words

        return read_values(question, reply, numbers)

    def _read_preference(self, question: Question, body: str) -> tuple[float, str]:
        """Returns the share of what is shown first, and the judge's words. Raises `NoAnswer`."""
        said, words = read_object(body, question.schema)
        return SHARES[str(said[BETTER])], words

    def advice(self, failed: Sequence[Judgement]) -> str:
        """Returns what to change in the configuration if answers were cut off."""
        return advice_on_limits(failed)


class Pairwise(Comparing):
    """Asks which of two edits of a sample is the better one, in both orders.

    It asks one question or several, each with a score: the share that the first edit gets, 0 to 1. The first score is
    the headline.
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
        version: str = ""
        """An earlier wording (`v1`), for a run that was judged by it; empty: the newest."""

        def __post_init__(self) -> None:
            if not self.asks or len({*self.asks}) != len(self.asks):
                raise ValueError("asks: name one of overall, instruction, restraint and quality, or several, each once")
            super().__post_init__()

    @staticmethod
    def texts(parameters: Parameters) -> Texts:
        """Returns the wording in the language of the parameters."""
        return dict(loading.load_packaged(RUBRIC, parameters.language, parameters.version))

    def __init__(self, parameters: Parameters, texts: Mapping[str, Any]) -> None:
        aspects: dict[str, Aspect] = {aspect: aspect for aspect in parameters.asks}
        super().__init__(parameters, texts, aspects, answer=parameters.answer, ties=parameters.ties)
