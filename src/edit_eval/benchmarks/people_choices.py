"""What data sets of people's choices between two edits have in common: source, instruction, edits A and B, the choice.

The choice is in a sample's facts: `chosen` is `A`, `B` or `tie`; `raters`, where there are several, what each said. It
is shown to no judge, and `agreement` holds every judge of the run against it. The edits are read by `edit_of_pair`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from edit_eval.benchmarks.parquet_rows import ParquetRows, parquet_files
from edit_eval.benchmarks.row_benchmark import Draft, Row, RowBenchmark, RowParameters
from edit_eval.text import Text

CHOSEN, RATERS = "chosen", "raters"
"""The facts of a sample that say what people chose."""
A, B, TIE = "A", "B", "tie"


@dataclass
class ChoiceParameters(RowParameters):
    """Where the files are."""

    edits: Literal["", "A", "B"] = ""
    """With `A` or `B` these edits stand where the sources do; `edit_of_pair` reads them so."""


class ParquetChoices(RowBenchmark):
    """Rows in Parquet files with all three pictures. A subclass names the columns, and the words for a choice."""

    Parameters: ClassVar[Any] = ChoiceParameters
    wanted: ClassVar[tuple[str, ...]] = ("*.parquet",)
    columns: ClassVar[Mapping[str, str]]
    """`source`, `A`, `B`, `instruction`, `choice`, perhaps `id` -> the authors' name."""
    choices: ClassVar[Mapping[str, str]]
    """The authors' word -> `A`, `B` or `tie`."""

    def files(self) -> list[Path]:
        """The Parquet files."""
        return parquet_files(str(self.path), allow_links=self.parameters.allow_links)

    def kept(self) -> str:
        """Which picture stands where the source does."""
        return str(self.parameters.edits)

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """A row of the files each, with its number."""
        read = ParquetRows(self.files(), list(self.columns.values()))
        for number, row in enumerate(read.rows()):
            self.share = read.share
            yield {"number": number, **row}

    def pictures(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """The source, or an edit in its place."""
        return {"source": row[self.columns[self.parameters.edits or "source"]]}

    def draft(self, row: Row) -> Draft:
        """A sample a row, with what people chose."""
        names = self.columns
        name = row.text(names["id"]) if "id" in names else ""
        said = row.label(names["choice"], [*self.choices])
        facts = {CHOSEN: self.choices[said]} if said in self.choices else {}
        return Draft(name or f"{row.values['number']:05d}", row.text(names["instruction"], required=True), facts=facts)


def no_choice(row: Row, name: str) -> None:
    """Notes that a row's choice is none."""
    row.faults.append(Text("{} is none of A and B: {!r}", name, str(row.values.get(name))))
