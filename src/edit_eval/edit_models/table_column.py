"""Edits that were made elsewhere: a column of pictures in a table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from edit_eval.benchmarks.table import NAMED, TableBenchmark
from edit_eval.edit_models.contract import EditRequest, OnStep
from edit_eval.errors import ConfigurationError, LoadError, ModelError, Stopped
from edit_eval.pictures import open_picture
from edit_eval.records import Sample

if TYPE_CHECKING:
    from PIL.Image import Image

REGISTERED = {"table_column": "TableColumn"}


class _Sources(TableBenchmark):
    """The table as the benchmark has it; it needs no instructions."""

    needed = ("source",)


class _Edits(_Sources):
    """The table, its edits being what it has for sources; where it has no ids they are called as the `sources` are."""

    sources = ""

    def find_columns(self, there: Sequence[str]) -> dict[str, str]:
        found = {ours: theirs for ours, theirs in super().find_columns(there).items() if ours in ("id", "source")}
        if "id" not in found:
            fields = {"source": self.sources} if self.sources else {}
            with suppress(ConfigurationError):  # a table of edits alone: its samples are called as they are
                found[NAMED] = _Sources(replace(self.parameters, fields=fields)).looked_at()[1]["source"]
        return found


class TableColumn:
    """Edits that were made elsewhere: a column of pictures in a table, a row each.

    The table may be the benchmark's own or another one; a row's edit is that of the sample with its id: its `id`, else
    its source's file name, else its row, as the benchmark `table` has it. Several models are several columns.
    """

    holds_device = False

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

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._edits: Mapping[str, Sample] = {}

    def load(self, devices: Sequence[str]) -> None:
        """Reads the table; needs no device. Raises `LoadError` if there is none."""
        try:
            self._edits = _edits(self._parameters)
        except (ConfigurationError, Stopped) as error:
            raise LoadError(str(error)) from error

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """Returns the sample's picture as it is, RGB.

        Raises `ModelError` if there is none, with its reason, and `UnreadableError` for one that has changed.
        """
        edit, column = self._edits.get(request.sample_id), self._parameters.column
        if edit is None or edit.fault:
            why = edit.fault if edit else f"{self._parameters.table} has no row of that id"
            raise ModelError(f"no edit of sample {request.sample_id!r} in the column {column}: {why}")
        picture = edit.pictures["source"]
        edited = open_picture(picture.path, digest=picture.digest)
        on_step(1, 1)
        return edited

    def about(self) -> dict[str, str]:
        """How many edits there are."""
        there = sum(not edit.fault for edit in self._edits.values())
        return {"table": self._parameters.table, "column": self._parameters.column, "edits": str(there)}

    @staticmethod
    def revision(parameters: TableColumn.Parameters) -> str:
        """SHA-256 over the ids and the contents of the column's pictures, so that a changed one is noticed.

        Raises `ConfigurationError` for a table that cannot be read, and one without that column.
        """
        digest = hashlib.sha256()
        for name, edit in _edits(parameters).items():
            digest.update(f"{name}\0{edit.source_digest}\n".encode())
        return digest.hexdigest()


def _edits(parameters: TableColumn.Parameters) -> dict[str, Sample]:
    """Each row's edit, as the source of a sample; those that are missing have a fault."""
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
