"""`magicbrush`: what a judge measured, with the means of MagicBrush's authors beside.

Facts: OSU-NLP-Group/MagicBrush@fcfc892, evaluation/image_eval.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from edit_eval.benchmarks.magicbrush import EARLIER
from edit_eval.protocols.contract import Missing, Question, Score
from edit_eval.protocols.criteria import settled
from edit_eval.protocols.numbers import Numbers
from edit_eval.records import Judgement, Reading, Reply, Sample, Status

REGISTERED = {"magicbrush": "MagicBrush"}

NAMES = {"l1_bicubic": "L1", "l2_bicubic": "L2", "image_similarity": "CLIP-I or DINO", "text_similarity": "CLIP-T"}
"""A judge's measure -> the authors' name."""
OF_EARLIER = "earlier_"
"""How the scores of earlier turns begin, where turns follow one another."""


class MagicBrush(Numbers):
    """What a judge measured, each value a score of its own, as in `numbers`.

    Where turns follow one another the authors compare the last ones alone, and so does each of these scores; those of
    the turns before are `earlier_...` beside them. `published` has the authors' means. Their script stops where one
    picture is missing: then there is no such number. L1 and L2 take `picture_metrics: {bicubic: true}`; which of CLIP-I
    and DINO it is, is said by the encoder of `embedding_metrics`.
    """

    def __init__(self, parameters: Numbers.Parameters) -> None:
        super().__init__(parameters)
        self.published: Mapping[str, Callable[[Sequence[Judgement]], float]] = {
            name: partial(_mean, measure) for measure, name in NAMES.items() if measure in self.scores
        }
        earlier = [f"{OF_EARLIER}{name}" for name in self.scores]
        self.scores |= {
            name: Score(scale=one.scale, needs=(name,)) for name, one in zip(earlier, self.scores.values(), strict=True)
        }

    def counts(self, sample: Sample) -> bool:
        """Whether it is no turn that another follows."""
        return sample.category != EARLIER

    def questions(self, sample: Sample) -> list[Question]:
        """As `numbers`; of an earlier turn the same under other names."""
        asked = super().questions(sample)
        if self.counts(sample):
            return asked
        return [replace(one, gives=tuple(f"{OF_EARLIER}{name}" for name in one.gives)) for one in asked]

    def read(self, question: Question, reply: Reply) -> Reading:
        """As `numbers`."""
        plain = replace(question, gives=tuple(name.removeprefix(OF_EARLIER) for name in question.gives))
        found = super().read(plain, reply)
        if plain.gives == question.gives:
            return found
        return replace(found, values={f"{OF_EARLIER}{name}": value for name, value in found.values.items()})


def _mean(measure: str, judgements: Sequence[Judgement]) -> float:
    counted = [one for one in settled(judgements) if one.category != EARLIER]
    numbers = []
    for one in counted:
        status, reason = one.outcome(measure) or (Status.UNDEFINED, "its benchmark does not have what that needs")
        if status is not Status.OK:
            raise Missing(status, f"the authors' script stops at `{one.sample_id}`: {reason}")
        numbers.append(one.scores[measure])
    return math.fsum(numbers) / len(numbers)
