"""Strengths from battles: what came of each, against other fits, and in simulations against the truth."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edit_eval.plugins.agreement.vote_agreement import compare_with_votes
from edit_eval.records import Judgement, Reading, Results, Sample, Scoring, Status
from edit_eval.statistics.battles import (
    BattleOutcome,
    Outcome,
    battle_outcome,
    fit_joint_strengths,
    geditbench_v2,
    genarena,
)
from edit_eval.statistics.fitted_strengths import PENALTY, all_differ, davidson, fit_strengths
from edit_eval.statistics.preferences import preferences
from edit_eval.statistics.votes import BACKWARD, FORWARD, Vote, votes_against_failures, votes_of
from late_imports import Late

optimize = Late("scipy.optimize")

SCORE = "overall"
OUTCOMES = {"A": (1.0, 0.0), "B": (0.0, 0.0), "C": (0.5, 1.0)}


def battle(forward: str, backward: str, **more: Any) -> Judgement:
    """A judgement of the first model's edit and the second's; `A` is what is shown first, `-` no answer."""
    readings = {}
    for order, said in ((FORWARD, forward), (BACKWARD, backward)):
        if said == "-":
            readings[order] = Reading(status=Status.UNPARSEABLE, reason="no letter")
            continue
        share, tie = OUTCOMES[said]
        share = share if order == FORWARD else 1 - share
        readings[order] = Reading(values={f"{SCORE}.{order}": share, f"{SCORE}.{order}.tie": tie})
    good = [reading.values[f"{SCORE}.{order}"] for order, reading in readings.items() if reading.status is Status.OK]
    told: dict[str, Any] = {
        "sample_id": "s0",
        "category": "",
        "edit_model": "a",
        "other": "b",
        "judge": "judge",
        "edit_seed": 0,
        "repeat": 0,
        "headline": SCORE,
        "status": Status.OK if len(good) == 2 else Status.UNPARSEABLE,
        "scores": {SCORE: sum(good) / 2} if len(good) == 2 else {},
        "missing": {} if len(good) == 2 else {SCORE: (Status.UNPARSEABLE, "no letter")},
        "readings": (readings,),
    }
    return Judgement(**told | more)


@pytest.mark.parametrize(
    ("forward", "backward", "came"),
    [
        ("A", "B", BattleOutcome.FIRST),
        ("B", "A", BattleOutcome.SECOND),
        ("C", "C", BattleOutcome.TIE),
        ("A", "A", BattleOutcome.CONTRADICTION),
        ("B", "B", BattleOutcome.CONTRADICTION),
        ("A", "C", BattleOutcome.FIRST),
        ("C", "A", BattleOutcome.SECOND),
        ("A", "-", BattleOutcome.MISSING),
        ("-", "B", BattleOutcome.MISSING),
    ],
)
def test_what_came_of_a_battle(forward: str, backward: str, came: BattleOutcome) -> None:
    assert battle_outcome(battle(forward, backward), SCORE) is came


def test_each_order_is_a_vote_with_the_sides_that_were_shown_and_one_order_alone_is_none() -> None:
    votes = votes_of([battle("A", "A"), battle("A", "-", sample_id="s1")], SCORE, [])
    assert [(vote.left, vote.right, vote.choice) for vote in votes] == [("a", "b", "left"), ("b", "a", "left")]


def test_a_failed_edit_has_lost_beside_the_battles_and_is_in_none() -> None:
    missing: dict[str, Any] = {"status": Status.EDIT_FAILED, "scores": {}, "missing": {}, "readings": ()}
    of_one, of_both = battle("A", "B", **missing), battle("A", "B", **missing, sample_id="s1")
    edits = {
        ("s0", "a", 0): Status.EDIT_FAILED,
        ("s0", "b", 0): Status.OK,
        ("s1", "a", 0): Status.EDIT_REFUSED,
        ("s1", "b", 0): Status.EDIT_FAILED,
    }
    assert not votes_of([of_one, of_both], SCORE, [])
    lost = votes_against_failures([of_one, of_both], edits, [])
    assert [(vote.sample_id, vote.left, vote.right, vote.choice) for vote in lost] == [
        ("s0", "a", "b", "right"),
        ("s0", "b", "a", "left"),
    ]


def test_both_ways_of_judging_and_people_stand_beside_each_other(
    make_sample: Callable[..., Sample], make_results: Callable[..., Results]
) -> None:
    samples = [make_sample(number) for number in range(8)]
    first, second, third, fourth = (sample.id for sample in samples[:4])
    scores = {("a", "alone"): [(9,)] * 4 + [(5,)] * 4, ("b", "alone"): [(3,)] * 4 + [(5,)] * 4}
    said = [("A", "B"), ("A", "A"), ("B", "A"), ("A", "-")]
    results = replace(
        make_results(samples, scores),
        battle_judges=("judge",),
        battles=tuple(battle(*labels, sample_id=sample.id) for sample, labels in zip(samples, said, strict=False)),
    )
    votes = [
        Vote(first, "b", "a", "right", "Ann"),
        Vote(first, "a", "b", "left", "Ben"),
        Vote(second, "a", "b", "left", "Ann"),
        Vote(second, "a", "b", "tie", "Ben"),
        Vote(third, "a", "b", "right", "Ann"),
        Vote(fourth, "a", "b", "left", "Ann"),
        Vote(fourth, "a", "b", "skip", "Ben"),
        Vote(samples[4].id, "a", "b", "tie", "Ann"),
    ]
    beside = compare_with_votes(results, votes)
    alone, compares = beside.judges
    assert (alone.judge, alone.edits, alone.pairs) == ("alone", 1, 5)
    assert alone.agrees == pytest.approx((1 + 1 + 1 + 0.5 + 0 + 1 + 1) / 7)
    assert (compares.judge, compares.edits, compares.pairs) == ("judge", 2, 3), "one order alone is no answer"
    assert compares.agrees == pytest.approx((1 + 1 + 0.5 + 1 + 1) / 5), "a contradiction is no preference"
    assert (beside.people.pairs, beside.people.agrees) == (2, 0.75)
    assert beside.tie == pytest.approx((5 * 0.5 + 2 * 1) / 7)


# -- drawn battles --

STRENGTHS = np.array([-0.9, -0.2, 0.3, 0.8])


def drawn(
    seed: int,
    *,
    samples: int = 120,
    true: Sequence[float] = STRENGTHS,
    ties: float = 0.5,
    side: float = 0.4,
    among: float = 0.7,
    cycles: bool = False,
    uneven: bool = False,
) -> list[Vote]:
    """Both orders of battles on samples that differ in what they favour; some source images have many samples."""
    chance, count = np.random.default_rng(seed), len(true)
    votes = []
    clusters = (chance.pareto(1.5, samples).cumsum() % max(3, samples // 3)).astype(int) if uneven else range(samples)
    of_cluster = {cluster: among * chance.normal(size=count) for cluster in {*clusters}}
    for sample, cluster in enumerate(clusters):
        quality = np.asarray(true) + of_cluster[cluster]
        order = chance.permutation(count)
        pairs = [(order[n], order[(n + 1) % count]) for n in range(count)] if cycles else []
        for a, b in pairs or combinations(range(count), 2):
            for left, right in ((a, b), (b, a)):
                first, tie = chances(quality[left] - quality[right], ties, side)
                drew = chance.random()
                choice = "left" if drew < first else "tie" if drew < first + tie else "right"
                votes.append(
                    Vote(f"s{sample}", "abcdefgh"[left], "abcdefgh"[right], choice, "j", cluster=f"c{cluster}")
                )
    return votes


def chances(apart: Any, ties: float, side: float) -> tuple[Any, Any]:
    """How likely an answer is for what is shown first, and a tie."""
    first = np.exp((apart + side) / 2)
    together = first + ties + 1 / first
    return first / together, ties / together


def expected(
    true: Sequence[float], *, ties: float = 0.5, side: float = 0.4, among: float = 0.7, **_: Any
) -> list[Vote]:
    """What very many samples come to, as a few votes with shares."""
    quality = np.asarray(true) + among * np.random.default_rng(0).normal(size=(200_000, len(true)))
    votes = []
    for left in range(len(true)):
        for right in set(range(len(true))) - {left}:
            first, tie = (part.mean() for part in chances(quality[:, left] - quality[:, right], ties, side))
            share, tied = float(first + tie / 2), float(tie)
            votes.append(Vote("s", "abcdefgh"[left], "abcdefgh"[right], "left", weight=1e5, share=share, tied=tied))
    return votes


@settings(max_examples=6, deadline=None)
@given(st.permutations("abcd"), st.permutations("abcd"), st.booleans())
def test_nothing_depends_on_the_names_or_the_order_of_models(
    renamed: list[str], listed: list[str], dominated: bool
) -> None:
    votes = drawn(3, samples=9, true=[-40.0, 0.1, 0.2, 0.5] if dominated else STRENGTHS)
    new = dict(zip("abcd", renamed, strict=True))
    others = [
        Vote(vote.sample_id, new[vote.left], new[vote.right], vote.choice, "j", cluster=vote.cluster) for vote in votes
    ]
    ours, other = preferences(votes, "abcd"), preferences(others, listed)
    theirs = {row.edit_model: row for row in other.strengths}
    for place, row in enumerate(ours.strengths):
        same = theirs[new[row.edit_model]]
        assert same.strength == pytest.approx(row.strength, abs=1e-7)
        assert same.ci95 == (None if row.ci95 is None else pytest.approx(row.ci95, abs=1e-6))
        assert (same.rank, same.no_ci95) == (row.rank, row.no_ci95)
        by_davidson = other.davidson.strengths[listed.index(new[row.edit_model])]
        assert by_davidson == pytest.approx(ours.davidson.strengths[place], abs=1e-6)


def test_davidsons_model_is_the_most_likely_one_by_another_way() -> None:
    votes = drawn(1, samples=15)
    place = {name: number for number, name in enumerate("abcd")}

    def less_likely(beta: np.ndarray) -> float:
        total = PENALTY / 2 * float(beta[:4] @ beta[:4] + beta[5] ** 2)
        for vote in votes:
            apart = beta[place[vote.left]] - beta[place[vote.right]] + beta[5]
            odds = {"left": apart / 2, "right": -apart / 2, "tie": beta[4]}
            total -= odds[vote.choice] - math.log(sum(map(math.exp, odds.values())))
        return total

    best = optimize.minimize(less_likely, np.zeros(6), method="BFGS", options={"gtol": 1e-7}).x
    fit = davidson(votes, "abcd")
    assert fit.strengths == pytest.approx(best[:4] - best[:4].mean(), abs=1e-4)
    assert (math.log(fit.ties), fit.side) == pytest.approx((best[4], best[5]), abs=1e-4)


def test_questions_together_are_as_sure_as_one_where_all_say_the_same(
    make_sample: Callable[..., Sample], make_results: Callable[..., Results]
) -> None:
    samples = [make_sample(number) for number in range(9)]
    results = replace(
        make_results(samples, {("a", "alone"): [(9,)] * 9, ("b", "alone"): [(5,)] * 9}),
        scoring={"judge": Scoring(protocol="pairwise", headline=SCORE, scales={})},
    )
    said = [("A", "B"), ("B", "A"), ("A", "A"), ("C", "C")]
    battles = [battle(*said[n % 4], sample_id=sample.id) for n, sample in enumerate(samples)]
    once, twice = fit_joint_strengths(results, battles, [SCORE]), fit_joint_strengths(results, battles, [SCORE, SCORE])
    for row, other in zip(once.strengths, twice.strengths, strict=True):
        assert other.strength == pytest.approx(row.strength, abs=1e-9)
        assert other.ci95 == pytest.approx(row.ci95, abs=1e-9)


def test_models_that_never_met_have_no_strengths() -> None:
    votes = [Vote("s", "a", "b", "left"), Vote("s", "b", "a", "left"), Vote("s", "c", "d", "left")]
    fit = fit_strengths(votes, "abcd")
    assert (fit.strengths, fit.doubt) == (None, "not_connected")
    assert preferences(votes, "abcd").davidson is None


def test_a_model_that_lost_everything_has_a_finite_strength_and_an_interval_with_an_open_end() -> None:
    votes = [
        vote
        for sample in range(20)
        for vote in (
            Vote(f"s{sample}", "a", "z", "left"),
            Vote(f"s{sample}", "z", "b", "right"),
            Vote(f"s{sample}", "a", "b", "left" if sample % 3 else "right"),
        )
    ]
    fit = fit_strengths(votes, "abz")
    assert fit.doubt == "unbounded"
    assert fit.strengths is not None
    assert fit.strengths[2] < min(fit.strengths[:2])
    assert np.abs(fit.strengths).max() < 8
    low, high = fit.difference_interval(0, 2) or (None, None)
    assert low == pytest.approx(math.log(0.025 ** (1 / 20) / (1 - 0.025 ** (1 / 20))))
    assert high is None
    assert fit.difference_interval(2, 1) == [None, -low]
    among = fit.difference_interval(0, 1)
    assert among is not None
    assert None not in among, "those that won and lost are compared as ever"
    assert dict(fit.ranks) == {"a": 1, "b": 1, "z": 3}
    assert fit.p_value(0, 2) == fit.p_value(2, 1) == 2 / 2**20


def test_a_judge_that_always_takes_the_first_prefers_nobody_and_its_side_is_seen() -> None:
    votes = [Vote(f"s{n}", *pair, "left", "j") for n in range(30) for pair in (("a", "b"), ("b", "a"))]
    document = preferences(votes, "ab", taken_in={"j"})
    assert [(row.strength, row.ci95, row.rank) for row in document.strengths] == [(None, None, None)] * 2
    assert document.davidson.side > 2
    assert document.davidson.side_ci95 is None, "nothing bounds it"


def holds(seeds: range, **how: Any) -> tuple[float, float, float]:
    """In how many of the simulations intervals hold the difference of the first two and the first's strength; and that
    of the side in Davidson's model. The truth is what very many samples come to."""
    given = how.pop("true", STRENGTHS)
    many, names = expected(given, **how), "abcdefgh"[: len(given)]
    true, side = fit_strengths(many, names).strengths, davidson(many, names).side
    assert true is not None
    covered = []
    for seed in seeds:
        votes = drawn(seed, true=given, **how)
        fit, ends = fit_strengths(votes, names), davidson(votes, names).side_ci95
        of_two, of_one = fit.difference_interval(0, 1), fit.interval(np.eye(len(true))[0])
        assert of_two
        low, high = (edge if edge is not None else end for edge, end in zip(of_two, (-99, 99), strict=True))
        held = low <= true[0] - true[1] <= high
        covered.append((held, of_one is None or of_one[0] <= true[0] <= of_one[1], ends[0] <= side <= ends[1]))
    return tuple(np.mean(covered, axis=0))


