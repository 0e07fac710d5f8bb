"""`kris`: KRIS-Bench (mercurystraw/Kris_Bench, arXiv 2505.16707), from its original annotation files and pictures.

Facts: mercurystraw/Kris_Bench@800662d, KRIS_Bench/*/annotation.json (20 folders, 1,267 rows; scripts without an
aggregation); ByteDance-Seed/Bagel@056b5fd, eval/gen/kris/ (final_data.json: all rows in one list; prompts.py;
metrics_*.py: what is shown for which type, readers; summarize.py: types, dimensions, levels, means).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, ClassVar

from edit_eval.benchmarks.authors_files import AuthorsFile
from edit_eval.benchmarks.file_tree import FoundFile
from edit_eval.benchmarks.json_items import KEY
from edit_eval.benchmarks.row_benchmark import Draft, FilesBenchmark, Row, number_pictures
from edit_eval.json_values import JsonObject, Unchecked
from edit_eval.plugins.published.criteria import (
    CriteriaProtocol,
    Official,
    make_numbers,
    mean_of,
    our_wording,
    require_final_judgements,
)
from edit_eval.protocols.certificates import Certificate
from edit_eval.protocols.contract import Score
from edit_eval.records import Judgement, Reading, Scale
from edit_eval.text import Text

LEVELS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "factual": {
        "attribute perception": (
            "count_change",
            "color_change",
            "size_adjustment",
            "part_completion",
            "anomaly_correction",
        ),
        "spatial perception": ("viewpoint_change", "position_movement"),
        "temporal prediction": ("temporal_prediction",),
    },
    "conceptual": {
        "social science": ("humanities", "practical_knowledge"),
        "natural science": ("biology", "chemistry", "geography", "medicine", "mathematics", "physics"),
    },
    "procedural": {
        "logical reasoning": ("abstract_reasoning", "rule-based_reasoning"),
        "instruction decomposition": ("multi-element_composition", "multi-instruction_execution"),
    },
}
"""Level of knowledge -> dimension -> types."""
PLACES = {kind: (level, dim) for level, dims in LEVELS.items() for dim, kinds in dims.items() for kind in kinds}
"""Type -> level and dimension."""
ASKS = {
    "anomaly_correction": ("consistency", "correction", "quality"),
    "viewpoint_change": ("consistency", "viewpoint", "quality"),
    "temporal_prediction": ("consistency_frames", "instruction_frames", "quality"),
    "multi-element_composition": ("consistency_parts", "instruction_parts", "quality"),
}
"""Type -> questions; all other types have those of `_KNOWLEDGE` or `_OTHERS`."""
_KNOWLEDGE = ("consistency", "knowledge", "quality")
_OTHERS = ("consistency", "instruction", "quality")
_KNOWING = ("social science", "natural science", "logical reasoning")
_FRAME = re.compile(r"\d+-(\d+)")
_SCALE = Scale(lowest=0, highest=100)
_LOOSE = (r"([1-5])\s*/\s*5", r"([1-5])\s+out\s+of\s+5", r"\b([1-5])\b")
"""Patterns for the number of a reply without JSON; the first match counts."""


class Kris(FilesBenchmark):
    """KRIS-Bench: 1,267 English instructions that take knowledge: factual, conceptual, procedural.

    A sample's category is its type, its tags are level and dimension, its id consists of type and key. Some have up to
    five sources; in a sequence of frames the missing one is to be made.
    """

    names = ("annotation.json", "final_data.json")
    sizes = (1267,)
    protocol = "kris"
    about: ClassVar[Mapping[str, str]] = {
        "source": "arXiv 2505.16707; hub and github mercurystraw/Kris_Bench",
        "licence": "none given with the data; the script and prompts in ByteDance-Seed/Bagel are Apache-2.0",
        "samples": "1,267 of 20 types in seven dimensions and three levels; English",
        "formula": "each number of 1 to 5 as (n - 1) * 25; the mean of all numbers",
        "defects": "rule-based_reasoning has no explanations; the authors' scripts do not tell those of "
        "anomaly_correction; a reply without JSON counts as the first digit from 1 to 5 in it",
    }

    def unfold(self, row: Unchecked, file: FoundFile) -> Sequence[Unchecked]:
        """Returns the row with its type, which defaults to the name of its folder."""
        return [{"type": PurePosixPath(file.name).parent.name, "id": row[KEY]} | row]

    def pictures(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns all sources, and the right result if it is a picture."""
        sources = row.get("ori_img") or []
        sources = sources if isinstance(sources, list) else [sources]
        held = number_pictures("source", sources) | ({"reference": row["gt_img"]} if row.get("gt_img") else {})
        return {
            name: f"{row['type']}/{picture}" if isinstance(picture, str) else picture for name, picture in held.items()
        }

    def draft(self, row: Row) -> Draft:
        """Returns the sample of a row."""
        kind = row.label("type", [*PLACES])
        level, dimension = PLACES.get(kind, ("", ""))
        facts: JsonObject = {"asks": list(questions_of(kind))}
        facts["explanation"] = row.text("explain_en")
        needed: tuple[str, ...] = ("source",)
        if kind == "temporal_prediction":
            facts |= _frames(row)
        if kind == "viewpoint_change":
            needed = ("source", "reference")
        named = f"{kind}_{row.text('id', required=True)}"
        tags = tuple(filter(None, (level, dimension)))
        return Draft(named, row.text("ins_en", required=True), kind, facts, tags=tags, needed=needed)


