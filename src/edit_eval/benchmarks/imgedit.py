"""`imgedit`: ImgEdit-Bench (PKU-YuanGroup/ImgEdit, arXiv 2505.20275), from its JSON files and pictures as they are.

Facts: PKU-YuanGroup/ImgEdit@547185d, Benchmark/: Basic/basic_edit.json (737 rows), UGE/UGE_edit.json (47 rows) and
Multiturn/Multiturn_readme.md (columns); the pictures are Benchmark.tar of sysuyy/ImgEdit on the hub. What is in it is
known from those who read it (tests/benchmarks/published_files.yaml has who): the rows of Basic and of the turns, not
those of UGE (one reader has them there, as JSONL, another says that they are not).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, ClassVar, Literal

from edit_eval.benchmarks.authors_files import UGE_ROWS
from edit_eval.benchmarks.file_tree import FoundFile
from edit_eval.benchmarks.json_rows import KEY
from edit_eval.benchmarks.row_benchmark import Draft, FilesBenchmark, FilesParameters, Held, Row

REGISTERED = {"imgedit": "ImgEdit"}

TYPES = ("replace", "add", "adjust", "remove", "style", "action", "extract", "background", "compose")
"""The edit types of Basic, which are its categories."""
WHOLE = "whole"
"""The question about edits that have no type: one score for all of it."""
_NAMES = {
    "basic": ("basic_edit.json", "singleturn.json"),
    "uge": (UGE_ROWS.name, "annotation.jsonl"),
    "multi_turn": ("annotation.json",),
}
_FOLDERS = {"basic": "singleturn", "uge": "hard"}
"""Suite -> the folder with its pictures; those of several turns are beside their rows."""


class ImgEdit(FilesBenchmark):
    """ImgEdit-Bench: 737 English instructions of nine edit types (Basic); harder ones (UGE); edits of several turns.

    Basic is judged by three scores of its edit type, the others by one score. A sample's id is its key in the file; of
    a turn, key and number. A turn's source is the edit of the turn before it.
    """

    @dataclass
    class Parameters(FilesParameters):
        data_path: str = "hub:sysuyy/ImgEdit"
        """Where `Benchmark.tar` is on the hub; or the folder that holds the files, unpacked or still in it."""
        suite: Literal["basic", "uge", "multi_turn"] = "basic"
        """Which of the three. The authors have people judge the turns, so there is no number of theirs."""

    protocol = "imgedit"
    wanted = ("Benchmark.tar",)
    about: ClassVar[Mapping[str, str]] = {
        "source": "arXiv 2505.20275; github PKU-YuanGroup/ImgEdit (JSON), hub sysuyy/ImgEdit (Benchmark.tar)",
        "licence": "none in the authors' repository; its prompts are MIT in PKU-YuanGroup/UniWorld",
        "samples": "Basic 737 of nine edit types, UGE 47; English",
        "formula": "mean of a type's three scores of 1 to 5; mean of the types' means",
        "defects": "replies that the authors' script cannot read leave the mean, one line at a time",
    }

    def __init__(self, parameters: Any) -> None:
        self.names = _NAMES[parameters.suite]
        self.sizes = {"basic": (737,), "uge": (47,)}.get(parameters.suite, ())
        self.rows_file = UGE_ROWS if parameters.suite == "uge" else None
        super().__init__(parameters)

    def kept(self) -> str:
        """The suite: it says what a row is."""
        return str(self.parameters.suite)

    def unfold(self, row: dict[str, Any], found: FoundFile) -> Sequence[dict[str, Any]]:
        """Of several turns, a row each, with the name of their group, which is that of the folder they are in."""
        if self.parameters.suite != "multi_turn":
            return [row]
        group = (PurePosixPath(found.name) if found.archive else found.path).parent.name
        turns = [number for number in range(1, len(row) + 1) if row.get(f"turn{number}") is not None] or [1]
        return [row | {"turn": number, "prompt": row.get(f"turn{number}"), "edit_type": group} for number in turns]

    def pictures(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """The source, but of later turns."""
        held = row.get("id")
        if not held or row.get("turn", 1) != 1:
            return {}
        folder = _FOLDERS.get(self.parameters.suite) or row["edit_type"]
        return {"source": f"{folder}/{held}" if isinstance(held, str) else held}

    def picture(self, name: str, held: Any) -> Held:
        """A file in the suite's folder: names repeat in others. Else the only one of that name, wherever it is."""
        try:
            return super().picture(name, held)
        except LookupError:
            return super().picture(name, held.partition("/")[2] if isinstance(held, str) else held)

    def draft(self, row: Row) -> Draft:
        """A sample a row, whatever the suite."""
        key, suite = row.values[KEY], self.parameters.suite
        instruction = row.text("prompt", required=True)
        if suite == "basic":
            return Draft(key, instruction, row.label("edit_type", TYPES))
        facts = {"asks": [WHOLE]}
        if suite == "uge":
            return Draft(key, instruction, suite, facts)
        group, turn = row.text("edit_type"), row.values.get("turn", 1)
        named, before = [f"{group}_{key}_{number}" for number in (turn, turn - 1)]
        if turn == 1:
            return Draft(named, instruction, group, facts)
        return Draft(named, instruction, group, facts, follows=before, needed=())
