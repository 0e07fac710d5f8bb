"""Several judges as one: their median."""

from __future__ import annotations

import math
import random
import statistics
from dataclasses import replace

import msgspec
import pytest

from agreements import judges_document
from documents import plain
from edit_eval.plugins.agreement.panel import MEDIAN, no_panel, panel
from edit_eval.records import Scale, Scoring, Status
from edit_eval.reporting.analyses import summary_of
from edit_eval.reporting.documents import encoded
from edit_eval.statistics.summary import Summary


def run_of(make_sample, make_results, rows_of_judges, categories=None):
    """One edit model, a row a sample for each judge."""
    count = len(next(iter(rows_of_judges.values())))
    samples = [make_sample(index, category=categories[index] if categories else "physical") for index in range(count)]
    return make_results(samples, {("m", judge): rows for judge, rows in rows_of_judges.items()})


def test_the_median_of_three_judges(make_sample, make_results):
    run = run_of(make_sample, make_results, {"a": [[2.0], [9.0]], "b": [[5.0], [8.0]], "c": [[4.0], [1.0]]})
    median = panel(run)
    assert [judgement.score for judgement in median.results.judgements] == [4.0, 8.0]
    assert [*median.bounds.values()] == [(4.0, 4.0), (8.0, 8.0)]
    assert median.results.judges == (MEDIAN,)


def test_fewer_than_three_judges_have_none(make_sample, make_results):
    two = run_of(make_sample, make_results, {"a": [[2.0]], "b": [[5.0]]})
    single = run_of(make_sample, make_results, {"a": [[2.0]]})
    assert panel(two) is panel(single) is None  # it would be their mean, and judges are not averaged
    assert no_panel(two) == no_panel(single) == "few_judges"


def test_repeats_are_a_mean_within_each_judge(make_sample, make_results):
    run = run_of(make_sample, make_results, {"a": [[2.0, 4.0]], "b": [[9.0, 9.0]], "c": [[5.0, 8.0]]})
    assert panel(run).results.judgements[0].score == 6.5


def test_an_edit_that_a_judge_has_no_score_for_has_no_median(make_sample, make_results):
    rows = {
        "a": [[2.0], [Status.EDIT_FAILED], [Status.PENDING], [Status.REFUSED, 3.0]],
        "b": [[Status.UNPARSEABLE], [Status.EDIT_FAILED], [Status.REFUSED], [7.0, 7.0]],
        "c": [[4.0], [Status.EDIT_FAILED], [6.0], [5.0, 5.0]],
    }
    median = panel(run_of(make_sample, make_results, rows))
    judgements = median.results.judgements
    assert [judgement.status for judgement in judgements] == [
        Status.UNPARSEABLE,
        Status.EDIT_FAILED,
        Status.PENDING,
        Status.OK,
    ]
    assert [judgement.score for judgement in judgements] == [None, None, None, 5.0]
    # What is missing may be anything in the range, and the median moves only as far as that lets it.
    assert [*median.bounds.values()] == [(2.0, 4.0), (0.0, 10.0), (0.0, 10.0), (5.0, 6.5)]


def test_missing_repeats_bound_the_median(make_sample, make_results):
    rows = {"a": [[4.0, Status.REFUSED]], "b": [[5.0, 5.0]], "c": [[3.0, 3.0]]}
    run = run_of(make_sample, make_results, rows)
    median = panel(run)
    assert median.results.judgements[0].score == 4.0
    assert [*median.bounds.values()] == [(3.0, 5.0)]  # the first judge's mean may be 2 to 7
    (entry,) = judges_document(run)["median"]
    assert entry["scores"]["score"]["worst_case_mean"] == 3.0
    assert entry["scores"]["score"]["best_case_mean"] == 5.0


