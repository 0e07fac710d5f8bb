"""The card of a pushed run shows the run's verdict."""

from __future__ import annotations

from pathlib import Path

from edit_eval.plugins.push.sending import Written, card
from edit_eval.reporting.analyses import summary_of
from edit_eval.reporting.verdict import answer_lines, next_lines
from reporting.reported_runs import build_run


def test_the_card_shows_the_verdict(tmp_path: Path) -> None:
    results = build_run(tmp_path, samples=10, edit_models=("a", "b"), size=(16, 12))
    summary = summary_of(results)
    shown = card("me/run", results, summary, Written(), licence="mit", images=False, sources=False).replace("\\", "")
    verdict = summary.verdict
    assert all(str(line) in shown for line in (*answer_lines(verdict), *next_lines(verdict)[:2]))
