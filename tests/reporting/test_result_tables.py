"""A column is added in one place, and is on the terminal, the page, in Markdown, in a notebook and on a card."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from edit_eval.plugins.page.html import page_table
from edit_eval.plugins.page.notebook import notebook_html
from edit_eval.plugins.push.sending import Written, card
from edit_eval.records import Results
from edit_eval.reporting import comparison_tables, result_tables
from edit_eval.reporting.comparison import print_comparison
from edit_eval.reporting.results_sheet import print_summary
from edit_eval.reporting.table import Column, Line, Table, markdown_table, print_sheet
from edit_eval.statistics.comparison import compare_models
from edit_eval.text import Text
from reporting.reports import Report, report_on


def in_each_medium(results: Results) -> dict[str, str]:
    """What is said of a run in each; of the page without the data of its scripts."""
    report: Report = report_on(results)
    terminal = io.StringIO()
    print_summary(report.summary, Console(file=terminal, width=200))
    comparison = compare_models(results)
    assert comparison is not None
    print_comparison(comparison, Console(file=terminal, width=200), full=True)
    return {
        "terminal": terminal.getvalue(),
        "page": report.html.split('id="data"')[0],
        "markdown": (report.folder / "report.md").read_text("utf-8"),
        "notebook": notebook_html(results, report.summary, report.folder / "none.html", language="en"),
        "card": card("me/edits", results, report.summary, Written(), licence="", images=False, sources=False),
    }


def test_a_figure_that_is_added_in_one_line_is_in_all_five(several: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    added = Column(Text("Twice the mean"), lambda row: f"{2 * (row.block.mean or 0):.3f}")
    monkeypatch.setattr(result_tables, "FIGURES", (*result_tables.FIGURES, added))
    numbers = [f"{2 * entry.scores['score'].mean:.3f}" for entry in several.summary.results]
    for medium, words in in_each_medium(several.results).items():
        assert [cell for cell in ("Twice the mean", *numbers) if cell not in words] == [], medium


def test_a_column_of_pairs_is_in_all_five_and_one_of_ranks_in_all_but_the_notebook(
    several: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = Column(Text("Thrice n"), lambda row: f"{3 * row.pair.n}!")
    monkeypatch.setattr(comparison_tables, "PAIRS", (*comparison_tables.PAIRS, added))
    ranked = Column(Text("Thrice scored"), lambda row: f"{3 * row.column.scored}?")
    monkeypatch.setattr(comparison_tables, "COLUMNS", (*comparison_tables.COLUMNS, ranked))
    comparison = several.summary.comparison
    of_pairs = ["Thrice n", *(f"{3 * pair.n}!" for pair in comparison.pairs)]
    of_ranks = ["Thrice scored", *(f"{3 * column.scored}?" for column in comparison.columns)]
    for medium, words in in_each_medium(several.results).items():
        shown = of_pairs if medium == "notebook" else [*of_pairs, *of_ranks]  # its drawing is in their order
        assert [cell for cell in shown if cell not in words] == [], medium


ROWS = [("a", 1.5, True), ("a", None, False), ("b|<i>", 2.25, False)]
TABLE: Table[tuple[str, float | None, bool]] = Table(
    every=(
        Column({"en": "Name", "zh": "名称"}, lambda row: row[0], "name", to=lambda row: f"#{row[0]}"),
        Column(Text("Mean"), lambda row: None if row[1] is None else f"{row[1]:.2f}", aside=lambda row: "why"),
        Column("never", lambda row: "never", when=lambda row: False),
        Column("roomy", lambda row: "roomy", roomy=True, short="short"),
    ),
    rows=ROWS,
    group=Column("Group", lambda row: row[0][:1].upper(), "name"),
    look=lambda row: "quiet" if row[2] else "",
)


def test_what_is_unknown_is_a_dash_and_what_is_data_is_no_markup() -> None:
    assert markdown_table(TABLE, "zh").splitlines() == [
        "| Group | 名称 | 平均 | roomy |",
        "| --- | --- | ---: | ---: |",
        "| A | a | 1.50（why） | roomy |",
        "| A | a | –（why） | roomy |",
        "| B | b\\|\\<i\\> | 2.25（why） | roomy |",
    ]
    page = page_table(TABLE, "en")
    assert "<i>" not in page
    assert '<a href="#b|&lt;i&gt;">b|&lt;i&gt;</a>' in page
    assert "never" not in page
    assert page.count("rowspan") == 2
    assert page.index('<tbody class="controls">') < page.index("rowspan")


def test_groups_head_their_rows_on_a_terminal_only_where_they_have_several() -> None:
    def lines(table: Table[tuple[str, float | None, bool]]) -> list[list[str]]:
        file = io.StringIO()
        print_sheet([Line("said", head="note: "), Line(), table], Console(file=file, width=80), "en")
        return [line.split() for line in file.getvalue().splitlines()]

    said = lines(TABLE)
    assert said[:2] == [["note:", "said"], []]
    assert said[2] == ["Group", "Mean"]
    assert said[4:] == [["A"], ["a", "1.50"], *said[6:7], ["a", "–"], ["B"], ["b|<i>", "2.25"]]
    single = Table(every=TABLE.every, rows=ROWS[1:], group=TABLE.group)
    assert lines(single)[2] == ["Group", "Name", "Mean"]
    assert lines(single)[4:] == [["A", "a", "–"], ["B", "b|<i>", "2.25"]]
