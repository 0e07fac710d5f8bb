"""`risebench`: RISEBench (PhoenixZ810/RISEBench, arXiv 2504.02826), from its JSON and pictures as they are.

Facts: PhoenixZ810/RISEBench@5f22651, data/data_total.json (64 rows) and gpt_eval.py (columns, which picture and which
text is shown for which row); 360 rows are datav2_total_w_subtask.json and data.zip of PhoenixZ/RISEBench on the hub.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from edit_eval.benchmarks.row_benchmark import Draft, FilesBenchmark, FilesParameters, Row
from edit_eval.records import Sample
from edit_eval.text import Text

REGISTERED = {"risebench": "RISEBench"}

ALONE = "reasoning_wo_ins"
"""The column that says that a puzzle's solution is judged by its picture alone, without the instruction. The authors'
script looks at the column, not at the row: as soon as one row has it, it asks so of every puzzle with a picture."""
SLIPPED = "any_alone"
"""The fact that one row of the file has it."""
CATEGORIES = ("temporal_reasoning", "causal_reasoning", "spatial_reasoning", "logical_reasoning")


class RISEBench(FilesBenchmark):
    """RISEBench: English instructions whose result has to be worked out, in time, cause, space and logic.

    A sample's category is the kind of reasoning, its tag the subtask, its id the authors' index. What a right edit
    shows is a text (`reference`, `reference_txt`) or a picture (`reference_img`).
    """

    @dataclass
    class Parameters(FilesParameters):
        data_path: str = "hub:PhoenixZ/RISEBench"
        """Where the 360 rows are on the hub; or the folder that holds the files, unpacked or still in their zip."""

    names = ("datav2_total_w_subtask.json", "data_total.json")
    sizes = (64, 360)
    protocol = "risebench"
    wanted = ("datav2_total_w_subtask.json", "data.zip")
    about: ClassVar[Mapping[str, str]] = {
        "source": "arXiv 2504.02826; github PhoenixZ810/RISEBench (64), hub PhoenixZ/RISEBench (360)",
        "licence": "none given",
        "samples": "360 or 64 of four kinds of reasoning; English",
        "formula": "accuracy: share of edits with full marks in all that they are asked; score: weighted, 1 to 5",
        "defects": "some files called .png are JPEG; the authors' mean score weighs rows that need consistency as if "
        "they did not",
    }

    def samples(self) -> Iterator[Sample]:
        """See `RowBenchmark`. All rows are read before the first sample comes."""
        self._any_alone = False
        found = list(super().samples())
        for sample in found:
            yield dataclasses.replace(sample, facts={**sample.facts, SLIPPED: True}) if self._any_alone else sample

    def pictures(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """The source, and the picture of a right edit where there is one."""
        there = {"source": row.get("image"), "reference": row.get("reference_img")}
        return {name: held for name, held in there.items() if held}

    def draft(self, row: Row) -> Draft:
        """A sample a row; the questions about it are those of the authors' script."""
        self._any_alone |= ALONE in row.values
        category = row.label("category", CATEGORIES)
        subtask, reference = row.text("subtask"), row.text("reference") or row.text("reference_txt")
        asks = [] if row.values.get("consistency_free") is not None else [_consistency(category, row)]
        asks.append(_reasoning(category, row))
        asks += {"spatial_reasoning": ["spatial_plausibility"], "logical_reasoning": []}.get(category, ["plausibility"])
        if not reference and not row.text("reference_img"):
            row.faults.append(Text("no reference, reference_txt or reference_img"))
        return Draft(
            row.text("index", required=True),
            row.text("instruction", required=True),
            category,
            {"asks": asks, "reference": reference},
            tags=(subtask,) if subtask else (),
        )


def _consistency(category: str, row: Row) -> str:
    return "_".join([*_family(category), "consistency", *_by_picture(category, row)])


def _reasoning(category: str, row: Row) -> str:
    by_picture = _by_picture(category, row)
    if category == "logical_reasoning" and by_picture and row.values.get(ALONE):
        return "logical_reasoning_same"
    if category == "spatial_reasoning" and by_picture:
        return "reasoning_reference"
    beside = ["source"] if row.values.get("reasoning_img") is not None and category != "logical_reasoning" else []
    return "_".join([*_family(category), "reasoning", *(by_picture or beside)])


def _family(category: str) -> Iterator[str]:
    """How the names of a category's questions begin: two have words of their own."""
    return iter([category.partition("_")[0]] if category in ("spatial_reasoning", "logical_reasoning") else [])


def _by_picture(category: str, row: Row) -> list[str]:
    """How they end where a picture says what is right; a text goes before it in puzzles, after it elsewhere."""
    if not row.values.get("reference_img") or category not in ("spatial_reasoning", "logical_reasoning"):
        return []
    return [] if category == "logical_reasoning" and row.values.get("reference_txt") else ["reference"]
