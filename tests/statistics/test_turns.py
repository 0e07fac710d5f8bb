"""Edits of several turns: each turn against the first of its own chain, what failed in between, and nothing besides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edit_eval.records import Scale, Scoring, Status
from edit_eval.reporting.turns import turns_sheet
from edit_eval.reporting.writers.markdown import markdown_sheet
from edit_eval.statistics.summary import summarise
from edit_eval.statistics.turns import turns, turns_of


@pytest.fixture
def chains(make_sample):
    """Ten chains of three turns, whose samples come turn by turn."""
    first = [make_sample(n) for n in range(10)]
    later = [make_sample(10 * turn + n, follows=f"s{10 * (turn - 1) + n:04d}") for turn in (1, 2) for n in range(10)]
    return [*first, *(replace(one, cluster=first[one.index % 10].cluster) for one in later)]


def test_which_turn_a_sample_is_follows_from_what_it_follows(chains) -> None:
    place = turns_of(chains[::-1])
    assert place["s0004"] == (1, "s0004")
    assert place["s0024"] == (3, "s0004")
    assert turns_of([chains[24]])["s0024"] == (1, "s0024"), "what it follows is not among the selected samples"


def test_a_turn_is_held_against_the_first_of_its_own_chain(chains, make_results) -> None:
    chance = np.random.default_rng(1)
    first, second = chance.uniform(5, 9, 10), chance.uniform(0.5, 1.5, 10)
    scores = [*first, *(first - second), *(first - 2 * second)]
    rows = [[float(score)] for score in scores]
    rows[10] = rows[20] = [Status.EDIT_FAILED]  # the second turn of the first chain, and so the third
    (found,) = turns(make_results(chains, {("editor", "judge"): rows}))
    assert [(turn["turn"], turn["scored"], turn["total"]) for turn in found["turns"]] == [
        (1, 10, 10),
        (2, 9, 10),
        (3, 9, 10),
    ]
    one, two, three = found["turns"]
    assert (one["chains"], one["change"], one["no_change_ci95"]) == (0, None, None)
    assert two["change"] == pytest.approx(-second[1:].mean())
    assert three["change"] == pytest.approx(-2 * second[1:].mean())
    assert three["change_ci95"][1] < 0
    assert three["chains"] == 9
    assert three["mean"] == pytest.approx((first - 2 * second)[1:].mean())


def test_less_is_better_turns_the_change_round_and_one_turn_is_none(chains, make_sample, make_results) -> None:
    down = Scoring(protocol="p", headline="off", scales={"off": Scale(lowest=0, higher_is_better=False)})
    worse = {("editor", "judge"): [[1.0 + turn + n / 10] for turn in range(3) for n in range(10)]}
    run = make_results(chains, worse, scoring=down)
    (found,) = turns(run)
    assert [turn["change"] for turn in found["turns"][1:]] == pytest.approx([-1.0, -2.0])
    summary = summarise(run)
    assert summary["turns"] == [found]
    assert "-2.00" in markdown_sheet(turns_sheet(summary["turns"]), "en")
    alone = make_results([make_sample(n) for n in range(3)], {("editor", "judge"): [[1.0]] * 3})
    assert "turns" not in summarise(alone)
    assert turns_sheet([]) == []
