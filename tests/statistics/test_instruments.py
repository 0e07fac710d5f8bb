from __future__ import annotations

import json
import math
import random
import statistics
from dataclasses import replace
from statistics import stdev

import pytest

from edit_eval.records import Reading, Scale, Scoring, Status
from edit_eval.reporting.remarks import footnotes
from edit_eval.statistics.instruments import (
    MEDIAN,
    Instrument,
    Item,
    judges_of,
    no_panel,
    panel,
    people_of,
    readings_document,
    spread_of,
    voters_of,
)
from edit_eval.statistics.people import Rating, Vote
from edit_eval.statistics.summary import judges_document, summarise


def run_of(make_sample, make_results, rows_of_judges, categories=None):
    """One edit model, a row a sample for each judge."""
    count = len(next(iter(rows_of_judges.values())))
    samples = [make_sample(index, category=categories[index] if categories else "physical") for index in range(count)]
    return make_results(samples, {("m", judge): rows for judge, rows in rows_of_judges.items()})


def test_the_median_of_three_judges(make_sample, make_results):
    run = run_of(make_sample, make_results, {"a": [[2.0], [9.0]], "b": [[5.0], [8.0]], "c": [[4.0], [1.0]]})
    found = panel(run)
    assert [judgement.score for judgement in found.results.judgements] == [4.0, 8.0]
    assert [*found.bounds.values()] == [(4.0, 4.0), (8.0, 8.0)]
    assert found.results.judges == (MEDIAN,)


def test_fewer_than_three_judges_have_none(make_sample, make_results):
    two = run_of(make_sample, make_results, {"a": [[2.0]], "b": [[5.0]]})
    one = run_of(make_sample, make_results, {"a": [[2.0]]})
    assert panel(two) is panel(one) is None  # it would be their mean, and judges are not averaged
    assert no_panel(two) == no_panel(one) == "few_judges"


def test_repeats_are_a_mean_within_each_judge(make_sample, make_results):
    run = run_of(make_sample, make_results, {"a": [[2.0, 4.0]], "b": [[9.0, 9.0]], "c": [[5.0, 8.0]]})
    assert panel(run).results.judgements[0].score == 6.5


def test_an_edit_that_a_judge_has_no_score_for_has_no_median(make_sample, make_results):
    rows = {
        "a": [[2.0], [Status.EDIT_FAILED], [Status.PENDING], [Status.REFUSED, 3.0]],
        "b": [[Status.UNPARSEABLE], [Status.EDIT_FAILED], [Status.REFUSED], [7.0, 7.0]],
        "c": [[4.0], [Status.EDIT_FAILED], [6.0], [5.0, 5.0]],
    }
    found = panel(run_of(make_sample, make_results, rows))
    judgements = found.results.judgements
    assert [one.status for one in judgements] == [Status.UNPARSEABLE, Status.EDIT_FAILED, Status.PENDING, Status.OK]
    assert [one.score for one in judgements] == [None, None, None, 5.0]
    # What is missing may be anything in the range, and the median moves only as far as that lets it.
    assert [*found.bounds.values()] == [(2.0, 4.0), (0.0, 10.0), (0.0, 10.0), (5.0, 6.5)]


def test_missing_repeats_bound_the_median(make_sample, make_results):
    rows = {"a": [[4.0, Status.REFUSED]], "b": [[5.0, 5.0]], "c": [[3.0, 3.0]]}
    run = run_of(make_sample, make_results, rows)
    found = panel(run)
    assert found.results.judgements[0].score == 4.0
    assert [*found.bounds.values()] == [(3.0, 5.0)]  # the first judge's mean may be 2 to 7
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
    summary = summarise(run, min_coverage=0.9)
    agreement = summary["agreement"]
    (entry,) = agreement["median"]
    medians = [statistics.median(statistics.fmean(rows[judge][index]) for judge in rows) for index in range(40)]
    found = entry["scores"]["score"]
    assert found["mean"] == pytest.approx(statistics.fmean(medians))
    assert found["n"] == entry["coverage"]["total"] == 40
    assert entry["coverage"]["required"] == 0.9
    assert list(found["categories"]) == ["physical", "social"]
    assert [result["scores"]["score"]["mean"] for result in summary["results"]] == pytest.approx(
        [statistics.fmean(score for row in rows[judge] for score in row) for judge in rows]
    )
    assert agreement["judges"]["fair"]["retest"]["sd"] == pytest.approx(0.5, abs=0.1)
    assert 0.3 < agreement["between_judges"]["alpha"] < 1.0
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_one_judge_asked_once_agrees_with_nobody(make_sample, make_results):
    run = run_of(make_sample, make_results, {"a": [[2.0], [5.0]]})
    assert "agreement" not in summarise(run)
    document = judges_document(run)
    assert document["median"] is document["between_judges"] is document["judges"]["a"]["retest"] is None
    repeated = run_of(make_sample, make_results, {"a": [[2.0, 2.5], [5.0, 5.0]]})
    agreement = summarise(repeated)["agreement"]
    assert agreement["judges"]["a"]["retest"]["answers"] == 4
    assert (agreement["median"], agreement["no_median"]) == (None, "few_judges")