def holds_when_it_ends(seeds: range, true: Sequence[float], rounds: int, **how: Any) -> tuple[float, float]:
    """In how many simulations the interval of the first two's difference holds the truth when rounds of cycles are
    added until all are told apart; and after how many rounds, on average, that was."""
    names = "abcdefgh"[: len(true)]
    strengths = fit_strengths(expected(true, **how), names).strengths
    assert strengths is not None
    held, ended = [], []
    for seed in seeds:
        votes, asked = drawn(seed, true=true, **how), 0
        chance = np.random.default_rng((seed, 1))
        order: dict[tuple[str, frozenset[str]], int] = {}
        for sample in {vote.sample_id: None for vote in votes}:
            for turn in range(rounds):
                of = chance.permutation([*names])
                for pair in zip(of, np.roll(of, 1), strict=True):
                    order.setdefault((sample, frozenset(map(str, pair))), turn)
        of_round = [order.get((vote.sample_id, frozenset((vote.left, vote.right))), rounds) for vote in votes]
        for asked in range(rounds):
            there = [vote for vote, turn in zip(votes, of_round, strict=True) if turn <= asked]
            if all_differ(there, names, 1, rounds):
                break
        low, high = fit_strengths(there, names, looks=rounds).difference_interval(0, 1) or (None, None)
        assert low is not None
        assert high is not None
        held.append(low <= strengths[0] - strengths[1] <= high)
        ended.append(asked + 1)
    return float(np.mean(held)), float(np.mean(ended))


