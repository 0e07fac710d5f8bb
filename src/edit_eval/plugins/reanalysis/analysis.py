"""`edit-eval reanalyse`: an analysis of result files that others have written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from edit_eval.plugins.reanalysis.files import Reanalysed, reanalyse
from edit_eval.plugins.reanalysis.sheet import reanalysis_sheet
from edit_eval.reporting.analyses import Analysis, Sources
from edit_eval.reporting.table import Sheet
from edit_eval.text import Text


class Reanalysis(Analysis[list[Reanalysed]]):
    """Recompute others' results, leaving out what is not a score.

    It prints their number as they compute it, and the number without what is not a score, with bounds.
    """

    @dataclass(frozen=True)
    class Parameters:
        """What is not beside the results."""

        rows: Path | None = None
        """ImgEdit's basic_edit.json, if it is not beside its results."""

    about: ClassVar = {"group": "To compare"}
    title: ClassVar[Text] = Text("Result files of others")
    document: ClassVar = list[Reanalysed]
    sources: ClassVar = Sources(
        "PATH...", "Result files or folders of benchmarks' own scripts, of lmms-eval or evalscope.", several=True
    )

    def open_source(self, source: Any, parameters: Parameters) -> Path:
        """Returns it as a path; `compute` reads it."""
        return Path(source)

    def compute(self, records: Sequence[Path], parameters: Parameters) -> list[Reanalysed]:
        """Returns a document for each format and language."""
        return reanalyse(records, parameters.rows)

    def sheet(self, document: list[Reanalysed]) -> Sheet:
        """Returns a table for each, with a row for each edit model, and its notes."""
        return reanalysis_sheet(document)