def test_the_order_of_the_judgements_does_not_matter(make_sample, make_results):
    run = run_of(make_sample, make_results, {"a": [[2.0], [7.0]], "b": [[5.0], [6.0]]})
    turned = replace(run, judgements=run.judgements[::-1])
    assert json.dumps(summarise(turned)) == json.dumps(summarise(run))


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
    assert [one.score for one in headlines.judgements] == [2.0, 3.0]
    assert headlines.judgements[0].headline == MEDIAN, "the judges' headlines have three names"
    found = panel(run, "PQ").results
    assert [(one.sample_id, one.scores) for one in found.judgements] == [("s0000", {"PQ": 5.0})]
    (entry,) = judges_document(run, score="PQ")["median"]
    assert (entry["headline"], entry["scores"]["PQ"]["coverage"]["total"]) == ("PQ", 1)


def test_at_an_open_end_a_median_is_bounded_by_the_judges_that_answered(make_sample, make_results):
    loss = Scoring(protocol="p", headline="loss", scales={"loss": Scale(lowest=0, higher_is_better=False)})
    rows = {"a": [[2.0], [Status.REFUSED]], "b": [[Status.REFUSED], [Status.REFUSED]], "c": [[4.0], [4.0]]}
    samples = [make_sample(0), make_sample(1)]
    run = make_results(samples, {("m", judge): of for judge, of in rows.items()}, scoring=loss)
    assert [*panel(run).bounds.values()] == [(4.0, 2.0), (math.inf, 0.0)]
    (entry,) = judges_document(run)["median"]
    found = entry["scores"]["loss"]
    assert (found["worst_case_mean"], found["best_case_mean"]) == (None, 1.0)


# -- where instruments come from --


def test_a_run_has_judges_that_are_asked_that_measure_and_that_replay(make_sample, make_results):
    run = run_of(
        make_sample, make_results, {"a": [[2.0, 4.0], [Status.REFUSED]], "b": [[5.0], [6.0]], "c": [[7.0], [8.0]]}
    )
    flags = [{"name": "a"}, {"name": "b", "measures": True, "replays": False}, {"name": "c", "replays": True}]
    judges = judges_of(replace(run, resolved={"judges": flags}))
    assert {name: judge.given for name, judge in judges.items()} == {"a": "asked", "b": "measured", "c": "recorded"}
    assert judges["a"].answers == {Item("m", "s0000", 0): [2.0, 4.0]}
    assert judges["a"].values == {Item("m", "s0000", 0): 3.0}
    assert judges_of(run)["b"].given == "asked", "where nothing is recorded"


def test_items_are_in_the_order_of_the_edit_models(make_sample, make_results):
    rows = {("z", "j"): [[Status.PENDING], [1.0]], ("a", "j"): [[2.0], [3.0]]}
    judge = judges_of(make_results([make_sample(0), make_sample(1)], rows))["j"]
    assert [item[:2] for item in judge.answers] == [("z", "s0001"), ("a", "s0000"), ("a", "s0001")]


def test_people_together_are_the_mean_of_their_means():
    ratings = [Rating("s", "m", 1.0, "ann"), Rating("s", "m", 3.0, "bo", score_name="PQ"), Rating("t", "m", 5.0, "bo")]
    people = people_of(ratings, "PQ")
    assert people.values == {Item("m", "s", 0): 2.0, Item("m", "t", 0): 5.0}
    assert [(one.name, one.given) for one in people.raters] == [("ann", "rated"), ("bo", "rated")]
    assert people.others[0].values == people.raters[1].values
    assert people_of(ratings, "SC").values == {Item("m", "s", 0): 1.0, Item("m", "t", 0): 5.0}


def test_votes_are_about_two_edits_whatever_their_sides():
    votes = [Vote("s", "b", "a", "left", "ann"), Vote("s", "a", "b", "tie", "ann"), Vote("s", "a", "b", "left", "bo")]
    ann, bo = voters_of(votes)
    pair = Item.of_two("b", "a", "s", 0)
    assert pair == Item("a", "s", 0, "b")
    assert (ann.values, bo.values) == ({pair: 0.25}, {pair: 1.0}), "who votes twice counts as the mean"


