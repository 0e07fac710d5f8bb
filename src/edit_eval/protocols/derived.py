"""What stands in for a protocol whose class is not here: asks nothing, and gives the scores that a start has derived.

Opening a run imports nothing that the run names. Where a protocol is a class of its user's own, readers see what the
last start made of the replies (`store/derived.py`); no reply is read anew, and nothing counts as done by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn

from edit_eval.protocols.contract import Missing, Question, Score
from edit_eval.records import Judgement, Reading, Reply, Sample, Scale, Scoring, Status
from edit_eval.text import Text

Address = tuple[str, str, str, int, int]
"""What a judgement is of, within those of its judge: sample, edit model, the other one, edit seed, repeat."""


def address(judgement: Judgement) -> Address:
    """Returns where a judgement is found."""
    about = judgement.sample_id, judgement.edit_model, judgement.other
    return *about, judgement.edit_seed, judgement.repeat


@dataclass(frozen=True)
class DerivedScores:
    """The judgements of one judge as the last start derived them. A `Protocol`."""

    scoring: Scoring
    judgements: Mapping[Address, Judgement] = field(default_factory=dict, repr=False)
    """By `address`."""
    numbers: Mapping[str, Mapping[str, float | str]] = field(default_factory=dict)
    """What the protocol calls `published`, by edit model; a text says why there is no number."""
    note: str = ""
    """By which class it was done, and when."""
    fault: str = ""
    """Why there are no scores to show."""

    @classmethod
    def unknown(cls, judge: str) -> DerivedScores:
        """Returns what stands in for the protocol of a judge of which nothing was derived."""
        nothing = Scoring(protocol="", headline="score", scales={"score": Scale()})
        return cls(nothing, fault=Text("{}: its protocol is not here", judge))

    def judgement(self, judge: str, place: Address) -> Judgement:
        """Returns the judgement at a place (`address`); one that is pending if none was derived."""
        if (known := self.judgements.get(place)) is not None:
            return known
        sample, edit_model, other, edit_seed, repeat = place
        return Judgement(
            sample_id=sample,
            category="",
            edit_model=edit_model,
            judge=judge,
            edit_seed=edit_seed,
            repeat=repeat,
            headline=self.headline,
            status=Status.PENDING,
            reason=self.fault or Text("not derived when the run was last started"),
            other=other,
        )

    @property
    def headline(self) -> str:
        """The protocol's."""
        return self.scoring.headline

    @property
    def looks(self) -> int:
        """The protocol's."""
        return self.scoring.looks

    @cached_property
    def scores(self) -> Mapping[str, Score]:
        """The protocol's scores, of which only the scales are known."""
        scales = self.scoring.scales.items()
        return {name: Score(scale=scale, part=name in self.scoring.parts) for name, scale in scales}

    @cached_property
    def published(self) -> Mapping[str, Callable[[Sequence[Judgement]], float]]:
        """The numbers of a benchmark's authors, as they were."""

        def number(name: str) -> Callable[[Sequence[Judgement]], float]:
            def number_of_model(rows: Sequence[Judgement]) -> float:
                value = self.numbers[rows[0].edit_model].get(name, "") if rows else ""
                if isinstance(value, str):
                    raise Missing(Status.UNDEFINED, value)
                return value

            return number_of_model

        return {name: number(name) for name in {name: 0 for of in self.numbers.values() for name in of}}

    def questions(self, sample: Sample) -> Sequence[Question]:
        """Returns none."""
        return ()

    def read(self, question: Question, reply: Reply) -> Reading:
        """Is never asked."""
        return _nothing_is_read()


@dataclass(frozen=True)
class DerivedBattles(DerivedScores):
    """The same of a protocol that compares two edits."""

    @cached_property
    def _judgements_by_sample(self) -> Mapping[str, list[Judgement]]:
        by_sample: dict[str, list[Judgement]] = {}
        for judgement in self.judgements.values():
            by_sample.setdefault(judgement.sample_id, []).append(judgement)
        return by_sample

    def battles(self, sample: Sample, models: Sequence[Any]) -> Sequence[tuple[int, int]]:
        """Returns the pairs of edit models that have met."""
        places = {model.name: place for place, model in enumerate(models)}
        names = [(battle.edit_model, battle.other) for battle in self._judgements_by_sample.get(sample.id, ())]
        return sorted({(places[one], places[other]) for one, other in names if {one, other} <= places.keys()})

    def rounds(self, sample: Sample, models: Sequence[Any]) -> Sequence[Sequence[tuple[int, int]]]:
        """Returns them as one round: those that were not begun are not known."""
        return [self.battles(sample, models)]


def _nothing_is_read() -> NoReturn:
    raise AssertionError("nothing is read without its protocol")