@pytest.mark.chaos
@pytest.mark.parametrize("true", [(-0.9, -0.2, 0.3, 0.8, 0.0), (-0.9, -0.2, 0.3, 0.8), (0.0, 0.0, 0.0, 0.0)])
def test_intervals_where_rounds_were_added_hold_in_no_fewer_than_94_of_100(true: tuple[float, ...]) -> None:
    share, _ = holds_when_it_ends(range(400), true, 3)
    assert share >= 0.94


def test_intervals_of_battles_hold_the_truth() -> None:
    for share in holds(range(60), samples=60, cycles=True, true=[-0.6, 0.0, 0.6]):
        assert 0.86 <= share <= 1, "of 60, 95 % would be 57: fewer than 52 come once in a thousand times"


@pytest.mark.chaos
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"cycles": True},
        {"cycles": True, "samples": 400},
        {"ties": 3.0, "side": 1.5},
        {"uneven": True, "samples": 240},
        {"true": (-3.0, -0.2, 0.3, 0.8), "ties": 0.2},
    ],
    ids=["all", "cycles", "many", "ties_and_side", "uneven", "dominated"],
)
def test_intervals_hold_in_93_to_97_of_100(how: dict[str, Any]) -> None:
    shares = holds(range(1_000), **how)
    assert all(0.93 <= share <= 0.97 for share in shares), shares


