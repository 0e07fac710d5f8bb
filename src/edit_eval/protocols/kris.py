"""`kris`: KRIS-Bench's four scores, visual consistency, visual quality, instruction following, knowledge plausibility.

Facts: mercurystraw/Kris_Bench (scripts without an aggregation); ByteDance-Seed/Bagel@056b5fd, eval/gen/kris/:
prompts.py, metrics_*.py (readers), summarize.py.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from edit_eval.benchmarks.authors_files import AUTHORS_FILES
from edit_eval.benchmarks.kris import LEVELS, PLACES, questions_of
from edit_eval.protocols.contract import Missing, Score
from edit_eval.protocols.criteria import CriteriaProtocol, Official, settled
from edit_eval.records import Judgement, Reading, Scale, Status

REGISTERED = {"kris": "Kris"}

_SCALE = Scale(lowest=0, highest=100)
_LOOSE = (r"([1-5])\s*/\s*5", r"([1-5])\s+out\s+of\s+5", r"\b([1-5])\b")
"""Where a reply has no JSON: what stands for its number, the first that is found."""


class Kris(CriteriaProtocol):
    """Asks two to four questions an edit, whole numbers from 1 to 5, recorded as (n - 1) * 25.

    `VC`: is the rest as it was. `VQ`: is the picture well made (the edit is shown alone). `IF`: was the instruction
    followed. `KP`: is the result what knowledge lets one expect, where the benchmark asks for that. `AVG` is the mean
    of those that an edit has.

    `published` has the authors' numbers, `Overall` and one a level: the mean of all numbers of all edits, so that an
    edit with four weighs more than one with three. An edit that is missing, or of which one reply cannot be read, is
    left out. With their prompts a reply is read as they read it: JSON, else the first digit from 1 to 5 anywhere.
    """

    rubric = "kris"
    official_file = AUTHORS_FILES["kris"]
    official: ClassVar[Mapping[str, Official]] = {
        "consistency": Official("prompt_consist", ("consistency_score",)),
        "quality": Official("prompt_quality", ("quality_score",)),
        "instruction": Official("prompt_instruction_following", ("instruction_score",)),
        # Their script asks for the folder by another name than it has, and so never comes to its own prompt.
        "correction": Official("prompt_instruction_following", ("instruction_score",)),
        "viewpoint": Official("prompt_view_instruction_following", ("instruction_score",)),
        "knowledge": Official("prompt_dual_evaluation", ("instruction_score", "knowledge_score")),
        "consistency_frames": Official("prompt_consist_temporal", ("consistency_score",)),
        "instruction_frames": Official("prompt_instruction_temporal", ("instruction_score",)),
        "consistency_parts": Official("prompt_consist_multi", ("consistency_score",)),
        "instruction_parts": Official("prompt_instruction_multi", ("instruction_score",)),
    }
    slots: ClassVar[Mapping[str, str]] = {
        "{instruct}": "edit_instruction",
        "{explanation}": "explanation",
        "{N}": "frame",
    }
    recorded = (0, 100)
    headline = "AVG"
    scores: ClassVar[Mapping[str, Score]] = {
        "AVG": Score(scale=_SCALE),
        "VC": Score(scale=_SCALE, needs=("consistency",)),
        "VQ": Score(scale=_SCALE, needs=("quality",)),
        "IF": Score(scale=_SCALE, needs=("instruction",)),
        "KP": Score(scale=_SCALE, needs=("knowledge",)),
    }

    def __init__(self, parameters: Any, texts: Mapping[str, Any]) -> None:
        super().__init__(parameters, texts)
        self.published: Mapping[str, Callable[[Sequence[Judgement]], float]] = {
            "Overall": partial(self._pooled, ""),
            **{level: partial(self._pooled, level) for level in LEVELS},
        }

    def _pooled(self, level: str, judgements: Sequence[Judgement]) -> float:
        numbers: list[float] = []
        for one in settled(judgements):
            if one.readings and level in ("", PLACES.get(one.category, ("", ""))[0]):
                numbers += self._numbers(one)
        if not numbers:
            raise Missing(Status.UNDEFINED, "no edit has all of its numbers")
        return math.fsum(numbers) / len(numbers)

    def _numbers(self, one: Judgement) -> list[float]:
        """All numbers of an edit; none where one is missing."""
        found: list[float] = []
        for name, reading in one.readings[0].items():
            numbers = self._authors(one.category, name, reading) if self.is_official else [*reading.values.values()]
            if len(numbers) != len(self._texts[name]["gives"]):
                return []
            found += numbers
        return found

    def _authors(self, category: str, name: str, reading: Reading) -> list[float]:
        keys = self._texts[name]["reads"]
        reader = _SCRIPTS.get(category, _COMMON)
        read = _of_one(reading.text, keys[0], reader) if len(keys) == 1 else _of_two(reading.text, keys)
        return [(number - 1) * 25.0 for number in read]


@dataclass(frozen=True)
class _Script:
    """How the script of a type reads a reply with one number."""

    null_is_none: bool = False
    """Whether a number that is `null` is missing; else it is looked for in the rest of the reply."""
    by_name: bool = True
    """Whether, where there is no JSON, what stands behind the number's name goes before all other digits."""


_COMMON = _Script()
_SCRIPTS = {
    **dict.fromkeys((kind for kind in PLACES if "knowledge" in questions_of(kind)), _Script(null_is_none=True)),
    **dict.fromkeys(("temporal_prediction", "multi-element_composition"), _Script(by_name=False)),
}
"""Type -> its script, where it is not the common one: metrics_knowledge.py; metrics_temporal_prediction.py and
metrics_multi_element.py."""


def _of_one(text: str, key: str, script: _Script) -> list[int]:
    """The number that the authors find: in the first braces with the key, else by ever looser patterns."""
    block = re.search(rf"\{{[^{{}}]*{key}[^{{}}]*\}}", text)
    if block:
        try:
            value = json.loads(block[0]).get(key)
            if value is not None:
                return [int(value)]
            if script.null_is_none:
                return []
        except (ValueError, TypeError, OverflowError):
            pass
    named = [rf"{_spaced(key)}\s*[:：]?\s*([1-5])"] if script.by_name else []
    for pattern in (*named, *_LOOSE):
        if found := re.search(pattern, text, re.IGNORECASE):
            return [int(found[1])]
    return []


def _of_two(text: str, keys: Sequence[str]) -> list[int]:
    """The numbers that the authors find where a reply has two: in all of it as JSON, else in its first whole braces.

    Where neither is JSON with something in it, they are looked for behind their names.
    """
    for part in (text, _first_braces(text)):
        try:
            data = json.loads(part)
        except ValueError:
            continue
        if data:
            try:
                return [int(data[key]) for key in keys if data.get(key) is not None]
            except (ValueError, TypeError, AttributeError, OverflowError):  # their script gives this edit up
                return []
        break
    patterns = [rf'"?{_spaced(key)}"?\s*:\s*([1-5])' for key in keys]
    return [int(match[1]) for pattern in patterns if (match := re.search(pattern, text, re.IGNORECASE))]


def _first_braces(text: str) -> str:
    """From the first brace that opens to that which closes it, wherever in a text they stand; empty without."""
    depth, start = 0, text.find("{")
    for place in range(max(start, 0), len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if start >= 0 and not depth:
            return text[start : place + 1]
    return ""


def _spaced(key: str) -> str:
    return key.replace("_", r"[_\s]*")
