"""`display.page`: draws a run's page, its view in a notebook, and documents as pages, importing what each needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from edit_eval.records import Results
from edit_eval.reporting.table import Sheet
from edit_eval.small_copies import CopyLimits
from edit_eval.statistics.comparison import Comparison
from edit_eval.statistics.means import MeanScore
from edit_eval.statistics.summary import Summary
from edit_eval.text import Text


class DrawnPage:
    """The page of a report: one file that opens from disk, with gallery and charts; and runs in a notebook."""

    def parts(self, results: Results, summary: Summary, folder: Path, *, language: str) -> Iterator[str]:
        """Yields the parts of the page in order, together one HTML document for `folder`."""
        from edit_eval.plugins.page.page import page

        return page(results, summary, folder, language=language)

    def show_run(self, results: Results, summary: Summary, report: Path, *, language: str) -> str:
        """Returns the run for a notebook."""
        from edit_eval.plugins.page.notebook import notebook_html

        return notebook_html(results, summary, report, language=language)

    def show_refusal(self, reason: str) -> str:
        """Returns why there is no run, for a notebook."""
        from edit_eval.plugins.page.notebook import refusal_html

        return refusal_html(reason)

    def show_comparison(self, comparison: Comparison) -> str:
        """Returns a comparison for a notebook."""
        from edit_eval.plugins.page.notebook import comparison_html

        return comparison_html(comparison)

    def show_means(self, means: Sequence[MeanScore]) -> str:
        """Returns means for a notebook."""
        from edit_eval.plugins.page.notebook import means_html

        return means_html(means)

    def show_analysis(self, name: str, document: Any) -> str:
        """Returns what the verb of an analysis prints, for a notebook."""
        from edit_eval.plugins.page.notebook import analysis_html

        return analysis_html(name, document)

    def document(self, title: Text, heading: Text, sheet: Sheet, *, language: str) -> str:
        """Returns a page of its own with sentences and tables."""
        from edit_eval.plugins.page.page import document_page

        return document_page(title, heading, sheet, language)

    def fragment(self, sheet: Sheet, *, language: str) -> str:
        """Returns sentences and tables as HTML within another page that has the `stylesheet`."""
        from edit_eval.plugins.page.html import page_sheet

        return page_sheet(sheet, language)

    def stylesheet(self) -> str:
        """Returns the CSS of its pages."""
        from edit_eval.plugins.page.page import asset

        return asset("page.css")

    def digest(self, source: str) -> str:
        """Returns the digest of a style or script, for the policy in a page's head."""
        from edit_eval.plugins.page.page import digest_of

        return digest_of(source)

    def embed(self, paths: Sequence[Path], size: CopyLimits) -> list[str | None]:
        """Returns pictures as base64 of small JPEGs; None for one that cannot be read."""
        from edit_eval.plugins.page.shown_pictures import thumbnails

        return list(thumbnails(paths, size))
