"""What is said of a judge that does not put controls last; the rows themselves stand in the tables of the results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edit_eval.records import Scale
from edit_eval.reporting import formats
from edit_eval.reporting.page.entries import judges_without_sight
from edit_eval.reporting.page.texts import text
from edit_eval.reporting.passports import drift_lines


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
            interval = text("controls.interval", language, interval=ends) if beside["ci95"] else ""
            means = {name: formats.score(beside[name], digits) for name in ("control", "edits")}
            name = text(f"control.{kind}.words", language)
            parts.append(text("controls.part", language, kind=name, interval=interval, **means))
        separator = text("list.separator", language)
        lines.append(text("controls.not_last", language, judge=judge, parts=separator.join(parts)))
    return lines
