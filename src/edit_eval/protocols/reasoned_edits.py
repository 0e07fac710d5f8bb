"""`risebench`, `unireditbench`: scores of edits whose result has to be worked out.

Facts: PhoenixZ810/RISEBench@5f22651, gpt_eval.py and utils.py; Maplebb/UniREditBench@a7015c5, eval/gpt_eval_uniredit.py
and eval/utils.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from edit_eval.benchmarks.authors_files import AUTHORS_FILES
from edit_eval.benchmarks.risebench import SLIPPED
from edit_eval.protocols.contract import Missing, Score, Values
from edit_eval.protocols.criteria import CriteriaProtocol, Official, settled
from edit_eval.records import Judgement, Sample, Scale, Status

REGISTERED = {"risebench": "RISEBench", "unireditbench": "UniREditBench"}

LOWEST, HIGHEST = 1, 5
WEIGHTS: Mapping[frozenset[str], Mapping[str, float]] = {
    frozenset(weights): weights
    for weights in (
        {"consistency": 0.3, "reasoning": 0.5, "plausibility": 0.2},
        {"plausibility": 0.2, "reasoning": 0.8},
        {"consistency": 0.3, "reasoning": 0.7},
    )
}
"""What a score weighs of what an edit is asked, by what that is (`calculate_score`)."""
_SCALE = Scale(lowest=LOWEST, highest=HIGHEST)
_FINAL = ("Final Score",)
_BY_PICTURE, _BY_PICTURE_ALONE = "logical_reasoning_reference", "logical_reasoning_same"
_OF_NO_PUZZLE = 3
"""So many numbers has an edit that is no puzzle."""
_NUMBERS = [re.compile(rf"{name}\*?\*?:?\s*([\d*\s,]*)", re.IGNORECASE) for name in ("Final Score", "Final Scores")]


def _weighted(values: Values) -> float:
    return sum(weight * values[name] for name, weight in WEIGHTS[frozenset(values)].items())


def _score(sample: Sample, values: Values) -> float:
    return _halved(_weighted(values), values)


def _halved(score: float, values: Values) -> float:
    """An edit with the wrong result has half its score, and no less than 1."""
    return max(1.0, score * 0.5) if values["reasoning"] == LOWEST else score


def _accuracy(values: Values) -> float:
    return float(all(value == HIGHEST for value in values.values()))


class RISEBench(CriteriaProtocol):
    """Asks up to three questions an edit, a whole number from 1 to 5 each, for puzzles yes or no (5 or 1).

    `accuracy`, the headline, is 1 for full marks in all that is asked. `score` weighs consistency 0.3, reasoning 0.5
    and plausibility 0.2 (without consistency 0, 0.8, 0.2; puzzles 0.3, 0.7), and halves the score of an edit whose
    result is wrong.

    `published` has the authors' numbers: a sample with one reply that cannot be read counts as no success in
    `Accuracy`, and is left out of `Score`. Their script stops where a picture is missing. Where some samples are free
    of consistency, it weighs all that are no puzzles as if they were; so does `Score`, which `score` does not. With
    their prompts a puzzle's solution is asked for as their script asks, which looks at the file where it means the row.
    """

    rubric = "reasoned_edits"
    official_file = AUTHORS_FILES["risebench"]
    official: ClassVar[Mapping[str, Official]] = {
        name: Official(f"prompt_{theirs}", _FINAL)
        for name, theirs in {
            "consistency": "consist",
            "reasoning": "reasoning",
            "reasoning_source": "reasoning_w_input",
            "reasoning_reference": "spatial_ref_img",
            "plausibility": "generation",
            "spatial_consistency": "spatial_cons",
            "spatial_consistency_reference": "spatial_cons",
            "spatial_reasoning": "spatial_ref",
            "spatial_reasoning_source": "spatial_ref_w_input",
            "spatial_plausibility": "spatial_qual",
            "logical_consistency": "logical_cons_ans",
            "logical_consistency_reference": "logical_cons",
            "logical_reasoning": "logical_txt",
            "logical_reasoning_reference": "logical_img",
            "logical_reasoning_same": "logical_img_wo_q",
        }.items()
    }
    slots: ClassVar[Mapping[str, str]] = {"{instruct}": "edit_instruction", "{reference}": "reference"}
    recorded = (LOWEST, HIGHEST)
    headline = "accuracy"
    scores: ClassVar[Mapping[str, Score]] = {
        "accuracy": Score(scale=Scale(lowest=0, highest=1), of=lambda sample, values: _accuracy(values)),
        "score": Score(scale=_SCALE, of=_score),
        "reasoning": Score(scale=_SCALE, needs=("reasoning",)),
        "consistency": Score(scale=_SCALE, needs=("consistency",)),
        "plausibility": Score(scale=_SCALE, needs=("plausibility",)),
    }

    def __init__(self, parameters: Any, texts: Mapping[str, Any]) -> None:
        super().__init__(parameters, texts)
        self.published: Mapping[str, Callable[[Sequence[Judgement]], float]] = {
            "Accuracy": self._accuracy,
            "Score": self._score,
        }

    def _asked(self, sample: Sample) -> Sequence[str]:
        asked = super()._asked(sample)
        if self.is_official and sample.facts.get(SLIPPED):
            return [_BY_PICTURE_ALONE if name == _BY_PICTURE else name for name in asked]
        return asked

    def _accuracy(self, judgements: Sequence[Judgement]) -> float:
        found = [self._values(one) for one in _edited(judgements)]
        return _mean([_accuracy(values) if values else 0.0 for values in found])

    def _score(self, judgements: Sequence[Judgement]) -> float:
        found = [values for one in _edited(judgements) if (values := self._values(one))]
        some_are_free = any(self._is_free(one) for one in judgements)
        scores = []
        for values in found:
            slipped = some_are_free and "plausibility" in values
            counted = {name: value for name, value in values.items() if not slipped or name != "consistency"}
            scores.append(_halved(_weighted(counted), values))
        return _mean(scores)

    def _is_free(self, one: Judgement) -> bool:
        """Whether an edit was not asked for consistency, whatever its replies."""
        return not any("consistency" in self._texts[name]["gives"] for name in one.readings[0])

    def _values(self, one: Judgement) -> Values | None:
        """The values of all questions about an edit; None where a reply has none that the authors' reader finds."""
        found = self._found(one)
        if not all(found.values()):
            return None
        puzzle = all(self._texts[name]["highest"] == 1 for name in one.readings[0])
        numbers = [number for some in found.values() for number in some]
        if puzzle and self.is_official and len(numbers) == _OF_NO_PUZZLE:
            # They tell a puzzle by how many numbers its replies have, all together: these are not put on the scale.
            return dict(zip(found, numbers, strict=False))
        if len(numbers) != len(found):
            raise Missing(Status.UNDEFINED, f"the authors' script stops at `{one.sample_id}`: several scores")
        if puzzle and self.is_official:
            numbers = [4 * min(number, 1) + 1 for number in numbers]
        return dict(zip(found, numbers, strict=True))

    def _found(self, one: Judgement) -> Mapping[str, Sequence[float]]:
        """Value -> the numbers that the reply about it has; with our prompts that which was read."""
        return {
            self._texts[name]["gives"][0]: (
                _authors_numbers(reading.text) if self.is_official else [*reading.values.values()]
            )
            for name, reading in one.readings[0].items()
        }