def test_a_loss_is_turned_so_that_more_is_better():
    of_loss = Scale(lowest=0, higher_is_better=False)
    judge = Instrument("j", "measured", "loss", of_loss, {Item("m", "s", 0): [1.0, 2.0]})
    assert (judge.values, judge.upward) == ({Item("m", "s", 0): 1.5}, {Item("m", "s", 0): -1.5})
    assert judge.only([]).answers == {}


def read_as(judgement, *readings):
    """The judgement as the mean of readings of its headline."""
    by_reading = tuple({"score": Reading(values={"score": value}, asked=1)} for value in readings)
    spread = {"score": stdev(readings)} if len(readings) > 1 else {}
    mean = sum(readings) / len(readings)
    return replace(judgement, scores={"score": mean}, spread=spread, readings=by_reading)


@pytest.fixture
def run(make_sample, make_results):
    samples = [make_sample(number) for number in range(30)]
    return make_results(samples, {("editor", "judge"): [[5.0]] * 30})


def test_the_spread_is_the_root_of_the_mean_square_over_edits(run):
    judgements = [read_as(run.judgements[0], 4, 6), read_as(run.judgements[1], 5, 5)]
    assert spread_of(judgements, "score") == pytest.approx(1.0), "variances 2 and 0"
    assert spread_of(judgements, "other") is None
    found = summarise(replace(run, judgements=(*judgements, *run.judgements[2:])))
    assert found["results"][0]["scores"]["score"]["spread"] == pytest.approx(1.0)
    assert found["readings"]["judge"] == {"readings": 2, "spread": pytest.approx(1.0), "identical": False, "mass": None}


def test_one_reading_has_no_spread_and_a_judge_that_was_not_asked_has_no_entry(run):
    assert readings_document(run) == {}
    once = replace(run, judgements=tuple(read_as(one, 5) for one in run.judgements))
    assert readings_document(once) == {"judge": {"readings": 1, "spread": None, "identical": False, "mass": None}}


def test_what_readings_scatter_is_in_the_interval(run):
    """The judge's own scatter makes it wider, and the mean of more readings narrower again: nothing is added to it."""
    chance = random.Random(5)
    widths = []
    for scatter, count in ((0.0, 1), (2.0, 1), (2.0, 16)):
        true = [4 + number / 15 for number in range(30)]
        judgements = tuple(
            read_as(one, *(value + chance.gauss(0, scatter) for _ in range(count)))
            for one, value in zip(run.judgements, true, strict=True)
        )
        low, high = summarise(replace(run, judgements=judgements))["results"][0]["scores"]["score"]["ci95"]
        widths.append(high - low)
    silent, once, often = widths
    assert once > 2 * silent
    assert silent * 0.9 < often < 0.7 * once


def test_the_mass_is_that_of_all_readings_and_those_below_the_floor_are_no_answers(run):
    def likely(one, *masses):
        readings = tuple(
            {"score": Reading(status=status, mass=mass, asked=1)}
            for mass in masses
            for status in [Status.UNPARSEABLE if mass != "unknown" and mass < 0.5 else Status.OK]
        )
        return replace(one, readings=readings)

    first, second, third, *_ = run.judgements
    judgements = (likely(first, 0.9, 0.4), likely(second, 1.0, "unknown"), read_as(third, 5))
    mass = readings_document(replace(run, judgements=judgements))["judge"]["mass"]
    assert mass == {"readings": 4, "unknown": 1, "median": 0.9, "below": 1, "floor": 0.5}


def test_readings_in_the_same_words_are_said_once_and_equal_scores_in_other_words_are_not(run):
    def worded(one, *words):
        read = tuple({"score": Reading(values={"score": 5.0}, text=text, asked=1)} for text in words)
        return replace(one, spread={"score": 0.0}, readings=read)

    same = replace(run, judgements=tuple(worded(one, "Score: 5", "Score: 5", "Score: 5") for one in run.judgements))
    assert sum("the 3 readings of each edit are identical" in line for line in footnotes(summarise(same))) == 1
    other = worded(run.judgements[0], "Score: 5", "Score: 5.0", "Score: 5")
    mixed = replace(same, judgements=(other, *same.judgements[1:]))
    assert not readings_document(mixed)["judge"]["identical"]
    assert not readings_document(replace(same, judgements=same.judgements[:3]))["judge"]["identical"], "too few to tell"
