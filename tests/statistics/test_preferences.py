"""Strengths from votes: against a logistic regression, and in simulations against the truth."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from edit_eval.statistics.people_scores import read_people_scores
from edit_eval.statistics.preferences import (
    SHARES,
    Vote,
    fit_strengths,
    pair_chances,
    people_rows,
    preferences,
    sample_chances,
)

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
) -> list[Vote]:
    """Votes of raters with known preferences, on pairs that are chosen, or drawn blindly."""
    chance = np.random.default_rng(seed)
    of_sample = among_samples * chance.normal(size=(len(MODELS), samples))
    of_rater = among_raters * chance.normal(size=(len(MODELS), raters))
    pairs = list(combinations(range(len(MODELS)), 2))
    drawn = sample_chances(chance.random(samples)) if telling else np.full(samples, 1 / samples)
    found: list[Vote] = []
    chances = np.full(len(pairs), 1 / len(pairs))
    for number in range(votes):
        if telling and number % 20 == 0:
            chances = pair_chances(found, MODELS)
        a, b = chance.permutation(pairs[chance.choice(len(pairs), p=chances)])
        sample, rater = int(chance.choice(samples, p=drawn)), int(chance.integers(raters))
        apart = TRUE + of_sample[:, sample] + of_rater[:, rater]
        left = chance.random() < 1 / (1 + math.exp(apart[b] - apart[a]))
        choice = "tie" if chance.random() < TIES else "left" if left else "right"
        weight = 1 / (samples * drawn[sample])
        found.append(Vote(str(sample), MODELS[a], MODELS[b], choice, rater=str(rater), weight=float(weight)))
    return found


def simulated(runs: int, **design: Any) -> dict[str, float]:
    """How many intervals hold the truth, how wide those of the closest pairs are, how many neighbours are swapped."""
    chance = np.random.default_rng(0)
    spread = [design.get("among_samples", 0.6), design.get("among_raters", 0.2)]
    truth = of_rates(TRUE[:, None] + math.hypot(*spread) * chance.normal(size=(len(MODELS), 100_000)))
    held, closest, swapped = [], [], []
    for seed in range(runs):
        fit = fit_strengths(voted(seed, **design), MODELS)
        for place, one in enumerate(np.eye(len(MODELS))):
            ends = fit.interval(one)
            held.append(ends is not None and ends[0] <= truth[place] <= ends[1])
        for a in (0, 2):
            ends = fit.interval(np.eye(len(MODELS))[a + 1] - np.eye(len(MODELS))[a])
            closest.append(ends[1] - ends[0] if ends else math.inf)
        swapped += list(np.diff(fit.strengths) < 0)
    return {"held": float(np.mean(held)), "closest": float(np.mean(closest)), "swapped": float(np.mean(swapped))}


def test_strengths_are_those_of_a_logistic_regression() -> None:
    statsmodels = pytest.importorskip("statsmodels.api")
    votes = [vote for vote in voted(3, votes=400, raters=4) if vote.choice != "tie"]
    design = np.zeros((len(votes), len(MODELS)))
    for row, vote in zip(design, votes, strict=True):
        row[MODELS.index(vote.left)] += 1
        row[MODELS.index(vote.right)] -= 1
    theirs = statsmodels.GLM(
        [SHARES[vote.choice] for vote in votes],
        design[:, 1:],
        family=statsmodels.families.Binomial(),
        var_weights=[vote.weight for vote in votes],
    ).fit()
    ours = fit_strengths(votes, MODELS)
    assert ours.strengths is not None
    assert np.allclose(ours.strengths[1:] - ours.strengths[0], theirs.params, atol=1e-6)


def test_two_models_have_the_log_odds_of_their_votes() -> None:
    votes = [Vote(str(n), "a", "b", "left" if n < 30 else "right", rater="r") for n in range(40)]
    found = preferences(votes, ["a", "b"])
    one, other = found["strengths"]
    assert one["strength"] - other["strength"] == pytest.approx(math.log(3))
    assert found["differences"][0]["difference"] == pytest.approx(math.log(3))
    low, high = found["differences"][0]["ci95"]
    error = 1 / math.sqrt(40 * 0.75 * 0.25)
    assert high - low == pytest.approx(2 * 2.0227 * error * math.sqrt(40 / 39), rel=1e-3)
    assert (one["rank"], other["rank"], one["share"]) == (1, 2, pytest.approx(0.75))


@pytest.mark.parametrize(
    ("votes", "doubt"),
    [
        ([], "no_votes"),
        ([Vote("1", "a", "b", "skip")], "no_votes"),
        ([Vote(str(n), "a", "b", "left") for n in range(20)], "not_connected"),
        ([Vote("1", "a", "b", "left"), Vote("1", "a", "b", "right")], "few_clusters"),
    ],
)
def test_where_nothing_follows_nothing_is_said(votes: list[Vote], doubt: str) -> None:
    found = preferences(votes, ["a", "b"])
    assert [one["no_ci95"] for one in found["strengths"]] == [doubt] * 2
    assert all(one["ci95"] is None and one["rank"] is None for one in found["strengths"])
    if doubt != "few_clusters":
        assert all(one["strength"] is None for one in found["strengths"])


def test_sides_and_order_do_not_matter() -> None:
    votes = voted(5, votes=200, raters=3)
    turned = {"left": "right", "right": "left"}
    other = [
        Vote(v.sample_id, v.right, v.left, turned.get(v.choice, v.choice), rater=v.rater, weight=v.weight)
        for v in reversed(votes)
    ]
    one, two = fit_strengths(votes, MODELS), fit_strengths(other, MODELS)
    assert np.allclose(one.strengths, two.strengths)  # type: ignore[arg-type]
    assert np.allclose(one.covariance, two.covariance)


@pytest.mark.parametrize(
    ("runs", "low", "high"), [(30, 0.88, 0.99), pytest.param(400, 0.93, 0.97, marks=pytest.mark.chaos)]
)
@pytest.mark.parametrize(("raters", "among_raters"), [(8, 0.2), (1, 0.0)])
def test_strengths_lie_within_their_intervals(
    runs: int, low: float, high: float, raters: int, among_raters: float, record_property: Callable[[str, object], None]
) -> None:
    found = simulated(runs, votes=400, raters=raters, among_raters=among_raters)
    record_property("simulated", f"strengths by {raters} raters{'':<40} covers {found['held']:.3f}")
    assert low <= found["held"] <= high


@pytest.mark.chaos
def test_chosen_pairs_need_fewer_votes_than_random_ones() -> None:
    """To tell neighbours apart: intervals of the closest pairs are no wider with a fifth fewer votes."""
    chosen = simulated(150, votes=400, raters=8)
    blindly = simulated(150, votes=500, raters=8, telling=False)
    assert chosen["closest"] <= blindly["closest"]
    assert chosen["swapped"] <= blindly["swapped"] + 0.01


def test_a_rater_who_always_takes_the_left_one_is_named() -> None:
    votes = voted(1, votes=120, raters=3)
    votes += [Vote(v.sample_id, v.left, v.right, "left", rater="stubborn") for v in votes[:40]]
    sides = {one["rater"]: one["side"] for one in preferences(votes, MODELS)["raters"]}
    assert sides == {"0": None, "1": None, "2": None, "stubborn": "left"}


def test_raters_agree_with_themselves_and_not_with_a_coin() -> None:
    votes = [vote for vote in voted(2, votes=80, raters=1) if vote.choice != "skip"]
    turned = {"left": "right", "right": "left"}
    same = [Vote(v.sample_id, v.right, v.left, turned.get(v.choice, v.choice), rater="other") for v in votes]
    found = preferences(votes + same, MODELS)["agreement"]
    assert found["identical"] == 1.0
    assert found["alpha"] == pytest.approx(1.0)
    assert found["pairs"] == len({(v.sample_id, frozenset((v.left, v.right))) for v in votes})


def test_close_and_little_compared_models_come_first() -> None:
    votes = [Vote(str(n), "a", "b", "left" if n % 10 else "right") for n in range(60)]
    votes += [Vote(str(n), "b", "c", "left" if n % 2 else "right") for n in range(10)]
    chances = dict(zip(combinations("abc", 2), pair_chances(votes, list("abc")), strict=True))
    assert sum(chances.values()) == pytest.approx(1)
    assert chances["b", "c"] > chances["a", "c"] > 0.3 / 3
    assert min(chances.values()) >= 0.3 / 3


def test_no_sample_has_a_large_weight() -> None:
    chances = sample_chances(np.array([0.0] * 9 + [1.0]))
    assert chances.sum() == pytest.approx(1)
    assert 1 < chances[9] / chances[0] < 2
    assert (1 / (10 * chances)).max() < 1 / 0.3


def test_what_agreement_reads() -> None:
    votes = [
        Vote("s", "a", "b", "left", rater="r"),
        Vote("s", "c", "a", "tie", rater="r"),
        Vote("s", "b", "c", "both_bad", rater="r", edit_seed=1),
        Vote("s", "b", "c", "skip", rater="q"),
    ]
    rows = people_rows(votes)
    written = ["sample_id,edit_model,score,rater,edit_seed"]
    written += [f"{r['sample_id']},{r['edit_model']},{r['score']},{r['rater']},{r['edit_seed']}" for r in rows]
    scores = {(one.edit_model, one.edit_seed): one.score for one in read_people_scores(written)}
    assert scores == {("a", 0): 0.75, ("b", 0): 0.0, ("c", 0): 0.5, ("b", 1): 0.0, ("c", 1): 0.0}