class UniREditBench(RISEBench):
    """Asks three questions an edit, a whole number from 1 to 5 each: consistency, reasoning, plausibility.

    `score`, the headline, weighs them 0.3, 0.5 and 0.2; `accuracy` is 1 for full marks in all three.

    `published` has the authors' numbers: an edit that is missing, or of which one reply cannot be read, is left out of
    both; of a reply with several numbers the first counts.
    """

    official_file = AUTHORS_FILES["unireditbench"]
    official: ClassVar[Mapping[str, Official]] = {
        "consistency": Official("prompt_consist", _FINAL),
        "reasoning_both": Official("prompt_reasoning_w_ref_image", _FINAL),
        "plausibility": Official("prompt_generation", _FINAL),
    }
    headline = "score"
    scores: ClassVar[Mapping[str, Score]] = {
        **RISEBench.scores,
        "score": Score(scale=_SCALE, of=lambda sample, values: _weighted(values)),
    }

    def _values(self, one: Judgement) -> Values | None:
        """The first number of each reply; None where one has none."""
        found = self._found(one)
        return {name: some[0] for name, some in found.items()} if all(found.values()) else None

    def _accuracy(self, judgements: Sequence[Judgement]) -> float:
        return _mean([_accuracy(values) for values in self._readable(judgements)])

    def _score(self, judgements: Sequence[Judgement]) -> float:
        return _mean([_weighted(values) for values in self._readable(judgements)])

    def _readable(self, judgements: Sequence[Judgement]) -> list[Values]:
        return [values for one in settled(judgements) if one.readings and (values := self._values(one))]


def _edited(judgements: Sequence[Judgement]) -> Sequence[Judgement]:
    for one in settled(judgements):
        if not one.readings:
            raise Missing(one.status, f"the authors' script stops at `{one.sample_id}`: {one.reason}")
    return judgements


def _mean(scores: Sequence[float]) -> float:
    if not scores:
        raise Missing(Status.UNDEFINED, "no reply can be read")
    return math.fsum(scores) / len(scores)


def _authors_numbers(text: str) -> list[float]:
    """The numbers that the authors find in a reply: those behind the first `Final Score` that has any."""
    found = (re.findall(r"\d+", match) for pattern in _NUMBERS for match in pattern.findall(text))
    return [float(number) for number in next(filter(None, found), [])]