def test_a_summary_says_what_the_judges_say_together(make_sample, make_results):
    generator = random.Random(4)
    truth = [generator.uniform(2, 8) for _ in range(40)]
    rows = {
        judge: [[round(t + generator.gauss(shift, 0.5), 2) for _ in range(2)] for t in truth]
        for judge, shift in (("strict", -1.5), ("fair", 0.0), ("kind", 1.5))
    }
    run = run_of(make_sample, make_results, rows, categories=["physical", "social"] * 20)
    summary = summary_of(run, min_coverage=0.9)
    [agreement] = plain(summary.analyses["agreement"])
    (entry,) = agreement["median"]
    medians = [statistics.median(statistics.fmean(rows[judge][index]) for judge in rows) for index in range(40)]
    score = entry["scores"]["score"]
    assert score["mean"] == pytest.approx(statistics.fmean(medians))
    assert score["n"] == entry["coverage"]["total"] == 40
    assert entry["coverage"]["required"] == 0.9
    assert list(score["categories"]) == ["physical", "social"]
    assert [result.scores["score"].mean for result in summary.results] == pytest.approx(
        [statistics.fmean(score for row in rows[judge] for score in row) for judge in rows]
    )
    assert agreement["judges"]["fair"]["retest"]["sd"] == pytest.approx(0.5, abs=0.1)
    assert 0.3 < agreement["between_judges"]["alpha"] < 1.0
    assert plain(msgspec.json.decode(encoded(summary), type=Summary)) == plain(summary)


def test_one_judge_asked_once_agrees_with_nobody(make_sample, make_results):
    run = run_of(make_sample, make_results, {"a": [[2.0], [5.0]]})
    assert "agreement" not in summary_of(run).analyses
    document = judges_document(run)
    assert document["median"] is document["between_judges"] is document["judges"]["a"]["retest"] is None
    repeated = run_of(make_sample, make_results, {"a": [[2.0, 2.5], [5.0, 5.0]]})
    [agreement] = plain(summary_of(repeated).analyses["agreement"])
    assert agreement["judges"]["a"]["retest"]["answers"] == 4
    assert (agreement["median"], agreement["no_median"]) == (None, "few_judges")


def test_judges_on_unlike_scales_have_no_median(make_sample, make_results):
    run = run_of(make_sample, make_results, {judge: [[2.0], [3.0]] for judge in "abc"})
    for scale in (Scale(lowest=1, highest=5), Scale(lowest=0, highest=10, higher_is_better=False)):
        scoring = {**run.scoring, "c": Scoring(protocol="p", headline="score", scales={"score": scale})}
        unlike = replace(run, scoring=scoring)
        assert (panel(unlike), no_panel(unlike)) == (None, "unlike_scales")
        assert judges_document(unlike)["no_median"] == "unlike_scales"
    assert no_panel(run) is judges_document(run)["no_median"] is None


def test_the_median_is_of_the_score_that_is_asked_for(make_sample, make_results):
    scale = Scale(lowest=1, highest=5)
    named = {judge: Scoring(protocol="p", headline=judge, scales={judge: scale, "PQ": scale}) for judge in "abc"}
    rows = {judge: [[{judge: value, "PQ": 5}], [{judge: 3}]] for judge, value in zip("abc", (1, 2, 4), strict=True)}
    samples = [make_sample(0), make_sample(1)]
    run = make_results(samples, {("m", judge): of for judge, of in rows.items()}, scoring=named)
    headlines = panel(run).results
    assert [judgement.score for judgement in headlines.judgements] == [2.0, 3.0]
    assert headlines.judgements[0].headline == MEDIAN, "the judges' headlines have three names"
    quality = panel(run, "PQ").results
    assert [(judgement.sample_id, judgement.scores) for judgement in quality.judgements] == [("s0000", {"PQ": 5.0})]
    (entry,) = judges_document(run, score="PQ")["median"]
    assert (entry["headline"], entry["scores"]["PQ"]["coverage"]["total"]) == ("PQ", 1)


def test_at_an_open_end_a_median_is_bounded_by_the_judges_that_answered(make_sample, make_results):
    loss = Scoring(protocol="p", headline="loss", scales={"loss": Scale(lowest=0, higher_is_better=False)})
    rows = {"a": [[2.0], [Status.REFUSED]], "b": [[Status.REFUSED], [Status.REFUSED]], "c": [[4.0], [4.0]]}
    samples = [make_sample(0), make_sample(1)]
    run = make_results(samples, {("m", judge): of for judge, of in rows.items()}, scoring=loss)
    assert [*panel(run).bounds.values()] == [(4.0, 2.0), (math.inf, 0.0)]
    (entry,) = judges_document(run)["median"]
    score = entry["scores"]["loss"]
    assert (score["worst_case_mean"], score["best_case_mean"]) == (None, 1.0)
