"""Displays: what draws a run, while it works (`display.progress`) and from its records (`display.page`).

Each is a plug-in's or a package's, known here by its registered name alone. Where none is installed a run is told in
plain lines (`display.plain`), and ends with its answer, its tables and `report.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from edit_eval.config.components import import_registered, locate
from edit_eval.reporting.language import set_language
from edit_eval.text import Text

if TYPE_CHECKING:  # who reads a run asks for a page alone, and imports no engine for it
    from edit_eval.config.schema import Configuration
    from edit_eval.execution.spectator import Spectator
    from edit_eval.records import Results
    from edit_eval.reporting.table import Sheet
    from edit_eval.small_copies import CopyLimits
    from edit_eval.statistics.comparison import Comparison
    from edit_eval.statistics.means import MeanScore
    from edit_eval.statistics.summary import Summary


class LiveDisplay(Protocol):
    """`display.progress`: shows a run while it works, and writes its `live.json`."""

    @classmethod
    def of(cls, mode: str) -> Spectator:
        """Returns what is told of the run, for a mode of `execution.progress`. It must not raise."""
        ...


class PageDisplay(Protocol):
    """`display.page`: draws a run from its records, and documents of sentences and tables, all in HTML."""

    def parts(self, results: Results, summary: Summary, folder: Path, *, language: str) -> Iterable[str]:
        """Returns the parts of a report's page in order, together one document for `folder`."""
        ...

    def show_run(self, results: Results, summary: Summary, report: Path, *, language: str) -> str:
        """Returns the run for a notebook. `report` is its report, named if it exists."""
        ...

    def show_refusal(self, reason: str) -> str:
        """Returns why there is no run, for a notebook."""
        ...

    def show_comparison(self, comparison: Comparison) -> str:
        """Returns a comparison for a notebook."""
        ...

    def show_means(self, means: Sequence[MeanScore]) -> str:
        """Returns means for a notebook."""
        ...

    def show_analysis(self, name: str, document: Any) -> str:
        """Returns what the verb of an analysis prints, for a notebook."""
        ...

    def document(self, title: Text, heading: Text, sheet: Sheet, *, language: str) -> str:
        """Returns a page of its own with sentences and tables."""
        ...

    def fragment(self, sheet: Sheet, *, language: str) -> str:
        """Returns sentences and tables as HTML within another page that has the `stylesheet`."""
        ...

    def stylesheet(self) -> str:
        """Returns the CSS of its pages."""
        ...

    def digest(self, source: str) -> str:
        """Returns the digest of a style or script, for the policy in a page's head."""
        ...

    def embed(self, paths: Sequence[Path], size: CopyLimits) -> list[str | None]:
        """Returns pictures as base64 of small JPEGs; None for one that cannot be read."""
        ...


def page_display() -> PageDisplay | None:
    """Returns what draws pages; None where none is installed."""
    if not locate("display", "page"):
        return None
    display: PageDisplay = import_registered("display", "page")()
    return display


def watch_run(configuration: Configuration) -> Spectator:
    """Returns the display that a configuration asks for, in the language of its run; without one, plain lines."""
    set_language(configuration.benchmark.language)
    mode = configuration.execution.progress
    plain: type[LiveDisplay] = import_registered("display", "plain")
    if not locate("display", "progress"):
        return plain.of(mode)
    try:
        display: type[LiveDisplay] = import_registered("display", "progress")
        return display.of(mode)
    except Exception as error:  # a package's display must not cost the run
        lines = plain.of(mode)
        lines.note(Text("the progress display has failed ({}: {}); the run goes on", type(error).__name__, error))
        return lines
