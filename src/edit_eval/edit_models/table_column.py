"""Edits made elsewhere: a column of pictures in a table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from edit_eval.benchmarks.row_benchmark import Draft, Row
from edit_eval.benchmarks.table import NAMED, TableBenchmark
from edit_eval.benchmarks.tables import PICTURES
from edit_eval.edit_models.contract import Finished, SampleNames
from edit_eval.edit_models.existing_edits import ExistingEdits, edits_of_rows
from edit_eval.errors import ConfigurationError, Stopped
from edit_eval.files.matching import Matching, match, names_of_path, normalise_name, whole
from edit_eval.records import Sample
from edit_eval.text import Text


class _Sources(TableBenchmark):
    """The table as read by the benchmark, but without required instructions."""

    needed = ("source",)


class _Edits(_Sources):
    """The table with its edits as sources, and with what its rows are called."""

    sources = ""

    def __init__(self, parameters: TableBenchmark.Parameters) -> None:
        super().__init__(parameters)
        self.called: list[str] = []
        """What each row is called: by its id, else by its source; empty if by neither."""

    def find_columns(self, there: Sequence[str]) -> dict[str, str]:
        columns = {ours: theirs for ours, theirs in super().find_columns(there).items() if ours in ("id", "source")}
        if "id" not in columns:
            fields = {"source": self.sources} if self.sources else {}
            with suppress(ConfigurationError):  # a table of only edits: they are named after themselves
                columns[NAMED] = _Sources(replace(self.parameters, fields=fields)).inspect_table()[1]["source"]
        return columns

    @property
    def has_ids(self) -> bool:
        """True if rows are called by ids."""
        return "id" in self._columns

    def draft(self, row: Row) -> Draft | None:
        draft = super().draft(row)
        named = row.text("id") if self.has_ids else self._sources[row.index]
        self.called.append(normalise_name(named.strip()))
        return draft


class TableColumn(ExistingEdits):
    """Edits that were made elsewhere: a column of pictures in a table, a row each.

    The table may be the benchmark's own or another one. A sample's edit is in the row with its id; without a column of
    ids, in the row whose source has the name of the sample's: its path, or, where that is no other's, the end of it. In
    the benchmark's own table it is simply the sample's row. Several models are several columns.
    """

    @dataclass
    class Parameters:
        """The YAML's `params`."""

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
    def duration_anywhere(parameters: Parameters) -> tuple[float, float, str]:
        """Returns what a plan assumes."""
        return 0.3, 0.05, Text("it only writes a picture")

    def about(self) -> dict[str, str]:
        """Returns where the edits are."""
        return {"table": self._parameters.table, "column": self._parameters.column}

    @staticmethod
    def match_edits(parameters: TableColumn.Parameters, asked: SampleNames) -> Finished:
        """Returns the samples' edits. Raises `ConfigurationError` for an unreadable table or unknown column."""
        table = _Edits(
            TableBenchmark.Parameters(
                parameters.table,
                fields={"source": parameters.column} | ({"id": parameters.id} if parameters.id else {}),
                pictures_path=parameters.pictures_path,
            )
        )
        table.sources = parameters.source
        edits = _read(table)
        rows = {
            f"row {row} ({called})" if called else f"row {row}": (called, edit)
            for row, (called, edit) in enumerate(zip(table.called, edits, strict=True), 1)
        }
        found: Matching[str, str]
        if table.has_ids:
            found = match(whole(asked.ids), {of: {called: 0} for of, (called, _) in rows.items()})
        elif len(edits) == len(asked.ids) and _is_same(parameters.table, asked.data_path):
            found = Matching(dict(zip(asked.ids, rows, strict=True)))
        else:
            sources = {i: names_of_path(asked.sources.get(i) or i, PICTURES) for i in asked.ids}
            found = match(sources, {of: names_of_path(called, PICTURES) for of, (called, _) in rows.items()})
        return edits_of_rows(asked, found, rows, Text("the column {} of {}", parameters.column, parameters.table))


def _is_same(table: str, data_path: str) -> bool:
    """True if both are one file, or one data set."""
    there = [os.path.realpath(os.path.expanduser(path)) for path in (table, data_path)]
    return bool(data_path) and there[0] == there[1]


def _read(table: _Edits) -> list[Sample]:
    """Returns each row's edit, as the source of a sample; a missing one has a fault."""
    try:
        return list(table.samples())
    except Stopped as error:
        raise ConfigurationError(error) from error
    except ConfigurationError as error:
        text = (
            str(error)
            .replace("benchmark.data_path", "table")
            .replace("benchmark.fields.source", "column")
            .replace("benchmark.fields.", "")
        )
        raise ConfigurationError(text) from error
