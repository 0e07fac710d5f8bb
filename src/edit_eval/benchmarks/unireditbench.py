"""`unireditbench`: UniREditBench (Maplebb/UniREditBench, arXiv 2511.01295), from its JSON and pictures as they are.

Facts: Maplebb/UniREditBench@a7015c5, README.md (columns), eval/gpt_eval_uniredit.py (what is shown; rules go before
the instruction); maplebb/UniREditBench on the hub: data.json, original_image.zip, reference_image.zip.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from edit_eval.benchmarks.row_benchmark import Draft, FilesBenchmark, FilesParameters, Row

REGISTERED = {"unireditbench": "UniREditBench"}


class UniREditBench(FilesBenchmark):
    """UniREditBench: 2,700 English instructions whose result has to be worked out, in the real world and in games.

    A sample's category is its `name`, its id is made of name and `idx`. What a right edit shows is a picture and a
    text. The rules of a game stand before its instruction, for the edit model, too.
    """

    @dataclass
    class Parameters(FilesParameters):
        data_path: str = "hub:maplebb/UniREditBench"
        """Where it is on the hub; or the folder that holds the files, unpacked or still in their zip files."""

    names = ("data.json",)
    sizes = (2700,)
    protocol = "unireditbench"
    wanted = ("data.json", "*.zip")
    about: ClassVar[Mapping[str, str]] = {
        "source": "arXiv 2511.01295; github and hub Maplebb/UniREditBench",
        "licence": "none given",
        "samples": "2,700 of 18 kinds; English",
        "formula": "0.3 consistency + 0.5 reasoning + 0.2 plausibility, each 1 to 5; mean over the edits",
        "defects": "the authors' script keeps an error for ever, and leaves out what it cannot read",
    }

    def pictures(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """The source, and a right edit."""
        there = {"source": row.get("original_image_path"), "reference": row.get("reference_image_path")}
        return {name: held for name, held in there.items() if held}

    def draft(self, row: Row) -> Draft:
        """A sample a row."""
        name, rules = row.text("name", required=True), row.text("rules")
        instruction = row.text("instruction", required=True)
        return Draft(
            f"{name}_{row.text('idx', required=True)}",
            f"{rules}\n{instruction}" if rules and instruction else instruction,
            name,
            {"asks": ["consistency", "reasoning_both", "plausibility"], "reference": row.text("reference_effect")},
            needed=("source", "reference"),
        )
