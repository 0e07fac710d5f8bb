"""`numbers`: the protocol of a judge that measures and is asked nothing (PSNR, SSIM, similarity of embeddings).

The judge's class lists its measures (`measures`, see `edit_eval.judges.contract`); each is a score of its own. There is
one question per sample. The edit is compared with the `target`: the sample's `reference` if it has one, else its
`source`; the judge gets it under that name. Other pictures are shown if a measure needs them. With `against` the edit
is compared with the state turns or rounds earlier: how far edits drift.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from edit_eval.errors import ConfigurationError
from edit_eval.protocols.contract import MEASURED, Against, Question, Score, View, earlier
from edit_eval.records import Reading, Reply, Sample, Scale, Status
from edit_eval.text import Text

FACTS = ("target_caption", "target_text")
"""Facts on what a right edit shows, and the writing in it. A measure may need one, as it may need a picture, and gets
it as `user`."""
ORDER = ("source", "reference", "edit", "mask")
OF_A_MEASURE = ("needs", "where")
OF_A_SCALE = ("lowest", "highest", "higher_is_better")


class Numbers:
    """What a judge measured, each value a score of its own."""

    @dataclass
    class Parameters:
        measures: dict[str, dict[str, Any]] = field(default_factory=dict)
        """What the judge measures: filled in from its class."""
        headline: str = ""
        """The measure that coverage, gates and margins count; empty: the judge's first."""
        against: Against = "source"
        """What the edit is compared with: its source, the source of the first turn, or the edit of the turn or the
        round before. With `first` and `last` a reference is left out."""

        def __post_init__(self) -> None:
            for name, what in self.measures.items():
                if unknown := sorted({*what} - {*OF_A_SCALE, *OF_A_MEASURE}):
                    raise ValueError(f"measures: `{name}` has `{unknown[0]}`, which is not a property of a measure")
            if self.headline and self.measures and self.headline not in self.measures:
                measures = ", ".join(self.measures)
                raise ValueError(f"headline: the judge does not measure `{self.headline}`, but {measures}")

    def __init__(self, parameters: Parameters) -> None:
        if not parameters.measures:
            raise ConfigurationError(
                Text("protocol: `numbers` is for a judge that measures; this judge is asked questions")
            )
        self._against = parameters.against
        self._needs = {name: tuple(what.get("needs", ())) for name, what in parameters.measures.items()}
        self._where = {name: what["where"] for name, what in parameters.measures.items() if "where" in what}
        self.scores = {
            name: Score(scale=Scale(**{key: what[key] for key in OF_A_SCALE if key in what}), needs=(name,))
            for name, what in parameters.measures.items()
        }
        self.headline = parameters.headline or next(iter(self.scores))

    def questions(self, sample: Sample) -> list[Question]:
        """Returns one question, for all that can be measured. Raises `LookupError` if the headline cannot."""
        there = {*sample.pictures, "edit"}
        if sample.follows:
            there.add("source")
        texts = {name: fact for name in FACTS if isinstance(fact := sample.facts.get(name), str) and fact.strip()}
        there |= texts.keys()
        if self._against != "source":
            there.discard("reference")
        if lacking := next((name for name in self._needs[self.headline] if name not in there), ""):
            raise LookupError(f"it has no `{lacking}`, which `{self.headline}` needs")
        given = tuple(name for name, needs in self._needs.items() if there >= {*needs})
        needed = {name for measure in given for name in self._needs[measure]}
        shown = {"edit", "reference" if "reference" in there else "source", *needed} - {*FACTS}
        ordered = [*(name for name in ORDER if name in shown), *sorted(shown - {*ORDER})]
        views = tuple(earlier(self._against) if name == "source" else View(picture=name) for name in ordered)
        user = "\n".join(fact for name, fact in texts.items() if name in needed)
        return [Question(name="numbers", gives=given, user=user, shows=views, form=MEASURED)]

    def read(self, question: Question, reply: Reply) -> Reading:
        """Reads the reply's values; a value missing among others is undefined, for the reason in the reply's text."""
        values = {name: reply.values[name] for name in question.gives if name in reply.values}
        if not values:
            said = " ".join(reply.text.split())[:200] or "nothing"
            return Reading(status=Status.UNPARSEABLE, reason=f"none of its values was measured; the judge says: {said}")
        for name, value in values.items():
            if outside := _outside(self.scores[name].scale, value):
                return Reading(status=Status.OUT_OF_RANGE, reason=f"{name} is {value:g}, {outside}")
        inapplicable = tuple(name for name in question.gives if reply.values.get(self._where.get(name, "")) == 0)
        return Reading(values=values, inapplicable=inapplicable, reason=reply.text)


def _outside(scale: Scale, value: float) -> str:
    if scale.lowest is not None and value < scale.lowest:
        return f"below {scale.lowest:g}"
    if scale.highest is not None and value > scale.highest:
        return f"above {scale.highest:g}"
    return ""