def questions_of(kind: str) -> Sequence[str]:
    """Returns the questions about an edit of this type."""
    _, dimension = PLACES.get(kind, ("", ""))
    return ASKS.get(kind, _KNOWLEDGE if dimension in _KNOWING else _OTHERS)


def _frames(row: Row) -> Unchecked:
    """Returns which frame is to be made, and all frames in order."""
    sources = row.values.get("ori_img")
    numbers = [_FRAME.search(str(name)) for name in sources] if isinstance(sources, list) else []
    there = {int(match[1]): n for n, match in enumerate(numbers, 1) if match}
    missing = {*range(1, len(numbers) + 2)} - there.keys()
    if len(there) != len(numbers) or len(missing) != 1:
        row.faults.append(Text("ori_img does not say which frame is missing"))
        return {"frame": 0, "frames": ["edit"]}
    order = sorted([*there, *missing])
    sources_of = {number: "source" if n == 1 else f"source_{n}" for number, n in there.items()}
    return {"frame": min(missing), "frames": [sources_of.get(number, "edit") for number in order]}


class KrisScores(CriteriaProtocol):
    """Asks two to four questions an edit, whole numbers from 1 to 5, recorded as (n - 1) * 25.

    `VC`: is the rest unchanged. `VQ`: is the picture well made (only the edit is shown). `IF`: was the instruction
    followed. `KP`: is the result what knowledge lets one expect, if the benchmark asks for that. `AVG` is the mean of
    those that an edit has.

    `published` has the authors' numbers, `Overall` and one per level: the mean of all numbers of all edits, so that an
    edit with four weighs more than one with three. A missing edit, or one with an unreadable reply, is left out. With
    their prompts a reply is read as they read it: JSON, else the first digit from 1 to 5 anywhere.
    """

    certificate: ClassVar[Certificate] = Certificate(
        repository="ByteDance-Seed/Bagel",
        commit="056b5fd51a88c1eb4547318609e25d40080fcf87",
        on="2026-11-24",
        sets=63,
        numbers=252,
        beside=Text(
            "by the edition of the scripts in that repository; the benchmark's own has no means; they make frames of a "
            "sequence JPEG, which is not done here"
        ),
    )

    rubric = our_wording("kris")
    official_file = AuthorsFile(
        "ByteDance-Seed/Bagel",
        "056b5fd51a88c1eb4547318609e25d40080fcf87",
        "eval/gen/kris/prompts.py",
        "Apache-2.0",
        "5c4efd450ffcc85c4088d5d6966df24e1d9f56ac8c17a10d04f65893cc915a45",
    )
    official: ClassVar[Mapping[str, Official]] = {
        "consistency": Official("prompt_consist", ("consistency_score",)),
        "quality": Official("prompt_quality", ("quality_score",)),
        "instruction": Official("prompt_instruction_following", ("instruction_score",)),
        # Their script looks for the folder under another name, and so never reaches its own prompt.
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
        self.published = make_numbers(self._mean_of_level, LEVELS)

    def _mean_of_level(self, level: str, judgements: Sequence[Judgement]) -> float:
        numbers: list[float] = []
        for judgement in require_final_judgements(judgements):
            if judgement.readings and level in ("", PLACES.get(judgement.category, ("", ""))[0]):
                numbers += self._numbers(judgement)
        return mean_of(numbers, "no edit has all of its numbers")

    def _numbers(self, judgement: Judgement) -> list[float]:
        """Returns all numbers of an edit; none if one is missing."""
        numbers: list[float] = []
        for name, reading in judgement.readings[0].items():
            read = self._authors(judgement.category, name, reading) if self.is_official else [*reading.values.values()]
            if len(read) != len(self._texts[name]["gives"]):
                return []
            numbers += read
        return numbers

    def _authors(self, category: str, name: str, reading: Reading) -> list[float]:
        keys = self._texts[name]["reads"]
        reader = _SCRIPTS.get(category, _COMMON)
        read = (
            _read_one_number(reading.text, keys[0], reader) if len(keys) == 1 else _read_two_numbers(reading.text, keys)
        )
        return [(number - 1) * 25.0 for number in read]


@dataclass(frozen=True)
class _Script:
    """How the script of a type reads a reply with one number."""

    null_is_none: bool = False
    """If true, a `null` number is missing; else it is searched for in the rest of the reply."""
    by_name: bool = True
    """If true, a reply without JSON is first searched behind the number's name, then for any digits."""


_COMMON = _Script()
_SCRIPTS = {
    **dict.fromkeys((kind for kind in PLACES if "knowledge" in questions_of(kind)), _Script(null_is_none=True)),
    **dict.fromkeys(("temporal_prediction", "multi-element_composition"), _Script(by_name=False)),
}
"""Type -> its script, if it is not the common one: metrics_knowledge.py; metrics_temporal_prediction.py and
metrics_multi_element.py."""


def _read_one_number(text: str, key: str, script: _Script) -> list[int]:
    """Returns the number the authors find: in the first braces with the key, else by ever looser patterns."""
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
    named = [rf"{_spacing_pattern(key)}\s*[:：]?\s*([1-5])"] if script.by_name else []
    for pattern in (*named, *_LOOSE):
        if match := re.search(pattern, text, re.IGNORECASE):
            return [int(match[1])]
    return []


def _read_two_numbers(text: str, keys: Sequence[str]) -> list[int]:
    """Returns the numbers the authors find in a reply with two: in all of it as JSON, else in its first braces.

    If neither is non-empty JSON, they are searched for behind their names.
    """
    for part in (text, _first_braces(text)):
        try:
            data = json.loads(part)
        except ValueError:
            continue
        if data:
            try:
                return [int(data[key]) for key in keys if data.get(key) is not None]
            except (ValueError, TypeError, AttributeError, OverflowError):  # their script gives up on this edit
                return []
        break
    patterns = [rf'"?{_spacing_pattern(key)}"?\s*:\s*([1-5])' for key in keys]
    return [int(match[1]) for pattern in patterns if (match := re.search(pattern, text, re.IGNORECASE))]


def _first_braces(text: str) -> str:
    """Returns the text from the first opening brace to its closing one, at any place; empty if there is none."""
    depth, start = 0, text.find("{")
    for place in range(max(start, 0), len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if start >= 0 and not depth:
            return text[start : place + 1]
    return ""


def _spacing_pattern(key: str) -> str:
    return key.replace("_", r"[_\s]*")
