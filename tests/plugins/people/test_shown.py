"""What people prefer and what they would say, as terminal, Markdown and page show it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import vl_convert

from documents import plain
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.page.charts import charts
from edit_eval.plugins.page.page import page
from edit_eval.plugins.people.analysis import PeopleAnalysis, VotesAnalysis
from edit_eval.plugins.people.differences import People, compare_by_votes, peoples_differences
from edit_eval.plugins.people.sheet import people_sheet, rows_of
from edit_eval.plugins.people.votes import PeoplesVotes, peoples_votes
from edit_eval.plugins.people.votes_sheet import votes_sheet
from edit_eval.reporting.analyses import RunRecords, sections, summary_of
from edit_eval.reporting.formats import format_signed, format_signed_span
from edit_eval.reporting.report import markdown
from edit_eval.reporting.table import markdown_sheet
from edit_eval.statistics.comparison import columns_to_test
from edit_eval.statistics.preferences import preferences
from edit_eval.statistics.votes import Vote
from edit_eval.store.votes import Ballot, VoteLine
from reporting.reported_runs import build_run
from reporting.reports import Report, report_on
from small_columns import column, drawn


@pytest.fixture
def several(tmp_path: Path) -> Report:
    return report_on(
        build_run(tmp_path / "several", edit_models=("qwen_image_edit", "other"), samples=24, size=(24, 16))
    )


def cast(
    report: Report, choices: tuple[str, ...] = ("left", "left", "tie", "right", "left"), rater: str = "Ann"
) -> None:
    """Votes of somebody on every other sample, as the viewer keeps them."""
    first, second = report.results.edit_models[:2]
    keys = {(edit.sample_id, edit.edit_model): edit.key for edit in report.results.edits if edit.status == "ok"}
    ballot = Ballot(Path(report.results.directory))
    for number, sample in enumerate(report.results.samples[::2]):
        pair = (sample.id, first), (sample.id, second)
        if all(edit in keys for edit in pair):
            left, right = (keys[edit] for edit in pair)
            said = rater, sample.id, 0, first, second, left, right, choices[number % len(choices)]
            ballot.add(VoteLine(f"{rater}-{number}", *said, weight=1.0, how="blindly", seconds=1.0, at=float(number)))
    ballot.close()


@pytest.mark.check
def test_of_a_run_that_people_voted_on_each_display_has_the_three_numbers(several: Report, tmp_path: Path) -> None:
    assert not {"people", "votes"} & summary_of(several.results).analyses.keys(), "nobody has voted"
    cast(several)
    summary = summary_of(several.results)
    [people] = next(section.documents for section in sections(summary) if section.name == "people")
    assert people == compare_by_votes(
        columns_to_test(several.results), RunRecords(several.results).votes.to_votes(several.results.samples)
    )
    written = markdown(several.results, summary, "en")
    document = "".join(page(several.results, summary, tmp_path, language="en"))
    for pair in people.pairs:
        for row in rows_of(people, pair):
            figures = format_signed(row.estimate.difference), format_signed_span(row.estimate.ci95)
            assert " | ".join(figures) in written
            assert all(f">{figure}</td>" in document for figure in figures)
    assert 'id="people"' in document
    assert 'id="votes"' in document
    assert 'data-chart="people"' in document
    for language in ("en", "zh"):
        drawn_charts = charts(several.results, summary, language)["people"]
        assert len(drawn_charts) == len({pair.judge for pair in people.pairs})
        for chart in drawn_charts:
            rows = next(rows for rows in chart["datasets"].values() if len(rows) > 1)
            assert len({row["series"] for row in rows}) == 3
            low, high = chart["layer"][1]["encoding"]["x"]["scale"]["domain"]
            assert low < 0 < high
            assert all(low <= end <= high for row in rows for end in (row["low"], row["high"]) if end is not None)
            assert vl_convert.vegalite_to_vega({**chart, "width": 300})["marks"]


def test_votes_change_no_other_number(several: Report) -> None:
    before = summary_of(several.results).analyses
    cast(several)
    after = summary_of(several.results).analyses
    assert {name: said for name, said in after.items() if name not in ("people", "votes")} == before


def test_who_votes_can_be_left_out_and_who_takes_one_side_taken_in(several: Report) -> None:
    cast(several)
    cast(several, ("left",), "Bo")
    records, of = RunRecords(several.results), VotesAnalysis()
    both = of.compute(records, of.Parameters())
    assert [rater.rater for rater in both.raters] == ["Ann", "Bo"]
    alone = of.compute(records, of.Parameters(without="Bo"))
    assert alone.votes == both.votes, "whoever takes one side whatever it is does not count"
    taken = of.compute(records, of.Parameters(with_="Bo"))
    assert taken.votes == 2 * alone.votes
    assert [judge.edits for judge in alone.beside.judges] == [1]
    assert PeopleAnalysis().compute(records, PeopleAnalysis.Parameters()).set_apart == ["Bo"]
    for flag, given in (("--without Cy", {"without": "Cy"}), ("--with Cy", {"with_": "Cy"})):
        with pytest.raises(ConfigurationError, match=flag):
            of.compute(records, of.Parameters(**given))


def test_nobody_s_votes_are_none_and_a_file_s_are_taken(several: Report, tmp_path: Path) -> None:
    records, of = RunRecords(several.results), PeopleAnalysis()
    with pytest.raises(ConfigurationError, match="there are no votes"):
        of.compute(records, of.Parameters())
    assert "Nobody has voted yet" in markdown_sheet(votes_sheet(peoples_votes(records.results, records.votes)), "en")
    first, second = records.results.edit_models[:2]
    lines = [f"{sample.id},{first},{second},left" for sample in records.results.samples[:9]]
    file = tmp_path / "votes.csv"
    file.write_text("\n".join(["sample_id,left,right,choice", *lines]), "utf-8")
    people = of.compute(records, of.Parameters(people=file))
    assert {(pair.a, pair.b) for pair in people.pairs} == {(first, second)}


@pytest.fixture
def columns() -> list[Any]:
    return [column("a", drawn(2, 0.5), edit_model="a"), column("b", drawn(3), edit_model="b")]


def votes(
    count: int, choices: tuple[str, ...] = ("left", "left", "tie", "right", "left"), rater: str = "Ann"
) -> list[Vote]:
    return [Vote(f"s{n:04d}", "a", "b", choices[n % len(choices)], rater) for n in range(count)]


def shown(columns: list[Any], some: list[Vote], language: str = "en") -> str:
    return markdown_sheet(people_sheet(peoples_differences(columns, some)), language)


def test_what_is_known_is_a_sentence_and_what_is_not_is_not_one(columns: list[Any]) -> None:
    told, open_ = (shown(columns, some) for some in (votes(60), votes(40, ("left", "right"))))
    assert "People would prefer a to b, by +0." in told
    assert "It cannot be told which of a and b people would prefer." in open_
    assert "would halve the" in open_
    assert "One person has answered" in told
    assert "picked at random" in told
    both = votes(60) + votes(60, rater="Bo")
    weighted = shown(columns, [replace(vote, weight=1.25) for vote in both])
    assert "One person" not in weighted
    assert "picked at random" not in weighted
    assert "with their weights" in weighted


@pytest.mark.parametrize("language", ["en", "zh"])
def test_why_there_is_no_interval(columns: list[Any], language: str) -> None:
    few, alike = (shown(columns, some, language) for some in (votes(5), votes(30, ("left",))))
    assert ("fewer than 8 source images" if language == "en" else "不足 8 张") in few
    assert ("nothing varies" if language == "en" else "毫无差异") in alike


def test_documents_are_read_back_as_themselves(several: Report) -> None:
    cast(several)
    of_votes = VotesAnalysis().compute(RunRecords(several.results), VotesAnalysis.Parameters())
    assert json.loads(json.dumps(plain(of_votes))) == plain(of_votes)
    documents = {section.name: section.documents for section in sections(summary_of(several.results))}
    assert (type(documents["votes"][0]), type(documents["people"][0])) == (PeoplesVotes, People)
    theirs = preferences(
        RunRecords(several.results).votes.to_votes(several.results.samples), several.results.edit_models
    )
    assert documents["votes"][0].strengths == theirs.strengths
