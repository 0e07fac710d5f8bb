"""Strengths from votes: against a logistic regression, and in simulations against the truth."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from edit_eval.statistics.fitted_strengths import fit_strengths
from edit_eval.statistics.next_pair import PairChoice, sample_chances, sample_order
from edit_eval.statistics.preferences import preferences
from edit_eval.statistics.votes import Vote, ratings_of

MODELS = ["a", "b", "c", "d", "e"]
TRUE = np.array([-1.5, -1.3, 0.0, 0.2, 2.6])
TIES = 0.15


def of_rates(quality: np.ndarray) -> np.ndarray:
    """The strengths that votes on all samples by all raters would come to; `quality`: models x anything."""
    count = len(quality)
    won = np.zeros((count, count))
    for a, b in combinations(range(count), 2):
        won[a, b] = np.mean((1 - TIES) / (1 + np.exp(quality[b] - quality[a])) + TIES / 2)
        won[b, a] = 1 - won[a, b]
    strengths = np.zeros(count)
    others = 1 - np.eye(count)
    for _ in range(200):
        expected = others / (1 + np.exp(strengths[None] - strengths[:, None]))
        information = np.diag((expected * (1 - expected)).sum(1)) - expected * (1 - expected) * others
        strengths = strengths + np.linalg.pinv(information) @ (won * others - expected).sum(1)
    return strengths - strengths.mean()


def voted(
    seed: int,
    *,
    votes: int,
    raters: int,
    samples: int = 300,
    among_samples: float = 0.6,
    among_raters: float = 0.2,
    telling: bool = True,
    true: np.ndarray = TRUE,
) -> list[Vote]:
    """Votes of raters with known preferences, on pairs that are chosen, or drawn blindly."""
    chance = np.random.default_rng(seed)
    models = MODELS[: len(true)]
    of_sample = among_samples * chance.normal(size=(len(models), samples))
    of_rater = among_raters * chance.normal(size=(len(models), raters))
    pairs = list(combinations(range(len(models)), 2))
    drawn = sample_chances(chance.random(samples)) if telling else np.full(samples, 1 / samples)
    cast: list[Vote] = []
    asked, phases = np.zeros(samples), chance.random(samples)
    for number in range(votes):
        two = pairs[chance.integers(len(pairs))]
        sample, rater = int(chance.integers(samples)), int(chance.integers(raters))
        if telling:
            sample = int(sample_order(asked, drawn, phases)[0])
            asked[sample] += 1
            if number % 20 == 0:
                pair_choice = PairChoice(cast, models)
            first, second = pair_choice.order()[0]
            pair_choice.plan(first, second)
            two = models.index(first), models.index(second)
        a, b = chance.permutation(two)
        apart = true + of_sample[:, sample] + of_rater[:, rater]
        left = chance.random() < 1 / (1 + math.exp(apart[b] - apart[a]))
        choice = "tie" if chance.random() < TIES else "left" if left else "right"
        weight = 1 / (samples * drawn[sample])
        cast.append(Vote(str(sample), models[a], models[b], choice, rater=str(rater), weight=float(weight)))
    return cast


def simulated(runs: int, true: np.ndarray = TRUE, **design: Any) -> dict[str, Any]:
    """How many intervals hold the truth, how wide that of each strength is, and those of the closest two models."""
    chance = np.random.default_rng(0)
    count = len(true)
    spread = [design.get("among_samples", 0.6), design.get("among_raters", 0.2)]
    truth = of_rates(true[:, None] + math.hypot(*spread) * chance.normal(size=(count, 100_000)))
    held, wide, closest = [], [], []
    near = int(np.argmin(np.diff(true)))
    for seed in range(runs):
        fit = fit_strengths(voted(seed, true=true, **design), MODELS[:count])
        ends = np.array([fit.interval(contrast) or (-math.inf, math.inf) for contrast in np.eye(count)])
        held.append((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
        wide.append(ends[:, 1] - ends[:, 0])
        low, high = fit.interval(np.eye(count)[near + 1] - np.eye(count)[near]) or (-math.inf, math.inf)
        closest.append(high - low)
    return {"held": float(np.mean(held)), "wide": np.mean(wide, axis=0), "closest": float(np.mean(closest))}


def test_two_models_have_the_log_odds_of_their_votes() -> None:
    votes = [Vote(str(n), "a", "b", "left" if n < 30 else "right", rater="r") for n in range(40)]
    document = preferences(votes, ["a", "b"])
    first, second = document.strengths
    assert first.strength - second.strength == pytest.approx(math.log(3))
    assert document.differences[0].difference == pytest.approx(math.log(3))
    low, high = document.differences[0].ci95
    error = 1 / math.sqrt(40 * 0.75 * 0.25)
    assert high - low == pytest.approx(2 * 2.0227 * error * math.sqrt(40 / 39), rel=1e-3)
    assert (first.rank, second.rank, first.share) == (1, 2, pytest.approx(0.75))


@pytest.mark.parametrize(
    ("votes", "doubt"),
    [
        ([], "no_votes"),
        ([Vote("1", "a", "b", "skip")], "no_votes"),
        ([Vote(str(n), *("ab", "ba")[n % 2], choice=("left", "right")[n % 2]) for n in range(20)], "unbounded"),
        ([Vote("1", "a", "b", "left"), Vote("1", "a", "b", "right")], "no_preference"),
        ([Vote(str(n), "a", "b", "tie") for n in range(40)], "no_preference"),
        ([Vote(str(n), *pair, choice="left") for n in range(40) for pair in ("ab", "ba")], "no_preference"),
        ([Vote(str(n), "a", "b", "left" if n else "right") for n in range(5)], "few_images"),
        ([Vote(str(n), "a", "b", "left" if n < 5 else "tie") for n in range(40)], "few_preferences"),
        ([Vote(str(n), *pair, choice="left") for n in range(40) for pair in ("ab", "cd")], "not_connected"),
    ],
)
def test_where_nothing_follows_nothing_is_said(votes: list[Vote], doubt: str) -> None:
    models = sorted({model for vote in votes for model in (vote.left, vote.right)} | {"a", "b"})
    document = preferences(votes, models, taken_in=[""])
    assert [row.no_ci95 for row in document.strengths] == [doubt] * len(models)
    assert all(row.ci95 is None for row in document.strengths)
    ranks = [1, 2] if doubt == "unbounded" else [None] * len(models)  # twenty images, all won by the same
    assert [row.rank for row in document.strengths] == ranks
    if doubt != "unbounded":
        assert [(pair.ci95, pair.better) for pair in document.differences] == [(None, None)] * len(document.differences)
    if doubt not in ("unbounded", "few_images", "few_preferences"):
        assert all(row.strength is None for row in document.strengths)


def test_sides_and_order_do_not_matter() -> None:
    votes = voted(5, votes=200, raters=3)
    turned = {"left": "right", "right": "left"}
    other = [
        Vote(v.sample_id, v.right, v.left, turned.get(v.choice, v.choice), rater=v.rater, weight=v.weight)
        for v in reversed(votes)
    ]
    first, second = fit_strengths(votes, MODELS), fit_strengths(other, MODELS)
    assert np.allclose(first.strengths, second.strengths)
    assert [test.p for test in first.family.tests] == pytest.approx([test.p for test in second.family.tests])


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("runs", "low", "high"), [(15, 0.86, 0.99), pytest.param(400, 0.93, 0.97, marks=pytest.mark.chaos)]
)
@pytest.mark.parametrize(("raters", "among_raters"), [(8, 0.2), (1, 0.0)])
def test_strengths_lie_within_their_intervals(
    runs: int, low: float, high: float, raters: int, among_raters: float, record_property: Callable[[str, object], None]
) -> None:
    figures = simulated(runs, votes=400, raters=raters, among_raters=among_raters)
    record_property("simulated", f"strengths by {raters} raters{'':<40} covers {figures['held']:.3f}")
    assert low <= figures["held"] <= high


@pytest.mark.chaos
@pytest.mark.parametrize(
    ("true", "votes"),
    [(TRUE, 400), (TRUE, 150), (np.zeros(5), 400), (np.array([0, 0.1, 0.2, 3]), 300), (TRUE[1:4], 100)],
)
def test_chosen_pairs_need_no_more_votes_than_random_ones(
    true: np.ndarray, votes: int, record_property: Callable[[str, object], None]
) -> None:
    """Of every strength, and of the closest two. By one rater: what raters add does not depend on the pairs."""
    design = {"votes": votes, "raters": 1, "among_raters": 0.0}
    chosen = simulated(200, true, **design)
    blindly = simulated(200, true, telling=False, **design)
    ratios = chosen["wide"] / blindly["wide"]
    record_property(
        "simulated", f"{len(true)} strengths, {votes} votes: widths against blind ones {np.round(ratios, 3)}"
    )
    assert ratios.max() <= 1.01, "no wider but for the noise of 200 simulations"
    assert ratios.mean() < 1
    assert chosen["closest"] <= blindly["closest"]


def test_samples_come_as_often_as_their_chances_say() -> None:
    chances = sample_chances(np.linspace(0, 1, 40))
    asked = np.zeros(40)
    for number in range(1, 2001):
        asked[sample_order(asked, chances, np.random.default_rng(1).random(40))[0]] += 1
        if number == 40:
            assert asked.max() <= 2
    assert np.abs(asked - 2000 * chances).max() <= 1.5


def test_no_strength_is_less_sure_than_by_as_many_votes_on_each_pair() -> None:
    """By the variances that a table of votes comes to, with the true strengths; no drawing."""
    pairs = list(combinations(MODELS, 2))
    expected = {(a, b): 1 / (1 + math.exp(TRUE[MODELS.index(b)] - TRUE[MODELS.index(a)])) for a, b in pairs}
    design = np.array([np.eye(5)[MODELS.index(a)] - np.eye(5)[MODELS.index(b)] for a, b in pairs])
    of_a_vote = np.array([share * (1 - share) for share in expected.values()])
    reach = np.linalg.pinv((design.T * of_a_vote) @ design) @ design.T

    def variances(counts: np.ndarray) -> np.ndarray:
        return np.asarray((reach**2 * of_a_vote / counts).sum(axis=1))

    few = [
        Vote(str(n), a, b, "left" if n < round(20 * expected[a, b]) else "right") for a, b in pairs for n in range(20)
    ]
    choice = PairChoice(few, MODELS)
    counts = dict.fromkeys(pairs, 20)
    for _ in range(400):
        next_two = choice.order()[0]
        counts[next_two] += 1
        choice.plan(*next_two)
    ratios = variances(np.array(list(counts.values()))) / variances(np.full(10, 60))
    assert ratios.max() < 1
    assert ratios.mean() < 0.99


def test_a_rater_who_always_takes_the_left_one_is_named() -> None:
    votes = voted(1, votes=120, raters=3)
    votes += [Vote(v.sample_id, v.left, v.right, "left", rater="stubborn") for v in votes[:40]]
    sides = {rater.rater: rater.side for rater in preferences(votes, MODELS).raters}
    assert sides == {"0": None, "1": None, "2": None, "stubborn": "left"}


def test_raters_agree_with_themselves_and_not_with_a_coin() -> None:
    votes = [vote for vote in voted(2, votes=80, raters=1) if vote.choice != "skip"]
    turned = {"left": "right", "right": "left"}
    same = [Vote(v.sample_id, v.right, v.left, turned.get(v.choice, v.choice), rater="other") for v in votes]
    agreement = preferences(votes + same, MODELS).agreement
    assert agreement.identical == 1.0
    assert agreement.alpha == pytest.approx(1.0)
    assert agreement.pairs == len({(v.sample_id, frozenset((v.left, v.right))) for v in votes})


def test_little_compared_and_close_models_come_first() -> None:
    votes = [Vote(str(n), "a", "b", "left" if n % 10 else "right") for n in range(60)]
    votes += [Vote(str(n), "b", "c", "left" if n % 2 else "right") for n in range(60)]
    assert PairChoice(votes, list("abc")).order()[0] == ("a", "c")
    votes += [Vote(str(n), "a", "c", "left" if n % 10 else "right") for n in range(60)]
    choice = PairChoice(votes, list("abc"))
    assert choice.order()[0] == ("b", "c")
    for _ in range(60):
        choice.plan("c", "b")
    assert choice.order()[0] != ("b", "c")
    for _ in range(2000):
        choice.plan(*choice.order()[0])
    least = 0.85 * 2240 / 3
    for two in (("a", "b"), ("a", "c"), ("b", "c")):
        assert choice._votes[list(combinations("abc", 2)).index(two)] >= least - 1


def test_no_sample_has_a_large_weight() -> None:
    chances = sample_chances(np.array([0.0] * 9 + [1.0]))
    assert chances.sum() == pytest.approx(1)
    assert 1 < chances[9] / chances[0] < 1.5
    assert (1 / (10 * chances)).max() < 1 / 0.3


def test_what_agreement_reads() -> None:
    votes = [
        Vote("s", "a", "b", "left", rater="r"),
        Vote("s", "c", "a", "tie", rater="r"),
        Vote("s", "b", "c", "both_bad", rater="r", edit_seed=1),
        Vote("s", "b", "c", "skip", rater="q"),
    ]
    scores = {(rating.edit_model, rating.edit_seed): rating.score for rating in ratings_of(votes)}
    assert scores == {("a", 0): 0.75, ("b", 0): 0.0, ("c", 0): 0.5, ("b", 1): 0.0, ("c", 1): 0.0}


def test_a_rater_who_takes_one_side_is_counted_only_once_he_is_taken_in() -> None:
    chance = random.Random(2)
    honest = [Vote(str(n), "a", "b", "left" if chance.random() < 0.7 else "right", rater="honest") for n in range(30)]
    blind = [Vote(str(n), *chance.choice(("ab", "ba")), choice="left", rater="blind") for n in range(30)]
    alone, both = preferences(honest, ["a", "b"]), preferences([*honest, *blind], ["a", "b"])
    assert both.strengths == alone.strengths
    assert [(rater.rater, rater.set_apart) for rater in both.raters] == [("blind", True), ("honest", False)]
    assert (both.votes, both.agreement) == (30, None)
    taken = preferences([*honest, *blind], ["a", "b"], taken_in=["blind"])
    assert taken.votes == 60
    assert taken.strengths != alone.strengths


@pytest.mark.parametrize(
    ("left", "of", "side"),
    [(290, 500, None), (800, 1000, None), (81, 100, "left"), (19, 100, "right"), (8, 9, None), (12, 12, "left")],
)
def test_a_leaning_that_is_no_habit_costs_nobody_his_votes(left: int, of: int, side: str | None) -> None:
    """58 % of 500 votes are as unlikely by chance as one in a thousand, and still tell of the edits."""
    choices = ["left" if n < left else "right" for n in range(of)]
    votes = [Vote(str(n), *"ab"[:: 1 - 2 * (n % 2)], choice=choice, rater="r") for n, choice in enumerate(choices)]
    (rater,) = preferences(votes, ["a", "b"], resamples=1).raters
    assert (rater.side, rater.set_apart) == (side, side is not None)
