"""What is said of a judge that does not put controls last; the rows themselves stand in the tables of the results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edit_eval.records import Scale
from edit_eval.reporting import formats
from edit_eval.reporting.language import said
from edit_eval.reporting.page.entries import judges_without_sight
from edit_eval.reporting.passports import drift_lines
from edit_eval.text import Text

_CONTROLS = {
    "source": Text("the source itself"),
    "blank": Text("a grey picture"),
    "shuffled": Text("another sample's edit"),
}


def wrong_lines(summary: Mapping[str, Any], language: str) -> list[str]:
    """All that keeps a judge's scores from being believed: its drift, and controls that it does not put last."""
    return [*drift_lines(summary, language), *control_lines(summary, language)]


def control_lines(summary: Mapping[str, Any], language: str) -> list[str]:
    """A line for each judge that is not shown to put all controls below edits."""
    scales = {one["judge"]: Scale(**one["scores"][one["headline"]]["scale"]) for one in summary["results"]}
    lines = []
    for judge, kinds in judges_without_sight(summary):
        digits = formats.decimals(scales[judge], max(abs(beside["edits"]) for _, beside in kinds))
        parts = []
        for kind, beside in kinds:
            ends = formats.bracketed(beside["ci95"], digits)
            interval = Text(", difference {}", ends) if beside["ci95"] else ""
            control, edits = (formats.score(beside[name], digits) for name in ("control", "edits"))
            parts.append(Text("{} ({} against {}{})", _CONTROLS[kind], control, edits, interval))
        lines.append(
            said(
                Text(
                    "{} does not put controls last: no edit model is shown to score better than {}. Either "
                    "it cannot see edits, or the edits are worthless.",
                    judge,
                    parts,
                ),
                language,
            )
        )
    return lines
