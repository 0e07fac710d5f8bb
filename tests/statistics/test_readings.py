"""What several readings of an edit come to: their spread, the mass of their probabilities, and both in the summary."""

from __future__ import annotations

import random
from dataclasses import replace
from statistics import stdev

import pytest

from edit_eval.records import Reading, Status
from edit_eval.reporting.remarks import footnotes
from edit_eval.statistics.instruments import readings_document, spread_of
from edit_eval.statistics.summary import summarise


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
