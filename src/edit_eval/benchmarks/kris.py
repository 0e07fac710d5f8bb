"""`kris`: KRIS-Bench (mercurystraw/Kris_Bench, arXiv 2505.16707), from its annotation files and pictures as they are.

Facts: mercurystraw/Kris_Bench@800662d, KRIS_Bench/*/annotation.json (20 folders, 1,267 rows);
ByteDance-Seed/Bagel@056b5fd, eval/gen/kris/ (final_data.json: all rows in one list; metrics_*.py: what is shown for
which type; summarize.py: types, dimensions, levels).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, ClassVar

from edit_eval.benchmarks.file_tree import FoundFile
from edit_eval.benchmarks.json_rows import KEY
from edit_eval.benchmarks.row_benchmark import Draft, FilesBenchmark, Row
from edit_eval.text import Text

REGISTERED = {"kris": "Kris"}

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
"""Type -> questions; of all others those of `_KNOWLEDGE`, or `_OTHERS`."""
_KNOWLEDGE = ("consistency", "knowledge", "quality")
_OTHERS = ("consistency", "instruction", "quality")
_KNOWING = ("social science", "natural science", "logical reasoning")
_FRAME = re.compile(r"\d+-(\d+)")


class Kris(FilesBenchmark):
    """KRIS-Bench: 1,267 English instructions that take knowledge: factual, conceptual, procedural.

    A sample's category is its type, its tags are level and dimension, its id is made of type and key. Some have up to
    five sources; of a sequence of frames, the one to be made is the one that is missing.
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

    def unfold(self, row: dict[str, Any], found: FoundFile) -> Sequence[dict[str, Any]]:
        """A row with its type, which is the name of its folder where it does not say it."""
        return [{"type": PurePosixPath(found.name).parent.name, "id": row[KEY]} | row]

    def pictures(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """All sources, and what is right where that is a picture."""
        sources = row.get("ori_img") or []
        sources = sources if isinstance(sources, list) else [sources]
        names = [f"source_{number}" if number > 1 else "source" for number in range(1, len(sources) + 1)]
        held = dict(zip(names, sources, strict=True)) | ({"reference": row["gt_img"]} if row.get("gt_img") else {})
        return {name: f"{row['type']}/{one}" if isinstance(one, str) else one for name, one in held.items()}

    def draft(self, row: Row) -> Draft:
        """A sample a row."""
        kind = row.label("type", [*PLACES])
        level, dimension = PLACES.get(kind, ("", ""))
        facts: dict[str, Any] = {"asks": list(questions_of(kind))}
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
    """What is asked about an edit of this type."""
    _, dimension = PLACES.get(kind, ("", ""))
    return ASKS.get(kind, _KNOWLEDGE if dimension in _KNOWING else _OTHERS)


def _frames(row: Row) -> dict[str, Any]:
    """Which frame is to be made, and all of them in their order."""
    sources = row.values.get("ori_img")
    numbers = [_FRAME.search(str(name)) for name in sources] if isinstance(sources, list) else []
    there = {int(found[1]): n for n, found in enumerate(numbers, 1) if found}
    missing = {*range(1, len(numbers) + 2)} - there.keys()
    if len(there) != len(numbers) or len(missing) != 1:
        row.faults.append(Text("ori_img does not say which frame is missing"))
        return {"frame": 0, "frames": ["edit"]}
    order = sorted([*there, *missing])
    sources_of = {number: "source" if n == 1 else f"source_{n}" for number, n in there.items()}
    return {"frame": min(missing), "frames": [sources_of.get(number, "edit") for number in order]}
