"""`edit-eval paper`: an analysis of one run or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from edit_eval.errors import ConfigurationError
from edit_eval.plugins.paper.columns import choose_columns
from edit_eval.plugins.paper.document import Paper, paper
from edit_eval.plugins.paper.sheet import paper_sheet
from edit_eval.plugins.paper.writing import rows, write_paper
from edit_eval.reporting.analyses import Analysis, Sources
from edit_eval.reporting.languages import SPOKEN
from edit_eval.reporting.table import Sheet
from edit_eval.run import Run
from edit_eval.store.examined import usual_folder
from edit_eval.text import Text


class PaperAnalysis(Analysis[Paper]):
    """The table, figure, results and methods of a paper, for LaTeX.

    With `--to FOLDER` it writes table.tex, figure.pdf and .svg, results.txt, methods.txt, numbers.csv, and paper.tex
    with all of them. Runs of other samples, judges or protocols are refused.
    """

    @dataclass(frozen=True)
    class Parameters:
        columns: str | None = field(default=None, metadata={"metavar": "A,B"})
        """Columns of the table: model, n, images, score, interval, behind, p, p_adjusted, rank, failed."""
        score: str | None = field(default=None, metadata={"metavar": "NAME"})
        """Use this score instead of the headline."""
        language: str = field(default="en", metadata={"metavar": "|".join(SPOKEN)})
        """Language of the files."""
        passports: Path | None = None
        """Folder of judges' passports. Default: your cache."""

    about: ClassVar = {"group": "To share and tidy"}
    title: ClassVar[Text] = Text("Paper")
    document: ClassVar = Paper
    sources: ClassVar = Sources("RUN...", "Runs of the same samples by the same judge.", several=True)

    def open_source(self, source: Any, parameters: Parameters) -> Run:
        """Opens a run directory."""
        folder = parameters.passports or usual_folder()
        return source if isinstance(source, Run) else Run(Path(source), folder)

    def compute(self, records: Sequence[Run], parameters: Parameters) -> Paper:
        """Raises `ConfigurationError` for unknown columns and languages, and for runs that no one table may have."""
        if parameters.language not in SPOKEN:
            raise ConfigurationError(Text("--language {}: must be {: or }", parameters.language, SPOKEN))
        return paper(records, choose_columns(parameters.columns), parameters.language, parameters.score)

    def sheet(self, document: Paper) -> Sheet:
        return paper_sheet(document)

    def write(self, document: Paper, records: Any, folder: Path) -> None:
        """Raises `ConfigurationError` if the folder cannot be written, or no font here has a letter of a name."""
        write_paper(document, folder)

    def rows(self, document: Paper) -> Sequence[Mapping[str, Any]]:
        return list(rows(document))
