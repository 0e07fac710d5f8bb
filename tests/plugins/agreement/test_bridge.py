"""The map between two judges, and what it comes to for a model that only one of them has scored."""

from __future__ import annotations

import numpy as np
import pytest

from agreements import drawn
from edit_eval.plugins.agreement.bridge import (
    _translate_model,
    cross_validate_models,
    error_of_models,
    find_uncovered_side,
    predict_mean,
)
from edit_eval.plugins.agreement.calibration import Pairs
from edit_eval.records import Scale


def test_a_bridge_continues_a_table() -> None:
    """The old judge alone has scored the edits of a fifth model, partly on images that the new one never saw."""
    pairs = drawn(60, 4, 0.3)
    scores = np.random.default_rng(9).uniform(4, 8, 200).round()
    truth, out = float((scores**2 / 10).mean()), cross_validate_models(pairs)
    value, ci95 = predict_mean(pairs, scores, np.arange(200) % 100, out)
    assert value == pytest.approx(truth, abs=0.2)
    assert ci95[0] < truth < ci95[1]
    assert error_of_models(out) < 0.1
    assert set(out) == {"m0", "m1", "m2", "m3"}
    fewer = Pairs(pairs.scores, pairs.targets, pairs.clusters, [f"m{name[-1] > '1'}" for name in pairs.edit_models])
    assert predict_mean(fewer, scores, np.arange(200) % 100, cross_validate_models(fewer))[1] is None, "two models"


def test_a_loss_is_translated_to_a_score() -> None:
    """Which falls where it rises: the map is fitted to losses that are turned."""
    g = np.random.default_rng(1)
    truth, models = g.uniform(2, 8, (4, 40)), ["a", "b", "c", "d"]
    codes = np.tile(np.arange(40), 4)
    pairs = Pairs(-(10 - truth.ravel()), truth.ravel(), codes, [model for model in models for _ in range(40)])
    better = np.r_[np.full(36, 1.0) + g.normal(0, 0.2, 36), np.full(4, 3.0)]  # losses below nearly all: better
    row = _translate_model(
        pairs, -1.0, better, np.arange(40), cross_validate_models(pairs), Scale(lowest=0.0, highest=10.0), 41
    )
    assert (row.n, row.total, row.beyond) == (40, 41, "below")
    assert row.before == pytest.approx(1.2, abs=0.1)
    assert row.value == pytest.approx(7.9, abs=0.2)
    assert row.ci95[0] < row.value < row.ci95[1] <= 10
    assert row.outside == pytest.approx(0.9, abs=0.03)


def test_a_model_that_the_judges_see_differently_shows_in_what_is_held_out() -> None:
    """The new judge loves one model's style by two points: a bridge fitted to the others cannot know."""
    pairs = drawn(60, 4, 0.1)
    loved = np.array([name == "m0" for name in pairs.edit_models])
    out = cross_validate_models(Pairs(pairs.scores, pairs.targets + 2.0 * loved, pairs.clusters, pairs.edit_models))
    assert out["m0"].bridged - out["m0"].mean == pytest.approx(-2.0, abs=0.3)
    assert (error_of_models(out) or 0.0) > 0.9
    assert (
        error_of_models(cross_validate_models(Pairs(pairs.scores, pairs.targets, pairs.clusters, ["m"] * len(pairs))))
        is None
    )


def test_a_model_that_is_not_shown_to_lie_among_those_of_a_bridge_is_beyond_it():
    g = np.random.default_rng(4)
    images = 40
    codes = np.arange(images)
    scores = [g.normal(level, 1.0, images) for level in (4.0, 5.0, 6.0)]
    pairs = Pairs(np.concatenate(scores), np.concatenate(scores), np.tile(codes, 3), np.repeat(["a", "b", "c"], images))
    new = codes + images
    assert find_uncovered_side(pairs, g.normal(5.0, 1.0, images), new) is None
    assert find_uncovered_side(pairs, g.normal(6.5, 1.0, images), new) == "above"
    assert find_uncovered_side(pairs, g.normal(3.5, 1.0, images), new) == "below"
    assert find_uncovered_side(pairs, scores[2] - 0.1, new) == "above", (
        "the other images could have made that difference"
    )
    few = np.arange(3)
    assert find_uncovered_side(pairs, np.array([5.0, 5.1, 4.9]), few) == "above", "three images show nothing"
