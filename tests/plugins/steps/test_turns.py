"""Edits of several turns: each turn against the first of its own chain, what failed in between, and nothing besides."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from edit_eval.plugins.steps.analysis import Turns, rounds, turns, turns_sheet
from edit_eval.plugins.steps.chains import turns_of
from edit_eval.records import Judgement, Refinement, Results, Scale, Scoring, Status
from edit_eval.reporting.analyses import summary_of
from edit_eval.reporting.table import markdown_sheet


@pytest.fixture
def chains(make_sample):
    """Ten chains of three turns, whose samples come turn by turn."""
    first = [make_sample(n) for n in range(10)]
    later = [make_sample(10 * turn + n, follows=f"s{10 * (turn - 1) + n:04d}") for turn in (1, 2) for n in range(10)]
    return [*first, *(replace(sample, cluster=first[sample.index % 10].cluster) for sample in later)]


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
    (result,) = turns(make_results(chains, {("editor", "judge"): rows}))
    assert [(turn.turn, turn.scored, turn.total) for turn in result.turns] == [(1, 10, 10), (2, 9, 10), (3, 9, 10)]
    one, two, three = result.turns
    assert (one.chains, one.change, one.no_change_ci95) == (0, None, None)
    assert two.change == pytest.approx(-second[1:].mean())
    assert three.change == pytest.approx(-2 * second[1:].mean())
    assert three.change_ci95[1] < 0
    assert three.chains == 9
    assert three.mean == pytest.approx((first - 2 * second)[1:].mean())


def test_less_is_better_turns_the_change_round_and_one_turn_is_none(chains, make_sample, make_results) -> None:
    down = Scoring(protocol="p", headline="off", scales={"off": Scale(lowest=0, higher_is_better=False)})
    worse = {("editor", "judge"): [[1.0 + turn + n / 10] for turn in range(3) for n in range(10)]}
    run = make_results(chains, worse, scoring=down)
    (result,) = turns(run)
    assert [turn.change for turn in result.turns[1:]] == pytest.approx([-1.0, -2.0])
    assert summary_of(run).analyses == {"turns": [Turns(results=(result,))]}
    assert "-2.00" in markdown_sheet(turns_sheet([result]), "en")
    alone = make_results([make_sample(n) for n in range(3)], {("editor", "judge"): [[1.0]] * 3})
    assert summary_of(alone).analyses == {}


COLUMNS = ["m", "m@2", "m@3"]
BEST_OF_THREE = 0.8463
"""Standard deviations by which the largest of three normal values lies above the mean."""


def drawn(chance: np.random.Generator, noise: float, make_sample, make_results, samples: int = 60) -> Results:
    """Three edits of each sample, equally good but for chance; critic and judge err independently."""
    quality = chance.normal(size=(3, samples))
    reported, heard = (quality + noise * chance.normal(size=(3, samples)) for _ in range(2))
    every = [make_sample(number) for number in range(samples)]
    scores = {(column, "judge"): [[20 + float(x)] for x in row] for column, row in zip(COLUMNS, reported, strict=True)}
    made: Results = make_results(every, scores)
    told = {
        "m@2": Refinement(edit_model="m", judge="critic", before="m", round=2),
        "m@3": Refinement(edit_model="m", judge="critic", before="m@2", round=3),
    }
    critiques = tuple(
        Judgement(
            sample_id=sample.id,
            category=sample.category,
            edit_model=column,
            judge="critic",
            edit_seed=0,
            repeat=0,
            headline=made.scoring["judge"].headline,
            status=Status.OK,
            scores={made.scoring["judge"].headline: 20 + float(heard[place, number])},
        )
        for place, column in enumerate(COLUMNS)
        for number, sample in enumerate(every)
    )
    scoring = {**made.scoring, "critic": made.scoring["judge"]}
    return replace(made, refinements=told, critiques=critiques, scoring=scoring)


@pytest.mark.parametrize("runs", [10, pytest.param(600, marks=pytest.mark.chaos)])
def test_a_loop_without_worth_gains_nothing_but_by_choosing(runs: int, make_sample, make_results) -> None:
    chance, noise = np.random.default_rng(33), 1.0
    true = BEST_OF_THREE / math.hypot(1, noise)
    held: dict[str, list[bool]] = {"round 3": [], "best": []}
    gains, own = [], []
    for _ in range(runs):
        (result,) = rounds(drawn(chance, noise, make_sample, make_results))
        low, high = result.rounds[2].change_ci95
        held["round 3"].append(low <= 0 <= high)
        best = result.best_by_critic
        low, high = best.change_ci95
        held["best"].append(low <= true <= high)
        gains.append(best.change)
        own.append(best.own_change)
        assert result.best_of is None
    slack = 3 * math.sqrt(0.95 * 0.05 / runs)
    for what, inside in held.items():
        assert max(0.93 if runs > 100 else 0, 0.95 - slack) <= float(np.mean(inside)) + 1e-9, what
        assert float(np.mean(inside)) <= min(1, max(0.97, 0.95 + slack)), what
    assert np.mean(gains) == pytest.approx(true, abs=4 * np.std(gains) / math.sqrt(runs))
    assert np.mean(own) > 1.5 * true, "the critic sees twice as much"


def test_what_was_kept_or_lost_is_no_edit_to_choose_from(make_sample, make_results) -> None:
    run = drawn(np.random.default_rng(1), 1.0, make_sample, make_results)
    kept, lost = run.samples[0].id, run.samples[1].id
    edits = tuple(
        replace(edit, made_in="m@2")
        if (edit.edit_model, edit.sample_id) == ("m@3", kept)
        else replace(edit, status=Status.EDIT_FAILED, reason="no critique", image="")
        if (edit.edit_model, edit.sample_id) == ("m@3", lost)
        else edit
        for edit in run.edits
    )
    judgements = tuple(
        replace(judgement, status=Status.EDIT_FAILED, scores={}, missing={})
        if (judgement.edit_model, judgement.sample_id) == ("m@3", lost)
        else judgement
        for judgement in run.judgements
    )
    (result,) = rounds(replace(run, edits=edits, judgements=judgements))
    third = result.rounds[2]
    assert (third.edits, third.kept, third.scored, third.total) == (58, 1, 59, 60)
    assert (result.best_by_critic.edits, result.best_by_critic.scored) == (178, 60)
