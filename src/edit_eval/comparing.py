"""Compares runs, or the edit models within one run: who is better, by every judge that they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from edit_eval.errors import ConfigurationError
from edit_eval.reporting.language import said
from edit_eval.reporting.verdict import answer_lines, of_comparison
from edit_eval.run import Run, run_at
from edit_eval.statistics.comparison import Comparison
from edit_eval.store.comparable import compare_runs
from edit_eval.store.joined import judges_apart
from edit_eval.text import Text


class ShownComparison(Comparison):
    """A comparison; prints who wins, and is shown with its tables in a notebook."""

    def __repr__(self) -> str:
        return "\n".join(map(said, answer_lines(of_comparison(self))))

    def _repr_html_(self) -> str:
        from edit_eval.reporting.page.notebook import comparison_html

        return comparison_html(self)


def compare(
    runs: str | Path | Run | Sequence[str | Path | Run],
    *,
    score: str | None = None,
    detect: float | None = None,
    margin: float | None = None,
    allow_unscored: float | None = None,
) -> Comparison:
    """Compares runs, or the edit models within one run, by every judge that they have in common.

    By the headline of each judge, or by its score of that name. With `detect` it also says how many samples would show
    a true difference of that many points. Its `gate` says whether any is worse than the first; with `margin`, whether
    all are shown to be less than that many points worse. It only passes what would pass for every possible missing
    score, except for those of a share `allow_unscored` of the samples, which it leaves out. Raises `ConfigurationError`
    for runs that cannot be compared, with what differs, and `RunDirectoryError` for a folder that is no run."""
    given = [runs] if isinstance(runs, str | Path | Run) else runs
    made = [run_at(run) for run in given]
    try:
        found = compare_runs(made, score=score, detect=detect, margin=margin, allow_unscored=allow_unscored)
        return ShownComparison(**vars(found))
    except ConfigurationError as error:
        for line in judges_apart(made):
            error.add_note(Text("{}; `edit-eval agreement {: }` says more", line, (str(run.path) for run in made)))
        raise
