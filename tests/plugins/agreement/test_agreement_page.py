"""The section of a report about its judges: on the page and in Markdown, with its chart."""

from __future__ import annotations

from pathlib import Path

from documents import plain
from reporting.reported_runs import build_run
from reporting.reports import report_on

SMALL = (24, 16)
TWO = ("first", "second")


def test_the_judges_have_a_section_where_there_is_something_to_say(tmp_path: Path) -> None:
    alone = report_on(build_run(tmp_path / "alone", samples=6, size=SMALL), analyses=True)
    assert 'id="agreement"' not in alone.html
    run = build_run(tmp_path / "several", samples=10, size=SMALL, edit_models=TWO, judges=("strict", "kind"))
    several = report_on(run, analyses=True)
    assert several.html.index('id="breakdown"') < several.html.index('id="agreement"') < several.html.index('id="time"')
    section = several.html.split('id="agreement"')[1].split('id="time"')[0]
    [document] = plain(several.summary.analyses["agreement"])
    alpha = document["between_judges"]
    assert f">{alpha['alpha']:.2f}<" in section
    assert f">{alpha['pairs'][0]['apart']['difference']:+.2f}<" in section
    assert "ICC" not in section  # nothing was judged twice
    markdown = (several.folder / "report.md").read_text(encoding="utf-8")
    assert f"| strict, kind | {alpha['edits']} | {alpha['alpha']:.2f} |" in markdown


def test_repeats_are_held_against_each_other(tmp_path: Path) -> None:
    report = report_on(build_run(tmp_path, samples=6, size=SMALL, repeats=3), analyses=True)
    [document] = plain(report.summary.analyses["agreement"])
    [card] = document["judges"].values()
    section = report.html.split('id="agreement"')[1].split('id="time"')[0]
    assert f">{card['retest']['sd']:.2f}<" in section
    assert f">{card['retest']['icc']:.2f}<" in section
    assert "Agreement between" not in section  # there is only one judge
