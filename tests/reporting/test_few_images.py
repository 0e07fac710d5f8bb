"""What the intervals of a few images know nothing of is said below the results, in every medium, and of many not."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from edit_eval.records import Results
from edit_eval.reporting.comparison import print_comparison
from edit_eval.reporting.language import said
from edit_eval.reporting.page.notebook import notebook_html
from edit_eval.reporting.remarks import few_images, footnotes
from edit_eval.reporting.results_sheet import print_summary
from edit_eval.statistics.comparison import compare_models
from edit_eval.statistics.means import means
from edit_eval.statistics.summary import summarise
from reporting.reported_runs import build_run
from reporting.reports import report_on

WORDS = "of a kind that makes less than 14% of all, 20 may well show none."


@pytest.fixture(scope="module")
def twenty(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return build_run(tmp_path_factory.mktemp("twenty"), samples=20, edit_models=("a", "b"), size=(16, 12))


def test_it_is_said_in_every_medium(twenty: Results) -> None:
    report = report_on(twenty)
    folder = Path(twenty.directory) / "report"
    terminal, comparison = (Console(file=io.StringIO(), width=300) for _ in range(2))
    print_summary(report.summary, terminal)
    found = compare_models(twenty)
    assert found is not None
    print_comparison(found, comparison)
    notebook = notebook_html(twenty, report.summary, folder / "index.html", language="en")
    shown = [console.file.getvalue() for console in (terminal, comparison)]  # type: ignore[attr-defined]
    shown += [notebook, (folder / "report.md").read_text("utf-8")]
    assert [words.count(WORDS) for words in shown] == [1] * 4
    assert report.html.count(f"{WORDS}<") == 1
    assert all("14%" in line and "20 张" in line for line in (said(line, "zh") for line in footnotes(report.summary)))


def test_it_is_a_number_beside_each_interval_and_nowhere_else(twenty: Results) -> None:
    summary = summarise(twenty)
    (row, _) = means(summary)
    assert row.ruled_out_share == pytest.approx(1 - 0.05 ** (1 / 20))
    block = summary["results"][0]["scores"]["score"]
    assert block["category_mean"]["ruled_out_share"] == pytest.approx(row.ruled_out_share)
    for of_category in block["categories"].values():
        assert (of_category["ci95"], of_category["ruled_out_share"], of_category["no_ci95"]) == (
            None,
            None,
            "few_images",
        )
    assert [one["ruled_out_share"] for one in summary["comparison"]["columns"]] == [row.ruled_out_share] * 2
    few = replace(twenty, samples=twenty.samples[:5], edits=twenty.edits[:0])
    kept = {sample.id for sample in few.samples}
    few = replace(few, judgements=tuple(one for one in twenty.judgements if one.sample_id in kept))
    assert [one.ruled_out_share for one in means(summarise(few))] == [None, None]
    assert footnotes(summarise(few)) == []


def test_of_many_images_only_what_their_categories_cannot_show_is_said() -> None:
    many = {"images": 270, "ruled_out_share": 0.011}
    assert few_images([many]) == few_images([many], [{"images": 54, "ruled_out_share": 0.054}]) == []
    [line] = few_images([many], [{"images": 12, "ruled_out_share": 0.22}, {"images": 9, "ruled_out_share": None}])
    assert "of a category" in line.template
    assert line.fields == ("22%", 12)
    [line] = few_images([{"images": 20, "ruled_out_share": 0.139}, many], [{"images": 6, "ruled_out_share": 0.39}])
    assert line.fields == ("14%", 20, 6, "39%")
