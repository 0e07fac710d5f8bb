"""`gedit`: GEdit-Bench (stepfun-ai/GEdit-Bench on the hub, arXiv 2504.17761), from its Parquet files as they are.

Facts: stepfun-ai/Step1X-Edit@570eba6, GEdit-Bench/generate_image_example.py (columns) and test_gedit_score.py (what is
judged against which picture); the card at revision 58159f3: one split `train`, 1,212 rows, 606 a language, MIT.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from edit_eval.benchmarks.parquet_rows import ParquetRows, parquet_files
from edit_eval.benchmarks.row_benchmark import Draft, Row, RowBenchmark, RowParameters
from edit_eval.benchmarks.values import shown
from edit_eval.text import Text

REGISTERED = {"gedit": "GEdit"}

_SAID = {"en": "en", "cn": "zh"}
"""The word in `instruction_language` -> ours."""
INTERSECTION = "intersection"
"""The tag of the samples that every model of the authors' comparison has edited (`Intersection_exist`)."""
_COLUMNS = ("task_type", "key", "instruction", "instruction_language", "Intersection_exist")


class GEdit(RowBenchmark):
    """GEdit-Bench: real instructions of eleven task types, in English or Chinese, judged as `viescore`.

    A sample's category is its task type; its id is made of task type, language and key, for keys repeat. A row whose
    language is unknown is a bad sample in either language.
    """

    @dataclass
    class Parameters(RowParameters):
        data_path: str = "hub:stepfun-ai/GEdit-Bench@58159f3"
        """Where the data set is on the hub; or a Parquet file of it, or the folder in which (or below which) they all
        lie."""
        language: str = "en"
        """`en` or `zh`: which half of the instructions. The files call the Chinese one `cn`."""
        subset: Literal["full", "intersection"] = "full"
        """`intersection`: only what every model of the authors' comparison has edited."""
        picture: Literal["input_image", "input_image_raw"] = "input_image"
        """The column with the source: the one with which the authors compare the edit, or the picture before it was
        scaled for that."""

    sizes = (1212,)
    protocol = "viescore"
    wanted = ("*.parquet",)
    about: ClassVar[Mapping[str, str]] = {
        "source": "arXiv 2504.17761; hub stepfun-ai/GEdit-Bench",
        "licence": "MIT",
        "samples": "606 of eleven task types in English, 606 in Chinese",
        "formula": "the root of least SC times least PQ, each 0 to 10; mean of the task types' means",
        "defects": "one key stands under two task types; the authors guess a number for a reply that they cannot read",
    }

    def files(self) -> list[Path]:
        """The Parquet files."""
        return parquet_files(str(self.path), allow_links=self.parameters.allow_links)

    def kept(self) -> str:
        """The column with the source."""
        return str(self.parameters.picture)

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """A row of the files each, without the picture that was not asked for."""
        read = ParquetRows(self.files(), (*_COLUMNS, self.parameters.picture))
        for row in read.rows():
            self.share = read.share
            yield row

    def pictures(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """The source."""
        return {"source": row[self.parameters.picture]}

    def draft(self, row: Row) -> Draft | None:
        """The sample of a row, if its language and the subset are asked for."""
        said, shared = row.values.get("instruction_language"), row.values.get("Intersection_exist")
        language = _SAID.get(said) if isinstance(said, str) else None
        if language not in (None, self.language):
            return None
        task_type, key, instruction = (row.text(name, required=True) for name in _COLUMNS[:3])
        if language is None:
            row.faults.append(Text("instruction_language is {}, not {: or }", shown(str(said)), _SAID))
        if not isinstance(shared, bool):
            row.faults.append(Text("Intersection_exist is neither true nor false"))
        if self.parameters.subset == "intersection" and not (shared or row.faults):
            return None
        named = f"{task_type}_{language or 'xx'}_{key}"
        return Draft(named, instruction, task_type, tags=(INTERSECTION,) if shared else ())
