"""A comparison as Python and notebooks show it."""

from __future__ import annotations

from edit_eval.reporting.displays import page_display
from edit_eval.reporting.language import translate
from edit_eval.reporting.verdict import answer_lines
from edit_eval.statistics.comparison import Comparison


class ShownComparison(Comparison):
    """A comparison; prints who wins, and is shown with its tables in a notebook."""

    def __repr__(self) -> str:
        return "\n".join(map(translate, answer_lines(self.verdict)))

    def _repr_html_(self) -> str | None:
        display = page_display()
        return display.show_comparison(self) if display else None
