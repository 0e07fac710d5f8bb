from __future__ import annotations

import random
from dataclasses import replace
from statistics import stdev

import numpy as np
import pytest

from documents import plain
from edit_eval.records import Reading, Scale, Status
from edit_eval.reporting.documents import encode_document
from edit_eval.reporting.remarks import footnotes
from edit_eval.statistics.raters import (
    Item,
    Rater,
    Retest,
    judges_of,
    people_of,
    reading_spread,
    readings_of,
    retest,
    voters_of,
)
from edit_eval.statistics.summary import summarise
from edit_eval.statistics.votes import Rating, Vote


def run_of(make_sample, make_results, rows_of_judges, categories=None):
    """One edit model, a row a sample for each judge."""
    count = len(next(iter(rows_of_judges.values())))
    samples = [make_sample(index, category=categories[index] if categories else "physical") for index in range(count)]
    return make_results(samples, {("m", judge): rows for judge, rows in rows_of_judges.items()})


def test_the_order_of_the_judgements_does_not_matter(make_sample, make_results):
    run = run_of(make_sample, make_results, {"a": [[2.0], [7.0]], "b": [[5.0], [6.0]]})
    turned = replace(run, judgements=run.judgements[::-1])
    assert encode_document(summarise(turned)) == encode_document(summarise(run))


# -- how well one repeats itself --


def test_icc_of_shrout_and_fleiss():
    """The example of Shrout and Fleiss (1979), table 2: ICC(1,1) = .17."""
    ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    reliability = retest(ratings)
    assert reliability.icc == pytest.approx(0.166, abs=0.0005)
    assert reliability.sd**2 == pytest.approx(6.26, abs=0.005)  # their mean square within
    assert (reliability.edits, reliability.answers) == (6, 24)


def test_retest_finds_the_noise_that_was_put_in():
    generator = np.random.default_rng(6)
    truth = generator.normal(5, 2, size=800)
    sizes = generator.integers(1, 5, size=800)
    repeats = [(t + generator.normal(0, 1, size=size)).tolist() for t, size in zip(truth, sizes, strict=True)]
    reliability = retest(repeats)
    assert reliability.sd == pytest.approx(1.0, abs=0.05)
    assert reliability.icc == pytest.approx(4 / 5, abs=0.03)
    assert reliability.edits == int((sizes >= 2).sum())


def test_retest_at_its_edges():
    assert retest([]) is None
    assert retest([[5.0], [6.0]]) is None
    assert retest([[5.0, 5.0]]) == Retest(edits=1, answers=2, sd=0.0, icc=None, identical=1.0)
    same_everywhere = retest([[5.0, 5.0], [5.0, 5.0]])
    assert same_everywhere.icc is None
    assert retest([[5.0, 5.0], [6.0, 6.0], [7.0, 7.5]]).identical == pytest.approx(2 / 3)
    assert retest([[5.0, 5.0], [6.0, 6.0]]).icc == 1.0


# -- where raters come from --


def test_a_run_has_judges_that_are_asked_that_measure_and_that_replay(make_sample, make_results):
    run = run_of(
        make_sample, make_results, {"a": [[2.0, 4.0], [Status.REFUSED]], "b": [[5.0], [6.0]], "c": [[7.0], [8.0]]}
    )
    flags = [{"name": "a"}, {"name": "b", "measures": True, "replays": False}, {"name": "c", "replays": True}]
    judges = judges_of(replace(run, provenance=replace(run.provenance, resolved={"judges": flags})))
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
    assert [(rater.name, rater.given) for rater in people.raters] == [("ann", "rated"), ("bo", "rated")]
    assert people.others[0].values == people.raters[1].values
    assert people_of(ratings, "SC").values == {Item("m", "s", 0): 1.0, Item("m", "t", 0): 5.0}


