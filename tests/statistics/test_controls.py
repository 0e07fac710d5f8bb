"""How many controls show a judge that is right, and how rarely one that cannot tell is shown to be fit."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from edit_eval.records import Judgement, Sample, Scale, Status
from edit_eval.statistics.control_counts import CHEAP, MOST, count_cheap_controls, fewest
from edit_eval.statistics.controls import ControlTest, least_p, scores_by_model
from edit_eval.statistics.levels import ALPHA
from edit_eval.statistics.series import Series

SCALE = Scale(lowest=0, highest=10)


@pytest.mark.parametrize("models", [1, 2, 3, 4, 6, 12, 40])
def test_the_fewest_are_those_of_the_sign_test(models: int) -> None:
    count = fewest(models)
    assert models * 2.0**-count <= ALPHA < models * 2.0 ** (1 - count)


@pytest.mark.parametrize("count", range(1, 9))
def test_p_is_the_share_of_all_ways_to_give_signs(count: int) -> None:
    seen = np.round(np.random.default_rng(count).normal(0.7, 2, count), 1)
    seen[: count // 4] = 0.0
    every = [float(np.dot(signs, np.abs(seen))) for signs in product((-1, 1), repeat=count)]
    assert least_p(seen) == pytest.approx(sum(total >= seen.sum() - 1e-9 for total in every) / len(every))
    assert least_p(np.abs(seen) + 1) == 2.0**-count


def test_many_differences_are_as_few_ones_are() -> None:
    seen = np.random.default_rng(0).normal(0.4, 1.0, 30)
    assert least_p([*seen, 1e-6]) == pytest.approx(least_p(seen), abs=0.003)
    assert least_p([]) == least_p([0.0, 0.0]) == 1.0


@pytest.mark.parametrize("models", [1, 2, 5])
@pytest.mark.parametrize("kinds", [3, 4])
def test_cheap_controls_cost_at_most_a_third(models: int, kinds: int) -> None:
    for samples in (0, 1, 5, 10, 20, 27, 50, 120, 400, 5_000):
        edits = samples * models
        count = count_cheap_controls(samples, edits, kinds)
        assert CHEAP * kinds * count <= edits, "no more than a third"
        assert count in (samples, MOST) or CHEAP * kinds * (count + 1) > edits, "as many as are cheap enough"
    assert count_cheap_controls(10_000, 10_000, 3) == MOST


def judged(model: str, sample: str, score: float) -> Judgement:
    return Judgement(
        sample_id=sample,
        category="c",
        edit_model=model,
        judge="j",
        edit_seed=0,
        repeat=0,
        headline="score",
        status=Status.OK,
        scores={"score": score},
    )


def is_shown(draw: np.random.Generator, gain: float, models: int, count: int, like: float) -> bool:
    """Whether a judge is shown to put a kind last on so many images.

    Edits of a picture are alike by `like`, 0 to 1: to a judge that cannot tell, too."""
    names = [f"m{n}" for n in range(models)]
    samples = [Sample(id=f"s{n}", index=n, pictures={}, instruction="", cluster=str(n)) for n in range(count)]
    noise = draw.normal(0, 1, (count, models + 1))
    noise[:, 1:] = (1 - like) * noise[:, 1:] + like * draw.normal(0, 1, (count, 1))
    scores = np.clip(np.round(2 * noise + 5 + gain * (np.arange(models + 1) > 0)), 0, 10)
    test = ControlTest(samples, Series("score", SCALE))
    controls = [judged("control:source", f"s{n}", float(scores[n, 0])) for n in range(count)]
    edits = [judged(name, f"s{n}", float(scores[n, k])) for n in range(count) for k, name in enumerate(names, 1)]
    beside = test.compare_with_edits(controls, scores_by_model(edits, "score", names))
    return any(of_model.below for of_model in beside.values())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("models", [1, pytest.param(3, marks=pytest.mark.check)])
@pytest.mark.parametrize("like", [0.0, 0.8])
def test_a_judge_that_cannot_tell_is_shown_fit_in_no_more_than_five_of_a_hundred(models: int, like: float) -> None:
    """Of one kind of control alone, which is the worst case."""
    draw, runs = np.random.default_rng(models), 500
    shown = sum(is_shown(draw, 0.0, models, MOST, like) for _ in range(runs))
    assert shown / runs <= ALPHA + 3 * (ALPHA * (1 - ALPHA) / runs) ** 0.5
    assert shown, "a test that never shows anything would pass, too"


def test_a_judge_that_is_right_is_shown() -> None:
    draw = np.random.default_rng(0)
    assert sum(is_shown(draw, 4.0, 2, MOST, 0.5) for _ in range(200)) >= 194
    assert all(is_shown(draw, 6.0, 2, MOST, 0.5) for _ in range(50))
