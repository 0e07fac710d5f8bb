"""What people would say, as terminal, Markdown and page show it: the same three numbers of each pair everywhere."""

import io
from dataclasses import replace
from typing import Any

import pytest
import vl_convert
from rich.console import Console

from edit_eval.reporting.comparison import print_comparison
from edit_eval.reporting.formats import signed, signed_span
from edit_eval.reporting.page.charts import charts
from edit_eval.reporting.page.files import markdown
from edit_eval.reporting.page.page import page
from edit_eval.reporting.people_differences import people_in, rows_of, sentences
from edit_eval.statistics.comparison import compare
from edit_eval.statistics.people import Vote
from edit_eval.statistics.summary import summarise
from reporting.reports import Report
from small_columns import column, drawn


@pytest.fixture
def voted(several: Report) -> tuple[Report, dict[str, Any]]:
    """A report of two edit models or more, and its summary with votes on every other sample."""
    one, other = several.results.edit_models[:2]
    samples = several.results.samples[::2]
    choices = ("left", "left", "tie", "right", "left")
    votes = [Vote(s.id, one, other, choices[n % 5], "Ann", cluster=s.cluster) for n, s in enumerate(samples)]
    return several, summarise(several.results, votes=votes)


def test_terminal_markdown_and_page_show_the_three_numbers(voted, tmp_path):
    report, summary = voted
    people = people_in(summary)
    written = markdown(report.results, summary, "en")
    document = "".join(page(report.results, summary, tmp_path, language="en"))
    for pair in people.pairs:
        for row in rows_of(people, pair, {}):
            figures = signed(row.found.difference), signed_span(row.found.ci95)
            assert " | ".join(figures) in written
            assert all(f">{figure}</td>" in document for figure in figures)
    for line in sentences(people):
        assert line.split("[")[0] in written.replace("\\", "")
    assert 'id="people"' in document
    assert 'data-chart="people"' in document


def test_nothing_of_it_where_nobody_voted(several, tmp_path):
    assert several.summary["comparison"]["people"] is None
    assert 'id="people"' not in "".join(page(several.results, several.summary, tmp_path, language="en"))
    assert charts(several.results, several.summary, "en")["people"] == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_chart_has_three_intervals_a_pair_of_each_judge(voted, language):
    report, summary = voted
    people = people_in(summary)
    drawn_charts = charts(report.results, summary, language)["people"]
    assert len(drawn_charts) == len({pair.judge for pair in people.pairs})
    for chart in drawn_charts:
        rows = next(rows for rows in chart["datasets"].values() if len(rows) > 1)
        assert len({row["series"] for row in rows}) == 3
        low, high = chart["layer"][1]["encoding"]["x"]["scale"]["domain"]
        assert low < 0 < high
        assert all(low <= end <= high for row in rows for end in (row["low"], row["high"]) if end is not None)
        assert vl_convert.vegalite_to_vega({**chart, "width": 300})["marks"]


def shown(comparison, language="en"):
    file = io.StringIO()
    print_comparison(comparison, Console(file=file, width=80, color_system=None), language=language)
    return file.getvalue()


@pytest.fixture
def columns():
    return [column("a", drawn(2, 0.5), edit_model="a"), column("b", drawn(3), edit_model="b")]


def votes(count, choices=("left", "left", "tie", "right", "left"), rater="Ann"):
    return [Vote(f"s{n:04d}", "a", "b", choices[n % len(choices)], rater) for n in range(count)]


def test_what_is_known_is_a_sentence_and_what_is_not_is_not_one(columns):
    told, open_ = (shown(compare(columns, people=some)) for some in (votes(60), votes(40, ("left", "right"))))
    assert "People would prefer A to B, by +0." in told
    assert "Which of A and B people would prefer cannot be told." in open_
    assert "would halve the" in " ".join(open_.split())
    assert "One person has answered" in told
    assert "picked at random" in told
    both = votes(60) + votes(60, rater="Bo")
    weighted = shown(compare(columns, people=[replace(one, weight=1.25) for one in both]))
    assert "One person" not in weighted
    assert "picked at random" not in weighted
    assert "with their weights" in weighted


@pytest.mark.parametrize("language", ["en", "zh"])
def test_why_there_is_no_interval(columns, language):
    few, alike = (shown(compare(columns, people=some), language) for some in (votes(5), votes(30, ("left",))))
    assert ("fewer than 8 source images" if language == "en" else "不足 8 张") in few.replace("\n", " ")
    assert ("nothing varies" if language == "en" else "毫无差异") in alike
