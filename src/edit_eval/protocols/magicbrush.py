"""`magicbrush`: what a judge measured, with the means of MagicBrush's authors beside.

Facts: OSU-NLP-Group/MagicBrush@fcfc892, evaluation/image_eval.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from edit_eval.benchmarks.magicbrush import EARLIER
from edit_eval.protocols.contract import Missing
from edit_eval.protocols.criteria import settled
from edit_eval.protocols.numbers import Numbers
from edit_eval.records import Judgement, Status

REGISTERED = {"magicbrush": "MagicBrush"}

NAMES = {"l1_bicubic": "L1", "l2_bicubic": "L2", "image_similarity": "CLIP-I or DINO", "text_similarity": "CLIP-T"}
"""A judge's measure -> the authors' name."""


class MagicBrush(Numbers):
    """What a judge measured, each value a score of its own, as in `numbers`.

    `published` has the authors' means: of the last turns where turns follow one another, else of all. Their script
    stops where one picture is missing: then there is no such number. L1 and L2 take
    `picture_metrics: {bicubic: true}`; which of CLIP-I and DINO it is, is said by the encoder of `embedding_metrics`.
    """

    def __init__(self, parameters: Numbers.Parameters) -> None:
        super().__init__(parameters)
        self.published: Mapping[str, Callable[[Sequence[Judgement]], float]] = {
            name: partial(_mean, measure) for measure, name in NAMES.items() if measure in self.scores
        }


def _mean(measure: str, judgements: Sequence[Judgement]) -> float:
    counted = [one for one in settled(judgements) if one.category != EARLIER]
    numbers = []
    for one in counted:
        status, reason = one.outcome(measure) or (Status.UNDEFINED, "its benchmark lacks what that needs")
        if status is not Status.OK:
            raise Missing(status, f"the authors' script stops at `{one.sample_id}`: {reason}")
        numbers.append(one.scores[measure])
    return math.fsum(numbers) / len(numbers)