def test_votes_are_about_two_edits_whatever_their_sides():
    votes = [Vote("s", "b", "a", "left", "ann"), Vote("s", "a", "b", "tie", "ann"), Vote("s", "a", "b", "left", "bo")]
    ann, bo = voters_of(votes)
    pair = Item.from_pair("b", "a", "s", 0)
    assert pair == Item("a", "s", 0, "b")
    assert (ann.values, bo.values) == ({pair: 0.25}, {pair: 1.0}), "who votes twice counts as the mean"


def test_a_loss_is_turned_so_that_more_is_better():
    of_loss = Scale(lowest=0, higher_is_better=False)
    judge = Rater("j", "measured", "loss", of_loss, {Item("m", "s", 0): [1.0, 2.0]})
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
    assert reading_spread(judgements, "score") == pytest.approx(1.0), "variances 2 and 0"
    assert reading_spread(judgements, "other") is None
    summary = summarise(replace(run, judgements=(*judgements, *run.judgements[2:])))
    assert summary.results[0].scores["score"].spread == pytest.approx(1.0)
    assert plain(summary.readings["judge"]) == {
        "readings": 2,
        "spread": pytest.approx(1.0),
        "identical": False,
        "mass": None,
    }


def test_one_reading_has_no_spread_and_a_judge_that_was_not_asked_has_no_entry(run):
    assert readings_of(run) == {}
    once = replace(run, judgements=tuple(read_as(judgement, 5) for judgement in run.judgements))
    assert plain(readings_of(once)) == {"judge": {"readings": 1, "spread": None, "identical": False, "mass": None}}


def test_what_readings_scatter_is_in_the_interval(run):
    """The judge's own scatter makes it wider, and the mean of more readings narrower again: nothing is added to it."""
    chance = random.Random(5)
    widths = []
    for scatter, count in ((0.0, 1), (2.0, 1), (2.0, 16)):
        true = [4 + number / 15 for number in range(30)]
        judgements = tuple(
            read_as(judgement, *(value + chance.gauss(0, scatter) for _ in range(count)))
            for judgement, value in zip(run.judgements, true, strict=True)
        )
        low, high = summarise(replace(run, judgements=judgements)).results[0].scores["score"].ci95
        widths.append(high - low)
    silent, once, often = widths
    assert once > 2 * silent
    assert silent * 0.9 < often < 0.7 * once


def test_the_mass_is_that_of_all_readings_and_those_below_the_floor_are_no_answers(run):
    def likely(judgement, *masses):
        readings = tuple(
            {"score": Reading(status=status, mass=mass, asked=1)}
            for mass in masses
            for status in [Status.UNPARSEABLE if mass != "unknown" and mass < 0.5 else Status.OK]
        )
        return replace(judgement, readings=readings)

    first, second, third, *_ = run.judgements
    judgements = (likely(first, 0.9, 0.4), likely(second, 1.0, "unknown"), read_as(third, 5))
    mass = readings_of(replace(run, judgements=judgements))["judge"].mass
    assert plain(mass) == {"readings": 4, "unknown": 1, "median": 0.9, "below": 1, "floor": 0.5}


def test_readings_in_the_same_words_are_said_once_and_equal_scores_in_other_words_are_not(run):
    def worded(judgement, *words):
        read = tuple({"score": Reading(values={"score": 5.0}, text=text, asked=1)} for text in words)
        return replace(judgement, spread={"score": 0.0}, readings=read)

    same = replace(
        run, judgements=tuple(worded(judgement, "Score: 5", "Score: 5", "Score: 5") for judgement in run.judgements)
    )
    assert sum("the 3 readings of each edit are identical" in line for line in footnotes(summarise(same))) == 1
    other = worded(run.judgements[0], "Score: 5", "Score: 5.0", "Score: 5")
    mixed = replace(same, judgements=(other, *same.judgements[1:]))
    assert not readings_of(mixed)["judge"].identical
    assert not readings_of(replace(same, judgements=same.judgements[:3]))["judge"].identical, "too few to tell"