GOOD = {"ash": 0.0, "birch": 0.5, "cedar": 0.2, "dogwood": 1.1}


def drawn_shares(seed: int, samples: int, ties: float) -> list[Outcome]:
    chance, outcomes = random.Random(seed), list[Outcome]()
    for _ in range(samples):
        for first in GOOD:
            for second in GOOD:
                if first < second:
                    apart = GOOD[first] - GOOD[second] + chance.gauss(0, 1.5)
                    outcomes.append((first, second, 0.5 if abs(apart) < ties else 1.0 if apart > 0 else 0.0))
    return outcomes


def test_geditbench_v2_over_three_questions_one_of_which_knows_no_tie() -> None:
    points = geditbench_v2([drawn_shares(1, 30, 0.4), drawn_shares(2, 20, 0.9), drawn_shares(3, 25, 0.0)])
    # elo_score.py@82bc00e where its gradient is 0; by tolerances of scipy it ends .0005 points away
    assert points == pytest.approx(
        {
            "ash": 901.7359470391416,
            "birch": 1007.3488778065803,
            "cedar": 944.822288605726,
            "dogwood": 1146.092886548552,
        },
        abs=1e-6,
    )


def test_genarena() -> None:
    # bt_elo.py@dd09b86 with 100,000 steps; after the 100 of theirs it is .0003 points away
    assert genarena(drawn_shares(1, 30, 0.4)) == pytest.approx(
        {
            "ash": 932.0914439883443,
            "birch": 986.6280844661337,
            "cedar": 919.7612735875032,
            "dogwood": 1098.9493825332704,
        },
        abs=1e-6,
    )


def test_what_they_cannot_tell() -> None:
    assert genarena([("a", "b", 1.0)]) == {}, "no strength has a bound"
    assert genarena([]) == geditbench_v2([[]]) == {}
    assert set(geditbench_v2([[("a", "b", 1.0)]])) == {"a", "b"}, "their penalty bounds it"


def test_names_matter_to_geditbench_v2_and_not_to_genarena() -> None:
    named = [(first[::-1], second[::-1], got) for first, second, got in drawn_shares(1, 5, 0.4)]
    assert genarena(named)["hsa"] == pytest.approx(genarena(drawn_shares(1, 5, 0.4))["ash"], abs=1e-8)
    assert abs(geditbench_v2([named])["hsa"] - geditbench_v2([drawn_shares(1, 5, 0.4)])["ash"]) > 1
