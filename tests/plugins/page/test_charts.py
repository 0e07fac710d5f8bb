import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import vl_convert

from edit_eval.plugins.page.charts import charts
from edit_eval.records import Status
from edit_eval.statistics.summary import summarise
from reporting.reported_runs import rescored, unscored
from reporting.reports import Report, headline

_drawn: dict[tuple[int, str], dict[str, list[dict[str, Any]]]] = {}


def charts_of(report: Report, language: str = "en") -> dict[str, list[dict[str, Any]]]:
    """A report's charts, made once for all tests."""
    key = (id(report), language)
    if key not in _drawn:
        _drawn[key] = charts(report.results, report.summary, language)
    return _drawn[key]


def rows_of(specification: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a chart, whichever way Altair hands them over."""
    name = specification.get("data", {}).get("name")
    return specification["datasets"][name] if name else next(iter(specification["datasets"].values()))


def everywhere(value: Any, key: str) -> Iterator[Any]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == key:
                yield inner
            yield from everywhere(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from everywhere(inner, key)


CHARTS = [("three_scores", "en"), ("hostile", "en"), ("several", "zh")]


@pytest.mark.parametrize(
    ("name", "language"), [("incomplete", "en"), *(pytest.param(*more, marks=pytest.mark.check) for more in CHARTS)]
)
def test_vega_lite_takes_every_chart(name: str, language: str, request: pytest.FixtureRequest) -> None:
    report: Report = request.getfixturevalue(name)
    for specifications in charts_of(report, language).values():
        for specification in specifications:
            assert vl_convert.vegalite_to_vega({**specification, "width": 300})["marks"]


@pytest.mark.check
def test_no_chart_asks_for_anything_elsewhere(several: Report) -> None:
    written = json.dumps(charts_of(several))
    assert set(everywhere(json.loads(written), "url")) == set()
    assert written.count("https://") == written.count('"$schema": "https://vega.github.io/schema/vega-lite/')


def test_means_and_intervals_are_those_of_the_summary(complete: Report) -> None:
    [chart] = charts_of(complete)["categories"]
    rows = {row["group"]: row for row in rows_of(chart)}
    assert list(rows) == ["Physical", "Environmental", "Social", "Causal", "Referential"]
    for name, block in headline(complete.summary.results[0]).categories.items():
        row = rows[name.capitalize()]
        assert (row["mean"], [row["low"], row["high"]]) == (block.mean, block.ci95 or [None, None])
        assert row["complete"]


def test_a_mean_over_a_part_is_marked_with_its_coverage(incomplete: Report) -> None:
    [chart] = charts_of(incomplete)["categories"]
    marked = [row for row in rows_of(chart) if not row["complete"]]
    assert marked
    for row in marked:
        block = headline(incomplete.summary.results[0]).categories[row["group"].lower()]
        assert row["label"].endswith(f"({block.coverage.scored}/{block.coverage.total})")
        assert (row["worst"], row["best"]) == (block.worst_case_mean, block.best_case_mean)


def test_the_score_axis_is_always_the_whole_scale(several: Report) -> None:
    drawn = charts_of(several)
    for name in ("overall", "categories", "difficulties", "tags", "histogram"):
        for chart in drawn[name]:
            domains = [x["scale"]["domain"] for x in everywhere(chart, "x") if "scale" in x]
            assert domains
            assert all(domain == [0, 10] for domain in domains)


def test_the_histogram_counts_every_score_once(several: Report) -> None:
    scored = [judgement for judgement in several.results.judgements if judgement.status is Status.OK]
    histograms = charts_of(several)["histogram"]
    assert len(histograms) == 4
    assert sum(row["count"] for chart in histograms for row in rows_of(chart)) == len(scored)


@pytest.mark.parametrize(("score", "place"), [(0.0, 0), (0.499, 0), (0.5, 1), (9.99, 19), (10.0, 19)])
def test_a_score_falls_into_its_half_point(score: float, place: int, complete: Report) -> None:
    results = replace(complete.results, judgements=(rescored(complete.results.judgements[0], score),))
    [chart] = charts(results, summarise(complete.results), "en")["histogram"]
    assert [row["count"] for row in rows_of(chart)] == [int(n == place) for n in range(20)]


def test_failures_are_counted_and_have_no_score(incomplete: Report) -> None:
    [chart] = charts_of(incomplete)["failures"]
    ended = [
        judgement for judgement in incomplete.results.judgements if judgement.status not in (Status.OK, Status.PENDING)
    ]
    assert sum(row["count"] for row in rows_of(chart)) == len(ended)
    assert not any(key == "score" for row in rows_of(chart) for key in row)


def test_rare_reasons_share_one_bar(incomplete: Report) -> None:
    judgements = tuple(
        replace(judgement, reason=f"reason {number}") if judgement.status is Status.REFUSED else judgement
        for number, judgement in enumerate(replaced_by_refusals(incomplete))
    )
    results = replace(incomplete.results, edits=(), judgements=judgements)
    [chart] = charts(results, summarise(results), "en")["failures"]
    labels = [row["label"] for row in rows_of(chart)]
    assert len(labels) == 11
    assert labels[-1] == "20 further reasons"
    assert sum(row["count"] for row in rows_of(chart)) == 30


def test_what_belongs_to_no_judge_is_in_the_chart_without_a_colour(several: Report) -> None:
    """One edit model, two judges, so a colour is a judge: a failed edit has none, and is one edit."""
    results = replace(
        several.results,
        edit_models=("first",),
        edits=tuple(edit for edit in several.results.edits if edit.edit_model == "first"),
        judgements=tuple(judgement for judgement in several.results.judgements if judgement.edit_model == "first"),
    )
    edit = replace(results.edits[0], status=Status.EDIT_FAILED, reason="black", image="")
    results = replace(results, edits=(edit, *results.edits[1:]))
    [chart] = charts(results, summarise(results), "en")["failures"]
    [bar] = [row for row in rows_of(chart) if row["reason"] == "black"]
    assert (bar["count"], bar["series"]) == (1, "")
    assert {row["series"] for row in rows_of(chart)} <= {"", "strict", "kind"}
    assert vl_convert.vegalite_to_vega({**chart, "width": 300})["marks"]


def replaced_by_refusals(report: Report) -> list[Any]:
    return [unscored(judgement, Status.REFUSED) for judgement in report.results.judgements]


def test_one_model_has_no_chart_of_models(complete: Report, several: Report) -> None:
    assert charts_of(complete)["overall"] == []
    strict, kind = charts_of(several)["overall"]
    assert [row["group"] for row in rows_of(strict)] == [row["group"] for row in rows_of(kind)] == ["first", "second"]
    assert (strict["title"]["text"], kind["title"]["text"]) == ("judged by strict", "judged by kind")
    means = {(part.edit_model, part.judge): headline(part).mean for part in several.summary.results}
    assert [row["mean"] for row in rows_of(kind)] == [means["first", "kind"], means["second", "kind"]]


def test_a_colour_is_an_edit_model_in_every_chart(several: Report) -> None:
    for name in ("overall", "categories", "histogram", "difficulties", "tags", "failures"):
        for chart in charts_of(several)[name]:
            domains = [colour["scale"]["domain"] for colour in everywhere(chart, "color") if "scale" in colour]
            assert domains
            assert all(domain == ["first", "second"] for domain in domains), name


def test_with_one_edit_model_the_judges_share_their_charts(several: Report) -> None:
    results = replace(
        several.results,
        edit_models=("first",),
        edits=tuple(edit for edit in several.results.edits if edit.edit_model == "first"),
        judgements=tuple(judgement for judgement in several.results.judgements if judgement.edit_model == "first"),
    )
    drawn = charts(results, summarise(results), "en")
    [chart] = drawn["overall"]
    assert [row["group"] for row in rows_of(chart)] == ["strict", "kind"]
    assert len(drawn["categories"]) == 1


def test_a_run_without_scores_or_times_has_no_chart_of_them(complete: Report) -> None:
    results = replace(
        complete.results,
        judgements=tuple(unscored(judgement, Status.PENDING) for judgement in complete.results.judgements),
        telemetry=replace(complete.results.telemetry, activities=(), wall_seconds=()),
    )
    drawn = charts(results, summarise(results), "en")
    assert drawn["histogram"] == drawn["failures"] == drawn["timeline"] == drawn["utilisation"] == []


def test_the_words_are_those_of_the_language(complete: Report) -> None:
    english, chinese = (json.dumps(charts_of(complete, language)) for language in ("en", "zh"))
    assert "Physical" in english
    assert json.dumps("物理")[1:-1] in chinese
    assert "Physical" not in chinese
    assert "Loading" not in chinese


def of_choice(report: Report, name: str, score: str) -> list[dict[str, Any]]:
    return [chart for chart in charts_of(report)[name] if chart["usermeta"]["score"] == score]


def axis_of(chart: dict[str, Any]) -> tuple[list[float], str]:
    [axis] = {json.dumps([x["scale"]["domain"], x["title"]]) for x in everywhere(chart, "x") if "scale" in x}
    domain, title = json.loads(axis)
    return domain, title


def test_an_open_end_is_where_the_axis_ends_and_no_number(three_scores: Report) -> None:
    [chart] = of_choice(three_scores, "overall", "psnr")
    for row in rows_of(chart):
        assert not row["complete"]
        assert (row["worst"], row["best"], [row["least"], row["most"]]) == (None, None, axis_of(chart)[0])
    [chart] = of_choice(three_scores, "overall", "drift")
    for row in rows_of(chart):
        assert row["worst"] == row["most"] > row["mean"] > row["least"] == row["best"]


def test_what_lacks_only_a_further_score_is_said_of_that_score(three_scores: Report) -> None:
    [chart] = charts_of(three_scores)["failures"]
    [bar] = [row for row in rows_of(chart) if row["status"] == "psnr: score undefined" and row["series"] == "first"]
    lacking = [
        judgement
        for judgement in three_scores.results.judgements
        if (judgement.edit_model, judgement.judge, judgement.status) == ("first", "three", Status.OK)
        and "psnr" in judgement.missing
    ]
    assert bar["count"] == len(lacking) > 0
