"""Edits made elsewhere: a column of pictures in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar

from edit_eval.benchmarks.table import NAMED, TableBenchmark
from edit_eval.edit_models.given_edits import GivenEdits
from edit_eval.errors import ConfigurationError
from edit_eval.records import Sample


class _Sources(TableBenchmark):
    """The table as read by the benchmark, but without required instructions."""

    needed = ("source",)


class _Edits(_Sources):
    """The table with its edits as sources; without ids they are named like the `sources`."""

    sources = ""

    def find_columns(self, there: Sequence[str]) -> dict[str, str]:
        columns = {ours: theirs for ours, theirs in super().find_columns(there).items() if ours in ("id", "source")}
        if "id" not in columns:
            fields = {"source": self.sources} if self.sources else {}
            with suppress(ConfigurationError):  # a table of only edits: they are named after themselves
                columns[NAMED] = _Sources(replace(self.parameters, fields=fields)).looked_at()[1]["source"]
        return columns


class TableColumn(GivenEdits):
    """Edits that were made elsewhere: a column of pictures in a table, a row each.

    The table may be the benchmark's own or another one; a sample's edit is in the row with its id: the row's `id`, else
    its source's file name, else its number, as in the benchmark `table`. Several models are several columns.
    """

    @dataclass
    class Parameters:
        """The YAML's `params`."""

        __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

        table: str
        """A file or folder as the benchmark `table` takes it."""
        column: str
        """Which column has the edits: paths below the table's folder, or the pictures themselves."""
        id: str = ""
        """Which column has the ids, where its name does not say so."""
        source: str = ""
        """Which column has the source pictures, where its name does not say so and no column has ids."""
        pictures_path: str | None = None
        """The folder from which the paths in the table count; None: the table's own."""

    @staticmethod
    def read(parameters: TableColumn.Parameters) -> Mapping[str, Sample]:
        """Returns each row's edit. Raises `ConfigurationError` for an unreadable table, or one without the column."""
        return _edits(parameters)

    def absent(self, sample_id: str) -> tuple[str, str]:
        given = self._parameters
        return (
            f"no edit of sample {sample_id!r} in the column {given.column}",
            f"{given.table} has no row of that id",
        )

    def about(self) -> dict[str, str]:
        """Returns how many edits there are."""
        there = sum(not edit.fault for edit in self._edits.values())
        return {"table": self._parameters.table, "column": self._parameters.column, "edits": str(there)}


def _edits(parameters: TableColumn.Parameters) -> dict[str, Sample]:
    """Returns each row's edit, as the source of a sample; a missing one has a fault."""
    try:
        fields = {"source": parameters.column} | ({"id": parameters.id} if parameters.id else {})
        table = _Edits(
            TableBenchmark.Parameters(parameters.table, fields=fields, pictures_path=parameters.pictures_path)
        )
        table.sources = parameters.source
        return {edit.id: edit for edit in table.samples()}
    except ConfigurationError as error:
        text = (
            str(error)
            .replace("benchmark.data_path", "table")
            .replace("benchmark.fields.source", "column")
            .replace("benchmark.fields.", "")
        )
        raise ConfigurationError(text) from error
