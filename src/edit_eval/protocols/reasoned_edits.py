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
from edit_eval.protocols.contract import Missing, Score, Values
from edit_eval.protocols.criteria import Asked, Official, settled
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


class RISEBench(Asked):
    """Asks up to three questions an edit, a whole number from 1 to 5 each, for puzzles yes or no (5 or 1).

    `accuracy`, the headline, is 1 for full marks in all that is asked. `score` weighs consistency 0.3, reasoning 0.5
    and plausibility 0.2 (without consistency 0, 0.8, 0.2; puzzles 0.3, 0.7), and halves the score of an edit whose
    result is wrong.

    `published` has the authors' numbers: a sample with one reply that cannot be read counts as no success in
    `Accuracy`, and is left out of `Score`. Their script stops where a picture is missing. Where some samples are free
    of consistency, it weighs all that are no puzzles as if they were; so does `Score`, which `score` does not.
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

    def _accuracy(self, judgements: Sequence[Judgement]) -> float:
        found = [self._values(one) for one in _edited(judgements)]
        return _mean([_accuracy(values) if values else 0.0 for values in found])

    def _score(self, judgements: Sequence[Judgement]) -> float:
        found = [values for one in _edited(judgements) if (values := self._values(one))]
        some_are_free = any("consistency" not in values for values in found)
        scores = []
        for values in found:
            slipped = some_are_free and "plausibility" in values
            counted = {name: value for name, value in values.items() if not slipped or name != "consistency"}
            scores.append(_halved(_weighted(counted), values))
        return _mean(scores)

    def _values(self, one: Judgement) -> Values | None:
        """The values of all questions about an edit; None where a reply has none that the authors' reader finds."""
        found: dict[str, float] = {}
        for name, reading in one.readings[0].items():
            text = self._texts[name]
            if self.is_official:
                numbers = _authors_numbers(reading.text)
                if len(numbers) > 1:
                    raise Missing(Status.UNDEFINED, f"the authors' script stops at `{one.sample_id}`: several scores")
                if text["highest"] == 1:
                    numbers = [4 * min(number, 1) + 1 for number in numbers]
            else:
                numbers = [*reading.values.values()]
            if not numbers:
                return None
            found[text["gives"][0]] = numbers[0]
        return found


class UniREditBench(RISEBench):
    """Asks three questions an edit, a whole number from 1 to 5 each: consistency, reasoning, plausibility.

    `score`, the headline, weighs them 0.3, 0.5 and 0.2; `accuracy` is 1 for full marks in all three.

    `published` has the authors' numbers: an edit that is missing, or of which one reply cannot be read, is left out of
    both.
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
